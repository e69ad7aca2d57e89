"""What was said around a hit, in the blocks and documents of LangChain."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="needs the extra agents")
pytest.importorskip("langchain_classic", reason="needs the extra classic")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from builders import OpenBank
from ebbmem import Draft, InvalidInput, MemoryBank, Recollection
from kit import SlowEmbeddings, numbered
from langchain_ebbmem import (
    EbbinghausMemory,
    EbbinghausMiddleware,
    EbbinghausRecall,
    EbbinghausRetriever,
    EbbinghausVectorStore,
    create_recall_tool,
    with_ebbinghaus_memory,
)

TALK = ("morning Ann", "where is the key", "under the mat", "thanks", "see you")
QUESTION = "What about the mat?"
BLOCK = [
    "  before, Bob: where is the key",
    "[under the mat] today, Ann: under the mat",
    "  after, Bob: thanks",
]

pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    made = open_bank()
    made.remember_many(
        Draft(text=text, id=text, source="s", speaker=("Ann", "Bob")[number % 2])
        for number, text in enumerate(TALK)
    )
    return made


def lines(text: str) -> list[str]:
    """Of the block in a text."""
    return text.partition("<recollections>")[2].split("\n")[1:-1]


def by_middleware(bank: MemoryBank, **options: Any) -> str:
    model = numbered()
    middleware = EbbinghausMiddleware(bank, k=1, save="none", **options)
    create_agent(model, [], middleware=[middleware]).invoke({"messages": [HumanMessage(QUESTION)]})
    return str(model.last[0].content)


def by_runnable(bank: MemoryBank, **options: Any) -> str:
    return EbbinghausRecall(memory=bank, k=1, **options).invoke(QUESTION)


def by_chain(bank: MemoryBank, **options: Any) -> str:
    given: list[str] = []
    chain = RunnableLambda(lambda value: given.append(value["memories"]) or "")
    with_ebbinghaus_memory(chain, bank, k=1, save="none", **options).invoke({"input": QUESTION})
    return given[0]


def by_tool(bank: MemoryBank, **options: Any) -> str:
    return str(create_recall_tool(bank, k=1, **options).invoke({"query": QUESTION}))


BLOCKS = [by_middleware, by_runnable, by_chain, by_tool]


@pytest.mark.parametrize("told", BLOCKS)
def test_a_block_of_a_dialogue_tells_what_was_said_around(bank: MemoryBank, told: Any) -> None:
    assert lines(told(bank)) == BLOCK


@pytest.mark.parametrize("told", BLOCKS)
def test_a_block_tells_the_hits_alone_where_that_is_asked_for(bank: MemoryBank, told: Any) -> None:
    assert lines(told(bank, around=0)) == BLOCK[1:2]


@pytest.mark.parametrize("told", BLOCKS)
def test_what_is_no_number_of_neighbours_is_refused_at_once(bank: MemoryBank, told: Any) -> None:
    with pytest.raises((InvalidInput, ValueError), match="around must be a whole number"):
        told(bank, around=11)


def test_a_formatter_gets_what_was_said_around_too(bank: MemoryBank) -> None:
    def shown(hits: list[Recollection]) -> str:
        return "|".join(each.text for hit in hits for each in (*hit.before, *hit.after))

    recall = EbbinghausRecall(memory=bank, k=1, formatter=shown)
    assert recall.invoke(QUESTION) == "where is the key|thanks"
    assert asyncio.run(recall.ainvoke(QUESTION)) == "where is the key|thanks"


def test_the_artifact_of_the_tool_has_the_documents_of_all_lines(bank: MemoryBank) -> None:
    tool = create_recall_tool(bank, k=1)
    call = {"name": tool.name, "args": {"query": QUESTION}, "id": "1", "type": "tool_call"}
    found = tool.invoke(call).artifact
    assert [each.id for each in found] == ["where is the key", "under the mat", "thanks"]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_retriever_puts_it_beside_the_text_into_the_metadata(bank: MemoryBank, how: str) -> None:
    retriever = EbbinghausRetriever(memory=bank, k=1, around=1)
    found = (
        retriever.invoke(QUESTION) if how == "sync" else asyncio.run(retriever.ainvoke(QUESTION))
    )
    [document] = found
    assert document.page_content == "under the mat"
    beside = {"before": ["where is the key"], "after": ["thanks"]}
    assert document.metadata == {"source": "s", "around": beside}
    assert json.loads(json.dumps(document.metadata)) == document.metadata


def test_a_retriever_says_nothing_of_it_unless_asked(bank: MemoryBank) -> None:
    [document] = EbbinghausRetriever(memory=bank, k=1).invoke(QUESTION)
    assert document.metadata == {"source": "s"}
    [document] = EbbinghausRetriever(memory=bank, k=1).invoke(QUESTION, around=2)
    assert document.metadata["around"]["before"] == ["morning Ann", "where is the key"]


def test_a_vector_store_finds_it_where_a_search_asks_for_it(bank: MemoryBank) -> None:
    [document] = EbbinghausVectorStore(memory=bank).similarity_search(QUESTION, 1, around=1)
    assert document.metadata["around"] == {"before": ["where is the key"], "after": ["thanks"]}


def test_beside_somebody_elses_vector_store_there_is_no_order_to_ask_for() -> None:
    retriever = EbbinghausRetriever.from_vectorstore(InMemoryVectorStore(SlowEmbeddings(0.0)))
    with pytest.raises(InvalidInput, match="around has no meaning here"):
        retriever.invoke(QUESTION, around=1)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_classic_memory_has_whole_turns_of_what_was_said_around(
    open_bank: OpenBank, how: str
) -> None:
    bank = open_bank()
    mine = EbbinghausMemory(memory=bank, window=0, k=1, around=1)
    for turn in (("hello", "good day"), ("my mat is red", "nice"), ("bye", "see you")):
        mine.save_context({"input": turn[0]}, {"output": turn[1]})
    asked = {"input": QUESTION}
    found = (
        mine.load_memory_variables(asked)
        if how == "sync"
        else asyncio.run(mine.aload_memory_variables(asked))
    )
    assert found["history"].split("\n") == [
        "Human: hello",
        "AI: good day",
        "Human: my mat is red",
        "AI: nice",
    ]
