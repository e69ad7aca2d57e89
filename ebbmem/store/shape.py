"""What a file is made of, against what the migrations make: nothing else is opened.

A trigger or a view that somebody put into a file runs when we write or read.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache

from ebbmem.store.driver import Database, Driver
from ebbmem.store.schema import migrate, newest

__all__ = ["Part", "read_shape", "shape_at", "strange_part"]

Part = tuple[str, str, str]
"""Kind, name, and SQL with its spaces evened out."""

_OF_ANALYZE = {  # letter by letter: a trigger can bear such a name
    ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}


def read_shape(db: Database) -> frozenset[Part]:
    """Tables, indexes, triggers, views; not what SQLite keeps about them for itself."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset(
        (str(kind), str(name), " ".join(str(sql or "").split()))
        for kind, name, sql in rows
        if (kind, name, sql) not in _OF_ANALYZE
    )


@cache
def shape_at(driver: Driver, version: int) -> frozenset[Part]:
    """What a file has after so many migrations."""
    if version == 0:
        return frozenset()
    with closing(driver.connect(":memory:", wait=0.0)) as db:
        migrate(db, upto=version)
        return read_shape(db)


def strange_part(db: Database, driver: Driver, version: int) -> Part | None:
    """One that is not as it should be, or missing; None if the file is made as ours are."""
    strange = read_shape(db) ^ shape_at(driver, min(version, newest()))
    return min(strange, default=None)
