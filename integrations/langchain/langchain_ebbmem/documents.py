"""Memories as documents, and documents as drafts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, date, datetime
from typing import Any

from langchain_core.documents import Document

from ebbmem import Draft, InvalidInput, Memory, MemoryBank, NotFound, Recollection
from ebbmem.harmless import as_lines
from ebbmem.records import TRUSTS, Trust
from ebbmem.turns import message_id

__all__ = [
    "copy_of",
    "document_of",
    "documents_as_drafts",
    "documents_by_id",
    "draft_of",
    "drafts_of",
    "hit_of",
    "moment",
    "plain",
]


def document_of(memory: Memory) -> Document:
    """The memory with its id and its own metadata, a copy.

    The metadata has its `source` besides, if it has one and none of its own, and where it is not
    the user's its `trust`, where a guard labelled it that `label`, whatever it says of itself.
    """
    own = plain(memory.metadata)
    told = {} if memory.source is None else {"source": memory.source}
    sure: dict[str, str] = {} if memory.trust == "user" else {"trust": memory.trust}
    sure |= {} if memory.label is None else {"label": memory.label}
    return Document(id=memory.id, page_content=memory.text, metadata=told | own | sure)


def hit_of(
    hit: Recollection,
    *,
    include_scores: bool = False,
    around: bool = False,
    harmless: bool = False,
) -> Document:
    """What came to mind; `include_scores` adds `score` and `strength` to the metadata.

    `around` adds the texts said `before` and `after`; `harmless` is for prompts, and has every
    text as `ebbmem.harmless.as_lines` has it.
    """
    found, told = document_of(hit.memory), as_lines if harmless else str
    found.page_content = told(found.page_content)
    if include_scores:
        found.metadata |= {"score": hit.score, "strength": hit.strength}
    if around:
        sides = {"before": hit.before, "after": hit.after}
        found.metadata["around"] = {
            name: [told(each.text) for each in side] for name, side in sides.items()
        }
    return found


def draft_of(
    text: str, metadata: Mapping[str, Any] | None, id: str | None, trust: Trust = "user"
) -> Draft:
    """A document to keep: known by its id, said at `metadata["created_at"]` if that is a time.

    Its metadata may lower the trust, as that of a document which came from here does, and never
    raise it. One that is not the program's own is of the source that its metadata names.
    """
    given = {} if metadata is None else metadata
    own = given.get("trust")
    trust = max((trust, own), key=TRUSTS.index) if own in TRUSTS else trust
    return Draft(
        text=text,
        id=id,
        keyed=True,
        source=None if trust == "user" else _source(given.get("source")),
        metadata=plain(given),
        at=moment(given.get("created_at")),
        trust=trust,
    )


def _source(value: object) -> str | None:
    """A source that a bank can have, as `Document` loaders name them."""
    return message_id(value) if isinstance(value, str) else None


def drafts_of(
    texts: Iterable[str],
    metadatas: Sequence[Mapping[str, Any] | None] | None,
    ids: Sequence[str | None] | None,
    trust: Trust = "user",
) -> list[Draft]:
    """Texts to keep, with the metadata and the id of each where there are any.

    Raises:
        InvalidInput: there are more or fewer of them than texts.
    """
    listed = list(texts)
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given and len(given) != len(listed):
            raise InvalidInput(name, f"are {len(given)}, and there are {len(listed)} texts")
    nothing = [None] * len(listed)
    return [
        draft_of(text, metadata, id, trust)
        for text, metadata, id in zip(listed, metadatas or nothing, ids or nothing, strict=True)
    ]


def documents_as_drafts(
    documents: Iterable[Document], ids: Sequence[str | None] | None, trust: Trust = "user"
) -> list[Draft]:
    """Documents to keep; `ids` stands in for their own."""
    listed = list(documents)
    return drafts_of(
        [each.page_content for each in listed],
        [each.metadata for each in listed],
        [each.id for each in listed] if ids is None else ids,
        trust,
    )


def documents_by_id(bank: MemoryBank, ids: Iterable[str]) -> list[Document]:
    """Those of some ids that are there and have not faded, in that order; no use is counted."""
    found = []
    for id in dict.fromkeys(ids):
        with suppress(NotFound):
            found.append(document_of(bank.get(id)))
    return found


def copy_of(document: Document, id: str) -> Document:
    """The document under an id, sharing nothing with it."""
    return Document(id=id, page_content=document.page_content, metadata=deepcopy(document.metadata))


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy as JSON has it: times as seconds since 1970, tuples as lists."""
    return {key: _plain(each) for key, each in value.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, date):  # a datetime is one
        return _seconds(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def _seconds(value: date) -> float:
    midnight = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return (_aware(value) if isinstance(value, datetime) else midnight).timestamp()


def moment(value: object) -> datetime | None:
    """A time as people write it: aware, naive (UTC), ISO 8601, or seconds since 1970.

    None for anything else: what a document calls so may be a text of its own.
    """
    try:
        if isinstance(value, datetime):
            return _aware(value)
        if isinstance(value, str):
            return _aware(datetime.fromisoformat(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (OSError, OverflowError, ValueError):
        pass
    return None


def _aware(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
