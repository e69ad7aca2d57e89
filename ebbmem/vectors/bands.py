"""The exact top k of any score that grows with similarity and with strength, for less than a scan.

Strength only falls until a memory is used, so a strength that was true once bounds it from above
for as long as nobody touches the row. Rows lie in the order of that bound:

    segment   order  | row 17  row 4 | row 9  row 30  row 2  row 11 | row 5  ...        ... row 8 |
              bound  | .98     .95   | .90    .81     .77    .70    | .66    ...            .003  |
              code   | int8    int8  | int8   int8    int8   int8   | int8   ...            int8  |
                       band 1, top .98  band 2, top .90               band 3, top .66

    loose     rows that came or grew stronger since: compared in full

Why nothing is lost, for a score g(similarity, strength) that no argument lowers as it grows:

1. Every row is loose or in a segment with a bound that its strength does not exceed.
2. A row of a band whose top is b scores at most g(1, b). Bands are visited from the greatest top
   down; when g(1, b) lies under the k-th best score so far, no band that is left can matter.
3. Within a band int8 codes give a similarity that is off by at most e, so a row with bound s scores
   at most g(approximate + e, s). Only rows that could thereby reach the k-th best are compared in
   full, and only with their full vector and their strength of now are they scored.

   e: with x = x' + r and q = q' + s, of which x' and q' are what the codes stand for,
   |<x, q> - <x', q'>| = |<r, q> + <x', s>| <= |r| |q| + |x'| |s|          (Cauchy-Schwarz)

A row may stand in two places, where it was and where it is since it was used: it is scored by its
strength of now in both, so it can only be met twice, and counts once. So segments are never
changed, and readers need no lock.

The kernel is that of FAISS' scalar quantiser, called in the caller's thread over our own array:
`search` would start FAISS' threads, and a query that is not scaled to int8 would be cut to zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem.vectors.base import Floats
from ebbmem.vectors.flat import products

__all__ = ["Bands", "Layout", "Score", "Segment", "Top"]

Rows = NDArray[np.int64]
Codes = NDArray[np.uint8]
Score = Callable[[Floats, Floats], Floats]
"""Of similarities (m,) and strengths (m,): (m,), monotone in both. What is -inf is never found."""

Strengths = Callable[[Rows], Floats]
"""Strengths (m,) of some rows now."""

FIRST_BAND = 4096
"""Rows of the strongest band: enough for a first k-th best, few enough to cost nothing."""

LAST_BAND = 32_768
"""Rows of a band at most: each is twice the one before, so that stopping early costs little."""

LOOSE_SHARE = 0.002
"""Of all rows, how many may be loose before they are ordered: they are compared in full."""

LOOSE_ROWS = 1024
"""Loose rows that are never worth ordering: comparing them takes a twentieth of a millisecond."""

_HEADROOM = 1.25  # of the codes' range over the greatest component of the first rows
_ROUNDING = 5e-5  # of sums in float32, which int8 products of 1,000 components exceed
_GRID = np.linspace(-1.0, 1.0, 257, dtype=np.float32)  # on which a least similarity is looked for
_PLACES = np.arange(LAST_BAND, dtype=np.int64)  # names of the rows of a band
_CHUNK = 32  # rows that are compared in full before the k-th best is looked at again


@dataclass(frozen=True, slots=True)
class Top:
    """The best rows, best first, equals by their number.

    Attributes:
        rows, scores, similarities: (m,), m <= k.
        scanned: rows whose codes or vectors were read; `rescored`: in full, loose ones included.
    """

    rows: Rows
    scores: Floats
    similarities: Floats
    scanned: int
    rescored: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows in the order of a bound of their strength, with int8 codes of their vectors.

    Attributes:
        rows: (n,) their numbers.
        codes: (n, d) components times `scale`, plus 128.
        residuals: (n,) length of what the codes leave out.
        bounds: (n,) what no strength exceeds.
        starts: (b + 1,) where bands begin; `tops`: (b,) the greatest bound of each.
        errors: (b,) the greatest residual of each.
    """

    rows: Rows
    codes: Codes
    residuals: Floats
    bounds: Floats
    starts: Rows
    tops: Floats
    errors: Floats

    @classmethod
    def of(cls, rows: Rows, codes: Codes, residuals: Floats, bounds: Floats) -> Segment:
        """From rows in any order."""
        order = np.argsort(-bounds, kind="stable")
        starts = _starts(len(rows))
        bounds, residuals = bounds[order], residuals[order]
        return cls(
            rows=rows[order],
            codes=codes[order],
            residuals=residuals,
            bounds=bounds,
            starts=starts,
            tops=np.maximum.reduceat(bounds, starts[:-1]),
            errors=np.maximum.reduceat(residuals, starts[:-1]),
        )

    def refreshed(self, strengths: Floats) -> Segment:
        """The same rows with their strengths of now (n,) as bounds; nothing moves."""
        tops = np.maximum.reduceat(strengths, self.starts[:-1])
        return replace(self, bounds=strengths, tops=tops)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(each.nbytes for each in (self.rows, self.codes, self.residuals, self.bounds))


@dataclass(frozen=True, slots=True)
class Layout:
    """What a reader works on; later changes make another one.

    Attributes:
        segments: of rows that are ordered.
        loose: (l,) numbers of rows that are not.
        scale: of the codes, 127 over the greatest component they can say.
    """

    segments: tuple[Segment, ...]
    loose: Rows
    scale: float

    def top(
        self,
        vectors: Floats,
        query: Floats,
        k: int,
        score: Score,
        strengths: Strengths,
        *,
        bounded: bool = True,
    ) -> Top:
        """The rows of the k best scores.

        Args:
            vectors: (n, d) of all rows, by number.
            query: (d,) unit vector.
            score, strengths: see `Score` and `Strengths`; a row may be kept out by a strength of
                -inf, if the score makes -inf of that.
            bounded: False if the stored bounds are none: at a time before they were taken, or by
                a slower curve. Then every band is read, and the answer is as exact.
        """
        found = _Best(vectors, np.ascontiguousarray(query, np.float32), k, score, strengths)
        found.compare(self.loose)
        scanned = len(self.loose)
        coded, error = _coded_query(found.query, self.scale)
        kernel = _Kernel(coded)
        bands = [
            (float(segment.tops[at]) if bounded else 1.0, segment, at)
            for segment in self.segments
            for at in range(len(segment.tops))
        ]
        for ceiling, segment, at in sorted(bands, key=lambda each: -each[0]):
            if not found.may_enter(1.0, ceiling):
                break
            first, last = segment.starts[at], segment.starts[at + 1]
            residual = float(segment.errors[at])
            off = residual + (1.0 + residual) * error.length + _ROUNDING
            least = found.least_similarity(ceiling) - off
            places, coarse = kernel.above(segment.codes[first:last], least / error.factor)
            scanned += int(last - first)
            found.consider(
                segment.rows[first:last][places],
                coarse * np.float32(error.factor),
                np.float32(off),
                segment.bounds[first:last][places] if bounded else None,
            )
            if k <= _CHUNK:  # a few vectors in full now save reading codes of weaker bands
                found.settle(chunks=2)
        found.settle()
        return found.top(scanned)


class Bands:
    """The order of a growing number of rows. One writer at a time; readers take `layout`."""

    def __init__(self) -> None:
        self._segments: tuple[Segment, ...] = ()
        self._ordered = 0  # rows up to here are in a segment, or loose by name
        self._loose: set[int] = set()
        self._rows = 0
        self._scale = 0.0

    def __len__(self) -> int:
        return self._rows

    def extend(self, count: int) -> None:
        """So many rows were added at the end."""
        self._rows += count

    def loosen(self, rows: Sequence[int]) -> None:
        """Some rows may be stronger now than they were."""
        self._loose.update(row for row in rows if row < self._ordered)

    @property
    def loose(self) -> int:
        """Rows that are compared in full."""
        return len(self._loose) + self._rows - self._ordered

    @property
    def is_due(self) -> bool:
        """Whether ordering the loose rows pays."""
        return self.loose > max(LOOSE_ROWS, LOOSE_SHARE * self._rows)

    @property
    def layout(self) -> Layout:
        """As it is now."""
        named = np.fromiter(self._loose, np.int64, len(self._loose))
        tail = np.arange(self._ordered, self._rows)
        return Layout(self._segments, np.concatenate((named, tail)), self._scale)

    @property
    def nbytes(self) -> int:
        """Bytes of the segments."""
        return sum(each.nbytes for each in self._segments)

    def order(self, vectors: Floats, strengths: Strengths) -> None:
        """Put the loose rows into a segment, and join segments that are no larger than it.

        A row is moved as often as the number of rows can be halved, so the cost of a row is
        constant but for that.

        Args:
            vectors: (n, d) of all rows.
            strengths: -inf for what is gone for good: it gets no place.
        """
        rows = np.sort(self.layout.loose)
        bounds = strengths(rows)
        rows, bounds = rows[bounds > -np.inf], bounds[bounds > -np.inf]
        if self._scale == 0.0 and len(rows):
            greatest = max(float(np.abs(vectors[rows]).max()), 1e-6)
            self._scale = 127.0 / (_HEADROOM * greatest)
        codes, residuals = _coded(vectors, rows, self._scale)
        segments = list(self._segments)
        while segments and len(segments[-1].rows) <= 2 * len(rows):
            rows, codes, residuals, bounds = _joined(
                segments.pop(), rows, codes, residuals, bounds, strengths
            )
        if len(rows):
            segments.append(Segment.of(rows, codes, residuals, bounds))
        self._segments, self._ordered = tuple(segments), self._rows
        self._loose = set()

    def refresh(self, strengths: Strengths) -> None:
        """Lower the bounds to the strengths of now, so that more bands need not be read.

        Loose rows stay loose: for those, what a segment says is no bound.
        """
        self._segments = tuple(each.refreshed(strengths(each.rows)) for each in self._segments)


class _Best:
    """The k best rows so far, and what another one must reach.

    Rows that were read as codes wait with the least and the most that they can score; those that
    can still be among the best are compared in full at the end, when most of them no longer can.
    """

    def __init__(
        self, vectors: Floats, query: Floats, k: int, score: Score, strengths: Strengths
    ) -> None:
        self.query = query
        self._vectors = vectors
        self._k = k
        self._score = score
        self._strengths = strengths
        self._rows, self._waiting = np.empty((2, 0), np.int64)
        self._scores, self._similarities, self._most, self._least = np.empty((4, 0), np.float32)
        self._rescored = 0
        self._kth = -np.inf

    def may_enter(self, similarity: float, strength: float) -> bool:
        """Whether a row of at most this similarity and strength could be among the best."""
        ceiling = np.full(1, similarity, np.float32), np.full(1, strength, np.float32)
        return bool(self._able(self._score(*ceiling))[0])

    def least_similarity(self, strength: float) -> float:
        """A similarity under which no row of at most this strength could be among the best."""
        if self._kth == -np.inf:
            return -2.0
        reached = self._score(_GRID, np.full(len(_GRID), strength, np.float32))
        able = np.flatnonzero(self._able(reached))
        if not len(able):
            return 2.0
        return float(_GRID[able[0] - 1]) if able[0] else -2.0

    def consider(
        self, rows: Rows, similarities: Floats, off: np.float32, bounds: Floats | None
    ) -> None:
        """Let rows wait whose similarities are known but for `off`.

        Args:
            bounds: (m,) of their strengths; None where there are none.
        """
        if bounds is not None:  # of most rows it is not worth knowing the strength of now
            able = self._able(self._score(similarities + off, bounds))
            rows, similarities = rows[able], similarities[able]
        if len(self._rows) or len(self._waiting):
            new = ~(np.isin(rows, self._waiting) | np.isin(rows, self._rows))
            rows, similarities = rows[new], similarities[new]
        strong = self._strengths(rows)
        most = self._score(similarities + off, strong)
        able = self._able(most)
        least = self._score(similarities[able] - off, strong[able])
        self._waiting = np.concatenate((self._waiting, rows[able]))
        self._most = np.concatenate((self._most, most[able]))
        self._least = np.concatenate((self._least, least))
        self._raise()

    def settle(self, *, chunks: int | None = None) -> None:
        """Compare in full what waits and could be among the best, the most promising first.

        Args:
            chunks: after so many let the rest wait; None leaves none.
        """
        step = max(_CHUNK, self._k)
        while len(self._waiting) and chunks != 0:
            first = np.argsort(-self._most, kind="stable")[:step]
            rows, later = self._waiting[first], np.ones(len(self._waiting), bool)
            later[first] = False
            self._keep_waiting(later)
            self.compare(rows)  # drops from the rest what can no longer be among the best
            chunks = None if chunks is None else chunks - 1

    def compare(self, rows: Rows) -> None:
        """Score some rows in full, each met for the first time, and keep the best."""
        if not len(rows):
            return
        self._rescored += len(rows)
        similarities = products(self._vectors[rows], self.query)
        scores = self._score(similarities, self._strengths(rows))
        kept = self._able(scores)
        rows = np.concatenate((self._rows, rows[kept]))
        scores = np.concatenate((self._scores, scores[kept]))
        similarities = np.concatenate((self._similarities, similarities[kept]))
        best = np.lexsort((rows, -scores))[: self._k]
        self._rows, self._scores, self._similarities = rows[best], scores[best], similarities[best]
        self._raise()

    def top(self, scanned: int) -> Top:
        return Top(self._rows, self._scores, self._similarities, scanned, self._rescored)

    def _able(self, scores: Floats) -> NDArray[np.bool_]:
        return (scores >= self._kth) & (scores > -np.inf)

    def _raise(self) -> None:
        """Take the k-th best of what is known at least as what another row must reach."""
        known = np.concatenate((self._scores, self._least))
        if len(known) < self._k:
            return
        self._kth = max(self._kth, float(np.partition(known, -self._k)[-self._k]))
        self._keep_waiting(self._most >= self._kth)

    def _keep_waiting(self, still: NDArray[np.bool_]) -> None:
        self._waiting, self._most = self._waiting[still], self._most[still]
        self._least = self._least[still]


# -- codes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Error:
    """What a coded query leaves out, and what makes a similarity of a product of codes."""

    length: float
    factor: float


def _starts(count: int) -> Rows:
    """Where bands begin, the end included."""
    starts, size = [0], FIRST_BAND
    while starts[-1] + size < count:
        starts.append(starts[-1] + size)
        size = min(2 * size, LAST_BAND)
    return np.array([*starts, count] if count else [0], np.int64)


def _coded(vectors: Floats, rows: Rows, scale: float) -> tuple[Codes, Floats]:
    """Codes of some rows (m, d), and the length (m,) of what each leaves out."""
    codes = np.empty((len(rows), vectors.shape[1]), np.uint8)
    residuals = np.empty(len(rows), np.float32)
    for at in range(0, len(rows), FIRST_BAND):  # a block at a time: float32 of all is gigabytes
        block = vectors[rows[at : at + FIRST_BAND]]
        rounded = np.clip(np.rint(block * scale), -127.0, 127.0)
        residuals[at : at + FIRST_BAND] = np.linalg.norm(block - rounded / scale, axis=1)
        codes[at : at + FIRST_BAND] = (rounded + 128.0).astype(np.uint8)
    return codes, residuals


def _coded_query(query: Floats, scale: float) -> tuple[Floats, _Error]:
    greatest = float(np.abs(query).max(initial=0.0))
    if greatest < 1e-12 or scale == 0.0:
        return np.zeros_like(query), _Error(float(np.linalg.norm(query)), 1.0)
    own = 127.0 / greatest
    coded = np.rint(query * np.float32(own)).astype(np.float32)
    left = float(np.linalg.norm(query - coded / np.float32(own)))
    return coded, _Error(left, 1.0 / (own * scale))


def _joined(
    segment: Segment,
    rows: Rows,
    codes: Codes,
    residuals: Floats,
    bounds: Floats,
    strengths: Strengths,
) -> tuple[Rows, Codes, Floats, Floats]:
    """A segment's rows with others; of what stands in both the other stays, what is gone goes."""
    now = strengths(segment.rows)
    kept = np.flatnonzero((now > -np.inf) & ~np.isin(segment.rows, rows))
    return (
        np.concatenate((rows, segment.rows[kept])),
        np.concatenate((codes, segment.codes[kept])),
        np.concatenate((residuals, segment.residuals[kept])),
        np.concatenate((bounds, now[kept])),
    )


class _Kernel:
    """FAISS' products of int8 codes with one query. No two threads may share one."""

    def __init__(self, coded: Floats) -> None:
        import faiss  # on first use: importing it takes as long as everything else together

        self._faiss: Any = faiss
        self._coded, self._quantiser = coded, _quantiser(len(coded))  # the scanner points to them
        self._scanner = self._quantiser.get_InvertedListScanner(False, None, None)
        self._scanner.set_query(faiss.swig_ptr(coded))
        self._scanner.set_list(0, 0.0)

    def above(self, codes: Codes, least: float) -> tuple[Rows, Floats]:
        """Places of products over `least`, and the products, of the codes of one band."""
        faiss = self._faiss
        result = faiss.RangeSearchResult(1)
        partial = faiss.RangeSearchPartialResult(result)
        self._scanner.scan_codes_range(
            len(codes),
            faiss.swig_ptr(codes),
            faiss.swig_ptr(_PLACES),
            least,
            partial.new_result(0),
        )
        partial.finalize()
        found = int(faiss.rev_swig_ptr(result.lims, 2)[1])
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        places = faiss.rev_swig_ptr(result.labels, found).copy()
        return places, faiss.rev_swig_ptr(result.distances, found).copy()


@lru_cache(maxsize=8)
def _quantiser(dimension: int) -> Any:
    import faiss

    made = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dimension),
        dimension,
        1,
        faiss.ScalarQuantizer.QT_8bit_direct_signed,
        faiss.METRIC_INNER_PRODUCT,
        False,
    )
    made.is_trained = True  # there is nothing to train: codes are the numbers themselves
    return made
