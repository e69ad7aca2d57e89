"""What every `MemoryStore` must do. A new store joins by one line in `STORES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import AT, a_memory, a_passage
from ebbmem.clock import DAY, to_micros
from ebbmem.embedding import Fingerprint
from ebbmem.embedding.encoding import quantise
from ebbmem.errors import FingerprintMismatch, Held, InvalidInput, NotFound
from ebbmem.records import Namespace
from ebbmem.store import Added, Entry, MemoryStore, Passage, SQLiteStore, State

STORES: dict[str, Callable[[Path], MemoryStore]] = {
    "file": lambda folder: SQLiteStore(str(folder / "memory.db")),
    ":memory:": lambda folder: SQLiteStore(":memory:"),
}

ALICE, BOB = ("alice",), ("bob",)
T0 = to_micros(AT)
TODAY = T0 // DAY
FIRST, SECOND = Fingerprint("first", 2, 3, min_similarity=0.2), Fingerprint("second", 4)
KEYWORDS = Fingerprint("keywords alone", 0)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    opened = STORES[request.param](tmp_path)
    yield opened
    opened.close()


class Stop(Exception):
    """Raised by an edit, in the middle of a write."""


def stop(state: State) -> State:
    raise Stop


def same(state: State) -> State:
    return state


def used(state: State) -> State:
    return replace(state, recall_count=state.recall_count + 1, last_reinforced_at=T0)


def hidden(state: State) -> State:
    return replace(state, status="faded", faded_at=T0, fades_at=None)


def held(state: State) -> State:
    return replace(state, held=True)


def passage(start: int, stop: int, dimension: int = 2) -> Passage:
    tokens = quantise([start, stop], np.arange(6.0).reshape(2, 3)) if dimension == 2 else None
    return a_passage(start, stop, dimension=dimension, tokens=tokens)


def entry(id: str, text: str | None = None, **changes: Any) -> Entry:
    said = text or f"text of {id}"
    plain = {"id": id, "text": said, "fades_at": AT + timedelta(days=24)}
    return Entry(a_memory(**plain | changes), (passage(0, len(said)),))


def add(
    store: MemoryStore,
    *entries: Entry,
    ns: Namespace = ALICE,
    fingerprint: Fingerprint = FIRST,
    again: Callable[[State], State] = same,
    actions: Callable[[State], list[str]] | None = None,
    policy: str = "{}",
    days: tuple[int, ...] = (TODAY,),
    now: int = T0,
) -> list[Added]:
    return store.add(
        ns,
        entries,
        policy=policy,
        fingerprint=fingerprint,
        again=again,
        actions=actions,
        days=days,
        now=now,
    )


def everything(store: MemoryStore) -> object:
    """All that the store tells, for before and after."""
    told: list[object] = [store.fingerprint(), store.count()]
    for ns in store.namespaces():
        ids = store.select(ns)
        changes = store.changes(ns, 0)
        rows = [(c.id, c.state, c.content and c.content.text, c.links) for c in changes.rows]
        told.append((ns, store.info(ns), store.get(ns, ids), store.audit(ns)))
        told.append((changes.seq, changes.active_days, sorted(rows, key=lambda row: row[0])))
    return told


# -- namespaces ----------------------------------------------------------------------------------


def test_a_new_store_knows_nothing(store: MemoryStore) -> None:
    assert store.namespaces() == []
    assert store.info(ALICE) is None
    assert store.fingerprint() is None
    assert store.count() == 0
    assert store.get(ALICE, ["m1"]) == []
    assert store.select(ALICE) == []
    changes = store.changes(ALICE, 0)
    assert (changes.seq, changes.reset, changes.rows) == (0, False, ())


def test_a_namespace_keeps_its_policy_and_is_listed(store: MemoryStore) -> None:
    add(store, entry("m1"), policy="one")
    add(store, entry("m1"), ns=BOB, policy="two")
    add(store, entry("m2"), policy="three")
    info = store.info(ALICE)
    assert info is not None
    assert (info.policy, info.pruned_at) == ("one", None)
    assert sorted(store.namespaces()) == [ALICE, BOB]


def test_no_separator_in_a_name_can_reach_another_namespace(store: MemoryStore) -> None:
    names: list[Namespace] = [
        ("a", "b"),
        ("a/b",),
        ("a",),
        ('a", "b',),
        ("a\u241fb",),
        ("A", "b"),
        ("a%",),
    ]
    for number, ns in enumerate(names):
        add(store, entry("m", f"text {number}"), ns=ns)
    assert sorted(store.namespaces()) == sorted(names)
    for number, ns in enumerate(names):
        assert [each.text for each in store.get(ns, ["m"])] == [f"text {number}"]


def test_a_new_policy_runs_over_every_state_and_is_told(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    seq = store.changes(ALICE, 0).seq
    store.set_policy(ALICE, "new", edit=lambda s: replace(s, fades_at=7))
    info = store.info(ALICE)
    assert info is not None
    assert info.policy == "new"
    assert {s.fades_at for s in store.states(ALICE, ["m1", "m2"])} == {7}
    assert {c.id for c in store.changes(ALICE, seq).rows} == {"m1", "m2"}


def test_a_policy_that_fails_on_a_state_is_not_kept(store: MemoryStore) -> None:
    add(store, entry("m1"), policy="old")
    before = everything(store)
    with pytest.raises(Stop):
        store.set_policy(ALICE, "new", edit=stop)
    assert everything(store) == before


# -- adding --------------------------------------------------------------------------------------


def test_a_memory_comes_back_as_it_was_given(store: MemoryStore) -> None:
    given = entry(
        "m1",
        "  Füße, 足, \U0001f9b6\u0000end ",
        category="strategy",
        importance=0.123456789,
        source="chat",
        position=7,
        speaker="Ann",
        metadata={"deep": [1, 2.5, None, {"x": "足"}], "big": 2**62},
        last_reinforced_at=AT + timedelta(microseconds=1),
        recall_count=3,
        fades_at=AT + timedelta(days=9999),
        pinned=True,
        held=True,
    )
    assert add(store, given) == [Added("m1", created=True)]
    assert store.get(ALICE, ["m1"]) == [given.memory]


def test_ids_are_given_back_in_the_order_asked_for(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"), entry("m3"))
    assert [each.id for each in store.get(ALICE, ["m3", "none", "m1"])] == ["m3", "m1"]


def test_the_same_text_is_one_record_in_a_namespace(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    assert add(store, entry("m2", "tea"), again=used) == [Added("m1", created=False)]
    assert store.count() == 1
    assert store.get(ALICE, ["m1"])[0].recall_count == 1


def test_the_same_text_twice_in_one_call_is_one_record(store: MemoryStore) -> None:
    added = add(store, entry("m1", "tea"), entry("m2", "tea"))
    assert added == [Added("m1", created=True), Added("m1", created=False)]


@pytest.mark.parametrize("other", ["Tea", "tea ", "tea\u200b", "te\u0301a"])
def test_any_other_text_is_another_record(store: MemoryStore, other: str) -> None:
    assert [each.created for each in add(store, entry("m1", "tea"), entry("m2", other))] == [
        True,
        True,
    ]


def test_the_same_text_and_id_in_another_namespace_is_another_record(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"), ns=ALICE)
    add(store, entry("m1", "tea"), ns=BOB)
    assert store.count() == 2
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    assert [each.text for each in store.get(BOB, ["m1"])] == ["tea"]


def test_an_imported_memory_that_is_here_already_changes_nothing(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = store.states(ALICE, ["m1"])
    brought = replace(entry("m2", "tea", recall_count=9), imported=True)
    assert add(store, brought, again=stop) == [Added("m1", created=False)]
    assert store.states(ALICE, ["m1"]) == before


def test_reviving_a_faded_record_by_its_text_is_in_the_audit(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    store.modify(ALICE, ["m1"], hidden, now=T0)
    add(
        store,
        entry("m2", "tea"),
        again=lambda s: replace(s, status="active"),
        actions=lambda s: ["restore"],
        now=T0 + 5,
    )
    assert [(line.action, line.id, line.at) for line in store.audit(ALICE)] == [
        ("restore", "m1", T0 + 5)
    ]


def test_an_id_that_belongs_to_another_text_is_refused_and_nothing_is_written(
    store: MemoryStore,
) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    with pytest.raises(InvalidInput) as caught:
        add(store, entry("m2", "milk"), entry("m1", "rain"))
    assert caught.value.field == "id"
    assert "rain" not in str(caught.value)
    assert everything(store) == before


def test_an_edit_that_fails_leaves_nothing_of_the_call_behind(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    with pytest.raises(Stop):
        add(store, entry("m2", "milk"), entry("m3", "tea"), again=stop, days=(TODAY + 9,))
    assert everything(store) == before


def test_a_failed_first_write_leaves_no_namespace_and_no_embedder(store: MemoryStore) -> None:
    with pytest.raises(Stop):
        add(store, entry("m1", "tea"), entry("m2", "tea"), again=stop)
    assert store.namespaces() == []
    assert store.fingerprint() is None


def test_positions_are_given_behind_the_last_of_the_source(store: MemoryStore) -> None:
    add(store, entry("a0", source="a"), entry("a1", source="a"), entry("b0", source="b"))
    add(store, entry("a9", source="a", position=9), entry("n", source=None))
    add(store, entry("a10", source="a"))
    add(store, entry("c", source="a"), ns=BOB)
    found = store.get(ALICE, ["a0", "a1", "b0", "a9", "a10", "n"])
    assert [each.position for each in found] == [0, 1, 0, 9, 10, None]
    assert store.get(BOB, ["c"])[0].position == 0


def test_days_of_use_are_kept_once_and_in_order(store: MemoryStore) -> None:
    add(store, entry("m1"), days=(TODAY + 3, TODAY))
    add(store, entry("m2"), days=(TODAY, -400))
    assert store.changes(ALICE, 0).active_days == (-400, TODAY, TODAY + 3)


# -- the embedder --------------------------------------------------------------------------------


def test_the_first_write_fixes_the_embedder(store: MemoryStore) -> None:
    add(store, entry("m1"))
    assert store.fingerprint() == FIRST


def test_another_embedder_is_refused_naming_both_and_nothing_is_written(store: MemoryStore) -> None:
    add(store, entry("m1"))
    before = everything(store)
    for other in (SECOND, replace(FIRST, dimension=5), KEYWORDS):
        with pytest.raises(FingerprintMismatch) as caught:
            add(store, entry("m2"), fingerprint=other, ns=BOB)
        assert caught.value.stored == str(FIRST)
        assert caught.value.given == str(other)
    assert everything(store) == before


def test_vectors_and_pieces_come_back_as_they_were_given(store: MemoryStore) -> None:
    given = replace(entry("m1", "one two"), passages=(passage(0, 3), passage(4, 7)))
    add(store, given)
    [change] = store.changes(ALICE, 0).rows
    assert change.content is not None
    for found, wanted in zip(change.content.passages, given.passages, strict=True):
        assert (found.start, found.stop) == (wanted.start, wanted.stop)
        assert found.encoding is not None
        assert wanted.encoding is not None
        assert np.array_equal(found.encoding.vector, wanted.encoding.vector)
        assert found.encoding.tokens is not None
        assert wanted.encoding.tokens is not None
        assert np.array_equal(found.encoding.tokens.ids, wanted.encoding.tokens.ids)
        assert np.array_equal(found.encoding.tokens.codes, wanted.encoding.tokens.codes)


# -- changing ------------------------------------------------------------------------------------


def test_modify_returns_the_states_it_changed_and_only_those(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2", pinned=True))
    changed = store.modify(ALICE, ["m2", "m1", "m1"], lambda s: s if s.pinned else used(s), now=T0)
    assert [each.id for each in changed] == ["m1"]
    assert changed[0].recall_count == 1
    assert store.states(ALICE, ["m1"]) == changed


def test_modify_changes_nothing_if_an_id_does_not_exist(store: MemoryStore) -> None:
    add(store, entry("m1"))
    add(store, entry("m2"), ns=BOB)
    before = everything(store)
    seen: list[State] = []

    def edit(state: State) -> State:
        seen.append(state)
        return used(state)

    for missing in ("none", "m2"):
        with pytest.raises(NotFound) as caught:
            store.modify(ALICE, ["m1", missing], edit, day=TODAY + 1, now=T0)
        assert caught.value.ids == (missing,)
    assert seen == []
    assert everything(store) == before


def test_modify_rolls_back_when_an_edit_or_an_action_fails(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    before = everything(store)
    with pytest.raises(Stop):
        store.modify(ALICE, ["m1", "m2"], lambda s: used(s) if s.id == "m1" else stop(s), now=T0)
    with pytest.raises(Stop):
        store.modify(ALICE, ["m1"], used, actions=stop, day=TODAY + 1, now=T0)  # type: ignore[arg-type]
    assert everything(store) == before


def test_modify_writes_the_audit_of_what_changed(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"), entry("m3", pinned=True))
    store.modify(
        ALICE,
        ["m1", "m2", "m3"],
        lambda s: s if s.pinned else used(s),
        actions=lambda s: ["use"] if s.id == "m1" else [],
        now=T0 + 1,
    )
    assert [(line.at, line.action, line.id) for line in store.audit(ALICE)] == [
        (T0 + 1, "use", "m1")
    ]


def test_modify_may_write_several_lines_for_one_change(store: MemoryStore) -> None:
    add(store, entry("m1"))
    store.modify(ALICE, ["m1"], used, actions=lambda s: ["fade", "restore"], now=T0)
    assert [(line.action, line.id) for line in store.audit(ALICE)] == [
        ("fade", "m1"),
        ("restore", "m1"),
    ]


def test_modify_may_pass_over_what_does_not_exist(store: MemoryStore) -> None:
    add(store, entry("m1"))
    changed = store.modify(ALICE, ["none", "m1"], used, missing_ok=True, now=T0)
    assert [each.id for each in changed] == ["m1"]
    assert store.modify(BOB, ["none"], used, missing_ok=True, now=T0) == []
    assert store.namespaces() == [ALICE]


def test_modify_of_nothing_can_note_a_day_of_use(store: MemoryStore) -> None:
    add(store, entry("m1"))
    assert store.modify(ALICE, [], used, day=TODAY + 4, now=T0) == []
    assert store.changes(ALICE, 0).active_days == (TODAY, TODAY + 4)


def test_the_states_of_unknown_ids_are_not_found(store: MemoryStore) -> None:
    add(store, entry("m1"))
    with pytest.raises(NotFound):
        store.states(ALICE, ["m1", "none"])


# -- revising ------------------------------------------------------------------------------------


def revise(
    store: MemoryStore,
    id: str,
    *,
    ns: Namespace = ALICE,
    words: tuple[str, str | None] | None = None,
    passages: tuple[Passage, ...] | None = None,
    fingerprint: Fingerprint = FIRST,
    settle: Callable[[State], State] = same,
    edit: Callable[[State], State] = same,
    **changes: Any,
) -> bool:
    if words is None:
        old = store.get(ns, [id])
        text = changes.get("text", old[0].text if old else "")
        words = (text, changes.get("speaker", old[0].speaker if old else None))
    if passages is None and ("text" in changes or "speaker" in changes):
        passages = (passage(0, len(words[0])),)
    return store.revise(
        ns,
        id,
        changes,
        words=words,
        passages=passages,
        fingerprint=fingerprint,
        settle=settle,
        edit=edit,
        now=T0,
    )


def test_revising_a_text_replaces_its_vectors_and_keeps_its_state(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    store.modify(ALICE, ["m1"], used, now=T0)
    seq = store.changes(ALICE, 0).seq
    parts = (passage(0, 5), passage(6, 9))
    assert revise(store, "m1", text="green tea", passages=parts, edit=held)
    [memory] = store.get(ALICE, ["m1"])
    assert (memory.text, memory.recall_count, memory.held) == ("green tea", 1, True)
    [change] = store.changes(ALICE, seq).rows
    assert change.content is not None
    assert [(each.start, each.stop) for each in change.content.passages] == [(0, 5), (6, 9)]


def test_revising_anything_but_the_words_keeps_the_vectors(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    assert revise(store, "m1", importance=0.9, metadata={"n": 1})
    [change] = store.changes(ALICE, 0).rows
    assert change.content is not None
    assert change.content.passages[0].encoding is not None
    assert change.state is not None
    assert change.state.importance == 0.9
    assert store.get(ALICE, ["m1"])[0].metadata == {"n": 1}


def test_a_text_that_is_revised_is_known_by_its_new_words_alone(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    revise(store, "m1", text="milk")
    assert add(store, entry("m2", "milk")) == [Added("m1", created=False)]
    assert add(store, entry("m3", "tea")) == [Added("m3", created=True)]


def test_revising_to_the_text_of_another_memory_is_refused(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"), entry("m2", "milk"))
    before = everything(store)
    with pytest.raises(InvalidInput, match="m2") as caught:
        revise(store, "m1", text="milk")
    assert "milk" not in str(caught.value)
    assert everything(store) == before


def test_revising_what_does_not_exist_is_not_found(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    for ns in (ALICE, BOB):
        with pytest.raises(NotFound):
            revise(store, "none", ns=ns, text="rain")
    assert everything(store) == before


def test_words_that_somebody_else_changed_meanwhile_are_left_alone(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    assert not revise(store, "m1", speaker="Ann", words=("milk", "Ann"))
    assert not revise(store, "m1", importance=0.9, words=("milk", None))
    assert everything(store) == before


def test_the_text_of_a_held_memory_is_left_alone_and_the_rest_may_change(
    store: MemoryStore,
) -> None:
    add(store, entry("m1", "tea", held=True))
    before = everything(store)
    with pytest.raises(Held):
        revise(store, "m1", text="milk")
    assert everything(store) == before
    assert revise(store, "m1", importance=0.9)


def test_vectors_of_another_embedder_are_refused_when_revising(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    with pytest.raises(FingerprintMismatch):
        revise(store, "m1", text="milk", fingerprint=SECOND, passages=(passage(0, 4, 4),))
    assert everything(store) == before


def test_what_had_faded_is_settled_before_and_audited(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    revise(store, "m1", importance=0.9, settle=hidden, edit=held)
    [memory] = store.get(ALICE, ["m1"])
    assert (memory.status, memory.held, memory.importance) == ("faded", True, 0.9)
    assert [(line.action, line.id) for line in store.audit(ALICE)] == [("fade", "m1")]


def test_revising_rolls_back_when_an_edit_fails(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    before = everything(store)
    for edits in ({"edit": stop}, {"settle": stop}):
        with pytest.raises(Stop):
            revise(store, "m1", text="milk", **edits)
    assert everything(store) == before


# -- erasing -------------------------------------------------------------------------------------


def test_erasing_removes_and_counts_what_was_there(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    assert store.erase(ALICE, ["m1", "none", "m1"], action="erase", now=T0 + 1) == 1
    assert store.select(ALICE) == ["m2"]
    assert [(line.at, line.action, line.id) for line in store.audit(ALICE)] == [
        (T0 + 1, "erase", "m1")
    ]
    assert store.erase(ALICE, ["m1"], action="erase", now=T0 + 2) == 0


def test_what_is_held_is_not_erased_and_neither_is_the_rest(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2", held=True), entry("m3", held=True))
    before = everything(store)
    with pytest.raises(Held) as caught:
        store.erase(ALICE, ["m1", "m3", "m2"], action="erase", now=T0)
    assert sorted(caught.value.ids) == ["m2", "m3"]
    assert everything(store) == before


def test_an_erased_id_and_text_may_be_used_again(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    store.modify(ALICE, ["m1"], used, now=T0)
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    assert add(store, entry("m1", "tea")) == [Added("m1", created=True)]
    [memory] = store.get(ALICE, ["m1"])
    assert (memory.recall_count, memory.status) == (0, "active")


def test_a_reader_learns_what_is_gone(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    seq = store.changes(ALICE, 0).seq
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    [change] = store.changes(ALICE, seq).rows
    assert (change.id, change.state, change.content) == ("m1", None, None)


# -- links ---------------------------------------------------------------------------------------


def test_links_are_listed_once_each(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"), entry("m3"))
    store.link(ALICE, "m2", "m1", 0.5)
    store.link(ALICE, "m1", "m3", 1.0)
    listed = {(frozenset((a, b)), weight) for a, b, weight in store.links(ALICE)}
    assert listed == {(frozenset(("m1", "m2")), 0.5), (frozenset(("m1", "m3")), 1.0)}
    assert len(store.links(ALICE)) == 2
    assert store.links(BOB) == []


def links(store: MemoryStore) -> dict[str, dict[str, float]]:
    return {change.id: dict(change.links) for change in store.changes(ALICE, 0).rows}


def test_a_link_joins_both_ways_and_is_told_of_both(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"), entry("m3"))
    seq = store.changes(ALICE, 0).seq
    store.link(ALICE, "m2", "m1", 0.5)
    assert {c.id for c in store.changes(ALICE, seq).rows} == {"m1", "m2"}
    assert links(store) == {"m1": {"m2": 0.5}, "m2": {"m1": 0.5}, "m3": {}}


def test_a_second_link_between_two_replaces_the_first(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    store.link(ALICE, "m1", "m2", 0.5)
    store.link(ALICE, "m2", "m1", 0.9)
    assert links(store) == {"m1": {"m2": 0.9}, "m2": {"m1": 0.9}}


def test_parting_two_is_told_of_both(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    store.link(ALICE, "m1", "m2", 0.5)
    seq = store.changes(ALICE, 0).seq
    store.link(ALICE, "m2", "m1", None)
    assert {c.id for c in store.changes(ALICE, seq).rows} == {"m1", "m2"}
    assert links(store) == {"m1": {}, "m2": {}}


def test_only_what_exists_can_be_linked(store: MemoryStore) -> None:
    add(store, entry("m1"))
    add(store, entry("m2"), ns=BOB)
    before = everything(store)
    for other in ("none", "m2"):
        with pytest.raises(NotFound):
            store.link(ALICE, "m1", other, 0.5)
    assert everything(store) == before


def test_erasing_one_end_takes_the_link_and_is_told_of_the_other(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"), entry("m3"))
    store.link(ALICE, "m1", "m2", 0.5)
    seq = store.changes(ALICE, 0).seq
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    told = {c.id: c for c in store.changes(ALICE, seq).rows}
    assert told.keys() == {"m1", "m2"}
    assert told["m2"].links == ()
    add(store, entry("m1"))
    assert links(store) == {"m1": {}, "m2": {}, "m3": {}}


# -- changes -------------------------------------------------------------------------------------


def test_a_reader_that_is_up_to_date_is_told_nothing(store: MemoryStore) -> None:
    add(store, entry("m1"))
    seq = store.changes(ALICE, 0).seq
    add(store, entry("m2"), ns=BOB)
    again = store.changes(ALICE, seq)
    assert (again.seq, again.reset, again.rows) == (seq, False, ())
    assert again.embedder == FIRST


def test_a_change_of_state_comes_without_the_content(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    seq = store.changes(ALICE, 0).seq
    store.modify(ALICE, ["m2"], used, now=T0)
    changes = store.changes(ALICE, seq)
    assert changes.seq > seq
    [change] = changes.rows
    assert (change.id, change.content) == ("m2", None)
    assert change.state is not None
    assert change.state.recall_count == 1


def test_writes_together_are_one_transaction(store: MemoryStore) -> None:
    add(store, entry("m0"))
    before = everything(store)

    def together() -> None:
        with store.together():
            add(store, entry("m1"))
            add(store, entry("m1"), ns=BOB)
            store.modify(ALICE, ["m1"], used, now=T0)
            raise Stop

    with pytest.raises(Stop):
        together()
    assert everything(store) == before


def test_erasing_may_be_part_of_a_larger_transaction(store: MemoryStore) -> None:
    add(store, entry("m0"))
    with store.together():
        add(store, entry("m1"))
        assert store.erase(ALICE, ["m0"], action="erase", now=T0) == 1
    assert store.select(ALICE) == ["m1"]


# -- selecting -----------------------------------------------------------------------------------


def test_ids_are_selected_in_the_order_of_creation_then_id(store: MemoryStore) -> None:
    later = AT + timedelta(microseconds=1)
    add(store, entry("m3"), entry("m2", created_at=later), entry("m1"))
    assert store.select(ALICE) == ["m1", "m3", "m2"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"category": ["fact"]}, ["m1", "m3"]),
        ({"category": ["fact", "failure"]}, ["m1", "m2", "m3"]),
        ({"category": []}, []),
        ({"source": "a"}, ["m1", "m2"]),
        ({"where": {"n": 1}}, ["m1"]),
        ({"where": {"n": "1"}}, []),
        ({"where": {"n": True}}, []),
        ({"where": {"n": 1.0}}, ["m1"]),
        ({"where": {"missing": None}}, []),
        ({"where": {"none": None}}, ["m2"]),
        ({"where": {"tags": ["a", "b"]}}, ["m3"]),
        ({"where": {"n') OR 1=1 --": 1}}, []),
        ({"category": ["fact"], "source": "a", "where": {"n": 1}}, ["m1"]),
    ],
    ids=str,
)
def test_filters_select_by_equality(
    store: MemoryStore, filters: dict[str, Any], expected: list[str]
) -> None:
    add(
        store,
        entry("m1", source="a", metadata={"n": 1}),
        entry("m2", source="a", category="failure", metadata={"none": None}),
        entry("m3", metadata={"tags": ["a", "b"]}),
    )
    assert store.select(ALICE, **filters) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": {"$gte": 2}}, ["m2", "m3"]),
        ({"n": {"$lt": 2.5, "$ne": 1}}, ["m2"]),
        ({"n": {"$in": [1, 3]}}, ["m1", "m3"]),
        ({"n": {"$nin": [1]}}, ["m2", "m3", "m4"]),
        ({"n": {"$exists": False}}, ["m4"]),
        ({"deep": {"$has": {"x": {"$gt": "a"}}}}, ["m1"]),
        ({"$or": [{"n": 1}, {"$and": [{"n": 3}, {"deep": {}}]}]}, ["m1", "m3"]),
        ({}, ["m1", "m2", "m3", "m4"]),
    ],
    ids=str,
)
def test_conditions_select_on_metadata(
    store: MemoryStore, where: dict[str, Any], expected: list[str]
) -> None:
    add(
        store,
        entry("m1", metadata={"n": 1, "deep": {"x": "b", "y": 1}}),
        entry("m2", metadata={"n": 2}),
        entry("m3", metadata={"n": 3, "deep": {}}),
        entry("m4"),
    )
    assert store.select(ALICE, where=where) == expected


def test_of_one_moment_ids_are_selected_by_source_then_position_then_id(
    store: MemoryStore,
) -> None:
    add(
        store,
        entry("m0"),
        entry("m1", source="b"),
        entry("m9", source="a"),
        entry("m8", source="a"),
        entry("m7", source="a", position=0),
        entry("late", source="a", position=0, created_at=AT + timedelta(seconds=1)),
        entry("early", source="z", created_at=AT - timedelta(seconds=1)),
    )
    assert store.select(ALICE) == ["early", "m7", "m9", "m8", "m1", "m0", "late"]


# -- records known by their id -------------------------------------------------------------------


def test_the_same_words_under_two_keys_and_none_are_three_records(store: MemoryStore) -> None:
    keys = [entry(id_, "tea", keyed=True) for id_ in ("k1", "k2")]
    added = add(store, *keys, entry("m1", "tea"), entry("m2", "tea"))
    assert [(each.id, each.created) for each in added] == [
        ("k1", True),
        ("k2", True),
        ("m1", True),
        ("m1", False),
    ]


def test_a_record_comes_back_with_its_key_its_silence_and_its_end(store: MemoryStore) -> None:
    end = AT + timedelta(days=1)
    given = entry("k1", "tea", keyed=True, searchable=False, expires_at=end)
    add(store, given)
    assert store.get(ALICE, ["k1"]) == [given.memory]
    [change] = store.changes(ALICE, 0).rows
    assert change.content is not None
    assert change.state is not None
    assert (change.content.searchable, change.state.expires_at) == (False, to_micros(end))


def test_a_key_that_is_there_takes_the_new_content_and_keeps_its_history(
    store: MemoryStore,
) -> None:
    add(store, entry("k1", "tea", keyed=True, source="a", speaker="Ann", metadata={"n": 1}))
    store.modify(ALICE, ["k1"], used, now=T0)
    [old] = store.get(ALICE, ["k1"])
    seq = store.changes(ALICE, 0).seq
    new = entry(
        "k1", "green tea", keyed=True, source="a", category="failure", importance=0.9,
        metadata={"m": 2}, created_at=AT + timedelta(days=1), recall_count=7,
    )  # fmt: skip
    assert add(store, new) == [Added("k1", created=False)]
    assert store.get(ALICE, ["k1"]) == [
        replace(
            old,
            text="green tea",
            category="failure",
            importance=0.9,
            speaker=None,
            metadata={"m": 2},
        )
    ]
    [change] = store.changes(ALICE, seq).rows
    assert change.content is not None
    assert [(each.start, each.stop) for each in change.content.passages] == [(0, 9)]


def test_the_same_content_under_a_key_tells_readers_nothing(store: MemoryStore) -> None:
    add(store, entry("k1", "tea", keyed=True, metadata={"a": 1, "b": [True]}))
    seq = store.changes(ALICE, 0).seq
    add(store, entry("k1", "tea", keyed=True, metadata={"b": [True], "a": 1}))
    assert store.changes(ALICE, seq).rows == ()


def test_rewritten_is_told_the_state_that_was_what_is_given_and_whether_it_is_new(
    store: MemoryStore,
) -> None:
    told: list[tuple[State, State, bool]] = []

    def rewritten(was: State, given: State, changed: bool) -> State:
        told.append((was, given, changed))
        return replace(given, recall_count=5)

    def put(text: str, **changes: Any) -> None:
        store.add(
            ALICE,
            [entry("k1", text, keyed=True, **changes)],
            policy="{}",
            fingerprint=FIRST,
            again=stop,
            rewritten=rewritten,
            days=(TODAY,),
            now=T0,
        )

    put("tea")
    assert told == []  # it is new
    end = AT + timedelta(days=1)
    put("tea")
    put("tea", category="failure", pinned=True, expires_at=end)
    (was, given, changed), (was2, given2, changed2) = told
    assert (was == given, changed) == (True, False)
    assert changed2
    assert (was2.category, was2.pinned, was2.expires_at, was2.recall_count) == (
        "fact", False, None, 5,
    )  # fmt: skip
    assert (given2.category, given2.pinned, given2.expires_at, given2.recall_count) == (
        "failure", True, to_micros(end), 5,
    )  # fmt: skip
    assert store.states(ALICE, ["k1"]) == [given2]


def test_a_rewriting_that_fails_leaves_content_and_state(store: MemoryStore) -> None:
    add(store, entry("k1", "tea", keyed=True))
    before = everything(store)

    def failing(was: State, given: State, changed: bool) -> State:
        raise Stop

    with pytest.raises(Stop):
        store.add(
            ALICE,
            [entry("m1", "rain"), entry("k1", "milk", keyed=True)],
            policy="{}",
            fingerprint=FIRST,
            again=same,
            rewritten=failing,
            days=(TODAY + 1,),
            now=T0,
        )
    assert everything(store) == before


def test_a_held_key_refuses_other_words_alone(store: MemoryStore) -> None:
    add(store, entry("k1", "tea", keyed=True, held=True))
    before = everything(store)
    with pytest.raises(Held):
        add(store, entry("m1", "rain"), entry("k1", "milk", keyed=True))
    assert everything(store) == before
    add(store, entry("k1", "tea", keyed=True, metadata={"n": 1}))
    assert store.get(ALICE, ["k1"])[0].metadata == {"n": 1}


def test_what_is_silent_is_never_stale(store: MemoryStore) -> None:
    quiet = replace(entry("m1", "tea", searchable=False), passages=())
    add(store, quiet, entry("m2", "milk"))
    assert [id_ for _, id_, *_ in store.stale(SECOND, limit=9)] == ["m2"]
    assert store.count_stale(SECOND) == 1


# -- where somebody lives ------------------------------------------------------------------------


def test_inhabited_are_namespaces_with_something_active_and_whether_that_is_sure(
    store: MemoryStore,
) -> None:
    add(store, entry("m1", fades_at=AT + timedelta(days=1)), entry("m2", fades_at=AT), ns=ALICE)
    add(store, entry("m1", fades_at=AT), ns=BOB)
    add(store, entry("m1", fades_at=None, pinned=True), ns=("carol",))
    add(store, entry("m1", fades_at=None, status="faded", faded_at=AT), ns=("dan",))
    add(store, entry("m1"), ns=("eve",))
    store.erase(("eve",), ["m1"], action="erase", now=T0)
    assert dict(store.inhabited(T0)) == {ALICE: True, BOB: False, ("carol",): True}
    assert dict(store.inhabited(T0 + DAY)) == {ALICE: False, BOB: False, ("carol",): True}


# -- the daily pass ------------------------------------------------------------------------------


def test_due_is_what_is_active_and_past_its_deadline_soonest_first(store: MemoryStore) -> None:
    days = [timedelta(days=number) for number in range(4)]
    add(store, *(entry(f"m{number}", fades_at=AT + day) for number, day in enumerate(days)))
    add(store, entry("pinned", fades_at=None, pinned=True), entry("other"))
    store.modify(ALICE, ["m0"], hidden, now=T0)
    assert store.due(ALICE, T0 + 2 * DAY, limit=9) == ["m1", "m2"]
    assert store.due(ALICE, T0 + 2 * DAY - 1, limit=9) == ["m1"]
    assert store.due(ALICE, T0 + 9 * DAY, limit=1) == ["m1"]


def test_purgeable_is_what_faded_long_enough_ago_and_is_not_held(store: MemoryStore) -> None:
    add(store, *(entry(f"m{number}") for number in range(4)))
    for number in range(3):
        store.modify(
            ALICE,
            [f"m{number}"],
            lambda s, at=T0 + number: replace(s, status="faded", faded_at=at, fades_at=None),
            now=T0,
        )
    store.modify(ALICE, ["m1"], held, now=T0)
    assert store.purgeable(ALICE, T0 + 9, limit=9) == ["m0", "m2"]
    assert store.purgeable(ALICE, T0 + 1, limit=9) == ["m0"]
    assert store.purgeable(ALICE, T0 + 9, limit=1) == ["m0"]


def test_a_pass_runs_once_in_its_interval_whoever_comes_first(store: MemoryStore) -> None:
    add(store, entry("m1"))
    assert store.mark_pruned(ALICE, T0, unless_after=T0 - DAY)
    assert not store.mark_pruned(ALICE, T0 + DAY - 1, unless_after=T0 - 1)
    assert store.mark_pruned(ALICE, T0 + DAY, unless_after=T0)
    info = store.info(ALICE)
    assert info is not None
    assert info.pruned_at == T0 + DAY


def test_a_namespace_that_does_not_exist_needs_no_pass(store: MemoryStore) -> None:
    assert not store.mark_pruned(ALICE, T0, unless_after=T0)
    assert store.namespaces() == []


def test_a_reader_who_knows_nothing_is_not_told_what_is_gone(store: MemoryStore) -> None:
    add(store, *(entry(f"m{number}") for number in range(5)))
    known = store.changes(ALICE, 0).seq
    store.erase(ALICE, ["m1", "m3"], action="erase", now=T0)
    fresh, late = store.changes(ALICE, 0), store.changes(ALICE, known)
    assert sorted(each.id for each in fresh.rows) == ["m0", "m2", "m4"]
    assert [(each.id, each.state) for each in late.rows] == [("m1", None), ("m3", None)]
    assert (fresh.seq, fresh.reset) == (late.seq, False)


def test_a_reader_older_than_the_forgotten_ids_is_told_to_start_over(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2"))
    old = store.changes(ALICE, 0).seq
    store.erase(ALICE, ["m1"], action="erase", now=T0)
    recent = store.changes(ALICE, 0).seq
    store.mark_pruned(ALICE, T0 + 30 * DAY, unless_after=T0)
    assert not store.changes(ALICE, old).reset
    store.mark_pruned(ALICE, T0 + 31 * DAY, unless_after=T0 + 30 * DAY)
    late, prompt = store.changes(ALICE, old), store.changes(ALICE, recent)
    assert late.reset
    assert {c.id for c in late.rows} == {"m2"}
    assert not prompt.reset


# -- another embedder ----------------------------------------------------------------------------


def test_vectors_of_another_embedder_wait_until_all_are_there(store: MemoryStore) -> None:
    add(store, entry("m1"), entry("m2", speaker="Ann"))
    add(store, entry("m1"), ns=BOB)
    todo = store.stale(SECOND, limit=9)
    assert {(ns, id_) for ns, id_, *_ in todo} == {(ALICE, "m1"), (ALICE, "m2"), (BOB, "m1")}
    assert (ALICE, "m2", "text of m2", "Ann") in todo
    assert len(store.stale(SECOND, limit=2)) == 2
    for number, (ns, id_, text, _) in enumerate(todo):
        assert not store.switch(SECOND)
        assert store.fingerprint() == FIRST
        store.put_vectors(SECOND, [(ns, id_, text, (passage(0, len(text), 4),))])
        assert len(store.stale(SECOND, limit=9)) == 2 - number
    assert store.switch(SECOND)
    assert store.fingerprint() == SECOND


def test_after_the_switch_every_reader_starts_over_with_the_new_vectors(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    seq = store.changes(ALICE, 0).seq
    store.put_vectors(SECOND, [(ALICE, "m1", "tea", (passage(0, 3, 4),))])
    assert not store.changes(ALICE, seq).reset
    store.switch(SECOND)
    changes = store.changes(ALICE, seq)
    assert changes.reset
    assert changes.embedder == SECOND
    [change] = changes.rows
    assert change.content is not None
    [found] = change.content.passages
    assert found.encoding is not None
    assert len(found.encoding.vector) == 4


def test_vectors_of_a_text_that_changed_meanwhile_are_left_out(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    revise(store, "m1", text="milk")
    store.put_vectors(SECOND, [(ALICE, "m1", "tea", (passage(0, 3, 4),))])
    assert [id_ for _, id_, *_ in store.stale(SECOND, limit=9)] == ["m1"]


def test_a_text_that_changes_between_two_batches_is_stale_again(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    store.put_vectors(SECOND, [(ALICE, "m1", "tea", (passage(0, 3, 4),))])
    revise(store, "m1", text="milk")
    assert [id_ for _, id_, *_ in store.stale(SECOND, limit=9)] == ["m1"]
    assert not store.switch(SECOND)


def test_a_switch_to_keywords_needs_no_vectors(store: MemoryStore) -> None:
    add(store, entry("m1", "tea"))
    assert store.switch(KEYWORDS)
    assert store.fingerprint() == KEYWORDS
    [change] = store.changes(ALICE, 0).rows
    assert change.content is not None
    assert change.content.passages == ()


# -- the whole -----------------------------------------------------------------------------------


def test_a_backup_holds_everything_and_overwrites_nothing(
    store: MemoryStore, tmp_path: Path
) -> None:
    add(store, entry("m1"), entry("m2"))
    store.link(ALICE, "m1", "m2", 0.5)
    target = tmp_path / "copy" / "backup.db"
    target.parent.mkdir()
    store.backup(str(target))
    copy = SQLiteStore(str(target))
    assert everything(copy) == everything(store)
    copy.close()
    assert [each.name for each in target.parent.iterdir()] == ["backup.db"]


def test_diagnosing_tells_the_health_of_the_store(store: MemoryStore) -> None:
    add(store, entry("m1"))
    told = store.diagnose()
    assert told["path"] == store.path
    assert told["integrity"] == "ok"
    assert told.keys() >= {"engine", "engine_version", "schema", "bytes"}


# -- what is removed, and the trail of it --------------------------------------------------------


def test_the_trail_has_a_head_that_grows_with_it(store: MemoryStore) -> None:
    assert store.audit_head(ALICE) == bytes(32)
    add(store, entry("m1"), entry("m2"))
    heads = []
    for id_ in ("m1", "m2"):
        store.erase(ALICE, [id_], action="erase", now=T0)
        heads.append(store.audit_head(ALICE))
    assert [line.hash for line in store.audit(ALICE)] == heads
    assert [line.number for line in store.audit(ALICE)] == [1, 2]
    assert store.audit_head(BOB) == bytes(32)
    for known in (None, bytes(32), *heads):
        state = store.audit_state(ALICE, known=known)
        assert (state.length, state.head, state.fault) == (2, heads[-1], None)
    fault = store.audit_state(ALICE, known=b"x" * 32).fault
    assert fault is not None
    assert fault.number == 2


def test_what_is_removed_is_swept_once_it_is_committed(store: MemoryStore) -> None:
    add(store, entry("m1"))
    assert store.is_swept()
    with store.together():
        store.erase(ALICE, ["m1"], action="erase", now=T0)
    assert store.sweep()
    assert store.is_swept()


def test_days_of_use_are_cleared_for_one_namespace_alone(store: MemoryStore) -> None:
    add(store, entry("m1"))
    add(store, entry("m1"), ns=BOB)
    since = store.changes(ALICE, 0).seq
    assert store.changes(ALICE, 0).active_days
    store.clear_days(ALICE)
    told = store.changes(ALICE, since)
    assert (told.active_days, told.seq > since, told.rows) == ((), True, ())
    assert store.changes(BOB, 0).active_days
