"""Which bank a call of an adapter goes to: what the user handed over, and whose memory is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from ebbmem.aio import AsyncMemoryBank
from ebbmem.bank import MemoryBank
from ebbmem.checks import check_namespace
from ebbmem.errors import InvalidInput

__all__ = ["Names", "Whose", "bank_of", "check_whose", "checked_bank"]

Names: TypeAlias = str | Sequence[str] | None
"""Whose memory: a name, several of them, or None for the bank's own namespace."""

Whose: TypeAlias = Names | Callable[[Any], Names]
"""The same, or a function of the run (its runtime, config or session) that gives the names."""

Hints: TypeAlias = Mapping[str, str]
"""What to use instead, by the name of a class that something else might be."""

_NONE: Hints = MappingProxyType({})
_OPEN = "MemoryBank.open('memory.db', namespace='alice') makes one"


def checked_bank(memory: object, name: str = "memory", *, hints: Hints = _NONE) -> MemoryBank:
    """The bank that was handed over.

    Raises:
        InvalidInput: it is something else; the message says what to use instead.
    """
    if isinstance(memory, AsyncMemoryBank):
        return memory.bank
    if isinstance(memory, MemoryBank):
        return memory
    kinds = [each.__name__ for each in type(memory).__mro__]
    hint = next((hints[kind] for kind in kinds if kind in hints), _OPEN)
    raise InvalidInput(name, f"must be a MemoryBank, not {type(memory).__name__}; {hint}")


def check_whose(namespace: Whose) -> Whose:
    """`namespace`, with nobody's name refused when it is given rather than when it is used.

    What a function gives is checked when it gave it.
    """
    if namespace is None or callable(namespace):
        return namespace
    return check_namespace(namespace)


def bank_of(
    memory: object, namespace: Whose = None, run: object = None, *, hints: Hints = _NONE
) -> MemoryBank:
    """The bank of a namespace over the same file; None is the bank's own.

    Args:
        run: what a `namespace` that is a function is given.

    Raises:
        InvalidInput: no bank, a blank namespace, or none from the function.
    """
    bank = checked_bank(memory, hints=hints)
    if callable(namespace):
        namespace = namespace(run)
        if namespace is None:
            raise InvalidInput("namespace", "is None, from the function that was to name it")
    if namespace is None:
        return bank
    names = check_namespace(namespace)
    return bank if names == bank.namespace else bank.at(*names)
