"""Measures of a ranking against the items that answer a question. Pure.

Binary relevance: any@k is 1 when at least one answer is among the first k, all@k when every
one is, rec@k the share of them, MRR the reciprocal rank of the first, NDCG@k as K. Jarvelin
and J. Kekalainen (2002) have it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["all_at", "any_at", "interval", "ndcg_at", "recall_at", "reciprocal_rank"]

RESAMPLES = 2_000


def any_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1.0 if one of the first k answers the question."""
    return float(any(each in gold for each in ranked[:k]))


def all_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1.0 if everything that answers the question is among the first k."""
    return float(set(gold) <= set(ranked[:k]))


def recall_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of what answers the question among the first k, in [0, 1]."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold))


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str], depth: int = 50) -> float:
    """1 / rank of the first answer within `depth`, else 0."""
    return next((1.0 / rank for rank, each in enumerate(ranked[:depth], 1) if each in gold), 0.0)


def ndcg_at(ranked: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Discounted gain of the first k over that of the best order, in [0, 1]."""
    gain = sum(1.0 / math.log2(at + 2) for at, each in enumerate(ranked[:k]) if each in gold)
    best = sum(1.0 / math.log2(at + 2) for at in range(min(len(set(gold)), k)))
    return gain / best


def interval(
    values: ArrayLike, groups: Sequence[object] | None = None, *, seed: int = 0
) -> tuple[float, float]:
    """95 % bootstrap interval of the mean (B. Efron, 1979), of questions or of whole groups.

    Args:
        values: (n,) one per question.
        groups: (n,) the history of each; resampled whole where given.
    """
    given: NDArray[np.float64] = np.asarray(values, np.float64)
    generator = np.random.default_rng(seed)
    if groups is None:
        picked = generator.integers(0, len(given), (RESAMPLES, len(given)))
        means = given[picked].mean(axis=1)
    else:
        names = list(dict.fromkeys(groups))
        number = np.array([names.index(each) for each in groups])
        sums = np.bincount(number, given, len(names))
        sizes = np.bincount(number, minlength=len(names))
        picked = generator.integers(0, len(names), (RESAMPLES, len(names)))
        means = sums[picked].sum(axis=1) / sizes[picked].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
