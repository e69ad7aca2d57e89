"""What goes into a search and what comes out of it: values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ebbmem.asking import Asks, asks
from ebbmem.budget import Budget
from ebbmem.clock import DAY
from ebbmem.cues import DateCue, date_cue
from ebbmem.currency import Wanted, wanted
from ebbmem.days import Days, days_fit, days_named
from ebbmem.embedding.base import Encoding
from ebbmem.graph import Reached
from ebbmem.languages import LANGUAGES, Language
from ebbmem.ranking import date_match, on_date
from ebbmem.snapshot import Snapshot
from ebbmem.text import keywords

__all__ = ["ByRow", "Found", "Question", "Ranking", "Signals"]

Floats = NDArray[np.float64]

_FEW_DAYS = 8  # a week and a day


@dataclass(frozen=True, slots=True)
class Question:
    """A query as search needs it; `encoding` None leaves keywords alone."""

    terms: tuple[str, ...]
    date: DateCue | None
    encoding: Encoding | None
    now: Wanted | None = None
    asks: Asks = field(default_factory=Asks)
    days: Days | None = None

    @classmethod
    def of(
        cls,
        text: str,
        encoding: Encoding | None,
        languages: tuple[Language, ...] = LANGUAGES,
        *,
        today: int | None = None,
    ) -> Question:
        """From its words; `today` counts from 1970-01-01, and None resolves no "yesterday"."""
        terms = tuple(keywords(text))
        return cls(
            terms,
            date_cue(text),
            encoding,
            wanted(text, terms, tuple(each.slots for each in languages)),
            asks(text, tuple(each.asking for each in languages)),
            None if today is None else days_named(text, today),
        )

    def told_on(self, created: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which items were said on the very days it names, if those are few."""
        found = np.zeros(len(created), bool)
        if self.date is not None and self.date.day is not None:
            found |= on_date(self.date, created)
        if self.days is not None and self.days.last - self.days.first < _FEW_DAYS:
            day = created // DAY
            found |= (day >= self.days.first) & (day <= self.days.last)
        return found

    def when(self, created: NDArray[np.int64]) -> Floats | None:
        """How well items said at `created` (microseconds) fit the days it names, in [0, 1]."""
        fits = [] if self.date is None else [date_match(self.date, created)]
        if self.days is not None:
            fits.append(days_fit(self.days, created))
        return np.maximum.reduce(fits) if fits else None


class ByRow(Mapping[int, float]):
    """Values (m,) of some rows (m,), ascending, by their number."""

    __slots__ = ("_rows", "_values")

    def __init__(self, rows: NDArray[np.int64], values: Floats) -> None:
        self._rows = rows
        self._values = values

    def __getitem__(self, row: int) -> float:
        at = int(np.searchsorted(self._rows, row))
        if at == len(self._rows) or self._rows[at] != row:
            raise KeyError(row)
        return float(self._values[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.tolist())

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True)
class Found:
    """One row of a ranking with its parts; see `Recollection` for their meaning."""

    row: int
    score: float
    relevance: float
    similarity: float | None
    interaction: float | None
    keyword: float
    bonuses: dict[str, float]
    passage: int
    via: Reached | None = None


@dataclass(frozen=True, slots=True)
class Signals:
    """Per row (n,) unless said: raw signals of round one.

    `usual` (s,) are similarities of passages that stand for all where there are many.
    """

    keyword: Floats
    coverage: Floats
    shared: Floats
    rare: NDArray[np.bool_]
    ceiling: float
    similarity: Floats | None
    passage_keyword: Floats
    passage_similarity: Floats | None
    interaction: Mapping[int, float] | None = None
    usual: Floats | None = None

    def best_passage(self, snapshot: Snapshot, row: int) -> int:
        first, last = int(snapshot.passage_start[row]), int(snapshot.passage_start[row + 1])
        if last - first == 1:
            return first
        worth = self.passage_keyword[first:last] / max(self.ceiling, 1e-9)
        if self.passage_similarity is not None:
            worth = worth + self.passage_similarity[first:last]
        return first + int(np.argmax(worth))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Everything a search found out, best first; `explain` reads it.

    `eligible` are the rows that this recall may show; `left_out` are those, with their scores,
    that are beyond what their source may fill by the `budget`, if there is one. `known` counts the
    rows of the namespace, of which the snapshot may be a part.
    """

    snapshot: Snapshot
    order: list[tuple[int, float]]
    strength: Floats
    hidden: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    eligible: NDArray[np.bool_]
    candidate: NDArray[np.bool_]
    related: NDArray[np.bool_]
    threshold: float
    signals: Signals
    relevance: Mapping[int, float]
    bonuses: dict[str, tuple[float, Mapping[int, float]]]
    reached: dict[int, Reached] = field(default_factory=dict)
    budget: Budget | None = None
    left_out: dict[int, float] = field(default_factory=dict)
    known: int = 0

    def at_least(self, score: float) -> Ranking:
        """The same without what scores less."""
        return (
            self
            if score <= 0.0
            else replace(self, order=[each for each in self.order if each[1] >= score])
        )

    def within_budget(self, k: int) -> Ranking:
        """The same, in which no source fills more of k places than it may."""
        if self.budget is None:
            return self
        over = set(self.budget.over([row for row, _ in self.order], k))
        return replace(
            self,
            order=[each for each in self.order if each[0] not in over],
            left_out=self.left_out | {row: score for row, score in self.order if row in over},
        )

    def limits(self, row: int) -> bool:
        """Whether a row is of a source that may fill no more than its share."""
        return self.budget is not None and self.budget.limits(row)

    def found(self, row: int, score: float) -> Found:
        """The parts of one row."""
        signals = self.signals
        similarity = None if signals.similarity is None else float(signals.similarity[row])
        return Found(
            row=row,
            score=score,
            relevance=self.relevance.get(row, 0.0),
            similarity=similarity,
            interaction=signals.interaction.get(row) if signals.interaction is not None else None,
            keyword=float(signals.keyword[row]) / max(signals.ceiling, 1e-9),
            bonuses={
                name: weight * values[row]
                for name, (weight, values) in self.bonuses.items()
                if row in values
            },
            passage=signals.best_passage(self.snapshot, row),
            via=self.reached.get(row),
        )

    def direct(self, row: int) -> bool:
        """Whether a row has its place by what it says, not through the graph."""
        return row not in self.reached
