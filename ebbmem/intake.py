"""From what callers hand in to entries the store can write: checked, cut, encoded, weighed."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import repeat

from ebbmem.arena import Arena
from ebbmem.asking import ASSISTANTS
from ebbmem.checks import check_fraction
from ebbmem.clock import day_of, from_micros, to_micros
from ebbmem.cues import Traits, stated, traits
from ebbmem.embedding.base import Encoder, Encoding
from ebbmem.errors import InvalidInput
from ebbmem.lexical import idf
from ebbmem.lifecycle import with_deadline
from ebbmem.limits import DEFAULTS, Limits
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memory
from ebbmem.salience import Heard, importance, salience
from ebbmem.store import Entry, Passage, state_of
from ebbmem.text import keywords, passages, spoken

__all__ = [
    "Progress",
    "Weigher",
    "as_passages",
    "batches",
    "checked",
    "days_of",
    "encode",
    "entries",
    "listed",
    "new_id",
    "spans",
    "spoken_parts",
    "texts_to_encode",
]

Progress = Callable[[int, int], None]
"""Called with (done, total) as work advances."""

Spans = list[tuple[int, int]]
_BATCH = 64  # texts an encoder gets at once


class _Ids:
    """UUIDs of version 7 (RFC 9562, 6.2 method 3): ascending within a process.

    The 12 bits after the milliseconds are a fraction of one, not a count of ids: what is shared
    by all namespaces must not tell one how many another wrote.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        with self._lock:  # 48 bits of milliseconds and 12 of 244 nanoseconds
            self._last = max((time.time_ns() << 12) // 1_000_000, self._last + 1)
            stamp, fraction = self._last >> 12, self._last & 0xFFF
        low = int.from_bytes(os.urandom(8), "big") & (2**62 - 1) | 1 << 63
        return str(uuid.UUID(int=stamp << 80 | 0x7 << 76 | fraction << 64 | low))


new_id = _Ids()


def listed(
    items: Iterable[Draft | Memory | str], limits: Limits = DEFAULTS
) -> list[Draft | Memory | str]:
    """The items, read once; one text is not several."""
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidInput("drafts", f"must be several, not {type(items).__name__}")
    return limits.taken(items)


def checked(
    items: Iterable[Draft | Memory | str], policy: Policy, limits: Limits = DEFAULTS
) -> list[Draft | Memory]:
    """The items, text turned into drafts; nothing is embedded before all have passed."""
    drafts: list[Draft | Memory] = []
    for item in listed(items, limits):
        each = Draft(text=item) if isinstance(item, str) else item
        if not isinstance(each, Draft | Memory):
            raise InvalidInput("drafts", f"must hold Draft or text, not {type(item).__name__}")
        limits.check_item(each)
        policy.category(each.category)
        drafts.append(each)
    given = [each.id for each in drafts if each.id is not None]
    if len(set(given)) != len(given):
        twice = next(id_ for id_ in given if given.count(id_) > 1)
        raise InvalidInput("id", f"{twice!r} is given twice")
    return drafts


def spans(drafts: Sequence[Draft | Memory]) -> list[Spans]:
    """The passages of each text; none of what no query shall find."""
    return [passages(each.text) if each.searchable else [] for each in drafts]


def texts_to_encode(drafts: Sequence[Draft | Memory], cut: Sequence[Spans]) -> list[str]:
    """Every passage as an encoder reads it, in order."""
    return [
        text
        for each, parts in zip(drafts, cut, strict=True)
        for text in spoken_parts(each.speaker, each.text, parts)
    ]


def spoken_parts(speaker: str | None, text: str, parts: Spans) -> list[str]:
    """The passages of one text as they are indexed."""
    return [spoken(speaker, text[start:stop]) for start, stop in parts]


def as_passages(parts: Spans, encodings: Iterator[Encoding | None]) -> tuple[Passage, ...]:
    """Spans with the encodings that come next."""
    return tuple(Passage(start, stop, next(encodings)) for start, stop in parts)


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """What an encoder gets at once."""
    for start in range(0, len(texts), _BATCH):
        yield texts[start : start + _BATCH]


def encode(encoder: Encoder, texts: Sequence[str], progress: Progress | None) -> list[Encoding]:
    """Encodings of all texts, a batch at a time."""
    encodings: list[Encoding] = []
    for batch in batches(texts):
        encodings.extend(encoder.encode_documents(batch))
        if progress is not None:
            progress(len(encodings), len(texts))
    return encodings


def entries(
    drafts: Sequence[Draft | Memory],
    cut: Sequence[Spans],
    encodings: Sequence[Encoding] | None,
    *,
    arena: Arena,
    policy: Policy,
    now: datetime,
) -> list[Entry]:
    """Drafts become memories: with an id, an importance, a time, and their passages."""
    weigh = Weigher(arena, policy)
    remaining = iter(encodings) if encodings is not None else repeat(None)
    made = []
    for draft, parts in zip(drafts, cut, strict=True):
        found = as_passages(parts, remaining)
        weight = weigh(draft, parts)
        memory = draft if isinstance(draft, Memory) else _memory(draft, weight, now)
        deadline = with_deadline(state_of(memory), policy).fades_at
        known = isinstance(draft, Memory)
        replaced = () if isinstance(draft, Memory) else draft.supersedes
        made.append(Entry(_with_deadline(memory, deadline), found, known, replaced))
    return made


def _memory(draft: Draft, weight: float, now: datetime) -> Memory:
    return Memory(
        id=draft.id or new_id(),
        text=draft.text,
        category=draft.category,
        importance=weight,
        source=draft.source,
        position=draft.position,
        speaker=draft.speaker,
        created_at=draft.at or now,
        metadata=draft.metadata,
        last_reinforced_at=None,
        recall_count=0,
        fades_at=None,
        status="active",
        faded_at=None,
        pinned=draft.pinned,
        held=False,
        keyed=draft.keyed,
        searchable=draft.searchable,
        expires_at=draft.expires_at,
        key=draft.key,
        trust=draft.trust,
        label=draft.label,
    )


class Weigher:
    """Importance of one draft after the other; each knows what was said before it."""

    def __init__(self, arena: Arena, policy: Policy) -> None:
        self._arena = arena
        self._policy = policy
        self._last: dict[str, tuple[bool, str | None]] = {}
        self._heard: Counter[str] = Counter()  # by this call, which the arena has not seen
        self._passages = 0

    def __call__(self, draft: Draft | Memory, parts: Spans) -> float:
        found, heard = self.read(draft, parts)
        if draft.importance is not None:
            return draft.importance
        if self._policy.salience is not None:
            content = check_fraction("salience", self._policy.salience(draft.text))
        else:
            content = salience(found, heard)
        return importance(content, *self._policy.category(draft.category).importance)

    def read(self, draft: Draft | Memory, parts: Spans) -> tuple[Traits, Heard]:
        """What a draft says and how it is heard; it is then part of what was said before."""
        found, told = traits(draft.text, self._arena.cues), keywords(draft.text)
        outside = told if (said := stated(draft.text)) is draft.text else keywords(said)
        new, rarity = self._rarity(list(dict.fromkeys(told)))
        heard = Heard(
            length=len(told),
            stated=len(outside),
            new=new,
            rarity=rarity,
            answers=self._answers(draft),
            assistant=(draft.speaker or "").lower() in ASSISTANTS,
        )
        if not draft.searchable:
            return found, heard
        if draft.source is not None:
            self._last[draft.source] = (found.question, draft.speaker)
        for part in spoken_parts(draft.speaker, draft.text, parts):
            self._heard.update(set(keywords(part)))
            self._passages += 1
        return found, heard

    def _rarity(self, told: Sequence[str]) -> tuple[int, float]:
        """How many of these are new, and their mean idf as a share of a new one's."""
        known, passages = self._arena.heard(told)
        counts = [known[term] + self._heard[term] for term in told]
        total = passages + self._passages
        most = idf(0, total)
        mean = sum(idf(count, total) for count in counts) / (len(counts) or 1)
        return counts.count(0), mean / most

    def _answers(self, draft: Draft | Memory) -> bool:
        if draft.source is None or draft.position == 0:
            return False
        if draft.source in self._last:
            asked, speaker = self._last[draft.source]
            return asked and speaker != draft.speaker
        return self._arena.follows_question(draft.source, draft.speaker)


def _with_deadline(memory: Memory, deadline: int | None) -> Memory:
    return replace(memory, fades_at=None if deadline is None else from_micros(deadline))


def days_of(made: Sequence[Entry]) -> list[int]:
    """The days on which these were said: days of use."""
    return [day_of(to_micros(entry.memory.created_at)) for entry in made]
