"""A value that is built when it is first needed, once, whoever comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """Calling it gives the value; a build that raises is tried again by the next caller."""

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._values: list[T] = []

    def __call__(self) -> T:
        if not self._values:
            with self._lock:
                if not self._values:
                    self._values.append(self._build())
        return self._values[0]
