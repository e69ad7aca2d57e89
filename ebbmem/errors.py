"""Every error that ebbmem raises on purpose.

::

    EbbmemError
    ├── InvalidInput (ValueError)    the caller gave something that cannot be used
    │   ├── Refused                  a guard does not let it in
    │   └── UnknownCategory          a category that nobody registered
    ├── NotFound (LookupError)       no such memory in this namespace
    ├── Held                         a memory under legal hold would be lost
    ├── MissingExtra (ImportError)   an optional part is not installed
    ├── EmbeddingError               the embedder failed or returned nonsense
    │   └── FingerprintMismatch      the database was written with another embedder
    ├── ExchangeError                a file to import holds lines that cannot be read
    └── StoreError                   the database
        ├── StoreUnreadable          not a database, not ours, or damaged
        ├── SchemaTooNew             written by a newer ebbmem
        ├── StoreReadOnly            the file or its folder cannot be written
        ├── StoreFull                no space left
        └── StoreBusy                another process held the file for too long

Each carries its datum as attributes. The text of a memory is never among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = [
    "EbbmemError",
    "EmbeddingError",
    "ExchangeError",
    "FingerprintMismatch",
    "Held",
    "InvalidInput",
    "MissingExtra",
    "NotFound",
    "Refused",
    "SchemaTooNew",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnreadable",
    "UnknownCategory",
]


class EbbmemError(Exception):
    """The root: catch this to catch everything of ours."""


class InvalidInput(EbbmemError, ValueError):
    """An argument cannot be used; nothing was embedded or written."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        self.reason = reason
        super().__init__(f"{field} {reason}")


class Refused(InvalidInput):
    """A guard does not let a text in. What it found is named by its kind, never quoted."""

    def __init__(self, field: str, kind: str) -> None:
        self.kind = kind
        super().__init__(field, f"holds what is not to be kept: {kind}")


class UnknownCategory(InvalidInput):
    """A category that nobody registered."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        given = repr(name[:80]) if isinstance(name, str) else f"a {type(name).__name__}"
        super().__init__("category", f"is {given}; known are {', '.join(known)}")


class NotFound(EbbmemError, LookupError):
    """No such memory in this namespace, or it has faded and was not asked for."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(f"no memory {', '.join(map(repr, ids))}")


class Held(EbbmemError):
    """A memory under legal hold can be neither erased nor reworded; `release` it first."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(f"under legal hold: {', '.join(map(repr, ids))}")


class MissingExtra(EbbmemError, ImportError):
    """An optional part is not installed; the message names the command that brings it."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'ebbmem[{extra}]'")


class EmbeddingError(EbbmemError):
    """The embedder failed, or returned vectors of a wrong shape or with NaN."""


class FingerprintMismatch(EmbeddingError):
    """The database was written with another embedder."""

    def __init__(self, stored: str, given: str) -> None:
        self.stored = stored
        self.given = given
        super().__init__(
            f"the database was written with embedder {stored}, this one is {given}; "
            "open it with the first, or convert it with reembed()"
        )


class ExchangeError(EbbmemError):
    """A file cannot be imported; `problems` holds (line number, reason), nothing was written."""

    def __init__(self, path: str, problems: Sequence[tuple[int, str]]) -> None:
        self.path = path
        self.problems = tuple(problems)
        shown = "; ".join(f"line {line}: {reason}" for line, reason in self.problems[:20])
        more = len(self.problems) - 20
        tail = f"; and {more} more" if more > 0 else ""
        super().__init__(f"{path}: nothing imported: {shown}{tail}")


class StoreError(EbbmemError):
    """The database could not do what was asked; a write is there whole or not at all."""

    def __init__(self, path: str | Path, reason: str) -> None:
        self.path = str(path)
        self.reason = reason
        super().__init__(f"{self.path}: {reason}")


class StoreUnreadable(StoreError):
    """Not a database, not one of ours, or damaged."""


class SchemaTooNew(StoreError):
    """Written by a newer ebbmem."""

    def __init__(self, path: str | Path, found: int, supported: int) -> None:
        self.found = found
        self.supported = supported
        super().__init__(
            path, f"has schema {found}, this ebbmem reads up to {supported}; upgrade ebbmem"
        )


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreFull(StoreError):
    """No space left on the disk."""


class StoreBusy(StoreError):
    """Another process held the file for longer than the busy timeout."""
