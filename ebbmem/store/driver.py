"""The DB-API seam: which build of SQLite a file is opened with.

One module in the place of another: the standard library's, or pysqlite3, which brings a newer
SQLite of its own. Their exceptions are different classes of the same names. Within one process
the two do not see each other's locks, so a program must not open a bank's file with the other one.
Source: sqlite.org/howtocorrupt.html, "Multiple copies of SQLite linked into the same application".
"""

from __future__ import annotations

import importlib
import os
import sqlite3
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ebbmem.errors import InvalidInput, MissingExtra, StoreError

__all__ = ["DRIVERS", "Database", "Driver", "driver", "wal_reset_affected"]

Database = sqlite3.Connection
"""A connection, as the standard library types it; every driver's has the same face."""

DRIVERS = {"sqlite3": "sqlite3", "pysqlite3": "pysqlite3.dbapi2"}
"""The modules by the names that EBBMEM_SQLITE takes."""

MINIMUM = (3, 37, 0)  # STRICT tables
_REPAIRED = {(3, 50): 7, (3, 44): 6}  # backports of the repair in 3.51.3


@dataclass(frozen=True)
class Driver:
    """A DB-API module over one build of SQLite."""

    name: str
    module: ModuleType

    @cached_property
    def version(self) -> str:
        """Of SQLite, such as "3.40.1"."""
        return str(self.module.sqlite_version)

    @property
    def serves(self) -> bool:
        """Whether its SQLite is new enough."""
        return bool(self.module.sqlite_version_info >= MINIMUM)

    @property
    def wal_reset_affected(self) -> bool:
        return wal_reset_affected(self.version)

    @property
    def error(self) -> type[sqlite3.Error]:
        """The root of its exceptions."""
        return self.module.Error  # type: ignore[no-any-return]

    @property
    def misuse(self) -> type[sqlite3.Error]:
        """What it raises over a connection that is closed."""
        return self.module.ProgrammingError  # type: ignore[no-any-return]

    @cached_property
    def connection(self) -> type[Database]:
        """The class of its connections."""
        return _releasing(self.module)

    def connect(self, path: str, *, wait: float) -> Database:
        """A connection that threads may share under a lock, without transactions of its own.

        Args:
            wait: seconds for which a statement waits for others.
        """
        made: Any = self.module.connect(
            path,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
            factory=self.connection,
        )
        return made  # type: ignore[no-any-return]

    def release(self, db: Any) -> None:
        """End the statements that were left with rows to come: they hold what they read."""
        db.release()

    def harden(self, db: Any) -> None:
        """What SQLite has against a file that somebody else may have prepared."""
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        defensive = getattr(self.module, "SQLITE_DBCONFIG_DEFENSIVE", None)
        if defensive is not None:  # the standard library's, from Python 3.12
            db.setconfig(defensive, True)


def driver(name: str | None = None) -> Driver:
    """The driver of this name, else of EBBMEM_SQLITE, else the best there is.

    That is pysqlite3 where it is installed and new enough, because somebody asked for it, else the
    standard library's.

    Raises:
        InvalidInput: there is no such driver.
        MissingExtra: it was asked for by name, and is not installed.
        StoreError: its SQLite is too old.
    """
    wanted = name or os.environ.get("EBBMEM_SQLITE", "").strip() or "auto"
    if wanted == "auto":
        newer = _loaded("pysqlite3")
        return newer if newer is not None and newer.serves else _required("sqlite3")
    if wanted not in DRIVERS:
        known = ", ".join(("auto", *DRIVERS))
        raise InvalidInput("EBBMEM_SQLITE", f"must be one of {known}, not {wanted[:40]!r}")
    return _required(wanted)


def wal_reset_affected(version: str) -> bool:
    """Whether a SQLite has the WAL-reset bug: before 3.51.3, apart from two backports.

    Two connections that checkpoint and commit at one instant can then damage a file.
    Source: SQLite's release notes of 3.51.3.
    """
    try:
        major, minor, patch = (int(each) for each in version.split(".")[:3])
    except ValueError:
        return False
    if (major, minor) in _REPAIRED:
        return patch < _REPAIRED[major, minor]
    return (3, 7, 0) <= (major, minor, patch) < (3, 51, 3)


@cache
def _releasing(module: ModuleType) -> type[Database]:
    """The module's connections, with cursors that can be closed by them.

    An error's traceback keeps the frame that was reading and with it the cursor, for as long as
    anybody keeps the error; meanwhile the log cannot be emptied, even once the connection is
    closed.
    """

    class Releasing(module.Connection):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **options: Any) -> None:
            self._cursors: WeakSet[Any] = WeakSet()
            super().__init__(*args, **options)

        def execute(self, *args: Any) -> Any:
            cursor = super().execute(*args)
            self._cursors.add(cursor)
            return cursor

        def release(self) -> None:
            for cursor in tuple(self._cursors):
                cursor.close()
            self._cursors.clear()

        def close(self) -> None:
            self.release()
            super().close()

    return Releasing


def _required(name: str) -> Driver:
    found = _loaded(name)
    if found is None:
        raise MissingExtra(f"EBBMEM_SQLITE={name}", "sqlite")
    if not found.serves:
        reason = f"needs SQLite 3.37, this Python has {found.version}; pip install 'ebbmem[sqlite]'"
        raise StoreError(name, reason)
    return found


@cache
def _loaded(name: str) -> Driver | None:
    try:
        return Driver(name, importlib.import_module(DRIVERS[name]))
    except ImportError:
        return None
