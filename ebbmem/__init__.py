"""A memory for language-model agents that forgets the way people do."""

from __future__ import annotations

from ebbmem.across import arecall_across, recall_across
from ebbmem.aio import AsyncMemoryBank
from ebbmem.bank import MemoryBank
from ebbmem.context import Context
from ebbmem.decay import DecayModel, EbbinghausDecay, PowerDecay
from ebbmem.errors import (
    EbbmemError,
    EmbeddingError,
    ExchangeError,
    FingerprintMismatch,
    Held,
    InvalidInput,
    MissingExtra,
    NotFound,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
    UnknownCategory,
)
from ebbmem.policy import Policy
from ebbmem.records import CATEGORIES, Category, Draft, Memory, Recollection, Step
from ebbmem.results import (
    Advice,
    AuditEntry,
    Explanation,
    Forecast,
    Imported,
    Probe,
    ProbeAnswer,
    ProbeRun,
    Pruned,
    Ranked,
    Recollections,
    Stats,
)

__all__ = [
    "CATEGORIES",
    "Advice",
    "AsyncMemoryBank",
    "AuditEntry",
    "Category",
    "Context",
    "DecayModel",
    "Draft",
    "EbbinghausDecay",
    "EbbmemError",
    "EmbeddingError",
    "ExchangeError",
    "Explanation",
    "FingerprintMismatch",
    "Forecast",
    "Held",
    "Imported",
    "InvalidInput",
    "Memory",
    "MemoryBank",
    "MissingExtra",
    "NotFound",
    "Policy",
    "PowerDecay",
    "Probe",
    "ProbeAnswer",
    "ProbeRun",
    "Pruned",
    "Ranked",
    "Recollection",
    "Recollections",
    "SchemaTooNew",
    "Stats",
    "Step",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnreadable",
    "UnknownCategory",
    "arecall_across",
    "recall_across",
]

__version__ = "0.3.0"
