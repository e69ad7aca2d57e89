"""Which bank a call goes to: what the user handed over, whose memory is meant, who embeds."""

from __future__ import annotations

from pathlib import Path

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank, binding
from ebbmem.binding import Names, Whose

__all__ = [
    "Names",
    "Whose",
    "bank_of",
    "checked_bank",
    "chosen_bank",
    "embedder_of",
    "opened",
]

_HINTS = {
    **dict.fromkeys(
        ("BasePydanticVectorStore", "BaseIndex"),
        "EbbinghausPostprocessor keeps decay beside an index of LlamaIndex",
    ),
    **dict.fromkeys(
        ("BaseMemory", "BaseMemoryBlock"),
        "a memory of LlamaIndex is built over a bank, not the other way round",
    ),
}


def checked_bank(memory: object, name: str = "memory") -> MemoryBank:
    """The bank that was handed over; anything else is `InvalidInput` saying what to use."""
    return binding.checked_bank(memory, name, hints=_HINTS)


def bank_of(memory: object, namespace: Whose = None, session_id: str | None = None) -> MemoryBank:
    """The bank of a namespace, which may be a function of the session's id.

    See `ebbmem.binding.bank_of`.
    """
    return binding.bank_of(memory, namespace, session_id, hints=_HINTS)


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
