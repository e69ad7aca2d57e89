"""A file mended where it stands, or what can be read of it saved into a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ebbmem.store.connection import Connection
from ebbmem.store.driver import Database
from ebbmem.store.mends import DONE, Rules, lenient, plan
from ebbmem.store.removal import mark_removed
from ebbmem.store.sound import Malformed

__all__ = ["Unmendable", "count_faults", "integrity", "mend", "mend_rows"]

_ROUNDS = 8  # each mends what the one before made visible
_INDEX = "memory_digest"  # the one that rows to be mended may offend


class Unmendable(Malformed):
    """Pages are damaged, not only rows or indexes."""

    def __init__(self, what: object) -> None:
        Exception.__init__(self, f"cannot be mended where it stands: {what}")


def integrity(db: Database) -> str:
    """What SQLite says of the pages and indexes: "ok", or the first thing that is wrong."""
    return str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])


def count_faults(db: Database, rules: Rules) -> dict[str, int]:
    """How many faults of each kind the rows have."""
    with _lenient(db):
        found = Counter(each.kind for each in plan(db, rules) if each.counts)
    return {kind: found[kind] for kind in DONE if found[kind]}


def mend(connection: Connection, rules: Rules) -> dict[str, int]:
    """Set right whatever is wrong with rows and indexes, in one transaction; what it did, by kind.

    Raises:
        StoreUnreadable: pages are damaged; nothing was changed.
    """
    with connection.write() as db:
        done = mend_rows(db, rules)
    connection.sweep()
    return done


def mend_rows(db: Database, rules: Rules) -> dict[str, int]:
    """The same inside a transaction of the caller's; raises `Unmendable`."""
    done: Counter[str] = Counter()
    if integrity(db) != "ok":
        done["damaged indexes"] = 1
    made = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (_INDEX,)).fetchone()
    try:
        db.execute(f"DROP INDEX {_INDEX}")
        db.execute("REINDEX")
        with _lenient(db):
            _work_off(db, rules, done)
        db.execute(*made)
    except db.IntegrityError as error:
        raise Unmendable(error) from error
    if (left := integrity(db)) != "ok":
        raise Unmendable(left)
    mark_removed(db)
    db.execute("UPDATE namespace SET change_seq = change_seq + 1, floor_seq = change_seq + 1")
    return {kind: done[kind] for kind in DONE if done[kind]}


def _work_off(db: Database, rules: Rules, done: Counter[str]) -> None:
    for _ in range(_ROUNDS):
        planned = list(plan(db, rules))
        if not planned:
            return
        for each in planned:
            db.execute(each.statement, each.values)
        done.update(each.kind for each in planned if each.counts)
    raise Unmendable("some rows stay as they are")


@contextmanager
def _lenient(db: Database) -> Iterator[None]:
    before = db.text_factory
    db.text_factory = lenient
    try:
        yield
    finally:
        db.text_factory = before
