"""The banded index against brute force: the same rows, whatever the score and whatever happened."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numpy.typing import NDArray

from ebbmem.vectors import bands
from ebbmem.vectors.bands import Bands, Score, Top
from ebbmem.vectors.flat import products

D = 16
Floats = NDArray[np.float32]

SCORES: dict[str, Score] = {
    "product": lambda similar, strong: similar * strong,
    "floor .1": lambda similar, strong: similar * (0.1 + 0.9 * strong),
    "floor .5": lambda similar, strong: similar * (0.5 + 0.5 * strong),
    "sum": lambda similar, strong: 0.7 * similar + 0.3 * strong,
    "similarity": lambda similar, strong: similar,
    "strength": lambda similar, strong: strong,
    "visible": lambda similar, strong: np.where(strong >= 0.3, similar, -np.inf),
    "steps": lambda similar, strong: np.floor(4 * similar) + np.floor(3 * strong),
    "nothing": lambda similar, strong: np.full(len(similar), -np.inf),
}
"""With -inf for a strength of -inf, see `alive`; a product of what is below zero is none."""


def alive(score: Score) -> Score:
    """The same where rows may be gone: then their strength is -inf."""
    return lambda similar, strong: np.where(
        strong > -np.inf, score(similar, np.maximum(strong, 0.0)), -np.inf
    )


def monotone(score: Score) -> Score:
    """Products are only monotone where similarities are not below zero."""
    return lambda similar, strong: score(np.maximum(similar, 0.0), strong)


@pytest.fixture(autouse=True)
def small_bands() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "FIRST_BAND", 8)
        patch.setattr(bands, "LAST_BAND", 32)
        patch.setattr(bands, "LOOSE_ROWS", 4)
        patch.setattr(bands, "_CHUNK", 3)
        yield


def unit(rows: NDArray[Any]) -> Floats:
    lengths = np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return (rows / lengths).astype(np.float32)


def judged(vectors: Floats, strengths: Floats, query: Floats, k: int, score: Score) -> Floats:
    """The k best scores there are, best first."""
    scores = score(products(vectors, query), strengths)
    return np.sort(scores[scores > -np.inf])[::-1][:k]


def assert_exact(
    found: Top, vectors: Floats, strengths: Floats, query: Floats, k: int, score: Score
) -> None:
    similarities = products(vectors, query)
    assert len(set(found.rows.tolist())) == len(found.rows)
    assert found.similarities.tolist() == pytest.approx(similarities[found.rows].tolist(), abs=1e-6)
    own = score(found.similarities, strengths[found.rows])
    assert found.scores.tolist() == pytest.approx(own.tolist(), abs=1e-6)
    expected = judged(vectors, strengths, query, k, score)
    assert found.scores.tolist() == pytest.approx(expected.tolist(), abs=2e-6)
    assert list(found.scores) == sorted(found.scores, reverse=True)


@st.composite
def stores(draw: st.DrawFn) -> tuple[Floats, Floats, Floats]:
    """Vectors (with copies and zeros among them), strengths, a query."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 150))
    vectors = unit(rng.normal(size=(count, D)) + draw(st.floats(0.0, 2.0)))
    if count > 3:
        vectors[rng.integers(count)] = 0.0
        vectors[rng.integers(count)] = vectors[rng.integers(count)]
    strengths = rng.random(count) ** draw(st.sampled_from([0.2, 1.0, 5.0]))
    strengths[rng.random(count) < 0.1] = -np.inf  # gone
    query = unit(rng.normal(size=D))
    if count and draw(st.booleans()):
        query = vectors[rng.integers(count)]
    return vectors, strengths.astype(np.float32), query


@settings(max_examples=300)
@given(store=stores(), k=st.integers(1, 30), name=st.sampled_from([*SCORES]), data=st.data())
def test_the_best_are_the_best(
    store: tuple[Floats, Floats, Floats], k: int, name: str, data: st.DataObject
) -> None:
    vectors, strengths, query = store
    score = alive(monotone(SCORES[name]))
    index = Bands()
    for _ in range(data.draw(st.integers(0, 3))):
        index.extend(data.draw(st.integers(0, len(vectors) - len(index))))
        index.order(vectors[: len(index)], lambda rows: strengths[rows])
    index.extend(len(vectors) - len(index))
    found = index.layout.top(vectors, query, k, score, lambda rows: strengths[rows])
    assert_exact(found, vectors, strengths, query, k, score)


@settings(max_examples=100)
@given(store=stores(), k=st.integers(1, 10), name=st.sampled_from([*SCORES]))
def test_where_the_bounds_are_none_the_best_are_the_best(
    store: tuple[Floats, Floats, Floats], k: int, name: str
) -> None:
    """A clock set back, an instant of the past, a slower curve: all are stronger than was said."""
    vectors, strengths, query = store
    score = alive(monotone(SCORES[name]))
    index = Bands()
    index.extend(len(vectors))
    index.order(vectors, lambda rows: 0.3 * strengths[rows])
    found = index.layout.top(vectors, query, k, score, lambda rows: strengths[rows], bounded=False)
    assert_exact(found, vectors, strengths, query, k, score)


class Life(RuleBasedStateMachine):
    """Rows come, are used, fade and go; bounds are refreshed, rows ordered, readers keep views."""

    @initialize(seed=st.integers(0, 2**32 - 1))
    def begin(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.vectors = np.empty((0, D), np.float32)
        self.strengths = np.empty(0, np.float32)
        self.index = Bands()
        self.held: list[tuple[Any, Floats, Floats]] = []

    def of(self, rows: NDArray[np.int64]) -> Floats:
        return self.strengths[rows]

    @rule(count=st.integers(1, 40))
    def come(self, count: int) -> None:
        self.vectors = np.concatenate((self.vectors, unit(self.rng.normal(size=(count, D)))))
        fresh = self.rng.random(count).astype(np.float32)
        self.strengths = np.concatenate((self.strengths, fresh))
        self.index.extend(count)

    @rule(share=st.floats(0.0, 0.3))
    def are_used(self, share: float) -> None:
        rows = np.flatnonzero(self.rng.random(len(self.strengths)) < share)
        rows = rows[self.strengths[rows] > -np.inf]
        self.strengths = self.strengths.copy()
        self.strengths[rows] = np.minimum(1.0, self.strengths[rows] + 0.5)
        self.index.loosen(rows.tolist())

    @rule(factor=st.floats(0.1, 1.0))
    def fade(self, factor: float) -> None:
        self.strengths = self.strengths * np.float32(factor)

    @rule(share=st.floats(0.0, 0.3))
    def go(self, share: float) -> None:
        self.strengths = self.strengths.copy()
        self.strengths[self.rng.random(len(self.strengths)) < share] = -np.inf

    @rule()
    def order(self) -> None:
        self.index.order(self.vectors, self.of)
        assert self.index.loose == 0

    @rule()
    def refresh(self) -> None:
        self.index.refresh(self.of)

    @rule()
    def hold(self) -> None:
        self.held = [*self.held[-1:], (self.index.layout, self.vectors, self.strengths)]

    @invariant()
    def asked(self) -> None:
        query = unit(self.rng.normal(size=D))
        score = alive(monotone(SCORES[str(self.rng.choice([*SCORES]))]))
        now = (self.index.layout, self.vectors, self.strengths)
        for layout, vectors, strengths in (now, *self.held):
            found = layout.top(vectors, query, 5, score, lambda rows, s=strengths: s[rows])
            assert_exact(found, vectors, strengths, query, 5, score)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=25)


# -- how much is read ------------------------------------------------------------------------


def ordered(vectors: Floats, strengths: Floats) -> Bands:
    index = Bands()
    index.extend(len(vectors))
    index.order(vectors, lambda rows: strengths[rows])
    return index


@pytest.fixture
def faded() -> tuple[Floats, Floats, Floats]:
    """A thousand rows of which ten are strong; the query is one of those."""
    rng = np.random.default_rng(7)
    vectors = unit(rng.normal(size=(1000, D)))
    strengths = np.full(1000, 0.01, np.float32)
    strengths[::100] = np.linspace(0.9, 1.0, 10, dtype=np.float32)
    vectors[::100] = unit(vectors[0] + 0.2 * rng.normal(size=(10, D)))
    return vectors, strengths, vectors[0]


def test_what_has_faded_is_not_read(faded: tuple[Floats, Floats, Floats]) -> None:
    vectors, strengths, query = faded
    layout = ordered(vectors, strengths).layout
    found = layout.top(vectors, query, 5, SCORES["product"], lambda rows: strengths[rows])
    assert found.scanned == 8 + 16  # of ten strong rows eight are in the first band
    assert found.rescored <= 30
    hidden = layout.top(vectors, query, 20, alive(SCORES["visible"]), lambda rows: strengths[rows])
    assert sorted(hidden.rows.tolist()) == [*range(0, 1000, 100)]
    assert hidden.scanned == 8 + 16  # after the second band nothing shows


def test_a_score_that_strength_cannot_prune_reads_codes_but_few_vectors(
    faded: tuple[Floats, Floats, Floats],
) -> None:
    vectors, strengths, query = faded
    layout = ordered(vectors, strengths).layout
    found = layout.top(vectors, query, 5, SCORES["similarity"], lambda rows: strengths[rows])
    assert found.scanned == 1000
    assert found.rescored < 150


def test_refreshing_lowers_what_is_read_and_moves_nothing(
    faded: tuple[Floats, Floats, Floats],
) -> None:
    vectors, strengths, query = faded
    once = np.ones(1000, np.float32)
    index = ordered(vectors, once)
    before = index.layout.top(vectors, query, 5, SCORES["product"], lambda rows: strengths[rows])
    order = [each.rows.tolist() for each in index.layout.segments]
    index.refresh(lambda rows: strengths[rows])
    after = index.layout.top(vectors, query, 5, SCORES["product"], lambda rows: strengths[rows])
    assert after.rows.tolist() == before.rows.tolist()
    assert after.scanned < before.scanned == 1000
    assert [each.rows.tolist() for each in index.layout.segments] == order


def test_ordering_moves_a_row_a_few_times_not_each_time() -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(4096, D)))
    strengths = rng.random(4096).astype(np.float32)
    index, moved = Bands(), 0
    for _ in range(256):
        index.extend(16)
        before = {id(each) for each in index.layout.segments}
        index.order(vectors[: len(index)], lambda rows: strengths[rows])
        moved += sum(len(each.rows) for each in index.layout.segments if id(each) not in before)
    assert moved <= 4096 * 9  # log2(256) + 1
    assert len(index.layout.segments) <= 9


def test_rows_that_are_gone_leave_with_the_next_joining() -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(64, D)))
    strengths = rng.random(64).astype(np.float32)
    index = ordered(vectors[:32], strengths)
    strengths[:20] = -np.inf
    index.extend(32)
    index.order(vectors, lambda rows: strengths[rows])
    [segment] = index.layout.segments
    assert sorted(segment.rows.tolist()) == [*range(20, 64)]


def test_a_memory_takes_its_components_once_as_bytes_and_sixteen_more() -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(1000, D)))
    index = ordered(vectors, np.ones(1000, np.float32))
    assert index.nbytes == 1000 * (D + 16)


# -- what FAISS does silently ----------------------------------------------------------------


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), dimension=st.sampled_from([1, 7, 16, 33, 384]))
def test_products_of_codes_are_those_of_whole_numbers(seed: int, dimension: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-127, 128, (40, dimension))
    query = rng.integers(-127, 128, dimension)
    codes = (numbers + 128).astype(np.uint8)
    expected = numbers @ query
    kernel = bands._Kernel(query.astype(np.float32))
    places, found = kernel.above(codes, -1e9)
    assert found[np.argsort(places)].tolist() == expected.tolist()
    least = float(np.sort(expected)[20])
    places, _ = kernel.above(codes, least)
    assert sorted(places.tolist()) == np.flatnonzero(expected > least).tolist()


def test_a_unit_query_is_cut_to_zeros_by_the_quantiser_so_ours_is_scaled() -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(50, 384)))
    quantiser = faiss.IndexScalarQuantizer(
        384, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    quantiser.add(np.rint(127 * vectors).astype(np.float32))
    coded, error = bands._coded_query(vectors[0], 127.0)
    assert np.abs(coded).max() == 127.0
    assert error.length < 0.02
    scores, _ = quantiser.search(coded[None], 1)
    assert scores[0, 0] * error.factor == pytest.approx(1.0, abs=0.05)
    scores, _ = quantiser.search(vectors[:1], 5)
    if scores.any():
        pytest.skip("the trap (no error, no similarity) is not in this build of FAISS")


def test_removing_from_an_inverted_list_under_a_map_renames_others_so_nothing_is_removed() -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(20, D)))
    trap = faiss.IndexIDMap2(faiss.IndexIVFFlat(faiss.IndexFlatIP(D), D, 1))
    trap.train(vectors)
    trap.add_with_ids(vectors, np.arange(100, 120))
    source = "".join(
        each.read_text(encoding="utf-8") for each in Path(bands.__file__).parent.glob("*.py")
    )
    assert not re.search(r"IDMap|remove_ids|IDSelector|omp_set_num_threads", source)
    trap.remove_ids(np.array([100]))
    _, ids = trap.search(vectors[5:6], 1)
    if ids[0, 0] == 105:
        pytest.skip("the trap (rows behind it take other names) is not in this build of FAISS")


def test_a_query_leaves_the_threads_of_faiss_alone_and_uses_its_own() -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(500, D)))
    index = ordered(vectors, np.linspace(0, 1, 500, dtype=np.float32))
    before = faiss.omp_get_max_threads()
    index.layout.top(vectors, vectors[0], 5, SCORES["sum"], lambda rows: np.ones(len(rows)))
    assert faiss.omp_get_max_threads() == before


def test_many_threads_read_while_one_writes() -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(600, D)))
    strengths = rng.random(600).astype(np.float32)
    index = ordered(vectors[:300], strengths)
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        own = np.random.default_rng()
        try:
            while not done.is_set():
                layout = index.layout
                query = unit(own.normal(size=D))
                found = layout.top(
                    vectors[:300], query, 5, SCORES["sum"], lambda rows: strengths[rows]
                )
                assert_exact(found, vectors[:300], strengths[:300], query, 5, SCORES["sum"])
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for each in readers:
        each.start()
    for _ in range(50):
        index.loosen(rng.integers(0, 300, 10).tolist())
        index.order(vectors[:300], lambda rows: strengths[rows])
        index.refresh(lambda rows: strengths[rows])
    done.set()
    for each in readers:
        each.join()
    assert failed == []
