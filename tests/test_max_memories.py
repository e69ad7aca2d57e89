"""A cap on the number of memories: the weakest fade, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbmem import Draft, InvalidInput, MemoryBank, Policy
from ebbmem.arena import Arena
from ebbmem.clock import to_micros
from ebbmem.lifecycle import claim, claims
from ebbmem.store import state_of
from ebbmem.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def opened(
    clock: ManualClock, cap: int | None, path: str | Path = ":memory:", **policy
) -> MemoryBank:
    return MemoryBank.open(
        path,
        namespace="alice",
        embedder=None,
        clock=clock,
        policy=Policy(max_memories=cap, **policy),
    )


@pytest.fixture
def bank(clock: ManualClock) -> Iterator[MemoryBank]:
    with opened(clock, 3) as bank:
        yield bank


def texts(bank: MemoryBank) -> list[str]:
    return sorted(each.text for each in bank.list())


def weighted(*importances: float, **fields) -> list[Draft]:
    return [Draft(text=f"number {each}", importance=each, **fields) for each in importances]


# -- what fades ----------------------------------------------------------------------------------


def test_the_least_important_fades_when_one_more_comes(bank: MemoryBank) -> None:
    bank.remember_many(weighted(0.9, 0.75, 0.85))
    bank.remember("number 0.8", importance=0.8)
    assert texts(bank) == ["number 0.8", "number 0.85", "number 0.9"]


def test_what_was_just_said_stays_even_if_it_is_the_weakest(bank: MemoryBank) -> None:
    bank.remember_many(weighted(0.9, 0.8, 0.85))
    bank.remember("number 0.7", importance=0.7)
    assert texts(bank) == ["number 0.7", "number 0.85", "number 0.9"]


def test_a_load_of_memories_takes_no_place_of_what_is_stronger(bank: MemoryBank) -> None:
    bank.remember("before", importance=0.89)
    bank.remember_many(weighted(0.71, 0.9, 0.72, 0.88, 0.86))
    assert texts(bank) == ["before", "number 0.88", "number 0.9"]


def test_what_is_pinned_counts_and_never_fades(bank: MemoryBank) -> None:
    bank.remember_many(weighted(0.7, 0.71, pinned=True))
    bank.remember("number 0.9", importance=0.9)
    bank.remember("number 0.8", importance=0.8)
    assert texts(bank) == ["number 0.7", "number 0.71", "number 0.8"]


def test_more_pinned_than_places_leaves_room_for_none_but_them(bank: MemoryBank) -> None:
    bank.remember_many(weighted(0.7, 0.71, 0.72, 0.73, pinned=True))
    bank.remember_many(weighted(0.9))
    bank.prune()
    assert texts(bank) == ["number 0.7", "number 0.71", "number 0.72", "number 0.73"]


def test_a_use_outweighs_what_content_says(bank: MemoryBank, clock: ManualClock) -> None:
    used = bank.remember("number 0.72", importance=0.72)
    bank.remember_many(weighted(0.8, 0.81))
    clock.advance(days=1)
    bank.reinforce(used.id)
    bank.remember("one more", importance=0.9)
    assert texts(bank) == ["number 0.72", "number 0.81", "one more"]


def test_of_equally_important_ones_the_oldest_fades(bank: MemoryBank, clock: ManualClock) -> None:
    for text in ("first", "second", "third", "fourth"):
        bank.remember(text, importance=0.8)
        clock.advance(days=1)
    assert texts(bank) == ["fourth", "second", "third"]


def test_what_time_has_hidden_goes_first(bank: MemoryBank, clock: ManualClock) -> None:
    # 0.9 fades after ln(0.9 / 0.05) / (0.16 * (1 - 0.8 * 0.9)) = 64.5 days
    long_ago = clock() - timedelta(days=65)
    bank.remember_many([Draft(text="old", importance=0.9, at=long_ago), *weighted(0.7, 0.71)])
    bank.remember("number 0.72", importance=0.72)
    assert texts(bank) == ["number 0.7", "number 0.71", "number 0.72"]


def test_what_was_superseded_goes_first(bank: MemoryBank) -> None:
    old = bank.remember("lives in Rome", importance=0.9)
    bank.remember("lives in Oslo", importance=0.7, supersedes=[old.id])
    bank.remember_many(weighted(0.71))
    bank.remember("number 0.72", importance=0.72)
    assert {each.text for each in bank.list()} == {"lives in Oslo", "number 0.71", "number 0.72"}


def test_a_twentieth_of_the_places_is_for_what_is_recent(clock: ManualClock) -> None:
    with opened(clock, 40) as bank:
        bank.remember_many([Draft(text=f"fact {each}", importance=0.9) for each in range(40)])
        for number in range(6):
            clock.advance(hours=1)
            bank.remember(f"chat {number}", importance=0.7)
        # two of 40 places, besides the one that was just said
        assert [text for text in texts(bank) if "chat" in text] == ["chat 4", "chat 5"]


# -- the claim -----------------------------------------------------------------------------------


def test_a_claim_is_the_chance_of_being_asked_for_times_the_root_of_strength() -> None:
    # 0.5 * 0.8, (0.5 + 1) / 2 * 0.8, (0.5 + 3) / 4 * 0.8
    assert claims([0.64] * 3, [0.5] * 3, [0, 1, 3]).tolist() == pytest.approx([0.4, 0.6, 0.7])


@settings(max_examples=60, deadline=None)
@given(
    importances=st.lists(st.floats(0.1, 1.0), min_size=1, max_size=8),
    category=st.sampled_from(["fact", "failure", "strategy"]),
    days=st.floats(0.0, 5.0),
)
def test_a_snapshot_ranks_by_the_claims_of_the_single_states(
    importances: list[float], category: str, days: float
) -> None:
    clock = ManualClock()
    with opened(clock, None, fade_below=1e-6) as bank:
        drafts = [
            Draft(text=f"text {at}", importance=each, category=category)
            for at, each in enumerate(importances)
        ]
        kept = {each.id: state_of(each) for each in bank.remember_many(drafts)}
        clock.advance(days=days)
        now = to_micros(clock())
        arena = Arena(bank._store, bank.namespace)
        arena.catch_up()
        ranked = arena.snapshot().weakest(now, bank.policy, len(kept))
    alone = {id_: claim(each, now, bank.policy, ()) for id_, each in kept.items()}
    assert dict(ranked) == pytest.approx(alone, abs=1e-12)
    assert all(a[1] <= b[1] for a, b in pairwise(ranked))


# -- how many ------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    cap=st.integers(1, 12),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    importances=st.lists(st.floats(0.7, 0.9), min_size=54, max_size=54),
)
def test_there_are_never_more_than_the_cap_and_no_fewer_than_need_be(
    cap: int, sizes: list[int], importances: list[float]
) -> None:
    weights, said = iter(importances), 0
    with opened(ManualClock(), cap) as bank:
        for size in sizes:
            batch = [Draft(text=f"text {said + n}", importance=next(weights)) for n in range(size)]
            bank.remember_many(batch)
            said += size
            assert len(bank.list()) == min(cap, said)
            assert len(bank.list(include_faded=True)) == said


def test_a_large_store_makes_room_for_a_hundredth_at_once(clock: ManualClock) -> None:
    with opened(clock, 200) as bank:
        bank.remember_many([Draft(text=f"text {each}") for each in range(200)])
        counts = []
        for number in range(4):
            bank.remember(f"more {number}")
            counts.append(len(bank.list()))
    assert counts == [198, 199, 200, 198]


def test_without_a_cap_nothing_fades(clock: ManualClock) -> None:
    with opened(clock, None) as bank:
        bank.remember_many([Draft(text=f"text {each}") for each in range(300)])
        assert (bank.prune().faded, len(bank.list())) == ((), 300)


def test_the_cap_is_that_of_one_namespace(bank: MemoryBank) -> None:
    beside = bank.at("bob")
    bank.remember_many(weighted(0.7, 0.8, 0.9))
    beside.remember_many(weighted(0.7, 0.8, 0.9))
    assert (len(bank.list()), len(beside.list())) == (3, 3)


# -- what becomes of it --------------------------------------------------------------------------


def test_what_fell_out_is_hidden_and_restorable(bank: MemoryBank) -> None:
    [weak, *_] = bank.remember_many(weighted(0.7, 0.8, 0.9))
    bank.remember("one more", importance=0.85)
    assert bank.get(weak.id, include_faded=True).status == "faded"
    assert [each.id for each in bank.restore(weak.id)] == [weak.id]
    assert bank.get(weak.id).status == "active"


def test_the_audit_trail_says_what_faded(bank: MemoryBank, clock: ManualClock) -> None:
    [weak, *_] = bank.remember_many(weighted(0.7, 0.8, 0.9))
    bank.remember("one more", importance=0.85)
    assert [(each.at, each.action, each.id) for each in bank.audit()] == [
        (clock(), "fade", weak.id)
    ]


def test_what_fell_out_is_let_go_after_a_month(bank: MemoryBank, clock: ManualClock) -> None:
    [weak, *_] = bank.remember_many(weighted(0.7, 0.8, 0.9))
    bank.remember("one more", importance=0.85)
    clock.advance(days=30)
    assert bank.prune().erased == (weak.id,)


def test_on_fade_erase_lets_go_at_once_but_not_of_what_is_held(clock: ManualClock) -> None:
    with opened(clock, 2, on_fade="erase") as bank:
        held, plain = bank.remember_many(weighted(0.7, 0.75))
        bank.hold(held.id)
        bank.remember_many(weighted(0.8, 0.9))
        assert [each.text for each in bank.list(include_faded=True)] == [
            "number 0.7",
            "number 0.8",
            "number 0.9",
        ]
        assert [each.action for each in bank.audit()] == ["hold", "fade", "fade", "purge"]
        assert plain.id in {each.id for each in bank.audit() if each.action == "purge"}


def test_what_just_fell_out_comes_back_when_it_is_said_again(bank: MemoryBank) -> None:
    bank.remember_many(weighted(0.7, 0.8, 0.9))
    bank.remember("one more", importance=0.85)
    bank.remember("number 0.7", importance=0.7)
    assert texts(bank) == ["number 0.7", "number 0.9", "one more"]


# -- the pass ------------------------------------------------------------------------------------


def test_a_smaller_cap_holds_from_the_next_pass_on(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "memory.db"
    with opened(clock, None, path) as bank:
        bank.remember_many(weighted(0.7, 0.75, 0.8, 0.85, 0.9))
    with opened(clock, 2, path) as bank:
        planned = bank.prune(dry_run=True)
        assert len(bank.list()) == 5
        done = bank.prune()
        assert (done.faded, planned.dry_run) == (planned.faded, True)
        assert texts(bank) == ["number 0.85", "number 0.9"]


def test_a_dry_run_counts_what_is_due_and_what_is_over_once(clock: ManualClock) -> None:
    # 0.7 fades after ln(14) / (0.16 * 0.44) = 37.5 days, 0.85 after 55.3, 0.9 after 64.5
    with opened(clock, None) as bank:
        due, weak, _ = bank.remember_many(weighted(0.7, 0.85, 0.9))
        clock.advance(days=40)
        capped = bank.at("alice", policy=Policy(max_memories=1, prune_every=timedelta(days=99)))
        assert capped.prune(dry_run=True).faded == (due.id, weak.id)
        assert capped.prune().faded == (due.id, weak.id)


def test_a_bank_that_leaves_the_pass_to_its_user_leaves_the_cap_too(clock: ManualClock) -> None:
    with MemoryBank.open(
        namespace="a",
        embedder=None,
        clock=clock,
        policy=Policy(max_memories=2),
        maintain=False,
    ) as bank:
        bank.remember_many(weighted(0.7, 0.8, 0.9))
        assert len(bank.list()) == 3
        bank.prune()
        assert len(bank.list()) == 2


def test_one_that_another_process_used_meanwhile_stays(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "memory.db"
    with opened(clock, 3, path) as mine, opened(clock, 3, path) as theirs:
        [weak, *_] = mine.remember_many(weighted(0.7, 0.8, 0.9))
        clock.advance(days=1)
        theirs.reinforce(weak.id)
        mine.remember("one more", importance=0.85)
        assert texts(mine) == ["number 0.7", "number 0.9", "one more"]


def test_an_import_is_held_to_the_cap(tmp_path: Path, clock: ManualClock) -> None:
    file = tmp_path / "all.jsonl"
    with opened(clock, None) as bank:
        bank.remember_many(weighted(0.7, 0.75, 0.8, 0.85, 0.9))
        bank.export_jsonl(file)
    with opened(clock, 2) as bank:
        bank.import_file(file)
        assert texts(bank) == ["number 0.85", "number 0.9"]


# -- the number ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "9", 2**31])
def test_a_cap_is_a_whole_number_of_one_or_more(value: object) -> None:
    with pytest.raises(InvalidInput, match="max_memories"):
        Policy(max_memories=value)  # type: ignore[arg-type]


def test_a_cap_is_kept_with_the_namespace(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "memory.db"
    with opened(clock, 7, path) as bank:
        bank.remember("something")
    with MemoryBank.open(path, namespace="alice", embedder=None, clock=clock) as bank:
        assert bank.policy.max_memories == 7
    assert Policy.from_json(Policy(max_memories=7).to_json()).max_memories == 7
    assert Policy.from_json(Policy().to_json()).max_memories is None
