"""The judge: numpy, obviously right."""

from __future__ import annotations

from ebbmem.growing import Growing
from ebbmem.vectors.base import Floats

__all__ = ["ExactIndex"]


class ExactIndex:
    """See `VectorIndex`."""

    def __init__(self, dimension: int) -> None:
        self._rows = Growing("float32", dimension)

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, vectors: Floats) -> None:
        self._rows.extend(vectors)

    def view(self) -> Floats:
        return self._rows.view()

    def inner_products(self, rows: Floats, query: Floats) -> Floats:
        return rows @ query
