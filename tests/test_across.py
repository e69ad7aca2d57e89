"""One question to several namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import (
    AsyncMemoryBank,
    InvalidInput,
    MemoryBank,
    Policy,
    arecall_across,
    recall_across,
)
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder

TABLE = {"tea": [1.0, 0.0], "milk": [0.6, 0.8], "rain": [0.0, 1.0], "query": [1.0, 0.0]}
WORDS = ["tea", "milk", "rain", "green", "cold", "likes", "Ann", "Bob"]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    max_size=5,
    unique=True,
)


def filled(open_bank: OpenBank, **texts: Sequence[str]) -> list[MemoryBank]:
    """Banks of one file by name, each text with its own as id and full strength."""
    first = open_bank(embedder=TableEmbedder(TABLE), policy=Policy())
    banks = [first.at(name) for name in texts]
    for bank, each in zip(banks, texts.values(), strict=True):
        for text in each:
            bank.remember(text, id=text, importance=1.0)
    return banks


@contextmanager
def in_memory(*contents: Sequence[str]) -> Iterator[list[MemoryBank]]:
    clock = ManualClock()
    with MemoryBank.open(namespace="root", embedder=HashingEmbedder(), clock=clock) as root:
        banks = [root.at(f"n{number}") for number, _ in enumerate(contents)]
        for bank, texts in zip(banks, contents, strict=True):
            for number, text in enumerate(texts):
                bank.remember(text, id=f"{bank.namespace[0]}-{number}")
        clock.advance(hours=1)
        yield banks


def test_each_score_is_weighed_by_what_the_best_of_its_namespace_is_worth(
    open_bank: OpenBank,
) -> None:
    """By hand: both are the best of their namespace, 2/3 without a shared word; 0.6 is the
    cosine of the second beside 1.0 of the first."""
    banks = filled(open_bank, a=["milk"], b=["tea"])
    found = recall_across(banks, "query", min_similarity=-1.0)
    assert [(ns, hit.memory.id) for ns, hit in found] == [(("b",), "tea"), (("a",), "milk")]
    assert [hit.score for _, hit in found] == pytest.approx([2 / 3, 0.4])
    assert [hit.relevance for _, hit in found] == pytest.approx([2 / 3, 0.4])


def test_the_best_k_of_all_are_the_answer(open_bank: OpenBank) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"], c=["milk"])
    found = recall_across(banks, "query", 2, min_similarity=-1.0)
    assert [ns for ns, _ in found] == [("a",), ("b",)]


def test_equals_keep_the_order_of_the_banks(open_bank: OpenBank) -> None:
    a, b, c = filled(open_bank, a=["tea"], b=["tea"], c=["tea"])
    for banks in ([a, b, c], [c, a, b]):
        found = recall_across(banks, "query", min_similarity=-1.0, reinforce=False)
        assert [ns for ns, _ in found] == [bank.namespace for bank in banks]


def test_only_what_is_in_the_answer_counts_in_its_own_bank(open_bank: OpenBank) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"], c=["tea"])
    found = recall_across(banks, "query", 2, min_similarity=-1.0)
    assert [hit.reinforced for _, hit in found] == [True, True]
    assert [bank.get("tea").recall_count for bank in banks] == [1, 1, 0]


def test_what_is_far_below_the_best_of_the_answer_does_not_count(open_bank: OpenBank) -> None:
    """Relevance 0.5, and of the other namespace 0.3: at least half of the best, or 0.7 of it."""
    banks = filled(open_bank, a=["tea"], b=["milk"])
    strict = [bank.at(*bank.namespace, policy=Policy(reinforce_ratio=0.7)) for bank in banks]
    found = recall_across(strict, "query", min_similarity=-1.0)
    assert [hit.reinforced for _, hit in found] == [True, False]
    assert [
        bank.get(id_).recall_count for bank, id_ in zip(banks, ["tea", "milk"], strict=True)
    ] == [1, 0]


def test_what_came_through_the_graph_is_in_the_answer_and_does_not_count(
    open_bank: OpenBank,
) -> None:
    first = open_bank(policy=Policy(reinforce_ratio=0.01), embedder=HashingEmbedder())
    banks = [first.at("a"), first.at("b")]
    for bank in banks:
        bank.remember("green tea", id="tea", importance=1.0)
        bank.remember("a green kettle", id="kettle", importance=1.0)
        bank.link("tea", "kettle", weight=0.9)
    found = recall_across(banks, "green tea", min_similarity=-1.0)
    assert [(hit.memory.id, bool(hit.via), hit.reinforced) for _, hit in found] == [
        ("tea", False, True),
        ("tea", False, True),
        ("kettle", True, False),
        ("kettle", True, False),
    ]
    assert [bank.get("kettle").recall_count for bank in banks] == [0, 0]


def test_one_bank_is_used_though_nothing_comes_to_mind(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy.chat())
    bank.remember("tea", id="tea", importance=1.0)
    for _ in range(3):
        clock.advance(days=1)
        assert recall_across([bank], "rain") == []
    assert bank.retention("tea") == pytest.approx(2.718281828459045 ** (-0.16 * 0.2 * 3))


def test_a_second_question_within_the_spacing_counts_nothing(open_bank: OpenBank) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"])
    for expected in ([True, True], [False, False]):
        found = recall_across(banks, "query", min_similarity=-1.0)
        assert [hit.reinforced for _, hit in found] == expected


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_counts_unless_it_is_asked_for(open_bank: OpenBank, count: int) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"])[:count]
    found = recall_across(banks, "query", min_similarity=-1.0, reinforce=False)
    assert [hit.reinforced for _, hit in found] == [False] * count
    assert [bank.get("tea").recall_count for bank in banks] == [0] * count


def test_a_memory_erased_after_the_search_is_passed_over(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea", "milk"])
    counted = MemoryBank.reinforce

    def late(bank: MemoryBank, ids: list[str]) -> object:
        if bank.namespace == ("b",) and "tea" in ids:
            bank.erase("tea") if bank.list(where=lambda each: each.id == "tea") else None
        return counted(bank, ids)

    monkeypatch.setattr(MemoryBank, "reinforce", late)
    found = recall_across(banks, "query", min_similarity=-1.0)
    assert {(*ns, hit.memory.id): hit.reinforced for ns, hit in found} == {
        ("a", "tea"): True,
        ("b", "tea"): False,
        ("b", "milk"): True,
    }


def test_filters_and_faded_memories_are_passed_on(open_bank: OpenBank, clock: ManualClock) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"])
    banks[0].remember("rain", id="rain", metadata={"kind": "sky"})
    clock.advance(days=400)
    assert recall_across(banks, "query", min_similarity=-1.0) == []
    found = recall_across(
        banks,
        "query",
        min_similarity=-1.0,
        where={"kind": "sky"},
        category="fact",
        include_faded=True,
    )
    assert [hit.memory.id for _, hit in found] == ["rain"]


def test_no_bank_answers_nothing() -> None:
    assert recall_across([], "query") == []
    assert asyncio.run(arecall_across([], "query")) == []


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("wrong", [{"query": " "}, {"query": []}, {"query": "tea", "k": 0}])
def test_what_recall_refuses_is_refused_by_none_and_by_several(
    open_bank: OpenBank, count: int, wrong: dict[str, object]
) -> None:
    banks = filled(open_bank, a=["tea"], b=["tea"])[:count]
    with pytest.raises(InvalidInput):
        recall_across(banks, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        asyncio.run(arecall_across([AsyncMemoryBank(each) for each in banks], **wrong))  # type: ignore[arg-type]


def test_the_query_is_encoded_once_for_all(open_bank: OpenBank) -> None:
    table = TableEmbedder(TABLE)
    first = open_bank(embedder=table)
    banks = [first.at(name) for name in "abc"]
    for bank in banks:
        bank.remember("tea")
    before = table.calls
    asyncio.run(arecall_across([AsyncMemoryBank(each) for each in banks], "query"))
    recall_across(banks, "query")
    assert table.calls - before == 1


@given(contents=st.lists(TEXTS, min_size=1, max_size=4), query=st.sampled_from(WORDS))
@settings(max_examples=40, deadline=None)
def test_every_answer_lies_where_it_says_and_in_no_other_namespace(
    contents: list[list[str]], query: str
) -> None:
    with in_memory(*contents, ["tea milk rain Ann Bob"]) as banks:
        asked, other = banks[:-1], banks[-1]
        found = recall_across(asked, query, 100, min_similarity=-1.0)
        keys = [(ns, hit.memory.id) for ns, hit in found]
        assert len(keys) == len(set(keys))
        assert sorted(keys) == sorted(
            (bank.namespace, each.id) for bank in asked for each in bank.list()
        )
        assert all(hit.memory.id.startswith(ns[0]) for ns, hit in found)
        assert [each.recall_count for each in other.list()] == [0]
        scores = [hit.score for _, hit in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


@given(texts=TEXTS, query=st.sampled_from(WORDS), k=st.integers(1, 6), reinforce=st.booleans())
@settings(max_examples=40, deadline=None)
def test_one_bank_answers_as_recall_does(
    texts: list[str], query: str, k: int, reinforce: bool
) -> None:
    with in_memory(texts) as [ours], in_memory(texts) as [theirs], in_memory(texts) as [third]:
        expected = list(theirs.recall(query, k, reinforce=reinforce))
        found = recall_across([ours], query, k, reinforce=reinforce)
        awaited = asyncio.run(
            arecall_across([AsyncMemoryBank(third)], query, k, reinforce=reinforce)
        )
        assert [hit for _, hit in found] == [hit for _, hit in awaited] == expected
        assert ours.list() == third.list() == theirs.list()


@given(contents=st.lists(TEXTS, min_size=2, max_size=3), query=st.sampled_from(WORDS))
@settings(max_examples=25, deadline=None)
def test_awaited_it_gives_the_same_and_leaves_the_same(
    contents: list[list[str]], query: str
) -> None:
    with in_memory(*contents) as ours, in_memory(*contents) as theirs:
        found = recall_across(ours, query, 4)
        awaited = asyncio.run(arecall_across([AsyncMemoryBank(each) for each in theirs], query, 4))
        assert awaited == found
        assert [each.list() for each in theirs] == [each.list() for each in ours]


@given(contents=st.lists(TEXTS, min_size=2, max_size=3), query=st.sampled_from(WORDS))
@settings(max_examples=25, deadline=None)
def test_within_a_namespace_the_order_is_that_of_recall(
    contents: list[list[str]], query: str
) -> None:
    with in_memory(*contents) as banks:
        found = recall_across(banks, query, 100, reinforce=False)
        for bank in banks:
            mine = [hit.memory.id for ns, hit in found if ns == bank.namespace]
            assert mine == [hit.memory.id for hit in bank.recall(query, 100, reinforce=False)]
