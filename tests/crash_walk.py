"""One operation, again and again, while another of its steps fails each time."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from crash_kit import Directions, Dump, assert_derived, dump, is_swept, plant
from crash_operations import Operation
from ebbmem import Draft, EbbmemError, MemoryBank
from ebbmem.testing import ManualClock

NOT_OURS = ("no memory", "interrupted")
"""Kinds of faults that come through as they are."""

SWEEPING = ("VACUUM", "PRAGMA wal_checkpoint", "UPDATE removal SET swept")
"""How statements begin that come after a commit, and may fail without anybody being told."""


class Breaking(Protocol):
    """What makes steps fail.

    Attributes:
        fired: the steps that failed since `arm`.
    """

    fired: list[str]

    def arm(self, at: int | None, kind: str = "") -> None:
        """Let the n-th step from now fail, from 1; None is none."""


def plant_folder(folder: Path) -> Path:
    """The file of `crash_kit.plant`, and one to import."""
    plant(folder / "memory.db", ManualClock())
    with MemoryBank.open(namespace="x", embedder=None, clock=ManualClock()) as there:
        there.remember_many(Draft(text=f"imported {id_}", id=id_) for id_ in ("i1", "i2"))
        there.link("i1", "i2")
        there.add_probe("imported?", "i1")
        there.export_jsonl(folder / "in.jsonl")
    return folder


@dataclass
class Room:
    """Copies of a planted folder, one after the other."""

    planted: Path
    folder: Path
    number: int = 0

    def fresh(self, *, maintain: bool) -> tuple[MemoryBank, Path]:
        """A copy, and a bank that is open on it 40 days later."""
        self.number += 1
        made = self.folder / str(self.number)
        shutil.copytree(self.planted, made)
        clock = ManualClock()
        clock.advance(days=40)
        file = made / "memory.db"
        return (
            MemoryBank.open(
                file, namespace="u1", embedder=Directions(), clock=clock, maintain=maintain
            ),
            made,
        )


def walk(room: Room, operation: Operation, faults: Breaking, kind: str, states: list[Dump]) -> int:
    """Let each step of a call fail in turn, on a bank that stays open while nothing changes.

    Args:
        states: of the file before the call, and after each of its transactions.

    Returns:
        How many steps failed.
    """
    done = 0
    bank, folder = room.fresh(maintain=operation.maintain)
    while True:
        faults.arm(done + 1, kind)
        failed: BaseException | None = None
        try:
            operation.call(bank, folder)
        except (EbbmemError, KeyboardInterrupt, MemoryError) as error:
            failed = error
        fired = list(faults.fired)
        faults.arm(None)
        found, where = dump(folder / "memory.db"), (operation.name, kind, done + 1, fired, failed)
        assert found in states, where
        assert_derived(bank)
        if len(fired) == 1 and fired[0].startswith(SWEEPING) and kind not in NOT_OURS:
            assert failed is None, where
        if failed is None:  # there was none, or it is made up for later
            assert found == states[-1], where
        else:
            assert fired, where
            assert kind in NOT_OURS or isinstance(failed, EbbmemError), where
            assert kind in NOT_OURS or str(folder) in str(failed), where
        left = {each.name.partition(".partial")[0] for each in folder.glob(".*.partial*")}
        assert len(left) <= any("unlink" in each for each in fired), where
        if not fired:
            break
        done += 1
        if found != states[0]:
            bank.close()
            assert is_swept(folder / "memory.db"), where
            bank, folder = room.fresh(maintain=operation.maintain)
    bank.close()
    assert is_swept(folder / "memory.db")
    return done
