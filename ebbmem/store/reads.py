"""Statements that read, inside a transaction of the SQLite store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ebbmem.checks import MOST_NUMBERS
from ebbmem.embedding.base import Fingerprint
from ebbmem.errors import InvalidInput, NotFound
from ebbmem.records import Draft, Memory
from ebbmem.store.base import (
    Change,
    Changes,
    Content,
    Passage,
    State,
)
from ebbmem.store.driver import Database
from ebbmem.store.rows import (
    MEMORY_COLUMNS,
    STATE_COLUMNS,
    digest,
    digest_of,
    read_memory,
    read_passage,
    read_state,
    unpack_days,
)
from ebbmem.store.sound import (
    Malformed,
    check_columns,
    check_numbers,
    check_spans,
    number_of,
    text_of,
)

__all__ = [
    "JOINED",
    "STALE",
    "current_embedder",
    "find_embedder",
    "find_same",
    "find_words",
    "has_id",
    "json_list",
    "read_changes",
    "read_fingerprint",
    "read_links",
    "read_memories",
    "read_passages",
    "read_size",
    "read_states",
    "require_memory",
]

JOINED = "memory m JOIN state s ON s.ns = m.ns AND s.id = m.id"
_CHANGES = (
    "SELECT n.change_seq, n.floor_seq, n.active_days, n.policy, "
    "e.name, e.dimension, e.token_dimension, e.min_similarity, "
    f"s.content_seq, s.id, m.text, m.source, m.position, m.speaker, m.searchable, "
    f"m.trust, {STATE_COLUMNS} "
    "FROM namespace n LEFT JOIN embedder e ON e.current "
    "LEFT JOIN state s ON s.ns = n.ns AND s.change_seq > ?1 "
    "AND (?1 > 0 OR s.status != 'gone') "  # who knows nothing need not hear what is gone
    "LEFT JOIN memory m ON m.ns = s.ns AND m.id = s.id WHERE n.ns = ?2"
)
STALE = (
    "SELECT m.ns, m.id, m.text, m.speaker FROM memory m "
    "WHERE m.searchable AND NOT EXISTS (SELECT 1 FROM vector v "
    "WHERE v.ns = m.ns AND v.id = m.id AND v.embedder = ?) ORDER BY m.ns, m.id"
)


def json_list(values: Iterable[str]) -> str:
    return json.dumps(list(values))


def read_changes(db: Database, key: str, since: int) -> Changes:
    """What a reader who knows everything up to `since` has missed: one query if nothing."""
    rows = db.execute(_CHANGES, (since, key)).fetchall()
    if not rows:
        return Changes(since, since > 0, (), None, None, ())
    seq, floor, days, policy, *embedder = rows[0][:8]
    check_numbers(seq, floor, *(row[8] for row in rows if row[9] is not None))
    if 0 < since < floor:
        return replace(read_changes(db, key, 0), reset=True)
    current = None if embedder[0] is None else read_fingerprint(*embedder)
    renewed = [text_of(row[9]) for row in rows if row[10] is not None and row[8] > since]
    passages = read_passages(db, key, renewed, current) if renewed else {}
    links = read_links(db, key, renewed) if renewed else {}
    changed = []
    for content_seq, id_, text, source, position, speaker, searchable, trust, *facts in (
        row[8:] for row in rows
    ):
        if id_ is None:
            continue
        content, joined = None, None
        if text is not None and content_seq > since:
            found = tuple(passages.get(id_, ()))
            check_columns(
                id_,
                text=text,
                source=source,
                position=position,
                speaker=speaker,
                searchable=searchable,
                trust=trust,
            )
            check_spans(id_, text, found)
            content = Content(text, source, position, speaker, found, bool(searchable), trust)
            joined = tuple(links.get(id_, ()))
        state = None if text is None else read_state(id_, facts)
        changed.append(Change(id_, state, content, joined))
    return Changes(seq, False, unpack_days(days), current, policy, tuple(changed))


def read_states(
    db: Database, key: str, ids: Sequence[str], *, missing_ok: bool = False
) -> list[State]:
    """States in the order of `ids`; one that is missing is `NotFound`, or passed over."""
    rows = db.execute(
        f"SELECT m.id, {STATE_COLUMNS} FROM {JOINED} "
        "WHERE m.ns = ? AND m.id IN (SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    ).fetchall()
    found = {row[0]: read_state(row[0], row[1:]) for row in rows}
    missing = [id_ for id_ in ids if id_ not in found]
    if missing and not missing_ok:
        raise NotFound(missing)
    return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]


def read_memories(db: Database, key: str, ids: Sequence[str]) -> dict[str, Memory]:
    """The records that exist, by id."""
    rows = db.execute(
        f"SELECT {MEMORY_COLUMNS}, {STATE_COLUMNS} FROM {JOINED} "
        "WHERE m.ns = ? AND m.id IN (SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    )
    return {row[0]: read_memory(row) for row in rows}


def require_memory(db: Database, key: str, id: str) -> Memory:
    """The record, or `NotFound`."""
    found = read_memories(db, key, [id])
    if id not in found:
        raise NotFound([id])
    return found[id]


def find_same(db: Database, key: str, memory: Draft | Memory) -> str | None:
    """The id of the memory that says the same; of a keyed one, its own if it is there."""
    row = db.execute(
        "SELECT id FROM memory WHERE ns = ? AND digest = ?", (key, digest(memory))
    ).fetchone()
    return None if row is None else str(row[0])


def find_words(
    db: Database, key: str, ids: Sequence[str], texts: Sequence[str]
) -> dict[str, tuple[str, str | None]]:
    """(text, speaker) by id, of searchable memories with these ids or, unkeyed, these texts."""
    rows = db.execute(
        "SELECT id, text, speaker FROM memory WHERE searchable AND ns = ? AND id IN "
        "(SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    ).fetchall()
    for text in texts:
        rows += db.execute(
            "SELECT id, text, speaker FROM memory WHERE searchable AND ns = ? AND digest = ?",
            (key, digest_of("", text)),
        )
    return {id_: (text, speaker) for id_, text, speaker in rows}


def has_id(db: Database, key: str, id: str) -> bool:
    """Whether there is a memory of this id."""
    row = db.execute("SELECT 1 FROM memory WHERE ns = ? AND id = ?", (key, id)).fetchone()
    return row is not None


@np.errstate(over="ignore", invalid="ignore")  # of a vector that is none, which is then refused
def read_passages(
    db: Database, key: str, ids: Sequence[str], current: Fingerprint | None
) -> dict[str, list[Passage]]:
    """By id, what the `current` embedder made."""
    found: dict[str, list[Passage]] = {}
    if current is None:
        return found
    sizes = {"dimension": current.dimension, "token_dimension": current.token_dimension}
    rows = db.execute(  # a subquery for the embedder: joined, it costs a scan of all vectors
        "SELECT id, start, stop, vector, pieces, codes FROM vector "
        "WHERE ns = ? AND id IN (SELECT value FROM json_each(?)) "
        "AND embedder = (SELECT number FROM embedder WHERE current) ORDER BY id, passage",
        (key, json_list(ids)),
    )
    for id_, *columns in rows:
        found.setdefault(id_, []).append(read_passage(id_, columns, **sizes))
    return found


def read_size(db: Database, key: str) -> int:
    """Bytes of texts, metadata and vectors; not of rows and indexes, which share pages."""
    memory = "length(CAST(text AS BLOB)) + length(CAST(metadata AS BLOB))"
    vector = "length(vector) + coalesce(length(pieces), 0) + coalesce(length(codes), 0)"
    return sum(
        int(db.execute(f"SELECT total({size}) FROM {table} WHERE ns = ?", (key,)).fetchone()[0])
        for table, size in (("memory", memory), ("vector", vector))
    )


def read_links(db: Database, key: str, ids: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for mine, other in (("a", "b"), ("b", "a")):
        rows = db.execute(
            f"SELECT {mine}, {other}, weight FROM link "
            f"WHERE ns = ? AND {mine} IN (SELECT value FROM json_each(?))",
            (key, json_list(ids)),
        )
        for id_, to, weight in rows:
            if not (isinstance(weight, float) and 0.0 < weight <= 1.0 and isinstance(to, str)):
                raise Malformed(id_, "a link of it cannot be")
            found.setdefault(id_, []).append((to, weight))
    return found


def current_embedder(db: Database) -> tuple[int, Fingerprint] | None:
    row = db.execute(
        "SELECT number, name, dimension, token_dimension, min_similarity "
        "FROM embedder WHERE current"
    ).fetchone()
    return None if row is None else (row[0], read_fingerprint(*row[1:]))


def read_fingerprint(name: Any, dimension: Any, tokens: Any, least: Any) -> Fingerprint:
    """What the file says of its embedder."""
    sizes = (dimension, tokens)
    if not all(type(each) is int and 0 <= each <= MOST_NUMBERS for each in sizes):
        raise Malformed(None, "the dimensions of the embedder cannot be")
    try:
        return Fingerprint(name, dimension, tokens, least)
    except InvalidInput as error:
        raise Malformed(None, f"the embedder cannot be: {error}") from None


def find_embedder(db: Database, fingerprint: Fingerprint) -> int | None:
    row = db.execute(
        "SELECT number FROM embedder WHERE name = ? AND dimension = ? AND token_dimension = ?",
        (fingerprint.name, fingerprint.dimension, fingerprint.token_dimension),
    ).fetchone()
    return None if row is None else number_of(row[0])
