"""The store in the hands of an agent's tools, and of langmem's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="needs the extra agents")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langgraph.store.base import BaseStore

from builders import OpenBank
from ebbmem import Policy
from kit import calling, scripted
from langchain_ebbmem import EbbinghausStore

ANN = ("users", "ann")


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Note something."""
    given(runtime).put(ANN, "note", {"text": text})
    return "noted"


@tool
async def anote(text: str, runtime: ToolRuntime) -> str:
    """Note something."""
    await given(runtime).aput(ANN, "note", {"text": text})
    return "noted"


@tool
def look(query: str, runtime: ToolRuntime) -> str:
    """Look something up."""
    return str([each.value["text"] for each in given(runtime).search(ANN, query=query)])


def given(runtime: ToolRuntime) -> BaseStore:
    assert isinstance(runtime.store, EbbinghausStore)
    return runtime.store


def uses(store: EbbinghausStore, namespace: tuple[str, ...], key: str) -> int:
    return store.memory.at(*store.memory.namespace, *namespace).get(key).recall_count


@pytest.fixture
def store(open_bank: OpenBank) -> EbbinghausStore:
    return EbbinghausStore(memory=open_bank(policy=Policy()))


@pytest.mark.parametrize("awaited", [False, True])
def test_what_a_tool_puts_a_later_tool_finds_and_that_counts_as_use(
    store: EbbinghausStore, awaited: bool
) -> None:
    writer = anote if awaited else note
    model = scripted(
        calling(writer.name, text="Ann drinks green tea"),
        "I noted it",
        calling("look", id="call-2", query="green tea"),
        "It was green tea",
    )
    agent: Any = create_agent(model, tools=[writer, look], store=store)

    def say(text: str) -> Any:
        messages = {"messages": [("human", text)]}
        return asyncio.run(agent.ainvoke(messages)) if awaited else agent.invoke(messages)

    assert say("remember")["messages"][-1].content == "I noted it"
    answer = say("what was it?")["messages"]
    assert [each.content for each in answer if each.type == "tool"] == ["['Ann drinks green tea']"]
    assert uses(store, ANN, "note") == 1


def test_33_the_tools_of_langmem_write_read_and_delete_in_this_store(
    store: EbbinghausStore,
) -> None:
    langmem = pytest.importorskip("langmem", reason="langmem is not installed")
    namespace = ("memories", "ann")
    manage = langmem.create_manage_memory_tool(namespace=namespace, store=store)
    search = langmem.create_search_memory_tool(namespace=namespace, store=store)
    manage.invoke({"content": "Ann drinks green tea", "action": "create"})
    [item] = store.search(("memories",))
    assert item.namespace == namespace
    assert item.value["content"] == "Ann drinks green tea"
    assert "green tea" in search.invoke({"query": "tea"})
    assert uses(store, namespace, item.key) == 1
    manage.invoke({"content": "Ann drinks coffee", "action": "update", "id": item.key})
    assert [each.value["content"] for each in store.search(("memories",))] == ["Ann drinks coffee"]

    async def main() -> str:
        await manage.ainvoke({"action": "delete", "id": item.key})
        return str(await search.ainvoke({"query": "coffee"}))

    assert "coffee" not in asyncio.run(main())
    assert store.list_namespaces() == []
