"""One SQLite connection: opened, migrated, locked, its errors translated once."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ebbmem.errors import (
    EbbmemError,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
)
from ebbmem.store.schema import APPLICATION_ID, MIGRATIONS

__all__ = ["Connection"]

MINIMUM_SQLITE = (3, 37, 0)  # STRICT tables
BUSY_SECONDS = 10.0

_ERRORS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("SQLITE_NOTADB", StoreUnreadable, "is not a database"),
    ("SQLITE_CORRUPT", StoreUnreadable, "is damaged"),
    ("SQLITE_READONLY", StoreReadOnly, "cannot be written"),
    ("SQLITE_CANTOPEN", StoreReadOnly, "cannot be opened: no such folder, or no permission"),
    ("SQLITE_PERM", StoreReadOnly, "no permission"),
    ("SQLITE_FULL", StoreFull, "the disk is full; nothing was changed"),
    ("SQLITE_IOERR", StoreError, "the disk failed; nothing was changed"),
    ("SQLITE_BUSY", StoreBusy, "another process holds it"),
    ("SQLITE_LOCKED", StoreBusy, "another process holds it"),
)


class Connection:
    """A connection that threads share under one lock; every write is `BEGIN IMMEDIATE`.

    Raises:
        StoreUnreadable, SchemaTooNew, StoreReadOnly: the file cannot be used; it is as it was.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._writing = False
        self._truncate_later = False
        if sqlite3.sqlite_version_info < MINIMUM_SQLITE:
            raise StoreError(path, f"needs SQLite 3.37, this Python has {sqlite3.sqlite_version}")
        with self._translated():
            fresh = path != ":memory:" and not os.path.exists(path)
            if fresh:  # private from the first byte on
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._translated():
                self._refuse_foreign()
                self._configure()
            self._migrate()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _inside(self) -> bool:
        return self._db.in_transaction

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection for statements that see one state of the database."""
        with self._lock, self._translated():
            if self._inside():  # inside a write of the same thread
                yield self._db
                return
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._inside():
                    self._db.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction: all of it or nothing. Inner ones join outer ones."""
        with self._lock, self._translated():
            if self._writing:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")  # fails inside a read, which would undo it
            self._writing = True
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._truncate_later = False
                if self._inside():
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._writing = False
            if self._truncate_later:
                self._truncate_later = False
                self.truncate_log()

    def backup(self, target: str) -> None:
        """A consistent copy while others read and write; `target` appears whole or not at all."""
        if Path(target).exists():
            raise StoreError(target, "already exists; a backup overwrites nothing")
        partial = f"{target}.partial-{os.getpid()}"
        try:
            with self._lock, self._translated(target):
                os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                copy = sqlite3.connect(partial)
                try:
                    self._db.backup(copy)
                finally:
                    copy.close()
                os.replace(partial, target)
        finally:
            Path(partial).unlink(missing_ok=True)

    def truncate_log(self) -> None:
        """Move the write-ahead log into the file, best effort: a reader may hold it.

        Inside a transaction it is done after it.
        """
        with self._lock, self._translated():
            if self._inside():
                self._truncate_later = True
                return
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def pragma(self, name: str) -> object:
        """The first value a pragma answers."""
        with self._lock, self._translated():
            return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    def _refuse_foreign(self) -> None:
        version, application, tables = self._db.execute(  # of one moment
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
            "FROM pragma_user_version, pragma_application_id"
        ).fetchone()
        if tables and application != APPLICATION_ID:
            raise StoreUnreadable(self.path, "is a database of another program")
        if version > len(MIGRATIONS):
            raise SchemaTooNew(self.path, version, len(MIGRATIONS))

    def _configure(self) -> None:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:  # the switch to WAL does not wait for others by itself
            try:
                self._db.execute("PRAGMA journal_mode = WAL").fetchall()
                break
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorname in ("SQLITE_BUSY", "SQLITE_LOCKED")
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA secure_delete = ON").fetchall()
        self._db.execute("PRAGMA temp_store = MEMORY")

    def _migrate(self) -> None:
        with self._lock, self._translated():
            if self._db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS):
                return
        with self.write() as db:
            done = db.execute("PRAGMA user_version").fetchone()[0]
            if done > len(MIGRATIONS):  # a newer one was faster
                raise SchemaTooNew(self.path, done, len(MIGRATIONS))
            if done == 0:
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(
                    "CREATE TABLE IF NOT EXISTS migration "
                    "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL) STRICT"
                )
            for number, (name, statements) in enumerate(MIGRATIONS, 1):
                if number <= done:
                    continue
                for statement in statements:
                    db.execute(statement)
                db.execute("INSERT INTO migration VALUES (?, ?, datetime('now'))", (number, name))
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def _translated(self, path: str | None = None) -> Iterator[None]:
        try:
            yield
        except EbbmemError:
            raise
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "its folder does not exist" if missing else error.strerror or str(error)
            raise StoreReadOnly(path or self.path, reason) from error
        except sqlite3.ProgrammingError as error:
            raise StoreError(path or self.path, f"is closed ({error})") from error
        except sqlite3.Error as error:
            raise _translate(path or self.path, error) from error


def _translate(path: str, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, kind, reason in _ERRORS:
        if name.startswith(prefix):
            return kind(path, reason)
    return StoreError(path, f"{name or type(error).__name__}: {error}")
