"""Measures of a ranking: numbers by hand, and what must hold for every ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbmem.evaluate.metrics import (
    all_at,
    any_at,
    interval,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)

RANKED = ["a", "b", "c", "d", "e", "f"]
GOLD = {"c", "f", "x"}  # x was not found


@pytest.mark.parametrize("k, expected", [(1, 0.0), (2, 0.0), (3, 1.0), (6, 1.0)])
def test_any_needs_one_answer_among_the_first_k(k: int, expected: float) -> None:
    assert any_at(RANKED, GOLD, k) == expected


@pytest.mark.parametrize("k, expected", [(3, 0.0), (5, 0.0), (6, 1.0)])
def test_all_needs_every_answer_among_the_first_k(k: int, expected: float) -> None:
    assert all_at(RANKED, {"c", "f"}, k) == expected


def test_all_fails_where_one_answer_was_not_found() -> None:
    assert all_at(RANKED, GOLD, 6) == 0.0


@pytest.mark.parametrize("k, expected", [(2, 0.0), (3, 1 / 3), (6, 2 / 3)])
def test_recall_is_the_share_of_the_answers(k: int, expected: float) -> None:
    assert recall_at(RANKED, GOLD, k) == expected


def test_the_reciprocal_rank_is_that_of_the_first_answer() -> None:
    assert reciprocal_rank(RANKED, GOLD) == 1 / 3


def test_the_reciprocal_rank_ends_at_its_depth() -> None:
    assert reciprocal_rank(RANKED, {"f"}, 5) == 0.0


def test_ndcg_of_two_answers_of_three_at_places_three_and_six() -> None:
    # (1/log2 4 + 1/log2 7) / (1/log2 2 + 1/log2 3 + 1/log2 4)
    #   = (0.5 + 0.3562071871) / (1 + 0.6309297536 + 0.5)
    assert ndcg_at(RANKED, GOLD) == pytest.approx(0.4017998180, abs=1e-9)


def test_ndcg_counts_only_the_first_k_and_compares_with_what_fits_there() -> None:
    assert ndcg_at(["a", "b", "c"], {"a", "b", "c"}, 2) == 1.0
    assert ndcg_at(["x", "y", "a"], {"a"}, 2) == 0.0


orders = st.permutations(list("abcdefgh"))
golds = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@given(orders, golds, st.integers(1, 8))
def test_all_is_at_most_recall_and_recall_at_most_any(
    ranked: list[str], gold: set[str], k: int
) -> None:
    assert all_at(ranked, gold, k) <= recall_at(ranked, gold, k) <= any_at(ranked, gold, k)


@given(orders, golds, st.integers(1, 8))
def test_the_best_order_has_ndcg_one_and_no_order_has_more(
    ranked: list[str], gold: set[str], k: int
) -> None:
    best = sorted(ranked, key=lambda each: each not in gold)
    assert ndcg_at(best, gold, k) == pytest.approx(1.0)
    assert 0.0 <= ndcg_at(ranked, gold, k) <= 1.0 + 1e-12


# -- intervals


def test_an_interval_of_equal_values_is_that_value() -> None:
    assert interval([0.5] * 9) == (0.5, 0.5)


def test_an_interval_is_the_same_every_time() -> None:
    values = [0.0, 1.0] * 20
    assert interval(values) == interval(values)


def test_an_interval_over_questions_is_near_that_of_the_normal_law() -> None:
    low, high = interval([0.0, 1.0] * 200)  # half width 1.96 * 0.5 / sqrt(400) = 0.049
    assert (low, high) == (pytest.approx(0.451, abs=0.005), pytest.approx(0.549, abs=0.005))


def test_whole_histories_are_drawn_where_they_are_given() -> None:
    values, histories = [1.0] * 3 + [0.0], ["a"] * 3 + ["b"]
    # Two draws: a a, a b, b b give 6/6, 3/4 and 0/2, nothing else.
    assert interval(values, histories) == (0.0, 1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    low, high = interval(values)
    assert np.min(values) - 1e-12 <= low <= high <= np.max(values) + 1e-12
