"""Writers are killed at random moments, and what they were told is kept is there."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ebbmem import Draft, MemoryBank

ROOT = Path(__file__).parents[2]


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import crash

    return crash


def test_twelve_kills_lose_nothing_and_leave_nothing_torn() -> None:
    command = [sys.executable, "benchmarks/crash.py", "--kills", "12", "--writes", "200"]
    command += ["--calls", "15", "--seed", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert (told["lost"], told["torn"], told["faults"]) == (0, 0, [])
    assert told["kills"] >= 12
    assert told["acknowledged"] >= 200
    assert done.returncode == 0


def test_an_embedder_that_is_changed_under_kills_loses_no_text_and_no_vector(
    crash: ModuleType, tmp_path: Path
) -> None:
    assert crash.reembedding(tmp_path, random.Random(5)) == []


def test_files_of_every_older_shape_survive_kills_while_they_are_migrated(
    crash: ModuleType, tmp_path: Path
) -> None:
    assert crash.migrating(tmp_path, random.Random(5)) == []


# -- the harness sees what it is there for -------------------------------------------------------


@pytest.fixture
def kept(crash: ModuleType, tmp_path: Path) -> Iterator[tuple[Path, Any, MemoryBank]]:
    """A file, what was acknowledged of it, and a bank that stays open."""
    file, known = tmp_path / "memory.db", crash.Known()
    with crash.opened(file) as observer:
        for id_ in ("a", "b", "c", "d"):
            observer.remember_many([Draft(text=crash.text_of(id_), id=id_)])
            known.done({"kind": "remember", "ids": [id_]})
        observer.link("a", "b")
        known.done({"kind": "link", "ids": ["a", "b"]})
        observer.erase("d")
        known.done({"kind": "erase", "ids": ["d"]})
        assert crash.check(file, known, crash.Directions(), observer) == []
        yield file, known, observer


def sql(*statements: str) -> Callable[[Path, Any], None]:
    def do(file: Path, known: Any) -> None:
        with closing(sqlite3.connect(file)) as db:
            for each in statements:
                db.execute(each)
            db.commit()

    return do


def leave_a_file(file: Path, known: Any) -> None:
    file.with_name("memory.db.tmp1").write_text("")


def half_a_batch(file: Path, known: Any) -> None:
    known.under_way.append({"kind": "remember", "ids": ["a", "x"]})


def a_use_more(file: Path, known: Any) -> None:
    known.counts["a"] += 1


def one_more(file: Path, known: Any) -> None:
    known.version["x"] = 0


def come_back(file: Path, known: Any) -> None:
    known.erased.add("a")


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (one_more, "lost"),
        (a_use_more, "lost count"),
        (come_back, "came back"),
        (half_a_batch, "torn"),
        (leave_a_file, "left behind"),
        (sql("DELETE FROM link"), "lost link"),
        (sql("UPDATE state SET recall_count = 7 WHERE id = 'a'"), "derived state differs"),
        (sql("UPDATE vector SET vector = zeroblob(32) WHERE id = 'b'"), "wrong vector"),
    ],
)
def test_what_is_not_as_acknowledged_is_found(
    crash: ModuleType,
    kept: tuple[Path, Any, MemoryBank],
    harm: Callable[[Path, Any], None],
    kind: str,
) -> None:
    file, known, observer = kept
    harm(file, known)
    assert kind in {each.kind for each in crash.check(file, known, crash.Directions(), observer)}
