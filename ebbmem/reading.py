"""From rankings and snapshots to what the bank answers. Pure but for filters on metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ebbmem import lifecycle
from ebbmem.around import Beside
from ebbmem.checks import check_ids, check_label
from ebbmem.clock import DAY, NEVER
from ebbmem.conditions import condition
from ebbmem.errors import InvalidInput
from ebbmem.finding import Ranking
from ebbmem.policy import Policy
from ebbmem.ranking import with_strength
from ebbmem.records import Memory, Namespace, Recollection, Step
from ebbmem.results import Ranked
from ebbmem.snapshot import ACTIVE, Snapshot
from ebbmem.store import MemoryStore, State

__all__ = [
    "Asked",
    "Filters",
    "Where",
    "days_left",
    "due_within",
    "hidden_ids",
    "recollection",
    "recollections",
    "reranked",
    "retention",
    "used",
]

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Where = Mapping[str, Any] | Callable[[Memory], bool]
"""Conditions on metadata as `ebbmem.conditions` has them, or a function of the record."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a caller lets through, checked."""

    categories: tuple[str, ...] | None
    source: str | None
    where: Where
    exclude: tuple[str, ...] = ()
    as_of: int | None = None
    superseded: bool = False

    @classmethod
    def of(
        cls,
        policy: Policy,
        category: str | Collection[str] | None,
        source: str | None,
        where: Where | None,
        exclude: Iterable[str] = (),
    ) -> Self:
        """Raises `InvalidInput` on a category nobody registered, or a condition that is none."""
        names: tuple[str, ...] | None = None
        if category is not None:
            listed = [category] if isinstance(category, str) else category
            if not isinstance(listed, Collection):
                raise InvalidInput("category", f"must be names, not {type(category).__name__}")
            names = tuple(policy.category(name).name for name in listed)
        if source is not None:
            check_label("source", source)
        if isinstance(where, Mapping):
            condition(where)
        elif where is not None and not callable(where):
            raise InvalidInput("where", f"must be a mapping, not {type(where).__name__}")
        return cls(
            names, source, {} if where is None else where, tuple(check_ids(exclude, "exclude"))
        )

    def mask(self, store: MemoryStore, ns: Namespace) -> Callable[[Snapshot], Mask] | None:
        """(n,) rows that pass, for a snapshot; None lets everything through."""
        everything = self.superseded and self.as_of is None
        picky = self.categories is not None or self.source or self.where or self.exclude
        if everything and not picky:
            return None
        matching = set(self._matching(store, ns)) if self.where else None

        def passing(snapshot: Snapshot) -> Mask:
            rows = self.told(snapshot)
            if self.categories is not None:
                numbers = [snapshot.categories.index(name) for name in self.categories
                           if name in snapshot.categories]  # fmt: skip
                rows &= np.isin(snapshot.category, numbers)
            if self.source is not None:
                rows &= snapshot.source == snapshot.sources.get(self.source, -2)
            if matching is not None:
                rows &= _chosen(snapshot, matching)
            if self.exclude:
                rows &= ~_chosen(snapshot, self.exclude)
            return rows

        return passing

    def told(self, snapshot: Snapshot) -> Mask:
        """(n,) rows that are current, or were at the time that is asked of."""
        if not self.superseded:
            return snapshot.current(self.as_of)
        return np.asarray(snapshot.created <= (NEVER if self.as_of is None else self.as_of))

    def past(self, now: int) -> bool:
        """Whether the past is asked of."""
        return self.as_of is not None and self.as_of < now

    def select(self, store: MemoryStore, ns: Namespace) -> list[str]:
        """Ids that pass, in the order of creation."""
        return self._matching(store, ns, category=self.categories, source=self.source)

    def _matching(self, store: MemoryStore, ns: Namespace, **columns: Any) -> list[str]:
        if isinstance(self.where, Mapping):
            return store.select(ns, where=self.where, **columns)
        records = store.get(ns, store.select(ns, **columns))
        return [each.id for each in records if self.where(each)]


def _chosen(snapshot: Snapshot, ids: Iterable[str]) -> Mask:
    """(n,) the rows of some ids."""
    inside = np.zeros(len(snapshot.status), bool)
    inside[[snapshot.row_of[id_] for id_ in ids if id_ in snapshot.row_of]] = True
    return inside


@dataclass(frozen=True, slots=True)
class Asked:
    """A recall as it was asked for, checked."""

    query: str | tuple[float, ...]
    k: int
    filters: Filters
    include_faded: bool
    min_similarity: float | None
    min_score: float
    around: int | None = 0


def recollections(
    ranking: Ranking,
    chosen: Iterable[tuple[int, float]],
    beside: Mapping[int, Beside],
    records: Mapping[str, Memory],
) -> Iterator[Recollection]:
    """Rows of a ranking with their scores, and what was said around them, as far as it is there."""
    ids = ranking.snapshot.ids

    def known(rows: Iterable[int]) -> tuple[Memory, ...]:
        return tuple(records[ids[row]] for row in rows if ids[row] in records)

    for row, score in chosen:
        if ids[row] in records:
            before, after = map(known, beside.get(row, ((), ())))
            found = recollection(ranking, row, score, records[ids[row]])
            yield replace(found, before=before, after=after)


def recollection(ranking: Ranking, row: int, score: float, memory: Memory) -> Recollection:
    """One row of a ranking, with its record."""
    found = ranking.found(row, score)
    start, stop = ranking.snapshot.spans[found.passage].tolist()
    path = () if found.via is None else found.via.path
    seed = () if found.via is None else (Step(ranking.snapshot.ids[found.via.seed], "seed", 1.0),)
    return Recollection(
        memory=memory,
        score=score,
        relevance=found.relevance,
        strength=float(ranking.strength[row]),
        similarity=found.similarity,
        interaction=found.interaction,
        keyword=found.keyword,
        bonuses=found.bonuses,
        via=(
            *seed,
            *(Step(ranking.snapshot.ids[edge.to], edge.kind, edge.weight) for edge in path),
        ),
        passage=memory.text[start:stop],
        related=bool(ranking.related[row]) or bool(path),
    )


def used(ranking: Ranking, k: int, now: int, policy: Policy) -> list[int]:
    """Rows of the first k for which this recall counts: direct, near the best, not too soon.

    What only fills a place, because the caller asked for k whatever it is, was not found.
    """
    direct = [row for row, _ in ranking.order[:k] if ranking.direct(row) and ranking.related[row]]
    least = policy.reinforce_ratio * max((ranking.relevance[row] for row in direct), default=0.0)
    last = ranking.snapshot.reinforced
    return [
        row
        for row in direct
        if 0.0 < ranking.relevance[row] >= least
        and lifecycle.spaced(None if last[row] < 0 else int(last[row]), now, policy)
    ]


def reranked(
    snapshot: Snapshot, relevance: Mapping[str, float], now: int, policy: Policy
) -> list[Ranked]:
    """What another index found of a snapshot's rows and has not faded, best first."""
    strength = snapshot.strengths(now, policy)
    hidden = snapshot.hidden(strength, now, policy) | ~snapshot.current()
    known = {id_: row for id_ in relevance if (row := snapshot.row_of.get(id_)) is not None}
    shown = {id_: row for id_, row in known.items() if not hidden[row]}
    rows = np.array([*shown.values()], np.int64)
    values = np.array([relevance[id_] for id_ in shown])
    scores = with_strength(values, strength[rows], product=policy.ranking == "product")
    found = [
        Ranked(id=id_, score=float(score), relevance=relevance[id_], strength=float(strength[row]))
        for (id_, row), score in zip(shown.items(), scores, strict=True)
    ]
    return sorted(found, key=lambda each: -each.score)


def hidden_ids(snapshot: Snapshot, now: int, policy: Policy) -> set[str]:
    """Of the memories that recall does not show."""
    hidden = snapshot.hidden(snapshot.strengths(now, policy), now, policy)
    return {snapshot.ids[row] for row in np.flatnonzero(hidden).tolist()}


def retention(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> float:
    """The bare curve of one memory, in [0, 1]."""
    rate = policy.rate(policy.category(state.category).base_rate, state.importance)
    elapsed = lifecycle.elapsed_days(state.clock_start, now, policy, active_days)
    return float(policy.curve.retention(rate, elapsed))


def due_within(
    snapshot: Snapshot, now: int, policy: Policy, days: float
) -> list[tuple[str, float, int]]:
    """(id, strength, earliest instant of fading) of what can fade within `days`, soonest first."""
    left, ends = days_left(snapshot, now, policy)
    strength = snapshot.strengths(now, policy)
    due = [
        (
            snapshot.ids[row],
            float(strength[row]),
            int(snapshot.expires[row]) if ends[row] <= left[row] else now + int(left[row] * DAY),
        )
        for row in np.flatnonzero(np.minimum(left, ends) <= days)
    ]
    return sorted(due, key=lambda each: (each[2], each[0]))


def days_left(snapshot: Snapshot, now: int, policy: Policy) -> tuple[Floats, Floats]:
    """(n,) days until each row can fade by its strength, and by the end that was set.

    Infinite where it cannot, or has already.
    """
    lifetimes = policy.lifetime(snapshot.base_rates(policy), snapshot.importance, snapshot.count)
    elapsed = lifecycle.elapsed_days(snapshot.started, now, policy, snapshot.active_days)
    ahead = np.maximum(snapshot.started - now, 0) / DAY  # said in the future
    hidden = snapshot.hidden(snapshot.strengths(now, policy), now, policy)
    over = (snapshot.status != ACTIVE) | hidden
    left = np.maximum(lifetimes - elapsed, 0.0) + ahead
    return (
        np.where(over | snapshot.pinned, np.inf, left),
        np.where(over, np.inf, (snapshot.expires - now) / DAY),
    )
