"""ebbmem for LangChain and LangGraph: change one object, and the program forgets the way people do.

Every name is imported when it is first used, and says which extra it needs where that is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ebbmem.errors import MissingExtra

if TYPE_CHECKING:
    from langchain_ebbmem.history import EbbinghausChatMessageHistory
    from langchain_ebbmem.memory import EbbinghausMemory
    from langchain_ebbmem.middleware import EbbinghausMiddleware
    from langchain_ebbmem.recall import EbbinghausRecall, with_ebbinghaus_memory
    from langchain_ebbmem.retriever import EbbinghausRetriever
    from langchain_ebbmem.store import EbbinghausStore
    from langchain_ebbmem.tools import (
        create_forget_tool,
        create_recall_tool,
        create_remember_tool,
    )
    from langchain_ebbmem.vectorstore import EbbinghausVectorStore

__all__ = [
    "EbbinghausChatMessageHistory",
    "EbbinghausMemory",
    "EbbinghausMiddleware",
    "EbbinghausRecall",
    "EbbinghausRetriever",
    "EbbinghausStore",
    "EbbinghausVectorStore",
    "create_forget_tool",
    "create_recall_tool",
    "create_remember_tool",
    "with_ebbinghaus_memory",
]

_HOMES = {  # name: (module, extra)
    "EbbinghausChatMessageHistory": ("history", "langchain"),
    "EbbinghausMemory": ("memory", "classic"),
    "EbbinghausMiddleware": ("middleware", "agents"),
    "EbbinghausRecall": ("recall", "langchain"),
    "EbbinghausRetriever": ("retriever", "langchain"),
    "EbbinghausStore": ("store", "agents"),
    "EbbinghausVectorStore": ("vectorstore", "langchain"),
    "create_forget_tool": ("tools", "langchain"),
    "create_recall_tool": ("tools", "langchain"),
    "create_remember_tool": ("tools", "langchain"),
    "with_ebbinghaus_memory": ("recall", "langchain"),
}
_FRAMEWORKS = ("langchain", "langchain_classic", "langchain_core", "langgraph")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = _HOMES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _FRAMEWORKS:
            raise MissingExtra(name, extra) from error
        raise


def __dir__() -> list[str]:
    return __all__
