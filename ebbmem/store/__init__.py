"""The one truth: memories, vectors, states and links in a database."""

from __future__ import annotations

from ebbmem.store.base import (
    Added,
    AuditFault,
    AuditLine,
    AuditState,
    Change,
    Changes,
    Entry,
    MemoryStore,
    NamespaceInfo,
    Passage,
    State,
    state_of,
)
from ebbmem.store.connection import Durability
from ebbmem.store.probes import ProbeLine, RunLine
from ebbmem.store.sqlite import SQLiteStore

__all__ = [
    "Added",
    "AuditFault",
    "AuditLine",
    "AuditState",
    "Change",
    "Changes",
    "Durability",
    "Entry",
    "MemoryStore",
    "NamespaceInfo",
    "Passage",
    "ProbeLine",
    "RunLine",
    "SQLiteStore",
    "State",
    "state_of",
]
