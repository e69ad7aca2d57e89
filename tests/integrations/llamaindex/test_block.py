"""`EbbinghausMemoryBlock`, alone and in LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, StaticMemoryBlock
from llama_index.memory.ebbmem import EbbinghausMemoryBlock

from builders import OpenBank
from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank, Policy
from ebbmem.context import CLOSING, OPENING
from ebbmem.testing import HashingEmbedder, ManualClock
from ebbmem.tokens import default_counter
from llama_kit import FACT, QUESTION, assistant, block_in, llama_memory, repeated, text_of, user

LOG = "llama_index.memory.ebbmem"


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank(embedder="hashing")


def get(block: EbbinghausMemoryBlock, *said: ChatMessage, session_id: str | None = "s") -> str:
    return asyncio.run(block.aget(list(said), session_id=session_id))


def put(block: EbbinghausMemoryBlock, *said: ChatMessage, **options: Any) -> None:
    asyncio.run(block.aput(list(said), **{"session_id": "s", **options}))


def texts(bank: MemoryBank) -> list[str]:
    return sorted(each.text for each in bank.list(include_faded=True))


def only(bank: MemoryBank, text: str) -> Any:
    [found] = [each for each in bank.list(include_faded=True) if each.text == text]
    return found


class Failing(HashingEmbedder):
    """Fails while it is told to; what it says then must not reach a log."""

    broken = False

    def encode_documents(self, texts):  # type: ignore[no-untyped-def]
        if self.broken:
            raise RuntimeError(f"cannot embed {texts}")
        return super().encode_documents(texts)

    def encode_query(self, text):  # type: ignore[no-untyped-def]
        if self.broken:
            raise RuntimeError(f"cannot embed {text}")
        return super().encode_query(text)

    async def aencode_documents(self, texts):  # type: ignore[no-untyped-def]
        return self.encode_documents(texts)

    async def aencode_query(self, text):  # type: ignore[no-untyped-def]
        return self.encode_query(text)


# -- what it is --------------------------------------------------------------------------------


def test_class() -> None:
    assert BaseMemoryBlock.__name__ in [each.__name__ for each in EbbinghausMemoryBlock.__mro__]


def test_it_is_a_block_with_the_defaults_of_the_others(bank: MemoryBank) -> None:
    block = EbbinghausMemoryBlock(AsyncMemoryBank(bank))
    assert block.memory is bank
    assert (block.name, block.priority, block.accept_short_term_memory) == ("ebbmem", 1, True)
    assert (block.scope, block.k, block.budget, block.save) == ("user", 10, 512, "turn")


@pytest.mark.parametrize(
    "options, word",
    [
        ({"k": 0}, "k must be"),
        ({"budget": 0}, "budget must be"),
        ({"scope": "world"}, "scope must be one of"),
        ({"save": "all"}, "save must be one of"),
        ({"on_error": "hide"}, "on_error must be one of"),
        ({"namespace": " "}, "namespace is blank"),
        ({"reinforce": "yes"}, "reinforce must be"),
        ({"name": ""}, "name is blank"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(
    bank: MemoryBank, options: dict[str, Any], word: str
) -> None:
    with pytest.raises(InvalidInput, match=word):
        EbbinghausMemoryBlock(bank, **options)


@pytest.mark.parametrize("given", [None, "memory.db", StaticMemoryBlock(static_content="x")])
def test_what_is_no_bank_is_refused_with_what_to_give(given: Any) -> None:
    with pytest.raises(InvalidInput, match="must be a MemoryBank, not"):
        EbbinghausMemoryBlock(given)


@pytest.mark.parametrize("said", [None, [], [assistant("Hello.")], [ChatMessage(role="user")]])
def test_nothing_asked_recalls_nothing(bank: MemoryBank, said: Any) -> None:
    bank.remember(FACT)
    assert asyncio.run(EbbinghausMemoryBlock(bank).aget(said, session_id="s")) == ""


def test_nothing_known_recalls_nothing_and_the_question_is_not_its_own_answer(
    bank: MemoryBank,
) -> None:
    block = EbbinghausMemoryBlock(bank)
    assert get(block, user(QUESTION)) == ""
    assert get(EbbinghausMemoryBlock(bank), user(QUESTION), session_id="t") == ""


# -- sessions and users ------------------------------------------------------------------------


def test_1_scope_user_recalls_over_sessions_and_scope_session_does_not(bank: MemoryBank) -> None:
    wide = EbbinghausMemoryBlock(bank, namespace="wide")
    narrow = EbbinghausMemoryBlock(bank, namespace="narrow", scope="session")
    for block in (wide, narrow):
        put(block, user(FACT), session_id="a")
        assert FACT in get(block, user(QUESTION), session_id="a")
    assert FACT in get(wide, user(QUESTION), session_id="b")
    assert get(narrow, user(QUESTION), session_id="b") == ""


def test_1_what_two_sessions_say_is_known_in_both_where_scope_is_session(bank: MemoryBank) -> None:
    narrow = EbbinghausMemoryBlock(bank, scope="session")
    put(narrow, user(FACT), session_id="a")
    put(narrow, user(FACT), session_id="b")
    for session in "ab":
        assert get(narrow, user(QUESTION), session_id=session).count(FACT) == 1


def test_1_without_a_session_scope_session_recalls_nothing(
    bank: MemoryBank, caplog: pytest.LogCaptureFixture
) -> None:
    bank.remember(FACT)
    assert get(EbbinghausMemoryBlock(bank, scope="session"), user(QUESTION), session_id=None) == ""
    assert "session_id is needed" in caplog.text


def test_1_a_function_of_the_session_may_choose_the_namespace(bank: MemoryBank) -> None:
    block = EbbinghausMemoryBlock(bank, namespace=lambda session: ("users", session.split("/")[0]))
    put(block, user(FACT), session_id="alice/1")
    assert FACT in get(block, user(QUESTION), session_id="alice/2")
    assert get(block, user(QUESTION), session_id="bob/1") == ""
    assert texts(bank) == []


# -- writing -----------------------------------------------------------------------------------


def test_2_what_is_said_is_kept_in_the_turn_in_which_it_is_said(bank: MemoryBank) -> None:
    async def main() -> None:
        async with llama_memory(EbbinghausMemoryBlock(bank)) as memory:
            await memory.aput(user(FACT))
            await memory.aget()
            assert texts(bank) == [FACT]
            await memory.aput(assistant("A fine city."))
            await memory.aget()
            assert texts(bank) == ["A fine city.", FACT]

    asyncio.run(main())


@pytest.mark.parametrize(
    "save, kept", [("turn", ["A fine city.", FACT]), ("human", [FACT]), ("none", [])]
)
def test_2_save_chooses_whose_words_are_kept(bank: MemoryBank, save: Any, kept: list[str]) -> None:
    block = EbbinghausMemoryBlock(bank, save=save)
    put(block, user(FACT), assistant("A fine city."))
    get(block, user(FACT), assistant("A fine city."))
    assert texts(bank) == kept


@pytest.mark.parametrize("save", ["turn", "human", "none"])
def test_25_what_stands_in_the_window_is_not_recalled_whatever_is_kept(
    bank: MemoryBank, save: Any
) -> None:
    for each in (FACT, "I live with my cat near the river.", QUESTION):
        bank.remember(each)
    block = EbbinghausMemoryBlock(bank, save=save)
    recalled = get(block, user(FACT), assistant("Yes."), user(QUESTION))
    assert "I live with my cat near the river." in recalled
    assert FACT not in recalled
    assert QUESTION not in recalled


def test_4_a_flush_delivered_thirty_times_is_kept_once(bank: MemoryBank) -> None:
    block = EbbinghausMemoryBlock(bank)
    said = [user(FACT), assistant("A fine city.")]

    async def main() -> None:
        deliveries = [
            block.aput(said, from_short_term_memory=True, session_id="s") for _ in range(30)
        ]
        await asyncio.gather(*deliveries)

    asyncio.run(main())
    assert texts(bank) == ["A fine city.", FACT]
    assert [each.recall_count for each in bank.list()] == [0, 0]


def test_4_a_flush_of_what_was_said_long_ago_is_no_use_of_it(
    bank: MemoryBank, clock: ManualClock
) -> None:
    block = EbbinghausMemoryBlock(bank)
    get(block, user(FACT))
    for fresh in (block, EbbinghausMemoryBlock(bank)):  # and after a restart
        clock.advance(days=3)
        put(fresh, user(FACT), from_short_term_memory=True)
        get(fresh, user(FACT), assistant("Yes."), user("What is the weather like?"))
    assert only(bank, FACT).recall_count == 0


def test_4_a_fact_said_again_in_a_new_session_counts_once(
    bank: MemoryBank, clock: ManualClock
) -> None:
    block = EbbinghausMemoryBlock(bank)
    get(block, user(FACT), session_id="a")
    clock.advance(days=1)
    for answer in ([], [], [assistant("I know.")]):
        get(block, user(FACT), *answer, session_id="b")
    assert texts(bank) == sorted([FACT, "I know."])
    assert only(bank, FACT).recall_count == 1


def test_a_block_that_takes_no_short_term_memory_is_not_given_any(bank: MemoryBank) -> None:
    block = EbbinghausMemoryBlock(bank, accept_short_term_memory=False)
    put(block, user(FACT), from_short_term_memory=True)
    assert texts(bank) == []
    put(block, user(FACT))
    assert texts(bank) == [FACT]


def test_what_was_erased_does_not_come_back_from_the_window(bank: MemoryBank) -> None:
    block = EbbinghausMemoryBlock(bank)
    get(block, user(FACT))
    bank.erase(only(bank, FACT).id)
    get(block, user(FACT), assistant("Erased."), user("What do you know?"))
    assert FACT not in texts(bank)


def test_what_was_forgotten_stays_so_though_it_stands_in_the_window(bank: MemoryBank) -> None:
    get(EbbinghausMemoryBlock(bank), user(FACT))
    bank.forget(only(bank, FACT).id)
    get(EbbinghausMemoryBlock(bank), user(FACT), assistant("Forgotten."), user("What now?"))
    assert only(bank, FACT).status == "faded"


def test_the_session_that_a_memory_noted_on_a_message_is_its_source(bank: MemoryBank) -> None:
    noted = ChatMessage(role="user", content=FACT, additional_kwargs={"session_id": "noted"})
    asyncio.run(EbbinghausMemoryBlock(bank)._aput([noted]))
    assert only(bank, FACT).source == "noted"


# -- failing -----------------------------------------------------------------------------------


def test_5_a_put_that_fails_is_made_up_for_by_the_next_as_of_its_time(
    open_bank: OpenBank, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Failing()
    bank = open_bank(embedder=embedder)
    block = EbbinghausMemoryBlock(bank)
    embedder.broken = True
    with caplog.at_level(logging.WARNING, LOG):
        put(block, user(FACT), from_short_term_memory=True)
    assert texts(bank) == []
    assert [each.name for each in caplog.records] == [LOG]
    said_at = clock()
    embedder.broken = False
    clock.advance(hours=1)
    put(block, user("Another thing."), session_id="t")
    assert texts(bank) == sorted([FACT, "Another thing."])
    assert (only(bank, FACT).created_at, only(bank, FACT).source) == (said_at, "s")


def test_6_a_get_that_fails_gives_nothing_and_says_so_without_a_word_of_it(
    open_bank: OpenBank, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Failing()
    bank = open_bank(embedder=embedder)
    bank.remember(FACT)
    block = EbbinghausMemoryBlock(bank, save="none")
    embedder.broken = True
    with caplog.at_level(logging.WARNING, LOG):
        assert get(block, user(QUESTION)) == ""
    [line] = caplog.messages
    assert "recall failed" in line
    assert "cat" not in line
    embedder.broken = False
    assert FACT in get(block, user(QUESTION))  # nothing was noted as recalled


def test_6_a_function_that_fails_to_choose_takes_nothing_with_it(
    bank: MemoryBank, caplog: pytest.LogCaptureFixture
) -> None:
    block = EbbinghausMemoryBlock(bank, namespace=lambda session: {}[session])
    put(block, user(FACT))
    assert get(block, user(QUESTION)) == ""
    assert [each.split(": ")[1] for each in caplog.messages] == ["save failed", "recall failed"]
    assert "'s'" not in caplog.text


@pytest.mark.parametrize("what", ["get", "put"])
def test_6_on_error_raise_raises(bank: MemoryBank, what: str) -> None:
    block = EbbinghausMemoryBlock(bank, on_error="raise")
    bank.close()
    with pytest.raises(Exception, match="closed"):
        get(block, user(QUESTION)) if what == "get" else put(block, user(FACT))


def test_6_a_closed_bank_does_not_end_a_conversation(bank: MemoryBank) -> None:
    async def main() -> None:
        async with llama_memory(EbbinghausMemoryBlock(bank)) as memory:
            bank.close()
            await memory.aput(user(QUESTION))
            assert [text_of(each) for each in await memory.aget()] == [QUESTION]

    asyncio.run(main())


# -- within a budget ---------------------------------------------------------------------------


def many(bank: MemoryBank) -> None:
    for number in range(30):
        bank.remember(f"My cat likes the place number {number} where I live, very much.")


@pytest.mark.parametrize("budget", [1, 20, 60, 100, 300])
def test_8_a_block_keeps_to_its_budget_with_what_surrounds_it(
    bank: MemoryBank, budget: int
) -> None:
    many(bank)
    recalled = get(EbbinghausMemoryBlock(bank, budget=budget, priority=0), user(QUESTION))
    count, _ = default_counter()
    assert count(recalled) <= budget
    assert (recalled.startswith(OPENING) and recalled.endswith(CLOSING)) or recalled == ""
    assert bool(recalled) == (budget >= 60)


def test_7_truncation_leaves_out_the_lowest_scores_and_keeps_its_word(bank: MemoryBank) -> None:
    many(bank)
    bank.remember(FACT)
    block = EbbinghausMemoryBlock(bank)
    content = get(block, user(QUESTION))
    count = block.counter
    for less in range(0, count(content) + 10, 7):
        left = asyncio.run(block.atruncate(content, less))
        assert left is None or count(left) <= count(content) - less
        if left is not None and less:
            assert FACT in left
    assert asyncio.run(block.atruncate(content, 0)) == content
    assert asyncio.run(block.atruncate(content, count(content))) is None


@pytest.mark.parametrize("own, other", [(1, 2), (2, 1)])
def test_7_in_either_order_of_truncation_the_rest_is_whole(
    bank: MemoryBank, own: int, other: int
) -> None:
    many(bank)

    async def main() -> None:
        static = StaticMemoryBlock(name="static", static_content="word " * 50, priority=other)
        block = EbbinghausMemoryBlock(bank, priority=own, budget=200)
        async with llama_memory(block, static, token_limit=240) as memory:
            await memory.aput(user(QUESTION))
            [*_, last] = await memory.aget()
            whole = "\n".join(text_of(each) for each in await memory.aget())
            assert text_of(last) == QUESTION
            assert whole.count(OPENING) == whole.count(CLOSING) <= 1

    asyncio.run(main())


# -- once a turn -------------------------------------------------------------------------------


def test_26_a_turn_recalls_once_and_the_get_behind_the_answer_adds_nothing(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(embedder="hashing", policy=Policy(spacing=timedelta(0)))
    bank.remember(FACT)
    clock.advance(days=1)
    block = EbbinghausMemoryBlock(bank)
    turn = [user(QUESTION)]
    told = [
        get(block, *turn),
        get(block, *turn, user(QUESTION)),  # as agents do in a round of tools
        get(block, *turn, assistant("In Lisbon.")),
    ]
    assert len(set(told)) == 1
    assert FACT in told[0]
    assert only(bank, FACT).recall_count == 1
    get(block, *turn, assistant("In Lisbon."), user(QUESTION))  # asked again: another turn
    assert only(bank, FACT).recall_count == 2


def test_26_without_reinforcement_nothing_is_counted(bank: MemoryBank, clock: ManualClock) -> None:
    bank.remember(FACT)
    clock.advance(days=1)
    assert FACT in get(EbbinghausMemoryBlock(bank, reinforce=False), user(QUESTION))
    assert only(bank, FACT).recall_count == 0


def test_28_only_the_end_of_a_long_question_is_asked(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    encode = HashingEmbedder.encode_query

    def noting(self: HashingEmbedder, text: str) -> Any:
        asked.append(text)
        return encode(self, text)

    monkeypatch.setattr(HashingEmbedder, "encode_query", noting)
    get(EbbinghausMemoryBlock(bank, query_max_chars=20), user("x" * 5000 + " where is my cat now?"))
    assert asked == [" where is my cat now?"[-20:]]


def test_30_reads_at_once_get_the_same_and_count_once(bank: MemoryBank, clock: ManualClock) -> None:
    bank.remember(FACT)
    clock.advance(days=1)
    block = EbbinghausMemoryBlock(bank)

    async def main() -> list[str]:
        return await asyncio.gather(
            *(block.aget([user(QUESTION)], session_id="s") for _ in range(20))
        )

    assert len(set(asyncio.run(main()))) == 1
    assert only(bank, FACT).recall_count == 1


def test_30_a_read_that_is_cancelled_leaves_nothing_half(open_bank: OpenBank) -> None:
    class Slow(HashingEmbedder):
        slow = True

        async def aencode_query(self, text):  # type: ignore[no-untyped-def]
            while self.slow:
                await asyncio.sleep(0.001)
            return self.encode_query(text)

    embedder = Slow()
    bank = open_bank(embedder=embedder)
    bank.remember(FACT)
    block = EbbinghausMemoryBlock(bank)

    async def main() -> str:
        reading = asyncio.create_task(block.aget([user(QUESTION)], session_id="s"))
        while QUESTION not in texts(bank):
            await asyncio.sleep(0.001)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        embedder.slow = False
        return await block.aget([user(QUESTION)], session_id="s")

    assert FACT in asyncio.run(main())
    assert only(bank, FACT).recall_count <= 1


# -- messages ----------------------------------------------------------------------------------


def test_22_messages_of_the_caller_stay_as_they_are(bank: MemoryBank) -> None:
    said = [user(FACT), ChatMessage(role="assistant", content="Yes.", additional_kwargs={"a": 1})]
    before = copy.deepcopy(said)
    block = EbbinghausMemoryBlock(bank)
    put(block, *said)
    get(block, *said)
    assert said == before


def test_22_the_session_is_read_before_anybody_else_can_change_it(bank: MemoryBank) -> None:
    """As VectorMemoryBlock does, which is given the same messages at once."""
    message = user(FACT)

    async def main() -> None:
        putting = asyncio.create_task(
            EbbinghausMemoryBlock(bank).aput([message], session_id="mine")
        )
        await asyncio.sleep(0)
        message.additional_kwargs["session_id"] = "another"
        message.blocks = [TextBlock(text="another text")]
        await putting

    asyncio.run(main())
    assert (only(bank, FACT).source, texts(bank)) == ("mine", [FACT])


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(role="user", blocks=[ImageBlock(url="http://example.org/a.png")]),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm")]),
        ChatMessage(
            role="assistant",
            blocks=[ToolCallBlock(tool_call_id="1", tool_name="look", tool_kwargs={})],
        ),
        ChatMessage(role="assistant", content=None),
        ChatMessage(role="user", content="  \n"),
        ChatMessage(role="tool", content="a red door"),
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="function", content="a red door"),
    ],
)
def test_23_what_is_nobodys_words_is_kept_as_nothing(
    bank: MemoryBank, message: ChatMessage
) -> None:
    block = EbbinghausMemoryBlock(bank)
    put(block, message)
    assert get(block, message) == ""
    assert texts(bank) == []


def test_23_the_text_is_that_of_all_text_blocks(bank: MemoryBank) -> None:
    blocks = [TextBlock(text="I live"), ImageBlock(url="http://a/b.png"), TextBlock(text="here.")]
    put(EbbinghausMemoryBlock(bank), ChatMessage(role="user", blocks=blocks))
    assert texts(bank) == ["I live\nhere."]


def test_23_what_was_recalled_is_not_kept_again(bank: MemoryBank) -> None:
    echo = f"{OPENING} The following are recollections\n[m1] today: x\n{CLOSING}\nYou said so."
    put(EbbinghausMemoryBlock(bank), assistant(echo))
    assert texts(bank) == ["You said so."]


# -- beside other blocks -----------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_it_works_beside_another_block_in_either_order(bank: MemoryBank, first: bool) -> None:
    bank.remember(FACT)

    async def main() -> None:
        blocks = [
            EbbinghausMemoryBlock(bank),
            StaticMemoryBlock(name="static", static_content="I am static."),
        ]
        ordered = blocks if first else blocks[::-1]
        async with llama_memory(*ordered, insert_method=InsertMethod.USER) as memory:
            await memory.aput(user(QUESTION))
            [told] = await memory.aget()
            assert FACT in block_in(text_of(told))
            assert "I am static." in text_of(told)
            assert repeated([told]) == []

    asyncio.run(main())


def test_arguments_of_an_engine_are_passed_over(bank: MemoryBank) -> None:
    bank.remember(FACT)

    async def main() -> str:
        return await EbbinghausMemoryBlock(bank).aget(
            [user(QUESTION)], session_id="s", initial_token_count=7, anything=None
        )

    assert FACT in asyncio.run(main())


# -- copies ------------------------------------------------------------------------------------


def test_20_a_deep_copy_shares_the_bank_and_begins_its_own_turns(bank: MemoryBank) -> None:
    bank.remember(FACT)
    block = EbbinghausMemoryBlock(bank, k=3, scope="session")
    copied = copy.deepcopy(block)
    assert copied.memory is bank
    assert (copied.k, copied.scope) == (3, "session")
    assert FACT in get(copy.deepcopy(EbbinghausMemoryBlock(bank)), user(QUESTION))


def test_20_pickled_and_back_it_has_the_same_bank(bank: MemoryBank) -> None:
    block = pickle.loads(pickle.dumps(EbbinghausMemoryBlock(bank, k=3, namespace="bob")))
    assert block.memory is bank
    assert (block.k, block.namespace) == (3, "bob")


def test_20_a_pickled_memory_keeps_its_blocks(bank: MemoryBank) -> None:
    async def main() -> None:
        static = StaticMemoryBlock(name="static", static_content="I am static.")
        async with llama_memory(EbbinghausMemoryBlock(bank), static) as memory:
            copied = pickle.loads(pickle.dumps(memory))
            assert [each.name for each in copied.memory_blocks] == ["ebbmem", "static"]

    asyncio.run(main())


def test_20_in_another_process_the_file_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llama_index.memory.ebbmem import handles

    with MemoryBank.open(tmp_path / "a.db", namespace="alice", embedder="hashing") as bank:
        bank.remember(FACT)
        pickled = pickle.dumps(EbbinghausMemoryBlock(bank, k=3))
    monkeypatch.setattr(handles, "_banks", handles.Handles())
    block = pickle.loads(pickled)
    with block.memory:
        assert block.memory is not bank
        assert block.k == 3
        assert FACT in get(block, user(QUESTION))


def test_20_a_bank_in_memory_is_said_to_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    from llama_index.memory.ebbmem import handles

    with MemoryBank.open(namespace="alice", embedder=None) as bank:
        pickled = pickle.dumps(EbbinghausMemoryBlock(bank))
        monkeypatch.setattr(handles, "_banks", handles.Handles())
        with pytest.raises(InvalidInput, match="was a bank in memory and is gone"):
            pickle.loads(pickled)


def test_20_a_file_that_is_gone_is_not_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llama_index.memory.ebbmem import handles

    with MemoryBank.open(tmp_path / "a.db", namespace="alice", embedder=None) as bank:
        pickled = pickle.dumps(EbbinghausMemoryBlock(bank))
    monkeypatch.setattr(handles, "_banks", handles.Handles())
    for each in tmp_path.iterdir():
        each.unlink()
    with pytest.raises(InvalidInput, match="is not there any more"):
        pickle.loads(pickled)
    assert list(tmp_path.iterdir()) == []


# -- forgetting --------------------------------------------------------------------------------


def test_29_what_is_not_used_fades_and_what_is_said_again_comes_back(
    bank: MemoryBank, clock: ManualClock
) -> None:
    block = EbbinghausMemoryBlock(bank)
    put(block, user(FACT))
    clock.advance(days=2)
    assert FACT in get(block, user(QUESTION), session_id="soon")
    clock.advance(days=2000)
    assert FACT not in get(block, user(QUESTION), session_id="late")
    put(block, user(FACT), session_id="late")
    assert FACT in get(block, user(QUESTION), session_id="later")


def test_29_a_clock_that_goes_back_harms_nothing(bank: MemoryBank, clock: ManualClock) -> None:
    block = EbbinghausMemoryBlock(bank)
    put(block, user(FACT))
    clock.advance(days=-5)
    assert FACT in get(block, user(QUESTION), session_id="b")
