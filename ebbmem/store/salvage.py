"""What can be read of a damaged file, copied into a new one; the damaged one stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ebbmem.errors import StoreFull, StoreReadOnly, StoreUnreadable
from ebbmem.store.driver import Database, Driver, driver
from ebbmem.store.mends import Rules, lenient
from ebbmem.store.repair import mend_rows
from ebbmem.store.schema import APPLICATION_ID, migrate, newest
from ebbmem.store.sound import Malformed
from ebbmem.store.translation import translate, translate_file
from ebbmem.whole import appearing, passing

__all__ = ["Saved", "salvage"]

_TABLES = (
    *("namespace", "embedder", "memory", "state", "vector", "link", "audit"),
    *("probe", "probe_answer", "probe_run", "removal"),
)
_PATIENCE = 20_000  # numbers of rows tried one by one across a damaged page
_LIKE = 0.8  # of 1: flipped bytes, not another table
_EMPTY = {"TEXT": "", "INTEGER": 0, "REAL": 0.0, "BLOB": b""}
_TYPES: dict[str, type] = {"TEXT": str, "INTEGER": int, "REAL": float, "BLOB": bytes}


@dataclass(frozen=True, slots=True)
class Saved:
    """How many memories were saved, what was mended, ids that are known of those that were not."""

    memories: int
    mended: dict[str, int]
    lost: tuple[str, ...]


def salvage(path: Path, target: Path, rules: Rules) -> Saved:
    """Copy what can be read of `path` to `target`, which appears whole or not at all, and mend it.

    Raises:
        StoreUnreadable: nothing can be read of it, or it is not ours.
    """
    engine = driver()
    try:
        with passing(target) as copy:  # opening the file itself would move its log
            for suffix in ("", "-wal"):
                with suppress(FileNotFoundError):
                    _copy_privately(f"{path}{suffix}", f"{copy}{suffix}")
            version = _with_our_tables(engine, path, copy)
            with closing(engine.connect(str(copy), wait=0.0)) as source:
                source.text_factory = lenient
                with appearing(target) as partial:
                    return _copied(engine, source, version, partial, path, rules)
    except OSError as error:
        raise translate_file(str(target), error) from error
    except (Malformed, UnicodeDecodeError, engine.error) as error:  # one may quote the file
        told = translate(str(target), error)
        if isinstance(told, StoreFull | StoreReadOnly):  # the new file, not the damaged one
            raise told from error
        raise StoreUnreadable(path, "nothing can be saved of it; go back to a backup") from error


def _copy_privately(source: str, target: str) -> None:
    with open(source, "rb") as read:
        handle = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with open(handle, "wb") as write:
            shutil.copyfileobj(read, write)


def _with_our_tables(engine: Driver, path: Path, copy: Path) -> int:
    """Write anew what the copy says its tables are: one damaged word there hides them all.

    Returns:
        How many migrations it has seen.
    """
    with closing(engine.connect(str(copy), wait=0.0)) as db:
        db.execute("PRAGMA writable_schema = ON")  # or it would not be read
        db.text_factory = lenient
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreUnreadable(path, "is a database of another program")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        version = version if 1 <= version <= newest() else newest()
        stored = db.execute("SELECT rowid, type, name, tbl_name, sql FROM sqlite_master").fetchall()
        for number, part in _matched(stored, _parts(engine, version)).items():
            if part is None:
                db.execute("DELETE FROM sqlite_master WHERE rowid = ?", (number,))
            else:
                db.execute(
                    "UPDATE sqlite_master SET type = ?, name = ?, tbl_name = ?, sql = ? "
                    "WHERE rowid = ?",
                    (*part, number),
                )
    return int(version)


Part = tuple[Any, ...]
"""Type, name, table and SQL of a table, an index or a trigger."""


def _parts(engine: Driver, version: int) -> list[Part]:
    with closing(engine.connect(":memory:", wait=0.0)) as db:
        migrate(db, upto=version)
        return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()


def _matched(stored: Sequence[Part], parts: Sequence[Part]) -> dict[int, Part | None]:
    """Which of our parts a row is, by its name, else by what it is most like; None: none."""
    named = {part[:2]: part for part in parts}
    found = {number: named.pop(tuple(rest[:2]), None) for number, *rest in stored}
    for number, *rest in stored:
        if found[number] is None:
            likeness = {key: _likeness(rest, part) for key, part in named.items()}
            key = max(likeness, key=likeness.__getitem__, default=None)
            if key is not None and likeness[key] >= _LIKE:
                found[number] = named.pop(key)
    return found


def _likeness(a: Part | list[Any], b: Part) -> float:
    return SequenceMatcher(None, str(a), str(b), autojunk=False).ratio()


def _copied(
    engine: Driver, source: Database, version: int, partial: Path, path: Path, rules: Rules
) -> Saved:
    with closing(engine.connect(str(partial), wait=0.0)) as db:
        db.execute("BEGIN IMMEDIATE")
        migrate(db, upto=version)
        for table in _TABLES:
            if _columns(db, table):
                _copy(engine, source, db, table)
        migrate(db)
        known = _known(engine, source)
        kept = set(db.execute("SELECT ns, id FROM memory").fetchall())
        if not kept:
            raise StoreUnreadable(path, "no memory can be read of it; go back to a backup")
        lost = tuple(sorted(id_ for ns, id_ in known - kept))
        mended = mend_rows(db, rules)
        db.execute("COMMIT")
    return Saved(len(kept), mended, lost)


def _columns(db: Database, table: str) -> list[tuple[str, str, bool]]:
    """(name, type, whether it must hold something) of each."""
    rows = db.execute(f"PRAGMA table_info({table})").fetchall()
    return [(name, kind, bool(needed)) for _, name, kind, needed, *_ in rows]


def _copy(engine: Driver, source: Database, db: Database, table: str) -> None:
    columns = _columns(db, table)
    names = ", ".join(name for name, *_ in columns)
    marks = ", ".join("?" * len(columns))
    if table == "removal":  # its one row is there already
        db.execute("DELETE FROM removal")
    for number, row in enumerate(_readable(engine, source, db, table, names), 1):
        fitted = [
            _fitted(value, kind, needed)
            for value, (_, kind, needed) in zip(row, columns, strict=True)
        ]
        try:
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", fitted)
        except db.IntegrityError:  # twice in a damaged file: both texts stay, of the rest the first
            if table == "memory":
                fitted[1] = f"{fitted[1]}-{number}"
                fitted[2] = os.urandom(16)  # which the mending computes again
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", fitted)


def _fitted(value: Any, kind: str, needed: bool) -> Any:
    """A value that its column takes, as near to it as can be."""
    if value is None:
        return _EMPTY[kind] if needed else None
    if isinstance(value, _TYPES[kind]):
        return value
    if kind == "TEXT":
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    if kind == "REAL" and isinstance(value, int):
        return float(value)
    return _EMPTY[kind] if needed else None


def _readable(
    engine: Driver, source: Database, db: Database, table: str, names: str
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that can be read, past damaged pages."""
    numbered = True
    try:
        db.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except engine.error:
        numbered = False
    ways = _by_number if numbered else _from_both_ends
    return ways(engine, source, table, names)


def _by_number(
    engine: Driver, source: Database, table: str, names: str
) -> Iterator[tuple[Any, ...]]:
    chosen = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid"
    last, failures = -(2**63), 0
    while failures < _PATIENCE:
        try:
            for number, *row in source.execute(f"{chosen} > ? ORDER BY rowid", (last,)):
                if number > last:  # a page that stands in two places is read once
                    last, failures = number, 0
                    yield tuple(row)
            return
        except engine.error:  # the page behind `last`: go on behind the next number
            last = max(last, 0) + 1
            failures += 1
            with suppress(engine.error):
                for _, *row in source.execute(f"{chosen} = ?", (last,)):
                    yield tuple(row)


def _from_both_ends(
    engine: Driver, source: Database, table: str, names: str
) -> Iterator[tuple[Any, ...]]:
    key = _key(source, engine, table)
    for way in ("ASC", "DESC"):
        order = ", ".join(f"{name} {way}" for name in key)
        with suppress(engine.error):
            yield from source.execute(f"SELECT {names} FROM {table} ORDER BY {order}")
            return


def _key(source: Database, engine: Driver, table: str) -> list[str]:
    with suppress(engine.error):
        rows = source.execute(f"PRAGMA table_info({table})").fetchall()
        return [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
    return []


def _known(engine: Driver, source: Database) -> set[tuple[str, str]]:
    """Which memories there were, as far as indexes and states tell."""
    found: set[tuple[str, str]] = set()
    for query in (
        "SELECT ns, id FROM memory INDEXED BY sqlite_autoindex_memory_1",
        "SELECT ns, id FROM state WHERE status != 'gone'",
    ):
        with suppress(engine.error):
            for ns, id_ in source.execute(query):
                if isinstance(ns, str) and isinstance(id_, str):
                    found.add((ns, id_))
    return found
