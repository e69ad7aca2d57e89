"""Plain retrieval against numbers worked out by hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ebbmem.embedding import TokenVectors, adapt, resolve
from ebbmem.embedding.base import Encoder, Encoding, Fingerprint
from ebbmem.evaluate.baselines import Baselines, Keywords, LateInteraction, orders
from ebbmem.evaluate.data import read
from ebbmem.records import Draft
from ebbmem.testing import TableEmbedder

DATA = Path(os.environ.get("EBBMEM_DATA", Path(__file__).parents[3] / "shared" / "data"))
PRECISION = DATA / "sets" / "precision_en.json"


def drafts(*texts: str) -> list[Draft]:
    return [Draft(text=text, id=f"i{number}") for number, text in enumerate(texts)]


def pieces(ids: list[int], *codes: tuple[int, int]) -> TokenVectors:
    return TokenVectors(np.array(ids, np.int32), np.array(codes, np.int8).reshape(-1, 2))


# -- BM25


def test_bm25_is_the_formula_with_k1_one_point_two_and_b_three_quarters() -> None:
    index = Keywords([["a", "b"], ["a"], ["c"]])  # 3 documents, mean length 4/3
    # idf(a) = ln(1 + 1.5 / 2.5) = 0.4700036292
    # lengths 2 and 1: 1.2 (.25 + .75 * 1.5) = 1.65 and 1.2 (.25 + .75 * .75) = 0.975
    # 0.4700036292 * 2.2 / 2.65 and 0.4700036292 * 2.2 / 1.975
    assert index.scores(["a"]) == pytest.approx([0.3901917, 0.5235483, 0.0], abs=1e-7)


def test_a_term_that_a_query_repeats_counts_once() -> None:
    index = Keywords([["a", "b"], ["a"]])
    assert index.scores(["a", "a"]).tolist() == index.scores(["a"]).tolist()


def test_documents_without_terms_score_nothing() -> None:
    assert Keywords([[], []]).scores(["a"]).tolist() == [0.0, 0.0]


def test_the_speaker_is_part_of_what_can_be_asked_for() -> None:
    items = [Draft(text="I keep bees", speaker="Bo"), Draft(text="I keep bees, too")]
    found = Baselines(items, None).scores("Bo")
    assert found["BM25"][0] > 0.0 == found["BM25"][1]


# -- late interaction


def test_late_interaction_is_the_idf_weighted_mean_of_the_best_cosines() -> None:
    index = LateInteraction([pieces([1, 2], (127, 0), (0, 127)), pieces([1], (127, 0)), pieces([])])
    query = pieces([2, 3], (0, 127), (3, 4))
    # idf over the two documents with pieces: ln(1 + 1.5/1.5) = ln 2, ln(1 + 2.5/.5) = ln 6,
    # shares .2789429 and .7210571; best cosines 1 and .8 in the first, 0 and .6 in the second.
    assert index.scores(query) == pytest.approx([0.8557886, 0.4326343, 0.0], abs=1e-6)


def test_a_query_without_pieces_matches_nothing() -> None:
    index = LateInteraction([pieces([1], (127, 0))])
    assert index.scores(pieces([])).tolist() == [0.0]
    assert index.scores(None).tolist() == [0.0]


# -- vectors and mixes


def test_an_item_scores_as_its_best_passage() -> None:
    early, late = ("word " * 79 + "end.", "other " * 79 + "end.")
    whole = f"{early} {late}"
    table = {early: [0.6, 0.8], late: [0.0, 1.0], "short": [0.8, 0.6], "query": [0.0, 1.0]}
    found = Baselines(drafts(whole, "short"), adapt(TableEmbedder(table))).scores("query")
    assert found["vector"] == pytest.approx([1.0, 0.6])


def test_mixes_take_each_signal_scaled_over_all_items() -> None:
    table = {"bees": [1.0, 0.0], "wasps": [0.6, 0.8], "ants": [0.0, 1.0], "bees?": [0.0, 1.0]}
    found = Baselines(drafts("bees", "wasps", "ants"), adapt(TableEmbedder(table))).scores("bees?")
    # BM25 scaled is 1, 0, 0; the cosines 0, .8, 1 are scaled already.
    assert found["hybrid .55/.45"] == pytest.approx([0.55, 0.36, 0.45])
    assert found["hybrid .3/.7"] == pytest.approx([0.3, 0.56, 0.7])


def test_an_embedder_without_pieces_has_no_late_interaction() -> None:
    embedder = adapt(TableEmbedder({}, default=[1.0, 0.0]))
    assert list(Baselines(drafts("bees"), embedder).scores("wasps")) == [
        "BM25",
        "vector",
        "hybrid .55/.45",
        "hybrid .3/.7",
    ]


def test_without_an_embedder_there_is_bm25_alone() -> None:
    assert list(Baselines(drafts("bees"), None).scores("bees")) == ["BM25"]


class _CoversNothing(Encoder):
    fingerprint = Fingerprint("nothing", 2)

    def encode_documents(self, texts: list[str]) -> list[Encoding]:
        return [Encoding(np.zeros(2, np.float32), pieces([])) for _ in texts]

    def encode_query(self, text: str) -> Encoding:
        raise AssertionError("a text that is not covered must not be encoded")

    def covers(self, text: str) -> bool:
        return False


def test_what_the_embedder_does_not_cover_scores_zero() -> None:
    found = Baselines(drafts("蜜蜂", "黄蜂"), _CoversNothing()).scores("蜜蜂?")
    assert found["vector"].tolist() == [0.0, 0.0]
    assert found["late interaction"].tolist() == [0.0, 0.0]
    assert found["hybrid .3/.7"].tolist() == pytest.approx([0.3, 0.0])


def test_orders_are_full_with_ties_in_the_order_of_the_items() -> None:
    found = orders({"x": np.array([0.0, 2.0, 0.0, 2.0])})
    assert found["x"].tolist() == [1, 3, 0, 2]


@pytest.mark.skipif(not PRECISION.exists(), reason="no PrecisionMemBench file: set EBBMEM_DATA")
def test_on_facts_of_an_agent_every_row_is_that_of_another_implementation() -> None:
    pytest.importorskip("onnxruntime", reason="needs the local embedder")
    [history] = read(PRECISION).histories
    baselines = Baselines(history.items, resolve("local"))
    answered: dict[str, int] = {}
    for question in history.questions:
        for name, order in orders(baselines.scores(question.text)).items():
            found = {history.items[at].id for at in order[:5]}
            answered[name] = answered.get(name, 0) + (not found.isdisjoint(question.gold))
    # Of 43: 81.4, 97.7, 97.7, 95.3 and 95.3 %, from code that shares nothing with this one.
    assert answered == {
        "BM25": 35,
        "vector": 42,
        "late interaction": 42,
        "hybrid .55/.45": 41,
        "hybrid .3/.7": 41,
    }
