"""How much of an answer one source may fill that nobody vouches for: a poisoning budget.

Whoever can make a tool read a page can make it read a hundred that say the same in other words.
What one source fills beyond its share is left out, and what comes next moves up. A file somebody
chose to take in (`import`) has no budget: its sources are sessions and subjects, which answers
come from. With one, a share of 0.5 costs LoCoMo 7.1 points of any@5 (85.9 to 78.8), 1.1 of any@10
and none of any@20, and single facts of one source 9.3 of any@5.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ebbmem.records import TRUSTS, Memory, Trust
from ebbmem.snapshot import Snapshot

__all__ = ["LIMITED", "Budget", "most_places", "over_share", "source_of"]

LIMITED: tuple[Trust, ...] = ("tool",)
"""What has a budget."""

_IS_LIMITED = np.array([trust in LIMITED for trust in TRUSTS])

Key = TypeVar("Key", bound=Hashable)


def most_places(places: int, share: float) -> int:
    """Of so many places, how many one source may fill: at least one."""
    return max(1, int(share * places + 1e-9))  # 0.29 * 100 is a little less than 29


def over_share(sources: Iterable[Key | None], most: int) -> list[bool]:
    """Which items, best first, are beyond the `most` of their source; None has no limit."""
    filled: dict[Key, int] = {}
    over = []
    for source in sources:
        if source is not None:
            filled[source] = filled.get(source, 0) + 1
        over.append(source is not None and filled[source] > most)
    return over


def source_of(memory: Memory) -> Hashable | None:
    """Whose budget a memory is of: its source, without one its speaker; None has no limit."""
    if memory.trust not in LIMITED:
        return None
    return memory.trust, memory.source, memory.speaker if memory.source is None else None


@dataclass(frozen=True, slots=True)
class Budget:
    """The same for rows of a snapshot.

    Attributes:
        source: (n,) the number of what a row is from, -1 where that has no limit.
        share: of the places, in (0, 1).
    """

    source: NDArray[np.int64]
    share: float

    @classmethod
    def of(cls, snapshot: Snapshot, share: float) -> Self | None:
        """None where nothing needs one."""
        if share >= 1.0 or not (limited := _IS_LIMITED[snapshot.trust]).any():
            return None
        nameless = len(snapshot.sources) + 1 + snapshot.speaker  # by who said it, -1 is nobody
        source = np.where(snapshot.source >= 0, snapshot.source, nameless)
        return cls(np.where(limited, source * len(TRUSTS) + snapshot.trust, -1), share)

    def limits(self, row: int) -> bool:
        """Whether a row has a budget."""
        return bool(self.source[row] >= 0)

    def over(self, rows: Sequence[int], places: int) -> list[int]:
        """Of rows, best first, those that are beyond what their source may fill."""
        sources = self.source[list(rows)].tolist()
        named = (None if each < 0 else each for each in sources)
        over = over_share(named, most_places(places, self.share))
        return [row for row, left_out in zip(rows, over, strict=True) if left_out]
