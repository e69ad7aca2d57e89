"""How much a bank takes at once: every size a caller may set, with its unit and its reason.

These are of a bank, so that a service may set them as its users need. What values themselves
refuse, whoever made them, stands in `ebbmem.checks`: a value has no bank to ask.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import islice
from typing import TypeVar

from ebbmem.checks import DEEPEST, check_count, check_metadata
from ebbmem.errors import InvalidInput
from ebbmem.records import Draft, Memory, Metadata

__all__ = ["DEFAULTS", "Limits", "check_limits"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is larger is refused by name before anything is embedded or written.

    Shared by the banks of one open file, and not stored with it: what a file holds already is
    read whatever its size. The defaults are far above what people say and far below what
    exhausts a machine.

    Attributes:
        text: characters of a text; four million are a shelf of novels, and minutes to embed.
        query: characters of a question, or numbers of a vector; its words are all looked up.
        metadata: bytes of metadata as JSON; sixteen megabytes leave room for a picture in a
            transcript, and each is read whenever its memory is.
        metadata_depth: levels of lists and objects in metadata, at most 32: deeper ones overrun
            the readers of other programs.
        drafts: texts in one call; they are one transaction, all in memory until it ends.
        results: memories one recall may be asked for; each is a row to read.
        budget: tokens of a context; no model takes more.
        file: bytes of a file to import, which is read whole so that it is taken whole or not.
        line: bytes of one of its lines; the longest text with all its metadata fits.
    """

    text: int = 4_000_000
    query: int = 1_000_000
    metadata: int = 16 * 2**20
    metadata_depth: int = DEEPEST
    drafts: int = 1_000_000
    results: int = 1_000_000
    budget: int = 10_000_000
    file: int = 2**30
    line: int = 64 * 2**20

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            value = check_count(name, getattr(self, name), least=1)
            if value > (most := _MOST.get(name, _LARGEST)):
                raise InvalidInput(name, f"must be at most {most:,}")

    def require(self, field: str, size: int, *, limit: str, unit: str = "characters") -> None:
        """Raise `InvalidInput` naming the field, its size and the limit if it is over that."""
        most: int = getattr(self, limit)
        if size > most:
            raise InvalidInput(
                field, f"is {size:,} {unit} long, at most {most:,} are allowed (Limits.{limit})"
            )

    def check_text(self, text: str) -> str:
        """The text of a memory, if it is short enough."""
        self.require("text", len(text), limit="text")
        return text

    def check_metadata(self, metadata: Metadata) -> Metadata:
        """Metadata, if it is small and flat enough."""
        if metadata:
            if self.metadata_depth < DEEPEST:  # the value itself was checked for that
                check_metadata(metadata, deepest=self.metadata_depth)
            size = len(json.dumps(dict(metadata), ensure_ascii=False).encode())
            self.require("metadata", size, limit="metadata", unit="bytes")
        return metadata

    def check_item(self, item: Draft | Memory) -> None:
        """A draft or a memory that is to be kept."""
        self.check_text(item.text)
        self.check_metadata(item.metadata)

    def check_results(self, k: object) -> int:
        """How many results are asked for."""
        wanted = check_count("k", k, least=1)
        if wanted > self.results:
            raise InvalidInput("k", f"must be at most {self.results:,} (Limits.results)")
        return wanted

    def check_budget(self, budget: object) -> int:
        """How many tokens a context may have."""
        wanted = check_count("budget", budget, least=1)
        if wanted > self.budget:
            raise InvalidInput("budget", f"must be at most {self.budget:,} (Limits.budget)")
        return wanted

    def taken(self, items: Iterable[T]) -> list[T]:
        """The items of one call; a source without an end is not waited for."""
        listed = list(islice(items, self.drafts + 1))
        if len(listed) > self.drafts:
            most = f"at most {self.drafts:,} are allowed in one call (Limits.drafts)"
            raise InvalidInput("drafts", f"are more than {self.drafts:,}, {most}")
        return listed


_LARGEST = 2**40
_MOST = {
    "text": 2**28,  # of four bytes each: SQLite holds 2**30 bytes in one value
    "metadata": 2**28,
    "metadata_depth": DEEPEST,
}


DEFAULTS = Limits()
"""What a bank takes of which nobody said how much."""


def check_limits(value: object) -> Limits:
    """`value` if it is a `Limits`."""
    if not isinstance(value, Limits):
        raise InvalidInput("limits", f"must be a Limits, not {type(value).__name__}")
    return value
