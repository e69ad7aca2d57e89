"""What an encoder gives back, and the one place where it is checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ebbmem.checks import check_label, is_number, shown
from ebbmem.errors import EmbeddingError, FingerprintMismatch, InvalidInput

__all__ = ["Encoding", "Fingerprint", "TokenVectors", "encodings", "quantise"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a database remembers of its embedder.

    Attributes:
        name: "minilm-l6-v2-int8", "langchain:OpenAIEmbeddings:text-embedding-3-small".
        dimension: of the vector; 0 before the first call of a foreign embedder.
        token_dimension: of the token vectors; 0 is none.
        min_similarity: a cosine that unrelated texts rarely reach; None is unknown.
    """

    name: str
    dimension: int
    token_dimension: int = 0
    min_similarity: float | None = None

    def __post_init__(self) -> None:
        check_label("embedder name", self.name)
        limit = self.min_similarity
        if limit is not None and not (is_number(limit) and -1.0 <= limit <= 1.0):
            raise InvalidInput("min_similarity", f"must lie in [-1, 1], not {shown(limit)}")

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension})" if self.dimension else self.name

    def accepts(self, other: Fingerprint) -> bool:
        """Whether vectors of `other` may stand beside ours; unknown shapes are not compared."""
        if self.name != other.name:
            return False
        if not (self.dimension and other.dimension):
            return True
        ours = (self.dimension, self.token_dimension)
        return ours == (other.dimension, other.token_dimension)

    def require(self, other: Fingerprint) -> None:
        """Raise `FingerprintMismatch` naming both unless vectors of `other` are accepted."""
        if not self.accepts(other):
            raise FingerprintMismatch(str(self), str(other))


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """Vectors of a text's pieces, direction only: the unit vector is codes / ||codes||.

    Attributes:
        ids: (n,) of the pieces in the embedder's vocabulary.
        codes: (n, token_dimension), the largest of each row is +-127.
    """

    ids: NDArray[np.int32] = field(repr=False)
    codes: NDArray[np.int8] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """One text as the bank uses it; `vector` (d,) has unit norm or is all zero."""

    vector: NDArray[np.float32] = field(repr=False)
    tokens: TokenVectors | None = None


def quantise(
    ids: Sequence[int] | NDArray[np.integer], vectors: NDArray[np.floating]
) -> TokenVectors:
    """Directions of (n, d) finite vectors in eight bits; rows of zeros stay zeros."""
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    codes = np.rint(vectors / np.where(peaks > 0, peaks, 1) * 127)
    return TokenVectors(np.asarray(ids, dtype=np.int32), codes.astype(np.int8))


def encodings(
    name: str, rows: object, texts: int, *, tokens: object = None, known: Fingerprint
) -> list[Encoding]:
    """What embedder `name` gave for so many `texts`, checked, as unit vectors.

    Args:
        rows: (texts, d) as an array or an iterable of rows.
        tokens: a pair (ids, vectors) for each text, or None.
        known: the fingerprint so far; its dimensions bind unless they are 0.
    """
    vectors = _unit(_matrix(name, rows, texts, known.dimension))
    if tokens is None:
        return [Encoding(vector) for vector in vectors]
    pairs = list(_items(name, tokens))
    _check_count(name, "token lists", len(pairs), texts)
    bound = known.token_dimension
    checked: list[TokenVectors] = []
    for index, pair in enumerate(pairs):
        checked.append(_token_vectors(name, index, pair, bound))
        bound = checked[-1].codes.shape[1]
    return [Encoding(vector, each) for vector, each in zip(vectors, checked, strict=True)]


def _matrix(name: str, rows: object, texts: int, dimension: int) -> NDArray[np.float64]:
    """(texts, d) finite numbers, or an error that says which row is not."""
    items = list(_items(name, rows))
    _check_count(name, "rows", len(items), texts)
    checked = [_row(name, index, item) for index, item in enumerate(items)]
    for index, row in enumerate(checked):
        if dimension and len(row) != dimension:
            raise EmbeddingError(
                f"embedder {name}: row {index} has dimension {len(row)}, expected {dimension}"
            )
        dimension = len(row)
    return np.stack(checked)


def _items(name: str, value: object) -> Iterable[object]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        return value
    raise EmbeddingError(f"embedder {name}: gave a {type(value).__name__} in place of rows")


def _check_count(name: str, what: str, given: int, texts: int) -> None:
    if given != texts:
        raise EmbeddingError(f"embedder {name}: gave {given} {what} for {texts} texts")


def _row(name: str, index: int, item: object) -> NDArray[np.float64]:
    row = _numbers(name, f"row {index}", item)
    if row.ndim != 1 or not len(row):
        raise EmbeddingError(f"embedder {name}: row {index} has shape {row.shape}, expected (d,)")
    return row


def _numbers(name: str, what: str, item: object) -> NDArray[np.float64]:
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"embedder {name}: {what} is not numbers") from error
    if not np.isfinite(array).all():
        raise EmbeddingError(f"embedder {name}: {what} holds NaN or infinity")
    return array


def _token_vectors(name: str, index: int, pair: object, dimension: int) -> TokenVectors:
    what = f"token list {index}"
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise EmbeddingError(f"embedder {name}: {what} is not a pair of ids and vectors")
    ids = _numbers(name, f"{what} (ids)", pair[0])
    vectors = _numbers(name, what, pair[1])
    if vectors.ndim != 2 or not vectors.shape[1] or ids.shape != vectors.shape[:1]:
        shapes = f"ids {ids.shape} and vectors {vectors.shape}"
        raise EmbeddingError(f"embedder {name}: {what} has {shapes}, expected (n,) and (n, d)")
    if dimension and vectors.shape[1] != dimension:
        found = f"dimension {vectors.shape[1]}, expected {dimension}"
        raise EmbeddingError(f"embedder {name}: {what} has {found}")
    if len(ids) and not (ids.min() >= 0 and ids.max() < 2**31):
        raise EmbeddingError(f"embedder {name}: {what} has ids outside [0, 2**31)")
    return quantise(ids.astype(np.int64), vectors)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    # Dividing by the peak first keeps the squares of huge and tiny numbers within range.
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(peaks > 0, peaks, 1)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(norms > 0, norms, 1)).astype(np.float32)
