"""The index that is used agrees with the one that is obviously right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ebbmem.growing import Growing
from ebbmem.vectors import ExactIndex, FlatIndex, VectorIndex

INDEXES = [ExactIndex, FlatIndex]
relaxed = settings(deadline=None, max_examples=60)


def random_rows(seed: int, count: int, dimension: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@relaxed
@given(st.integers(0, 2**31), st.integers(0, 300), st.integers(1, 65))
def test_both_indexes_give_the_same_products(seed: int, count: int, dimension: int) -> None:
    rows, [query] = random_rows(seed, count, dimension), random_rows(seed + 1, 1, dimension)
    found = []
    for kind in INDEXES:
        index: VectorIndex = kind(dimension)
        index.append(rows)
        found.append(index.inner_products(index.view(), query))
    assert found[0].shape == found[1].shape == (count,)
    assert found[0].tolist() == pytest.approx(found[1].tolist(), abs=1e-6)
    exact = [float(row.astype(np.float64) @ query.astype(np.float64)) for row in rows]
    assert found[1].tolist() == pytest.approx(exact, abs=1e-6)


@relaxed
@given(st.integers(0, 2**31), st.lists(st.integers(0, 40), max_size=6))
def test_rows_are_numbered_in_the_order_they_came(seed: int, sizes: list[int]) -> None:
    blocks = [random_rows(seed + number, size, 3) for number, size in enumerate(sizes)]
    for kind in INDEXES:
        index = kind(3)
        for block in blocks:
            index.append(block)
        assert len(index) == sum(sizes)
        together = np.concatenate([np.empty((0, 3), np.float32), *blocks])
        assert np.array_equal(index.view(), together)


@pytest.mark.parametrize("kind", INDEXES)
def test_a_view_does_not_see_what_is_appended_later(kind: type[FlatIndex]) -> None:
    index = kind(2)
    index.append(np.eye(2, dtype=np.float32))
    before = index.view()
    for _ in range(100):
        index.append(np.ones((1, 2), np.float32))
    assert np.array_equal(before, np.eye(2))


@pytest.mark.parametrize("kind", INDEXES)
def test_a_slice_of_a_view_can_be_asked(kind: type[FlatIndex]) -> None:
    index = kind(2)
    index.append(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    rows = index.view()[1:]
    assert index.inner_products(rows, rows[1]).tolist() == pytest.approx([0.8, 1.0])


@pytest.mark.parametrize("kind", INDEXES)
def test_a_query_in_double_precision_is_taken(kind: type[FlatIndex]) -> None:
    index = kind(2)
    index.append(np.eye(2, dtype=np.float32))
    query = np.array([0.6, 0.8])
    assert index.inner_products(index.view(), query).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("kind", INDEXES)
def test_nothing_stored_gives_nothing(kind: type[FlatIndex]) -> None:
    index = kind(4)
    assert index.inner_products(index.view(), np.ones(4, np.float32)).tolist() == []


@relaxed
@given(st.lists(st.lists(st.integers(-100, 100), max_size=40), max_size=8))
def test_growing_rows_hold_what_was_appended(blocks: list[list[int]]) -> None:
    rows, expected = Growing("int64"), []
    for number, block in enumerate(blocks):
        rows.extend(np.array(block, np.int64))
        rows.append(number)
        expected += [*block, number]
    assert rows.view().tolist() == expected
    assert len(rows) == len(expected)


def test_a_copy_of_growing_rows_does_not_see_later_writes() -> None:
    rows = Growing("int64")
    rows.append(1)
    copied = rows.copy()
    rows[0] = 2
    assert (copied[0], rows[0]) == (1, 2)
