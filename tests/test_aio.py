"""The same bank for an event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import AT
from ebbmem import AsyncMemoryBank, Draft, Imported, InvalidInput, MemoryBank, NotFound
from ebbmem.testing import ManualClock, TableEmbedder

TABLE = {"tea": [1.0, 0.0], "milk": [0.6, 0.8], "rain": [0.0, 1.0], "query": [1.0, 0.0]}


def face(kind: type) -> dict[str, Any]:
    """Public methods by name, as instances and classes have them."""
    return {
        name: getattr(kind, name)
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and callable(value)
    }


def attributes(kind: type) -> set[str]:
    return {
        name
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and isinstance(value, property)
    }


def test_it_has_exactly_the_methods_of_the_bank() -> None:
    assert sorted(face(AsyncMemoryBank)) == sorted(face(MemoryBank))


def test_it_has_the_properties_of_the_bank() -> None:
    assert attributes(MemoryBank) <= attributes(AsyncMemoryBank)


@pytest.mark.parametrize("name", sorted(face(MemoryBank).keys() & face(AsyncMemoryBank).keys()))
def test_every_method_has_the_signature_of_its_twin(name: str) -> None:
    ours, theirs = (inspect.signature(face(kind)[name]) for kind in (AsyncMemoryBank, MemoryBank))
    assert list(ours.parameters.values()) == list(theirs.parameters.values())
    assert ours.return_annotation == theirs.return_annotation


@pytest.mark.parametrize("name", sorted(face(AsyncMemoryBank)))
def test_every_method_is_awaited(name: str) -> None:
    assert inspect.iscoroutinefunction(face(AsyncMemoryBank)[name])


# -- the embedder --------------------------------------------------------------------------------


class Twins(TableEmbedder):
    """Has async twins, and must not be called in any other way."""

    def __init__(self) -> None:
        super().__init__(TABLE)
        self.awaited: list[str] = []

    async def aembed_documents(self, texts: Sequence[str]) -> object:
        self.awaited += texts
        await asyncio.sleep(0)
        return super().embed_documents(texts)

    async def aembed_query(self, text: str) -> object:
        self.awaited.append(text)
        await asyncio.sleep(0)
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise AssertionError("the twin was not awaited")

    def embed_query(self, text: str) -> Any:
        raise AssertionError("the twin was not awaited")


def test_the_async_twins_of_an_embedder_are_awaited() -> None:
    async def main() -> None:
        embedder = Twins()
        async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder) as bank:
            await bank.remember("tea")
            await bank.remember_many(["milk", Draft(text="rain")])
            assert embedder.awaited == ["tea", "milk", "rain"]
            await bank.recall("query")
            await bank.recall("query")
            await bank.explain("query", (await bank.list())[0].id)
            await bank.context("query")
            assert embedder.awaited == ["tea", "milk", "rain", "query"]

    asyncio.run(main())


def test_updating_a_text_awaits_the_twin_too() -> None:
    async def main() -> None:
        embedder = Twins()
        async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder) as bank:
            memory = await bank.remember("tea")
            await bank.update(memory.id, text="milk")
            assert embedder.awaited == ["tea", "milk"]

    asyncio.run(main())


class Blocking(TableEmbedder):
    """Waits in its call until somebody on the loop lets it go on."""

    def __init__(self) -> None:
        super().__init__(TABLE, default=[0.6, 0.8])
        self.entered = threading.Event()
        self.released = threading.Event()

    def _wait(self) -> None:
        self.entered.set()
        if not self.released.wait(20):
            raise AssertionError("the loop was blocked")

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self._wait()
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        self._wait()
        return super().embed_query(text)


@pytest.mark.parametrize("call", ["remember", "recall", "explain", "context", "update", "reembed"])
def test_the_loop_goes_on_while_an_embedder_blocks(call: str) -> None:
    async def main() -> int:
        embedder = Blocking()
        embedder.released.set()
        async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder) as bank:
            await bank.remember("tea", id="m1")
            other = Blocking()
            other.model = "other"
            calls = {
                "remember": lambda: bank.remember("milk"),
                "recall": lambda: bank.recall("query"),
                "explain": lambda: bank.explain("query", "m1"),
                "context": lambda: bank.context("query"),
                "update": lambda: bank.update("m1", text="rain"),
                "reembed": lambda: bank.reembed(other),
            }
            waiting = other if call == "reembed" else embedder
            for event in (waiting.entered, waiting.released):
                event.clear()
            task = asyncio.create_task(calls[call]())
            count = 0
            while not (task.done() or (waiting.entered.is_set() and count >= 100)):
                await asyncio.sleep(0)  # a turn of the loop, not a time
                count += 1
            assert not task.done()
            waiting.released.set()
            await task
            return count

    assert asyncio.run(main()) >= 100


# -- results -------------------------------------------------------------------------------------


def drafts() -> list[Draft]:
    return [Draft(id=text, text=text, importance=0.5) for text in ("tea", "milk", "rain")]


def plain(clock: ManualClock) -> list[object]:
    with MemoryBank.open(namespace="u1", embedder=TableEmbedder(TABLE), clock=clock) as bank:
        told: list[object] = [bank.remember_many(drafts())]
        told.append(bank.recall("query", k=2, min_similarity=-1))
        told.append(bank.explain("query", "rain"))
        told.append(bank.context("query", budget=50))
        told.append(bank.update("milk", importance=0.9))
        told.append((bank.pin("tea"), bank.unpin(["tea"]), bank.hold("tea"), bank.release("tea")))
        told.append((bank.forget("rain"), bank.restore("rain"), bank.reinforce(["rain"])))
        bank.link("tea", "rain", weight=0.5)
        bank.unlink("tea", "rain")
        told.append((bank.prune(dry_run=True), bank.forecast(99), bank.stats(), bank.audit()))
        told.append((bank.strength("tea"), bank.retention("tea"), bank.get("tea")))
        told.append((bank.erase("milk"), bank.list(), bank.at("u2").list(), bank.erase_all()))
    return told


async def on_a_loop(clock: ManualClock) -> list[object]:
    embedder = TableEmbedder(TABLE)
    async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder, clock=clock) as bank:
        told: list[object] = [await bank.remember_many(drafts())]
        told.append(await bank.recall("query", k=2, min_similarity=-1))
        told.append(await bank.explain("query", "rain"))
        told.append(await bank.context("query", budget=50))
        told.append(await bank.update("milk", importance=0.9))
        told.append(
            (
                await bank.pin("tea"),
                await bank.unpin(["tea"]),
                await bank.hold("tea"),
                await bank.release("tea"),
            )
        )
        told.append(
            (await bank.forget("rain"), await bank.restore("rain"), await bank.reinforce(["rain"]))
        )
        await bank.link("tea", "rain", weight=0.5)
        await bank.unlink("tea", "rain")
        told.append(
            (
                await bank.prune(dry_run=True),
                await bank.forecast(99),
                await bank.stats(),
                await bank.audit(),
            )
        )
        told.append(
            (await bank.strength("tea"), await bank.retention("tea"), await bank.get("tea"))
        )
        other = await bank.at("u2")
        told.append(
            (
                await bank.erase("milk"),
                await bank.list(),
                await other.list(),
                await bank.erase_all(),
            )
        )
    return told


def test_the_results_are_those_of_the_plain_bank() -> None:
    one, other = plain(ManualClock()), asyncio.run(on_a_loop(ManualClock()))
    assert one == other


KEYED = Draft(text="tea", id="k", keyed=True, importance=0.5, expires_at=AT + timedelta(days=1))


def plain_of_what_is_new(clock: ManualClock) -> list[object]:
    with MemoryBank.open(namespace="u1", embedder=TableEmbedder(TABLE), clock=clock) as bank:
        told: list[object] = [bank.remember_many(drafts())]
        told.append(
            bank.write({("u1",): [KEYED], ("u1", "x"): drafts()}, erase={("u1",): ["milk"]})
        )
        told.append(bank.remember("rain", id="k", keyed=True, searchable=False))
        told.append((bank.expire("k", None), bank.expire("tea", AT + timedelta(days=9))))
        told.append(bank.recall([1.0, 0.0], exclude=["rain"], where=lambda each: each.id != "k"))
        told.append(bank.context("query", exclude=["tea"], where={"n": {"$exists": False}}))
        told.append({id_: row.tolist() for id_, row in bank.vectors(["tea", "k", "none"]).items()})
        told.append((bank.list(newest_first=True, limit=2), bank.inhabited()))
        docs = bank.beside("docs")
        told.append((docs.namespace, docs.policy, docs.rerank({"a": 0.5, "b": 0.1}, k=1)))
    return told


async def on_a_loop_of_what_is_new(clock: ManualClock) -> list[object]:
    embedder = TableEmbedder(TABLE)
    async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder, clock=clock) as bank:
        told: list[object] = [await bank.remember_many(drafts())]
        told.append(
            await bank.write({("u1",): [KEYED], ("u1", "x"): drafts()}, erase={("u1",): ["milk"]})
        )
        told.append(await bank.remember("rain", id="k", keyed=True, searchable=False))
        told.append(
            (await bank.expire("k", None), await bank.expire("tea", AT + timedelta(days=9)))
        )
        told.append(
            await bank.recall([1.0, 0.0], exclude=["rain"], where=lambda each: each.id != "k")
        )
        told.append(await bank.context("query", exclude=["tea"], where={"n": {"$exists": False}}))
        found = await bank.vectors(["tea", "k", "none"])
        told.append({id_: row.tolist() for id_, row in found.items()})
        told.append((await bank.list(newest_first=True, limit=2), await bank.inhabited()))
        docs = await bank.beside("docs")
        told.append((docs.namespace, docs.policy, await docs.rerank({"a": 0.5, "b": 0.1}, k=1)))
    return told


def test_the_results_of_what_is_new_are_those_of_the_plain_bank() -> None:
    one = plain_of_what_is_new(ManualClock())
    assert one == asyncio.run(on_a_loop_of_what_is_new(ManualClock()))


def test_a_query_that_is_a_vector_awaits_no_embedder() -> None:
    async def main() -> None:
        embedder = Twins()
        async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder) as bank:
            await bank.remember("tea", searchable=False)
            await bank.recall([1.0, 0.0])
            assert embedder.awaited == []

    asyncio.run(main())


def test_it_tells_what_the_bank_it_wraps_tells(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "memory.db"
        async with await AsyncMemoryBank.open(path, namespace=("u1", "x"), embedder=None) as bank:
            assert bank.namespace == ("u1", "x")
            assert bank.path == str(path)
            assert bank.policy == bank.bank.policy
            assert bank.fingerprint == bank.bank.fingerprint

    asyncio.run(main())


def test_files_go_out_and_in(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncMemoryBank.open(namespace="u1", embedder=None) as bank:
            await bank.remember_many(drafts())
            assert await bank.export_jsonl(tmp_path / "out.jsonl") == 3
            assert (await bank.backup(tmp_path / "copy.db")).exists()
            assert (await bank.diagnose())["memories"] == 3
        async with await AsyncMemoryBank.open(namespace="u2", embedder=None) as bank:
            assert await bank.import_file(tmp_path / "out.jsonl") == {
                ("u2",): Imported(new=3, known=0)
            }

    asyncio.run(main())


def test_errors_are_those_of_the_plain_bank() -> None:
    async def main() -> None:
        with pytest.raises(InvalidInput, match="namespace"):
            await AsyncMemoryBank.open(namespace="")
        async with await AsyncMemoryBank.open(namespace="u1", embedder=None) as bank:
            with pytest.raises(InvalidInput, match="query"):
                await bank.recall("  ")
            with pytest.raises(InvalidInput, match="text"):
                await bank.remember("")
            with pytest.raises(NotFound):
                await bank.get("none")
            assert await bank.list() == []

    asyncio.run(main())


def test_many_tasks_may_share_one_bank(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "memory.db"
        async with await AsyncMemoryBank.open(path, namespace="u1", embedder="hashing") as bank:
            await asyncio.gather(*(bank.remember(f"memory number {n}") for n in range(20)))
            found = await asyncio.gather(*(bank.recall(f"number {n}") for n in range(20)))
            assert len(await bank.list()) == 20
            assert [each[0].memory.text for each in found] == [
                f"memory number {n}" for n in range(20)
            ]

    asyncio.run(main())
