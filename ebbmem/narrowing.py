"""Large namespaces: which of their rows a question could be about, so that only those are ranked.

Below `ABOVE` passages every row is ranked. Above it two channels name candidates, each the best
of what may be shown: keywords (`lexical.best`) and vectors. To them come what was said on the days
that the question names, what was said around them, and what somebody linked with them. The ranking
then runs on a part of the snapshot as it would on the whole; what it needs to know of the whole,
such as how rare a word is or which similarity is usual, is taken along.

A row that is among the best by neither channel, nor beside such a row, cannot be found: that is
the one difference, and `benchmarks/agreement.py` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem import lexical
from ebbmem.evidence import surroundings
from ebbmem.finding import Question
from ebbmem.lexical import Postings
from ebbmem.snapshot import GONE, Snapshot

__all__ = ["ABOVE", "CANDIDATES", "Part", "narrowed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Passes = Callable[[Ints], Mask]

ABOVE = 20_000
"""Passages from which on a namespace is narrowed: ranking all takes some 8 ms by then."""

CANDIDATES = 400
"""Rows that each channel names: twice the shortlist, whose members may be good in one alone."""

_CENTRES = 250  # of so many candidates, the most promising: what is around them comes along
_SAMPLE = 2048  # rows that stand for all when it is asked which similarity is usual
_WIDEN = 4  # times as many are fetched when too few of those found may be shown


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a namespace that is ranked in the place of the whole.

    Attributes:
        snapshot, postings: of its rows, numbered anew.
        rows: (m,) their numbers in the whole, ascending.
        usual: (s,) similarities to the question of rows that stand for all; None without vectors.
    """

    snapshot: Snapshot
    postings: Postings
    rows: Ints
    usual: Floats | None


def narrowed(
    snapshot: Snapshot,
    postings: Postings,
    question: Question,
    passes: Passes,
    *,
    candidates: int = CANDIDATES,
    around: int = 0,
    also: Collection[str] = (),
    linked: Callable[[str], Collection[str]] = lambda _: (),
) -> Part:
    """What of a namespace a question could be about.

    Args:
        passes: which of some rows this recall may show.
        candidates: rows that each channel names.
        around: neighbours in the same source that come along on each side, if more than two.
        also: ids that come along whatever they say.
        linked: ids that somebody linked with one.
    """
    documents, scores = lexical.best(
        postings, candidates, lambda each: passes(snapshot.passage_row[each])
    )
    found = [snapshot.passage_row[documents]]
    similarities = _similarities(snapshot, question)
    usual = None
    if similarities is not None:
        found.append(_nearest(snapshot, similarities, candidates, passes))
        usual = _usual(snapshot, similarities, passes)
    found.append(_told(snapshot, question, similarities, candidates, passes))
    rows = np.unique(np.concatenate(found))
    worth = _rough(snapshot, rows, (documents, scores), similarities)
    centres = rows
    if len(rows) > (most := candidates * _CENTRES // CANDIDATES):
        centres = rows[np.argpartition(-worth, most - 1)[:most]]
    near = centres
    for _ in range(max(around + 1, 2) // 2):  # each step is two places wide
        near = np.union1d(near, surroundings(snapshot, near))
    named = {*also, *(other for row in centres.tolist() for other in linked(snapshot.ids[row]))}
    more = [row for id_ in named if (row := snapshot.row_of.get(id_)) is not None]
    rows = np.unique(np.concatenate((rows, near, np.array(more, np.int64))))
    passages, _ = snapshot.passages_of(rows)
    return Part(snapshot.among(rows), postings.among(passages.astype(np.int32)), rows, usual)


def _rough(
    snapshot: Snapshot,
    rows: Ints,
    by_word: tuple[NDArray[np.int32], NDArray[np.float32]],
    similarities: NDArray[np.float32] | None,
) -> NDArray[np.float32]:
    """(m,) what candidates, ascending, are worth by what either channel says of them."""
    documents, scores = by_word
    worth = np.zeros(len(rows), np.float32)
    if len(documents):
        places = np.searchsorted(rows, snapshot.passage_row[documents])
        np.maximum.at(worth, places, scores / scores.max())
    if similarities is not None and len(rows):
        passages, starts = snapshot.passages_of(rows)
        close = np.maximum.reduceat(similarities[passages], starts[:-1])
        worth += close / max(float(close.max()), 1e-9)
    return worth


def _similarities(snapshot: Snapshot, question: Question) -> NDArray[np.float32] | None:
    """(p,) cosines of every passage."""
    if question.encoding is None or snapshot.index is None or snapshot.vectors is None:
        return None
    return snapshot.index.inner_products(snapshot.vectors, question.encoding.vector)


def _nearest(
    snapshot: Snapshot, similarities: NDArray[np.float32], count: int, passes: Passes
) -> Ints:
    """The rows of the `count` most similar passages among those that may be shown."""
    fetched = min(2 * count, len(similarities))
    while True:
        best = np.argpartition(-similarities, fetched - 1)[:fetched]
        shown = best[passes(snapshot.passage_row[best])]
        if len(shown) >= count or fetched == len(similarities):
            break
        fetched = min(_WIDEN * fetched, len(similarities))
    if len(shown) > count:
        shown = shown[np.argpartition(-similarities[shown], count - 1)[:count]]
    return np.unique(snapshot.passage_row[shown])


def _usual(snapshot: Snapshot, similarities: NDArray[np.float32], passes: Passes) -> Floats:
    """(s,) similarities of rows evenly spread over those that may be shown."""
    step = max(len(similarities) // _SAMPLE, 1)
    sample = np.arange(0, len(similarities), step)
    shown = sample[passes(snapshot.passage_row[sample])]
    return np.clip(similarities[shown].astype(np.float64), -1.0, 1.0)


def _told(
    snapshot: Snapshot,
    question: Question,
    similarities: NDArray[np.float32] | None,
    count: int,
    passes: Passes,
) -> Ints:
    """Of what was said on the very days that a question names, the most similar, else the last."""
    if question.date is None and question.days is None:
        return np.empty(0, np.int64)
    rows = np.flatnonzero(question.told_on(snapshot.created) & (snapshot.status != GONE))
    rows = rows[passes(rows)]
    if len(rows) <= count:
        return rows
    if similarities is None:
        return np.sort(rows[np.argsort(-snapshot.created[rows], kind="stable")[:count]])
    worth = similarities[snapshot.passage_start[rows]]
    return np.sort(rows[np.argpartition(-worth, count - 1)[:count]])
