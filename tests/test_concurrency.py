"""Threads on one bank, banks on one file, processes on one file: nothing gets lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from builders import OpenBank
from ebbmem import EbbinghausDecay, Policy
from ebbmem.records import Namespace
from ebbmem.store import Changes
from ebbmem.testing import TableEmbedder

EAGER = Policy(spacing=timedelta(0))
THREADS, TIMES = 8, 25


def in_threads(work: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


class Interrupted:
    """The published curve; before it first answers in a recall, something else happens."""

    name = "ebbinghaus"

    def __init__(self) -> None:
        self.then: Callable[[], object] | None = None

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> NDArray[np.float64]:
        if self.then is not None:
            then, self.then = self.then, None
            then()
        return EbbinghausDecay().retention(rate, elapsed)

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> NDArray[np.float64]:
        return EbbinghausDecay().elapsed_at(rate, retention)


def test_threads_that_recall_lose_no_count(open_bank: OpenBank) -> None:
    bank = open_bank(policy=EAGER)
    id_ = bank.remember("the lighthouse", importance=0.5).id

    def work(_: int) -> None:
        for _ in range(TIMES):
            [hit] = bank.recall("lighthouse")
            assert hit.reinforced

    in_threads(work)
    assert bank.get(id_).recall_count == THREADS * TIMES


def test_threads_that_remember_and_recall_lose_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), policy=EAGER)

    def work(thread: int) -> None:
        for i in range(TIMES):
            id_ = bank.remember(f"word{thread}x{i}", importance=0.5).id
            hits = bank.recall(f"word{thread}x{i}", k=3)
            assert hits[0].memory.id == id_

    in_threads(work)
    assert len({each.text for each in bank.list()}) == THREADS * TIMES


def test_threads_that_say_the_same_make_one_memory(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    ids: set[str] = set()
    in_threads(lambda _: ids.update(bank.remember(f"said{i}").id for i in range(TIMES)))
    assert len(ids) == len(bank.list(include_faded=True)) == TIMES


def test_threads_that_edit_erase_and_recall_never_fail(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), policy=EAGER)

    def work(thread: int) -> None:
        for i in range(TIMES):
            id_ = bank.remember(f"word{thread}x{i}", importance=0.5).id
            bank.recall(f"word{thread}", k=5)
            bank.update(id_, text=f"edited{thread}x{i}")
            bank.recall(f"edited{thread}", k=5)
            if i % 2:
                bank.erase(id_)

    in_threads(work)
    assert len(bank.list()) == THREADS * (TIMES - TIMES // 2)


def test_what_another_thread_tells_during_a_recall_does_not_break_it(open_bank: OpenBank) -> None:
    curve = Interrupted()
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), policy=Policy(curve=curve))
    bank.remember_many(["one", "two"])

    def meanwhile() -> None:
        bank.remember_many(["three", "four"])
        assert len(bank.recall("query")) == 4

    curve.then = meanwhile
    assert {hit.memory.text for hit in bank.recall("query")} >= {"one", "two"}


def test_what_is_erased_during_a_recall_is_left_out_of_it(open_bank: OpenBank) -> None:
    curve = Interrupted()
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), policy=Policy(curve=curve))
    kept, gone = bank.remember_many(["one", "two"])
    curve.then = lambda: bank.erase(gone.id)
    hits = bank.recall("query")
    assert [hit.memory.id for hit in hits] == [kept.id]
    assert bank.get(kept.id).recall_count == 1


def test_two_banks_on_one_file_see_each_other_at_the_next_call(open_bank: OpenBank) -> None:
    one, two = open_bank(), open_bank()
    id_ = one.remember("the lighthouse", importance=0.5).id
    assert [hit.memory.id for hit in two.recall("lighthouse")] == [id_]
    assert one.get(id_).recall_count == 1
    assert one.strength(id_) == two.strength(id_)
    two.update(id_, text="the windmill")
    assert one.recall("lighthouse") == []
    assert [hit.memory.text for hit in one.recall("windmill")] == ["the windmill"]
    one.forget(id_)
    assert two.recall("windmill") == two.list() == []
    one.restore(id_)
    assert [each.id for each in two.list()] == [id_]
    two.erase(id_)
    assert one.list(include_faded=True) == one.recall("windmill") == []


def test_what_another_bank_wrote_is_read_once_and_nothing_else_is(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = open_bank(), open_bank()
    one.remember_many([f"word{number}" for number in range(100)])
    two.list()
    read: list[int] = []
    changes = two._store.changes

    def counted(ns: Namespace, since: int) -> Changes:
        found = changes(ns, since)
        read.append(len(found.rows))
        return found

    monkeypatch.setattr(two._store, "changes", counted)
    assert len(two.recall("word7", reinforce=False)) == 1
    assert read == [0]  # nothing new: one question, which finds nothing
    one.remember("word of mouth", importance=0.5)
    one.reinforce(one.recall("mouth")[0].memory.id)
    assert len(two.recall("mouth", reinforce=False)) == 1
    assert len(two.recall("mouth", reinforce=False)) == 1
    assert read == [0, 1, 0]


def test_a_sibling_in_the_same_namespace_sees_every_write(open_bank: OpenBank) -> None:
    one = open_bank(namespace=("a", "b"))
    two = one.at("a", "b")
    id_ = one.remember("the lighthouse").id
    assert [each.id for each in two.list()] == [id_]
    assert two.at("a").list() == []


PROCESS = """
import sys
from ebbmem import MemoryBank
sys.stdin.readline()
with MemoryBank.open(sys.argv[1], namespace="u1", embedder="hashing") as bank:
    for number in range(50):
        bank.remember(f"word{sys.argv[2]}x{number} told", importance=0.5)
        bank.recall("told", k=1)
"""


def test_three_processes_on_one_new_file_lose_nothing(open_bank: OpenBank, file: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROCESS, str(file), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    errors = []
    for each in running:  # all have started: let them go
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in running:
        _, error = each.communicate(timeout=60)
        errors.append(error)
    assert errors == ["", "", ""]
    bank = open_bank(embedder="hashing")
    assert len(bank.list()) == 150
    assert bank.diagnose()["integrity"] == "ok"
    for number in range(3):
        assert bank.recall(f"word{number}x49", k=1)[0].memory.text == f"word{number}x49 told"
