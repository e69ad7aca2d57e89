"""EbbinghausRetriever: what it finds, what it shows to whom, and where it can stand.

Tests that begin with a number show one of the 31 criteria that adapters of LlamaIndex must meet.
"""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool
from llama_index.memory.ebbmem import EbbinghausRetriever

from builders import OpenBank
from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.testing import HashingEmbedder, ManualClock

TEA, COFFEE = "Anna drinks green tea", "Anna drinks black coffee"
BOTH = "What green tea is it that Anna drinks?"  # finds both, the tea first
OURS = {
    "created_at",
    "label",
    "last_reinforced_at",
    "recall_count",
    "similarity",
    "source",
    "speaker",
    "strength",
    "trust",
}


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    made = open_bank()
    made.remember(TEA, id="tea", metadata={"hot": True, "grams": 3}, source="s1", speaker="Bob")
    made.remember(COFFEE, id="coffee", metadata={"hot": True, "grams": 18}, category="strategy")
    return made


def ids(found: Sequence[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in found]


def vector(text: str) -> list[float]:
    return [float(each) for each in HashingEmbedder().encode_query(text).vector]


# -- what is found -------------------------------------------------------------------------------


def test_a_question_finds_the_memories_with_their_ids_and_scores(bank: MemoryBank) -> None:
    found = EbbinghausRetriever(bank).retrieve(BOTH)
    expected = bank.recall(BOTH, reinforce=False)
    assert [(each.node_id, each.text, each.score) for each in found] == [
        (each.memory.id, each.memory.text, each.score) for each in expected
    ]
    assert ids(found) == ["tea", "coffee"]


def test_what_the_bank_knows_of_a_memory_is_in_the_metadata(
    bank: MemoryBank, clock: ManualClock
) -> None:
    clock.advance(days=1)
    bank.reinforce("tea")
    clock.advance(days=1)
    [found] = EbbinghausRetriever(bank, k=1).retrieve(BOTH)
    assert found.metadata == {
        "hot": True,
        "grams": 3,
        "strength": bank.strength("tea"),
        "similarity": None,
        "created_at": "2026-01-01T00:00:00+00:00",
        "last_reinforced_at": "2026-01-02T00:00:00+00:00",
        "recall_count": 1,
        "source": "s1",
        "speaker": "Bob",
        "trust": "user",
        "label": None,
    }
    assert datetime.fromisoformat(found.metadata["created_at"]) == datetime(2026, 1, 1, tzinfo=UTC)
    assert json.loads(json.dumps(found.metadata)) == found.metadata


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"k": 1}, ["tea"]),
        ({"where": {"grams": {"$gt": 3}}}, ["coffee"]),
        ({"where": lambda memory: memory.metadata["grams"] == 3}, ["tea"]),
        ({"category": "strategy"}, ["coffee"]),
        ({"source": "s1"}, ["tea"]),
        ({"min_score": 1.0}, ["tea"]),  # the best match may be a full one
        ({"namespace": ("u1", "bob")}, []),
    ],
)
def test_options_choose_what_is_found(
    options: dict[str, Any], expected: list[str], bank: MemoryBank
) -> None:
    retriever = EbbinghausRetriever(bank, **options)
    assert ids(retriever.retrieve(BOTH)) == expected
    assert ids(asyncio.run(retriever.aretrieve(BOTH))) == expected


def test_an_unrelated_question_finds_nothing_unless_places_shall_be_filled(
    open_bank: OpenBank,
) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember(TEA)
    assert EbbinghausRetriever(bank, min_similarity=0.9).retrieve("volcanoes") == []
    assert len(EbbinghausRetriever(bank, min_similarity=-1.0).retrieve("volcanoes")) == 1


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"k": 0}, "k must be a whole number from 1"),
        ({"reinforce": "yes"}, "reinforce must be True or False"),
        ({"min_similarity": 2}, "min_similarity must lie in"),
        ({"min_score": -1}, "min_score must lie in"),
        ({"namespace": " "}, "namespace is blank"),
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once(
    options: dict[str, Any], sentence: str, bank: MemoryBank
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        EbbinghausRetriever(bank, **options)


def test_what_is_no_bank_is_told_what_is_one(bank: MemoryBank) -> None:
    assert ids(EbbinghausRetriever(AsyncMemoryBank(bank)).retrieve("green")) == ["tea"]
    with pytest.raises(InvalidInput, match="must be a MemoryBank, not str"):
        EbbinghausRetriever("memory.db")


@pytest.mark.parametrize("query", ["", "  ", QueryBundle(""), QueryBundle(" \n")])
def test_a_blank_question_brings_nothing_to_mind(query: Any, bank: MemoryBank) -> None:
    retriever = EbbinghausRetriever(bank)
    assert retriever.retrieve(query) == asyncio.run(retriever.aretrieve(query)) == []


def test_a_query_without_text_is_asked_by_its_embedding(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember(TEA, id="tea")
    bank.remember("The sun rises over the sea", id="sun")
    retriever = EbbinghausRetriever(bank)
    query = QueryBundle("", embedding=vector(TEA))
    assert ids(retriever.retrieve(query)) == ids(asyncio.run(retriever.aretrieve(query))) == ["tea"]


def test_the_text_of_a_query_goes_before_its_embedding(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember(TEA, id="tea")
    bank.remember("The sun rises over the sea", id="sun")
    retriever = EbbinghausRetriever(bank)
    query = QueryBundle("The sun rises", embedding=vector(TEA))
    assert ids(retriever.retrieve(query)) == ids(asyncio.run(retriever.aretrieve(query))) == ["sun"]


def test_retrieve_and_aretrieve_give_the_same(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember_many([TEA, COFFEE, "The sun rises over the sea"])
    retriever = EbbinghausRetriever(bank)
    sync, native = retriever.retrieve(BOTH), asyncio.run(retriever.aretrieve(BOTH))
    assert [each.to_dict() for each in sync] == [each.to_dict() for each in native]
    assert len(sync) >= 2


class Waiting:
    """An embedder whose sync half may not be used on the loop."""

    model = "waiting"

    def __init__(self) -> None:
        self.awaited = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("the sync embedder was asked")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.awaited += 1
        await asyncio.sleep(0)
        return [1.0, 0.0]


def test_17_the_async_method_awaits_the_embedder(open_bank: OpenBank) -> None:
    embedder = Waiting()
    bank = open_bank(embedder=embedder)
    bank.remember(TEA, id="tea")
    assert ids(asyncio.run(EbbinghausRetriever(bank).aretrieve("anything"))) == ["tea"]
    assert embedder.awaited == 1


def test_16_the_sync_method_works_inside_a_running_loop_and_in_several_loops(
    bank: MemoryBank,
) -> None:
    retriever = EbbinghausRetriever(bank)

    async def main() -> list[str]:
        many = await asyncio.gather(*(retriever.aretrieve(BOTH) for _ in range(8)))
        assert {tuple(ids(each)) for each in many} == {("tea", "coffee")}
        return ids(retriever.retrieve(BOTH))

    assert asyncio.run(main()) == asyncio.run(main()) == ["tea", "coffee"]


# -- what counts ---------------------------------------------------------------------------------


def test_asking_is_no_use_unless_it_shall_be_one(bank: MemoryBank) -> None:
    EbbinghausRetriever(bank).retrieve("green tea")
    asyncio.run(EbbinghausRetriever(bank).aretrieve("green tea"))
    assert bank.get("tea").recall_count == 0
    EbbinghausRetriever(bank, reinforce=True).retrieve("green tea")
    assert (bank.get("tea").recall_count, bank.get("coffee").recall_count) == (1, 0)


def test_the_async_method_counts_as_the_sync_one_does(bank: MemoryBank) -> None:
    asyncio.run(EbbinghausRetriever(bank, reinforce=True).aretrieve("green tea"))
    assert (bank.get("tea").recall_count, bank.get("coffee").recall_count) == (1, 0)


def test_29_decay_follows_the_clock_of_the_bank(bank: MemoryBank, clock: ManualClock) -> None:
    retriever = EbbinghausRetriever(bank)
    fresh = retriever.retrieve(BOTH)[0].metadata["strength"]
    clock.advance(days=2)
    assert retriever.retrieve(BOTH)[0].metadata["strength"] < fresh
    clock.advance(days=3650)
    assert retriever.retrieve(BOTH) == []


def test_29_a_clock_that_goes_back_undoes_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    fresh = EbbinghausRetriever(bank).retrieve(BOTH)
    clock.advance(days=-30)
    skewed = EbbinghausRetriever(bank).retrieve(BOTH)
    assert [each.score for each in skewed] == [each.score for each in fresh]


@settings(deadline=None)
@given(
    texts=st.lists(st.sampled_from("tea green black sun sea".split()), min_size=1, max_size=12),
    days=st.integers(0, 40),
)
def test_29_scores_lie_between_0_and_1(texts: list[str], days: int) -> None:
    clock = ManualClock()
    with MemoryBank.open(namespace="a", embedder="hashing", clock=clock) as bank:
        bank.remember_many(f"{each} {at}" for at, each in enumerate(texts))
        clock.advance(days=days)
        for each in EbbinghausRetriever(bank, k=20).retrieve("green tea at sea"):
            assert each.score is not None
            assert 0.0 <= each.score <= 1.0


# -- who sees what -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [MetadataMode.LLM, MetadataMode.EMBED])
def test_what_the_bank_adds_is_in_no_prompt_and_no_text_to_embed(
    mode: MetadataMode, bank: MemoryBank
) -> None:
    for each in EbbinghausRetriever(bank).retrieve(BOTH):
        seen = each.node.get_content(metadata_mode=mode)
        assert not [name for name in OURS if name in seen]
        assert seen == f"hot: True\ngrams: {each.metadata['grams']}\n\n{each.text}"
        assert set(each.metadata) == {"hot", "grams"} | OURS


def test_a_key_of_the_memory_itself_stays_and_is_shown(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember(TEA, metadata={"source": "a book", "strength": "of the tea"}, source="s1")
    [found] = EbbinghausRetriever(bank).retrieve("green tea")
    assert (found.metadata["source"], found.metadata["strength"]) == ("a book", "of the tea")
    seen = found.node.get_content(metadata_mode=MetadataMode.LLM)
    assert seen == f"source: a book\nstrength: of the tea\n\n{TEA}"


def test_what_is_done_to_a_node_is_not_done_to_the_memory(bank: MemoryBank) -> None:
    bank.update("tea", metadata={"of": ["leaves"]})
    retriever = EbbinghausRetriever(bank, k=1)
    [found] = retriever.retrieve(BOTH)
    found.metadata["of"].append("roots")
    found.node.excluded_llm_metadata_keys.clear()
    [again] = retriever.retrieve(BOTH)
    assert bank.get("tea").metadata == {"of": ["leaves"]}
    assert again.metadata["of"] == ["leaves"]
    assert set(again.node.excluded_llm_metadata_keys) == OURS


@settings(deadline=None)
@given(
    said=st.lists(
        st.tuples(st.sampled_from(["alice", "bob"]), st.sampled_from("tea sun sea".split())),
        max_size=10,
    ),
    asks=st.sampled_from(["alice", "bob"]),
)
def test_1_two_users_never_see_each_other(said: list[tuple[str, str]], asks: str) -> None:
    with MemoryBank.open(namespace="root", embedder="hashing") as bank:
        for user, word in said:
            bank.at(user).remember(f"{user} likes the {word}", speaker=user)
        for shared in (bank, bank.at("alice"), bank.at("bob")):
            retriever = EbbinghausRetriever(shared, namespace=asks, k=20, min_similarity=-1.0)
            found = retriever.retrieve("who likes tea, sun and sea?")
            wanted = {f"{user} likes the {word}" for user, word in said if user == asks}
            assert {each.text for each in found} == wanted
            again = asyncio.run(retriever.aretrieve("who likes tea, sun and sea?"))
            assert ids(again) == ids(found)


def test_20_a_copy_shares_the_bank_and_a_pickle_says_why_not(bank: MemoryBank) -> None:
    retriever = EbbinghausRetriever(bank, k=1)
    twin = copy.deepcopy(retriever)
    assert twin.memory is bank
    assert ids(twin.retrieve(BOTH)) == ["tea"]
    with pytest.raises(InvalidInput, match="cannot be pickled; open its path"):
        pickle.dumps(retriever)


def test_nothing_shows_what_is_remembered(bank: MemoryBank) -> None:
    retriever = EbbinghausRetriever(bank)
    retriever.retrieve(BOTH)
    assert "Anna" not in f"{retriever!r} {retriever} {vars(retriever)}"


# -- where it stands -----------------------------------------------------------------------------


def test_a_query_engine_answers_from_what_came_to_mind(bank: MemoryBank) -> None:
    engine = RetrieverQueryEngine.from_args(EbbinghausRetriever(bank), llm=MockLLM())
    sync, native = engine.query(BOTH), asyncio.run(engine.aquery(BOTH))
    assert str(sync) == str(native)  # the model repeats its prompt
    assert TEA in str(sync)
    assert COFFEE in str(sync)
    assert "strength" not in str(sync)
    assert ids(sync.source_nodes) == ids(native.source_nodes) == ["tea", "coffee"]


def test_a_query_engine_over_nothing_says_so(open_bank: OpenBank) -> None:
    engine = RetrieverQueryEngine.from_args(EbbinghausRetriever(open_bank()), llm=MockLLM())
    assert engine.query(BOTH).source_nodes == []


def test_an_agent_may_have_it_as_a_tool(bank: MemoryBank) -> None:
    tool = RetrieverTool.from_defaults(EbbinghausRetriever(bank), name="memory")
    sync, native = tool("green tea"), asyncio.run(tool.acall("green tea"))
    assert str(sync.content) == str(native.content)
    assert TEA in str(sync.content)
    assert "recall_count" not in str(sync.content)
    assert ids(sync.raw_output) == ["tea"]


@pytest.mark.parametrize("mode", FUSION_MODES)
@pytest.mark.parametrize("use_async", [True, False])
def test_fusion_of_several_questions_tells_each_memory_once(
    mode: FUSION_MODES, use_async: bool, open_bank: OpenBank
) -> None:
    bank = open_bank(embedder="hashing")
    bank.remember(TEA, id="tea")
    bank.remember(COFFEE, id="coffee")
    fusion = QueryFusionRetriever(
        [EbbinghausRetriever(bank), EbbinghausRetriever(bank, k=1, reinforce=True)],
        llm=MockLLM(),  # repeats its prompt, which here is what it shall ask
        query_gen_prompt="Anna drinks tea\nDoes Anna drink black coffee?",
        num_queries=3,
        mode=mode,
        use_async=use_async,
        similarity_top_k=10,
    )
    assert sorted(ids(fusion.retrieve(BOTH))) == ["coffee", "tea"]
    assert sorted(ids(asyncio.run(fusion.aretrieve(BOTH)))) == ["coffee", "tea"]


def test_a_node_is_the_same_node_however_strong_it_is(bank: MemoryBank, clock: ManualClock) -> None:
    retriever = EbbinghausRetriever(bank, k=1)
    [first] = retriever.retrieve(BOTH)
    clock.advance(days=3)
    [later] = retriever.retrieve("Anna's tea")
    assert first.metadata["strength"] != later.metadata["strength"]
    assert first.node.hash == later.node.hash
    bank.update("tea", text="Anna drinks white tea")
    [edited] = retriever.retrieve("Anna's tea")
    assert (edited.node_id, edited.node.hash == first.node.hash) == ("tea", False)
    bank.update("tea", metadata={"hot": False})
    assert retriever.retrieve("Anna's tea")[0].node.hash != edited.node.hash


def test_two_memories_of_the_same_words_are_two_nodes(open_bank: OpenBank) -> None:
    bank = open_bank()
    for id in ("one", "two"):
        bank.remember(TEA, id=id, keyed=True)
    retriever = EbbinghausRetriever(bank)
    fusion = QueryFusionRetriever([retriever], llm=MockLLM(), num_queries=1, use_async=False)
    for each in (retriever, fusion):
        assert sorted(ids(each.retrieve("green tea"))) == ["one", "two"]


def chatting(kind: Any, retriever: EbbinghausRetriever) -> Any:
    """A chat engine whose transcript is no database that nobody closes."""
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000)
    return kind.from_defaults(retriever=retriever, llm=MockLLM(), memory=memory)


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
def test_a_chat_engine_has_it_as_its_context(kind: Any, bank: MemoryBank) -> None:
    def engine() -> Any:
        return chatting(kind, EbbinghausRetriever(bank))

    sync, native = engine().chat(BOTH), asyncio.run(engine().achat(BOTH))
    assert TEA in str(sync)  # the model repeats its prompt
    assert str(sync) == str(native)
    assert ids(sync.source_nodes) == ids(native.source_nodes) == ["tea", "coffee"]


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
def test_24_what_looks_like_a_template_in_a_memory_is_not_filled_in(
    kind: Any, open_bank: OpenBank
) -> None:
    bank = open_bank()
    hostile = "green tea {query_str} {context_str} {existing_answer} {{ query_str }}"
    bank.remember(hostile)
    retriever = EbbinghausRetriever(bank)
    assert hostile in str(RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query("tea"))
    engine = chatting(kind, retriever)
    assert hostile in str(engine.chat("tea"))
    assert hostile in str(engine.chat("tea"))


def test_a_callback_manager_hears_of_each_question(bank: MemoryBank) -> None:
    heard = LlamaDebugHandler(print_trace_on_end=False)
    retriever = EbbinghausRetriever(bank, callback_manager=CallbackManager([heard]))
    retriever.retrieve(BOTH)
    assert len(heard.get_event_pairs(CBEventType.RETRIEVE)) == 1
