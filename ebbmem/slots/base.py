"""What a table of one language holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Wording"]


@dataclass(frozen=True, slots=True, eq=False)  # by identity: mappings have no hash
class Wording:
    """The words of one language. Several to a slot stand in one text, parted by commas.

    Attributes:
        names: words that name a slot, or are said of nothing else.
        values: what may stand in a slot; a question that holds one asks for something else.
        weak: words that count for a slot where no other word of any stands.
        update: words of a statement that something is other than it was.
        past: a pattern of questions about another time than now, in lower case.
        present: a pattern of questions about now, whatever else they hold.
        several: a pattern of questions that more than one thing answers.
        asking: words of questions that say nothing of whom they are about.
    """

    names: Mapping[str, str]
    values: Mapping[str, str]
    weak: Mapping[str, str]
    update: str
    past: str
    present: str
    several: str
    asking: str
