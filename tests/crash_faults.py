"""Statements that fail when they are told to, in the place of those of a driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from ebbmem.store.driver import Driver, driver

Kind = Literal["refused", "undone", "no memory", "interrupted", "lasting"]
KINDS: tuple[Kind, ...] = ("refused", "undone", "no memory", "interrupted", "lasting")


@dataclass
class Faults:
    """Which statement fails, and how.

    Attributes:
        at: the n-th from now, from 1; None is none of them.
        kind: "refused" and "no memory" come before it ran; "undone" also ends the transaction,
            as SQLite does by itself when the disk is full; "interrupted" is a signal after it
            ran; "lasting" refuses every later one too, a ROLLBACK among them.
        seen: statements since `arm`.
        fired: which of them failed.
        after: called after each that ended a transaction.
    """

    at: int | None = None
    kind: str = "refused"
    seen: list[str] = field(default_factory=list)
    fired: list[str] = field(default_factory=list)
    after: Callable[[], None] | None = None

    def arm(self, at: int | None, kind: str = "refused") -> None:
        self.at, self.kind = at, kind
        self.seen.clear()
        self.fired.clear()

    def run(self, db: Any, sql: str, act: Callable[[], Any]) -> Any:
        if "busy_timeout" in sql:  # asks nothing of the disk
            return act()
        self.seen.append(sql)
        now = len(self.seen)
        if self.at is None or now < self.at or (now > self.at and self.kind != "lasting"):
            done = act()
            if self.after is not None and not db.in_transaction:
                self.after()
            return done
        self.fired.append(sql)
        if self.kind == "interrupted":
            act()
            raise KeyboardInterrupt
        if self.kind == "no memory":
            raise MemoryError
        if self.kind == "undone" and db.in_transaction:
            db.really("ROLLBACK")
        error = driver().module.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_FULL" if self.kind == "undone" else "SQLITE_IOERR"
        raise error


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Of every connection that is opened in this test."""
    told = Faults()

    class Faulty(driver().connection):  # type: ignore[misc]
        def execute(self, sql: str, *rest: Any) -> Any:
            if sql.startswith("PRAGMA synchronous"):
                sql = "PRAGMA synchronous = OFF"
            return told.run(self, sql, lambda: super(Faulty, self).execute(sql, *rest))

        def executemany(self, sql: str, *rest: Any) -> Any:
            return told.run(self, sql, lambda: super(Faulty, self).executemany(sql, *rest))

        def backup(self, target: Any, **rest: Any) -> Any:
            return told.run(self, "backup", lambda: super(Faulty, self).backup(target, **rest))

        def really(self, sql: str) -> Any:
            return super().execute(sql)

    def connect(self: Driver, path: str, *, wait: float) -> Any:
        made = self.module.connect(
            path, timeout=wait, isolation_level=None, check_same_thread=False, factory=Faulty
        )
        made.really("PRAGMA synchronous = OFF")  # nobody here waits for the disk
        return made

    monkeypatch.setattr(Driver, "connect", connect)
    return told
