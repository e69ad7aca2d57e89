"""The kit we and our users test with: a clock that is moved by hand, embedders without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ebbmem.clock import utc
from ebbmem.embedding.hashing import HashingEncoder as HashingEmbedder

__all__ = ["HashingEmbedder", "ManualClock", "TableEmbedder", "UnknownText"]


class ManualClock:
    """A clock that stands still until it is moved; pass it as `clock=`."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = utc(start, "start")

    def __call__(self) -> datetime:
        return self._now

    def advance(self, by: timedelta | None = None, /, **units: float) -> datetime:
        """Move by a `timedelta` or its keywords (`days=1.5`), back too; gives the new time."""
        self._now += timedelta(**units) if by is None else by + timedelta(**units)
        return self._now

    def set(self, now: datetime) -> datetime:
        """Move to an aware moment; gives it in UTC."""
        self._now = utc(now, "now")
        return self._now


class UnknownText(LookupError):
    """The table has no vector for a text and no default."""


class TableEmbedder:
    """Gives the vectors that are written out for it, and counts.

    Attributes:
        calls: how often it was asked, queries included.
        texts: every text it was asked for, in order.
        fail_on: the n-th text of its life, from 1, raises `RuntimeError`; None is never.
    """

    model = "table"

    def __init__(
        self,
        table: Mapping[str, Sequence[float]],
        default: Sequence[float] | None = None,
        *,
        fail_on: int | None = None,
    ) -> None:
        self._table = dict(table)
        self._default = default
        self.fail_on = fail_on
        self.calls = 0
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        return np.array([self._look_up(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.calls += 1
        return np.array(self._look_up(text), dtype=np.float32)

    def _look_up(self, text: str) -> Sequence[float]:
        self.texts.append(text)
        if len(self.texts) == self.fail_on:
            raise RuntimeError(f"told to fail on text {self.fail_on}")
        found = self._table.get(text, self._default)
        if found is None:
            raise UnknownText(f"text {len(self.texts)} is not in the table, and no default is set")
        return found
