"""`EbbinghausMemory`: what goes in, what comes out, where it stands, and how it comes back."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import Settings
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import CondenseQuestionChatEngine, SimpleChatEngine
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.memory import BaseMemory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.workflow import Context, JsonSerializer
from llama_index.memory.ebbmem import EbbinghausMemory, handles
from llama_index.memory.ebbmem import memory as module
from llama_index.memory.ebbmem.messages import tokens_of
from llama_index.memory.ebbmem.placement import NOTED, placed, window

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank, Policy
from ebbmem.context import OPENING
from ebbmem.testing import ManualClock
from llama_kit import (
    AGENT,
    FACT,
    QUESTION,
    Library,
    Recorder,
    agent,
    assistant,
    block_in,
    engine,
    repeated,
    roles,
    run,
    text_of,
    user,
)

SYSTEM = ChatMessage(role="system", content="Be brief.")


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank(embedder="hashing")


@pytest.fixture
def knowing(bank: MemoryBank) -> MemoryBank:
    bank.remember(FACT)
    return bank


def texts(bank: MemoryBank) -> list[str]:
    return sorted(each.text for each in bank.list(include_faded=True))


def told(messages: list[ChatMessage]) -> str:
    return "\n".join(text_of(each) for each in messages)


def tokens(memory: EbbinghausMemory, messages: list[ChatMessage]) -> int:
    return sum(tokens_of(each, lambda text: len(memory.tokenizer_fn(text))) for each in messages)


# -- what it is --------------------------------------------------------------------------------


def test_class() -> None:
    assert BaseMemory.__name__ in [each.__name__ for each in EbbinghausMemory.__mro__]
    assert EbbinghausMemory.class_name() == "EbbinghausMemory"


def test_9_an_empty_one_is_true_so_that_no_engine_replaces_it(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    assert memory
    assert not hasattr(memory, "__len__")
    assert engine("simple", Recorder(), memory)._memory is memory


@pytest.mark.parametrize(
    "options, word",
    [
        ({"token_limit": 0}, "token_limit must be"),
        ({"placement": "top"}, "placement must be one of"),
        ({"session_id": ""}, "session_id is blank"),
        ({"k": 0}, "k must be"),
        ({"persist_path": "a.db"}, "persist_path and memory are two banks"),
        ({"embed_model": object()}, "embed_model is the bank's"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(
    bank: MemoryBank, options: dict[str, Any], word: str
) -> None:
    with pytest.raises(InvalidInput, match=word):
        EbbinghausMemory(bank, **options)


def test_a_file_needs_a_namespace_and_no_file_is_made_without(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="namespace must be given with persist_path"):
        EbbinghausMemory(persist_path=tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"input": QUESTION},
        {"input": user(QUESTION)},
        {"input": QUESTION, "initial_token_count": 10},
        {"input": QUESTION, "anything": 1},
    ],
)
def test_9_get_takes_a_text_or_a_message_and_what_engines_add(
    knowing: MemoryBank, options: dict[str, Any]
) -> None:
    memory = EbbinghausMemory(knowing)
    found, afound = memory.get(**options), asyncio.run(memory.aget(**options))
    assert found == afound
    assert roles(found) == ["user", "assistant"]
    assert FACT in text_of(found[0])


def test_9_without_input_the_last_words_of_the_user_are_asked(knowing: MemoryBank) -> None:
    memory = EbbinghausMemory(knowing)
    assert memory.get() == []
    memory.put(user(QUESTION))
    [found] = memory.get()
    assert FACT in text_of(found)
    assert [each.text for each in found.blocks][1:] == [QUESTION]


def test_nothing_recalled_changes_nothing(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    said = [SYSTEM, user("Good morning."), assistant("Good morning."), user(QUESTION)]
    memory.put_messages(said)
    assert memory.get() == said == memory.get_all()


def test_25_what_is_in_the_transcript_is_not_told_twice(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    memory.put_messages([user(FACT), assistant("A fine city.")])
    for found in (memory.get(input=QUESTION), memory.get()):
        assert told(found).count(FACT) == 1


# -- where it stands ---------------------------------------------------------------------------

HISTORIES = st.lists(
    st.sampled_from([SYSTEM, user("one"), user("two"), assistant("three")]), max_size=8
)


@pytest.mark.parametrize("placement", ["auto", "user", "pair"])
@given(history=HISTORIES, asked=st.sampled_from([None, user("two"), user("four")]))
def test_10_it_makes_no_two_messages_of_a_user_in_a_row_and_none_of_an_assistant_the_first(
    placement: Any, history: list[ChatMessage], asked: ChatMessage | None
) -> None:
    before = copy.deepcopy(history)
    found = placed(history, "<r>", asked, placement)
    assert history == before
    assert "user" not in repeated(found)
    rest = [each for each in found if each.role != "system"]
    own = [each for each in history if each.role != "system"]
    assert rest[0].role == "user" or (placement != "pair" and rest[0] == own[0])
    assert told(found).count("<r>") == 1
    assert [each for each in found if each.role == "system"] == [SYSTEM] * history.count(SYSTEM)
    if asked == user("four"):  # which the engine adds itself
        assert found[-1].role != "user"


@given(history=HISTORIES)
def test_11_placed_in_a_system_message_there_is_one_more_at_most(
    history: list[ChatMessage],
) -> None:
    found = placed(history, "<r>", None, "system")
    assert roles(found).count("system") == max(1, history.count(SYSTEM))
    if SYSTEM not in history:
        assert found[0].role == "system"


def test_11_auto_adds_no_system_message(knowing: MemoryBank) -> None:
    memory = EbbinghausMemory(knowing)
    memory.put_messages([SYSTEM, user(QUESTION)])
    assert roles(memory.get()) == ["system", "user"]
    assert roles(memory.get(input="My cat, where do I live with it?")) == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_10_an_answer_that_was_never_written_is_made_up_for(knowing: MemoryBank) -> None:
    memory = EbbinghausMemory(knowing)
    memory.put(user("Good morning."))
    found = memory.get(input=QUESTION)
    assert roles([*found, user(QUESTION)]) == ["user", "assistant"] * 2 + ["user"]
    assert text_of(found[-1]) == NOTED
    memory.put(user(QUESTION))
    [joined] = memory.get()
    assert text_of(joined).endswith(f"Good morning.\n{QUESTION}")


def test_10_an_agent_that_hands_over_finds_it_in_the_message_it_answers(
    knowing: MemoryBank,
) -> None:
    memory = EbbinghausMemory(knowing)
    call = ToolCallBlock(tool_call_id="1", tool_name="handoff", tool_kwargs={})
    result = ChatMessage(role="tool", content="go on", additional_kwargs={"tool_call_id": "1"})
    memory.put_messages([user(QUESTION), ChatMessage(role="assistant", blocks=[call]), result])
    found = memory.get(input=QUESTION)
    assert roles(found) == ["user", "assistant", "tool"]
    assert FACT in text_of(found[0])


def test_a_picture_keeps_its_place_behind_what_was_recalled(knowing: MemoryBank) -> None:
    memory = EbbinghausMemory(knowing)
    blocks = [TextBlock(text=QUESTION), ImageBlock(url="http://example.org/a.png")]
    memory.put(ChatMessage(role="user", blocks=blocks))
    [found] = memory.get()
    assert [each.block_type for each in found.blocks] == ["text", "text", "image"]
    assert FACT in found.blocks[0].text
    assert memory.get_all()[0].blocks == blocks


# -- within a limit ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    limit=st.integers(40, 600),
    initial=st.integers(0, 100),
)
def test_8_all_of_it_is_within_the_limit_less_what_the_engine_needs(
    sizes: list[int], limit: int, initial: int
) -> None:
    with MemoryBank.open(namespace="u", embedder="hashing") as bank:
        for number in range(12):
            bank.remember(f"I live with my cat in the city number {number}.")
        memory = EbbinghausMemory(bank, token_limit=limit, session_id="s")
        for size in sizes:
            memory.put_messages([user("word " * size), assistant("word " * size)])
        memory.put(user(QUESTION))
        found = memory.get(initial_token_count=initial)
        last_turn = tokens(memory, [user(QUESTION)])
        assert tokens(memory, found) <= max(limit - initial, last_turn)
        assert found[0].role == "user"
        assert QUESTION in text_of(found[-1])
        assert repeated(found) == []


def test_8_recollections_give_way_before_the_transcript_does(knowing: MemoryBank) -> None:
    memory = EbbinghausMemory(knowing, token_limit=200)
    said = [user("word " * 20), assistant("word " * 20), user(QUESTION)]
    memory.put_messages(said)
    assert FACT in told(memory.get())
    assert memory.get(initial_token_count=140) == said


def test_13_system_messages_stay_when_old_turns_leave(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank, token_limit=100)
    memory.put(SYSTEM)
    for _ in range(20):
        memory.put_messages([user("word " * 10), assistant("word " * 10)])
    found = memory.get()
    assert roles(found) == ["system", *["user", "assistant"] * 3]
    assert len(memory.get_all()) == 41


def test_25_what_left_the_window_is_recalled_and_a_turn_still_counts_once(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(embedder="hashing", policy=Policy(spacing=timedelta(0)))
    memory = EbbinghausMemory(bank, token_limit=400)
    memory.put(user(FACT))
    [fact] = bank.list()
    memory.put(assistant("Yes."))
    for _ in range(20):
        memory.put_messages([user("word " * 20), assistant("word " * 20)])
    clock.advance(days=1)
    memory.put(user(QUESTION))
    first = memory.get()
    assert told(first).count(FACT) == 1
    assert FACT in block_in(text_of(first[-1]))
    memory.put(assistant("word " * 40))
    assert block_in(told(memory.get())) == block_in(told(first))
    assert bank.get(fact.id).recall_count == 1
    memory.put(user(QUESTION))  # asked again: another turn
    assert FACT in told(memory.get())
    assert bank.get(fact.id).recall_count == 2


def test_10_a_window_never_begins_with_the_result_of_a_call_that_left() -> None:
    call = ToolCallBlock(tool_call_id="1", tool_name="look", tool_kwargs={})
    turn = [
        user("word " * 10),
        ChatMessage(role="assistant", blocks=[call]),
        ChatMessage(role="tool", content="word " * 10),
        assistant("word"),
    ]
    history = [*turn, *turn, *turn]
    for limit in range(0, 90):
        found = window(history, limit, lambda text: len(text.split()))
        assert found[0].role == "user"
        assert len(found) in (4, 8, 12)
        assert history[-len(found) :] == found


# -- writing -----------------------------------------------------------------------------------


def test_2_what_is_put_is_kept_at_once(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    memory.put(user(FACT))
    assert texts(bank) == [FACT]
    asyncio.run(memory.aput(assistant("A fine city.")))
    asyncio.run(memory.aput_messages([user("So it is."), assistant("Indeed.")]))
    assert texts(bank) == sorted([FACT, "A fine city.", "So it is.", "Indeed."])
    assert {each.source for each in bank.list()} == {memory.session_id}


def test_2_what_is_asked_is_kept_before_the_model_is_called(bank: MemoryBank) -> None:
    EbbinghausMemory(bank).get(input=FACT)
    assert texts(bank) == [FACT]


def test_22_messages_of_the_caller_are_neither_changed_nor_shared(knowing: MemoryBank) -> None:
    said = [user(QUESTION), assistant("Well.")]
    before = copy.deepcopy(said)
    memory = EbbinghausMemory(knowing)
    memory.put_messages(said)
    memory.get()
    memory.get(input="And my cat?")
    assert said == before
    said[0].blocks.append(TextBlock(text="changed"))
    memory.get_all()[0].additional_kwargs["changed"] = True
    memory.get()[0].blocks.append(TextBlock(text="changed"))
    assert memory.get_all() == before
    assert not any("session_id" in each.additional_kwargs for each in memory.get())


def test_17_the_async_methods_are_its_own() -> None:
    names = ("aget", "aget_all", "aput", "aput_messages", "aset", "areset")
    for name in names:
        assert getattr(EbbinghausMemory, name) is not getattr(BaseMemory, name)


def test_27_set_keeps_what_is_new_and_loses_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    memory = EbbinghausMemory(bank)
    memory.put(user(FACT))
    clock.advance(days=1)
    memory.set([user(FACT), assistant("New."), user("Newer.")])
    assert texts(bank) == sorted([FACT, "New.", "Newer."])
    assert [each.recall_count for each in bank.list()] == [0, 0, 0]
    memory.set([user("Newer.")])
    assert len(memory.get_all()) == 1
    assert len(texts(bank)) == 3


def test_27_reset_empties_the_transcript_alone(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    memory.put(user(FACT))
    memory.reset()
    assert memory.get_all() == []
    assert FACT in told(memory.get(input=QUESTION))
    asyncio.run(memory.areset())
    assert texts(bank) == sorted([FACT, QUESTION])


def test_27_after_a_reset_the_same_question_is_asked_anew(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank)
    assert memory.get(input=QUESTION) == []
    memory.reset()
    memory.with_session("another").put(user(FACT))
    assert FACT in told(memory.get(input=QUESTION))


def test_27_forget_all_forgets_what_scope_reaches_and_can_be_restored(bank: MemoryBank) -> None:
    for scope, left in [("session", ["Of another session."]), ("user", [])]:
        memory = EbbinghausMemory(bank, scope=scope, session_id="a", namespace=scope)  # type: ignore[arg-type]
        memory.put(user(FACT))
        memory.with_session("b").put(user("Of another session."))
        there = bank.at(scope)
        assert memory.forget_all() == 2 - len(left)
        assert [each.text for each in there.list()] == left
        assert len(there.list(include_faded=True)) == 2
        assert asyncio.run(memory.aforget_all()) == 0


def test_chat_history_of_the_constructor_is_transcript_and_is_kept(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank, chat_history=[user(FACT), assistant("Yes.")])
    assert roles(memory.get_all()) == ["user", "assistant"]
    assert texts(bank) == sorted([FACT, "Yes."])


@AGENT
def test_27_an_agent_that_is_given_its_history_each_time_counts_once_a_turn(
    bank: MemoryBank, clock: ManualClock
) -> None:
    fact = bank.remember(FACT)
    clock.advance(days=1)
    memory = EbbinghausMemory(bank)
    history = [user("Good morning."), assistant("Good morning.")]
    for turn in (1, 2):
        asked, llm = agent("function", 1, None)
        run(asked, QUESTION, memory, chat_history=history)
        assert FACT in llm.last()
        assert bank.get(fact.id).recall_count == turn
        assert roles(llm.requests[0]) == ["user", "assistant", "user"]
        clock.advance(hours=1)


# -- sessions ----------------------------------------------------------------------------------


def test_1_a_sibling_shares_the_bank_and_not_the_transcript(bank: MemoryBank) -> None:
    memory = EbbinghausMemory(bank, session_id="a", placement="pair")
    memory.put(user(FACT))
    other = memory.with_session("b")
    assert (other.session_id, other.placement, other.block) == ("b", "pair", memory.block)
    assert other.get_all() == []
    assert FACT in told(other.get(input=QUESTION))
    other.put(user("Only there."))
    assert "Only there." not in told(memory.get_all())
    assert memory.session_id == "a"


# -- in an engine's place ----------------------------------------------------------------------


def test_memory_cls_makes_one_of_its_own() -> None:
    simple = SimpleChatEngine.from_defaults(llm=Recorder(), memory_cls=EbbinghausMemory)
    queries = RetrieverQueryEngine.from_args(Library(), llm=Recorder())
    condense = CondenseQuestionChatEngine.from_defaults(
        queries, llm=Recorder(), memory_cls=EbbinghausMemory, chat_history=[user(FACT)]
    )
    for each in (simple, condense):
        assert isinstance(each._memory, EbbinghausMemory)
        assert each._memory.token_limit == Recorder().metadata.context_window - 256
    assert roles(condense._memory.get_all()) == ["user"]
    assert condense._memory.block.memory is not simple._memory.block.memory
    simple.chat(FACT)
    assert FACT in told(simple._memory.with_session("b").get(input=QUESTION))


def test_a_model_tells_the_limit_of_tokens_where_nothing_else_does(bank: MemoryBank) -> None:
    llm = Recorder()
    assert EbbinghausMemory.from_defaults(bank, llm=llm).token_limit == 3900 - 256
    assert EbbinghausMemory.from_defaults(bank, llm=llm, token_limit=9).token_limit == 9
    assert EbbinghausMemory.from_defaults(bank).token_limit == 30_000


def test_from_defaults_passes_over_what_it_does_not_know(bank: MemoryBank) -> None:
    memory = EbbinghausMemory.from_defaults(bank, llm=Recorder(), anything=1, k=3)
    assert (memory.block.memory, memory.block.k) == (bank, 3)


def test_the_model_of_llamaindex_embeds_where_the_memory_opens_the_bank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = EbbinghausMemory(
        persist_path=tmp_path / "a.db", namespace="u", embed_model=MockEmbedding(embed_dim=8)
    )
    assert given.block.memory.fingerprint.name.startswith("llamaindex:MockEmbedding")
    monkeypatch.setattr(Settings, "_embed_model", MockEmbedding(embed_dim=4))
    set_there = EbbinghausMemory(persist_path=tmp_path / "b.db", namespace="u")
    set_there.put(user(FACT))
    assert set_there.block.memory.fingerprint.dimension == 4
    for each in (given, set_there):
        each.block.memory.close()


def test_without_a_model_in_settings_none_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_embed_model", None)
    memory = EbbinghausMemory()
    memory.put(user(FACT))
    assert "openai" not in memory.block.memory.fingerprint.name.lower()
    assert Settings._embed_model is None
    memory.block.memory.close()


@pytest.mark.parametrize("call", ["stream_chat", "astream_chat"])
@pytest.mark.parametrize("kind", ["simple", "context", "condense_plus_context"])
def test_18_a_stream_that_nobody_reads_loses_no_word_of_the_user(
    bank: MemoryBank, kind: str, call: str
) -> None:
    memory = EbbinghausMemory(bank)
    asked = engine(kind, Recorder(), memory)
    if call == "stream_chat":
        asked.stream_chat(FACT)
    else:

        async def main() -> None:
            await asked.astream_chat(FACT)

        asyncio.run(main())
    assert FACT in texts(bank)
    if kind == "simple":  # the others put it before they stream since 0.14.20 or so
        assert text_of(memory.get_all()[0]) == FACT


# -- going and coming back ---------------------------------------------------------------------


@AGENT
def test_19_a_context_that_runs_again_has_the_same_memory(bank: MemoryBank) -> None:
    async def main() -> None:
        asked, _ = agent("function", 1, None)
        ctx = Context(asked)
        memory = EbbinghausMemory(bank, session_id="s")
        await asked.run(user_msg=FACT, memory=memory, ctx=ctx)
        await asked.run(user_msg=QUESTION, ctx=ctx)
        assert len(memory.get_all()) == 6
        assert await ctx.store.get("memory") is memory

    asyncio.run(main())


@AGENT
@pytest.mark.parametrize("kept", [True, False])
def test_19_a_context_that_was_stored_has_the_same_session(bank: MemoryBank, kept: bool) -> None:
    async def main() -> None:
        asked, _ = agent("function", 0, None)
        ctx = Context(asked)
        memory: Any = EbbinghausMemory(bank, session_id="s", k=3)
        await asked.run(user_msg=FACT, memory=memory, ctx=ctx)
        stored = json.dumps(ctx.to_dict(serializer=JsonSerializer()))
        alive = memory if kept else None
        del memory, ctx
        gc.collect()
        again, llm = agent("function", 0, None)
        restored = Context.from_dict(again, json.loads(stored), serializer=JsonSerializer())
        await again.run(user_msg=QUESTION, ctx=restored)
        found: EbbinghausMemory = await restored.store.get("memory")
        assert roles(found.get_all()) == ["user", "assistant"] * 2
        assert (found.session_id, found.block.k, found.block.memory) == ("s", 3, bank)
        assert FACT in llm.last()
        assert alive is None or found is alive

    asyncio.run(main())


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another process: nobody is here."""
    monkeypatch.setattr(handles, "_banks", handles.Handles())
    monkeypatch.setattr(module, "_here", handles.Handles())


def test_19_in_another_process_file_session_and_transcript_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryBank.open(tmp_path / "a.db", namespace="alice", embedder="hashing") as bank:
        memory = EbbinghausMemory(bank, session_id="s", placement="pair", scope="session")
        memory.put_messages([user(FACT), assistant("Yes.")])
        stored = memory.to_json()
    elsewhere(monkeypatch)
    again = EbbinghausMemory.from_dict(json.loads(stored))
    with again.block.memory:
        assert again is not memory
        assert again.get_all() == memory.get_all()
        assert (again.session_id, again.placement, again.block.scope) == ("s", "pair", "session")
        again.reset()
        assert FACT in told(again.get(input=QUESTION))


@pytest.mark.parametrize("reason", ["bank", "store", "function"])
def test_19_what_cannot_come_back_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    path = ":memory:" if reason == "bank" else tmp_path / "a.db"
    options: dict[str, Any] = {
        "bank": {},
        "store": {"chat_store": SQLAlchemyChatStore(table_name="t")},
        "function": {"namespace": lambda session: "alice"},
    }[reason]
    with MemoryBank.open(path, namespace="alice", embedder=None) as bank:
        stored = EbbinghausMemory(bank, **options).to_dict()
        elsewhere(monkeypatch)
        words = {"bank": "is gone", "store": "in a chat store", "function": "a function chose"}
        with pytest.raises(InvalidInput, match=words[reason]):
            EbbinghausMemory.from_dict(stored)


def test_20_pickled_it_is_the_same_here_and_a_deep_copy_has_its_own_transcript(
    bank: MemoryBank,
) -> None:
    memory = EbbinghausMemory(bank, session_id="s")
    memory.put(user(FACT))
    assert pickle.loads(pickle.dumps(memory)) is memory
    block = pickle.loads(pickle.dumps(memory.block))
    assert block.memory is bank
    assert block.counter(FACT) == len(memory.tokenizer_fn(FACT))
    copied = copy.deepcopy(memory)
    assert copied.block.memory is bank
    assert copied.get_all() == memory.get_all()
    copied.put(user("Only there."))
    assert len(memory.get_all()) == 1


def test_21_as_json_it_is_json_without_secrets(bank: MemoryBank) -> None:
    uri = "sqlite+aiosqlite:///:memory:?password=secret"
    for memory in (
        EbbinghausMemory(bank, embed_model=None),
        EbbinghausMemory(bank, async_database_uri=uri),
    ):
        stored = memory.to_json()
        assert json.loads(stored)["class_name"] == "EbbinghausMemory"
        assert "secret" not in stored
        assert "vector" not in stored


def test_3_after_a_restart_everything_said_is_known(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "a.db"
    for said, session in [(FACT, "a"), (QUESTION, "b")]:
        with MemoryBank.open(path, namespace="u", embedder="hashing", clock=clock) as bank:
            memory = EbbinghausMemory(bank, session_id=session)
            memory.put(user(said))
            found = told(memory.get())
            clock.advance(days=1)
    assert FACT in block_in(found)
    assert "yesterday, user: " in found


def test_29_what_nobody_asks_about_fades(bank: MemoryBank, clock: ManualClock) -> None:
    EbbinghausMemory(bank).put(user(FACT))
    clock.advance(days=2000)
    assert EbbinghausMemory(bank).get(input=QUESTION) == []


# -- another short-term store ------------------------------------------------------------------


def test_31_a_chat_store_is_used_as_it_is(knowing: MemoryBank, tmp_path: Path) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"

    async def main() -> None:
        store = SQLAlchemyChatStore(table_name="mine", async_database_uri=uri)
        memory = EbbinghausMemory(knowing, session_id="s", chat_store=store)
        await memory.aput_messages([SYSTEM, user(QUESTION)])
        assert roles(await store.get_messages("s")) == ["system", "user"]
        assert FACT in told(await memory.aget())
        assert FACT not in told(await store.get_messages("s"))
        other = memory.with_session("t")
        await other.aput(user("There."))
        assert set(await store.get_keys()) == {"s", "t"}
        await memory.areset()
        assert await memory.aget_all() == []
        assert len(await other.aget_all()) == 1
        await store._async_engine.dispose()  # type: ignore[union-attr]

    asyncio.run(main())


def test_31_what_a_database_archives_stays_known_and_system_messages_stay_told(
    bank: MemoryBank, tmp_path: Path
) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"

    async def main() -> None:
        memory = EbbinghausMemory(
            bank, session_id="s", token_limit=400, async_database_uri=uri, table_name="mine"
        )
        await memory.aput_messages([SYSTEM, user(FACT), assistant("Yes.")])
        for _ in range(8):
            await memory.aput_messages([user("word " * 40), assistant("word " * 40)])
        await memory.aput(user(QUESTION))
        found = await memory.aget()
        assert found[0] == SYSTEM
        assert FACT in block_in(text_of(found[-1]))
        assert len(await memory.aget_all()) == 20
        await memory._short_term._memory.sql_store._async_engine.dispose()  # type: ignore[attr-defined]

    asyncio.run(main())


def test_31_a_given_store_works_without_a_loop_and_in_one(
    knowing: MemoryBank, tmp_path: Path
) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    memory = EbbinghausMemory(knowing, session_id="s", async_database_uri=uri)
    memory.put(user(QUESTION))

    async def main() -> list[ChatMessage]:
        memory.put(assistant("Well."))
        return memory.get()

    assert roles(asyncio.run(main())) == ["user", "assistant"]
    assert OPENING in told(memory.get())
    database: Any = memory._short_term._memory.sql_store._async_engine  # type: ignore[attr-defined]
    asyncio.run(database.dispose())
