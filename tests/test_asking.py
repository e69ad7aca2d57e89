"""Asked with a vector, without what is at hand, through a function; listed newest first."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, OpenBank
from ebbmem import (
    AsyncMemoryBank,
    Draft,
    EmbeddingError,
    InvalidInput,
    Memory,
    MemoryBank,
    Policy,
    Recollections,
)
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder

TABLE = {
    "green tea": [1.0, 0.0],
    "cold milk": [0.8, 0.6],
    "warm rain": [0.6, 0.8],
    "winter sun": [0.0, 1.0],
    "query": [1.0, 0.0],
}


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder(TABLE)


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    """Four memories an hour apart, m0 to m3, from near the query to far from it."""
    made = open_bank(embedder=embedder)
    made.remember_many(
        Draft(
            text=text,
            id=f"m{n}",
            importance=0.5,
            at=AT + timedelta(hours=n),
            source="even" if n % 2 == 0 else "odd",
            metadata={"n": n},
        )
        for n, text in enumerate(list(TABLE)[:4])
    )
    return made


def ids(found: Recollections | list[Memory]) -> list[str]:
    return [each.id if isinstance(each, Memory) else each.memory.id for each in found]


# -- by a vector ---------------------------------------------------------------------------------


def test_a_vector_finds_what_its_text_finds_where_no_word_is_shared(bank: MemoryBank) -> None:
    for least in (0.0, 0.7, -1.0):
        by_text = bank.recall("query", min_similarity=least, reinforce=False)
        by_vector = bank.recall(TABLE["query"], min_similarity=least, reinforce=False)
        assert by_vector == by_text
    direct = [hit for hit in bank.recall([1.0, 0.0], min_similarity=0.7) if not hit.via]
    assert [(hit.memory.id, hit.similarity) for hit in direct] == [
        ("m0", pytest.approx(1.0)),
        ("m1", pytest.approx(0.8)),
    ]


@pytest.mark.parametrize(
    "made",
    [
        list,
        tuple,
        np.array,
        iter,
        lambda row: np.array(row, np.float32),
        lambda row: [Decimal(str(each)) for each in row],
        lambda row: [int(each) for each in row],
        lambda row: [each * 1e200 for each in row],
        lambda row: [each * 1e-200 for each in row],
    ],
)
def test_a_vector_may_be_anything_that_is_numbers_of_any_length(
    bank: MemoryBank, made: Callable[[list[float]], Any]
) -> None:
    [best, *_] = bank.recall(made([2.0, 0.0]), reinforce=False)
    assert (best.memory.id, best.similarity) == ("m0", pytest.approx(1.0))


def test_a_vector_asks_the_embedder_nothing(bank: MemoryBank, embedder: TableEmbedder) -> None:
    calls = embedder.calls
    bank.recall([1.0, 0.0])
    assert embedder.calls == calls


def test_a_vector_leaves_keywords_out(bank: MemoryBank) -> None:
    for hit in bank.recall([1.0, 0.0], min_similarity=-1):
        assert hit.keyword == 0.0


def test_a_use_found_by_a_vector_counts(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(days=1)
    [best, *_] = bank.recall([1.0, 0.0], k=1)
    assert best.reinforced
    assert bank.get("m0").recall_count == 1


def test_filters_hold_for_a_vector_too(bank: MemoryBank) -> None:
    found = bank.recall([1.0, 0.0], where={"n": {"$gte": 2}}, min_similarity=-1)
    assert ids(found) == ["m2", "m3"]


BAD: dict[str, Any] = {
    "nothing": [],
    "zero": [0.0, -0.0],
    "nan": [1.0, math.nan],
    "inf": [1.0, math.inf],
    "a number beyond all": [10**400, 1],
    "texts": ["1.0", "0.0"],
    "bytes": b"12",
    "None": None,
    "a number": 1.0,
    "None within": [1.0, None],
    "rows": [[1.0, 0.0], [0.0, 1.0]],
    "an array of rows": np.eye(2),
    "a mapping": {0: 1.0, 1: 0.0},
    "a set": {1.0, 0.5},
    "complex": [1j, 0.0],
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_vector_is_refused_before_anything(
    bank: MemoryBank, embedder: TableEmbedder, name: str
) -> None:
    calls, before = embedder.calls, bank.list()
    with pytest.raises(InvalidInput) as caught:
        bank.recall(BAD[name])
    assert caught.value.field == "query"
    assert embedder.calls == calls
    assert bank.list() == before


@pytest.mark.parametrize("row", [[1.0], [1.0, 0.0, 0.0]])
@pytest.mark.parametrize("asked_before", [True, False])
def test_a_vector_of_another_length_is_refused_before_anything(
    open_bank: OpenBank, bank: MemoryBank, row: list[float], asked_before: bool
) -> None:
    if not asked_before:  # then the length is known from the file alone
        bank.close()
        bank = open_bank(embedder=TableEmbedder(TABLE))
    before = bank.list()
    with pytest.raises(EmbeddingError):
        bank.recall(row, min_similarity=-1)
    assert bank.list() == before


def test_a_file_without_vectors_has_nothing_to_compare_one_with(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("green tea")
    with pytest.raises(InvalidInput, match="query is a vector, and this file has none"):
        bank.recall([1.0, 0.0])


def test_on_an_event_loop_a_vector_finds_the_same(bank: MemoryBank) -> None:
    async def main() -> Recollections:
        return await AsyncMemoryBank(bank).recall([1.0, 0.0], reinforce=False)

    assert asyncio.run(main()) == bank.recall([1.0, 0.0], reinforce=False)


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(*[st.integers(-5, 5)] * 3).filter(any), min_size=1, max_size=8, unique=True
    ),
    asked=st.tuples(*[st.integers(-5, 5)] * 3).filter(any),
)
def test_a_vector_alone_ranks_by_the_angle(
    rows: list[tuple[int, ...]], asked: tuple[int, ...]
) -> None:
    table = {f"word{n}": list(map(float, row)) for n, row in enumerate(rows)}
    with MemoryBank.open(
        namespace="u1", embedder=TableEmbedder(table), clock=ManualClock()
    ) as bank:
        bank.remember_many(Draft(text=text, id=text, importance=0.5) for text in table)
        hits = bank.recall(asked, 9, min_similarity=-1, reinforce=False)
        direct = [hit for hit in hits if not hit.via]
        cosines = [
            np.dot(table[hit.memory.id], asked)
            / np.linalg.norm(table[hit.memory.id])
            / np.linalg.norm(asked)
            for hit in direct
        ]
        assert [hit.similarity for hit in direct] == pytest.approx(cosines, abs=1e-6)
        relevance = [hit.relevance for hit in direct]
        assert relevance == sorted(relevance, reverse=True)
        assert len(hits) == len(table)


# -- the vectors of memories ---------------------------------------------------------------------


def test_vectors_come_back_by_id_and_what_is_not_there_is_left_out(bank: MemoryBank) -> None:
    found = bank.vectors(["m1", "none", "m3"])
    assert {id_: row.tolist() for id_, row in found.items()} == {
        "m1": pytest.approx([0.8, 0.6]),
        "m3": [0.0, 1.0],
    }
    assert found["m1"].dtype == np.float32


def test_the_vector_of_a_long_text_is_the_unit_mean_of_its_passages(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({"one": [1.0, 0.0], "two": [0.0, 1.0]}))
    bank.remember("one\u2029two", id="m1")
    half = math.sqrt(0.5)
    assert bank.vectors("m1")["m1"].tolist() == pytest.approx([half, half])


def test_passages_that_cancel_each_other_have_no_vector(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({"one": [1.0, 0.0], "two": [-1.0, 0.0]}))
    bank.remember("one\u2029two", id="m1")
    assert bank.vectors("m1") == {}


def test_without_an_embedder_there_are_no_vectors(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", id="m1")
    assert bank.vectors("m1") == {}


def test_a_changed_vector_is_a_copy_of_mine(bank: MemoryBank) -> None:
    bank.vectors("m0")["m0"][:] = 9.0
    assert bank.vectors("m0")["m0"].tolist() == [1.0, 0.0]


# -- without what is at hand ---------------------------------------------------------------------


@pytest.mark.parametrize("exclude", [["m0", "none"], "m0", iter(["m0"]), {"m0"}, ("m0", "m0")])
def test_what_is_at_hand_is_left_out_and_the_next_takes_its_place(
    bank: MemoryBank, exclude: Any
) -> None:
    assert ids(bank.recall("query", k=2, min_similarity=-1, exclude=exclude)) == ["m1", "m2"]
    assert bank.get("m0").recall_count == 0


def test_what_is_at_hand_is_not_in_the_context_either(bank: MemoryBank) -> None:
    block = bank.context("query", min_similarity=-1, exclude=["m0", "m1"])
    assert sorted(block.ids) == ["m2", "m3"]


def test_leaving_everything_out_leaves_nothing(bank: MemoryBank) -> None:
    assert bank.recall("query", exclude=["m0", "m1", "m2", "m3"], min_similarity=-1) == []


def test_leaving_nothing_out_is_a_recall_as_ever(bank: MemoryBank) -> None:
    plain = bank.recall("query", min_similarity=-1, reinforce=False)
    for nothing in ((), ["none"]):
        assert bank.recall("query", min_similarity=-1, reinforce=False, exclude=nothing) == plain


def test_what_is_left_out_passes_nothing_on_through_the_graph(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(
        Draft(text=text, id=text, importance=0.5) for text in ("tea", "milk", "rain")
    )
    bank.link("tea", "milk")
    bank.link("milk", "rain")
    assert ids(bank.recall("tea", reinforce=False)) == ["tea", "milk", "rain"]
    assert ids(bank.recall("tea", exclude=["milk"])) == ["tea"]


def test_an_erased_id_may_be_left_out(bank: MemoryBank) -> None:
    bank.erase("m0")
    assert ids(bank.recall("query", k=1, exclude=["m0"], min_similarity=-1)) == ["m1"]


@pytest.mark.parametrize("exclude", [None, 7, [""], [None], ["a\0"]])
def test_what_are_no_ids_are_refused(bank: MemoryBank, exclude: Any) -> None:
    for call in (bank.recall, bank.context):
        with pytest.raises(InvalidInput):
            call("query", exclude=exclude)
    assert {each.recall_count for each in bank.list()} == {0}


# -- through a function --------------------------------------------------------------------------


def early(memory: Memory) -> bool:
    return memory.created_at < AT + timedelta(hours=2) and memory.source == "even"


@pytest.mark.parametrize("call", ["recall", "list", "context", "explain"])
def test_a_function_of_the_record_decides(bank: MemoryBank, call: str) -> None:
    if call == "recall":
        assert ids(bank.recall("query", min_similarity=-1, where=early)) == ["m0"]
    elif call == "list":
        assert ids(bank.list(where=early)) == ["m0"]
    elif call == "context":
        assert list(bank.context("query", min_similarity=-1, where=early).ids) == ["m0"]
    else:
        outcomes = [
            bank.explain("query", f"m{n}", where=early, min_similarity=-1).outcome for n in (0, 1)
        ]
        assert outcomes == ["recalled", "filtered"]


def test_a_function_is_asked_only_of_what_the_other_filters_let_through(bank: MemoryBank) -> None:
    asked: list[str] = []

    def where(memory: Memory) -> bool:
        asked.append(memory.id)
        return True

    assert ids(bank.list(source="odd", where=where)) == asked == ["m1", "m3"]


def test_what_a_function_raises_comes_out_and_nothing_counts(bank: MemoryBank) -> None:
    def where(memory: Memory) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bank.recall("query", where=where)
    assert {each.recall_count for each in bank.list()} == {0}


def test_a_function_is_asked_of_what_has_faded_too_and_does_not_show_it(bank: MemoryBank) -> None:
    bank.forget("m0")
    asked: list[str] = []
    found = bank.recall(
        "query", min_similarity=-1, where=lambda memory: not asked.append(memory.id)
    )
    assert sorted(asked) == ["m0", "m1", "m2", "m3"]
    assert ids(found) == ["m1", "m2", "m3"]


# -- newest first --------------------------------------------------------------------------------


def test_newest_first_is_the_order_turned_round_before_it_is_paged(bank: MemoryBank) -> None:
    assert ids(bank.list(newest_first=True)) == ["m3", "m2", "m1", "m0"]
    assert ids(bank.list(newest_first=True, limit=2)) == ["m3", "m2"]
    assert ids(bank.list(newest_first=True, limit=2, offset=1)) == ["m2", "m1"]
    assert ids(bank.list(newest_first=True, source="even")) == ["m2", "m0"]


def test_of_one_moment_what_stands_later_in_its_source_is_newer(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(Draft(text=f"line {n}", id=f"m{9 - n}", source="s") for n in range(4))
    assert ids(bank.list()) == ["m9", "m8", "m7", "m6"]
    assert ids(bank.list(newest_first=True)) == ["m6", "m7", "m8", "m9"]


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_an_order_that_is_none_is_refused(bank: MemoryBank, value: Any) -> None:
    with pytest.raises(InvalidInput, match="newest_first"):
        bank.list(newest_first=value)


# -- where somebody lives ------------------------------------------------------------------------


def test_inhabited_names_this_namespace_and_those_below(open_bank: OpenBank) -> None:
    bank = open_bank(namespace=("a", "b"))
    for name in (("a",), ("a", "b"), ("a", "b", "c"), ("a", "bc"), ("b",), ("a", "b", "d", "e")):
        bank.at(*name).remember("tea")
    assert sorted(bank.inhabited()) == [("a", "b"), ("a", "b", "c"), ("a", "b", "d", "e")]


@pytest.mark.parametrize("passed", [False, True])
def test_where_all_has_faded_nobody_lives(
    open_bank: OpenBank, clock: ManualClock, passed: bool
) -> None:
    bank = open_bank(maintain=False)
    bank.at("u1", "gone").remember("tea", category="failure", importance=0.5)
    bank.at("u1", "left").remember("tea", importance=1.0)
    bank.at("u1", "forgotten").forget(bank.at("u1", "forgotten").remember("tea").id)
    bank.at("u1", "erased").erase(bank.at("u1", "erased").remember("tea").id)
    clock.advance(days=20)
    if passed:
        bank.at("u1", "gone").prune()
    assert bank.inhabited() == [("u1", "left")]


def test_what_days_of_use_have_kept_is_still_there(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(policy=Policy.chat(), maintain=False)
    bank.remember("tea", category="failure", importance=0.5)
    clock.advance(days=300)  # past its deadline by the calendar, and never used
    assert bank.inhabited() == [("u1",)]


def test_asking_where_somebody_lives_makes_no_namespace(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert bank.inhabited() == []
    assert bank._store.namespaces() == []


# -- what scores too little --------------------------------------------------------------------


@pytest.fixture
def drinks(open_bank: OpenBank, clock: ManualClock) -> MemoryBank:
    bank = open_bank(embedder=HashingEmbedder())
    bank.remember_many(
        [Draft(text="green tea in the morning", id="tea"), Draft(text="morning run", id="run")]
    )
    clock.advance(days=1)
    return bank


def test_what_scores_less_is_left_out_and_not_used(drinks: MemoryBank) -> None:
    first, second = drinks.recall("green tea in the morning", min_similarity=-1, reinforce=False)
    assert first.score > second.score > 0.0
    between = (first.score + second.score) / 2
    found = drinks.recall("green tea in the morning", min_similarity=-1, min_score=between)
    assert [hit.memory.id for hit in found] == ["tea"]
    assert found[0].score == first.score
    assert [drinks.get(id).recall_count for id in ("tea", "run")] == [1, 0]


def test_at_least_means_at_least(drinks: MemoryBank) -> None:
    def found(least: float) -> list[str]:
        hits = drinks.recall(
            "green tea in the morning", min_similarity=-1, min_score=least, reinforce=False
        )
        return [hit.memory.id for hit in hits]

    hits = drinks.recall("green tea in the morning", min_similarity=-1, reinforce=False)
    assert found(hits[1].score) == ["tea", "run"]
    assert found(math.nextafter(hits[1].score, 1.0)) == ["tea"]


def test_explain_says_that_it_scored_too_little(drinks: MemoryBank) -> None:
    said = drinks.explain("green tea in the morning", "run", min_similarity=-1, min_score=0.99)
    assert said.outcome == "filtered"
    assert said.reason == f"its score {said.recollection.score:.3f} is under 0.990"  # type: ignore[union-attr]
    assert said.rank == 2


def test_explain_knows_what_was_at_hand_already(drinks: MemoryBank) -> None:
    assert drinks.explain("green tea", "tea", exclude=["tea"]).outcome == "filtered"


@pytest.mark.parametrize("bad", [-0.1, 1.1, None, "half", float("nan")])
def test_a_score_outside_its_range_is_refused(bad: Any, drinks: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="min_score"):
        drinks.recall("tea", min_score=bad)
    with pytest.raises(InvalidInput, match="min_score"):
        drinks.rerank({"d": 0.5}, min_score=bad)


def test_what_only_fills_a_place_is_no_use_of_it(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(embedder=HashingEmbedder())
    bank.remember_many([Draft(text="green tea", id="tea"), Draft(text="a blue car", id="car")])
    clock.advance(days=1)
    hits = bank.recall("volcano eruption", min_similarity=-1)
    assert [(hit.related, hit.reinforced) for hit in hits] == [(False, False), (False, False)]
    assert [each.recall_count for each in bank.list()] == [0, 0]
    [hit, filler] = bank.recall("green tea", min_similarity=-1)
    assert (hit.memory.id, hit.related, hit.reinforced) == ("tea", True, True)
    assert (filler.related, filler.reinforced) == (False, False)
