"""`EbbinghausMemory`: one object as `memory=` of any chat engine or agent."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemory
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.utils import get_tokenizer
from llama_index.memory.ebbmem.asking import Turn
from llama_index.memory.ebbmem.binding import Whose, chosen_bank
from llama_index.memory.ebbmem.block import EbbinghausMemoryBlock, Scope
from llama_index.memory.ebbmem.chat_store import ChatStore, Transcript, chosen_store, copies
from llama_index.memory.ebbmem.handles import Handles, bank_at, place_of
from llama_index.memory.ebbmem.messages import Tokens, asked_of, said_all, tokens_of
from llama_index.memory.ebbmem.placement import NOTED, Placement, current, placed, window
from sqlalchemy.ext.asyncio import AsyncEngine

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.checks import check_choice, check_count, check_text
from ebbmem.context import shrink
from ebbmem.turns import Said, Save, message_id

__all__ = ["EbbinghausMemory"]

_SHARE = 0.7
"""Of the tokens, for the transcript; as in LlamaIndex's own Memory."""

_OPTIONS = ("scope", "k", "budget", "save", "reinforce", "query_max_chars", "on_error")
_here: Handles[EbbinghausMemory] = Handles()


class EbbinghausMemory(BaseMemory):
    """Forgetting-curve memory for any chat engine or agent: what is said is kept at once, and
    what it brings to mind is recalled once a turn and told where every engine passes it on.

    ```python
    memory = EbbinghausMemory(MemoryBank.open("memory.db", namespace="alice"))
    index.as_chat_engine(memory=memory)
    await agent.run("Where do I live?", memory=memory)
    ```

    What cannot work: `CondenseQuestionChatEngine` shows its memory to the call that rewrites the
    question, never to the one that answers. There, and for query engines, use
    `EbbinghausRetriever`.
    """

    session_id: str
    token_limit: int = 30_000
    placement: Placement = "auto"
    block: EbbinghausMemoryBlock = Field(exclude=True)
    tokenizer_fn: Callable[[str], list[Any]] = Field(exclude=True)

    _short_term: ChatStore = PrivateAttr()
    _era: str = PrivateAttr(default="")

    def __init__(
        self,
        memory: MemoryBank | AsyncMemoryBank | None = None,
        *,
        namespace: Whose = None,
        session_id: str | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        token_limit: int = 30_000,
        placement: Placement = "auto",
        scope: Scope = "user",
        k: int = 10,
        budget: int = 512,
        around: int | None = None,
        save: Save = "turn",
        reinforce: bool = True,
        query_max_chars: int = 2000,
        on_error: Literal["warn", "raise"] = "warn",
        persist_path: str | Path | None = None,
        embed_model: object = None,
        tokenizer_fn: Callable[[str], list[Any]] | None = None,
        chat_store: AsyncDBChatStore | None = None,
        async_database_uri: str | None = None,
        async_engine: AsyncEngine | None = None,
        table_name: str = "llama_index_memory",
        db_schema: str | None = None,
    ) -> None:
        """Take a bank, or open one; see `EbbinghausMemoryBlock` for what is not told here.

        Args:
            memory: None opens one at `persist_path`; without that it is gone with this object.
            session_id: None makes a new one.
            token_limit: what `get` gives has at most so many tokens, less what the engine needs;
                the last turn stays in any case.
            placement: "auto" puts the recollections into the current user message, or into a
                pair of messages in front where the engine adds that itself.
            embed_model: of LlamaIndex, for a bank that is opened here; None is `Settings`' if
                one was set there.
            chat_store, async_database_uri, async_engine, table_name, db_schema: where the
                transcript is, as of LlamaIndex's `Memory`; without them it is in this process.

        Raises:
            InvalidInput: an argument that cannot be used.
        """
        count_limit = check_count("token_limit", token_limit, least=1)
        tokenizer = get_tokenizer() if tokenizer_fn is None else tokenizer_fn
        bank, whose = chosen_bank(memory, namespace, persist_path, embed_model)
        block = EbbinghausMemoryBlock(
            bank,
            namespace=whose,
            scope=scope,
            k=k,
            budget=budget,
            around=around,
            save=save,
            reinforce=reinforce,
            query_max_chars=query_max_chars,
            on_error=on_error,
            count_tokens=Tokens(tokenizer),
        )
        session = str(uuid.uuid4()) if session_id is None else check_text("session_id", session_id)
        fields: dict[str, Any] = {
            "session_id": session,
            "token_limit": count_limit,
            "placement": check_choice("placement", placement, get_args(Placement)),
            "block": block,
            "tokenizer_fn": tokenizer,
        }
        super().__init__(**fields)
        self._short_term = chosen_store(
            session,
            count_limit,
            tokenizer,
            chat_store=chat_store,
            async_database_uri=async_database_uri,
            async_engine=async_engine,
            table_name=table_name,
            db_schema=db_schema,
        )
        if chat_history:
            self.set(list(chat_history))

    @classmethod
    def class_name(cls) -> str:
        """What LlamaIndex knows it by."""
        return "EbbinghausMemory"

    @classmethod
    def from_defaults(
        cls, memory: MemoryBank | AsyncMemoryBank | None = None, **options: Any
    ) -> Self:
        """As the constructor; what an engine adds to it, as with `memory_cls=`, is ignored.

        A model, `llm`, tells what the limit of tokens is, if nothing else does.
        """
        known = inspect.signature(cls).parameters
        if options.get("llm") is not None:
            options.setdefault("token_limit", options["llm"].metadata.context_window - 256)
        return cls(memory, **{name: each for name, each in options.items() if name in known})

    def with_session(self, session_id: str) -> Self:
        """The same memory in another session, with its own transcript."""
        made = self.model_copy(update={"session_id": check_text("session_id", session_id)})
        made._short_term = self._short_term.beside(session_id)
        made._era = ""
        return made

    # -- reading -----------------------------------------------------------------------------

    def get(
        self,
        input: str | ChatMessage | None = None,
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """The transcript as far as it fits, with what the last words bring to mind.

        Args:
            input: what is about to be asked, where the engine has not put it yet.
            initial_token_count: tokens that the engine needs beside it.
        """
        active, asked = self._short_term.active(), asked_of(input)
        limit = self.token_limit - initial_token_count
        shown, turn = self._shown(active, asked, limit)
        recalled = self.block.recall(_said(shown, asked), self.session_id, turn)
        return self._told(shown, asked, recalled, limit)

    async def aget(
        self,
        input: str | ChatMessage | None = None,
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """The same for an event loop."""
        active, asked = await self._short_term.aactive(), asked_of(input)
        limit = self.token_limit - initial_token_count
        shown, turn = await asyncio.to_thread(self._shown, active, asked, limit)
        recalled = await self.block.arecall(_said(shown, asked), self.session_id, turn)
        return await asyncio.to_thread(self._told, shown, asked, recalled, limit)

    def get_all(self) -> list[ChatMessage]:
        """The whole transcript, without recollections."""
        return self._short_term.everything()

    async def aget_all(self) -> list[ChatMessage]:
        """The whole transcript, without recollections."""
        return await self._short_term.aeverything()

    def _shown(
        self, active: Sequence[ChatMessage], asked: ChatMessage | None, limit: int
    ) -> tuple[list[ChatMessage], str]:
        """What of the transcript fits, and which turn this is of the whole."""
        shown = window(active, min(limit, int(self.token_limit * _SHARE)), self.block.counter)
        number = Turn.of(_said(active, asked), self.session_id).id
        return shown, f"{self._era}/{number}"

    def _told(
        self, shown: Sequence[ChatMessage], asked: ChatMessage | None, recalled: str, limit: int
    ) -> list[ChatMessage]:
        """Within the limit: the recollections give way first, then the oldest turns."""
        count = self.block.counter
        spent = sum(tokens_of(each, count) for each in shown) + 2 * count(NOTED)
        block = shrink(recalled, max(limit - spent, 0), count_tokens=count) if recalled else ""
        return placed(copies(shown), block, asked, self.placement)

    # -- writing -----------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message to the transcript, and what it says to the bank."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Add a message to the transcript, and what it says to the bank."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the transcript, and what they say to the bank."""
        said = said_all(messages)
        self._short_term.put(messages)
        self.block.keep(said, self.session_id)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the transcript, and what they say to the bank."""
        said = said_all(messages)
        await self._short_term.aput(messages)
        await self.block.akeep(said, self.session_id)

    def set(self, messages: list[ChatMessage]) -> None:
        """Another transcript; what is new in it is kept, and nothing in the bank is lost."""
        said = said_all(messages)
        self._short_term.set(messages)
        self._era = uuid.uuid4().hex
        self.block.keep(said, self.session_id, anew=False)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Another transcript; what is new in it is kept, and nothing in the bank is lost."""
        said = said_all(messages)
        await self._short_term.aset(messages)
        self._era = uuid.uuid4().hex
        await self.block.akeep(said, self.session_id, anew=False)

    def reset(self) -> None:
        """An empty transcript; the bank keeps everything: see `forget_all`."""
        self.set([])

    async def areset(self) -> None:
        """An empty transcript; the bank keeps everything: see `aforget_all`."""
        await self.aset([])

    def forget_all(self) -> int:
        """Forget what is remembered here, in scope "session" of this session; returns how many.

        It can be restored: `erase_all()` of the bank is for good. The transcript stays.
        """
        bank = self.block.bank(self.session_id)
        told = bank.list(source=self._source(), include_superseded=True)
        return len(bank.forget([each.id for each in told]))

    async def aforget_all(self) -> int:
        """The same for an event loop."""
        return await asyncio.to_thread(self.forget_all)

    def _source(self) -> str | None:
        return message_id(self.session_id) if self.block.scope == "session" else None

    # -- elsewhere ---------------------------------------------------------------------------

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """As JSON: where the bank is, the options, and a transcript that is in this process."""
        own = isinstance(self._short_term, Transcript)
        whose = self.block.namespace
        return {
            "class_name": self.class_name(),
            "handle": _here.of(self),
            "memory": place_of(self.block.memory),
            "namespace": None if callable(whose) or whose is None else _names(whose),
            "elsewhere": _elsewhere(own, callable(whose)),
            "session_id": self.session_id,
            "token_limit": self.token_limit,
            "placement": self.placement,
            "options": {name: getattr(self.block, name) for name in _OPTIONS},
            "messages": [each.model_dump(mode="json") for each in self.get_all()] if own else [],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The memory it was made from if that is still here, else one like it.

        Raises:
            InvalidInput: its bank is gone, or it had what no JSON can hold.
        """
        here = _here.find(data.get("handle"))
        if isinstance(here, cls):
            return here
        if data["elsewhere"]:
            raise InvalidInput("memory", f"cannot be made again: {data['elsewhere']}")
        made = cls(
            bank_at(data["memory"]),
            namespace=data["namespace"],
            session_id=data["session_id"],
            token_limit=data["token_limit"],
            placement=data["placement"],
            **data["options"],
        )
        made._short_term.set([ChatMessage.model_validate(each) for each in data["messages"]])
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: object = None) -> Self:
        """The same bank, and a transcript of its own."""
        made = self.with_session(self.session_id)
        if isinstance(made._short_term, Transcript):
            made._short_term.set(self._short_term.everything())
        return made


def _said(messages: Sequence[ChatMessage], asked: ChatMessage | None) -> list[Said]:
    """Messages, and what is asked where it is not among them."""
    if asked is None or current(messages, asked) is not None:
        return said_all(messages)
    return said_all([*messages, asked])


def _names(whose: str | Sequence[str]) -> list[str]:
    return [whose] if isinstance(whose, str) else list(whose)


def _elsewhere(own: bool, chosen: bool) -> str | None:
    """What of a memory no JSON can hold."""
    if not own:
        return "its transcript is in a chat store; pass the memory to the run again"
    if chosen:
        return "a function chose its namespace; pass the memory to the run again"
    return None
