"""Importance from content: bounded, ordered, and placed in the category's range."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.cues import Traits, traits
from ebbmem.records import CATEGORIES
from ebbmem.salience import importance, salience

PLAIN = Traits(
    question=False,
    time=False,
    first_person=False,
    backchannel=False,
    feeling=False,
    number=False,
    names=0,
)
relaxed = settings(deadline=None, max_examples=100)
found_traits = st.builds(
    Traits,
    question=st.booleans(),
    time=st.booleans(),
    first_person=st.booleans(),
    backchannel=st.booleans(),
    feeling=st.booleans(),
    number=st.booleans(),
    names=st.integers(0, 50),
)


def weighed(found: Traits = PLAIN, *, length: int = 5, novelty: float = 0.5, answers: bool = False):
    return salience(found, length=length, novelty=novelty, answers=answers)


def test_a_text_of_nothing_has_the_salience_of_the_bare_intercept() -> None:
    assert weighed(length=0, novelty=0.0) == pytest.approx(1 / (1 + math.exp(1.6)))


def test_every_term_of_the_sum_counts_with_its_weight() -> None:
    found = replace(PLAIN, time=True, first_person=True, names=1, number=True)
    # -1.6 + 0.9 + 0.8 * 0.25 + 0.8 + 0.6 + 0.4 * 1 / 2 + 0.3 + 0.5 * ln 10 / ln 20
    evidence = 1.4 + 0.5 * math.log(10) / math.log(20)
    got = weighed(found, length=9, novelty=0.25, answers=True)
    assert got == pytest.approx(1 / (1 + math.exp(-evidence)))


@pytest.mark.parametrize("name", ["time", "first_person", "feeling", "number"])
def test_what_people_ask_about_later_speaks_for_a_text(name: str) -> None:
    assert weighed(replace(PLAIN, **{name: True})) > weighed()


@pytest.mark.parametrize("name", ["question", "backchannel"])
def test_questions_and_backchannels_speak_against_a_text(name: str) -> None:
    assert weighed(replace(PLAIN, **{name: True})) < weighed()


def test_an_answer_is_worth_more_than_the_same_words_alone() -> None:
    assert weighed(answers=True) > weighed()


def test_a_third_name_and_a_twentieth_keyword_add_nothing() -> None:
    assert weighed(replace(PLAIN, names=9)) == weighed(replace(PLAIN, names=2))
    assert weighed(length=500) == weighed(length=19)


@relaxed
@given(found_traits, st.integers(0, 10_000), st.floats(0.0, 1.0), st.booleans())
def test_salience_lies_in_the_unit_interval(
    found: Traits, length: int, novelty: float, answers: bool
) -> None:
    assert 0.0 < weighed(found, length=length, novelty=novelty, answers=answers) < 1.0


@relaxed
@given(found_traits, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_what_is_new_is_never_less_salient(found: Traits, one: float, other: float) -> None:
    known, new = sorted((one, other))
    assert weighed(found, novelty=known) <= weighed(found, novelty=new)


@relaxed
@given(st.sampled_from(sorted(CATEGORIES)), st.floats(0.0, 1.0))
def test_importance_stays_in_the_range_of_its_category(category: str, content: float) -> None:
    low, high = CATEGORIES[category].importance
    assert low <= importance(content, low, high) <= high + 1e-12


def test_salience_places_importance_linearly_in_the_range() -> None:
    assert importance(0.0, 0.7, 0.9) == 0.7
    assert importance(0.5, 0.7, 0.9) == pytest.approx(0.8)
    assert importance(1.0, 0.7, 0.9) == pytest.approx(0.9)
    assert importance(7.0, 0.7, 0.9) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I am allergic to peanuts since 2019", "What are you allergic to?"),
        ("My sister Anna moved to Oslo last March", "Sounds good!"),
        ("我对花生过敏", "好的"),
        ("我昨天搬到了北京", "你搬到哪里了？"),
    ],
)
def test_facts_about_people_are_more_salient_than_talk(more: str, less: str) -> None:
    assert weighed(traits(more)) > weighed(traits(less))
