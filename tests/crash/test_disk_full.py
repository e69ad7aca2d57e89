"""A disk that is really full, and permission that is really lost."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from builders import OpenBank
from crash_kit import Directions, assert_derived, dump, is_swept
from ebbmem import InvalidInput, MemoryBank, StoreFull, StoreReadOnly

ROOT = Path(__file__).parents[2]
BESIDE = os.pathsep.join((str(ROOT / "tests"), str(ROOT / "benchmarks")))


def test_a_file_that_may_not_grow_keeps_what_it_has_and_takes_more_when_it_may(
    file: Path, open_bank: OpenBank
) -> None:
    bank = open_bank(embedder=Directions())
    bank.remember("tea", id="tea")
    db = bank._store.connection._db  # type: ignore[attr-defined]
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    before = dump(file)
    with pytest.raises(StoreFull) as told:
        bank.remember_many([f"{number} " + "long " * 500 for number in range(50)])
    assert told.value.path == str(file)
    assert dump(file) == before
    assert_derived(bank)
    assert [each.memory.id for each in bank.recall("tea")] == ["tea"]
    db.execute(f"PRAGMA max_page_count = {2**30}").fetchall()
    bank.remember_many([f"{number} " + "long " * 500 for number in range(50)])
    assert len(bank.list()) == 51
    assert_derived(bank)


def test_erasing_needs_room_for_a_moment_and_waits_for_it(file: Path, open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many([f"{number} " + "long " * 500 for number in range(50)])
    connection = bank._store.connection  # type: ignore[attr-defined]
    connection._db.execute("PRAGMA max_page_count = 1").fetchall()  # it takes what there is
    receipt = bank.erase([each.id for each in bank.list()[:25]])
    assert len(receipt.ids) == 25
    bank.close()
    assert is_swept(file)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_as_such_when_a_file_is_made(
    file: Path, open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    bank = open_bank(path=file.with_name("other.db"))

    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(StoreFull) as told:
            open_bank()
        with pytest.raises(StoreFull) as copied:
            bank.backup(file.with_name("copy.db"))
    assert (told.value.path, copied.value.path) == (str(file), str(file.with_name("copy.db")))
    assert open_bank().list() == []
    bank.backup(file.with_name("copy.db"))


FULL = """
    import json, resource, signal, sys
    from pathlib import Path
    import ebbmem
    from crash_kit import dump, assert_derived
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    file = Path(sys.argv[1])
    log = {"errors": [], "kept": 0}
    bank = ebbmem.MemoryBank.open(file, namespace="u1", embedder=None)
    bank.remember("first", id="first")
    before = dump(file)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
    def attempt(call):
        try:
            call()
            log["kept"] += 1
        except ebbmem.EbbmemError as error:
            log["errors"].append([type(error).__name__, str(error)])
    long = [f"{n} " + "long " * 1000 for n in range(100)]
    attempt(lambda: bank.remember_many(long))
    same = dump(file) == before
    attempt(lambda: bank.export_jsonl(file.with_name("out.jsonl")))
    attempt(lambda: bank.backup(file.with_name("copy.db")))
    log["same"] = same
    assert_derived(bank)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    bank.remember_many(long)
    bank.backup(file.with_name("copy.db"))
    assert_derived(bank)
    bank.close()
    log["there"] = sorted(each.name for each in file.parent.iterdir())
    print(json.dumps(log))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_disk_that_is_full_for_a_while_costs_nothing_that_was_kept(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), str(file), "8192"],
        env={**os.environ, "PYTHONPATH": BESIDE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["same"]
    failed = [text.partition(": ")[0] for _, text in told["errors"]]
    assert failed == [str(file), str(file.with_name("copy.db"))]
    assert told["there"] == ["copy.db", "memory.db", "out.jsonl"]
    with MemoryBank.open(file, namespace="u1", embedder=None) as bank:
        assert len(bank.list()) == 101


# -- permissions ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("bound")
def test_a_file_without_permission_is_refused_by_name_and_opens_with_it(
    file: Path, open_bank: OpenBank
) -> None:
    with open_bank() as bank:
        bank.remember("tea")
    before = file.read_bytes()
    file.chmod(0o000)
    with pytest.raises(StoreReadOnly) as told:
        open_bank()
    file.chmod(0o600)
    assert told.value.path == str(file)
    assert file.read_bytes() == before
    assert [each.text for each in open_bank().list()] == ["tea"]


@pytest.mark.usefixtures("bound")
def test_a_folder_without_permission_takes_no_export_and_no_backup(
    file: Path, open_bank: OpenBank
) -> None:
    bank = open_bank()
    bank.remember("tea")
    closed = file.parent / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(InvalidInput, match=r"out\.jsonl"):
        bank.export_jsonl(closed / "out.jsonl")
    with pytest.raises(StoreReadOnly, match=r"copy\.db"):
        bank.backup(closed / "copy.db")
    assert list(closed.iterdir()) == []
    closed.chmod(0o700)
    bank.export_jsonl(closed / "out.jsonl")
    bank.backup(closed / "copy.db")


@pytest.mark.usefixtures("bound")
def test_permission_that_is_lost_while_a_file_is_open_is_lost_for_the_next_who_opens_it(
    file: Path, open_bank: OpenBank
) -> None:
    bank = open_bank()
    bank.remember("tea")
    file.chmod(0o400)
    bank.remember("milk")  # a file that is open stays so
    bank.close()
    with pytest.raises(StoreReadOnly) as told:
        open_bank().remember("water")
    assert told.value.path == str(file)
    file.chmod(0o600)
    assert {each.text for each in open_bank().list()} == {"tea", "milk"}
