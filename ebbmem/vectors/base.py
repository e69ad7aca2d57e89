"""The seam: rows are appended, never changed, and a query is compared with all of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "VectorIndex"]

Floats = NDArray[np.float32]


class VectorIndex(Protocol):
    """Unit vectors of one dimension, numbered from 0 in the order they came."""

    def __len__(self) -> int: ...

    def append(self, vectors: Floats) -> None:
        """Add rows, shape (m, d)."""
        ...

    def view(self) -> Floats:
        """All rows as they are now, shape (n, d); later appends do not change it."""
        ...

    def inner_products(self, rows: Floats, query: Floats) -> Floats:
        """Cosines of a query of shape (d,) with rows of shape (n, d), as shape (n,)."""
        ...
