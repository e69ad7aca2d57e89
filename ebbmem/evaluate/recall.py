"""How well questions find what answers them: the bank beside plain retrieval, on one data set.

The bank is the public one as a user has it: a file, a namespace for each history, the chat
policy, a clock that stands behind the last item, or at the question if that came later. Fading
stays out of it: what has faded is found too, and nothing is reinforced. Equal texts are one
record, and records are what is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ebbmem.bank import MemoryBank
from ebbmem.embedding import Encoder
from ebbmem.evaluate import chance, metrics
from ebbmem.evaluate.baselines import Baselines, orders
from ebbmem.evaluate.data import Dataset, History, Question, fill
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.policy import Policy
from ebbmem.records import Draft
from ebbmem.testing import ManualClock

__all__ = [
    "METRICS",
    "OURS",
    "OURS_ALONE",
    "Asked",
    "Pool",
    "Ranked",
    "Rival",
    "Row",
    "Run",
    "looked_up",
    "measure",
    "opened",
]

Floats = NDArray[np.float64]

METRICS = (
    *("any@1", "any@5", "any@10", "any@20", "all@5", "all@10", "rec@5", "rec@10"),
    *("MRR", "NDCG@10", "source any@5", "source any@10"),
)
OURS_ALONE = "ours, no model"
OURS = "ours, with model"

_DEPTH = 50  # as far as MRR looks
_USUAL = 5  # records that a recall is timed for


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the run: whose, and of which type."""

    id: str
    history: str
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One way of finding things.

    Attributes:
        values: (questions, metrics) in [0, 1]; NaN where a measure means nothing.
        firsts: rank of the first answer to each question; 0 is none, and chance has no ranks.
        milliseconds: (questions, 2) of CPU time for five records, without and with encoding
            the question; None where it is not our search.
    """

    name: str
    values: Floats = field(repr=False)
    firsts: tuple[int, ...] = field(default=(), repr=False)
    milliseconds: Floats | None = field(default=None, repr=False)

    def column(self, metric: str) -> Floats:
        """(questions,) of one measure."""
        return np.asarray(self.values[:, METRICS.index(metric)], np.float64)


@dataclass(frozen=True, slots=True)
class Run:
    """All rows of one data set; the i-th value of each belongs to the i-th question.

    Attributes:
        records: that were searched, of all histories; equal texts are one.
        dropped: questions without evidence among the items.
    """

    name: str
    asked: tuple[Asked, ...]
    rows: tuple[Row, ...]
    records: int
    dropped: int

    def row(self, name: str) -> Row | None:
        return next((each for each in self.rows if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Pool:
    """The records of one history in order, each with the item that made it.

    Attributes:
        record_of: the record of every item, by the item's id.
        now: when it is asked, unless the question itself came later.
    """

    items: Mapping[str, Draft]
    record_of: Mapping[str, str]
    questions: tuple[Question, ...]
    now: datetime

    @classmethod
    def of(cls, history: History, record_of: Mapping[str, str]) -> Pool:
        """From what `fill` returned."""
        items: dict[str, Draft] = {}
        for item in history.items:
            items.setdefault(record_of[str(item.id)], item)
        return cls(items, record_of, history.questions, _after(history))

    def sources(self) -> dict[str, str]:
        """The source of each record; empty where there are no two to tell apart."""
        found = {id: each.source for id, each in self.items.items() if each.source is not None}
        several = len(set(found.values())) > 1
        return found if several and len(found) == len(self.items) else {}

    def gold(self, question: Question) -> frozenset[str]:
        """The records that answer it."""
        return frozenset(self.record_of[each] for each in question.gold)


Ranked = list[list[str]]  # records of each question of a pool, best first
Rival = Callable[[Pool, Encoder], Mapping[str, Ranked]]
"""Another memory: what it finds, by the names of its rows."""


def measure(
    dataset: Dataset,
    encoder: CachedEncoder | None,
    *,
    rivals: Sequence[Rival] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Every row of a data set; without an encoder those that need none.

    Args:
        rivals: other memories to ask the same; they need the encoder.
        progress: called with (done, total) questions.
    """
    rows: dict[str, list[Row]] = {}
    records, asked = 0, list[Asked]()
    progress(0, dataset.asked)
    with TemporaryDirectory(prefix="ebbmem-bench-") as folder:
        for history in (each for each in dataset.histories if each.questions):
            pool, found = _one(Path(folder), history, encoder, rivals)
            for row in found:
                rows.setdefault(row.name, []).append(row)
            records += len(pool.items)
            asked += [Asked(each.id, history.name, each.type) for each in pool.questions]
            progress(len(asked), dataset.asked)
    whole = tuple(_joined(each) for each in rows.values())
    return Run(dataset.name, tuple(asked), whole, records, dataset.dropped)


def _one(
    folder: Path, history: History, encoder: CachedEncoder | None, rivals: Sequence[Rival]
) -> tuple[Pool, list[Row]]:
    """All rows of one history, in the order in which they are shown."""
    pool, alone = _ours(OURS_ALONE, folder / "alone.db", history, None)
    ours = [alone]
    if encoder is not None:
        ours.append(_ours(OURS, folder / "model.db", history, encoder)[1])
    ids = list(pool.items)
    plain: dict[str, Ranked] = {}
    baselines = Baselines(list(pool.items.values()), encoder)
    for question in pool.questions:
        for name, order in orders(baselines.scores(question.text)).items():
            plain.setdefault(name, []).append([ids[each] for each in order])
    others = [rival(pool, encoder) for rival in rivals if encoder is not None]
    return pool, [
        _chance(pool),
        _row("oracle", pool, [_oracle(pool, each) for each in pool.questions]),
        *(_row(name, pool, ranked) for name, ranked in plain.items()),
        *(_row(name, pool, ranked) for each in others for name, ranked in each.items()),
        *ours,
    ]


# -- the bank -------------------------------------------------------------------------------


@contextmanager
def opened(
    path: Path, history: History, encoder: CachedEncoder | None
) -> Iterator[tuple[MemoryBank, ManualClock]]:
    """An empty bank for a history, and its clock, behind the last item; no pass runs by itself."""
    clock = ManualClock(_after(history))
    with MemoryBank.open(
        path,
        namespace=("bench", history.name),
        embedder=encoder,
        policy=Policy.chat(),
        clock=clock,
        maintain=False,
    ) as bank:
        yield bank, clock


def looked_up(bank: MemoryBank, text: str, k: int) -> list[str]:
    """The records that come to mind, best first; no trace is left."""
    found = bank.recall(text, k, include_faded=True, reinforce=False)
    return [each.memory.id for each in found]


def _ours(
    name: str, path: Path, history: History, encoder: CachedEncoder | None
) -> tuple[Pool, Row]:
    with opened(path, history, encoder) as (bank, clock):
        pool = Pool.of(history, fill(bank, history))
        looked_up(bank, history.items[0].text, 1)  # the first call of all loads the namespace
        ranked, taken = [], []
        for question in history.questions:
            clock.set(max(pool.now, question.asked_at or pool.now))
            taken.append(_cost(bank, question.text, encoder))
            ranked.append(looked_up(bank, question.text, _DEPTH))
    return pool, _row(name, pool, ranked, np.array(taken).reshape(-1, 2))


def _cost(bank: MemoryBank, text: str, encoder: CachedEncoder | None) -> tuple[float, float]:
    """Milliseconds of CPU time of a recall, without and with encoding the question.

    The question is encoded beforehand and its time added. Asking twice would not do instead: the
    second call also finds what the first one left in the caches of the search. Of the search
    the calling thread counts, since the encoder's threads spin on for a while.
    """
    encoding = 0.0
    if encoder is not None and encoder.covers(text):
        encoder.encode_query(text)
        encoding = encoder.query_seconds(text)
    began = time.thread_time()
    looked_up(bank, text, _USUAL)
    taken = time.thread_time() - began
    return 1e3 * taken, 1e3 * (taken + encoding)


def _after(history: History) -> datetime:
    """A second behind the last item."""
    times = [each.at for each in history.items if each.at is not None]
    return max(times, default=datetime(2026, 1, 1, tzinfo=UTC)) + timedelta(seconds=1)


# -- rows -----------------------------------------------------------------------------------


def _row(name: str, pool: Pool, ranked: Ranked, milliseconds: Floats | None = None) -> Row:
    sources = pool.sources()
    gold = [pool.gold(each) for each in pool.questions]
    values = [_measured(found, right, sources) for found, right in zip(ranked, gold, strict=True)]
    firsts = [
        next((rank for rank, each in enumerate(found, 1) if each in right), 0)
        for found, right in zip(ranked, gold, strict=True)
    ]
    return Row(name, np.array(values).reshape(-1, len(METRICS)), tuple(firsts), milliseconds)


def _measured(
    ranked: Sequence[str], gold: frozenset[str], sources: Mapping[str, str]
) -> tuple[float, ...]:
    """One value for each of `METRICS`; a source stands where its best record does."""
    by_source = list(dict.fromkeys(sources[each] for each in ranked)) if sources else []
    right = {sources[each] for each in gold} if sources else set()
    return (
        *(metrics.any_at(ranked, gold, k) for k in (1, 5, 10, 20)),
        *(metrics.all_at(ranked, gold, k) for k in (5, 10)),
        *(metrics.recall_at(ranked, gold, k) for k in (5, 10)),
        metrics.reciprocal_rank(ranked, gold, _DEPTH),
        metrics.ndcg_at(ranked, gold, 10),
        *(metrics.any_at(by_source, right, k) if sources else np.nan for k in (5, 10)),
    )


def _chance(pool: Pool) -> Row:
    values = [_expected(pool, each) for each in pool.questions]
    return Row("chance", np.array(values).reshape(-1, len(METRICS)))


def _expected(pool: Pool, question: Question) -> tuple[float, ...]:
    """What `_measured` is on average over all orders of the records."""
    gold, sources = pool.gold(question), pool.sources()
    n, g = len(pool.items), len(gold)
    right = {sources[each] for each in gold} if sources else set()
    sizes = {each: list(sources.values()).count(each) for each in set(sources.values())}
    ours = [size for each, size in sizes.items() if each in right]
    others = [size for each, size in sizes.items() if each not in right]
    return (
        *(chance.any_at(n, g, k) for k in (1, 5, 10, 20)),
        *(chance.all_at(n, g, k) for k in (5, 10)),
        *(chance.recall_at(n, k) for k in (5, 10)),
        chance.reciprocal_rank(n, g, _DEPTH),
        chance.ndcg_at(n, g, 10),
        *(chance.source_any_at(ours, others, k) if sources else np.nan for k in (5, 10)),
    )


def _oracle(pool: Pool, question: Question) -> list[str]:
    """What answers the question first, then everything else in order."""
    gold = pool.gold(question)
    return sorted(pool.items, key=lambda each: each not in gold)


def _joined(parts: Sequence[Row]) -> Row:
    """The row of several histories, one behind the other."""
    timed = [each.milliseconds for each in parts if each.milliseconds is not None]
    return Row(
        parts[0].name,
        np.concatenate([each.values for each in parts]),
        tuple(first for each in parts for first in each.firsts),
        np.concatenate(timed) if timed else None,
    )
