"""The drop-in for LangChain's classic memories."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra classic")

from langchain_classic.base_memory import BaseMemory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import (
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from pydantic import ValidationError

from ebbmem import InvalidInput, MemoryBank
from ebbmem.testing import HashingEmbedder, ManualClock
from kit import Scripted, numbered, scripted
from langchain_ebbmem import EbbinghausMemory, EbbinghausRetriever

pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)


@pytest.fixture
def bank(open_bank: Any) -> MemoryBank:
    made: MemoryBank = open_bank(embedder=HashingEmbedder())
    return made


def memory(bank: MemoryBank, **options: Any) -> EbbinghausMemory:
    return EbbinghausMemory(memory=bank, **options)


def turns(mine: EbbinghausMemory, clock: ManualClock, *said: tuple[str, str]) -> None:
    for question, answer in said:
        mine.save_context({"input": question}, {"output": answer})
        clock.advance(hours=1)


async def load(how: str, mine: EbbinghausMemory, inputs: dict[str, Any]) -> dict[str, Any]:
    if how == "sync":
        return mine.load_memory_variables(inputs)
    return await mine.aload_memory_variables(inputs)


async def save(
    how: str, mine: EbbinghausMemory, inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    if how == "sync":
        mine.save_context(inputs, outputs)
    else:
        await mine.asave_context(inputs, outputs)


HOWS = pytest.mark.parametrize("how", ["sync", "async"])
asynchronous = pytest.mark.asyncio


# -- what it tells ---------------------------------------------------------------------------------


@asynchronous
@HOWS
async def test_the_last_turns_stand_and_older_ones_are_recalled_in_the_order_of_time(
    how: str, bank: MemoryBank, clock: ManualClock
) -> None:
    mine = memory(bank, window=2)
    turns(
        mine,
        clock,
        ("I am allergic to peanuts", "Noted."),
        ("The weather is fine", "Indeed."),  # a neighbour, which the graph may bring along
        ("My bicycle is blue", "How nice."),
        ("I like tea", "So do I."),
        ("Good night", "Sleep well."),
    )
    told = await load(how, mine, {"input": "Am I allergic to peanuts?"})
    assert told == {
        "history": "Human: I am allergic to peanuts\nAI: Noted.\n"
        "Human: The weather is fine\nAI: Indeed.\n"
        "Human: I like tea\nAI: So do I.\nHuman: Good night\nAI: Sleep well."
    }


@asynchronous
@HOWS
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
async def test_4_messages_or_a_text_in_every_state(
    how: str, filled: bool, bank: MemoryBank, clock: ManualClock
) -> None:
    if filled:
        turns(memory(bank), clock, ("I like tea", "So do I."))
    messages = await load(how, memory(bank, return_messages=True), {"input": "tea?"})
    text = await load(how, memory(bank), {"input": "tea?"})
    documents = await load(how, memory(bank, return_docs=True), {"input": "tea?"})
    assert [type(each) for each in messages["history"]] == (
        [HumanMessage, AIMessage] if filled else []
    )
    assert text == {"history": "Human: I like tea\nAI: So do I." if filled else ""}
    assert [type(each) for each in documents["history"]] == ([Document, Document] if filled else [])


def test_names_and_keys_are_the_users(bank: MemoryBank, clock: ManualClock) -> None:
    mine = memory(bank, memory_key="chat", human_prefix="Ana", ai_prefix="Bot")
    assert mine.memory_variables == ["chat"]
    turns(mine, clock, ("I like tea", "So do I."))
    assert mine.load_memory_variables({"input": "hm"}) == {"chat": "Ana: I like tea\nBot: So do I."}


def test_what_it_gives_is_a_copy(bank: MemoryBank, clock: ManualClock) -> None:
    mine = memory(bank, return_messages=True)
    turns(mine, clock, ("I like tea", "So do I."))
    mine.load_memory_variables({"input": "hm"})["history"].clear()
    assert len(mine.load_memory_variables({"input": "hm"})["history"]) == 2


def test_the_same_words_twice_stand_twice_in_the_window(
    bank: MemoryBank, clock: ManualClock
) -> None:
    mine = memory(bank)
    turns(mine, clock, ("yes", "ok"), ("yes", "ok"))
    assert mine.load_memory_variables({"input": "hm"})["history"].count("Human: yes") == 2


def test_older_turns_of_other_sessions_are_recalled_too(
    bank: MemoryBank, clock: ManualClock
) -> None:
    turns(memory(bank, session_id="monday"), clock, ("I am allergic to peanuts", "Noted."))
    told = memory(bank, session_id="tuesday").load_memory_variables({"input": "peanuts allergic?"})
    assert told["history"] == "Human: I am allergic to peanuts\nAI: Noted."


def test_what_has_faded_is_not_recalled(bank: MemoryBank, clock: ManualClock) -> None:
    mine = memory(bank, window=0)
    turns(mine, clock, ("I am allergic to peanuts", "Noted."))
    assert mine.load_memory_variables({"input": "allergic to peanuts?"})["history"]
    clock.advance(days=300)
    assert mine.load_memory_variables({"input": "allergic to peanuts?"})["history"] == ""


@pytest.mark.parametrize("reinforce", [True, False])
def test_recalling_counts_unless_it_shall_not(
    reinforce: bool, bank: MemoryBank, clock: ManualClock
) -> None:
    mine = memory(bank, window=0, reinforce=reinforce)
    turns(mine, clock, ("I am allergic to peanuts", "Noted."))
    mine.load_memory_variables({"input": "allergic to peanuts?"})
    assert [each.recall_count for each in bank.list()] == [int(reinforce), 0]


# -- criteria 1 and 2: keys ------------------------------------------------------------------------


@asynchronous
@HOWS
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"whatever": "hello"}, "hello"),
        ({"history": "old", "whatever": "hello"}, "hello"),
        ({"input": "hello", "extra": 1}, "hello"),
        ({"question": "hello", "context": "much"}, "hello"),
        ({"query": "hello", "a": "b"}, "hello"),
        ({"human_input": "hello", "a": "b"}, "hello"),
        ({"input": "hello", "question": "no"}, "hello"),
    ],
    ids=str,
)
async def test_1_the_humans_words_are_found_among_several_inputs(
    how: str, inputs: dict[str, Any], said: str, bank: MemoryBank
) -> None:
    await save(how, memory(bank), inputs, {"output": "yo"})
    assert [each.text for each in bank.list()] == [said, "yo"]


@asynchronous
@HOWS
async def test_1_inputs_without_a_usual_name_are_named_by_the_error(
    how: str, bank: MemoryBank
) -> None:
    with pytest.raises(InvalidInput, match=r"input_key must be one of \['a', 'b'\]"):
        await save(how, memory(bank), {"a": "1", "b": "2"}, {"output": "yo"})
    with pytest.raises(InvalidInput, match=r"input_key is 'c'; there are \['a', 'b'\]"):
        await load(how, memory(bank, input_key="c"), {"a": "1", "b": "2"})
    assert bank.list() == []


@asynchronous
@HOWS
@pytest.mark.parametrize(
    "outputs",
    [
        {"answer": "yo", "source_documents": [Document(page_content="secret")]},
        {"output": "yo", "intermediate_steps": [("secret", 1)]},
        {"response": "yo", "source_documents": ["secret"]},
        {"text": "yo", "more": "secret"},
        {"result": "yo", "source_documents": ["secret"]},
        {"anything": "yo"},
    ],
    ids=str,
)
async def test_2_the_answer_is_found_and_sources_are_never_stored(
    how: str, outputs: dict[str, Any], bank: MemoryBank
) -> None:
    await save(how, memory(bank), {"input": "hi"}, outputs)
    assert [each.text for each in bank.list()] == ["hi", "yo"]


def test_2_outputs_without_a_usual_name_are_named_by_the_error(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match=r"output_key must be one of \['a', 'b'\]"):
        memory(bank).save_context({"input": "hi"}, {"a": "1", "b": "2"})
    memory(bank, output_key="b").save_context({"input": "hi"}, {"a": "1", "b": "2"})
    assert [each.text for each in bank.list()] == ["hi", "2"]


def test_nothing_but_what_was_said_is_stored(bank: MemoryBank) -> None:
    inputs = {"input": "hi", "history": "x" * 10_000, "extra": 1}
    mine = memory(bank, input_key="input", output_key="output")
    mine.save_context(inputs, {"output": "yo", "sources": ["a", "b"]})
    assert [(each.text, dict(each.metadata).keys() - {"turn"}) for each in bank.list()] == [
        ("hi", {"role"}),
        ("yo", {"role"}),
    ]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}], ["hi", "a"]),
        (AIMessage(content=[{"type": "text", "text": "a"}]), ["hi", "a"]),
        ("", ["hi"]),
        (None, ["hi"]),
        (" \n", ["hi"]),
    ],
    ids=str,
)
def test_32_blocks_empty_texts_and_nothing_are_no_trouble(
    value: Any, kept: list[str], bank: MemoryBank
) -> None:
    memory(bank).save_context({"input": "hi"}, {"output": value})
    assert [each.text for each in bank.list()] == kept


# -- criterion 5: clear ----------------------------------------------------------------------------


@asynchronous
@HOWS
async def test_5_clear_empties_this_namespace_and_no_other(how: str, bank: MemoryBank) -> None:
    mine, other = memory(bank), memory(bank, namespace="bob")
    mine.save_context({"input": "hi"}, {"output": "yo"})
    other.save_context({"input": "hi"}, {"output": "yo"})
    await mine.aclear() if how == "async" else mine.clear()
    assert mine.load_memory_variables({"input": "hi"}) == {"history": ""}
    assert bank.list(include_faded=True) == []
    assert bank.recall("hi", min_similarity=-1) == []
    assert other.load_memory_variables({"input": "x"}) == {"history": "Human: hi\nAI: yo"}


def test_5_clear_of_a_named_session_leaves_the_others(bank: MemoryBank) -> None:
    one, two = memory(bank, session_id="one"), memory(bank, session_id="two")
    one.save_context({"input": "hi"}, {"output": "yo"})
    two.save_context({"input": "tea"}, {"output": "ok"})
    one.clear()
    assert [each.text for each in bank.list()] == ["tea", "ok"]


# -- the chains ------------------------------------------------------------------------------------


def last_prompt(model: Scripted) -> str:
    return "\n".join(str(each.content) for each in model.last)


@asynchronous
@HOWS
async def test_conversation_chain(how: str, bank: MemoryBank) -> None:
    from langchain_classic.chains import ConversationChain

    model = numbered()
    chain = ConversationChain(llm=model, memory=memory(bank))
    for text in ("I like tea", "What do I like?"):
        if how == "sync":
            out = chain.invoke({"input": text})
        else:
            out = await chain.ainvoke({"input": text})
    assert out["response"] == "answer 2"
    assert "Human: I like tea\nAI: answer 1" in last_prompt(model)
    assert [each.text for each in bank.list()] == [
        "I like tea",
        "answer 1",
        "What do I like?",
        "answer 2",
    ]


@asynchronous
@HOWS
async def test_llm_chain_with_a_placeholder_of_messages(how: str, bank: MemoryBank) -> None:
    from langchain_classic.chains import LLMChain

    model = numbered()
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), HumanMessagePromptTemplate.from_template("{question}")]
    )
    chain = LLMChain(llm=model, prompt=prompt, memory=memory(bank, return_messages=True))
    for text in ("I like tea", "What do I like?"):
        given = {"question": text}
        out = chain.invoke(given) if how == "sync" else await chain.ainvoke(given)
    assert out["text"] == "answer 2"
    assert [each.content for each in model.last] == ["I like tea", "answer 1", "What do I like?"]


@asynchronous
@HOWS
async def test_conversational_retrieval_chain_with_sources(how: str, bank: MemoryBank) -> None:
    from langchain_classic.chains import ConversationalRetrievalChain

    books = bank.at("books")
    books.remember("The library opens at nine")
    model = scripted("at nine", "When does the library open?", "at nine again")
    chain = ConversationalRetrievalChain.from_llm(
        model,
        EbbinghausRetriever(memory=books),
        memory=memory(bank, memory_key="chat_history", return_messages=True),
        return_source_documents=True,
    )
    for text in ("When does the library open?", "And when again?"):
        given = {"question": text}
        out = chain.invoke(given) if how == "sync" else await chain.ainvoke(given)
    assert out["answer"] == "at nine again"
    assert [each.page_content for each in out["source_documents"]] == ["The library opens at nine"]
    assert [each.text for each in bank.list()] == [
        "When does the library open?",
        "at nine",
        "And when again?",
        "at nine again",
    ]


def test_3_inside_a_combined_memory_the_input_is_named(bank: MemoryBank) -> None:
    from langchain_classic.chains import ConversationChain
    from langchain_classic.memory import CombinedMemory, ConversationBufferMemory

    model = numbered()
    prompt = PromptTemplate.from_template("{history}\n{recent}\n{input}")
    mine = memory(bank, input_key="input")
    both = CombinedMemory(
        memories=[mine, ConversationBufferMemory(memory_key="recent", input_key="input")]
    )
    chain = ConversationChain(llm=model, prompt=prompt, memory=both)
    chain.invoke({"input": "I like tea"})
    chain.invoke({"input": "What do I like?"})
    assert last_prompt(model).count("Human: I like tea") == 2
    assert [each.text for each in bank.list()][:2] == ["I like tea", "answer 1"]
    with pytest.raises(InvalidInput, match=r"\['note', 'recent'\]"):
        memory(bank).save_context({"note": "x", "recent": "y"}, {"output": "z"})


def test_a_read_only_view_reads_and_does_not_write(bank: MemoryBank, clock: ManualClock) -> None:
    from langchain_classic.chains import ConversationChain
    from langchain_classic.memory import ReadOnlySharedMemory

    mine = memory(bank)
    turns(mine, clock, ("I like tea", "So do I."))
    model = numbered()
    chain = ConversationChain(llm=model, memory=ReadOnlySharedMemory(memory=mine))
    chain.invoke({"input": "What do I like?"})
    assert "I like tea" in last_prompt(model)
    assert len(bank.list()) == 2


def test_it_is_a_base_memory_and_a_chain_takes_it(bank: MemoryBank) -> None:
    assert isinstance(memory(bank), BaseMemory)


# -- wiring ----------------------------------------------------------------------------------------


def test_unknown_arguments_and_wrong_memories_fail_loudly(bank: MemoryBank) -> None:
    with pytest.raises(ValidationError, match="windows"):
        memory(bank, windows=3)
    with pytest.raises(ValidationError, match=r"MemoryBank\.open"):
        EbbinghausMemory(memory="memory.db")  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="namespace is blank"):
        memory(bank, namespace=" ")


def test_its_representation_shows_no_memory(bank: MemoryBank, clock: ManualClock) -> None:
    mine = memory(bank)
    turns(mine, clock, ("a secret", "ok"))
    assert "secret" not in repr(mine)
    assert "MemoryBank" not in repr(mine)
