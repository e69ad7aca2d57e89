"""LangGraph's items, filters and namespaces as ebbmem's records, conditions and namespaces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
    get_text_at_path,
)

from ebbmem import Draft, InvalidInput, Memory
from ebbmem.checks import check_count, check_metadata, is_number
from ebbmem.conditions import condition
from ebbmem.records import Namespace
from ebbmem.text import PARTING
from langchain_ebbmem.documents import moment

__all__ = [
    "check_op",
    "checked_labels",
    "checked_paths",
    "checked_ttl",
    "draft_of",
    "hit_of",
    "item_of",
    "matches",
    "text_of",
    "ttl_of",
    "where_of",
]

WHOLE = ("", "$")
"""The paths that mean the whole value."""


def checked_labels(given: object) -> Namespace:
    """The labels of a namespace or of a pattern, as `BaseStore` allows them.

    Raises:
        InvalidNamespaceError: one is no text, empty, or holds a period or NUL.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidNamespaceError(f"a namespace is a tuple of labels, not {given!r}")
    labels = tuple(given)
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"the label {label!r} of {labels} must be text without periods and NUL, not empty"
            )
    return labels


def check_op(op: Op) -> None:
    """Refuse an operation before any of its batch is done."""
    if isinstance(op, GetOp | PutOp):
        checked_labels(op.namespace)
    elif isinstance(op, SearchOp):
        checked_labels(op.namespace_prefix)
        where_of(op.filter)
    elif isinstance(op, ListNamespacesOp):
        for pattern in op.match_conditions or ():
            checked_labels(pattern.path)
            matches(pattern, ())
    else:
        raise InvalidInput("ops", f"hold a {type(op).__name__}, which is no operation")
    if isinstance(op, SearchOp | ListNamespacesOp):
        check_count("limit", op.limit, least=0)
        check_count("offset", op.offset, least=0)


def matches(pattern: MatchCondition, labels: Namespace) -> bool:
    """Whether a namespace begins or ends as a pattern has it; "*" is any label."""
    length = len(pattern.path)
    if pattern.match_type not in ("prefix", "suffix"):
        raise InvalidInput("match_type", f"must be prefix or suffix, not {pattern.match_type!r}")
    if len(labels) < length:
        return False
    part = labels[:length] if pattern.match_type == "prefix" else labels[len(labels) - length :]
    return all(wanted in ("*", label) for wanted, label in zip(pattern.path, part, strict=True))


def where_of(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A filter of LangGraph as conditions on metadata; None lets everything through.

    Raises:
        InvalidInput: an operator that does not exist, or an operand it cannot take.
    """
    if not filter:
        return None
    where = {"value": _partly(filter)}
    condition(where)
    return where


def _partly(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """An object whose further fields do not matter, at every depth."""
    return {
        "$has": {
            name: _partly(each)
            if isinstance(each, Mapping) and not any(str(key).startswith("$") for key in each)
            else each
            for name, each in wanted.items()
        }
    }


def checked_ttl(name: str, value: object) -> float | None:
    """Minutes to live, over 0, or None for ever."""
    if value is None:
        return None
    if not is_number(value) or not 0.0 < value < float("inf"):  # type: ignore[operator]
        raise InvalidInput(name, f"must be a number of minutes over 0, not {value!r}")
    return float(value)  # type: ignore[arg-type]


def checked_paths(name: str, value: object) -> list[str]:
    """Paths of fields; False is none of them."""
    if value is False:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(name, f"must be a list of paths, not {type(value).__name__}")
    paths = list(value)
    if not all(isinstance(path, str) for path in paths):
        raise InvalidInput(name, "must be a list of paths as texts")
    return paths


def draft_of(op: PutOp, *, fields: Sequence[str], kept: bool, now: datetime) -> Draft:
    """An item to keep under its key.

    Args:
        fields: paths whose texts are searched, where the operation names none.
        kept: it never fades; nor does what no query finds, for that is no memory.

    Raises:
        InvalidInput: a key that is no label, a value that JSON cannot hold.
    """
    value = check_metadata(op.value, "value")
    ttl = checked_ttl("ttl", op.ttl)
    text = text_of(value, fields if op.index is None else checked_paths("index", op.index))
    try:
        end = None if ttl is None else now + timedelta(minutes=ttl)
    except OverflowError:
        raise InvalidInput("ttl", "ends after the year 9999") from None
    return Draft(
        id=op.key,
        keyed=True,
        text=text or op.key,
        searchable=bool(text),
        pinned=kept or not text,
        importance=1.0,  # fresh is full strength: equals score equally, used a moment ago or not
        expires_at=end,
        metadata={
            "value": value,
            "updated_at": now.timestamp(),
            **({} if ttl is None else {"ttl": ttl}),
        },
    )


def text_of(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """The texts at some paths, parted so that each is compared with a query by itself."""
    found = [
        text
        for path in paths
        for text in (["\n".join(_said(value))] if path in WHOLE else get_text_at_path(value, path))
    ]
    parts = [text.replace(PARTING, " ") for text in found]
    return PARTING.join(part for part in parts if part.strip())


def _said(value: object, names: tuple[str, ...] = ()) -> Iterator[str]:
    """The leaves of a value as lines: `user name: Ann`."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _said(each, (*names, name))
    elif isinstance(value, list):
        for each in value:
            yield from _said(each, names)
    elif value is not None and value != "":
        yield f"{' '.join(names)}: {value if isinstance(value, str) else json.dumps(value)}"


def item_of(memory: Memory, labels: Namespace) -> Item:
    """A record as an item, a copy; one that no store wrote has its text as value."""
    return Item(namespace=labels, **_facts(memory))


def hit_of(memory: Memory, labels: Namespace, score: float | None) -> SearchItem:
    """A record as a result; `score` None: it was listed, not ranked."""
    return SearchItem(namespace=labels, score=score, **_facts(memory))


def _facts(memory: Memory) -> dict[str, Any]:
    value = memory.metadata.get("value")
    return {
        "key": memory.id,
        "value": value if isinstance(value, dict) else {"text": memory.text},
        "created_at": memory.created_at,
        "updated_at": moment(memory.metadata.get("updated_at")) or memory.created_at,
    }


def ttl_of(memory: Memory) -> float | None:
    """Minutes from a read to its end; None where it has none that a read could move."""
    ttl: Any = memory.metadata.get("ttl")
    return float(ttl) if memory.expires_at is not None and is_number(ttl) else None
