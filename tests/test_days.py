"""Days that a question names by how far they are, against a calendar written down here."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem.days import Days, days_fit, days_named
from ebbmem.testing import ManualClock

EPOCH = date(1970, 1, 1)
TODAY = date(2024, 3, 13)  # a Wednesday, in a leap year


def named(question: str) -> tuple[str, str] | None:
    found = days_named(question, (TODAY - EPOCH).days)
    if found is None:
        return None
    first, last = (date.fromordinal(EPOCH.toordinal() + day) for day in (found.first, found.last))
    return first.isoformat(), last.isoformat()


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did I tell you yesterday?", "2024-03-12", "2024-03-12"),
        ("Where was I last night?", "2024-03-12", "2024-03-12"),
        ("What happened the day before yesterday?", "2024-03-11", "2024-03-11"),
        ("What did I say three days ago?", "2024-03-10", "2024-03-10"),
        ("Who called 12 days ago?", "2024-03-01", "2024-03-01"),
        ("Where was I two weeks ago?", "2024-02-25", "2024-03-02"),
        ("What did I buy last week?", "2024-03-04", "2024-03-10"),
        ("What did I buy last month?", "2024-02-01", "2024-02-29"),
        ("Where did we go last year?", "2023-01-01", "2023-12-31"),
        ("What did we plan last Monday?", "2024-03-11", "2024-03-11"),
        ("What did we plan on Wednesday?", "2024-03-06", "2024-03-06"),
        ("我昨天说了什么？", "2024-03-12", "2024-03-12"),
        ("前天我去了哪里？", "2024-03-11", "2024-03-11"),
        ("三天前我说了什么？", "2024-03-10", "2024-03-10"),
        ("上周我买了什么？", "2024-03-04", "2024-03-10"),
        ("上週三我們聊了什麼？", "2024-03-06", "2024-03-06"),
        ("上个月我读了什么书？", "2024-02-01", "2024-02-29"),
        ("去年我们去了哪里？", "2023-01-01", "2023-12-31"),
    ],
)
def test_a_question_names_these_days(question: str, first: str, last: str) -> None:
    assert named(question) == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "What shall I wear today?",  # asks for no memory of today
        "I ran ten miles yesterday. Any tips for sore legs?",  # tells of it
        "昨天我跑步了。有什么建议？",
        "今天穿什么？",
        "Who is Monday?",
        "Which database do we use?",
        "How long will it last?",
        "What will we do in three days?",
    ],
)
def test_a_question_names_no_day(question: str) -> None:
    assert named(question) is None


@given(st.text(max_size=60), st.integers(-10_000, 40_000))
def test_whatever_is_asked_the_days_are_in_order_and_not_to_come(text: str, today: int) -> None:
    found = days_named(text, today)
    assert found is None or found.first <= found.last <= today + 10


def test_what_was_said_on_the_days_fits_and_what_came_after_fits_by_half() -> None:
    days = np.array([9, 10, 11, 12, 13, 15, 16], np.int64) * 86_400_000_000 + 1
    assert days_fit(Days(10, 11), days).tolist() == [0.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    "question", ["What did we talk about yesterday?", "What did we talk about on March 12?"]
)
def test_a_named_day_answers_without_a_shared_word(open_bank: OpenBank, question: str) -> None:
    clock = ManualClock(datetime(2024, 3, 13, 12, tzinfo=UTC))
    bank = open_bank(path=":memory:", embedder=None, clock=clock)
    for day in (2, 12):
        at = datetime(2024, 3, day, 9, tzinfo=UTC)
        bank.remember(f"the lamp number {day} is broken", at=at)
    [hit] = bank.recall(question)
    assert hit.memory.created_at.day == 12
    assert hit.bonuses["date"] > 0.0


def test_a_day_on_which_nothing_was_said_answers_nothing(open_bank: OpenBank) -> None:
    clock = ManualClock(datetime(2024, 3, 13, 12, tzinfo=UTC))
    bank = open_bank(path=":memory:", embedder=None, clock=clock)
    bank.remember("the lamp is broken", at=datetime(2024, 3, 2, tzinfo=UTC))
    assert bank.recall("What did we talk about yesterday?") == []


def test_only_the_named_day_itself_answers_without_a_shared_word(open_bank: OpenBank) -> None:
    clock = ManualClock(datetime(2024, 3, 13, 12, tzinfo=UTC))
    bank = open_bank(path=":memory:", embedder=None, clock=clock)
    for day in (11, 12, 13):
        bank.remember(f"the lamp number {day} is broken", at=datetime(2024, 3, day, 9, tzinfo=UTC))
    assert [hit.memory.created_at.day for hit in bank.recall("What about yesterday?")] == [12]
    assert [hit.memory.created_at.day for hit in bank.recall("三月十一日说了什么？")] == [11]


def test_a_month_beside_a_named_day_does_not_answer_by_itself(open_bank: OpenBank) -> None:
    clock = ManualClock(datetime(2024, 3, 13, 12, tzinfo=UTC))
    bank = open_bank(path=":memory:", embedder=None, clock=clock)
    for day in (2, 12):
        bank.remember(f"the lamp number {day} is broken", at=datetime(2024, 3, day, 9, tzinfo=UTC))
    hits = bank.recall("What did we say yesterday in March 2024?")
    assert [hit.memory.created_at.day for hit in hits] == [12]
