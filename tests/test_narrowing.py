"""A large namespace is ranked in part: what comes out is what ranking all of it would give."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders import AT, OpenBank
from ebbmem import Category, Draft, MemoryBank, Policy, Recollections, narrowing
from ebbmem.embedding.encoding import Encoding, Fingerprint, TokenVectors
from ebbmem.lexical import KeywordIndex, best, match
from ebbmem.snapshot import Snapshot
from ebbmem.testing import HashingEmbedder, ManualClock
from ebbmem.vectors import bands
from ebbmem.vectors.bands import Layout, Top

TERMS = [*"abcdefgh"]
WORDS = ("tea", "boat", "green", "Ann", "yesterday", "2025-12-30", "old", "cat", "harbour", "the")
EVERYTHING = 10**6


class Pieces(HashingEmbedder):
    """Vectors of words, and one piece a word."""

    fingerprint = Fingerprint("pieces", 256, token_dimension=10)

    def encode_documents(self, texts: Any) -> list[Encoding]:
        return [self._with_pieces(text) for text in texts]

    def encode_query(self, text: str) -> Encoding:
        return self._with_pieces(text)

    def _with_pieces(self, text: str) -> Encoding:
        [found] = super().encode_documents([text])
        words = [WORDS.index(word) for word in text.split() if word in WORDS]
        codes = np.array([[127 if at == word else 9 for at in range(10)] for word in words])
        ids = np.array(words, np.int32)
        return Encoding(found.vector, TokenVectors(ids, codes.reshape(-1, 10).astype(np.int8)))


@contextmanager
def narrowing_above(passages: int, candidates: int = EVERYTHING) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrowing, "ABOVE", passages)
        patch.setattr(narrowing, "CANDIDATES", candidates)
        yield


# -- keywords --------------------------------------------------------------------------------


@st.composite
def collections(draw: st.DrawFn) -> tuple[KeywordIndex, list[str], NDArray[np.bool_]]:
    """Documents in which the first terms are common, a query, and which documents pass."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 700))
    shares = np.array([0.9, 0.6, 0.5, 0.2, 0.1, 0.02, 0.01, 0.005])
    index = KeywordIndex()
    for row in rng.random((count, len(TERMS))) < shares:
        held = [term for term, there in zip(TERMS, row, strict=True) if there]
        index.append(held * int(rng.integers(1, 3)))
    query = draw(st.lists(st.sampled_from([*TERMS, "unknown"]), min_size=1, max_size=6))
    return index, query, rng.random(count) < draw(st.sampled_from([0.05, 0.5, 1.0]))


@settings(max_examples=150)
@given(given=collections(), count=st.integers(1, 40))
def test_the_best_documents_are_all_that_reach_the_score_of_the_last(
    given: tuple[KeywordIndex, list[str], NDArray[np.bool_]], count: int
) -> None:
    index, query, passing = given
    postings = index.select(query)
    found, given_scores = best(postings, count, lambda each: passing[each])
    assert given_scores.tolist() == pytest.approx(
        match(postings, np.ones(len(index), bool)).scores[found].tolist(), rel=1e-5
    )
    scores = match(postings, np.ones(len(index), bool)).scores
    held = np.flatnonzero(passing & (scores > 0.0))
    assert set(found.tolist()) <= set(held.tolist())
    assert len(found) == min(count, len(held))
    if len(held) > count:
        least = np.sort(scores[held])[-count]
        assert set(held[scores[held] > least + 1e-5].tolist()) <= set(found.tolist())
        assert scores[found].min() >= least - 1e-5


def test_a_common_word_beside_a_rare_one_finds_nobody_new() -> None:
    """What a common word could add lies under what the rare one gave: nobody else is asked."""
    index = KeywordIndex()
    for number in range(3000):
        index.append(["common", "rare"] if number % 100 == 0 else ["common"])
    asked: list[int] = []

    def passes(documents: NDArray[np.int32]) -> NDArray[np.bool_]:
        asked.extend(documents.tolist())
        return np.ones(len(documents), bool)

    found, _ = best(index.select(["common", "rare"]), 20, passes)
    assert asked == [*range(0, 3000, 100)]
    assert found.tolist() == asked[:20]  # of equals, those that came first


@given(given=collections(), data=st.data())
def test_a_part_of_the_documents_scores_as_in_the_whole(
    given: tuple[KeywordIndex, list[str], NDArray[np.bool_]], data: st.DataObject
) -> None:
    index, query, passing = given
    chosen = np.flatnonzero(passing).astype(np.int32)
    postings = index.select(query)
    everything = match(postings, np.ones(len(index), bool))
    part = match(postings.among(chosen), np.ones(len(chosen), bool))
    assert part.scores.tolist() == pytest.approx(everything.scores[chosen].tolist())
    assert part.coverage.tolist() == pytest.approx(everything.coverage[chosen].tolist())
    assert part.shared.tolist() == everything.shared[chosen].tolist()
    assert part.rare.tolist() == everything.rare[chosen].tolist()
    assert part.ceiling == pytest.approx(everything.ceiling)


def test_what_died_counts_for_nothing_and_what_is_silent_never_did() -> None:
    index = KeywordIndex()
    for number in range(8):
        index.append(["tea"] if number < 4 else ["rain", "rain"])
    silent = index.append([], silent=True)
    index.discard(7)
    index.discard(silent)
    corpus = index.select(["tea", "rain"]).corpus
    assert (corpus.total, corpus.mean) == (7, pytest.approx(10 / 7))
    assert corpus.frequencies == (4, 3)


def test_lists_grow_from_copies_to_what_readers_share_and_change_nothing_of_theirs() -> None:
    index, views = KeywordIndex(), []
    for number in range(1000):
        views.append(index.select(["tea"]))
        index.append(["tea"] * (1 + number % 3))
    for number, view in enumerate(views):
        assert view.documents[0].tolist() == [*range(number)]
        assert view.frequencies[0].tolist() == [1 + each % 3 for each in range(number)]
        assert len(view.lengths) == number


# -- a part of a snapshot --------------------------------------------------------------------

DRAFTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
        st.sampled_from(["s", "t", None]),
        st.sampled_from(["shown", "shown", "shown", "faded", "erased", "quiet", "pinned", "tool"]),
    ),
    min_size=1,
    max_size=16,
)


@contextmanager
def filled(drafts: Any, **options: Any) -> Iterator[MemoryBank]:
    clock = ManualClock()
    with MemoryBank.open(
        namespace="u1", embedder=Pieces(), clock=clock, maintain=False, **options
    ) as bank:
        for number, (text, source, state) in enumerate(drafts):
            bank.remember_many(
                [
                    Draft(
                        text=text,
                        id=f"{number}",
                        keyed=True,
                        source=source,
                        speaker=("Ann", "Bob")[number % 2],
                        searchable=state != "quiet",
                        pinned=state == "pinned",
                        trust="tool" if state == "tool" else "user",
                        at=AT - timedelta(days=number),
                        metadata={"even": number % 2 == 0},
                    )
                ]
            )
        states = {f"{number}": state for number, (*_, state) in enumerate(drafts)}
        there = [id_ for id_, state in states.items() if state not in ("erased", "quiet")]
        for one, other in zip(there[::3], there[1::3], strict=False):
            bank.link(one, other, weight=0.7)
        for id_, state in states.items():
            if state == "faded":
                bank.forget(id_)
            if state == "erased":
                bank.erase(id_)
        clock.advance(hours=2)
        yield bank


@settings(max_examples=60)
@given(drafts=DRAFTS, data=st.data())
def test_a_part_of_a_snapshot_says_of_its_rows_what_the_whole_says(
    drafts: Any, data: st.DataObject
) -> None:
    with filled(drafts) as bank:
        whole = bank._arena().snapshot()
        rows = np.flatnonzero(
            [data.draw(st.booleans()) for _ in whole.ids[: len(whole.status)]]
        ).astype(np.int64)
        part = whole.among(rows)
        assert part.ids == [whole.ids[row] for row in rows]
        assert part.row_of == {
            id_: at for at, id_ in enumerate(part.ids) if whole.row_of.get(id_) == rows[at]
        }
        for name in ("created", "importance", "status", "source", "marks", "speaker", "length"):
            assert getattr(part, name).tolist() == getattr(whole, name)[rows].tolist()
        for side in ("before", "after"):
            assert _named(part, getattr(part, side)) == [
                whole.ids[row] if row in rows else None for row in getattr(whole, side)[rows]
            ]
        assert part.conversational == whole.conversational
        for at, row in enumerate(rows.tolist()):
            mine = slice(part.passage_start[at], part.passage_start[at + 1])
            same = slice(whole.passage_start[row], whole.passage_start[row + 1])
            assert part.spans[mine].tolist() == whole.spans[same].tolist()
            assert part.passage_row[mine].tolist() == [at] * (mine.stop - mine.start)
            assert part.vectors is not None
            assert whole.vectors is not None
            assert part.vectors[mine].tolist() == whole.vectors[same].tolist()
            if whole.pieces is not None:
                assert part.pieces is not None
                assert part.pieces.starts[mine].tolist() == whole.pieces.starts[same].tolist()
                assert part.pieces.stops[mine].tolist() == whole.pieces.stops[same].tolist()


def _named(snapshot: Snapshot, rows: NDArray[np.int64]) -> list[str | None]:
    return [snapshot.ids[row] if row >= 0 else None for row in rows.tolist()]


# -- rankings --------------------------------------------------------------------------------

ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"min_similarity": -1.0},
    {"include_faded": True},
    {"source": "s"},
    {"where": {"even": True}},
    {"exclude": ["0", "3"]},
    {"around": 2},
    {"around": 10},
    {"as_of": AT - timedelta(days=2), "include_superseded": True},
)
POLICIES = (Policy(), Policy.chat(), Policy(ranking="product"), Policy(source_share=0.3))


@settings(max_examples=150)
@given(
    drafts=DRAFTS,
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    k=st.integers(1, 8),
    asked=st.sampled_from(ASKED),
    policy=st.sampled_from(POLICIES),
)
def test_where_everything_comes_along_the_ranking_is_the_exhaustive_one(
    drafts: Any, query: str, k: int, asked: dict[str, Any], policy: Policy
) -> None:
    with filled(drafts, policy=policy) as whole, filled(drafts, policy=policy) as part:
        with narrowing_above(sys.maxsize):
            expected = whole.recall(query, k, **asked)
        with narrowing_above(0):
            found = part.recall(query, k, **asked)
        assert _parts(found) == _parts(expected, pytest.approx)
        assert [each.recall_count for each in part.list()] == [
            each.recall_count for each in whole.list()
        ]


def _parts(found: Recollections, near: Callable[[Any], Any] = lambda value: value) -> list[Any]:
    return [
        (
            hit.memory,
            near(hit.score),
            near(hit.relevance),
            near(hit.keyword),
            near(hit.bonuses),
            hit.via,
            hit.related,
            hit.reinforced,
            hit.passage,
            [each.id for each in (*hit.before, *hit.after)],
        )
        for hit in found
    ]


@settings(max_examples=60)
@given(drafts=DRAFTS, query=st.sampled_from(WORDS), id_=st.integers(0, 15))
def test_why_a_memory_does_not_come_is_said_of_one_that_nobody_named(
    drafts: Any, query: str, id_: int
) -> None:
    """Few candidates: what is asked about comes along, whatever it says."""
    with filled(drafts) as bank:
        id_ = id_ % len(drafts)
        if drafts[id_][2] == "erased":
            return
        with narrowing_above(sys.maxsize):
            expected = bank.explain(query, str(id_))
        with narrowing_above(0, candidates=EVERYTHING):
            found = bank.explain(query, str(id_))
        with narrowing_above(0, candidates=1):
            assert bank.explain(query, str(id_), k=1).id == str(id_)
        assert (found.outcome, found.rank) == (expected.outcome, expected.rank)


def many(bank: MemoryBank, count: int) -> None:
    """Facts without a source, of which every tenth is about a harbour."""
    bank.remember_many(
        Draft(
            text=f"{'harbour' if number % 10 == 0 else 'meadow'} number {number} is green",
            id=f"m{number}",
            speaker="Ann",
        )
        for number in range(count)
    )


@pytest.mark.parametrize("embedder", ["hashing", None])
def test_no_more_is_ranked_than_the_channels_name(open_bank: OpenBank, embedder: Any) -> None:
    bank = open_bank(embedder=embedder)
    many(bank, 600)
    with narrowing_above(100, candidates=20):
        ranking = bank._rank(bank._asked("Which harbour is number 40?", 5), bank._now())
        found = bank.recall("Which harbour is number 40?", 5)
    assert len(ranking.snapshot.ids) <= 2 * 20
    assert found[0].memory.id == "m40"


def test_a_namespace_that_is_small_is_ranked_whole(open_bank: OpenBank) -> None:
    bank = open_bank()
    many(bank, 50)
    ranking = bank._rank(bank._asked("harbour", 5), bank._now())
    assert len(ranking.snapshot.ids) == 50


def test_what_is_hidden_takes_no_candidate_s_place(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    many(bank, 300)
    bank.forget([f"m{number}" for number in range(0, 290, 10)])
    with narrowing_above(0, candidates=5):
        found = bank.recall("harbour number is green", 5)
    assert found[0].memory.id == "m290"


def test_what_somebody_linked_comes_along(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=None)
    many(bank, 300)
    [kept] = bank.remember_many([Draft(text="a lighthouse keeper", id="far")])
    bank.link("m40", kept.id)
    with narrowing_above(0, candidates=5):
        found = bank.recall("number 40", 5)
    assert [each.memory.id for each in found[:2]] == ["m40", "far"]
    assert found[1].via


def test_what_was_said_on_the_day_that_is_asked_about_comes_along(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(embedder="hashing")
    many(bank, 300)
    bank.remember("we rowed", id="rowed", at=AT - timedelta(days=1))
    with narrowing_above(0, candidates=5):
        found = bank.recall("what did we do yesterday?", 5)
    assert "rowed" in [each.memory.id for each in found]


def test_probes_tell_of_memories_that_no_channel_names(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=None)
    many(bank, 300)
    bank.add_probe("number 40", ["m40", "m7"])
    bank.forget("m7")
    with narrowing_above(0, candidates=5):
        [answer] = bank.probe().answers
    assert (answer.found, answer.hidden, answer.missed) == (("m40",), ("m7",), ())


# -- the order of a large namespace ----------------------------------------------------------


@pytest.fixture
def tops(monkeypatch: pytest.MonkeyPatch) -> list[Top]:
    """What every search for the nearest found, in bands of a few rows that are kept in order."""
    found: list[Top] = []
    top = Layout.top

    def told(self: Layout, *args: Any, **options: Any) -> Top:
        found.append(top(self, *args, **options))
        return found[-1]

    monkeypatch.setattr(Layout, "top", told)
    monkeypatch.setattr(bands, "FIRST_BAND", 16)
    monkeypatch.setattr(bands, "LAST_BAND", 16)
    monkeypatch.setattr(bands, "LOOSE_ROWS", 8)
    return found


def test_the_more_has_faded_the_less_is_read(
    open_bank: OpenBank, clock: ManualClock, tops: list[Top]
) -> None:
    bank = open_bank(embedder="hashing", maintain=False)
    many(bank, 320)
    with narrowing_above(0, candidates=5):
        bank.recall("harbour number 40", 5, reinforce=False)
        clock.advance(days=400)
        bank.remember_many(
            Draft(text=f"harbour number {number} again", id=f"n{number}") for number in range(16)
        )
        found = bank.recall("harbour number 4 again", 5, reinforce=False)
    assert {each.memory.id[0] for each in found} == {"n"}
    before, after = tops
    assert before.scanned == 320
    assert after.scanned == 16  # the band of those that are new; no other can be shown


def test_what_was_used_is_found_by_the_strength_that_it_has_since(
    open_bank: OpenBank, clock: ManualClock, tops: list[Top]
) -> None:
    bank = open_bank(embedder="hashing", maintain=False)
    many(bank, 320)
    with narrowing_above(0, candidates=5):
        bank.recall("harbour number 40", 5, reinforce=False)
        clock.advance(days=10)
        for _ in range(3):
            bank.reinforce("m40")
            clock.advance(days=15)
        found = bank.recall("Which harbour is number 40?", 5, reinforce=False)
    assert found[0].memory.id == "m40"
    assert tops[-1].scanned < 320


def test_a_clock_that_is_set_back_and_a_slower_curve_lose_nothing(
    open_bank: OpenBank, clock: ManualClock, tops: list[Top]
) -> None:
    bank = open_bank(embedder="hashing", maintain=False)
    many(bank, 320)
    query = "Which harbour is number 40?"
    with narrowing_above(0, candidates=5):
        expected = [each.memory.id for each in bank.recall(query, 3, reinforce=False)]
        clock.advance(days=400)
        assert not bank.recall(query, 3, reinforce=False)
        clock.set(AT)
        again = bank.recall(query, 3, reinforce=False)
        clock.advance(days=400)
        assert not bank.recall(query, 3, reinforce=False)
        slow = Category(name="fact", base_rate=0.0001, importance=(0.7, 0.9))
        kept = bank.at("u1", policy=Policy(categories={**Policy().categories, "fact": slow}))
        later = kept.recall(query, 3, reinforce=False)
    assert [each.memory.id for each in again] == expected
    assert [each.memory.id for each in later] == expected


def test_ordering_waits_until_it_pays(open_bank: OpenBank, tops: list[Top]) -> None:
    bank = open_bank(embedder="hashing", maintain=False)
    many(bank, 320)
    with narrowing_above(0, candidates=5):
        bank.recall("harbour", 5, reinforce=False)
        layouts = []
        for number in range(12):
            bank.remember(f"meadow number {number} is wet", id=f"w{number}")
            bank.recall("harbour", 5, reinforce=False)
            order = bank._arena().snapshot().order
            assert order is not None
            layouts.append(order.layout)
    assert [len(each.loose) for each in layouts] == [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3]
    assert [len(each.segments) for each in layouts] == [*[1] * 8, *[2] * 4]
