"""BM25: numbers worked out by hand, and what must hold for every collection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.lexical import K1, KeywordIndex, KeywordMatches, match

DOCUMENTS = [["tea", "tea", "milk"], ["tea", "cup"], ["rain"]]
relaxed = settings(deadline=None, max_examples=100)
terms = st.sampled_from(["tea", "milk", "cup", "rain", "sun"])
collections = st.lists(st.lists(terms, max_size=8), min_size=1, max_size=12)
queries = st.lists(terms, max_size=5)


def build(documents: list[list[str]]) -> KeywordIndex:
    index = KeywordIndex()
    for document in documents:
        index.append(document)
    return index


def ask(
    index: KeywordIndex, query: list[str], size: int, dead: frozenset[int] = frozenset()
) -> KeywordMatches:
    alive = np.array([number not in dead for number in range(size)], bool)
    return match(index.select(query), alive)


def test_three_documents_have_the_scores_worked_out_by_hand() -> None:
    # n = 3, lengths 3, 2, 1, mean 2; k1 = 1.2, b = 0.75
    # idf(tea)  = ln(1 + (3 - 2 + 0.5) / (2 + 0.5)) = ln 1.6      = 0.470003629245736
    # idf(milk) = ln(1 + (3 - 1 + 0.5) / (1 + 0.5)) = ln 8/3      = 0.980829253011726
    # norm(d0)  = 1.2 * (0.25 + 0.75 * 3 / 2) = 1.65
    # norm(d1)  = 1.2 * (0.25 + 0.75 * 2 / 2) = 1.2
    # d0: ln 1.6 * 2 * 2.2 / (2 + 1.65) + ln 8/3 * 1 * 2.2 / (1 + 1.65)
    #   = 0.470003629245736 * 1.205479452054795 + 0.980829253011726 * 0.830188679245283
    #   = 0.566579717446914 + 0.814273342122905 = 1.380853059569819
    # d1: ln 1.6 * 1 * 2.2 / (1 + 1.2) = 0.470003629245736
    found = ask(build(DOCUMENTS), ["tea", "milk"], 3)
    assert found.scores.tolist() == pytest.approx([1.380853059569819, 0.470003629245736, 0.0])
    # coverage: d0 holds all; d1 0.470003629245736 / 1.450832882257462
    assert found.coverage.tolist() == pytest.approx([1.0, 0.323954437166612, 0.0])
    # ceiling: (ln 1.6 + ln 8/3) * 2.2
    assert found.ceiling == pytest.approx(1.450832882257462 * 2.2)


def test_a_word_that_is_said_twice_in_the_query_counts_once() -> None:
    index = build(DOCUMENTS)
    once, twice = (ask(index, query, 3).scores for query in (["tea"], ["tea", "tea"]))
    assert np.array_equal(once, twice)


def test_an_unknown_word_scores_nothing_and_lowers_the_coverage() -> None:
    index = build(DOCUMENTS)
    known, asked = ask(index, ["tea"], 3), ask(index, ["tea", "sun"], 3)
    assert np.array_equal(known.scores, asked.scores)
    # idf(sun) = ln(1 + 3.5 / 0.5) = ln 8
    share = math.log(1.6) / (math.log(1.6) + math.log(8))
    assert asked.coverage[1] == pytest.approx(share)


def test_a_query_without_terms_and_an_empty_index_match_nothing() -> None:
    assert ask(build(DOCUMENTS), [], 3).scores.tolist() == [0.0, 0.0, 0.0]
    assert ask(build([]), ["tea"], 0).scores.tolist() == []


def test_what_was_heard_once_is_known() -> None:
    index = build(DOCUMENTS)
    assert index.frequency("cup") == 1
    assert index.frequency("sun") == 0


def test_documents_are_numbered_in_the_order_they_came() -> None:
    index = KeywordIndex()
    assert [index.append(each) for each in DOCUMENTS] == [0, 1, 2]


def test_postings_do_not_see_what_is_appended_later() -> None:
    index = build(DOCUMENTS)
    before = index.select(["tea"])
    index.append(["tea"])
    assert before.documents[0].tolist() == [0, 1]
    assert len(before.lengths) == 3


def test_the_rarer_word_weighs_more() -> None:
    found = ask(build([["tea"], ["tea"], ["milk"]]), ["tea", "milk"], 3)
    assert found.scores[2] > found.scores[0]


@relaxed
@given(collections, queries)
def test_scores_are_those_of_the_formula_term_by_term(
    documents: list[list[str]], query: list[str]
) -> None:
    found = ask(build(documents), query, len(documents))
    count = len(documents)
    mean = max(sum(map(len, documents)) / count, 1e-9)
    for number, document in enumerate(documents):
        expected = 0.0
        for term in set(query):
            df, tf = sum(term in each for each in documents), document.count(term)
            idf = math.log(1 + (count - df + 0.5) / (df + 0.5))
            norm = K1 * (1 - 0.75 + 0.75 * len(document) / mean)
            expected += idf * tf * (K1 + 1) / (tf + norm) if tf else 0.0
        assert found.scores[number] == pytest.approx(expected, abs=1e-12)


@relaxed
@given(collections, collections, queries)
def test_appending_one_by_one_between_questions_equals_building_at_once(
    first: list[list[str]], second: list[list[str]], query: list[str]
) -> None:
    grown = build(first)
    ask(grown, query, len(first))
    for document in second:
        grown.append(document)
        grown.select(query)
    size = len(first) + len(second)
    one, other = ask(grown, query, size), ask(build(first + second), query, size)
    assert np.array_equal(one.scores, other.scores)
    assert np.array_equal(one.coverage, other.coverage)
    assert one.ceiling == other.ceiling


@relaxed
@given(collections, queries, st.data())
def test_dead_documents_count_for_nothing(
    documents: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    dead = data.draw(st.frozensets(st.integers(0, len(documents) - 1)))
    living = [number for number in range(len(documents)) if number not in dead]
    with_dead = ask(build(documents), query, len(documents), dead)
    without = ask(build([documents[number] for number in living]), query, len(living))
    assert with_dead.scores[living].tolist() == pytest.approx(without.scores.tolist())
    assert with_dead.coverage[living].tolist() == pytest.approx(without.coverage.tolist())
    assert with_dead.ceiling == pytest.approx(without.ceiling)
    assert not with_dead.scores[sorted(dead)].any()


@relaxed
@given(collections, queries)
def test_coverage_lies_in_the_unit_interval_and_scores_under_the_ceiling(
    documents: list[list[str]], query: list[str]
) -> None:
    found = ask(build(documents), query, len(documents))
    assert ((found.coverage >= 0.0) & (found.coverage <= 1.0)).all()
    assert (found.scores >= 0.0).all()
    assert (found.scores <= found.ceiling).all()
    assert ((found.scores > 0.0) == (found.coverage > 0.0)).all()


# -- rare words ----------------------------------------------------------------------------------


def rare(
    documents: list[list[str]], query: list[str], telling: list[bool] | None = None
) -> set[int]:
    """Documents that hold a rare word of the query."""
    index = build(documents)
    found = match(index.select(query), np.ones(len(documents), bool), telling=telling)
    return set(np.flatnonzero(found.rare).tolist())


def test_a_word_of_two_documents_is_rare_and_of_three_is_not() -> None:
    for holding, expected in ((1, {0}), (2, {0, 1}), (3, set())):
        documents = [["tea"]] * holding + [["rain"]] * 20
        assert rare(documents, ["tea"]) == expected


def test_in_a_large_collection_no_more_than_two_are_rare_either() -> None:
    for holding, expected in ((2, 2), (3, 0)):
        documents = [["tea"]] * holding + [["rain"]] * (200 - holding)
        assert len(rare(documents, ["tea"])) == expected


def test_a_word_that_may_not_tell_is_never_rare() -> None:
    documents = [["tea"], ["milk"], *[["rain"]] * 20]
    assert rare(documents, ["tea", "milk"], [False, True]) == {1}
    assert rare(documents, ["tea", "milk"], [False, False]) == set()


def test_a_word_is_rare_by_what_is_alive() -> None:
    index = build([["tea"]] * 5 + [["rain"]])
    alive = np.array([True, True, False, False, False, True])
    assert match(index.select(["tea"]), alive).rare.tolist() == [True, True, *[False] * 4]


@relaxed
@given(collections, queries)
def test_what_is_rare_is_what_a_loop_finds(documents: list[list[str]], query: list[str]) -> None:
    expected = {
        number
        for number, document in enumerate(documents)
        for term in query
        if term in document and sum(term in each for each in documents) <= 2
    }
    assert rare(documents, query) == expected
