"""The audit trail and the receipts of erasures, on the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from ebbmem import Draft, MemoryBank  # after the skip
from ebbmem.cli.run import run
from ebbmem.clock import utc_now
from ebbmem.store import connection

Said = Callable[..., tuple[str, int]]


@pytest.fixture
def said(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """What a command prints, and its exit code; a file of a held and two plain memories."""
    for name, value in {"EBBMEM_DB": str(file), "EBBMEM_EMBEDDER": "none"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("EBBMEM_NAMESPACE", raising=False)
    with MemoryBank.open(file, namespace="default", embedder=None) as bank:
        past = utc_now() - timedelta(hours=1)
        bank.remember_many([Draft(text=f"tea {id_}", id=id_) for id_ in ("aaaa", "bbbb")])
        bank.remember("rain", id="held", at=past, expires_at=past + timedelta(minutes=1))
        bank.hold("held")

    def call(*args: str) -> tuple[str, int]:
        capsys.readouterr()
        code = run(args)
        return capsys.readouterr().out, code

    return call


def document(said: Said, *args: str) -> Any:
    return json.loads(said(*args, "--json")[0])


def tamper(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement)
        for _, made in guards:  # or the file would not be opened
            db.execute(made)


def test_the_trail_is_listed_without_a_text(said: Said) -> None:
    said("erase", "aaaa", "--yes")
    out, code = said("audit")
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines] == [
        ("1", "fade", "held"),
        ("2", "hold", "held"),
        ("3", "erase", "aaaa"),
    ]
    assert "tea" not in out


def test_a_trail_of_nothing_says_so(said: Said) -> None:
    assert said("audit", "-n", "nobody") == ("nothing was done yet\n", 0)


def test_a_sound_trail_ends_with_its_head(said: Said) -> None:
    done = document(said, "erase", "aaaa", "--yes")
    out, code = said("audit", "verify")
    assert (out.splitlines()[-1], code) == (f"head {done['head']}", 0)
    assert said("audit", "verify", "--head", done["head"])[1] == 0
    checked = document(said, "audit", "verify")
    assert (checked["ok"], checked["length"], checked["fault_at"]) == (True, 3, None)


def test_a_line_that_was_changed_is_an_exit_code_and_a_place(said: Said, file: Path) -> None:
    said("erase", "aaaa", "--yes")
    tamper(file, "UPDATE audit SET id = 'bbbb' WHERE number = 3")
    out, code = said("audit", "verify")
    assert (out, code) == ("fault: line 3 is not the line that was written here\n", 1)
    assert document(said, "audit", "verify")["fault_at"] == 3


def test_a_head_of_another_trail_is_an_exit_code(said: Said) -> None:
    out, code = said("audit", "verify", "--head", "ab" * 32)
    assert code == 1
    assert out.startswith("fault: ")
    assert said("audit", "verify", "--head", "short")[1] == 1


def test_erasing_gives_a_receipt(said: Said) -> None:
    done = document(said, "erase", "aaaa", "bbbb", "--yes")
    assert (done["erased"], done["ids"], done["complete"]) == (2, ["aaaa", "bbbb"], True)
    assert "tea" not in json.dumps(done)


def test_erasing_what_has_ended_names_what_is_held(said: Said) -> None:
    out, code = said("erase", "--expired", "--yes")
    assert (out, code) == ("0 erased\n   held is under legal hold and stays\n", 0)


def test_one_way_to_choose_what_is_erased(said: Said) -> None:
    for args in ((), ("aaaa", "--all"), ("aaaa", "--expired"), ("--all", "--expired")):
        assert said("erase", *args, "--yes")[1] == 2


def test_traces_that_a_reader_keeps_are_told_and_cleared_by_a_pass(
    said: Said, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SWEEP_SECONDS", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchone()
        out, code = said("erase", "aaaa", "--yes")
        assert (out.splitlines()[0], code) == ("1 erased", 0)
        assert "somebody is reading the file" in out
        assert document(said, "doctor")["swept"] is False
        assert any("traces" in note for note in document(said, "doctor")["notes"])
    said("prune")
    assert document(said, "doctor")["swept"] is True
    assert not any("traces" in note for note in document(said, "doctor")["notes"])
