"""An end that is set: from that instant on nothing shows the memory, pinned or not."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, OpenBank
from ebbmem import (
    Draft,
    InvalidInput,
    MemoryBank,
    NotFound,
    Policy,
    PowerDecay,
    StoreError,
    lifecycle,
)
from ebbmem.clock import DAY, to_micros
from ebbmem.decay import EbbinghausDecay
from ebbmem.store import State
from ebbmem.testing import ManualClock

END = AT + timedelta(hours=6)
MOMENT = timedelta(microseconds=1)
NEVER = timedelta(days=36_500)
T0 = to_micros(AT)


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    """Holds `m1`, which ends six hours after T0; runs no pass by itself."""
    made = open_bank(maintain=False)
    made.remember("the lighthouse", id="m1", importance=0.5, expires_at=END)
    return made


def shown(bank: MemoryBank) -> set[str]:
    """What any way of looking shows; all of them agree."""
    listed = {each.id for each in bank.list()}
    hits = {hit.memory.id for hit in bank.recall("lighthouse", 9, reinforce=False)}
    assert hits == listed
    assert set(bank.context("lighthouse", reinforce=False).ids) == listed
    assert bank.stats().active == len(listed)
    for each in bank.list(include_faded=True):
        if each.id in listed:
            assert bank.get(each.id) == each
        else:
            with pytest.raises(NotFound):
                bank.get(each.id)
    return listed


# -- at the instant ------------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [False, True])
def test_it_is_shown_to_the_last_microsecond_and_hidden_at_the_instant(
    bank: MemoryBank, clock: ManualClock, pinned: bool
) -> None:
    if pinned:
        bank.pin("m1")
    clock.set(END - MOMENT)
    assert shown(bank) == {"m1"}
    clock.set(END)
    assert shown(bank) == set()
    clock.set(END + timedelta(days=400))
    assert shown(bank) == set()


def test_what_has_ended_is_shown_to_who_asks_for_it(bank: MemoryBank, clock: ManualClock) -> None:
    clock.set(END)
    assert [each.id for each in bank.list(include_faded=True)] == ["m1"]
    assert bank.get("m1", include_faded=True).expires_at == END
    assert [hit.memory.id for hit in bank.recall("lighthouse", include_faded=True)] == ["m1"]


def test_what_has_ended_counts_no_use_and_cannot_be_forgotten(
    bank: MemoryBank, clock: ManualClock
) -> None:
    clock.set(END)
    with pytest.raises(NotFound):
        bank.forget("m1")
    assert bank.reinforce("m1") == []
    assert bank.get("m1", include_faded=True).recall_count == 0


def test_explaining_says_that_it_is_hidden(bank: MemoryBank, clock: ManualClock) -> None:
    clock.set(END)
    assert bank.explain("lighthouse", "m1").outcome == "faded"


def test_an_end_in_another_zone_is_the_same_instant(open_bank: OpenBank) -> None:
    bank = open_bank()
    there = END.astimezone(timezone(timedelta(hours=9)))
    kept = bank.remember("tea", expires_at=there)
    assert kept.expires_at == END
    assert kept.expires_at.tzinfo == UTC


def test_what_is_over_when_it_is_told_is_never_shown(open_bank: OpenBank) -> None:
    bank = open_bank()
    kept = bank.remember("the lighthouse", expires_at=AT)
    assert kept.status == "active"
    assert shown(bank) == set()


def test_strength_fades_it_before_its_end_all_the_same(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    kept = bank.remember(
        "the lighthouse", category="failure", importance=0.5, expires_at=AT + timedelta(days=99)
    )
    # 0.35 / day * (1 - 0.8 * 0.5) = 0.21; ln(0.5 / 0.05) / 0.21 = 10.9647 days
    assert kept.fades_at is not None
    assert (kept.fades_at - AT) / timedelta(days=1) == pytest.approx(10.96469, abs=1e-5)
    clock.advance(days=11)
    assert shown(bank) == set()


# -- set by somebody else meanwhile --------------------------------------------------------------


@pytest.mark.parametrize("other", [None, END + MOMENT])
def test_an_end_that_was_set_anew_since_the_record_was_read_stays(
    open_bank: OpenBank, other: datetime | None
) -> None:
    bank = open_bank()
    read = bank.remember("the lighthouse", id="m1", expires_at=END)
    same = bank.remember("the windmill", id="m2", expires_at=END)
    bank.expire("m1", other)
    later = END + timedelta(days=9)
    moved = bank.expire(["m1", "m2"], later, seen=[read, same])
    assert [each.expires_at for each in bank.list()] == [other, later]
    assert [each.id for each in moved] == ["m2"]


def test_an_end_is_set_where_nothing_is_said_to_have_been_seen(open_bank: OpenBank) -> None:
    bank = open_bank()
    other = bank.remember("the windmill", id="m2", expires_at=END)
    bank.remember("the lighthouse", id="m1", expires_at=END)
    bank.expire("m1", END + MOMENT, seen=[other])
    assert bank.get("m1").expires_at == END + MOMENT


@pytest.mark.parametrize("seen", ["m1", ["m1"], None, 7])
def test_what_was_seen_must_be_memories(open_bank: OpenBank, seen: Any) -> None:
    bank = open_bank()
    bank.remember("the lighthouse", id="m1", expires_at=END)
    with pytest.raises(InvalidInput, match="seen must be memories"):
        bank.expire("m1", None, seen=seen)
    assert bank.get("m1").expires_at == END


# -- the pass ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("policy", [Policy(), Policy.chat()])
def test_the_pass_hides_it_when_it_is_due_and_not_before(
    open_bank: OpenBank, clock: ManualClock, policy: Policy, pinned: bool
) -> None:
    bank = open_bank(policy=policy)
    bank.remember("the lighthouse", id="m1", expires_at=END, pinned=pinned)
    clock.set(END - MOMENT)
    assert bank.prune().faded == ()
    clock.set(END)
    assert bank.prune(dry_run=True).faded == ("m1",)
    assert bank.prune().faded == ("m1",)
    kept = bank.get("m1", include_faded=True)
    assert (kept.status, kept.faded_at, kept.fades_at) == ("faded", END, None)
    assert [(line.action, line.id) for line in bank.audit()] == [("fade", "m1")]


def test_on_days_of_use_it_ends_though_nobody_used_any(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy.chat(), maintain=False)
    end = AT + timedelta(days=200)
    bank.remember("the lighthouse", id="m1", category="failure", importance=0.5, expires_at=end)
    clock.set(end - MOMENT)
    assert bank.prune().faded == ()  # weak by the calendar, and put off by the pass
    assert bank.get("m1").fades_at == end
    assert shown(bank) == {"m1"}
    clock.set(end)
    assert shown(bank) == set()
    assert bank.prune().faded == ("m1",)


def test_what_ended_is_purged_after_its_time_as_if_it_had_faded(
    bank: MemoryBank, clock: ManualClock
) -> None:
    clock.set(END)
    bank.prune()
    clock.advance(days=29)
    assert bank.prune().erased == ()
    clock.advance(days=1)
    assert bank.prune().erased == ("m1",)


def test_what_is_to_be_erased_when_it_fades_is_erased_at_its_end(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(on_fade="erase"))
    bank.remember("the lighthouse", id="m1", expires_at=END, pinned=True)
    clock.set(END)
    assert bank.prune().erased == ("m1",)


def test_what_is_held_outlives_its_end_hidden(bank: MemoryBank, clock: ManualClock) -> None:
    bank.hold("m1")
    clock.set(END)
    bank.prune()
    clock.advance(days=400)
    assert bank.prune().erased == ()
    assert shown(bank) == set()
    assert bank.get("m1", include_faded=True).held


def test_a_pass_that_fails_leaves_it_hidden_and_the_next_one_ends_it(
    bank: MemoryBank, file: Path, clock: ManualClock
) -> None:
    clock.set(END)
    with bank._store.connection.write() as db:  # type: ignore[attr-defined]
        db.execute(
            "CREATE TEMP TRIGGER broken AFTER UPDATE ON main.state "
            "BEGIN SELECT RAISE(ABORT, 'injected'); END"
        )
    with pytest.raises(StoreError):
        bank.prune()
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT status FROM state").fetchall() == [("active",)]
    assert shown(bank) == set()
    with bank._store.connection.write() as db:  # type: ignore[attr-defined]
        db.execute("DROP TRIGGER broken")
    assert bank.prune().faded == ("m1",)


def test_erasing_leaves_no_end_behind(bank: MemoryBank, file: Path) -> None:
    bank.erase("m1")
    with closing(sqlite3.connect(file)) as other:
        rows = other.execute("SELECT status, expires_at, fades_at FROM state").fetchall()
    assert rows == [("gone", None, None)]


def test_a_new_policy_keeps_the_end(open_bank: OpenBank, bank: MemoryBank) -> None:
    other = open_bank(policy=Policy(fade_below=0.01))
    assert (other.get("m1").fades_at, other.get("m1").expires_at) == (END, END)


# -- back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("passed", [False, True])
@pytest.mark.parametrize("call", ["restore", "pin"])
def test_bringing_it_back_takes_the_end_that_has_come_away(
    bank: MemoryBank, clock: ManualClock, call: str, passed: bool
) -> None:
    clock.set(END)
    if passed:
        bank.prune()
    [back] = getattr(bank, call)("m1")
    assert (back.status, back.expires_at) == ("active", None)
    assert back.last_reinforced_at == END
    clock.advance(days=10)
    assert shown(bank) == {"m1"}


def test_bringing_back_what_was_forgotten_keeps_the_end_to_come(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.forget("m1")
    [back] = bank.restore("m1")
    assert (back.expires_at, back.fades_at) == (END, END)
    clock.set(END)
    assert shown(bank) == set()


def test_saying_it_again_takes_the_end_that_has_come_away(
    bank: MemoryBank, clock: ManualClock
) -> None:
    clock.set(END)
    assert bank.remember("the lighthouse").expires_at is None
    assert shown(bank) == {"m1"}


def test_a_use_does_not_move_the_end(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(hours=3)
    [used] = bank.reinforce("m1")
    assert (used.expires_at, used.fades_at) == (END, END)


def test_an_edit_does_not_move_the_end(bank: MemoryBank) -> None:
    edited = bank.update("m1", text="the windmill", importance=1.0)
    assert (edited.expires_at, edited.fades_at) == (END, END)


def test_a_clock_that_goes_back_brings_back_only_what_no_pass_has_seen(
    bank: MemoryBank, clock: ManualClock
) -> None:
    clock.set(END)
    assert shown(bank) == set()
    clock.set(END - MOMENT)
    assert shown(bank) == {"m1"}
    clock.set(END)
    bank.prune()
    clock.set(END - MOMENT)
    assert shown(bank) == set()
    [back] = bank.restore("m1")
    assert back.expires_at == END  # it has not come yet
    clock.set(END)
    assert shown(bank) == set()


# -- moving it -----------------------------------------------------------------------------------


def test_the_end_may_be_set_later_and_sooner_and_taken_back(
    bank: MemoryBank, clock: ManualClock
) -> None:
    later, sooner = END + timedelta(days=1), AT + timedelta(hours=1)
    for end in (later, sooner):
        [moved] = bank.expire("m1", end)
        assert (moved.expires_at, moved.fades_at) == (end, end)
    [free] = bank.expire("m1", None)
    assert free.expires_at is None
    # 0.16 / day * (1 - 0.8 * 0.5) = 0.096; ln(0.5 / 0.05) / 0.096 = 23.98526 days
    assert free.fades_at is not None
    assert (free.fades_at - AT) / timedelta(days=1) == pytest.approx(23.98526, abs=1e-5)
    clock.set(later)
    assert shown(bank) == {"m1"}


def test_setting_the_end_it_has_is_no_change(bank: MemoryBank) -> None:
    assert bank.expire("m1", END) == []


def test_an_end_in_the_past_hides_it_at_once(bank: MemoryBank) -> None:
    bank.expire("m1", AT - timedelta(days=1))
    assert shown(bank) == set()
    assert bank.prune().faded == ("m1",)


@pytest.mark.parametrize("passed", [False, True])
def test_moving_the_end_of_what_has_ended_does_not_bring_it_back(
    bank: MemoryBank, clock: ManualClock, passed: bool
) -> None:
    clock.set(END)
    if passed:
        bank.prune()
    bank.expire("m1", END + timedelta(days=1))
    assert shown(bank) == set()
    assert bank.restore("m1")[0].expires_at == END + timedelta(days=1)
    assert shown(bank) == {"m1"}


@pytest.mark.parametrize("end", [datetime(2026, 1, 1), "2026-01-01", 0, timedelta(days=1)])
def test_an_end_that_is_no_time_is_refused(bank: MemoryBank, end: Any) -> None:
    with pytest.raises(InvalidInput, match="at must"):
        bank.expire("m1", end)
    with pytest.raises(InvalidInput, match="expires_at must"):
        bank.remember("tea", expires_at=end)
    assert [each.expires_at for each in bank.list()] == [END]


def test_an_unknown_id_stops_the_rest(bank: MemoryBank) -> None:
    with pytest.raises(NotFound):
        bank.expire(["m1", "none"], None)
    assert bank.get("m1").expires_at == END


# -- what is to come -----------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [False, True])
def test_the_forecast_names_it_at_its_end_to_the_microsecond(
    open_bank: OpenBank, pinned: bool
) -> None:
    bank = open_bank()
    ends = [AT + timedelta(microseconds=8_641_975_307 * n) for n in range(1, 40)]
    bank.remember_many(
        Draft(text=f"word{n}", expires_at=end, pinned=pinned, importance=1.0)
        for n, end in enumerate(ends)
    )
    told = bank.forecast(30)
    assert [each.fades_at for each in told] == ends
    assert {each.strength for each in told} == {1.0}


def test_the_forecast_leaves_out_what_ends_later_or_has_ended(
    bank: MemoryBank, clock: ManualClock
) -> None:
    assert [each.memory.id for each in bank.forecast(0.25)] == ["m1"]
    assert bank.forecast(0.249) == []
    assert bank.stats().fading_week == 1
    clock.set(END)
    assert bank.forecast(99) == []


def test_what_has_ended_does_not_inhabit_its_namespace(
    bank: MemoryBank, clock: ManualClock
) -> None:
    assert bank.inhabited() == [("u1",)]
    clock.set(END)
    assert bank.inhabited() == []


# -- out and in ----------------------------------------------------------------------------------


def test_an_end_goes_out_and_comes_in(bank: MemoryBank, clock: ManualClock) -> None:
    out = io.StringIO()
    bank.export_jsonl(out)
    other = bank.at("u2")
    other.import_file(io.StringIO(out.getvalue()))
    assert other.list() == bank.list()
    clock.set(END)
    assert shown(other) == set()


# -- whatever the policy -------------------------------------------------------------------------

instants = st.integers(-50 * DAY, 50 * DAY).map(lambda n: T0 + n)
policies = st.builds(
    Policy,
    timeline=st.sampled_from(["wall", "active"]),
    curve=st.sampled_from([EbbinghausDecay(), PowerDecay()]),
    fade_below=st.sampled_from([1e-6, 0.05, 0.9]),
    ranking=st.sampled_from(["bonus", "product"]),
    prune_every=st.just(NEVER),
)
states = st.builds(
    State,
    id=st.just("m1"),
    category=st.sampled_from(["fact", "failure"]),
    importance=st.floats(0, 1),
    created_at=instants,
    last_reinforced_at=st.none() | instants,
    recall_count=st.integers(0, 9),
    pinned=st.booleans(),
    expires_at=instants,
)
day_sets = st.sets(st.integers(-60, 60).map(lambda n: T0 // DAY + n), max_size=30).map(sorted)


@given(state=states, policy=policies, days=day_sets, now=instants)
def test_the_deadline_of_what_is_active_is_never_behind_its_end(
    state: State, policy: Policy, days: list[int], now: int
) -> None:
    end = state.expires_at
    assert end is not None
    for made in (
        lifecycle.with_deadline(state, policy),
        lifecycle.passed(lifecycle.with_deadline(state, policy), now, policy, days),
        lifecycle.reinforced(state, now, policy),
        lifecycle.pinned(state, policy, on=True),
    ):
        if made is state:
            continue  # too soon to count
        if made.status == "active":
            assert made.fades_at is not None
            assert made.fades_at <= end
            if made.fades_at < end:
                assert not made.pinned
        else:
            assert made.fades_at is None


@given(state=states, policy=policies, days=day_sets, now=instants)
def test_time_settles_it_as_faded_from_its_end_on(
    state: State, policy: Policy, days: list[int], now: int
) -> None:
    end = state.expires_at
    assert end is not None
    assert lifecycle.settled(state, max(now, end), policy, days).status == "faded"
    before = lifecycle.settled(state, end - 1, policy, days)
    free = lifecycle.settled(replace(state, expires_at=None), end - 1, policy, days)
    assert before.status == free.status  # until then the end makes no difference


@settings(max_examples=30)
@given(
    policy=policies,
    pinned=st.booleans(),
    importance=st.sampled_from([0.0, 0.5, 1.0]),
    end=st.integers(-2, 40 * 24),
    steps=st.lists(
        st.tuples(
            st.integers(0, 20 * 24), st.sampled_from(["recall", "prune", "pin", "reinforce"])
        ),
        max_size=6,
    ),
)
def test_nothing_shows_it_from_its_end_on_whatever_was_done_before(
    policy: Policy,
    pinned: bool,
    importance: float,
    end: int,
    steps: list[tuple[int, str]],
) -> None:
    clock = ManualClock()
    ends = AT + timedelta(hours=end)
    with MemoryBank.open(namespace="u1", embedder=None, policy=policy, clock=clock) as bank:
        bank.remember(
            "the lighthouse", id="m1", importance=importance, pinned=pinned, expires_at=ends
        )
        for hours, call in steps:
            clock.advance(hours=hours)
            if clock() >= ends:
                break
            calls = {
                "recall": lambda: bank.recall("lighthouse"),
                "prune": bank.prune,
                "pin": lambda: bank.pin("m1"),
                "reinforce": lambda: bank.reinforce("m1"),
            }
            calls[call]()
        if clock() < ends:
            clock.set(ends)
        assert shown(bank) == set()
        bank.prune()
        assert shown(bank) == set()
