"""A database that was damaged, or made by somebody else: an error of ours, or the truth."""

from __future__ import annotations

import io
import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbmem import EbbmemError, MemoryBank, Policy, StoreError, StoreUnreadable
from ebbmem.testing import ManualClock

TEXTS = ("green tea at four", "the boat is in Porto", "我养了两只猫", "call Ann on May 3")
PAGE = 4096
relaxed = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small database with something in every table."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with MemoryBank.open(path, namespace="u", embedder="hashing", clock=ManualClock()) as bank:
        for number, text in enumerate(TEXTS):
            key = "k" if number < 2 else None
            bank.remember(text, id=f"m{number}", source="s", metadata={"n": [number]}, key=key)
        bank.link("m2", "m3")
        bank.add_probe("where is the boat", ["m1"])
        bank.probe()
        bank.forget("m3")
        bank.at("other").remember("of somebody else", id="o")
    return path.read_bytes()


@pytest.fixture
def path() -> Iterator[Path]:
    """In memory where that can be: thousands of files are written, and none need last."""
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder) / "memory.db"


def opened(path: Path) -> MemoryBank:
    return MemoryBank.open(path, namespace="u", clock=ManualClock())


CALLS: dict[str, Callable[[MemoryBank], Any]] = {
    "recall": lambda bank: bank.recall("tea boat Ann", min_similarity=-1.0),
    "context": lambda bank: bank.context("tea"),
    "get": lambda bank: bank.get("m1", include_faded=True),
    "list": lambda bank: bank.list(include_faded=True, include_superseded=True),
    "filter": lambda bank: bank.list(where={"n": [1]}),
    "stats": lambda bank: bank.stats(),
    "forecast": lambda bank: bank.forecast(),
    "audit": lambda bank: bank.audit(),
    "probes": lambda bank: bank.probes(),
    "probe": lambda bank: bank.probe(),
    "history": lambda bank: bank.probe_history(),
    "report": lambda bank: bank.report(),
    "export": lambda bank: bank.export_jsonl(io.StringIO()),
    "inhabited": lambda bank: bank.inhabited(),
    "known": lambda bank: bank.inhabited(include_faded=True),
    "remember": lambda bank: bank.remember("told later", key="k"),
    "reinforce": lambda bank: bank.reinforce(["m1"]),
    "prune": lambda bank: bank.prune(),
    "diagnose": lambda bank: bank.diagnose(),
    "erase": lambda bank: bank.erase("m0"),
    "reembed": lambda bank: bank.reembed("hashing"),
    "erase all": lambda bank: bank.erase_all(),
}


def used(path: Path) -> dict[str, StoreError]:
    """What was refused, by the call; nothing but errors of ours comes out, and no other text."""
    refused: dict[str, StoreError] = {}
    try:
        bank = opened(path)
    except StoreError as error:
        return {"open": error}
    try:
        for name, call in CALLS.items():
            try:
                answer = call(bank)
            except StoreError as error:
                refused[name] = error
            except EbbmemError:
                continue
            else:
                if name == "recall":
                    assert {each.memory.text for each in answer} <= {*TEXTS, "told later"}
    finally:
        bank.close()
    return refused


def assert_helpful(path: Path, refused: dict[str, StoreError]) -> None:
    for error in refused.values():
        assert str(error).startswith(f"{path}: ")
        assert not any(text in str(error) for text in (*TEXTS, "Traceback", "SELECT"))


# -- bytes -----------------------------------------------------------------------------------


@relaxed
@given(share=st.floats(0.0, 1.0))
def test_a_file_cut_off_anywhere_is_refused_or_read(sound: bytes, path: Path, share: float) -> None:
    path.write_bytes(sound[: int(share * len(sound))])
    assert_helpful(path, used(path))


@relaxed
@given(
    flips=st.lists(st.tuples(st.floats(0.0, 0.9999), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_flipped_bytes_never_make_a_text_that_nobody_wrote(
    sound: bytes, path: Path, flips: list[tuple[float, int]]
) -> None:
    raw = bytearray(sound)
    for share, value in flips:
        raw[int(share * len(raw))] = value
    path.write_bytes(bytes(raw))
    assert_helpful(path, used(path))


@relaxed
@given(data=st.data())
def test_swapped_pages_are_no_memory(sound: bytes, path: Path, data: st.DataObject) -> None:
    pages = [sound[at : at + PAGE] for at in range(0, len(sound), PAGE)]
    one, other = (data.draw(st.integers(0, len(pages) - 1)) for _ in range(2))
    pages[one], pages[other] = pages[other], pages[one]
    path.write_bytes(b"".join(pages))
    assert_helpful(path, used(path))


@pytest.mark.parametrize(
    "content",
    [b"SQLite format 3\0", b"\0" * PAGE, os.urandom(3 * PAGE), b"\x80\x04]\x94.", b"PK\x03\x04"],
    ids=["header", "zeros", "noise", "pickle", "zip"],
)
def test_what_is_no_database_is_refused_and_left_as_it_was(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreUnreadable):
        opened(path)
    assert path.read_bytes() == content


def test_the_database_of_another_program_with_our_mark_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE memory (id, text)")
        db.execute(f"PRAGMA application_id = {0x4562626D}")
        db.execute("PRAGMA user_version = 3")
        db.commit()
    with pytest.raises(StoreError):
        opened(path).recall("tea")


# -- the log beside it -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def logged(sound: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A database, its log and its index, with a write that is in the log alone."""
    path = tmp_path_factory.mktemp("logged") / "memory.db"
    path.write_bytes(sound)
    with opened(path) as bank:
        bank.remember("told later")
        return {each: Path(f"{path}{each}").read_bytes() for each in ("", "-wal", "-shm")}


@relaxed
@given(which=st.sampled_from(["-wal", "-shm"]), data=st.data())
def test_a_log_that_was_cut_or_overwritten_loses_at_most_what_it_held(
    logged: dict[str, bytes], path: Path, which: str, data: st.DataObject
) -> None:
    spoiled = bytearray(logged[which])
    if data.draw(st.booleans()):
        del spoiled[data.draw(st.integers(0, len(spoiled))) :]
    else:
        at = data.draw(st.integers(0, len(spoiled) - 1))
        spoiled[at : at + 16] = data.draw(st.binary(min_size=1, max_size=16))
    for suffix, content in {**logged, which: bytes(spoiled)}.items():
        Path(f"{path}{suffix}").write_bytes(content)
    assert used(path) == {}


@pytest.mark.parametrize("which", ["-wal", "-shm"])
@pytest.mark.parametrize(
    "content", [b"", b"garbage", os.urandom(40_000)], ids=["no", "few", "much"]
)
def test_a_log_that_is_none_is_passed_over(
    sound: bytes, path: Path, which: str, content: bytes
) -> None:
    path.write_bytes(sound)
    Path(f"{path}{which}").write_bytes(content)
    assert used(path) == {}


def test_the_log_of_another_database_makes_no_text_of_neither(
    sound: bytes, logged: dict[str, bytes], path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with MemoryBank.open(other, namespace="u", embedder="hashing", clock=ManualClock()) as bank:
        bank.remember("of another file")
        log = Path(f"{other}-wal").read_bytes()
        path.write_bytes(sound)
        Path(f"{path}-wal").write_bytes(log)
    try:
        with opened(path) as bank:
            found = {each.text for each in bank.list(include_faded=True)}
    except StoreError:
        return
    assert found <= {*TEXTS, "of another file"}


# -- rows that no ebbmem writes --------------------------------------------------------------

NAN, INF = struct.pack("<f", float("nan")), struct.pack("<f", float("inf"))
VECTOR = "(SELECT length(vector) FROM vector WHERE id = 'm1')"
ROWS: dict[str, tuple[str, tuple[object, ...], str | None]] = {
    "short vector": ("UPDATE vector SET vector = ? WHERE id = 'm1'", (b"\0" * 7,), "m1"),
    "no vector": ("UPDATE vector SET vector = x'' WHERE id = 'm1'", (), "m1"),
    "NaN vector": (
        "UPDATE vector SET vector = CAST(? || substr(vector, 5) AS BLOB) WHERE id = 'm1'",
        (NAN,),
        "m1",
    ),
    "infinite vector": (
        "UPDATE vector SET vector = CAST(? || substr(vector, 5) AS BLOB) WHERE id = 'm1'",
        (INF,),
        "m1",
    ),
    "long vector": (
        f"UPDATE vector SET vector = zeroblob(2 * {VECTOR}) WHERE id = 'm1'",
        (),
        "m1",
    ),
    "piece below zero": (
        "UPDATE vector SET pieces = ?, codes = zeroblob(8) WHERE id = 'm1'",
        (struct.pack("<i", -5),),
        "m1",
    ),
    "pieces cut off": (
        "UPDATE vector SET pieces = x'010203', codes = x'01' WHERE id = 'm1'",
        (),
        "m1",
    ),
    "pieces without codes": ("UPDATE vector SET pieces = x'01020304' WHERE id = 'm1'", (), "m1"),
    "passage beyond the text": ("UPDATE vector SET stop = 999 WHERE id = 'm1'", (), "m1"),
    "passage before the text": ("UPDATE vector SET start = -3 WHERE id = 'm1'", (), "m1"),
    "passage upside down": ("UPDATE vector SET start = 9, stop = 3 WHERE id = 'm1'", (), "m1"),
    "metadata": ("UPDATE memory SET metadata = '{' WHERE id = 'm1'", (), "m1"),
    "metadata that is a list": ("UPDATE memory SET metadata = '[1]' WHERE id = 'm1'", (), "m1"),
    "metadata with infinity": (
        "UPDATE memory SET metadata = '{\"a\": 1e999}' WHERE id = 'm1'",
        (),
        "m1",
    ),
    "metadata nested": (
        "UPDATE memory SET metadata = ? WHERE id = 'm1'",
        ('{"a":' * 900 + "1" + "}" * 900,),
        "m1",
    ),
    "text": ("UPDATE memory SET text = 'forged' WHERE id = 'm1'", (), "m1"),
    "text that is no UTF-8": (
        "UPDATE memory SET text = CAST(x'ff41' AS TEXT) WHERE id = 'm1'",
        (),
        None,
    ),
    "importance": ("UPDATE memory SET importance = 7.0 WHERE id = 'm1'", (), "m1"),
    "infinite importance": ("UPDATE memory SET importance = 9e999 WHERE id = 'm1'", (), "m1"),
    "position": ("UPDATE memory SET position = -1 WHERE id = 'm1'", (), "m1"),
    "keyed": ("UPDATE memory SET keyed = 7 WHERE id = 'm1'", (), "m1"),
    "trust": ("UPDATE memory SET trust = 'god' WHERE id = 'm1'", (), "m1"),
    "created before time": (f"UPDATE memory SET created_at = {-(2**63)} WHERE id = 'm1'", (), "m1"),
    "created after time": (f"UPDATE memory SET created_at = {2**63 - 1} WHERE id = 'm1'", (), "m1"),
    "fades before time": (f"UPDATE state SET fades_at = {-(2**63)} WHERE id = 'm1'", (), "m1"),
    "used before time": (
        f"UPDATE state SET last_reinforced_at = {-(2**62)} WHERE id = 'm1'",
        (),
        "m1",
    ),
    "status": ("UPDATE state SET status = 'odd' WHERE id = 'm1'", (), "m1"),
    "gone, but there": ("UPDATE state SET status = 'gone' WHERE id = 'm1'", (), "m1"),
    "negative count": ("UPDATE state SET recall_count = -1 WHERE id = 'm1'", (), "m1"),
    "count": (f"UPDATE state SET recall_count = {2**62} WHERE id = 'm1'", (), "m1"),
    "days": ("UPDATE namespace SET active_days = x'010203'", (), None),
    "days out of order": (
        "UPDATE namespace SET active_days = ?",
        (struct.pack("<2i", 5, 3),),
        None,
    ),
    "days beyond the calendar": (
        "UPDATE namespace SET active_days = ?",
        (struct.pack("<i", 2**31 - 1),),
        None,
    ),
    "dimension": ("UPDATE embedder SET dimension = 3", (), None),
    "negative dimension": ("UPDATE embedder SET dimension = -1", (), None),
    "embedder without a name": ("UPDATE embedder SET name = ''", (), None),
    "similarity": ("UPDATE embedder SET min_similarity = 9e999", (), None),
    "link": ("UPDATE link SET weight = 9e999", (), "m2"),
    "link below zero": ("UPDATE link SET weight = -1.0", (), "m2"),
    "probe": ("UPDATE probe SET kind = 'odd'", (), None),
    "probe before time": (f"UPDATE probe SET added_at = {-(2**63)}", (), None),
    "probe of nothing": ("DELETE FROM probe_answer", (), None),
    "run": ("UPDATE probe_run SET found = -1.0", (), None),
    "audit before time": (f"UPDATE audit SET at = {-(2**63)}", (), None),
    "pruned before time": (f"UPDATE namespace SET pruned_at = {-(2**63)}", (), None),
    "namespace": ("UPDATE namespace SET ns = '{' WHERE ns LIKE '%other%'", (), None),
}


@contextmanager
def planted(path: Path, sound: bytes, statement: str, values: tuple[object, ...]) -> Iterator[None]:
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        guards = triggers.fetchall()  # they keep a program from it, not somebody with the file
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        assert db.execute(statement, values).rowcount > 0
        for _, sql in guards:
            db.execute(sql)
        db.commit()
    yield


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_is_refused_with_what_to_do(
    sound: bytes, path: Path, name: str
) -> None:
    statement, values, id_ = ROWS[name]
    with planted(path, sound, statement, values):
        refused = used(path)
    assert refused
    assert_helpful(path, refused)
    unreadable = [each for each in refused.values() if isinstance(each, StoreUnreadable)]
    assert unreadable
    assert any("`ebbmem repair`" in str(each) for each in unreadable)
    if id_ is not None:
        assert any(repr(id_) in str(each) for each in unreadable)


@pytest.mark.parametrize("name", ["metadata", "text", "keyed", "trust"])
def test_a_bad_row_hides_no_other_that_is_asked_for_by_its_id(
    sound: bytes, path: Path, name: str
) -> None:
    statement, values, _ = ROWS[name]
    with planted(path, sound, statement, values), opened(path) as bank:
        assert bank._store.get(("u",), ["m2"])[0].text == TEXTS[2]
        with pytest.raises(StoreUnreadable):
            bank._store.get(("u",), ["m1"])


CYCLES = {
    "itself": "UPDATE state SET superseded_at = 1, superseded_by = id WHERE id = 'm1'",
    "each other": (
        "UPDATE state SET superseded_at = 1, "
        "superseded_by = CASE id WHEN 'm0' THEN 'm1' ELSE 'm0' END WHERE id IN ('m0', 'm1')"
    ),
    "nobody": "UPDATE state SET superseded_at = 1, superseded_by = 'nobody' WHERE id = 'm1'",
    "link to nobody": "UPDATE link SET b = 'nobody'",
    "link to itself": "UPDATE link SET b = a",
    "state of nothing": "DELETE FROM memory WHERE id = 'm1'",
    "memory without state": "DELETE FROM state WHERE id = 'm1'",
    "vector of nothing": "UPDATE vector SET id = 'nobody' WHERE id = 'm1'",
}


@pytest.mark.parametrize("name", CYCLES)
def test_what_refers_to_itself_or_to_nobody_ends(sound: bytes, path: Path, name: str) -> None:
    with planted(path, sound, CYCLES[name], ()):
        assert_helpful(path, used(path))


def test_an_index_that_disagrees_with_its_table_ends_the_pass_with_an_error(
    sound: bytes, path: Path
) -> None:
    with planted(path, sound, "UPDATE state SET fades_at = 1 WHERE id = 'm2'", ()):
        pass
    with closing(sqlite3.connect(path)) as db:
        [sql] = db.execute("SELECT sql FROM sqlite_master WHERE name = 'state_due'").fetchone()
    rename = "UPDATE sqlite_master SET sql = ? WHERE name = 'state_due'"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")  # for a moment the index is of nothing,
        db.execute(rename, (sql.replace("'active'", "'nobody'"),))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        faded = "SET status = 'faded', faded_at = 1, fades_at = NULL WHERE id = 'm2'"
        db.execute(f"UPDATE state {faded}")  # so it keeps what its table no longer says
        db.execute("PRAGMA writable_schema = ON")
        db.execute(rename, (sql,))
    refused = used(path)
    assert any("`ebbmem repair`" in str(each) for each in refused.values())
    assert_helpful(path, refused)


def test_an_opening_with_a_policy_needs_none_that_can_be_read(sound: bytes, path: Path) -> None:
    with planted(path, sound, "UPDATE namespace SET policy = '{' WHERE ns LIKE '%u%'", ()):
        pass
    with pytest.raises(StoreUnreadable, match="policy"):
        opened(path)
    with MemoryBank.open(path, namespace="u", clock=ManualClock(), policy=Policy()) as bank:
        assert {each.text for each in bank.list()} == {TEXTS[1], TEXTS[2]}


# -- values of a type that a column does not take --------------------------------------------
# SQLite looks at types when it writes, not when it reads: a flipped bit is all it takes.

TABLES = [
    *("namespace", "memory", "state", "vector", "link", "embedder", "audit", "migration"),
    *("probe", "probe_answer", "probe_run"),
]


@contextmanager
def lenient(path: Path) -> Iterator[sqlite3.Connection]:
    """The database while its tables take any type, and its triggers are away."""
    tables = "type = 'table' AND sql LIKE '% STRICT%'"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        for name, _ in (guards := triggers.fetchall()):
            db.execute(f"DROP TRIGGER {name}")
        written = db.execute(f"SELECT sql, name FROM sqlite_master WHERE {tables}").fetchall()
        db.execute("PRAGMA writable_schema = ON")
        for change in ((" STRICT, WITHOUT", " WITHOUT"), (" STRICT", "")):
            db.execute(f"UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE {tables}", change)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db
        for _, sql in guards:
            db.execute(sql)
        db.execute("PRAGMA writable_schema = ON")
        db.executemany("UPDATE sqlite_master SET sql = ? WHERE name = ?", written)


def columns(sound: bytes, table: str, path: Path) -> list[str]:
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


VALUES = ("x", b"\xff\x00", -7, 1.5)


@pytest.mark.parametrize("table", TABLES)
def test_a_value_of_another_type_is_an_error_of_ours_wherever_it_stands(
    sound: bytes, path: Path, table: str
) -> None:
    taken = 0
    for column, value in zip(columns(sound, table, path), cycle(VALUES), strict=False):
        path.write_bytes(sound)
        one = f"{column} IS (SELECT {column} FROM {table} LIMIT 1)"
        statement = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {one}"
        # A primary key may take none but numbers.
        with lenient(path) as db, suppress(sqlite3.IntegrityError):
            taken += db.execute(statement, (value,)).rowcount > 0
        refused = used(path)
        assert_helpful(path, refused)
        assert "open" not in refused or "tables" not in str(refused["open"])
    assert taken or table == "migration"
