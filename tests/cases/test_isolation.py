"""The basics of group B of the pain cases: crowding out, and names that begin alike."""

from __future__ import annotations

import pytest

from builders import OpenBank
from ebbmem import Category, Draft, MemoryBank, Policy
from ebbmem.testing import TableEmbedder

NAMES = ["ac", "acme", "acme-corp", "acme:1", "acme/1", "user1", "user10", 'a"b', "a\\b", "a,b"]
SCOPES = [("a:b", "c"), ("a", "b:c"), ("a", "b", "c"), ("a b", "c"), ('a","b', "c"), ("a", "b")]


def crowd() -> TableEmbedder:
    table = {f"theirs{i}": [1.0, 0.0] for i in range(500)}
    return TableEmbedder({**table, "query": [1.0, 0.0]}, default=[0.6, 0.8])


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


def test_is_3_names_that_begin_alike_see_their_own_alone(open_bank: OpenBank) -> None:
    root = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    banks = {name: root.at(name) for name in NAMES}
    for name, bank in banks.items():
        bank.remember(f"belongs to {name}", importance=0.5)
    for name, bank in banks.items():
        hits = bank.recall("query", k=10, min_similarity=-1.0)
        assert [each.memory.text for each in hits] == [f"belongs to {name}"]
    assert banks["user1"].erase_all() == 1
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


def test_a_category_that_another_bank_registered_breaks_nobody(open_bank: OpenBank) -> None:
    plain = open_bank()
    plain.remember("the lighthouse")
    special = open_bank(policy=Policy(categories=[Category("pet", 0.3)]))
    special.remember("the cat", category="pet")
    assert len(plain.list()) == 2
    assert len(plain.recall("lighthouse")) == 1
    assert plain.prune().faded == ()
