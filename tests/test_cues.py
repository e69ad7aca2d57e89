"""Questions, times, persons, names and dates, in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.cues import LANGUAGES, Cues, DateCue, date_cue, is_question, traits

relaxed = settings(deadline=None, max_examples=150)


# -- wording -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "What time is it?",
        "Did you see her? I did.",
        "You moved to Oslo?  ",
        "你喜欢什么",
        "你去过北京吗？",
        "好吗",
        "为什麼",
        "有没有糖",
        "几点开门",
    ],
)
def test_questions_are_seen(text: str) -> None:
    assert traits(text).question
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    ["I know what you did.", "It is late.", "What a day! I loved it.", "我喜欢咖啡。", "好的"],
)
def test_statements_are_no_questions(text: str) -> None:
    assert not traits(text).question
    assert not is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "We met yesterday",
        "see you on Tuesday",
        "at 5pm",
        "at 7:30 a.m. sharp",
        "since 2019",
        "on May 5",
        "on 5 May",
        "two weeks ago",
        "昨天下午",
        "10月去的",
        "星期五见",
        "上個星期",
        "3号",
    ],
)
def test_times_are_seen(text: str) -> None:
    assert traits(text).time


@pytest.mark.parametrize("text", ["I may come", "room 12", "a mayor", "我喜欢茶", "the weekender"])
def test_other_words_are_no_times(text: str) -> None:
    assert not traits(text).time


@pytest.mark.parametrize("text", ["I'm here", "that is mine", "ask us", "我在这里"])
def test_the_first_person_is_seen(text: str) -> None:
    assert traits(text).first_person


@pytest.mark.parametrize("text", ["Thyme is fine", "Iris and Ian", "他在这里"])
def test_the_first_person_is_not_seen_in_other_words(text: str) -> None:
    assert not traits(text).first_person


@pytest.mark.parametrize(
    "text", ["Ok", "Thanks a lot!", "sounds good", "Haha, right", "好的", "嗯嗯", "谢谢！"]
)
def test_backchannels_are_seen(text: str) -> None:
    assert traits(text).backchannel


@pytest.mark.parametrize(
    "text",
    ["Ok, tomorrow I will buy bread and milk", "Okra is tasty", "好的咖啡很难找到", "Nora called"],
)
def test_longer_texts_are_no_backchannels(text: str) -> None:
    assert not traits(text).backchannel


@pytest.mark.parametrize(
    "text", ["I love tea", "my favourite tea", "allergic to nuts", "我喜欢茶", "对花生过敏"]
)
def test_feelings_are_seen(text: str) -> None:
    assert traits(text).feeling


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yesterday Anna met Bob and Anna in Paris", 3),
        ("Anna came. Bob left.", 0),  # a capital at the start of a sentence is no name
        ("i met anna", 0),
        ("我见了Anna", 0),
    ],
)
def test_names_are_distinct_capitals_inside_a_sentence(text: str, names: int) -> None:
    assert traits(text).names == names


def test_digits_of_any_script_are_numbers() -> None:
    assert traits("room 12").number
    assert traits("١٢").number
    assert not traits("room twelve").number


def test_a_language_of_ones_own_is_read_beside_the_others() -> None:
    german = Cues(
        question=r"^(wer|was|wann)\b",
        time=r"\bgestern\b",
        first_person=r"\bich\b",
        backchannel=r"^genau\b",
        feeling=r"\bliebe\b",
    )
    found = traits("Wann war ich gestern da", (*LANGUAGES, german))
    assert (found.question, found.time, found.first_person) == (True, True, True)
    assert is_question("Wann war ich da", (german,))


@relaxed
@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert traits(text).names >= 0
    assert traits(text).question == is_question(text)


# -- dates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "cue"),
    [
        ("What did I do on May 2?", DateCue(None, 5, 2)),
        ("What did I do on 2 May 2023?", DateCue(2023, 5, 2)),
        ("on the 2nd of May, 2023", DateCue(2023, 5, 2)),
        ("on May 2nd, 2023", DateCue(2023, 5, 2)),
        ("in May", DateCue(None, 5, None)),
        ("since last May", DateCue(None, 5, None)),
        ("What happened in May 2023?", DateCue(2023, 5, None)),
        ("Where was I in december 1999?", DateCue(1999, 12, None)),
        ("Dec. 24", DateCue(None, 12, 24)),
        ("31 dec 1999", DateCue(1999, 12, 31)),
        ("who came on July 4 and on August 5?", DateCue(None, 7, 4)),
        ("What did we plan in 2019?", DateCue(2019, None, None)),
        ("on 2023-05-03", DateCue(2023, 5, 3)),
        ("in 2023-05", DateCue(2023, 5, None)),
        ("2023年5月3日去了哪里", DateCue(2023, 5, 3)),
        ("5月3号", DateCue(None, 5, 3)),
        ("2023年12月发生了什么", DateCue(2023, 12, None)),
        ("10月去了哪里", DateCue(None, 10, None)),
        ("What did June say in May?", DateCue(None, 5, None)),
        ("In 2023, what did I do in May?", DateCue(2023, 5, None)),
        ("Which code opened room 2024 in May?", DateCue(None, 5, None)),
        ("Did April and May meet in 2020?", DateCue(2020, None, None)),
        ("What happened in early 2023?", DateCue(2023, None, None)),
        ("mid-May", DateCue(None, 5, None)),
        ("April 2022", DateCue(2022, 4, None)),
        ("the 3rd of June", DateCue(None, 6, 3)),
    ],
)
def test_a_date_in_a_question_is_read(question: str, cue: DateCue) -> None:
    assert date_cue(question) == cue


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What may I do?",
        "May I come in?",
        "Who is Mark?",
        "Is the mayor in?",
        "What did the decimals say?",
        "on 2023-13-01",
        "on 2023-05-32",
        "on May 32",
        "13月",
        "12个月",
        "call 20231",
        "我五点见谁",
        "What does June love to eat?",
        "Where does Jan live?",
        "April called",
        "Did Dec call?",
        "May",
        "march",
        "August",
        "What does August think of Julia?",
        "Room 2024 door code",
        "I scored 2000 points",
        "What did room 1999 cost?",
        "in the 2000s",
        "2023?",
    ],
)
def test_other_questions_name_no_date(question: str) -> None:
    assert date_cue(question) is None


MONTHS = [
    "january february march april may june july august september october november december".split(),
    "jan feb mar apr may jun jul aug sep oct nov dec".split(),
]


@pytest.mark.parametrize("names", MONTHS)
@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
def test_no_month_alone_is_a_date_and_every_month_beside_a_number_is(
    names: list[str], case: Callable[[str], str]
) -> None:
    for month, name in enumerate(map(case, names), 1):
        assert date_cue(name) is date_cue(f"Where does {name} live?") is None
        assert date_cue(f"the cake that {name} baked for us") is None
        assert date_cue(f"What was on {name} 3?") == DateCue(None, month, 3)
        assert date_cue(f"What was on the 3rd of {name}?") == DateCue(None, month, 3)
        assert date_cue(f"our plan for {name}, 2021") == DateCue(2021, month, None)


LEADS = "in of since until by last this next early late mid during before after".split()


@pytest.mark.parametrize("lead", LEADS)
def test_a_word_of_time_before_a_month_makes_it_one(lead: str) -> None:
    for month, name in enumerate(MONTHS[0], 1):
        assert date_cue(f"What changed {lead} {name}?") == DateCue(None, month, None)


@pytest.mark.parametrize("lead", "in of since during until before after from by year".split())
def test_a_year_counts_behind_a_word_of_time_alone(lead: str) -> None:
    assert date_cue(f"What changed {lead} 2019?") == DateCue(2019, None, None)
    assert date_cue(f"What changed {lead} flat 2019?") is None


@pytest.mark.parametrize(
    ("question", "cue"),
    [
        ("What did we plan for May 2023?", DateCue(2023, 5, None)),
        ("What happened, say, 2023 May?", DateCue(2023, 5, None)),
    ],
)
def test_may_beside_a_year_is_a_month(question: str, cue: DateCue) -> None:
    assert date_cue(question) == cue


def test_a_year_before_a_chinese_character_is_read() -> None:
    assert date_cue("2023年发生了什么") == DateCue(2023, None, None)


def test_full_width_digits_are_digits() -> None:
    assert date_cue("２０２３年５月３日") == DateCue(2023, 5, 3)


@relaxed
@given(st.text(st.sampled_from("0123456789-/月年日may MAYjan.,第2nd in"), max_size=30))
def test_every_cue_is_a_possible_date(question: str) -> None:
    cue = date_cue(question)
    if cue is not None:
        assert cue.month is None or 1 <= cue.month <= 12
        assert cue.day is None or 1 <= cue.day <= 31
        assert cue.month is not None or cue.year is not None
