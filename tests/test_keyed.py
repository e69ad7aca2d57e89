"""Records known by their id: writing under it rewrites that record, whatever it says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import AT, OpenBank
from ebbmem import Draft, EmbeddingError, Held, InvalidInput, Memory, MemoryBank
from ebbmem.testing import ManualClock, TableEmbedder

TABLE = {
    "green tea": [1.0, 0.0],
    "cold rain": [0.0, 1.0],
    "Ann: green tea": [0.6, 0.8],
    "tea": [1.0, 0.0],
    "rain": [0.0, 1.0],
}
Put = Callable[..., Memory]


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder(TABLE)


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    return open_bank(embedder=embedder)


@pytest.fixture
def put(bank: MemoryBank) -> Put:
    """Writes `k`, the same each time but for what is said."""

    def call(text: str = "green tea", **changes: Any) -> Memory:
        plain: dict[str, Any] = {"id": "k", "keyed": True, "importance": 0.5, "source": "cup"}
        return bank.remember(text, **plain | changes)

    return call


def found(bank: MemoryBank, query: str, **options: Any) -> list[str]:
    hits = bank.recall(query, reinforce=False, **options)
    return [hit.memory.id for hit in hits]


# -- nothing new ---------------------------------------------------------------------------------


def test_writing_the_same_again_changes_nothing_however_late(
    bank: MemoryBank, put: Put, clock: ManualClock
) -> None:
    first = put(metadata={"n": 1}, expires_at=AT + timedelta(days=9), speaker="Ann")
    state = bank._store.states(("u1",), ["k"])
    clock.advance(days=1)
    again = put(metadata={"n": 1}, expires_at=AT + timedelta(days=9), speaker="Ann")
    assert again == first
    assert bank._store.states(("u1",), ["k"]) == state
    assert bank.audit() == []


def test_the_order_of_keys_in_metadata_is_nothing_new(put: Put, clock: ManualClock) -> None:
    first = put(metadata={"a": 1, "b": 2})
    clock.advance(days=1)
    assert put(metadata={"b": 2, "a": 1}) == first


def test_a_reader_is_not_told_of_what_is_not_new(bank: MemoryBank, put: Put) -> None:
    put()
    seq = bank._store.changes(("u1",), 0).seq
    put()
    assert bank._store.changes(("u1",), seq).rows == ()


# -- something new -------------------------------------------------------------------------------


def test_a_new_text_takes_the_place_of_the_old(bank: MemoryBank, put: Put) -> None:
    put("green tea")
    changed = put("cold rain")
    assert changed.text == "cold rain"
    assert [each.text for each in bank.list()] == ["cold rain"]


def test_the_old_words_find_nothing_and_the_new_ones_find_it(bank: MemoryBank, put: Put) -> None:
    put("green tea")
    assert found(bank, "tea") == ["k"]
    put("cold rain")
    assert found(bank, "tea", min_similarity=0.5) == []
    assert found(bank, "rain", min_similarity=0.5) == ["k"]


def test_a_new_text_has_its_own_vector(bank: MemoryBank, put: Put, embedder: TableEmbedder) -> None:
    put("green tea")
    put("cold rain")
    assert embedder.texts == ["green tea", "cold rain"]
    assert bank.vectors("k")["k"].tolist() == [0.0, 1.0]


def test_another_speaker_is_another_vector_of_the_same_text(bank: MemoryBank, put: Put) -> None:
    put("green tea")
    put("green tea", speaker="Ann")
    assert bank.vectors("k")["k"].tolist() == pytest.approx([0.6, 0.8])
    assert bank.get("k").speaker == "Ann"


def test_what_was_said_before_is_kept_with_its_time_its_count_and_its_place(
    bank: MemoryBank, put: Put, clock: ManualClock
) -> None:
    first = put("green tea")
    clock.advance(minutes=1)
    [used] = bank.reinforce("k")
    clock.advance(minutes=1)  # within the spacing: the writing itself does not count
    changed = put("cold rain", at=AT + timedelta(days=-7))
    assert (changed.created_at, changed.position) == (first.created_at, first.position)
    assert (changed.recall_count, changed.last_reinforced_at) == (1, used.last_reinforced_at)


def test_saying_something_new_counts_as_a_use_once_in_the_spacing(
    put: Put, clock: ManualClock
) -> None:
    put("green tea")
    clock.advance(minutes=9)
    assert put("cold rain").recall_count == 0  # the spacing is ten minutes
    clock.advance(minutes=1)
    changed = put("green tea")
    assert (changed.recall_count, changed.last_reinforced_at) == (1, AT + timedelta(minutes=10))


def test_a_pin_is_kept_by_a_writing_that_does_not_pin(put: Put) -> None:
    put(pinned=True)
    assert put("cold rain").pinned
    assert put("cold rain").fades_at is None


def test_a_writing_may_pin(put: Put) -> None:
    put()
    pinned = put(pinned=True)
    assert (pinned.pinned, pinned.fades_at) == (True, None)


@pytest.mark.parametrize(
    ("old", "new"), [({"n": 1}, {"n": 2}), ({"n": 1}, {}), ({"n": 1}, {"n": True}), ({}, {"m": {}})]
)
def test_new_metadata_are_kept(put: Put, old: dict[str, Any], new: dict[str, Any]) -> None:
    put(metadata=old)
    kept = put(metadata=new).metadata
    assert repr(kept) == repr(new)  # true is not 1


def test_new_metadata_leave_the_vector_and_ask_for_no_other_text(
    bank: MemoryBank, put: Put, embedder: TableEmbedder
) -> None:
    put(metadata={"n": 1})
    before = bank.vectors("k")["k"].tolist()
    put(metadata={"n": 2})
    assert set(embedder.texts) == {"green tea"}
    assert bank.vectors("k")["k"].tolist() == before


def test_the_importance_is_weighed_anew_with_the_text_alone(put: Put) -> None:
    put("green tea", importance=0.5)
    assert put("green tea", importance=0.9, metadata={"n": 1}).importance == 0.5
    assert put("cold rain", importance=0.9).importance == 0.9


def test_a_category_may_be_another(bank: MemoryBank, put: Put) -> None:
    put()
    assert put(category="strategy").category == "strategy"
    # 0.5 at 0.10 / day * (1 - 0.8 * 0.5): ln(0.5 / 0.05) / 0.06 days
    assert bank.get("k").fades_at == AT + timedelta(
        microseconds=int(38.37641821656743 * 86400e6) + 1
    )


def test_where_it_was_said_stays_and_may_be_told_later(bank: MemoryBank, put: Put) -> None:
    bank.remember_many([Draft(text="tea", source="pot"), Draft(text="rain", source="pot")])
    put(source=None)
    assert (put(source="pot").source, bank.get("k").position) == ("pot", 2)  # behind the last
    bank.remember("green tea", source="pot")
    for source in ("pot", None):
        kept = put("cold rain", source=source)
        assert (kept.source, kept.position) == ("pot", 2)
    assert put(source="pot", position=7).position == 7


def test_a_rewritten_record_keeps_its_links(bank: MemoryBank, put: Put) -> None:
    put("green tea")
    bank.remember("rain", id="m1")
    bank.link("k", "m1")
    put("cold rain")
    assert bank._store.links(("u1",)) == [("k", "m1", 1.0)]


def test_the_same_again_is_found_after_the_file_was_opened_anew(
    open_bank: OpenBank, put: Put, bank: MemoryBank
) -> None:
    put("green tea")
    put("cold rain")
    bank.close()
    again = open_bank(embedder=TableEmbedder(TABLE))
    assert found(again, "rain", min_similarity=0.5) == ["k"]
    assert found(again, "tea", min_similarity=0.5) == []


# -- what had faded ------------------------------------------------------------------------------


@pytest.mark.parametrize("passed", [False, True])
@pytest.mark.parametrize("text", ["green tea", "cold rain"])
def test_what_had_faded_is_revived_whether_or_not_a_pass_has_run(
    bank: MemoryBank, put: Put, clock: ManualClock, passed: bool, text: str
) -> None:
    put("green tea", category="failure")
    clock.advance(days=20)
    assert bank.list() == []
    if passed:
        bank.prune()
    revived = put(text, category="failure")
    assert (revived.status, revived.faded_at) == ("active", None)
    assert revived.last_reinforced_at == clock()
    assert [each.text for each in bank.list()] == [text]
    assert [line.action for line in bank.audit()][-1] == "restore"


@pytest.mark.parametrize("passed", [False, True])
def test_what_had_faded_by_its_old_category_is_revived_whether_or_not_a_pass_has_run(
    bank: MemoryBank, put: Put, clock: ManualClock, passed: bool
) -> None:
    put(category="failure")
    clock.advance(days=20)
    if passed:
        bank.prune()
    revived = put(category="strategy")  # by which it would not have faded
    assert (revived.status, revived.last_reinforced_at) == ("active", clock())
    assert revived.recall_count == 0


def test_what_would_have_faded_by_its_new_category_begins_its_time_anew(
    bank: MemoryBank, put: Put, clock: ManualClock
) -> None:
    put(category="strategy")
    clock.advance(days=20)
    assert put(category="failure").last_reinforced_at == clock()
    assert [each.id for each in bank.list()] == ["k"]


def test_what_was_forgotten_is_revived(bank: MemoryBank, put: Put) -> None:
    put()
    bank.forget("k")
    assert put().status == "active"
    assert [line.action for line in bank.audit()] == ["forget", "restore"]


@pytest.mark.parametrize("passed", [False, True])
@pytest.mark.parametrize("end", [None, AT + timedelta(days=9)])
def test_what_had_expired_comes_back_with_the_end_that_is_given(
    bank: MemoryBank, put: Put, clock: ManualClock, passed: bool, end: datetime | None
) -> None:
    put(expires_at=AT + timedelta(hours=1))
    clock.advance(hours=2)
    if passed:
        bank.prune()
    back = put(expires_at=end)
    assert (back.status, back.expires_at) == ("active", end)
    assert back.last_reinforced_at == clock()  # hidden until now: its clock starts again
    assert bank.list() == [back]


@pytest.mark.parametrize("text", ["green tea", "cold rain"])
@pytest.mark.parametrize("passed", [False, True])
def test_an_end_that_is_past_when_it_is_given_is_an_end(
    bank: MemoryBank, put: Put, clock: ManualClock, text: str, passed: bool
) -> None:
    end = AT + timedelta(hours=1)
    put("green tea", expires_at=end)
    clock.advance(hours=2)
    if passed:
        bank.prune()
    assert put(text, expires_at=end).expires_at == end
    assert bank.list() == []
    assert found(bank, "tea", min_similarity=-1) == []
    bank.prune()
    [kept] = bank.list(include_faded=True)
    assert (kept.text, kept.status) == (text, "faded")


# -- what is refused -----------------------------------------------------------------------------


def test_what_is_held_refuses_other_words_and_nothing_is_written(
    bank: MemoryBank, put: Put
) -> None:
    put("green tea")
    bank.hold("k")
    before = bank.list()
    with pytest.raises(Held) as caught:
        bank.remember_many([Draft(text="tea"), Draft(text="cold rain", id="k", keyed=True)])
    assert caught.value.ids == ("k",)
    assert bank.list() == before
    assert found(bank, "tea") == ["k"]


def test_what_is_held_takes_anything_but_other_words(bank: MemoryBank, put: Put) -> None:
    put()
    bank.hold("k")
    changed = put(metadata={"n": 1})
    assert (changed.metadata, changed.held) == ({"n": 1}, True)


@pytest.mark.parametrize("text", ["green tea", "cold rain"])
def test_the_id_of_a_record_without_a_key_is_refused(bank: MemoryBank, put: Put, text: str) -> None:
    bank.remember("green tea", id="k", importance=0.5)
    before = bank.list()
    with pytest.raises(InvalidInput) as caught:
        put(text)
    assert str(caught.value) == "id 'k' is already that of a record without a key"
    assert bank.list() == before


@pytest.mark.parametrize("text", ["green tea", "cold rain"])
def test_a_record_without_a_key_cannot_have_the_id_of_one_with(
    bank: MemoryBank, put: Put, text: str
) -> None:
    put("green tea")
    before = bank.list()
    with pytest.raises(InvalidInput) as caught:
        bank.remember(text, id="k")
    assert str(caught.value) == "id 'k' is already that of another text, or of a keyed record"
    assert bank.list() == before


def test_an_embedder_that_fails_leaves_the_old_words(
    bank: MemoryBank, put: Put, embedder: TableEmbedder
) -> None:
    put("green tea")
    with pytest.raises(EmbeddingError):
        put("not in the table")
    assert bank.get("k").text == "green tea"
    assert found(bank, "tea") == ["k"]


# -- the same words ------------------------------------------------------------------------------


def test_two_keys_with_one_text_are_two_and_both_are_found(bank: MemoryBank, put: Put) -> None:
    put("green tea", id="k")
    put("green tea", id="l")
    assert [each.id for each in bank.list()] == ["k", "l"]
    assert sorted(found(bank, "green tea")) == ["k", "l"]


def test_with_and_without_a_key_the_same_text_is_two_and_both_are_known_again(
    bank: MemoryBank, put: Put
) -> None:
    plain = bank.remember("green tea", importance=0.5)
    keyed = put("green tea")
    assert plain.id != keyed.id
    assert bank.remember("green tea").id == plain.id
    assert put("green tea").id == keyed.id
    assert len(bank.list()) == 2


def test_a_text_may_be_the_id_of_another_record(bank: MemoryBank) -> None:
    bank.remember("tea", importance=0.5)
    bank.remember("rain", id="tea", keyed=True)
    assert sorted(each.text for each in bank.list()) == ["rain", "tea"]


def test_a_keyed_record_may_be_updated_to_the_text_of_another(bank: MemoryBank, put: Put) -> None:
    bank.remember("cold rain", id="m1")
    put("tea", id="l")
    put("green tea")
    assert bank.update("k", text="cold rain").text == "cold rain"
    assert bank.update("k", text="tea").text == "tea"
    assert put("green tea").text == "green tea"  # known by its id as before
    assert len(bank.list()) == 3


def test_a_key_without_an_id_is_a_new_record_each_time(bank: MemoryBank) -> None:
    for _ in range(2):
        bank.remember("tea", keyed=True)
    assert len(bank.list()) == 2


def test_an_erased_key_may_be_used_again_and_begins_anew(
    bank: MemoryBank, put: Put, clock: ManualClock
) -> None:
    put("green tea")
    bank.reinforce("k")
    bank.erase("k")
    clock.advance(days=1)
    fresh = put("cold rain")
    assert (fresh.created_at, fresh.recall_count) == (clock(), 0)


def test_a_key_is_one_in_its_namespace_and_another_beside_it(bank: MemoryBank, put: Put) -> None:
    put("green tea")
    other = bank.at("u2")
    other.remember("cold rain", id="k", keyed=True)
    assert (bank.get("k").text, other.get("k").text) == ("green tea", "cold rain")


def test_an_imported_record_with_a_known_key_changes_nothing(bank: MemoryBank, put: Put) -> None:
    mine = put("green tea")
    [kept] = bank.remember_many([replace(mine, text="cold rain", recall_count=9)])
    assert kept == mine == bank.get("k")


# -- at once -------------------------------------------------------------------------------------


def test_eight_threads_that_write_one_key_leave_one_record_found_by_its_own_words(
    open_bank: OpenBank, file: Path
) -> None:
    table = {f"word{n}": [float(n == at) for at in range(8)] for n in range(8)}
    banks = [open_bank(embedder=TableEmbedder(table)) for _ in range(2)]

    def work(thread: int) -> None:
        for _ in range(10):
            banks[thread % 2].remember(f"word{thread}", id="k", keyed=True, importance=0.5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for bank in banks:
        [kept] = bank.list()
        assert kept.id == "k"
        assert bank.vectors("k")["k"].tolist() == table[kept.text]
        hits = {word: found(bank, word, min_similarity=0.5) for word in table}
        assert hits == {word: ["k"] * (word == kept.text) for word in table}
