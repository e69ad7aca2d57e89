"""Each statement of each operation fails in turn: what is kept is as before, or as after."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash_faults import KINDS, Faults, Kind, faults
from crash_kit import Dump, dump
from crash_operations import ELSEWHERE, OPERATIONS, READS, Operation
from crash_walk import Room, plant_folder, walk
from ebbmem import MemoryBank

__all__ = ["faults"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_folder(tmp_path_factory.mktemp("planted"))


def test_every_public_method_of_a_bank_is_known_here() -> None:
    public = {name for name in dir(MemoryBank) if not name.startswith("_")}
    assert public == {each.method for each in OPERATIONS} | READS | set(ELSEWHERE)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_that_fails_leaves_the_file_as_before_or_after(
    planted: Path, tmp_path: Path, faults: Faults, operation: Operation, kind: Kind
) -> None:
    room = Room(planted, tmp_path)
    states = _states(room, faults, operation)
    assert operation.steps or len(states) == 1 + operation.writes, "it has steps of its own"
    assert walk(room, operation, faults, kind, states) >= 1


def _states(room: Room, faults: Faults, operation: Operation) -> list[Dump]:
    """What the file holds before the call and after each of its transactions."""
    bank, folder = room.fresh(maintain=operation.maintain)
    states = [dump(folder / "memory.db")]

    def look() -> None:
        found = dump(folder / "memory.db")
        if found != states[-1]:
            states.append(found)

    faults.arm(None)
    faults.after = look
    operation.call(bank, folder)
    faults.after = None
    bank.close()
    return states
