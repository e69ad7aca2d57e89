"""One record takes the place of another: kept, left out of recall, and shown as it was then."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from builders import AT, OpenBank, a_memory
from ebbmem import Draft, InvalidInput, MemoryBank, NotFound, Policy
from ebbmem.testing import ManualClock, TableEmbedder

HOUR = timedelta(hours=1)
PARIS, ROME, OSLO = "Ann lives in Paris", "Ann lives in Rome", "Ann lives in Oslo"


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


def texts(bank: MemoryBank, **options: Any) -> set[str]:
    """What comes to mind of Ann."""
    return {hit.memory.text for hit in bank.recall("where Ann lives", 9, **options)}


def tell(bank: MemoryBank, clock: ManualClock, *said: str, **options: Any) -> list[str]:
    """Ids of what is said one hour after the other."""
    found = []
    for text in said:
        found.append(bank.remember(text, **options).id)
        clock.advance(HOUR)
    return found


# -- named outright --------------------------------------------------------------------------


def test_what_is_superseded_is_kept_and_left_out_of_recall(
    bank: MemoryBank, clock: ManualClock
) -> None:
    paris = bank.remember(PARIS)
    clock.advance(HOUR)
    rome = bank.remember(ROME, supersedes=paris.id)
    assert texts(bank) == {ROME}
    assert texts(bank, include_superseded=True) == {PARIS, ROME}
    kept = bank.get(paris.id)
    assert (kept.text, kept.superseded_by, kept.superseded_at) == (PARIS, rome.id, AT + HOUR)
    assert (rome.superseded_by, rome.superseded_at) == (None, None)
    assert [each.text for each in bank.list()] == [ROME]
    assert [each.text for each in bank.list(include_superseded=True)] == [PARIS, ROME]


def test_several_may_be_superseded_at_once_and_held_ones_too(bank: MemoryBank) -> None:
    ids = [bank.remember(text).id for text in (PARIS, ROME)]
    bank.hold(ids)
    oslo = bank.remember(OSLO, supersedes=ids)
    assert [bank.get(each).superseded_by for each in ids] == [oslo.id, oslo.id]
    assert [bank.get(each).held for each in ids] == [True, True]


def test_an_unknown_id_is_refused_before_anything_is_embedded(open_bank: OpenBank) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(embedder=embedder)
    with pytest.raises(NotFound, match="nobody"):
        bank.remember(ROME, supersedes="nobody")
    with pytest.raises(NotFound, match="later"):
        bank.remember_many([Draft(text=ROME, supersedes=("later",)), Draft(text=OSLO, id="later")])
    assert (embedder.texts, bank.list()) == ([], [])


def test_nothing_supersedes_itself(bank: MemoryBank) -> None:
    paris = bank.remember(PARIS)
    with pytest.raises(InvalidInput, match="says the same"):
        bank.remember(PARIS, supersedes=paris.id)
    with pytest.raises(InvalidInput, match="itself"):
        Draft(text=PARIS, id="a", supersedes=("a",))
    assert bank.get(paris.id) == paris


def test_a_batch_may_supersede_within_itself(bank: MemoryBank) -> None:
    bank.remember_many([Draft(text=PARIS, id="a"), Draft(text=ROME, id="b", supersedes=("a",))])
    assert bank.get("a").superseded_by == "b"


def test_an_id_in_a_batch_means_the_record_it_became(bank: MemoryBank) -> None:
    known = bank.remember(PARIS)
    bank.remember_many([Draft(text=PARIS, id="a"), Draft(text=ROME, id="b", supersedes=("a",))])
    assert bank.get(known.id).superseded_by == "b"


def test_the_first_successor_stays_the_successor(bank: MemoryBank) -> None:
    paris = bank.remember(PARIS).id
    rome = bank.remember(ROME, supersedes=paris).id
    oslo = bank.remember(OSLO, supersedes=[paris, rome]).id
    assert (bank.get(paris).superseded_by, bank.get(rome).superseded_by) == (rome, oslo)


def test_said_again_it_is_current_again(bank: MemoryBank, clock: ManualClock) -> None:
    [paris] = tell(bank, clock, PARIS)
    bank.remember(ROME, supersedes=paris)
    clock.advance(HOUR)
    assert bank.remember(PARIS).superseded_at is None
    assert texts(bank) == {PARIS, ROME}


def test_a_retry_of_what_was_superseded_changes_nothing(bank: MemoryBank) -> None:
    first = Draft(text=PARIS, id="a", keyed=True, key="home")
    bank.remember_many([first, Draft(text=ROME, id="b", keyed=True, key="home")])
    bank.remember_many([first])
    assert (bank.get("a").superseded_by, bank.get("b").superseded_by) == ("b", None)


def test_what_is_superseded_fades_as_everything_does(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(prune_every=timedelta(days=36_500)))
    paris = bank.remember(PARIS, importance=0.5)
    bank.remember(ROME, supersedes=paris.id)
    assert bank.get(paris.id).fades_at == paris.fades_at


# -- by a key --------------------------------------------------------------------------------


def test_of_one_key_only_the_newest_is_current(bank: MemoryBank, clock: ManualClock) -> None:
    paris, rome, oslo = tell(bank, clock, PARIS, ROME, OSLO, key="home")
    assert texts(bank) == {OSLO}
    chain = [bank.get(each).superseded_by for each in (paris, rome, oslo)]
    assert chain == [rome, oslo, None]


def test_another_key_and_another_namespace_are_not_touched(bank: MemoryBank) -> None:
    bank.remember(PARIS, key="home")
    bank.at("u2").remember(ROME, key="home")
    bank.remember("Ann lives off painting", key="work")
    assert texts(bank) == {PARIS, "Ann lives off painting"}


def test_the_same_text_under_the_same_key_is_a_reinforcement(
    bank: MemoryBank, clock: ManualClock
) -> None:
    tell(bank, clock, PARIS, key="home")
    again = bank.remember(PARIS, key="home")
    assert (again.recall_count, again.superseded_at) == (1, None)
    assert bank.audit() == []


def test_an_older_text_said_again_takes_its_key_back(bank: MemoryBank, clock: ManualClock) -> None:
    paris, rome = tell(bank, clock, PARIS, ROME, key="home")
    bank.remember(PARIS)
    assert texts(bank) == {PARIS}
    assert bank.get(rome).superseded_by == paris
    assert bank.get(rome).superseded_at == AT + 2 * HOUR


def test_what_tells_of_an_earlier_time_does_not_become_current(bank: MemoryBank) -> None:
    oslo = bank.remember(OSLO, key="home")
    rome = bank.remember(ROME, key="home", at=AT - timedelta(days=9))
    assert (rome.superseded_by, rome.superseded_at) == (oslo.id, AT)
    assert texts(bank) == {OSLO}


def test_a_successor_without_a_key_takes_that_of_what_it_supersedes(bank: MemoryBank) -> None:
    paris = bank.remember(PARIS, key="home")
    rome = bank.remember(ROME, supersedes=paris.id)
    assert rome.key == "home"


def test_a_successor_of_another_key_is_refused(bank: MemoryBank) -> None:
    paris = bank.remember(PARIS, key="home")
    with pytest.raises(InvalidInput, match="of key 'home', not 'work'"):
        bank.remember(ROME, key="work", supersedes=paris.id)
    assert [each.text for each in bank.list(include_superseded=True)] == [PARIS]


def test_a_record_that_gets_another_key_leaves_its_old_one_to_the_last_before(
    bank: MemoryBank, clock: ManualClock
) -> None:
    paris, rome = tell(bank, clock, PARIS, ROME, key="home")
    bank.remember(ROME, key="holiday")
    assert (bank.get(rome).key, bank.get(paris).superseded_at) == ("holiday", None)


# -- erased, forgotten -----------------------------------------------------------------------


def test_erasing_takes_a_statement_back_so_what_it_superseded_is_current_again(
    bank: MemoryBank, clock: ManualClock
) -> None:
    paris, rome, oslo = tell(bank, clock, PARIS, ROME, OSLO, key="home")
    bank.erase(rome)
    assert bank.get(paris).superseded_by == oslo
    bank.erase(oslo)
    assert bank.get(paris).superseded_at is None
    assert texts(bank) == {PARIS}


def test_what_fades_away_was_true_so_what_it_superseded_stays_superseded(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(purge_after=timedelta(days=1)))
    paris = bank.remember(PARIS, pinned=True)
    rome = bank.remember(ROME, supersedes=paris.id)
    bank.forget(rome.id)
    clock.advance(days=2)
    assert bank.prune().erased == (rome.id,)
    left = bank.get(paris.id)
    assert (left.superseded_at, left.superseded_by) == (AT, None)
    assert texts(bank) == set()


def test_every_change_of_place_leaves_a_line_in_the_audit_trail(
    bank: MemoryBank, clock: ManualClock
) -> None:
    paris, rome = tell(bank, clock, PARIS, ROME, key="home")
    bank.erase(rome)
    lines = [(line.action, line.id) for line in bank.audit()]
    assert lines == [("supersede", paris), ("reinstate", paris), ("erase", rome)]


# -- as it was then --------------------------------------------------------------------------


def test_what_was_current_then(bank: MemoryBank, clock: ManualClock) -> None:
    tell(bank, clock, PARIS, ROME, key="home")
    before, first, second = (AT + each * HOUR for each in (-1, 0, 1))
    assert texts(bank, as_of=before) == set()
    assert texts(bank, as_of=first) == {PARIS}
    assert texts(bank, as_of=second - timedelta(microseconds=1)) == {PARIS}
    assert texts(bank, as_of=second) == {ROME}
    assert texts(bank, as_of=second, include_superseded=True) == {PARIS, ROME}


def test_asking_of_the_past_is_no_use(bank: MemoryBank, clock: ManualClock) -> None:
    tell(bank, clock, PARIS)
    [hit] = bank.recall("where Ann lives", as_of=AT)
    assert (hit.reinforced, bank.get(hit.memory.id).recall_count) == (False, 0)
    bank.context("where Ann lives", as_of=AT)
    assert bank.get(hit.memory.id).recall_count == 0
    assert bank.recall("where Ann lives", as_of=clock())[0].reinforced


def test_a_context_may_be_of_the_past_too(bank: MemoryBank, clock: ManualClock) -> None:
    tell(bank, clock, PARIS, ROME, key="home")
    assert PARIS in bank.context("where Ann lives", as_of=AT)
    assert PARIS not in bank.context("where Ann lives")


def test_a_time_without_a_zone_is_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="as_of"):
        bank.recall("where Ann lives", as_of=AT.replace(tzinfo=None))


def test_explain_says_what_took_its_place(bank: MemoryBank, clock: ManualClock) -> None:
    paris, rome = tell(bank, clock, PARIS, ROME, key="home")
    found = bank.explain("where Ann lives", paris)
    assert (found.outcome, found.superseded_by) == ("superseded", rome)
    assert found.reason == f"{rome} took its place on 2026-01-01"
    assert bank.explain("where Ann lives", paris, as_of=AT).outcome == "recalled"
    later = bank.explain("where Ann lives", rome, as_of=AT)
    assert (later.outcome, later.reason) == ("filtered", "it was said later, on 2026-01-01")


# -- out and in ------------------------------------------------------------------------------


def test_succession_goes_out_and_comes_in_as_it_was(bank: MemoryBank, clock: ManualClock) -> None:
    tell(bank, clock, PARIS, ROME, key="home")
    out = io.StringIO()
    bank.export_jsonl(out)
    copy = bank.at("copy")
    copy.import_file(io.StringIO(out.getvalue()))
    everything = {"include_superseded": True}
    assert copy.list(**everything) == bank.list(**everything)
    assert copy.audit() == []


def test_an_imported_successor_is_known_by_the_id_it_has_here(
    bank: MemoryBank, clock: ManualClock
) -> None:
    tell(bank, clock, PARIS, ROME, key="home")
    out = io.StringIO()
    bank.export_jsonl(out)
    other = bank.at("other")
    rome = other.remember(ROME, key="home")
    other.import_file(io.StringIO(out.getvalue()))
    [paris] = [each for each in other.list(include_superseded=True) if each.text == PARIS]
    assert paris.superseded_by == rome.id


def test_of_an_imported_and_a_present_record_of_a_key_the_newer_is_current(
    bank: MemoryBank,
) -> None:
    bank.remember(ROME, key="home")
    bank.remember_many([a_memory(id="old", text=PARIS, key="home", created_at=AT - HOUR)])
    assert texts(bank) == {ROME}


# -- whatever happens ------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(["tell", "supersede", "erase", "late"]),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from([None, "home", "work"]),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_every_key_has_exactly_one_current_record_and_every_successor_exists(
    sequence: list[tuple[str, int, int, str | None]],
) -> None:
    clock = ManualClock()
    with MemoryBank.open(namespace="u1", embedder=None, clock=clock) as bank:
        for action, one, other, key in sequence:
            clock.advance(HOUR)
            ids = [each.id for each in bank.list(include_superseded=True)]
            try:
                if action == "tell":
                    bank.remember(f"fact {one}", key=key)
                elif action == "late":
                    bank.remember(f"fact {one}", key=key, at=AT - other * HOUR)
                elif action == "supersede" and ids:
                    bank.remember(f"fact {one}", key=key, supersedes=ids[other % len(ids)])
                elif ids:
                    bank.erase(ids[one % len(ids)])
            except InvalidInput:
                pass  # itself, or of two keys: nothing was done
            records = {each.id: each for each in bank.list(include_superseded=True)}
            for name in {each.key for each in records.values()} - {None}:
                mine = [each for each in records.values() if each.key == name]
                assert sum(each.superseded_at is None for each in mine) == 1
            for each in records.values():
                assert each.superseded_by is None or each.superseded_by in records
                assert (each.superseded_at is None) == (each.superseded_by is None)


# -- on the command line ---------------------------------------------------------------------


def test_the_command_line_supersedes_and_asks_of_then(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = pytest.importorskip("ebbmem.cli.run", reason="needs the extra cli").run

    def told(*arguments: str) -> Any:
        assert run([*arguments, "--db", str(file), "--embedder", "none", "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    then = "2020-01-01T00:00:00Z"
    paris = told("remember", PARIS, "--key", "home", "--at", then)["id"]
    rome = told("remember", ROME, "--supersedes", paris[:13])
    assert rome["key"] == "home"
    query = ("recall", "where Ann lives", "--faded")
    assert [hit["memory"]["text"] for hit in told(*query)] == [ROME]
    assert [hit["memory"]["text"] for hit in told(*query, "--as-of", then)] == [PARIS]
    assert len(told(*query, "--superseded")) == 2
    assert len(told("list", "--faded", "--superseded")) == 2
    assert told("explain", "where Ann lives", paris)["superseded_by"] == rome["id"]
