"""Arguments that several commands take, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ebbmem.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from ebbmem.bank import MemoryBank

__all__ = [
    "AsOf",
    "Category",
    "Id",
    "Ids",
    "IncludeFaded",
    "IncludeSuperseded",
    "MinSimilarity",
    "Query",
    "Source",
    "Top",
    "Where",
    "full_ids",
    "read_metadata",
    "read_time",
    "read_where",
]

Id = Annotated[str, typer.Argument(metavar="ID", help="Of the memory, or how it begins.")]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Of the memories, or how they begin.")
]
Query = Annotated[str, typer.Argument(help="What is asked, in any words.")]
Top = Annotated[int, typer.Option("-k", min=1, help="At most so many.")]
Category = Annotated[
    list[str] | None, typer.Option("--category", help="Only of this category; may be repeated.")
]
Source = Annotated[str | None, typer.Option("--source", help="Only from this source.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", help="Only with this metadata; repeatable."),
]
IncludeFaded = Annotated[bool, typer.Option("--faded", help="Faded ones too.")]
IncludeSuperseded = Annotated[
    bool, typer.Option("--superseded", help="What another took the place of, too.")
]
AsOf = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What was current then: ISO 8601 with a zone."),
]
MinSimilarity = Annotated[
    float | None, typer.Option(help="Least cosine, in place of the embedder's threshold.")
]


_SHORTEST = 4  # characters that may stand for an id
_SHOWN = 5  # ids that an error names


def full_ids(bank: MemoryBank, given: Sequence[str]) -> list[str]:
    """Each id whole, faded ones too; what is unknown stays as it is, for the bank to refuse.

    Raises:
        InvalidInput: several ids begin like that.
    """
    return list(dict.fromkeys(_full_id(bank, each) for each in given))


def _full_id(bank: MemoryBank, given: str) -> str:
    try:
        return bank.get(given, include_faded=True).id
    except NotFound:
        if len(given) < _SHORTEST:
            return given
    known = (each.id for each in bank.list(include_faded=True, include_superseded=True))
    found = [each for each in known if each.startswith(given)]
    if len(found) > 1:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InvalidInput(
            "id", f"{given!r} begins {len(found)} of them: {', '.join(found[:_SHOWN])}{more}"
        )
    return found[0] if found else given


def read_time(value: str | None, name: str = "at") -> datetime | None:
    """ISO 8601; whether it carries a zone is the library's to check."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(
            name, f"must be a time like 2026-03-04T08:47:00Z, not {value!r}"
        ) from None


def read_metadata(value: str | None) -> dict[str, Any]:
    """A JSON object."""
    try:
        read = json.loads(value or "{}")
    except ValueError as error:
        raise InvalidInput("metadata", f"must be a JSON object: {error}") from None
    if not isinstance(read, dict):
        raise InvalidInput("metadata", f"must be a JSON object, not {value!r}")
    return read


def read_where(pairs: list[str] | None) -> dict[str, Any] | None:
    """KEY=VALUE; a value that reads as JSON is that, any other is text."""
    if not pairs:
        return None
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput("where", f"must look like key=value, not {pair!r}")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
