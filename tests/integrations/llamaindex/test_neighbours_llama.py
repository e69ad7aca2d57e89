"""What was said around a hit, in the blocks and nodes of LlamaIndex."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from llama_index.core.schema import MetadataMode
from llama_index.memory.ebbmem import (
    EbbinghausMemory,
    EbbinghausMemoryBlock,
    EbbinghausRetriever,
    EbbinghausToolSpec,
)

from builders import OpenBank
from ebbmem import Draft, InvalidInput, MemoryBank
from llama_kit import user

TALK = ("morning Ann", "where is the key", "under the mat", "thanks", "see you")
QUESTION = "What about the mat?"
BLOCK = [
    "  before, Bob: where is the key",
    "[under the mat] today, Ann: under the mat",
    "  after, Bob: thanks",
]


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
    return text.partition("<recollections>")[2].partition("</")[0].split("\n")[1:-1]


def by_block(bank: MemoryBank, **options: Any) -> str:
    block = EbbinghausMemoryBlock(bank, k=1, **options)
    return asyncio.run(block.aget([user(QUESTION)], session_id="t"))


def by_memory(bank: MemoryBank, **options: Any) -> str:
    memory = EbbinghausMemory(bank, k=1, session_id="t", **options)
    return "\n".join(str(each.content) for each in memory.get(QUESTION))


def by_tool(bank: MemoryBank, **options: Any) -> str:
    return EbbinghausToolSpec(bank, k=1, **options).recall(QUESTION)


BLOCKS = [by_block, by_memory, by_tool]


@pytest.mark.parametrize("told", BLOCKS)
def test_a_block_of_a_dialogue_tells_what_was_said_around(bank: MemoryBank, told: Any) -> None:
    assert lines(told(bank)) == BLOCK


@pytest.mark.parametrize("told", BLOCKS)
def test_a_block_tells_the_hits_alone_where_that_is_asked_for(bank: MemoryBank, told: Any) -> None:
    assert lines(told(bank, around=0)) == BLOCK[1:2]


@pytest.mark.parametrize("told", BLOCKS)
def test_what_is_no_number_of_neighbours_is_refused_at_once(bank: MemoryBank, told: Any) -> None:
    with pytest.raises(InvalidInput, match="around must be a whole number"):
        told(bank, around=11)


def test_a_block_that_must_shrink_gives_up_what_was_said_around_first(bank: MemoryBank) -> None:
    block, alone = EbbinghausMemoryBlock(bank, k=1), by_block(bank, around=0)
    content = by_block(bank)
    surplus = block.counter(content) - block.counter(alone)
    assert asyncio.run(block.atruncate(content, surplus)) == alone


def test_a_block_keeps_the_number_when_it_is_pickled(bank: MemoryBank) -> None:
    copied = pickle.loads(pickle.dumps(EbbinghausMemoryBlock(bank, around=3)))
    assert copied.around == 3


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_retriever_puts_it_beside_the_text_into_metadata_that_prompts_show(
    bank: MemoryBank, how: str
) -> None:
    retriever = EbbinghausRetriever(bank, k=1, around=1)
    found = (
        retriever.retrieve(QUESTION)
        if how == "sync"
        else asyncio.run(retriever.aretrieve(QUESTION))
    )
    [node] = found
    beside = {"before": ["where is the key"], "after": ["thanks"]}
    assert (node.text, node.metadata["around"]) == ("under the mat", beside)
    shown = node.node.get_content(metadata_mode=MetadataMode.LLM)
    assert shown == f"around: {beside}\n\nunder the mat"
    assert node.node.get_content(metadata_mode=MetadataMode.EMBED) == "under the mat"


def test_a_retriever_says_nothing_of_it_unless_asked(bank: MemoryBank) -> None:
    [node] = EbbinghausRetriever(bank, k=1).retrieve(QUESTION)
    assert "around" not in node.metadata


def test_a_node_is_the_same_with_and_without_what_was_said_around(bank: MemoryBank) -> None:
    [plain], [asked] = (
        EbbinghausRetriever(bank, k=1, around=number).retrieve(QUESTION) for number in (0, 1)
    )
    assert plain.node.hash == asked.node.hash
