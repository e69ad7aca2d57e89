"""Everything that can be said of the health of an open file, changing nothing."""

from __future__ import annotations

import os
from contextlib import suppress

from ebbmem.errors import StoreUnreadable
from ebbmem.store.audit import verify_audit
from ebbmem.store.connection import Connection
from ebbmem.store.driver import Database
from ebbmem.store.mends import Rules
from ebbmem.store.reads import STALE, current_embedder
from ebbmem.store.repair import count_faults, integrity
from ebbmem.store.sound import Malformed

__all__ = ["examine"]


def examine(connection: Connection, rules: Rules | None = None) -> dict[str, object]:
    """Integrity, faults of rows and trails, counts and sizes; see `MemoryStore.diagnose`."""
    found: dict[str, object] = {"integrity": "ok", "unsound": {}, "trails": {}}
    try:
        with connection.read() as db:
            found["integrity"] = integrity(db)
            found |= _counts(db)
            found["unsound"] = count_faults(db, rules or _LOOSE)
            found["trails"] = _trails(db)
    except StoreUnreadable as error:
        if found["integrity"] == "ok":
            found["integrity"] = error.reason
    return {**found, "bytes": _size(connection.path), "log_bytes": _size(f"{connection.path}-wal")}


def _keep_policy(stored: object, categories: object) -> str:
    return str(stored)


_LOOSE = Rules(0, _keep_policy, lambda state, *_: state)
"""Without anybody who reads policies."""


def _counts(db: Database) -> dict[str, object]:
    tables = {"memories": "memory", "namespaces": "namespace", "vectors": "vector", "links": "link"}
    counts: dict[str, object] = {
        name: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for name, table in tables.items()
    }
    by, stale = None, 0
    with suppress(Malformed):  # which is told as a fault
        by = current_embedder(db)
    if by is not None and by[1].dimension:
        stale = db.execute(f"SELECT count(*) FROM ({STALE})", (by[0],)).fetchone()[0]
    return {**counts, "embedder": None if by is None else str(by[1]), "without_vectors": stale}


def _trails(db: Database) -> dict[str, str]:
    """Namespaces whose audit trail is not as it was written, and how."""
    faults = {}
    for (key,) in db.execute("SELECT ns FROM namespace ORDER BY ns").fetchall():
        try:
            fault = verify_audit(db, key, None).fault
        except (Malformed, TypeError) as error:
            faults[str(key)] = str(error)
            continue
        if fault is not None:
            faults[str(key)] = f"line {fault.number} {fault.reason}"
    return faults


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size
    return 0
