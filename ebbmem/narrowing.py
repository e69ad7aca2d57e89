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

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem import lexical
from ebbmem.evidence import surroundings
from ebbmem.finding import Question
from ebbmem.lexical import Postings
from ebbmem.policy import Policy
from ebbmem.snapshot import GONE, Order, Snapshot
from ebbmem.vectors.flat import products

__all__ = ["ABOVE", "CANDIDATES", "Part", "narrowed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Passes = Callable[[Ints], Mask]

ABOVE = 100_000
"""Passages from which on a namespace is narrowed: below, ranking all of it costs no more."""

CANDIDATES = 800
"""Rows that each channel names: four times the shortlist, whose members may be middling in both.

With 400 a namespace of 60,000 shared .96 to .98 of the exhaustive first five, with 800 .99.
"""

_CENTRES = 0.625  # of the candidates, the most promising: what is around them comes along


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
    now: int,
    policy: Policy,
    *,
    include_faded: bool = False,
    candidates: int = CANDIDATES,
    around: int = 0,
    also: Collection[str] = (),
    linked: Callable[[str], Collection[str]] = lambda _: (),
) -> Part:
    """What of a namespace a question could be about.

    Args:
        passes: which of some rows this recall may show.
        now, policy, include_faded: what strengths follow from, and whether they hide anything.
        candidates: rows that each channel names.
        around: neighbours in the same source that come along on each side, if more than two.
        also: ids that come along whatever they say.
        linked: ids that somebody linked with one.
    """
    documents, scores = lexical.best(
        postings, candidates, lambda each: passes(snapshot.passage_row[each])
    )
    found = [snapshot.passage_row[documents]]
    vectors = _Vectors.of(snapshot, question)
    usual = None
    if vectors is not None:
        found.append(vectors.nearest(candidates, passes, now, policy, include_faded=include_faded))
        usual = vectors.usual(passes)
    found.append(_told(snapshot, question, vectors, candidates, passes))
    rows = np.unique(np.concatenate(found))
    worth = _rough(snapshot, rows, (documents, scores), vectors)
    centres = rows
    if len(rows) > (most := math.ceil(_CENTRES * candidates)):
        centres = rows[np.argpartition(-worth, most - 1)[:most]]
    beside = np.concatenate((rows, snapshot.before[rows], snapshot.after[rows]))
    near = centres
    for _ in range(max(around + 1, 2) // 2):  # each step is two places wide
        near = np.union1d(near, surroundings(snapshot, near))
    named = {*also, *(other for row in centres.tolist() for other in linked(snapshot.ids[row]))}
    more = [row for id_ in named if (row := snapshot.row_of.get(id_)) is not None]
    rows = np.unique(np.concatenate((beside[beside >= 0], near, np.array(more, np.int64))))
    passages, _ = snapshot.passages_of(rows)
    return Part(snapshot.among(rows), postings.among(passages.astype(np.int32)), rows, usual)


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The channel of vectors: a snapshot that has an order, and the query's."""

    snapshot: Snapshot
    order: Order
    rows: NDArray[np.float32]
    query: NDArray[np.float32]

    @classmethod
    def of(cls, snapshot: Snapshot, question: Question) -> _Vectors | None:
        if question.encoding is None or snapshot.order is None or snapshot.vectors is None:
            return None
        return cls(snapshot, snapshot.order, snapshot.vectors, question.encoding.vector)

    def nearest(
        self, count: int, passes: Passes, now: int, policy: Policy, *, include_faded: bool
    ) -> Ints:
        """The rows of the `count` most similar passages among those that may be shown."""
        least = -np.inf if include_faded else policy.fade_below

        def strengths(passages: Ints) -> NDArray[np.float32]:
            shown = passes(self.snapshot.passage_row[passages])
            return np.where(shown, self.snapshot.bounds(now, policy, passages), -np.inf)

        def visible(similar: NDArray[np.float32], strong: NDArray[np.float32]) -> Any:
            return np.where((strong >= least) & (strong > -np.inf), similar, -np.inf)

        top = self.order.layout.top(
            self.rows,
            self.query,
            count,
            visible,
            strengths,
            bounded=self.order.holds(now, policy),
        )
        return np.unique(self.snapshot.passage_row[top.rows])

    def usual(self, passes: Passes) -> Floats:
        """(s,) similarities of passages that stand for all that may be shown."""
        passages, vectors = self.order.sample
        shown = passes(self.snapshot.passage_row[passages])
        similar = products(vectors, self.query)[shown]
        return np.clip(similar.astype(np.float64), -1.0, 1.0)

    def best_of(self, rows: Ints) -> NDArray[np.float32]:
        """(m,) the similarity of the best passage of some rows."""
        passages, starts = self.snapshot.passages_of(rows)
        return np.maximum.reduceat(products(self.rows[passages], self.query), starts[:-1])


def _rough(
    snapshot: Snapshot,
    rows: Ints,
    by_word: tuple[NDArray[np.int32], NDArray[np.float32]],
    vectors: _Vectors | None,
) -> NDArray[np.float32]:
    """(m,) what candidates, ascending, are worth by what either channel says of them."""
    documents, scores = by_word
    worth = np.zeros(len(rows), np.float32)
    if len(documents):
        places = np.searchsorted(rows, snapshot.passage_row[documents])
        np.maximum.at(worth, places, scores / scores.max())
    if vectors is not None and len(rows):
        close = vectors.best_of(rows)
        worth += close / max(float(close.max()), 1e-9)
    return worth


def _told(
    snapshot: Snapshot,
    question: Question,
    vectors: _Vectors | None,
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
    worth = snapshot.created[rows] if vectors is None else vectors.best_of(rows)
    return np.sort(rows[np.argsort(-worth, kind="stable")[:count]])
