"""Which bank a call goes to (`ebbmem.binding`), and what to use for LangChain's own kinds."""

from __future__ import annotations

from ebbmem import MemoryBank, binding
from ebbmem.binding import Names, Whose, check_whose

__all__ = ["Names", "Whose", "bank_of", "check_whose", "checked_bank"]

_HINTS = {
    "VectorStore": "EbbinghausRetriever.from_vectorstore(...) keeps decay beside a vector store",
    "BaseStore": "EbbinghausStore(memory=bank) makes a LangGraph store of a bank",
}


def checked_bank(memory: object, name: str = "memory") -> MemoryBank:
    """The bank that was handed over; anything else is `InvalidInput` saying what to use."""
    return binding.checked_bank(memory, name, hints=_HINTS)


def bank_of(memory: object, namespace: Whose = None, run: object = None) -> MemoryBank:
    """The bank of a namespace over the same file; see `ebbmem.binding.bank_of`."""
    return binding.bank_of(memory, namespace, run, hints=_HINTS)
