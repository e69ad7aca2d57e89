"""The cache of a namespace tells what the store holds, however it got there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, a_memory
from ebbmem import MemoryBank, lexical, lifecycle
from ebbmem.arena import Arena
from ebbmem.clock import DAY, to_micros
from ebbmem.embedding import Fingerprint
from ebbmem.embedding.encoding import Encoding, quantise
from ebbmem.graph import MAX_DEGREE
from ebbmem.policy import Policy
from ebbmem.snapshot import GONE
from ebbmem.store import Entry, MemoryStore, Passage, SQLiteStore

NS = ("alice",)
POLICY = Policy()
EMBEDDER = Fingerprint("three", 3, 2, min_similarity=0.2)
T0 = to_micros(AT)
VOCABULARY = ("tea", "milk", "cup", "rain", "sun", "harbour", "bread", "winter")


def vector(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A direction that depends on the text alone; most are alike, so that eight are too few."""
    row = np.random.default_rng(crc32(text.encode())).standard_normal(3) + 0.7
    return (row / np.linalg.norm(row)).astype(np.float32)


def entry(text: str, id: str, *, encoded: bool = True, **changes: Any) -> Entry:
    return Entry(a_memory(id=id, text=text, **changes), parts(text, encoded=encoded))


def parts(text: str, *, encoded: bool = True) -> tuple[Passage, ...]:
    """Passages of two words each."""
    words = text.split(" ")
    pairs = [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]
    found, start = [], 0
    for pair in pairs:
        pieces = quantise(
            [crc32(word.encode()) % 40 for word in pair.split()], np.ones((len(pair.split()), 2))
        )
        encoding = Encoding(vector(pair), pieces) if encoded else None
        found.append(Passage(start, start + len(pair), encoding))
        start += len(pair) + 1
    return tuple(found)


def add(store: MemoryStore, *entries: Entry) -> None:
    store.add(
        NS,
        entries,
        policy=POLICY.to_json(),
        fingerprint=EMBEDDER,
        again=lambda state: lifecycle.said_again(state, T0, POLICY),
        days=[T0 // DAY],
        now=T0,
    )


def caught_up(arena: Arena) -> Arena:
    arena.catch_up()
    return arena


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    opened = SQLiteStore(":memory:")
    yield opened
    opened.close()


# -- what an arena tells -------------------------------------------------------------------------


def similar(arena: Arena, *, least: float = 0.4) -> dict[str, dict[str, float]]:
    """id -> neighbours by vector, through the public edges."""
    snapshot = arena.snapshot()
    found = {}
    for id_, row in snapshot.row_of.items():
        edges = arena.edges(snapshot, {row: 1.0}, least=least, floor=0.0)[row]
        found[id_] = {snapshot.ids[e.to]: e.weight for e in edges if e.kind == "similar"}
    return found


def cosines(arena: Arena) -> dict[str, dict[str, float]]:
    """The same by comparing all pairs, none left out."""
    snapshot = arena.snapshot()
    assert snapshot.vectors is not None
    passages = {
        id_: snapshot.vectors[snapshot.passage_start[row] : snapshot.passage_start[row + 1]]
        for id_, row in snapshot.row_of.items()
    }
    return {
        id_: {to: float((theirs @ mine.T).max()) for to, theirs in passages.items() if to != id_}
        for id_, mine in passages.items()
    }


def assert_neighbours(arena: Arena, *, least: float = 0.4) -> None:
    """The strongest at most eight, whichever of those that are equally strong."""
    every = cosines(arena)
    for id_, found in similar(arena, least=least).items():
        strong = sorted((each for each in every[id_].values() if each >= least), reverse=True)
        best = [min(each, 1.0) for each in strong[:MAX_DEGREE]]
        assert sorted(found.values(), reverse=True) == pytest.approx(best, abs=1e-6)
        assert found == pytest.approx({to: min(every[id_][to], 1.0) for to in found}, abs=1e-6)


def linked(arena: Arena) -> dict[str, dict[str, float]]:
    snapshot = arena.snapshot()
    found = {}
    for id_, row in snapshot.row_of.items():
        edges = arena.edges(snapshot, {row: 0.0}, least=2.0, floor=1.0)[row]
        found[id_] = {snapshot.ids[edge.to]: edge.weight for edge in edges}
    return found


def told(arena: Arena) -> dict[str, object]:
    """Everything a reader can learn, by id, free of how rows are numbered."""
    snapshot = arena.snapshot()
    names = [*snapshot.ids, None]  # -1 is nobody
    sources = {number: name for name, number in snapshot.sources.items()}
    rows = {
        id_: (
            int(snapshot.created[row]),
            int(snapshot.started[row]),
            int(snapshot.count[row]),
            float(snapshot.base_rates(POLICY)[row]),
            float(snapshot.importance[row]),
            int(snapshot.status[row]),
            bool(snapshot.pinned[row]),
            bool(snapshot.held[row]),
            snapshot.categories[snapshot.category[row]],
            sources.get(int(snapshot.source[row])),
            names[snapshot.before[row]],
            names[snapshot.after[row]],
            bool(snapshot.question[row]),
        )
        for id_, row in snapshot.row_of.items()
    }
    scores = {}
    for word in VOCABULARY:
        seen, postings = arena.view([word])
        matches = lexical.match(postings, seen.alive()[seen.passage_row])
        best = seen.best_passages(matches.scores)
        scores[word] = {id_: round(float(best[row]), 9) for id_, row in seen.row_of.items()}
    return {
        "rows": rows,
        "keywords": scores,
        "links": linked(arena),
        "days": snapshot.active_days,
        "conversational": round(snapshot.conversational, 12),
        "embedder": arena.embedder,
        "pieces": arena.piece_frequency(np.arange(40, dtype=np.int32)).tolist(),
    }


def assert_same(arena: Arena, other: Arena) -> None:
    assert told(arena) == told(other)
    for each in (arena, other):
        if each.snapshot().vectors is not None:
            assert_neighbours(each)


# -- random lives --------------------------------------------------------------------------------

ids = st.sampled_from([f"m{number}" for number in range(12)])
texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5).map(" ".join)
speakers = st.sampled_from([None, "Ann", "Bob"])
operations = st.one_of(
    st.tuples(st.just("add"), ids, texts, st.sampled_from([None, "a", "b"]), speakers),
    st.tuples(st.just("add"), ids, texts, st.sampled_from([None, "a", "b"]), speakers),
    st.tuples(st.just("edit"), ids, texts, speakers),
    st.tuples(st.just("erase"), ids),
    st.tuples(st.just("link"), ids, ids, st.sampled_from([None, 0.5, 1.0])),
    st.tuples(st.just("state"), ids, st.sampled_from(["use", "fade", "pin", "hold"])),
    st.tuples(st.just("look")),
    st.tuples(st.just("look")),
)


def change(store: MemoryStore, step: tuple[Any, ...], number: int) -> None:
    """Carry out one step, if it is possible."""
    kind, *args = step
    there = set(store.select(NS))
    known = {memory.text for memory in store.get(NS, sorted(there))}
    if kind == "add" and args[0] not in there and args[1] not in known:
        id_, text, source, speaker = args
        at = AT + timedelta(minutes=number)
        add(store, entry(text, id_, source=source, speaker=speaker, created_at=at))
    elif kind == "edit" and args[0] in there and args[1] not in known:
        id_, text, speaker = args
        store.modify(NS, [id_], lambda state: replace(state, held=False), now=T0)
        assert store.revise(
            NS,
            id_,
            {"text": text, "speaker": speaker},
            words=(text, speaker),
            passages=parts(text),
            fingerprint=EMBEDDER,
            settle=lambda state: state,
            edit=lambda state: state,
            now=T0,
        )
    elif kind == "erase" and args[0] in there:
        store.modify(NS, [args[0]], lambda state: replace(state, held=False), now=T0)
        store.erase(NS, [args[0]], action="erase", now=T0)
    elif kind == "link" and {args[0], args[1]} <= there and args[0] != args[1]:
        store.link(NS, *args)
    elif kind == "state" and args[0] in there:
        now = T0 + number * DAY
        edits = {
            "use": lambda state: lifecycle.reinforced(state, now, POLICY),
            "fade": lambda state: lifecycle.faded(state, now),
            "pin": lambda state: lifecycle.pinned(state, POLICY, on=not state.pinned),
            "hold": lambda state: replace(state, held=not state.held),
        }
        store.modify(NS, [args[0]], edits[args[1]], day=now // DAY, now=now)


@contextmanager
def two_handles() -> Iterator[tuple[SQLiteStore, SQLiteStore]]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "memory.db")
        writer, reader = SQLiteStore(path), SQLiteStore(path)
        try:
            yield writer, reader
        finally:
            writer.close()
            reader.close()


@settings(deadline=None, max_examples=40)
@given(st.lists(operations, min_size=40, max_size=90))
def test_catching_up_through_another_handle_equals_starting_from_scratch(
    steps: list[tuple[Any, ...]],
) -> None:
    with two_handles() as (writer, reader):
        follower = Arena(reader, NS)
        for number, step in enumerate(steps):
            if step[0] == "look":
                similar(caught_up(follower))
            else:
                change(writer, step, number)
        assert_same(caught_up(follower), caught_up(Arena(writer, NS)))


# -- one by one ----------------------------------------------------------------------------------


def test_an_empty_namespace_has_an_empty_snapshot(store: SQLiteStore) -> None:
    snapshot = caught_up(Arena(store, NS)).snapshot()
    assert (snapshot.ids, snapshot.row_of, len(snapshot.status)) == ([], {}, 0)


def test_a_snapshot_is_the_same_object_until_something_changes(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1"))
    first = caught_up(arena).snapshot()
    assert caught_up(arena).snapshot() is first
    add(store, entry("milk", "m2"))
    assert caught_up(arena).snapshot() is not first


def test_a_snapshot_does_not_see_what_happens_later(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1", source="a"), entry("milk", "m2", source="a"))
    before = caught_up(arena).snapshot()
    store.erase(NS, ["m1"], action="erase", now=T0)
    for number in range(100):
        add(store, entry(f"rain {number}", f"x{number}", source="a"))
    caught_up(arena)
    assert set(before.row_of) == {"m1", "m2"}
    assert len(before.status) == len(before.passage_row) == 2
    assert not (before.status == GONE).any()
    assert before.after[before.row_of["m1"]] == before.row_of["m2"]


def test_items_of_a_source_stand_in_the_order_of_their_positions(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    for position in (5, 1, 3, 0, 4):
        add(store, entry(f"cup {position}", f"m{position}", source="a", position=position))
        caught_up(arena)
    snapshot = arena.snapshot()
    row, seen = snapshot.row_of["m0"], []
    while row >= 0:
        seen.append(snapshot.ids[row])
        row = int(snapshot.after[row])
    assert seen == ["m0", "m1", "m3", "m4", "m5"]


def test_those_around_an_erased_item_become_neighbours(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, *(entry(f"cup {n}", f"m{n}", source="a", position=n) for n in range(3)))
    caught_up(arena)
    store.erase(NS, ["m1"], action="erase", now=T0)
    snapshot = caught_up(arena).snapshot()
    first, last = snapshot.row_of["m0"], snapshot.row_of["m2"]
    assert (snapshot.after[first], snapshot.before[last]) == (last, first)


def test_a_link_of_an_erased_memory_does_not_come_back_with_its_id(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1"), entry("milk", "m2"))
    store.link(NS, "m1", "m2", 0.5)
    assert linked(caught_up(arena)) == {"m1": {"m2": 0.5}, "m2": {"m1": 0.5}}
    store.erase(NS, ["m1"], action="erase", now=T0)
    assert linked(caught_up(arena)) == {"m2": {}}
    add(store, entry("rain", "m1"))
    assert linked(caught_up(arena)) == {"m1": {}, "m2": {}}


def test_items_at_the_same_place_stand_in_the_same_order_for_every_reader(
    store: SQLiteStore,
) -> None:
    arena = Arena(store, NS)
    for number, id_ in enumerate(("m9", "m5", "m7")):
        at = AT - timedelta(minutes=number)
        add(store, entry(f"cup {id_}", id_, source="a", position=3, created_at=at))
        caught_up(arena)
    assert told(arena) == told(caught_up(Arena(store, NS)))


def test_similar_memories_do_not_reach_beyond_the_snapshot_of_a_reader(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1"), entry("milk", "m2"))
    earlier = caught_up(arena).snapshot()
    add(store, *(entry(f"rain {number}", f"x{number}") for number in range(20)))
    similar(caught_up(arena), least=-1.0)  # another reader is already further
    row = earlier.row_of["m1"]
    edges = arena.edges(earlier, {row: 1.0}, least=-1.0, floor=0.0)[row]
    assert {edge.to for edge in edges} <= set(earlier.row_of.values())


def test_a_reader_of_an_old_snapshot_spoils_nothing_for_those_after_a_new_start(
    store: SQLiteStore,
) -> None:
    arena = Arena(store, NS)
    add(store, *(entry(f"rain {number}", f"x{number}") for number in range(1200)))
    old = caught_up(arena).snapshot()
    store.erase(NS, [f"x{number}" for number in range(1190)], action="erase", now=T0)
    caught_up(caught_up(arena))
    for row in range(10):  # a search that began before goes on
        arena.edges(old, {row: 1.0}, least=0.4, floor=0.0)
    assert_neighbours(arena)


def test_a_reader_of_vectors_of_the_old_embedder_spoils_nothing_for_the_new(
    store: SQLiteStore,
) -> None:
    arena = Arena(store, NS)
    texts = [f"rain {number}" for number in range(12)]
    add(store, *(entry(text, text) for text in texts))
    old = caught_up(arena).snapshot()
    other = Fingerprint("three more", 3, 2)
    new = [(NS, text, text, parts(text[::-1])) for text in texts]
    store.put_vectors(other, new)
    assert store.switch(other)
    caught_up(arena)
    for row in range(len(texts)):  # a search that began before goes on
        arena.edges(old, {row: 1.0}, least=0.4, floor=0.0)
    assert_neighbours(arena)


def test_similarity_that_links_is_the_callers_each_time(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, *(entry(f"rain {number}", f"x{number}") for number in range(12)))
    caught_up(arena)
    for least in (0.4, 0.9, 0.2):
        assert_neighbours(arena, least=least)


def test_texts_without_a_vector_are_similar_to_nothing(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1"), entry("茶", "m2", encoded=False), entry("milk", "m3"))
    snapshot = caught_up(arena).snapshot()
    assert snapshot.vectors is not None
    assert not snapshot.vectors[snapshot.passage_start[snapshot.row_of["m2"]]].any()
    found = similar(arena, least=0.01)
    assert found["m2"] == {}
    assert all("m2" not in neighbours for neighbours in found.values())


def test_an_arena_of_keywords_alone_has_no_vectors(store: SQLiteStore) -> None:
    add(store, entry("tea", "m1", encoded=False))
    arena = caught_up(Arena(store, NS))
    assert arena.snapshot().vectors is None
    assert similar(arena) == {"m1": {}}


def test_an_arena_with_many_dead_rows_starts_over(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, *(entry(f"rain {n}", f"x{n}", encoded=False) for n in range(1100)))
    caught_up(arena)
    store.erase(NS, [f"x{number}" for number in range(1050)], action="erase", now=T0)
    assert len(caught_up(arena).snapshot().ids) == 1100
    assert len(caught_up(arena).snapshot().ids) == 50
    assert told(arena) == told(caught_up(Arena(store, NS)))


def test_a_reader_older_than_the_tombstones_starts_over(store: SQLiteStore) -> None:
    late, prompt = Arena(store, NS), Arena(store, NS)
    add(store, *(entry(f"rain {number}", f"x{number}") for number in range(5)))
    caught_up(late)
    store.erase(NS, ["x1", "x3"], action="erase", now=T0)
    caught_up(prompt)
    assert store.mark_pruned(NS, T0 + 31 * DAY, unless_after=T0)
    add(store, entry("sun", "m1"))
    for arena in (late, prompt):
        assert set(caught_up(arena).snapshot().row_of) == {"x0", "x2", "x4", "m1"}
        assert_same(arena, caught_up(Arena(store, NS)))


def test_words_are_counted_by_the_passages_that_held_them(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("tea", "m1"), entry("teas", "m2"), entry("sun", "m3"))
    caught_up(arena)
    assert arena.heard(["tea", "sun", "milk"]) == ({"tea": 2, "sun": 1, "milk": 0}, 3)
    assert arena.heard([]) == ({}, 3)


def test_what_follows_a_question_of_somebody_else_is_an_answer(store: SQLiteStore) -> None:
    arena = Arena(store, NS)
    add(store, entry("Do you take milk?", "m1", source="a", speaker="Ann"))
    caught_up(arena)
    assert arena.follows_question("a", "Bob")
    assert arena.follows_question("a", None)
    assert not arena.follows_question("a", "Ann")
    assert not arena.follows_question("b", "Bob")
    add(store, entry("No milk.", "m2", source="a", speaker="Bob"))
    caught_up(arena)
    assert not arena.follows_question("a", "Ann")


def test_names_are_counted_by_the_speakers_there_are_whoever_came_first(
    tmp_path: Path,
) -> None:
    """A handle that was there all along counts like one that opens the file now."""
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, namespace="a", embedder=None) as old:
        old.remember("We met Ann at the lake", speaker="Bo", source="t", id="one")
        old.recall("Who was at the lake?")
        ann = old.remember("Yes, and Bo brought Cleo", speaker="Ann", source="t")
        counted = []
        for erased in ([], [ann.id]):
            old.erase(erased)
            with MemoryBank.open(path, namespace="a", embedder=None) as new:
                found = [bank._arena().snapshot() for bank in (old, new)]
                counted.append([each.names[each.row_of["one"]] for each in found])
        assert counted == [[0, 0], [1, 1]]
