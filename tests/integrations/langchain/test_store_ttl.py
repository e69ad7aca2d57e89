"""Items with minutes to live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="needs the extra agents")

from langgraph.store.base import GetOp, Op, PutOp, SearchOp, TTLConfig

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank, Policy
from ebbmem.testing import ManualClock
from langchain_ebbmem import EbbinghausStore

NS = ("sessions", "s1")
TEA = {"text": "tea"}
Make = Callable[..., EbbinghausStore]


@pytest.fixture
def make(open_bank: OpenBank) -> Make:
    bank = open_bank(policy=Policy())

    def call(**ttl: Any) -> EbbinghausStore:
        return EbbinghausStore(memory=bank, ttl=TTLConfig(**ttl) if ttl else None)

    return call


def there(store: EbbinghausStore, key: str = "k") -> bool:
    """Whether it can be read, without changing when it ends."""
    return store.get(NS, key, refresh_ttl=False) is not None


def test_an_item_is_there_until_its_minutes_are_over(make: Make, clock: ManualClock) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=10)
    clock.advance(minutes=10, microseconds=-1)
    assert there(store)
    clock.advance(microseconds=1)
    assert not there(store)
    assert store.search(NS) == store.search(NS, query="tea") == store.search(()) == []
    assert store.list_namespaces() == []


def test_a_fraction_of_a_minute_is_counted(make: Make, clock: ManualClock) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=0.5)
    clock.advance(seconds=29)
    assert there(store)
    clock.advance(seconds=1)
    assert not there(store)


READS: dict[str, Callable[[EbbinghausStore, Any], object]] = {
    "get": lambda store, refresh: store.get(NS, "k", refresh_ttl=refresh),
    "list": lambda store, refresh: store.search(NS, refresh_ttl=refresh),
    "query": lambda store, refresh: store.search(("sessions",), query="tea", refresh_ttl=refresh),
    "aget": lambda store, refresh: asyncio.run(store.aget(NS, "k", refresh_ttl=refresh)),
    "asearch": lambda store, refresh: asyncio.run(
        store.asearch(NS, query="tea", refresh_ttl=refresh)
    ),
}
EACH_READ = pytest.mark.parametrize("read", READS.values(), ids=READS)


@EACH_READ
@pytest.mark.parametrize(
    "config, asked, moves",
    [
        ({}, None, True),
        ({}, True, True),
        ({}, False, False),
        ({"refresh_on_read": True}, None, True),
        ({"refresh_on_read": False}, None, False),
        ({"refresh_on_read": False}, True, True),
        ({"refresh_on_read": True}, False, False),
    ],
)
def test_a_read_begins_the_minutes_again_where_it_should(
    make: Make,
    clock: ManualClock,
    read: Callable[[EbbinghausStore, Any], object],
    config: dict[str, bool],
    asked: bool | None,
    moves: bool,
) -> None:
    store = make(**config)
    store.put(NS, "k", TEA, ttl=10)
    clock.advance(minutes=9)
    assert read(store, asked)
    clock.advance(minutes=9)
    assert there(store) is moves
    clock.advance(minutes=1)
    assert not there(store)


def test_a_read_moves_only_what_it_returned_and_each_by_its_own_minutes(
    make: Make, clock: ManualClock
) -> None:
    store = make()
    for key, ttl in (("a", 10), ("b", 20), ("c", 10), ("d", None)):
        store.put(NS, key, TEA, ttl=ttl)
    clock.advance(minutes=5)
    assert [each.key for each in store.search(NS, limit=2)] == ["a", "b"]
    clock.advance(minutes=5)
    assert [key for key in "abcd" if there(store, key)] == ["a", "b", "d"]
    clock.advance(minutes=5)
    assert [key for key in "abcd" if there(store, key)] == ["b", "d"]
    clock.advance(minutes=10)
    assert [key for key in "abcd" if there(store, key)] == ["d"]


def test_an_item_without_minutes_is_not_changed_by_a_read(make: Make) -> None:
    store = make()
    store.put(NS, "k", TEA)
    bank = store.memory.at("u1", *NS)
    before = bank.get("k")
    store.get(NS, "k", refresh_ttl=True)
    assert bank.get("k") == before


def test_the_default_holds_unless_the_item_says_otherwise(make: Make, clock: ManualClock) -> None:
    store = make(default_ttl=10)
    store.put(NS, "default", TEA)
    store.put(NS, "longer", TEA, ttl=20)
    store.put(NS, "for ever", TEA, ttl=None)
    keys = ("default", "longer", "for ever")
    clock.advance(minutes=10)
    assert [key for key in keys if there(store, key)] == ["longer", "for ever"]
    clock.advance(minutes=10)
    assert [key for key in keys if there(store, key)] == ["for ever"]


@pytest.mark.parametrize("first, second, minutes", [(10, 30, 30), (30, 10, 10), (10, None, None)])
def test_an_update_sets_the_minutes_anew(
    make: Make, clock: ManualClock, first: float, second: float | None, minutes: float | None
) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=first)
    clock.advance(minutes=5)
    store.put(NS, "k", TEA, ttl=second)
    item = store.memory.at("u1", *NS).get("k")
    left = None if item.expires_at is None else (item.expires_at - clock()).total_seconds() / 60
    assert left == minutes
    store.get(NS, "k")
    assert store.memory.at("u1", *NS).get("k").expires_at == item.expires_at


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("ttl", [None, 5])
def test_putting_what_has_expired_begins_its_life_again(
    make: Make, clock: ManualClock, swept: bool, ttl: float | None
) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=10)
    clock.advance(minutes=10)
    if swept:
        assert store.sweep_ttl() == 1
    store.put(NS, "k", TEA, ttl=ttl)
    clock.advance(minutes=4)
    assert there(store)
    clock.advance(minutes=1)
    assert there(store) is (ttl is None)


def test_kept_items_end_all_the_same(open_bank: OpenBank, clock: ManualClock) -> None:
    store = EbbinghausStore(memory=open_bank(), keep=[NS])
    store.put(NS, "k", TEA, ttl=10)
    store.put(("other",), "k", TEA, index=False, ttl=10)
    clock.advance(minutes=10)
    assert store.search(()) == []


def test_sweeping_erases_what_has_expired_everywhere_and_says_how_many(
    make: Make, clock: ManualClock
) -> None:
    store = make()
    for namespace in (NS, ("a",), ("b", "c")):
        store.put(namespace, "short", TEA, ttl=10)
        store.put(namespace, "long", TEA, ttl=20)
        store.put(namespace, "for ever", TEA)
    assert store.sweep_ttl() == 0
    clock.advance(minutes=10)
    assert store.sweep_ttl() == 3
    assert store.sweep_ttl() == 0
    left = store.memory.at("u1", *NS).list(include_faded=True)
    assert sorted(each.id for each in left) == ["for ever", "long"]
    clock.advance(minutes=10)
    assert store.sweep_ttl() == 3


def test_sweeping_spares_what_is_under_hold(make: Make, clock: ManualClock) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=10)
    store.memory.at("u1", *NS).hold("k")
    clock.advance(minutes=10)
    assert store.sweep_ttl() == 0


def test_the_minutes_run_on_while_the_file_is_closed(file: Path, clock: ManualClock) -> None:
    ttl = TTLConfig(default_ttl=10)
    with EbbinghausStore.open(file, ttl=ttl, clock=clock) as store:
        store.put(NS, "read", TEA)
        store.put(NS, "not", TEA)
        clock.advance(minutes=5)
        store.get(NS, "read")
    clock.advance(minutes=5)
    with EbbinghausStore.open(file, ttl=ttl, clock=clock) as store:
        assert [each.key for each in store.search(NS)] == ["read"]  # which begins them again
        assert store.sweep_ttl() == 1
    clock.advance(minutes=10)
    with EbbinghausStore.open(file, ttl=ttl, clock=clock) as store:
        assert store.list_namespaces() == []


@pytest.mark.parametrize("ttl", [0, -1, True, "10", float("nan"), float("inf"), 1e300])
def test_minutes_that_are_none_are_refused_and_nothing_is_written(make: Make, ttl: Any) -> None:
    store = make()
    ops: list[Op] = [PutOp(NS, "good", TEA), PutOp(NS, "k", TEA, ttl=ttl)]
    with pytest.raises(InvalidInput, match="ttl"):
        store.batch(ops)
    with pytest.raises(InvalidInput, match="ttl"):
        asyncio.run(store.abatch(ops))
    assert store.list_namespaces() == []


def test_operations_of_a_batch_carry_their_own_switch(make: Make, clock: ManualClock) -> None:
    store = make(refresh_on_read=False)
    store.put(NS, "k", TEA, ttl=10)
    clock.advance(minutes=9)
    store.batch([GetOp(NS, "k", refresh_ttl=False), SearchOp(NS, refresh_ttl=False)])
    ends = store.memory.at("u1", *NS).get("k").expires_at
    store.batch([GetOp(NS, "k")])
    later = store.memory.at("u1", *NS).get("k").expires_at
    assert ends is not None
    assert later is not None
    assert (later - ends).total_seconds() == 9 * 60


@pytest.mark.parametrize("read", [READS["get"], READS["list"], READS["query"]])
@pytest.mark.parametrize("minutes", [None, 60.0])
def test_an_item_that_is_put_anew_while_it_is_read_ends_as_it_was_put(
    make: Make,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[EbbinghausStore, Any], object],
    minutes: float | None,
) -> None:
    store = make()
    store.put(NS, "k", TEA, ttl=10)
    expire = MemoryBank.expire

    def after_a_put(bank: MemoryBank, *args: Any, **options: Any) -> object:
        store.put(NS, "k", TEA, ttl=minutes)  # between the read and what it refreshes
        return expire(bank, *args, **options)

    monkeypatch.setattr(MemoryBank, "expire", after_a_put)
    read(store, True)
    clock.advance(minutes=11)
    assert there(store)
    clock.advance(minutes=50)
    assert there(store) == (minutes is None)
