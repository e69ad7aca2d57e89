"""FAISS for one query at a time: the raw inner-product kernel over contiguous rows.

`fvec_inner_products_ny` runs in the calling thread at memory speed; an index's `search`
with k = n costs several times as much, and its thread pool stalls busy machines.
"""

from __future__ import annotations

import numpy as np

from ebbmem.growing import Growing
from ebbmem.vectors.base import Floats

__all__ = ["FlatIndex"]


class FlatIndex:
    """See `VectorIndex`. Rows are removed by the owner, who masks them: numbers never move."""

    def __init__(self, dimension: int) -> None:
        self._rows = Growing("float32", dimension)

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, vectors: Floats) -> None:
        self._rows.extend(vectors)

    def view(self) -> Floats:
        return self._rows.view()

    def inner_products(self, rows: Floats, query: Floats) -> Floats:
        import faiss  # on first use: importing it takes as long as everything else together

        count, dimension = rows.shape
        products = np.empty(count, np.float32)
        if count:
            wanted = np.ascontiguousarray(query, np.float32)
            faiss.fvec_inner_products_ny(  # type: ignore[attr-defined]  # made by SWIG
                faiss.swig_ptr(products),
                faiss.swig_ptr(wanted),
                faiss.swig_ptr(rows),
                dimension,
                count,
            )
        return products
