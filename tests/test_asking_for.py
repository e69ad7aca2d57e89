"""What a question asks for and what an item holds, in English, Chinese and what is added."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.asking import (
    CHINESE,
    ENGLISH,
    LANGUAGES,
    MARKS,
    NAMES,
    Asks,
    Vocabulary,
    asks,
    count_names,
    marks,
)
from ebbmem.asking import names as names_in
from ebbmem.text import words

DUTCH = Vocabulary(time="gisteren morgen", ask_time=r"^wanneer\b", ask_place=r"^waar\b")
JAPANESE = Vocabulary(feeling="嬉しい", ask_person="だれ")


def held(text: str, languages: tuple[Vocabulary, ...] = LANGUAGES) -> set[str]:
    """The marks of a text by name."""
    bits = marks(text, words(text), languages)
    return {name for at, name in enumerate(MARKS) if bits >> at & 1}


def names(text: str, *known: str) -> int:
    return count_names(names_in(text), known)


def wanted(question: str, languages: tuple[Vocabulary, ...] = LANGUAGES) -> set[str]:
    bits = asks(question, languages).wants
    return {name for at, name in enumerate(MARKS) if bits >> at & 1}


# -- items ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained yesterday", {"time"}),
        ("It took ninety minutes", {"unit"}),
        ("Twelve plates broke", {"number"}),
        ("Room 7 was taken", {"number"}),
        ("It broke because it froze", {"reason"}),
        ("Her sister called", {"person"}),
        ("The museum was shut", {"place"}),
        ("They sounded grateful", {"feeling"}),
        ("I slept", {"self"}),
        ("We've slept", {"self"}),
        ('She read "Momo" aloud', {"quote"}),
        ("She read “Momo” aloud", {"quote"}),
        ("Three days ago", {"number", "time", "unit"}),
        ("Rain fell", set()),
    ],
)
def test_an_english_text_holds_these(text: str, expected: set[str]) -> None:
    assert held(text) == expected


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("昨晚下雨，今晚也是", "time"),
        ("走了几分钟", "unit"),
        ("走了幾分鐘", "unit"),
        ("买了两公斤", "number"),
        ("買了兩公斤", "number"),
        ("因为堵车", "reason"),
        ("因為塞車", "reason"),
        ("妈妈做饭", "person"),
        ("媽媽做飯", "person"),
        ("图书馆关门了", "place"),
        ("圖書館關門了", "place"),
        ("他很开心", "feeling"),
        ("他很開心", "feeling"),
        ("我睡了", "self"),
        ("读了《活着》", "quote"),
        ("讀了「活著」", "quote"),
    ],
)
def test_a_chinese_text_holds_this_in_either_script(text: str, mark: str) -> None:
    assert mark in held(text)


def test_a_chinese_text_may_hold_nothing() -> None:
    assert held("他睡着了") == set()


def test_an_english_word_is_no_part_of_another() -> None:
    assert "place" not in held("The parking was full")


def test_names_are_counted_once_each_and_not_where_a_sentence_begins() -> None:
    assert names("Today Anna met Ben and Anna") == 2
    assert names("Anna came. Ben stayed! Carl? Dora") == 0


def test_names_that_tell_nothing_apart_do_not_count() -> None:
    assert names("Today Anna met Ben", "Anna") == 1


def test_more_names_than_the_most_count_as_the_most() -> None:
    said = "we saw Anna and Ben and Carl and Dora and Emil and Fritz"
    assert names(said) == NAMES == 5


def test_digits_quotes_and_names_need_no_language() -> None:
    text = 'It is 7, said Anna: "Yes"'
    assert held(text, (Vocabulary(),)) == {"number", "quote"}


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.sets(st.text(max_size=5)))
def test_any_text_has_known_marks_and_a_bounded_number_of_names(text: str, known: set[str]) -> None:
    bits, count = marks(text, words(text)), count_names(names_in(text), known)
    assert 0 <= bits < 1 << len(MARKS)
    assert 0 <= count <= count_names(names_in(text), ()) <= NAMES


# -- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["When did Anna move?", "On which day did it rain?", "她什么时候搬家？", "她什麼時候搬家？"],
)
def test_when_asks_for_a_time_and_nothing_else(question: str) -> None:
    found = asks(question)
    assert (found.time, found.wants, found.names) == (True, 0, False)


def test_how_long_asks_for_a_time_and_a_number() -> None:
    for question in ("How long did it last?", "等了多久？"):
        assert asks(question).time
        assert wanted(question) == {"number"}


@pytest.mark.parametrize(
    ("question", "mark", "named"),
    [
        ("Who called?", "person", True),
        ("谁来了？", "person", True),
        ("誰來了？", "person", True),
        ("Where is the key?", "place", True),
        ("钥匙在哪里？", "place", True),
        ("鑰匙在哪裡？", "place", True),
        ("How many cups are there?", "number", False),
        ("有几个杯子？", "number", False),
        ("有幾個杯子？", "number", False),
        ("Why did it fail?", "reason", False),
        ("为什么失败？", "reason", False),
        ("為什麼失敗？", "reason", False),
    ],
)
def test_a_question_word_asks_for_one_mark_and_maybe_a_name(
    question: str, mark: str, named: bool
) -> None:
    found = asks(question)
    assert wanted(question) == {mark}
    assert (found.names, found.time) == (named, False)


@pytest.mark.parametrize("question", ["What did she cook?", "她煮了什么？", "她煮了什麼？"])
def test_an_open_question_is_answered_by_names_and_titles(question: str) -> None:
    assert wanted(question) == {"quote"}
    assert asks(question).names


@pytest.mark.parametrize(
    "question",
    ["When and which books did she read?", "什么时候读了哪些书？", "什麼時候讀了哪些書？"],
)
def test_who_asks_for_several_is_answered_by_titles_whatever_else_is_asked(question: str) -> None:
    assert wanted(question) == {"quote"}
    assert asks(question).time


@pytest.mark.parametrize("question", ["How was she?", "她心情如何？", "她感覺好嗎？", "怎麼樣？"])
def test_how_something_was_asks_for_a_feeling(question: str) -> None:
    assert asks(question).feeling


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("What did you recommend to me?", "assistant"),
        ("Which dish was suggested to me?", "assistant"),
        ("你推荐了什么？", "assistant"),
        ("你推薦了什麼？", "assistant"),
        ("What is my sister called?", "user"),
        ("我的姐姐叫什么？", "user"),
        ("我的姐姐叫什麼？", "user"),
        ("What is Ben's job?", None),
        ("他叫什么？", None),
    ],
)
def test_a_question_asks_for_the_words_of_one_role(question: str, role: str | None) -> None:
    assert asks(question).role == role


def test_a_question_keeps_its_words_to_find_speakers_in() -> None:
    assert asks("What did Anna say?").words == {"what", "did", "anna", "say"}


def test_who_says_nothing_asks_for_anything() -> None:
    assert asks("") == Asks(wants=1 << MARKS.index("quote"), names=True)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80))
def test_any_question_asks_for_known_marks_and_roles(question: str) -> None:
    found = asks(question)
    assert 0 <= found.wants < 1 << len(MARKS)
    assert found.role in {None, "assistant", "user"}
    assert found == asks(question)


# -- other words and languages -------------------------------------------------------------------


def test_an_added_word_marks_items() -> None:
    mine = replace(ENGLISH, place=ENGLISH.place + " loch")
    assert "place" not in held("The loch froze")
    assert "place" in held("The loch froze", (mine, CHINESE))
    assert "place" in held("The park froze", (mine, CHINESE))


def test_an_added_chinese_word_marks_items_without_spaces() -> None:
    mine = replace(CHINESE, place=CHINESE.place + " 码头")
    assert "place" not in held("他在码头睡着了")
    assert "place" in held("他在码头睡着了", (ENGLISH, mine))


def test_an_added_pattern_asks() -> None:
    mine = replace(ENGLISH, ask_place=rf"{ENGLISH.ask_place}|\bwhereabouts\b")
    assert wanted("Tell her whereabouts", (mine,)) == {"place"}
    assert wanted("Where is she?", (mine,)) == {"place"}


def test_a_third_language_is_read_beside_the_others() -> None:
    three = (*LANGUAGES, DUTCH)
    assert held("Gisteren viel er regen", three) == {"time"}
    assert held("Gisteren viel er regen") == set()
    assert asks("Wanneer kwam hij?", three).time
    assert not asks("Wanneer kwam hij?").time
    assert wanted("Waar is het?", three) == {"place"}
    assert held("It rained yesterday", three) == {"time"}
    assert asks("她什么时候搬家？", three).time


def test_a_third_language_may_have_no_spaces() -> None:
    three = (*LANGUAGES, JAPANESE)
    assert "feeling" in held("とても嬉しいです", three)
    assert wanted("だれですか", three) == {"person"}


def test_a_language_that_leaves_everything_out_asks_for_nothing_in_particular() -> None:
    found = asks("When did who do what, and where?", (Vocabulary(),))
    assert (found.time, found.feeling, found.role) == (False, False, None)


@pytest.mark.parametrize("language", LANGUAGES, ids=["english", "chinese"])
def test_every_word_that_marks_an_item_does_so_alone(language: Vocabulary) -> None:
    for each in fields(Vocabulary):
        if not each.name.startswith("ask_"):
            for word in getattr(language, each.name).split():
                assert each.name in held(word)
