"""What plain retrieval finds: BM25, vectors, late interaction and their mixes.

Nothing here is taken from the search of the bank, so that neither can hide a fault of the
other. An item scores as its best passage of at most 80 words; every order is a full one, with
ties in the order of the items.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ebbmem.embedding import Encoder, Encoding, TokenVectors
from ebbmem.records import Draft
from ebbmem.text import keywords, passages, spoken

__all__ = ["HYBRIDS", "Baselines", "Keywords", "LateInteraction", "orders"]

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
HYBRIDS = {"hybrid .55/.45": (0.55, 0.45), "hybrid .3/.7": (0.3, 0.7)}
"""Shares of BM25 and of the cosine, each scaled from 0 to 1 over the items of a history."""


class Baselines:
    """The items of one history, in their order, by every plain way of finding them."""

    def __init__(self, items: Sequence[Draft], encoder: Encoder | None) -> None:
        texts: list[str] = []
        starts: list[int] = []
        for item in items:
            starts.append(len(texts))
            texts += [spoken(item.speaker, item.text[a:b]) for a, b in passages(item.text)]
        self._starts = np.array(starts)
        self._keywords = Keywords([keywords(text) for text in texts])
        self._encoder = encoder
        if encoder is not None:
            found = encoder.encode_documents(texts)
            self._vectors = np.stack([each.vector for each in found]).astype(np.float64)
            self._pieces = _interaction(found)

    def scores(self, question: str) -> dict[str, Floats]:
        """(items,) of each row's name; late interaction only where the encoder has pieces."""
        found = {"BM25": self._best(self._keywords.scores(keywords(question)))}
        if self._encoder is None:
            return found
        query = _query(self._encoder, question, self._vectors.shape[1])
        found["vector"] = self._best(self._vectors @ query.vector)
        if self._pieces is not None:
            found["late interaction"] = self._best(self._pieces.scores(query.tokens))
        keyword, cosine = _scaled(found["BM25"]), _scaled(found["vector"])
        for name, (one, other) in HYBRIDS.items():
            found[name] = one * keyword + other * cosine
        return found

    def _best(self, scores: Floats) -> Floats:
        """Of passages to items: each as its best passage."""
        return np.asarray(np.maximum.reduceat(scores, self._starts), np.float64)


class Keywords:
    """BM25 of some documents, given by their terms (S. Robertson and H. Zaragoza, 2009)."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, terms in enumerate(documents):
            for term, count in Counter(terms).items():
                self._counts[term].append((number, count))
        lengths = np.array([len(terms) for terms in documents], np.float64)
        self._norms = K1 * (1.0 - B + B * lengths / max(float(lengths.mean()), 1.0))

    def scores(self, terms: Sequence[str]) -> Floats:
        """(documents,) of a query; a term counts once, with the idf that is never negative."""
        total = len(self._norms)
        found = np.zeros(total)
        for term in dict.fromkeys(terms):
            postings = self._counts.get(term, ())
            idf = math.log1p((total - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                found[number] += idf * count * (K1 + 1.0) / (count + self._norms[number])
        return found


class LateInteraction:
    """The mean, over a query's pieces, of the best cosine with a piece of a document.

    Weighted by idf over the documents that have pieces (O. Khattab and M. Zaharia, 2020, without
    weights). A document without pieces scores 0.
    """

    def __init__(self, documents: Sequence[TokenVectors]) -> None:
        sizes = [len(each.ids) for each in documents]
        self._filled = np.flatnonzero(sizes)
        self._starts = np.concatenate(([0], np.cumsum(sizes)))[self._filled].astype(np.int64)
        self._pieces = np.concatenate([_units(each) for each in documents])
        self._frequency = Counter(piece for each in documents for piece in set(each.ids.tolist()))
        self._total = len(documents)

    def scores(self, query: TokenVectors | None) -> Floats:
        """(documents,) in [-1, 1]."""
        found = np.zeros(self._total)
        if query is None or not len(query.ids) or not len(self._filled):
            return found
        frequency = np.array([self._frequency[each] for each in query.ids.tolist()])
        idf = np.log1p((len(self._filled) - frequency + 0.5) / (frequency + 0.5))
        best = np.maximum.reduceat(self._pieces @ _units(query).T, self._starts, axis=0)
        found[self._filled] = best @ idf / idf.sum()
        return found


def orders(scores: Mapping[str, Floats]) -> dict[str, NDArray[np.intp]]:
    """The items of each row, best first, ties in the order of the items."""
    return {name: np.argsort(-each, kind="stable") for name, each in scores.items()}


def _interaction(found: Sequence[Encoding]) -> LateInteraction | None:
    tokens = [each.tokens for each in found if each.tokens is not None]
    return LateInteraction(tokens) if len(tokens) == len(found) else None


def _query(encoder: Encoder, question: str, dimension: int) -> Encoding:
    """Zero where a vector would mean nothing."""
    if encoder.covers(question):
        return encoder.encode_query(question)
    return Encoding(np.zeros(dimension, np.float32))


def _units(tokens: TokenVectors) -> NDArray[np.float32]:
    codes = tokens.codes.astype(np.float32)
    codes /= np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-6)
    return codes


def _scaled(values: Floats) -> Floats:
    """From 0 to 1 over all items; 0 where all are equal."""
    span = float(np.ptp(values))
    return (values - values.min()) / span if span > 0 else np.zeros(len(values))
