"""One query against one snapshot: candidates, relevance, bonuses, graph, order. Pure but for
the arena's lazily completed edges.

Round one: what shares a word with the query or is similar enough to it. Round two: what
the graph connects with the best of those; it fills places and never outscores its seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebbmem import lexical
from ebbmem.arena import Arena
from ebbmem.cues import is_date_word
from ebbmem.evidence import gathered, late_interaction, surroundings
from ebbmem.finding import ByRow, Question, Ranking, Signals
from ebbmem.graph import Edge, Reached, spread
from ebbmem.lexical import Postings
from ebbmem.policy import Policy
from ebbmem.ranking import ADJACENT, WEIGHTS, Weights, combined, features
from ebbmem.refresh import with_current_first
from ebbmem.relevance import mixed, scaled
from ebbmem.snapshot import Snapshot
from ebbmem.text import is_pair

__all__ = ["ENOUGH_WORDS", "SHORTLIST", "search"]

Floats = NDArray[np.float64]
Scores = Mapping[int, float]
Ints = NDArray[np.int64]

SHORTLIST = 200
"""Candidates that are scored in full, the most promising by keywords and vector."""

ENOUGH_WORDS = 0.3
"""Idf share of the question's words with which a single one makes a candidate."""

_BEST = ("keyword", "similarity", "interaction")  # signals, the best last
_BEFORE, _AFTER = 0.4, 0.3  # of a neighbour in a dialogue, what speaks for a closer look
_UPPER = 0.75  # of a namespace's similarities to a query: what is under it fills no place
_DATED = 0.2  # relevance of what was said on a day that is asked about
_SEEDS = 5  # best direct hits from which activation spreads
_QUANTILE = 0.95  # of a namespace's own similarities: what unrelated memories do not reach
_GUESS = 0.2  # that cosine, where nothing is known of the embedder yet
_LINKED = 0.25  # of the way from there to identical: what is connected in the graph
_SAMPLE = 64  # memories that stand for the rest when that quantile is taken


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
    weights: Weights | None = None,
) -> Ranking:
    """Rank one namespace for one question.

    Args:
        min_similarity: cosine that makes a candidate; None is `unrelated`.
        unrelated: cosine that unrelated texts rarely reach with this embedder; None takes it
            from the namespace.
        allowed: the caller's filters: (n,) rows that they let through.
        include_faded: also what has faded.
        weights: in place of the fitted ones.
    """
    snapshot, postings = arena.view(question.terms)
    alive = snapshot.alive()
    strength = snapshot.strengths(now, policy)
    hidden = snapshot.hidden(strength, now, policy)
    passing = snapshot.searchable if allowed is None else snapshot.searchable & allowed(snapshot)
    eligible = alive & passing & (include_faded | ~hidden)
    signals = _signals(snapshot, postings, question)
    background = _background(snapshot, unrelated)
    threshold = background if min_similarity is None else min_similarity
    dated = _dated(snapshot, question)
    found = eligible & (_related(signals, threshold) | (dated > 0.0))
    usual = background if policy.min_similarity is None else policy.min_similarity
    related = found if threshold >= usual else found & (_related(signals, usual) | (dated > 0.0))
    candidate = found
    if found.any():
        candidate = found | (eligible & _beside_related(signals, eligible, min_similarity))
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
    )
    if not candidate.any():
        return base
    ranking = _ranked(arena, base, question, eligible, policy, k, background, weights)
    if policy.ranking == "product" or not policy.current_first:
        return ranking
    return with_current_first(ranking, question.now, postings, background)


def _related(signals: Signals, threshold: float) -> NDArray[np.bool_]:
    """Round one: similar enough, or sharing enough of the question's words, or a rare one.

    One common word of several is how anything answers anything; a single CJK character too. By
    itself it finds nothing; beside something that is related it may fill a place.
    """
    shared = (signals.shared >= 2.0) | (signals.coverage >= ENOUGH_WORDS) | signals.rare
    if signals.similarity is None:
        return shared
    return shared | (signals.similarity >= threshold)


def _dated(snapshot: Snapshot, question: Question) -> Floats:
    """(n,) what was said on the very days that the question names is worth, whatever it says."""
    when = question.when(snapshot.created) if question.short else None
    if when is None:
        return np.zeros(len(snapshot.status))
    return np.where(when == 1.0, _DATED, 0.0)


def _beside_related(
    signals: Signals, eligible: NDArray[np.bool_], min_similarity: float | None
) -> NDArray[np.bool_]:
    """What may fill a place where something related was found, if nobody set a threshold."""
    weak = signals.keyword > 0.0
    if signals.similarity is None or min_similarity is not None:
        return weak
    return weak | (signals.similarity >= np.quantile(signals.similarity[eligible], _UPPER))


def _ranked(
    arena: Arena,
    base: Ranking,
    question: Question,
    eligible: NDArray[np.bool_],
    policy: Policy,
    k: int,
    background: float,
    weights: Weights | None,
) -> Ranking:
    snapshot = base.snapshot
    first = _first_round(base, eligible, background)
    dated = _dated(snapshot, question)
    rough = np.maximum(np.mean(list(first.values()), axis=0), dated)
    rough = np.where(eligible, rough, 0.0)
    rows = _shortlist(base, _promise(snapshot, question, rough), max(SHORTLIST, k))
    around = surroundings(snapshot, rows) if snapshot.conversational > 0.0 else rows[:0]
    pool = _with_background(np.union1d(rows, around[eligible[around]]), rough, eligible)
    mix = {name: values[pool] for name, values in first.items()}
    late = late_interaction(arena, snapshot, question, pool)
    if late is not None:
        mix["interaction"] = scaled(late.scores, late.scores)
    own = np.zeros(len(snapshot.status) + 1)  # the last is that of nobody, -1
    own[pool] = np.maximum(mixed(mix), dated[pool])
    ranked = np.union1d(rows, around[eligible[around]])
    relevance, evidence = gathered(base, question, ranked, pool, own, late)
    chosen = WEIGHTS[max(mix, key=_BEST.index)] if weights is None else weights
    bonus = 0.0 if policy.ranking == "product" else policy.strength_weight
    bonuses = features(evidence, replace(chosen, strength=bonus))
    scores = combined(relevance, bonuses)
    if policy.ranking == "product":
        scores = scores * np.clip(evidence.strength, 0.0, 1.0)
    worth = dict(zip(ranked.tolist(), scores.tolist(), strict=True))
    direct = {row: worth[row] for row in rows.tolist()}
    floor = heapq.nlargest(k, direct.values())[-1] if len(direct) >= k else 0.0
    beside = _beside(snapshot, worth, direct, floor)
    strong = [direct[row] for row in rows[base.related[rows]].tolist()]
    lacking = len(strong) < k  # only then what is merely similar may come by the graph
    reached = beside | _spread(
        direct,
        floor,
        lambda active, floor: arena.edges(
            snapshot,
            active,
            least=max(policy.link_similarity, background + _LINKED * (1.0 - background)),
            unrelated=max(background, 0.0) if lacking else 1.0,
            adjacent=ADJACENT * snapshot.conversational if lacking else 0.0,
            floor=floor,
        ),
        eligible,
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
    )


def _beside(snapshot: Snapshot, worth: Scores, direct: Scores, floor: float) -> dict[int, Reached]:
    """What was found for what was said around it: never above the hit it comes with."""
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
            most, way = max(ways, key=lambda each: (each[0], -len(each[1])))
            weight = ADJACENT * snapshot.conversational
            edges = tuple(Edge(to, "adjacent", weight) for to in (*way[1:], row))
            found[row] = Reached(min(score, most), way[0], edges)
    return found


def _first_round(
    base: Ranking, eligible: NDArray[np.bool_], background: float
) -> dict[str, Floats]:
    """(n,) keywords and vector, each scaled within what may be shown.

    What no memory reaches but by chance is no full match, whatever the caller lets through.
    """
    signals, pool = base.signals, np.flatnonzero(eligible)
    first = {"keyword": _zero_based(signals.keyword, pool)}
    if signals.similarity is not None:
        first["similarity"] = scaled(
            signals.similarity,
            signals.similarity[pool],
            at_least=max(base.threshold, background, 0.0),
        )
    return first


def _promise(snapshot: Snapshot, question: Question, rough: Floats) -> Floats:
    """(n,) what a row may be worth once more is known of it: its neighbours and date count."""
    known = np.append(rough, 0.0)  # -1 reads the zero
    share = snapshot.conversational
    worth = rough + share * (_BEFORE * known[snapshot.before] + _AFTER * known[snapshot.after])
    when = question.when(snapshot.created)
    return np.asarray(worth if when is None else worth * (1.0 + when))


def _shortlist(base: Ranking, worth: Floats, limit: int) -> Ints:
    """The best candidates, ascending by number."""
    rows = np.flatnonzero(base.candidate)
    if len(rows) > limit:
        rows = rows[np.argpartition(-worth[rows], limit - 1)[:limit]]
    return np.sort(rows)


def _with_background(rows: Ints, rough: Floats, eligible: NDArray[np.bool_]) -> Ints:
    """The rows and, where they are few, others beside them: what a score is scaled against."""
    wanted = SHORTLIST - len(rows)
    others = np.flatnonzero(eligible)
    others = others[~np.isin(others, rows)]
    if wanted <= 0 or not len(others):
        return rows
    if len(others) > wanted:
        others = others[np.argpartition(-rough[others], wanted - 1)[:wanted]]
    return np.sort(np.concatenate((rows, others)))


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


def _signals(snapshot: Snapshot, postings: Postings, question: Question) -> Signals:
    dated = question.date is not None  # then its words are answered by the date
    counted = [
        not (is_pair(term) or (dated and is_date_word(term)))
        for term in dict.fromkeys(question.terms)
    ]
    matches = lexical.match(
        postings,
        snapshot.living_passages(),
        counted=counted if any(counted) else None,  # pairs repeat what their characters say
        telling=[
            len(term) > 1 and not (dated and is_date_word(term))
            for term in dict.fromkeys(question.terms)
        ],
    )
    similarity = by_passage = None
    index, vectors = snapshot.index, snapshot.vectors
    if question.encoding is not None and index is not None and vectors is not None:
        products = index.inner_products(vectors, question.encoding.vector)
        by_passage = np.clip(products.astype(np.float64), -1.0, 1.0)  # rounding goes beyond
        similarity = snapshot.best_passages(by_passage)
    return Signals(
        snapshot.best_passages(matches.scores),
        snapshot.best_passages(matches.coverage),
        snapshot.best_passages(matches.shared),
        snapshot.best_passages(matches.rare.astype(np.float64)) > 0.0,
        matches.ceiling,
        similarity,
        matches.scores,
        by_passage,
    )


def _spread(
    direct: Scores,
    floor: float,
    edges_of: Callable[[Mapping[int, float], float], Mapping[int, Sequence[Edge]]],
    eligible: NDArray[np.bool_],
    *,
    ceiling: float,
) -> dict[int, Reached]:
    """What the graph adds to the direct hits, or lifts among them; nothing is ever lowered.

    What may not be shown does not conduct either. What somebody linked may be lifted up to its
    seed; what is only similar takes no place from a hit that is related, so it stays under the
    `ceiling`.
    """
    best = heapq.nsmallest(_SEEDS, direct, key=lambda row: (-direct[row], row))
    seeds = {row: direct[row] for row in best if direct[row] > 0.0}

    def visible(active: Mapping[int, float]) -> dict[int, list[Edge]]:
        return {
            row: [edge for edge in edges if eligible[edge.to]]
            for row, edges in edges_of(active, floor).items()
        }

    bounded = {
        row: each
        if all(edge.kind == "linked" for edge in each.path)
        else replace(each, activation=min(each.activation, ceiling))
        for row, each in spread(seeds, visible, floor=floor).items()
    }
    return {row: each for row, each in bounded.items() if each.activation > direct.get(row, 0.0)}


def _background(snapshot: Snapshot, known: float | None) -> float:
    """The cosine under which two texts have nothing to do with each other.

    The embedder's own where it is known, else a quantile of the namespace's similarities, else
    a guess, until there are enough of them.
    """
    vectors = snapshot.vectors
    if vectors is None:
        return 1.0
    if known is not None:
        return known
    living = np.flatnonzero(snapshot.living_passages())
    if len(living) < _SAMPLE:
        return _GUESS
    sample = vectors[living[:: max(len(living) // _SAMPLE, 1)][:_SAMPLE]]
    pairs = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    return float(np.quantile(pairs, _QUANTILE))


def _zero_based(values: Floats, pool: Ints) -> Floats:
    """BM25 in [0, 1]: no shared word is nothing, the best match is all."""
    top = float(values[pool].max()) if len(pool) else 0.0
    return values / top if top > 0.0 else np.zeros(len(values))
