"""The values that travel: validated, frozen, silent about texts."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, a_memory, a_recollection
from ebbmem.errors import InvalidInput
from ebbmem.records import CATEGORIES, CHECKS, Category, Draft, Memory

SECRET = "the safe is behind the picture"


def memory() -> Memory:
    return a_memory(text=SECRET, speaker="Ann", metadata={"key": "private"})


# -- categories ----------------------------------------------------------------------------------


def test_the_built_in_categories_are_the_published_ones() -> None:
    assert {each.name: (each.base_rate, each.importance) for each in CATEGORIES.values()} == {
        "strategy": (0.10, (0.6, 0.8)),
        "fact": (0.16, (0.7, 0.9)),
        "assumption": (0.20, (0.4, 0.6)),
        "failure": (0.35, (0.3, 0.5)),
    }


def test_nobody_can_change_the_built_in_categories() -> None:
    with pytest.raises(TypeError):
        CATEGORIES["fact"] = Category("fact")  # type: ignore[index]


def test_a_category_of_ones_own_fades_like_a_strategy() -> None:
    assert Category("recipe").base_rate == 0.1


@pytest.mark.parametrize("base_rate", [0.0, -0.1, 1e-5, 1001.0, math.nan, math.inf, True, "0.1"])
def test_a_base_rate_out_of_range_is_refused(base_rate: Any) -> None:
    with pytest.raises(InvalidInput, match="base_rate"):
        Category("recipe", base_rate)


@pytest.mark.parametrize("importance", [(0.8, 0.6), (-0.1, 0.5), (0.5, 1.1), (math.nan, 1.0)])
def test_an_importance_range_that_is_none_is_refused(importance: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        Category("recipe", 0.1, importance)


@pytest.mark.parametrize("importance", [0.5, (0.5,), (0.1, 0.2, 0.3), None])
def test_an_importance_range_that_is_no_pair_is_invalid_input(importance: Any) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        Category("recipe", 0.1, importance)


@pytest.mark.parametrize("name", ["", " ", None, 7, "a\nb"])
def test_a_category_needs_a_name(name: Any) -> None:
    with pytest.raises(InvalidInput, match="category name"):
        Category(name)


# -- drafts --------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
def test_a_draft_keeps_its_text_code_point_for_code_point(text: str) -> None:
    assert Draft(text=text).text == text


def test_the_time_of_a_draft_becomes_utc() -> None:
    at = datetime(2026, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))
    assert Draft(text="tea", at=at).at == AT


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"text": " "}, "text"),
        ({"text": "\ud800"}, "text"),
        ({"importance": 1.5}, "importance"),
        ({"importance": math.nan}, "importance"),
        ({"source": ""}, "source"),
        ({"speaker": " "}, "speaker"),
        ({"id": "x" * 513}, "id"),
        ({"id": "a\0b"}, "id"),
        ({"source": "a\nb"}, "source"),
        ({"speaker": "a\x9bb"}, "speaker"),
        ({"position": -1}, "position"),
        ({"at": datetime(2026, 1, 1)}, "at"),
        ({"pinned": 1}, "pinned"),
        ({"keyed": 1}, "keyed"),
        ({"searchable": "no"}, "searchable"),
        ({"expires_at": datetime(2026, 1, 1)}, "expires_at"),
        ({"metadata": {"a": math.nan}}, "metadata.a"),
        ({"metadata": None}, "metadata"),
    ],
    ids=str,
)
def test_a_draft_refuses_what_cannot_be_kept_by_the_name_of_the_field(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        Draft(**{"text": "tea", **changes})
    assert caught.value.field == field


def test_a_draft_does_not_see_later_changes_to_the_metadata_it_was_given() -> None:
    metadata = {"tags": ["a"]}
    draft = Draft(text="tea", metadata=metadata)
    metadata["tags"].append("b")
    assert draft.metadata == {"tags": ["a"]}


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Draft(text="tea").text = "coffee"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        memory().importance = 1.0  # type: ignore[misc]


# -- memories ------------------------------------------------------------------------------------

BAD_VALUES: list[tuple[str, Any]] = [
    *(("id", bad) for bad in (None, 7, "", " ", "x" * 513, "a\0b", "half \ud83d")),
    *(("text", bad) for bad in (None, 42, b"tea", "", " \n", "half \ud83d")),
    *(("category", bad) for bad in (None, 7, "", "x" * 513, "a\nb")),
    *(("importance", bad) for bad in (None, 5.0, -0.1, math.nan, True, "0.5")),
    *(("source", bad) for bad in (7, "", "a\nb")),
    *(("position", bad) for bad in (-1, 2**31, 1.0, True, "1")),
    *(("speaker", bad) for bad in (7, " ", "a\tb")),
    *(("created_at", bad) for bad in (None, "2026-01-01", 0, datetime(2026, 1, 1))),
    *(("metadata", bad) for bad in (None, [1], {1: 2}, {"x": math.nan}, {"x": (1, 2)})),
    *(("last_reinforced_at", bad) for bad in ("2026-01-01", datetime(2026, 1, 1))),
    *(("recall_count", bad) for bad in (None, -1, 2**31, 1.0, True, "1")),
    *(("fades_at", bad) for bad in (0, datetime(2026, 1, 1))),
    *(("status", bad) for bad in (None, "gone", "Active", ["active"])),
    *(("faded_at", bad) for bad in (0, datetime(2026, 1, 1), AT)),
    *(("pinned", bad) for bad in (None, 1, "yes")),
    *(("held", bad) for bad in (None, 0, "no")),
    *(("keyed", bad) for bad in (None, 1, "yes")),
    *(("searchable", bad) for bad in (None, 1, "yes")),
    *(("expires_at", bad) for bad in (0, "2026-01-01", datetime(2026, 1, 1))),
    *(("key", bad) for bad in (7, "", "a\nb")),
    *(("superseded_at", bad) for bad in (0, "2026-01-01", datetime(2026, 1, 1))),
    *(("superseded_by", bad) for bad in (7, "", "a\nb")),
    *(("trust", bad) for bad in (None, 7, "", "User", "root", ["user"])),
    *(("label", bad) for bad in (7, "", "a\nb")),
]


@pytest.mark.parametrize(("name", "bad"), BAD_VALUES, ids=ascii)
def test_a_memory_refuses_what_cannot_be_kept_by_the_name_of_the_field(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        replace(memory(), **{name: bad})
    assert caught.value.field.partition(".")[0] == name
    assert SECRET not in str(caught.value)


def test_every_field_of_a_memory_is_checked() -> None:
    assert list(CHECKS) == [each.name for each in fields(Memory)]
    assert {name for name, _ in BAD_VALUES} == set(CHECKS)


def test_what_is_faded_has_a_time_at_which_it_did() -> None:
    assert a_memory(status="faded", faded_at=AT).faded_at == AT
    with pytest.raises(InvalidInput, match="faded_at must be a time when the status is 'faded'"):
        a_memory(status="faded")
    with pytest.raises(InvalidInput, match="faded_at must be None when the status is 'active'"):
        a_memory(faded_at=AT)


@pytest.mark.parametrize("name", ["created_at", "last_reinforced_at", "fades_at", "faded_at"])
def test_every_time_of_a_memory_becomes_utc(name: str) -> None:
    at = AT.astimezone(timezone(timedelta(hours=8)))
    found = getattr(a_memory(**{"status": "faded", "faded_at": AT, name: at}), name)
    assert (found, found.utcoffset()) == (AT, timedelta(0))


def test_a_memory_does_not_see_later_changes_to_the_metadata_it_was_given() -> None:
    metadata = {"tags": ["a"]}
    kept = a_memory(metadata=metadata)
    metadata["tags"].append("b")
    assert kept.metadata == {"tags": ["a"]}


def test_a_memory_read_from_a_row_is_not_checked_again() -> None:
    values = {each.name: getattr(memory(), each.name) for each in fields(Memory)}
    assert Memory.read(**values) == memory()
    assert Memory.read(**values | {"id": "a\0b"}).id == "a\0b"
    with pytest.raises(KeyError, match="held"):
        Memory.read(**{name: value for name, value in values.items() if name != "held"})


def test_a_memory_shows_itself_without_its_text() -> None:
    shown = repr(memory())
    assert "m1" in shown
    assert not any(secret in shown for secret in ("safe", "Ann", "private"))


def test_a_recollection_shows_itself_without_any_text() -> None:
    assert "safe" not in repr(a_recollection(memory(), passage=SECRET))
