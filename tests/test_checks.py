"""The door: what can be kept passes unchanged, everything else is refused by name."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.checks import (
    check_cosine,
    check_count,
    check_flag,
    check_fraction,
    check_label,
    check_metadata,
    check_namespace,
    check_text,
    check_whole,
    is_number,
)
from ebbmem.errors import InvalidInput

relaxed = settings(deadline=None, max_examples=100)
encodable = st.text(st.characters(codec="utf-8"), max_size=50)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | encodable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(encodable, inner, max_size=4),
    max_leaves=12,
)


# -- text and labels -----------------------------------------------------------------------------


@relaxed
@given(encodable.filter(str.strip))
def test_text_that_can_be_encoded_passes_code_point_for_code_point(text: str) -> None:
    assert check_text("text", text) is text


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000", "\u00a0\u2003"])
def test_blank_text_is_refused(blank: str) -> None:
    with pytest.raises(InvalidInput, match=r"^query is blank$"):
        check_text("query", blank)


@pytest.mark.parametrize("value", [None, 7, b"bytes", ["text"]])
def test_what_is_no_text_is_refused_by_its_type(value: object) -> None:
    with pytest.raises(InvalidInput, match=type(value).__name__):
        check_text("text", value)


def test_a_lone_surrogate_is_refused_by_its_place_without_quoting_the_text() -> None:
    with pytest.raises(InvalidInput, match="character 6") as caught:
        check_text("text", "secret\ud83d")
    assert "secret" not in str(caught.value)


def test_an_emoji_of_two_surrogates_in_other_languages_is_one_character_here() -> None:
    assert check_text("text", "👩‍👩‍👧 ok") == "👩‍👩‍👧 ok"


def test_a_label_holds_512_characters_and_no_more() -> None:
    assert check_label("source", "x" * 512) == "x" * 512
    with pytest.raises(InvalidInput, match="513"):
        check_label("source", "x" * 513)


CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_a_label_is_one_line_without_control_characters(control: str) -> None:
    with pytest.raises(InvalidInput, match=r"^id holds a control character at character 1$"):
        check_label("id", f"a{control}b")
    with pytest.raises(InvalidInput, match="namespace holds a control character"):
        check_namespace(("alice", f"{control}work"))


def test_what_a_label_may_hold_is_all_the_rest_of_unicode() -> None:
    for label in ("a b", "a\u00a0b", "她", "👩‍👩‍👧", "\u202eabc", "a\u2028b", "./:'\""):
        assert check_label("id", label) is label


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_text_may_hold_every_control_character(control: str) -> None:
    assert check_text("text", f"a{control}b") == f"a{control}b"


# -- numbers -------------------------------------------------------------------------------------


@relaxed
@given(st.floats(0.0, 1.0))
def test_every_number_in_the_unit_interval_is_a_fraction(value: float) -> None:
    assert check_fraction("importance", value) == value


@pytest.mark.parametrize(
    "value", [-0.01, 1.01, math.nan, math.inf, -math.inf, True, False, "0.5", None]
)
def test_what_is_no_fraction_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidInput, match="importance") as caught:
        check_fraction("importance", value)
    assert caught.value.field == "importance"


def test_a_whole_number_becomes_a_float() -> None:
    assert isinstance(check_fraction("importance", 1), float)


@pytest.mark.parametrize("value", [0, 1, 2**31 - 1])
def test_whole_numbers_from_zero_on_are_positions(value: int) -> None:
    assert check_whole("position", value) == value


@pytest.mark.parametrize("value", [-1, 2**31, 1.0, True, "1", None])
def test_other_positions_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="position"):
        check_whole("position", value)


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_only_booleans_are_flags(value: object) -> None:
    assert check_flag("pinned", True) is True
    with pytest.raises(InvalidInput, match="pinned must be True or False"):
        check_flag("pinned", value)


@pytest.mark.parametrize("value", [-(10**5000), 10**5000], ids=["below", "above"])
def test_a_number_too_long_to_print_is_refused_by_its_type(value: int) -> None:
    with pytest.raises(InvalidInput, match="not int"):
        check_fraction("importance", value)
    with pytest.raises(InvalidInput, match="not int"):
        check_whole("position", value)
    with pytest.raises(InvalidInput, match="not int"):
        check_cosine("min_similarity", value)
    with pytest.raises(InvalidInput, match="not int"):
        check_count("k", -abs(value), least=1)


def test_booleans_are_not_numbers() -> None:
    assert [is_number(each) for each in (1, 1.5, True, "1")] == [True, True, False, False]


# -- namespaces ----------------------------------------------------------------------------------


def test_a_name_is_a_namespace_of_one() -> None:
    assert check_namespace("alice") == ("alice",)
    assert check_namespace(["alice", "work"]) == ("alice", "work")


@pytest.mark.parametrize(
    "value",
    ["", " ", (), [], ("alice", ""), ("alice", None), None, 7, b"alice", {"alice"}],
    ids=repr,
)
def test_a_blank_or_missing_name_is_no_namespace(value: object) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        check_namespace(value)


# -- metadata ------------------------------------------------------------------------------------


@relaxed
@given(st.dictionaries(encodable, json_values, max_size=4))
def test_a_json_object_passes_as_an_equal_copy_that_json_gives_back(value: dict[str, Any]) -> None:
    copied = check_metadata(value)
    assert copied == value
    assert json.loads(json.dumps(copied)) == value


def test_the_copy_is_deep() -> None:
    given_by_caller = {"tags": ["a"], "inner": {"x": 1}}
    copied = check_metadata(given_by_caller)
    given_by_caller["tags"].append("b")  # type: ignore[attr-defined]
    given_by_caller["inner"]["x"] = 2  # type: ignore[index]
    assert copied == {"tags": ["a"], "inner": {"x": 1}}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": math.nan}, "metadata.a"),
        ({"a": [1, math.inf]}, "metadata.a[1]"),
        ({"a": {"b": (1, 2)}}, "metadata.a.b"),
        ({"a": {1: "x"}}, "metadata.a"),
        ({"a": object()}, "metadata.a"),
        ({"a": 2**63}, "metadata.a"),
        ({"a": b"x"}, "metadata.a"),
        ([("a", 1)], "metadata"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_what_json_cannot_hold_is_refused_by_its_path(value: object, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_metadata(value)
    assert caught.value.field == path


def test_a_lone_surrogate_in_metadata_is_refused() -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        check_metadata({"a": ["\udc00"]})


def test_metadata_nested_beyond_reason_is_invalid_input() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="metadata"):
        check_metadata({"a": deep})
