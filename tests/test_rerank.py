"""Documents kept elsewhere, with their life kept here."""

from __future__ import annotations

import asyncio
import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank, Policy, Ranked
from ebbmem.ranking import with_strength
from ebbmem.testing import ManualClock, TableEmbedder


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank().beside("docs")


def scores(ranked: list[Ranked]) -> dict[str, float]:
    return {each.id: each.score for each in ranked}


def ids(ranked: list[Ranked]) -> list[str]:
    return [each.id for each in ranked]


# -- numbers worked out by hand ------------------------------------------------------------------

# A document is a fact of importance 1: it fades by 0.16 / day * (1 - 0.8 * 1) = 0.032 / day, so
# that after 20 days its strength is exp(-0.64) = 0.527292, which ranking reads as 0.527.


def test_at_first_sight_strength_is_one_and_the_score_what_was_given(bank: MemoryBank) -> None:
    assert bank.rerank({"a": 0.9, "b": 0.3}) == [
        Ranked(id="a", score=pytest.approx(0.9), relevance=0.9, strength=1.0, reinforced=True),
        Ranked(id="b", score=pytest.approx(0.3), relevance=0.3, strength=1.0, reinforced=False),
    ]


def test_strength_is_a_twentieth_beside_the_relevance(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"old": 0.5}, reinforce=False)
    clock.advance(days=20)
    found = bank.rerank({"old": 0.8, "new": 0.79}, reinforce=False)
    # 0.8 * exp(0.05 * (0.527 - 1)) and 0.79 * exp(0)
    assert scores(found) == pytest.approx({"new": 0.79, "old": 0.781301975648641}, abs=1e-12)
    assert ids(found) == ["new", "old"]
    assert [each.strength for each in found] == pytest.approx([1.0, 0.5272924240430485])


def test_by_product_strength_is_a_factor(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(policy=Policy(ranking="product")).beside("docs")
    bank.rerank({"old": 0.5}, reinforce=False)
    clock.advance(days=20)
    found = bank.rerank({"old": 0.8, "new": 0.42}, reinforce=False)
    assert scores(found) == pytest.approx({"old": 0.4216, "new": 0.42}, abs=1e-12)  # 0.8 * 0.527
    assert ids(found) == ["old", "new"]


def test_what_was_used_is_stronger(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"used": 0.5})
    bank.rerank({"idle": 0.5}, reinforce=False)
    clock.advance(days=20)
    found = bank.rerank({"idle": 0.5, "used": 0.5}, reinforce=False)
    # one use: 1.2 * exp(-0.64) = 0.632751
    assert [each.strength for each in found] == pytest.approx([0.6327509, 0.5272924])
    assert ids(found) == ["used", "idle"]


def test_equals_stay_in_the_order_in_which_they_were_given(bank: MemoryBank) -> None:
    assert ids(bank.rerank({"b": 0.5, "c": 0.5, "a": 0.5})) == ["b", "c", "a"]


def test_strengths_a_moment_apart_make_no_order(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"a": 0.5}, reinforce=False)
    clock.advance(seconds=20)
    bank.rerank({"b": 0.5}, reinforce=False)
    found = bank.rerank({"a": 0.5, "b": 0.5}, reinforce=False)
    assert ids(found) == ["a", "b"]
    assert found[0].strength < found[1].strength
    assert found[0].score == found[1].score


def test_strength_counts_in_thousandths() -> None:
    relevance = np.array([0.5, 0.5, 0.5])
    rounded = with_strength(relevance, np.array([0.9004, 0.8996, 0.9006]))
    assert rounded[0] == rounded[1] < rounded[2]
    # 0.5 * exp(0.05 * (0.9 - 1))
    assert rounded[0] == pytest.approx(0.49750623959634116, abs=1e-15)
    product = with_strength(relevance, np.array([0.9004, 0.8996, 0.9006]), product=True)
    assert product.tolist() == pytest.approx([0.45, 0.45, 0.4505], abs=1e-15)


def test_a_strength_over_one_counts_as_one() -> None:
    for product in (False, True):
        found = with_strength(np.array([0.5]), np.array([3.0]), product=product)
        assert found.tolist() == pytest.approx([0.5])


@given(
    relevance=st.lists(st.floats(0, 1), max_size=8),
    strength=st.floats(0, 5),
    product=st.booleans(),
)
def test_with_equal_strengths_the_order_is_that_of_relevance(
    relevance: list[float], strength: float, product: bool
) -> None:
    values = np.array(relevance)
    found = with_strength(values, np.full(len(values), strength), product=product)
    assert all(0.0 <= each <= 1.0 for each in found)
    ordered = found[np.argsort(values, kind="stable")]
    assert (np.diff(ordered) >= 0).all()


# -- what it gives back --------------------------------------------------------------------------


def test_at_most_k_come_back_and_the_rest_begins_its_life_too(bank: MemoryBank) -> None:
    found = bank.rerank({f"d{n}": n / 10 for n in range(8)}, k=3)
    assert ids(found) == ["d7", "d6", "d5"]
    assert len(bank.list()) == 8


def test_nothing_found_is_nothing(bank: MemoryBank) -> None:
    assert bank.rerank({}) == bank.list(include_faded=True) == []


def test_what_is_of_no_relevance_is_ranked_last_and_not_counted(bank: MemoryBank) -> None:
    found = bank.rerank({"a": 0.0, "b": 0.0})
    assert [(each.score, each.reinforced) for each in found] == [(0.0, False)] * 2


# -- reinforcement -------------------------------------------------------------------------------


def counts(bank: MemoryBank) -> dict[str, int]:
    return {each.id: each.recall_count for each in bank.list(include_faded=True)}


def test_what_is_at_least_half_as_relevant_as_the_best_counts(bank: MemoryBank) -> None:
    found = bank.rerank({"a": 0.8, "b": 0.4, "c": 0.39})
    assert [each.reinforced for each in found] == [True, True, False]
    assert counts(bank) == {"a": 1, "b": 1, "c": 0}


def test_the_share_is_the_policys(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(reinforce_ratio=0.9)).beside("docs")
    assert [each.reinforced for each in bank.rerank({"a": 0.8, "b": 0.7})] == [True, False]


def test_what_is_left_out_by_k_does_not_count(bank: MemoryBank) -> None:
    bank.rerank({"a": 0.8, "b": 0.8}, k=1)
    assert counts(bank) == {"a": 1, "b": 0}


def test_it_counts_once_in_the_spacing(bank: MemoryBank, clock: ManualClock) -> None:
    told = []
    for minutes in (0, 9, 1):
        clock.advance(minutes=minutes)
        told.append(bank.rerank({"a": 0.8})[0].reinforced)
    assert told == [True, False, True]
    assert counts(bank) == {"a": 2}


def test_looking_without_counting_changes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"a": 0.8}, reinforce=False)
    before = bank.list()
    clock.advance(days=1)
    assert [each.reinforced for each in bank.rerank({"a": 0.8}, reinforce=False)] == [False]
    assert bank.list() == before


# -- what has faded ------------------------------------------------------------------------------


def test_it_is_shown_to_its_last_day_and_then_hidden(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"a": 0.9}, reinforce=False)
    life = math.log(1 / 0.05) / 0.032  # 93.6 days
    clock.advance(days=life - 0.001)
    assert ids(bank.rerank({"a": 0.9}, reinforce=False)) == ["a"]
    clock.advance(days=0.002)
    assert bank.rerank({"a": 0.9}) == []


def test_what_has_faded_does_not_keep_the_rest_from_counting(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.rerank({"a": 0.9}, reinforce=False)
    clock.advance(days=100)
    assert [(each.id, each.reinforced) for each in bank.rerank({"a": 1.0, "b": 0.2})] == [
        ("b", True)
    ]


@pytest.mark.parametrize(
    "policy", [Policy(), Policy(on_fade="erase"), Policy(purge_after=timedelta())]
)
def test_what_has_faded_never_comes_back_as_new(
    open_bank: OpenBank, clock: ManualClock, policy: Policy
) -> None:
    bank = open_bank(policy=policy).beside("docs")
    bank.rerank({"a": 0.9})
    for _ in range(8):
        clock.advance(days=50)
        bank.prune()
    assert bank.rerank({"a": 0.9, "b": 0.1}) == [
        Ranked(id="b", score=pytest.approx(0.1), relevance=0.1, strength=1.0, reinforced=True)
    ]
    assert counts(bank) == {"a": 1, "b": 1}


def test_another_program_that_opens_it_keeps_what_is_hidden(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    open_bank().beside("docs").rerank({"a": 0.9})
    clock.advance(days=400)
    bank = open_bank(namespace=("u1", "docs"))  # by the policy that is stored
    bank.prune()
    clock.advance(days=400)
    assert bank.prune().erased == ()
    assert open_bank().beside("docs").rerank({"a": 0.9}) == []


def test_what_was_forgotten_is_hidden_and_what_is_restored_comes_back(bank: MemoryBank) -> None:
    bank.rerank({"a": 0.9, "b": 0.8})
    bank.forget("a")
    assert ids(bank.rerank({"a": 0.9, "b": 0.8})) == ["b"]
    bank.restore("a")
    assert ids(bank.rerank({"a": 0.9, "b": 0.8})) == ["a", "b"]


def test_a_pinned_document_stays(bank: MemoryBank, clock: ManualClock) -> None:
    bank.rerank({"a": 0.9})
    bank.pin("a")
    clock.advance(days=4000)
    assert ids(bank.rerank({"a": 0.9})) == ["a"]


# -- beside --------------------------------------------------------------------------------------


def test_it_lies_below_this_bank_and_lives_by_its_rules(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(fade_below=0.2, ranking="product", on_fade="erase"))
    docs = bank.beside("docs")
    assert docs.namespace == ("u1", "docs")
    assert (docs.policy.fade_below, docs.policy.ranking) == (0.2, "product")
    assert (docs.policy.on_fade, docs.policy.purge_after) == ("hide", timedelta(days=36_500))
    assert bank.policy.on_fade == "erase"


@pytest.mark.parametrize("name", ["", " ", "a\nb", None, 7])
def test_a_name_that_is_none_is_refused(open_bank: OpenBank, name: Any) -> None:
    with pytest.raises(InvalidInput, match="name"):
        open_bank().beside(name)


def test_a_document_is_no_memory_of_the_bank_it_lies_beside(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.beside("docs").rerank({"a lighthouse": 0.9})
    assert bank.recall("lighthouse") == []
    assert bank.beside("docs").recall("lighthouse") == []
    assert bank.inhabited() == [("u1", "docs")]


def test_nothing_is_embedded_and_nothing_kept_but_the_id(open_bank: OpenBank) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(embedder=embedder).beside("docs")
    bank.rerank({"a": 0.9})
    assert embedder.texts == []
    [kept] = bank.list()
    assert (kept.id, kept.text, kept.metadata, kept.keyed, kept.searchable) == (
        "a",
        "a",
        {},
        True,
        False,
    )


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relevance", "field"),
    [
        ({"a": 0.5, "b": 1.1}, "relevance"),
        ({"a": 0.5, "b": -0.1}, "relevance"),
        ({"a": 0.5, "b": float("nan")}, "relevance"),
        ({"a": 0.5, "b": True}, "relevance"),
        ({"a": 0.5, "b": None}, "relevance"),
        ({"a": 0.5, "b": "0.5"}, "relevance"),
        ({"a": 0.5, "": 0.5}, "id"),
        ({"a": 0.5, 7: 0.5}, "id"),
        ({"a": 0.5, "b\0": 0.5}, "id"),
        ([("a", 0.5)], "relevance"),
        (None, "relevance"),
    ],
)
def test_a_relevance_that_is_none_is_refused_and_no_life_begins(
    bank: MemoryBank, relevance: Any, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        bank.rerank(relevance)
    assert caught.value.field == field
    assert bank.list() == []


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_a_number_that_is_none_is_refused(bank: MemoryBank, k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        bank.rerank({"a": 0.5}, k=k)
    assert bank.list() == []


def test_on_an_event_loop_it_is_the_same(clock: ManualClock) -> None:
    async def main() -> tuple[list[Ranked], dict[str, int]]:
        async with await AsyncMemoryBank.open(namespace="u1", embedder=None, clock=clock) as bank:
            docs = await bank.beside("docs")
            await docs.rerank({"a": 0.9, "b": 0.2})
            clock.advance(days=20)
            found = await docs.rerank({"a": 0.4, "b": 0.5}, k=1)
            return found, counts(docs.bank)

    found, counted = asyncio.run(main())
    assert [(each.id, each.reinforced) for each in found] == [("b", True)]
    assert counted == {"a": 1, "b": 1}
