"""Engines and agents over a model that keeps what it was asked, all offline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool

FACT = "I live in Lisbon with my cat Felix."
QUESTION = "Where do I live with my cat?"
LIBRARY = "The library opens at nine."

AGENT = pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
)
"""For what runs a workflow: it looks at every attribute of an agent, and a ReAct agent at this."""

ENGINES = ("simple", "context", "condense_plus_context", "condense_question")
CALLS = ("chat", "achat", "stream_chat", "astream_chat")
AGENTS = ("function", "react", "codeact", "workflow")


class Recorder(FunctionCallingLLM):
    """Answers what is scripted, then "Okay."; keeps every request."""

    _script: list[ChatMessage] = PrivateAttr(default_factory=list)
    _requests: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, *script: ChatMessage | str) -> None:
        super().__init__()
        self._script = [
            ChatMessage(role="assistant", content=each) if isinstance(each, str) else each
            for each in script
        ]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    @property
    def requests(self) -> list[list[ChatMessage]]:
        return self._requests

    def last(self) -> str:
        """The text of the last request."""
        return "\n".join(text_of(each) for each in self._requests[-1])

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        self._requests.append([each.model_copy(deep=True) for each in messages])
        answer = self._script.pop(0) if self._script else assistant("Okay.")
        return ChatResponse(message=answer, delta=answer.content or "")

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        answer = self.chat(messages)
        return (each for each in [answer])

    async def astream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Any:
        answer = self.chat(messages)

        async def stream() -> AsyncIterator[ChatResponse]:
            yield answer

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([user(prompt)]).message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        return iter([self.complete(prompt)])

    async def astream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any
    ) -> dict[str, Any]:
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[Any]:
        return [
            ToolSelection(tool_id=each.tool_call_id, tool_name=each.tool_name, tool_kwargs={})
            for each in response.message.blocks
            if isinstance(each, ToolCallBlock)
        ]


class Library(BaseRetriever):
    """Knows one thing."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=LIBRARY), score=1.0)]


def text_of(message: ChatMessage) -> str:
    return "\n".join(getattr(block, "text", "") for block in message.blocks)


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def roles(messages: Sequence[ChatMessage]) -> list[str]:
    return [each.role.value for each in messages]


def repeated(messages: Sequence[ChatMessage]) -> list[str]:
    """Roles that come twice in a row."""
    found = roles(messages)
    return [one for one, other in pairwise(found) if one == other]


def engine(kind: str, llm: Recorder, memory: Any, *, streaming: bool = False) -> Any:
    """A chat engine over a memory."""
    if kind == "simple":
        return SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt="Be brief.")
    if kind == "context":
        return ContextChatEngine.from_defaults(Library(), llm=llm, memory=memory)
    if kind == "condense_plus_context":
        return CondensePlusContextChatEngine.from_defaults(Library(), llm=llm, memory=memory)
    queries = RetrieverQueryEngine.from_args(Library(), llm=llm, streaming=streaming)
    return CondenseQuestionChatEngine.from_defaults(queries, llm=llm, memory=memory)


def talk(kind: str, call: str, llm: Recorder, memory: Any, *said: str) -> None:
    """Say something to an engine, each to its end."""
    asked = engine(kind, llm, memory, streaming="stream" in call)
    if call == "chat":
        for each in said:
            asked.chat(each)
    elif call == "stream_chat":
        for each in said:
            stream = asked.stream_chat(each)
            assert "".join(stream.response_gen)
            written(stream)
    else:
        asyncio.run(_atalk(asked, call, said))


async def _atalk(asked: Any, call: str, said: Sequence[str]) -> None:
    for each in said:
        stream = await getattr(asked, call)(each)
        if call == "astream_chat":
            assert "".join([token async for token in stream.async_response_gen()])
            if stream.awrite_response_to_history_task is not None:
                await stream.awrite_response_to_history_task


def written(stream: Any) -> None:
    """Wait for the thread that writes the answer down."""
    thread = getattr(stream, "write_thread", None)
    if thread is not None:
        thread.join()


def look() -> str:
    """Look around."""
    return "a red door"


def agent(kind: str, rounds: int, system_prompt: str | None) -> tuple[Any, Recorder]:
    """An agent that uses a tool so often before it answers."""
    llm = Recorder(*_rounds(kind, rounds))
    tools = [FunctionTool.from_defaults(look)]
    options: dict[str, Any] = {"llm": llm, "system_prompt": system_prompt, "streaming": False}
    if kind == "codeact":
        return CodeActAgent(code_execute_fn=lambda code: "a red door", tools=[], **options), llm
    if kind == "react":
        return ReActAgent(tools=tools, **options), llm
    made = FunctionAgent(tools=tools, name="one", description="one", **options)
    return (AgentWorkflow(agents=[made], root_agent="one") if kind == "workflow" else made), llm


def _rounds(kind: str, rounds: int) -> list[ChatMessage | str]:
    if kind == "react":
        calls: list[ChatMessage | str] = ["Thought: I look.\nAction: look\nAction Input: {}"]
        return [*calls * rounds, "Thought: I know.\nAnswer: It is a red door."]
    if kind == "codeact":
        calls = ["<execute>look()</execute>"]
        return [*calls * rounds, "It is a red door."]
    calls = [
        ChatMessage(
            role="assistant",
            blocks=[ToolCallBlock(tool_call_id=f"call-{n}", tool_name="look", tool_kwargs={})],
        )
        for n in range(rounds)
    ]
    return [*calls, "It is a red door."]


def run(asked: Any, said: str, memory: Any, **options: Any) -> Any:
    """One run of an agent."""

    async def one() -> Any:
        return await asked.run(user_msg=said, memory=memory, **options)

    return asyncio.run(one())


def block_in(text: str) -> str:
    """The recollections in a request, "" without any."""
    found = re.search(r"<recollections>.*?</recollections>", text, re.DOTALL)
    return "" if found is None else found[0]


@asynccontextmanager
async def llama_memory(
    *blocks: Any, session_id: str = "s", **options: Any
) -> AsyncIterator[Memory]:
    """LlamaIndex's own memory, over its default database, which is closed in its loop."""
    memory = Memory.from_defaults(session_id=session_id, memory_blocks=list(blocks), **options)
    try:
        yield memory
    finally:
        store: Any = memory.sql_store
        if store._async_engine is not None:
            await store._async_engine.dispose()
