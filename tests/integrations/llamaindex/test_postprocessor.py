"""EbbinghausPostprocessor: nodes of any index, with lives that are kept in a bank."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.mock import MockLLM
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle, TextNode
from llama_index.memory.ebbmem import EbbinghausPostprocessor
from pydantic import ValidationError

from builders import OpenBank
from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.testing import HashingEmbedder, ManualClock

SCORES = st.lists(st.floats(-1e6, 1e6) | st.none(), max_size=8)


class HashEmbedding(BaseEmbedding):
    """A model of LlamaIndex without weights."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(each) for each in HashingEmbedder().encode_query(text).vector]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def found(**scores: float | None) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=id, text=f"text of {id}", metadata={"n": 1}), score=score)
        for id, score in scores.items()
    ]


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in nodes]


def scored(nodes: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    return [(each.node.node_id, each.score) for each in nodes]


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


@pytest.fixture
def decay(bank: MemoryBank) -> EbbinghausPostprocessor:
    return EbbinghausPostprocessor(memory=bank)


# -- scores --------------------------------------------------------------------------------------


def test_29_a_score_of_zero_is_a_score(decay: EbbinghausPostprocessor) -> None:
    after = decay.postprocess_nodes(found(nothing=0.0, half=0.5))
    assert ids(after) == ["half", "nothing"]
    assert after[1].score == 0.0


def test_29_where_there_is_no_score_rank_stands_in(decay: EbbinghausPostprocessor) -> None:
    none = decay.postprocess_nodes(found(a=None, b=None, c=None))
    ranked = decay.postprocess_nodes(found(a=1.0, b=1 / 2, c=1 / 3))
    assert scored(none) == scored(ranked)
    assert ids(none) == ["a", "b", "c"]
    for gap in (None, float("nan"), float("inf")):
        some = decay.postprocess_nodes(found(a=0.1, b=gap, c=0.9))
        assert scored(some) == scored(ranked)


@pytest.mark.parametrize(
    "scores, relevance",
    [
        ((5.0, 3.0, 1.0), (1.0, 0.6, 0.2)),  # as BM25 has them
        ((0.5, 0.0, -0.5), (2 / 3, 1 / 3, 0.0)),  # a cosine
        ((2.0, -2.0, -6.0), (1.0, 0.5, 0.0)),  # logits
        ((0.9, 0.5, 0.0), (0.9, 0.5, 0.0)),
    ],
)
def test_29_scores_beyond_0_and_1_are_scaled_within_the_list(
    scores: Sequence[float], relevance: Sequence[float], decay: EbbinghausPostprocessor
) -> None:
    names = ("a", "b", "c")
    given_ = decay.postprocess_nodes(found(**dict(zip(names, scores, strict=True))))
    scaled = decay.postprocess_nodes(found(**dict(zip(names, relevance, strict=True))))
    assert ids(given_) == ids(scaled) == ["a", "b", "c"]
    assert [each.score for each in given_] == pytest.approx([each.score for each in scaled])


@settings(deadline=None)
@given(SCORES)
def test_29_scores_lie_between_0_and_1_and_fall(scores: list[float | None]) -> None:
    nodes = found(**{f"n{at}": score for at, score in enumerate(scores)})
    before = [each.to_dict() for each in nodes]
    with MemoryBank.open(namespace="a", embedder=None) as bank:
        after = EbbinghausPostprocessor(memory=bank).postprocess_nodes(nodes)
    values = [each.score for each in after]
    assert all(each is not None and 0.0 <= each <= 1.0 for each in values)
    assert values == sorted(values, reverse=True)
    assert sorted(ids(after)) == sorted(ids(nodes))
    assert [each.to_dict() for each in nodes] == before
    if None not in scores:  # the order of the index, equals as they stood
        assert ids(after) == ids(sorted(nodes, key=lambda each: -(each.score or 0.0))) or (
            len({*values}) < len({*scores})  # what lies a rounding apart may become equal
        )


def test_equal_scores_keep_their_order(decay: EbbinghausPostprocessor) -> None:
    names = [f"n{at}" for at in (3, 1, 4, 0, 5, 9, 2, 6)]
    assert ids(decay.postprocess_nodes(found(**dict.fromkeys(names, 0.5)))) == names


def test_at_most_the_first_few_are_left(bank: MemoryBank) -> None:
    nodes = found(a=0.1, b=0.9, c=0.5)
    assert ids(EbbinghausPostprocessor(memory=bank, top_n=2).postprocess_nodes(nodes)) == ["b", "c"]
    assert len(EbbinghausPostprocessor(memory=bank, top_n=9).postprocess_nodes(nodes)) == 3
    assert len(EbbinghausPostprocessor(memory=bank).postprocess_nodes(nodes)) == 3


def test_what_scores_too_little_is_left_out_and_not_used(bank: MemoryBank) -> None:
    decay = EbbinghausPostprocessor(memory=bank, min_score=0.4)
    assert ids(decay.postprocess_nodes(found(a=0.9, b=0.1))) == ["a"]


# -- lives ---------------------------------------------------------------------------------------


def test_what_is_first_seen_begins_at_strength_1(
    decay: EbbinghausPostprocessor, bank: MemoryBank
) -> None:
    nodes = found(a=0.8)
    [first] = decay.postprocess_nodes(nodes)
    assert first.score == bank.beside("other").rerank({"a": 0.8})[0].score
    assert [each.id for each in bank.beside("nodes").list()] == ["a"]
    assert bank.list() == []


def test_29_what_nobody_uses_fades_by_the_clock_of_the_bank(
    bank: MemoryBank, clock: ManualClock
) -> None:
    decay = EbbinghausPostprocessor(memory=bank)
    decay.postprocess_nodes(found(used=0.9, unused=0.1))
    for _ in range(40):
        clock.advance(days=3)
        assert ids(decay.postprocess_nodes(found(used=0.9))) == ["used"]
    assert ids(decay.postprocess_nodes(found(unused=0.9, used=0.8))) == ["used"]
    clock.advance(days=3650)
    assert decay.postprocess_nodes(found(unused=0.9, used=0.8)) == []


def test_the_stronger_of_two_that_are_equally_relevant_comes_first(
    bank: MemoryBank, clock: ManualClock
) -> None:
    decay = EbbinghausPostprocessor(memory=bank, reinforce=False)
    decay.postprocess_nodes(found(old=0.5))
    clock.advance(days=3)
    assert ids(decay.postprocess_nodes(found(old=0.5, new=0.5))) == ["new", "old"]


def test_29_a_clock_that_goes_back_undoes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    decay = EbbinghausPostprocessor(memory=bank, reinforce=False)
    before = decay.postprocess_nodes(found(a=0.9, b=0.5))
    clock.advance(days=-30)
    assert scored(decay.postprocess_nodes(found(a=0.9, b=0.5))) == scored(before)


def test_what_is_near_the_best_counts_as_used_unless_it_shall_not(bank: MemoryBank) -> None:
    lives = bank.beside("nodes")
    nodes = found(a=0.9, b=0.01)
    EbbinghausPostprocessor(memory=bank, reinforce=False).postprocess_nodes(nodes)
    assert [each.recall_count for each in lives.list()] == [0, 0]
    EbbinghausPostprocessor(memory=bank).postprocess_nodes(nodes)
    assert [lives.get(id).recall_count for id in ("a", "b")] == [1, 0]


def test_each_index_and_each_user_has_lives_of_its_own(
    bank: MemoryBank, clock: ManualClock
) -> None:
    def decays(**options: Any) -> EbbinghausPostprocessor:
        return EbbinghausPostprocessor(memory=bank, **options)

    decays().postprocess_nodes(found(a=0.9))
    decays(namespace="bob").postprocess_nodes(found(b=0.9))
    decays(name="papers").postprocess_nodes(found(c=0.9))
    clock.advance(days=3650)
    nodes = found(a=0.9, b=0.9, c=0.9)
    assert ids(decays().postprocess_nodes(nodes)) == ["b", "c"]
    assert ids(decays(namespace="bob").postprocess_nodes(nodes)) == ["a", "c"]
    assert ids(decays(name="papers").postprocess_nodes(nodes)) == ["a", "b"]
    assert bank.at("u1", "nodes").inhabited() == [("u1", "nodes")]


def test_without_a_bank_lives_last_as_long_as_the_program_runs() -> None:
    one, other = EbbinghausPostprocessor(), EbbinghausPostprocessor(memory=None)
    assert one.memory is not other.memory
    assert (one.memory.path, one.memory.policy.timeline) == (":memory:", "active")
    assert ids(other.postprocess_nodes(found(a=0.1, b=0.9))) == ["b", "a"]


# -- nodes ---------------------------------------------------------------------------------------


def test_what_comes_in_is_not_changed_and_not_shared(decay: EbbinghausPostprocessor) -> None:
    nodes = found(a=0.2, b=0.9)
    before, order = [each.to_dict() for each in nodes], [*nodes]
    after = decay.postprocess_nodes(nodes)
    assert nodes == order
    for each in after:
        each.metadata["seen"] = "another text"
        each.score = 7.0
    replacing = MetadataReplacementPostProcessor(target_metadata_key="seen")
    assert replacing.postprocess_nodes(after)[0].text == "another text"  # sets it where it is
    assert [each.to_dict() for each in nodes] == before


def test_what_goes_out_is_what_came_in_but_for_the_score(decay: EbbinghausPostprocessor) -> None:
    [node] = found(a=0.5)
    node.node.embedding = [1.0, 2.0]
    node.node.excluded_llm_metadata_keys = ["n"]
    [after] = decay.postprocess_nodes([node])
    assert after.node == node.node
    assert type(after.node) is TextNode


def test_a_node_that_leads_to_something_that_cannot_be_copied_still_leads_there(
    decay: EbbinghausPostprocessor,
) -> None:
    lock = threading.Lock()
    node = IndexNode(id_="i", text="a table", index_id="t", obj=lock)
    [after] = decay.postprocess_nodes([NodeWithScore(node=node, score=0.5)])
    assert after.node.obj is lock


@pytest.mark.parametrize("id", ["", " ", "x" * 2000, "two\nlines", "\ud800", " padded "])
def test_a_node_of_any_id_has_a_life(
    id: str, decay: EbbinghausPostprocessor, bank: MemoryBank
) -> None:
    for _ in range(2):
        nodes = [NodeWithScore(node=TextNode(id_=id, text="tea"), score=0.5)]
        [after] = decay.postprocess_nodes(nodes)
        assert after.node.node_id == id
    assert len(bank.beside("nodes").list()) == 1


def test_nodes_without_an_id_are_told_apart_by_what_is_in_them(
    decay: EbbinghausPostprocessor,
) -> None:
    texts = ("tea", "coffee")
    nodes = [NodeWithScore(node=TextNode(id_="", text=text), score=0.5) for text in texts]
    assert [each.text for each in decay.postprocess_nodes(nodes)] == [*texts]


def test_a_node_that_was_found_twice_comes_once_by_its_best_score(
    decay: EbbinghausPostprocessor,
) -> None:
    once = decay.postprocess_nodes(found(a=0.9, b=0.5))
    for first, second in ((0.1, 0.9), (0.9, 0.1)):
        nodes = [*found(a=first, b=0.5), *found(a=second)]
        assert scored(decay.postprocess_nodes(nodes)) == scored(once)


def test_nothing_of_nothing(decay: EbbinghausPostprocessor) -> None:
    assert decay.postprocess_nodes([]) == asyncio.run(decay.apostprocess_nodes([])) == []


def test_17_the_async_method_does_the_same(bank: MemoryBank, clock: ManualClock) -> None:
    sync = EbbinghausPostprocessor(memory=bank, name="one", top_n=2)
    native = EbbinghausPostprocessor(memory=AsyncMemoryBank(bank), name="two", top_n=2)
    nodes = found(a=0.2, b=0.9, c=0.5)
    for _ in range(3):
        expected = sync.postprocess_nodes(nodes, query_str="tea")
        again = asyncio.run(native.apostprocess_nodes(nodes, QueryBundle("tea")))
        assert scored(again) == scored(expected)
        clock.advance(days=2)
    assert len(expected) == 2


# -- as a component ------------------------------------------------------------------------------


def test_an_index_has_decay_beside_it(bank: MemoryBank, clock: ManualClock) -> None:
    texts = {"tea": "Anna drinks green tea", "coffee": "Anna drinks black coffee"}
    nodes = [TextNode(id_=id, text=text) for id, text in texts.items()]
    index = VectorStoreIndex(nodes, embed_model=HashEmbedding())
    decay = EbbinghausPostprocessor(memory=bank, top_n=1)
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=10, node_postprocessors=[decay])
    question = "What green tea does Anna drink?"
    assert ids(engine.query(question).source_nodes) == ["tea"]
    assert ids(asyncio.run(engine.aquery(question)).source_nodes) == ["tea"]
    assert texts["tea"] in str(engine.query(question))  # the model repeats its prompt
    for _ in range(60):
        clock.advance(days=3)
        engine.query("black coffee")
    assert ids(engine.query(question).source_nodes) == ["coffee"]
    retriever = index.as_retriever(similarity_top_k=10)
    assert ids(retriever.retrieve(question)) == [
        "tea",
        "coffee",
    ]  # it forgets nothing itself


def test_it_says_what_it_is_called(decay: EbbinghausPostprocessor) -> None:
    assert EbbinghausPostprocessor.class_name() == "EbbinghausPostprocessor"
    assert decay.to_dict()["class_name"] == "EbbinghausPostprocessor"


def test_21_what_is_written_of_it_is_json_without_the_bank(bank: MemoryBank) -> None:
    decay = EbbinghausPostprocessor(memory=bank, namespace=("u1", "bob"), top_n=3)
    written = json.loads(decay.to_json())
    assert written["top_n"] == 3
    assert "memory" not in written
    assert bank.path not in f"{decay!r} {decay} {written}"
    again = EbbinghausPostprocessor.from_dict(written, memory=bank)
    assert (again.memory, again.namespace, again.top_n) == (bank, ("u1", "bob"), 3)


def test_20_a_copy_shares_the_bank_and_a_pickle_says_why_not(bank: MemoryBank) -> None:
    decay = EbbinghausPostprocessor(memory=bank)
    for twin in (copy.deepcopy(decay), copy.copy(decay), decay.model_copy(deep=True)):
        assert twin.memory is bank
    with pytest.raises(InvalidInput, match="cannot be pickled; open its path"):
        pickle.dumps(decay)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"memory": "memory.db"}, "must be a MemoryBank, not str"),
        ({"top_n": 0}, "top_n must be a whole number from 1"),
        ({"reinforce": 1}, "reinforce must be True or False"),
        ({"min_score": 2.0}, "min_score must lie in"),
        ({"name": ""}, "name is blank"),
        ({"namespace": ""}, "namespace is blank"),
        ({"top_k": 3}, "Extra inputs are not permitted"),
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        EbbinghausPostprocessor(**options)
