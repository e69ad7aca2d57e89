"""From relevance to score: bonuses that cannot carry what is irrelevant."""

from __future__ import annotations

import importlib.util
import math
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ebbmem.asking import MARKS, NAMES, Asks
from ebbmem.clock import to_micros
from ebbmem.cues import DateCue
from ebbmem.ranking import (
    FEATURES,
    STRENGTH,
    WEIGHTS,
    Evidence,
    Weights,
    best_of_source,
    combined,
    conversational,
    date_match,
    features,
    neighbours,
    with_strength,
)
from ebbmem.ranking_weights import FITTED

relaxed = settings(deadline=None, max_examples=100)
units = st.floats(0.0, 1.0, allow_subnormal=False)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scored = tuple[Floats, dict[str, tuple[float, Floats]]]
BIT = {name: 1 << at for at, name in enumerate(MARKS)}
FIT = Path(__file__).parents[1] / "scripts" / "fit_ranking.py"


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    size = draw(st.integers(1, 20))
    columns = st.lists(units, min_size=size, max_size=size).map(np.array)
    names = draw(st.sets(st.sampled_from(sorted(FEATURES))))
    found = {name: (draw(st.floats(0.01, 3.0)), draw(columns)) for name in sorted(names)}
    return draw(columns), found


# -- combined ------------------------------------------------------------------------------------


def test_two_features_give_the_scores_worked_out_by_hand() -> None:
    # gains 1.0 * 0.5 + 0.3 * 1 = 0.8 and 1.0 * 1 = 1.0; the best gain takes nothing away
    found = {"date": (1.0, np.array([0.5, 1.0])), "coverage": (0.3, np.array([1.0, 0.0]))}
    scores = combined(np.array([0.5, 0.4]), found)
    assert scores.tolist() == pytest.approx([0.5 * math.exp(-0.2), 0.4])


def test_a_full_bonus_of_seven_tenths_doubles_a_score_beside_others() -> None:
    found = {"date": (math.log(2.0), np.array([1.0, 0.0]))}
    assert combined(np.array([0.4, 0.4]), found).tolist() == pytest.approx([0.4, 0.2])


def test_nothing_has_no_scores() -> None:
    assert combined(np.zeros(0), {"date": (1.0, np.zeros(0))}).tolist() == []


@relaxed
@given(scored())
def test_a_score_never_exceeds_its_relevance(given_: Scored) -> None:
    relevance, found = given_
    scores = combined(relevance, found)
    assert ((scores >= 0.0) & (scores <= relevance)).all()


@relaxed
@given(scored())
def test_what_has_most_bonus_keeps_its_relevance_as_score(given_: Scored) -> None:
    relevance, found = given_
    gain = sum((w * v for w, v in found.values()), np.zeros(len(relevance)))
    best = int(np.argmax(gain))
    assert combined(relevance, found)[best] == relevance[best]


@relaxed
@given(scored())
def test_no_bonus_lifts_what_is_not_relevant(given_: Scored) -> None:
    relevance, found = given_
    relevance[0] = 0.0
    assert combined(relevance, found)[0] == 0.0


@relaxed
@given(scored())
def test_with_equal_bonuses_scores_are_relevance(given_: Scored) -> None:
    relevance, found = given_
    equal = {name: (weight, np.full(len(relevance), 0.5)) for name, (weight, _) in found.items()}
    assert np.array_equal(combined(relevance, equal), relevance)


@relaxed
@given(scored())
def test_a_feature_that_is_absent_costs_nothing(given_: Scored) -> None:
    relevance, found = given_
    absent = {**found, "none": (1.0, np.zeros(len(relevance)))}
    assert np.array_equal(combined(relevance, found), combined(relevance, absent))
    assert np.array_equal(combined(relevance, {}), relevance)


def test_strength_takes_at_most_its_weight_from_what_has_no_other_bonus() -> None:
    # 0.8 * exp(0.05 * (0 - 1)); full strength takes nothing, and more than full is full
    found = with_strength(np.array([0.8, 0.8, 0.8]), np.array([0.0, 1.0, 2.8]))
    assert found.tolist() == pytest.approx([0.8 * math.exp(-STRENGTH), 0.8, 0.8])


def test_strength_as_a_product_is_a_factor() -> None:
    found = with_strength(np.array([0.8, 0.8]), np.array([0.25, 2.8]), product=True)
    assert found.tolist() == pytest.approx([0.2, 0.8])


# -- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["interaction", "similarity", "keyword"])
def test_fitted_weights_are_of_known_features_and_not_negative(mode: str) -> None:
    fitted = FITTED[mode]
    assert fitted.keys() <= FEATURES.keys() - {"strength"}
    assert all(0.0 <= weight < math.inf for weight in fitted.values())
    assert WEIGHTS[mode] == Weights(**fitted)


def test_there_are_weights_for_each_best_signal_and_no_other() -> None:
    assert WEIGHTS.keys() == FITTED.keys() == {"interaction", "similarity", "keyword"}


def test_every_weight_has_a_feature_and_every_feature_a_weight() -> None:
    assert list(FEATURES) == list(Weights.__dataclass_fields__)


def the_script() -> ModuleType:
    """`scripts/fit_ranking.py`, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("fit_ranking", FIT)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["fit_ranking"] = made  # its dataclasses look their module up
    spec.loader.exec_module(made)
    return made


def test_fitting_finds_the_weights_that_made_the_answers() -> None:
    # The answers are the probabilities of a conditional logit themselves, so but for the ridge
    # the optimum is where they come from.
    script = the_script()
    random = np.random.default_rng(0)
    true = np.zeros(len(script.NAMES))
    true[[0, 3, 7]] = (1.5, 0.8, 0.4)
    samples = []
    for number in range(400):
        relevance = random.uniform(0.05, 1.0, 20)
        values = random.uniform(0.0, 1.0, (20, len(true)))
        chance = relevance**2.0 * np.exp(values @ true)
        samples.append(
            script.Sample(
                dataset="made",
                fold=number % script.FOLDS,
                kind="",
                ids=tuple(map(str, range(20))),
                answers=frozenset("0"),
                relevance=relevance,
                values=values,
                gold=chance / chance.sum(),
            )
        )
    sharpness, weights = script.fitted(samples)
    assert sharpness == pytest.approx(2.0, abs=0.02)
    assert weights == pytest.approx(true, abs=0.04)
    assert (weights >= 0.0).all()


def test_fitting_gives_no_weight_to_what_speaks_against_an_answer() -> None:
    script = the_script()
    against = np.zeros((2, len(script.NAMES)))
    against[1, 0] = 1.0  # only what is no answer has it
    sample = script.Sample(
        dataset="made",
        fold=0,
        kind="",
        ids=("yes", "no"),
        answers=frozenset({"yes"}),
        relevance=np.array([0.5, 0.5]),
        values=against,
        gold=np.array([1.0, 0.0]),
    )
    _, weights = script.fitted([sample])
    assert weights.tolist() == [0.0] * len(script.NAMES)


# -- features ------------------------------------------------------------------------------------


def evidence(size: int, **changes: Any) -> Evidence:
    """Of so many items that are strung on one source, and say nothing in particular."""
    numbers = np.arange(size)
    after = np.where(numbers + 1 < size, numbers + 1, -1)
    two_after = np.where(numbers + 2 < size, numbers + 2, -1)
    plain: dict[str, Any] = {
        "rows": numbers,
        "relevance": np.full(size, 0.5),
        "near": np.append(np.full(size, 0.5), 0.0),
        "before": numbers - 1,
        "two_before": np.maximum(numbers - 2, -1),
        "after": after,
        "two_after": two_after,
        "source": np.zeros(size, np.int64),
        "source_size": np.full(size, size),
        "window": None,
        "coverage": np.zeros(size + 1),
        "question": np.zeros(size + 1, bool),
        "holds": np.zeros(size, np.int64),
        "names": np.zeros(size, np.int64),
        "words": np.full(size, 8),
        "assistant": None,
        "speaker": None,
        "strength": np.ones(size),
        "conversational": 1.0,
        "when": None,
        "asks": Asks(),
    }
    return Evidence(**plain | changes)


def value(name: str, given_: Evidence) -> list[float] | None:
    found = FEATURES[name].of(given_)
    return None if found is None else found.tolist()


NEAR = np.array([0.1, 0.2, 0.4, 0.8, 1.0, 0.0])


def test_before_is_the_mean_of_the_two_before() -> None:
    # (0 + 0) / 2, (0.1 + 0) / 2, (0.2 + 0.1) / 2, (0.4 + 0.2) / 2, (0.8 + 0.4) / 2
    found = value("before", evidence(5, near=NEAR))
    assert found == pytest.approx([0.0, 0.05, 0.15, 0.3, 0.6])


def test_an_answer_has_the_relevance_of_the_question_before_it() -> None:
    question = np.array([True, False, False, True, False, False])
    found = value("answer", evidence(5, near=NEAR, question=question))
    assert found == [0.0, 0.1, 0.0, 0.0, 0.8]


def test_the_window_is_taken_as_it_is_and_absent_without_token_vectors() -> None:
    assert value("window", evidence(2)) is None
    assert value("window", evidence(2, window=np.array([0.3, 0.6]))) == [0.3, 0.6]


def test_coverage_is_its_own_or_four_fifths_of_what_is_around() -> None:
    coverage = np.array([1.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0])
    # 1; max(0.8 * 1, 0.8 * 0.9); max(0.9, 0.8 * 1); 0.8 * 0.9 twice; nothing is near the last
    found = value("coverage", evidence(6, coverage=coverage))
    assert found == pytest.approx([1.0, 0.8, 0.9, 0.72, 0.72, 0.0])


def test_coverage_is_absent_where_no_word_is_shared() -> None:
    assert value("coverage", evidence(3)) is None


def test_a_statement_is_what_asks_nothing() -> None:
    assert value("statement", evidence(2, question=np.array([True, False, False]))) == [0.0, 1.0]


def test_length_grows_with_the_logarithm_of_words_up_to_eighty() -> None:
    # ln 9 / ln 81 = 1 / 2
    found = value("length", evidence(4, words=np.array([0, 8, 80, 500])))
    assert found == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_the_opening_has_nothing_before_it_and_so_has_a_fact_of_no_source() -> None:
    assert value("opening", evidence(3)) == [1.0, 0.0, 0.0]
    assert value("opening", evidence(1)) == [1.0]


def test_a_date_is_absent_where_none_is_named_or_none_fits() -> None:
    assert value("date", evidence(2)) is None
    assert value("date", evidence(2, when=np.zeros(2))) is None
    assert value("date", evidence(2, when=np.array([0.5, 0.0]))) == [0.5, 0.0]


def test_a_time_is_wanted_where_it_is_asked_when() -> None:
    holds = np.array([BIT["time"], BIT["place"]])
    assert value("time", evidence(2, holds=holds, asks=Asks(time=True))) == [1.0, 0.0]
    assert value("time", evidence(2, holds=holds)) is None


def test_what_holds_one_of_the_wanted_marks_fits() -> None:
    holds = np.array([BIT["place"] | BIT["self"], BIT["number"], BIT["self"]])
    wanted = Asks(wants=BIT["place"] | BIT["number"])
    assert value("fits", evidence(3, holds=holds, asks=wanted)) == [1.0, 1.0, 0.0]


def test_names_fit_by_the_logarithm_of_how_many_there_are() -> None:
    # ln 2 / ln 6, and all of it at NAMES
    found = value("fits", evidence(3, names=np.array([0, 1, NAMES]), asks=Asks(names=True)))
    assert found == pytest.approx([0.0, math.log(2) / math.log(6), 1.0])


def test_a_number_with_a_unit_answers_how_long() -> None:
    holds = np.array([BIT["number"] | BIT["unit"], BIT["number"], BIT["unit"]])
    assert value("fits", evidence(3, holds=holds, asks=Asks(time=True))) == [1.0, 0.0, 0.0]


def test_a_feeling_answers_by_half_how_something_was() -> None:
    holds = np.array([BIT["feeling"], 0])
    assert value("fits", evidence(2, holds=holds, asks=Asks(feeling=True))) == [0.5, 0.0]


def test_nothing_fits_where_nothing_is_wanted_or_held() -> None:
    holds = np.full(2, BIT["place"])
    assert value("fits", evidence(2, holds=holds)) is None
    assert value("fits", evidence(2, asks=Asks(wants=BIT["place"]))) is None


@pytest.mark.parametrize(
    ("role", "expected"), [("assistant", [1.0, 0.0]), ("user", [0.0, 1.0]), (None, None)]
)
def test_a_role_is_that_of_the_one_whose_words_are_asked_for(
    role: str | None, expected: list[float] | None
) -> None:
    given_ = evidence(2, assistant=np.array([True, False]), asks=Asks(role=role))
    assert value("role", given_) == expected


def test_a_role_is_absent_where_no_assistant_speaks() -> None:
    assert value("role", evidence(2, asks=Asks(role="user"))) is None


def test_a_named_speaker_counts_in_the_first_person() -> None:
    holds = np.array([BIT["self"], BIT["self"], 0])
    speaker = np.array([True, False, True])
    assert value("speaker", evidence(3, holds=holds, speaker=speaker)) == [1.0, 0.0, 0.0]
    assert value("speaker", evidence(3, holds=holds)) is None


def test_strength_counts_to_a_thousandth_and_up_to_one() -> None:
    found = value("strength", evidence(3, strength=np.array([0.12349, 2.8, 0.0])))
    assert found == [0.123, 1.0, 0.0]


def test_the_source_counts_by_its_best_item_and_what_has_none_is_its_own() -> None:
    given_ = evidence(3, relevance=np.array([0.2, 0.7, 0.4]), source=np.array([0, 0, -1]))
    assert value("source", given_) == [0.7, 0.7, 0.4]


def test_conversational_features_act_as_far_as_the_store_is_a_conversation() -> None:
    weights = Weights(statement=0.8, date=0.6)
    given_ = evidence(2, conversational=0.25, when=np.ones(2))
    found = features(given_, weights)
    assert {name: weight for name, (weight, _) in found.items()} == {
        "statement": pytest.approx(0.2),
        "date": 0.6,
    }


def test_single_facts_have_no_conversational_feature() -> None:
    given_ = evidence(2, conversational=0.0, when=np.ones(2))
    every = Weights(**dict.fromkeys(FEATURES, 1.0))
    assert features(given_, every).keys() == {"date", "strength"}


@relaxed
@given(st.integers(1, 12), st.data())
def test_every_feature_lies_in_the_unit_interval(size: int, data: st.DataObject) -> None:
    def drawn(each: st.SearchStrategy[Any], kind: str, count: int = size) -> Any:
        return np.array(data.draw(st.lists(each, min_size=count, max_size=count)), kind)

    given_ = evidence(
        size,
        relevance=drawn(units, "f8"),
        near=np.append(drawn(units, "f8"), 0.0),
        window=drawn(units, "f8"),
        coverage=np.append(drawn(units, "f8"), 0.0),
        question=np.append(drawn(st.booleans(), "?"), False),
        holds=drawn(st.integers(0, (1 << len(MARKS)) - 1), "i8"),
        names=drawn(st.integers(0, NAMES), "i8"),
        words=drawn(st.integers(0, 10_000), "i8"),
        assistant=drawn(st.booleans(), "?"),
        speaker=drawn(st.booleans(), "?"),
        strength=drawn(st.floats(0.0, 5.0), "f8"),
        when=drawn(units, "f8"),
        asks=Asks(
            wants=data.draw(st.integers(0, (1 << len(MARKS)) - 1)),
            names=data.draw(st.booleans()),
            time=data.draw(st.booleans()),
            feeling=data.draw(st.booleans()),
            role=data.draw(st.sampled_from([None, "assistant", "user"])),
        ),
    )
    for weight, values in features(given_, Weights(**dict.fromkeys(FEATURES, 1.0))).values():
        assert weight == 1.0
        assert ((values >= 0.0) & (values <= 1.0)).all()


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


# -- neighbours and sources ----------------------------------------------------------------------


@relaxed
@given(st.data(), st.integers(1, 20))
def test_neighbours_are_what_a_loop_finds(data: st.DataObject, size: int) -> None:
    places = st.integers(-1, size - 1)
    step = np.array(data.draw(st.lists(places, min_size=size, max_size=size)))
    rows = np.array(data.draw(st.lists(places, max_size=10)), np.int64)
    expected = [-1 if row < 0 else int(step[row]) for row in rows.tolist()]
    assert neighbours(rows, step).tolist() == expected


@relaxed
@given(st.lists(st.tuples(units, st.integers(-1, 4), st.integers(1, 90)), max_size=25))
def test_the_best_of_a_source_is_what_a_loop_finds(items: list[tuple[float, int, int]]) -> None:
    values, sources, sizes = (np.array([each[at] for each in items]) for at in range(3))
    expected = []
    for _, source, size in items:
        of_it = [v for v, other, its in items if other == source and its <= 60]
        expected.append(max(of_it) if source >= 0 and size <= 60 else 0.0)
    found = best_of_source(values, sources.astype(np.int64), sizes.astype(np.int64))
    assert found.tolist() == expected


def test_a_source_of_more_than_sixty_items_is_an_archive_and_no_session() -> None:
    for size, expected in ((60, 1.0), (61, 0.0)):
        found = best_of_source(np.ones(2), np.zeros(2, np.int64), np.full(2, size))
        assert found.tolist() == [expected, expected]


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
