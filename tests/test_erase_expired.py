"""What has reached its set end can be erased, and nothing else with it."""

from __future__ import annotations

from datetime import timedelta

from builders import AT, OpenBank
from ebbmem import Policy
from ebbmem.testing import ManualClock

HOUR = timedelta(hours=1)


def test_it_erases_what_has_ended_and_says_how_many(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    for id_, end in {"a": AT + HOUR, "b": AT + HOUR, "c": AT + 2 * HOUR, "d": None}.items():
        bank.remember(f"tea {id_}", id=id_, expires_at=end)
    assert bank.erase_expired().count == 0
    clock.advance(HOUR)
    assert bank.erase_expired().count == 2
    assert [each.id for each in bank.list(include_faded=True)] == ["c", "d"]
    assert bank.erase_expired().count == 0


def test_what_has_faded_without_a_set_end_stays_restorable(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy())
    bank.remember("tea", id="a")
    clock.advance(days=365)
    bank.prune()
    assert bank.erase_expired().count == 0
    assert [each.status for each in bank.list(include_faded=True)] == ["faded"]


def test_pinned_ones_go_and_held_ones_stay(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    bank.remember("tea", id="pinned", pinned=True, expires_at=AT + HOUR)
    bank.remember("milk", id="held", expires_at=AT + HOUR)
    bank.hold("held")
    clock.advance(HOUR)
    assert bank.erase_expired().count == 1
    assert [each.id for each in bank.list(include_faded=True)] == ["held"]


def test_other_namespaces_are_left_alone(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    other = bank.at("u1", "below")
    other.remember("tea", id="a", expires_at=AT + HOUR)
    clock.advance(HOUR)
    assert bank.erase_expired().count == 0
    assert other.erase_expired().count == 1


def test_namespaces_where_all_has_faded_are_found_when_asked_for(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    bank.at("u1", "below").remember("tea", expires_at=AT + HOUR)
    bank.at("u2").remember("milk")
    clock.advance(HOUR)
    assert bank.inhabited() == []
    assert bank.inhabited(include_faded=True) == [("u1", "below")]


def test_a_bank_says_which_clock_it_has(open_bank: OpenBank, clock: ManualClock) -> None:
    assert open_bank().clock is clock
    assert open_bank().at("u2").clock is clock
