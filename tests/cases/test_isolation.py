"""Group B of the pain cases: one user's memories and another's."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import Category, Draft, InvalidInput, Memory, MemoryBank, NotFound, Policy
from ebbmem.clock import utc_now
from ebbmem.intake import new_id
from ebbmem.testing import TableEmbedder
from isolation_kit import LOOKS, Look, answer, mark_of, planted, policy_of

NAMES = ["ac", "acme", "acme-corp", "acme:1", "acme/1", "user1", "user10", 'a"b', "a\\b", "a,b"]
SCOPES = [("a:b", "c"), ("a", "b:c"), ("a", "b", "c"), ("a b", "c"), ('a","b', "c"), ("a", "b")]


def crowd() -> TableEmbedder:
    table = {f"theirs{i}": [1.0, 0.0] for i in range(500)}
    return TableEmbedder({**table, "query": [1.0, 0.0]}, default=[0.6, 0.8])


# -- IS-1 ----------------------------------------------------------------------------------------

MINE, THEIRS = mark_of(1), mark_of(2)
OF_NO_MEMORY = {  # they tell numbers, or what there is none of here
    "strength", "retention", "advice", "report", "probes", "probe_history", "audit",
    "audit_verify", "inhabited", "inhabited hidden", "prune", "list where not", "recall exclude",
    "recall category", "recall source", "list category", "list source", "itself", "recall where",
}  # fmt: skip


def two_users(open_bank: OpenBank, **options: Any) -> tuple[MemoryBank, MemoryBank]:
    """Two banks of one file with one memory each, both embedded to (1, 0)."""
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    mine = open_bank(embedder=embedder, policy=policy_of(MINE), **options)
    theirs = mine.at("u2", policy=policy_of(THEIRS))
    mine.remember_many([planted(MINE, 0)])
    theirs.remember_many([planted(THEIRS, 0)])
    return mine, theirs


@pytest.mark.parametrize("look", LOOKS)
def test_is_1_a_read_path_of_the_bank_shows_what_is_mine_alone(
    open_bank: OpenBank, look: str
) -> None:
    mine, theirs = two_users(open_bank)
    for bank, own, other in ((mine, MINE, THEIRS), (theirs, THEIRS, MINE)):
        told = answer(partial(LOOKS[look], bank, own))
        assert other not in told
        assert own in told or look in OF_NO_MEMORY


def test_is_1_every_read_path_counts_one(open_bank: OpenBank, file: Path) -> None:
    for bank in two_users(open_bank):
        out = file.with_name("out.jsonl")
        assert len(bank.recall("query", k=10, min_similarity=-1.0)) == 1
        assert len(bank.list()) == 1
        assert len(bank.context("query", min_similarity=-1.0).ids) == 1
        assert sum(bank.stats().by_category.values()) == bank.stats().active == 1
        assert bank.export_jsonl(out) == 1
        out.unlink()


def test_is_1_every_adapter_shows_what_is_mine_alone(open_bank: OpenBank) -> None:
    for extra in ("langchain.agents", "langchain_classic", "llama_index.core"):
        pytest.importorskip(extra, reason="needs the extras of all adapters")
    from isolation_adapters import ADAPTERS

    adapters: dict[str, Look] = ADAPTERS
    mine, theirs = two_users(open_bank)
    silent = set()
    for name, look in adapters.items():
        for bank, own, other in ((mine, MINE, THEIRS), (theirs, THEIRS, MINE)):
            told = answer(partial(look, bank, own))
            assert other not in told, name
            silent |= set() if own in told else {name}
    assert silent == {  # they show what they wrote themselves
        "LangChain EbbinghausChatMessageHistory",
        "LangChain EbbinghausStore get",
        "LangChain EbbinghausStore namespaces",
        "LlamaIndex EbbinghausPostprocessor",
    }


@pytest.mark.parametrize("command", ["list", "recall query", "stats", "export", "report"])
def test_is_1_the_command_line_shows_what_is_mine_alone(
    open_bank: OpenBank, file: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    pytest.importorskip("typer", reason="needs the extra cli")
    from ebbmem.cli.run import run

    for user, mark in (("u1", MINE), ("u2", THEIRS)):
        bank = open_bank(namespace=user, clock=utc_now)
        bank.remember(f"the query of {mark}", source=mark, speaker=mark, metadata={mark: mark})
    for user, own, other in (("u1", MINE, THEIRS), ("u2", THEIRS, MINE)):
        out = [str(file.with_name(f"{user}.out"))] if command in ("report", "export") else []
        capsys.readouterr()
        assert run([*command.split(), *out, "--db", str(file), "-n", user, "--json"]) == 0
        told = capsys.readouterr().out + "".join(Path(each).read_text() for each in out)
        assert other not in told
        assert own in told or command == "stats"
        assert command != "stats" or json.loads(told)["active"] == 1


# -- IS-2 ----------------------------------------------------------------------------------------


def the_five(bank: MemoryBank, **filters: str) -> None:
    hits = bank.recall("query", k=5, min_similarity=-1.0, **filters)
    assert sorted(each.memory.text for each in hits) == [f"mine{i}" for i in range(5)]
    assert [each.similarity for each in hits] == pytest.approx([0.6] * 5, abs=1e-6)


def test_is_2_another_namespace_does_not_crowd_mine_out(open_bank: OpenBank) -> None:
    mine = open_bank(path=":memory:", namespace="u1", embedder=crowd())
    mine.at("u2").remember_many(f"theirs{i}" for i in range(500))
    mine.remember_many(f"mine{i}" for i in range(5))
    the_five(mine)


def test_is_2_another_category_does_not_crowd_a_filter_out(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=crowd())
    bank.remember_many(f"theirs{i}" for i in range(500))
    bank.remember_many(Draft(text=f"mine{i}", category="failure") for i in range(5))
    the_five(bank, category="failure")


def test_is_2_another_source_or_metadata_does_not_crowd_a_filter_out(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=crowd())
    bank.remember_many(Draft(text=f"theirs{i}", source="s") for i in range(500))
    bank.remember_many(Draft(text=f"mine{i}", source="t", metadata={"x": 1}) for i in range(5))
    the_five(bank, source="t")
    hits = bank.recall("query", k=5, min_similarity=-1.0, where={"x": 1})
    assert sorted(each.memory.text for each in hits) == [f"mine{i}" for i in range(5)]


# -- IS-3 ----------------------------------------------------------------------------------------


def test_is_3_names_that_begin_alike_see_their_own_alone(open_bank: OpenBank) -> None:
    root = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    banks = {name: root.at(name) for name in NAMES}
    for name, bank in banks.items():
        bank.remember(f"belongs to {name}", importance=0.5)
    for name, bank in banks.items():
        hits = bank.recall("query", k=10, min_similarity=-1.0)
        assert [each.memory.text for each in hits] == [f"belongs to {name}"]
    assert banks["user1"].erase_all().count == 1
    assert [len(bank.list()) for name, bank in banks.items() if name != "user1"] == [1] * 9


def test_is_3_composite_scopes_never_meet(open_bank: OpenBank) -> None:
    root = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    banks = [root.at(*scope) for scope in SCOPES]
    for scope, bank in zip(SCOPES, banks, strict=True):
        bank.remember(f"of {scope}", importance=0.5)
    for scope, bank in zip(SCOPES, banks, strict=True):
        assert [each.text for each in bank.list()] == [f"of {scope}"]
        assert [each.memory.text for each in bank.recall("q", k=10)] == [f"of {scope}"]


def test_is_3_the_same_id_in_two_namespaces_is_two_memories(open_bank: OpenBank) -> None:
    mine = open_bank()
    theirs = mine.at("u2")
    mine.remember("mine alone", id="one")
    theirs.remember("theirs alone", id="one")
    mine.erase("one")
    assert theirs.get("one").text == "theirs alone"
    assert mine.list(include_faded=True) == []


def test_is_3_more_namespaces_than_are_kept_in_memory_stay_apart(open_bank: OpenBank) -> None:
    root = open_bank(path=":memory:")
    banks = [root.at(f"user{i}") for i in range(80)]
    for _ in range(2):
        for i, bank in enumerate(banks):
            bank.remember(f"the lighthouse of {i}")
    for i, bank in enumerate(banks):
        hits = bank.recall("lighthouse", k=5)
        assert [hit.memory.text for hit in hits] == [f"the lighthouse of {i}"]


# -- IS-4 ----------------------------------------------------------------------------------------

HIDDEN, MADE_UP = f"{THEIRS}id0", f"{THEIRS}id9"
BY_ID: dict[str, Callable[[MemoryBank, str], object]] = {
    "get": lambda bank, id_: bank.get(id_),
    "explain": lambda bank, id_: bank.explain("query", id_),
    "recall": lambda bank, id_: bank.recall("query", exclude=[id_]),
    "context": lambda bank, id_: bank.context("query", exclude=[id_]),
    "vectors": lambda bank, id_: bank.vectors([id_]),
    "strength": lambda bank, id_: bank.strength(id_),
    "retention": lambda bank, id_: bank.retention(id_),
    "known": lambda bank, id_: bank.known([Draft(text="words", id=id_, keyed=True)]),
    "update": lambda bank, id_: bank.update(id_, text="taken over"),
    "reinforce": lambda bank, id_: bank.reinforce([id_], query="who?"),
    "pin": lambda bank, id_: bank.pin(id_),
    "unpin": lambda bank, id_: bank.unpin(id_),
    "hold": lambda bank, id_: bank.hold(id_),
    "release": lambda bank, id_: bank.release(id_),
    "expire": lambda bank, id_: bank.expire(id_, bank.clock()),
    "restore": lambda bank, id_: bank.restore(id_),
    "forget": lambda bank, id_: bank.forget(id_),
    "erase": lambda bank, id_: bank.erase(id_),
    "write": lambda bank, id_: bank.write({}, erase={bank.namespace: [id_]}),
    "link": lambda bank, id_: bank.link(f"{MINE}id0", id_),
    "unlink": lambda bank, id_: bank.unlink(f"{MINE}id0", id_),
    "add_probe": lambda bank, id_: bank.add_probe("who?", [id_]),
    "remember": lambda bank, id_: bank.remember("words", id=id_),
    "remember_many": lambda bank, id_: bank.remember_many([Draft(text="words", supersedes=[id_])]),
    "rerank": lambda bank, id_: bank.rerank({id_: 0.5}),
}
TAKES_IDS = {"id", "ids", "a", "b", "memory", "exclude", "expected_ids", "supersedes", "erase"}
KNOWS_IDS = {"known", "rerank", "remember_many"}  # inside what they take
QUOTED = re.compile(r"'(?:[^']|'')*'|\d+")


def test_is_4_every_method_that_takes_an_id_is_tried() -> None:
    methods = inspect.getmembers(MemoryBank, inspect.isfunction)
    taking = {
        name
        for name, method in methods
        if not name.startswith("_") and TAKES_IDS & set(inspect.signature(method).parameters)
    }
    assert taking | KNOWS_IDS == set(BY_ID)


@pytest.mark.parametrize("name", BY_ID)
def test_is_4_the_id_of_another_is_like_a_made_up_one(open_bank: OpenBank, name: str) -> None:
    """In what is said, and in what the database is asked: the same statements, as many of them."""
    said, asked = [], []
    for id_ in (HIDDEN, MADE_UP):
        mine, theirs = two_users(open_bank, path=":memory:")
        before = answer(lambda bank=theirs: bank.list())  # type: ignore[misc]
        statements: list[str] = []
        mine._store.connection._db.set_trace_callback(statements.append)  # type: ignore[attr-defined]
        said.append(answer(partial(BY_ID[name], mine, id_)).replace(id_, "(it)"))
        mine._store.connection._db.set_trace_callback(None)  # type: ignore[attr-defined]
        asked.append([QUOTED.sub("?", each) for each in statements])
        assert answer(theirs.list) == before
    assert said[0] == said[1]
    assert asked[0] == asked[1]
    assert THEIRS not in said[0]


def test_is_4_what_was_tried_on_mine_left_it_as_it_was(open_bank: OpenBank) -> None:
    theirs = open_bank()
    kept: Memory = theirs.remember("x", id="X")
    me = theirs.at("u2")
    for call in (me.get, partial(me.update, text="y"), me.forget, me.erase):
        with pytest.raises(NotFound, match="no memory 'X'"):
            call("X")
    assert theirs.get("X") == kept
    assert theirs.get("X").recall_count == 0


# -- IS-5 ----------------------------------------------------------------------------------------

NOBODY = [None, "", "   ", "\t", (), ("",), ("u1", " "), [None]]


@pytest.mark.parametrize("user", NOBODY)
def test_is_5_no_user_is_refused_before_anything_is_embedded(
    open_bank: OpenBank, file: Path, user: Any
) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(namespace="others", embedder=embedder)
    bank.remember_many(f"memory {number}" for number in range(10))
    calls, parts = embedder.calls, user if isinstance(user, tuple | list) else [user]
    tries: list[Callable[[], object]] = [
        lambda: MemoryBank.open(file, namespace=user, embedder=embedder),
        lambda: bank.at(*parts),
        lambda: bank.write({user if not isinstance(user, list) else (None,): ["text"]}),  # type: ignore[dict-item]
        lambda: bank.write({}, erase={user if not isinstance(user, list) else (None,): ["m"]}),  # type: ignore[dict-item]
    ]
    for each in tries:
        with pytest.raises(InvalidInput, match="namespace"):
            each()
    assert embedder.calls == calls
    assert len(bank.list()) == 10


@pytest.mark.parametrize("user", ["", "   ", "\t", ("",), ("u1", " ")])
def test_is_5_no_adapter_is_made_for_no_user(open_bank: OpenBank, user: Any) -> None:
    for extra in ("langchain.agents", "langchain_classic", "llama_index.core"):
        pytest.importorskip(extra, reason="needs the extras of all adapters")
    import llama_index.memory.ebbmem as llama

    import langchain_ebbmem as lang

    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(namespace="others", embedder=embedder)
    bank.remember_many(f"memory {number}" for number in range(10))
    calls = embedder.calls
    tries: list[Callable[[], object]] = [
        lambda: lang.EbbinghausRetriever(memory=bank, namespace=user),
        lambda: lang.EbbinghausVectorStore(memory=bank, namespace=user),
        lambda: lang.EbbinghausMemory(memory=bank, namespace=user),
        lambda: lang.EbbinghausRecall(memory=bank, namespace=user),
        lambda: lang.with_ebbinghaus_memory(str, bank, namespace=user),
        lambda: lang.EbbinghausChatMessageHistory(bank, "s", namespace=user),
        lambda: lang.EbbinghausMiddleware(bank, namespace=user),
        lambda: lang.create_recall_tool(bank, namespace=user),
        lambda: lang.create_remember_tool(bank, namespace=user),
        lambda: lang.create_forget_tool(bank, namespace=user),
        lambda: llama.EbbinghausRetriever(bank, namespace=user),
        lambda: llama.EbbinghausMemoryBlock(bank, namespace=user),
        lambda: llama.EbbinghausMemory(bank, namespace=user),
        lambda: llama.EbbinghausToolSpec(bank, namespace=user),
        lambda: llama.EbbinghausPostprocessor(memory=bank, namespace=user),
    ]
    for each in tries:
        with pytest.raises(ValueError, match="namespace"):
            each()
    assert embedder.calls == calls
    assert len(bank.list()) == 10


def test_is_5_a_function_that_names_no_user_does_not_fall_back_on_the_bank(
    open_bank: OpenBank,
) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")
    from llama_index.memory.ebbmem import EbbinghausMemoryBlock

    bank = open_bank(namespace="others")
    block = EbbinghausMemoryBlock(bank, namespace=lambda session: None, on_error="raise")
    with pytest.raises(InvalidInput, match="namespace is None"):
        block.bank("s1")


# -- what no case names --------------------------------------------------------------------------


def test_an_id_does_not_tell_how_many_ids_others_were_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the milliseconds and what is random stands a fraction of one, not a count."""
    moment = 1_767_225_600_123_456_789  # nanoseconds: .456789 of a millisecond
    for _ in range(3):
        new_id()
    monkeypatch.setattr("ebbmem.intake.time.time_ns", lambda: moment + 10**18)
    made = new_id()
    assert int(made[:8] + made[9:13], 16) == (moment + 10**18) // 10**6
    assert made[14:18] == f"7{456_789 * 4096 // 10**6:03x}"  # 1,871 of 4,096


def test_a_category_that_another_bank_registered_breaks_nobody(open_bank: OpenBank) -> None:
    plain = open_bank()
    plain.remember("the lighthouse")
    special = open_bank(policy=Policy(categories=[Category("pet", 0.3)]))
    special.remember("the cat", category="pet")
    assert len(plain.list()) == 2
    assert len(plain.recall("lighthouse")) == 1
    assert plain.prune().faded == ()
