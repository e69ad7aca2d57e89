"""The store in one SQLite file: failures, privacy, copies, versions, several processes."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import AT, a_memory, a_passage, another
from ebbmem.clock import DAY, to_micros
from ebbmem.embedding import Fingerprint
from ebbmem.embedding.encoding import Encoding
from ebbmem.errors import (
    EbbmemError,
    SchemaTooNew,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnreadable,
)
from ebbmem.store import Entry, Passage, SQLiteStore, connection, schema
from ebbmem.store.driver import Driver, driver
from ebbmem.store.schema import APPLICATION_ID, MIGRATIONS

NS = ("alice",)
T0 = to_micros(AT)
FIRST, SECOND = Fingerprint("first", 2), Fingerprint("second", 3)
SECRET = "zanzibar"


def passages(text: str, dimension: int = 2) -> tuple[Passage, ...]:
    return (a_passage(0, len(text), dimension=dimension),)


def entry(id: str, text: str, **changes: Any) -> Entry:
    return Entry(a_memory(id=id, text=text, **changes), passages(text))


def add(store: SQLiteStore, *entries: Entry, now: int = T0) -> None:
    store.add(
        NS,
        entries,
        policy="{}",
        fingerprint=FIRST,
        again=lambda state: replace(state, recall_count=state.recall_count + 1),
        days=[now // DAY],
        now=now,
    )


def revise(store: SQLiteStore, id: str, text: str, **changes: Any) -> None:
    assert store.revise(
        NS,
        id,
        {"text": text, **changes},
        words=(text, changes.get("speaker")),
        passages=passages(text),
        fingerprint=FIRST,
        settle=lambda state: state,
        edit=lambda state: state,
        now=T0,
    )


@pytest.fixture
def store(file: Path) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(str(file))
    add(opened, entry("m1", "tea"), entry("m2", "milk"), entry("m3", "rain"))
    opened.link(NS, "m1", "m2", 0.5)
    yield opened
    opened.close()


def dump(path: Path) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Every row of every table, as another program reads them."""
    with another(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return [(name, sorted(db.execute(f"SELECT * FROM {name}"), key=repr)) for name in names]


# -- a statement fails ---------------------------------------------------------------------------

WRITES: dict[str, Callable[[SQLiteStore], object]] = {
    "add": lambda store: add(store, entry("m4", "sun"), entry("m5", "tea"), now=T0 + DAY),
    "revise": lambda store: revise(store, "m1", "cup"),
    "modify": lambda store: store.modify(
        NS,
        ["m1", "m2"],
        lambda state: replace(state, recall_count=9),
        actions=lambda state: ["use"],
        day=T0 // DAY + 7,
        now=T0,
    ),
    "erase": lambda store: store.erase(NS, ["m1", "m3"], action="erase", now=T0),
    "link": lambda store: store.link(NS, "m2", "m3", 0.5),
    "put_vectors": lambda store: store.put_vectors(
        SECOND,
        [(NS, id_, text, passages(text, 3)) for id_, text in (("m1", "tea"), ("m2", "milk"))],
    ),
    "switch": lambda store: store.switch(Fingerprint("keywords alone", 0)),
    "set_policy": lambda store: store.set_policy(
        NS, "new", edit=lambda state: replace(state, fades_at=1)
    ),
}
STATEMENTS = {
    "add": ["INSERT ON memory", "INSERT ON state", "INSERT ON vector", "UPDATE ON namespace"],
    "revise": ["UPDATE ON memory", "DELETE ON vector", "INSERT ON vector", "UPDATE ON state"],
    "modify": ["UPDATE ON state", "INSERT ON audit", "UPDATE ON namespace"],
    "erase": [
        "DELETE ON vector",
        "DELETE ON memory",
        "DELETE ON link",
        "UPDATE ON state",
        "INSERT ON audit",
    ],
    "link": ["INSERT ON link", "UPDATE ON state"],
    "put_vectors": ["INSERT ON embedder", "INSERT ON vector"],
    "switch": [
        "INSERT ON embedder",
        "UPDATE ON embedder",
        "DELETE ON vector",
        "DELETE ON embedder",
        "UPDATE ON namespace",
    ],
    "set_policy": ["UPDATE ON namespace", "UPDATE ON state"],
}


@pytest.mark.parametrize(
    ("write", "statement"),
    [(write, statement) for write, many in STATEMENTS.items() for statement in many],
)
def test_a_write_that_fails_at_any_statement_leaves_every_table_as_it_was(
    store: SQLiteStore, file: Path, write: str, statement: str
) -> None:
    with store.connection.write() as db:
        table = statement.split()[-1]
        db.execute(
            f"CREATE TEMP TRIGGER broken AFTER {statement.replace('ON ', 'ON main.')} "
            f"WHEN (SELECT count(*) FROM main.{table}) >= 0 "
            "BEGIN SELECT RAISE(ABORT, 'injected'); END"
        )
    before = dump(file)
    with pytest.raises(EbbmemError):
        WRITES[write](store)
    assert dump(file) == before
    with store.connection.write() as db:
        db.execute("DROP TRIGGER broken")
    WRITES[write](store)
    assert dump(file) != before


def test_the_message_of_a_failed_write_holds_no_text(store: SQLiteStore) -> None:
    with store.connection.write() as db:
        db.execute(
            "CREATE TEMP TRIGGER broken AFTER INSERT ON main.vector "
            "BEGIN SELECT RAISE(ABORT, 'injected'); END"
        )
    with pytest.raises(StoreError) as caught:
        add(store, entry("m4", SECRET))
    assert SECRET not in str(caught.value)
    assert caught.value.path == store.path


def test_a_full_disk_is_an_error_of_ours_and_changes_nothing(
    store: SQLiteStore, file: Path
) -> None:
    before = dump(file)
    pages = store.connection.pragma("page_count")
    store.connection.pragma(f"max_page_count = {pages}")
    with pytest.raises(StoreError, match="full"):
        add(store, *(entry(f"x{number}", f"{number} " * 3000) for number in range(20)))
    assert dump(file) == before


# -- what is erased ------------------------------------------------------------------------------


def bytes_of(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(folder.iterdir()))


def secret_entry(id: str) -> Entry:
    return entry(
        id,
        f"{SECRET} text of {id} " + "filler " * 2000,
        source=f"{SECRET}-source",
        speaker=f"{SECRET}-speaker",
        metadata={"key": f"{SECRET}-metadata"},
    )


def test_erased_text_is_in_no_byte_of_the_files(file: Path) -> None:
    store = SQLiteStore(str(file))
    add(store, entry("kept", "tea"), *(secret_entry(f"x{number}") for number in range(5)))
    assert SECRET.encode() in bytes_of(file.parent)
    store.erase(NS, [f"x{number}" for number in range(5)], action="erase", now=T0)
    assert SECRET.encode() not in bytes_of(file.parent)  # while the store is still open
    store.close()
    assert SECRET.encode() not in bytes_of(file.parent)


def test_erased_vectors_are_in_no_byte_of_the_files(file: Path) -> None:
    store = SQLiteStore(str(file))
    row = np.array([0.28, -0.96], np.float32)
    add(store, Entry(entry("m1", "tea").memory, (Passage(0, 3, Encoding(row)),)))
    store.erase(NS, ["m1"], action="erase", now=T0)
    store.close()
    assert row.tobytes() not in bytes_of(file.parent)


def test_a_replaced_text_is_in_no_byte_of_the_files_after_closing(file: Path) -> None:
    store = SQLiteStore(str(file))
    add(store, secret_entry("m1"))
    [old] = store.get(NS, ["m1"])
    revise(store, "m1", "harmless", speaker="Ann", metadata={}, source=None)
    assert store.get(NS, ["m1"]) != [old]
    store.close()
    assert SECRET.encode() not in bytes_of(file.parent)


def test_the_audit_holds_ids_and_no_text(store: SQLiteStore, file: Path) -> None:
    add(store, secret_entry("x1"))
    store.erase(NS, ["x1"], action="erase", now=T0)
    assert [line.id for line in store.audit(NS)] == ["x1"]
    assert SECRET not in repr(dump(file))


def test_a_new_file_is_private(store: SQLiteStore, file: Path) -> None:
    for each in file.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) & 0o077 == 0


def test_closing_leaves_one_file(store: SQLiteStore, file: Path) -> None:
    store.close()
    assert [each.name for each in file.parent.iterdir()] == [file.name]


# -- backup --------------------------------------------------------------------------------------


def test_a_backup_is_consistent_while_another_process_holds_a_write(
    store: SQLiteStore, file: Path, tmp_path: Path
) -> None:
    before = dump(file)
    with another(file) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM memory")
        store.backup(str(tmp_path / "copy.db"))
        other.execute("ROLLBACK")
    assert dump(tmp_path / "copy.db") == before


def test_a_backup_refuses_to_overwrite(store: SQLiteStore, tmp_path: Path) -> None:
    target = tmp_path / "there.txt"
    target.write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        store.backup(str(target))
    assert target.read_text() == "mine"


def test_a_backup_into_a_missing_folder_leaves_nothing(store: SQLiteStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        store.backup(str(tmp_path / "nowhere" / "copy.db"))
    assert "nowhere" in caught.value.path
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_is_private(store: SQLiteStore, tmp_path: Path) -> None:
    store.backup(str(tmp_path / "copy.db"))
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


# -- files that cannot be used -------------------------------------------------------------------


def test_a_newer_schema_is_refused_and_the_file_is_left_alone(
    store: SQLiteStore, file: Path
) -> None:
    store.close()
    newer = len(MIGRATIONS) + 1
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {newer}")
    before = file.read_bytes()
    with pytest.raises(SchemaTooNew) as caught:
        SQLiteStore(str(file))
    assert (caught.value.found, caught.value.supported) == (newer, len(MIGRATIONS))
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = file.read_bytes()
    with pytest.raises(StoreUnreadable, match="another program"):
        SQLiteStore(str(file))
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 40])
def test_what_is_no_database_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreUnreadable):
        SQLiteStore(str(file))
    assert file.read_bytes() == content


def test_a_folder_that_does_not_exist_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly) as caught:
        SQLiteStore(str(tmp_path / "nowhere" / "memory.db"))
    assert "nowhere" in caught.value.path


def test_a_closed_store_says_so(store: SQLiteStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.count()


def test_a_store_that_another_process_holds_is_busy_and_nothing_changes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.0)
    store = SQLiteStore(str(file))
    add(store, entry("m1", "tea"))
    before = dump(file)
    with another(file) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            add(store, entry("m2", "milk"))
        assert [each.id for each in store.get(NS, ["m1"])] == ["m1"]  # reading goes on
        other.execute("ROLLBACK")
    assert dump(file) == before
    add(store, entry("m2", "milk"))
    store.close()


# -- migrations ----------------------------------------------------------------------------------

OPEN = """
import sys
from ebbmem.store import SQLiteStore
print("ready", flush=True)
sys.stdin.readline()
store = SQLiteStore(sys.argv[1])
print(store.count())
store.close()
"""


def test_migrations_are_recorded_once_when_four_processes_open_a_new_file(file: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", OPEN, str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in running:
        out, errors = each.communicate(timeout=60)
        assert (each.returncode, out.strip(), errors) == (0, "0", "")
    with closing(sqlite3.connect(file)) as db:
        recorded = db.execute("SELECT number, name FROM migration ORDER BY number").fetchall()
        assert recorded == [(number, name) for number, (name, _) in enumerate(MIGRATIONS, 1)]
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_file_that_another_process_makes_between_two_looks_is_not_foreign(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[SQLiteStore] = []

    class Slow(driver("sqlite3").connection):  # type: ignore[misc]
        """Looks at the file while somebody else gets ready with it."""

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            if "sqlite_master" in sql and not others:
                others.append(SQLiteStore.__new__(SQLiteStore))
                others[0].__init__(str(file))  # type: ignore[misc]
            return super().execute(sql, *args)

    monkeypatch.setattr(Driver, "connection", Slow)
    monkeypatch.setenv("EBBMEM_SQLITE", "sqlite3")
    store = SQLiteStore(str(file))
    assert store.count() == 0
    for each in (store, *others):
        each.close()


def test_opening_again_runs_no_migration_twice(store: SQLiteStore, file: Path) -> None:
    before = dump(file)
    SQLiteStore(str(file)).close()
    assert dump(file) == before


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    store: SQLiteStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(file)
    broken = (*MIGRATIONS, ("next", ("CREATE TABLE fresh (x) STRICT", "NO SUCH STATEMENT")))
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(StoreError):
        SQLiteStore(str(file))
    assert dump(file) == before


# -- two handles ---------------------------------------------------------------------------------


def test_what_one_handle_writes_the_other_sees_at_once(store: SQLiteStore, file: Path) -> None:
    other = SQLiteStore(str(file))
    seq = other.changes(NS, 0).seq
    add(store, entry("m4", "sun"))
    [change] = other.changes(NS, seq).rows
    assert change.id == "m4"
    other.close()


def test_writes_of_two_handles_are_numbered_without_gaps_for_a_reader(
    store: SQLiteStore, file: Path
) -> None:
    other = SQLiteStore(str(file))
    seq, seen = 0, set()
    for number in range(10):
        add((store, other)[number % 2], entry(f"x{number}", f"cup {number}"))
        changes = store.changes(NS, seq)
        assert changes.seq > seq
        seq, seen = changes.seq, seen | {change.id for change in changes.rows}
    assert {f"x{number}" for number in range(10)} <= seen
    other.close()


def test_a_read_sees_one_state_while_another_handle_writes(store: SQLiteStore, file: Path) -> None:
    other = SQLiteStore(str(file))
    with store.connection.read() as db:
        first = db.execute("SELECT count(*) FROM memory").fetchone()
        add(other, entry("m4", "sun"))
        assert db.execute("SELECT count(*) FROM memory").fetchone() == first
    assert store.count() == first[0] + 1
    other.close()


@pytest.mark.usefixtures("bound")
def test_a_file_that_cannot_be_written_is_an_error_of_ours(store: SQLiteStore, file: Path) -> None:
    store.close()
    file.chmod(0o400)
    with pytest.raises(StoreReadOnly):
        add(SQLiteStore(str(file)), entry("m9", "cup"))
