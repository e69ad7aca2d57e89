"""A memory that fails costs the memory, not the answer: logged, unless it shall be raised."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from ebbmem import EbbmemError, InvalidInput
from langchain_ebbmem.turns import log

__all__ = ["Guard", "OnError"]

OnError: TypeAlias = Literal["warn", "raise"]
"""What to do when recalling or keeping fails: log it and go on, or raise."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Guard:
    """Runs what may fail. `name` is what the log calls it; errors carry no text of a memory."""

    name: str
    on_error: OnError

    def __post_init__(self) -> None:
        if self.on_error not in ("warn", "raise"):
            raise InvalidInput("on_error", f"must be warn or raise, not {self.on_error!r}")

    def run(self, what: str, thread: str | None, act: Callable[[], Value]) -> Value | None:
        """What `act` gives; None where it failed."""
        try:
            return act()
        except EbbmemError as error:
            self._failed(what, thread, error)
            return None

    async def arun(self, what: str, thread: str | None, act: Awaitable[Value]) -> Value | None:
        """What is awaited; None where it failed."""
        try:
            return await act
        except EbbmemError as error:
            self._failed(what, thread, error)
            return None

    def _failed(self, what: str, thread: str | None, error: EbbmemError) -> None:
        if self.on_error == "raise":
            raise error
        log.warning("%s: %s failed in thread %s: %s", self.name, what, thread, error)
