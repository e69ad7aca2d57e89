"""A namespace in numbers: by state, by strength, by time, by size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import Draft, MemoryBank, Policy
from ebbmem.census import outlook, stats, typical
from ebbmem.clock import DAY, to_micros
from ebbmem.notebook import stats_html
from ebbmem.snapshot import Snapshot
from ebbmem.testing import ManualClock, TableEmbedder


def snapshot(bank: MemoryBank) -> Snapshot:
    return bank._arena().snapshot()


def now(bank: MemoryBank) -> int:
    return to_micros(bank.clock())


# -- states --------------------------------------------------------------------------------------


def test_every_memory_is_active_faded_or_superseded(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    bank.remember("tea", id="old", importance=0.9)
    bank.remember("milk", id="weak", importance=0.1)
    bank.remember("coffee", id="new", importance=0.9, supersedes="old")
    clock.advance(days=20)  # importance 0.1 fades after ln(2) / 0.1472 = 4.71 days
    told = bank.stats()
    assert (told.active, told.faded, told.superseded) == (1, 1, 1)
    assert told.by_category == {"fact": 3}


def test_a_superseded_memory_that_faded_is_counted_once(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    bank.remember("tea", id="old", importance=0.1)
    bank.remember("coffee", importance=0.9, supersedes="old")
    clock.advance(days=20)
    told = bank.stats()
    assert (told.active, told.faded, told.superseded) == (1, 1, 0)


# -- strengths -----------------------------------------------------------------------------------


def test_the_histogram_has_ten_bins_up_to_the_cap(open_bank: OpenBank) -> None:
    bank = open_bank()
    for number, importance in enumerate((0.05, 0.1, 0.15, 0.55, 0.999, 1.0)):
        bank.remember(f"note {number}", importance=importance)
    told = bank.stats()
    assert told.histogram == (1, 2, 0, 0, 0, 1, 0, 0, 0, 2)
    assert told.histogram_top == 1.0


def test_without_a_cap_the_histogram_reaches_to_the_strongest(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(strength_cap=math.inf, recall_gain=100.0))
    bank.remember("tea", id="m1", importance=0.5)
    bank.remember("milk", importance=0.5)
    clock.advance(minutes=10)
    bank.reinforce("m1")  # 0.5 * (1 + 100 * 1)
    told = bank.stats()
    assert told.histogram_top == pytest.approx(50.5)
    assert told.histogram == (1, 0, 0, 0, 0, 0, 0, 0, 0, 1)


def test_what_is_hidden_is_in_no_bin(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", id="m1", importance=0.5)
    bank.remember("milk", importance=0.5)
    bank.forget("m1")
    assert sum(bank.stats().histogram) == bank.stats().active == 1


@given(
    importances=st.lists(st.floats(0.0, 1.0), max_size=12),
    days=st.floats(0.0, 60.0),
)
@settings(max_examples=30, deadline=None)
def test_the_bins_hold_exactly_the_active_ones_and_their_mean_fits(
    importances: list[float], days: float
) -> None:
    clock = ManualClock()
    with MemoryBank.open(namespace="u1", embedder=None, clock=clock, maintain=False) as bank:
        bank.remember_many(
            Draft(text=f"note {number}", importance=each) for number, each in enumerate(importances)
        )
        clock.advance(days=days)
        told = bank.stats()
    assert sum(told.histogram) == told.active
    assert told.active + told.faded == len(importances)
    assert told.fading_week <= told.fading_month <= told.active
    assert (told.mean_strength is None) == (told.active == 0) == (told.median_age is None)
    if told.mean_strength is not None:
        lowest = sum(count * index / 10 for index, count in enumerate(told.histogram))
        assert lowest / told.active - 1e-9 <= told.mean_strength
        assert told.mean_strength <= lowest / told.active + 0.1 + 1e-9


# -- time ----------------------------------------------------------------------------------------


def test_what_fades_in_a_week_and_in_a_month_is_counted(open_bank: OpenBank) -> None:
    bank = open_bank()  # lifetimes in days: failure 10.965, fact 23.985, strategy 38.376
    for category in ("failure", "fact", "strategy"):
        bank.remember(f"a {category}", category=category, importance=0.5)
    bank.remember("weak", importance=0.1)  # 4.71 days
    bank.remember("pinned", importance=0.1, pinned=True)
    told = bank.stats()
    assert (told.fading_week, told.fading_month) == (1, 3)


def test_what_was_superseded_is_not_about_to_fade(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("weak", id="old", importance=0.1)
    bank.remember("strong", importance=0.9, supersedes="old")
    assert bank.stats().fading_month == 0


def test_the_median_age_counts_days_of_the_timeline(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    bank.remember("tea", pinned=True)
    clock.advance(days=8)
    bank.remember("milk", pinned=True)
    clock.advance(days=4)
    assert bank.stats().median_age == 8.0  # of 12 and 4
    resting = bank.at("u1", policy=Policy.chat())
    assert resting.stats().median_age == 0.5  # of 1, a single day of use since, and 0


# -- size ----------------------------------------------------------------------------------------


def test_the_size_on_disk_is_that_of_texts_metadata_and_vectors(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0, 0.0]))
    bank.remember("茶", metadata={"x": 1})
    assert bank.stats().bytes_on_disk == 3 + len('{"x": 1}') + 3 * 4  # UTF-8, JSON, float32


def test_the_size_on_disk_does_not_tell_what_others_keep(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0, 0.0]))
    bank.remember("tea")
    before = bank.stats()
    bank.at("u2").remember_many(f"note {number}" for number in range(500))
    assert bank.stats() == before


def test_what_is_kept_in_memory_alone_takes_no_disk(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:")
    bank.remember("tea")
    assert bank.stats().bytes_on_disk == 0


def test_the_size_in_memory_grows_with_the_vectors(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0] * 1024))
    bank.remember("first")
    before = bank.stats().bytes_in_memory
    bank.remember_many(f"note {number}" for number in range(100))
    grown = bank.stats().bytes_in_memory - before
    assert grown >= 100 * 1024 * 4  # float32
    assert bank.at("u2").stats().bytes_in_memory < before


# -- what a report draws -------------------------------------------------------------------------


def test_the_strongest_the_median_and_the_weakest_are_named(open_bank: OpenBank) -> None:
    bank = open_bank()
    for name, importance in (("a", 0.2), ("b", 0.9), ("c", 0.5), ("d", 0.6), ("e", 0.3)):
        bank.remember(f"note {name}", id=name, importance=importance)
    found = typical(snapshot(bank), now(bank), bank.policy)
    named = {name: snapshot(bank).ids[row] for name, row in found.items()}
    assert named == {"strongest": "b", "median": "c", "weakest": "a"}


def test_of_few_memories_none_is_named_twice(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert typical(snapshot(bank), now(bank), bank.policy) == {}
    bank.remember("tea", importance=0.5)
    assert list(typical(snapshot(bank), now(bank), bank.policy)) == ["strongest"]
    bank.remember("milk", importance=0.6)
    assert list(typical(snapshot(bank), now(bank), bank.policy)) == ["strongest", "weakest"]


def test_a_pinned_memory_is_not_typical(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", importance=1.0, pinned=True)
    assert typical(snapshot(bank), now(bank), bank.policy) == {}


def test_the_outlook_is_the_strength_of_those_days(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(maintain=False)
    bank.remember("tea", id="m1", importance=0.5)
    clock.advance(days=2)
    days = np.array([0.0, 5.0])
    [told] = outlook(snapshot(bank), [0], days, now(bank), bank.policy)
    assert told[0] == bank.strength("m1")
    assert told[1] == pytest.approx(0.5 * math.exp(-0.16 * 0.6 * 7.0))
    clock.advance(days=5)
    assert told[1] == pytest.approx(bank.strength("m1"))


def test_the_outlook_ends_where_a_memory_expires(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    bank.remember("tea", importance=0.5)
    end = clock()
    clock.advance(days=-3)
    bank.expire(bank.list()[0].id, end)
    [told] = outlook(snapshot(bank), [0], np.array([2.9, 3.0]), now(bank), bank.policy)
    assert np.isnan(told).tolist() == [False, True]


# -- how they show themselves --------------------------------------------------------------------


def test_the_table_in_a_notebook_draws_a_bar_for_every_bin(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", importance=0.5)
    drawn = stats_html(bank.stats())
    assert drawn.count("<rect") == 10
    assert "fading within a month" in drawn


def test_stats_of_a_moment_are_those_of_its_snapshot(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", importance=0.5)
    told = stats(
        ("u1",), snapshot(bank), now(bank) + 30 * DAY, bank.policy, "e", on_disk=1, in_memory=2
    )
    assert (told.active, told.faded) == (0, 1)
    assert (told.embedder, told.bytes_on_disk, told.bytes_in_memory) == ("e", 1, 2)
