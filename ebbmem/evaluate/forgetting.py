"""What forgetting costs: conversations replayed in time order, and memories dropped before asking.

Replay: every item is remembered when it was said, the clock moves with them and the daily pass
runs; questions are asked at the end and see what has not faded. Dropping: a share of the memories
is erased first, in some order, and what answered from them counts as missed. Questions leave no
trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ebbmem.bank import MemoryBank
from ebbmem.embedding import Encoder
from ebbmem.evaluate import metrics
from ebbmem.evaluate.data import Dataset, History
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memory
from ebbmem.testing import ManualClock

__all__ = ["DROPPED", "METRICS", "ORDERS", "REPLAYS", "Report", "Row", "measure"]

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

METRICS = ("any@1", "any@5", "any@10", "rec@5", "MRR")
DROPPED = (0.2, 0.4, 0.6)
SEEDS = (0, 1, 2)
_DEPTH = 50  # as far as MRR looks

REPLAYS: Mapping[str, Policy] = {"days of use": Policy.chat(), "every day": Policy()}
"""Timelines, each with decay and the daily pass on."""
NOTHING = "nothing forgotten"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One way of forgetting.

    Attributes:
        dropped: share of the memories that was erased before asking; 0 in a replay.
        values: (questions, metrics) in [0, 1].
        memories: share that could still be found when it was asked.
        evidence: share of the questions of which anything that answers them could be found.
    """

    name: str
    dropped: float
    values: Floats = field(repr=False)
    memories: float
    evidence: float

    def mean(self, metric: str) -> float:
        """Of all questions, in [0, 1]."""
        return float(self.values[:, METRICS.index(metric)].mean())


@dataclass(frozen=True, slots=True)
class Report:
    """All rows of one data set; the first of `replays` forgets nothing."""

    name: str
    questions: int
    records: int
    replays: tuple[Row, ...]
    drops: tuple[Row, ...]

    def kept(self, row: Row, metric: str = "any@5") -> float:
        """Share of what is found when nothing is forgotten."""
        return row.mean(metric) / max(self.replays[0].mean(metric), 1e-9)


def measure(
    dataset: Dataset,
    encoder: Encoder | None,
    *,
    dropped: Sequence[float] = DROPPED,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Every row of a data set; `progress` is called with (done, total) histories."""
    replays: dict[str, list[_Answers]] = {}
    drops: dict[tuple[str, float], list[_Answers]] = {}
    records = 0
    with TemporaryDirectory(prefix="ebbmem-bench-") as folder:
        for done, history in enumerate(dataset.histories):
            progress(done, len(dataset.histories))
            if not history.questions:
                continue
            place = _Place(Path(folder) / str(done), history, encoder)
            replays.setdefault(NOTHING, []).append(place.kept())
            records += replays[NOTHING][-1].records
            for name, policy in REPLAYS.items():
                replays.setdefault(name, []).append(place.replayed(policy))
            for share in dropped:
                for name, order in ORDERS.items():
                    drops.setdefault((name, share), []).append(place.dropped(order, share))
    return Report(
        dataset.name,
        dataset.asked,
        records,
        tuple(_joined(name, 0.0, each) for name, each in replays.items()),
        tuple(_joined(name, share, each) for (name, share), each in drops.items()),
    )


# -- one history ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """What one history answered: `values` (questions, metrics), and what could be found."""

    values: Floats
    found: int
    records: int
    evidence: int


class _Place:
    """A history, remembered once in a file; what forgets does so in a copy."""

    def __init__(self, path: Path, history: History, encoder: Encoder | None) -> None:
        self._path = path.with_suffix(".db")
        self._copies = 0
        self._history = history
        self._encoder = encoder
        self._clock = ManualClock()
        with self._open(self._path, Policy.chat()) as bank:
            self._record_of = _remembered(bank, self._clock, history)

    def kept(self) -> _Answers:
        """Nothing fades."""
        with self._copy(Policy.chat()) as bank:
            return self._asked(bank, self._record_of, include_faded=True)

    def replayed(self, policy: Policy) -> _Answers:
        """From an empty bank on, with the pass."""
        self._copies += 1
        path = self._path.with_suffix(f".{self._copies}.db")
        with self._open(path, policy, maintain=True) as bank:
            record_of = _remembered(bank, self._clock, self._history)
            self._clock.set(_end(self._history))
            bank.prune()
            return self._asked(bank, record_of)

    def dropped(self, order: Order, share: float) -> _Answers:
        """After a share of the memories was erased; the mean over the seeds of an order."""
        several = []
        for seed in order.seeds:
            with self._copy(Policy.chat()) as bank:
                self._clock.set(_end(self._history))
                memories = bank.list(include_faded=True)
                gone = order.first(bank, memories, round(share * len(memories)), seed)
                bank.erase(gone)
                several.append(self._asked(bank, self._record_of, include_faded=True))
        return _averaged(several)

    def _open(self, path: Path, policy: Policy, *, maintain: bool = False) -> MemoryBank:
        return MemoryBank.open(
            path,
            namespace=("bench", self._history.name),
            embedder=self._encoder,
            policy=policy,
            clock=self._clock,
            maintain=maintain,
        )

    def _copy(self, policy: Policy) -> MemoryBank:
        self._copies += 1
        path = self._path.with_suffix(f".{self._copies}.db")
        with self._open(self._path, policy) as bank:
            bank.backup(path)
        return self._open(path, policy)

    def _asked(
        self, bank: MemoryBank, record_of: Mapping[str, str], *, include_faded: bool = False
    ) -> _Answers:
        """All questions, each when it was asked, or at the end."""
        end, values, evidence = _end(self._history), [], 0
        there = {each.id for each in bank.list(include_faded=include_faded)}
        for question in self._history.questions:
            self._clock.set(max(end, question.asked_at or end))
            found = bank.recall(question.text, _DEPTH, include_faded=include_faded, reinforce=False)
            ranked = [each.memory.id for each in found]
            gold = {record_of[each] for each in question.gold}
            values.append(_measured(ranked, gold))
            evidence += not gold.isdisjoint(there)
        self._clock.set(end)
        records = len(set(record_of.values()))
        return _Answers(np.array(values), len(there), records, evidence)


def _remembered(bank: MemoryBank, clock: ManualClock, history: History) -> dict[str, str]:
    """The items when they were said, those of a moment in one call; the record of each."""
    record_of: dict[str, str] = {}
    clock.set(_begin(history))
    for at, said in groupby(_in_time(history), key=lambda each: (each.at, each.source)):
        clock.set(max(at[0] or clock(), clock()))
        items = list(said)
        kept = bank.remember_many(items)
        record_of |= {str(item.id): each.id for item, each in zip(items, kept, strict=True)}
    return record_of


def _in_time(history: History) -> list[Draft]:
    """Items in time order; those without a time where they stand."""
    begin = _begin(history)
    return sorted(history.items, key=lambda each: each.at or begin)


def _begin(history: History) -> datetime:
    times = [each.at for each in history.items if each.at is not None]
    return min(times, default=datetime(2026, 1, 1, tzinfo=UTC))


def _end(history: History) -> datetime:
    """A second behind the last item."""
    times = [each.at for each in history.items if each.at is not None]
    return max(times, default=_begin(history)) + timedelta(seconds=1)


# -- in which order is dropped ---------------------------------------------------------------

First = Callable[[MemoryBank, Sequence[Memory], int, int], list[str]]
"""(the bank, its memories in time order, how many, a seed) -> the ids that go."""


@dataclass(frozen=True, slots=True)
class Order:
    """What goes first, and with which seeds to try."""

    first: First
    seeds: tuple[int, ...] = (0,)


def _weakest(bank: MemoryBank, memories: Sequence[Memory], count: int, seed: int) -> list[str]:
    """As `Policy.max_memories` does it."""
    policy = Policy.chat(max_memories=max(len(memories) - count, 1))
    return list(bank.at(*bank.namespace, policy=policy).prune().faded)[:count]


def _least_important(
    bank: MemoryBank, memories: Sequence[Memory], count: int, seed: int
) -> list[str]:
    return [each.id for each in sorted(memories, key=lambda each: each.importance)[:count]]


def _strength(bank: MemoryBank, memories: Sequence[Memory], count: int, seed: int) -> list[str]:
    return [each.id for each in sorted(memories, key=bank.strength)[:count]]


def _random(bank: MemoryBank, memories: Sequence[Memory], count: int, seed: int) -> list[str]:
    chosen = np.random.default_rng(seed).permutation(len(memories))[:count]
    return [memories[each].id for each in chosen]


def _oldest(bank: MemoryBank, memories: Sequence[Memory], count: int, seed: int) -> list[str]:
    return [each.id for each in memories[:count]]


ORDERS: Mapping[str, Order] = {
    "weakest, as a cap does": Order(_weakest),
    "least important": Order(_least_important),
    "least strength": Order(_strength),
    "at random": Order(_random, SEEDS),
    "oldest": Order(_oldest),
}


# -- values ----------------------------------------------------------------------------------


def _measured(ranked: Sequence[str], gold: set[str]) -> tuple[float, ...]:
    """One value for each of `METRICS`."""
    return (
        *(metrics.any_at(ranked, gold, k) for k in (1, 5, 10)),
        metrics.recall_at(ranked, gold, 5),
        metrics.reciprocal_rank(ranked, gold, _DEPTH),
    )


def _averaged(several: Sequence[_Answers]) -> _Answers:
    first = several[0]
    evidence = round(np.mean([each.evidence for each in several]))
    return _Answers(
        np.mean([each.values for each in several], axis=0), first.found, first.records, evidence
    )


def _joined(name: str, dropped: float, parts: Sequence[_Answers]) -> Row:
    """The row of several histories."""
    values = np.concatenate([each.values for each in parts])
    return Row(
        name,
        dropped,
        values,
        sum(each.found for each in parts) / sum(each.records for each in parts),
        sum(each.evidence for each in parts) / len(values),
    )
