"""An encoder that reads every text once, so that what is compared shares its vectors."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ebbmem.embedding.base import Encoder, Encoding, Fingerprint

__all__ = ["CachedEncoder"]


class CachedEncoder(Encoder):
    """Another encoder with a memory of its texts; give it to banks and to baselines alike.

    Attributes:
        seconds: CPU time spent encoding so far, by all threads of the process.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._documents: dict[str, Encoding] = {}
        self._queries: dict[str, tuple[Encoding, float]] = {}
        self.seconds = 0.0

    @property
    def fingerprint(self) -> Fingerprint:
        return self._encoder.fingerprint

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            began = time.process_time()
            found = self._encoder.encode_documents(missing)
            self.seconds += time.process_time() - began
            self._documents |= zip(missing, found, strict=True)
        return [self._documents[text] for text in texts]

    def encode_query(self, text: str) -> Encoding:
        if text not in self._queries:
            began = time.process_time()
            found = self._encoder.encode_query(text)
            spent = time.process_time() - began
            self.seconds += spent
            self._queries[text] = (found, spent)
        return self._queries[text][0]

    def covers(self, text: str) -> bool:
        return self._encoder.covers(text)

    def forget_documents(self) -> None:
        """Let go of the encodings of documents: a stream of them need not stay in memory."""
        self._documents.clear()

    def query_seconds(self, text: str) -> float:
        """CPU time that this query took when it was encoded; 0 if it never was."""
        return self._queries[text][1] if text in self._queries else 0.0
