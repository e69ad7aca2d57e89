"""Relevance: late interaction against three loops, scaling, mixing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ebbmem.relevance import (
    MIX,
    PLAIN_MIX,
    Pieces,
    best_matches,
    idf_weights,
    max_sim,
    mixed,
    scaled,
    telling,
)

relaxed = settings(deadline=None, max_examples=100)
finite = st.floats(-1.0, 1.0, allow_subnormal=False)
arrays = st.lists(finite, min_size=1, max_size=30).map(np.array)


def pieces_of(seed: int, sizes: list[int], dimension: int) -> Pieces:
    random = np.random.default_rng(seed)
    codes = random.integers(-127, 128, (sum(sizes), dimension)).astype(np.int8)
    codes[:, 0] = np.where(codes[:, 0] == 0, 1, codes[:, 0])  # no row without a direction
    norms = np.linalg.norm(codes.astype(np.float32), axis=1)
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    return Pieces(codes, norms.astype(np.float32), starts[:-1], starts[1:])


def cosine(pieces: Pieces, passage: int, piece: list[float]) -> float:
    """The best cosine of a piece of a query with any of a passage."""
    best = -math.inf
    for row in range(int(pieces.starts[passage]), int(pieces.stops[passage])):
        code = pieces.codes[row].tolist()
        length = math.sqrt(sum(each * each for each in code))
        best = max(best, sum(a * b for a, b in zip(piece, code, strict=True)) / length)
    return best if best > -math.inf else 0.0


@relaxed
@given(
    st.integers(0, 2**31),
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(1, 8),
    st.data(),
)
def test_late_interaction_is_what_three_loops_find(
    seed: int, sizes: list[int], length: int, dimension: int, data: st.DataObject
) -> None:
    random = np.random.default_rng(seed)
    query = random.standard_normal((length, dimension)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    weights = random.dirichlet(np.ones(length))
    pieces = pieces_of(seed, sizes, dimension)
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=10))
    expected = [[cosine(pieces, each, piece) for piece in query.tolist()] for each in chosen]
    best = best_matches(query, pieces, np.array(chosen, np.int64))
    assert best.shape == (len(chosen), length)
    assert best.ravel().tolist() == pytest.approx([x for row in expected for x in row], abs=1e-5)
    found = max_sim(query, weights, pieces, np.array(chosen, np.int64))
    assert found.tolist() == pytest.approx([float(weights @ row) for row in expected], abs=1e-5)
    assert (np.abs(found) <= 1.0 + 1e-5).all()


def test_a_passage_that_holds_every_piece_of_the_query_scores_one() -> None:
    pieces = Pieces(
        np.array([[127, 0], [0, 127], [127, 127]], np.int8),
        np.array([127, 127, math.hypot(127, 127)], np.float32),
        np.array([0, 2], np.int64),
        np.array([2, 3], np.int64),
    )
    found = max_sim(np.eye(2, dtype=np.float32), np.array([0.5, 0.5]), pieces, np.array([0, 1]))
    assert found.tolist() == pytest.approx([1.0, math.sqrt(0.5)])


def test_passages_without_pieces_score_zero() -> None:
    pieces = pieces_of(1, [0, 2, 0], 3)
    query = np.eye(3, dtype=np.float32)[:1]
    found = max_sim(query, np.ones(1), pieces, np.array([0, 2]))
    assert found.tolist() == [0.0, 0.0]


# -- weights -------------------------------------------------------------------------------------


@relaxed
@given(st.lists(st.integers(0, 500), min_size=1, max_size=20), st.integers(0, 500))
def test_weights_of_pieces_sum_to_one(frequencies: list[int], total: int) -> None:
    weights = idf_weights(np.array(frequencies, np.int32), total)
    assert float(weights.sum()) == pytest.approx(1.0)
    assert (weights > 0.0).all()


@relaxed
@given(st.integers(1, 500), st.data())
def test_the_rarer_piece_weighs_no_less(total: int, data: st.DataObject) -> None:
    one, other = (data.draw(st.integers(0, total)) for _ in range(2))
    rare, common = sorted((one, other))
    weights = idf_weights(np.array([rare, common], np.int32), total)
    assert weights[0] >= weights[1]


def test_two_pieces_have_the_weights_worked_out_by_hand() -> None:
    # n = 10: idf(1) = ln(1 + 9.5 / 1.5) = ln 22/3, idf(5) = ln(1 + 5.5 / 5.5) = ln 2
    expected = math.log(22 / 3) / (math.log(22 / 3) + math.log(2))
    assert idf_weights(np.array([1, 5], np.int32), 10)[0] == pytest.approx(expected)


# -- what tells apart ----------------------------------------------------------------------------


def test_two_pieces_tell_apart_as_worked_out_by_hand() -> None:
    # best - mean: 0.8 - 0.5 = 0.3 and 0.6 - 0.5 = 0.1; 0.4 * 0.3 = 0.12 and 0.6 * 0.1 = 0.06
    best = np.array([[0.8, 0.6], [0.2, 0.4]], np.float32)
    found = telling(np.array([0.4, 0.6]), best)
    assert found.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_a_piece_that_everything_matches_equally_tells_nothing() -> None:
    best = np.array([[0.5, 0.9], [0.5, 0.1]], np.float32)
    assert telling(np.array([0.9, 0.1]), best).tolist() == pytest.approx([0.0, 1.0])


def test_where_nothing_tells_apart_the_weights_stay() -> None:
    weights = np.array([0.9, 0.1])
    for best in (np.full((3, 2), 0.5), np.ones((1, 2)), np.ones((0, 2))):
        assert telling(weights, best.astype(np.float32)).tolist() == [0.9, 0.1]


@relaxed
@given(st.integers(0, 2**31), st.integers(0, 8), st.integers(1, 6))
def test_what_tells_apart_sums_to_one_and_is_not_negative(seed: int, rows: int, size: int) -> None:
    random = np.random.default_rng(seed)
    best = random.uniform(-1.0, 1.0, (rows, size)).astype(np.float32)
    found = telling(random.dirichlet(np.ones(size)), best)
    assert float(found.sum()) == pytest.approx(1.0)
    assert (found >= 0.0).all()


# -- scaling and mixing --------------------------------------------------------------------------


@relaxed
@given(arrays, arrays, finite)
def test_scaled_values_lie_in_the_unit_interval(
    values: NDArray[np.float64], pool: NDArray[np.float64], least: float
) -> None:
    found = scaled(values, pool, at_least=least)
    assert ((found >= 0.0) & (found <= 1.0)).all()


@relaxed
@given(arrays, arrays, finite)
def test_scaling_keeps_the_order(
    values: NDArray[np.float64], pool: NDArray[np.float64], least: float
) -> None:
    found = scaled(np.sort(values), pool, at_least=least)
    assert (np.diff(found) >= 0.0).all()


def test_the_best_of_the_pool_is_a_full_match_when_it_is_good_enough() -> None:
    pool = np.array([0.2, 0.5, 0.8])
    assert scaled(pool, pool)[2] == 1.0
    assert scaled(pool, pool, at_least=0.9)[2] < 1.0


def test_a_minimum_over_few_counts_as_background_only_as_far_as_there_are_many() -> None:
    # low = 0.4 * 2 / (2 + 8) = 0.08; (0.4 - 0.08) / (0.8 - 0.08) = 4 / 9
    pool = np.array([0.4, 0.8])
    assert scaled(pool, pool).tolist() == pytest.approx([4 / 9, 1.0])
    # low = 0.4 * 800 / 808 = 0.396039...
    many = np.array([0.4, 0.8] * 400)
    assert scaled(many, many)[0] == pytest.approx((0.4 - 320 / 808) / (0.8 - 320 / 808))


def test_an_empty_pool_and_a_flat_pool_of_zeros_give_zeros() -> None:
    assert scaled(np.array([0.5]), np.array([])).tolist() == [0.0]
    assert scaled(np.zeros(3), np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("mix", [MIX, PLAIN_MIX], ids=["pieces", "plain"])
def test_the_shares_of_a_mix_sum_to_one(mix: dict[str, float]) -> None:
    assert sum(mix.values()) == 1.0


def test_without_pieces_the_vector_counts_twice_as_much_as_the_words() -> None:
    signals = {"keyword": np.array([0.3]), "similarity": np.array([0.9])}
    assert mixed(signals).tolist() == pytest.approx([(0.3 + 2 * 0.9) / 3])
    with_pieces = mixed({**signals, "interaction": np.array([0.5])})
    assert with_pieces.tolist() == pytest.approx([0.5 * 0.5 + 0.25 * 0.3 + 0.25 * 0.9])


@relaxed
@given(st.sets(st.sampled_from(sorted(MIX)), min_size=1), st.floats(0.0, 1.0))
def test_a_missing_signal_leaves_its_share_to_the_others(names: set[str], value: float) -> None:
    signals = {name: np.array([value, 1.0]) for name in names}
    assert mixed(signals).tolist() == pytest.approx([value, 1.0])


def test_the_mix_is_the_weighted_mean_of_what_there_is() -> None:
    signals = {"interaction": np.array([0.9]), "keyword": np.array([0.3])}
    assert mixed(signals).tolist() == pytest.approx([(0.5 * 0.9 + 0.25 * 0.3) / 0.75])
