"""What was said around a hit: its neighbours in the same source. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ebbmem.checks import shown
from ebbmem.errors import InvalidInput
from ebbmem.finding import Ranking
from ebbmem.snapshot import Snapshot

__all__ = ["MOST_AROUND", "Beside", "check_around", "default_around", "neighbours"]

Beside = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows said before and after a hit, in the order said."""

MOST_AROUND = 10
"""Neighbours on each side that may be asked for: more is another recall, with `source=`."""

_DIALOGUE = 0.5  # of `Snapshot.conversational`: dialogues lie above 0.7, lists of facts at 0


def check_around(value: object) -> int | None:
    """`value` if it is a number of neighbours, or None, which leaves it to the memories."""
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not 0 <= value <= MOST_AROUND:  # type: ignore[operator]
        reason = f"must be a whole number in [0, {MOST_AROUND}], not {shown(value)}"
        raise InvalidInput("around", reason)
    return value  # type: ignore[return-value]


def default_around(snapshot: Snapshot) -> int:
    """Neighbours that come with a hit where it is left to the memories.

    In dialogue an answer stands beside its question; in a list of facts order says nothing.
    """
    return 1 if snapshot.conversational >= _DIALOGUE else 0


def neighbours(ranking: Ranking, rows: Sequence[int], around: int) -> dict[int, Beside]:
    """By hit, what was said at most `around` places from it; `rows` are the hits, best first.

    Neighbours are what the recall may show, filters included: a filter may be what keeps users
    apart. What it may not show leaves its place empty. A side ends at another hit, for what lies
    beyond is nearer to that one; what lies between two is the better one's. What was found
    through the graph or only fills a place has none. What has a budget (`ebbmem.budget`) is
    told where it was found itself, and beside no hit.
    """
    hits, taken = set(rows), set[int]()

    def side(row: int, following: NDArray[np.int64]) -> list[int]:
        found: list[int] = []
        for _ in range(around):
            row = int(following[row])
            if row < 0 or row in hits:
                break
            if ranking.eligible[row] and row not in taken and not ranking.limits(row):
                found.append(row)
        taken.update(found)
        return found

    snapshot = ranking.snapshot
    return {
        row: (tuple(reversed(side(row, snapshot.before))), tuple(side(row, snapshot.after)))
        for row in rows
        if around and ranking.direct(row) and ranking.related[row]
    }
