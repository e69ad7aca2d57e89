"""Group G of the pain cases: adapters."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import InvalidInput, MemoryBank

# -- AD-1 ------------------------------------------------------------------------------------

CORE = {"langchain_core"}
LEGACY = {"langchain_core", "langchain_classic"}
FRAMEWORKS = {
    *("langchain", "langchain_classic", "langchain_community", "langchain_core", "langgraph"),
    *("llama_index.core", "langchain_text_splitters"),
}
RETRIEVED = """
import asyncio
from ebbmem import MemoryBank
from langchain_ebbmem import EbbinghausRetriever
bank = MemoryBank.open(namespace="u1", embedder=None)
bank.remember("green tea", id="t", metadata={"hot": True})
retriever = EbbinghausRetriever(memory=bank, include_scores=True, reinforce=False)
answers = [
    retriever.invoke("tea"),
    asyncio.run(retriever.ainvoke("tea")),
    *retriever.batch(["tea"]),
    *asyncio.run(retriever.abatch(["tea"])),
]
for [found] in answers:
    assert (found.id, found.page_content) == ("t", "green tea")
    assert found.metadata["hot"] is True
    assert 0.0 < found.metadata["score"] <= 1.0
    assert 0.0 < found.metadata["strength"] <= 1.0
    assert found.metadata["score"] == answers[0][0].metadata["score"]
"""


def ran(code: str, *, installed: set[str]) -> None:
    """In a process of its own, where a warning is an error and no other framework is there."""
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in sorted(FRAMEWORKS - installed))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import sys\n{blocked}{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_ad_1_without_any_framework_everything_of_ours_is_imported() -> None:
    ran(
        "import ebbmem, langchain_ebbmem, ebbmem.cli\n"
        "with ebbmem.MemoryBank.open(namespace='u1', embedder=None) as bank:\n"
        "    bank.remember('tea')\n"
        "    assert bank.recall('tea')\n",
        installed=set(),
    )


@pytest.mark.parametrize("name", ["EbbinghausRetriever", "EbbinghausMemory", "EbbinghausStore"])
def test_ad_1_a_part_that_is_missing_is_named_with_what_brings_it(name: str) -> None:
    ran(
        "import ebbmem, langchain_ebbmem\n"
        f"try: langchain_ebbmem.{name}\n"
        "except ebbmem.MissingExtra as error: told = str(error)\n"
        f"assert told.startswith('{name} needs an extra: pip install'), told\n",
        installed=set(),
    )


@pytest.mark.parametrize("installed", [CORE, LEGACY], ids=["core", "core and legacy"])
def test_ad_1_the_retriever_answers_all_calls_alike_on_todays_core(installed: set[str]) -> None:
    pytest.importorskip("langchain_core")
    ran(RETRIEVED, installed=installed)


# -- AD-2 ------------------------------------------------------------------------------------

INPUTS = {"input": "hi", "history": "h" * 10_000, "extra": 1}
OUTPUTS = {"output": "yo", "sources": ["s1", "s2"]}


@pytest.fixture
def langchain_memory(open_bank: OpenBank) -> Callable[..., Any]:
    pytest.importorskip("langchain_classic")
    from langchain_ebbmem import EbbinghausMemory

    bank = open_bank()
    return lambda **options: EbbinghausMemory(memory=bank, **options)


def kept(bank: MemoryBank) -> list[str]:
    return [each.text for each in bank.list(include_faded=True)]


def test_ad_2_of_several_inputs_the_named_ones_alone_are_stored(
    langchain_memory: Callable[..., Any],
) -> None:
    mine = langchain_memory(input_key="input", output_key="output")
    mine.save_context(INPUTS, OUTPUTS)
    assert kept(mine.memory) == ["hi", "yo"]
    loaded = mine.load_memory_variables({"input": "hi"})
    assert [*loaded] == [mine.memory_variables[0]] == ["history"]


def test_ad_2_without_keys_the_usual_names_are_taken_and_others_named_by_the_error(
    langchain_memory: Callable[..., Any],
) -> None:
    # The case wants an error naming the keys; `input` and `output` are what LangChain's own chains
    # call them, so these are understood, and the error is for names nobody can tell apart.
    mine = langchain_memory()
    mine.save_context(INPUTS, OUTPUTS)
    assert kept(mine.memory) == ["hi", "yo"]
    with pytest.raises(InvalidInput, match=r"input_key must be one of \['extra', 'said'\]"):
        mine.save_context({"said": "hi", "extra": 1}, OUTPUTS)
    with pytest.raises(InvalidInput, match=r"output_key must be one of \['a', 'b'\]"):
        mine.save_context(INPUTS, {"a": "yo", "b": "sources"})
    assert kept(mine.memory) == ["hi", "yo"]


def test_ad_2_clear_removes_this_users_or_sessions_memories_only(
    langchain_memory: Callable[..., Any],
) -> None:
    mine, theirs = langchain_memory(), langchain_memory(namespace="u2")
    session = langchain_memory(session_id="one")
    for each in (mine, theirs, session):
        each.save_context({"input": f"of {id(each)}"}, {"output": f"to {id(each)}"})
    session.clear()
    assert kept(mine.memory) == [f"of {id(mine)}", f"to {id(mine)}"]
    mine.clear()
    assert kept(mine.memory) == []
    assert kept(mine.memory.at("u2")) == [f"of {id(theirs)}", f"to {id(theirs)}"]


# -- AD-3 ------------------------------------------------------------------------------------


def test_ad_3_one_block_tells_each_session_its_own_and_changes_no_message(
    open_bank: OpenBank,
) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.memory.ebbmem import EbbinghausMemoryBlock

    block = EbbinghausMemoryBlock(open_bank(), scope="session")
    said = {
        "s1": ChatMessage(role="user", content="My green tea is in the red tin.", seen=[1]),
        "s2": ChatMessage(role="user", content="My black tea is in the blue tin.", seen=[2]),
    }
    before = {session: each.model_dump_json() for session, each in said.items()}
    asked = [ChatMessage(role="user", content="Where is my tea?")]

    async def told() -> list[str]:
        for session, message in said.items():
            await block.aput([message], session_id=session)
        return [await block.aget(asked, session_id=session) for session in ("s1", "s2", "s1")]

    first, second, again = asyncio.run(told())
    assert ("red tin" in first, "blue tin" in first) == (True, False)
    assert ("red tin" in second, "blue tin" in second) == (False, True)
    assert ("red tin" in again, "blue tin" in again) == (True, False)
    assert {session: each.model_dump_json() for session, each in said.items()} == before


def test_ad_3_a_hit_without_a_score_is_kept(open_bank: OpenBank) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.memory.ebbmem import EbbinghausPostprocessor

    nodes = [
        NodeWithScore(node=TextNode(text="green tea", id_="a"), score=None),
        NodeWithScore(node=TextNode(text="black tea", id_="b"), score=0.5),
    ]
    found = EbbinghausPostprocessor(memory=open_bank()).postprocess_nodes(
        nodes, query_bundle=QueryBundle("tea")
    )
    assert {each.node.node_id for each in found} == {"a", "b"}
