"""Hashed n-gram vectors: no model, no dependency; spelling in place of meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ebbmem.embedding.base import Encoder
from ebbmem.embedding.encoding import Encoding, Fingerprint, encodings
from ebbmem.text import CJK

__all__ = ["HashingEncoder"]

_DIMENSION = 256
_WORD_WEIGHT = 2.0  # a whole word in common says more than three letters in common
_SHORT = 3  # words up to here are mostly "the", "my", "is": little weight, no n-grams

_RUNS = re.compile(rf"(?P<cjk>[{CJK}]+)|(?P<word>[^\W_{CJK}]+)")


class HashingEncoder(Encoder):
    """Words and their 3- to 5-grams, Han, kana and Hangul as 1- and 2-grams, hashed with a sign."""

    _FINGERPRINT = Fingerprint(f"hashing-{_DIMENSION}", _DIMENSION, min_similarity=0.22)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._FINGERPRINT

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        if not texts:
            return []
        known = self._FINGERPRINT
        return encodings(known.name, [_hashed(text) for text in texts], len(texts), known=known)

    def encode_query(self, text: str) -> Encoding:
        return self.encode_documents([text])[0]


def _hashed(text: str) -> NDArray[np.float64]:
    row = np.zeros(_DIMENSION)
    for feature, weight in dict(_features(text)).items():
        # crc32 is the same in every process and version; its top bit gives the sign.
        code = crc32(feature.encode("utf-8", "surrogatepass"))
        row[code % _DIMENSION] += weight if code >> 31 else -weight
    return row


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", text).lower()):
        run = match.group()
        if match.lastgroup == "cjk":
            yield from ((gram, 1.0) for n in (1, 2) for gram in _grams(run, n))
        elif len(run) <= _SHORT:
            yield run, 0.5
        else:
            yield run, _WORD_WEIGHT
            yield from ((gram, 0.5) for n in (3, 4, 5) for gram in _grams(f"<{run}>", n))


def _grams(run: str, n: int) -> Iterator[str]:
    return (run[start : start + n] for start in range(len(run) - n + 1))
