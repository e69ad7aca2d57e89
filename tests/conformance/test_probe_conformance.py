"""What every store must do with probes. A new store joins in `test_store_conformance.STORES`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builders import AT, a_memory
from ebbmem.clock import to_micros
from ebbmem.embedding import Fingerprint
from ebbmem.errors import NotFound
from ebbmem.records import Namespace
from ebbmem.store import Entry, MemoryStore, Passage, ProbeLine, RunLine, SQLiteStore

ALICE, BOB = ("alice",), ("bob",)
T0 = to_micros(AT)


@pytest.fixture(params=["memory.db", ":memory:"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    name = str(request.param)
    opened = SQLiteStore(name if name == ":memory:" else str(tmp_path / name))
    for ns in (ALICE, BOB):
        add(opened, ns, "m1", "m2", "m3")
    yield opened
    opened.close()


def add(store: MemoryStore, ns: Namespace, *ids: str) -> None:
    entries = [Entry(a_memory(id=id_, text=f"text {id_}"), (Passage(0, 7),)) for id_ in ids]
    keywords = Fingerprint("keywords alone", 0)
    store.add(ns, entries, policy="{}", fingerprint=keywords, again=lambda s: s, days=(), now=T0)


def sampled(store: MemoryStore, question: str, *ids: str, most: int = 9, now: int = T0) -> None:
    store.sample_probe(ALICE, question, ids, most=most, now=now)


def questions(store: MemoryStore, ns: Namespace = ALICE) -> list[str]:
    return [each.question for each in store.probes(ns)]


def test_a_probe_comes_back_as_it_was_given(store: MemoryStore) -> None:
    assert store.put_probe(ALICE, "what?", ["m2", "m1"], now=T0) == 1
    assert store.put_probe(ALICE, "茶在哪里？", ["m3"], now=T0 + 1) == 2
    assert store.probes(ALICE) == [
        ProbeLine(1, "what?", "given", T0, ("m1", "m2")),
        ProbeLine(2, "茶在哪里？", "given", T0 + 1, ("m3",)),
    ]


def test_no_probe_shows_in_another_namespace(store: MemoryStore) -> None:
    store.put_probe(ALICE, "what?", ["m1"], now=T0)
    assert store.probes(BOB) == []
    assert not store.drop_probe(BOB, 1)
    store.erase(BOB, ["m1", "m2", "m3"], action="erase", now=T0)
    store.clear_probes(BOB)
    assert questions(store) == ["what?"]


def test_a_probe_of_what_does_not_exist_is_not_found_and_not_written(store: MemoryStore) -> None:
    with pytest.raises(NotFound) as caught:
        store.put_probe(ALICE, "what?", ["m1", "none"], now=T0)
    assert caught.value.ids == ("none",)
    assert store.probes(ALICE) == []


def test_the_same_question_again_is_the_same_probe(store: MemoryStore) -> None:
    store.put_probe(ALICE, "first?", ["m1"], now=T0)
    store.put_probe(ALICE, "second?", ["m1"], now=T0)
    assert store.put_probe(ALICE, "first?", ["m2"], now=T0 + 1) == 1
    assert store.probes(ALICE)[0] == ProbeLine(1, "first?", "given", T0 + 1, ("m2",))
    assert questions(store) == ["first?", "second?"]


def test_what_is_given_stands_over_what_is_sampled(store: MemoryStore) -> None:
    sampled(store, "first?", "m1")
    store.put_probe(ALICE, "first?", ["m2"], now=T0)
    sampled(store, "first?", "m3")
    [probe] = store.probes(ALICE)
    assert (probe.kind, probe.expected) == ("given", ("m2",))


def test_the_last_sampled_stay_and_given_ones_do_not_count(store: MemoryStore) -> None:
    store.put_probe(ALICE, "given?", ["m1"], now=T0)
    for number in range(4):
        sampled(store, f"{number}?", "m1", most=2)
    assert questions(store) == ["given?", "2?", "3?"]


def test_a_question_sampled_again_is_the_newest(store: MemoryStore) -> None:
    for question in ("a?", "b?", "a?", "c?"):
        sampled(store, question, "m1", most=2)
    assert questions(store) == ["a?", "c?"]


def test_only_what_is_active_is_sampled(store: MemoryStore) -> None:
    store.modify(ALICE, ["m1"], lambda s: replace(s, status="faded", faded_at=T0), now=T0)
    sampled(store, "both?", "m1", "m2", "none")
    sampled(store, "faded?", "m1")
    assert [(each.question, each.expected) for each in store.probes(ALICE)] == [("both?", ("m2",))]


def test_trimming_lets_the_oldest_sampled_go(store: MemoryStore) -> None:
    store.put_probe(ALICE, "given?", ["m1"], now=T0)
    for number in range(3):
        sampled(store, f"{number}?", "m1")
    store.trim_probes(ALICE, 1)
    assert questions(store) == ["given?", "2?"]
    store.trim_probes(ALICE, 0)
    assert questions(store) == ["given?"]


def test_a_probe_goes_with_the_last_memory_it_expects(store: MemoryStore) -> None:
    store.put_probe(ALICE, "two?", ["m1", "m2"], now=T0)
    store.put_probe(ALICE, "one?", ["m1"], now=T0)
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    assert [(each.question, each.expected) for each in store.probes(ALICE)] == [("two?", ("m2",))]
    store.erase(ALICE, ["m2", "m3"], action="purge", now=T0)
    assert store.probes(ALICE) == []


def test_a_memory_that_comes_again_under_its_id_brings_no_probe_back(store: MemoryStore) -> None:
    store.put_probe(ALICE, "one?", ["m1"], now=T0)
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    add(store, ALICE, "m1")
    assert store.probes(ALICE) == []


def test_a_probe_is_dropped_once(store: MemoryStore) -> None:
    store.put_probe(ALICE, "one?", ["m1"], now=T0)
    assert [store.drop_probe(ALICE, 1), store.drop_probe(ALICE, 1)] == [True, False]
    assert store.probes(ALICE) == []


def test_runs_come_back_in_order_and_per_namespace(store: MemoryStore) -> None:
    first = RunLine(T0, 5, 2, 1.5, 0.5, 10, 1, 0.25)
    second = RunLine(T0 + 1, 1, 0, 0.0, 0.0, 0, 0, None)
    store.put_run(ALICE, first)
    store.put_run(BOB, first)
    store.put_run(ALICE, second)
    assert store.runs(ALICE) == [first, second]
    store.clear_probes(ALICE)
    assert (store.runs(ALICE), store.runs(BOB)) == ([], [first])


def test_what_was_asked_leaves_the_file_with_its_probe(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "memory.db"))
    add(store, ALICE, "m1", "m2")
    for remove in (
        lambda: store.drop_probe(ALICE, 1),
        lambda: store.clear_probes(ALICE),
        lambda: store.erase(ALICE, ["m1"], action="erase", now=T0),
    ):
        store.put_probe(ALICE, "where is the harbour?", ["m1"], now=T0)
        remove()
        left = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert b"harbour" not in left
    store.close()


def test_a_probe_inside_a_larger_transaction_goes_with_it(store: MemoryStore) -> None:
    def interrupted() -> None:
        with store.together():
            store.put_probe(ALICE, "what?", ["m1"], now=T0)
            store.put_run(ALICE, RunLine(T0, 5, 0, 0.0, 0.0, 0, 0, None))
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert (store.probes(ALICE), store.runs(ALICE)) == ([], [])
