"""The tables, as numbered migrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ebbmem.store.audit import chain_old_lines
from ebbmem.store.driver import Database

__all__ = ["APPLICATION_ID", "MIGRATIONS", "migrate", "newest", "take_steps"]

APPLICATION_ID = 0x4562626D  # "Ebbm"

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
