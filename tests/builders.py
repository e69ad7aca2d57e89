"""Whole values for tests that care about one field of them: plain, and changed by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ebbmem import MemoryBank
from ebbmem.embedding.encoding import Encoding, TokenVectors
from ebbmem.records import Memory, Recollection
from ebbmem.store import Passage
from ebbmem.store.driver import Database, driver

OpenBank = Callable[..., MemoryBank]  # the fixture `open_bank`
AT = datetime(2026, 1, 1, tzinfo=UTC)  # where `ManualClock` stands


def another(file: Path) -> closing[Database]:
    """A second connection to a file, closed behind a `with`, by the SQLite that banks use.

    Two copies of SQLite in one process do not see each other's locks, and the one that closes a
    file lets go those of the other.
    """
    return closing(driver().connect(str(file), wait=5.0))


def a_memory(**changes: Any) -> Memory:
    """An active fact of `AT` that nobody has used."""
    plain: dict[str, Any] = {
        "id": "m1",
        "text": "tea",
        "category": "fact",
        "importance": 0.5,
        "source": None,
        "position": None,
        "speaker": None,
        "created_at": AT,
        "metadata": {},
        "last_reinforced_at": None,
        "recall_count": 0,
        "fades_at": None,
        "status": "active",
        "faded_at": None,
        "pinned": False,
        "held": False,
    }
    return Memory(**plain | changes)


def a_recollection(memory: Memory, **changes: Any) -> Recollection:
    """`memory` as a direct hit by keywords alone, its whole text the passage."""
    plain: dict[str, Any] = {
        "memory": memory,
        "score": 0.5,
        "relevance": 0.5,
        "strength": 0.5,
        "similarity": None,
        "interaction": None,
        "keyword": 0.5,
        "bonuses": {},
        "passage": memory.text,
    }
    return Recollection(**plain | changes)


def a_passage(
    start: int, stop: int, *, dimension: int = 2, tokens: TokenVectors | None = None
) -> Passage:
    """An encoded one; its unit vector is the same on every axis."""
    row = np.full(dimension, 1.0 / np.sqrt(dimension), np.float32)
    return Passage(start, stop, Encoding(row, tokens))
