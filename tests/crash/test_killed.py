"""Writers are killed at random moments, and what they were told is kept is there."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ebbmem import MemoryBank
from ebbmem.store.driver import driver

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _harness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.mark.parametrize(("kills", "durability"), [(12, "normal"), (3, "full")])
def test_kills_lose_nothing_and_leave_nothing_torn(kills: int, durability: str) -> None:
    command = [sys.executable, "benchmarks/crash.py", "--kills", str(kills), "--writes", "200"]
    command += ["--calls", "15", "--seed", "3", "--durability", durability, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert (told["lost"], told["torn"], told["faults"]) == (0, 0, [])
    assert told["kills"] >= kills
    assert told["acknowledged"] >= 200
    assert done.returncode == 0


@pytest.mark.parametrize("moment", ["creating", "migrating", "reembedding"])
def test_a_file_survives_kills_at_other_moments_than_writing(moment: str, tmp_path: Path) -> None:
    play = getattr(importlib.import_module("crash_moments"), moment)
    assert play(tmp_path, random.Random(5)) == []


# -- the harness sees what it is there for -------------------------------------------------------


@dataclass
class Scene:
    """A file, what was acknowledged of it, and a bank that stays open."""

    file: Path
    known: Any
    observer: MemoryBank

    def do(self, kind: str, ids: list[str], **more: Any) -> dict[str, Any]:
        """A call of a writer, and its acknowledgement."""
        call = {"kind": kind, "writer": 0, "ids": ids, **more}
        importlib.import_module("crash_writer").DO[kind](self.observer, call, self.file)
        self.known.done(call)
        return call

    def faults(self) -> set[str]:
        check = importlib.import_module("crash_known").check
        return {each.kind for each in check(self.file, self.known, self.observer)[0]}

    def sql(self, *statements: str) -> None:
        with closing(driver().connect(str(self.file), wait=10.0)) as db:
            for each in statements:
                db.execute(each)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """One of everything that writers do."""
    file = tmp_path / "memory.db"
    known = importlib.import_module("crash_known").Known()
    with importlib.import_module("crash_writer").opened(file) as observer:
        made = Scene(file, known, observer)
        made.do("remember", ["w0-a", "w0-b", "w0-c", "w0-d"])
        made.do("import", ["w0-e", "w0-f", "w0-g"])
        made.do("update", ["w0-b"], version=4)
        made.do("link", ["w0-a", "w0-b"], weight=0.5)
        made.do("reinforce", ["w0-a", "w0-b"])
        made.do("recall", ["w0-c"])
        made.do("pin", ["w0-c"])
        made.do("forget", ["w0-e"])
        made.do("expire", ["w0-f"])
        made.do("prune", [])
        made.do("expire", ["w0-g"])
        made.do("erase", ["w0-d"])
        made.do("export", [])
        made.do("backup", [])
        yield made


def under_way(scene: Scene, kind: str, ids: list[str], **more: Any) -> None:
    scene.known.under_way.append({"kind": kind, "writer": 0, "ids": ids, **more})


def test_what_is_as_acknowledged_has_no_fault(scene: Scene) -> None:
    assert scene.faults() == set()
    assert {each.status for each in scene.known.kept.values()} == {"active", "ending", "faded"}


def test_a_call_under_way_may_be_there_or_not(scene: Scene) -> None:
    under_way(scene, "remember", ["w0-x", "w0-y"])
    under_way(scene, "pin", ["w0-c", "w0-a"])  # one was pinned before
    under_way(scene, "update", ["w0-a"], version=9)
    under_way(scene, "link", ["w0-a", "w0-c"], weight=1.0)
    assert scene.faults() == set()
    scene.do("pin", ["w0-a"])
    scene.known.kept["w0-a"].pinned = False
    under_way(scene, "pin", ["w0-c", "w0-a"])
    assert scene.faults() == set()
    assert scene.known.kept["w0-a"].pinned


def set_kept(id_: str, **values: object) -> Callable[[Scene], None]:
    def harm(scene: Scene) -> None:
        for name, value in values.items():
            setattr(scene.known.kept[id_], name, value)

    return harm


def sql(*statements: str) -> Callable[[Scene], None]:
    return lambda scene: scene.sql(*statements)


def leave(name: str, text: str = "") -> Callable[[Scene], None]:
    def harm(scene: Scene) -> None:
        scene.file.with_name(name).write_text(text)

    return harm


HARMS: list[tuple[Callable[[Scene], object], str]] = [
    (lambda scene: scene.known.done({"kind": "remember", "ids": ["w0-x"]}), "lost"),
    (lambda scene: scene.known.used.update(["w0-a"]), "lost count"),
    (lambda scene: scene.known.used.subtract(["w0-a"]), "from nowhere"),
    (lambda scene: scene.known.kept.pop("w0-a"), "from nowhere"),
    (lambda scene: scene.known.erased.add("w0-a"), "came back"),
    (lambda scene: scene.known.links.clear(), "from nowhere"),
    (lambda scene: under_way(scene, "remember", ["w0-a", "w0-x"]), "torn"),
    (lambda scene: under_way(scene, "forget", ["w0-a", "w0-e"]), "torn"),
    (lambda scene: under_way(scene, "erase", ["w0-a", "w0-d"]), "torn"),
    (set_kept("w0-a", version=1), "wrong text"),
    (set_kept("w0-a", version=1), "wrong vector"),
    (set_kept("w0-a", pinned=True), "lost state"),
    (set_kept("w0-a", status="faded"), "lost state"),
    (set_kept("w0-a", status="ending"), "lost state"),
    (leave("memory.db.tmp1"), "left behind"),
    (leave("out.jsonl", "{}"), "torn"),
    (leave("copy-0.db", 4096 * "x"), "damaged"),
    (sql("DELETE FROM link"), "lost link"),
    (sql("DELETE FROM vector WHERE id = 'w0-b'"), "lost vector"),
    (sql("UPDATE vector SET vector = zeroblob(32) WHERE id = 'w0-b'"), "lost vector"),
    (sql("UPDATE state SET recall_count = 7 WHERE id = 'w0-a'"), "derived state differs"),
    (sql("UPDATE state SET fades_at = 1, pinned = 1 WHERE id = 'w0-a'"), "derived state differs"),
    (sql("DROP TRIGGER audit_no_update", "UPDATE audit SET at = 1"), "damaged"),
]


@pytest.mark.parametrize(("harm", "kind"), HARMS)
def test_what_is_not_as_acknowledged_is_found(
    scene: Scene, harm: Callable[[Scene], object], kind: str
) -> None:
    harm(scene)
    assert kind in scene.faults()


def test_what_a_killed_export_left_goes_with_the_next(scene: Scene) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    for name in (".out.jsonl", ".copy-0.db", ".copy-2.db"):
        scene.file.with_name(f"{name}.{done.pid}-1a2b.partial").touch()
    left = importlib.import_module("crash_known").check_leftovers
    assert list(left(scene.file, 3)) == []
    scene.file.with_name(".other.partial").touch()
    assert [each.what for each in left(scene.file, 3)] == [".other.partial"]
