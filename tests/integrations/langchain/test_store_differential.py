"""Beside LangGraph's `InMemoryStore`, whatever is done to both.

Left out are its known faults: a read makes an empty namespace and a deletion leaves one (langgraph
8734), a comparison with a missing or non-numeric field raises (7880, 7684), true equals 1, None
equals a missing field, an update begins a new `created_at` (8340), values are handed out live
(8835). Its order of a listing is that of insertion, ours that of namespace, time and key.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="needs the extra agents")

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from ebbmem import MemoryBank
from ebbmem.testing import ManualClock
from langchain_ebbmem import EbbinghausStore

LABELS = st.sampled_from(["a", "b", "a b", "ab"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
PATTERNS = st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k1", "k2", "k3"])
WHOLE = st.integers(-2, 2)  # in lists: there 1 is 1 and not 1.0
NUMBERS = st.one_of(WHOLE, st.sampled_from([0.5, 1.0, -2.0]))
WORDS = st.sampled_from(["tea", "rain", ""])
DEEP = st.fixed_dictionaries({"a": NUMBERS}, optional={"b": WORDS, "c": st.just({"d": 1})})
VALUES = st.fixed_dictionaries(
    {"n": NUMBERS},
    optional={"w": WORDS, "yes": st.booleans(), "deep": DEEP, "list": st.lists(WHOLE)},
)
ASKED = st.one_of(
    NUMBERS,
    *(
        st.fixed_dictionaries({each: NUMBERS})
        for each in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
    ),
    st.fixed_dictionaries({"$gt": NUMBERS, "$lte": NUMBERS}),
)
FILTERS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "n": ASKED,
            "w": st.one_of(WORDS, st.fixed_dictionaries({"$ne": WORDS})),
            "yes": st.booleans(),
            "deep": st.fixed_dictionaries(
                {}, optional={"a": st.one_of(NUMBERS, st.fixed_dictionaries({"$ne": NUMBERS}))}
            ),
            "list": st.lists(WHOLE, max_size=2),
        },
    ),
)
CONDITIONS = st.lists(
    st.builds(MatchCondition, match_type=st.sampled_from(["prefix", "suffix"]), path=PATTERNS),
    max_size=2,
).map(tuple)
OPS = st.one_of(
    st.builds(PutOp, namespace=SPACES, key=KEYS, value=VALUES, index=st.none(), ttl=st.none()),
    st.builds(PutOp, namespace=SPACES, key=KEYS, value=VALUES, index=st.just(False), ttl=st.none()),
    st.builds(PutOp, namespace=SPACES, key=KEYS, value=st.none(), ttl=st.none()),
    st.builds(GetOp, namespace=SPACES, key=KEYS),
    st.builds(
        SearchOp,
        namespace_prefix=PREFIXES,
        filter=FILTERS,
        limit=st.just(1000),
        offset=st.just(0),
        query=st.none(),
    ),
    st.builds(
        ListNamespacesOp,
        match_conditions=CONDITIONS,
        max_depth=st.one_of(st.none(), st.integers(1, 3)),
        limit=st.integers(1, 5),
        offset=st.integers(0, 3),
    ),
)


def plain(result: Any) -> Any:
    """A result without its times; a listing without its order."""
    if isinstance(result, Item):
        return result.namespace, result.key, json.dumps(result.value, sort_keys=True)
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted(plain(each) for each in result)
    return result


def without_empty(store: InMemoryStore) -> InMemoryStore:
    for namespace in [each for each, items in store._data.items() if not items]:
        del store._data[namespace]
    return store


@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=5), max_size=6), awaited=st.booleans())
@settings(max_examples=150, deadline=None)
def test_both_stores_answer_alike(batches: list[list[Op]], awaited: bool) -> None:
    theirs = InMemoryStore()
    bank = MemoryBank.open(namespace="root", embedder=None, clock=ManualClock())
    with EbbinghausStore(memory=bank) as ours:
        for ops in batches:
            expected = []
            for op in ops:  # reads first: they see what was before the batch
                expected += without_empty(theirs).batch([op]) if not isinstance(op, PutOp) else [
                    None
                ]  # fmt: skip
            theirs.batch([op for op in ops if isinstance(op, PutOp)])
            found = asyncio.run(ours.abatch(ops)) if awaited else ours.batch(ops)
            assert [plain(each) for each in found] == [plain(each) for each in expected]
        everything = theirs.search((), limit=1000)
        assert plain(ours.search((), limit=1000)) == plain(everything)


@given(
    puts=st.lists(st.tuples(SPACES, KEYS, VALUES), max_size=12),
    prefix=PREFIXES,
    filter=FILTERS,
    size=st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_pages_cut_the_listing_and_are_as_long_as_theirs(
    puts: list[tuple[Any, str, Any]], prefix: Any, filter: Any, size: int
) -> None:
    theirs = InMemoryStore()
    bank = MemoryBank.open(namespace="root", embedder=None, clock=ManualClock())
    with EbbinghausStore(memory=bank) as ours:
        for namespace, key, value in puts:
            ours.put(namespace, key, value)
            theirs.put(namespace, key, value)
        full = ours.search(prefix, filter=filter, limit=1000)
        assert plain(full) == plain(theirs.search(prefix, filter=filter, limit=1000))
        for offset in range(0, len(full) + size, size):
            page = ours.search(prefix, filter=filter, limit=size, offset=offset)
            assert page == full[offset : offset + size]
            assert len(page) == len(theirs.search(prefix, filter=filter, limit=size, offset=offset))
