"""What the bank answers, apart from memories themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ebbmem import notebook
from ebbmem.records import Memory, Namespace, Recollection

__all__ = [
    "AuditEntry",
    "AuditTrail",
    "Explanation",
    "Forecast",
    "Forecasts",
    "Imported",
    "Pruned",
    "Ranked",
    "Recollections",
    "Stats",
]


class Recollections(list[Recollection]):
    """What came to mind, best first; a list that shows itself in a notebook."""

    def _repr_html_(self) -> str:
        return notebook.recollections_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A document kept elsewhere, with its life kept here; see `MemoryBank.rerank`.

    Attributes:
        score: in [0, 1], higher is better.
        relevance: as it was given.
        strength: in [0, cap], at that moment.
        reinforced: whether this counted for it.
    """

    id: str
    score: float
    relevance: float
    strength: float
    reinforced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory came where it did in a recall, or why it did not come at all.

    Attributes:
        outcome: what became of it.
        reason: the same in a sentence, with the numbers that decided.
        rank: its place from 1, where it was ranked.
        recollection: its parts, where it was scored.
        better: what took the places, best first, where it was outscored.
    """

    id: str
    outcome: Literal["recalled", "outscored", "not a candidate", "filtered", "faded"]
    reason: str
    rank: int | None = None
    recollection: Recollection | None = None
    better: tuple[Recollection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What a pass did, or would do on a dry run: ids."""

    faded: tuple[str, ...]
    erased: tuple[str, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of the items of a file: memories that are new, and that were here already."""

    new: int
    known: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """A memory that is about to fade: its strength now, and the earliest time it can fade."""

    memory: Memory
    strength: float
    fades_at: datetime


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done to one memory: ids and actions, never text."""

    at: datetime
    action: str
    id: str


Forecasts: TypeAlias = list[Forecast]
AuditTrail: TypeAlias = list[AuditEntry]  # aliases: a class with a method `list` needs the names


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """One namespace in numbers, at one moment.

    Attributes:
        active: memories that recall can find; `faded` the hidden ones.
        mean_strength: of the active ones; None without any.
        fading_week: active ones that fade within seven days if nobody uses them.
        recalls: reinforcements counted so far, over all memories.
        conversational: how much the store looks like dialogue, in [0, 1].
    """

    namespace: Namespace
    active: int
    faded: int
    pinned: int
    held: int
    by_category: Mapping[str, int]
    mean_strength: float | None
    fading_week: int
    recalls: int
    embedder: str
    timeline: str
    conversational: float

    def _repr_html_(self) -> str:
        return notebook.stats_html(self)
