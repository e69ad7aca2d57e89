"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ebbmem import whole
from ebbmem.whole import appearing, passing


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def ended_process() -> int:
    """The number of a process that is over."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_it_appears_at_the_end_and_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with appearing(target) as partial:
        partial.write_text("half")
        assert not target.exists()
        partial.write_text("whole")
    assert (names(tmp_path), target.read_text()) == (["out.txt"], "whole")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_one_that_passes_is_private_and_gone_with_its_journals(tmp_path: Path) -> None:
    with passing(tmp_path / "out.db") as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600 or os.name != "posix"
        partial.with_name(f"{partial.name}-wal").touch()
    assert names(tmp_path) == []


def test_what_stood_there_stays_if_the_block_fails(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("before")
    with pytest.raises(ZeroDivisionError), appearing(target) as partial:
        partial.write_text(str(1 / 0))
    assert (names(tmp_path), target.read_text()) == (["out.txt"], "before")


@pytest.mark.skipif(os.name != "posix", reason="whether a process lives is not asked elsewhere")
def test_what_dead_processes_left_goes_and_what_others_work_on_stays(tmp_path: Path) -> None:
    dead, target = ended_process(), tmp_path / "out.txt"
    left = [f".out.txt.{dead}-0.partial", f".out.txt.{dead}-7.partial-journal"]
    others = [
        f".out.txt.{os.getppid()}-0.partial",  # somebody is at it
        f".out.txt.bak.{dead}-0.partial",  # of another file
        f"x.out.txt.{dead}-0.partial",
        f".out.txt.{dead}-0.partial.mine",
    ]
    for name in (*left, *others):
        (tmp_path / name).touch()
    with appearing(target) as partial:
        partial.write_text("whole")
    assert names(tmp_path) == sorted(["out.txt", *others])


def test_two_at_once_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with appearing(target) as first, appearing(target) as second:
        first.write_text("first")
        second.write_text("second")
    assert (names(tmp_path), target.read_text()) == (["out.txt"], "first")  # the last to end


def test_a_folder_that_does_not_exist_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), appearing(tmp_path / "nowhere" / "out.txt"):
        pass


def test_what_a_process_of_somebody_else_fills_is_filled() -> None:
    assert whole._is_filled("", 1)
    assert not whole._is_filled("", os.getpid())  # by this one, which knows its own
    assert not whole._is_filled("", ended_process())


def test_the_journal_of_a_database_that_was_filled_goes_with_it(tmp_path: Path) -> None:
    def fill() -> None:
        with appearing(tmp_path / "out.db") as partial:
            partial.with_name(f"{partial.name}-journal").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill()
    assert names(tmp_path) == []


def test_what_could_not_be_removed_goes_with_the_next_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.txt"

    def refuse(path: object) -> None:
        raise PermissionError(path)

    with monkeypatch.context() as broken:
        broken.setattr(os, "unlink", refuse)
        with pytest.raises(KeyError), appearing(target):
            raise KeyError
    assert len(names(tmp_path)) == 1
    with appearing(target) as partial:
        partial.write_text("whole")
    assert names(tmp_path) == ["out.txt"]


def test_a_folder_that_cannot_be_waited_for_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = whole._settle

    def settle(path: Path) -> None:
        if path.is_dir():
            raise OSError(22, "not supported")
        real(path)

    monkeypatch.setattr(whole, "_settle", settle)
    with appearing(tmp_path / "out.txt") as partial:
        partial.write_text("whole")
    assert names(tmp_path) == ["out.txt"]
