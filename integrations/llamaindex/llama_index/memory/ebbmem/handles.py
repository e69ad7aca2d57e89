"""How something that was written down finds its bank again: here, or from the file it is in."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary, finalize

from llama_index.memory.ebbmem.binding import opened

from ebbmem import InvalidInput, MemoryBank

__all__ = ["Handles", "bank_at", "place_of"]

T = TypeVar("T")


class Handles(Generic[T]):
    """Objects of this process by a name that no other process gives; they may go when they want."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here: WeakValueDictionary[str, T] = WeakValueDictionary()
        self._names: dict[int, str] = {}

    def of(self, thing: T) -> str:
        """The handle of a thing, always the same."""
        key = id(thing)
        with self._lock:
            handle = self._names.get(key)
            if handle is None:
                handle = self._names[key] = str(uuid.uuid4())
                self._here[handle] = thing
                finalize(thing, self._names.pop, key, None).atexit = False
            return handle

    def find(self, handle: object) -> T | None:
        """What has this handle, if it is still here."""
        with self._lock:
            return self._here.get(handle) if isinstance(handle, str) else None


_banks: Handles[MemoryBank] = Handles()


def place_of(bank: MemoryBank) -> dict[str, Any]:
    """Where a bank is, as JSON."""
    path = bank.path if _is_file(bank.path) else None
    return {
        "handle": _banks.of(bank),
        "path": None if path is None else str(Path(path).absolute()),
        "namespace": list(bank.namespace),
    }


def bank_at(place: Mapping[str, Any]) -> MemoryBank:
    """The bank that is there: the same one in its process, else its file opened again.

    Raises:
        InvalidInput: it was in memory, or its file is gone.
    """
    here = _banks.find(place.get("handle"))
    if here is not None:
        return here
    path = place.get("path")
    if path is None:
        raise InvalidInput(
            "memory", "was a bank in memory and is gone; open one on a file to find it again"
        )
    if not Path(path).is_file():
        raise InvalidInput("memory", "was a bank on a file that is not there any more")
    return opened(path, tuple(place["namespace"]))


def _is_file(path: str) -> bool:
    return path != ":memory:" and Path(path).is_file()
