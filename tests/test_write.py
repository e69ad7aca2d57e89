"""Several namespaces of a file in one transaction: everything, or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import (
    AsyncMemoryBank,
    Category,
    Draft,
    EbbmemError,
    EmbeddingError,
    Held,
    InvalidInput,
    MemoryBank,
    Policy,
    StoreError,
    UnknownCategory,
)
from ebbmem.testing import ManualClock, TableEmbedder

U1, U2, U3 = ("u1",), ("u2",), ("u3", "below")
SECRET = "zanzibar"


class Counting(TableEmbedder):
    """Notes what it was asked for in one go."""

    def __init__(self, **options: Any) -> None:
        super().__init__({}, default=[1.0, 0.0], **options)
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: Any) -> Any:
        self.batches.append(list(texts))
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def bank(open_bank: OpenBank, embedder: Counting) -> MemoryBank:
    """Holds `old` in u1 and `other` in u2."""
    made = open_bank(embedder=embedder)
    made.remember("old tea", id="old", importance=0.5)
    made.at("u2").remember("other tea", id="other", importance=0.5)
    embedder.batches.clear()
    return made


def dump(file: Path) -> list[object]:
    """Every row of every table, as another program reads them."""
    with closing(sqlite3.connect(file)) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return [(name, sorted(db.execute(f"SELECT * FROM {name}"), key=repr)) for name in names]


def ids(bank: MemoryBank) -> list[str]:
    return [each.id for each in bank.list(include_faded=True)]


def keyed(id: str, text: str, **changes: Any) -> Draft:
    return Draft(text=text, id=id, keyed=True, importance=0.5, **changes)


# -- everything ----------------------------------------------------------------------------------


def test_it_keeps_and_erases_in_every_namespace_and_says_what_it_kept(bank: MemoryBank) -> None:
    told = bank.write(
        {U1: [Draft(text="milk", id="m1"), "rain"], U3: [Draft(text="sun", id="m3")]},
        erase={U2: ["other"], U1: "old"},
    )
    assert {ns: [each.text for each in kept] for ns, kept in told.items()} == {
        U1: ["milk", "rain"],
        U3: ["sun"],
    }
    assert {each.id: each for each in told[U1]} == {each.id: each for each in bank.list()}
    assert told[U3] == bank.at(*U3).list()
    assert bank.at("u2").list(include_faded=True) == []
    assert [hit.memory.id for hit in bank.recall("milk", k=1)] == ["m1"]


def test_one_namespace_may_be_named_by_its_name(bank: MemoryBank) -> None:
    told = bank.write({"u2": ["milk"]}, erase={"u1": ["old"]})  # type: ignore[dict-item]
    assert [each.text for each in told[U2]] == ["milk"]
    assert bank.list() == []
    assert len(bank.at("u2").list()) == 2


def test_nothing_to_keep_in_a_namespace_is_said_too(bank: MemoryBank) -> None:
    assert bank.write({U1: [], U3: []}) == {U1: [], U3: []}
    assert U3 not in bank._store.namespaces()
    assert bank.write({}) == {}


def test_it_may_erase_alone(bank: MemoryBank) -> None:
    assert bank.write({}, erase={U1: ["old"]}) == {}
    assert bank.list() == []


def test_ids_that_are_not_there_are_passed_over(bank: MemoryBank) -> None:
    bank.write({U1: ["milk"]}, erase={U1: ["none", "old"], U2: [], ("nowhere",): ["none"]})
    assert [each.text for each in bank.list()] == ["milk"]
    assert ("nowhere",) not in bank._store.namespaces()
    assert [(line.action, line.id) for line in bank.audit()] == [("erase", "old")]


def test_what_is_kept_and_erased_in_one_call_is_gone(bank: MemoryBank) -> None:
    bank.write({U1: [Draft(text="milk", id="m1")]}, erase={U1: ["m1"]})
    assert ids(bank) == ["old"]


def test_it_is_one_transaction_of_the_file(bank: MemoryBank) -> None:
    bank.at(*U3).remember("so that it is there")
    said: list[str] = []
    connection = bank._store.connection  # type: ignore[attr-defined]
    connection._db.set_trace_callback(said.append)
    bank.write({U1: ["milk"], U2: ["rain"], U3: ["sun"]}, erase={U1: ["old"]})
    connection._db.set_trace_callback(None)
    assert sum(each.startswith("BEGIN IMMEDIATE") for each in said) == 1
    assert said.count("COMMIT") == 1


def test_the_embedder_is_asked_once_for_each_namespace(
    bank: MemoryBank, embedder: Counting
) -> None:
    bank.write({U1: ["milk", "rain"], U2: ["sun"], U3: []}, erase={U1: ["old"]})
    assert embedder.batches == [["milk", "rain"], ["sun"]]


def test_each_namespace_keeps_by_its_own_policy(bank: MemoryBank) -> None:
    bank.at("u2", policy=Policy(categories=[Category("recipe", 0.02)]))
    told = bank.write({U2: [Draft(text="milk", category="recipe")]})
    assert told[U2][0].category == "recipe"
    with pytest.raises(UnknownCategory):
        bank.write({U1: [Draft(text="milk", category="recipe")]})


def test_a_new_namespace_takes_the_policy_of_this_bank(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy.chat())
    bank.write({U2: ["milk"]})
    assert bank.at("u2").policy == Policy.chat()


def test_keyed_records_are_rewritten_in_it(bank: MemoryBank) -> None:
    bank.write({U1: [keyed("k", "milk")], U2: [keyed("k", "rain")]})
    bank.write({U1: [keyed("k", "cup")], U2: [keyed("k", "rain", metadata={"n": 1})]})
    assert [bank.get("k").text, bank.at("u2").get("k").text] == ["cup", "rain"]
    assert bank.at("u2").get("k").metadata == {"n": 1}


# -- or nothing ----------------------------------------------------------------------------------


def held(bank: MemoryBank) -> None:
    bank.at("u2").remember("cup", id="k", keyed=True)
    bank.at("u2").hold(["k", "other"])


REFUSED: dict[str, tuple[type[EbbmemError], Callable[[], dict[str, Any]]]] = {
    "blank text": (InvalidInput, lambda: {"drafts": {U1: ["milk"], U2: [" "]}}),
    "no draft": (InvalidInput, lambda: {"drafts": {U1: ["milk"], U2: [7]}}),
    "one text": (InvalidInput, lambda: {"drafts": {U1: ["milk"], U2: "rain"}}),
    "unknown category": (
        UnknownCategory,
        lambda: {"drafts": {U1: ["milk"], U2: [Draft(text="rain", category="x")]}},
    ),
    "an id of another text": (
        InvalidInput,
        lambda: {"drafts": {U1: ["milk"], U2: [Draft(text="rain", id="other")]}},
    ),
    "a record without a key": (
        InvalidInput,
        lambda: {"drafts": {U1: ["milk"], U2: [keyed("other", "rain")]}},
    ),
    "one id twice": (
        InvalidInput,
        lambda: {"drafts": {U1: ["milk"], U2: [keyed("a", "b"), keyed("a", "c")]}},
    ),
    "blank namespace": (InvalidInput, lambda: {"drafts": {U1: ["milk"], (): ["rain"]}}),
    "a namespace twice": (InvalidInput, lambda: {"drafts": {U1: ["milk"], "u1": ["rain"]}}),
    "a list": (InvalidInput, lambda: {"drafts": [(U1, ["milk"])]}),
    "erase a list": (InvalidInput, lambda: {"drafts": {U1: ["milk"]}, "erase": ["old"]}),
    "erase None": (InvalidInput, lambda: {"drafts": {U1: ["milk"]}, "erase": {U1: None}}),
    "erase blank": (InvalidInput, lambda: {"drafts": {U1: ["milk"]}, "erase": {U1: [" "]}}),
    "reword what is held": (Held, lambda: {"drafts": {U1: ["milk"], U2: [keyed("k", "rain")]}}),
    "erase what is held": (
        Held,
        lambda: {"drafts": {U1: ["milk"]}, "erase": {U1: ["old"], U2: ["other"]}},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_one_namespace_writes_nothing_in_any(
    bank: MemoryBank, file: Path, name: str
) -> None:
    held(bank)
    kind, arguments = REFUSED[name]
    before, seen = dump(file), bank.list()
    with pytest.raises(kind):
        bank.write(**arguments())
    assert dump(file) == before
    assert bank.list() == seen
    assert bank.recall("milk", min_similarity=1, reinforce=False)[1:] == []
    bank.write({U1: ["milk"]})  # and the file may be written as before
    assert len(bank.list()) == 2


@pytest.mark.parametrize("name", REFUSED)
def test_on_an_event_loop_the_same_is_refused(file: Path, bank: MemoryBank, name: str) -> None:
    held(bank)
    kind, arguments = REFUSED[name]
    before = dump(file)
    with pytest.raises(kind):
        asyncio.run(AsyncMemoryBank(bank).write(**arguments()))
    assert dump(file) == before


def test_what_cannot_be_kept_is_refused_before_anything_is_embedded(
    bank: MemoryBank, embedder: Counting
) -> None:
    with pytest.raises(InvalidInput):
        bank.write({U1: ["milk"], U2: [" "]})
    assert embedder.batches == []


@pytest.mark.parametrize("fail_on", [3, 4])
def test_an_embedder_that_fails_writes_nothing(
    bank: MemoryBank, embedder: Counting, file: Path, fail_on: int
) -> None:
    embedder.fail_on = fail_on
    before = dump(file)
    with pytest.raises(EmbeddingError):
        bank.write({U1: ["milk"], U2: ["rain"]}, erase={U1: ["old"]})
    assert dump(file) == before
    assert bank.list() != []


def test_a_statement_that_fails_writes_nothing(bank: MemoryBank, file: Path) -> None:
    with bank._store.connection.write() as db:  # type: ignore[attr-defined]
        db.execute(
            "CREATE TEMP TRIGGER broken AFTER DELETE ON main.memory "
            "BEGIN SELECT RAISE(ABORT, 'injected'); END"
        )
    before = dump(file)
    with pytest.raises(StoreError):
        bank.write({U1: ["milk"], U2: ["rain"]}, erase={U1: ["old"]})
    assert dump(file) == before
    assert ids(bank) == ["old"]
    with bank._store.connection.write() as db:  # type: ignore[attr-defined]
        db.execute("DROP TRIGGER broken")
    bank.write({U1: ["milk"], U2: ["rain"]}, erase={U1: ["old"]})
    assert [each.text for each in bank.list()] == ["milk"]


# -- what is gone --------------------------------------------------------------------------------


def bytes_of(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(folder.iterdir()))


def secret(id: str) -> Draft:
    return keyed(
        id,
        f"{SECRET} text of {id} " + "filler " * 2000,
        source=f"{SECRET}-source",
        speaker=f"{SECRET}-speaker",
        metadata={"key": f"{SECRET}-metadata"},
    )


def test_what_it_erased_is_in_no_byte_of_the_files(bank: MemoryBank, file: Path) -> None:
    bank.write({U1: [secret("a"), secret("b")], U2: [secret("a")]})
    assert SECRET.encode() in bytes_of(file.parent)
    bank.write({U1: ["milk"]}, erase={U1: ["a", "b"], U2: ["a"]})
    assert SECRET.encode() not in bytes_of(file.parent)  # while the file is still open


def test_words_that_were_rewritten_are_in_no_byte_of_the_files_after_closing(
    bank: MemoryBank, file: Path
) -> None:
    bank.remember_many([replace(secret("a"), source="chat")])
    bank.write({U1: [keyed("a", "harmless")]})
    bank.close()
    assert SECRET.encode() not in bytes_of(file.parent)


def test_an_end_that_came_leaves_no_byte_after_the_purge(
    open_bank: OpenBank, clock: ManualClock, file: Path
) -> None:
    bank = open_bank(policy=Policy(on_fade="erase"))
    bank.remember(f"{SECRET} " * 3000, expires_at=clock() + timedelta(days=1))
    assert SECRET.encode() in bytes_of(file.parent)
    clock.advance(days=1)
    bank.prune()
    assert SECRET.encode() not in bytes_of(file.parent)


# -- on an event loop ----------------------------------------------------------------------------


class Awaited(Counting):
    async def aembed_documents(self, texts: Any) -> Any:
        await asyncio.sleep(0)
        return super().embed_documents(texts)

    async def aembed_query(self, text: str) -> Any:
        return super().embed_query(text)

    def embed_documents(self, texts: Any) -> Any:
        raise AssertionError("the twin was not awaited")


def test_on_an_event_loop_the_embedder_is_awaited_and_nothing_is_encoded_twice() -> None:
    async def main() -> None:
        embedder = Awaited()
        async with await AsyncMemoryBank.open(namespace="u1", embedder=embedder) as bank:
            told = await bank.write({U1: ["milk", "rain"], U2: ["sun"]}, erase={U2: ["none"]})
            assert [[each.text for each in kept] for kept in told.values()] == [
                ["milk", "rain"],
                ["sun"],
            ]
            assert embedder.texts == ["milk", "rain", "sun"]

    asyncio.run(main())


def test_on_an_event_loop_each_namespace_keeps_by_its_own_policy() -> None:
    async def main() -> None:
        async with await AsyncMemoryBank.open(namespace="u1", embedder=None) as bank:
            await bank.at("u2", policy=Policy(categories=[Category("recipe", 0.02)]))
            told = await bank.write({U2: [Draft(text="milk", category="recipe")]})
            assert told[U2][0].category == "recipe"

    asyncio.run(main())
