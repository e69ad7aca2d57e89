"""Round one: what of a namespace has to do with a query, and what deserves a closer look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ebbmem import lexical
from ebbmem.cues import is_date_word
from ebbmem.finding import Question, Ranking, Signals
from ebbmem.lexical import Postings
from ebbmem.relevance import scaled
from ebbmem.snapshot import Snapshot
from ebbmem.text import is_pair

__all__ = [
    "ENOUGH_WORDS",
    "SHORTLIST",
    "dated",
    "first_round",
    "promise",
    "related",
    "shortlist",
    "signals_of",
    "unrelated_cosine",
    "weaker",
    "with_background",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHORTLIST = 200
"""Candidates that are scored in full, the most promising by keywords and vector."""

ENOUGH_WORDS = 0.3
"""Idf share of the question's words with which a single one makes a candidate."""

_BEFORE, _AFTER = 0.4, 0.3  # of a neighbour in a dialogue, what speaks for a closer look
_UPPER = 0.75  # of a namespace's similarities to a query: what is under it fills no place
_DATED = 0.2  # relevance of what was said on a day that is asked about
_QUANTILE = 0.95  # of a namespace's own similarities: what unrelated memories do not reach
_GUESS = 0.2  # that cosine, where nothing is known of the embedder yet
_SAMPLE = 64  # memories that stand for the rest when that quantile is taken


def signals_of(snapshot: Snapshot, postings: Postings, question: Question) -> Signals:
    """What every row has in common with a question, by words and by vector."""
    distinct = list(dict.fromkeys(question.terms))
    dated = question.date is not None  # then its words are answered by the date
    spent = [dated and is_date_word(term) for term in distinct]
    counted = [not (is_pair(term) or each) for term, each in zip(distinct, spent, strict=True)]
    matches = lexical.match(
        postings,
        snapshot.living_passages(),
        counted=counted if any(counted) else None,  # pairs repeat what their characters say
        telling=[len(term) > 1 and not each for term, each in zip(distinct, spent, strict=True)],
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


def related(signals: Signals, threshold: float) -> NDArray[np.bool_]:
    """Round one: similar enough, or sharing enough of the question's words, or a rare one.

    One common word of several is how anything answers anything; a single CJK character too. By
    itself it finds nothing; beside something that is related it may fill a place.
    """
    shared = (signals.shared >= 2.0) | (signals.coverage >= ENOUGH_WORDS) | signals.rare
    if signals.similarity is None:
        return shared
    return shared | (signals.similarity >= threshold)


def dated(snapshot: Snapshot, question: Question) -> Floats:
    """(n,) what was said on the very days that the question names is worth, whatever it says."""
    return np.where(question.told_on(snapshot.created), _DATED, 0.0)


def weaker(
    signals: Signals, eligible: NDArray[np.bool_], min_similarity: float | None
) -> NDArray[np.bool_]:
    """What may fill a place where something related was found, if nobody set a threshold."""
    weak = signals.keyword > 0.0
    if signals.similarity is None or min_similarity is not None:
        return weak
    usual = signals.similarity[eligible] if signals.usual is None else signals.usual
    if not len(usual):
        return weak
    return weak | (signals.similarity >= np.quantile(usual, _UPPER))


def unrelated_cosine(snapshot: Snapshot, known: float | None) -> float:
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


def first_round(base: Ranking, background: float) -> dict[str, Floats]:
    """(n,) keywords and vector, each scaled within what may be shown.

    What no memory reaches but by chance is no full match, whatever the caller lets through.
    """
    signals, pool = base.signals, np.flatnonzero(base.eligible)
    first = {"keyword": _zero_based(signals.keyword, pool)}
    if signals.similarity is not None:
        among = signals.similarity[pool]
        first["similarity"] = scaled(
            signals.similarity,
            among if signals.usual is None else signals.usual,
            at_least=max(base.threshold, background, 0.0, among.max(initial=-1.0)),
        )
    return first


def promise(snapshot: Snapshot, question: Question, rough: Floats) -> Floats:
    """(n,) what a row may be worth once more is known of it: its neighbours and date count."""
    known = np.append(rough, 0.0)  # -1 reads the zero
    share = snapshot.conversational
    worth = rough + share * (_BEFORE * known[snapshot.before] + _AFTER * known[snapshot.after])
    when = question.when(snapshot.created)
    return np.asarray(worth if when is None else worth * (1.0 + when))


def shortlist(base: Ranking, worth: Floats, limit: int) -> Ints:
    """The best candidates, ascending by number; no source crowds out the others here either."""
    rows = np.flatnonzero(base.candidate)
    if len(rows) > limit and base.budget is not None:
        best = rows[np.argsort(-worth[rows], kind="stable")]
        rows = best[~np.isin(best, base.budget.over(best.tolist(), limit))]
    if len(rows) > limit:
        rows = rows[np.argpartition(-worth[rows], limit - 1)[:limit]]
    return np.sort(rows)


def with_background(rows: Ints, rough: Floats, eligible: NDArray[np.bool_]) -> Ints:
    """The rows and, where they are few, others beside them: what a score is scaled against."""
    wanted = SHORTLIST - len(rows)
    others = np.flatnonzero(eligible)
    others = others[~np.isin(others, rows)]
    if wanted <= 0 or not len(others):
        return rows
    if len(others) > wanted:
        others = others[np.argpartition(-rough[others], wanted - 1)[:wanted]]
    return np.sort(np.concatenate((rows, others)))


def _zero_based(values: Floats, pool: Ints) -> Floats:
    """BM25 in [0, 1]: no shared word is nothing, the best match is all."""
    top = float(values[pool].max()) if len(pool) else 0.0
    return values / top if top > 0.0 else np.zeros(len(values))
