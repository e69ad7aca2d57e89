"""The transcript of a session: in this process, or in a chat store of LlamaIndex."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

__all__ = ["SYSTEM", "ChatStore", "Foreign", "Transcript"]

T = TypeVar("T")

SYSTEM = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


class ChatStore(Protocol):
    """What `EbbinghausMemory` needs of a short-term memory; messages go in and out as copies."""

    def put(self, messages: Sequence[ChatMessage]) -> None: ...
    async def aput(self, messages: Sequence[ChatMessage]) -> None: ...
    def set(self, messages: Sequence[ChatMessage]) -> None: ...
    async def aset(self, messages: Sequence[ChatMessage]) -> None: ...
    def active(self) -> list[ChatMessage]: ...
    async def aactive(self) -> list[ChatMessage]: ...
    def everything(self) -> list[ChatMessage]: ...
    async def aeverything(self) -> list[ChatMessage]: ...
    def beside(self, session_id: str) -> ChatStore: ...


class Transcript:
    """The messages of one session in this process, safe between threads and loops."""

    def __init__(self, messages: Sequence[ChatMessage] = ()) -> None:
        self._lock = threading.Lock()
        self._messages = _copies(messages)

    def put(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        copies = _copies(messages)
        with self._lock:
            self._messages += copies

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        copies = _copies(messages)
        with self._lock:
            self._messages = copies

    def everything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        with self._lock:
            known = list(self._messages)  # they are never changed, so they are copied outside
        return _copies(known)

    def active(self) -> list[ChatMessage]:
        """The same: nothing is archived here, the window is cut when it is read."""
        return self.everything()

    async def aput(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        self.put(messages)

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        self.set(messages)

    async def aactive(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return self.everything()

    async def aeverything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return self.everything()

    def beside(self, session_id: str) -> ChatStore:
        """An empty one for another session."""
        return Transcript()


class Foreign:
    """The messages of one session in a chat store of LlamaIndex, which its `Memory` looks after.

    A system message that was archived there is told still.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._system: list[ChatMessage] | None = None

    def put(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        _waited(self.aput(messages))

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        _waited(self.aset(messages))

    def active(self) -> list[ChatMessage]:
        """What is not archived, and every system message."""
        return _waited(self.aactive())

    def everything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return _waited(self.aeverything())

    async def aput(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        if messages:
            self._system = None if any(each.role in SYSTEM for each in messages) else self._system
            await self._memory.aput_messages(_copies(messages))

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        self._system = None
        await self._memory.aset(_copies(messages))

    async def aactive(self) -> list[ChatMessage]:
        """What is not archived, and every system message."""
        if (system := self._system) is None:
            everything = await self._memory.aget_all()
            system = self._system = _copies([each for each in everything if each.role in SYSTEM])
        active = _copies(await self._memory.aget_all(status=MessageStatus.ACTIVE))
        return [*_copies([each for each in system if each not in active]), *active]

    async def aeverything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return _copies(await self._memory.aget_all())

    def beside(self, session_id: str) -> ChatStore:
        """Another session of the same store."""
        memory = self._memory
        return Foreign(
            Memory(
                session_id=session_id,
                token_limit=memory.token_limit,
                tokenizer_fn=memory.tokenizer_fn,
                sql_store=memory.sql_store,
            )
        )


def _copies(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [each.model_copy(deep=True) for each in messages]


def _waited(what: Coroutine[Any, Any, T]) -> T:
    """The result, whether or not a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(what)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, what).result()
