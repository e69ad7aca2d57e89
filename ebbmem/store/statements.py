"""Statements that run inside a transaction of the SQLite store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ebbmem.clock import DAY
from ebbmem.embedding.base import Fingerprint
from ebbmem.errors import FingerprintMismatch, Held, InvalidInput, NotFound, StoreError
from ebbmem.records import Memory
from ebbmem.store.base import (
    Change,
    Changes,
    Content,
    Edit,
    Entry,
    Passage,
    State,
    state_of,
)
from ebbmem.store.schema import (
    STATE_COLUMNS,
    digest,
    memory_row,
    pack_days,
    passage_row,
    read_memory,
    read_passage,
    read_state,
    state_row,
    unpack_days,
)

__all__ = [
    "CHANGES",
    "JOINED",
    "SET_STATE",
    "STALE",
    "current_embedder",
    "drop_tombstones",
    "edit_states",
    "erase_rows",
    "find_embedder",
    "find_text",
    "insert_embedder",
    "insert_entry",
    "insert_memory",
    "insert_passages",
    "json_list",
    "log_changes",
    "mark_days",
    "metadata_matcher",
    "next_seq",
    "read_changes",
    "read_links",
    "read_memories",
    "read_passages",
    "read_states",
    "require_embedder",
    "require_memory",
    "update_memory",
    "write_audit",
]

TOMBSTONE_DAYS = 30
JOINED = "memory m JOIN state s ON s.ns = m.ns AND s.id = m.id"
CHANGES = (
    "SELECT n.change_seq, n.floor_seq, n.active_days, n.policy, "
    "e.name, e.dimension, e.token_dimension, e.min_similarity, "
    f"s.content_seq, s.id, m.text, m.source, m.position, m.speaker, {STATE_COLUMNS} "
    "FROM namespace n LEFT JOIN embedder e ON e.current "
    "LEFT JOIN state s ON s.ns = n.ns AND s.change_seq > ? "
    "LEFT JOIN memory m ON m.ns = s.ns AND m.id = s.id WHERE n.ns = ?"
)
SET_STATE = (
    "UPDATE state SET change_seq = ?, last_reinforced_at = ?, recall_count = ?, fades_at = ?, "
    "status = ?, faded_at = ?, pinned = ?, held = ? WHERE ns = ? AND id = ?"
)
STALE = (
    "SELECT m.ns, m.id, m.text, m.speaker FROM memory m WHERE NOT EXISTS (SELECT 1 FROM vector v "
    "WHERE v.ns = m.ns AND v.id = m.id AND v.embedder = ?) ORDER BY m.ns, m.id"
)


def json_list(values: Iterable[str]) -> str:
    return json.dumps(list(values))


def metadata_matcher(where: Mapping[str, Any]) -> Callable[[str], bool]:
    """Equality as JSON has it, at every depth: true is not 1."""
    wanted = {key: _canonical(value) for key, value in where.items()}

    def matches(stored: str) -> bool:
        metadata = json.loads(stored)
        return all(
            key in metadata and _canonical(metadata[key]) == value for key, value in wanted.items()
        )

    return matches


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def next_seq(db: sqlite3.Connection, key: str, policy: str | None) -> int:
    """The number of this write; a policy makes the namespace if it is new."""
    if policy is not None:
        db.execute(
            "INSERT INTO namespace VALUES (?, 0, 0, ?, x'', NULL) ON CONFLICT DO NOTHING",
            (key, policy),
        )
    row = db.execute(
        "UPDATE namespace SET change_seq = change_seq + 1 WHERE ns = ? RETURNING change_seq", (key,)
    ).fetchone()
    return 0 if row is None else int(row[0])  # 0: no such namespace, so no such memory either


def mark_days(db: sqlite3.Connection, key: str, days: Sequence[int]) -> None:
    row = db.execute("SELECT active_days FROM namespace WHERE ns = ?", (key,)).fetchone()
    if row is None:
        return
    known = unpack_days(row[0])
    if not set(days) <= set(known):
        packed = pack_days((*known, *days))
        db.execute("UPDATE namespace SET active_days = ? WHERE ns = ?", (packed, key))


def read_changes(db: sqlite3.Connection, key: str, since: int) -> Changes:
    """What a reader who knows everything up to `since` has missed: one query if nothing."""
    rows = db.execute(CHANGES, (since, key)).fetchall()
    if not rows:
        return Changes(since, since > 0, (), None, None, ())
    seq, floor, days, policy, *embedder = rows[0][:8]
    if 0 < since < floor:
        return replace(read_changes(db, key, 0), reset=True)
    renewed = [row[9] for row in rows if row[10] is not None and row[8] > since]
    passages = read_passages(db, key, renewed) if renewed else {}
    links = read_links(db, key, renewed) if renewed else {}
    changed = []
    for content_seq, id_, text, source, position, speaker, *facts in (row[8:] for row in rows):
        if id_ is None:
            continue
        content, joined = None, None
        if text is not None and content_seq > since:
            found = tuple(passages.get(id_, ()))
            content = Content(text, source, position, speaker, found)
            joined = tuple(links.get(id_, ()))
        state = None if text is None else read_state(id_, facts)
        changed.append(Change(id_, state, content, joined))
    current = None if embedder[0] is None else Fingerprint(*embedder)
    return Changes(seq, False, unpack_days(days), current, policy, tuple(changed))


def erase_rows(db: sqlite3.Connection, key: str, ids: Sequence[str], now: int) -> list[str]:
    """Remove memories, vectors and links, and leave tombstones; returns the ids that were there.

    Raises:
        Held: an id under hold; nothing was removed.
    """
    chosen, listed = "ns = ? AND id IN (SELECT value FROM json_each(?))", json_list(ids)
    seq = next_seq(db, key, None)
    held = db.execute(f"SELECT id FROM state WHERE held AND {chosen}", (key, listed))
    if names := [row[0] for row in held]:
        raise Held(names)
    there = db.execute(f"SELECT id FROM memory WHERE {chosen}", (key, listed))
    gone = [row[0] for row in there]
    for table in ("vector", "memory"):
        db.execute(f"DELETE FROM {table} WHERE {chosen}", (key, listed))
    db.executemany(  # what was linked with it is told
        "UPDATE state SET change_seq = ?, content_seq = ? WHERE ns = ? AND id IN "
        "(SELECT a FROM link WHERE ns = ? AND b = ? "
        "UNION SELECT b FROM link WHERE ns = ? AND a = ?)",
        [(seq, seq, key, key, id_, key, id_) for id_ in gone],
    )
    for side in ("a", "b"):
        db.execute(
            f"DELETE FROM link WHERE ns = ? AND {side} IN (SELECT value FROM json_each(?))",
            (key, listed),
        )
    db.execute(
        "UPDATE state SET change_seq = ?, status = 'gone', fades_at = NULL, faded_at = ?, "
        f"last_reinforced_at = NULL, recall_count = 0 WHERE {chosen}",
        (seq, now, key, listed),
    )
    return gone


def read_states(db: sqlite3.Connection, key: str, ids: Sequence[str]) -> list[State]:
    rows = db.execute(
        f"SELECT m.id, {STATE_COLUMNS} FROM {JOINED} "
        "WHERE m.ns = ? AND m.id IN (SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    ).fetchall()
    found = {row[0]: read_state(row[0], row[1:]) for row in rows}
    if missing := [id_ for id_ in ids if id_ not in found]:
        raise NotFound(missing)
    return [found[id_] for id_ in dict.fromkeys(ids)]


def edit_states(
    db: sqlite3.Connection, key: str, ids: Sequence[str], edit: Edit, seq: int
) -> list[State]:
    changed = []
    for state in read_states(db, key, ids):
        edited = edit(state)
        if edited != state:
            changed.append(edited)
    db.executemany(SET_STATE, [(seq, *state_row(each), key, each.id) for each in changed])
    return changed


def write_audit(
    db: sqlite3.Connection, key: str, now: int, action: str, ids: Iterable[str]
) -> None:
    db.executemany(
        "INSERT INTO audit (ns, at, action, id) VALUES (?, ?, ?, ?)",
        [(key, now, action, id_) for id_ in ids],
    )


def insert_memory(db: sqlite3.Connection, key: str, memory: Memory) -> None:
    try:
        db.execute(
            "INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", memory_row(key, memory)
        )
    except sqlite3.IntegrityError as error:
        raise InvalidInput("id", f"{memory.id!r} is already that of another text") from error


def read_memories(db: sqlite3.Connection, key: str, ids: Sequence[str]) -> dict[str, Memory]:
    """The records that exist, by id."""
    rows = db.execute(
        f"SELECT m.id, m.text, m.source, m.position, m.speaker, m.metadata, "
        f"{STATE_COLUMNS} FROM {JOINED} "
        "WHERE m.ns = ? AND m.id IN (SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    )
    return {row[0]: read_memory(row) for row in rows}


def require_memory(db: sqlite3.Connection, key: str, id: str) -> Memory:
    """The record, or `NotFound`."""
    found = read_memories(db, key, [id])
    if id not in found:
        raise NotFound([id])
    return found[id]


def update_memory(db: sqlite3.Connection, key: str, memory: Memory) -> None:
    """Write the content columns of a memory that exists."""
    same = db.execute(
        "SELECT id FROM memory WHERE ns = ? AND digest = ? AND id != ?",
        (key, digest(memory.text), memory.id),
    ).fetchone()
    if same is not None:
        raise InvalidInput("text", f"is already that of memory {same[0]!r}")
    db.execute(
        "UPDATE memory SET digest = ?, text = ?, category = ?, importance = ?, source = ?, "
        "position = ?, speaker = ?, created_at = ?, metadata = ? WHERE ns = ? AND id = ?",
        (*memory_row(key, memory)[2:], key, memory.id),
    )


def find_text(db: sqlite3.Connection, key: str, text: str) -> str | None:
    """The id of the memory that says the same."""
    row = db.execute(
        "SELECT id FROM memory WHERE ns = ? AND digest = ?", (key, digest(text))
    ).fetchone()
    return None if row is None else str(row[0])


def insert_entry(db: sqlite3.Connection, key: str, entry: Entry, embedder: int, seq: int) -> None:
    """A new memory with state and passages; without a position it goes behind its source's last."""
    memory = entry.memory
    if memory.position is None and memory.source is not None:
        last = db.execute(
            "SELECT max(position) FROM memory WHERE ns = ? AND source = ?", (key, memory.source)
        ).fetchone()[0]
        memory = replace(memory, position=0 if last is None else last + 1)
    insert_memory(db, key, memory)
    db.execute(  # over the tombstone of an id that was used before
        "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, memory.id, seq, seq, *state_row(state_of(memory))),
    )
    insert_passages(db, key, memory.id, embedder, entry.passages)


def log_changes(
    db: sqlite3.Connection,
    key: str,
    changed: Sequence[State],
    actions: Callable[[State], Sequence[str]] | None,
    now: int,
) -> None:
    """A line in the audit trail for everything that was done to each."""
    for state in changed if actions is not None else ():
        for action in actions(state) if actions is not None else ():
            write_audit(db, key, now, action, [state.id])


def insert_passages(
    db: sqlite3.Connection, key: str, id_: str, embedder: int, passages: Sequence[Passage]
) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (key, id_, embedder, *passage_row(number, passage))
            for number, passage in enumerate(passages)
            if passage.encoding is not None
        ],
    )


def read_passages(db: sqlite3.Connection, key: str, ids: Sequence[str]) -> dict[str, list[Passage]]:
    rows = db.execute(  # a subquery for the embedder: joined, it costs a scan of all vectors
        "SELECT id, start, stop, vector, pieces, codes FROM vector "
        "WHERE ns = ? AND id IN (SELECT value FROM json_each(?)) "
        "AND embedder = (SELECT number FROM embedder WHERE current) ORDER BY id, passage",
        (key, json_list(ids)),
    )
    found: dict[str, list[Passage]] = {}
    for id_, *columns in rows:
        found.setdefault(id_, []).append(read_passage(columns))
    return found


def read_links(
    db: sqlite3.Connection, key: str, ids: Sequence[str]
) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for mine, other in (("a", "b"), ("b", "a")):
        rows = db.execute(
            f"SELECT {mine}, {other}, weight FROM link "
            f"WHERE ns = ? AND {mine} IN (SELECT value FROM json_each(?))",
            (key, json_list(ids)),
        )
        for id_, to, weight in rows:
            found.setdefault(id_, []).append((to, weight))
    return found


def drop_tombstones(db: sqlite3.Connection, key: str, now: int) -> None:
    """Forget ids of what is long gone; a reader older than that starts over."""
    old = now - TOMBSTONE_DAYS * DAY
    chosen = "ns = ? AND status = 'gone' AND faded_at < ?"
    top = db.execute(f"SELECT max(change_seq) FROM state WHERE {chosen}", (key, old)).fetchone()[0]
    if top is not None:
        db.execute(f"DELETE FROM state WHERE {chosen}", (key, old))
        db.execute("UPDATE namespace SET floor_seq = max(floor_seq, ?) WHERE ns = ?", (top, key))


def current_embedder(db: sqlite3.Connection) -> tuple[int, Fingerprint] | None:
    row = db.execute(
        "SELECT number, name, dimension, token_dimension, min_similarity "
        "FROM embedder WHERE current"
    ).fetchone()
    return None if row is None else (row[0], Fingerprint(*row[1:]))


def require_embedder(db: sqlite3.Connection, given: Fingerprint) -> int:
    current = current_embedder(db)
    if current is None:
        return insert_embedder(db, given, 1)
    if not current[1].accepts(given):
        raise FingerprintMismatch(str(current[1]), str(given))
    return current[0]


def find_embedder(db: sqlite3.Connection, fingerprint: Fingerprint) -> int | None:
    row = db.execute(
        "SELECT number FROM embedder WHERE name = ? AND dimension = ? AND token_dimension = ?",
        (fingerprint.name, fingerprint.dimension, fingerprint.token_dimension),
    ).fetchone()
    return None if row is None else int(row[0])


def insert_embedder(db: sqlite3.Connection, fingerprint: Fingerprint, current: int) -> int:
    cursor = db.execute(
        "INSERT INTO embedder (name, dimension, token_dimension, min_similarity, current) "
        "VALUES (?, ?, ?, ?, ?)",
        (
            fingerprint.name,
            fingerprint.dimension,
            fingerprint.token_dimension,
            fingerprint.min_similarity,
            current,
        ),
    )
    if cursor.lastrowid is None:
        raise StoreError("embedder", "was not written")
    return cursor.lastrowid
