"""A file of the first schema opens, keeps everything, and can do what is new."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import struct
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import AT, OpenBank
from ebbmem import MemoryBank, Policy, StoreError
from ebbmem.clock import DAY, to_micros
from ebbmem.store import SQLiteStore, schema
from ebbmem.store.schema import APPLICATION_ID, MIGRATIONS
from ebbmem.testing import ManualClock, TableEmbedder

NS = '["u1"]'
T0 = to_micros(AT)
TABLE = {"green tea": [1.0, 0.0], "cold rain": [0.0, 1.0], "old cup": [0.6, 0.8]}
POLICY = {"fade_below": 0.04, "timeline": "wall", "categories": {"recipe": [0.02, 0.4, 0.7]}}


def digest(text: str) -> bytes:
    """As the first schema had it, written out."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def a_first_file(file: Path) -> None:
    """Three memories with vectors, a link, an audit: written by hand, as the first release did."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(
            "CREATE TABLE migration "
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL) STRICT"
        )
        name, statements = MIGRATIONS[0]
        for statement in statements:
            db.execute(statement)
        db.execute("INSERT INTO migration VALUES (1, ?, '2026-01-01')", (name,))
        db.execute("PRAGMA user_version = 1")
        days = struct.pack("<1i", T0 // DAY)
        db.execute("INSERT INTO namespace VALUES (?, 3, 0, ?, ?, ?)",
                   (NS, json.dumps(POLICY), days, T0))  # fmt: skip
        memories = [
            ("m1", "green tea", "fact", 0.5, "chat", 0, "Ann", T0, '{"n": 1}'),
            ("m2", "cold rain", "recipe", 0.9, "chat", 1, None, T0 + 1, "{}"),
            ("m3", "old cup", "failure", 0.4, None, None, None, T0 - DAY, "{}"),
        ]
        for id_, text, *rest in memories:
            db.execute("INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       (NS, id_, digest(text), text, *rest))  # fmt: skip
        states = [
            ("m1", 1, 1, T0 + 60, 2, T0 + 30 * DAY, "active", None, 0, 1),
            ("m2", 2, 2, None, 0, None, "active", None, 1, 0),
            ("m3", 3, 3, None, 0, None, "faded", T0 - 60, 0, 0),
            ("gone", 3, 3, None, 0, None, "gone", T0, 0, 0),
        ]
        for state in states:
            marks = ", ".join("?" * 11)
            db.execute(f"INSERT INTO state VALUES ({marks})", (NS, *state))
        db.execute("INSERT INTO embedder VALUES (1, ?, 2, 0, NULL, 1)",
                   ("langchain:TableEmbedder:table",))  # fmt: skip
        for id_, text, *_ in memories:
            row = np.array(TABLE[text], "<f4").tobytes()
            db.execute("INSERT INTO vector VALUES (?, ?, 1, 0, 0, ?, ?, NULL, NULL)",
                       (NS, id_, len(text), row))  # fmt: skip
        db.execute("INSERT INTO link VALUES (?, 'm1', 'm2', 0.5)", (NS,))
        db.execute("INSERT INTO audit VALUES (1, ?, ?, 'fade', 'm3')", (NS, T0 - 60))


@pytest.fixture
def first(file: Path) -> Path:
    a_first_file(file)
    return file


@pytest.fixture
def bank(first: Path, open_bank: OpenBank) -> MemoryBank:
    return open_bank(embedder=TableEmbedder(TABLE, default=[0.8, 0.6]))


def test_it_opens_and_every_record_is_as_it_was(bank: MemoryBank) -> None:
    found = {each.id: each for each in bank.list(include_faded=True)}
    assert list(found) == ["m3", "m1", "m2"]
    for each in found.values():
        assert (each.keyed, each.searchable, each.expires_at) == (False, True, None)
    tea = found["m1"]
    assert (tea.text, tea.source, tea.position, tea.speaker) == ("green tea", "chat", 0, "Ann")
    assert (tea.importance, tea.metadata, tea.recall_count, tea.held) == (0.5, {"n": 1}, 2, True)
    assert tea.last_reinforced_at == AT + timedelta(microseconds=60)
    assert (found["m2"].category, found["m2"].pinned) == ("recipe", True)
    assert (found["m3"].status, found["m3"].faded_at) == ("faded", AT - timedelta(microseconds=60))


def test_its_policy_links_audit_vectors_and_days_are_as_they_were(bank: MemoryBank) -> None:
    assert bank.policy.fade_below == 0.04
    assert bank.policy.category("recipe").base_rate == 0.02
    assert bank._store.links(("u1",)) == [("m1", "m2", 0.5)]
    assert [(line.action, line.id) for line in bank.audit()] == [("fade", "m3")]
    assert {id_: row.tolist() for id_, row in bank.vectors(["m1", "m2", "m3"]).items()} == {
        "m1": [1.0, 0.0],
        "m2": [0.0, 1.0],
        "m3": pytest.approx([0.6, 0.8]),
    }
    assert bank._store.changes(("u1",), 0).active_days == (T0 // DAY,)
    assert [hit.memory.id for hit in bank.recall("green tea", k=1)] == ["m1"]


def test_the_same_text_is_known_again_by_what_the_first_schema_wrote(bank: MemoryBank) -> None:
    assert bank.remember("green tea").id == "m1"
    assert bank.remember("old cup").id == "m3"
    assert len(bank.list(include_faded=True)) == 3


def test_what_is_new_works_on_it(bank: MemoryBank, clock: ManualClock) -> None:
    keyed = bank.remember("green tea", id="k", keyed=True)
    assert keyed.id == "k"
    assert bank.remember("cold rain", id="k", keyed=True).text == "cold rain"
    bank.remember("old cup", id="quiet", keyed=True, searchable=False)
    hits = bank.recall("cup", min_similarity=-1, reinforce=False)
    assert "quiet" not in {hit.memory.id for hit in hits}
    [ending] = bank.expire("m2", AT + timedelta(hours=1))
    assert ending.fades_at == AT + timedelta(hours=1)
    clock.advance(hours=1)
    assert "m2" not in {each.id for each in bank.list()}
    assert [each.id for each in bank.list(where={"n": {"$lte": 1}})] == ["m1"]


def test_it_goes_out_and_comes_in_as_the_second_version(bank: MemoryBank) -> None:
    out = io.StringIO()
    assert bank.export_jsonl(out) == 3
    other = bank.at("u2", policy=bank.policy)
    other.import_file(io.StringIO(out.getvalue()))
    mine, theirs = (each.list(include_faded=True) for each in (bank, other))
    assert [each.text for each in mine] == [each.text for each in theirs]


def test_the_migration_is_recorded_once(first: Path) -> None:
    for _ in range(2):
        SQLiteStore(str(first)).close()
        with closing(sqlite3.connect(first)) as db:
            rows = db.execute("SELECT number, name FROM migration ORDER BY number").fetchall()
            version = db.execute("PRAGMA user_version").fetchone()
        assert rows == [(number, name) for number, (name, _) in enumerate(MIGRATIONS, 1)]
        assert version == (len(MIGRATIONS),)


def columns(file: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(file)) as db:
        return {
            table: [row[1:5] for row in db.execute(f"PRAGMA table_info({table})")]
            for table in ("namespace", "memory", "state", "vector", "link", "embedder", "audit")
        }


def test_a_migrated_file_has_the_tables_of_a_new_one(first: Path, tmp_path: Path) -> None:
    SQLiteStore(str(first)).close()
    SQLiteStore(str(tmp_path / "new.db")).close()
    assert columns(first) == columns(tmp_path / "new.db")


def test_a_migration_that_fails_leaves_the_first_schema(
    first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, statements = MIGRATIONS[1]
    broken = (MIGRATIONS[0], (name, (*statements, "NO SUCH STATEMENT")))
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", broken)
        before = columns(first)
        with pytest.raises(StoreError):
            SQLiteStore(str(first))
        assert columns(first) == before
    store = SQLiteStore(str(first))
    assert store.count() == 3
    store.close()


def test_a_policy_that_was_stored_is_not_replaced_by_opening(bank: MemoryBank) -> None:
    info = bank._store.info(("u1",))
    assert info is not None
    assert Policy.from_json(info.policy) == bank.policy
