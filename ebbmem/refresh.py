"""Local recency on a snapshot: the first places of a ranking with what is current before what it
replaced (`ebbmem.currency`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebbmem.currency import DEPTH, Statements, Wanted, refreshed
from ebbmem.finding import Ranking
from ebbmem.lexical import Postings, idf
from ebbmem.snapshot import Snapshot

__all__ = ["with_current_first"]


def with_current_first(
    ranking: Ranking, asked: Wanted | None, postings: Postings, background: float
) -> Ranking:
    """The ranking in its new order; who changed places changed scores, and "current" says so.

    Args:
        postings: of the distinct terms of the question, in their order.
        background: the cosine of unrelated texts.
    """
    first = ranking.order[:DEPTH]
    if asked is None or len(first) < 2:
        return ranking
    found = _statements(ranking.snapshot, first, postings, background)
    order = refreshed(found, asked)
    if order == list(range(len(first))):
        return ranking
    renewed = [(first[at][0], score) for at, (_, score) in zip(order, first, strict=True)]
    before = dict(first)
    moved = {row: score - before[row] for row, score in renewed if score != before[row]}
    return replace(
        ranking,
        order=[*renewed, *ranking.order[DEPTH:]],
        bonuses={**ranking.bonuses, "current": (1.0, moved)},
    )


def _statements(
    snapshot: Snapshot, first: Sequence[tuple[int, float]], postings: Postings, background: float
) -> Statements:
    rows, corpus = np.array([row for row, _ in first], np.int64), postings.corpus
    return Statements(
        scores=np.array([score for _, score in first]),
        marks=snapshot.marks[rows],
        created=snapshot.created[rows],
        speaker=snapshot.speaker[rows],
        asks=snapshot.question[rows],
        talked=_beside(snapshot, rows, snapshot.before) | _beside(snapshot, rows, snapshot.after),
        held=_held(snapshot, rows, postings),
        weight=np.array([idf(df, corpus.total) for df in corpus.frequencies]),
        alike=_alike(snapshot, rows, background),
    )


def _beside(
    snapshot: Snapshot, rows: NDArray[np.int64], near: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(m,) whether the neighbour on one side is of another speaker."""
    other = near[rows]
    return np.asarray((other >= 0) & (snapshot.speaker[other] != snapshot.speaker[rows]))


def _held(snapshot: Snapshot, rows: NDArray[np.int64], postings: Postings) -> NDArray[np.bool_]:
    """(m, t) which terms a row holds in any passage."""
    starts, stops = snapshot.passage_start[rows], snapshot.passage_start[rows + 1]
    held = [
        np.searchsorted(documents, starts) < np.searchsorted(documents, stops)
        for documents in postings.documents
    ]
    return np.stack(held, axis=1) if held else np.zeros((len(rows), 0), bool)


def _alike(
    snapshot: Snapshot, rows: NDArray[np.int64], background: float
) -> NDArray[np.float64] | None:
    """(m, m) how far two rows lie between unrelated and identical; None without vectors."""
    if snapshot.vectors is None or background >= 1.0:
        return None
    vectors = np.stack([_unit(snapshot, row) for row in rows.tolist()])
    return np.asarray((vectors @ vectors.T - background) / (1.0 - background), np.float64)


def _unit(snapshot: Snapshot, row: int) -> NDArray[np.float32]:
    found = snapshot.vector(row)
    if found is None:  # a text that the model does not cover resembles nothing
        assert snapshot.vectors is not None
        return np.zeros(snapshot.vectors.shape[1], np.float32)
    return found
