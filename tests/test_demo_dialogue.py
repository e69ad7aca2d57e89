"""The conversation that `ebbmem demo` replays keeps the shape the demo counts on."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import pytest

from ebbmem.records import CATEGORIES

DIALOGUE: dict[str, Any] = json.loads(
    (files("ebbmem") / "demo" / "dialogue.json").read_text(encoding="utf-8")
)
SESSIONS: list[dict[str, Any]] = DIALOGUE["sessions"]
TURNS: list[dict[str, Any]] = [turn for session in SESSIONS for turn in session["turns"]]
TEXTS: dict[str, str] = {turn["id"]: turn["text"] for turn in TURNS}
QUESTIONS: list[dict[str, Any]] = DIALOGUE["questions"]
GOLD: dict[str, list[str]] = {each["question"]: each["gold"] for each in QUESTIONS}
HAN = re.compile(r"[\u4e00-\u9fff]")


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def only_gold(question: str) -> str:
    [gold] = GOLD[question]
    return TEXTS[gold]


def session_of(turn_id: str) -> str:
    return next(
        str(each["source"])
        for each in SESSIONS
        if turn_id in {turn["id"] for turn in each["turns"]}
    )


def test_it_is_about_120_turns_in_about_16_sessions() -> None:
    assert 110 <= len(TURNS) <= 130
    assert 14 <= len(SESSIONS) <= 18
    assert all(5 <= len(each["turns"]) <= 11 for each in SESSIONS)


def test_ids_texts_and_sources_are_unique() -> None:
    for values in (
        [turn["id"] for turn in TURNS],
        [turn["text"] for turn in TURNS],
        [each["source"] for each in SESSIONS],
    ):
        assert [value for value, times in Counter(values).items() if times > 1] == []


def test_times_are_aware_ascending_and_span_four_months() -> None:
    times = [datetime.fromisoformat(each["at"]) for each in SESSIONS]
    assert all(each.utcoffset() == timedelta(0) for each in times)
    assert times == sorted(set(times))
    assert times[0].date() == datetime(2026, 1, 5, tzinfo=UTC).date()
    assert times[-1].date() == datetime(2026, 5, 4, tzinfo=UTC).date()


def test_only_the_two_people_speak_and_both_do_in_every_session() -> None:
    for session in SESSIONS:
        assert {turn["speaker"] for turn in session["turns"]} == set(DIALOGUE["people"])


def test_a_category_is_written_only_where_it_is_not_fact() -> None:
    written = {turn["category"] for turn in TURNS if "category" in turn}
    assert written == set(CATEGORIES) - {"fact"}


def test_every_gold_id_is_a_turn() -> None:
    assert {gold for golds in GOLD.values() for gold in golds} <= set(TEXTS)


def test_there_are_14_to_18_questions_three_of_them_chinese() -> None:
    assert 14 <= len(GOLD) <= 18
    assert len(GOLD) == len(QUESTIONS)
    assert sum(HAN.search(question) is not None for question in GOLD) == 3


@pytest.mark.parametrize(
    "sentence",
    ["I prefer tabs over spaces", "我最喜欢的茶是乌龙茶", "现在改喝绿茶了"],
)
def test_a_promised_sentence_is_said_once(sentence: str) -> None:
    assert [sentence in text for text in TEXTS.values()].count(True) == 1


def test_formatting_code_is_answered_by_the_tabs_turns() -> None:
    golds = [TEXTS[gold] for gold in GOLD["How should I format code?"]]
    assert len(golds) > 1
    assert all("tabs" in text for text in golds)


def test_one_turn_names_the_backend_and_what_it_runs_on() -> None:
    naming = [text for text in TEXTS.values() if "backend" in words(text)]
    assert naming == [only_gold("What is our backend built with?")]
    assert "runs on Python with MongoDB" in naming[0]


def test_the_deployment_turn_names_nothing_of_the_backend() -> None:
    text = only_gold("How do we deploy it?")
    assert "containerised with Docker" in text
    assert "rolled out on Kubernetes" in text
    named = {"backend", "built", "python", "mongodb", "service", "server"}
    assert words(text) & named == set()


def test_backend_and_deployment_are_told_in_different_sessions() -> None:
    [backend], [deployment] = GOLD["What is our backend built with?"], GOLD["How do we deploy it?"]
    assert session_of(backend) != session_of(deployment)


def test_nothing_said_shares_a_word_with_the_unrelated_question() -> None:
    assert GOLD["What is the boiling point of tungsten?"] == []
    said = set().union(*(words(text) for text in TEXTS.values()))
    assert [word for word in said if word.startswith(("boil", "point", "tungsten"))] == []


def test_a_stretch_of_chinese_is_spoken() -> None:
    chinese = [
        sum(HAN.search(turn["text"]) is not None for turn in each["turns"]) for each in SESSIONS
    ]
    assert sorted(chinese)[-2:] == [4, 7]
