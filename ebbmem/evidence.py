"""What one query and one snapshot say about some rows: late interaction, neighbours, roles."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem.asking import ASSISTANTS, MANY_SPEAKERS, Asks
from ebbmem.finding import Question, Ranking
from ebbmem.ranking import ADJACENT, Evidence, neighbours
from ebbmem.relevance import best_matches, idf_weights, scaled, telling
from ebbmem.snapshot import Snapshot
from ebbmem.text import words

__all__ = ["Late", "gathered", "late_interaction", "surroundings"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TWO = 0.85  # of what passes from the neighbour passes from the one behind it
_AT_ONE, _AT_TWO = 0.95, 0.9  # what a match in the neighbour, in the one behind it is worth


@dataclass(frozen=True, slots=True)
class Late:
    """Late interaction with a pool of rows, ascending.

    Attributes:
        scores: (m,) of the best passage of each row, in [-1, 1].
        best: (m + 1, q) best cosine of each piece of the query with any of the row; the last
            row is that of nobody.
        weights: (q,) of the pieces.
    """

    scores: Floats
    best: NDArray[np.float32]
    weights: Floats

    def around(
        self, pool: Ints, rows: Ints, near: tuple[Ints, Ints], far: tuple[Ints, Ints]
    ) -> Floats:
        """(k,) late interaction of rows of the pool where pieces may match what is around them."""
        at = np.searchsorted(pool, rows)
        most = self.best[at]
        for share, steps in ((_AT_ONE, near), (_AT_TWO, far)):
            for step in steps:
                most = np.maximum(most, share * self.best[_places(pool, step)])
        together = most @ self.weights
        return scaled(together, together)


def _places(pool: Ints, rows: Ints) -> Ints:
    """Where rows stand in the pool; -1 for what is not in it."""
    at = np.minimum(np.searchsorted(pool, rows), len(pool) - 1)
    return np.where(pool[at] == rows, at, -1)


def late_interaction(
    snapshot: Snapshot,
    question: Question,
    rows: Ints,
    frequency_of: Callable[[NDArray[np.int32]], NDArray[np.int32]],
    total: int,
) -> Late | None:
    """Of the query with some rows; None without token vectors.

    Args:
        frequency_of: in how many of the `total` living passages each piece occurs.
    """
    encoding, pieces = question.encoding, snapshot.pieces
    if encoding is None or encoding.tokens is None or pieces is None or not len(rows):
        return None
    codes = encoding.tokens.codes.astype(np.float32)
    if not len(codes):
        return None
    query = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-6)
    weights = idf_weights(frequency_of(encoding.tokens.ids), total)
    chosen, starts = snapshot.passages_of(rows)
    offsets = starts[:-1]
    best = best_matches(query, pieces, chosen)
    weights = telling(weights, best)
    scores = np.maximum.reduceat(best @ weights, offsets)
    of_rows = np.maximum.reduceat(best, offsets, axis=0)
    nobody = np.full((1, len(query)), -1.0, np.float32)
    return Late(scores, np.concatenate((of_rows, nobody)), weights)


def surroundings(snapshot: Snapshot, rows: Ints) -> Ints:
    """The rows within two of some, in the same source, ascending."""
    before, after = snapshot.before[rows], snapshot.after[rows]
    found = np.concatenate(
        [before, after, neighbours(before, snapshot.before), neighbours(after, snapshot.after)]
    )
    return np.unique(found[found >= 0])


def gathered(
    base: Ranking, question: Question, rows: Ints, pool: Ints, own: Floats, late: Late | None
) -> tuple[Floats, Evidence]:
    """Relevance of the rows, with what passes on to them from their neighbours; and the rest.

    `own` is (n + 1,), what each row of the pool is worth by itself.
    """
    snapshot, asks = base.snapshot, question.asks
    before, after = snapshot.before[rows], snapshot.after[rows]
    two_before = neighbours(before, snapshot.before)
    two_after = neighbours(after, snapshot.after)
    passed = np.maximum(
        np.maximum(own[before], own[after]), _TWO * np.maximum(own[two_before], own[two_after])
    )
    relevance = np.maximum(own[rows], ADJACENT * snapshot.conversational * passed)
    window = None
    if late is not None and snapshot.conversational > 0.0:
        window = late.around(pool, rows, (before, after), (two_before, two_after))
    named = _named(snapshot, asks)
    assistants = [at for at, name in enumerate(snapshot.speakers) if name.lower() in ASSISTANTS]
    speaker = snapshot.speaker[rows]
    sizes = snapshot.source_sizes
    source = snapshot.source[rows]
    return relevance, Evidence(
        rows=rows,
        relevance=own[rows],
        near=own,
        before=before,
        two_before=two_before,
        after=after,
        two_after=two_after,
        source=source,
        source_size=np.where(source >= 0, sizes[np.minimum(source, len(sizes) - 1)], 0),
        window=window,
        coverage=np.append(base.signals.coverage, 0.0),
        question=np.append(snapshot.question, False),
        holds=snapshot.holds[rows],
        names=snapshot.names[rows],
        words=snapshot.length[rows],
        assistant=np.isin(speaker, assistants) if assistants else None,
        speaker=None if named is None else speaker == named,
        strength=base.strength[rows],
        conversational=snapshot.conversational,
        when=question.when(snapshot.created[rows]),
        asks=asks,
    )


def _says(heard: Collection[str], name: str) -> bool:
    """Whether a name is among words; one written without spaces may be part of a run."""
    return name in heard or (not name.isascii() and any(name in word for word in heard))


def _named(snapshot: Snapshot, asks: Asks) -> int | None:
    """The one speaker whose first name the question holds."""
    if not 1 < len(snapshot.speakers) <= MANY_SPEAKERS:
        return None
    found = [
        at
        for at, name in enumerate(snapshot.speakers)
        if (first := words(name)[:1]) and _says(asks.words, first[0])
    ]
    return found[0] if len(found) == 1 else None
