"""Arguments that mean no good: taken exactly as they are, or refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem import Category, Draft, EbbmemError, InvalidInput, MemoryBank, Policy
from ebbmem.conditions import condition
from ebbmem.context import CLOSING
from ebbmem.errors import UnknownCategory
from ebbmem.testing import ManualClock

relaxed = settings(deadline=None, max_examples=60)
HOSTILE = st.sampled_from(
    [
        *("\x1b[31m", "[red]", "\0", "\u202e", "\ud83d", "\ufeff", "\u2029", CLOSING, "{x}"),
        *("'; DROP TABLE memory; --", "$or", "../..", "\U000e0041", "e\u0301", "ß", "\u0130"),
    ]
)
anything = st.text(max_size=30) | HOSTILE | st.lists(HOSTILE, max_size=4).map("".join)
numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**4000), 2**63, math.nan, math.inf, True, None, "1"])
)
values = st.recursive(
    anything | numbers | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(
    anything | st.sampled_from(["$or", "$and", "$in", "$gt", "$exists", "$has", "a"]),
    values,
    max_size=3,
)
times = st.none() | st.datetimes() | st.datetimes(timezones=st.timezones()) | anything


def refused(field: str, call: Callable[[], Any]) -> Any:
    """What a call answers; None if it refused this field."""
    named = ""
    try:
        return call()
    except InvalidInput as error:
        named = error.field
    assert named.startswith(field)
    return None


def opened() -> MemoryBank:
    return MemoryBank.open(namespace="u", embedder=None, clock=ManualClock())


@relaxed
@given(text=anything, query=anything)
def test_a_text_comes_back_code_point_for_code_point(text: str, query: str) -> None:
    with opened() as bank:
        kept = refused("text", lambda: bank.remember(text))
        if kept is None:
            return
        assert bank.get(kept.id).text == text
        for asked in (text, query):
            found = refused("query", partial(bank.recall, asked))
            if found is None:
                continue
            assert [each.memory.text for each in found] in ([], [text])
            block = str(bank.context(asked, inert=True))
            assert not block or (block.count(CLOSING), block.endswith(CLOSING)) == (1, True)


@relaxed
@given(metadata=objects, where=objects)
def test_a_filter_says_the_same_in_python_and_in_the_store(metadata: Any, where: Any) -> None:
    with opened() as bank:
        kept = refused("metadata", lambda: bank.remember("tea", metadata=metadata))
        if kept is None:
            return
        assert bank.get(kept.id).metadata == metadata
        matches, found = (
            refused("where", call)
            for call in (lambda: condition(where), lambda: bank.list(where=where))
        )
        if matches is None or found is None:
            assert matches is found
        else:
            assert bool(found) == matches(kept.metadata)


@relaxed
@given(parts=st.lists(anything | numbers, max_size=4) | values, id_=values)
def test_a_namespace_and_an_id_name_one_thing_or_nothing(parts: Any, id_: Any) -> None:
    with opened() as bank:
        bank.remember("tea", id="tea")
        sibling = refused(
            "namespace", lambda: bank.at(*(parts if isinstance(parts, list) else [parts]))
        )
        assert sibling is None or sibling.list() == [] or sibling.namespace == ("u",)
        for call in (bank.get, bank.forget, bank.erase, bank.vectors, bank.strength):
            if id_ != "tea" and id_ not in ([], {}):
                with suppress(EbbmemError):
                    assert not call(id_)
        assert [each.id for each in bank.list()] == ["tea"]


CALLS: dict[str, Callable[[MemoryBank, Any], object]] = {
    "importance": lambda bank, value: bank.remember("x", importance=value),
    "position": lambda bank, value: bank.remember("x", source="s", position=value),
    "category": lambda bank, value: bank.remember("x", category=value),
    "k": lambda bank, value: bank.recall("tea", value),
    "min_score": lambda bank, value: bank.recall("tea", min_score=value),
    "min_similarity": lambda bank, value: bank.recall("tea", min_similarity=value),
    "around": lambda bank, value: bank.recall("tea", around=value),
    "budget": lambda bank, value: bank.context("tea", budget=value),
    "limit": lambda bank, value: bank.list(limit=value),
    "offset": lambda bank, value: bank.list(offset=value),
    "days": lambda bank, value: bank.forecast(value),
    "weight": lambda bank, value: bank.link("tea", "pot", weight=value),
    "probe": lambda bank, value: bank.probe(value),
    "relevance": lambda bank, value: bank.rerank({"d": value}),
    "base_rate": lambda _, value: Category("mood", value),
    "low": lambda _, value: Category("mood", 0.1, (value, 0.5)),
    "pair": lambda _, value: Category("mood", 0.1, value),
    "recall_gain": lambda _, value: Policy(recall_gain=value),
    "strength_cap": lambda _, value: Policy(strength_cap=value),
    "fade_below": lambda _, value: Policy(fade_below=value),
    "max_memories": lambda _, value: Policy(max_memories=value),
    "spacing": lambda _, value: Policy(spacing=value),
    "curve": lambda _, value: Policy(curve=value),
    "ranking": lambda _, value: Policy(ranking=value),
    "categories": lambda _, value: Policy(categories=[value]),
    "salience": lambda _, value: Policy(salience=value),
    "query": lambda bank, value: bank.recall([value, 1.0]),
}


@pytest.mark.parametrize("name", CALLS)
@relaxed
@given(value=numbers | values)
def test_a_number_is_taken_or_refused(name: str, value: Any) -> None:
    with opened() as bank:
        bank.remember_many([Draft(text="tea", id="tea"), Draft(text="pot", id="pot")])
        told = "taken"
        try:
            CALLS[name](bank, value)
        except EbbmemError as error:
            told = str(error)
        assert 0 < len(told) < 2000
        assert {"tea", "pot"} <= {each.text for each in bank.list()}


def test_a_name_too_long_to_print_is_cut_in_the_error() -> None:
    assert len(str(UnknownCategory("x" * 10_000, ["fact"]))) < 200
    assert str(UnknownCategory(10**5000, ["fact"])) == "category is a int; known are fact"


@pytest.mark.parametrize("days", [math.inf, 10**400, 1e308])
def test_a_forecast_of_all_time_tells_what_can_fade(days: float) -> None:
    with opened() as bank:
        bank.remember("tea", id="tea")
        bank.pin(bank.remember("pot").id)
        assert [each.memory.id for each in bank.forecast(days)] == ["tea"]


EDGES = [
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=14))),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=-14))),
]


@pytest.mark.parametrize("at", EDGES, ids=str)
def test_the_ends_of_the_calendar_are_lived_through(at: datetime) -> None:
    with opened() as bank:
        kept = bank.remember("tea", at=at, expires_at=at)
        assert bank.get(kept.id, include_faded=True).created_at == at
        bank.recall("tea", include_faded=True, as_of=at)
        bank.prune()
        bank.stats()


@relaxed
@given(at=times, end=times, as_of=times)
def test_a_time_is_taken_or_refused(at: Any, end: Any, as_of: Any) -> None:
    with opened() as bank:
        for call in (
            lambda: bank.remember("tea", id="tea", at=at, expires_at=end),
            lambda: bank.recall("tea", as_of=as_of),
            lambda: bank.expire("tea", end),
            lambda: bank.prune(),
            lambda: bank.stats(),
            lambda: bank.report(),
        ):
            with suppress(EbbmemError):
                call()
