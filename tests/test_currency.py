"""What is true now goes before what was: slots, questions about the present, changes of place."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from builders import AT, OpenBank
from ebbmem import InvalidInput, MemoryBank, Policy
from ebbmem.currency import CHANGED, PERSONAL, SLOTS, Statements, Wanted, marks, refreshed, wanted
from ebbmem.slots import ENGLISH, LANGUAGES, Wording
from ebbmem.text import keywords

YEAR = timedelta(days=365)


def slots(text: str) -> set[str]:
    """The names of the slots that a text tells of."""
    names = list(dict.fromkeys(name for each in LANGUAGES for name in each.names))
    return {name for bit, name in enumerate(names) if marks(text) >> bit & 1}


def asked(question: str) -> Wanted | None:
    return wanted(question, keywords(question))


# -- slots -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Ann lives in Paris", "home"),
        ("Ann moved to Paris", "home"),
        ("Ann is living at her aunt's", "home"),
        ("Ann reports to Bob", "boss"),
        ("Ann's report is due on Monday", "deadline"),
        ("the meeting was moved to Friday", "meeting"),
        ("the service runs on Postgres", "database"),
        ("Ann banks with Monzo", "bank"),
        ("Ann eats vegan food", "diet"),
        ("安娜搬到巴黎了", "home"),
        ("安娜的老板是李明", "boss"),
        ("安娜对花生过敏", "allergy"),
        ("安娜把车换成了特斯拉", "car"),
    ],
)
def test_a_text_has_the_slot_that_its_words_name(text: str, slot: str) -> None:
    assert slots(text) == {slot}


def test_a_weak_word_counts_where_no_other_does() -> None:
    assert slots("Ann moved to the early shift") == {"shift"}


def test_every_table_speaks_of_the_same_slots() -> None:
    known = ENGLISH.names.keys()
    assert len(known) <= SLOTS.bit_length()
    for each in LANGUAGES:
        assert each.names.keys() == known
        assert known >= each.values.keys() | each.weak.keys()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Ann lives in Paris now", True),
        ("Ann no longer eats meat", True),
        ("安娜后来改喝绿茶", True),
        ("Ann lives in Paris", False),
        ("安娜喝绿茶", False),
    ],
)
def test_words_of_change_are_noticed(text: str, changed: bool) -> None:
    assert bool(marks(text) & CHANGED) is changed


def test_the_first_person_is_noticed() -> None:
    assert [bool(marks(text) & PERSONAL) for text in ("I live here", "我住在这里", "He lives")] == [
        True,
        True,
        False,
    ]


def test_a_user_may_add_a_language() -> None:
    german = Wording(
        names={"home": "wohnt, wohnt in"},
        values={},
        weak={},
        update="jetzt",
        past="früher",
        present="jetzt",
        several="welche",
        asking="wo, wohl",
    )
    languages = (*LANGUAGES, german)
    assert marks("Anna wohnt in Ulm", languages) == marks("Ann lives in Ulm")
    assert marks("Anna wohnt jetzt in Ulm", languages) & CHANGED
    assert wanted("Wo wohnte Anna früher?", ["anna"], languages) is None


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert marks(text) >= 0
    asked(text)


# -- questions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "Where did Ann live?",
        "Where did Ann live before she moved?",
        "What was Ann's first job?",
        "Why does Ann live in Paris?",
        "What hobbies does Ann have?",
        "What kind of books does Ann read?",
        "How long has Ann lived in Paris?",
        "How many pets does Ann have?",
        "安娜以前住在哪里？",
        "安娜有哪些爱好？",
        "",
    ],
)
def test_another_time_and_several_answers_are_not_about_the_present(question: str) -> None:
    assert asked(question) is None


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where does Ann live?", {"ann"}),
        ("Where does Ann Lee live now?", {"ann", "lee"}),
        ("What is my address?", set()),
        ("王磊现在住在哪里？", {"王", "王磊", "磊"}),
        ("我现在住在哪里？", set()),
    ],
)
def test_a_question_about_the_present_knows_whom_it_is_about(
    question: str, names: set[str]
) -> None:
    found, terms = asked(question), list(dict.fromkeys(keywords(question)))
    assert found is not None
    assert found.plain
    assert {term for term, named in zip(terms, found.named, strict=True) if named} == names


def test_what_may_stand_in_a_slot_is_not_what_is_asked_for() -> None:
    found = asked("What is Ann's style of painting?")
    assert found is not None
    assert found.slots & marks("Ann's hobby is chess") == 0


def test_a_long_message_tells_more_than_it_asks() -> None:
    assert asked("Ann lives in Paris and I miss her. " * 5 + "Where does she live?") is None


# -- two statements --------------------------------------------------------------------------

HOME = marks("Ann lives in Paris")
QUESTION = "Where does Ann live?"  # its terms: ann, live


def two(**changes: Any) -> Statements:
    """An old statement of Ann's home in front of a new one."""
    plain = Statements(
        scores=np.array([0.8, 0.6]),
        marks=np.array([HOME, HOME]),
        created=np.array([1, 2]),
        speaker=np.array([-1, -1]),
        asks=np.array([False, False]),
        talked=np.array([False, False]),
        held=np.array([[True, True], [True, False]]),
        weight=np.array([1.0, 1.0]),
        alike=None,
    )
    return replace(plain, **changes)


def swaps(question: str = QUESTION, **changes: Any) -> bool:
    found = asked(question)
    assert found is not None
    return refreshed(two(**changes), found) == [1, 0]


def test_the_newer_of_one_subject_and_slot_goes_first() -> None:
    assert swaps()


@pytest.mark.parametrize(
    "changes",
    [
        {"created": np.array([2, 1])},
        {"created": np.array([1, 1])},
        {"scores": np.array([0.8, 0.27])},
        {"scores": np.array([0.8, 0.39]), "talked": np.array([True, False])},
        {"asks": np.array([False, True])},
        {"held": np.array([[True, True], [False, True]])},
        {"marks": np.array([HOME, marks("Ann has a dog")])},
        {"marks": np.array([HOME, 0])},
    ],
    ids=[
        "older",
        "as old",
        "under a third of the score",
        "under half of it in a dialogue",
        "a question",
        "another name",
        "another slot",
        "no slot",
    ],
)
def test_it_stays_behind_if_it_is(changes: dict[str, Any]) -> None:
    assert not swaps(**changes)


def test_of_two_speakers_only_what_both_say_from_outside_is_of_one_subject() -> None:
    assert swaps(speaker=np.array([0, 1]))
    assert not swaps(speaker=np.array([0, 1]), marks=np.array([HOME | PERSONAL, HOME]))
    assert swaps(speaker=np.array([0, 0]), marks=np.array([HOME | PERSONAL, HOME | PERSONAL]))


ALIKE = np.array([[1.0, 0.45], [0.45, 1.0]])
UNALIKE = np.array([[1.0, 0.44], [0.44, 1.0]])
STRANGE = "Does Ann have a locker?"  # its terms: ann, locker


def test_without_a_slot_they_must_be_alike_and_a_change_be_said() -> None:
    said = np.array([0, CHANGED])
    assert swaps(STRANGE, marks=said, alike=ALIKE)
    assert not swaps(STRANGE, marks=said, alike=UNALIKE)
    assert not swaps(STRANGE, marks=said)


def test_or_the_newer_answers_about_as_well() -> None:
    silent = np.array([0, 0])
    assert swaps(STRANGE, marks=silent, alike=ALIKE, scores=np.array([0.8, 0.61]))
    assert not swaps(STRANGE, marks=silent, alike=ALIKE, scores=np.array([0.8, 0.59]))


def test_in_a_dialogue_both_must_speak_of_what_else_is_asked() -> None:
    talk = {"talked": np.array([True, True]), "alike": ALIKE}
    said = np.array([0, CHANGED])
    assert swaps(STRANGE, marks=said, held=np.array([[True, True], [True, True]]), **talk)
    assert not swaps(STRANGE, marks=said, held=np.array([[True, True], [True, False]]), **talk)
    assert not swaps(STRANGE, marks=np.array([0, 0]), held=np.ones((2, 2), bool), **talk)


def test_of_three_the_newest_comes_first() -> None:
    found = Statements(
        scores=np.array([0.9, 0.8, 0.7]),
        marks=np.full(3, HOME),
        created=np.array([1, 3, 2]),
        speaker=np.full(3, -1),
        asks=np.zeros(3, bool),
        talked=np.zeros(3, bool),
        held=np.ones((3, 2), bool),
        weight=np.ones(2),
        alike=None,
    )
    question = asked(QUESTION)
    assert question is not None
    assert refreshed(found, question) == [1, 2, 0]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.booleans()), max_size=10))
def test_nothing_is_lost_or_doubled(rows: list[tuple[float, int, bool]]) -> None:
    scores = sorted((score for score, *_ in rows), reverse=True)
    found = Statements(
        scores=np.array(scores),
        marks=np.array([HOME * same for *_, same in rows], np.int64),
        created=np.array([created for _, created, _ in rows], np.int64),
        speaker=np.full(len(rows), -1),
        asks=np.zeros(len(rows), bool),
        talked=np.zeros(len(rows), bool),
        held=np.ones((len(rows), 2), bool),
        weight=np.ones(2),
        alike=None,
    )
    question = asked(QUESTION)
    assert question is not None
    assert sorted(refreshed(found, question)) == list(range(len(rows)))


# -- in a bank -------------------------------------------------------------------------------


def told(bank: MemoryBank, *said: tuple[str, datetime]) -> list[str]:
    return [bank.remember(text, at=at).id for text, at in said]


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    bank = open_bank(policy=Policy.chat())
    told(bank, ("Ann lives in Paris", AT - YEAR), ("Ann lives in Rome since last week", AT))
    told(bank, ("Ben lives in Bonn", AT), ("Ann likes the weather", AT))
    return bank


def texts(bank: MemoryBank, question: str) -> list[str]:
    return [hit.memory.text for hit in bank.recall(question, 2, reinforce=False)]


def test_asked_about_now_the_newer_fact_comes_first(bank: MemoryBank) -> None:
    assert texts(bank, "Where does Ann live?")[0] == "Ann lives in Rome since last week"


def test_asked_about_then_the_order_is_that_of_the_words(bank: MemoryBank) -> None:
    assert texts(bank, "Where did Ann live?")[0] == "Ann lives in Paris"


def test_a_policy_may_leave_the_order_alone(bank: MemoryBank) -> None:
    quiet = bank.at("u1", policy=Policy.chat(current_first=False))
    assert texts(quiet, "Where does Ann live?")[0] == "Ann lives in Paris"
    with pytest.raises(InvalidInput, match="current_first"):
        Policy(current_first=1)  # type: ignore[arg-type]


def test_who_changes_places_changes_scores_and_says_so(bank: MemoryBank) -> None:
    quiet = bank.at("u1", policy=Policy.chat(current_first=False))
    before = quiet.recall("Where does Ann live?", 9, reinforce=False)
    bank.at("u1", policy=Policy.chat())
    after = bank.recall("Where does Ann live?", 9, reinforce=False)
    assert [hit.score for hit in after] == [hit.score for hit in before]
    by_text = {hit.memory.text: hit for hit in before}
    for hit in after:
        moved = hit.score - by_text[hit.memory.text].score
        assert hit.bonuses.get("current", 0.0) == pytest.approx(moved)
    assert after[0].bonuses["current"] > 0.0


def test_in_chinese_too(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy.chat())
    told(bank, ("王磊住在杭州。", AT - YEAR), ("王磊搬到成都了。", AT), ("李娜住在西安。", AT))
    assert texts(bank, "王磊现在住在哪里？")[0] == "王磊搬到成都了。"
