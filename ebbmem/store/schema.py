"""The tables, as numbered migrations, and how values become columns."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Sequence
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
from ebbmem.store.audit import chain_old_lines
from ebbmem.store.base import Passage, State
from ebbmem.store.driver import Database
from ebbmem.store.sound import Malformed, check_columns, check_passage, check_state, namespace

__all__ = [
    "APPLICATION_ID",
    "MEMORY_COLUMNS",
    "MIGRATIONS",
    "STATE_COLUMNS",
    "checked_metadata",
    "digest",
    "digest_of",
    "join_namespace",
    "memory_row",
    "migrate",
    "newest",
    "pack_days",
    "passage_row",
    "read_memory",
    "read_metadata",
    "read_passage",
    "read_state",
    "split_namespace",
    "state_row",
    "take_steps",
    "unpack_days",
]

APPLICATION_ID = 0x4562626D  # "Ebbm"
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # years 1 to 9999, counted from the epoch

Step = str | Callable[[Database], None]

MIGRATIONS: Sequence[tuple[str, Sequence[Step]]] = (
    (
        "first tables",
        (
            """CREATE TABLE namespace (
                ns TEXT NOT NULL PRIMARY KEY,
                change_seq INTEGER NOT NULL,   -- of the last write
                floor_seq INTEGER NOT NULL,    -- tombstones up to here are gone
                policy TEXT NOT NULL,
                active_days BLOB NOT NULL,     -- days since the epoch, int32, ascending
                pruned_at INTEGER
            ) STRICT""",
            """CREATE TABLE memory (
                ns TEXT NOT NULL, id TEXT NOT NULL,
                digest BLOB NOT NULL,          -- of the text: the same text is one record
                text TEXT NOT NULL,
                category TEXT NOT NULL,
                importance REAL NOT NULL,
                source TEXT, position INTEGER, speaker TEXT,
                created_at INTEGER NOT NULL,
                metadata TEXT NOT NULL,
                PRIMARY KEY (ns, id)
            ) STRICT""",
            "CREATE UNIQUE INDEX memory_digest ON memory (ns, digest)",
            "CREATE INDEX memory_source ON memory (ns, source, position)",
            """CREATE TABLE state (
                ns TEXT NOT NULL, id TEXT NOT NULL,
                change_seq INTEGER NOT NULL,   -- of the last write to anything of it
                content_seq INTEGER NOT NULL,  -- of the last write to text, vectors or links
                last_reinforced_at INTEGER,
                recall_count INTEGER NOT NULL,
                fades_at INTEGER,
                status TEXT NOT NULL,          -- active, faded, gone (a tombstone)
                faded_at INTEGER,
                pinned INTEGER NOT NULL, held INTEGER NOT NULL,
                PRIMARY KEY (ns, id)
            ) STRICT, WITHOUT ROWID""",
            "CREATE INDEX state_change ON state (ns, change_seq)",
            "CREATE INDEX state_due ON state (ns, fades_at) WHERE status = 'active'",
            "CREATE INDEX state_faded ON state (ns, faded_at) WHERE status = 'faded'",
            """CREATE TABLE vector (
                ns TEXT NOT NULL, id TEXT NOT NULL,
                embedder INTEGER NOT NULL, passage INTEGER NOT NULL,
                start INTEGER NOT NULL, stop INTEGER NOT NULL,
                vector BLOB NOT NULL,          -- float32
                pieces BLOB, codes BLOB,       -- int32 ids, int8 directions
                PRIMARY KEY (ns, id, embedder, passage)
            ) STRICT""",
            """CREATE TABLE link (
                ns TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL,
                weight REAL NOT NULL,
                PRIMARY KEY (ns, a, b)
            ) STRICT, WITHOUT ROWID""",
            "CREATE INDEX link_back ON link (ns, b)",
            """CREATE TABLE embedder (
                number INTEGER PRIMARY KEY,
                name TEXT NOT NULL, dimension INTEGER NOT NULL,
                token_dimension INTEGER NOT NULL, min_similarity REAL,
                current INTEGER NOT NULL
            ) STRICT""",
            """CREATE TABLE audit (
                number INTEGER PRIMARY KEY,
                ns TEXT NOT NULL, at INTEGER NOT NULL,
                action TEXT NOT NULL, id TEXT NOT NULL
            ) STRICT""",
            "CREATE INDEX audit_ns ON audit (ns, number)",
        ),
    ),
    (
        "records known by their id, records no query finds, an end that is set",
        (
            "ALTER TABLE memory ADD COLUMN keyed INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE memory ADD COLUMN searchable INTEGER NOT NULL DEFAULT 1",
            "ALTER TABLE state ADD COLUMN expires_at INTEGER",
        ),
    ),
    (
        "what took the place of a memory, questions that watch over recall",
        (
            "ALTER TABLE memory ADD COLUMN slot TEXT",  # of a slot only the last record is current
            "CREATE INDEX memory_slot ON memory (ns, slot) WHERE slot IS NOT NULL",
            "ALTER TABLE state ADD COLUMN superseded_at INTEGER",
            "ALTER TABLE state ADD COLUMN superseded_by TEXT",
            "CREATE INDEX state_successor ON state (ns, superseded_by) "
            "WHERE superseded_by IS NOT NULL",
            """CREATE TABLE probe (
                ns TEXT NOT NULL, number INTEGER NOT NULL,
                question TEXT NOT NULL,
                kind TEXT NOT NULL,            -- given by the user, or sampled from recalls
                added_at INTEGER NOT NULL,
                PRIMARY KEY (ns, number)
            ) STRICT""",
            """CREATE TABLE probe_answer (
                ns TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL,
                PRIMARY KEY (ns, id, number)
            ) STRICT, WITHOUT ROWID""",
            """CREATE TABLE probe_run (
                number INTEGER PRIMARY KEY,
                ns TEXT NOT NULL, at INTEGER NOT NULL,
                k INTEGER NOT NULL, asked INTEGER NOT NULL,
                found REAL NOT NULL, hidden REAL NOT NULL,
                active INTEGER NOT NULL, faded INTEGER NOT NULL,
                mean_strength REAL
            ) STRICT""",
            "CREATE INDEX probe_run_ns ON probe_run (ns, number)",
        ),
    ),
    (
        "where a text comes from, what a guard found it to be",
        (
            "ALTER TABLE memory ADD COLUMN trust TEXT NOT NULL DEFAULT 'user'",
            "ALTER TABLE memory ADD COLUMN label TEXT",
            # of the audit trail, see audit.py; a new namespace begins behind 32 zero bytes
            "ALTER TABLE namespace ADD COLUMN audit_length INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE namespace ADD COLUMN audit_head BLOB NOT NULL "
            f"DEFAULT x'{bytes(32).hex()}'",
            "DROP INDEX audit_ns",
            "ALTER TABLE audit RENAME TO audit_before",
            """CREATE TABLE audit (
                ns TEXT NOT NULL, number INTEGER NOT NULL,  -- from 1, without a gap
                at INTEGER NOT NULL, action TEXT NOT NULL, id TEXT NOT NULL,
                hash BLOB NOT NULL,
                PRIMARY KEY (ns, number)
            ) STRICT, WITHOUT ROWID""",
            chain_old_lines,
            "DROP TABLE audit_before",
            *(
                f"CREATE TRIGGER audit_no_{verb} BEFORE {verb} ON audit "
                "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END"
                for verb in ("update", "delete")
            ),
            # removals of content, and up to which of them no byte is left: see sweep()
            "CREATE TABLE removal (removed INTEGER NOT NULL, swept INTEGER NOT NULL) STRICT",
            "INSERT INTO removal VALUES (0, 0)",
            # of an embedder that was not yet called when its first memory was kept
            "UPDATE embedder SET (dimension, token_dimension) = (SELECT length(vector) / 4, "
            "coalesce(length(codes) * 4 / length(pieces), 0) FROM vector AS v "
            "WHERE v.embedder = embedder.number LIMIT 1) WHERE dimension = 0 "
            "AND EXISTS (SELECT 1 FROM vector AS v WHERE v.embedder = embedder.number)",
            """CREATE TABLE lease (                -- who runs the daily pass, see lease.py
                ns TEXT NOT NULL PRIMARY KEY,
                holder TEXT NOT NULL,
                ends_at INTEGER NOT NULL       -- by the clock of the machine
            ) STRICT, WITHOUT ROWID""",
        ),
    ),
)
"""(name, steps), applied in order, each with its record in one transaction."""

MEMORY_COLUMNS = (
    "m.id, m.text, m.source, m.position, m.speaker, m.metadata, m.keyed, m.searchable, m.slot, "
    "m.trust, m.label, m.digest"
)
STATE_COLUMNS = (
    "m.category, m.importance, m.created_at, s.last_reinforced_at, s.recall_count, "
    "s.fades_at, s.status, s.faded_at, s.pinned, s.held, s.expires_at, "
    "s.superseded_at, s.superseded_by"
)


def newest() -> int:
    """The number of the last migration."""
    return len(MIGRATIONS)


def migrate(db: Database, *, upto: int | None = None) -> None:
    """Bring the tables to the newest shape, or to that after `upto` migrations.

    Inside a transaction of the caller's.
    """
    done = db.execute("PRAGMA user_version").fetchone()[0]
    if done == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration "
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL) STRICT"
        )
    for number, (name, steps) in enumerate(MIGRATIONS[:upto], 1):
        if number <= done:
            continue
        take_steps(db, steps)
        db.execute("INSERT INTO migration VALUES (?, ?, datetime('now'))", (number, name))
        db.execute(f"PRAGMA user_version = {number}")


def take_steps(db: Database, steps: Iterable[Step]) -> None:
    """Run the steps of a migration: statements, and functions for what SQL cannot say."""
    for step in steps:
        if isinstance(step, str):
            db.execute(step)
        else:
            step(db)


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
