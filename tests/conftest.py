"""What every test may ask for: a clock moved by hand, a file, banks that are closed for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from builders import OpenBank
from ebbmem import MemoryBank
from ebbmem.testing import ManualClock

settings.register_profile("same", deadline=None, derandomize=True)  # the same cases every time
settings.register_profile("explore", deadline=None, max_examples=500)  # --hypothesis-profile
settings.load_profile("same")

os.environ.setdefault("EBBMEM_SQLITE", "sqlite3")  # what users have; .ci/run tries the other too


@pytest.fixture
def clock() -> ManualClock:
    """Stands at T0 = 2026-01-01T00:00:00Z."""
    return ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a database may be made, alone in its folder."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder / "memory.db"


@pytest.fixture
def bound(tmp_path: Path) -> None:
    """Permissions mean something to this process."""
    closed = tmp_path / "closed"
    closed.touch(mode=0o000)
    if os.access(closed, os.R_OK):
        pytest.skip("permissions mean nothing here: this is root, or not POSIX")
    closed.unlink()


@pytest.fixture
def open_bank(file: Path, clock: ManualClock) -> Iterator[OpenBank]:
    """`MemoryBank.open` with this test's file and clock, for `u1`, by keywords alone."""
    opened: list[MemoryBank] = []

    def call(**changes: Any) -> MemoryBank:
        path = changes.pop("path", file)
        options = {"namespace": "u1", "embedder": None, "clock": clock, **changes}
        opened.append(MemoryBank.open(path, **options))
        return opened[-1]

    yield call
    for bank in opened:
        bank.close()
