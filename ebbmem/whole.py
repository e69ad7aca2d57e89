"""A file that appears whole or not at all, and readable by its owner alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

__all__ = ["appearing"]

_calls = count()


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """An empty file beside `target`, to fill; it takes its place if the block ends well.

    What a process left behind that was killed meanwhile goes with the next file of that name.

    Raises:
        OSError: it cannot be written; what stood at `target` still does.
    """
    _sweep(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}-{next(_calls)}.partial")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield partial
        _settle(partial)
        os.replace(partial, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _settle(target.parent)


def _settle(path: Path) -> None:
    """Wait until the disk has it."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sweep(target: Path) -> None:
    """Remove what dead processes left of this target, their journals too."""
    if os.name != "posix":  # elsewhere one cannot ask whether a process lives without harm
        return
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)-\d+\.partial(-journal|-wal|-shm)?")
    with suppress(OSError):  # no such folder: the caller is told so when it writes
        for each in target.parent.iterdir():
            found = pattern.fullmatch(each.name)
            if found and not _lives(int(found[1])):
                each.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
