"""What a search reads: one namespace at one moment, immutable."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem.clock import NEVER
from ebbmem.lifecycle import claims, elapsed_days
from ebbmem.policy import Policy
from ebbmem.relevance import Pieces
from ebbmem.salience import salience_of
from ebbmem.vectors import VectorIndex
from ebbmem.vectors.bands import Layout

__all__ = ["ACTIVE", "FADED", "GONE", "SAMPLE", "Order", "Snapshot", "sample"]

ACTIVE, FADED, GONE = 0, 1, 2
"""Values of `Snapshot.status`."""

Ints = NDArray[np.int64]
Rows = Ints | slice

ALL = slice(None)

SAMPLE = 2048
"""Passages that stand for all when it is asked which similarity is usual: the least of a million
would be an accident."""


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a large namespace's passages by a bound of their strength.

    Attributes:
        layout: see `ebbmem.vectors.bands`.
        at: instant from which on the bounds hold; `policy`: by whose curve.
        sample: (s,) passages that stand for all, and their vectors (s, d).
    """

    layout: Layout
    at: int
    policy: Policy | None
    sample: tuple[Ints, NDArray[np.float32]]

    def holds(self, now: int, policy: Policy) -> bool:
        """Whether no strength of `now`, by this policy, is over its bound."""
        return now >= self.at and policy == self.policy


@dataclass(frozen=True, slots=True)
class Snapshot:
    """n rows (memories) and p passages, numbered in the order they came, dead ones included.

    Instants are microseconds. `before` and `after` are the neighbours in the same source, -1
    where there is none; `marks` is what `ebbmem.currency` reads in a text, `holds` and `names`
    what `ebbmem.asking` does, `length` counts words, `trust` is the place in `TRUSTS`. `started`
    is the later of creation and reinforcement, `reinforced` the last counted one or -1, `expires`
    the end that was set and `superseded` when another took the place, or beyond all time.
    `source_sizes` counts the living rows of each source, by its number.
    `passage_start` has n + 1 entries; `spans` (p, 2) are character offsets. `ids` may have
    grown since; only the first n belong here. Rows of another `generation` are numbered anew.
    """

    generation: int
    ids: list[str]
    row_of: dict[str, int]
    active_days: tuple[int, ...]
    conversational: float
    categories: tuple[str, ...]
    sources: dict[str, int]
    speakers: tuple[str, ...]
    created: Ints
    started: Ints
    reinforced: Ints
    count: Ints
    importance: NDArray[np.float64]
    status: Ints
    pinned: NDArray[np.bool_]
    expires: Ints
    superseded: Ints
    searchable: NDArray[np.bool_]
    trust: NDArray[np.int8]
    held: NDArray[np.bool_]
    category: Ints
    source: Ints
    before: Ints
    after: Ints
    question: NDArray[np.bool_]
    marks: Ints
    holds: Ints
    names: Ints
    length: Ints
    speaker: Ints
    source_sizes: Ints
    passage_row: Ints
    passage_start: Ints
    spans: Ints
    index: VectorIndex | None
    vectors: NDArray[np.float32] | None
    pieces: Pieces | None
    order: Order | None

    def alive(self) -> NDArray[np.bool_]:
        """(n,) rows that exist, faded ones included."""
        return np.asarray(self.status != GONE)

    def living_passages(self) -> NDArray[np.bool_]:
        """(p,) passages of rows that exist and can be found: what statistics are taken over."""
        return np.asarray((self.alive() & self.searchable)[self.passage_row])

    def base_rates(self, policy: Policy, rows: Rows = ALL) -> NDArray[np.float64]:
        """(n,) or of some rows: decay per day at importance 0, as a policy has the categories."""
        known = [policy.category(name).base_rate for name in self.categories]
        return np.asarray(known, np.float64)[self.category[rows]]

    def strengths(self, now: int, policy: Policy, rows: Rows = ALL) -> NDArray[np.float64]:
        """(n,) strength of every row at `now`, or of some."""
        elapsed = elapsed_days(self.started[rows], now, policy, self.active_days)
        importance, count = self.importance[rows], self.count[rows]
        return policy.strength(self.base_rates(policy, rows), importance, count, elapsed)

    def hidden(
        self, strengths: NDArray[np.float64], now: int, policy: Policy, rows: Rows = ALL
    ) -> NDArray[np.bool_]:
        """(n,) rows that recall does not show at these strengths: faded by the pass, or by now.

        Or of some rows, whose strengths these are.
        """
        weak = ~self.pinned[rows] & (strengths < policy.fade_below)
        over, status = weak | (self.expires[rows] <= now), self.status[rows]
        return np.asarray((status == FADED) | ((status == ACTIVE) & over))

    def bounds(self, now: int, policy: Policy, passages: Ints) -> NDArray[np.float32]:
        """(m,) what the strengths of passages will not exceed unless they are used or changed.

        What is pinned is shown at any strength, so it counts as full; what is gone, or no query
        finds, is -inf.
        """
        rows = self.passage_row[passages]
        strengths = np.where(self.pinned[rows], 1.0, self.strengths(now, policy, rows))
        there = (self.status[rows] != GONE) & self.searchable[rows]
        return np.where(there, strengths, -np.inf).astype(np.float32)

    def current(self, as_of: int | None = None) -> NDArray[np.bool_]:
        """(n,) rows whose place nobody took; or that were said, and had theirs, at an instant."""
        if as_of is None:
            return np.asarray(self.superseded == NEVER)
        return np.asarray((self.created <= as_of) & (self.superseded > as_of))

    def superseded_ids(self) -> set[str]:
        """Of the memories whose place another took."""
        return {self.ids[row] for row in np.flatnonzero(~self.current()).tolist()}

    def weakest(
        self, now: int, policy: Policy, count: int, *, recent: int = 0, said: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """At most `count` ids that may fade, with their `lifecycle.claim`, the smallest first.

        What has faded by now or was superseded goes before all others; after them, if at all,
        the `recent` ones that were made or used last, and then what is named as `said`.
        """
        strengths = self.strengths(now, policy)
        ranges = np.array([policy.category(name).importance for name in self.categories])
        low, high = ranges.reshape(-1, 2)[self.category].T
        claim = claims(strengths, salience_of(self.importance, low, high), self.count)
        rows = np.flatnonzero((self.status == ACTIVE) & ~self.pinned)
        turn = np.ones(len(self.status), np.int8)
        turn[rows[np.argsort(self.started[rows], kind="stable")[max(len(rows) - recent, 0) :]]] = 2
        turn[self.hidden(strengths, now, policy) | (self.superseded != NEVER)] = 0
        turn[[self.row_of[id_] for id_ in said if id_ in self.row_of]] = 3
        first = np.lexsort((self.started[rows], claim[rows], turn[rows]))[:count]
        return [(self.ids[row], float(claim[row])) for row in rows[first]]

    def vector(self, row: int | None) -> NDArray[np.float32] | None:
        """(d,) unit mean over the passages of a row; None where it has none."""
        if row is None or self.vectors is None:
            return None
        mean = self.vectors[self.passage_start[row] : self.passage_start[row + 1]].mean(axis=0)
        norm = float(np.linalg.norm(mean))
        return None if norm < 1e-12 else np.asarray(mean / norm, np.float32)

    def among(self, rows: Ints) -> Snapshot:
        """A snapshot of some rows (m,), ascending and numbered from 0 in their order.

        Neighbours that are not among them are none. What the whole says about itself, such as
        `conversational`, is that of the whole.
        """
        passages, starts = self.passages_of(rows)
        places = np.full(len(self.status) + 1, -1)  # the last is where nobody stands
        places[rows] = np.arange(len(rows))
        ids = [self.ids[row] for row in rows.tolist()]
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(
            self,
            **columns,
            ids=ids,
            row_of={ids[at]: at for at in np.flatnonzero(self.status[rows] != GONE).tolist()},
            before=places[self.before[rows]],
            after=places[self.after[rows]],
            passage_row=places[self.passage_row[passages]],
            passage_start=starts,
            spans=self.spans[passages],
            vectors=None if self.vectors is None else self.vectors[passages],
            pieces=None if self.pieces is None else self.pieces.among(passages),
            order=None,
        )

    def passages_of(self, rows: Ints) -> tuple[Ints, Ints]:
        """The passages of some rows (m,), in their order, and where each row's begin (m + 1,)."""
        first = self.passage_start[rows]
        counts = self.passage_start[rows + 1] - first
        starts = np.concatenate(([0], np.cumsum(counts)))
        passages = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        return passages, starts

    def best_passages(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) the best of each row's passages of (p,) values."""
        if len(values) == len(self.status):  # every memory is one passage
            return values
        return np.asarray(np.maximum.reduceat(values, self.passage_start[:-1]))


def sample(count: int) -> Ints:
    """At least `SAMPLE` of so many passages, if there are as many, evenly spread."""
    return np.arange(0, count, max(count // SAMPLE, 1))


_COLUMNS = (
    *("created", "started", "reinforced", "count", "importance", "status", "pinned", "expires"),
    *("superseded", "searchable", "trust", "held", "category", "source", "question", "marks"),
    *("holds", "names", "length", "speaker"),
)
"""Of `Snapshot`, what stands for each row by itself."""
