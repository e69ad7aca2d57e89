"""LangChain's messages as what was said (`ebbmem.turns`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    message_chunk_to_message,
)

from ebbmem.turns import Role, Said, message_id, without_recalled

__all__ = ["log", "said", "said_all", "text_of"]

log = logging.getLogger("langchain_ebbmem")


def said(message: BaseMessage) -> Said:
    """A message as what was said.

    Neither tool calls and results nor summaries that a middleware wrote are anybody's words.
    """
    role: Role = "other"
    if not message.additional_kwargs.get("lc_source"):
        if isinstance(message, HumanMessage):
            role = "human"
        elif isinstance(message, AIMessage):
            role = "ai"
    return Said(role, text_of(message), message_id(message.id), message.name, message)


def said_all(messages: Sequence[BaseMessage]) -> list[Said]:
    """Messages as what was said."""
    return [said(each) for each in messages]


def text_of(value: object) -> str:
    """The text of a message, its content, or what a chain gave; "" where there is none."""
    if isinstance(value, BaseMessage):
        found = str(message_chunk_to_message(value).text)
    elif isinstance(value, str):
        found = value
    elif isinstance(value, Mapping):
        found = text_of(value.get("text"))
    elif isinstance(value, list | tuple):
        found = "\n".join(filter(None, map(text_of, value)))
    else:
        found = ""
    return without_recalled(found)
