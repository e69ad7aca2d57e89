"""How values become columns, and what is read from columns becomes values again."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ebbmem.checks import DEEPEST, check_metadata
from ebbmem.clock import from_micros, to_micros
from ebbmem.embedding.base import Encoding, TokenVectors
from ebbmem.errors import InvalidInput
from ebbmem.records import Draft, Memory, Namespace
from ebbmem.store.base import Passage, State
from ebbmem.store.sound import Malformed, check_columns, check_passage, check_state, namespace

__all__ = [
    "MEMORY_COLUMNS",
    "STATE_COLUMNS",
    "checked_metadata",
    "digest",
    "digest_of",
    "join_namespace",
    "memory_row",
    "pack_days",
    "passage_row",
    "read_memory",
    "read_metadata",
    "read_passage",
    "read_state",
    "split_namespace",
    "state_row",
    "unpack_days",
]

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # years 1 to 9999, counted from the epoch

MEMORY_COLUMNS = (
    "m.id, m.text, m.source, m.position, m.speaker, m.metadata, m.keyed, m.searchable, m.slot, "
    "m.trust, m.label, m.digest"
)
STATE_COLUMNS = (
    "m.category, m.importance, m.created_at, s.last_reinforced_at, s.recall_count, "
    "s.fades_at, s.status, s.faded_at, s.pinned, s.held, s.expires_at, "
    "s.superseded_at, s.superseded_by"
)


def join_namespace(ns: Namespace) -> str:
    """A namespace as one unambiguous string: no separator can be forged."""
    return json.dumps(ns, ensure_ascii=False)


def split_namespace(joined: str) -> Namespace:
    try:
        return namespace(json.loads(joined))
    except (RecursionError, TypeError, ValueError):
        raise Malformed(None, "its namespace is none") from None


def digest(memory: Draft | Memory) -> bytes:
    """16 bytes by which a namespace knows a record again: of its text, or of its id."""
    if memory.keyed and memory.id is not None:
        return digest_of("id", memory.id)
    return digest_of("", memory.text)


def digest_of(kind: str, words: str) -> bytes:
    """16 bytes of an id ("id") or a text ("")."""
    return hashlib.blake2b(words.encode(), digest_size=16, person=kind.encode()).digest()


def pack_days(days: Iterable[int]) -> bytes:
    ordered = sorted(set(days))
    return struct.pack(f"<{len(ordered)}i", *ordered)


@lru_cache(maxsize=256)  # every catching up reads them, and they change once a day
def unpack_days(packed: bytes) -> tuple[int, ...]:
    whole = type(packed) is bytes and len(packed) % 4 == 0
    days = struct.unpack(f"<{len(packed) // 4}i", packed) if whole else ()
    ordered = all(day < later for day, later in pairwise(days))
    if not whole or not ordered or (days and not FIRST_DAY <= days[0] <= days[-1] <= LAST_DAY):
        raise Malformed(None, "the days of use of a namespace cannot be")
    return days


def memory_row(ns: str, memory: Memory) -> tuple[object, ...]:
    return (
        ns,
        memory.id,
        digest(memory),
        memory.text,
        memory.category,
        memory.importance,
        memory.source,
        memory.position,
        memory.speaker,
        to_micros(memory.created_at),
        json.dumps(dict(memory.metadata), ensure_ascii=False),
        int(memory.keyed),
        int(memory.searchable),
        memory.key,
        memory.trust,
        memory.label,
    )


def state_row(state: State) -> tuple[object, ...]:
    return (
        state.last_reinforced_at,
        state.recall_count,
        state.fades_at,
        state.status,
        state.faded_at,
        int(state.pinned),
        int(state.held),
        state.expires_at,
        state.superseded_at,
        state.superseded_by,
    )


def read_state(id_: str, row: Sequence[Any]) -> State:
    """From `STATE_COLUMNS`."""
    category, importance, created, reinforced, count, fades, status, faded, *rest = row
    pinned, held, expires, superseded_at, superseded_by = rest
    state = State(
        id=id_,
        category=category,
        importance=importance,
        created_at=created,
        last_reinforced_at=reinforced,
        recall_count=count,
        fades_at=fades,
        status=status,
        faded_at=faded,
        pinned=bool(pinned),
        held=bool(held),
        expires_at=expires,
        superseded_at=superseded_at,
        superseded_by=superseded_by,
    )
    return check_state(state)


def read_memory(row: Sequence[Any]) -> Memory:
    """From `MEMORY_COLUMNS` and then `STATE_COLUMNS`."""
    id_, text, source, position, speaker, metadata, keyed, searchable, key, *facts = row
    trust, label, known, *facts = facts
    state = read_state(id_, facts)
    check_columns(
        id_,
        text=text,
        source=source,
        position=position,
        speaker=speaker,
        keyed=keyed,
        searchable=searchable,
        key=key,
        trust=trust,
        label=label,
    )
    if known != (digest_of("id", id_) if keyed else digest_of("", text)):
        raise Malformed(id_, "its text is not the one that was written")
    return Memory.read(
        id=id_,
        text=text,
        category=state.category,
        importance=state.importance,
        source=source,
        position=position,
        speaker=speaker,
        created_at=from_micros(state.created_at),
        metadata=checked_metadata(id_, metadata),
        last_reinforced_at=_instant(state.last_reinforced_at),
        recall_count=state.recall_count,
        fades_at=_instant(state.fades_at),
        status=state.status,
        faded_at=_instant(state.faded_at),
        pinned=state.pinned,
        held=state.held,
        keyed=bool(keyed),
        searchable=bool(searchable),
        expires_at=_instant(state.expires_at),
        key=key,
        superseded_at=_instant(state.superseded_at),
        superseded_by=state.superseded_by,
        trust=trust,
        label=label,
    )


def passage_row(number: int, passage: Passage) -> tuple[object, ...]:
    encoding = passage.encoding
    assert encoding is not None
    tokens = encoding.tokens if encoding.tokens is not None and len(encoding.tokens.ids) else None
    return (
        number,
        passage.start,
        passage.stop,
        encoding.vector.astype("<f4").tobytes(),
        None if tokens is None else tokens.ids.astype("<i4").tobytes(),
        None if tokens is None else tokens.codes.tobytes(),
    )


def read_metadata(id_: str, stored: str) -> dict[str, Any]:
    """Metadata as it was written; numbers are not looked at, which `read_memory` does."""
    try:
        found = json.loads(stored)
        if isinstance(found, dict) and stored.count("[") + stored.count("{") > DEEPEST:
            check_metadata(found)  # may be deeper than the walks over it
    except (RecursionError, TypeError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise Malformed(id_, "its metadata is no JSON object")
    return found


def checked_metadata(id_: str, stored: str) -> dict[str, Any]:
    """Metadata as it was written, every value looked at."""
    try:
        return check_metadata(read_metadata(id_, stored))
    except InvalidInput as error:
        raise Malformed(id_, f"its {error.field} {error.reason}") from None


def read_passage(
    id_: object, row: Sequence[Any], *, dimension: int, token_dimension: int
) -> Passage:
    """From start, stop, vector, pieces, codes, by an embedder of these dimensions."""
    check_passage(id_, tuple(row), dimension=dimension, token_dimension=token_dimension)
    start, stop, vector, pieces, codes = row
    tokens = None
    if pieces is not None:
        ids = np.frombuffer(pieces, "<i4")
        tokens = TokenVectors(ids, np.frombuffer(codes, np.int8).reshape(len(ids), -1))
    return Passage(start, stop, Encoding(np.frombuffer(vector, "<f4"), tokens))


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
