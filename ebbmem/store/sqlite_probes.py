"""Probes and their runs in the SQLite store."""

from __future__ import annotations

from collections.abc import Sequence

from ebbmem.errors import NotFound
from ebbmem.records import Namespace
from ebbmem.store.connection import Connection
from ebbmem.store.driver import Database
from ebbmem.store.probes import ProbeLine, RunLine
from ebbmem.store.reads import json_list
from ebbmem.store.removal import mark_removed
from ebbmem.store.rows import join_namespace
from ebbmem.store.sound import check_probe, check_run, number_of

__all__ = ["SQLiteProbes", "drop_answers"]

_ORPHANS = (
    "DELETE FROM probe WHERE ns = ? AND NOT EXISTS (SELECT 1 FROM probe_answer AS a "
    "WHERE a.ns = probe.ns AND a.number = probe.number)"
)


class SQLiteProbes:
    """See `ProbeStore`. A question is private text: what is removed leaves the log too."""

    connection: Connection

    def put_probe(self, ns: Namespace, question: str, ids: Sequence[str], *, now: int) -> int:
        key = join_namespace(ns)
        with self.connection.write() as db:
            there = _existing(db, "memory WHERE ns = ?", key, ids)
            if missing := [id_ for id_ in ids if id_ not in there]:
                raise NotFound(missing)
            known = _number_of(db, key, question)
            number = _next_number(db, key) if known is None else known
            _write(db, key, number, question, "given", ids, now)
        return number

    def sample_probe(
        self, ns: Namespace, question: str, ids: Sequence[str], *, most: int, now: int
    ) -> None:
        key = join_namespace(ns)
        with self.connection.write() as db:
            there = _existing(db, "state WHERE status = 'active' AND ns = ?", key, ids)
            given = db.execute(
                "SELECT 1 FROM probe WHERE ns = ? AND question = ? AND kind = 'given'",
                (key, question),
            ).fetchone()
            if not there or given is not None:  # what a user says stands
                return
            if (known := _number_of(db, key, question)) is not None:
                _drop(db, key, known)
            kept = [id_ for id_ in ids if id_ in there]
            _write(db, key, _next_number(db, key), question, "sampled", kept, now)
            self.trim_probes(ns, most)

    def trim_probes(self, ns: Namespace, most: int) -> None:
        key = join_namespace(ns)
        chosen = "SELECT number FROM probe WHERE ns = ? AND kind = 'sampled' ORDER BY number DESC"
        with self.connection.read() as db:
            rows = db.execute(f"{chosen} LIMIT -1 OFFSET ?", (key, most)).fetchall()
        if not rows:  # an opening that changes nothing writes nothing
            return
        with self.connection.write() as db:
            for (number,) in db.execute(f"{chosen} LIMIT -1 OFFSET ?", (key, most)).fetchall():
                _drop(db, key, number)
        self.connection.truncate_log()

    def probes(self, ns: Namespace) -> list[ProbeLine]:
        key = join_namespace(ns)
        with self.connection.read() as db:
            rows = db.execute(
                "SELECT number, question, kind, added_at FROM probe WHERE ns = ? ORDER BY number",
                (key,),
            ).fetchall()
            answers: dict[int, list[str]] = {number: [] for number, *_ in rows}
            for number, id_ in db.execute(
                "SELECT number, id FROM probe_answer WHERE ns = ? ORDER BY id", (key,)
            ):
                answers.setdefault(number, []).append(id_)
            return [
                check_probe(ProbeLine(number, question, kind, added_at, tuple(answers[number])))
                for number, question, kind, added_at in rows
            ]

    def drop_probe(self, ns: Namespace, number: int) -> bool:
        with self.connection.write() as db:
            there = _drop(db, join_namespace(ns), number)
        if there:
            self.connection.truncate_log()
        return there

    def put_run(self, ns: Namespace, run: RunLine) -> None:
        with self.connection.write() as db:
            db.execute(
                "INSERT INTO probe_run (ns, at, k, asked, found, hidden, active, faded, "
                "mean_strength) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    join_namespace(ns),
                    run.at,
                    run.k,
                    run.asked,
                    run.found,
                    run.hidden,
                    run.active,
                    run.faded,
                    run.mean_strength,
                ),
            )

    def runs(self, ns: Namespace) -> list[RunLine]:
        with self.connection.read() as db:
            rows = db.execute(
                "SELECT at, k, asked, found, hidden, active, faded, mean_strength "
                "FROM probe_run WHERE ns = ? ORDER BY number",
                (join_namespace(ns),),
            ).fetchall()
            return [check_run(RunLine(*row)) for row in rows]

    def clear_probes(self, ns: Namespace) -> None:
        with self.connection.write() as db:
            counts = [
                db.execute(f"DELETE FROM {table} WHERE ns = ?", (join_namespace(ns),)).rowcount
                for table in ("probe", "probe_answer", "probe_run")
            ]
            if any(counts):
                mark_removed(db)
        self.connection.truncate_log()


def drop_answers(db: Database, key: str, ids: Sequence[str]) -> None:
    """These memories are gone: so are the probes that expected nothing else."""
    gone = db.execute(
        "DELETE FROM probe_answer WHERE ns = ? AND id IN (SELECT value FROM json_each(?))",
        (key, json_list(ids)),
    ).rowcount
    if gone:
        db.execute(_ORPHANS, (key,))  # in an erasure, which notes the removal


def _existing(db: Database, source: str, key: str, ids: Sequence[str]) -> set[str]:
    rows = db.execute(
        f"SELECT id FROM {source} AND id IN (SELECT value FROM json_each(?))", (key, json_list(ids))
    )
    return {row[0] for row in rows}


def _number_of(db: Database, key: str, question: str) -> int | None:
    row = db.execute(
        "SELECT number FROM probe WHERE ns = ? AND question = ?", (key, question)
    ).fetchone()
    return None if row is None else number_of(row[0])


def _next_number(db: Database, key: str) -> int:
    row = db.execute("SELECT max(number) FROM probe WHERE ns = ?", (key,)).fetchone()
    return number_of(row[0] or 0) + 1


def _write(
    db: Database,
    key: str,
    number: int,
    question: str,
    kind: str,
    ids: Sequence[str],
    now: int,
) -> None:
    _drop(db, key, number)
    db.execute("INSERT INTO probe VALUES (?, ?, ?, ?, ?)", (key, number, question, kind, now))
    db.executemany("INSERT INTO probe_answer VALUES (?, ?, ?)", [(key, id_, number) for id_ in ids])


def _drop(db: Database, key: str, number: int) -> bool:
    chosen = "WHERE ns = ? AND number = ?"
    db.execute(f"DELETE FROM probe_answer {chosen}", (key, number))
    there = db.execute(f"DELETE FROM probe {chosen}", (key, number)).rowcount > 0
    if there:
        mark_removed(db)
    return there
