"""BM25 over one namespace, growing by appending.

score(d) = sum over t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(d) / mean))
idf(t)   = ln(1 + (n - df + 0.5) / (df + 0.5))

Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework" (2009), with
the idf of Lucene, which is never negative. Documents are passages, numbered from 0.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["K1", "B", "KeywordIndex", "KeywordMatches", "Postings", "match"]

K1 = 1.2
B = 0.75

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Postings:
    """What the index knows about the terms of one query, at one moment.

    `documents[i]` and `frequencies[i]` belong to the i-th distinct term; `lengths` holds the
    length of every document in terms.
    """

    documents: tuple[NDArray[np.int32], ...]
    frequencies: tuple[NDArray[np.int32], ...]
    lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """How documents match a query: all arrays of length n.

    `scores` is BM25; `coverage` the idf share of the query's terms that a document holds,
    in [0, 1]; `shared` how many of its distinct terms; `ceiling` what no score can reach.
    """

    scores: Floats
    coverage: Floats
    shared: Floats
    ceiling: float


class KeywordIndex:
    """An inverted index in memory. Documents are appended, never changed; see `Postings`."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._documents: list[array[int]] = []
        self._frequencies: list[array[int]] = []
        self._lengths: array[int] = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, terms: Sequence[str]) -> int:
        """Add a document; returns its number."""
        number = len(self._lengths)
        for term, frequency in Counter(terms).items():
            known = self._terms.get(term)
            if known is None:
                known = self._terms[term] = len(self._documents)
                self._documents.append(array("i"))
                self._frequencies.append(array("i"))
            self._documents[known].append(number)
            self._frequencies[known].append(frequency)
        self._lengths.append(len(terms))
        return number

    def knows(self, term: str) -> bool:
        """Whether any document ever held the term."""
        return term in self._terms

    def select(self, terms: Sequence[str]) -> Postings:
        """Copies for the distinct terms of a query, in order; unknown terms have no documents."""
        nothing = np.empty(0, np.int32)
        documents, frequencies = [], []
        for term in dict.fromkeys(terms):
            known = self._terms.get(term)
            if known is None:
                documents.append(nothing)
                frequencies.append(nothing)
            else:
                documents.append(np.array(self._documents[known], np.int32))
                frequencies.append(np.array(self._frequencies[known], np.int32))
        lengths = np.array(self._lengths, np.int32)
        return Postings(tuple(documents), tuple(frequencies), lengths)


def match(
    postings: Postings,
    alive: NDArray[np.bool_],
    *,
    counted: Sequence[bool] | None = None,
    k1: float = K1,
    b: float = B,
) -> KeywordMatches:
    """Score every document; those not `alive` score 0 and count for nothing.

    `counted` says which of the distinct terms make up coverage; None is all.
    """
    total = int(alive.sum())
    scores = np.zeros(len(alive))
    coverage = np.zeros(len(alive))
    shared = np.zeros(len(alive))
    mean = float(postings.lengths[alive].mean()) if total else 1.0
    norms = k1 * (1.0 - b + b * postings.lengths / max(mean, 1e-9))
    everything = whole = 0.0
    shares = [True] * len(postings.documents) if counted is None else counted
    for documents, frequencies, counts in zip(
        postings.documents, postings.frequencies, shares, strict=True
    ):
        living = alive[documents]
        documents, frequencies = documents[living], frequencies[living]
        df = len(documents)
        idf = float(np.log1p((total - df + 0.5) / (df + 0.5)))
        everything += idf
        whole += idf * counts
        if df:
            scores[documents] += idf * frequencies * (k1 + 1.0) / (frequencies + norms[documents])
            coverage[documents] += idf * counts
            shared[documents] += 1.0
    return KeywordMatches(scores, coverage / max(whole, 1e-9), shared, everything * (k1 + 1.0))
