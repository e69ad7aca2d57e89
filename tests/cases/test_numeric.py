"""Group D of the pain cases: numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from builders import OpenBank
from ebbmem import (
    Category,
    EmbeddingError,
    FingerprintMismatch,
    InvalidInput,
    MemoryBank,
    Policy,
    UnknownCategory,
)
from ebbmem.testing import ManualClock, TableEmbedder

EAGER = Policy(spacing=timedelta(0))
RAW = Policy(spacing=timedelta(0), strength_cap=math.inf)
NAN = float("nan")
SECOND = timedelta(seconds=1)


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-9)


# -- NU-1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "importance, category, days, recalls, expected",
    [
        (0.5, "strategy", 10, 0, 0.274405818047013),
        (0.5, "fact", 10, 0, 0.191446442987556),
        (0.5, "assumption", 10, 0, 0.150597105956101),
        (0.5, "failure", 10, 0, 0.061228214126491),
        (0.5, "fact", 10, 2, 0.268025020182578),
        (0.9, "strategy", 30, 0, 0.388539471086172),
        (0.9, "strategy", 30, 3, 0.621663153737875),
        (1.0, "failure", 7, 0, 0.612626394184416),
        (0.2, "assumption", 5, 0, 0.086342104685816),
        (1.0, "fact", 100, 0, 0.040762203978366),
    ],
)
def test_nu_1_category_importance_days_and_recalls_make_the_strength(
    open_bank: OpenBank,
    clock: ManualClock,
    importance: float,
    category: str,
    days: int,
    recalls: int,
    expected: float,
) -> None:
    bank = open_bank(policy=EAGER)
    id_ = bank.remember("counted", category=category, importance=importance).id
    for _ in range(recalls):
        bank.recall("counted")
    clock.advance(days=days)
    assert bank.get(id_, include_faded=True).recall_count == recalls
    assert bank.strength(id_) == exactly(expected)
    [hit] = bank.recall("counted", include_faded=True, reinforce=False)
    assert hit.strength == exactly(expected)


@pytest.mark.parametrize("category", ["Fact", "facts", "", None, 3, [], ["fact"]])
def test_nu_1_an_unknown_category_is_an_error_that_lists_the_valid_ones(
    open_bank: OpenBank, category: object
) -> None:
    bank = open_bank()
    with pytest.raises(UnknownCategory, match="strategy, fact, assumption, failure"):
        bank.remember("text", category=category)  # type: ignore[arg-type]
    assert bank.list(include_faded=True) == []


def test_nu_1_a_changed_rate_reaches_what_is_pinned(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    slow = Policy(categories=[Category("pet", 0.1)])
    bank = open_bank(policy=slow)
    id_ = bank.remember("the cat", category="pet", importance=0.5, pinned=True).id
    bank.recall("cat", reinforce=False)
    fast = bank.at("u1", policy=Policy(categories=[Category("pet", 0.5)]))
    clock.advance(days=5)
    [hit] = fast.recall("cat", reinforce=False)
    assert hit.strength == exactly(fast.strength(id_)) == exactly(0.5 * math.exp(-0.3 * 5))


# -- NU-2 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "recalls, last_alive, alive, gone",
    [
        (0, 2_072_326, 0.050000032427, 0.049999976872),
        (1, 2_236_415, 0.050000054712, 0.049999999156),
    ],
)
def test_nu_2_pruning_goes_by_the_strength_that_is_shown(
    open_bank: OpenBank,
    clock: ManualClock,
    recalls: int,
    last_alive: int,
    alive: float,
    gone: float,
) -> None:
    bank = open_bank()
    id_ = bank.remember("counted", importance=0.5).id
    for _ in range(recalls):
        bank.recall("counted")
    clock.advance(seconds=last_alive)
    assert bank.strength(id_) == pytest.approx(alive, abs=1e-12)
    assert bank.prune().faded == ()
    assert [each.id for each in bank.list()] == [id_]
    clock.advance(SECOND)
    assert bank.strength(id_) == pytest.approx(gone, abs=1e-12)
    assert bank.list() == []
    assert bank.prune().faded == (id_,)


def test_nu_2_what_stands_at_the_threshold_is_not_below_it(open_bank: OpenBank) -> None:
    bank = open_bank()
    id_ = bank.remember("barely", importance=0.05).id
    assert bank.prune().faded == ()
    assert [each.id for each in bank.list()] == [id_]
    assert [each.memory.id for each in bank.recall("barely", reinforce=False)] == [id_]


def test_nu_2_what_was_just_used_is_not_pruned(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    id_ = bank.remember("counted", importance=0.5).id
    clock.advance(seconds=2_072_326)
    bank.recall("counted")
    clock.advance(seconds=10)
    assert bank.prune().faded == ()
    assert bank.strength(id_) == exactly(0.599993333370)


@pytest.mark.parametrize("importance", [0.5, 0.05, 0.9, 1.0])
@pytest.mark.parametrize("category", ["strategy", "fact", "assumption", "failure"])
def test_nu_2_fades_at_is_the_first_instant_below_the_threshold(
    open_bank: OpenBank, clock: ManualClock, category: str, importance: float
) -> None:
    bank = open_bank(path=":memory:")
    memory = bank.remember("counted", category=category, importance=importance)
    assert memory.fades_at is not None
    clock.set(memory.fades_at - timedelta(microseconds=1))
    assert bank.prune().faded == ()
    assert len(bank.list()) == 1
    clock.set(memory.fades_at)
    assert bank.list() == []
    assert bank.prune().faded == (memory.id,)


# -- NU-3 ------------------------------------------------------------------------------------


def five_recalls(open_bank: OpenBank, policy: Policy) -> tuple[MemoryBank, str]:
    bank = open_bank(path=":memory:", policy=policy)
    id_ = bank.remember("counted", importance=1.0).id
    for _ in range(5):
        bank.recall("counted")
    return bank, id_


def test_nu_3_the_raw_product_is_a_named_option(open_bank: OpenBank, clock: ManualClock) -> None:
    bank, id_ = five_recalls(open_bank, RAW)
    assert bank.strength(id_) == exactly(2.0)
    clock.advance(days=10)
    assert bank.strength(id_) == exactly(1.452298074147382)


def test_nu_3_strength_is_clamped_to_one(open_bank: OpenBank, clock: ManualClock) -> None:
    bank, id_ = five_recalls(open_bank, EAGER)
    assert bank.strength(id_) == 1.0
    clock.advance(days=10)
    assert bank.strength(id_) == 1.0
    clock.advance(days=30)
    assert bank.strength(id_) == exactly(2.0 * math.exp(-0.032 * 40))


@pytest.mark.parametrize("ranking", ["bonus", "product"])
def test_nu_3_scores_lie_in_zero_to_one_whatever_the_cap(open_bank: OpenBank, ranking: str) -> None:
    policy = Policy(spacing=timedelta(0), strength_cap=math.inf, ranking=ranking)  # type: ignore[arg-type]
    bank, _ = five_recalls(open_bank, policy)
    [hit] = bank.recall("counted")
    assert 0.0 <= hit.score <= 1.0
    assert 0.0 <= hit.relevance <= 1.0


def test_nu_3_the_clamp_changes_no_decision_to_prune(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    clamped, one = five_recalls(open_bank, EAGER)
    raw, two = five_recalls(open_bank, RAW)
    deadline = clamped.get(one).fades_at
    assert deadline == raw.get(two).fades_at
    assert deadline is not None
    clock.set(deadline - timedelta(microseconds=1))
    assert clamped.prune().faded == raw.prune().faded == ()
    clock.set(deadline)
    assert (clamped.prune().faded, raw.prune().faded) == ((one,), (two,))


# -- NU-4 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "importance", [-0.1, 1.1, 5, NAN, math.inf, -math.inf, "0.5", [], True, None]
)
def test_nu_4_importance_out_of_range_is_refused_by_name(
    open_bank: OpenBank, importance: object
) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(embedder=embedder)
    if importance is None:  # the content decides
        assert 0.0 <= bank.remember("text").importance <= 1.0
        return
    with pytest.raises(InvalidInput, match="importance") as caught:
        bank.remember("text", importance=importance)  # type: ignore[arg-type]
    assert caught.value.field == "importance"
    assert bank.list(include_faded=True) == []
    assert embedder.calls == 0


@pytest.mark.parametrize("importance", [0.0, 1.0, 0, 1, 5e-324, 1e-300])
def test_nu_4_the_ends_of_the_range_are_accepted(open_bank: OpenBank, importance: float) -> None:
    bank = open_bank()
    id_ = bank.remember("text", importance=importance).id
    assert bank.get(id_, include_faded=True).importance == importance


@pytest.mark.parametrize("on_fade", ["hide", "erase"])
def test_nu_4_what_has_faded_on_arrival_is_still_returned_by_remember(
    open_bank: OpenBank, clock: ManualClock, on_fade: str
) -> None:
    bank = open_bank(policy=Policy(on_fade=on_fade))  # type: ignore[arg-type]
    long_ago = clock() - timedelta(days=400)
    assert bank.remember("text", importance=0.0, at=long_ago).text == "text"
    assert bank.list() == []


# -- NU-5 ------------------------------------------------------------------------------------

UNIT = {
    "gee": [1.0, 0.0, 0.0],
    "aitch": [0.5, 0.866025404, 0.0],
    "zero": [0.0, 0.0, 0.0],
    "nan": [NAN, 0.0, 0.0],
    "inf": [math.inf, 0.0, 0.0],
    "query": [1.0, 0.0, 0.0],
    "null query": [0.0, 0.0, 0.0],
    "bad query": [NAN, 0.0, 0.0],
}


def unit_bank(open_bank: OpenBank) -> MemoryBank:
    bank = open_bank(embedder=TableEmbedder(UNIT))
    for text in ("gee", "aitch", "zero"):
        bank.remember(text, importance=0.5)
    return bank


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_nu_5_a_vector_with_nan_or_infinity_is_refused(open_bank: OpenBank, text: str) -> None:
    bank = unit_bank(open_bank)
    with pytest.raises(EmbeddingError):
        bank.remember(text, importance=0.5)
    assert {each.text for each in bank.list()} == {"gee", "aitch", "zero"}
    hits = bank.recall("query", k=2, min_similarity=-1.0)
    assert [each.memory.text for each in hits] == ["gee", "aitch"]


def test_nu_5_a_zero_vector_scores_nothing(open_bank: OpenBank) -> None:
    hits = unit_bank(open_bank).recall("query", k=5, min_similarity=-1.0)
    assert [each.memory.text for each in hits] == ["gee", "aitch", "zero"]
    assert hits[2].similarity == 0.0
    assert all(math.isfinite(each.score) for each in hits)


def test_nu_5_a_query_of_zeros_gives_nothing_or_zeros(open_bank: OpenBank) -> None:
    hits = unit_bank(open_bank).recall("null query", k=5)
    assert all((each.score, each.similarity) == (0.0, 0.0) for each in hits)


def test_nu_5_a_query_of_zeros_reinforces_nothing(open_bank: OpenBank) -> None:
    bank = unit_bank(open_bank)
    bank.recall("null query", k=5, min_similarity=-1.0)
    assert [each.recall_count for each in bank.list()] == [0, 0, 0]


def test_nu_5_a_query_with_nan_is_an_error(open_bank: OpenBank) -> None:
    bank = unit_bank(open_bank)
    with pytest.raises(EmbeddingError):
        bank.recall("bad query")
    assert [each.recall_count for each in bank.list()] == [0, 0, 0]


# -- NU-6 ------------------------------------------------------------------------------------

PLANE = {
    "pea": [6.0, 8.0],
    "queue": [4.0, 3.0],
    "are": [4.0, -3.0],
    "double": [-3.0, -4.0],
    "query": [3.0, 4.0],
}


def test_nu_6_similarity_is_a_cosine_and_orders_the_hits(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder(PLANE))
    bank.remember_many(text for text in PLANE if text != "query")
    hits = bank.recall("query", k=4, min_similarity=-1.0)
    assert [each.memory.text for each in hits] == ["pea", "queue", "are", "double"]
    cosines = [each.similarity for each in hits]
    assert cosines == pytest.approx([1.0, 0.96, 0.0, -1.0], abs=1e-6)
    scores = [each.score for each in hits]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert len(set(scores[:3])) == 3


def test_nu_6_no_cosine_lies_outside_its_range(open_bank: OpenBank) -> None:
    angles = [math.radians(degree) for degree in range(90)]
    table = {f"t{i}": [math.cos(each), math.sin(each)] for i, each in enumerate(angles)}
    bank = open_bank(embedder=TableEmbedder(table))
    bank.remember_many(table)
    for text in table:
        [hit] = bank.recall(text, k=1, reinforce=False)
        assert hit.similarity is not None
        assert -1.0 <= hit.similarity <= 1.0


def test_nu_6_the_opposite_of_a_query_is_not_reinforced(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder(PLANE))
    id_ = bank.remember("double", importance=0.5).id
    [hit] = bank.recall("query", k=4, min_similarity=-1.0)
    assert hit.relevance == 0.0
    assert not hit.reinforced
    assert bank.get(id_).recall_count == 0


# -- NU-7 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, "hashing"])
def test_nu_7_fewer_memories_than_k_is_fewer_hits(open_bank: OpenBank, embedder: object) -> None:
    bank = open_bank(embedder=embedder)
    assert bank.recall("harbour", k=50, min_similarity=-1.0) == []
    id_ = bank.remember("the harbour", importance=0.5).id
    assert len(bank.recall("harbour", k=50, min_similarity=-1.0)) == 1
    assert bank.at("newcomer").recall("harbour", k=50, min_similarity=-1.0) == []
    bank.forget(id_)
    assert bank.recall("harbour", k=50, min_similarity=-1.0) == []
    bank.erase(id_)
    assert bank.recall("harbour", k=50, min_similarity=-1.0) == []


def test_nu_7_every_question_has_an_answer_in_an_empty_bank(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert bank.list() == bank.forecast() == bank.audit() == []
    assert bank.prune().faded == bank.prune(dry_run=True).erased == ()
    assert (bank.stats().active, bank.stats().mean_strength) == (0, None)
    assert bank.erase_all().count == 0
    assert bank.context("harbour") == ""


# -- NU-8 ------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[MemoryBank, str], object]] = {
    "recall": lambda bank, _: bank.recall("query"),
    "explain": lambda bank, id_: bank.explain("query", id_),
    "context": lambda bank, _: bank.context("query"),
    "remember": lambda bank, _: bank.remember("another"),
    "update": lambda bank, id_: bank.update(id_, text="another"),
}


@pytest.mark.parametrize("name", CALLS)
def test_nu_8_another_dimension_is_refused_and_harms_nothing(
    open_bank: OpenBank, name: str
) -> None:
    axes = {f"t{i}": [float(i % 4 == j) + i / 100 for j in range(4)] for i in range(20)}
    axes |= {f"ask {text}": row for text, row in axes.items()}
    bank = open_bank(embedder=TableEmbedder(axes))
    ids = [each.id for each in bank.remember_many(text for text in axes if " " not in text)]
    bank.close()
    with pytest.raises(FingerprintMismatch) as caught:
        CALLS[name](open_bank(embedder=TableEmbedder({}, default=[1.0] * 8)), ids[0])
    assert "(4)" in str(caught.value)
    assert "(8)" in str(caught.value)
    again = open_bank(embedder=TableEmbedder(axes))
    assert {each.id for each in again.list()} == set(ids)
    for i in range(20):
        [hit] = again.recall(f"ask t{i}", k=1, reinforce=False)
        assert hit.similarity == pytest.approx(1.0, abs=1e-6)


def test_nu_8_another_embedder_is_refused_at_open(open_bank: OpenBank, file: Path) -> None:
    open_bank(embedder="hashing").remember("text")
    for other in (None, TableEmbedder({}, default=[1.0])):
        with pytest.raises(FingerprintMismatch, match="hashing-256"):
            open_bank(embedder=other)
    assert len(open_bank(embedder="hashing").list()) == 1


# -- NU-9 ------------------------------------------------------------------------------------

CROWD = {
    "first": [0.9, 0.435889894],
    "second": [0.1, 0.994987437],
    "again": [0.1, 0.994987437],
    "query": [1.0, 0.0],
}


def popular(open_bank: OpenBank, policy: Policy, *, reinforce: bool = True) -> MemoryBank:
    """A hundred recalls of the second within a minute."""
    clock = ManualClock()
    bank = open_bank(embedder=TableEmbedder(CROWD), policy=policy, clock=clock)
    bank.remember_many(["first", "second"])
    for each in bank.list():
        bank.update(each.id, importance=0.5)
    for _ in range(100):
        bank.recall("again", k=1, reinforce=reinforce)
        clock.advance(seconds=0.5)
    return bank


@pytest.mark.parametrize("ranking", ["bonus", "product"])
def test_nu_9_popularity_does_not_feed_itself(open_bank: OpenBank, ranking: str) -> None:
    bank = popular(open_bank, Policy(ranking=ranking))  # type: ignore[arg-type]
    assert {each.text: each.recall_count for each in bank.list()} == {"first": 0, "second": 1}
    hits = bank.recall("query", k=2)
    assert [each.memory.text for each in hits] == ["first", "second"]


def test_nu_9_reading_without_reinforcement_counts_nothing(open_bank: OpenBank) -> None:
    bank = popular(open_bank, Policy(), reinforce=False)
    assert [each.recall_count for each in bank.list()] == [0, 0]


def test_nu_9_a_recall_after_the_spacing_counts_once_more(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    id_ = bank.remember("counted", importance=0.5).id
    counts = []
    for minutes in (0, 9, 1, 9, 1):
        clock.advance(minutes=minutes)
        bank.recall("counted")
        counts.append(bank.get(id_).recall_count)
    assert counts == [1, 1, 2, 2, 3]


def test_nu_9_a_context_counts_as_used_what_a_recall_would(open_bank: OpenBank) -> None:
    used = []
    for name in ("recall", "context"):
        bank = open_bank(embedder=TableEmbedder(CROWD), path=":memory:", namespace=name)
        bank.remember_many(["first", "second"])
        if name == "recall":
            bank.recall("query", k=20)
        else:
            assert len(bank.context("query", k=20).ids) == 2
        used.append({each.text: each.recall_count for each in bank.list()})
    assert used[0] == used[1] == {"first": 1, "second": 0}
