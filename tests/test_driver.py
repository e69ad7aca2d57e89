"""Which SQLite a file is opened with, and what is asked of it."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from builders import OpenBank, another
from ebbmem import InvalidInput, MemoryBank, MissingExtra, StoreBusy, StoreError, StoreUnreadable
from ebbmem.store import SQLiteStore, connection, driver
from ebbmem.store.removal import Sweeper
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


@pytest.mark.skipif(len(INSTALLED) < 2, reason="one driver alone is installed")
def test_one_that_is_installed_and_too_old_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EBBMEM_SQLITE", "auto")
    newer = driver.driver("pysqlite3").module
    monkeypatch.setattr(newer, "sqlite_version_info", (3, 36, 0))
    assert driver.driver().name == "sqlite3"


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
        with another(file) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM memory").fetchone()
            for number in range(30):
                bank.remember(f"{number} " + "x" * 4000)  # nobody waits, and nothing fails
            assert log_size(file) > 50_000
        bank.remember("milk")
        assert log_size(file) == 0
        assert len(bank.list()) == 32


# -- waiting -------------------------------------------------------------------------------------

HELD = r"held it for 0\.05 s; nothing was changed: try again, and end what keeps it"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)


@pytest.mark.usefixtures("impatient")
def test_a_busy_file_says_how_long_it_was_waited_for(engine: driver.Driver, file: Path) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        with another(file) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match=HELD):
                bank.remember("milk")
            other.execute("ROLLBACK")
        assert [each.text for each in bank.list()] == ["tea"]


@pytest.mark.usefixtures("impatient")
def test_a_reader_that_prevents_the_switch_to_a_log_is_waited_for_no_longer(
    engine: driver.Driver, file: Path
) -> None:
    SQLiteStore(str(file)).close()
    with another(file) as other:
        other.execute("PRAGMA journal_mode = DELETE").fetchall()
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memory").fetchone()
        with pytest.raises(StoreBusy, match=HELD):
            SQLiteStore(str(file))
        other.execute("ROLLBACK")
    SQLiteStore(str(file)).close()


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_prevents_a_migration_is_waited_for_no_longer(
    engine: driver.Driver, file: Path
) -> None:
    before = newest() - 1
    with another(file) as other:
        other.execute("PRAGMA journal_mode = WAL").fetchall()
        migrate(other, upto=before)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match=HELD):
            SQLiteStore(str(file))
        other.execute("ROLLBACK")
        assert other.execute("PRAGMA user_version").fetchone() == (before,)
    SQLiteStore(str(file)).close()


def test_a_sweep_that_met_a_writer_says_how_long_it_waited_itself(
    engine: driver.Driver,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(connection, "SWEEP_SECONDS", 0.02)
    monkeypatch.setattr(Sweeper, "sweep", lambda self: self._db.execute("BEGIN IMMEDIATE"))
    with closing(SQLiteStore(str(file))) as store, another(file) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not store.sweep()
        assert "held it for 0.02 s" in caplog.text
        monkeypatch.undo()
        other.execute("ROLLBACK")


# -- another SQLite in this process --------------------------------------------------------------


def peek(file: Path) -> None:
    """As a notebook does: with the standard library's, whatever banks use."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("SELECT count(*) FROM memory").fetchone()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made otherwise here")
def test_what_is_acknowledged_after_somebody_peeked_survives_a_kill(
    engine: driver.Driver, file: Path
) -> None:
    process = os.fork()
    if process == 0:
        bank = MemoryBank.open(file, namespace="u1", embedder=None)
        bank.remember("tea")
        peek(file)
        bank.remember("milk")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        assert sorted(each.text for each in bank.list()) == ["milk", "tea"]


def test_a_bank_reads_on_what_others_write_after_somebody_peeked(
    engine: driver.Driver, file: Path
) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        peek(file)
        with MemoryBank.open(file, namespace="u1", embedder=None) as other:
            other.remember("milk")
            assert [hit.memory.text for hit in bank.recall("milk", k=1)] == ["milk"]


def take_log_away(file: Path) -> None:
    """What the other SQLite does when it closes."""
    with another(file) as db:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    for suffix in ("-wal", "-shm"):
        os.unlink(f"{file}{suffix}")


@pytest.mark.skipif(os.name != "posix", reason="open files are not removed elsewhere")
def test_a_log_that_was_taken_away_is_made_anew_and_told(
    engine: driver.Driver, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        take_log_away(file)
        with caplog.at_level(logging.WARNING):
            bank.remember("milk")
        assert "another SQLite in this process" in caplog.text
        with MemoryBank.open(file, namespace="u1", embedder=None) as other:
            assert sorted(each.text for each in other.list()) == ["milk", "tea"]


@pytest.mark.skipif(os.name != "posix", reason="open files are not removed elsewhere")
def test_a_backup_after_that_holds_what_others_wrote(engine: driver.Driver, file: Path) -> None:
    copy = file.with_name("copy.db")
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        take_log_away(file)
        with MemoryBank.open(file, namespace="u1", embedder=None) as other:
            other.remember("milk")
            bank.backup(copy)
    with MemoryBank.open(copy, namespace="u1", embedder=None) as bank:
        assert sorted(each.text for each in bank.list()) == ["milk", "tea"]


@pytest.mark.skipif(os.name != "posix", reason="open files are not removed elsewhere")
def test_a_sweep_after_that_spoils_nothing_that_others_wrote(
    engine: driver.Driver, file: Path
) -> None:
    bank = MemoryBank.open(file, namespace="u1", embedder=None)
    made = bank.remember("a secret zebra")
    bank.update(made.id, text="tea")  # is swept on closing
    take_log_away(file)
    with MemoryBank.open(file, namespace="u1", embedder=None, maintain=False) as other:
        for number in range(50):
            other.remember(f"milk {number} " + "x" * 500)
        bank.close()
        other.remember("rain")
        assert len(other.list()) == 52
        assert other.diagnose()["integrity"] == "ok"
        assert other.diagnose()["swept"]
    assert b"zebra" not in file.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="open files are not moved elsewhere")
def test_a_file_that_was_moved_away_is_not_written_to_any_more(
    engine: driver.Driver, file: Path
) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        bank.remember("tea")
        file.rename(file.with_name("elsewhere.db"))
        with pytest.raises(StoreError, match="is not the file that was opened"):
            bank.remember("milk")
        assert not file.exists()


def test_where_the_process_stands_makes_no_difference(
    engine: driver.Driver, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    with MemoryBank.open(file.name, namespace="u1", embedder=None) as bank:
        monkeypatch.chdir(tmp_path)
        bank.remember("tea")
        assert len(bank.list()) == 1


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


def test_a_trigger_that_bears_a_name_of_analyze_is_refused(
    engine: driver.Driver, file: Path
) -> None:
    MemoryBank.open(file, namespace="u1", embedder=None).close()
    trigger = "CREATE TRIGGER sqlite_stat1 AFTER INSERT ON memory BEGIN DELETE FROM memory; END"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        row = ("trigger", "sqlite_stat1", "memory", 0, trigger)
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    with pytest.raises(StoreUnreadable, match="its trigger 'sqlite_stat1' is not as"):
        MemoryBank.open(file, namespace="u1", embedder=None)


@pytest.mark.parametrize("name", ["pragma_user_version", "pragma_application_id"])
def test_a_view_in_the_place_of_a_pragma_is_refused_and_never_asked(
    engine: driver.Driver, file: Path, name: str
) -> None:
    MemoryBank.open(file, namespace="u1", embedder=None).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        column = name.removeprefix("pragma_")
        fails = "abs(-9223372036854775807 - 1)"  # where another view would never end
        db.execute(f"CREATE VIEW {name} AS SELECT {fails} AS {column}")
    with pytest.raises(StoreUnreadable, match=f"its view '{name}' is not as"):
        MemoryBank.open(file, namespace="u1", embedder=None)


def test_a_schema_is_not_trusted_and_cells_are_checked(engine: driver.Driver, file: Path) -> None:
    with closing(SQLiteStore(str(file))) as store:
        told = [store.connection.pragma(name) for name in ("trusted_schema", "cell_size_check")]
    assert told == [0, 1]


def test_where_the_driver_can_nobody_writes_to_the_schema(
    engine: driver.Driver, file: Path
) -> None:
    if not hasattr(engine.module, "SQLITE_DBCONFIG_DEFENSIVE"):
        pytest.skip("this driver cannot")
    with closing(SQLiteStore(str(file))) as store, store.connection.write() as db:
        db.execute("PRAGMA writable_schema = ON")
        with pytest.raises(sqlite3.OperationalError, match="may not be modified"):
            db.execute("DELETE FROM sqlite_master")


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
