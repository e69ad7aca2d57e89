"""The second round: activation spreads from what was found to what it is connected with. Pure.

Best-path spreading: a memory's activation is the largest product of the seed's score and
the edge weights on a path of at most two steps, so it depends on the query, never exceeds
its seed, and falls with every step. Source: A. Collins and E. Loftus, "A spreading-activation
theory of semantic processing" (1975), reduced to its strongest path.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "MAX_DEGREE",
    "MAX_STEPS",
    "SIMILAR_SHARE",
    "Edge",
    "Reached",
    "spread",
    "strongest",
]

MAX_STEPS = 2
MAX_DEGREE = 8  # similar memories a memory is connected with: the strongest
_SECOND_ROUND = 8  # nodes that pass activation on: the most active
SIMILAR_SHARE = 0.9
"""What a similar edge passes on of its weight."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge.

    Attributes:
        weight: in (0, 1]; of similar memories the cosine.
        share: of activation that passes, in [0, 1]; None is the weight.
    """

    to: int
    kind: Literal["adjacent", "similar", "linked"]
    weight: float
    share: float | None = None

    @property
    def passes(self) -> float:
        """The share of activation that passes, in [0, 1]."""
        share = self.weight if self.share is None else self.share
        return min(max(share * (SIMILAR_SHARE if self.kind == "similar" else 1.0), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Reached:
    """A node that activation reached: by which edges, starting at which seed."""

    activation: float
    seed: int
    path: tuple[Edge, ...]


def strongest(edges: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The at most `MAX_DEGREE` heaviest edges, heaviest first."""
    return heapq.nsmallest(MAX_DEGREE, edges, key=lambda edge: (-edge[1], edge[0]))


def spread(
    seeds: Mapping[int, float],
    edges_of: Callable[[Mapping[int, float]], Mapping[int, Sequence[Edge]]],
    *,
    floor: float = 0.0,
) -> dict[int, Reached]:
    """The nodes within two steps that are activated from elsewhere, more than by themselves.

    A seed is among them if a better one lifts it over its own score.

    Args:
        seeds: node -> score in [0, 1].
        edges_of: the edges that leave some nodes of known activation, asked once a step.
        floor: activation that is of interest; nothing weaker is passed on, so what is
            missing or smaller than it should be lies at or under it.
    """
    active = {node: Reached(score, node, ()) for node, score in seeds.items()}
    front = {node: score for node, score in seeds.items() if score > floor}
    for _ in range(MAX_STEPS):
        improved: dict[int, Reached] = {}
        for node, edges in edges_of(front).items():
            start = active[node]
            for edge in edges:
                activation = start.activation * edge.passes
                known = improved.get(edge.to) or active.get(edge.to)
                if activation > 0.0 and (known is None or activation > known.activation):
                    improved[edge.to] = Reached(activation, start.seed, (*start.path, edge))
        active.update(improved)
        order = sorted(improved, key=lambda node: (-improved[node].activation, node))
        passing = {node: improved[node].activation for node in order[:_SECOND_ROUND]}
        front = {node: activation for node, activation in passing.items() if activation > floor}
    return {node: each for node, each in active.items() if each.path}
