"""Group C of the pain cases: time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank, Policy
from ebbmem.testing import ManualClock, TableEmbedder

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-9)


# -- TI-1 ------------------------------------------------------------------------------------


def test_ti_1_a_memory_from_the_future_is_no_stronger_than_its_twin(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    clock.set(T0 + timedelta(days=30))
    early = bank.remember("written by a clock ahead", importance=0.5).id
    clock.set(T0)
    twin = bank.remember("written now", importance=0.5).id
    assert bank.strength(early) == bank.strength(twin) == 0.5
    pruned = bank.prune()
    assert (pruned.faded, pruned.erased) == ((), ())
    assert len(bank.list()) == 2


def test_ti_1_a_recall_does_not_make_the_future_worse(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    id_ = bank.remember("said tomorrow", importance=0.5, at=T0 + timedelta(days=30)).id
    bank.recall("tomorrow")
    assert bank.get(id_).recall_count == 1
    assert bank.strength(id_) == exactly(0.6)
    clock.set(T0 + timedelta(days=40))
    assert bank.strength(id_) == exactly(0.191446442987556 * 1.2)


def test_ti_1_a_clock_set_back_undoes_no_reinforcement(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    clock.set(T0 + timedelta(days=10))
    id_ = bank.remember("steady", importance=0.5, at=T0).id
    bank.recall("steady")
    used = bank.get(id_).last_reinforced_at
    clock.set(T0 + timedelta(days=5))
    bank.recall("steady")
    assert (bank.get(id_).last_reinforced_at, bank.get(id_).recall_count) == (used, 1)
    assert bank.strength(id_) == exactly(0.6)


def test_ti_1_a_memory_from_the_future_is_forecast_from_then_on(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    memory = bank.remember("said next month", importance=0.5, at=T0 + timedelta(days=30))
    assert bank.forecast(30) == []
    [due] = bank.forecast(60)
    assert memory.fades_at is not None
    assert abs(due.fades_at - memory.fades_at) <= timedelta(seconds=1)


# -- TI-2 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [0, 9, -8])
def test_ti_2_every_time_zone_gives_the_same_strength(open_bank: OpenBank, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    now = [T0.astimezone(zone)]
    bank = open_bank(clock=lambda: now[0])
    id_ = bank.remember("the zone", importance=0.5).id
    now[0] = (T0 + timedelta(days=10)).astimezone(zone)
    assert bank.strength(id_) == exactly(0.191446442987556)
    assert bank.prune().faded == ()
    [hit] = bank.recall("zone", reinforce=False)
    assert hit.strength == exactly(0.191446442987556)
    assert bank.get(id_).created_at == T0


def test_ti_2_a_naive_clock_is_refused_when_the_bank_is_opened(open_bank: OpenBank) -> None:
    with pytest.raises(InvalidInput, match="clock must carry a time zone"):
        open_bank(clock=lambda: datetime(2026, 1, 1))


def test_ti_2_the_same_instant_in_another_zone_is_the_same_memory_time(
    open_bank: OpenBank,
) -> None:
    bank = open_bank()
    tokyo = timezone(timedelta(hours=9))
    one = bank.remember("one", at=T0.astimezone(tokyo))
    assert (one.created_at, one.created_at.tzinfo) == (T0, UTC)


@pytest.mark.parametrize("end", [datetime.min, datetime.max])
def test_ti_2_the_ends_of_the_calendar_are_times_like_others(
    open_bank: OpenBank, end: datetime
) -> None:
    bank = open_bank(embedder="hashing")
    memory = bank.remember("at the end of time", importance=0.5, at=end.replace(tzinfo=UTC))
    assert memory.created_at == end.replace(tzinfo=UTC)
    hits = bank.recall("the end of time on 3 May 2024", include_faded=True)
    assert [hit.memory.id for hit in hits] == [memory.id]
    assert 0.0 <= bank.strength(memory.id) <= 0.6
    bank.prune()
    assert len(bank.forecast(10_000_000)) + len(bank.list()) <= 2
    assert len(bank.context("the end of time", k=1)) >= 0


# -- TI-3 ------------------------------------------------------------------------------------


@pytest.fixture
def _berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("this system cannot change the zone of a process")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_berlin")
@pytest.mark.parametrize(
    "stored, read, expected",
    [
        ("2026-03-28T12:00+01:00", "2026-03-29T12:00+02:00", 0.746661344062562),
        ("2026-10-24T12:00+02:00", "2026-10-25T12:00+01:00", 0.742194789062842),
    ],
)
def test_ti_3_a_day_on_which_the_clocks_change_is_not_24_hours(
    open_bank: OpenBank, stored: str, read: str, expected: float
) -> None:
    now = [datetime.fromisoformat(stored)]
    bank = open_bank(clock=lambda: now[0].astimezone())  # the zone of the process
    id_ = bank.remember("an assumption", category="assumption", importance=0.8).id
    now[0] = datetime.fromisoformat(read)
    assert bank.strength(id_) == exactly(expected)


# -- TI-4 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "elapsed, expected",
    [
        (timedelta(hours=12), 0.355123120304780),
        (timedelta(hours=24), 0.315281076437508),
        (timedelta(hours=36), 0.279908999093844),
    ],
)
def test_ti_4_ages_are_fractions_of_a_day(
    open_bank: OpenBank, clock: ManualClock, elapsed: timedelta, expected: float
) -> None:
    bank = open_bank()
    id_ = bank.remember("a failure", category="failure", importance=0.4).id
    clock.advance(elapsed)
    assert bank.strength(id_) == exactly(expected)


def test_ti_4_two_seconds_over_midnight_are_two_seconds(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    clock.set(datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC))
    id_ = bank.remember("a failure", category="failure", importance=0.4).id
    clock.set(datetime(2026, 1, 2, 0, 0, 1, tzinfo=UTC))
    assert bank.strength(id_) == exactly(0.399997796302367)


# -- TI-5 ------------------------------------------------------------------------------------


def test_ti_5_a_recall_sets_the_clock_back_for_what_it_returned_alone(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    table = {"one": [1.0, 0.0], "two": [0.0, 1.0], "query": [1.0, 0.0]}
    bank = open_bank(embedder=TableEmbedder(table))
    one = bank.remember("one", importance=0.6).id
    two = bank.remember("two", importance=0.6).id
    clock.advance(days=15)
    assert bank.strength(one) == exactly(0.172247027907421)
    [hit] = bank.recall("query", k=1)
    assert (hit.memory.id, hit.reinforced) == (one, True)
    assert bank.strength(one) == exactly(0.72)
    clock.advance(days=5)
    assert bank.strength(one) == exactly(0.474969794748760)
    assert bank.strength(two) == exactly(0.113627965960)


# -- TI-6 ------------------------------------------------------------------------------------


def life(bank: MemoryBank, clock: ManualClock, id_: str) -> None:
    """From day 20 on, as the case has it."""
    assert bank.strength(id_) == exactly(0.073303481065175)
    clock.set(T0 + timedelta(days=23.9))
    assert bank.prune().faded == ()
    assert bank.strength(id_) == exactly(0.050410934122472)
    assert [each.id for each in bank.list()] == [id_]
    clock.set(T0 + timedelta(days=24))
    assert bank.strength(id_) == exactly(0.049929304675152)
    assert bank.prune().faded == (id_,)
    assert bank.list() == []


def test_ti_6_pruning_every_hour_makes_nothing_die_sooner(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(path=":memory:")
    id_ = bank.remember("pruned every hour", importance=0.5).id
    for _ in range(480):
        clock.advance(hours=1)
        assert bank.prune().faded == ()
    life(bank, clock, id_)


def test_ti_6_pruning_once_makes_nothing_die_later(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(path=":memory:")
    id_ = bank.remember("pruned once", importance=0.5).id
    clock.advance(days=20)
    bank.prune()
    life(bank, clock, id_)


# -- the daily pass and the two timelines ----------------------------------------------------

ACTIONS = ("say again", "reinforce", "raise importance", "recall faded")


@pytest.mark.parametrize("action", ACTIONS)
def test_whether_the_pass_has_run_makes_no_difference_to_what_has_faded(
    open_bank: OpenBank, clock: ManualClock, action: str
) -> None:
    outcomes = []
    for name, pruned in (("with", True), ("without", False)):
        clock.set(T0)
        bank = open_bank(path=":memory:", namespace=name)
        id_ = bank.remember("the old lighthouse", importance=0.5).id
        clock.advance(days=25)
        if pruned:
            assert bank.prune().faded == (id_,)
        if action == "say again":
            bank.remember("the old lighthouse")
        elif action == "reinforce":
            bank.reinforce(id_)
        elif action == "raise importance":
            bank.update(id_, importance=1.0)
        else:
            bank.recall("lighthouse", include_faded=True)
        outcomes.append((len(bank.list()), bank.get(id_, include_faded=True).recall_count))
    assert outcomes[0] == outcomes[1]


def test_the_pass_runs_by_itself_at_the_first_write_of_a_day(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    id_ = bank.remember("passing", importance=0.5).id
    clock.advance(days=25)
    bank.remember("the write")
    assert bank.get(id_, include_faded=True).status == "faded"


def test_what_is_born_below_the_threshold_is_faded_by_the_next_pass(open_bank: OpenBank) -> None:
    bank = open_bank()
    id_ = bank.remember("worth nothing", importance=0.0).id
    assert bank.list() == []
    bank.prune()
    assert bank.get(id_, include_faded=True).status == "faded"


def test_the_policy_of_a_bank_that_never_wrote_is_kept_as_well(open_bank: OpenBank) -> None:
    open_bank(policy=Policy.chat()).close()
    assert open_bank().policy == Policy.chat()


def test_the_pass_runs_by_itself_when_a_bank_is_opened(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    id_ = bank.remember("passing", importance=0.5).id
    bank.close()
    clock.advance(days=25)
    assert open_bank().get(id_, include_faded=True).status == "faded"


def test_what_was_faded_for_purge_after_is_forgotten(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    id_ = bank.remember("passing", importance=0.5).id
    clock.advance(days=25)
    bank.prune()
    clock.advance(days=30, seconds=-1)
    assert bank.prune().erased == ()
    clock.advance(seconds=1)
    assert bank.prune().erased == (id_,)
    assert bank.list(include_faded=True) == []


@pytest.mark.parametrize("pruned", [True, False])
def test_a_hold_on_what_has_faded_is_in_the_audit_trail(
    open_bank: OpenBank, clock: ManualClock, pruned: bool
) -> None:
    bank = open_bank()
    id_ = bank.remember("evidence", importance=0.5).id
    clock.advance(days=25)
    if pruned:
        bank.prune()
    assert [each.id for each in bank.hold(id_)] == [id_]
    assert [each.id for each in bank.release(id_)] == [id_]
    assert [line.action for line in bank.audit()][-2:] == ["hold", "release"]


@pytest.mark.parametrize("name", ["release", "unpin"])
def test_what_changes_nothing_of_what_has_faded_returns_nothing(
    open_bank: OpenBank, clock: ManualClock, name: str
) -> None:
    bank = open_bank()
    id_ = bank.remember("passing", importance=0.5).id
    clock.advance(days=25)
    assert getattr(bank, name)(id_) == []
    assert name not in {line.action for line in bank.audit()}


def test_what_is_on_hold_outlives_purge_after(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    id_ = bank.remember("evidence", importance=0.5).id
    bank.hold(id_)
    clock.advance(days=365)
    bank.prune()
    clock.advance(days=365)
    assert bank.prune().erased == ()
    assert [each.id for each in bank.list(include_faded=True)] == [id_]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"on_fade": "erase"},
        {"purge_after": timedelta(0)},
        {"on_fade": "erase", "timeline": "active"},
    ],
    ids=str,
)
def test_a_dry_run_says_what_the_run_does(
    open_bank: OpenBank, clock: ManualClock, changes: dict[str, Any]
) -> None:
    bank = open_bank(policy=Policy(**changes))
    bank.remember_many(["one", "two", "three"])
    bank.forget(bank.remember("four").id)
    bank.hold(bank.remember("five", importance=0.5).id)
    clock.advance(days=90)
    said = bank.prune(dry_run=True)
    done = bank.prune()
    assert set(said.faded) == set(done.faded)
    assert set(said.erased) == set(done.erased)


def test_memories_of_one_moment_are_listed_as_they_were_told(open_bank: OpenBank) -> None:
    bank = open_bank()
    told = [f"line number{i}" for i in range(50)]
    bank.remember_many(told)
    assert [each.text for each in bank.list()] == told


def used_every_day(bank: MemoryBank, clock: ManualClock, days: int) -> None:
    for _ in range(days):
        clock.advance(days=1)
        bank.remember(f"something said on {clock():%x}")


def test_on_days_of_use_a_holiday_costs_nothing(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(policy=Policy.chat())
    id_ = bank.remember("before the holiday", importance=0.5).id
    clock.advance(days=400)
    assert bank.prune().faded == ()
    assert bank.strength(id_) == 0.5
    bank.recall("nothing of the kind")
    assert bank.strength(id_) == exactly(0.5 * math.exp(-0.096))


def test_on_days_of_use_the_pass_finds_all_that_recall_hides(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy.chat(prune_every=timedelta(days=999)))
    id_ = bank.remember("at first", importance=0.5).id
    used_every_day(bank, clock, 23)
    assert bank.prune().faded == ()
    used_every_day(bank, clock, 1)
    assert bank.prune().faded == (id_,)


def test_on_days_of_use_a_pass_before_the_first_use_of_a_day_does_not_miss_that_day(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy.chat(prune_every=timedelta(days=999)))
    id_ = bank.remember("at first", importance=0.5).id
    clock.advance(days=30)
    assert bank.prune().faded == ()  # day 30 is not one of use yet
    bank.remember("something said on day 30")
    used_every_day(bank, clock, 23)
    assert id_ not in {each.id for each in bank.list()}
    assert bank.prune().faded == (id_,)


def test_on_days_of_use_the_pass_sees_days_that_were_told_afterwards(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy.chat(prune_every=timedelta(days=999)))
    id_ = bank.remember("at first", importance=0.5).id
    clock.advance(days=40)
    assert bank.prune().faded == ()
    for day in range(1, 30):
        bank.remember(f"told later, about day {day}", at=T0 + timedelta(days=day), pinned=True)
    assert id_ not in {each.id for each in bank.list()}
    assert bank.prune().faded == (id_,)


@pytest.mark.parametrize("policy", [Policy(), Policy.chat()], ids=["wall", "active"])
def test_restoring_what_has_not_faded_changes_nothing(open_bank: OpenBank, policy: Policy) -> None:
    bank = open_bank(policy=policy)
    memory = bank.remember("still here", importance=0.5)
    assert bank.restore(memory.id) == []
    assert bank.get(memory.id) == memory
    assert bank.audit() == []


def test_an_export_keeps_the_strength_of_what_it_holds(
    open_bank: OpenBank, clock: ManualClock, file: Path
) -> None:
    bank = open_bank(policy=Policy.chat())
    id_ = bank.remember("at first", importance=0.5).id
    for _ in range(10):
        clock.advance(days=1)
        bank.recall("nothing of the kind")
    bank.export_jsonl(file.parent / "out.jsonl")
    copy = open_bank(path=":memory:", policy=Policy.chat())
    copy.import_file(file.parent / "out.jsonl")
    assert copy.strength(id_) == exactly(bank.strength(id_))


def test_importing_what_is_already_there_changes_nothing(
    open_bank: OpenBank, clock: ManualClock, file: Path
) -> None:
    bank = open_bank()
    bank.remember("kept", importance=0.5)
    bank.forget(bank.remember("let go", importance=0.5).id)
    bank.export_jsonl(file.parent / "out.jsonl")
    before = bank.list(include_faded=True)
    clock.advance(days=3)
    bank.import_file(file.parent / "out.jsonl")
    assert bank.list(include_faded=True) == before
