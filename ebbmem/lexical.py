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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["K1", "B", "KeywordIndex", "KeywordMatches", "Postings", "idf", "match"]

K1 = 1.2
B = 0.75

_FEW = 2  # documents: a term that no more than these hold is rare

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

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        lists = (*self._documents, *self._frequencies, self._lengths)
        return sum(len(each) * each.itemsize for each in lists)

    def frequency(self, term: str) -> int:
        """How many documents ever held the term, in the sense of df."""
        known = self._terms.get(term)
        return 0 if known is None else len(self._documents[known])

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
    total = int(alive.sum())
    scores = np.zeros(len(alive))
    coverage = np.zeros(len(alive))
    shared = np.zeros(len(alive))
    rare = np.zeros(len(alive), bool)
    mean = float(postings.lengths[alive].mean()) if total else 1.0
    norms = k1 * (1.0 - b + b * postings.lengths / max(mean, 1e-9))
    everything = whole = 0.0
    every = [True] * len(postings.documents)
    for documents, frequencies, counts, tells in zip(
        postings.documents, postings.frequencies, counted or every, telling or every, strict=True
    ):
        living = alive[documents]
        documents, frequencies = documents[living], frequencies[living]
        df = len(documents)
        weight = idf(df, total)
        everything += weight
        whole += weight * counts
        if df:
            scores[documents] += (
                weight * frequencies * (k1 + 1.0) / (frequencies + norms[documents])
            )
            coverage[documents] += weight * counts
            shared[documents] += 1.0
            if tells and df <= _FEW:
                rare[documents] = True
    return KeywordMatches(
        scores, coverage / max(whole, 1e-9), shared, rare, everything * (k1 + 1.0)
    )
