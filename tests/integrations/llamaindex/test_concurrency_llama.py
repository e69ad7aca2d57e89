"""Many at once lose nothing, in loops, in threads, and in several loops one after the other.

Run with SQLAlchemy 2.1 and with 2.0: what LlamaIndex's own store does differs between them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.memory.ebbmem import EbbinghausMemory, EbbinghausMemoryBlock

from builders import OpenBank
from ebbmem import MemoryBank
from ebbmem.testing import HashingEmbedder
from llama_kit import FACT, QUESTION, assistant, llama_memory, text_of, user

MANY = 30


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank(embedder="hashing")


def numbered(number: int) -> ChatMessage:
    return user(f"I have seen the place number {number}.")


def everything(messages: list[ChatMessage]) -> list[str]:
    return sorted(text_of(each) for each in messages)


EXPECTED = sorted(text_of(numbered(number)) for number in range(MANY))


def test_14_thirty_puts_at_once_and_cold_lose_nothing_and_arrive_once(bank: MemoryBank) -> None:
    async def main() -> EbbinghausMemory:
        memory = EbbinghausMemory(bank)
        await asyncio.gather(*(memory.aput(numbered(number)) for number in range(MANY)))
        return memory

    memory = asyncio.run(main())
    assert everything(memory.get_all()) == EXPECTED
    assert sorted(each.text for each in bank.list()) == EXPECTED
    assert [each.recall_count for each in bank.list()] == [0] * MANY


def test_14_eight_threads_share_one_memory(bank: MemoryBank) -> None:
    memory, gate = EbbinghausMemory(bank), threading.Barrier(8)

    def work(thread: int) -> None:
        gate.wait()
        for number in range(thread, MANY, 8):
            if number % 2:
                memory.put(numbered(number))
            else:
                asyncio.run(memory.aput(numbered(number)))
            memory.get()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert everything(memory.get_all()) == EXPECTED
    assert sorted(each.text for each in bank.list()) == EXPECTED


def test_14_a_batch_stays_in_one_piece_between_threads(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank, save="none")
    turns = [[user(f"question {n}"), assistant(f"answer {n}")] for n in range(MANY)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(memory.put_messages, turns))
    said = [text_of(each) for each in memory.get_all()]
    pairs = list(zip(said[::2], said[1::2], strict=True))
    assert sorted(pairs) == sorted((f"question {n}", f"answer {n}") for n in range(MANY))


def test_14_a_block_in_a_memory_of_llamaindex_keeps_what_is_said_and_flushed_once(
    bank: MemoryBank,
) -> None:
    async def main() -> None:
        block = EbbinghausMemoryBlock(bank, reinforce=False)
        async with llama_memory(block, token_limit=60, token_flush_size=10) as memory:
            for number in range(MANY):
                await memory.aput(numbered(number))
                await memory.aget()
            flushes = [[numbered(number)] for number in range(MANY)] * 3
            await asyncio.gather(*(block.aput(each, True, session_id="s") for each in flushes))

    asyncio.run(main())
    texts = [each.text for each in bank.list()]
    assert sorted(texts) == EXPECTED
    assert [each.recall_count for each in bank.list()] == [0] * MANY


@pytest.mark.slow
def test_15_memories_over_one_file_wait_for_each_other(file: Path) -> None:
    banks = [MemoryBank.open(file, namespace="u", embedder=None) for _ in range(4)]

    async def work(number: int) -> None:
        memory = EbbinghausMemory(banks[number % 4], session_id=str(number), on_error="raise")
        for turn in range(10):
            await memory.aput(user(f"Session {number} says {turn}."))
            await memory.aget()

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(16)))

    try:
        asyncio.run(main())
        assert len(banks[0].list()) == 160
    finally:
        for each in banks:
            each.close()


# -- loops -------------------------------------------------------------------------------------


def test_16_sync_methods_work_in_a_running_loop_and_between_loops(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank, session_id="a")

    async def main(number: int) -> None:
        memory.put(numbered(number))
        await memory.aput(numbered(number + 1))
        memory.get()
        await memory.aget()

    for number in range(0, 6, 2):
        asyncio.run(main(number))
    memory.get()
    assert everything(memory.get_all()) == [text_of(numbered(number)) for number in range(6)]
    assert len(bank.list()) == 6


class Slow(HashingEmbedder):
    """Takes its time in its thread, as a model does, and goes on when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.going = threading.Event()
        self.waiting = threading.Event()

    def _wait(self) -> None:
        self.waiting.set()
        assert self.going.wait(30)

    def encode_documents(self, texts: Any) -> Any:
        self._wait()
        return super().encode_documents(texts)

    def encode_query(self, text: str) -> Any:
        self._wait()
        return super().encode_query(text)


@pytest.mark.parametrize("what", ["aput", "aget", "aset", "block"])
def test_16_the_loop_goes_on_while_an_embedder_works(open_bank: OpenBank, what: str) -> None:
    embedder = Slow()
    bank = open_bank(embedder=embedder)
    memory = EbbinghausMemory(bank)

    async def main() -> None:
        calls = {
            "aput": lambda: memory.aput(user(FACT)),
            "aget": lambda: memory.aget(input=QUESTION),
            "aset": lambda: memory.aset([user(FACT)]),
            "block": lambda: memory.block.aget([user(QUESTION)], session_id="s"),
        }
        working = asyncio.ensure_future(calls[what]())
        while not embedder.waiting.is_set():
            await asyncio.sleep(0.001)  # only a loop that goes on gets here
        assert not working.done()
        embedder.going.set()
        await working

    asyncio.run(asyncio.wait_for(main(), 60))


def test_17_the_async_methods_await_the_embedder_and_the_others_do_not(
    open_bank: OpenBank,
) -> None:
    plain = HashingEmbedder()

    class Noting(HashingEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[str] = []

        def encode_documents(self, texts: Any) -> Any:
            self.calls.append("documents")
            return plain.encode_documents(texts)

        def encode_query(self, text: str) -> Any:
            self.calls.append("query")
            return plain.encode_query(text)

        async def aencode_documents(self, texts: Any) -> Any:
            self.calls.append("adocuments")
            return plain.encode_documents(texts)

        async def aencode_query(self, text: str) -> Any:
            self.calls.append("aquery")
            return plain.encode_query(text)

    embedder = Noting()
    memory = EbbinghausMemory(open_bank(embedder=embedder))

    async def main() -> None:
        await memory.aput(user(FACT))
        await memory.aget()

    asyncio.run(main())
    assert set(embedder.calls) == {"adocuments", "aquery"}
    embedder.calls.clear()
    memory.put(user(QUESTION))
    memory.get()
    assert set(embedder.calls) == {"documents", "query"}


def test_30_a_get_that_is_cancelled_leaves_the_memory_as_it_was(open_bank: OpenBank) -> None:
    embedder = Slow()
    embedder.going.set()
    bank = open_bank(embedder=embedder)
    bank.remember(FACT)
    memory = EbbinghausMemory(bank)

    async def main() -> list[ChatMessage]:
        embedder.going.clear()
        embedder.waiting.clear()
        reading = asyncio.create_task(memory.aget(input=QUESTION))
        while not embedder.waiting.is_set():
            await asyncio.sleep(0.001)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        embedder.going.set()
        return await memory.aget(input=QUESTION)

    found = asyncio.run(main())
    assert FACT in text_of(found[0])
    deadline = time.monotonic() + 30
    while len(bank.list()) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sorted(each.text for each in bank.list()) == sorted([FACT, QUESTION])
