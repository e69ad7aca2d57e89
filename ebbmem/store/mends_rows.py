"""Faults of rows that belong to memories: vectors, links, states, probes, and of embedders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ebbmem.checks import MOST_NUMBERS
from ebbmem.store.driver import Database
from ebbmem.store.probes import ProbeLine, RunLine
from ebbmem.store.reads import read_fingerprint
from ebbmem.store.sound import Malformed, check_passage, check_probe, check_run

__all__ = ["Mend", "derived_rows", "embedders"]

Line = TypeVar("Line")

_NO_MEMORY = (
    "NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.ns = {table}.ns AND m.id = {table}.{id})"
)


@dataclass(frozen=True, slots=True)
class Mend:
    """One fault, by its kind, and the statement that sets it right."""

    kind: str
    statement: str
    values: tuple[Any, ...]
    counts: bool = True  # False: goes with the one before it


def derived_rows(db: Database, *, vectors: bool) -> Iterator[Mend]:
    """What follows from memories, or hangs on them.

    Args:
        vectors: False while the embedders they are judged by are not sound.
    """
    orphan = _NO_MEMORY.format(table="state", id="id")
    rows = db.execute(f"SELECT ns, id FROM state WHERE status != 'gone' AND {orphan}")
    for each in rows:
        yield Mend("states of no memory", "DELETE FROM state WHERE ns = ? AND id = ?", each)
    if vectors:
        yield from _vectors(db)
    yield from _links(db)
    yield from _probes(db)
    if db.execute("SELECT count(*), min(removed >= swept) FROM removal").fetchone() != (1, 1):
        kind = "counts of removals that cannot be"
        yield Mend(kind, "DELETE FROM removal", ())
        yield Mend(kind, "INSERT INTO removal VALUES (1, 0)", (), counts=False)


def embedders(db: Database) -> Iterator[Mend]:
    """Fingerprints that cannot be, and more or fewer than one that is current."""
    kind = "embedders that cannot be"
    rows = db.execute(
        "SELECT number, name, dimension, token_dimension, min_similarity, current, (SELECT "
        "count(*) FROM vector AS v WHERE v.embedder = e.number) FROM embedder AS e ORDER BY number"
    ).fetchall()
    for number, name, *rest, _, _ in rows:
        try:
            read_fingerprint(name, *rest)
        except Malformed:
            called = name if type(name) is str and name.strip() else f"recovered {number}"
            yield Mend(
                kind,
                "UPDATE embedder SET name = ?, dimension = ?, token_dimension = ?, "
                "min_similarity = NULL WHERE number = ?",
                (called, *_dimensions(db, number), number),
            )
    if rows and [bool(row[5]) for row in rows].count(True) != 1:
        leading = max(rows, key=lambda row: (row[6], bool(row[5])))[0]
        yield Mend(kind, "UPDATE embedder SET current = (number = ?)", (leading,))


def _dimensions(db: Database, number: int) -> tuple[int, int]:
    """Those most of its vectors have."""
    row = db.execute(
        "SELECT length(vector) / 4, coalesce(length(codes) * 4 / length(pieces), 0) FROM vector "
        "WHERE embedder = ? GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1",
        (number,),
    ).fetchone()
    return (0, 0) if row is None else (min(row[0], MOST_NUMBERS), min(row[1], MOST_NUMBERS))


@np.errstate(over="ignore", invalid="ignore")  # of a vector that is none
def _faulty_passage(id_: str, text: Any, columns: tuple[Any, ...], sizes: tuple[int, int]) -> bool:
    try:
        check_passage(id_, columns, dimension=sizes[0], token_dimension=sizes[1])
    except Malformed:
        return True
    return type(text) is str and columns[1] > len(text)


def _vectors(db: Database) -> Iterator[Mend]:
    """All passages of a memory go if one of them cannot be: it is embedded as a whole."""
    sizes = {
        number: (dimension, tokens)
        for number, dimension, tokens in db.execute(
            "SELECT number, dimension, token_dimension FROM embedder"
        )
    }
    gone: dict[tuple[str, str, int], str] = {}
    rows = db.execute(
        "SELECT v.ns, v.id, v.embedder, m.id IS NULL, m.text, v.start, v.stop, v.vector, "
        "v.pieces, v.codes FROM vector AS v LEFT JOIN memory AS m ON m.ns = v.ns AND m.id = v.id"
    )
    for ns, id_, embedder, alone, text, *columns in rows:
        place = (ns, id_, embedder)
        if alone:
            gone[place] = "vectors of no memory"
        elif embedder not in sizes:
            gone[place] = "vectors of no embedder"
        elif place not in gone and _faulty_passage(id_, text, tuple(columns), sizes[embedder]):
            gone[place] = "vectors that cannot be"
    gaps = db.execute(
        "SELECT ns, id, embedder FROM vector GROUP BY ns, id, embedder "
        "HAVING min(passage) != 0 OR max(passage) != count(*) - 1"
    )
    for place in gaps:
        gone.setdefault(place, "vectors that cannot be")
    for place, kind in gone.items():
        yield Mend(kind, "DELETE FROM vector WHERE ns = ? AND id = ? AND embedder = ?", place)


def _links(db: Database) -> Iterator[Mend]:
    ends = " OR ".join(_NO_MEMORY.format(table="link", id=side) for side in ("a", "b"))
    statement = "DELETE FROM link WHERE ns = ? AND a = ? AND b = ?"
    for *place, weight, missing in db.execute(f"SELECT ns, a, b, weight, {ends} FROM link"):
        if missing:
            yield Mend("links with a missing end", statement, tuple(place))
        elif not 0.0 < weight <= 1.0 or place[1] >= place[2]:
            yield Mend("links that cannot be", statement, tuple(place))


def _probes(db: Database) -> Iterator[Mend]:
    kind = "probes that cannot be"
    orphan = _NO_MEMORY.format(table="probe_answer", id="id")
    rows = db.execute(
        f"SELECT ns, id, number FROM probe_answer WHERE {orphan} OR NOT EXISTS (SELECT 1 FROM "
        "probe AS p WHERE p.ns = probe_answer.ns AND p.number = probe_answer.number)"
    )
    for each in rows:
        yield Mend(kind, "DELETE FROM probe_answer WHERE ns = ? AND id = ? AND number = ?", each)
    rows = db.execute(
        "SELECT ns, number, question, kind, added_at, (SELECT min(a.id) FROM probe_answer AS a "
        "WHERE a.ns = probe.ns AND a.number = probe.number) FROM probe"
    )
    for ns, number, question, given, at, answer in rows:
        expected = () if answer is None else (answer,)
        if _faulty(check_probe, ProbeLine(number, question, given, at, expected)):
            yield Mend(kind, "DELETE FROM probe WHERE ns = ? AND number = ?", (ns, number))
    rows = db.execute(
        "SELECT number, at, k, asked, found, hidden, active, faded, mean_strength FROM probe_run"
    )
    for number, *rest in rows:
        if _faulty(check_run, RunLine(*rest)):
            yield Mend(kind, "DELETE FROM probe_run WHERE number = ?", (number,))


def _faulty(check: Callable[[Line], Line], line: Line) -> bool:
    try:
        check(line)
    except Malformed:
        return True
    return False
