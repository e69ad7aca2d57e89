"""The expected value of every measure equals its mean over all orders there are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbmem.evaluate import chance, metrics

SIZES = [(n, g) for n in (1, 2, 4, 6) for g in range(1, n + 1)]


def over_all_orders(n: int, g: int, measure: Callable[[tuple[int, ...], set[int]], float]) -> float:
    gold = set(range(g))
    return fmean(measure(order, gold) for order in permutations(range(n)))


@pytest.mark.parametrize("n, g", SIZES)
@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_shares_among_the_first_k(n: int, g: int, k: int) -> None:
    assert chance.any_at(n, g, k) == pytest.approx(
        over_all_orders(n, g, lambda order, gold: metrics.any_at(order, gold, k))
    )
    assert chance.all_at(n, g, k) == pytest.approx(
        over_all_orders(n, g, lambda order, gold: metrics.all_at(order, gold, k))
    )
    assert chance.recall_at(n, k) == pytest.approx(
        over_all_orders(n, g, lambda order, gold: metrics.recall_at(order, gold, k))
    )


@pytest.mark.parametrize("n, g", SIZES)
@pytest.mark.parametrize("k", [2, 10])
def test_what_depends_on_the_rank(n: int, g: int, k: int) -> None:
    assert chance.reciprocal_rank(n, g, k) == pytest.approx(
        over_all_orders(n, g, lambda order, gold: metrics.reciprocal_rank(order, gold, k))
    )
    assert chance.ndcg_at(n, g, k) == pytest.approx(
        over_all_orders(n, g, lambda order, gold: metrics.ndcg_at(order, gold, k))
    )


@pytest.mark.parametrize(
    "right, wrong",
    [([1], [1, 1]), ([2], [1, 3]), ([1, 2], [2, 1]), ([3], []), ([1], [2, 2, 1])],
)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_sources_of_any_sizes(right: list[int], wrong: list[int], k: int) -> None:
    owner = [number for number, size in enumerate([*right, *wrong]) for _ in range(size)]
    gold = set(range(len(right)))
    expected = fmean(
        metrics.any_at(list(dict.fromkeys(owner[each] for each in order)), gold, k)
        for order in permutations(range(len(owner)))
    )
    assert chance.source_any_at(right, wrong, k) == pytest.approx(expected)


def test_one_source_of_many_items_comes_first_by_its_share_of_them() -> None:
    assert chance.source_any_at([7], [3, 20, 70], 1) == pytest.approx(0.07)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.lists(st.integers(1, 40), max_size=12),
    st.integers(1, 12),
)
def test_sources_stay_within_zero_and_one_and_grow_with_k(
    right: list[int], wrong: list[int], k: int
) -> None:
    fewer, more = (chance.source_any_at(right, wrong, each) for each in (k, k + 1))
    assert -1e-12 <= fewer <= more + 1e-12 <= 1.0 + 1e-9
