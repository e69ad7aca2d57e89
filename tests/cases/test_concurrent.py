"""Group F of the pain cases: several processes, threads and tasks on one store."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import OpenBank
from ebbmem import (
    AsyncMemoryBank,
    EbbmemError,
    FingerprintMismatch,
    InvalidInput,
    NotFound,
    Policy,
    StoreError,
    StoreReadOnly,
)
from ebbmem.clock import utc_now
from ebbmem.embedding.once import Once
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder

EAGER = Policy(spacing=timedelta(0))
THREADS = 8


def side_by_side(programs: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """(what it printed, what it complained of) of programs that wait for a line and go together."""
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for code, arguments in programs
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return [each.communicate(timeout=120) for each in running]


# -- CO-1 ------------------------------------------------------------------------------------

STORE = """
import sys
from ebbmem import MemoryBank
sys.stdin.readline()
with MemoryBank.open(sys.argv[1], namespace="u1", embedder="hashing") as bank:
    for number in range(200):
        bank.remember(f"word{sys.argv[2]}x{number}", importance=0.5)
"""
RECALL = """
import sys
from ebbmem import MemoryBank
sys.stdin.readline()
with MemoryBank.open(sys.argv[1], namespace="u1", embedder="hashing") as bank:
    for number in range(200):
        for hit in bank.recall(f"word{number % 4}x{number}"):
            assert hit.memory.text.startswith("word")
"""


def test_co_1_four_processes_that_store_and_one_that_recalls_lose_nothing(
    open_bank: OpenBank, file: Path
) -> None:
    writers = [(STORE, (str(file), str(number))) for number in range(4)]
    assert side_by_side([*writers, (RECALL, (str(file),))]) == [("", "")] * 5
    bank = open_bank(embedder="hashing")
    assert len(bank.list()) == 800
    for text in (f"word{process}x{number}" for process in range(4) for number in range(200)):
        vector = np.asarray(HashingEmbedder().encode_query(text).vector).tolist()
        [hit] = bank.recall(vector, k=1, reinforce=False)
        assert (hit.memory.text, hit.similarity) == (text, pytest.approx(1.0, abs=1e-6))
    assert bank.diagnose()["integrity"] == "ok"


# -- CO-2 ------------------------------------------------------------------------------------

USE = """
import sys
from datetime import timedelta
from ebbmem import MemoryBank, Policy
sys.stdin.readline()
eager = Policy(spacing=timedelta(0))
with MemoryBank.open(sys.argv[1], namespace="u1", embedder=None, policy=eager) as bank:
    for _ in range(int(sys.argv[2])):
        [hit] = bank.recall("lighthouse")
        assert hit.reinforced
"""
NOTE = """
import sys
from datetime import timedelta
from ebbmem import MemoryBank, Policy
sys.stdin.readline()
eager = Policy(spacing=timedelta(0))
with MemoryBank.open(sys.argv[1], namespace="u1", embedder=None, policy=eager) as bank:
    for _ in range(int(sys.argv[2])):
        assert len(bank.reinforce(sys.argv[3])) == 1
"""


def test_co_2_recalls_of_threads_and_then_of_processes_are_all_counted(
    open_bank: OpenBank, file: Path
) -> None:
    bank = open_bank(policy=EAGER, clock=utc_now)  # as the processes have it
    id_ = bank.remember("the lighthouse", importance=0.5).id

    def fifty(_: int) -> None:
        for _ in range(50):
            bank.recall("lighthouse")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fifty, range(THREADS)))
    assert bank.get(id_).recall_count == 400
    assert side_by_side([(USE, (str(file), "50"))] * 4) == [("", "")] * 4
    assert bank.get(id_).recall_count == 600


def test_co_2_six_processes_that_use_one_memory_400_times_each_are_all_counted(
    open_bank: OpenBank, file: Path
) -> None:
    bank = open_bank(policy=EAGER, clock=utc_now)
    id_ = bank.remember("the lighthouse", importance=0.5).id
    assert side_by_side([(NOTE, (str(file), "400", id_))] * 6) == [("", "")] * 6
    assert bank.get(id_).recall_count == 2_400


def test_co_2_what_is_stored_during_a_prune_is_there(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    bank.remember_many([f"old{number}" for number in range(5_000)])
    clock.advance(days=3_000)
    batches, stored = threading.Event(), []
    modify = bank._store.modify

    def modified(*args: object, **options: object) -> object:
        done = modify(*args, **options)  # type: ignore[arg-type]
        batches.set()
        return done

    bank._store.modify = modified  # type: ignore[assignment,method-assign]

    def store() -> None:
        assert batches.wait(30)  # the prune has begun
        stored.extend(bank.remember(f"new{number}").id for number in range(100))

    writer = threading.Thread(target=store)
    writer.start()
    assert len(bank.prune().faded) == 5_000
    writer.join()
    assert [each.id for each in bank.list()] == stored
    assert len(stored) == 100


# -- CO-3 ------------------------------------------------------------------------------------


class Lazy:
    """Builds what it embeds with when it is first asked, and counts how often."""

    model = "lazy"

    def __init__(self) -> None:
        self.built = 0
        self._inner = Once(self._build)

    def _build(self) -> TableEmbedder:
        self.built += 1
        return TableEmbedder({}, default=[1.0, 0.0])

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._inner().embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner().embed_query(text)


def test_co_3_eight_threads_that_race_for_the_first_call_build_one_embedder(
    open_bank: OpenBank,
) -> None:
    embedder, start = Lazy(), threading.Barrier(THREADS)
    bank = open_bank(embedder=embedder)  # made in this thread, used by others

    def first(thread: int) -> str:
        start.wait(30)
        return bank.remember(f"word{thread}", importance=0.5).id

    with ThreadPoolExecutor(THREADS) as pool:
        ids = set(pool.map(first, range(THREADS)))
    assert embedder.built == 1
    assert {each.id for each in bank.list()} == ids
    assert len(ids) == THREADS


class Held(TableEmbedder):
    """Answers when it is told to; says how many wait."""

    def __init__(self) -> None:
        super().__init__({}, default=[1.0, 0.0])
        self.waiting = threading.Semaphore(0)
        self.released = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.waiting.release()
        assert self.released.wait(30)
        return super().embed_documents(texts)


def test_co_3_the_loop_goes_on_while_twenty_tasks_wait_for_the_embedder(
    open_bank: OpenBank,
) -> None:
    """Beats are counted, not timed: the loop makes a hundred while an embedding is held."""
    embedder = Held()
    bank = AsyncMemoryBank(open_bank(embedder=embedder))

    async def crowd() -> int:
        tasks = [asyncio.ensure_future(bank.remember(f"word{number}")) for number in range(20)]
        assert await asyncio.to_thread(embedder.waiting.acquire, timeout=30)
        beats = 0
        while beats < 100:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0)
            beats += 1
        embedder.released.set()
        made = await asyncio.gather(*tasks)
        return len({each.id for each in made})

    assert asyncio.run(crowd()) == 20
    assert len(bank.bank.list()) == 20


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_co_3_a_thousand_calls_that_fail_leave_no_file_open(
    open_bank: OpenBank, file: Path
) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember("tea")
    failing: list[tuple[type[EbbmemError], Callable[[], object]]] = [
        (NotFound, lambda: bank.get("nobody")),
        (InvalidInput, lambda: bank.remember(" ")),
        (StoreError, lambda: bank.backup(file)),
        (InvalidInput, lambda: open_bank(namespace=" ")),
        (FingerprintMismatch, lambda: open_bank(embedder=None)),
        (StoreReadOnly, lambda: open_bank(path=file.parent)),
        (StoreReadOnly, lambda: open_bank(path=file.parent / "none" / "memory.db")),
        (FingerprintMismatch, lambda: open_bank(embedder=TableEmbedder({}, default=[1.0]))),
    ]
    before = len(os.listdir("/proc/self/fd"))
    for number in range(1_000):
        error, call = failing[number % len(failing)]
        with pytest.raises(error):
            call()
    assert abs(len(os.listdir("/proc/self/fd")) - before) <= 5
