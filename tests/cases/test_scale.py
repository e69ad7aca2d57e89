"""Group H of the pain cases: many memories. Work is counted here, not time.

`benchmarks/speed.py --items 20000` gives the times.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import AT, OpenBank
from ebbmem import Draft, MemoryBank, Policy, candidates
from ebbmem.store.base import Changes
from ebbmem.testing import ManualClock

EAGER = Policy(spacing=timedelta(0))

# -- SC-1 ------------------------------------------------------------------------------------


def axes(texts: list[str]) -> NDArray[np.float32]:
    """Eight dimensions; a text has the axis of its last digit."""
    return np.eye(8, dtype=np.float32)[[int(text[-1]) % 8 for text in texts]]


def test_sc_1_a_prune_of_more_than_a_statement_takes_parameters_is_through(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    """40,000 ids at once would be too many variables for a stock SQLite (32,766)."""
    bank = open_bank(embedder=axes, maintain=False)
    end = AT + timedelta(days=1)
    bank.remember_many([Draft(text=f"weak{each}", expires_at=end) for each in range(40_000)])
    strong = bank.remember_many([Draft(text=f"strong{each}", pinned=True) for each in range(10)])
    clock.set(end)
    assert len(bank.prune(dry_run=True).faded) == 40_000
    assert len(set(bank.prune().faded)) == 40_000
    assert [each.id for each in bank.list()] == [each.id for each in strong]
    assert bank.stats().faded == 40_000
    assert bank.prune().faded == ()
    clock.advance(bank.policy.purge_after)
    assert len(set(bank.prune().erased)) == 40_000
    assert (bank.stats().active, bank.stats().faded) == (10, 0)
    assert bank.prune().erased == ()


# -- SC-2 ------------------------------------------------------------------------------------


def directions(texts: list[str]) -> NDArray[np.float32]:
    """64 dimensions; a text has a direction of its own."""
    rows = [np.random.default_rng(list(text.encode())).normal(size=64) for text in texts]
    return np.array(rows, np.float32)


class Work:
    """What the recalls of a bank ask of the database and look at closely."""

    def __init__(self, bank: MemoryBank, patch: pytest.MonkeyPatch) -> None:
        self.statements = 0
        self.read: list[int] = []  # memories read in each catching up
        self.scored: list[int] = []  # memories scored in full in each search
        changes, with_background = bank._store.changes, candidates.with_background

        def counted_changes(*given: Any) -> Changes:
            found = changes(*given)
            self.read.append(len(found.rows))
            return found

        def counted_background(*given: Any) -> Any:
            rows = with_background(*given)
            self.scored.append(len(rows))
            return rows

        patch.setattr(bank._store, "changes", counted_changes)
        patch.setattr(candidates, "with_background", counted_background)
        store: Any = bank._store
        store.connection._db.set_trace_callback(self._note)

    def _note(self, statement: str) -> None:
        self.statements += 1


def filled(open_bank: OpenBank, size: int) -> MemoryBank:
    """A bank of its own with so many memories, of which fifty share a word."""
    bank = open_bank(embedder=directions, namespace=f"of {size}", policy=EAGER)
    shared = size // 50
    bank.remember_many([f"word{each} sort{each % shared}" for each in range(size)])
    return bank


def asked(bank: MemoryBank, number: int) -> None:
    [hit] = bank.recall(f"word{number} sort{number}", k=1)
    assert (hit.memory.text, hit.reinforced) == (f"word{number} sort{number}", True)


def test_sc_2_a_recall_asks_as_much_of_twenty_thousand_as_of_a_thousand(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = []
    for size in (1_000, 20_000):
        bank = filled(open_bank, size)
        asked(bank, 0)  # reads what there is
        with monkeypatch.context() as patch:
            work = Work(bank, patch)
            for number in range(1, 11):
                asked(bank, number)
        assert max(work.read) == 1  # what the recall before it reinforced
        assert len(work.scored) == 10
        assert max(work.scored) <= candidates.SHORTLIST
        statements.append(work.statements)
    assert statements[0] == statements[1]


def test_sc_2_opening_reads_every_memory_once(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(open_bank, 20_000).close()
    again = open_bank(embedder=directions, namespace="of 20000")
    with monkeypatch.context() as patch:
        work = Work(again, patch)
        for number in range(3):
            asked(again, number)
    assert sum(each for each in work.read if each > 1) == 20_000
    assert [each > 1 for each in work.read].count(True) == 1
