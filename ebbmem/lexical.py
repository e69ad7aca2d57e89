"""BM25 over one namespace, growing by appending.

score(d) = sum over t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(d) / mean))
idf(t)   = ln(1 + (n - df + 0.5) / (df + 0.5))

Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework" (2009), with
the idf of Lucene, which is never negative. Documents are passages, numbered from 0.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebbmem.growing import Growing

__all__ = [
    "K1",
    "B",
    "Corpus",
    "KeywordIndex",
    "KeywordMatches",
    "Postings",
    "best",
    "idf",
    "match",
]

K1 = 1.2
B = 0.75

_FEW = 2  # documents: a term that no more than these hold is rare
_COMMON = 256  # documents of a term from which its list is read where it stands, not copied

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of all documents, where only some are looked at.

    Attributes:
        frequencies: of the distinct terms of a query: how many documents hold each.
        total: documents there are; `mean`: their mean length in terms.
    """

    frequencies: tuple[int, ...]
    total: int
    mean: float


@dataclass(frozen=True, slots=True)
class Postings:
    """What the index knows about the terms of one query, at one moment.

    `documents[i]` and `frequencies[i]` belong to the i-th distinct term; `lengths` holds the
    length of every document in terms. `corpus` is of all that live; where `partial`, the
    documents are some of these, numbered anew.
    """

    documents: tuple[Numbers, ...]
    frequencies: tuple[Numbers, ...]
    lengths: Numbers
    corpus: Corpus
    partial: bool = False

    def among(self, documents: Numbers) -> Postings:
        """The same of some documents (m,), ascending, numbered from 0 in their order."""
        places = [_places(each, documents) for each in self.documents]
        held = zip(places, self.frequencies, strict=True)
        return Postings(
            tuple(np.flatnonzero(at >= 0).astype(np.int32) for at in places),
            tuple(frequencies[at[at >= 0]] for at, frequencies in held),
            self.lengths[documents],
            self.corpus,
            partial=True,
        )


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """How documents match a query: all arrays of length n.

    `scores` is BM25; `coverage` the idf share of the query's terms that a document holds,
    in [0, 1]; `shared` how many of its distinct terms; `rare` whether one of them is in hardly
    any other; `ceiling` what no score can reach.
    """

    scores: Floats
    coverage: Floats
    shared: Floats
    rare: NDArray[np.bool_]
    ceiling: float


class KeywordIndex:
    """An inverted index in memory. Documents are appended, never changed; see `Postings`."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._documents: list[array[int] | Growing] = []
        self._frequencies: list[array[int] | Growing] = []
        self._lengths = Growing("int32")
        self._living = self._living_terms = 0
        self._alive = Growing("?")
        self._spared = True  # nothing died yet

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, terms: Sequence[str], *, silent: bool = False) -> int:
        """Add a document; returns its number. A `silent` one keeps its number and no more."""
        number = len(self._lengths)
        self._living += not silent
        self._living_terms += len(terms)
        for term, frequency in Counter(terms).items():
            known = self._terms.get(term)
            if known is None:
                known = self._terms[term] = len(self._documents)
                self._documents.append(array("i"))
                self._frequencies.append(array("i"))
            _add(self._documents, known, number)
            _add(self._frequencies, known, frequency)
        self._lengths.append(len(terms))
        self._alive.append(not silent)
        return number

    def discard(self, number: int) -> None:
        """A document died: its lists keep it, the count of the living does not."""
        self._living -= bool(self._alive[number])
        self._living_terms -= int(self._lengths[number])
        self._alive[number] = self._spared = False

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        lists = (*self._documents, *self._frequencies, self._lengths, self._alive)
        return sum(
            each.nbytes if isinstance(each, Growing) else len(each) * each.itemsize
            for each in lists
        )

    def frequency(self, term: str) -> int:
        """How many documents ever held the term, in the sense of df."""
        known = self._terms.get(term)
        return 0 if known is None else len(self._documents[known])

    def select(self, terms: Sequence[str]) -> Postings:
        """The distinct terms of a query, in order; unknown terms have no documents.

        What is appended later changes nothing of it.
        """
        nothing = np.empty(0, np.int32)
        known = [self._terms.get(term) for term in dict.fromkeys(terms)]
        documents = tuple(nothing if at is None else _read(self._documents[at]) for at in known)
        frequencies = tuple(nothing if at is None else _read(self._frequencies[at]) for at in known)
        alive = self._alive.view()
        living = (
            len(each) if self._spared else int(np.count_nonzero(alive[each])) for each in documents
        )
        corpus = Corpus(tuple(living), self._living, self._living_terms / max(self._living, 1))
        return Postings(documents, frequencies, self._lengths.view(), corpus)


def _add(lists: list[array[int] | Growing], at: int, value: int) -> None:
    """To the end of a list: an array while it is short, as most are, then one that is shared."""
    lists[at].append(value)
    if len(lists[at]) == _COMMON:
        grown = Growing("int32")
        grown.extend(_read(lists[at]))
        lists[at] = grown


def _read(held: array[int] | Growing) -> Numbers:
    return held.view() if isinstance(held, Growing) else np.array(held, np.int32)


def _places(held: Numbers, documents: Numbers) -> NDArray[np.int64]:
    """(m,) where documents stand in an ascending list, -1 for those that do not."""
    if not len(held):
        return np.full(len(documents), -1)
    at = np.minimum(np.searchsorted(held, documents), len(held) - 1)
    return np.where(held[at] == documents, at, -1)


def idf(df: int, total: int) -> float:
    """How much a term says that `df` of `total` documents hold; never below 0."""
    return math.log1p((total - df + 0.5) / (df + 0.5))


def match(
    postings: Postings,
    alive: NDArray[np.bool_],
    *,
    counted: Sequence[bool] | None = None,
    telling: Sequence[bool] | None = None,
    k1: float = K1,
    b: float = B,
) -> KeywordMatches:
    """Score every document; those not `alive` score 0 and count for nothing.

    `counted` says which of the distinct terms make up coverage, `telling` which can be rare;
    None is all.
    """
    corpus = postings.corpus
    total = corpus.total if postings.partial else int(alive.sum())
    scores = np.zeros(len(alive))
    coverage = np.zeros(len(alive))
    shared = np.zeros(len(alive))
    rare = np.zeros(len(alive), bool)
    if postings.partial:
        mean = corpus.mean
    else:
        mean = float(postings.lengths[alive].mean()) if total else 1.0
    norms = _norms(postings.lengths, mean, k1, b)
    everything = whole = 0.0
    every = [True] * len(postings.documents)
    for documents, frequencies, held, counts, tells in zip(
        postings.documents,
        postings.frequencies,
        corpus.frequencies,
        counted or every,
        telling or every,
        strict=True,
    ):
        living = alive[documents]
        documents, frequencies = documents[living], frequencies[living]
        df = held if postings.partial else len(documents)
        weight = idf(df, total)
        everything += weight
        whole += weight * counts
        if df:
            scores[documents] += _bm25(weight, frequencies, norms[documents], k1)
            coverage[documents] += weight * counts
            shared[documents] += 1.0
            if tells and df <= _FEW:
                rare[documents] = True
    return KeywordMatches(
        scores, coverage / max(whole, 1e-9), shared, rare, everything * (k1 + 1.0)
    )


def best(
    postings: Postings,
    count: int,
    passes: Callable[[Numbers], NDArray[np.bool_]],
    *,
    k1: float = K1,
    b: float = B,
) -> tuple[Numbers, NDArray[np.float32]]:
    """The documents of the `count` highest BM25 scores among those that pass, and the scores.

    Rare terms first: once what the rest could add lies under the score of place `count`, common
    words find nobody new and are only looked up for those found. Exact: no term can add more
    than idf * (k1 + 1).
    Source: H. Turtle and J. Flood, "Query Evaluation: Strategies and Optimizations" (1995).
    """
    corpus = postings.corpus
    weights = [idf(df, corpus.total) for df in corpus.frequencies]
    left = sum(weights) * (k1 + 1.0)  # what the terms not yet seen could add
    scores = np.zeros(len(postings.lengths), np.float32)
    found = np.empty(0, np.int32)
    floor = 0.0
    for at in sorted(range(len(weights)), key=lambda at: -weights[at]):
        documents, frequencies = postings.documents[at], postings.frequencies[at]
        if left >= floor:
            fresh = documents[scores[documents] == 0.0]
            found = np.concatenate((found, fresh[passes(fresh)]))
        else:  # the term only tells those found apart
            places = _places(documents, found)
            places = places[places >= 0]
            documents, frequencies = documents[places], frequencies[places]
        norms = _norms(postings.lengths[documents], corpus.mean, k1, b)
        scores[documents] += _bm25(weights[at], frequencies, norms, k1)
        left -= weights[at] * (k1 + 1.0)
        if len(found) > count:
            reached = scores[found]
            floor = float(np.partition(reached, -count)[-count])
            found = found[reached + left >= floor]
    found = np.sort(found)
    if len(found) > count:  # of equals those that came first
        found = found[np.argsort(-scores[found], kind="stable")[:count]]
    return found, scores[found]


def _norms(lengths: Numbers, mean: float, k1: float, b: float) -> Floats:
    return np.asarray(k1 * (1.0 - b + b * lengths / max(mean, 1e-9)), np.float64)


def _bm25(weight: float, frequencies: Numbers, norms: Floats, k1: float) -> Floats:
    """(m,) what a term of this weight adds to the documents that hold it."""
    return weight * frequencies * (k1 + 1.0) / (frequencies + norms)
