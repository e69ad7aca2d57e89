"""Statements that write, inside a transaction of the SQLite store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from ebbmem.clock import DAY
from ebbmem.embedding.base import Fingerprint
from ebbmem.errors import Held, InvalidInput, StoreError
from ebbmem.records import TRUSTS, Memory, Metadata
from ebbmem.store.audit import append_audit
from ebbmem.store.base import (
    Edit,
    Entry,
    Passage,
    Rewrite,
    State,
    state_of,
)
from ebbmem.store.driver import Database
from ebbmem.store.reads import (
    current_embedder,
    find_same,
    json_list,
    read_states,
    require_memory,
)
from ebbmem.store.removal import mark_removed
from ebbmem.store.rows import (
    memory_row,
    pack_days,
    passage_row,
    state_row,
    unpack_days,
)
from ebbmem.store.sound import number_of
from ebbmem.store.sqlite_probes import drop_answers

__all__ = [
    "drop_tombstones",
    "edit_states",
    "erase_rows",
    "insert_embedder",
    "insert_entry",
    "insert_passages",
    "log_changes",
    "mark_days",
    "next_seq",
    "replace_passages",
    "require_embedder",
    "rewrite_entry",
    "update_memory",
    "vouch_again",
]

_TOMBSTONE_DAYS = 30
_SET_STATE = (
    "UPDATE state SET change_seq = ?, last_reinforced_at = ?, recall_count = ?, fades_at = ?, "
    "status = ?, faded_at = ?, pinned = ?, held = ?, expires_at = ?, superseded_at = ?, "
    "superseded_by = ? WHERE ns = ? AND id = ?"
)


def next_seq(db: Database, key: str, policy: str | None) -> int:
    """The number of this write; a policy makes the namespace if it is new."""
    if policy is not None:
        db.execute(
            "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
            "VALUES (?, 0, 0, ?, x'') ON CONFLICT DO NOTHING",
            (key, policy),
        )
    row = db.execute(
        "UPDATE namespace SET change_seq = change_seq + 1 WHERE ns = ? RETURNING change_seq", (key,)
    ).fetchone()
    return 0 if row is None else number_of(row[0])  # 0: no such namespace, so no such memory either


def mark_days(db: Database, key: str, days: Sequence[int]) -> None:
    row = db.execute("SELECT active_days FROM namespace WHERE ns = ?", (key,)).fetchone()
    if row is None:
        return
    known = unpack_days(row[0])
    if not set(days) <= set(known):
        packed = pack_days((*known, *days))
        db.execute("UPDATE namespace SET active_days = ? WHERE ns = ?", (packed, key))


def erase_rows(db: Database, key: str, ids: Sequence[str], now: int) -> list[str]:
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
    if gone:
        mark_removed(db)
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
    drop_answers(db, key, gone)
    db.execute(
        "UPDATE state SET change_seq = ?, status = 'gone', fades_at = NULL, faded_at = ?, "
        "last_reinforced_at = NULL, recall_count = 0, expires_at = NULL, "
        f"superseded_at = NULL, superseded_by = NULL WHERE {chosen}",
        (seq, now, key, listed),
    )
    return gone


def edit_states(
    db: Database,
    key: str,
    ids: Sequence[str],
    edit: Edit,
    seq: int,
    *,
    missing_ok: bool = False,
) -> list[State]:
    changed = []
    for state in read_states(db, key, ids, missing_ok=missing_ok):
        edited = edit(state)
        if edited != state:
            changed.append(edited)
    db.executemany(_SET_STATE, [(seq, *state_row(each), key, each.id) for each in changed])
    return changed


def _insert_memory(db: Database, key: str, memory: Memory) -> None:
    try:
        db.execute(
            "INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            memory_row(key, memory),
        )
    except db.IntegrityError as error:
        there = "a record without a key" if memory.keyed else "another text, or of a keyed record"
        raise InvalidInput("id", f"{memory.id!r} is already that of {there}") from error


def update_memory(db: Database, key: str, old: Memory, memory: Memory, seq: int) -> None:
    """Write the content columns of a memory in the place of its old ones, and tell readers."""
    same = find_same(db, key, memory)
    if same not in (None, memory.id):
        raise InvalidInput("text", f"is already that of memory {same!r}")
    if any(getattr(old, name) != getattr(memory, name) for name in _PRIVATE):
        mark_removed(db)
    db.execute(
        "UPDATE memory SET digest = ?, text = ?, category = ?, importance = ?, source = ?, "
        "position = ?, speaker = ?, created_at = ?, metadata = ?, keyed = ?, searchable = ?, "
        "slot = ?, trust = ?, label = ? WHERE ns = ? AND id = ?",
        (*memory_row(key, memory)[2:], key, memory.id),
    )
    _tell_content(db, key, memory.id, seq)


def vouch_again(db: Database, key: str, id: str, given: Memory, seq: int) -> None:
    """A text said again has the trust of whoever is trusted most, and what a guard said of that.

    Whom one trusts less lowers nothing and labels nothing, or a web page that quotes the user
    would disown the user's words.
    """
    was = require_memory(db, key, id)
    rise = TRUSTS.index(was.trust) - TRUSTS.index(given.trust)
    label = given.label if rise > 0 else given.label or was.label
    if rise < 0 or (rise == 0 and label == was.label):
        return
    db.execute(
        "UPDATE memory SET trust = ?, label = ? WHERE ns = ? AND id = ?",
        (given.trust, label, key, id),
    )
    _tell_content(db, key, id, seq)


def _tell_content(db: Database, key: str, id: str, seq: int) -> None:
    db.execute(
        "UPDATE state SET change_seq = ?, content_seq = ? WHERE ns = ? AND id = ?",
        (seq, seq, key, id),
    )


def _placed(db: Database, key: str, memory: Memory) -> Memory:
    if memory.position is not None or memory.source is None:
        return memory
    last = db.execute(
        "SELECT max(position) FROM memory WHERE ns = ? AND source = ?", (key, memory.source)
    ).fetchone()[0]
    return replace(memory, position=0 if last is None else number_of(last) + 1)


def insert_entry(db: Database, key: str, entry: Entry, embedder: int, seq: int) -> None:
    """A new memory with state and passages; without a position it goes behind its source's last."""
    memory = _placed(db, key, entry.memory)
    _insert_memory(db, key, memory)
    db.execute(  # over the tombstone of an id that was used before
        "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, memory.id, seq, seq, *state_row(state_of(memory))),
    )
    insert_passages(db, key, memory.id, embedder, entry.passages)


def rewrite_entry(
    db: Database, key: str, entry: Entry, embedder: int, seq: int, edit: Rewrite
) -> list[State]:
    """The content of an entry in the place of the record with its id; states that changed."""
    new = entry.memory
    old = require_memory(db, key, new.id)
    content = {name: getattr(new, name) for name in _CONTENT}
    sources = (new.source, old.source) if new.keyed else (old.source, new.source)
    content["source"] = sources[0] or sources[1]
    if new.text != old.text:
        content["importance"] = new.importance
    moved = new.position is not None or content["source"] != old.source
    made = replace(old, **content, position=new.position if moved else old.position)
    made = _placed(db, key, made)
    if old.held and made.text != old.text:
        raise Held([old.id])
    changed = made != old or _as_json(made.metadata) != _as_json(old.metadata)  # true is not 1
    if changed:
        update_memory(db, key, old, made, seq)
    if any(getattr(made, name) != getattr(old, name) for name in ("text", "speaker", "searchable")):
        replace_passages(db, key, old.id, embedder, entry.passages)
    was, given = state_of(old), state_of(new)  # as it is by its old category and importance

    def rewritten(state: State) -> State:
        pinned = state.pinned or given.pinned
        after = replace(state, pinned=pinned, expires_at=given.expires_at)
        return edit(was, after, changed or after != state)

    return edit_states(db, key, [old.id], rewritten, seq)


def _as_json(metadata: Metadata) -> str:
    return json.dumps(dict(metadata), sort_keys=True)


_PRIVATE = ("text", "source", "speaker", "metadata", "key")
_CONTENT = ("text", "category", "speaker", "metadata", "searchable", "trust", "label")


def log_changes(
    db: Database,
    key: str,
    changed: Sequence[State],
    actions: Callable[[State], Sequence[str]] | None,
    now: int,
) -> None:
    """A line in the audit trail for everything that was done to each."""
    if actions is None:
        return
    done = [(action, state.id) for state in changed for action in actions(state)]
    append_audit(db, key, now, done)


def insert_passages(
    db: Database, key: str, id_: str, embedder: int, passages: Sequence[Passage]
) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (key, id_, embedder, *passage_row(number, passage))
            for number, passage in enumerate(passages)
            if passage.encoding is not None
        ],
    )


def replace_passages(
    db: Database, key: str, id_: str, embedder: int, passages: Sequence[Passage]
) -> None:
    db.execute("DELETE FROM vector WHERE ns = ? AND id = ?", (key, id_))
    insert_passages(db, key, id_, embedder, passages)


def drop_tombstones(db: Database, key: str, now: int) -> None:
    """Forget ids of what is long gone; a reader older than that starts over."""
    old = now - _TOMBSTONE_DAYS * DAY
    chosen = "ns = ? AND status = 'gone' AND faded_at < ?"
    top = db.execute(f"SELECT max(change_seq) FROM state WHERE {chosen}", (key, old)).fetchone()[0]
    if top is not None:
        db.execute(f"DELETE FROM state WHERE {chosen}", (key, old))
        db.execute("UPDATE namespace SET floor_seq = max(floor_seq, ?) WHERE ns = ?", (top, key))


def require_embedder(db: Database, given: Fingerprint) -> int:
    current = current_embedder(db)
    if current is None:
        return insert_embedder(db, given, 1)
    number, stored = current
    stored.require(given)
    if given.dimension and not stored.dimension:  # what was kept so far was not embedded
        db.execute(
            "UPDATE embedder SET dimension = ?, token_dimension = ?, min_similarity = ? "
            "WHERE number = ?",
            (given.dimension, given.token_dimension, given.min_similarity, number),
        )
    return number


def insert_embedder(db: Database, fingerprint: Fingerprint, current: int) -> int:
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
