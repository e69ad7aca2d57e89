"""The history for RunnableWithMessageHistory: a stable transcript, whole tool groups."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from ebbmem import InvalidInput, MemoryBank
from ebbmem.testing import ManualClock
from kit import calling, numbered, scripted
from langchain_ebbmem import EbbinghausChatMessageHistory

pytestmark = [
    pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated"),
    pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory` was deprecated"),
]
SESSION: Any = {"configurable": {"session_id": "s1"}}


@pytest.fixture
def bank(open_bank: Any) -> MemoryBank:
    made: MemoryBank = open_bank()
    return made


def history(bank: MemoryBank, **options: Any) -> EbbinghausChatMessageHistory:
    return EbbinghausChatMessageHistory(bank, "s1", **options)


def contents(messages: list[BaseMessage]) -> list[Any]:
    return [each.content for each in messages]


def shaped(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Everything but the ids that are new in each run."""
    return [each.model_dump(exclude={"id"}) for each in messages]


# -- the matrix of RunnableWithMessageHistory: criteria 8, 9, 10 -----------------------------------


def with_prompt(model: Any) -> Runnable[Any, Any]:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    return prompt | model


SHAPES = {  # the four shapes of input, with the options that go with each
    "messages": (lambda model: model, {}),
    "a dict with a text": (
        with_prompt,
        {"input_messages_key": "input", "history_messages_key": "history"},
    ),
    "a dict with messages": (
        lambda model: RunnableLambda(lambda value: value["input"]) | model,
        {"input_messages_key": "input"},
    ),
    "a dict of dicts": (
        lambda model: with_prompt(model) | RunnableLambda(lambda said: {"output": said}),
        {
            "input_messages_key": "input",
            "history_messages_key": "history",
            "output_messages_key": "output",
        },
    ),
}


def given(shape: str, text: str) -> Any:
    if shape == "messages":
        return [HumanMessage(text)]
    return {"input": [HumanMessage(text)] if shape == "a dict with messages" else text}


async def run(how: str, chain: Any, value: Any) -> None:
    if how == "invoke":
        chain.invoke(value, SESSION)
    elif how == "ainvoke":
        await chain.ainvoke(value, SESSION)
    elif how == "stream":
        list(chain.stream(value, SESSION))
    else:
        async for _ in chain.astream(value, SESSION):
            pass


@pytest.mark.asyncio
@pytest.mark.parametrize("meanwhile", ["nothing", "fades", "grows"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_8_the_transcript_is_exact_whatever_happens_during_a_run(
    shape: str, how: str, meanwhile: str, bank: MemoryBank, clock: ManualClock
) -> None:
    make, options = SHAPES[shape]
    busy = "nothing"

    def disturbed(value: Any) -> Any:
        if busy == "fades":  # everything kept so far, while the model thinks
            bank.forget([each.id for each in bank.list()])
        if busy == "grows":  # another writer
            history(bank).add_messages([HumanMessage("from elsewhere")])
        return value

    chain: Any = RunnableWithMessageHistory(
        RunnableLambda(disturbed) | make(numbered()),
        EbbinghausChatMessageHistory.factory(bank, keep_last=0),
        **options,
    )
    await run(how, chain, given(shape, "one"))
    busy = meanwhile
    clock.advance(hours=1)
    await run(how, chain, given(shape, "two"))
    kept = [each.metadata["message"]["data"]["content"] for each in bank.list(include_faded=True)]
    between = ["from elsewhere"] if meanwhile == "grows" else []
    assert kept == ["one", "answer 1", *between, "two", "answer 2"]
    kinds = {type(each) for each in history(bank).messages}
    assert kinds == {HumanMessage, AIMessage}  # never a chunk
    shown = contents(history(bank, keep_last=0).messages)
    assert shown == (["two", "answer 2"] if meanwhile == "fades" else kept)


@pytest.mark.asyncio
async def test_10_sync_and_async_runs_leave_the_same_transcript_as_langchains_own(
    open_bank: Any, tmp_path: Any
) -> None:
    transcripts = []
    for how in ("invoke", "ainvoke", "stream", "astream"):
        mine = open_bank(path=tmp_path / f"{how}.db")
        other = InMemoryChatMessageHistory()
        for factory in (EbbinghausChatMessageHistory.factory(mine), lambda _, other=other: other):
            make, options = SHAPES["a dict with a text"]
            chain = RunnableWithMessageHistory(make(numbered()), factory, **options)
            await run(how, chain, {"input": "one"})
            await run(how, chain, {"input": "two"})
        transcripts.append(shaped(EbbinghausChatMessageHistory(mine, "s1").messages))
        if "stream" not in how:  # there it keeps chunks
            assert transcripts[-1] == shaped(other.messages)
    assert all(each == transcripts[0] for each in transcripts)


def test_9_a_stream_that_is_stored_as_a_chunk_reads_back_as_a_message(bank: MemoryBank) -> None:
    mine = history(bank)
    mine.add_messages([HumanMessage("hi"), AIMessageChunk(content="hel") + AIMessageChunk("lo")])
    assert [type(each) for each in mine.messages] == [HumanMessage, AIMessage]
    assert contents(mine.messages) == ["hi", "hello"]


# -- what is kept ----------------------------------------------------------------------------------


def test_messages_come_back_as_they_were(bank: MemoryBank) -> None:
    said: list[BaseMessage] = [
        SystemMessage("Be brief.", id="s"),
        HumanMessage([{"type": "text", "text": "What is this?"}], id="h", name="Ana"),
        calling("look", id="c1", at="it"),
        ToolMessage("a cat", tool_call_id="c1", id="t", artifact={"n": 1}),
        AIMessage("A cat.", id="a", usage_metadata=None, response_metadata={"model": "x"}),
    ]
    history(bank).add_messages(said)
    assert history(bank).messages == said


def test_saying_the_same_twice_is_twice_in_the_transcript(bank: MemoryBank) -> None:
    mine = history(bank)
    for _ in range(2):
        mine.add_messages([HumanMessage("yes"), AIMessage("ok")])
    assert contents(mine.messages) == ["yes", "ok", "yes", "ok"]


def test_a_message_with_a_known_id_replaces_that_message(bank: MemoryBank) -> None:
    mine = history(bank)
    mine.add_messages([HumanMessage("tea", id="m1"), AIMessage("ok", id="m2")])
    mine.add_messages([HumanMessage("coffee", id="m1")])
    assert contents(mine.messages) == ["coffee", "ok"]


def test_a_chain_that_gives_the_whole_list_adds_the_input_once(bank: MemoryBank) -> None:
    asked = HumanMessage("one")
    history(bank).add_messages([asked, asked, AIMessage("answer")])
    assert contents(history(bank).messages) == ["one", "answer"]


@pytest.mark.parametrize("content", ["", [], [{"type": "image", "url": "https://x.org/a.png"}]])
def test_a_message_without_text_is_in_the_transcript_and_found_by_nobody(
    content: Any, bank: MemoryBank
) -> None:
    mine = history(bank)
    mine.add_messages([HumanMessage(content=content)])
    assert contents(mine.messages) == [content]
    assert bank.recall("human", min_similarity=-1) == []


def test_words_of_the_transcript_are_recalled_and_instructions_are_not(bank: MemoryBank) -> None:
    history(bank).add_messages([SystemMessage("peanuts are fine"), HumanMessage("no peanuts")])
    assert [hit.memory.text for hit in bank.recall("peanuts")] == ["no peanuts"]


def test_20_lists_are_copies(bank: MemoryBank) -> None:
    mine = history(bank)
    mine.add_messages([HumanMessage("tea")])
    mine.messages.append(HumanMessage("poison"))
    mine.messages[0].content = "poison"
    assert contents(mine.messages) == ["tea"]
    assert contents(history(bank).messages) == ["tea"]


# -- criterion 12: tool groups ---------------------------------------------------------------------


def rounds(bank: MemoryBank) -> None:
    history(bank).add_messages(
        [
            HumanMessage("weather?", id="h"),
            calling("weather", id="c1", city="Ulm").model_copy(update={"id": "call"}),
            ToolMessage("rain", tool_call_id="c1", id="result"),
            AIMessage("It rains.", id="a"),
        ]
    )


def kinds(bank: MemoryBank) -> list[str]:
    return [each.type for each in history(bank, keep_last=0).messages]


@pytest.mark.parametrize("gone", ["[ai: weather]", "[tool]"])
@pytest.mark.parametrize("how", ["forget", "erase"])
def test_12_forgetting_never_orphans_a_tool_call_nor_its_result(
    gone: str, how: str, bank: MemoryBank
) -> None:
    rounds(bank)
    assert kinds(bank) == ["human", "ai", "tool", "ai"]
    [each] = [record for record in bank.list() if record.text == gone]
    getattr(bank, how)([each.id])
    assert kinds(bank) == (["human", "ai", "tool", "ai"] if how == "forget" else ["human", "ai"])


def test_12_a_whole_group_fades_together(bank: MemoryBank) -> None:
    rounds(bank)
    bank.forget([each.id for each in bank.list() if not each.searchable])
    assert kinds(bank) == ["human", "ai"]


def test_a_call_that_still_runs_stands_at_the_end(bank: MemoryBank) -> None:
    history(bank).add_messages([HumanMessage("weather?"), calling("weather", id="c1", city="Ulm")])
    assert kinds(bank) == ["human", "ai"]


# -- forgetting ------------------------------------------------------------------------------------


def test_what_has_faded_leaves_and_the_last_messages_stay(
    bank: MemoryBank, clock: ManualClock
) -> None:
    mine = history(bank)
    for n in range(4):
        mine.add_messages([HumanMessage(f"statement {n}")])
        clock.advance(days=1)
    clock.advance(days=300)
    assert contents(history(bank, keep_last=3).messages) == [f"statement {n}" for n in (1, 2, 3)]
    assert contents(history(bank, keep_last=0).messages) == []


def test_a_snapshot_stays_until_this_object_writes(bank: MemoryBank) -> None:
    mine = history(bank, keep_last=0)
    mine.add_messages([HumanMessage("tea")])
    assert contents(mine.messages) == ["tea"]
    bank.forget([each.id for each in bank.list()])
    history(bank).add_messages([HumanMessage("from elsewhere")])
    assert contents(mine.messages) == ["tea"]
    mine.add_messages([HumanMessage("milk")])
    assert contents(mine.messages) == ["from elsewhere", "milk"]


# -- sessions and failures -------------------------------------------------------------------------


def test_clear_erases_this_session_and_nothing_else(bank: MemoryBank) -> None:
    other = EbbinghausChatMessageHistory(bank, "s2")
    mine = history(bank)
    mine.add_messages([HumanMessage("tea", id="m1")])
    other.add_messages([HumanMessage("milk", id="m1")])
    bank.remember("a fact")
    mine.clear()
    assert mine.messages == []
    assert contents(other.messages) == ["milk"]
    assert [each.text for each in bank.list(include_faded=True)] == ["milk", "a fact"] or {
        each.text for each in bank.list()
    } == {"milk", "a fact"}
    asyncio.run(other.aclear())
    assert other.messages == []


def test_two_users_with_one_session_name_do_not_meet(bank: MemoryBank) -> None:
    alice = EbbinghausChatMessageHistory(bank, "s", namespace="alice")
    bob = EbbinghausChatMessageHistory(bank, "s", namespace="bob")
    alice.add_messages([HumanMessage("tea")])
    assert bob.messages == []
    bob.clear()
    assert contents(alice.messages) == ["tea"]


@pytest.mark.parametrize("session", ["", " ", None, 7, "a\nb"])
def test_a_session_without_a_name_is_refused(session: Any, bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="session_id"):
        EbbinghausChatMessageHistory(bank, session)


def test_the_factory_refuses_wrong_wiring_before_the_first_run() -> None:
    with pytest.raises(InvalidInput, match=r"MemoryBank\.open"):
        EbbinghausChatMessageHistory.factory("memory.db")  # type: ignore[arg-type]


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_11_a_write_that_fails_is_logged_with_its_session_and_leaves_nothing(
    how: str, open_bank: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Down:
        def embed_documents(self, texts: list[str]) -> Any:
            raise ConnectionError("down")

        def embed_query(self, text: str) -> Any:
            raise ConnectionError("down")

    bank = open_bank(embedder=Down())
    make, options = SHAPES["a dict with a text"]
    chain = RunnableWithMessageHistory(
        make(scripted("marker-5")), EbbinghausChatMessageHistory.factory(bank), **options
    )
    with caplog.at_level(logging.DEBUG, logger="langchain_ebbmem"):
        await run(how, chain, {"input": "one"})
    mine = [each.getMessage() for each in caplog.records if each.name == "langchain_ebbmem"]
    assert len(mine) == 1
    assert "session s1" in mine[0]
    assert "marker-5" not in mine[0]
    assert bank.list(include_faded=True) == []
