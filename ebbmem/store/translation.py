"""What a driver or the file system raises, as errors of ours: said once, for every driver."""

from __future__ import annotations

import errno

from ebbmem.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnreadable

__all__ = ["DAMAGED", "name_of", "translate", "translate_file"]

_NO_ROOM = "the disk is full; nothing was changed"
_FULL = (errno.ENOSPC, errno.EDQUOT)
DAMAGED = "is damaged; `ebbmem repair` saves what can be read"
_HELD = (
    "another process or connection held it for {waited:g} s; nothing was changed: "
    "try again, and end what keeps it"
)
_ERRORS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("SQLITE_NOTADB", StoreUnreadable, "is not a database"),
    ("SQLITE_CORRUPT", StoreUnreadable, DAMAGED),
    ("SQLITE_READONLY", StoreReadOnly, "cannot be written"),
    ("SQLITE_CANTOPEN", StoreReadOnly, "cannot be opened: no such folder, or no permission"),
    ("SQLITE_PERM", StoreReadOnly, "no permission"),
    ("SQLITE_FULL", StoreFull, _NO_ROOM),
    ("SQLITE_IOERR", StoreError, "the disk failed; a write is there whole or not at all"),
    ("SQLITE_BUSY", StoreBusy, _HELD),
    ("SQLITE_LOCKED", StoreBusy, _HELD),
)


def name_of(error: Exception) -> str:
    """What SQLite calls it, such as "SQLITE_BUSY"; empty if the driver does not say."""
    return getattr(error, "sqlite_errorname", None) or ""


def translate(path: str, error: Exception, waited: float = 0.0) -> StoreError:
    """An error of a driver as one of ours.

    Args:
        waited: seconds for which others were waited for.
    """
    name = name_of(error)
    for prefix, kind, reason in _ERRORS:
        if name.startswith(prefix):
            return kind(path, reason.format(waited=waited))
    if str(error).startswith("Could not decode"):  # it quotes what it could not
        return StoreUnreadable(path, DAMAGED)
    return StoreError(path, f"{name or type(error).__name__}: {error}")


def translate_file(path: str, error: OSError) -> StoreError:
    """An error of the file system as one of ours."""
    if error.errno in _FULL:
        return StoreFull(path, _NO_ROOM)
    missing = isinstance(error, FileNotFoundError)
    reason = "its folder does not exist" if missing else error.strerror or str(error)
    return StoreReadOnly(path, reason)
