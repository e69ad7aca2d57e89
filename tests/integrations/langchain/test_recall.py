"""Memory for chains: a runnable that recalls, and one that keeps the turn as well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough
from pydantic import ValidationError

from ebbmem import EmbeddingError, InvalidInput, MemoryBank
from ebbmem.context import CLOSING, OPENING
from ebbmem.testing import HashingEmbedder, ManualClock
from kit import SlowEmbeddings, numbered, scripted
from langchain_ebbmem import EbbinghausRecall, with_ebbinghaus_memory

PEANUTS = "I am allergic to peanuts"
ASKED = "Am I allergic to peanuts?"
PROMPT = ChatPromptTemplate.from_messages([("system", "Brief. {memories}"), ("human", "{input}")])
HOWS = ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"]


@pytest.fixture
def bank(open_bank: Any) -> MemoryBank:
    made: MemoryBank = open_bank(embedder=HashingEmbedder())
    return made


async def run(how: str, chain: Any, value: Any, config: Any = None) -> Any:
    if how in ("invoke", "batch", "stream"):
        if how == "stream":
            return list(chain.stream(value, config))[-1]
        return chain.invoke(value, config) if how == "invoke" else chain.batch([value], config)[0]
    if how == "astream":
        return [each async for each in chain.astream(value, config)][-1]
    if how == "ainvoke":
        return await chain.ainvoke(value, config)
    return (await chain.abatch([value], config))[0]


def session(name: str, **more: Any) -> dict[str, Any]:
    return {"configurable": {"session_id": name, **more}}


def texts(bank: MemoryBank) -> list[str]:
    return [each.text for each in bank.list(include_faded=True)]


# -- recalling -------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "value",
    [
        ASKED,
        {"input": ASKED, "extra": 1},
        {"anything": ASKED},
        [HumanMessage("hi"), AIMessage("yo"), HumanMessage(ASKED), AIMessage("hm")],
        {"question": [HumanMessage(ASKED)]},
    ],
    ids=["text", "dict", "sole key", "messages", "dict of messages"],
)
async def test_a_question_in_any_shape_becomes_a_block(
    how: str, value: Any, bank: MemoryBank
) -> None:
    bank.remember(PEANUTS)
    block = await run(how, EbbinghausRecall(memory=bank), value)
    assert block.startswith(OPENING)
    assert block.count(PEANUTS) == 1
    assert block.endswith(CLOSING)


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("value", ["boiling point of tungsten", "", {"input": " "}, []], ids=str)
async def test_nothing_recalled_is_an_empty_text(how: str, value: Any, bank: MemoryBank) -> None:
    bank.remember(PEANUTS)
    assert await run(how, EbbinghausRecall(memory=bank), value) == ""


def test_it_fills_a_variable_of_a_prompt(bank: MemoryBank) -> None:
    bank.remember(PEANUTS)
    model = numbered()
    recall = EbbinghausRecall(memory=bank, input_key="input")
    (RunnablePassthrough.assign(memories=recall) | PROMPT | model).invoke({"input": ASKED})
    assert PEANUTS in str(model.last[0].content)


def test_a_formatter_takes_the_place_of_the_block(bank: MemoryBank) -> None:
    bank.remember(PEANUTS)
    recall = EbbinghausRecall(
        memory=bank, formatter=lambda hits: "; ".join(each.memory.text for each in hits)
    )
    assert recall.invoke(ASKED) == PEANUTS


@pytest.mark.parametrize("budget", [30, 60, 200])
def test_the_block_keeps_to_its_budget(budget: int, bank: MemoryBank) -> None:
    bank.remember_many(f"allergic to peanuts, statement {n}" for n in range(20))
    block = EbbinghausRecall(memory=bank, budget=budget, k=20).invoke("allergic to peanuts")
    assert bank.context("allergic to peanuts", budget=budget, k=20).tokens <= budget
    assert len(block) < 20 * budget


def test_the_config_names_whose_memory_it_is(bank: MemoryBank) -> None:
    bank.at("alice").remember(PEANUTS)
    recall = EbbinghausRecall(
        memory=bank, namespace=lambda config: config["configurable"].get("user")
    )
    assert PEANUTS in recall.invoke(ASKED, session("s", user="alice"))
    assert recall.invoke(ASKED, session("s", user="bob")) == ""
    with pytest.raises(InvalidInput, match="namespace"):
        recall.invoke(ASKED, session("s"))


def test_unknown_arguments_and_wrong_memories_fail_loudly(bank: MemoryBank) -> None:
    with pytest.raises(ValidationError, match="top_k"):
        EbbinghausRecall(memory=bank, top_k=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match=r"MemoryBank\.open"):
        EbbinghausRecall(memory="memory.db")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"MemoryBank\.open"):
        with_ebbinghaus_memory(numbered(), "memory.db")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"input_key must be one of \['a', 'b'\]"):
        EbbinghausRecall(memory=bank).invoke({"a": "x", "b": "y"})


# -- keeping the turn ------------------------------------------------------------------------------


def chain_of(bank: MemoryBank, model: Any = None, **options: Any) -> Any:
    return with_ebbinghaus_memory(PROMPT | (model or numbered()), bank, **options)


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
async def test_9_a_fact_of_one_session_reaches_the_next_and_each_turn_is_kept(
    how: str, bank: MemoryBank
) -> None:
    model = scripted("Noted.", "Yes, you are.")
    chain = chain_of(bank, model)
    await run(how, chain, {"input": PEANUTS}, session("s1"))
    await run(how, chain, {"input": ASKED}, session("s2"))
    assert str(model.last[0].content).count(PEANUTS) == 1
    assert [(each.text, each.speaker, each.source, each.position) for each in bank.list()] == [
        (PEANUTS, "user", "s1", 0),
        ("Noted.", "assistant", "s1", 1),
        (ASKED, "user", "s2", 0),
        ("Yes, you are.", "assistant", "s2", 1),
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("value", ["hello", [HumanMessage("hello", id="m1")]], ids=["text", "msg"])
async def test_a_text_or_messages_come_to_the_chain_as_input(
    how: str, value: Any, bank: MemoryBank
) -> None:
    got: list[Any] = []
    chain = with_ebbinghaus_memory(
        RunnableLambda(lambda given: got.append(given) or "answer"),
        bank,  # type: ignore[func-returns-value]
    )
    await run(how, chain, value, session("s"))
    assert got == [{"input": value, "memories": ""}]
    assert texts(bank) == ["hello", "answer"]


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("yo", "yo"),
        (AIMessage("yo"), "yo"),
        ({"answer": "yo", "source_documents": ["secret"]}, "yo"),
        ({"output": AIMessage("yo"), "context": "secret"}, "yo"),
        ({"messages": [HumanMessage("hello"), AIMessage("yo")]}, "yo"),
        (AIMessage([{"type": "text", "text": "yo"}, {"type": "image", "url": "u"}]), "yo"),
        (None, None),
        ({}, None),
        (7, None),
    ],
    ids=str,
)
async def test_what_was_answered_is_kept_and_nothing_beside_it(
    how: str, answer: Any, kept: str | None, bank: MemoryBank
) -> None:
    chain = with_ebbinghaus_memory(RunnableLambda(lambda _: answer), bank)
    await run(how, chain, "hello", session("s"))
    assert texts(bank) == ["hello", *([kept] if kept else [])]


def in_parts(_: Any) -> Iterator[str]:
    yield from ["You ", "are ", "allergic ", "to peanuts"]


async def ain_parts(_: Any) -> AsyncIterator[str]:
    for part in ["You ", "are ", "allergic ", "to peanuts"]:
        yield part


def test_a_stream_that_is_closed_early_keeps_what_was_said(bank: MemoryBank) -> None:
    chain = with_ebbinghaus_memory(RunnableGenerator(in_parts, ain_parts), bank)
    stream = chain.stream("What am I?", session("s"))
    assert [next(iter(stream)), next(iter(stream))] == ["You ", "are "]
    stream.close()  # type: ignore[attr-defined]
    assert texts(bank) == ["What am I?", "You are "]


@pytest.mark.asyncio
async def test_an_async_stream_that_is_closed_early_keeps_what_was_said(bank: MemoryBank) -> None:
    chain = with_ebbinghaus_memory(RunnableGenerator(in_parts, ain_parts), bank)
    stream: Any = chain.astream("What am I?", session("s"))
    assert [await anext(stream), await anext(stream)] == ["You ", "are "]
    await stream.aclose()
    assert texts(bank) == ["What am I?", "You are "]


@pytest.mark.asyncio
async def test_a_task_that_is_cancelled_keeps_what_was_said(bank: MemoryBank) -> None:
    started = asyncio.Event()

    async def slow(_: Any) -> AsyncIterator[str]:
        yield "You are "
        started.set()
        await asyncio.sleep(3600)
        yield "never said"

    chain = with_ebbinghaus_memory(RunnableGenerator(slow), bank)

    async def read() -> None:
        async for _ in chain.astream("What am I?", session("s")):
            pass

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(bank) == ["What am I?", "You are "]


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
async def test_what_the_human_said_is_kept_when_the_model_raises(
    how: str, bank: MemoryBank
) -> None:
    chain = chain_of(bank, scripted(RuntimeError("down")))
    with pytest.raises(RuntimeError, match="down"):
        await run(how, chain, {"input": PEANUTS}, session("s"))
    assert texts(bank) == [PEANUTS]


def test_a_retry_adds_nothing(bank: MemoryBank) -> None:
    model = scripted(RuntimeError("busy"), RuntimeError("busy"), "Noted.")
    chain = chain_of(bank, model).with_retry(wait_exponential_jitter=False)
    chain.invoke({"input": PEANUTS}, session("s"))
    assert texts(bank) == [PEANUTS, "Noted."]
    assert {each.recall_count for each in bank.list()} == {0}


def test_saying_it_again_another_day_is_one_memory_made_stronger(
    bank: MemoryBank, clock: ManualClock
) -> None:
    chain = chain_of(bank, scripted("Noted.", "I know."))
    chain.invoke({"input": PEANUTS}, session("s1"))
    clock.advance(days=1)
    chain.invoke({"input": PEANUTS}, session("s2"))
    assert [(each.text, each.recall_count) for each in bank.list()] == [
        (PEANUTS, 1),
        ("Noted.", 0),
        ("I know.", 0),
    ]


@pytest.mark.parametrize(("save", "kept"), [("human", ["hello"]), ("none", [])])
def test_who_is_kept_is_the_users_choice(save: Any, kept: list[str], bank: MemoryBank) -> None:
    chain_of(bank, save=save).invoke({"input": "hello"}, session("s"))
    assert texts(bank) == kept


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_extract_takes_the_place_of_the_words(how: str, bank: MemoryBank) -> None:
    seen: list[Any] = []

    def extract(messages: Any) -> list[Any]:
        seen.append([each.text for each in messages])
        return ["User: no peanuts"]

    await run(how, chain_of(bank, extract=extract), {"input": PEANUTS}, session("s"))
    assert seen == [[PEANUTS, "answer 1"]]
    assert texts(bank) == ["User: no peanuts"]


def test_two_users_of_one_chain_do_not_meet(bank: MemoryBank) -> None:
    model = numbered()
    chain = chain_of(bank, model, namespace=lambda config: config["configurable"]["user"])
    chain.invoke({"input": PEANUTS}, session("s", user="alice"))
    chain.invoke({"input": ASKED}, session("s", user="bob"))
    assert model.last[0].content == "Brief. "
    assert (texts(bank), texts(bank.at("bob"))) == ([], [ASKED, "answer 2"])


def test_the_chain_inside_gets_config_callbacks_and_tags(bank: MemoryBank) -> None:
    seen: list[Any] = []

    def inner(value: Any, config: Any) -> str:
        seen.append((config["tags"], config["configurable"]["session_id"]))
        return "ok"

    class Counting(BaseCallbackHandler):
        started = 0

        def on_chain_start(self, *_: Any, **__: Any) -> None:
            self.started += 1

    handler = Counting()
    chain = with_ebbinghaus_memory(RunnableLambda(inner), bank)
    chain.invoke("hello", {"tags": ["mine"], "callbacks": [handler], **session("s")})
    assert seen == [(["mine"], "s")]
    assert handler.started == 1


@pytest.mark.asyncio
async def test_16_four_chains_with_a_slow_embedder_wait_together(open_bank: Any) -> None:
    embedder = SlowEmbeddings()
    bank = open_bank(embedder=embedder)
    chain = chain_of(bank) | StrOutputParser()
    loop = asyncio.get_running_loop()
    start = loop.time()
    await chain.ainvoke({"input": "message 0"}, session("s0"))
    one = loop.time() - start
    start = loop.time()
    await asyncio.gather(
        *(chain.ainvoke({"input": f"message {n}"}, session(f"s{n}")) for n in range(1, 5))
    )
    assert embedder.most >= 3
    assert loop.time() - start < 2.5 * one


def test_of_an_answer_with_the_whole_conversation_this_turn_is_kept(bank: MemoryBank) -> None:
    whole = [HumanMessage("one"), AIMessage("first"), HumanMessage("two"), AIMessage("second")]
    chain = with_ebbinghaus_memory(lambda _: {"messages": whole}, bank)
    chain.invoke("two", session("s"))
    assert texts(bank) == ["two", "second"]


# -- when the memory fails -----------------------------------------------------------------------


class Down:
    """An embedder of LangChain's kind that never answers."""

    model = "down"

    def embed_documents(self, texts: list[str]) -> Any:
        raise ConnectionError("down")

    def embed_query(self, text: str) -> Any:
        raise ConnectionError("down")


@pytest.mark.asyncio
@pytest.mark.parametrize("how", HOWS)
async def test_a_memory_that_fails_costs_the_memory_and_not_the_answer(
    how: str, open_bank: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bank = open_bank(embedder=Down())
    answer = await run(how, chain_of(bank), {"input": "marker-9"}, session("s1"))
    assert answer.content in ("answer 1", "1")  # a stream ends with its last chunk
    assert texts(bank) == []
    assert "s1" in caplog.text
    assert "marker-9" not in caplog.text
    chain = chain_of(bank, on_error="raise")
    with pytest.raises(EmbeddingError, match="down"):
        await run(how, chain, {"input": "marker-9"}, session("s1"))


def test_an_answer_under_an_unusual_name_is_given_and_the_log_says_what_to_name(
    bank: MemoryBank, caplog: pytest.LogCaptureFixture
) -> None:
    chain = with_ebbinghaus_memory(lambda _: {"this": "a", "that": "b"}, bank)
    assert chain.invoke("hello", session("s")) == {"this": "a", "that": "b"}
    assert "output_key must be one of ['that', 'this']" in caplog.text
    assert texts(bank) == ["hello"]
