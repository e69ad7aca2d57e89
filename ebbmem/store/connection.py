"""One SQLite connection: opened, migrated, locked, its errors translated once."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, get_args

from ebbmem.checks import check_choice
from ebbmem.errors import (
    EbbmemError,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
)
from ebbmem.store.driver import Database, driver
from ebbmem.store.removal import Sweeper, truncate_log
from ebbmem.store.schema import APPLICATION_ID, migrate, newest
from ebbmem.store.shape import strange_part
from ebbmem.store.sound import Malformed
from ebbmem.whole import appearing

__all__ = ["Connection", "Durability"]

BUSY_SECONDS = 10.0  # that a statement waits for others before it is `StoreBusy`
SWEEP_SECONDS = 1.0  # that a sweep waits for readers; others cannot write meanwhile
LOG_BYTES = 4 * 2**20  # of the write-ahead log, from which we move it into the file ourselves

Durability = Literal["normal", "full"]

log = logging.getLogger("ebbmem")

_NO_ROOM = "the disk is full; nothing was changed"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED = "is damaged; `ebbmem repair` saves what can be read"
_HELD = (
    f"another process or connection held it for {BUSY_SECONDS:g} s; nothing was changed: "
    "try again, and end what keeps it"
)
_ERRORS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("SQLITE_NOTADB", StoreUnreadable, "is not a database"),
    ("SQLITE_CORRUPT", StoreUnreadable, _DAMAGED),
    ("SQLITE_READONLY", StoreReadOnly, "cannot be written"),
    ("SQLITE_CANTOPEN", StoreReadOnly, "cannot be opened: no such folder, or no permission"),
    ("SQLITE_PERM", StoreReadOnly, "no permission"),
    ("SQLITE_FULL", StoreFull, _NO_ROOM),
    ("SQLITE_IOERR", StoreError, "the disk failed; nothing was changed"),
    ("SQLITE_BUSY", StoreBusy, _HELD),
    ("SQLITE_LOCKED", StoreBusy, _HELD),
)


class Connection:
    """A connection that threads share under one lock; every write is `BEGIN IMMEDIATE`.

    Args:
        durability: "normal" keeps every commit when the process dies, and may lose the last ones
            when the power fails; "full" waits for the disk at each commit.

    Raises:
        StoreUnreadable, SchemaTooNew, StoreReadOnly: the file cannot be used; it is as it was.
        InvalidInput: no such durability, or no such driver in the environment.
    """

    def __init__(self, path: str, *, durability: Durability = "normal") -> None:
        self.path = path
        self.driver = driver()
        self._durability: Durability = check_choice("durability", durability, get_args(Durability))
        self._lock = threading.RLock()
        self._reading = self._writing = False
        self._truncate_later = False
        self._sweep_again = self._wrote = False
        with self._translated():
            fresh = path != ":memory:" and not os.path.exists(path)
            if fresh:  # private from the first byte on
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = self.driver.connect(path, wait=BUSY_SECONDS)
        try:
            with self._translated():
                self._db.execute("BEGIN")  # of one moment: another may be migrating it
                self._refuse_foreign()
                self._db.execute("COMMIT")
                self._configure()
            self._migrate()
            self._sweeper = Sweeper(self._db)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Sweep what this connection may have removed, and close."""
        with self._lock:
            try:
                if self._wrote:
                    self.sweep()
            finally:
                self._wrote = False
                self._db.close()

    def _inside(self) -> bool:
        return self._db.in_transaction

    @contextmanager
    def read(self) -> Iterator[Database]:
        """The connection for statements that see one state of the database."""
        with self._lock, self._translated():
            if self._reading or self._writing:  # of the same thread
                yield self._db
                return
            self._end_left_open()
            try:
                self._reading = True
                self._db.execute("BEGIN")
                yield self._db
            finally:
                self._reading = False
                if self._inside():
                    self._db.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Database]:
        """The connection inside a transaction: all of it or nothing. Inner ones join outer ones."""
        with self._lock, self._translated():
            if self._writing:
                yield self._db
                return
            if not self._reading:
                self._end_left_open()
            try:
                self._writing = self._wrote = True
                self._db.execute("BEGIN IMMEDIATE")  # fails inside a read, which would undo it
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._truncate_later = False
                if self._inside() and not self._reading:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._writing = False
            if self._truncate_later:
                self._truncate_later = False
                self.truncate_log()
            if self._sweep_again:
                self.sweep(wait=0.0)
            elif self.driver.wal_reset_affected:
                self._keep_log_short()

    def _end_left_open(self) -> None:
        """A transaction whose ROLLBACK failed, or that was interrupted before it was known."""
        if self._inside():
            self._db.execute("ROLLBACK")

    def backup(self, target: str) -> None:
        """A consistent copy while others read and write; `target` appears whole or not at all."""
        if Path(target).exists():
            raise StoreError(target, "already exists; a backup overwrites nothing")
        with self._lock, self._translated(target), appearing(Path(target)) as partial:
            copy = self.driver.connect(str(partial), wait=BUSY_SECONDS)
            try:
                self._db.backup(copy)
            finally:
                copy.close()

    def truncate_log(self) -> None:
        """Move the write-ahead log into the file, best effort: a reader may hold it.

        Inside a transaction it is done after it.
        """
        with self._lock:
            if self._inside():
                self._truncate_later = True
                return
            try:
                with self._translated(), self._waiting(0.0):
                    truncate_log(self._db)
            except StoreError:  # what is committed stays so; the next write tries again
                self._sweep_again = True

    def _keep_log_short(self) -> None:
        """In the place of SQLite's own checkpoints, which on builds with the WAL-reset bug may
        run while somebody commits: TRUNCATE holds writers off. A reader prevents it; then the
        next write tries again.
        """
        if self.path == ":memory:":
            return
        with suppress(OSError, StoreError):  # no log, or what is committed stays so
            if os.stat(f"{self.path}-wal").st_size > LOG_BYTES:
                with self._translated(), self._waiting(0.0):
                    truncate_log(self._db)

    def sweep(self, *, wait: float | None = None) -> bool:
        """Clear every byte of what was removed, after the transaction that removed it.

        Args:
            wait: seconds for those who read; None is `SWEEP_SECONDS`.

        Returns:
            False if it could not: what is committed stays so, and the next write tries again.
        """
        with self._lock:
            if self.path == ":memory:":
                return True
            try:
                with self._translated(), self._waiting(SWEEP_SECONDS if wait is None else wait):
                    self._sweep_again = self._inside() or not self._sweeper.sweep()
            except StoreError as error:
                log.warning("what was removed is not yet cleared from the file: %s", error)
                self._sweep_again = True
            return not self._sweep_again

    @contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        """Another patience with those who hold the file."""
        try:
            self._db.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}").fetchall()
            yield
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}").fetchall()

    def pragma(self, name: str) -> object:
        """The first value a pragma answers."""
        with self._lock, self._translated():
            return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    def _refuse_foreign(self) -> None:
        version, application, tables = self._db.execute(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
            "FROM pragma_user_version, pragma_application_id"
        ).fetchone()
        if tables and application != APPLICATION_ID:
            raise StoreUnreadable(self.path, "is a database of another program")
        if version > newest():
            raise SchemaTooNew(self.path, version, newest())
        strange = strange_part(self._db, self.driver, version)
        if strange is not None:
            kind, name, _ = strange
            raise StoreUnreadable(self.path, f"its {kind} {name[:80]!r} is not as ebbmem makes it")

    def _configure(self) -> None:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:  # the switch to WAL does not wait for others by itself
            try:
                self._db.execute("PRAGMA journal_mode = WAL").fetchall()
                break
            except self.driver.error as error:
                busy = _name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._db.execute(f"PRAGMA synchronous = {self._durability}")
        if self.driver.wal_reset_affected:  # then nobody may move the log while others commit
            self._db.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._db.execute("PRAGMA cell_size_check = ON")
        self._db.execute("PRAGMA secure_delete = ON").fetchall()
        self._db.execute("PRAGMA temp_store = MEMORY")

    def _migrate(self) -> None:
        with self._lock, self._translated():
            if self._db.execute("PRAGMA user_version").fetchone()[0] == newest():
                return
        with self.write() as db:
            done = db.execute("PRAGMA user_version").fetchone()[0]
            if done > newest():  # a newer one was faster
                raise SchemaTooNew(self.path, done, newest())
            migrate(db)

    @contextmanager
    def _translated(self, path: str | None = None) -> Iterator[None]:
        try:
            yield
        except EbbmemError:
            raise
        except Malformed as error:
            raise StoreUnreadable(path or self.path, str(error)) from error
        except UnicodeDecodeError as error:  # of a message that quotes the file
            raise StoreUnreadable(path or self.path, _DAMAGED) from error
        except OSError as error:
            if error.errno in _FULL:
                raise StoreFull(path or self.path, _NO_ROOM) from error
            missing = isinstance(error, FileNotFoundError)
            reason = "its folder does not exist" if missing else error.strerror or str(error)
            raise StoreReadOnly(path or self.path, reason) from error
        except self.driver.misuse as error:
            raise StoreError(path or self.path, f"is closed ({error})") from error
        except self.driver.error as error:
            raise _translate(path or self.path, error) from error


def _name(error: Exception) -> str:
    """What SQLite calls it, such as "SQLITE_BUSY"; empty if the driver does not say."""
    return getattr(error, "sqlite_errorname", None) or ""


def _translate(path: str, error: Exception) -> StoreError:
    name = _name(error)
    for prefix, kind, reason in _ERRORS:
        if name.startswith(prefix):
            return kind(path, reason)
    if str(error).startswith("Could not decode"):  # it quotes what it could not
        return StoreUnreadable(path, _DAMAGED)
    return StoreError(path, f"{name or type(error).__name__}: {error}")
