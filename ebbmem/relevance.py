"""How well items answer a query, before anything else about them counts. Pure.

Relevance mixes three signals, each scaled to [0, 1] within the query: late interaction
(O. Khattab and M. Zaharia, "ColBERT", 2020: the mean, over the query's word pieces, of the
best cosine with any piece of the item, here weighted by idf and by how far a piece tells items
apart), BM25, and the cosine of the
pooled vectors. The mix is not fitted to anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MIX",
    "PLAIN_MIX",
    "Pieces",
    "best_matches",
    "idf_weights",
    "max_sim",
    "mixed",
    "scaled",
    "telling",
]

Floats = NDArray[np.float64]

MIX = {"interaction": 0.5, "keyword": 0.25, "similarity": 0.25}
"""Shares of the signals with token vectors; what is lacking leaves its share to the others."""

PLAIN_MIX = {"keyword": 1 / 3, "similarity": 2 / 3}
"""The same without: then the vector is all that knows meaning."""

_FEW = 8  # items: a minimum over fewer is no background yet


class Pieces:
    """The word pieces of many passages, one after the other.

    Attributes:
        codes: (t, d) int8 directions.
        norms: (t,) lengths of those rows.
        starts, stops: (p,) passage i holds the rows starts[i]:stops[i].
    """

    __slots__ = ("codes", "norms", "starts", "stops")

    def __init__(
        self,
        codes: NDArray[np.int8],
        norms: NDArray[np.float32],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
    ) -> None:
        self.codes = codes
        self.norms = norms
        self.starts = starts
        self.stops = stops

    def among(self, passages: NDArray[np.int64]) -> Pieces:
        """Those of some passages (m,), numbered from 0 in their order."""
        return Pieces(self.codes, self.norms, self.starts[passages], self.stops[passages])


def scaled(values: Floats, pool: Floats, *, at_least: float = 0.0) -> Floats:
    """`values` in [0, 1], from the least to the greatest of `pool`.

    A minimum over a few items is mostly signal, so it counts as background only as far as
    there are many; a maximum under `at_least` does not count as a full match.
    """
    if not len(pool):
        return np.zeros(len(values))
    low = float(pool.min()) * len(pool) / (len(pool) + _FEW)
    high = max(float(pool.max()), at_least)
    if high - low < 1e-12:
        return np.zeros(len(values))
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def idf_weights(document_frequency: NDArray[np.int32], total: int) -> Floats:
    """Weights of the query's pieces, summing to 1: rare pieces decide."""
    df = np.minimum(document_frequency, total)
    idf = np.log1p((total - df + 0.5) / (df + 0.5))
    return np.asarray(idf / max(float(idf.sum()), 1e-12), np.float64)


def telling(weights: Floats, best: NDArray[np.float32]) -> Floats:
    """The weights of pieces, each by how far its best match stands out; they sum to 1 again.

    A piece that everything matches equally well tells nothing apart, however rare it is: in a
    query of several sentences most are like that.

    Args:
        weights: (q,) summing to 1.
        best: (m, q) the best match of each piece in each of the passages that are compared.
    """
    if not len(best):
        return weights
    apart = weights * (best.max(axis=0) - best.mean(axis=0))
    total = float(apart.sum())
    return weights if total < 1e-9 else np.asarray(apart / total, np.float64)


def best_matches(
    query: NDArray[np.float32], pieces: Pieces, passages: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The best cosine of each piece of a query with any piece of some passages.

    Args:
        query: (q, d) unit vectors of the query's pieces.
        pieces: of all passages.
        passages: (m,) the numbers of those to compare.

    Returns:
        (m, q) in [-1, 1]; 0 for passages without pieces.
    """
    first, last = pieces.starts[passages], pieces.stops[passages]
    counts = last - first
    best = np.zeros((len(passages), len(query)), np.float32)
    filled = counts > 0
    if not filled.any() or not len(query):
        return best
    offsets = np.concatenate(([0], np.cumsum(counts[filled])[:-1]))
    rows = np.repeat(first[filled] - offsets, counts[filled]) + np.arange(int(counts.sum()))
    cosines = pieces.codes[rows].astype(np.float32) @ query.T
    cosines /= pieces.norms[rows, None]
    best[filled] = np.maximum.reduceat(cosines, offsets, axis=0)
    return best


def max_sim(
    query: NDArray[np.float32], weights: Floats, pieces: Pieces, passages: NDArray[np.int64]
) -> Floats:
    """Late interaction of a query with some passages: (m,), the weighted mean of `best_matches`."""
    return np.asarray(best_matches(query, pieces, passages) @ weights, np.float64)


def mixed(signals: dict[str, Floats]) -> Floats:
    """The weighted mean of the signals there are, each (m,) in [0, 1]."""
    mix = MIX if "interaction" in signals else PLAIN_MIX
    total = sum(mix[name] for name in signals)
    parts = [mix[name] / total * values for name, values in signals.items()]
    return np.asarray(sum(parts), np.float64)
