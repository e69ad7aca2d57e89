"""A file that appears whole or not at all, or passes; readable by its owner alone."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["appearing", "passing"]

_filling: set[str] = set()  # names that this process is at
_JOURNALS = ("-journal", "-wal", "-shm")  # of a database that is filled


@contextmanager
def passing(target: Path) -> Iterator[Path]:
    """An empty file beside `target`, to fill and to read; it is gone when the block ends.

    What was left behind, by a process that was killed or by a disk that failed, goes with the
    next file of that name.
    """
    _sweep(target)
    # Not to be guessed: containers may give two processes one number, and then half of what the
    # one writes would take the place of what the other did.
    partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    _filling.add(partial.name)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield partial
    finally:
        _filling.discard(partial.name)
        _remove(partial)


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A file like `passing`, but it takes the place of `target` if the block ends well.

    Raises:
        OSError: it cannot be written; what stood at `target` still does.
    """
    with passing(target) as partial:
        yield partial
        _settle(partial)
        os.replace(partial, target)
    with suppress(OSError):  # it is there; not every system lets one wait for a folder
        _settle(target.parent)


def _settle(path: Path) -> None:
    """Wait until the disk has it."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(partial: Path) -> None:
    """Best effort: the next file of that name tries again, and says what hinders it."""
    for suffix in ("", *_JOURNALS):
        with suppress(OSError):
            os.unlink(f"{partial}{suffix}")


def _sweep(target: Path) -> None:
    """Remove what nobody fills any more of this target, journals too."""
    if os.name != "posix":  # elsewhere one cannot ask whether a process lives without harm
        return
    pattern = re.compile(
        rf"(\.{re.escape(target.name)}\.(\d+)-[0-9a-f]+\.partial)(-journal|-wal|-shm)?"
    )
    with suppress(OSError):  # no such folder: the caller is told so when it writes
        for each in target.parent.iterdir():
            found = pattern.fullmatch(each.name)
            if found and not _is_filled(found[1], int(found[2])):
                each.unlink(missing_ok=True)


def _is_filled(name: str, process: int) -> bool:
    if process == os.getpid():
        return name in _filling
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
