"""The store in one SQLite file, shared by several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ebbmem.conditions import condition
from ebbmem.embedding.base import Fingerprint
from ebbmem.errors import Held
from ebbmem.records import Draft, Memory, Namespace
from ebbmem.store.audit import append_audit, read_audit, read_head, verify_audit
from ebbmem.store.base import (
    Added,
    AuditLine,
    AuditState,
    Changes,
    Edit,
    Entry,
    NamespaceInfo,
    Passage,
    Rewrite,
    State,
    as_given,
)
from ebbmem.store.connection import Connection, Durability
from ebbmem.store.diagnosis import examine
from ebbmem.store.lease import end_lease, take_lease
from ebbmem.store.mends import Rules
from ebbmem.store.reads import (
    STALE,
    current_embedder,
    find_embedder,
    find_same,
    find_words,
    has_id,
    json_list,
    read_changes,
    read_memories,
    read_passages,
    read_size,
    read_states,
    require_memory,
)
from ebbmem.store.removal import is_swept, mark_removed
from ebbmem.store.rows import join_namespace, read_metadata, split_namespace
from ebbmem.store.sound import check_audit, check_namespace_row
from ebbmem.store.sqlite_probes import SQLiteProbes
from ebbmem.store.succession import Succession
from ebbmem.store.writes import (
    drop_tombstones,
    edit_states,
    erase_rows,
    insert_embedder,
    insert_entry,
    insert_passages,
    log_changes,
    mark_days,
    next_seq,
    replace_passages,
    require_embedder,
    rewrite_entry,
    update_memory,
    vouch_again,
)

__all__ = ["SQLiteStore"]


class SQLiteStore(SQLiteProbes):
    """See `MemoryStore`. Opening creates or migrates the file, or raises and leaves it alone."""

    def __init__(self, path: str, *, durability: Durability = "normal") -> None:
        self.path = path
        self.connection = Connection(path, durability=durability)

    def close(self) -> None:
        self.connection.close()

    def backup(self, path: str) -> None:
        self.connection.backup(path)

    def size(self, ns: Namespace) -> int:
        if self.path == ":memory:":
            return 0
        with self.connection.read() as db:
            return read_size(db, join_namespace(ns))

    def diagnose(self, rules: Rules | None = None) -> dict[str, object]:
        return {
            "path": self.path,
            "engine": self.connection.driver.name,
            "engine_version": self.connection.driver.version,
            "schema": self.connection.pragma("user_version"),
            **examine(self.connection, rules),
            "swept": self.is_swept(),
        }

    # -- namespaces and embedders ------------------------------------------------------------

    def info(self, ns: Namespace) -> NamespaceInfo | None:
        with self.connection.read() as db:
            row = db.execute(
                "SELECT policy, pruned_at FROM namespace WHERE ns = ?", (join_namespace(ns),)
            ).fetchone()
            return None if row is None else check_namespace_row(NamespaceInfo(*row))

    def set_policy(self, ns: Namespace, policy: str, *, edit: Edit) -> None:
        key = join_namespace(ns)
        with self.connection.write() as db:
            seq = next_seq(db, key, policy)
            db.execute("UPDATE namespace SET policy = ? WHERE ns = ?", (policy, key))
            ids = [row[0] for row in db.execute("SELECT id FROM memory WHERE ns = ?", (key,))]
            edit_states(db, key, ids, edit, seq)

    def namespaces(self) -> list[Namespace]:
        with self.connection.read() as db:
            rows = db.execute("SELECT ns FROM namespace ORDER BY ns").fetchall()
            return [split_namespace(row[0]) for row in rows]

    def inhabited(self, now: int) -> list[tuple[Namespace, bool]]:
        with self.connection.read() as db:
            rows = db.execute(
                "SELECT ns, max(fades_at IS NULL OR fades_at > ?) FROM state "
                "WHERE status = 'active' GROUP BY ns ORDER BY ns",
                (now,),
            ).fetchall()
            return [(split_namespace(ns), bool(sure)) for ns, sure in rows]

    def fingerprint(self) -> Fingerprint | None:
        with self.connection.read() as db:
            found = current_embedder(db)
        return None if found is None else found[1]

    def together(self) -> AbstractContextManager[object]:
        return self.connection.write()

    def sweep(self) -> bool:
        return self.connection.sweep()

    def is_swept(self) -> bool:
        with self.connection.read() as db:
            return self.path == ":memory:" or is_swept(db)  # which has no files

    def clear_days(self, ns: Namespace) -> None:
        key = join_namespace(ns)
        with self.connection.write() as db:
            next_seq(db, key, None)
            db.execute("UPDATE namespace SET active_days = x'' WHERE ns = ?", (key,))

    # -- writing -----------------------------------------------------------------------------

    def add(
        self,
        ns: Namespace,
        entries: Sequence[Entry],
        *,
        policy: str,
        fingerprint: Fingerprint,
        again: Edit,
        rewritten: Rewrite = as_given,
        rewrite: bool = False,
        actions: Callable[[State], Sequence[str]] | None = None,
        days: Sequence[int],
        now: int,
    ) -> list[Added]:
        key, added = join_namespace(ns), []
        with self.connection.write() as db:
            embedder = require_embedder(db, fingerprint)
            seq = next_seq(db, key, policy)
            mark_days(db, key, days)
            succession, called = Succession(db, key, seq, now), dict[str, str]()
            for entry in entries:
                mine = entry.memory.id
                known = find_same(db, key, entry.memory)
                here = rewrite and not entry.imported and has_id(db, key, mine)
                if here and known not in (None, mine):  # edited to what another says
                    self.erase(ns, [mine], action="erase", now=now)
                elif here:
                    known = mine
                if known is None:
                    insert_entry(db, key, entry, embedder, seq)
                elif not entry.imported:
                    if known == mine and (here or entry.memory.keyed):
                        changed = rewrite_entry(db, key, entry, embedder, seq, rewritten)
                    else:
                        changed = edit_states(db, key, [known], again, seq)
                        vouch_again(db, key, known, entry.memory, seq)
                    log_changes(db, key, changed, actions, now)
                id_ = called[mine] = known or mine
                telling = entry.supersedes or entry.memory.key is not None or known is not None
                if telling and not entry.imported:
                    named = tuple(called.get(each, each) for each in entry.supersedes)
                    succession.take_place(
                        id_, replace(entry, supersedes=named), created=known is None
                    )
                added.append(Added(id_, created=known is None))
            succession.taken_in(
                (
                    (each.id, entry)
                    for each, entry in zip(added, entries, strict=True)
                    if entry.imported and each.created
                ),
                called,
            )
        return added

    def revise(
        self,
        ns: Namespace,
        id: str,
        changes: Mapping[str, Any],
        *,
        words: tuple[str, str | None],
        passages: Sequence[Passage] | None,
        fingerprint: Fingerprint,
        settle: Edit,
        edit: Edit,
        now: int,
    ) -> bool:
        key = join_namespace(ns)
        with self.connection.write() as db:
            old = require_memory(db, key, id)
            new = replace(old, **changes)
            same_words = (old.text, old.speaker) == words
            if (new.text, new.speaker) != words or (passages is None and not same_words):
                return False
            if old.held and new.text != old.text:
                raise Held([id])
            seq = next_seq(db, key, None)
            settled = edit_states(db, key, [id], settle, seq)
            append_audit(db, key, now, [("fade", state.id) for state in settled])
            embedder = 0 if passages is None else require_embedder(db, fingerprint)
            update_memory(db, key, old, new, seq)
            if passages is not None:
                replace_passages(db, key, id, embedder, passages)
            edit_states(db, key, [id], edit, seq)
        self.connection.truncate_log()  # of what stood there before
        return True

    def modify(
        self,
        ns: Namespace,
        ids: Sequence[str],
        edit: Edit,
        *,
        actions: Callable[[State], Sequence[str]] | None = None,
        day: int | None = None,
        missing_ok: bool = False,
        now: int,
    ) -> list[State]:
        key = join_namespace(ns)
        with self.connection.write() as db:
            seq = next_seq(db, key, None)
            if day is not None:
                mark_days(db, key, [day])
            changed = edit_states(db, key, ids, edit, seq, missing_ok=missing_ok)
            log_changes(db, key, changed, actions, now)
        return changed

    def states(self, ns: Namespace, ids: Sequence[str]) -> list[State]:
        with self.connection.read() as db:
            return read_states(db, join_namespace(ns), ids)

    def erase(self, ns: Namespace, ids: Sequence[str], *, action: str, now: int) -> int:
        with self.connection.write() as db:
            key = join_namespace(ns)
            succession = Succession(db, key, next_seq(db, key, None), now)
            forgotten = action != "erase"
            keys = succession.before_erasing(ids, forgotten=forgotten)
            gone = erase_rows(db, key, ids, now)
            append_audit(db, key, now, [(action, id_) for id_ in gone])
            succession.after_erasing(keys, forgotten=forgotten)
        if gone:
            self.connection.truncate_log()
        return len(gone)

    def link(self, ns: Namespace, a: str, b: str, weight: float | None) -> None:
        key = join_namespace(ns)
        first, second = sorted((a, b))
        with self.connection.write() as db:
            seq = next_seq(db, key, None)
            states = read_states(db, key, [first, second])
            if weight is None:
                db.execute(
                    "DELETE FROM link WHERE ns = ? AND a = ? AND b = ?", (key, first, second)
                )
            else:
                db.execute(
                    "INSERT INTO link VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (ns, a, b) DO UPDATE SET weight = excluded.weight",
                    (key, first, second, weight),
                )
            db.executemany(
                "UPDATE state SET change_seq = ?, content_seq = ? WHERE ns = ? AND id = ?",
                [(seq, seq, key, state.id) for state in states],
            )

    # -- reading -----------------------------------------------------------------------------

    def get(self, ns: Namespace, ids: Sequence[str]) -> list[Memory]:
        with self.connection.read() as db:
            found = read_memories(db, join_namespace(ns), ids)
        return [found[id_] for id_ in ids if id_ in found]

    def select(
        self,
        ns: Namespace,
        *,
        category: Sequence[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[str]:
        clauses, values = ["ns = ?"], [join_namespace(ns)]
        if category is not None:
            clauses.append("category IN (SELECT value FROM json_each(?))")
            values.append(json_list(category))
        if source is not None:
            clauses.append("source = ?")
            values.append(source)
        matches = condition(where) if where else None
        columns = "id, metadata" if matches else "id"
        with self.connection.read() as db:
            rows = db.execute(
                f"SELECT {columns} FROM memory WHERE {' AND '.join(clauses)} "
                "ORDER BY created_at, source IS NULL, source, position, id",
                values,
            ).fetchall()
            if matches is None:
                return [row[0] for row in rows]
            told = [(id_, read_metadata(id_, metadata)) for id_, metadata in rows]
        return [id_ for id_, metadata in told if matches(metadata)]

    def encoded(
        self, ns: Namespace, *, ids: Sequence[str], texts: Sequence[str]
    ) -> list[tuple[str, str | None, tuple[Passage, ...]]]:
        key = join_namespace(ns)
        with self.connection.read() as db:
            found = find_words(db, key, ids, texts)
            embedder = current_embedder(db) if found else None
            parts = read_passages(db, key, list(found), embedder[1]) if embedder else {}
        return [(*words, tuple(parts.get(id_, ()))) for id_, words in found.items()]

    def same(self, ns: Namespace, items: Sequence[Draft | Memory]) -> list[str | None]:
        key = join_namespace(ns)
        with self.connection.read() as db:
            return [find_same(db, key, each) for each in items]

    def changes(self, ns: Namespace, since: int) -> Changes:
        with self.connection.read() as db:
            return read_changes(db, join_namespace(ns), since)

    def links(self, ns: Namespace) -> list[tuple[str, str, float]]:
        with self.connection.read() as db:
            return db.execute(
                "SELECT a, b, weight FROM link WHERE ns = ? ORDER BY a, b", (join_namespace(ns),)
            ).fetchall()

    def audit(self, ns: Namespace) -> list[AuditLine]:
        with self.connection.read() as db:
            return [check_audit(line) for line in read_audit(db, join_namespace(ns))]

    def audit_head(self, ns: Namespace) -> bytes:
        with self.connection.read() as db:
            return read_head(db, join_namespace(ns))[1]

    def audit_state(self, ns: Namespace, *, known: bytes | None = None) -> AuditState:
        key = join_namespace(ns)
        with self.connection.read() as db:
            return verify_audit(db, key, known)

    def count(self) -> int:
        with self.connection.read() as db:
            return int(db.execute("SELECT count(*) FROM memory").fetchone()[0])

    # -- the daily pass ----------------------------------------------------------------------

    def due(self, ns: Namespace, now: int, *, limit: int) -> list[str]:
        with self.connection.read() as db:
            rows = db.execute(
                "SELECT id FROM state WHERE ns = ? AND status = 'active' AND fades_at <= ? "
                "ORDER BY fades_at LIMIT ?",
                (join_namespace(ns), now, limit),
            ).fetchall()
        return [row[0] for row in rows]

    def count_active(self, ns: Namespace) -> int:
        with self.connection.read() as db:
            row = db.execute(
                "SELECT count(*) FROM state WHERE ns = ? AND status = 'active'",
                (join_namespace(ns),),
            ).fetchone()
        return int(row[0])

    def purgeable(self, ns: Namespace, before: int, *, limit: int) -> list[str]:
        with self.connection.read() as db:
            rows = db.execute(
                "SELECT id FROM state WHERE ns = ? AND status = 'faded' AND faded_at <= ? "
                "AND NOT held ORDER BY faded_at LIMIT ?",
                (join_namespace(ns), before, limit),
            ).fetchall()
        return [row[0] for row in rows]

    def mark_pruned(self, ns: Namespace, now: int, *, unless_after: int) -> bool:
        key = join_namespace(ns)
        with self.connection.write() as db:
            marked = db.execute(
                "UPDATE namespace SET pruned_at = ? "
                "WHERE ns = ? AND (pruned_at IS NULL OR pruned_at <= ? OR pruned_at > ?)",
                (now, key, unless_after, now),
            ).rowcount
            if marked:
                drop_tombstones(db, key, now)
        return bool(marked)

    def take_lease(self, ns: Namespace, holder: str) -> bool:
        with self.connection.write() as db:
            return take_lease(db, join_namespace(ns), holder)

    def end_lease(self, ns: Namespace, holder: str) -> None:
        with self.connection.write() as db:
            end_lease(db, join_namespace(ns), holder)

    # -- another embedder --------------------------------------------------------------------

    def stale(
        self, fingerprint: Fingerprint, *, limit: int
    ) -> list[tuple[Namespace, str, str, str | None]]:
        with self.connection.read() as db:
            number = find_embedder(db, fingerprint)
            rows = db.execute(STALE + " LIMIT ?", (number, limit)).fetchall()
            return [(split_namespace(ns), *rest) for ns, *rest in rows]

    def count_stale(self, fingerprint: Fingerprint) -> int:
        with self.connection.read() as db:
            number = find_embedder(db, fingerprint)
            row = db.execute(f"SELECT count(*) FROM ({STALE})", (number,)).fetchone()
        return int(row[0])

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        items: Sequence[tuple[Namespace, str, str, tuple[Passage, ...]]],
    ) -> None:
        with self.connection.write() as db:
            number = find_embedder(db, fingerprint) or insert_embedder(db, fingerprint, 0)
            for ns, id_, text, passages in items:
                key = join_namespace(ns)
                same = db.execute(
                    "SELECT 1 FROM memory WHERE ns = ? AND id = ? AND text = ?", (key, id_, text)
                ).fetchone()
                if same is not None:
                    insert_passages(db, key, id_, number, passages)

    def switch(self, fingerprint: Fingerprint) -> bool:
        with self.connection.write() as db:
            number = find_embedder(db, fingerprint) or insert_embedder(db, fingerprint, 0)
            if fingerprint.dimension and db.execute(STALE + " LIMIT 1", (number,)).fetchone():
                return False
            mark_removed(db)
            db.execute("UPDATE embedder SET current = (number = ?)", (number,))
            db.execute("DELETE FROM vector WHERE embedder != ?", (number,))
            db.execute("DELETE FROM embedder WHERE number != ?", (number,))
            db.execute(
                "UPDATE namespace SET change_seq = change_seq + 1, floor_seq = change_seq + 1"
            )
        return True
