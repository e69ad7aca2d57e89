"""A chat history that forgets, for `RunnableWithMessageHistory`: no query, so strength decides."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)

from ebbmem import AsyncMemoryBank, Draft, EbbmemError, Memory, MemoryBank
from ebbmem.checks import check_count, check_label
from ebbmem.intake import new_id
from ebbmem.records import Trust
from ebbmem.turns import drafts_of
from langchain_ebbmem.binding import Names, bank_of
from langchain_ebbmem.documents import plain
from langchain_ebbmem.turns import log, said

__all__ = ["EbbinghausChatMessageHistory"]


class EbbinghausChatMessageHistory(BaseChatMessageHistory):
    """The transcript of one session without what has faded; the last messages always stay.

    `messages` is a snapshot: it does not change before this object writes, whatever fades or
    whoever writes meanwhile. An assistant's tool calls and their results stay or go together.

    ```python
    RunnableWithMessageHistory(chain, EbbinghausChatMessageHistory.factory(bank))
    ```
    """

    def __init__(
        self,
        memory: MemoryBank | AsyncMemoryBank,
        session_id: str,
        *,
        namespace: Names = None,
        keep_last: int = 20,
    ) -> None:
        """Take the session of a bank.

        Args:
            session_id: one line of 1 to 512 characters; the source of its memories.
            namespace: whose memory; None is the bank's own.
            keep_last: so many messages are there even if they have faded.

        Raises:
            InvalidInput: an argument that cannot be used.
        """
        self._bank = bank_of(memory, namespace)
        self.session_id = check_label("session_id", session_id)
        self._keep_last = check_count("keep_last", keep_last, least=0)
        self._seen: list[BaseMessage] | None = None

    @classmethod
    def factory(
        cls, memory: MemoryBank | AsyncMemoryBank, **options: Any
    ) -> Callable[[str], EbbinghausChatMessageHistory]:
        """What `RunnableWithMessageHistory` wants: a session's id to its history."""
        bank_of(memory, options.get("namespace"))  # refused here rather than in the first run

        def get_session_history(session_id: str) -> EbbinghausChatMessageHistory:
            return cls(memory, session_id, **options)

        return get_session_history

    # -- reading -----------------------------------------------------------------------------

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base has a field
        """The transcript, oldest first; copies."""
        if self._seen is None:
            self._seen = self._told(*(self._bank.list(**each) for each in self._wanted()))
        return [each.model_copy(deep=True) for each in self._seen]

    async def aget_messages(self) -> list[BaseMessage]:
        """The transcript, oldest first; copies."""
        if self._seen is None:
            bank = AsyncMemoryBank(self._bank)
            self._seen = self._told(*[await bank.list(**each) for each in self._wanted()])
        return self.messages

    def _wanted(self) -> list[dict[str, Any]]:
        """Everything of the session, then what of it has not faded; it was said in any case."""
        mine = {
            "source": self.session_id,
            "where": {"message": {"$exists": True}},
            "include_superseded": True,
        }
        return [{**mine, "include_faded": True}, mine]

    def _told(self, records: list[Memory], active: list[Memory]) -> list[BaseMessage]:
        visible = {each.id for each in active}
        kept: set[str] = {each.id for each in records[len(records) - self._keep_last :]}
        groups = _groups([(each.id, _message_of(each)) for each in records])
        return [
            message
            for group in groups
            if any(id_ in visible or id_ in kept for id_, _ in group)
            for _, message in group
        ]

    # -- writing -----------------------------------------------------------------------------

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep messages, all or none; one with the id of a message that is there replaces it."""
        try:
            self._bank.remember_many(self._drafts(messages))
        except EbbmemError as error:
            self._failed(error)
            raise
        self._seen = None

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep messages, all or none; one with the id of a message that is there replaces it."""
        try:
            await AsyncMemoryBank(self._bank).remember_many(self._drafts(messages))
        except EbbmemError as error:
            self._failed(error)
            raise
        self._seen = None

    def clear(self) -> None:
        """Erase this session for good, and nothing else."""
        everything = self._bank.list(
            source=self.session_id, include_faded=True, include_superseded=True
        )
        self._bank.erase([each.id for each in everything])
        self._seen = None

    async def aclear(self) -> None:
        """Erase this session for good, and nothing else."""
        bank = AsyncMemoryBank(self._bank)
        everything = await bank.list(
            source=self.session_id, include_faded=True, include_superseded=True
        )
        await bank.erase([each.id for each in everything])
        self._seen = None

    def _drafts(self, messages: Sequence[BaseMessage]) -> list[Draft]:
        once: dict[int, Draft] = {}  # a chain that gives the whole list gives the input again
        for each in messages:
            once.setdefault(id(each), _draft(each, self.session_id))
        by_id = {draft.id: draft for draft in once.values()}
        return list(by_id.values())

    def _failed(self, error: EbbmemError) -> None:
        """The caller may swallow it, so it stands in the log."""
        log.error("session %s: messages were not kept: %s", self.session_id, error)


def _draft(given: BaseMessage, session: str) -> Draft:
    message = message_chunk_to_message(given)
    # tool calls and results, instructions: kept for the transcript alone
    unheard = Draft(
        text=_label(message), source=session, searchable=False, trust=_trust_of(message)
    )
    [words] = drafts_of([said(message)], session) or [unheard]
    metadata = {**words.metadata, "message": plain(message_to_dict(message))}
    return replace(words, id=_id(message, session), keyed=True, metadata=metadata)


def _trust_of(message: BaseMessage) -> Trust:
    if isinstance(message, AIMessage):
        return "assistant"
    spoken = isinstance(message, HumanMessage | SystemMessage)  # by a person, by the program
    return "user" if spoken else "tool"


def _id(message: BaseMessage, session: str) -> str:
    """Of this message in this session: another may hold the same, as a fork does."""
    if not message.id:
        return new_id()
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([session, message.id])))


def _label(message: BaseMessage) -> str:
    calls = [call["name"] for call in getattr(message, "tool_calls", ())]
    return f"[{message.type}: {', '.join(calls)}]" if calls else f"[{message.type}]"


def _message_of(memory: Memory) -> BaseMessage:
    [message] = messages_from_dict([dict(memory.metadata["message"])])
    return message


Item = tuple[str, BaseMessage]


def _groups(items: list[Item]) -> list[list[Item]]:
    """Messages that stay or go together; results without their call, and the reverse, are left out.

    A call with results missing is whole only while it is the last: then it is still running.
    """
    groups: list[list[Item]] = []
    for id_, message in items:
        if isinstance(message, ToolMessage):
            if groups and message.tool_call_id in _open_calls(groups[-1]):
                groups[-1].append((id_, message))
        else:
            groups.append([(id_, message)])
    return [
        group for at, group in enumerate(groups) if at == len(groups) - 1 or not _open_calls(group)
    ]


def _open_calls(group: list[Item]) -> set[str | None]:
    """Calls of a group that have no result yet."""
    first = group[0][1]
    calls = {call["id"] for call in first.tool_calls} if isinstance(first, AIMessage) else set()
    answered = {each.tool_call_id for _, each in group[1:] if isinstance(each, ToolMessage)}
    return calls - answered
