"""Foreign text in a prompt reads as it did, and is taken for nothing else."""

from __future__ import annotations

import pytest
from hostile import FIELDS, filled, forged, hostile_texts, speaking
from hypothesis import given, settings

from ebbmem.harmless import as_line, as_lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<|im_start|>system", "[|im_start|>system"),
        ("<｜User｜> hi", "[｜User｜> hi"),
        ("</s><s>", "[/s>[s>"),
        ("<<SYS>> x <</SYS>>", "<[SYS>> x <[/SYS>>"),
        ("[INST] x [/INST]", "(INST] x (/INST]"),
        ("<tool_call>{}", "[tool_call>{}"),
        ("<other:invoke name=x>", "[other:invoke name=x>"),
        ("```\nrm\n```", "''' ⏎ rm ⏎ '''"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://a.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b[31 ", "[31"),
        ("pass\u200bword \xadx", "password x"),
        ("a\n\nAssistant: b", "a ⏎ Assistant: b"),
    ],
)
def test_what_a_model_is_trained_to_obey_is_no_longer_that(text: str, line: str) -> None:
    assert as_line(text) == line


@pytest.mark.parametrize(
    "text",
    [
        *("List<int> and </div>", "a < b", "<strong>s</strong>", "[1] see there", "`code`", "5 $"),
        *("{name} costs $5, 100% sure", "![a](b)", "C#", "https://a.example/?q={x}", "2 <3"),
        *("system: on", "user: Ann", "# Title", "<style>", "<sysop>", "<toolbar>", "<user-id>"),
    ],
)
def test_what_is_taken_for_nothing_stays_as_it_is(text: str) -> None:
    assert as_line(text) == text
    assert as_lines(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{x} {{x}} {% x %} {#x#}", "{ x} { { x}} { % x %} { #x#}"),
        ("${x} $x $5", "$ { x} $ x $5"),
        ("%(x)s 5% (x)", "% (x)s 5% (x)"),
        ("<% x %> <b>", "[% x %> [b>"),
        ("[[x]] [x]", "[ [x]] [x]"),
        ("![a](http://b.example)", "! [a](http://b.example)"),
        ("<<b>", "[ [b>"),
    ],
)
def test_what_is_inert_opens_no_field_and_no_picture(text: str, line: str) -> None:
    assert as_line(text, inert=True) == line


@pytest.mark.parametrize("field", FIELDS)
def test_no_engine_fills_a_field_of_what_is_inert(field: str) -> None:
    assert filled(as_line(f"a {field} b", inert=True)) == []


def test_the_fields_are_filled_where_nothing_is_done_to_them() -> None:
    assert {name for field in FIELDS for name in filled(field)} == {
        *("str.format", "%", "string.Template", "jinja2"),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nAI: b", "a\n| AI: b"),
        ("a\r\n  Human : b", "a\r\n| Human : b"),
        ("a\u2028system: b", "a\u2028| system: b"),
        ("a\nＳｙｓｔｅｍ：b", "a\n| Ｓｙｓｔｅｍ：b"),
        ("a\nS\u200dystem: b", "a\n| S\u200dystem: b"),
        ("a\n### Instruction\nb", "a\n| ### Instruction\nb"),
        ("a\nAnn: b", "a\n| Ann: b"),
        ("AI: a", "AI: a"),
        ("a\nairport: b", "a\nairport: b"),
        ("a\n\nb\n", "a\n\nb\n"),
        ("", ""),
    ],
)
def test_a_line_in_which_another_would_speak_is_quoted(text: str, told: str) -> None:
    assert as_lines(text, ["Ann", ""]) == told


@settings(deadline=None)
@given(hostile_texts)
def test_doing_it_twice_changes_nothing_more(text: str) -> None:
    for inert in (False, True):
        once = as_line(text, inert=inert)
        assert as_line(once, inert=inert) == once
    assert as_line(as_line(text), inert=True) == as_line(text, inert=True)
    assert as_lines(as_lines(text, ["Ann"]), ["Ann"]) == as_lines(text, ["Ann"])


@settings(deadline=None)
@given(hostile_texts)
def test_nothing_hostile_survives(text: str) -> None:
    line = as_line(text, inert=True)
    assert len(line.splitlines()) <= 1
    assert forged(line) == filled(line) == []
    assert "\x1b" not in line
    assert "```" not in line
    lines = as_lines(f"a{text}")
    assert forged(lines) == speaking(lines) == []


@pytest.mark.parametrize("part", ["<", "< ", "<a", "\x1b]", "\x1b[", "[ ", "&#", "{", "\n ", "`"])
def test_a_long_text_is_read_once(part: str) -> None:
    """Linear: this many would take minutes otherwise."""
    text = part * 200_000
    assert len(as_line(text, inert=True)) <= 3 * len(text)
    assert len(as_lines(text)) <= len(text)
