"""Fake models and embedders for the tests of the LangChain adapters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from ebbmem.testing import HashingEmbedder

__all__ = ["Scripted", "SlowEmbeddings", "calling", "numbered", "scripted"]


class Scripted(GenericFakeChatModel):
    """Answers from a script, and keeps what it was asked; an exception in it is raised."""

    requests: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Scripted:  # type: ignore[override]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.requests.append(messages)
        return super()._generate(messages, *args, **kwargs)

    @property
    def last(self) -> list[BaseMessage]:
        """The messages of the last request."""
        return self.requests[-1]


def scripted(*answers: str | AIMessage | Exception) -> Scripted:
    """A model that gives these answers, then "answer 1", "answer 2" and so on."""
    return Scripted(messages=_script(answers))


def _script(answers: Sequence[str | AIMessage | Exception]) -> Iterator[AIMessage]:
    return _Script([*answers])


class _Script(Iterator[AIMessage]):
    """An iterator that goes on after it raised; a generator would be over."""

    def __init__(self, answers: list[str | AIMessage | Exception]) -> None:
        self._answers = answers
        self._count = 0

    def __next__(self) -> AIMessage:
        if not self._answers:
            self._count += 1
            return AIMessage(content=f"answer {self._count}")
        each = self._answers.pop(0)
        if isinstance(each, Exception):
            raise each
        return AIMessage(content=each) if isinstance(each, str) else each


def numbered() -> Scripted:
    """A model that answers "answer 1", "answer 2" and so on."""
    return scripted()


def calling(name: str, id: str = "call-1", **arguments: Any) -> AIMessage:
    """An answer that calls a tool."""
    call = {"name": name, "args": arguments, "id": id, "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])


class SlowEmbeddings(Embeddings):
    """LangChain's kind of embedder whose async calls wait; it counts the most under way at once."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds = seconds
        self.model = "slow"
        self.under_way = 0
        self.most = 0
        self._inner = HashingEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [each.vector.tolist() for each in self._inner.encode_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return list(self._inner.encode_query(text).vector.tolist())

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await self._wait()
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        await self._wait()
        return self.embed_query(text)

    async def _wait(self) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.seconds)
        self.under_way -= 1
