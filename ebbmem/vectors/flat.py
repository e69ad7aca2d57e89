"""FAISS for one query at a time: the raw inner-product kernel over contiguous rows.

`fvec_inner_products_ny` runs in the calling thread at memory speed; an index's `search`
with k = n costs several times as much, and its thread pool stalls busy machines. Nothing is
ever removed here: the owner masks what died, so numbers never move.
"""

from __future__ import annotations

import numpy as np

from ebbmem.vectors.base import Floats
from ebbmem.vectors.exact import ExactIndex

__all__ = ["FlatIndex", "products"]


class FlatIndex(ExactIndex):
    """See `VectorIndex`."""

    def inner_products(self, rows: Floats, query: Floats) -> Floats:
        return products(rows, query)


def products(rows: Floats, query: Floats) -> Floats:
    """Inner products of a query of shape (d,) with contiguous rows of shape (n, d), as (n,)."""
    import faiss  # on first use: importing it takes as long as everything else together

    count, dimension = rows.shape
    found = np.empty(count, np.float32)
    if count:
        wanted = np.ascontiguousarray(query, np.float32)
        faiss.fvec_inner_products_ny(  # type: ignore[attr-defined]  # made by SWIG
            faiss.swig_ptr(found),
            faiss.swig_ptr(wanted),
            faiss.swig_ptr(rows),
            dimension,
            count,
        )
    return found
