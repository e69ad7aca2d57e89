"""From relevance to score: bounded bonuses, each multiplied by relevance. Pure.

score = relevance * (1 + sum w_f * f) / (1 + sum w_f)        over the features in force

Every feature f lies in [0, 1], so the score does; a bonus can break ties and reorder what
is close, and never carries an irrelevant item. A feature that a query or a store cannot
have is left out of both sums and costs nothing. Conversational features act in proportion
to how much the store looks like a conversation, which it measures on itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem.cues import DateCue

__all__ = [
    "FEATURES",
    "WEIGHTS",
    "Evidence",
    "Feature",
    "Weights",
    "combined",
    "conversational",
    "date_match",
    "features",
    "sessions",
    "windowed",
    "with_strength",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The only place where ranking is tuned. Units: share of relevance at a full feature.

    Set by hand on a coarse grid over seven LoCoMo conversations and five sets of facts and
    companion chat, English and Chinese, so that no set loses; none is fitted to one of them.

    Attributes:
        neighbours: relevance of the items said just before and after.
        answer: relevance of the question that an item follows.
        session: relevance of the best items of the same source.
        coverage: idf share of the query's words held by the item or its neighbours.
        date: the item lies on the date that the query names.
        strength: what the forgetting curve left of it.
        statement: the item is not itself a question.
        adjacent: activation that passes to an item said just before or after a hit.
    """

    neighbours: float = 0.8
    answer: float = 1.0
    session: float = 0.15
    coverage: float = 0.3
    date: float = 1.0
    strength: float = 0.05
    statement: float = 0.3
    adjacent: float = 0.3


WEIGHTS = Weights()

LONG_SOURCE = 60  # items: beyond that a source is an archive, not a session
SHORT_WORDS = 40  # words: a store of such messages is a chat
LONG_WORDS = 120  # words: a store of such messages is not


def combined(relevance: Floats, features: dict[str, tuple[float, Floats]]) -> Floats:
    """Scores in [0, 1] from relevance and (weight, values in [0, 1]) of each feature."""
    factor, most = np.ones(len(relevance)), 1.0
    for weight, values in features.values():
        factor += weight * values
        most += weight
    return relevance * factor / most


def with_strength(relevance: Floats, strength: Floats, *, product: bool = False) -> Floats:
    """Scores in [0, 1] of what has only a relevance and a strength, (m,) each."""
    alive = _rounded(strength)
    if product:
        return relevance * alive
    return combined(relevance, {"strength": (WEIGHTS.strength, alive)})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What features are made of: (n,) arrays over a store, asked for `rows` (m,) of it.

    Attributes:
        rough: relevance by keywords and vector, 0 for rows that may not be shown.
        previous, near: `windowed` of it.
        coverage: idf share of the query's terms that a row holds.
        before, after: neighbours in the same source, -1 none.
        source: -1 none.
        question: whether a row asks something.
        created: microseconds.
        strength: what the curve left.
        eligible: rows that may be shown.
        conversational: how much the store looks like dialogue, in [0, 1].
        date: what the query names.
    """

    rows: Ints
    rough: Floats
    previous: Floats
    near: Floats
    coverage: Floats
    before: Ints
    after: Ints
    source: Ints
    question: NDArray[np.bool_]
    created: Ints
    strength: Floats
    eligible: NDArray[np.bool_]
    conversational: float
    date: DateCue | None


@dataclass(frozen=True, slots=True)
class Feature:
    """A bounded bonus: (m,) values in [0, 1], or None where a query or store cannot have it."""

    of: Callable[[Evidence], Floats | None]
    conversational: bool = False


def features(evidence: Evidence, weights: Weights = WEIGHTS) -> dict[str, tuple[float, Floats]]:
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


def _neighbours(evidence: Evidence) -> Floats:
    return evidence.near[evidence.rows]


def _answer(evidence: Evidence) -> Floats:
    asked = (evidence.before >= 0) & evidence.question[evidence.before]
    return np.where(asked, evidence.previous, 0.0)[evidence.rows]


def _session(evidence: Evidence) -> Floats:
    return sessions(evidence.rough, evidence.source, evidence.eligible)[evidence.rows]


def _statement(evidence: Evidence) -> Floats:
    return (~evidence.question[evidence.rows]).astype(np.float64)


def _coverage(evidence: Evidence) -> Floats | None:
    if not evidence.coverage.any():
        return None
    around = windowed(evidence.coverage, evidence.before, evidence.after)[1]
    share = 0.8 if evidence.conversational else 0.0  # of what the neighbours hold
    return np.maximum(evidence.coverage, share * around)[evidence.rows]


def _date(evidence: Evidence) -> Floats | None:
    if evidence.date is None:
        return None
    fitting = date_match(evidence.date, evidence.created[evidence.rows])
    return fitting if fitting.any() else None


def _strength(evidence: Evidence) -> Floats:
    return _rounded(evidence.strength[evidence.rows])


def _rounded(strength: Floats) -> Floats:
    """Strength as far as it counts: what was written a moment apart is equally strong."""
    return np.clip(np.round(strength, 3), 0.0, 1.0)


FEATURES = {
    "neighbours": Feature(_neighbours, conversational=True),
    "answer": Feature(_answer, conversational=True),
    "session": Feature(_session, conversational=True),
    "statement": Feature(_statement, conversational=True),
    "coverage": Feature(_coverage),
    "date": Feature(_date),
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


def windowed(values: Floats, before: Ints, after: Ints) -> tuple[Floats, Floats]:
    """(previous item's value, best of the neighbours within two), 0 where there is none."""
    padded = np.append(values, 0.0)  # index -1 reads the zero
    two_before = np.where(before >= 0, before[before], -1)
    two_after = np.where(after >= 0, after[after], -1)
    near = np.maximum(padded[before], padded[after])
    far = np.maximum(padded[two_before], padded[two_after])
    return padded[before], np.maximum(near, 0.85 * far)


def sessions(values: Floats, sources: Ints, alive: NDArray[np.bool_]) -> Floats:
    """For each item the mean of its source's three best values; 0 without a session."""
    inside = np.flatnonzero(alive & (sources >= 0))
    if not len(inside):
        return np.zeros(len(values))
    order = inside[np.lexsort((-values[inside], sources[inside]))]
    ordered = sources[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    best = np.add.reduceat(np.where(rank < 3, values[order], 0.0), starts)
    means = np.where(sizes <= LONG_SOURCE, best / np.minimum(sizes, 3), 0.0)
    by_source = np.zeros(int(sources.max()) + 2)  # the last stays 0, for source -1
    by_source[ordered[starts]] = means
    return by_source[sources]


def date_match(cue: DateCue, created: Ints) -> Floats:
    """How well items said at `created` (microseconds) fit a named date, in [0, 1].

    1 in the named day and the three after it (people tell what happened), or anywhere in a
    named month or year when no day is named; 0.5 in the rest of the month, and in the first
    ten days of the month after.
    """
    days = created.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year = months.astype("datetime64[Y]").astype(int) + 1970
    month = months.astype(int) % 12 + 1
    day = (days - months).astype(int) + 1
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
