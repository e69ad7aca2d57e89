"""One SQLite connection: opened, migrated, locked, its errors translated once."""

from __future__ import annotations

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
    StoreError,
    StoreUnreadable,
)
from ebbmem.store.driver import Database, driver
from ebbmem.store.removal import Sweeper, truncate_log
from ebbmem.store.schema import APPLICATION_ID, migrate, newest
from ebbmem.store.shape import strange_part
from ebbmem.store.sound import Malformed
from ebbmem.store.translation import DAMAGED, name_of, translate, translate_file
from ebbmem.whole import appearing

__all__ = ["Connection", "Durability"]

BUSY_SECONDS = 10.0  # that a statement waits for others before it is `StoreBusy`
SWEEP_SECONDS = 1.0  # that a sweep waits for readers; others cannot write meanwhile
LOG_BYTES = 4 * 2**20  # of the write-ahead log, from which we move it into the file ourselves

Durability = Literal["normal", "full"]

log = logging.getLogger("ebbmem")


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
        self._patience = BUSY_SECONDS
        self._file = os.path.abspath(path)  # wherever the process goes
        self._opened: tuple[object, object] | None = None
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
            self._opened = self._identities()
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
            self._follow_log()
            try:
                self._reading = True
                self._db.execute("BEGIN")
                yield self._db
            finally:
                self._reading = False
                self.driver.release(self._db)
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
                self._follow_log()
            try:
                self._writing = self._wrote = True
                self._db.execute("BEGIN IMMEDIATE")  # fails inside a read, which would undo it
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._truncate_later = False
                self.driver.release(self._db)
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

    def _follow_log(self) -> None:
        """Open anew if the log is not the one that was opened: what is written there is nowhere.

        A connection of another SQLite in this process does not see our locks; when it closes it
        takes itself for the last one, moves the log into the file and removes it.
        """
        try:
            found = self._identities()
        except OSError:  # nobody can say; what is open may still serve
            return
        if self._opened is None or found == self._opened:
            return
        if found[0] != self._opened[0]:
            raise StoreError(self.path, "is not the file that was opened: moved, or replaced")
        log.warning("%s was opened with another SQLite in this process; its log is gone", self.path)
        before = self._db
        self._db = self.driver.connect(self._file, wait=BUSY_SECONDS)
        try:
            self._configure()
            self._db.execute("PRAGMA user_version").fetchone()  # makes the log
            self._sweeper = Sweeper(self._db)
            self._opened = self._identities()
        except BaseException:
            self._db.close()
            self._db = before
            raise
        before.close()

    def _identities(self) -> tuple[object, object]:
        """Which file and which log stand at our path; neither for one in memory."""
        return _identity(self._file), _identity(f"{self._file}-wal")

    def backup(self, target: str) -> None:
        """A consistent copy while others read and write; `target` appears whole or not at all."""
        if Path(target).exists():
            raise StoreError(target, "already exists; a backup overwrites nothing")
        with self._lock, self._translated(target), appearing(Path(target)) as partial:
            if not self._inside():
                self._follow_log()
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
                with self._waiting(0.0):
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
                with self._waiting(0.0):
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
                with self._waiting(SWEEP_SECONDS if wait is None else wait):
                    self._sweep_again = self._inside() or not self._sweeper.sweep()
            except StoreError as error:
                log.warning("what was removed is not yet cleared from the file: %s", error)
                self._sweep_again = True
            return not self._sweep_again

    @contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        """Another patience with those who hold the file; errors come out translated."""
        try:
            with self._translated():
                if not self._inside():
                    self._follow_log()
                self._wait(seconds)
                yield
        finally:
            with self._translated():
                self._wait(BUSY_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._patience = seconds
        self._db.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}").fetchall()

    def pragma(self, name: str) -> object:
        """The first value a pragma answers."""
        with self._lock, self._translated():
            return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    def _refuse_foreign(self) -> None:
        [tables] = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        # PRAGMAs, not the tables of their names: a file can put an endless view in their place.
        [version] = self._db.execute("PRAGMA user_version").fetchone()
        [application] = self._db.execute("PRAGMA application_id").fetchone()
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
                busy = name_of(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._db.execute(f"PRAGMA synchronous = {self._durability}")
        if self.driver.wal_reset_affected:  # then nobody may move the log while others commit
            self._db.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        self.driver.harden(self._db)
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
            raise StoreUnreadable(path or self.path, DAMAGED) from error
        except OSError as error:
            raise translate_file(path or self.path, error) from error
        except self.driver.misuse as error:
            raise StoreError(path or self.path, f"is closed ({error})") from error
        except self.driver.error as error:
            raise translate(path or self.path, error, self._patience) from error


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None
