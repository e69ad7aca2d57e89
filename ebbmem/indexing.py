"""The passages of one namespace: keywords, vectors and word pieces, appended side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ebbmem.embedding.base import Encoding, TokenVectors
from ebbmem.growing import Growing
from ebbmem.lexical import KeywordIndex
from ebbmem.relevance import Pieces
from ebbmem.vectors import VectorIndex

__all__ = ["PassageIndex"]


_BLOCK = 4096  # pieces whose norms are taken at once: all of them would be gigabytes


class PassageIndex:
    """Passages numbered in the order they came; `make_index` builds the vectors' index."""

    def __init__(self, make_index: Callable[[int], VectorIndex]) -> None:
        self._make_index = make_index
        self.keywords = KeywordIndex()
        self.rows = Growing("int64")
        self.spans = Growing("int64", 2)
        self.vectors: VectorIndex | None = None
        self._codes: Growing | None = None
        self._norms = Growing("float32")
        self._ids = Growing("int32")
        self._starts = Growing("int64")
        self._starts.append(0)
        self._frequency: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        grown = (self.rows, self.spans, self._norms, self._ids, self._starts)
        codes = 0 if self._codes is None else self._codes.nbytes
        vectors = 0 if self.vectors is None else self.vectors.view().nbytes
        return self.keywords.nbytes + codes + vectors + sum(each.nbytes for each in grown)

    def append(
        self,
        row: int,
        span: tuple[int, int],
        terms: Sequence[str],
        encoding: Encoding | None,
        *,
        silent: bool = False,
    ) -> None:
        """Add a passage of a row; a `silent` one is found by nothing and counts for nothing."""
        if encoding is not None:
            if self.vectors is None:
                self.vectors = self._make_index(len(encoding.vector))
            self._fill(self.vectors)
            self.vectors.append(encoding.vector[None, :])
            if encoding.tokens is not None and len(encoding.tokens.ids):
                self._append_pieces(encoding.tokens)
        self.keywords.append(terms, silent=silent)
        self.rows.append(row)
        self.spans.append(span)
        self._starts.append(len(self._ids))

    def discard(self, first: int, last: int) -> None:
        """Passages first:last died: their words and pieces no longer count."""
        for passage in range(first, last):
            self.keywords.discard(passage)
            begin, end = self._starts[passage], self._starts[passage + 1]
            self._count(self._ids.view()[begin:end], -1)

    def filled_vectors(self) -> NDArray[np.float32] | None:
        """(p, d) of all passages, zero for those that came without; None if all did."""
        if self.vectors is None:
            return None
        self._fill(self.vectors)
        return self.vectors.view()

    def pieces(self) -> Pieces | None:
        """The word pieces of all passages; None if none has any."""
        if self._codes is None:
            return None
        codes = self._codes.view()
        for start in range(len(self._norms), len(codes), _BLOCK):
            block = codes[start : start + _BLOCK].astype(np.float32)
            self._norms.extend(np.maximum(np.linalg.norm(block, axis=1), 1e-6))
        starts = self._starts.view()
        return Pieces(codes, self._norms.view(), starts[:-1], starts[1:])

    def frequency(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """In how many living passages each piece occurs."""
        return np.array([self._frequency.get(piece, 0) for piece in ids.tolist()], np.int32)

    def _fill(self, vectors: VectorIndex) -> None:
        missing = len(self.rows) - len(vectors)
        if missing:
            vectors.append(np.zeros((missing, vectors.view().shape[1]), np.float32))

    def _append_pieces(self, tokens: TokenVectors) -> None:
        if self._codes is None:
            self._codes = Growing("int8", tokens.codes.shape[1])
        self._codes.extend(tokens.codes)
        self._ids.extend(tokens.ids)
        self._count(tokens.ids, 1)

    def _count(self, ids: NDArray[np.int32], step: int) -> None:
        for piece in set(ids.tolist()):
            self._frequency[piece] = self._frequency.get(piece, 0) + step
