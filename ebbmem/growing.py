"""Arrays that grow at the end. Views taken before stay valid and unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Growing"]


class Growing:
    """Rows of one shape and type; capacity doubles, so appending is constant on average."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self._rows: NDArray[Any] = np.empty((16, *self._shape), dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, value: object) -> None:
        """Add one row."""
        self._reserve(1)
        self._rows[self._size] = value
        self._size += 1

    def extend(self, values: NDArray[Any]) -> None:
        """Add several rows."""
        self._reserve(len(values))
        self._rows[self._size : self._size + len(values)] = values
        self._size += len(values)

    @property
    def nbytes(self) -> int:
        """Bytes taken, spare room included."""
        return self._rows.nbytes

    def view(self) -> NDArray[Any]:
        """The rows so far; what is appended later lies beyond it."""
        return self._rows[: self._size]

    def copy(self) -> NDArray[Any]:
        """The rows so far, for columns that are written in place."""
        return self.view().copy()

    def __setitem__(self, index: int, value: object) -> None:
        self.view()[index] = value

    def __getitem__(self, index: int) -> Any:
        return self.view()[index]

    def _reserve(self, more: int) -> None:
        needed = self._size + more
        if needed > len(self._rows):
            larger = np.empty((max(needed, 2 * len(self._rows)), *self._shape), self._rows.dtype)
            larger[: self._size] = self.view()
            self._rows = larger
