"""Arguments that several commands take, and how they are read."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

import typer

from ebbmem.errors import InvalidInput

__all__ = [
    "Category",
    "Ids",
    "IncludeFaded",
    "MinSimilarity",
    "Query",
    "Source",
    "Top",
    "Where",
    "read_metadata",
    "read_time",
    "read_where",
]

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Of the memories.")]
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
IncludeFaded = Annotated[bool, typer.Option("--all", "-a", help="Faded ones too.")]
MinSimilarity = Annotated[
    float | None, typer.Option(help="Least cosine, in place of the embedder's threshold.")
]


def read_time(value: str | None) -> datetime | None:
    """ISO 8601; whether it carries a zone is the library's to check."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(
            "at", f"must be a time like 2026-03-04T08:47:00Z, not {value!r}"
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
