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
    Refused,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
    UnknownCategory,
)
from ebbmem.health import Repaired, diagnose, repair
from ebbmem.limits import Limits
from ebbmem.policy import Policy
from ebbmem.records import CATEGORIES, Category, Draft, Memory, Recollection, Step
from ebbmem.results import (
    Advice,
    AuditCheck,
    AuditEntry,
    Erased,
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
    "AuditCheck",
    "AuditEntry",
    "Category",
    "Context",
    "DecayModel",
    "Draft",
    "EbbinghausDecay",
    "EbbmemError",
    "EmbeddingError",
    "Erased",
    "ExchangeError",
    "Explanation",
    "FingerprintMismatch",
    "Forecast",
    "Held",
    "Imported",
    "InvalidInput",
    "Limits",
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
    "Refused",
    "Repaired",
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
    "diagnose",
    "recall_across",
    "repair",
]

__version__ = "0.4.0"
