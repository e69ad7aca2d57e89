"""Importance from content: bounded, ordered, and placed in the category's range."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem import Draft, MemoryBank
from ebbmem.cues import Traits, stated, traits
from ebbmem.records import CATEGORIES
from ebbmem.salience import Heard, importance, salience, salience_of, terms
from ebbmem.salience_weights import BIAS, WEIGHTS

PLAIN = Traits(
    question=False,
    time=False,
    first_person=False,
    backchannel=False,
    feeling=False,
    number=False,
    names=0,
)
COMMON = Heard(length=6, stated=6, new=1, rarity=0.6)
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
    second_person=st.booleans(),
    kin=st.booleans(),
    quote=st.booleans(),
)
counts = st.integers(0, 10_000)
ways_to_hear = st.builds(
    Heard,
    length=counts,
    stated=counts,
    new=counts,
    rarity=st.floats(0.0, 1.0),
    answers=st.booleans(),
    assistant=st.booleans(),
)


def weighed(found: Traits = PLAIN, heard: Heard = COMMON) -> float:
    return salience(found, heard)


def remembered(*drafts: Draft) -> list[float]:
    with MemoryBank.open(namespace="a", embedder=None) as bank:
        return [each.importance for each in bank.remember_many(drafts)]


# -- the formula ---------------------------------------------------------------------------------


def test_a_text_of_nothing_has_the_salience_of_the_bare_bias() -> None:
    nothing = Heard(length=0, stated=0, new=0, rarity=0.0)
    assert weighed(PLAIN, nothing) == pytest.approx(1 / (1 + math.exp(-BIAS)))


def test_every_term_counts_with_its_weight() -> None:
    found = replace(PLAIN, time=True, names=2, kin=True)
    heard = Heard(length=9, stated=4, new=1, rarity=0.5, answers=True)
    evidence = (
        BIAS
        + WEIGHTS["time"]
        + 2 * WEIGHTS["names"]
        + WEIGHTS["kin"]
        + WEIGHTS["answers"]
        + WEIGHTS["length"] * math.log(10)
        + WEIGHTS["stated"] * math.log(5)
        + WEIGHTS["new"] * math.log(2)
        + WEIGHTS["rarity"] * 0.5
    )
    assert weighed(found, heard) == pytest.approx(1 / (1 + math.exp(-evidence)))


def test_there_is_a_weight_for_every_term_and_no_other() -> None:
    assert set(terms(PLAIN, COMMON)) == set(WEIGHTS)


@pytest.mark.parametrize("name", ["time", "first_person", "feeling", "kin", "quote"])
def test_what_people_ask_about_later_speaks_for_a_text(name: str) -> None:
    assert weighed(replace(PLAIN, **{name: True})) > weighed()


@pytest.mark.parametrize("name", ["question", "second_person"])
def test_what_is_asked_of_others_speaks_against_a_text(name: str) -> None:
    assert weighed(replace(PLAIN, **{name: True})) < weighed()


def test_an_answer_is_worth_more_than_the_same_words_alone() -> None:
    assert weighed(heard=replace(COMMON, answers=True)) > weighed()


def test_what_an_assistant_says_is_worth_less_than_the_same_words_of_a_person() -> None:
    assert weighed(heard=replace(COMMON, assistant=True)) < weighed()


def test_a_fourth_name_and_a_sixty_first_keyword_add_nothing() -> None:
    assert weighed(replace(PLAIN, names=9)) == weighed(replace(PLAIN, names=3))
    long = Heard(length=60, stated=60, new=60, rarity=0.5)
    longer = Heard(length=500, stated=500, new=500, rarity=0.5)
    assert weighed(PLAIN, long) == weighed(PLAIN, longer)


@relaxed
@given(found_traits, ways_to_hear)
def test_salience_lies_in_the_unit_interval(found: Traits, heard: Heard) -> None:
    assert 0.0 < weighed(found, heard) < 1.0


@relaxed
@given(found_traits, ways_to_hear, st.floats(0.0, 1.0), counts)
def test_what_is_rarer_or_newer_is_never_less_salient(
    found: Traits, heard: Heard, rarity: float, new: int
) -> None:
    more = replace(heard, rarity=max(heard.rarity, rarity), new=max(heard.new, new))
    assert weighed(found, heard) <= weighed(found, more)


# -- placed in a range, and back -----------------------------------------------------------------


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


@relaxed
@given(st.sampled_from(sorted(CATEGORIES)), st.floats(0.05, 1.0))
def test_salience_is_found_again_behind_an_importance(category: str, content: float) -> None:
    low, high = CATEGORIES[category].importance
    assert salience_of(importance(content, low, high), low, high) == pytest.approx(content)


def test_an_importance_beyond_the_range_is_its_end_and_a_range_of_one_value_says_nothing() -> None:
    assert salience_of([0.0, 0.7, 1.0], 0.7, 0.9).tolist() == [0.05, 0.05, 1.0]
    assert float(salience_of(0.4, 0.4, 0.4)) == 0.5


# -- wording -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("I went home.", "I went home."),
        ("I went home. Did you?", "I went home."),
        ("Did you? I went home", "I went home"),
        ("Did you?", ""),
        ("我回家了。你呢？", "我回家了。"),
    ],
)
def test_what_is_stated_are_the_sentences_that_ask_nothing(text: str, rest: str) -> None:
    assert stated(text).strip() == rest


@pytest.mark.parametrize("text", ["my sister", "Our dogs", "grandma", "我妈妈", "他的同事"])
def test_who_belongs_to_somebody_is_seen(text: str) -> None:
    assert traits(text).kin


@pytest.mark.parametrize("text", ["a sisterhood", "the catalogue", "我喜欢茶"])
def test_other_words_are_nobody(text: str) -> None:
    assert not traits(text).kin


@pytest.mark.parametrize("text", ["you're right", "is it yours", "您好"])
def test_the_second_person_is_seen(text: str) -> None:
    assert traits(text).second_person


@pytest.mark.parametrize(
    ("text", "quotes"), [('read "Dune"', True), ("《三体》", True), ("it's", False)]
)
def test_a_title_or_a_quotation_is_seen(text: str, quotes: bool) -> None:
    assert traits(text).quote is quotes


# -- as a bank hears it --------------------------------------------------------------------------


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
    [weight] = remembered(Draft(text=more))
    [other] = remembered(Draft(text=less))
    assert weight > other


def test_words_heard_before_make_a_text_less_important() -> None:
    tea = "green tea from the mountains"
    _, again = remembered(Draft(text="green tea is from the mountains"), Draft(text=tea))
    assert again < remembered(Draft(text=tea))[0]


def test_it_makes_no_difference_whether_texts_come_in_one_call_or_several() -> None:
    drafts = [
        Draft(text=text, speaker=speaker, source="talk")
        for text, speaker in (
            ("Do you take milk with your tea?", "Ann"),
            ("I take oat milk, since March.", "Bob"),
            ("Oat milk! Since when do you like oat milk?", "Ann"),
            ("My sister Eva told me about it.", "Bob"),
        )
    ]
    with MemoryBank.open(namespace="a", embedder=None) as bank:
        one_by_one = [bank.remember_many([each])[0].importance for each in drafts]
    assert remembered(*drafts) == pytest.approx(one_by_one, abs=1e-12)


def test_a_reply_of_somebody_else_is_more_important_than_the_same_after_a_statement() -> None:
    reply = Draft(text="In Oslo, with Eva.", speaker="Bob", source="talk")
    [_, answer] = remembered(Draft(text="Where then?", speaker="Ann", source="talk"), reply)
    [_, remark] = remembered(Draft(text="There then.", speaker="Ann", source="talk"), reply)
    assert answer > remark


def test_a_backchannel_counts_for_less_than_the_same_words_without() -> None:
    heard = Heard(length=1, stated=1, new=1, rarity=1.0)
    plain, mere = (salience(replace(PLAIN, backchannel=each), heard) for each in (False, True))
    assert math.log(plain / (1 - plain)) - math.log(mere / (1 - mere)) == pytest.approx(1.5)
