"""`ebbmem doctor` and `ebbmem repair` on the command line: what they say, and how they end."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from ebbmem import Draft, MemoryBank, health  # after the skip
from ebbmem.cli.doctor import NETWORK, file_system
from ebbmem.cli.run import run

Said = Callable[..., tuple[str, int]]


@pytest.fixture
def said(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """What a command prints, errors too, and its exit code; a file of three memories."""
    for name, value in {"EBBMEM_DB": str(file), "EBBMEM_EMBEDDER": "hashing"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("EBBMEM_NAMESPACE", raising=False)
    with MemoryBank.open(file, namespace="default", embedder="hashing") as bank:
        bank.remember_many([Draft(text=f"{id_} in the garden", id=id_) for id_ in "abc"])
        bank.erase("c")

    def call(*args: str) -> tuple[str, int]:
        capsys.readouterr()
        code = run(args)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return out + err, code

    return call


def document(said: Said, *args: str) -> Any:
    return json.loads(said(*args, "--json")[0])


def plant(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        for each in statements:
            db.execute(each)


def damage(file: Path) -> None:
    """Every page but the first two."""
    held = bytearray(file.read_bytes())
    held[8192:] = b"\xff" * (len(held) - 8192)
    file.write_bytes(held)


def test_a_sound_file_has_no_faults(said: Said) -> None:
    told, code = said("doctor")
    assert (told.splitlines()[-1], code) == ("no faults", 0)
    found = document(said, "doctor")
    assert (found["integrity"], found["unsound"], found["trails"]) == ("ok", {}, {})
    assert (found["memories"], found["vectors"], found["without_vectors"]) == (2, 2, 0)
    assert found["embedder"] == "hashing-256 (256)"
    assert found["bytes"] > 0


def test_a_fault_is_counted_with_what_to_do_and_fails(said: Said, file: Path) -> None:
    plant(file, "DELETE FROM state WHERE id = 'a'", "UPDATE namespace SET policy = ''")
    told, code = said("doctor")
    assert code == 1
    assert "fault: memories without a state: 1: `ebbmem repair`" in told
    assert "fault: policies that cannot be used: 1: `ebbmem repair`" in told
    assert len(document(said, "doctor")["faults"]) == 2


def test_repair_says_what_it_did_and_doctor_is_content(said: Said, file: Path) -> None:
    plant(file, "DELETE FROM state WHERE id = 'a'", "UPDATE vector SET vector = x'00'")
    told, code = said("repair")
    assert code == 0
    assert told.splitlines() == [
        "memories without a state: 1 made",
        "vectors that cannot be: 2 dropped",
        "embedded again: 2",
        f"as it was before: {file.with_name('memory.before-repair.db')}; "
        "remove it when all is well",
    ]
    assert said("doctor")[1] == 0
    assert said("repair") == ("nothing to mend\n", 0)
    assert "a in the garden" in said("recall", "a garden")[0]


def test_repair_makes_no_copy_if_told_so(said: Said, file: Path) -> None:
    plant(file, "DELETE FROM state WHERE id = 'a'")
    assert document(said, "repair", "--no-backup")["backup"] is None
    assert os.listdir(file.parent) == [file.name]


def test_a_file_of_damaged_pages_is_a_fault_and_no_traceback(said: Said, file: Path) -> None:
    damage(file)
    told, code = said("doctor")
    assert code == 1
    assert "fault: the file cannot be opened: is damaged" in told
    assert "`ebbmem repair`" in told
    told, code = said("repair")
    assert code == 1
    assert "go back to a backup" in told


def test_a_file_that_cannot_be_opened_is_a_fault(said: Said, file: Path) -> None:
    plant(file, "CREATE TABLE mine (x)")
    told, code = said("doctor")
    assert code == 1
    assert "fault: the file cannot be opened: its table 'mine' is not as ebbmem makes it" in told
    assert document(said, "doctor")["unreadable"].startswith("its table 'mine'")
    told, code = said("repair")
    assert code == 0
    assert told.splitlines()[0] == f"2 memories saved into {file.with_name('memory.salvaged.db')}"
    assert said("doctor", "--db", str(file.with_name("memory.salvaged.db")))[1] == 0


def test_what_is_no_database_is_a_fault(said: Said, file: Path) -> None:
    file.write_bytes(b"a letter to my sister" * 99)
    told, code = said("doctor")
    assert (code, "fault: the file cannot be opened: is not a database" in told) == (1, True)


def test_an_audit_trail_that_was_changed_is_a_fault(said: Said, file: Path) -> None:
    guard = (
        "CREATE TRIGGER audit_no_delete BEFORE delete ON audit BEGIN SELECT RAISE(ABORT, {}); END"
    )
    quoted = guard.format("'the audit trail is append-only'")
    plant(file, "DROP TRIGGER audit_no_delete", "DELETE FROM audit", quoted)
    told, code = said("doctor")
    assert code == 1
    assert 'fault: the audit trail of ["default"]: line 1 is missing' in told


def test_memories_without_vectors_are_a_note(said: Said, file: Path) -> None:
    plant(file, "DELETE FROM vector WHERE id = 'a'")
    told, code = said("doctor")
    assert code == 0
    assert "note: memories without vectors: 1" in told
    assert said("repair") == ("embedded again: 1\n", 0)
    assert document(said, "doctor")["without_vectors"] == 0


@pytest.mark.parametrize(("swept", "noted"), [(False, True), (True, False)])
def test_traces_of_what_was_removed_are_a_note(
    said: Said, monkeypatch: pytest.MonkeyPatch, swept: bool, noted: bool
) -> None:
    found = document(said, "doctor")
    monkeypatch.setattr(health, "diagnose", lambda path: {**found, "swept": swept})
    told = document(said, "doctor")
    assert any("traces of what was removed" in note for note in told["notes"]) is noted
    assert told["faults"] == []


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
tmpfs /home/local tmpfs rw 0 0
me@there: /mnt/far\\040away fuse.sshfs rw 0 0
broken
"""


@pytest.mark.skipif(os.name != "posix", reason="paths are of POSIX")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/memory.db", "ext4"),
        ("/home/a/memory.db", "nfs4"),
        ("/home/local/memory.db", "tmpfs"),
        ("/homes/memory.db", "ext4"),
        ("/mnt/far away/memory.db", "fuse.sshfs"),
    ],
)
def test_a_file_lies_on_the_innermost_mount(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_a_note(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ebbmem.cli.doctor.file_system", lambda path, mounts: "nfs4")
    assert "nfs4" in NETWORK
    found = document(said, "doctor")
    noted = any("keep it on a local disk" in note for note in found["notes"])
    assert noted is Path("/proc/mounts").exists()
    assert found["faults"] == []
