"""Importance from content: how much a text looks like something worth keeping. Pure.

The terms and their signs follow what annotators of dated conversations asked about:
answers to a question, new words, time words, first person and names count for a text,
questions and backchannels against it. The weights are set by hand, not fitted.
"""

from __future__ import annotations

import math

from ebbmem.cues import Traits

__all__ = ["importance", "salience"]


def salience(found: Traits, *, length: int, novelty: float, answers: bool) -> float:
    """How salient a text is, in [0, 1].

    Args:
        found: what its wording gives away.
        length: its length in keywords.
        novelty: share of its keywords that the namespace had never heard, in [0, 1].
        answers: whether it follows a question of another speaker.
    """
    evidence = (
        -1.6
        + 0.9 * answers
        + 0.8 * novelty
        + 0.8 * found.time
        + 0.6 * found.first_person
        + 0.6 * found.feeling
        + 0.4 * min(found.names, 2) / 2
        + 0.3 * found.number
        + 0.5 * min(math.log1p(length) / math.log(20), 1.0)
        - 1.0 * found.question
        - 1.2 * found.backchannel
    )
    return 1.0 / (1.0 + math.exp(-evidence))


def importance(salience: float, low: float, high: float) -> float:
    """A salience in [0, 1] placed in a category's range."""
    return low + min(max(salience, 0.0), 1.0) * (high - low)
