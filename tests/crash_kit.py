"""What a file and a bank hold, to the last value, so that two of them can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from crash_derived import derived
from numpy.typing import NDArray

from ebbmem import Draft, MemoryBank, Policy
from ebbmem.arena import Arena
from ebbmem.store.driver import driver
from ebbmem.testing import ManualClock

Dump = dict[str, list[str]]

POLICY = Policy(spacing=timedelta(0), sample_probes=2)
HOUSEKEEPING = ("lease", "sqlite_sequence")
"""Tables that say who is at work, and nothing of memories."""


class Directions:
    """An embedder: each text has a direction of its own, drawn from its digest."""

    def __init__(self, model: str = "directions", dimension: int = 4) -> None:
        self.model = model
        self.dimension = dimension

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.embed_query(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        drawn = np.random.default_rng(seed).normal(size=self.dimension)
        return np.asarray(drawn / np.linalg.norm(drawn), np.float32)


def dump(file: Path) -> Dump:
    """Every row of every table that is committed, apart from who is at work and what is swept."""
    with closing(_connected(file)) as db:
        db.execute("BEGIN")
        tables = db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        names = [name for name, sql in tables if sql and sql.startswith("CREATE TABLE")]
        found = {
            name: sorted(map(repr, db.execute(f"SELECT {_columns(name)} FROM {name}")))
            for name in names
            if name not in HOUSEKEEPING
        }
        return found | {"schema": [repr(each) for each in tables]}


def _connected(file: Path) -> Any:
    """With the SQLite that banks use, and none of its faults.

    Two copies of SQLite in one process do not see each other's locks, and the one that closes a
    file lets go those of the other.
    """
    return driver().module.connect(str(file), isolation_level=None)


def _columns(table: str) -> str:
    """A sweep, the hour of a migration and that of the daily pass are not what was asked for."""
    return {
        "removal": "removed",
        "migration": "number, name",
        "namespace": "ns, change_seq, floor_seq, policy, active_days",
    }.get(table, "*")


def is_swept(file: Path) -> bool:
    """Whether a file that nobody has open is free of what was removed from it."""
    with closing(_connected(file)) as db:
        removed, swept = db.execute("SELECT removed, swept FROM removal").fetchone()
    return bool(removed == swept) and not Path(f"{file}-wal").exists()


def plant(file: Path, clock: ManualClock) -> None:
    """A file with one of everything, made in January; the clock stands 40 days later then."""
    with MemoryBank.open(
        file,
        namespace="u1",
        embedder=Directions(),
        policy=POLICY,
        clock=clock,
        maintain=False,
    ) as bank:
        bank.remember_many(
            Draft(text=f"{name} drinks tea by the river", id=name, importance=1.0)
            for name in ("anna", "bert", "cora", "dora")
        )
        bank.remember("anna lives in Rome", id="rome", key="anna's town")
        bank.remember("anna lives in Oslo", id="oslo", key="anna's town")
        bank.remember("said first?", id="said1", source="talk", speaker="Anna Berg")
        bank.remember("said second", id="said2", source="talk", speaker="Bert")
        bank.remember("weak", id="weak", importance=0.01, category="assumption")
        bank.remember("ended", id="ended", expires_at=clock() + timedelta(days=3))
        bank.remember("hidden", id="hidden")
        bank.forget("hidden")
        bank.remember("kept", id="kept", importance=1.0)
        bank.hold("kept")
        bank.pin("dora")
        bank.link("anna", "bert", weight=0.5)
        bank.link("anna", "cora", weight=0.25)
        bank.add_probe("who drinks tea?", ["anna", "bert"])
        other = bank.at("u2")
        other.remember("another's tea", id="anna")
    clock.advance(days=40)


def rebuilt(bank: MemoryBank) -> Arena:
    """The arena of a bank, read from the store from the beginning."""
    return Arena(bank._store, bank.namespace)


def assert_derived(bank: MemoryBank) -> None:
    """What the bank has in memory is what a fresh one would read."""
    assert derived(bank._engine.arena(bank.namespace)) == derived(rebuilt(bank))
