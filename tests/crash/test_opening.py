"""A file is opened, made or brought to today's shape while something fails: before or after."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from crash_faults import Faults, Kind, faults
from crash_kit import Directions, Dump, assert_derived, dump
from ebbmem import EbbmemError, MemoryBank, Policy
from ebbmem.store.rows import digest_of
from ebbmem.store.schema import migrate, newest
from ebbmem.testing import ManualClock

__all__ = ["faults"]


def opened(file: Path) -> MemoryBank:
    clock = ManualClock()
    clock.advance(days=40)
    return MemoryBank.open(
        file, namespace="u1", embedder=None, policy=Policy(fade_below=0.1), clock=clock
    )


def nothing(file: Path) -> None:
    """No file."""


def made_by(version: int) -> Callable[[Path], None]:
    """A file as it was at a version, with five memories and an audit trail."""

    def make(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")
            migrate(db, upto=1)
            db.execute(
                "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
                "VALUES ('[\"u1\"]', 1, 0, ?, x'')",
                (Policy().to_json(),),
            )
            db.executemany(
                "INSERT INTO memory (ns, id, digest, text, category, importance, created_at, "
                "metadata) VALUES ('[\"u1\"]', ?, ?, ?, 'fact', 0.5, 0, '{}')",
                [(f"m{n}", digest_of("", f"note {n}"), f"note {n}") for n in range(5)],
            )
            db.executemany(
                "INSERT INTO state (ns, id, change_seq, content_seq, recall_count, fades_at, "
                "status, pinned, held) VALUES ('[\"u1\"]', ?, 1, 1, 0, 2000000000000000, "
                "'active', 0, 0)",
                [(f"m{n}",) for n in range(5)],
            )
            db.executemany(
                "INSERT INTO audit (ns, at, action, id) VALUES ('[\"u1\"]', ?, 'pin', 'm1')",
                [(n,) for n in range(3)],
            )
            migrate(db, upto=version)

    make.__name__ = f"a file of version {version}"
    return make


FILES = (nothing, made_by(1), made_by(newest() - 1))
SOME: tuple[Kind, ...] = ("refused", "undone", "interrupted")


@pytest.mark.parametrize("make", FILES, ids=lambda each: each.__name__.replace("nothing", "none"))
@pytest.mark.parametrize("kind", SOME)
def test_a_file_that_cannot_be_opened_is_as_it_was_and_opens_the_next_time(
    tmp_path: Path, faults: Faults, make: Callable[[Path], None], kind: Kind
) -> None:
    wanted = _states(tmp_path / "wanted", faults, make)
    old = tmp_path / "old"
    old.mkdir()
    make(old / "memory.db")
    at = 1
    while True:
        folder = tmp_path / str(at)
        shutil.copytree(old, folder)
        file = folder / "memory.db"
        faults.arm(at, kind)
        failed = None
        try:
            opened(file).close()
        except (EbbmemError, KeyboardInterrupt, MemoryError) as error:
            failed = repr(error)  # its traceback would keep the file open
        fired = list(faults.fired)
        faults.arm(None)
        assert _dump(file) in wanted, (at, fired)
        assert kind in ("no memory", "interrupted") or failed is None or str(file) in failed
        with opened(file) as bank:
            assert len(bank.list(include_faded=True)) == (0 if make is nothing else 5)
            assert_derived(bank)
            bank.prune()  # a pass that failed is due in a day
        assert _dump(file) == wanted[-1], (at, fired)
        if not fired:
            break
        at += 1
    assert failed is None
    assert at > 5


def _states(folder: Path, faults: Faults, make: Callable[[Path], None]) -> list[Dump]:
    """What the file holds before it is opened and after each transaction of that."""
    folder.mkdir()
    file = folder / "memory.db"
    make(file)
    states = [_dump(file)]
    faults.arm(None)
    faults.after = lambda: states.append(_dump(file))
    opened(file).close()
    faults.after = None
    with opened(file) as bank:
        bank.prune()
    return [*states, _dump(file)]


def _dump(file: Path) -> Dump:
    """An empty file is none."""
    return dump(file) if file.exists() else {"schema": []}


def test_a_bank_that_was_opened_with_an_embedder_leaves_an_older_file_to_it(
    tmp_path: Path, faults: Faults
) -> None:
    """The first write settles the embedder, in the transaction of what was written."""
    at = 1
    while True:
        file = tmp_path / f"{at}.db"
        with MemoryBank.open(file, namespace="u1", embedder=Directions()) as bank:
            faults.arm(at)
            with suppress(EbbmemError):
                bank.remember("tea")
            fired = list(faults.fired)
            faults.arm(None)
            stored = bank._store.fingerprint()
            assert (stored is None) == (not bank.list())
        if not fired:
            break
        at += 1
    assert at > 5
