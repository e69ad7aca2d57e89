"""Why a memory came where it did, or why it did not come at all."""

from __future__ import annotations

from typing import Any

import pytest

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank, NotFound, Policy
from ebbmem.testing import ManualClock, TableEmbedder

AXES = {"north": [1, 0, 0], "near": [0.8, 0.6, 0], "east": [0, 1, 0], "query": [1, 0, 0]}


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    made = open_bank()
    for number, text in enumerate(("harbour tea", "tea", "milk and tea today", "winter bread")):
        made.remember(text, id=f"m{number}", importance=0.5)
    return made


def test_what_is_recalled_is_explained_with_its_parts(bank: MemoryBank) -> None:
    found = bank.recall("harbour tea", reinforce=False)
    told = bank.explain("harbour tea", "m0")
    assert (told.id, told.outcome, told.rank) == ("m0", "recalled", 1)
    assert told.recollection == found[0]
    assert told.better == ()
    assert "place 1" in told.reason
    assert f"{found[0].score:.3f}" in told.reason


def test_every_hit_is_explained_as_recall_has_it(bank: MemoryBank) -> None:
    for rank, hit in enumerate(bank.recall("harbour tea", reinforce=False), 1):
        told = bank.explain("harbour tea", hit.memory.id)
        assert (told.outcome, told.rank, told.recollection) == ("recalled", rank, hit)


def test_what_is_outscored_names_who_took_the_places(bank: MemoryBank) -> None:
    first, second, *_ = bank.recall("tea", k=3, reinforce=False)
    told = bank.explain("tea", second.memory.id, k=1)
    assert (told.outcome, told.rank) == ("outscored", 2)
    assert [each.memory.id for each in told.better] == [first.memory.id]
    assert told.better[0].score == first.score
    assert told.recollection is not None
    assert told.recollection.score == second.score


def test_what_shares_no_word_is_no_candidate_without_vectors(bank: MemoryBank) -> None:
    told = bank.explain("tea", "m3")
    assert (told.outcome, told.rank) == ("not a candidate", None)
    assert "no word" in told.reason
    assert "no vectors" in told.reason


def test_what_is_not_similar_enough_is_told_both_numbers(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder(AXES), policy=Policy(min_similarity=0.9))
    bank.remember("near", id="near")
    told = bank.explain("query", "near")
    assert told.outcome == "not a candidate"
    assert "0.800" in told.reason
    assert "0.900" in told.reason
    assert told.recollection is not None
    assert told.recollection.similarity == pytest.approx(0.8)


@pytest.mark.parametrize(
    "filters", [{"category": "failure"}, {"source": "elsewhere"}, {"where": {"n": 1}}], ids=str
)
def test_what_the_filters_leave_out_is_filtered(bank: MemoryBank, filters: dict[str, Any]) -> None:
    told = bank.explain("tea", "m1", **filters)
    assert (told.outcome, told.rank, told.recollection) == ("filtered", None, None)


def test_what_has_faded_by_now_is_explained_by_its_strength(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    bank.remember("tea", id="m1", importance=0.5)
    clock.advance(days=30)
    told = bank.explain("tea", "m1")
    assert told.outcome == "faded"
    assert f"{bank.strength('m1'):.3f}" in told.reason
    assert "0.05" in told.reason


def test_what_was_forgotten_is_explained_with_the_way_back(bank: MemoryBank) -> None:
    bank.forget("m1")
    told = bank.explain("tea", "m1")
    assert told.outcome == "faded"
    assert "restore" in told.reason
    assert bank.explain("tea", "m1", include_faded=True).outcome == "recalled"


def test_what_came_through_the_graph_is_explained_with_its_path(bank: MemoryBank) -> None:
    bank.link("m0", "m3")
    told = bank.explain("harbour", "m3")
    assert told.outcome == "recalled"
    assert "through the graph" in told.reason
    assert told.recollection is not None
    assert [step.id for step in told.recollection.via] == ["m0", "m3"]


def test_the_reason_never_quotes_the_text(bank: MemoryBank) -> None:
    for id_ in ("m0", "m1", "m2", "m3"):
        for k in (1, 5):
            assert "milk" not in bank.explain("tea", id_, k=k).reason


def test_explaining_changes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(hours=1)
    before = bank.list(include_faded=True)
    bank.explain("harbour tea", "m0")
    assert bank.list(include_faded=True) == before


def test_an_unknown_memory_cannot_be_explained(bank: MemoryBank) -> None:
    with pytest.raises(NotFound) as caught:
        bank.explain("tea", "none")
    assert caught.value.ids == ("none",)


def test_a_memory_of_another_namespace_cannot_be_explained(bank: MemoryBank) -> None:
    with pytest.raises(NotFound):
        bank.at("u2").explain("tea", "m1")


@pytest.mark.parametrize("arguments", [("", "m1"), ("tea", "m1", 0), ("tea", "")])
def test_arguments_that_cannot_be_used_are_refused(bank: MemoryBank, arguments: Any) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        bank.explain(*arguments)


# -- numbers about a namespace -------------------------------------------------------------------


def test_stats_count_what_there_is_now(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(maintain=False)
    bank.remember("tea", id="a", importance=0.5)
    bank.remember("milk", id="b", importance=0.5, category="failure")
    bank.remember("rain", id="c", importance=0.5, category="failure", pinned=True)
    bank.hold("a")
    clock.advance(days=12)  # a failure of importance 0.5 lives for 10.965 days
    told = bank.stats()
    assert (told.namespace, told.active, told.faded) == (("u1",), 2, 1)
    assert (told.pinned, told.held, told.recalls) == (1, 1, 0)
    assert told.by_category == {"fact": 1, "failure": 2}
    assert told.mean_strength == pytest.approx((bank.strength("a") + bank.strength("c")) / 2)
    assert told.fading_week == 0
    clock.advance(days=5)
    assert bank.stats().fading_week == 1


def test_an_empty_namespace_has_stats(open_bank: OpenBank) -> None:
    told = open_bank().stats()
    assert (told.active, told.faded, told.mean_strength, told.by_category) == (0, 0, None, {})


def test_retention_is_the_bare_curve_and_strength_what_follows(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    memory = bank.remember("tea", id="a", importance=0.5)
    assert (bank.retention("a"), bank.strength(memory)) == (1.0, 0.5)
    clock.advance(days=10)
    assert bank.retention(memory) == pytest.approx(0.382892885975112)  # exp(-0.96)
    assert bank.strength("a") == pytest.approx(0.191446442987556)
