"""Importance from content: how much a text looks like something worth keeping. Pure.

salience = 1 / (1 + exp(-(weights . terms + bias)))

A supervised prior: the weights are a logistic regression on what people asked about later, in
the conversations and stores that `ebbmem/salience_weights.py` names. Names, times, answers,
rare words, kin and the first person speak for a text; questions, "you" and assistants against.
A mere "ok" counts against it by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbmem.cues import Traits
from ebbmem.salience_weights import BIAS, WEIGHTS

__all__ = ["Heard", "importance", "salience", "salience_of", "terms"]

_LONGEST = 60  # keywords, beyond which more length says nothing
_NAMES = 3  # names, likewise
_BACKCHANNEL = 1.5  # "Yeah, ok!": set by hand, as too few stand in the data to learn it from
_LEAST = 0.05  # salience of what its caller called unimportant: time still tells those apart


@dataclass(frozen=True, slots=True)
class Heard:
    """What a namespace knows about a text before it keeps it.

    Attributes:
        length: in keywords.
        stated: how many of them stand in sentences that are no questions.
        new: how many different ones were never heard before.
        rarity: mean idf of the different ones, as a share of that of a new one, in [0, 1].
        answers: whether it follows a question of another speaker.
        assistant: whether an assistant says it.
    """

    length: int
    stated: int
    new: int
    rarity: float
    answers: bool = False
    assistant: bool = False


def terms(found: Traits, heard: Heard) -> dict[str, float]:
    """What is weighed, by name: what the wording gives away, and how it was heard."""
    return {
        "answers": float(heard.answers),
        "assistant": float(heard.assistant),
        "feeling": float(found.feeling),
        "first_person": float(found.first_person),
        "kin": float(found.kin),
        "length": math.log1p(min(heard.length, _LONGEST)),
        "names": float(min(found.names, _NAMES)),
        "new": math.log1p(min(heard.new, _LONGEST)),
        "question": float(found.question),
        "quote": float(found.quote),
        "rarity": heard.rarity,
        "second_person": float(found.second_person),
        "stated": math.log1p(min(heard.stated, _LONGEST)),
        "time": float(found.time),
    }


def salience(found: Traits, heard: Heard) -> float:
    """How salient a text is, in (0, 1); one half is the average of what was learned from."""
    evidence = BIAS + sum(WEIGHTS[name] * each for name, each in terms(found, heard).items())
    evidence -= _BACKCHANNEL * found.backchannel
    return 1.0 / (1.0 + math.exp(-evidence))


def importance(salience: float, low: float, high: float) -> float:
    """A salience in [0, 1] placed in a category's range."""
    return low + min(max(salience, 0.0), 1.0) * (high - low)


def salience_of(importance: ArrayLike, low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    """The salience behind an importance, in [0.05, 1]: its place in the category's range.

    One half where the range is a single value; what a caller set beyond the range is its end.
    """
    least = np.asarray(low, np.float64)
    above, span = np.asarray(importance, np.float64) - least, np.asarray(high, np.float64) - least
    place = np.where(span > 0.0, above / np.maximum(span, 1e-9), 0.5)
    return np.asarray(np.clip(place, _LEAST, 1.0))
