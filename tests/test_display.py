"""What is drawn for people says what the numbers say, and cannot bite."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from builders import a_memory, a_recollection
from ebbmem.display import (
    age,
    bar,
    curve,
    excerpt,
    inert,
    span,
    why,
)
from ebbmem.notebook import policy_html, recollections_html, stats_html
from ebbmem.policy import Policy
from ebbmem.records import Recollection, Step
from ebbmem.results import Stats

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> \x1b[31m & 'quotes'"


def recollection(text: str = "tabs", *, via: tuple[Step, ...] = ()) -> Recollection:
    return a_recollection(
        a_memory(text=text, importance=0.8, speaker="<b>Mara</b>", created_at=NOW),
        score=0.62,
        relevance=0.7,
        similarity=0.42,
        keyword=0.4,
        bonuses={"strength": 0.03, "date": 0.0},
        via=via,
    )


def stats() -> Stats:
    return Stats(
        namespace=("alice", "<i>"),
        active=3,
        faded=1,
        pinned=0,
        held=0,
        by_category={"fact": 3},
        mean_strength=None,
        fading_week=2,
        recalls=7,
        embedder="none",
        timeline="wall",
        conversational=0.0,
    )


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (0.0, "░░░░"),
        (0.5, "██░░"),
        (1.0, "████"),
        (7.0, "████"),
        (-1.0, "░░░░"),
        (1 / 32, "▏░░░"),
        (0.3, "█▎░░"),
    ],
)
def test_a_bar_shows_its_value_to_an_eighth_of_a_character(value: float, drawn: str) -> None:
    assert bar(value, width=4) == drawn


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=10), "moments"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(hours=1.5), "1 hour"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=13), "13 days"),
        (timedelta(days=14), "2 weeks"),
        (timedelta(days=61), "2 months"),
        (timedelta(days=400), "13 months"),
        (timedelta(days=731), "2 years"),
    ],
)
def test_a_length_of_time_is_told_in_the_largest_unit_that_says_enough(
    length: timedelta, words: str
) -> None:
    assert span(length) == words


def test_an_age_looks_back_or_ahead() -> None:
    assert age(NOW - timedelta(days=3), NOW) == "3 days ago"
    assert age(NOW + timedelta(hours=2), NOW) == "in 2 hours"
    assert age(NOW, NOW) == "just now"


def test_what_steers_a_terminal_is_made_visible() -> None:
    steered = inert("a\x1b[2J\x07\x9b31m\u202eb\rc\u2028d")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\u2028]", steered)
    assert steered.startswith("a␛[2J␇")


def test_text_without_tricks_is_drawn_as_it_is() -> None:
    text = "我最喜欢的茶是乌龙茶\nnaïve 👩‍🚀"
    assert inert(text) == text


def test_an_excerpt_is_one_line_and_counts_wide_characters_twice() -> None:
    assert excerpt("one\ntwo  three", width=20) == "one two three"
    assert excerpt("abcdefgh", width=5) == "abcd…"
    assert excerpt("我最喜欢", width=8) == "我最喜欢"
    assert excerpt("我最喜欢的", width=8) == "我最喜…"


def test_a_falling_curve_starts_at_the_top_left_and_ends_at_the_bottom_right() -> None:
    lines = curve([(0.0, 1.0), (10.0, 0.0)], width=10, height=3)
    first, *_, last, axis = lines
    assert first[5] not in " \u2800"
    assert last.rstrip()[-1] not in " \u2800"
    assert len(last) == len(axis) == 15


def test_a_gap_in_the_curve_stays_empty() -> None:
    lines = curve([(0.0, 1.0), (4.0, 1.0), (4.0, None), (10.0, None)], width=10, height=1)
    assert len(lines[0]) <= 5 + 5


def test_marks_and_ticks_stand_under_their_places() -> None:
    points = [(0.0, 1.0), (10.0, 0.5)]
    *_, marks, ticks = curve(points, width=20, marks=[5.0], ticks=[(0.0, "now"), (10.0, "late")])
    assert marks.index("▲") == 5 + 10
    assert ticks.strip() == "now"  # the last one has no room


def test_why_names_the_parts_that_played_a_part_and_the_path() -> None:
    steps = (Step("m0", "seed", 1.0), Step("m1", "similar", 0.48))
    said = why(recollection(via=steps))
    assert said == "similarity 0.42, keyword 0.40, strength +0.030, via m0 -> m1 (similar 0.48)"


def test_recollections_in_a_notebook_are_escaped() -> None:
    page = recollections_html([recollection(HOSTILE)])
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert "<b>&lt;b&gt;Mara&lt;/b&gt;</b>" in page


def test_no_recollections_in_a_notebook_are_said() -> None:
    assert "nothing came to mind" in recollections_html([])


def test_statistics_in_a_notebook_are_escaped_and_complete() -> None:
    page = stats_html(stats())
    assert "alice / &lt;i&gt;" in page
    assert all(f">{count}<" in page for count in (3, 1, 7, 2))


def test_a_policy_in_a_notebook_shows_lifetimes_half_lives_and_curves() -> None:
    page = policy_html(Policy())
    for number in (
        "38.376 d",
        "23.985 d",
        "19.188 d",
        "10.965 d",
        "11.552 d",
        "7.220 d",
        "3.301 d",
    ):
        assert number in page
    assert page.count("<svg") == len(Policy().categories)


def test_a_page_loads_and_runs_nothing() -> None:
    for page in (policy_html(Policy()), stats_html(stats()), recollections_html([recollection()])):
        assert not re.search(r"<script|<img|<link|\bsrc=|\bhref=|url\(|\bon\w+=", page)
