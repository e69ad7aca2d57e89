"""The values that travel: categories, drafts, memories, recollections. Frozen, validated here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias, get_args

from ebbmem.checks import (
    check_choice,
    check_flag,
    check_fraction,
    check_ids,
    check_label,
    check_metadata,
    check_text,
    check_whole,
    is_number,
    shown,
)
from ebbmem.clock import utc
from ebbmem.errors import InvalidInput

__all__ = [
    "CATEGORIES",
    "CHECKS",
    "TRUSTS",
    "Category",
    "Draft",
    "Memories",
    "Memory",
    "Metadata",
    "Namespace",
    "Namespaces",
    "Recollection",
    "Status",
    "Step",
    "Trust",
    "check_fading",
    "check_succession",
]

Namespace = tuple[str, ...]
Metadata = Mapping[str, Any]
Status = Literal["active", "faded"]
Trust = Literal["user", "assistant", "import", "tool"]
"""Where a text comes from: a person or the program itself, a model, a foreign file, a tool."""
TRUSTS: tuple[Trust, ...] = get_args(Trust)
"""Most trusted first. Somebody chose a file once; what a tool reads anybody may have written."""


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of memory: how fast it fades, and how important it is when nobody says so.

    Attributes:
        name: what drafts call it.
        base_rate: decay per day at importance 0, in [1e-4, 1e3].
        importance: (low, high) within [0, 1]; salience chooses between them.
    """

    name: str
    base_rate: float = 0.1
    importance: tuple[float, float] = (0.4, 0.7)

    def __post_init__(self) -> None:
        check_label("category name", self.name)
        if not is_number(self.base_rate) or not 1e-4 <= self.base_rate <= 1e3:
            raise InvalidInput("base_rate", f"must lie in [1e-4, 1e3], not {shown(self.base_rate)}")
        given: object = self.importance
        if not isinstance(given, tuple) or len(given) != 2:
            kind = type(given).__name__
            raise InvalidInput("importance", f"must be a pair (low, high), not {kind}")
        low, high = given
        check_fraction("importance low", low)
        check_fraction("importance high", high)
        if low > high:
            raise InvalidInput("importance", f"range is upside down: {self.importance!r}")


CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {
        each.name: each
        for each in (
            Category("strategy", 0.10, (0.6, 0.8)),
            Category("fact", 0.16, (0.7, 0.9)),
            Category("assumption", 0.20, (0.4, 0.6)),
            Category("failure", 0.35, (0.3, 0.5)),
        )
    }
)
"""The built-in categories; `Policy(categories=...)` adds to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants remembered, before it is a memory.

    Attributes:
        text: not blank, any length, kept code point for code point.
        category: one of the policy's.
        importance: in [0, 1]; None lets the content decide.
        source: the conversation, document or run it comes from.
        position: its place in the source; None puts it behind the last.
        speaker: who said it.
        at: when it was said; None is now.
        pinned: never fades.
        metadata: a JSON object of the caller's.
        id: None makes a new one.
        keyed: its id is what makes it the same record, not its text: two may say the same, and
            writing under an id that is there rewrites that record.
        searchable: False keeps and lists it, but no query finds it.
        expires_at: when it fades in any case, pinned or not.
        key: names what it is about, such as "home": of one key only the newest is current.
        supersedes: ids of what it takes the place of.
        trust: where it comes from; what a tool read is not what the user said.
        label: what a guard found it to be, such as "instructions"; told with it in a prompt.
    """

    text: str = field(repr=False)
    category: str = "fact"
    importance: float | None = None
    source: str | None = None
    position: int | None = None
    speaker: str | None = field(default=None, repr=False)
    at: datetime | None = None
    pinned: bool = False
    metadata: Metadata = field(default_factory=dict, repr=False)
    id: str | None = None
    keyed: bool = False
    searchable: bool = True
    expires_at: datetime | None = None
    key: str | None = None
    supersedes: tuple[str, ...] = ()
    trust: Trust = "user"
    label: str | None = None

    def __post_init__(self) -> None:
        for name, check in _DRAFT_CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        if self.id in self.supersedes:
            raise InvalidInput("supersedes", f"names {self.id!r} itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as the store holds it. Its strength is not here: it follows from these.

    Every field is checked as that of a `Draft` is; times become UTC, metadata is copied.

    Attributes:
        key: what it is about, if that was named.
        superseded_at: when another record took its place; None while it is current.
        superseded_by: which that is; None also once that is forgotten.
        trust, label: as those of a `Draft`.
    """

    id: str
    text: str = field(repr=False)
    category: str
    importance: float
    source: str | None
    position: int | None
    speaker: str | None = field(repr=False)
    created_at: datetime
    metadata: Metadata = field(repr=False)
    last_reinforced_at: datetime | None
    recall_count: int
    fades_at: datetime | None
    status: Status
    faded_at: datetime | None
    pinned: bool
    held: bool
    keyed: bool = False
    searchable: bool = True
    expires_at: datetime | None = None
    key: str | None = None
    superseded_at: datetime | None = None
    superseded_by: str | None = None
    trust: Trust = "user"
    label: str | None = None

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        check_fading(self.status, self.faded_at)
        check_succession(self.superseded_at, self.superseded_by)

    @classmethod
    def read(cls, **fields: Any) -> Self:
        """From what has passed the checks before, such as a row of the store."""
        made = object.__new__(cls)
        for name in CHECKS:
            object.__setattr__(made, name, fields[name])
        return made


def check_fading(status: Status, faded_at: datetime | None) -> None:
    """What is faded, and nothing else, has a time at which it did."""
    if (status == "faded") != (faded_at is not None):
        wanted = "a time" if status == "faded" else "None"
        raise InvalidInput("faded_at", f"must be {wanted} when the status is {status!r}")


def check_succession(superseded_at: datetime | None, superseded_by: str | None) -> None:
    """What has a successor has the time of it; the successor itself may be forgotten by now."""
    if superseded_by is not None and superseded_at is None:
        raise InvalidInput("superseded_at", "must be a time where superseded_by is an id")


Check = Callable[[str, object], Any]


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _time(name: str, value: object) -> datetime:
    return utc(value, name)  # type: ignore[arg-type]  # it looks at the type itself


def _status(name: str, value: object) -> str:
    if not isinstance(value, str) or value not in ("active", "faded"):
        raise InvalidInput(name, "must be 'active' or 'faded'")
    return value


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "id": check_label,
        "text": check_text,
        "category": check_label,
        "importance": check_fraction,
        "source": _optional(check_label),
        "position": _optional(check_whole),
        "speaker": _optional(check_label),
        "created_at": _time,
        "metadata": lambda _, value: check_metadata(value),
        "last_reinforced_at": _optional(_time),
        "recall_count": check_whole,
        "fades_at": _optional(_time),
        "status": _status,
        "faded_at": _optional(_time),
        "pinned": check_flag,
        "held": check_flag,
        "keyed": check_flag,
        "searchable": check_flag,
        "expires_at": _optional(_time),
        "key": _optional(check_label),
        "superseded_at": _optional(_time),
        "superseded_by": _optional(check_label),
        "trust": lambda name, value: check_choice(name, value, TRUSTS),
        "label": _optional(check_label),
    }
)
"""What each field of a `Memory` must be: (name, value) -> the value to keep."""

_DRAFT_CHECKS: Mapping[str, Check] = {
    "text": check_text,
    "importance": _optional(check_fraction),
    "at": _optional(_time),
    "id": _optional(check_label),
    "supersedes": lambda name, value: tuple(check_ids(value, name)),
    **{
        name: CHECKS[name]
        for name in (
            "source",
            "position",
            "speaker",
            "pinned",
            "metadata",
            "keyed",
            "searchable",
            "expires_at",
            "key",
            "trust",
            "label",
        )
    },
}


Memories: TypeAlias = list[Memory]  # aliases: a class with a method `list` needs the names
Namespaces: TypeAlias = list[Namespace]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path through the graph: `id` was reached over an edge of this kind.

    A path starts with the direct hit it came from, of kind "seed".
    """

    id: str
    kind: Literal["seed", "adjacent", "similar", "linked"]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A memory that came to mind, and why.

    Attributes:
        memory: the record, read after the ranking.
        score: in [0, 1], higher is better; comparable within one query.
        relevance: in [0, 1], the score before the bonuses.
        strength: in [0, cap], at the moment of the recall.
        similarity: cosine of the best passage with the query in [-1, 1]; None without vectors.
        interaction: late-interaction share in [0, 1]; None without token vectors.
        keyword: BM25 share of the best passage in [0, 1].
        bonuses: what each bounded feature added to the factor on relevance; under "current" what
            changing places with another statement of the same thing added to the score.
        via: the path from a direct hit, that one first, when it came through the graph, else empty.
        passage: the best passage of a long text, else the text.
        related: False for what only fills a place, as `min_similarity=-1` asks for.
        reinforced: whether this recall counted for it.
        before, after: what was said around it in its source, in the order said, where it was
            found directly and `around` asked for it.
    """

    memory: Memory
    score: float
    relevance: float
    strength: float
    similarity: float | None
    interaction: float | None
    keyword: float
    bonuses: Mapping[str, float]
    via: tuple[Step, ...] = ()
    passage: str = field(repr=False)
    related: bool = True
    reinforced: bool = False
    before: tuple[Memory, ...] = field(default=(), repr=False)
    after: tuple[Memory, ...] = field(default=(), repr=False)
