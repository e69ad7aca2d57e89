"""A year with a bank under some policy: what is found in the end, what is current, what is left.

Facts about six people are told, and half of them change later; chatter lies between. Every two
weeks somebody asks about half of the facts, which counts as use; the others are never mentioned.
Everything is invented and made from a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice

import numpy as np

from ebbmem import MemoryBank, Policy
from ebbmem.embedding import Encoder
from ebbmem.evaluate.small_talk import chatter
from ebbmem.evaluate.stale import Asked, Story, tell
from ebbmem.evaluate.stale_words import CUED
from ebbmem.records import Draft
from ebbmem.testing import ManualClock

__all__ = ["STORY", "Life", "Seen"]

END = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=360)
ASKED_EVERY = timedelta(days=14)
REMARKS = 300
PEOPLE = 6
K = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """How it stands.

    Attributes:
        used, unused: recall@5 of the facts that are asked about all year, and of the others.
        fresh: share of the changed facts where the current statement comes before the old one.
        active: memories that recall can find.
    """

    used: float
    unused: float
    fresh: float
    active: int


def _story() -> Story:
    said = [
        Draft(text=text, at=END - YEAR + number * YEAR / REMARKS)
        for number, text in enumerate(islice(chatter(), REMARKS))
    ]
    return tell(replace(CUED, people=CUED.people[:PEOPLE]), 0, now=END, noise=said)


STORY = _story()


class Life:
    """A bank that has lived through the year."""

    def __init__(self, policy: Policy, encoder: Encoder | None) -> None:
        self._clock = ManualClock(STORY.items[0].at or END)
        self._bank = MemoryBank.open(
            namespace="life", embedder=encoder, policy=policy, clock=self._clock
        )
        self._id_of: dict[str, str] = {}
        for _, said in groupby(STORY.items, key=lambda each: (END - each.at) // ASKED_EVERY):
            self._hear(list(said))
            for each in STORY.asked[::2]:
                if (each.stale or each.current) in self._id_of:
                    self._bank.recall(each.question, K)

    def after(self, days: float = 0.0) -> Seen:
        """So many days after the year, in which nobody said anything; asking leaves no trace."""
        self._clock.set(END + timedelta(days=days))
        self._bank.prune()
        fresh = [self._fresh(each) for each in STORY.asked if each.stale is not None]
        return Seen(
            used=self._found(STORY.asked[::2]),
            unused=self._found(STORY.asked[1::2]),
            fresh=float(np.mean(fresh)),
            active=self._bank.stats().active,
        )

    def _hear(self, said: Sequence[Draft]) -> None:
        self._clock.set(max(self._clock(), said[-1].at or END))
        for item, memory in zip(said, self._bank.remember_many(said), strict=True):
            if item.id is not None:
                self._id_of[item.id] = memory.id

    def _found(self, asked: Sequence[Asked]) -> float:
        hits = [self._id_of[each.current] in self._ranked(each, K) for each in asked]
        return float(np.mean(hits))

    def _fresh(self, asked: Asked) -> bool:
        ranked = self._ranked(asked, 10 * K)
        current, old = self._id_of[asked.current], self._id_of[str(asked.stale)]
        if current not in ranked:
            return False
        return old not in ranked or ranked.index(current) < ranked.index(old)

    def _ranked(self, asked: Asked, k: int) -> list[str]:
        return [each.memory.id for each in self._bank.recall(asked.question, k, reinforce=False)]
