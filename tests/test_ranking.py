"""From relevance to score: bonuses that cannot carry what is irrelevant."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ebbmem.clock import to_micros
from ebbmem.cues import DateCue
from ebbmem.ranking import (
    WEIGHTS,
    Weights,
    combined,
    conversational,
    date_match,
    sessions,
    windowed,
)

relaxed = settings(deadline=None, max_examples=100)
units = st.floats(0.0, 1.0, allow_subnormal=False)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@st.composite
def scored(draw: st.DrawFn) -> tuple[Floats, dict[str, tuple[float, Floats]]]:
    size = draw(st.integers(1, 20))
    columns = st.lists(units, min_size=size, max_size=size).map(np.array)
    names = draw(st.sets(st.sampled_from(sorted(Weights.__dataclass_fields__))))
    features = {name: (draw(st.floats(0.01, 2.0)), draw(columns)) for name in sorted(names)}
    return draw(columns), features


@st.composite
def chains(draw: st.DrawFn) -> tuple[Floats, list[list[int]], Ints, Ints]:
    """Values of items that are strung on a few sources, and the neighbours of each."""
    size = draw(st.integers(1, 25))
    order = draw(st.permutations(range(size)))
    cuts = sorted(draw(st.sets(st.integers(1, size), max_size=4)))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    before, after = np.full(size, -1), np.full(size, -1)
    for part in parts[:-1]:  # the last part belongs to no source
        for left, right in pairwise(part):
            after[left], before[right] = right, left
    values = np.array(draw(st.lists(units, min_size=size, max_size=size)))
    return values, parts, before, after


# -- combined ------------------------------------------------------------------------------------


@relaxed
@given(scored())
def test_scores_lie_in_the_unit_interval(
    given_: tuple[Floats, dict[str, tuple[float, Floats]]],
) -> None:
    scores = combined(*given_)
    assert ((scores >= 0.0) & (scores <= 1.0 + 1e-12)).all()


@relaxed
@given(scored())
def test_no_bonus_lifts_what_is_not_relevant(
    given_: tuple[Floats, dict[str, tuple[float, Floats]]],
) -> None:
    relevance, features = given_
    relevance[0] = 0.0
    assert combined(relevance, features)[0] == 0.0


@relaxed
@given(scored())
def test_with_equal_bonuses_the_order_is_that_of_relevance(
    given_: tuple[Floats, dict[str, tuple[float, Floats]]],
) -> None:
    relevance, features = given_
    equal = {name: (weight, np.full(len(relevance), 0.5)) for name, (weight, _) in features.items()}
    scores = combined(np.sort(relevance), equal)
    assert (np.diff(scores) >= 0.0).all()


@relaxed
@given(scored())
def test_a_feature_that_is_absent_costs_nothing(
    given_: tuple[Floats, dict[str, tuple[float, Floats]]],
) -> None:
    relevance, features = given_
    absent = {**features, "none": (0.0, np.zeros(len(relevance)))}
    assert np.array_equal(combined(relevance, features), combined(relevance, absent))
    assert np.array_equal(combined(relevance, {}), relevance)


def test_a_full_feature_for_everything_changes_no_score() -> None:
    relevance = np.array([0.2, 0.9])
    assert combined(relevance, {"date": (1.0, np.ones(2))}).tolist() == pytest.approx([0.2, 0.9])


def test_two_features_give_the_score_worked_out_by_hand() -> None:
    # 0.5 * (1 + 1.0 * 0.5 + 0.3 * 1) / (1 + 1.0 + 0.3) = 0.5 * 1.8 / 2.3
    features = {"date": (1.0, np.array([0.5])), "coverage": (0.3, np.array([1.0]))}
    assert combined(np.array([0.5]), features)[0] == pytest.approx(0.9 / 2.3)


def test_strength_is_the_smallest_of_the_weights() -> None:
    weights = {name: getattr(WEIGHTS, name) for name in Weights.__dataclass_fields__}
    assert min(weights, key=weights.__getitem__) == "strength"


# -- how much a store is a conversation ----------------------------------------------------------


def talk(count: int, speakers: int, length: int, alive: int | None = None) -> float:
    before = np.arange(-1, count - 1)
    living = np.arange(count) < (count if alive is None else alive)
    lengths = np.full(count, length, np.int32)
    return conversational(np.arange(count) % speakers, before, lengths, living)


def test_single_facts_are_no_conversation() -> None:
    nobody, alone = np.full(10, -1), np.full(10, -1)
    assert conversational(nobody, alone, np.full(10, 8, np.int32), np.ones(10, bool)) == 0.0


def test_short_alternating_dialogue_is_nearly_one() -> None:
    assert talk(100, 2, 12) == 0.99  # all but the first follow somebody else


def test_a_monologue_is_no_conversation() -> None:
    assert talk(100, 1, 12) == 0.0


@pytest.mark.parametrize(("length", "share"), [(40, 1.0), (80, 0.5), (120, 0.0), (500, 0.0)])
def test_the_longer_the_texts_the_less_a_conversation(length: int, share: float) -> None:
    assert talk(100, 2, length) == pytest.approx(0.99 * share)


def test_an_empty_store_and_a_dead_one_are_no_conversation() -> None:
    assert talk(0, 2, 12) == 0.0
    assert talk(10, 2, 12, alive=0) == 0.0


# -- neighbours and sessions ---------------------------------------------------------------------


@relaxed
@given(chains())
def test_windows_are_what_a_loop_finds(
    given_: tuple[Floats, list[list[int]], Ints, Ints],
) -> None:
    values, parts, before, after = given_
    previous, near = windowed(values, before, after)
    for part in parts[:-1]:
        for at, item in enumerate(part):
            around = {
                offset: part[at + offset]
                for offset in (-2, -1, 1, 2)
                if 0 <= at + offset < len(part)
            }
            worth = [values[to] * (1.0 if abs(by) == 1 else 0.85) for by, to in around.items()]
            assert near[item] == max(worth, default=0.0)
            assert previous[item] == (values[around[-1]] if -1 in around else 0.0)
    for item in parts[-1]:
        assert (previous[item], near[item]) == (0.0, 0.0)


@relaxed
@given(chains(), st.data())
def test_sessions_are_what_a_loop_finds(
    given_: tuple[Floats, list[list[int]], Ints, Ints], data: st.DataObject
) -> None:
    values, parts, _, _ = given_
    sources = np.full(len(values), -1)
    for number, part in enumerate(parts[:-1]):
        sources[list(part)] = number
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    found = sessions(values, sources, alive)
    for item, source in enumerate(sources.tolist()):
        others = [
            values[each]
            for each in range(len(values))
            if source >= 0 and sources[each] == source and alive[each]
        ]
        best = sorted(others, reverse=True)[:3]
        assert found[item] == pytest.approx(sum(best) / len(best) if best else 0.0)


def test_a_source_of_more_than_sixty_items_is_an_archive_and_no_session() -> None:
    for size, expected in ((60, 1.0), (61, 0.0)):
        found = sessions(np.ones(size), np.zeros(size, np.int64), np.ones(size, bool))
        assert set(found.tolist()) == {expected}


# -- dates ---------------------------------------------------------------------------------------


def fit(cue: DateCue, day: str) -> float:
    instant = to_micros(datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=UTC))
    return float(date_match(cue, np.array([instant]))[0])


@pytest.mark.parametrize(
    ("cue", "day", "expected"),
    [
        (DateCue(2023, 5, 7), "2023-05-07", 1.0),  # the day
        (DateCue(2023, 5, 7), "2023-05-10", 1.0),  # three days later people still tell
        (DateCue(2023, 5, 7), "2023-05-11", 0.5),  # the rest of the month
        (DateCue(2023, 5, 7), "2023-05-06", 0.5),
        (DateCue(2023, 5, 7), "2023-06-10", 0.5),  # the first ten days of the month after
        (DateCue(2023, 5, 7), "2023-06-11", 0.0),
        (DateCue(2023, 5, 7), "2023-04-30", 0.0),
        (DateCue(2023, 5, 7), "2022-05-07", 0.0),  # another year
        (DateCue(None, 5, 7), "2022-05-07", 1.0),  # any year
        (DateCue(None, 5, 7), "2022-06-01", 0.5),
        (DateCue(2023, 5, None), "2023-05-01", 1.0),  # anywhere in the month
        (DateCue(2023, 5, None), "2023-05-31", 1.0),
        (DateCue(2023, 5, None), "2023-06-10", 0.5),
        (DateCue(2023, 5, None), "2023-06-11", 0.0),
        (DateCue(2023, None, None), "2023-12-31", 1.0),  # anywhere in the year
        (DateCue(2023, None, None), "2024-01-01", 0.0),
        (DateCue(2023, 12, None), "2024-01-05", 0.5),  # December is followed by January
        (DateCue(2023, 12, None), "2023-01-05", 0.0),
        (DateCue(None, 12, None), "2024-01-05", 0.5),
        (DateCue(2023, 12, 24), "2024-01-05", 0.5),
        (DateCue(1969, 12, 31), "1969-12-31", 1.0),  # before the epoch
    ],
)
def test_a_date_fits_as_written_down_here(cue: DateCue, day: str, expected: float) -> None:
    assert fit(cue, day) == expected


@pytest.mark.parametrize(
    ("cue", "day"),
    [
        (DateCue(2023, 5, 30), "2023-06-01"),
        (DateCue(2023, 12, 31), "2024-01-02"),
        (DateCue(None, 2, 28), "2023-03-03"),
    ],
)
def test_the_three_days_after_may_lie_in_the_next_month(cue: DateCue, day: str) -> None:
    assert fit(cue, day) == 1.0


@relaxed
@given(
    st.builds(
        DateCue,
        st.none() | st.integers(1970, 2100),
        st.integers(1, 12),
        st.none() | st.integers(1, 31),
    ),
    st.lists(st.datetimes(timezones=st.just(UTC)), max_size=20),
)
def test_every_fit_is_nothing_half_or_all(cue: DateCue, instants: list[datetime]) -> None:
    found = date_match(cue, np.array([to_micros(each) for each in instants], np.int64))
    assert set(found.tolist()) <= {0.0, 0.5, 1.0}
