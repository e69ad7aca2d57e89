"""Where the recollections go among the messages, so that every engine passes them on.

A system message of its own does not arrive everywhere (ReAct and CodeAct agents drop it), and
some models refuse two of them, or two messages of one role in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.memory.ebbmem.chat_store import SYSTEM
from llama_index.memory.ebbmem.messages import Count, said, same_words, tokens_of

__all__ = ["NOTED", "Placement", "current", "placed", "window"]

Placement = Literal["auto", "user", "pair", "system"]
"""In the current user message, else in a pair of messages in front; always the one, the other,
or a system message."""

NOTED = "Noted."
"""What the assistant says to what it was told in a pair."""


def window(messages: Sequence[ChatMessage], limit: int, count: Count) -> list[ChatMessage]:
    """The system messages, and of the others the latest turns that fit into `limit` tokens.

    The last turn stays in any case. A turn begins with a user message, so that no tool's result
    is without its call.
    """
    system = [each for each in messages if each.role in SYSTEM]
    rest = [each for each in messages if each.role not in SYSTEM]
    room = limit - sum(tokens_of(each, count) for each in system)
    start, spent = len(rest), 0
    for at in range(len(rest) - 1, -1, -1):
        spent += tokens_of(rest[at], count)
        if spent > room and start < len(rest):
            return [*system, *rest[start:]]
        if said(rest[at]).role == "human":
            start = at
    return list(messages)


def current(messages: Sequence[ChatMessage], asked: ChatMessage | None) -> int | None:
    """Where the message stands that is to be answered; None if it is not there yet.

    Args:
        asked: what an engine is about to ask; agents ask again what stands there already.
    """
    humans = [at for at, each in enumerate(messages) if said(each).role == "human"]
    if not humans or asked is None:
        return humans[-1] if humans else None
    answered = messages[-1].role == MessageRole.ASSISTANT
    return humans[-1] if not answered and same_words(messages[humans[-1]], asked) else None


def placed(
    messages: Sequence[ChatMessage],
    recalled: str,
    asked: ChatMessage | None,
    placement: Placement = "auto",
) -> list[ChatMessage]:
    """The messages with what was recalled; no two of a user's in a row, what changes is a copy."""
    told = _joined(messages)
    at = current(told, asked)
    if asked is not None and at is None and told and told[-1].role == MessageRole.USER:
        told.append(_noted())  # an answer that was never written; the engine adds what is asked
    if not recalled:
        return told
    if placement == "system":
        return _in_system(told, recalled)
    if placement == "user" and at is None:
        at = current(told, None)
    if placement == "pair" or at is None:
        return _in_pair(told, recalled)
    told[at] = _before(told[at], recalled)
    return told


def _joined(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """With what a user said in a row in one message."""
    told: list[ChatMessage] = []
    for each in messages:
        if told and each.role == told[-1].role == MessageRole.USER:
            blocks = [*told[-1].blocks, *each.blocks]
            told[-1] = told[-1].model_copy(update={"blocks": blocks})
        else:
            told.append(each)
    return told


def _before(message: ChatMessage, recalled: str) -> ChatMessage:
    return message.model_copy(update={"blocks": [_block(recalled), *message.blocks]})


def _in_system(messages: list[ChatMessage], recalled: str) -> list[ChatMessage]:
    """At the end of the first system message, else in a new one."""
    for at, each in enumerate(messages):
        if each.role in SYSTEM:
            blocks = [*each.blocks, _block(recalled)]
            return [
                *messages[:at],
                each.model_copy(update={"blocks": blocks}),
                *messages[at + 1 :],
            ]
    return [ChatMessage(role=MessageRole.SYSTEM, blocks=[_block(recalled)]), *messages]


def _in_pair(messages: list[ChatMessage], recalled: str) -> list[ChatMessage]:
    """Behind the system messages in front; unanswered where an assistant goes on."""
    start = next((at for at, each in enumerate(messages) if each.role not in SYSTEM), len(messages))
    pair = [ChatMessage(role=MessageRole.USER, blocks=[_block(recalled)]), _noted()]
    if start < len(messages) and messages[start].role == MessageRole.ASSISTANT:
        del pair[1]
    return [*messages[:start], *pair, *messages[start:]]


def _block(recalled: str) -> TextBlock:
    return TextBlock(text=str(recalled))


def _noted() -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=NOTED)
