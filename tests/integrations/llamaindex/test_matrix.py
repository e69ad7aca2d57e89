"""Every engine and agent, in every way of calling it, gets the memory in its last request."""

from __future__ import annotations

from datetime import timedelta

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from llama_index.memory.ebbmem import EbbinghausMemory

from builders import OpenBank
from ebbmem import MemoryBank, Policy
from ebbmem.testing import ManualClock
from llama_kit import (
    AGENT,
    AGENTS,
    CALLS,
    ENGINES,
    FACT,
    LIBRARY,
    QUESTION,
    Recorder,
    agent,
    repeated,
    roles,
    run,
    talk,
)

pytestmark = AGENT


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    """Every use counts, even in the same moment, so that a second one shows."""
    return open_bank(embedder="hashing", policy=Policy(spacing=timedelta(0)))


def count_of_fact(bank: MemoryBank) -> int:
    [fact] = [each for each in bank.list() if each.text == FACT]
    return fact.recall_count


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [each for each in ENGINES if each != "condense_question"])
def test_an_engine_answers_with_what_another_session_said(
    bank: MemoryBank, clock: ManualClock, kind: str, call: str
) -> None:
    talk(kind, call, Recorder(), EbbinghausMemory(bank, session_id="a"), FACT)
    before = count_of_fact(bank)
    clock.advance(days=1)
    llm = Recorder()
    talk(kind, call, llm, EbbinghausMemory(bank, session_id="b"), QUESTION)
    answering = llm.requests[-1]
    assert FACT in llm.last()
    assert repeated(answering) == []
    assert roles(answering).count("system") == 1  # the engine's own
    assert answering[-1].role == "user"
    assert count_of_fact(bank) == before + 1
    assert (LIBRARY in llm.last()) == (kind != "simple")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [each for each in ENGINES if each != "condense_question"])
def test_an_engine_counts_one_use_in_each_turn(
    bank: MemoryBank, clock: ManualClock, kind: str, call: str
) -> None:
    bank.remember(FACT)
    clock.advance(days=1)
    llm = Recorder()
    memory = EbbinghausMemory(bank, session_id="b")
    talk(kind, call, llm, memory, QUESTION, "And where does my cat live?")
    assert count_of_fact(bank) == 2
    assert repeated(llm.requests[-1]) == []
    assert roles(memory.get_all()) == ["user", "assistant"] * 2


@pytest.mark.parametrize("call", CALLS)
def test_condense_question_shows_it_to_the_call_that_rewrites_the_question_alone(
    bank: MemoryBank, clock: ManualClock, call: str
) -> None:
    talk("condense_question", call, Recorder(), EbbinghausMemory(bank, session_id="a"), FACT)
    before = count_of_fact(bank)
    clock.advance(days=1)
    llm = Recorder(QUESTION)
    talk("condense_question", call, llm, EbbinghausMemory(bank, session_id="b"), QUESTION)
    rewriting = "\n".join(str(each) for each in llm.requests[0])
    assert FACT in rewriting
    assert FACT not in llm.last()  # why EbbinghausRetriever is the way there
    assert count_of_fact(bank) == before + 1


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("system_prompt", [None, "Be brief."])
@pytest.mark.parametrize("kind", AGENTS)
def test_12_an_agent_answers_with_what_another_session_said(
    bank: MemoryBank, clock: ManualClock, kind: str, system_prompt: str | None, rounds: int
) -> None:
    first, _ = agent(kind, rounds, system_prompt)
    run(first, FACT, EbbinghausMemory(bank, session_id="a"))
    before = count_of_fact(bank)
    clock.advance(days=1)
    asked, llm = agent(kind, rounds, system_prompt)
    memory = EbbinghausMemory(bank, session_id="b")
    run(asked, QUESTION, memory)
    answering = llm.requests[-1]
    assert len(llm.requests) == rounds + 1
    assert FACT in llm.last()
    assert repeated(answering) == []
    own = 1 if system_prompt or kind in ("react", "codeact") else 0
    assert roles(answering).count("system") == own
    assert count_of_fact(bank) == before + 1


@pytest.mark.parametrize("kind", AGENTS)
def test_26_an_agent_counts_one_use_in_each_turn(
    bank: MemoryBank, clock: ManualClock, kind: str
) -> None:
    bank.remember(FACT)
    clock.advance(days=1)
    memory = EbbinghausMemory(bank, session_id="b")
    for turn, said in enumerate([QUESTION, "And where does my cat live?"], start=1):
        asked, llm = agent(kind, 2, None)
        run(asked, said, memory)
        assert count_of_fact(bank) == turn
        assert FACT in llm.last()
        assert repeated(llm.requests[-1]) == []


@pytest.mark.parametrize("kind", AGENTS)
def test_28_neither_what_tools_gave_nor_reasoning_nor_code_is_kept(
    bank: MemoryBank, kind: str
) -> None:
    asked, _ = agent(kind, 2, None)
    run(asked, QUESTION, EbbinghausMemory(bank, session_id="a"))
    assert sorted(each.text for each in bank.list()) == ["It is a red door.", QUESTION]
