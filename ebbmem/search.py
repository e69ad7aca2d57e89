"""One query against one snapshot: candidates, relevance, bonuses, graph, order. Pure but for
the arena's lazily completed edges.

Round one: what shares a word with the query or is similar enough to it. Round two: what
the graph connects with the best of those; it fills places and never outscores its seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebbmem import candidates, narrowing
from ebbmem.arena import Arena
from ebbmem.budget import Budget
from ebbmem.evidence import gathered, late_interaction, surroundings
from ebbmem.finding import ByRow, Question, Ranking
from ebbmem.graph import Edge, Reached, spread
from ebbmem.policy import Policy
from ebbmem.ranking import ADJACENT, WEIGHTS, Weights, combined, features
from ebbmem.refresh import with_current_first
from ebbmem.relevance import mixed, scaled
from ebbmem.snapshot import GONE, SAMPLE, Snapshot, sample

__all__ = ["search"]

Floats = NDArray[np.float64]
Scores = Mapping[int, float]
Edges = Mapping[int, Sequence[Edge]]
Ints = NDArray[np.int64]

_BEST = ("keyword", "similarity", "interaction")  # signals, the best last
_SEEDS = 5  # best direct hits from which activation spreads
_LINKED = 0.25  # of the way from there to identical: what is connected in the graph


def search(
    arena: Arena,
    question: Question,
    *,
    now: int,
    policy: Policy,
    k: int,
    min_similarity: float | None,
    unrelated: float | None = None,
    allowed: Callable[[Snapshot], NDArray[np.bool_]] | None = None,
    include_faded: bool = False,
    source_share: float = 1.0,
    around: int = 0,
    also: Collection[str] = (),
    weights: Weights | None = None,
) -> Ranking:
    """Rank one namespace for one question.

    Args:
        min_similarity: cosine that makes a candidate; None is `unrelated`.
        unrelated: cosine that unrelated texts rarely reach with this embedder; None takes it
            from the namespace.
        allowed: the caller's filters: (n,) rows that they let through.
        include_faded: also what has faded.
        source_share: of the k places, how many one source may fill; see `ebbmem.budget`.
        around: of a hit, how many neighbours on each side the caller will ask for.
        also: ids that the caller will ask about, found or not.
        weights: in place of the fitted ones.
    """
    if arena.passages > narrowing.ABOVE:
        arena.keep_order(now, policy)
    whole, postings = arena.view(question.terms)
    passing = whole.searchable if allowed is None else whole.searchable & allowed(whole)
    background = candidates.unrelated_cosine(whole, unrelated)

    def shown(rows: Ints) -> NDArray[np.bool_]:
        there = passing[rows] & (whole.status[rows] != GONE)
        if not include_faded:
            there &= ~whole.hidden(whole.strengths(now, policy, rows), now, policy, rows)
        return np.asarray(there)

    part = None
    if len(whole.passage_row) > narrowing.ABOVE:
        part = narrowing.narrowed(
            whole,
            postings,
            question,
            shown,
            now,
            policy,
            include_faded=include_faded,
            candidates=max(narrowing.CANDIDATES, 2 * k),
            around=around,
            also=also,
            linked=arena.linked,
        )
        postings, passing = part.postings, passing[part.rows]
    snapshot = whole if part is None else part.snapshot
    strength = snapshot.strengths(now, policy)
    hidden = snapshot.hidden(strength, now, policy)
    eligible = snapshot.alive() & passing & (include_faded | ~hidden)
    signals = candidates.signals_of(snapshot, postings, question)
    if part is not None:
        signals = replace(signals, usual=part.usual)
    elif signals.passage_similarity is not None and len(whole.passage_row) > SAMPLE:
        some = sample(len(whole.passage_row))
        some = some[eligible[whole.passage_row[some]]]
        signals = replace(signals, usual=signals.passage_similarity[some])
    threshold = background if min_similarity is None else min_similarity
    dated = candidates.dated(snapshot, question)
    told = dated > 0.0
    found = eligible & (candidates.related(signals, threshold) | told)
    usual = background if policy.min_similarity is None else policy.min_similarity
    related = found if threshold >= usual else found & (candidates.related(signals, usual) | told)
    candidate = found
    if found.any():
        candidate = found | (eligible & candidates.weaker(signals, eligible, min_similarity))
    base = Ranking(
        snapshot,
        [],
        strength,
        hidden,
        passing,
        eligible,
        candidate,
        related,
        threshold,
        signals,
        {},
        {},
        budget=Budget.of(snapshot, source_share),
        known=len(whole.status),
    )
    if not candidate.any():
        return base

    def edges_of(active: Scores, floor: float, least: float, unrelated: float) -> Edges:
        numbers = None if part is None else part.rows
        return _edges(arena, whole, numbers, active, least=least, floor=floor, unrelated=unrelated)

    total = postings.corpus.total
    ranking = _ranked(arena, base, question, dated, policy, k, background, weights, total, edges_of)
    if policy.ranking == "product" or not policy.current_first:
        return ranking.within_budget(k)
    ranking = with_current_first(ranking, question.now, postings, background)
    return ranking.within_budget(k)


def _ranked(
    arena: Arena,
    base: Ranking,
    question: Question,
    dated: Floats,
    policy: Policy,
    k: int,
    background: float,
    weights: Weights | None,
    total: int,
    edges_of: Callable[[Scores, float, float, float], Edges],
) -> Ranking:
    snapshot, eligible = base.snapshot, base.eligible
    first = candidates.first_round(base, background)
    rough = np.maximum(np.mean(list(first.values()), axis=0), dated)
    rough = np.where(eligible, rough, 0.0)
    rows = candidates.shortlist(
        base, candidates.promise(snapshot, question, rough), max(candidates.SHORTLIST, k)
    )
    around = surroundings(snapshot, rows) if snapshot.conversational > 0.0 else rows[:0]
    ranked = np.union1d(rows, around[eligible[around]])
    pool = candidates.with_background(ranked, rough, eligible)
    mix = {name: values[pool] for name, values in first.items()}
    late = late_interaction(snapshot, question, pool, arena.piece_frequency, total)
    if late is not None:
        mix["interaction"] = scaled(late.scores, late.scores)
    own = np.zeros(len(snapshot.status) + 1)  # the last is that of nobody, -1
    own[pool] = np.maximum(mixed(mix), dated[pool])
    relevance, evidence = gathered(base, question, ranked, pool, own, late)
    chosen = WEIGHTS[max(mix, key=_BEST.index)] if weights is None else weights
    bonus = 0.0 if policy.ranking == "product" else policy.strength_weight
    bonuses = features(evidence, replace(chosen, strength=bonus))
    scores = combined(relevance, bonuses)
    if policy.ranking == "product":
        scores = scores * np.clip(evidence.strength, 0.0, 1.0)
    worth = dict(zip(ranked.tolist(), scores.tolist(), strict=True))
    # now, for what is beyond its share would raise the floor and carry into the graph
    direct, left_out = _shared(base, {row: worth[row] for row in rows.tolist()}, k)
    floor = heapq.nlargest(k, direct.values())[-1] if len(direct) >= k else 0.0
    beside = _beside(snapshot, worth, direct, floor)
    strong = [score for row, score in direct.items() if base.related[row]]
    lacking = len(strong) < k  # only then what is merely similar may come by the graph
    reached = beside | _spread(
        base,
        direct,
        floor,
        lambda active, floor: edges_of(
            active,
            floor,
            max(policy.link_similarity, background + _LINKED * (1.0 - background)),
            max(background, 0.0) if lacking else 1.0,
        ),
        ceiling=min(strong, default=1.0),
    )
    return replace(
        base,
        order=_ordered(snapshot, direct, reached),
        signals=replace(
            base.signals, interaction=None if late is None else ByRow(pool, late.scores)
        ),
        relevance=ByRow(ranked, relevance),
        bonuses={
            name: (weight, ByRow(ranked, values)) for name, (weight, values) in bonuses.items()
        },
        reached=reached,
        left_out=left_out,
    )


def _edges(
    arena: Arena, whole: Snapshot, numbers: Ints | None, active: Scores, **wanted: float
) -> Edges:
    """The edges that leave some rows, to rows of the same part; `numbers` are theirs in the whole.

    None is all of it.
    """
    if numbers is None:
        return arena.edges(whole, active, **wanted)
    places = {number: row for row, number in enumerate(numbers.tolist())}
    found = arena.edges(
        whole, {int(numbers[row]): worth for row, worth in active.items()}, **wanted
    )
    return {
        places[row]: [replace(each, to=places[each.to]) for each in edges if each.to in places]
        for row, edges in found.items()
    }


def _shared(
    base: Ranking, scores: dict[int, float], places: int
) -> tuple[dict[int, float], dict[int, float]]:
    """What its source may bring into so many places, and what is beyond that."""
    if base.budget is None:
        return scores, {}
    best = [row for row, _ in _ordered(base.snapshot, scores, {})]
    over = {row: scores[row] for row in base.budget.over(best, places)}
    return {row: score for row, score in scores.items() if row not in over}, over


def _beside(snapshot: Snapshot, worth: Scores, direct: Scores, floor: float) -> dict[int, Reached]:
    """What was found for what was said around it: its relevance is a share of theirs at least."""
    found = {}
    for row, score in worth.items():
        if row in direct or score <= floor:
            continue
        ways = []
        for step in (snapshot.before, snapshot.after):
            one = int(step[row])
            two = int(step[one]) if one >= 0 else -1
            ways += [(direct[way[0]], way) for way in ((one,), (two, one)) if way[0] in direct]
        if ways:
            _, way = max(ways, key=lambda each: (each[0], -len(each[1])))
            weight = ADJACENT * snapshot.conversational
            edges = tuple(Edge(to, "adjacent", weight) for to in (*way[1:], row))
            found[row] = Reached(score, way[0], edges)
    return found


def _ordered(
    snapshot: Snapshot, direct: dict[int, float], reached: dict[int, Reached]
) -> list[tuple[int, float]]:
    """Best first; equals go to what was found directly, then to what is older."""
    scores = {**direct, **{row: each.activation for row, each in reached.items()}}
    rows = list(scores)
    created = snapshot.created[rows].tolist()
    places = [
        (-scores[row], row in reached, at, snapshot.ids[row], row)
        for row, at in zip(rows, created, strict=True)
    ]
    return [(row, -score) for score, *_, row in sorted(places)]


def _spread(
    base: Ranking,
    direct: dict[int, float],
    floor: float,
    edges_of: Callable[[Mapping[int, float], float], Mapping[int, Sequence[Edge]]],
    *,
    ceiling: float,
) -> dict[int, Reached]:
    """What the graph adds to the direct hits, or lifts among them; nothing is ever lowered.

    What may not be shown does not conduct either. What somebody linked may be lifted up to its
    seed; what is only similar takes no place from a hit that is related, so it stays under the
    `ceiling`.
    """
    seeding, _ = _shared(base, direct, _SEEDS)
    best = heapq.nsmallest(_SEEDS, seeding, key=lambda row: (-direct[row], row))
    seeds = {row: direct[row] for row in best if direct[row] > 0.0}

    def visible(active: Mapping[int, float]) -> dict[int, list[Edge]]:
        return {
            row: [edge for edge in edges if base.eligible[edge.to]]
            for row, edges in edges_of(active, floor).items()
        }

    bounded = {
        row: each
        if all(edge.kind == "linked" for edge in each.path)
        else replace(each, activation=min(each.activation, ceiling))
        for row, each in spread(seeds, visible, floor=floor).items()
    }
    return {row: each for row, each in bounded.items() if each.activation > direct.get(row, 0.0)}
