"""The walk over operations in a process whose C library fails as `crash_shim.c` is told.

Prints as JSON how many file operations failed, by operation.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys
from pathlib import Path

from crash_kit import dump
from crash_operations import OPERATIONS
from crash_walk import Room, plant_folder, walk


class Shim:
    """See `crash_walk.Breaking`; kinds are names of errors, with "lasting" behind or not."""

    def __init__(self, folder: Path) -> None:
        self._shim = ctypes.CDLL(None)
        self._shim.shim_last.restype = ctypes.c_char_p
        self._folder = os.fsencode(folder)

    @property
    def fired(self) -> list[str]:
        return [self._shim.shim_last().decode()] * int(self._shim.shim_fired())

    def arm(self, at: int | None, kind: str = "") -> None:
        name, _, lasting = kind.partition(" ")
        number = getattr(errno, name) if name else 0
        self._shim.shim_arm(self._folder, ctypes.c_long(at or 0), number, int(bool(lasting)))


def main(folder: Path, kind: str, names: list[str]) -> dict[str, int]:
    """Walk over the operations of these names."""
    (folder / "planted").mkdir()
    (folder / "copies").mkdir()
    room = Room(plant_folder(folder / "planted"), folder / "copies")
    shim = Shim(folder / "copies")
    failed = {}
    for operation in OPERATIONS:
        if operation.name in names:
            bank, made = room.fresh(maintain=operation.maintain)
            before = dump(made / "memory.db")
            operation.call(bank, made)
            after = dump(made / "memory.db")
            bank.close()
            states = [before] if before == after else [before, after]
            failed[operation.name] = walk(room, operation, shim, kind, states)
    return failed


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])))
