"""What the numbers of a store say about its policy, and what they do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, OpenBank
from ebbmem import Draft, Policy, ProbeRun, Stats
from ebbmem.advice import advise
from ebbmem.testing import ManualClock

LOW = (10, 10, 0, 0, 0, 0, 0, 0, 0, 0)
HIGH = (0, 0, 0, 0, 4, 0, 0, 16, 0, 0)  # 80 % in the upper half


def stats(**changes: Any) -> Stats:
    """Twenty memories of which nothing is to be said."""
    plain: dict[str, Any] = {
        "namespace": ("u1",),
        "active": 20,
        "faded": 0,
        "pinned": 0,
        "held": 0,
        "by_category": {"fact": 20},
        "mean_strength": 0.5,
        "fading_week": 0,
        "recalls": 5,
        "embedder": "none",
        "timeline": "wall",
        "conversational": 0.0,
        "histogram": LOW,
        "median_age": 10.0,
    }
    return Stats(**plain | changes)


def run(recall: float | None = None, *, active: int = 20, **changes: Any) -> ProbeRun:
    """A run over ten probes, or without a recall over none."""
    plain: dict[str, Any] = {
        "at": AT,
        "k": 5,
        "asked": 0 if recall is None else 10,
        "found": 10 * (recall or 0.0),
        "hidden": 0.0,
        "active": active,
        "faded": 0,
        "mean_strength": 0.5,
    }
    return ProbeRun(**plain | changes)


def means(*values: float | None) -> list[ProbeRun]:
    return [run(mean_strength=each) for each in values]


def codes(told: Stats, history: Sequence[ProbeRun] = ()) -> list[str]:
    return [each.code for each in advise(told, history)]


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert advise(stats(), [run(0.9), run(0.9), run(0.9)]) == []


# -- the distribution ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, True),
        ({"median_age": 29.9}, False),
        ({"histogram": (0, 0, 0, 0, 5, 0, 0, 15, 0, 0)}, False),
        ({"active": 19, "histogram": (0, 0, 0, 0, 3, 0, 0, 16, 0, 0)}, False),
        ({"faded": 3}, False),  # of 23: decay acts, and these are the survivors
        ({"faded": 2}, True),
    ],
    ids=str,
)
def test_strengths_that_stay_high_for_a_month_are_advised(
    changes: dict[str, Any], said: bool
) -> None:
    told = stats(**{"histogram": HIGH, "median_age": 30.0} | changes)
    assert codes(told) == (["decay-idle"] if said else [])


def test_idle_decay_names_its_numbers() -> None:
    [told] = advise(stats(histogram=HIGH, median_age=45.4, recalls=50), [])
    assert told.numbers == {"upper": 0.8, "median_age": 45.4, "uses": 2.5}
    for part in ("80%", "45 days", "2.5 uses", "base rates"):
        assert part in told.text


@pytest.mark.parametrize(("fading", "said"), [(18, True), (17, False)])
def test_a_store_that_is_about_to_fade_is_advised(fading: int, said: bool) -> None:
    assert codes(stats(fading_week=fading)) == (["all-fading"] if said else [])


def test_a_few_memories_that_fade_are_no_trend() -> None:
    assert codes(stats(active=19, fading_week=19)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, True),
        ({"recalls": 1}, False),
        ({"median_age": 6.9}, False),
        ({"active": 10, "faded": 10}, True),
        ({"active": 10, "faded": 9}, False),
    ],
    ids=str,
)
def test_a_store_that_nobody_uses_is_advised(changes: dict[str, Any], said: bool) -> None:
    told = stats(**{"recalls": 0, "median_age": 7.0} | changes)
    assert codes(told) == (["unused"] if said else [])


# -- the history ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (means(0.8, 0.7, 0.6), True),
        (means(0.8, 0.6), False),
        (means(0.8, 0.7, 0.61), False),  # not by a quarter
        (means(0.8, 0.7, 0.7), False),
        (means(0.6, 0.8, 0.5), False),  # falls once
        (means(0.1, 0.8, 0.7, 0.6), True),
        (means(0.8, None, 0.7, None, 0.6), True),  # an empty store has no mean
    ],
)
def test_a_mean_that_keeps_falling_is_advised(history: list[ProbeRun], said: bool) -> None:
    assert codes(stats(), history) == (["mean-falling"] if said else [])


def test_a_falling_mean_names_its_likely_cause() -> None:
    history = means(0.8, 0.7, 0.6)
    [used] = advise(stats(recalls=5), history)
    [unused] = advise(stats(recalls=0, median_age=1.0), history)
    assert "too high" in used.text
    assert "nothing was ever reinforced" in unused.text
    assert used.numbers == {"from": 0.8, "to": 0.6, "runs": 3}


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ([run(0.9), run(0.8, active=24), run(0.8, active=24)], True),
        ([run(0.9), run(0.8, active=24)], False),  # two runs
        ([run(0.9), run(0.9, active=24), run(0.8, active=24)], False),  # one bad run
        ([run(0.9), run(0.81, active=24), run(0.81, active=24)], False),  # not by a tenth
        ([run(0.9), run(0.8, active=23), run(0.8, active=23)], False),  # no larger
        ([run(0.9), run(0.8, active=24, k=1), run(0.8, active=24)], False),  # another k
        ([run(0.5), run(0.9), run(0.7, active=30), run(0.6, active=40)], True),
        ([run(0.9), run(active=24), run(active=24)], False),  # nobody asked
    ],
)
def test_recall_that_falls_as_the_store_grows_is_advised(
    history: list[ProbeRun], said: bool
) -> None:
    assert codes(stats(), history) == (["recall-falling"] if said else [])


def test_falling_recall_names_its_numbers() -> None:
    [told] = advise(stats(), [run(0.9), run(0.7, active=30), run(0.6, active=40)])
    assert told.numbers == {"from": 0.9, "to": 0.6, "active_from": 20, "active_to": 40, "k": 5}
    for part in ("90%", "60%", "from 20 to 40", "Recall@5", "larger k"):
        assert part in told.text


def test_answers_that_faded_are_advised_and_are_no_fault_of_the_ranking() -> None:
    history = [run(0.9), *[run(0.5, active=40, hidden=4.5)] * 2]
    [told] = advise(stats(), history)  # 0.5 of the 0.55 that could be found
    assert told.code == "probes-fading"
    assert told.numbers == {"hidden": 0.45, "asked": 10}


def test_a_run_in_which_nothing_could_be_found_is_compared_with_none() -> None:
    history = [run(0.9), *[run(0.0, active=40, hidden=10.0)] * 3]
    assert codes(stats(), history) == ["probes-fading"]


def test_the_most_urgent_advice_comes_first() -> None:
    told = stats(fading_week=20, recalls=0, median_age=7.0)
    history = [run(0.9), *[run(0.6, active=40, hidden=1.0)] * 2]
    assert codes(told, history) == ["all-fading", "probes-fading", "recall-falling", "unused"]


# -- laws ----------------------------------------------------------------------------------------

shares = st.floats(0.0, 1.0)
runs = st.builds(
    lambda recall, lost, active, mean, k: run(
        recall, active=active, hidden=10 * (1.0 - recall) * lost, mean_strength=mean, k=k
    ),
    shares,
    shares,
    st.integers(0, 1000),
    st.none() | shares,
    st.sampled_from([1, 5]),
)
counts = st.integers(0, 100)
told = st.builds(
    lambda histogram, faded, soon, recalls, age: stats(
        active=sum(histogram),
        faded=faded,
        fading_week=min(soon, sum(histogram)),
        recalls=recalls,
        histogram=tuple(histogram),
        median_age=age if sum(histogram) else None,
    ),
    st.lists(counts, min_size=10, max_size=10),
    counts,
    counts,
    counts,
    st.floats(0.0, 500.0),
)


@given(told, st.lists(runs, max_size=8))
@settings(deadline=None)
def test_advice_is_the_same_for_the_same_numbers(told: Stats, history: list[ProbeRun]) -> None:
    assert advise(told, history) == advise(told, list(history))


@given(told, st.lists(runs, max_size=8))
@settings(deadline=None)
def test_every_advice_is_said_once_in_sentences_with_numbers(
    told: Stats, history: list[ProbeRun]
) -> None:
    found = advise(told, history)
    assert len({each.code for each in found}) == len(found)
    for each in found:
        assert each.text[-1] == "."
        assert each.numbers


@given(told, st.lists(runs, max_size=2))
@settings(deadline=None)
def test_two_runs_are_no_trend(told: Stats, history: list[ProbeRun]) -> None:
    assert not {"mean-falling", "recall-falling"} & set(codes(told, history))


@given(st.lists(runs.map(lambda each: replace(each, asked=0, found=0.0, hidden=0.0)), max_size=2))
def test_an_empty_store_needs_no_advice(history: list[ProbeRun]) -> None:
    empty = stats(active=0, faded=0, recalls=0, histogram=(0,) * 10, median_age=None)
    assert advise(empty, history) == []


@given(told, st.lists(runs, min_size=3, max_size=8))
@settings(deadline=None)
def test_more_runs_of_the_same_kind_never_start_a_fall(
    told: Stats, history: list[ProbeRun]
) -> None:
    steady = [*history, *[history[-1]] * 2]
    assert "mean-falling" not in codes(told, steady) or history[-1].mean_strength is None


# -- from a bank ---------------------------------------------------------------------------------


def test_a_bank_that_nobody_uses_says_so(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    assert bank.advice() == []
    bank.remember_many(Draft(text=f"note {number}", importance=0.9) for number in range(20))
    assert bank.advice() == []
    clock.advance(days=8)
    assert [each.code for each in bank.advice()] == ["unused"]


def test_a_bank_whose_decay_is_idle_says_so(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    made = bank.remember_many(Draft(text=f"note {n}", importance=0.9) for n in range(20))
    for _ in range(4):
        clock.advance(days=8)
        bank.reinforce([each.id for each in made])
    assert [each.code for each in bank.advice()] == ["decay-idle"]


def test_a_bank_about_to_fade_says_so_and_not_on_days_of_use(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(prune_every=timedelta(days=999)))
    bank.remember_many(Draft(text=f"note {number}", importance=0.3) for number in range(20))
    assert bank.advice() == []  # 0.3 fades after ln(6) / 0.1216 = 14.7 days
    clock.advance(days=8)
    assert [each.code for each in bank.advice()] == ["all-fading", "unused"]
