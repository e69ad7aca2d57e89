"""One course of calls of a bank, for callers that wait and for an event loop; what if it fails."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from llama_index.memory.ebbmem.messages import log

from ebbmem import AsyncMemoryBank, EbbmemError, MemoryBank

__all__ = ["Call", "Guard", "Steps", "adriven", "driven"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A method of the bank, and what it is given."""

    method: str
    given: dict[str, Any]


Steps: TypeAlias = Generator[Call, Any, T]
"""Asks for calls, gets what they return or raise."""


def driven(bank: MemoryBank, steps: Steps[T]) -> T:
    """What the steps return."""
    try:
        call = next(steps)
        while True:
            try:
                answer = getattr(bank, call.method)(**call.given)
            except BaseException as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def adriven(bank: MemoryBank, steps: Steps[T]) -> T:
    """The same for an event loop: the embedder is awaited, the rest runs in a thread."""
    waited = AsyncMemoryBank(bank)
    try:
        call = next(steps)
        while True:
            try:
                answer = await getattr(waited, call.method)(**call.given)
            except BaseException as error:  # being cancelled too
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


class Guard:
    """A memory that fails must not take the conversation with it, nor quote it in a log."""

    def __init__(self, what: str, *, raises: bool) -> None:
        self._what, self._raises = what, raises

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or self._raises:
            return False
        told = error if isinstance(error, EbbmemError) else type(error).__name__
        log.warning("%s failed: %s", self._what, told)
        return True
