"""Kills at other moments: a file is made, migrated, given another embedder. See `crash.py`."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from crash_known import Fault, check_pages
from crash_writer import DIMENSION, OTHER, POLICY, direction, opened, say, text_of

import ebbmem
from ebbmem import MemoryBank
from ebbmem.store.driver import driver
from ebbmem.store.rows import digest_of
from ebbmem.store.schema import migrate, newest

NOTES = 300
TEXTS = {f"m{n}": text_of(f"m{n}") for n in range(NOTES)}
LINES = 2000  # of the audit trail, which the last migration chains
KEY = '["u1"]'


def creating(folder: Path, rng: random.Random) -> list[Fault]:
    """A file is opened that is not there; killed meanwhile, it opens again, and empty."""
    faults: list[Fault] = []
    for number in range(4):
        file = folder / f"new-{number}.db"
        _kill_amid("--open", file, rng.random() * 0.05)
        with opened(file) as bank:
            if bank.list(include_faded=True) or bank.remember("first", id="first").id != "first":
                faults.append(Fault("torn", "a new file"))
        faults += check_pages(file)
    return faults


def migrating(folder: Path, rng: random.Random) -> list[Fault]:
    """Files of every older shape are opened for the first time; killed, and opened again."""
    faults: list[Fault] = []
    for version in range(1, newest()):
        file = folder / f"old-{version}.db"
        _make_old(file, version)
        for _ in range(3):
            _kill_amid("--open", file, rng.random() * 0.1)
        faults += check_pages(file)
        with opened(file) as bank:
            faults += _check_notes(bank, f"migration of a file of version {version}")
            uses = {each.id: each.recall_count for each in bank.list()}
            if uses != {f"m{n}": n for n in range(NOTES)}:
                faults.append(Fault("lost count", f"migration of a file of version {version}"))
            if bank._store.links(bank.namespace) != [("m0", "m1", 0.5)]:
                faults.append(Fault("lost link", f"migration of a file of version {version}"))
            if len(bank.audit()) != LINES or not bank.audit_verify().ok:
                faults.append(Fault("torn", f"migration of a file of version {version}"))
    return faults


def _make_old(file: Path, version: int) -> None:
    with closing(driver().connect(str(file), wait=10.0)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN")
        migrate(db, upto=version)
        db.execute(
            "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
            "VALUES (?, 1, 0, ?, x'')",
            (KEY, POLICY.to_json()),
        )
        db.execute(
            "INSERT INTO embedder (number, name, dimension, token_dimension, current) "
            "VALUES (1, 'langchain:Directions:directions', 8, 0, 1)"
        )
        now = time.time_ns() // 1000
        for number, (id_, text) in enumerate(TEXTS.items()):
            db.execute(
                "INSERT INTO memory (ns, id, digest, text, category, importance, created_at, "
                "metadata) VALUES (?, ?, ?, ?, 'fact', 1.0, ?, '{}')",
                (KEY, id_, digest_of("", text), text, now),
            )
            db.execute(
                "INSERT INTO state (ns, id, change_seq, content_seq, recall_count, status, pinned, "
                "held) VALUES (?, ?, 1, 1, ?, 'active', 0, 0)",
                (KEY, id_, number),
            )
            db.execute(
                "INSERT INTO vector (ns, id, embedder, passage, start, stop, vector) "
                "VALUES (?, ?, 1, 0, 0, ?, ?)",
                (KEY, id_, len(text), np.array(direction(text), "<f4").tobytes()),
            )
        db.execute("INSERT INTO link VALUES (?, 'm0', 'm1', 0.5)", (KEY,))
        db.executemany(
            "INSERT INTO audit (ns, at, action, id) VALUES (?, ?, 'pin', 'x')",
            [(KEY, n) for n in range(LINES)],
        )
        db.execute("COMMIT")


def reembedding(folder: Path, rng: random.Random) -> list[Fault]:
    """A file is given another embedder; killed, and again; then once without."""
    file = folder / "memory.db"
    with opened(file) as bank:
        bank.remember_many([ebbmem.Draft(text=text, id=id_) for id_, text in TEXTS.items()])
    faults: list[Fault] = []
    for _ in range(4):
        _kill_amid("--reembed", file, rng.random() * 0.4)
        faults += check_pages(file)
        with _whichever(file) as bank:
            faults += _check_notes(bank, "while another embedder was given")
    reembed(file)
    with opened(file, OTHER) as bank:
        faults += _check_notes(bank, "after another embedder was given")
    return faults


def _check_notes(bank: MemoryBank, when: str) -> Iterator[Fault]:
    """Every text with its vector, all of one embedder."""
    if {each.id: each.text for each in bank.list()} != TEXTS:
        yield Fault("lost", when)
    vectors = bank.vectors(list(TEXTS))
    sizes = {len(each) for each in vectors.values()}
    if len(vectors) != NOTES or sizes not in ({DIMENSION}, {OTHER.dimension}):
        yield Fault("lost vector", f"{len(vectors)} of {NOTES}, of {sizes} numbers, {when}")
        return
    for id_, found in vectors.items():
        made = np.array(direction(TEXTS[id_], len(found)), np.float32)
        if abs(found - made).max() > 1e-6:
            yield Fault("wrong vector", f"{id_}, {when}")


def _whichever(file: Path) -> MemoryBank:
    """The file, with the embedder that it has."""
    try:
        return opened(file)
    except ebbmem.FingerprintMismatch:
        return opened(file, OTHER)


def reembed(file: Path) -> None:
    """The program that is killed."""
    with _whichever(file) as bank:
        bank.reembed(OTHER)


def open_only(file: Path) -> None:
    """The program that is killed."""
    opened(file).close()


def _kill_amid(what: str, file: Path, after: float) -> None:
    """Kill a program some time after it said that it begins, if it still runs then."""
    command = [sys.executable, __file__, what, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(after)  # any moment will do
        process.kill()
        errors = process.stderr.read().decode()
        if process.wait() > 0:
            raise RuntimeError(f"{what} failed by itself:\n{errors}")


if __name__ == "__main__":
    say({"begins": True})
    {"--open": open_only, "--reembed": reembed}[sys.argv[1]](Path(sys.argv[2]))
