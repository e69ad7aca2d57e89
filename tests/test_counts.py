"""How often the database and the embedder are asked: numbers, not seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from builders import OpenBank
from ebbmem import Draft, MemoryBank, Policy
from ebbmem.testing import ManualClock, TableEmbedder

ALIKE = [1.0, 0.0]
SELDOM = Policy(prune_every=timedelta(days=999))


class Trace(list[str]):
    """The statements that ran, in order."""

    def count(self, start: str) -> int:  # type: ignore[override]
        return sum(each.startswith(start) for each in self)

    @property
    def writes(self) -> int:
        return self.count("BEGIN IMMEDIATE")

    @property
    def reads(self) -> int:
        """SELECTs outside of a transaction that writes."""
        inside, found = False, 0
        for each in self:
            if each.startswith("BEGIN"):
                inside = each.startswith("BEGIN IMMEDIATE")
            found += each.startswith("SELECT") and not inside
        return found


@contextmanager
def traced(bank: MemoryBank) -> Iterator[Trace]:
    db = bank._store.connection._db  # type: ignore[attr-defined]
    seen = Trace()
    db.set_trace_callback(lambda statement: seen.append(statement.strip()))
    yield seen
    db.set_trace_callback(None)


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder({}, default=ALIKE)


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    """Three memories, and everything in memory that a recall needs."""
    made = open_bank(embedder=embedder, policy=SELDOM)
    made.remember_many(Draft(text=f"note number{i}", importance=0.5) for i in range(3))
    made.recall("note", reinforce=False)
    return made


def test_a_recall_reads_twice_and_writes_once(bank: MemoryBank) -> None:
    with traced(bank) as seen:
        hits = bank.recall("note")
    assert sum(hit.reinforced for hit in hits) == 3
    assert (seen.reads, seen.writes, seen.count("COMMIT")) == (2, 1, 1)
    assert seen.count("UPDATE state") == 3


def test_a_recall_without_reinforcement_writes_nothing(bank: MemoryBank) -> None:
    with traced(bank) as seen:
        bank.recall("note", reinforce=False)
    assert (seen.reads, seen.writes) == (2, 0)


def test_a_second_recall_within_the_spacing_writes_nothing(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.recall("note")
    clock.advance(minutes=9)
    with traced(bank) as seen:
        hits = bank.recall("note")
    assert not any(hit.reinforced for hit in hits)
    assert (seen.reads, seen.writes) == (2, 0)


def test_a_recall_that_finds_nothing_writes_nothing_on_a_day_of_use(bank: MemoryBank) -> None:
    with traced(bank) as seen:
        assert bank.recall("zebra", min_similarity=1.0, category="failure") == []
    assert seen.writes == 0


def test_a_recall_after_another_bank_wrote_reads_no_more_often(
    bank: MemoryBank, open_bank: OpenBank, embedder: TableEmbedder
) -> None:
    open_bank(embedder=embedder).remember("note from elsewhere", importance=0.5)
    with traced(bank) as seen:
        assert len(bank.recall("note", reinforce=False)) == 4
    assert seen.reads <= 5  # what changed, its vectors, its links from both sides; the rows


@pytest.mark.parametrize("reinforce", [True, False])
def test_a_recall_asks_no_more_of_three_thousand_memories_than_of_three(
    open_bank: OpenBank, embedder: TableEmbedder, reinforce: bool
) -> None:
    counts = []
    for size in (3, 3000):
        bank = open_bank(path=":memory:", namespace=f"n{size}", embedder=embedder, policy=SELDOM)
        bank.remember_many(Draft(text=f"note number{i}", importance=0.5) for i in range(size))
        bank.recall("number1", k=1, reinforce=False)
        with traced(bank) as seen:
            assert len(bank.recall("number1", k=1, reinforce=reinforce)) == 1
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_a_query_asked_again_is_not_embedded_again(
    bank: MemoryBank, embedder: TableEmbedder
) -> None:
    bank.recall("a new question")
    calls = embedder.calls
    bank.recall("a new question")
    bank.explain("a new question", bank.list()[0].id)
    bank.context("a new question")
    assert embedder.calls == calls


def test_a_memory_is_one_transaction(bank: MemoryBank) -> None:
    with traced(bank) as seen:
        bank.remember("another note", importance=0.5)
    assert (seen.writes, seen.count("COMMIT")) == (1, 1)


def test_a_batch_is_one_transaction(bank: MemoryBank, embedder: TableEmbedder) -> None:
    calls = embedder.calls
    with traced(bank) as seen:
        bank.remember_many(f"another note{i}" for i in range(50))
    assert (seen.writes, seen.count("COMMIT")) == (1, 1)
    assert embedder.calls == calls + 1


@pytest.mark.parametrize("name", ["pin", "hold", "forget", "erase", "reinforce"])
def test_a_change_of_several_memories_is_one_transaction(bank: MemoryBank, name: str) -> None:
    ids = [each.id for each in bank.list()]
    with traced(bank) as seen:
        getattr(bank, name)(ids)
    assert (seen.writes, seen.count("COMMIT")) == (1, 1)


def test_a_change_that_changes_nothing_touches_no_state(bank: MemoryBank) -> None:
    ids = [each.id for each in bank.list()]
    bank.pin(ids)
    with traced(bank) as seen:
        assert bank.pin(ids) == []
    assert seen.count("UPDATE state") == 0


def test_the_pass_touches_what_is_due_alone(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(policy=SELDOM)
    bank.remember_many(Draft(text=f"lasting{i}", importance=1.0) for i in range(200))
    bank.remember_many(Draft(text=f"fleeting{i}", importance=0.1) for i in range(7))
    clock.advance(days=20)
    with traced(bank) as seen:
        assert len(bank.prune().faded) == 7
    assert seen.count("UPDATE state") == 7
    assert seen.writes == 2  # the pass; the end of its lease


def test_a_pass_with_nothing_due_writes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(days=1)
    with traced(bank) as seen:
        bank.prune()
    assert (seen.writes, seen.count("UPDATE")) == (0, 0)


def test_a_dry_run_writes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(days=90)
    with traced(bank) as seen:
        assert len(bank.prune(dry_run=True).faded) == 3
    assert (seen.writes, seen.count("UPDATE")) == (0, 0)


def test_reading_writes_nothing(bank: MemoryBank) -> None:
    id_ = bank.list()[0].id
    with traced(bank) as seen:
        bank.get(id_)
        bank.list(category="fact", where={})
        bank.strength(id_)
        bank.stats()
        bank.probes()
        bank.probe_history()
        bank.advice()
        bank.report()
        bank.forecast()
        bank.explain("note", id_)
        bank.audit()
    assert (seen.writes, seen.count("INSERT"), seen.count("UPDATE")) == (0, 0, 0)
