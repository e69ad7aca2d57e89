"""What a transcript asks: the last words of a human, and which turn that is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ebbmem import MemoryBank
from ebbmem.turns import Said, last_question

__all__ = ["Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is said until now, and asked.

    Attributes:
        said: by humans and assistants.
        question: the last words of a human, "" without any.
        session: as it was given.
        id: what tells it from the others of the session, by default how often a human spoke;
            twice the same in a row, as agents tell it in a round of tools, is once.
    """

    said: tuple[Said, ...]
    question: str
    session: str | None
    id: str

    @classmethod
    def of(cls, said: Sequence[Said], session: str | None, id: str | None = None) -> Turn:
        """The last turn of what is said."""
        words = tuple(each for each in said if each.role != "other" and each.text.strip())
        again = sum(
            before.role == after.role == "human" and before.text.strip() == after.text.strip()
            for before, after in pairwise(words)
        )
        number = sum(each.role == "human" for each in words) - again
        return cls(words, last_question(words), session, str(number) if id is None else id)

    def key(self, bank: MemoryBank) -> Hashable:
        """What tells this turn from all others; on another day ages are told anew."""
        day = bank.clock().date()
        return (bank.namespace, self.session, self.id, day, self.question)
