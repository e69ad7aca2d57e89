"""Which SQLite a file is opened with, and what is asked of it."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank, MissingExtra, StoreBusy, StoreError, StoreUnreadable
from ebbmem.store import SQLiteStore, connection, driver
from ebbmem.store.schema import migrate, newest
from ebbmem.store.shape import read_shape

INSTALLED = [name for name in driver.DRIVERS if driver._loaded(name) is not None]


@pytest.fixture
def alone() -> Iterator[None]:
    """Drivers that are found in this test are found again after it."""
    driver._loaded.cache_clear()
    yield
    driver._loaded.cache_clear()


@pytest.fixture(params=INSTALLED)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> driver.Driver:
    monkeypatch.setenv("EBBMEM_SQLITE", request.param)
    return driver.driver()


def without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    real = importlib.import_module

    def load(name: str, *rest: str) -> object:
        if name == missing:
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(driver.importlib, "import_module", load)


# -- choosing ------------------------------------------------------------------------------------


def test_the_newer_sqlite_is_taken_where_somebody_installed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EBBMEM_SQLITE", raising=False)
    assert driver.driver().name == INSTALLED[-1]


@pytest.mark.usefixtures("alone")
def test_without_it_the_standard_library_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EBBMEM_SQLITE", " auto ")
    without(monkeypatch, "pysqlite3.dbapi2")
    assert driver.driver().module is sqlite3


@pytest.mark.usefixtures("alone")
def test_one_that_was_asked_for_and_is_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("EBBMEM_SQLITE", "pysqlite3")
    without(monkeypatch, "pysqlite3.dbapi2")
    with pytest.raises(MissingExtra, match=r"ebbmem\[sqlite\]"):
        MemoryBank.open(file, namespace="u1", embedder=None)
    assert not file.exists()


def test_one_that_nobody_knows_is_refused_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("EBBMEM_SQLITE", "oracle")
    with pytest.raises(InvalidInput, match=r"one of auto, sqlite3, pysqlite3, not 'oracle'"):
        MemoryBank.open(file, namespace="u1", embedder=None)
    assert not file.exists()


@pytest.mark.usefixtures("alone")
def test_a_sqlite_without_strict_tables_is_refused(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("EBBMEM_SQLITE", "sqlite3")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"needs SQLite 3\.37"):
        MemoryBank.open(file, namespace="u1", embedder=None)
    assert not file.exists()


def test_what_is_open_says_what_it_is(engine: driver.Driver, open_bank: OpenBank) -> None:
    found = open_bank(embedder=None).diagnose()
    assert (found["engine"], found["engine_version"]) == (engine.name, engine.version)


@pytest.mark.skipif(len(INSTALLED) < 2, reason="one driver alone is installed")
def test_a_file_of_one_driver_is_opened_with_the_other(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    for number, name in enumerate((*INSTALLED, *INSTALLED)):
        monkeypatch.setenv("EBBMEM_SQLITE", name)
        with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
            bank.remember(f"tea {number}")
            assert len(bank.list()) == number + 1


# -- durability ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("durability", "synchronous"), [("normal", 1), ("full", 2)])
def test_durability_is_how_long_a_commit_waits(
    engine: driver.Driver, file: Path, durability: connection.Durability, synchronous: int
) -> None:
    with closing(SQLiteStore(str(file), durability=durability)) as store:
        assert store.connection.pragma("synchronous") == synchronous


def test_a_durability_that_there_is_not_is_refused_and_makes_no_file(file: Path) -> None:
    with pytest.raises(InvalidInput, match="durability must be one of normal, full"):
        MemoryBank.open(file, namespace="u1", embedder=None, durability="off")  # type: ignore[arg-type]
    assert not file.exists()


# -- the write-ahead log -------------------------------------------------------------------------


def affected(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    monkeypatch.setattr(driver.Driver, "wal_reset_affected", property(lambda _: answer))


def log_size(file: Path) -> int:
    log = Path(f"{file}-wal")
    return log.stat().st_size if log.exists() else 0


def test_a_repaired_sqlite_keeps_its_own_checkpoints(
    engine: driver.Driver, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    affected(monkeypatch, False)
    with closing(SQLiteStore(str(file))) as store:
        assert store.connection.pragma("wal_autocheckpoint") == 1000


def test_an_affected_sqlite_moves_its_log_when_we_say_so_and_it_stays_short(
    engine: driver.Driver, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    affected(monkeypatch, True)
    monkeypatch.setattr(connection, "LOG_BYTES", 100_000)
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        assert bank._store.connection.pragma("wal_autocheckpoint") == 0  # type: ignore[attr-defined]
        sizes = []
        for number in range(60):
            bank.remember(f"{number} " + "x" * 4000)
            sizes.append(log_size(file))
        largest_write = max(after - before for before, after in pairwise(sizes))
        assert max(sizes) <= 100_000 + largest_write
        assert sizes.count(0) >= 2  # it was moved, again and again
        assert len(bank.list()) == 60


def test_a_reader_keeps_the_log_and_the_next_write_after_it_moves_it(
    engine: driver.Driver, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    affected(monkeypatch, True)
    monkeypatch.setattr(connection, "LOG_BYTES", 50_000)
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM memory").fetchone()
            for number in range(30):
                bank.remember(f"{number} " + "x" * 4000)  # nobody waits, and nothing fails
            assert log_size(file) > 50_000
        bank.remember("milk")
        assert log_size(file) == 0
        assert len(bank.list()) == 32


# -- waiting -------------------------------------------------------------------------------------


def test_a_busy_file_says_how_long_it_was_waited_for(
    engine: driver.Driver, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.0)
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match=r"held it for [\d.]+ s; nothing was changed"):
                bank.remember("milk")
            other.execute("ROLLBACK")
        assert [each.text for each in bank.list()] == ["tea"]


# -- what somebody put into the file -------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (
            "CREATE TRIGGER spy AFTER INSERT ON memory BEGIN DELETE FROM memory; END",
            "trigger 'spy'",
        ),
        ("CREATE VIEW everything AS SELECT * FROM memory", "view 'everything'"),
        ("CREATE TABLE notes (x)", "table 'notes'"),
        ("CREATE INDEX slow ON memory (length(text))", "index 'slow'"),
        ("DROP INDEX memory_source", "index 'memory_source'"),
        ("DROP TRIGGER audit_no_delete", "trigger 'audit_no_delete'"),
        ("ALTER TABLE memory ADD COLUMN extra TEXT", "table 'memory'"),
    ],
)
def test_a_file_that_is_not_as_we_make_it_is_refused_and_left_alone(
    engine: driver.Driver, file: Path, statement: str, named: str
) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
    with closing(sqlite3.connect(file)) as db:
        db.execute(statement)
        db.commit()
    before = file.read_bytes()
    with pytest.raises(StoreUnreadable, match=f"its {named} is not as ebbmem makes it"):
        MemoryBank.open(file, namespace="u1", embedder=None)
    assert file.read_bytes() == before


def test_what_analyze_leaves_is_no_reason_to_refuse(engine: driver.Driver, file: Path) -> None:
    MemoryBank.open(file, namespace="u1", embedder=None).close()
    with closing(sqlite3.connect(file)) as db:
        db.execute("ANALYZE")
        db.commit()
    MemoryBank.open(file, namespace="u1", embedder=None).close()


@pytest.mark.parametrize("version", range(1, newest() + 1))
def test_every_driver_makes_the_same_shape_at_every_migration(version: int) -> None:
    shapes = set()
    for name in INSTALLED:
        with closing(driver.driver(name).connect(":memory:", wait=0.0)) as db:
            migrate(db, upto=version)
            shapes.add(read_shape(db))
    assert len(shapes) == 1
