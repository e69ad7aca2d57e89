"""Is the file sound, and is what lies under it?"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import typer

from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import program
from ebbmem.store.driver import wal_reset_affected

__all__ = ["NETWORK", "doctor", "file_system"]

NETWORK = frozenset({"9p", "cifs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs"})
"""File systems that do not lock as SQLite needs it."""


@command("doctor")
def doctor(shell: Shell) -> None:
    """Look for faults in the file and its engine."""
    from ebbmem.health import diagnose  # heavy; --help needs none of it

    out = shell.output
    with out.waiting("examining"):
        found = diagnose(shell.file())
    found |= _around(Path(str(found["path"])))
    notes, faults = _notes(found), _faults(found)
    document: dict[str, Any] = {**found, "notes": notes, "faults": faults}

    def show() -> None:
        plain = {name: value for name, value in found.items() if not isinstance(value, dict)}
        out.pairs((name.replace("_", " "), value) for name, value in plain.items())
        for each in notes:
            out.line(f"note: {each}", style="yellow")
        for each in faults:
            out.line(f"fault: {each}", style="red")
        if not faults:
            out.line("no faults", style="green")

    out.result(document, show)
    if faults:
        raise typer.Exit(1)


def _around(path: Path) -> dict[str, object]:
    """Who may read the file, and what it lies on."""
    found: dict[str, object] = {}
    with suppress(OSError):
        found["permissions"] = f"{stat.S_IMODE(path.stat().st_mode):04o}"
        mounts = Path("/proc/mounts").read_text("utf-8", "replace")  # there on Linux alone
        if kind := file_system(path, mounts):
            found["file_system"] = kind
    return found


def file_system(path: Path, mounts: str) -> str | None:
    """The kind of file system that a path lies on, by the lines of /proc/mounts."""
    best, kind = -1, None
    real = Path(os.path.realpath(path))
    for line in mounts.splitlines():
        _, place, name, *_ = [*line.split(" "), "", "", ""]
        where = Path(place.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if len(where.parts) >= best and real.is_relative_to(where):  # the later one lies on top
            best, kind = len(where.parts), name
    return kind


def _notes(found: Mapping[str, object]) -> list[str]:
    """What is no fault of the file, and what to do about it."""
    notes, version = [], str(found.get("engine_version", ""))
    if wal_reset_affected(version):
        notes.append(
            f"SQLite {version} can damage a file when two processes write at one instant "
            "(the WAL-reset bug, rare); 3.51.3 repairs it, and so do 3.50.7 and 3.44.6: "
            "pip install 'ebbmem[sqlite]' brings one"
        )
    if not found.get("swept", True):
        notes.append(
            "traces of what was removed may still be in the file; "
            f"`{program()} prune` clears them once no other program reads it"
        )
    if found.get("without_vectors"):
        notes.append(
            f"memories without vectors: {found['without_vectors']}, found by words alone; "
            f"`{program()} repair` embeds them with a built-in embedder, else reembed()"
        )
    if found.get("file_system") in NETWORK:
        notes.append(
            f"the file lies on a network file system ({found['file_system']}), where two "
            "processes can damage it: keep it on a local disk"
        )
    if int(str(found.get("permissions", "0")), 8) & 0o077:
        notes.append(f"other users may open the file: chmod 600 {found['path']}")
    return notes


def _faults(found: Mapping[str, object]) -> list[str]:
    """What is wrong with the file, and what to do about it."""
    saving = f"`{program()} repair` mends it, or saves what can be read into a new file"
    faults = []
    if "unreadable" in found:
        reason = str(found["unreadable"]).partition(";")[0]  # behind it stands what to do, too
        faults.append(f"the file cannot be opened: {reason}: {saving}")
    if (integrity := found.get("integrity", "ok")) != "ok":
        faults.append(f"the file is damaged: {integrity}: {saving}")
    unsound = cast("Mapping[str, int]", found.get("unsound", {}))
    faults += [f"{kind}: {count}: `{program()} repair`" for kind, count in unsound.items()]
    trails = cast("Mapping[str, str]", found.get("trails", {}))
    faults += [
        f"the audit trail of {name}: {reason}: nothing mends a trail; from there on it proves "
        "nothing, a backup may have the true one"
        for name, reason in trails.items()
    ]
    return faults
