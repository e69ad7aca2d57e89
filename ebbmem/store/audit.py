"""The audit trail: append-only, ids and actions alone, each line bound to the one before.

A line's hash is BLAKE2b (32 bytes) of the JSON array [hash of the line before as hex, namespace,
number, at, action, id], written without spaces and in ASCII; before the first line stand 32
zero bytes. A namespace has a chain of its own, so that verifying one tells nothing of others;
its length and last hash stand in the row of the namespace, so that a cut end shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator

from ebbmem.store.base import AuditFault, AuditLine, AuditState
from ebbmem.store.driver import Database
from ebbmem.store.sound import Malformed, number_of

__all__ = [
    "START",
    "append_audit",
    "chain_old_lines",
    "link_hash",
    "read_audit",
    "read_head",
    "verify_audit",
]

START = bytes(32)
"""What stands before the first line."""

Done = tuple[int, str, str]  # at, action, id


def link_hash(before: bytes, ns: str, number: int, done: Done) -> bytes:
    """The hash of a line, from that of the line before it."""
    words = json.dumps([before.hex(), ns, number, *done], separators=(",", ":"))
    return hashlib.blake2b(words.encode("ascii"), digest_size=32).digest()


def append_audit(db: Database, ns: str, now: int, done: Iterable[tuple[str, str]]) -> None:
    """Add a line for each (action, id), inside the transaction that did it."""
    lines = [(now, action, id_) for action, id_ in done]
    if lines:
        _extend(db, ns, lines)


def read_audit(db: Database, ns: str) -> list[AuditLine]:
    """The lines of a namespace, oldest first."""
    rows = db.execute(
        "SELECT number, at, action, id, hash FROM audit WHERE ns = ? ORDER BY number", (ns,)
    )
    return [AuditLine(*row) for row in rows]


def read_head(db: Database, ns: str) -> tuple[int, bytes]:
    """(length, last hash) that a namespace keeps of its chain."""
    row = db.execute(
        "SELECT audit_length, audit_head FROM namespace WHERE ns = ?", (ns,)
    ).fetchone()
    if row is None:
        return 0, START
    length, head = row
    if not isinstance(head, bytes):
        raise Malformed(None, "the end of the audit trail is none")
    return number_of(length), head


def verify_audit(db: Database, ns: str, known: bytes | None) -> AuditState:
    """What a trail is, and the first line of it that is not as it was written.

    Args:
        known: a hash that was the last one once; it must still stand in the chain.
    """
    length, head = read_head(db, ns)
    lines = read_audit(db, ns)
    fault = _first_fault(ns, lines, length, head)
    if fault is None and known not in (None, START, *(line.hash for line in lines)):
        fault = AuditFault(length, "is the end of another trail than the one whose end was kept")
    return AuditState(length, head, fault)


def _first_fault(
    ns: str, lines: Iterable[AuditLine], length: int, head: bytes
) -> AuditFault | None:
    before, number = START, 0
    for number, line in enumerate(lines, 1):
        if line.number != number:
            return AuditFault(number, "is missing")
        if link_hash(before, ns, number, (line.at, line.action, line.id)) != line.hash:
            return AuditFault(number, "is not the line that was written here")
        before = line.hash
    if number < length:
        return AuditFault(number + 1, "is missing")
    if number > length:
        return AuditFault(length + 1, "stands behind the end that the namespace knows")
    if before != head:
        return AuditFault(length, "is not the end that the namespace knows")
    return None


def chain_old_lines(db: Database) -> None:
    """Bind the lines of a file from before there was a chain, in the order they were written."""
    names = [row[0] for row in db.execute("SELECT DISTINCT ns FROM audit_before").fetchall()]
    for ns in names:
        rows = db.execute(
            "SELECT at, action, id FROM audit_before WHERE ns = ? ORDER BY number", (ns,)
        )
        _extend(db, ns, rows)


def _extend(db: Database, ns: str, done: Iterable[Done]) -> None:
    length, head = read_head(db, ns)

    def chained() -> Iterator[tuple[str, int, int, str, str, bytes]]:
        nonlocal length, head
        for each in done:
            length += 1
            head = link_hash(head, ns, length, each)
            yield (ns, length, *each, head)

    db.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", chained())
    db.execute(
        "UPDATE namespace SET audit_length = ?, audit_head = ? WHERE ns = ?", (length, head, ns)
    )
