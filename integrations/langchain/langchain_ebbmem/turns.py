"""What is worth keeping of a turn: whose words, in which thread, known by which id.

A message with an id is known by it (`remember_many(rewrite=True)`), so that retries, resumed
runs and replayed checkpoints add nothing, and an edited one gets its new words. What is said
again in another message is one memory, strengthened, as everything in a bank is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    message_chunk_to_message,
)

from ebbmem import Draft, InvalidInput, MemoryBank, NotFound
from ebbmem.context import CLOSING, OPENING

__all__ = [
    "Extract",
    "Save",
    "aturn_drafts",
    "draft_of_message",
    "id_of",
    "last_question",
    "log",
    "text_of",
    "turn_drafts",
    "turn_of",
    "turn_text",
]

log = logging.getLogger("langchain_ebbmem")

Save: TypeAlias = Literal["turn", "human", "none"]
"""Keep what the human and the assistant said, the human alone, or nothing."""

Extracted: TypeAlias = Sequence[Draft | str]
Extract: TypeAlias = Callable[[list[BaseMessage]], Extracted | Awaitable[Extracted]]
"""Turns the messages of a turn into what to keep of it; sync or async."""

_RECALLED = re.compile(f"{re.escape(OPENING)}.*?{re.escape(CLOSING)}", re.DOTALL)
_ROLES = {"human": "user", "ai": "assistant"}


def text_of(value: object) -> str:
    """The text of a message, its content, or what a chain gave; "" where there is none.

    Recalled blocks are left out: what was recalled is never stored again.
    """
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
    kept = _RECALLED.sub("", found)
    return kept if kept == found else kept.strip()


def id_of(message: BaseMessage) -> str | None:
    """The id of a message as a memory can have it; None without one."""
    if not message.id:
        return None
    try:
        return Draft(text="-", id=message.id).id
    except InvalidInput:  # too long, or with control characters
        return str(uuid.uuid5(uuid.NAMESPACE_OID, message.id.encode("utf-8", "replace").hex()))


def draft_of_message(message: BaseMessage, source: str | None) -> Draft | None:
    """What a human or the assistant said, with speaker and source; None for anything else.

    Neither tool calls and results nor summaries that a middleware wrote are anybody's words.
    """
    role = "human" if isinstance(message, HumanMessage) else "ai"
    said = isinstance(message, HumanMessage | AIMessage)
    text = text_of(message)
    if not said or not text.strip() or message.additional_kwargs.get("lc_source"):
        return None
    return Draft(
        text=text,
        id=id_of(message),
        source=source,
        speaker=message.name or _ROLES[role],
        metadata={"role": role},
    )


def turn_of(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The last turn: the humans' last words in a row, and all that followed."""
    at = len(messages)
    while at and not isinstance(messages[at - 1], HumanMessage):
        at -= 1
    while at and isinstance(messages[at - 1], HumanMessage):
        at -= 1
    return list(messages[at:])


def last_question(messages: Sequence[BaseMessage]) -> str:
    """The last words of a human, "" without any."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not message.additional_kwargs.get("lc_source"):
            return text_of(message)
    return ""


def turn_text(messages: Sequence[BaseMessage], source: str | None, save: Save) -> list[Draft]:
    """The drafts of a turn, word for word."""
    kept = HumanMessage | AIMessage if save == "turn" else HumanMessage
    chosen = [each for each in messages if save != "none" and isinstance(each, kept)]
    return [draft for each in chosen if (draft := draft_of_message(each, source)) is not None]


def turn_drafts(
    bank: MemoryBank,
    messages: list[BaseMessage],
    source: str | None,
    *,
    save: Save,
    extract: Extract | None,
    kept: int = 0,
) -> list[Draft]:
    """What to keep of a turn: what `extract` makes of it, else its words from `kept` on."""
    found = None
    if extract is not None and save != "none":
        found, kept = _extracted(extract, bank, messages, source), 0
    return turn_text(messages[kept:], source, save) if found is None else found


async def aturn_drafts(
    bank: MemoryBank,
    messages: list[BaseMessage],
    source: str | None,
    *,
    save: Save,
    extract: Extract | None,
    kept: int = 0,
) -> list[Draft]:
    """The same for an event loop; a plain `extract` runs in a thread."""
    found = None
    if extract is not None and save != "none":
        found, kept = await _aextracted(extract, bank, messages, source), 0
    return turn_text(messages[kept:], source, save) if found is None else found


def _extracted(
    extract: Extract, bank: MemoryBank, messages: list[BaseMessage], source: str | None
) -> list[Draft] | None:
    """What `extract` makes of a turn; None if that failed, and [] if it is known already."""
    base = _base(messages)
    if _known(bank, base):
        return []
    if inspect.iscoroutinefunction(extract):
        raise InvalidInput("extract", "is async; call the program by its async methods")
    try:
        return _named(extract(messages), base, source)
    except Exception as error:
        _not_extracted(error)
        return None


async def _aextracted(
    extract: Extract, bank: MemoryBank, messages: list[BaseMessage], source: str | None
) -> list[Draft] | None:
    base = _base(messages)
    if await asyncio.to_thread(_known, bank, base):
        return []
    try:
        if inspect.iscoroutinefunction(extract):
            return _named(await extract(messages), base, source)
        return _named(await asyncio.to_thread(extract, messages), base, source)
    except Exception as error:
        _not_extracted(error)
        return None


def _not_extracted(error: Exception) -> None:
    """By its type alone: what it says may quote the turn."""
    log.warning("extract failed with %s; the turn is kept word for word", type(error).__name__)


def _base(messages: Sequence[BaseMessage]) -> str | None:
    return next((id_ for each in messages if (id_ := id_of(each)) is not None), None)


def _known(bank: MemoryBank, base: str | None) -> bool:
    """Whether something was extracted from this turn before."""
    if base is None:
        return False
    try:
        bank.get(f"{base}#0", include_faded=True)
    except NotFound:
        return False
    return True


def _named(found: Any, base: str | None, source: str | None) -> list[Draft]:
    drafts = [Draft(text=each) if isinstance(each, str) else each for each in found]
    return [
        replace(
            each,
            id=each.id or (f"{base}#{number}" if base else None),
            source=each.source or source,
        )
        for number, each in enumerate(drafts)
    ]
