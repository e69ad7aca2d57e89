"""Is the file sound, and is what lies under it?"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import typer

from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import program
from ebbmem.store.driver import wal_reset_affected

__all__ = ["doctor"]


@command("doctor")
def doctor(shell: Shell) -> None:
    """Look for faults in the file and its engine."""
    with shell.bank() as bank:
        found = dict(bank.diagnose())
    notes, faults = _judge(found)
    document: dict[str, Any] = {**found, "notes": notes, "faults": faults}
    out = shell.output

    def show() -> None:
        out.pairs((name.replace("_", " "), value) for name, value in found.items())
        for each in notes:
            out.line(f"note: {each}", style="yellow")
        for each in faults:
            out.line(f"fault: {each}", style="red")
        if not faults:
            out.line("no faults", style="green")

    out.result(document, show)
    if faults:
        raise typer.Exit(1)


def _judge(found: dict[str, Any]) -> tuple[list[str], list[str]]:
    """(notes, faults); adds the permissions of the file to what was found."""
    notes, faults = [], []
    version = str(found.get("engine_version", ""))
    if wal_reset_affected(version):
        notes.append(
            f"SQLite {version} can damage a file when two processes write at one instant "
            "(the WAL-reset bug, rare); 3.51.3 repairs it, and so do 3.50.7 and 3.44.6"
        )
    if found.get("integrity") != "ok":
        faults.append(f"the file is damaged: {found.get('integrity')}")
    if not found.get("swept", True):
        notes.append(
            "traces of what was removed may still be in the file; "
            f"`{program()} prune` clears them once no other program reads it"
        )
    path = Path(str(found.get("path", "")))
    if path.is_file():
        mode = stat.S_IMODE(path.stat().st_mode)
        found["permissions"] = f"{mode:04o}"
        if mode & 0o077:
            notes.append(f"other users may open the file: chmod 600 {path}")
    return notes, faults
