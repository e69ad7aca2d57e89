"""What the bank answers, apart from memories themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from ebbmem import notebook
from ebbmem.records import Memory, Namespace, Recollection

__all__ = [
    "Advice",
    "Advices",
    "AuditCheck",
    "AuditEntry",
    "AuditTrail",
    "Erased",
    "Explanation",
    "Forecast",
    "Forecasts",
    "Imported",
    "Probe",
    "ProbeAnswer",
    "ProbeRun",
    "ProbeRuns",
    "Probes",
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
        better: what took the places, best first, where it was outscored; of its own source,
            where that fills its share of them.
        superseded_by: what took its place in life, where that is why it is left out.
    """

    id: str
    outcome: Literal[
        "recalled",
        "outscored",
        "over its share",
        "not a candidate",
        "filtered",
        "faded",
        "superseded",
    ]
    reason: str
    rank: int | None = None
    recollection: Recollection | None = None
    better: tuple[Recollection, ...] = ()
    superseded_by: str | None = None


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
    """One thing that was done to one memory: ids and actions, never text.

    Attributes:
        number: its place in the trail of the namespace, from 1.
        hash: binds it to everything before it; see `MemoryBank.audit_verify`.
    """

    number: int
    at: datetime
    action: str
    id: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """Whether an audit trail is as it was written.

    Attributes:
        length: lines it has.
        head: hash of the last one; kept elsewhere it finds a trail that was written anew.
        fault_at: the first line that is not as it was written; None: all are.
        reason: what is wrong with it.
    """

    length: int
    head: str
    fault_at: int | None = None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        return self.fault_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The receipt of an erasure, without content; as long as what was removed, and a number.

    Attributes:
        ids: of the memories that were removed.
        held: ids that had come to their end and stay because they are under legal hold.
        head: hash of the last line of the audit trail, which these removals are part of.
        complete: no byte of them is left in any file of the store. False: somebody was reading
            an older state of it; the next write, or closing, goes on with it.
    """

    namespace: Namespace
    at: datetime
    ids: tuple[str, ...]
    held: tuple[str, ...] = ()
    head: str
    complete: bool

    @property
    def count(self) -> int:
        return len(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __int__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question, and the memories that ought to come to mind for it.

    Attributes:
        kind: "given" by the user, or "sampled" from what was reinforced; see
            `Policy.sample_probes`.
    """

    number: int
    question: str = field(repr=False)
    expected: tuple[str, ...]
    kind: Literal["given", "sampled"]
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """What became of the expected memories of one probe: ids, each in one of three."""

    number: int
    found: tuple[str, ...]
    hidden: tuple[str, ...]
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """All probes asked at one moment, and the size of the store then.

    Attributes:
        k: places that an expected memory could take.
        asked: how many probes there were.
        found: sum over them of the share of expected memories among the first k.
        hidden: the same of those that no query finds: they had faded or were superseded.
        active, faded, mean_strength: as in `Stats`.
        answers: one a probe, in the run itself; the history keeps the sums.
    """

    at: datetime
    k: int
    asked: int
    found: float
    hidden: float
    active: int
    faded: int
    mean_strength: float | None
    answers: tuple[ProbeAnswer, ...] = ()

    @property
    def recall(self) -> float | None:
        """Recall at k in [0, 1]: the mean share that was found; None without probes."""
        return self.found / self.asked if self.asked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Something to change, in words, with the numbers that say so.

    Attributes:
        code: what it is about, one word for programs; see `ebbmem.advice`.
    """

    code: str
    text: str
    numbers: Mapping[str, float]


Forecasts: TypeAlias = list[Forecast]
AuditTrail: TypeAlias = list[AuditEntry]  # aliases: a class with a method `list` needs the names
Probes: TypeAlias = list[Probe]
ProbeRuns: TypeAlias = list[ProbeRun]
Advices: TypeAlias = list[Advice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """One namespace in numbers, at one moment.

    Attributes:
        active: memories that recall can find; `faded` the hidden ones; `superseded` those
            that have not faded, but another took the place of.
        mean_strength: of the active ones; None without any.
        fading_week: active ones that fade within seven days if nobody uses them;
            `fading_month` within thirty.
        recalls: reinforcements counted so far, over all memories.
        conversational: how much the store looks like dialogue, in [0, 1].
        histogram: active ones by strength, in ten equal bins of [0, `histogram_top`].
        histogram_top: the cap of the policy; without one, the greatest strength.
        median_age: days, on the policy's timeline, since the active ones were said.
        bytes_on_disk: of its texts, metadata and vectors; how large the file is, with all that
            others keep in it, `MemoryBank.diagnose` says.
        bytes_in_memory: of the arrays that answer for this namespace.
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
    superseded: int = 0
    fading_month: int = 0
    histogram: tuple[int, ...] = (0,) * 10
    histogram_top: float = 1.0
    median_age: float | None = None
    bytes_on_disk: int = 0
    bytes_in_memory: int = 0

    def _repr_html_(self) -> str:
        return notebook.stats_html(self)
