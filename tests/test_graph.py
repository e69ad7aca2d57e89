"""Activation spreads along the best path, against every path counted out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.graph import MAX_DEGREE, SIMILAR_SHARE, Edge, Reached, spread, strongest

Graph = dict[int, list[Edge]]
relaxed = settings(deadline=None, max_examples=200)
weights = st.floats(0.01, 1.0)


@st.composite
def graphs(draw: st.DrawFn, nodes: int = 9) -> tuple[dict[int, float], Graph]:
    """Few enough nodes that the beam of the second step holds them all."""
    kinds = st.sampled_from(["adjacent", "similar", "linked"])
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), kinds, weights)
    graph: Graph = {}
    for start, to, kind, weight in draw(st.lists(pairs, max_size=25)):
        if start != to:
            graph.setdefault(start, []).append(Edge(to, kind, weight))
    seeds = draw(st.dictionaries(st.integers(0, nodes - 1), weights, min_size=1, max_size=3))
    return seeds, graph


def share(edge: Edge) -> float:
    return edge.weight * (SIMILAR_SHARE if edge.kind == "similar" else 1.0)


def best_paths(seeds: Mapping[int, float], graph: Graph) -> dict[int, float]:
    """The largest product over all paths of one and two steps, where it beats the own score."""
    best = dict(seeds)
    for seed, score in seeds.items():
        for first in graph.get(seed, []):
            one = score * share(first)
            best[first.to] = max(best.get(first.to, 0.0), one)
            for second in graph.get(first.to, []):
                best[second.to] = max(best.get(second.to, 0.0), one * share(second))
    return {node: each for node, each in best.items() if each > seeds.get(node, 0.0)}


def run(seeds: Mapping[int, float], graph: Graph, floor: float = 0.0) -> dict[int, Reached]:
    def edges_of(active: Mapping[int, float]) -> dict[int, Sequence[Edge]]:
        return {node: graph.get(node, []) for node in active}

    return spread(seeds, edges_of, floor=floor)


def activations(reached: Mapping[int, Reached]) -> dict[int, float]:
    return {node: each.activation for node, each in reached.items()}


@relaxed
@given(graphs())
def test_activation_is_the_best_of_all_paths(given_: tuple[dict[int, float], Graph]) -> None:
    seeds, graph = given_
    assert activations(run(seeds, graph)) == pytest.approx(best_paths(seeds, graph))


@relaxed
@given(graphs())
def test_no_node_is_more_active_than_its_seed(given_: tuple[dict[int, float], Graph]) -> None:
    seeds, graph = given_
    for each in run(seeds, graph).values():
        assert 0.0 < each.activation <= seeds[each.seed]


def test_seeds_that_nothing_lifts_are_left_out() -> None:
    graph: Graph = {0: [Edge(1, "linked", 0.5)], 1: [Edge(0, "linked", 1.0)]}
    assert run({0: 0.8, 1: 0.6}, graph) == {}


def test_a_seed_that_a_better_one_lifts_over_its_own_score_is_reached() -> None:
    reached = run({0: 0.8, 1: 0.3}, {0: [Edge(1, "linked", 0.5)]})
    assert activations(reached) == {1: 0.4}
    assert reached[1].seed == 0


@relaxed
@given(graphs())
def test_the_path_tells_how_the_activation_came_about(
    given_: tuple[dict[int, float], Graph],
) -> None:
    seeds, graph = given_
    for node, each in run(seeds, graph).items():
        at, activation = each.seed, seeds[each.seed]
        assert 1 <= len(each.path) <= 2
        for edge in each.path:
            assert edge in graph[at]
            at, activation = edge.to, activation * share(edge)
        assert at == node
        assert activation == pytest.approx(each.activation)


@relaxed
@given(graphs(), weights)
def test_a_floor_changes_only_what_lies_at_or_under_it(
    given_: tuple[dict[int, float], Graph], floor: float
) -> None:
    seeds, graph = given_
    full, cut = activations(run(seeds, graph)), activations(run(seeds, graph, floor))
    assert {node: each for node, each in cut.items() if each > floor} == {
        node: each for node, each in full.items() if each > floor
    }
    assert all(cut[node] <= full[node] for node in cut)


def test_only_the_eight_most_active_pass_activation_on() -> None:
    # node 0 reaches 1..10, the weaker the higher; each of those reaches a node of its own
    graph: Graph = {0: [Edge(node, "linked", 1 - node / 100) for node in range(1, 11)]}
    for node in range(1, 11):
        graph[node] = [Edge(100 + node, "linked", 1.0)]
    reached = run({0: 1.0}, graph)
    assert {node for node in reached if node > 100} == {100 + node for node in range(1, 9)}
    assert {node for node in reached if node < 100} == set(range(1, 11))


def test_nothing_is_reached_in_three_steps() -> None:
    graph = {node: [Edge(node + 1, "linked", 1.0)] for node in range(5)}
    assert activations(run({0: 0.8}, graph)) == {1: 0.8, 2: 0.8}


def test_a_similar_edge_passes_a_share_of_its_cosine() -> None:
    reached = run({0: 1.0}, {0: [Edge(1, "similar", 0.5)]})
    assert reached[1].activation == pytest.approx(0.45)


def test_edges_are_asked_for_once_a_step() -> None:
    asked: list[set[int]] = []

    def edges_of(active: Mapping[int, float]) -> dict[int, list[Edge]]:
        asked.append(set(active))
        return {node: [Edge(node + 1, "linked", 0.5)] for node in active}

    spread({0: 1.0, 10: 0.5}, edges_of)
    assert asked == [{0, 10}, {1, 11}]


@relaxed
@given(st.lists(st.tuples(st.integers(0, 50), st.floats(-1.0, 1.0)), max_size=30))
def test_the_strongest_edges_are_the_head_of_the_sorted_list(
    edges: list[tuple[int, float]],
) -> None:
    assert strongest(edges) == sorted(edges, key=lambda e: (-e[1], e[0]))[:MAX_DEGREE]
