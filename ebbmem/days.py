"""Days that a question names by how far they are: "yesterday", "last week", 三天前. Pure.

A question is asked on a known day, so such words are days of the calendar. Only a question of one
sentence is read: "I ran yesterday. Any tips?" asks nothing of yesterday. And today is never
meant: "what shall I wear today?" asks for no memory of today.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem.clock import DAY

__all__ = ["Days", "days_fit", "days_named"]


@dataclass(frozen=True, slots=True)
class Days:
    """From the first to the last, both included, counted from 1970-01-01 UTC."""

    first: int
    last: int


_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one 一 1",
            "two couple 两 兩 二",
            "three 三",
            "four 四",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
        ),
        1,
    )
    for word in words.split()
}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_AGO = re.compile(
    rf"\b(?:a )?{_COUNT} (?:of )?(?P<unit>day|week|month|year)s? (?:ago|earlier|back)\b"
)
_ZH_AGO = re.compile(rf"{_COUNT}(?:个|個)?(?P<unit>天|周|週|星期|月|年)(?:以)?前")
_UNITS = {"天": "day", "周": "week", "週": "week", "星期": "week", "月": "month", "年": "year"}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(rf"\b(?:last|on|this past) (?P<day>{'|'.join(_WEEKDAYS)})\b")
_ZH_WEEKDAY = re.compile(r"上(?:个|個)?(?:周|週|星期)(?P<day>[一二三四五六日天])")
_ASKS = re.compile(
    r"[?？]\s*$|\b(who|what|when|where|which|how)\b|[吗嗎]|什[么麼]|哪|[谁誰]|多少|[几幾]|怎"
)
_SEVERAL = re.compile(r"[.!?][\s]+\S|[。！？\n].")


def days_named(question: str, today: int) -> Days | None:
    """The days a question names, if any; `today` is counted from 1970-01-01 UTC."""
    text = unicodedata.normalize("NFKC", question).lower().strip()
    if _SEVERAL.search(text) or not _ASKS.search(text):
        return None
    for pattern, back in _BACK:
        if pattern.search(text):
            return Days(today - back, today - back)
    if found := _ZH_WEEKDAY.search(text):
        monday = today - _weekday(today) - 7
        day = monday + "一二三四五六日".find(found["day"].replace("天", "日"))
        return Days(day, day)
    if found := _WEEKDAY.search(text):
        back = (_weekday(today) - _WEEKDAYS.index(found["day"]) - 1) % 7 + 1
        return Days(today - back, today - back)
    if found := _AGO.search(text) or _ZH_AGO.search(text):
        return _ago(found["count"], _UNITS.get(found["unit"], found["unit"]), today)
    for pattern, unit in _LAST:
        if pattern.search(text):
            return _previous(unit, today)
    return None


def days_fit(days: Days, created: NDArray[np.int64]) -> NDArray[np.float64]:
    """How well items said at `created` (microseconds) fit, in [0, 1].

    1 on the days and the one after, for people tell what happened; 0.5 on the three after that.
    """
    day = created // DAY
    inside = (day >= days.first) & (day <= days.last + 1)
    after = (day > days.last + 1) & (day <= days.last + 4)
    return np.where(inside, 1.0, np.where(after, 0.5, 0.0))


_BACK = (
    (re.compile(r"\bday before yesterday\b|前天"), 2),
    (re.compile(r"\byesterday\b|\blast night\b|昨天|昨晚|昨日"), 1),
)
_LAST = (
    (re.compile(r"\blast week\b|上(?:个|個)?(?:周|週|星期)"), "week"),
    (re.compile(r"\blast weekend\b"), "week"),
    (re.compile(r"\blast month\b|上(?:个|個)月"), "month"),
    (re.compile(r"\blast year\b|去年"), "year"),
)


def _weekday(day: int) -> int:
    """0 is Monday."""
    return (day + 3) % 7  # 1970-01-01 was a Thursday


def _ago(count: str, unit: str, today: int) -> Days:
    number = int(count) if count.isdecimal() else _NUMBERS[count]
    length, blur = {"day": (1, 0), "week": (7, 3), "month": (30, 10), "year": (365, 60)}[unit]
    middle = today - number * length
    return Days(middle - blur, middle + blur)


def _previous(unit: str, today: int) -> Days:
    """The whole week, month or year before the one of today."""
    if unit == "week":
        monday = today - _weekday(today) - 7
        return Days(monday, monday + 6)
    date = np.datetime64(today, "D")
    code = "M" if unit == "month" else "Y"
    start = date.astype(f"datetime64[{code}]")
    first, end = (each.astype("datetime64[D]").astype(int) for each in (start - 1, start))
    return Days(int(first), int(end) - 1)
