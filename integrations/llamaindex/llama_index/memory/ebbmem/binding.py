"""Which bank a call goes to: what the user handed over, whose memory is meant, who embeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.checks import check_namespace

__all__ = [
    "Names",
    "Whose",
    "bank_of",
    "checked_bank",
    "chosen_bank",
    "embedder_of",
    "one_of",
    "opened",
]

Names: TypeAlias = str | Sequence[str] | None
"""Whose memory: a name, several of them, or None for the bank's own namespace."""

Whose: TypeAlias = Names | Callable[[str | None], Names]
"""The same, or a function of the session's id that gives the names."""


def checked_bank(memory: object, name: str = "memory") -> MemoryBank:
    """The bank that was handed over.

    Raises:
        InvalidInput: it is something else; the message says what to hand over instead.
    """
    if isinstance(memory, AsyncMemoryBank):
        return memory.bank
    if isinstance(memory, MemoryBank):
        return memory
    kinds = {each.__name__ for each in type(memory).__mro__}
    if kinds & {"BasePydanticVectorStore", "BaseIndex"}:
        hint = "EbbinghausPostprocessor keeps decay beside an index of LlamaIndex"
    elif kinds & {"BaseMemory", "BaseMemoryBlock"}:
        hint = "a memory of LlamaIndex is built over a bank, not the other way round"
    else:
        hint = "MemoryBank.open('memory.db', namespace='alice') makes one"
    raise InvalidInput(name, f"must be a MemoryBank, not {type(memory).__name__}; {hint}")


def bank_of(memory: object, namespace: Whose = None, session_id: str | None = None) -> MemoryBank:
    """The bank of a namespace over the same file; None is the bank's own.

    Args:
        session_id: what a `namespace` that is a function is given.

    Raises:
        InvalidInput: no bank, a blank namespace, or none from the function.
    """
    bank = checked_bank(memory)
    if callable(namespace):
        namespace = namespace(session_id)
        if namespace is None:
            raise InvalidInput("namespace", "is None, from the function that was to name it")
    if namespace is None:
        return bank
    names = check_namespace(namespace)
    return bank if names == bank.namespace else bank.at(*names)


def embedder_of(embed_model: object = None) -> object:
    """What embeds: the model given, else that of LlamaIndex's Settings, else the bank's choice.

    Settings are read when this is called, and only if somebody has set a model there: the default
    one would ask a service on the net.
    """
    if embed_model is not None:
        return embed_model
    from llama_index.core import Settings

    return "auto" if Settings._embed_model is None else Settings.embed_model


def opened(path: str | Path, namespace: Names, embed_model: object = None) -> MemoryBank:
    """A bank that the adapter opens itself.

    Raises:
        InvalidInput: no namespace: whose memory it is must be said.
    """
    if namespace is None:
        raise InvalidInput("namespace", "must be given with a path: whose memory is it?")
    return MemoryBank.open(path, namespace=namespace, embedder=embedder_of(embed_model))


def chosen_bank(
    memory: MemoryBank | AsyncMemoryBank | None,
    namespace: Whose,
    path: str | Path | None,
    embed_model: object,
) -> tuple[MemoryBank | AsyncMemoryBank, Whose]:
    """The bank that is given or to be opened, and the namespace that is still to choose in it.

    Without either it is one in memory.
    """
    if memory is not None:
        if path is not None:
            raise InvalidInput("persist_path", "and memory are two banks; give one of them")
        if embed_model is not None:
            raise InvalidInput("embed_model", "is the bank's: MemoryBank.open(embedder=...)")
        return memory, namespace
    if path is None:
        return opened(":memory:", "default", embed_model), namespace
    if namespace is None or callable(namespace):
        raise InvalidInput("namespace", "must be given with persist_path: whose memory is it?")
    return opened(path, namespace, embed_model), None


def one_of(name: str, value: Any, known: tuple[str, ...]) -> Any:
    """`value` if it is one of these."""
    if value not in known:
        raise InvalidInput(name, f"must be one of {', '.join(known)}, not {value!r}")
    return value
