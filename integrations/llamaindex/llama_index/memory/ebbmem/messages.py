"""LlamaIndex's messages as what was said (`ebbmem.turns`), and how many tokens they are."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from ebbmem.turns import Role, Said, without_recalled

__all__ = [
    "Count",
    "Tokens",
    "asked_of",
    "log",
    "said",
    "said_all",
    "same_words",
    "text_of",
    "tokens_of",
]

log = logging.getLogger("llama_index.memory.ebbmem")

Count = Callable[[str], int]
"""Tokens of a text."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenizer of LlamaIndex as what counts; it can be pickled if that can."""

    tokenizer_fn: Callable[[str], list[Any]]

    def __call__(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


_ROLES: dict[MessageRole, Role] = {
    MessageRole.USER: "human",
    MessageRole.ASSISTANT: "ai",
    MessageRole.CHATBOT: "ai",
    MessageRole.MODEL: "ai",
}
_CODE = re.compile(r"<execute>.*?(</execute>|\Z)", re.DOTALL)
_CODE_RESULT = "Result of executing the code given:"
_THOUGHT = re.compile(r"\s*(Thought|Action|Observation):")
_ANSWER = re.compile(r"^[^\S\n]*Answer:", re.MULTILINE)
_MEDIA_TOKENS = 256  # as LlamaIndex's own Memory estimates an image, a sound, a film
_DOCUMENT_TOKENS = 2048


def said(message: ChatMessage) -> Said:
    """A message as what was said.

    What tools gave is nobody's words, though agents write it as a user's or an assistant's.
    """
    text, role = text_of(message), _ROLES.get(message.role, "other")
    of_code = role == "human" and text.startswith(_CODE_RESULT)
    if of_code or "tool_call_id" in message.additional_kwargs:
        role = "other"
    elif role == "ai":
        text = _answer_in(text)
    return Said(role, text, message=message)


def said_all(messages: Sequence[ChatMessage] | None) -> list[Said]:
    """Messages as what was said."""
    return [said(each) for each in messages or ()]


def text_of(message: ChatMessage) -> str:
    """The text of all text blocks, without what was recalled; "" where there is none."""
    texts = [each.text for each in message.blocks if isinstance(each, TextBlock)]
    whole = "\n".join(filter(None, texts)).encode("utf-8", "replace").decode()
    return without_recalled(whole)


def _answer_in(text: str) -> str:
    """What an agent tells, without its reasoning and its code."""
    if _THOUGHT.match(text):
        *_, text = ["", *_ANSWER.split(text)[1:]]
    return _CODE.sub("", text).strip() if "<execute>" in text else text.strip()


def asked_of(input: object) -> ChatMessage | None:
    """What `get(input=...)` was given, as a message of the user's; None without words."""
    if isinstance(input, ChatMessage):
        found = input
    elif isinstance(input, str):
        found = ChatMessage(role=MessageRole.USER, content=input)
    else:
        return None
    return found if text_of(found).strip() else None


def same_words(one: ChatMessage, other: ChatMessage) -> bool:
    """Whether two messages say the same."""
    return text_of(one).strip() == text_of(other).strip()


def tokens_of(message: ChatMessage, count: Count) -> int:
    """Tokens of a message: of its texts, its calls and its extra fields; media are estimated."""
    total = 0
    for block in message.blocks:
        if isinstance(block, TextBlock):
            total += count(block.text)
        elif isinstance(block, ThinkingBlock):
            total += count(block.content or "")
        elif isinstance(block, ToolCallBlock):
            total += count(f"{block.tool_name} {block.tool_kwargs}")
        elif isinstance(block, DocumentBlock):
            total += _DOCUMENT_TOKENS
        elif block.block_type != "cache":
            total += _MEDIA_TOKENS
    if message.additional_kwargs:
        total += count(json.dumps(message.additional_kwargs, default=str))
    return total
