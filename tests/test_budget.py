"""One source that nobody vouches for fills its share of an answer, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OpenBank, a_memory
from ebbmem import Draft, MemoryBank, Policy, recall_across
from ebbmem.budget import most_places, over_share, source_of
from ebbmem.candidates import SHORTLIST
from ebbmem.errors import InvalidInput
from ebbmem.records import TRUSTS
from ebbmem.testing import ManualClock

QUESTION = "Where does Ann drink green tea?"
LIE = "Ann drinks green tea in the mill"


def lies(count: int, **changes: Any) -> list[Draft]:
    """Near-duplicates that match the question better than anything else."""
    given = {"trust": "tool", "source": "web", **changes}
    return [Draft(text=f"{LIE}, page {number}", **given) for number in range(count)]


def others(count: int) -> list[Draft]:
    return [Draft(text=f"green tea, cup {number}") for number in range(count)]


def told(bank: MemoryBank, k: int = 5, **options: Any) -> list[str]:
    return [hit.memory.text for hit in bank.recall(QUESTION, k, reinforce=False, **options)]


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


# -- the arithmetic ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "share", "most"),
    [
        (1, 0.5, 1),
        (2, 0.5, 1),
        (5, 0.5, 2),
        (10, 0.5, 5),
        (5, 0.1, 1),
        (100, 0.29, 29),
        (7, 1.0, 7),
    ],
)
def test_a_share_of_the_places_is_whole_and_at_least_one(
    places: int, share: float, most: int
) -> None:
    assert most_places(places, share) == most


def test_what_is_over_the_share_of_its_source_is_told_by_place() -> None:
    sources = ["a", None, "a", "b", "a", None, "b"]
    assert over_share(sources, 1) == [False, False, True, False, True, False, True]
    assert over_share(sources, 2) == [False, False, False, False, True, False, False]


@pytest.mark.parametrize("trust", TRUSTS)
def test_only_what_a_tool_read_has_a_budget(trust: Any) -> None:
    assert (source_of(a_memory(trust=trust)) is not None) == (trust == "tool")


def test_without_a_source_it_is_the_speakers() -> None:
    def key(**given: Any) -> object:
        return source_of(a_memory(trust="tool", **given))

    assert key() == key()
    assert key(speaker="a") != key(speaker="b")
    assert key(source="s", speaker="a") == key(source="s", speaker="b")
    assert key(source="a") != key(speaker="a")


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan"), "0.5", True, None])
def test_a_share_outside_its_range_is_refused(share: Any) -> None:
    with pytest.raises(InvalidInput, match="source_share"):
        Policy(source_share=share)


# -- recall --------------------------------------------------------------------------------------


def test_the_next_ones_move_up(bank: MemoryBank) -> None:
    bank.remember_many([*lies(9), *others(5)])
    assert [text.startswith(LIE) for text in told(bank)] == [True, True, False, False, False]
    assert len(told(bank, 10)) == 10


def test_a_share_of_1_sets_no_limit(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(source_share=1.0))
    bank.remember_many([*lies(9), *others(5)])
    assert all(text.startswith(LIE) for text in told(bank))


@pytest.mark.parametrize("trust", ["user", "assistant", "import"])
def test_what_people_and_models_said_and_files_hold_has_no_limit(
    trust: str, bank: MemoryBank
) -> None:
    bank.remember_many([*lies(9, trust=trust), *others(5)])
    assert all(text.startswith(LIE) for text in told(bank))


def test_two_sources_have_a_share_each(bank: MemoryBank) -> None:
    bank.remember_many([*lies(9), *others(5)])
    bank.remember_many(Draft(text=f"{each.text}!", trust="tool", source="x") for each in lies(9))
    assert sum(text.startswith(LIE) for text in told(bank)) == 4


@pytest.mark.parametrize(
    ("speakers", "filled"), [(["a"], 2), ([None], 2), (["a", "b"], 4), (["a", None], 4)]
)
def test_without_a_source_whoever_said_it_is_one(
    speakers: list[str | None], filled: int, bank: MemoryBank
) -> None:
    bank.remember_many(others(5))
    for each in speakers:
        bank.remember_many(
            Draft(text=f"{LIE}, {number} {each}", trust="tool", speaker=each) for number in range(6)
        )
    assert sum(text.startswith(LIE) for text in told(bank)) == filled


def test_who_asks_for_one_source_gets_it_whole(bank: MemoryBank) -> None:
    bank.remember_many([*lies(9), *others(5)])
    assert len(told(bank, source="web")) == 5


def test_more_than_the_shortlist_holds_crowds_nobody_out(bank: MemoryBank) -> None:
    bank.remember_many([*lies(SHORTLIST + 50), *others(3)])
    assert [text.startswith(LIE) for text in told(bank)] == [True, True, False, False, False]


def test_what_is_left_out_is_not_strengthened(bank: MemoryBank, clock: ManualClock) -> None:
    bank.remember_many(lies(9))
    clock.advance(days=1)
    assert sum(hit.reinforced for hit in bank.recall(QUESTION, 5)) == 2
    assert sum(each.recall_count for each in bank.list()) == 2


def test_it_holds_for_what_the_graph_brings(bank: MemoryBank) -> None:
    [seed] = bank.remember_many([Draft(text=QUESTION)])
    linked = bank.remember_many(
        Draft(text=f"zebra {number}", trust="tool", source="web") for number in range(6)
    )
    for each in linked:
        bank.link(seed.id, each.id)
    assert len(told(bank, 4)) == 3


def test_it_holds_in_a_context(bank: MemoryBank) -> None:
    bank.remember_many([*lies(9), *others(2)])
    block = bank.context(QUESTION, k=6, budget=2000, reinforce=False)
    assert block.trusts.count("tool") == 3
    assert len(block.ids) == 5


def test_beside_a_hit_nothing_stands_that_has_a_budget(bank: MemoryBank) -> None:
    for number, trust in enumerate(("tool", "user", "tool")):
        bank.remember(
            QUESTION if trust == "user" else f"zebra {number}", source="chat", trust=trust
        )
    [hit] = bank.recall(QUESTION, 1, around=1, reinforce=False)
    assert (hit.before, hit.after) == ((), ())


def test_it_holds_across_banks_together(bank: MemoryBank) -> None:
    one, two = bank.at("one"), bank.at("two")
    for each in (one, two):
        each.remember_many([*lies(9), *others(5)])
    found = recall_across([one, two], QUESTION, 6, reinforce=False)
    assert len(found) == 6
    assert sum(hit.memory.trust == "tool" for _, hit in found) == 3


def test_it_is_explained(bank: MemoryBank) -> None:
    kept = bank.remember_many([*lies(9), *others(5)])
    shown = {hit.memory.id for hit in bank.recall(QUESTION, 5, reinforce=False)}
    left = next(each for each in kept if each.trust == "tool" and each.id not in shown)
    why = bank.explain(QUESTION, left.id, 5)
    assert (why.outcome, why.rank) == ("over its share", None)
    assert why.reason == "2 of its source come before it, as many as may be among 5 " + (
        "(source_share 0.5)"
    )
    assert [each.memory.source for each in why.better] == ["web", "web"]
    assert why.recollection is not None
    assert why.recollection.score > 0.0


# -- the law -------------------------------------------------------------------------------------

POOL = ["green", "tea", "ann", "drink", "where", "mill", "zebra", "cup", "does"]
words = st.lists(st.sampled_from(POOL), min_size=1, max_size=5).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(
    attack=st.lists(words, max_size=30),
    own=st.lists(words, max_size=12),
    k=st.integers(1, 8),
    share=st.sampled_from([0.1, 0.3, 0.5, 0.8]),
    embedder=st.sampled_from([None, "hashing"]),
)
def test_whatever_a_source_stores_the_rest_goes_to_others_in_their_order(
    attack: list[str], own: list[str], k: int, share: float, embedder: str | None
) -> None:
    policy = Policy(source_share=share, current_first=False)
    drafts = [Draft(text=f"{each} {n}", id=f"o{n}") for n, each in enumerate(own)]
    drafts += [
        Draft(text=f"{each} {n}", id=f"x{n}", trust="tool", source="web")
        for n, each in enumerate(attack)
    ]
    with MemoryBank.open(
        namespace="u1", embedder=embedder, policy=policy, clock=ManualClock()
    ) as bank:
        bank.remember_many(drafts)
        found = [hit.memory.id for hit in bank.recall(QUESTION, k, reinforce=False)]
        bank.policy = Policy(source_share=1.0, current_first=False)
        free = bank.recall(QUESTION, len(drafts) + 1, reinforce=False)
    every = [hit.memory.id for hit in free if hit.memory.id.startswith("o")]
    shown = [id_ for id_ in found if id_.startswith("o")]
    assert len(found) - len(shown) <= most_places(k, share)
    assert shown == every[: len(shown)]
    assert len(shown) >= min(len(every), k - most_places(k, share))
