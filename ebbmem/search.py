"""One query against one snapshot: candidates, relevance, bonuses, graph, order. Pure but for
the arena's lazily completed edges.

Round one: what shares a word with the query or is similar enough to it. Round two: what
the graph connects with the best of those; it fills places and never outscores its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebbmem import lexical
from ebbmem.arena import Arena
from ebbmem.cues import is_date_word
from ebbmem.finding import Question, Ranking, Signals
from ebbmem.graph import Edge, Reached, spread
from ebbmem.lexical import Postings
from ebbmem.policy import Policy
from ebbmem.ranking import WEIGHTS, Evidence, Weights, combined, features, windowed
from ebbmem.relevance import idf_weights, max_sim, mixed, scaled
from ebbmem.snapshot import Snapshot
from ebbmem.text import is_pair

__all__ = ["ENOUGH_WORDS", "SHORTLIST", "search"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHORTLIST = 200
"""Candidates that late interaction scores again, best first by keywords and vector."""

ENOUGH_WORDS = 0.3
"""Idf share of the question's words with which a single one makes a candidate."""

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
    weights: Weights = WEIGHTS,
) -> Ranking:
    """Rank one namespace for one question.

    Args:
        min_similarity: cosine that makes a candidate; None is `unrelated`.
        unrelated: cosine that unrelated texts rarely reach with this embedder; None takes it
            from the namespace.
        allowed: the caller's filters: (n,) rows that they let through.
        include_faded: also what has faded.
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
    candidate = eligible & _related(signals, threshold)
    usual = background if policy.min_similarity is None else policy.min_similarity
    related = candidate if threshold >= usual else candidate & _related(signals, usual)
    base = Ranking(
        snapshot, [], strength, hidden, passing, candidate, related, threshold, signals, {}, {}
    )
    if not candidate.any():
        return base
    return _ranked(arena, base, question, eligible, policy, k, background, weights)


def _related(signals: Signals, threshold: float) -> NDArray[np.bool_]:
    """Round one: similar enough, or sharing enough of the question's words.

    One common word of several is how anything answers anything; a single CJK character too.
    """
    shared = (signals.shared >= 2.0) | (signals.coverage >= ENOUGH_WORDS)
    if signals.similarity is None:
        return shared
    return shared | (signals.similarity >= threshold)


def _ranked(
    arena: Arena,
    base: Ranking,
    question: Question,
    eligible: NDArray[np.bool_],
    policy: Policy,
    k: int,
    background: float,
    weights: Weights,
) -> Ranking:
    snapshot = base.snapshot
    first = _first_round(base, eligible, background)
    rough = np.where(eligible, mixed(first), 0.0)
    previous, near = windowed(rough, snapshot.before, snapshot.after)
    worth = rough + 0.5 * snapshot.conversational * near
    rows = _shortlist(base, worth, max(SHORTLIST, k))
    mix = {name: values[rows] for name, values in first.items()}
    pool = _with_background(rows, rough, eligible)
    interaction = _interaction(arena, snapshot, question, pool)
    if interaction is not None:
        mix["interaction"] = scaled(interaction, interaction)[np.isin(pool, rows)]
    relevance = mixed(mix)
    chosen = replace(weights, strength=weights.strength if policy.ranking == "bonus" else 0.0)
    evidence = Evidence(
        rows=rows,
        rough=rough,
        previous=previous,
        near=near,
        coverage=base.signals.coverage,
        before=snapshot.before,
        after=snapshot.after,
        source=snapshot.source,
        question=snapshot.question,
        created=snapshot.created,
        strength=base.strength,
        eligible=eligible,
        conversational=snapshot.conversational,
        date=question.date,
    )
    bonuses = features(evidence, chosen)
    scores = combined(relevance, bonuses)
    if policy.ranking == "product":
        scores = scores * np.clip(base.strength[rows], 0.0, 1.0)
    direct = _by_row(rows, scores)
    reached = _spread(
        direct,
        lambda active, floor: arena.edges(
            snapshot,
            active,
            least=max(policy.link_similarity, background + _LINKED * (1.0 - background)),
            unrelated=max(background, 0.0),
            adjacent=weights.adjacent * snapshot.conversational,
            floor=floor,
        ),
        eligible,
        k,
    )
    return replace(
        base,
        order=_ordered(snapshot, direct, reached),
        signals=replace(
            base.signals, interaction=None if interaction is None else _by_row(pool, interaction)
        ),
        relevance=_by_row(rows, relevance),
        bonuses={
            name: (weight, _by_row(rows, values)) for name, (weight, values) in bonuses.items()
        },
        reached=reached,
    )


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

    def place(row: int) -> tuple[float, bool, int, str]:
        return (-scores[row], row in reached, int(snapshot.created[row]), snapshot.ids[row])

    return [(row, scores[row]) for row in sorted(scores, key=place)]


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
        matches.ceiling,
        similarity,
        matches.scores,
        by_passage,
    )


def _interaction(arena: Arena, snapshot: Snapshot, question: Question, rows: Ints) -> Floats | None:
    """Late interaction of the best passage of each row, (m,); None without token vectors."""
    encoding, pieces = question.encoding, snapshot.pieces
    if encoding is None or encoding.tokens is None or pieces is None or not len(rows):
        return None
    codes = encoding.tokens.codes.astype(np.float32)
    if not len(codes):
        return None
    query = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-6)
    frequency = arena.piece_frequency(encoding.tokens.ids)
    weights = idf_weights(frequency, int(snapshot.living_passages().sum()))
    first, last = snapshot.passage_start[rows], snapshot.passage_start[rows + 1]
    counts = last - first
    offsets = np.cumsum(counts) - counts
    chosen = np.repeat(first - offsets, counts) + np.arange(int(counts.sum()))
    return np.asarray(np.maximum.reduceat(max_sim(query, weights, pieces, chosen), offsets))


def _spread(
    direct: dict[int, float],
    edges_of: Callable[[Mapping[int, float], float], Mapping[int, Sequence[Edge]]],
    eligible: NDArray[np.bool_],
    k: int,
) -> dict[int, Reached]:
    """What the graph adds to the direct hits, or lifts among them; nothing is ever lowered.

    What may not be shown does not conduct either.
    """
    best = sorted(direct, key=lambda row: (-direct[row], row))
    seeds = {row: direct[row] for row in best[:_SEEDS] if direct[row] > 0.0}
    floor = direct[best[k - 1]] if len(best) >= k else 0.0

    def visible(active: Mapping[int, float]) -> dict[int, list[Edge]]:
        return {
            row: [edge for edge in edges if eligible[edge.to]]
            for row, edges in edges_of(active, floor).items()
        }

    reached = spread(seeds, visible, floor=floor)
    return {row: each for row, each in reached.items() if each.activation > direct.get(row, 0.0)}


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


def _by_row(rows: Ints, values: Floats) -> dict[int, float]:
    return dict(zip(rows.tolist(), values.tolist(), strict=True))
