"""The transcript of a session: in this process, or in a chat store of LlamaIndex."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import AsyncEngine

__all__ = ["SYSTEM", "ChatStore", "Foreign", "Transcript", "chosen_store", "copies"]

T = TypeVar("T")

SYSTEM = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


class ChatStore(Protocol):
    """What `EbbinghausMemory` needs of a short-term memory.

    Messages go in and out as copies, but for those of `active`, which nobody changes.
    """

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
        self._messages = copies(messages)

    def put(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        added = copies(messages)
        with self._lock:
            self._messages += added

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        given = copies(messages)
        with self._lock:
            self._messages = given

    def active(self) -> list[ChatMessage]:
        """Every message, oldest first: nothing is archived, the window is cut by who reads."""
        with self._lock:
            return list(self._messages)

    def everything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return copies(self.active())

    async def aput(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages, in one piece."""
        self.put(messages)

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        self.set(messages)

    async def aactive(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return self.active()

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
            await self._memory.aput_messages(copies(messages))

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """These messages instead of what is there."""
        self._system = None
        await self._memory.aset(copies(messages))

    async def aactive(self) -> list[ChatMessage]:
        """What is not archived, and every system message."""
        if (system := self._system) is None:
            everything = await self._memory.aget_all()
            system = self._system = copies([each for each in everything if each.role in SYSTEM])
        active = await self._memory.aget_all(status=MessageStatus.ACTIVE)
        return [*(each for each in system if each not in active), *active]

    async def aeverything(self) -> list[ChatMessage]:
        """Every message, oldest first."""
        return copies(await self._memory.aget_all())

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


def chosen_store(
    session_id: str,
    token_limit: int,
    tokenizer_fn: Callable[[str], list[Any]],
    *,
    chat_store: AsyncDBChatStore | None,
    async_database_uri: str | None,
    async_engine: AsyncEngine | None,
    table_name: str,
    db_schema: str | None,
) -> ChatStore:
    """The store that is given or described, else a transcript in this process."""
    if chat_store is None and (async_database_uri or async_engine):
        chat_store = SQLAlchemyChatStore(
            table_name=table_name,
            async_database_uri=async_database_uri,
            async_engine=async_engine,
            db_schema=db_schema,
        )
    if chat_store is None:
        return Transcript()
    return Foreign(
        Memory(
            session_id=session_id,
            token_limit=token_limit,
            tokenizer_fn=tokenizer_fn,
            sql_store=chat_store,
        )
    )


def copies(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Copies that share nothing."""
    return [each.model_copy(deep=True) for each in messages]


def _waited(what: Coroutine[Any, Any, T]) -> T:
    """The result, whether or not a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(what)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, what).result()
