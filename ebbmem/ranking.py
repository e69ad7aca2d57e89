"""From relevance to score: bounded bonuses, each multiplied by relevance. Pure.

score = relevance * exp(sum w_f * f) / max over the rows of exp(sum w_f * f)

Every feature f lies in [0, 1] and no weight is negative, so a score does not exceed its
relevance: a bonus reorders what is close, and what is not relevant at all stays at 0. A feature
that a query or a store cannot have is left out. Conversational features act in proportion to
how much the store looks like a conversation, which it measures on itself. In logarithms this
is a conditional logit (D. McFadden, 1974), so fitting the weights has one optimum;
`scripts/fit_ranking.py` finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem.asking import MARKS, NAMES, Asks
from ebbmem.cues import DateCue
from ebbmem.ranking_weights import FITTED

__all__ = [
    "ADJACENT",
    "FEATURES",
    "STRENGTH",
    "WEIGHTS",
    "Evidence",
    "Feature",
    "Weights",
    "best_of_source",
    "combined",
    "conversational",
    "date_match",
    "features",
    "neighbours",
    "on_date",
    "with_strength",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a full feature does to the logarithm of a score: 0.7 doubles it.

    Attributes:
        before: mean relevance of the two items said before.
        answer: relevance of the question that an item follows.
        source: relevance of the best item of the same source.
        window: late interaction with an item and those around it, piece by piece.
        coverage: idf share of the query's words held by the item and its neighbours.
        statement: the item is not itself a question.
        length: how much it says.
        opening: it is the first of its source or has none: nothing before can speak for it.
        date: it was said at the date that the query names.
        time: it tells a time, and the query asks for one.
        fits: it holds a name, place, number or reason, and the query asks for such.
        role: it is of the one, assistant or human, whose words the query asks for.
        speaker: it is the named speaker's, in the first person.
        strength: what the forgetting curve left of it.
    """

    before: float = 0.0
    answer: float = 0.0
    source: float = 0.0
    window: float = 0.0
    coverage: float = 0.0
    statement: float = 0.0
    length: float = 0.0
    opening: float = 0.0
    date: float = 0.0
    time: float = 0.0
    fits: float = 0.0
    role: float = 0.0
    speaker: float = 0.0
    strength: float = 0.0


STRENGTH = 0.05
"""Weight of strength beside the relevance of another index, which knows nothing of time."""

WEIGHTS = {name: Weights(**each) for name, each in FITTED.items()}
"""By the best signal there is: "interaction", "similarity" or "keyword". That of strength is the
policy's, and not fitted: questions of evaluation data ask about old and new alike."""

ADJACENT = 0.3
"""Share of its relevance that an item passes on to those said just before and after it."""

LONG_SOURCE = 60  # items: beyond that a source is an archive, not a session
SHORT_WORDS = 40  # words: a store of such messages is a chat
LONG_WORDS = 120  # words: a store of such messages is not
_FULL_LENGTH = 80  # words: what is longer does not say more that is asked for

_BIT = {name: 1 << at for at, name in enumerate(MARKS)}


def combined(relevance: Floats, features: dict[str, tuple[float, Floats]]) -> Floats:
    """Scores in [0, 1] from relevance and (weight, values in [0, 1]) of each feature."""
    if not len(relevance):
        return relevance
    gain = np.zeros(len(relevance))
    for weight, values in features.values():
        gain += weight * values
    return np.asarray(relevance * np.exp(gain - gain.max()), np.float64)


def with_strength(relevance: Floats, strength: Floats, *, product: bool = False) -> Floats:
    """Scores in [0, 1] of what has only a relevance and a strength, (m,) each."""
    alive = _rounded(strength)
    if product:
        return relevance * alive
    return relevance * np.exp(STRENGTH * (alive - 1.0))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What features are made of, for the rows (m,) that are ranked. Arrays are (m,) unless said.

    Attributes:
        rows: their numbers; `relevance`: of them.
        near: (n + 1,) relevance of every row of the store that was looked at, else 0; the last
            is 0, so that -1 reads nothing.
        before, two_before, after, two_after: neighbours in the same source, -1 none.
        source: -1 none; `source_size`: how many items it holds.
        window: late interaction with the surroundings, in [0, 1]; None without token vectors.
        coverage: (n + 1,) idf share of the query's terms that a row holds.
        question: (n + 1,) whether a row asks something.
        holds: marks as `ebbmem.asking` reads them; `names`: how many.
        words: length.
        assistant, speaker: whether it is an assistant's; the named speaker's. None where no item
            or several speakers are.
        strength: what the curve left.
        conversational: how much the store looks like dialogue, in [0, 1].
        when: how well it fits the days that the query names; None where it names none.
        asks: what the query wants.
    """

    rows: Ints
    relevance: Floats
    near: Floats
    before: Ints
    two_before: Ints
    after: Ints
    two_after: Ints
    source: Ints
    source_size: Ints
    window: Floats | None
    coverage: Floats
    question: NDArray[np.bool_]
    holds: Ints
    names: Ints
    words: Ints
    assistant: NDArray[np.bool_] | None
    speaker: NDArray[np.bool_] | None
    strength: Floats
    conversational: float
    when: Floats | None
    asks: Asks


@dataclass(frozen=True, slots=True)
class Feature:
    """A bounded bonus: (m,) values in [0, 1], or None where a query or store cannot have it."""

    of: Callable[[Evidence], Floats | None]
    conversational: bool = False


def features(evidence: Evidence, weights: Weights) -> dict[str, tuple[float, Floats]]:
    """The features in force, each with its weight for this store."""
    found = {}
    for name, feature in FEATURES.items():
        weight = getattr(weights, name) * (
            evidence.conversational if feature.conversational else 1.0
        )
        values = feature.of(evidence) if weight > 0.0 else None
        if values is not None:
            found[name] = (weight, values)
    return found


def _before(evidence: Evidence) -> Floats:
    near = evidence.near
    return np.asarray(0.5 * (near[evidence.before] + near[evidence.two_before]))


def _answer(evidence: Evidence) -> Floats:
    return np.where(evidence.question[evidence.before], evidence.near[evidence.before], 0.0)


def _source(evidence: Evidence) -> Floats:
    best = best_of_source(evidence.relevance, evidence.source, evidence.source_size)
    return np.where(evidence.source < 0, evidence.relevance, best)  # alone it is its own


def _window(evidence: Evidence) -> Floats | None:
    return evidence.window


def _coverage(evidence: Evidence) -> Floats | None:
    own = evidence.coverage[evidence.rows]
    if not own.any():
        return None
    around = (evidence.before, evidence.two_before, evidence.after, evidence.two_after)
    best = np.maximum.reduce([evidence.coverage[each] for each in around])
    return np.asarray(np.maximum(own, 0.8 * best), np.float64)


def _statement(evidence: Evidence) -> Floats:
    return (~evidence.question[evidence.rows]).astype(np.float64)


def _length(evidence: Evidence) -> Floats:
    said = np.log1p(evidence.words) / np.log1p(_FULL_LENGTH)
    return np.asarray(np.minimum(said, 1.0), np.float64)


def _opening(evidence: Evidence) -> Floats:
    return np.asarray(evidence.before < 0, np.float64)


def _date(evidence: Evidence) -> Floats | None:
    fitting = evidence.when
    return fitting if fitting is not None and fitting.any() else None


def _time(evidence: Evidence) -> Floats | None:
    return _held(evidence, "time") if evidence.asks.time else None


def _fits(evidence: Evidence) -> Floats | None:
    asks = evidence.asks
    found = ((evidence.holds & asks.wants) != 0).astype(np.float64)
    if asks.names:
        found = np.maximum(found, np.log1p(evidence.names) / np.log1p(NAMES))
    if asks.time or asks.wants & _BIT["number"]:
        lasting = _held(evidence, "number") * _held(evidence, "unit")
        found = np.maximum(found, lasting)
    if asks.feeling:
        found = np.maximum(found, 0.5 * _held(evidence, "feeling"))
    return found if found.any() else None


def _role(evidence: Evidence) -> Floats | None:
    if evidence.assistant is None or evidence.asks.role is None:
        return None
    wanted = evidence.asks.role == "assistant"
    return np.asarray(evidence.assistant == wanted, np.float64)


def _speaker(evidence: Evidence) -> Floats | None:
    if evidence.speaker is None:
        return None
    return np.asarray(evidence.speaker * _held(evidence, "self"), np.float64)


def _strength(evidence: Evidence) -> Floats:
    return _rounded(evidence.strength)


def _held(evidence: Evidence, mark: str) -> Floats:
    return np.asarray((evidence.holds & _BIT[mark]) != 0, np.float64)


def _rounded(strength: Floats) -> Floats:
    """Strength as far as it counts: what was written a moment apart is equally strong."""
    return np.asarray(np.clip(np.round(strength, 3), 0.0, 1.0), np.float64)


FEATURES = {
    "before": Feature(_before, conversational=True),
    "answer": Feature(_answer, conversational=True),
    "source": Feature(_source, conversational=True),
    "window": Feature(_window, conversational=True),
    "coverage": Feature(_coverage, conversational=True),
    "statement": Feature(_statement, conversational=True),
    "length": Feature(_length, conversational=True),
    "opening": Feature(_opening, conversational=True),
    "date": Feature(_date),
    "time": Feature(_time, conversational=True),
    "fits": Feature(_fits, conversational=True),
    "role": Feature(_role),
    "speaker": Feature(_speaker),
    "strength": Feature(_strength),
}
"""Every bonus, by the name of its weight."""


def conversational(
    speakers: Ints, before: Ints, lengths: NDArray[np.int32], alive: NDArray[np.bool_]
) -> float:
    """How much a store looks like short alternating dialogue, in [0, 1].

    Args:
        speakers: (n,) who said an item, -1 unknown.
        before: (n,) the item said just before in the same source, -1 none.
        lengths: (n,) in words.
        alive: (n,) items that count.
    """
    total = int(alive.sum())
    if not total:
        return 0.0
    paired = alive & (before >= 0) & (speakers >= 0)
    alternating = paired & (speakers[before] != speakers) & (speakers[before] >= 0)
    median = float(np.median(lengths[alive]))
    short = float(np.clip((LONG_WORDS - median) / (LONG_WORDS - SHORT_WORDS), 0.0, 1.0))
    return short * float(alternating.sum()) / total


def neighbours(rows: Ints, step: Ints) -> Ints:
    """(m,) who stands one step from some rows, -1 from -1 or where there is nobody."""
    return np.where(rows >= 0, step[rows], -1)


def best_of_source(values: Floats, sources: Ints, sizes: Ints) -> Floats:
    """(m,) the best value of the same source; 0 without one, or where it is an archive."""
    best = np.zeros(int(sources.max(initial=-1)) + 2)  # the last stays 0, for source -1
    inside = (sources >= 0) & (sizes <= LONG_SOURCE)
    np.maximum.at(best, sources[inside], values[inside])
    return best[np.where(inside, sources, -1)]


def on_date(cue: DateCue, created: Ints) -> NDArray[np.bool_]:
    """Which items were said at a named date itself, down to the day where one is named."""
    _, *parts = _calendar(created)
    found = np.ones(len(created), bool)
    for named, part in zip((cue.year, cue.month, cue.day), parts, strict=True):
        if named is not None:
            found &= part == named
    return found


def date_match(cue: DateCue, created: Ints) -> Floats:
    """How well items said at `created` (microseconds) fit a named date, in [0, 1].

    1 in the named day and the three after it (people tell what happened), or anywhere in a
    named month or year when no day is named; 0.5 in the rest of the month, and in the first
    ten days of the month after.
    """
    days, year, month, day = _calendar(created)
    if cue.month is None:
        return np.asarray(year == cue.year, np.float64)
    same_year = np.ones(len(created), bool) if cue.year is None else year == cue.year
    inside = same_year & (month == cue.month)
    next_month = cue.month % 12 + 1
    next_year = same_year if cue.year is None else year == cue.year + (cue.month == 12)
    just_after = next_year & (month == next_month) & (day <= 10)
    if cue.day is None:
        return np.where(inside, 1.0, np.where(just_after, 0.5, 0.0))
    close = np.zeros(len(created), bool)
    for each in np.unique(year) if cue.year is None else [cue.year]:
        for start in (each, each - 1) if cue.year is None else (each,):
            close |= _within_days(days, int(start), cue.month, cue.day)
    return np.where(close, 1.0, np.where(inside | just_after, 0.5, 0.0))


def _calendar(created: Ints) -> tuple[NDArray[np.datetime64], Ints, Ints, Ints]:
    """Days, and their years, months and days of the month, of instants in microseconds."""
    days = created.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year = months.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    return days, year, month, (days - months).astype(np.int64) + 1


def _within_days(
    days: NDArray[np.datetime64], year: int, month: int, day: int
) -> NDArray[np.bool_]:
    """Whether days lie on a date or in the three days after it; a date that is none: never."""
    try:
        named = np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "D")
    except ValueError:
        return np.zeros(len(days), bool)
    since = (days - named).astype(int)
    return np.asarray((since >= 0) & (since <= 3))
