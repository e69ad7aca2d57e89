"""How the state of a memory changes: each transition is a value in and a value out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem import lifecycle
from ebbmem.clock import DAY, NEVER
from ebbmem.decay import EbbinghausDecay, PowerDecay
from ebbmem.policy import Policy
from ebbmem.store import State

T0 = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
TODAY = T0 // DAY
MINUTE = 60_000_000
WALL, ACTIVE = Policy(), Policy.chat()

relaxed = settings(deadline=None, max_examples=100)
states = st.builds(
    State,
    id=st.just("m"),
    category=st.sampled_from(sorted(WALL.categories)),
    importance=st.floats(0.0, 1.0, allow_subnormal=False),
    created_at=st.integers(T0, T0 + 100 * DAY),
    last_reinforced_at=st.none() | st.integers(T0, T0 + 100 * DAY),
    recall_count=st.integers(0, 100),
)
policies = st.builds(
    Policy,
    curve=st.sampled_from([EbbinghausDecay(), PowerDecay()]),
    timeline=st.sampled_from(["wall", "active"]),
    fade_below=st.floats(0.01, 0.3),
)
days_of_use = st.lists(st.integers(TODAY, TODAY + 400), unique=True, max_size=60).map(sorted)


def state(**changes: object) -> State:
    made = State(id="m", category="fact", importance=0.5, created_at=T0)
    return lifecycle.with_deadline(replace(made, **changes), WALL)  # type: ignore[arg-type]


# -- elapsed time --------------------------------------------------------------------------------


def test_elapsed_days_are_fractions() -> None:
    assert float(lifecycle.elapsed_days(T0, T0 + DAY // 4, WALL, ())) == 0.25


def test_a_start_in_the_future_has_not_begun_to_elapse() -> None:
    assert float(lifecycle.elapsed_days(T0 + DAY, T0, WALL, ())) == 0.0


def test_the_clock_of_a_memory_starts_at_the_later_of_creation_and_last_use() -> None:
    assert state().clock_start == T0
    assert state(last_reinforced_at=T0 + DAY).clock_start == T0 + DAY
    assert state(last_reinforced_at=T0 - DAY).clock_start == T0


def test_days_of_use_after_the_day_of_the_start_count_and_others_do_not() -> None:
    days = [TODAY - 3, TODAY, TODAY + 2, TODAY + 5]
    noon = T0 + DAY // 2
    assert float(lifecycle.elapsed_days(noon, T0 + 2 * DAY - 1, ACTIVE, days)) == 0.0
    assert float(lifecycle.elapsed_days(noon, T0 + 3 * DAY, ACTIVE, days)) == 1.0
    assert float(lifecycle.elapsed_days(noon, T0 + 90 * DAY, ACTIVE, days)) == 2.0


def test_a_day_of_use_counts_for_no_more_than_has_passed() -> None:
    late = T0 + DAY - DAY // 24  # an hour before midnight
    after = T0 + DAY + DAY // 24  # two hours later, on the next day of use
    found = float(lifecycle.elapsed_days(late, after, ACTIVE, [TODAY, TODAY + 1]))
    assert found == pytest.approx(2 / 24)


@relaxed
@given(st.integers(T0, T0 + 300 * DAY), st.integers(T0, T0 + 300 * DAY), days_of_use)
def test_days_of_use_never_count_more_than_the_calendar(
    start: int, now: int, days: list[int]
) -> None:
    used = float(lifecycle.elapsed_days(start, now, ACTIVE, days))
    assert 0.0 <= used <= float(lifecycle.elapsed_days(start, now, WALL, days))


# -- the deadline --------------------------------------------------------------------------------


def test_the_deadline_of_a_fact_is_the_published_number_of_seconds() -> None:
    # ln 10 / 0.096 days = 2 072 326.58... seconds
    deadline = lifecycle.fades_at(state(), WALL)
    assert deadline is not None
    assert (deadline - T0) // 1_000_000 == 2_072_326
    assert lifecycle.passed(state(), T0 + 2_072_326_000_000, WALL, ()).status == "active"
    assert lifecycle.passed(state(), T0 + 2_072_327_000_000, WALL, ()).status == "faded"


@relaxed
@given(states, policies)
def test_a_memory_is_alive_just_before_its_deadline_and_not_after(
    alive: State, policy: Policy
) -> None:
    wall = replace(policy, timeline="wall")
    deadline = lifecycle.fades_at(alive, wall)
    assert deadline is not None
    if deadline == NEVER:  # a power curve may outlast the calendar
        return
    after = lifecycle.strength(alive, deadline + MINUTE, wall, ())
    assert after <= wall.fade_below
    if deadline > alive.clock_start + MINUTE:
        assert lifecycle.strength(alive, deadline - MINUTE, wall, ()) > wall.fade_below


@relaxed
@given(states, policies, days_of_use, st.integers(0, 400 * DAY))
def test_nothing_fades_before_its_stored_deadline(
    alive: State, policy: Policy, days: list[int], later: int
) -> None:
    due = lifecycle.with_deadline(alive, policy)
    now = due.clock_start + later
    assert due.fades_at is not None
    if now < due.fades_at - 1:
        assert lifecycle.strength(due, now, policy, days) >= policy.fade_below * (1 - 1e-9)


def test_pinned_and_faded_memories_have_no_deadline() -> None:
    assert state(pinned=True).fades_at is None
    assert lifecycle.faded(state(), T0).fades_at is None


# -- transitions ---------------------------------------------------------------------------------


def test_a_reinforcement_sets_the_clock_back_and_adds_one() -> None:
    used = lifecycle.reinforced(state(), T0 + DAY, WALL)
    assert (used.last_reinforced_at, used.recall_count) == (T0 + DAY, 1)
    assert used.fades_at == lifecycle.fades_at(used, WALL)
    assert lifecycle.strength(used, T0 + DAY, WALL, ()) == pytest.approx(0.6)


def test_a_second_reinforcement_within_the_spacing_changes_nothing() -> None:
    once = lifecycle.reinforced(state(), T0 + DAY, WALL)
    assert lifecycle.reinforced(once, T0 + DAY + 10 * MINUTE - 1, WALL) is once
    assert lifecycle.reinforced(once, T0 + DAY + 10 * MINUTE, WALL).recall_count == 2


def test_without_spacing_every_reinforcement_counts() -> None:
    policy = replace(WALL, spacing=timedelta(0))
    once = lifecycle.reinforced(state(), T0, policy)
    assert lifecycle.reinforced(once, T0, policy).recall_count == 2


def test_without_spacing_a_use_counts_though_a_later_one_was_written_before_it() -> None:
    policy = replace(WALL, spacing=timedelta(0))
    later = lifecycle.reinforced(state(), T0 + 2, policy)
    both = lifecycle.reinforced(later, T0 + 1, policy)
    assert (both.recall_count, both.last_reinforced_at) == (2, T0 + 2)
    assert lifecycle.said_again(state(created_at=T0 + 2), T0 + 1, policy).recall_count == 1


def test_a_clock_that_was_set_back_does_not_turn_back_the_last_use() -> None:
    policy = replace(WALL, spacing=timedelta(0))
    used = lifecycle.reinforced(state(), T0 + DAY, policy)
    assert lifecycle.reinforced(used, T0, policy).last_reinforced_at == T0 + DAY


def test_what_has_faded_cannot_be_reinforced() -> None:
    gone = lifecycle.faded(state(), T0)
    assert lifecycle.reinforced(gone, T0 + DAY, WALL) is gone


def test_saying_it_again_at_once_is_a_retry_and_changes_nothing() -> None:
    assert lifecycle.said_again(state(), T0 + 10 * MINUTE - 1, WALL) == state()


def test_saying_it_again_later_reinforces() -> None:
    assert lifecycle.said_again(state(), T0 + 10 * MINUTE, WALL).recall_count == 1


def test_saying_it_again_revives_what_had_faded() -> None:
    again = lifecycle.said_again(lifecycle.faded(state(), T0 + 30 * DAY), T0 + 31 * DAY, WALL)
    assert again.status == "active"
    assert again.faded_at is None
    assert again.clock_start == T0 + 31 * DAY
    assert again.fades_at is not None


def test_the_pass_leaves_pinned_memories_alone() -> None:
    kept = state(pinned=True)
    assert lifecycle.passed(kept, T0 + 1000 * DAY, WALL, ()) is kept


def test_the_pass_puts_off_what_is_alive_on_days_of_use() -> None:
    deadline = lifecycle.fades_at(state(), WALL)
    assert deadline is not None
    later = lifecycle.passed(state(), deadline + DAY, ACTIVE, [TODAY])
    assert later.status == "active"
    assert later.fades_at is not None
    assert later.fades_at > deadline + DAY


@relaxed
@given(states, days_of_use, st.integers(0, 400), st.integers(1, 400))
def test_nothing_is_put_off_beyond_the_day_on_which_it_fades(
    alive: State, days: list[int], first: int, more: int
) -> None:
    """Whatever days of use follow, strength is not under the threshold before `fades_at`."""
    now = max(T0 + first * DAY, alive.clock_start)
    known = [day for day in days if day <= now // DAY]
    later = lifecycle.passed(lifecycle.with_deadline(alive, ACTIVE), now, ACTIVE, known)
    if later.status != "active":
        return
    assert later.fades_at is not None
    every_day = sorted({*known, *range(now // DAY + 1, now // DAY + 800)})
    before = min(later.fades_at - 1, now + more * DAY)
    assert lifecycle.strength(later, before, ACTIVE, every_day) >= 0.05 * (1 - 1e-9)


def test_fading_twice_keeps_the_first_time() -> None:
    gone = lifecycle.faded(state(), T0)
    assert lifecycle.faded(gone, T0 + DAY) is gone


def test_forgetting_takes_the_pin_away() -> None:
    gone = lifecycle.forgotten(state(pinned=True), T0)
    assert (gone.status, gone.pinned, gone.faded_at) == ("faded", False, T0)


def test_restoring_starts_the_clock_again_and_keeps_the_count() -> None:
    gone = lifecycle.faded(state(recall_count=3), T0 + DAY)
    back = lifecycle.restored(gone, T0 + 5 * DAY, WALL)
    assert (back.status, back.recall_count, back.clock_start) == ("active", 3, T0 + 5 * DAY)
    assert lifecycle.restored(back, T0 + 9 * DAY, WALL) is back


def test_unpinned_memories_fade_from_where_the_clock_stands() -> None:
    pinned = lifecycle.pinned(state(), WALL, on=True)
    assert pinned.fades_at is None
    assert lifecycle.pinned(pinned, WALL, on=False) == state()
