"""One store, many threads and loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="needs the extra agents")

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp

from builders import OpenBank
from ebbmem import Policy
from ebbmem.testing import HashingEmbedder, ManualClock
from langchain_ebbmem import EbbinghausStore

NS = ("users", "ann")
THREADS, PUTS = 8, 25


@pytest.fixture
def store(open_bank: OpenBank) -> EbbinghausStore:
    return EbbinghausStore(memory=open_bank(policy=Policy(), embedder=HashingEmbedder()))


def together(*jobs: Callable[[], object]) -> None:
    """Run at the same time; the first exception of any is raised."""
    gate = threading.Barrier(len(jobs))

    def started(job: Callable[[], object]) -> object:
        gate.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        for done in [pool.submit(started, job) for job in jobs]:
            done.result()


def test_18_threads_that_put_and_search_never_raise_and_lose_nothing(
    store: EbbinghausStore,
) -> None:
    def work(number: int) -> None:
        own = ("users", f"user {number % 2}", f"thread {number}")
        for count in range(PUTS):
            store.put(own, f"k{count}", {"text": f"tea {number} {count}"}, ttl=10)
            assert store.get(own, f"k{count}") is not None
            found = store.search(own, query=f"tea {number} {count}", limit=100)
            assert len(found) == count + 1
            assert store.search(("users",), query="tea", limit=3)
            assert own in store.list_namespaces()

    together(*(lambda number=each: work(number) for each in range(THREADS)))  # type: ignore[misc]
    assert len(store.search((), limit=1000)) == THREADS * PUTS


def test_threads_that_put_read_and_delete_the_same_keys_never_raise(
    store: EbbinghausStore,
) -> None:
    def write(number: int) -> None:
        for count in range(PUTS):
            store.put(NS, f"k{count % 5}", {"text": f"tea {number}"}, ttl=10)
            store.delete(NS, f"k{(count + number) % 5}")

    def read() -> None:
        for count in range(PUTS):
            store.search(NS, query="tea")
            store.search(())
            store.get(NS, f"k{count % 5}")
            store.sweep_ttl()

    together(*(lambda number=each: write(number) for each in range(4)), *[read] * 4)  # type: ignore[misc]
    store.batch([PutOp(NS, f"k{count}", {"text": "tea"}) for count in range(5)])
    assert len(store.search(NS)) == 5


def test_a_batch_is_seen_whole_or_not_at_all(store: EbbinghausStore) -> None:
    """Two namespaces change together; whoever reads one state of the file sees them equal."""
    spaces = [("pair", "a"), ("pair", "b")]
    done = threading.Event()

    def write() -> None:
        for count in range(60):
            store.batch([PutOp(each, "k", {"n": count, "text": "tea"}) for each in spaces])
        done.set()

    def read() -> None:
        records = store.memory._store
        while not done.is_set():
            with records.together():  # one state of the file for both
                found = [records.get(("u1", *each), ["k"]) for each in spaces]
            assert len({str([one.metadata["value"] for one in each]) for each in found}) == 1

    together(write, read)


def test_a_fan_out_on_a_loop_loses_nothing(store: EbbinghausStore) -> None:
    async def main() -> list[int]:
        await asyncio.gather(*(store.aput(NS, f"k{n}", {"text": f"tea {n}"}) for n in range(40)))
        found = await asyncio.gather(
            *(store.aget(NS, f"k{n}") for n in range(40)),
            *(store.asearch(NS, query=f"tea {n}", limit=100) for n in range(20)),  # type: ignore[list-item]
        )
        assert all(each is not None for each in found[:40])
        return [len(each) for each in found[40:]]  # type: ignore[arg-type]

    assert asyncio.run(main()) == [40] * 20


def test_17_two_loops_and_a_thread_share_one_store_that_was_made_without_a_loop(
    store: EbbinghausStore,
) -> None:
    def on_a_loop(name: str) -> None:
        async def main() -> None:
            for count in range(15):
                await store.aput((name,), f"k{count}", {"text": f"tea {count}"})
                assert len(await store.asearch((name,), query="tea", limit=100)) == count + 1

        asyncio.run(main())

    def plain() -> None:
        for count in range(15):
            store.put(("plain",), f"k{count}", {"text": f"tea {count}"})

    together(lambda: on_a_loop("one"), lambda: on_a_loop("two"), plain)
    assert store.list_namespaces() == [("one",), ("plain",), ("two",)]
    assert len(store.search((), limit=100)) == 45


def test_plain_calls_work_inside_a_running_loop(store: EbbinghausStore) -> None:
    async def main() -> list[str]:
        store.put(NS, "plain", {"text": "tea"})
        await store.aput(NS, "awaited", {"text": "tea"})
        return [each.key for each in store.search(NS, query="tea")]

    assert sorted(asyncio.run(main())) == ["awaited", "plain"]


class Gated(Embeddings):
    """LangChain's kind of embedder; it answers when told to, awaited or in a thread."""

    model = "gated"

    def __init__(self, native: bool) -> None:
        self._inner = HashingEmbedder()
        self.open = threading.Event()
        self.asked: list[str] = []
        self.waiting = 0
        if native:
            self.aembed_documents = self._adocuments  # type: ignore[method-assign]
            self.aembed_query = self._aquery  # type: ignore[method-assign]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        self.waiting += 1
        assert self.open.wait(10)
        return [each.vector.tolist() for each in self._inner.encode_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def _adocuments(self, texts: list[str]) -> list[list[float]]:
        self.waiting += 1
        while not self.open.is_set():
            await asyncio.sleep(0)
        return self.embed_documents(texts)

    async def _aquery(self, text: str) -> list[float]:
        return (await self._adocuments([text]))[0]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("call", ["aput", "asearch", "search below"])
def test_a_slow_embedder_does_not_hold_the_loop(
    file: Path, clock: ManualClock, native: bool, call: str
) -> None:
    slow = Gated(native)
    index: Any = {"dims": 512, "embed": slow}

    async def main() -> None:
        async with EbbinghausStore.open(file, index=index, clock=clock) as store:
            slow.open.set()
            for user in ("ann", "bob"):
                await store.aput(("users", user), "k", {"text": "tea"})
            slow.open.clear()
            before = slow.waiting
            calls: dict[str, Callable[[], Any]] = {
                "aput": lambda: store.aput(NS, "k2", {"text": "rain"}),
                "asearch": lambda: store.asearch(NS, query="tea"),
                "search below": lambda: store.asearch(("users",), query="tea"),
            }
            tasks = [asyncio.create_task(calls[call]()) for _ in range(3)]
            while slow.waiting == before:
                await asyncio.sleep(0)
            for _ in range(300):
                await asyncio.sleep(0)  # a turn of the loop, not a time
            assert not any(task.done() for task in tasks)
            slow.open.set()
            await asyncio.gather(*tasks)

    asyncio.run(main())


def test_a_search_over_many_namespaces_embeds_its_query_once(
    file: Path, clock: ManualClock
) -> None:
    counted = Gated(native=True)
    counted.open.set()

    async def main() -> None:
        index: Any = {"dims": 512, "embed": counted}
        async with EbbinghausStore.open(file, index=index, clock=clock) as store:
            for number in range(6):
                await store.aput(("users", f"u{number}"), "k", {"text": "tea"})
            counted.asked.clear()
            found = await store.asearch(("users",), query="tea")
            assert len(found) == 6

    asyncio.run(main())
    assert counted.asked == ["tea"]
