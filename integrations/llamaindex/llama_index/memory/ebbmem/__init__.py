"""ebbmem for LlamaIndex: chat engines and agents that remember, and forget the way people do.

Every name is imported when it is first used, and says which extra it needs where that is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ebbmem.errors import MissingExtra

if TYPE_CHECKING:
    from llama_index.memory.ebbmem.block import EbbinghausMemoryBlock
    from llama_index.memory.ebbmem.memory import EbbinghausMemory
    from llama_index.memory.ebbmem.postprocessor import EbbinghausPostprocessor
    from llama_index.memory.ebbmem.retriever import EbbinghausRetriever
    from llama_index.memory.ebbmem.tools import EbbinghausToolSpec

__all__ = [
    "EbbinghausMemory",
    "EbbinghausMemoryBlock",
    "EbbinghausPostprocessor",
    "EbbinghausRetriever",
    "EbbinghausToolSpec",
]

_HOMES = {
    "EbbinghausMemory": "memory",
    "EbbinghausMemoryBlock": "block",
    "EbbinghausPostprocessor": "postprocessor",
    "EbbinghausRetriever": "retriever",
    "EbbinghausToolSpec": "tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("llama_index") and "ebbmem" not in (error.name or ""):
            raise MissingExtra(name, "llamaindex") from error
        raise


def __dir__() -> list[str]:
    return __all__
