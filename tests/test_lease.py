"""One daily pass at a time in a namespace, by a lease in the database."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import AT, OpenBank, another
from ebbmem import Draft, MemoryBank, Policy, StoreBusy, daily
from ebbmem.store.lease import LEASE_SECONDS
from ebbmem.testing import ManualClock

NS = ("u1",)
END = AT + timedelta(days=1)
LEASE = round(1e6 * LEASE_SECONDS)


def fading(bank: MemoryBank, count: int) -> list[str]:
    """So many that end at `END`."""
    drafts = [Draft(text=f"passing {number}", expires_at=END) for number in range(count)]
    return [each.id for each in bank.remember_many(drafts)]


def faded(bank: MemoryBank) -> list[str]:
    return [line.id for line in bank.audit() if line.action == "fade"]


def lease(file: Path) -> list[tuple[str, str]]:
    """(namespace, holder) as they stand in the file."""
    with another(file) as db:
        return db.execute("SELECT ns, holder FROM lease").fetchall()


def end_at(file: Path, ends: int) -> None:
    with another(file) as db:
        db.execute("UPDATE lease SET ends_at = ?", (ends,))


@pytest.fixture
def held(open_bank: OpenBank, clock: ManualClock) -> MemoryBank:
    """Three are due, and somebody else is at the pass."""
    bank = open_bank()
    fading(bank, 3)
    assert bank._store.take_lease(NS, "somebody")
    clock.set(END)
    return bank


# -- what a pass does that finds another at it ---------------------------------------------------


def test_a_prune_that_waits_in_vain_says_what_is_going_on(
    held: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily, "PATIENCE", 0.0)
    with pytest.raises(StoreBusy, match=r"another process or thread runs the daily pass of \('u1"):
        held.prune()
    assert faded(held) == []


def test_a_prune_waits_until_the_other_is_through(
    held: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = []

    def somebody_goes_on(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            held._store.end_lease(NS, "somebody")

    monkeypatch.setattr("ebbmem.daily.time.sleep", somebody_goes_on)
    assert len(held.prune().faded) == 3
    assert len(pauses) == 3


def test_a_prune_with_nothing_to_do_waits_for_nobody(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily, "PATIENCE", 0.0)
    bank = open_bank()
    bank.remember("the lighthouse")
    assert bank._store.take_lease(NS, "somebody")
    assert bank.prune().faded == ()


def test_an_automatic_pass_that_finds_another_does_nothing_and_nobody_hears_of_it(
    held: MemoryBank,
) -> None:
    before = held._store.info(NS)
    held.remember("the lighthouse", importance=0.5)
    assert [hit.reinforced for hit in held.recall("lighthouse")] == [True]
    assert faded(held) == []
    assert held._store.info(NS) == before  # whoever comes next runs it
    assert lease_holders(held) == ["somebody"]


def lease_holders(bank: MemoryBank) -> list[str]:
    return [holder for _, holder in lease(Path(bank.path))]


def test_an_automatic_pass_comes_again_when_a_lease_may_be_over(
    held: MemoryBank, clock: ManualClock
) -> None:
    held.remember("one")
    held._store.end_lease(NS, "somebody")
    held.remember("two")
    assert faded(held) == []  # not asked for at every call
    clock.advance(seconds=LEASE_SECONDS)
    held.remember("three")
    assert len(faded(held)) == 3


def test_a_pass_of_another_namespace_is_another_matter(held: MemoryBank) -> None:
    beside = held.at("u2")
    id_ = beside.remember("the windmill").id
    beside.expire(id_, END - timedelta(hours=1))
    assert beside.prune().faded == (id_,)


def test_a_lease_is_given_back_after_a_pass(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank(maintain=False)
    fading(bank, 3)
    clock.set(END)
    seen: list[list[str]] = []
    modify = bank._store.modify
    store: Any = bank._store

    def modified(*given: Any, **options: Any) -> Any:
        changed = modify(*given, **options)
        row = store.connection._db.execute("SELECT holder FROM lease").fetchall()
        seen.append([holder for (holder,) in row])
        return changed

    store.modify = modified
    bank.prune()
    assert [len(each) for each in seen] == [1]  # in the transaction of the work
    assert lease_holders(bank) == []


def test_a_lease_is_given_back_by_a_pass_that_fails(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    fading(bank, 3)
    clock.set(END)
    store: Any = bank._store
    modify = store.modify

    def fails(*given: Any, **options: Any) -> Any:
        modify(*given, **options)
        raise KeyboardInterrupt

    store.modify = fails
    with pytest.raises(KeyboardInterrupt):
        bank.prune()
    assert (lease_holders(bank), faded(bank)) == ([], [])
    store.modify = modify
    assert len(bank.prune().faded) == 3


# -- the end of a lease --------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [-1, 2 * LEASE], ids=["dead", "of a clock set back since"])
def test_a_lease_whose_end_is_past_or_cannot_be_blocks_nobody(
    held: MemoryBank, monkeypatch: pytest.MonkeyPatch, ends: int
) -> None:
    monkeypatch.setattr(daily, "PATIENCE", 0.0)
    end_at(Path(held.path), time.time_ns() // 1000 + ends)
    assert len(held.prune().faded) == 3
    assert lease_holders(held) == []


@pytest.mark.parametrize("years", [-100, 100])
def test_a_lease_does_not_go_by_the_clock_of_a_bank(
    held: MemoryBank, clock: ManualClock, years: int
) -> None:
    clock.advance(days=365 * years)
    assert not held._store.take_lease(NS, "me")
    assert held._store.take_lease(NS, "somebody")  # renewed


def test_a_pass_that_lost_its_lease_leaves_the_rest_to_the_other(
    open_bank: OpenBank, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = open_bank(maintain=False)
    fading(bank, 30)
    clock.set(END)
    monkeypatch.setattr(daily, "_BATCH", 10)
    answers = iter([True, False])
    with monkeypatch.context() as patch:
        patch.setattr(bank._store, "take_lease", lambda ns, holder: next(answers))
        assert not daily.run_if_free(bank._store, bank._arena(), bank.policy, bank._now())
    assert len(faded(bank)) == 10
    assert len(bank.prune().faded) == 20
    assert len(set(faded(bank))) == 30


# -- a cap ---------------------------------------------------------------------------------------


def test_a_cap_fades_no_more_than_is_over_it_when_it_comes_to_it(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    capped = Policy(max_memories=10)
    one, two = open_bank(policy=capped), open_bank(policy=capped)
    ids = [one.remember(f"word{number}", importance=0.5).id for number in range(10)]
    weakest = daily._weakest

    def meanwhile(*given: Any) -> dict[str, float]:
        found = weakest(*given)
        monkeypatch.setattr(daily, "_weakest", weakest)
        two.forget(ids[7])  # one place is free again
        return found

    monkeypatch.setattr(daily, "_weakest", meanwhile)
    one.remember("one more", importance=0.5)
    assert len(one.list()) == len(two.list()) == 10
    assert faded(one) == []


# -- several processes ---------------------------------------------------------------------------

PRUNE = """
import json, sys
from datetime import UTC, datetime
from ebbmem import MemoryBank, daily
daily._BATCH = 50
now = datetime.fromisoformat(sys.argv[2])
with MemoryBank.open(
    sys.argv[1], namespace="u1", embedder=None, clock=lambda: now, maintain=False
) as bank:
    print("ready", flush=True)
    sys.stdin.readline()
    done = bank.prune()
    print(json.dumps([done.faded, done.erased]))
"""
STOPS = """
import sys
from datetime import datetime
from ebbmem import MemoryBank, daily
from ebbmem.store import lease
daily._BATCH = 10
lease.LEASE_SECONDS = 0.5
now = datetime.fromisoformat(sys.argv[2])
bank = MemoryBank.open(
    sys.argv[1], namespace="u1", embedder=None, clock=lambda: now, maintain=False
)
modify, batches = bank._store.modify, []
def modified(*given, **options):
    changed = modify(*given, **options)
    batches.append(changed)
    if len(batches) == 3:
        print("inside", flush=True)
        sys.stdin.readline()
    return changed
bank._store.modify = modified
bank.prune()
"""


def started(code: str, file: Path, now: datetime) -> subprocess.Popen[str]:
    """A process that has said its first word."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, str(file), now.isoformat()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("ready", "inside")
    return process


def test_processes_that_prune_one_namespace_do_everything_once(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(on_fade="erase"), maintain=False)
    ids = fading(bank, 1_000)
    running = [started(PRUNE, file, END) for _ in range(3)]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    told = [json.loads(each.communicate(timeout=60)[0]) for each in running]
    assert [each.returncode for each in running] == [0, 0, 0]
    for part in (0, 1):  # what faded, and what was let go
        assert sorted(id_ for each in told for id_ in each[part]) == sorted(ids)
    lines = Counter((line.action, line.id) for line in bank.audit())
    assert lines == {(action, id_): 1 for id_ in ids for action in ("fade", "purge")}
    assert (bank.list(include_faded=True), lease(file)) == ([], [])


def test_a_pass_that_was_killed_blocks_for_a_lease_and_is_gone_on_with(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    fading(bank, 100)
    clock.set(END)
    process = started(STOPS, file, END)  # in its third batch of ten
    process.kill()
    process.communicate(timeout=30)
    assert len(faded(bank)) == 20  # what was committed
    assert len(lease(file)) == 1
    assert len(bank.prune().faded) == 80  # waits for the end of the lease
    assert Counter(faded(bank)).most_common(1)[0][1] == 1
    assert lease(file) == []
