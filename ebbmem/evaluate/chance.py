"""What a ranking in random order reaches on average, exactly. Pure.

Of n items g answer the question; every order of the items is equally likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["all_at", "any_at", "ndcg_at", "recall_at", "reciprocal_rank", "source_any_at"]


def any_at(n: int, g: int, k: int) -> float:
    """Probability that an answer is among the first k: 1 - C(n-g, k) / C(n, k)."""
    return 1.0 - math.comb(n - g, min(k, n)) / math.comb(n, min(k, n))


def all_at(n: int, g: int, k: int) -> float:
    """Probability that every answer is among the first k: C(k, g) / C(n, g)."""
    return math.comb(min(k, n), g) / math.comb(n, g)


def recall_at(n: int, k: int) -> float:
    """Expected share of the answers among the first k."""
    return min(k, n) / n


def reciprocal_rank(n: int, g: int, depth: int = 50) -> float:
    """Expected 1 / rank of the first answer, which stands at r with C(n-r, g-1) / C(n, g)."""
    total = math.comb(n, g)
    ranks = range(1, min(depth, n - g + 1) + 1)
    return sum(math.comb(n - rank, g - 1) / total / rank for rank in ranks)


def ndcg_at(n: int, g: int, k: int = 10) -> float:
    """Expected discounted gain over that of the best order."""
    discounts = [1.0 / math.log2(at + 2) for at in range(min(k, n))]
    return g / n * sum(discounts) / sum(discounts[:g])


def source_any_at(right: Sequence[int], wrong: Sequence[int], k: int) -> float:
    """Probability that a right source is among the first k, by where their first items stand.

    An order at random is that of independent exponential times, so a source of s items comes
    first at a time with survival u^s, where u falls from 1 to 0. With w right items the chance
    is the integral over u in [0, 1] of w u^(w-1) P(fewer than k wrong sources came before): a
    polynomial, which Gauss and Legendre integrate exactly.

    Args:
        right: items in each source that holds an answer.
        wrong: items in each of the others.
    """
    total, w = sum(right) + sum(wrong), sum(right)
    u, weights = _quadrature(total // 2 + 1)
    before = np.zeros((k, len(u)))  # [j]: probability that exactly j wrong sources came
    before[0] = 1.0
    for size in wrong:
        there = u**size
        before[1:] = before[1:] * there + before[:-1] * (1.0 - there)
        before[0] *= there
    return float(weights @ (w * u ** (w - 1) * before.sum(axis=0)))


@lru_cache
def _quadrature(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights over [0, 1], exact for polynomials under degree 2 * count."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1.0) / 2.0, weights / 2.0
