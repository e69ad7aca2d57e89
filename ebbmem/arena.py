"""One namespace in memory: a cache fed only by `store.changes`, and snapshots for readers.

Rows and passages are numbered in the order they came and never move: an edited memory gets
a new row and its old one dies, an erased one dies. Readers work on an immutable snapshot;
the lock covers only catching up and taking one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem.cues import is_question
from ebbmem.embedding.base import Fingerprint
from ebbmem.graph import MAX_DEGREE, SIMILAR_SHARE, Edge, strongest
from ebbmem.growing import Growing
from ebbmem.lexical import KeywordIndex, Postings
from ebbmem.policy import Policy
from ebbmem.ranking import conversational
from ebbmem.records import Namespace
from ebbmem.relevance import Pieces
from ebbmem.store.base import Change, Content, MemoryStore, Passage, State
from ebbmem.text import count_words, keywords, passages, spoken
from ebbmem.vectors import FlatIndex, VectorIndex

__all__ = ["ACTIVE", "FADED", "GONE", "Arena", "Snapshot"]

ACTIVE, FADED, GONE = 0, 1, 2
_STATUS = {"active": ACTIVE, "faded": FADED}
_MANY_DEAD = 1000  # rows: with more dead than alive beyond this the arena starts over

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a search reads; n rows (memories), p passages, dead ones included.

    Instants are microseconds. `before` and `after` are the neighbours in the same source, -1
    where there is none. `passage_start` has n + 1 entries.
    """

    ids: list[str]
    row_of: dict[str, int]
    active_days: tuple[int, ...]
    conversational: float
    created: Ints
    started: Ints
    count: Ints
    base_rate: NDArray[np.float64]
    importance: NDArray[np.float64]
    status: Ints
    pinned: NDArray[np.bool_]
    held: NDArray[np.bool_]
    category: Ints
    source: Ints
    before: Ints
    after: Ints
    question: NDArray[np.bool_]
    passage_row: Ints
    passage_start: Ints
    spans: Ints
    index: VectorIndex | None
    vectors: NDArray[np.float32] | None
    pieces: Pieces | None
    categories: tuple[str, ...]
    sources: dict[str, int]

    def alive(self) -> NDArray[np.bool_]:
        """(n,) rows that exist, faded ones included."""
        return np.asarray(self.status != GONE)

    def best_passages(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) the best of each row's passages of (p,) values."""
        if len(values) == len(self.status):  # every memory is one passage
            return values
        return np.asarray(np.maximum.reduceat(values, self.passage_start[:-1]))


class Arena:
    """The cache of one namespace. `make_index` builds the vector index of a dimension."""

    def __init__(
        self,
        store: MemoryStore,
        ns: Namespace,
        *,
        make_index: type[FlatIndex] | Any = FlatIndex,
    ) -> None:
        self.lock = threading.RLock()
        self._store = store
        self._ns = ns
        self._make_index = make_index
        self._reset()

    def _reset(self) -> None:
        self._seq = 0
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._active_days: tuple[int, ...] = ()
        self.embedder: Fingerprint | None = None
        self._columns = {name: Growing(kind) for name, kind in _COLUMNS.items()}
        self._passage_row = Growing("int64")
        self._passage_start = Growing("int64")
        self._passage_start.append(0)
        self._spans = Growing("int64", 2)
        self._keywords = KeywordIndex()
        self._index: VectorIndex | None = None
        self._codes: Growing | None = None
        self._norms = Growing("float32")
        self._piece_ids = Growing("int32")
        self._piece_start = Growing("int64")
        self._piece_start.append(0)
        self._piece_df = np.zeros(1024, np.int32)
        self._names: dict[str, dict[str, int]] = {"category": {}, "source": {}, "speaker": {}}
        self._order: dict[int, list[tuple[int, int]]] = {}
        self._links: dict[str, tuple[tuple[str, float], ...]] = {}
        self._neighbours: dict[int, tuple[int, list[tuple[int, float]]]] = {}
        self._dead = 0
        self._snapshot: Snapshot | None = None
        self._conversational = 0.0

    # -- catching up -------------------------------------------------------------------------

    def catch_up(self, policy: Policy) -> None:
        """Read what changed since the last call: usually one query that finds nothing."""
        with self.lock:
            changes = self._store.changes(self._ns, self._seq)
            if changes.reset or self._dead > max(_MANY_DEAD, len(self._row_of)):
                self._reset()
                changes = self._store.changes(self._ns, 0)
            if changes.rows or changes.active_days != self._active_days:
                self._snapshot = None
            content = any(change.content or change.state is None for change in changes.rows)
            for change in sorted(changes.rows, key=_source_order):
                self._apply(change, policy)
            self._active_days = changes.active_days
            self.embedder = changes.embedder
            self._seq = changes.seq
            if content:
                self._conversational = self._measure()

    def _apply(self, change: Change, policy: Policy) -> None:
        row = self._row_of.get(change.id)
        if change.state is None or change.content is not None:
            if row is not None:
                self._kill(change.id, row)
            row = None
        if change.state is None:
            self._links.pop(change.id, None)
            return
        if change.content is not None:
            row = self._append(change.id, change.state, change.content)
        if row is None:  # a state without content we know: the store was read half-way
            raise AssertionError(f"state of unknown memory {change.id}")
        self._set_state(row, change.state, policy)
        self._links[change.id] = change.links

    def _set_state(self, row: int, state: State, policy: Policy) -> None:
        columns = self._columns
        columns["created"][row] = state.created_at
        columns["started"][row] = state.clock_start
        columns["count"][row] = state.recall_count
        columns["base_rate"][row] = policy.category(state.category).base_rate
        columns["importance"][row] = state.importance
        columns["status"][row] = _STATUS[state.status]
        columns["pinned"][row] = state.pinned
        columns["held"][row] = state.held
        columns["category"][row] = self._number("category", state.category)

    def _append(self, id_: str, state: State, content: Content) -> int:
        row = len(self._ids)
        self._ids.append(id_)
        self._row_of[id_] = row
        for column in self._columns.values():
            column.append(-1 if column.view().dtype == np.int64 else 0)
        self._columns["source"][row] = self._number("source", content.source)
        self._columns["speaker"][row] = self._number("speaker", content.speaker)
        self._columns["question"][row] = is_question(content.text)
        self._columns["length"][row] = count_words(content.text)
        parts = content.passages or [Passage(*span) for span in passages(content.text)]
        for part in parts:
            terms = keywords(spoken(content.speaker, content.text[part.start : part.stop]))
            self._keywords.append(terms)
            self._passage_row.append(row)
            self._spans.append((part.start, part.stop))
            self._append_encoding(part)
        self._passage_start.append(len(self._passage_row))
        self._join(row, content.position)
        return row

    def _append_encoding(self, part: Passage) -> None:
        if part.encoding is not None:
            if self._index is None:
                self._index = self._make_index(len(part.encoding.vector))
            missing = len(self._passage_row) - 1 - len(self._index)
            if missing:  # passages from before there was an embedder
                self._index.append(np.zeros((missing, len(part.encoding.vector)), np.float32))
            self._index.append(part.encoding.vector[None, :])
            tokens = part.encoding.tokens
            if tokens is not None and len(tokens.ids):
                if self._codes is None:
                    self._codes = Growing("int8", tokens.codes.shape[1])
                self._codes.extend(tokens.codes)
                norms = np.linalg.norm(tokens.codes.astype(np.float32), axis=1)
                self._norms.extend(np.maximum(norms, 1e-6))
                self._piece_ids.extend(tokens.ids)
                self._count_pieces(tokens.ids, 1)
        self._piece_start.append(len(self._norms))

    def _count_pieces(self, ids: NDArray[np.int32], step: int) -> None:
        distinct = np.unique(ids)
        if len(distinct) and int(distinct[-1]) >= len(self._piece_df):
            larger = np.zeros(2 * int(distinct[-1]) + 2, np.int32)
            larger[: len(self._piece_df)] = self._piece_df
            self._piece_df = larger
        self._piece_df[distinct] += step

    def _kill(self, id_: str, row: int) -> None:
        self._dead += 1
        del self._row_of[id_]
        self._columns["status"][row] = GONE
        first, last = self._passage_start[row], self._passage_start[row + 1]
        for passage in range(first, last):
            begin, end = self._piece_start[passage], self._piece_start[passage + 1]
            self._count_pieces(self._piece_ids.view()[begin:end], -1)
        source = int(self._columns["source"][row])
        if source in self._order:
            kept = [pair for pair in self._order[source] if pair[1] != row]
            self._order[source] = kept
        before, after = self._columns["before"], self._columns["after"]
        left, right = int(before[row]), int(after[row])
        if left >= 0:
            after[left] = right
        if right >= 0:
            before[right] = left
        before[row] = after[row] = -1

    def _join(self, row: int, position: int | None) -> None:
        """Put a row between its neighbours in its source."""
        source = int(self._columns["source"][row])
        if source < 0 or position is None:
            return
        order = self._order.setdefault(source, [])
        at = len(order)
        while at and order[at - 1][0] > position:
            at -= 1
        order.insert(at, (position, row))
        before, after = self._columns["before"], self._columns["after"]
        if at:
            before[row] = order[at - 1][1]
            after[order[at - 1][1]] = row
        if at + 1 < len(order):
            after[row] = order[at + 1][1]
            before[order[at + 1][1]] = row

    def _number(self, kind: str, name: str | None) -> int:
        if name is None:
            return -1
        return self._names[kind].setdefault(name, len(self._names[kind]))

    def _measure(self) -> float:
        columns = {name: column.view() for name, column in self._columns.items()}
        alive = columns["status"] != GONE
        return conversational(columns["speaker"], columns["before"], columns["length"], alive)

    # -- reading -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What there is now; the same object until something changes."""
        with self.lock:
            if self._snapshot is None:
                self._snapshot = self._take()
            return self._snapshot

    def _take(self) -> Snapshot:
        columns = self._columns
        pieces = None
        if self._codes is not None:
            pieces = Pieces(self._codes.view(), self._norms.view(), self._piece_start.view())
        index = self._index
        vectors = None
        if index is not None:
            missing = len(self._passage_row) - len(index)
            if missing:  # passages that came without vectors
                index.append(np.zeros((missing, index.view().shape[1]), np.float32))
            vectors = index.view()
        return Snapshot(
            ids=self._ids,  # append-only; readers know how far they may look
            row_of=dict(self._row_of),
            active_days=self._active_days,
            conversational=self._conversational,
            **{name: columns[name].copy() for name in _COPIED},
            passage_row=self._passage_row.view(),
            passage_start=self._passage_start.view(),
            spans=self._spans.view(),
            index=index,
            vectors=vectors,
            pieces=pieces,
            categories=tuple(self._names["category"]),
            sources=dict(self._names["source"]),
        )

    def view(self, terms: Sequence[str]) -> tuple[Snapshot, Postings]:
        """A snapshot, and what the keyword index of the same moment has on some terms."""
        with self.lock:
            return self.snapshot(), self._keywords.select(terms)

    def piece_frequency(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """In how many living passages each piece occurs."""
        with self.lock:
            known = ids < len(self._piece_df)
            return np.where(known, self._piece_df[np.where(known, ids, 0)], 0).astype(np.int32)

    def novelty(self, terms: Sequence[str]) -> float:
        """Share of distinct terms that this namespace never heard, in [0, 1]."""
        distinct = set(terms)
        with self.lock:
            new = sum(not self._keywords.knows(term) for term in distinct)
        return new / len(distinct) if distinct else 0.0

    def last_said(self, source: str | None) -> tuple[bool, int] | None:
        """(was a question, speaker number) of the last item of a source; None if it has none."""
        with self.lock:
            number = self._names["source"].get(source) if source is not None else None
            order = self._order.get(number, []) if number is not None else []
            if not order:
                return None
            row = order[-1][1]
            return bool(self._columns["question"][row]), int(self._columns["speaker"][row])

    def speaker_number(self, speaker: str | None) -> int:
        """The number of a speaker, -1 if never heard."""
        with self.lock:
            return self._names["speaker"].get(speaker, -1) if speaker is not None else -1

    # -- the graph ---------------------------------------------------------------------------

    def edges(
        self,
        snapshot: Snapshot,
        active: Mapping[int, float],
        *,
        least: float,
        adjacent: float,
        floor: float,
    ) -> dict[int, list[Edge]]:
        """The edges that leave rows of some activation; `adjacent` is the weight of order.

        Similar memories follow from the vectors, so they are found when asked for, kept, and
        completed with what came since; nothing of them is stored. They are not looked for
        where what they could pass on is not over `floor`.
        """
        found: dict[int, list[Edge]] = {}
        for row, activation in active.items():
            edges: list[Edge] = []
            if adjacent > 0.0:
                around = (int(snapshot.before[row]), int(snapshot.after[row]))
                edges += [Edge(near, "adjacent", adjacent) for near in around if near >= 0]
            for other, weight in self._links.get(snapshot.ids[row], ()):
                if (to := snapshot.row_of.get(other)) is not None:
                    edges.append(Edge(to, "linked", weight))
            if activation * SIMILAR_SHARE > floor:
                similar = self._similar(snapshot, row, least)
                edges += [Edge(to, "similar", weight) for to, weight in similar]
            found[row] = edges
        return found

    def _similar(self, snapshot: Snapshot, row: int, least: float) -> list[tuple[int, float]]:
        if snapshot.index is None or snapshot.vectors is None:
            return []
        known = len(snapshot.before)
        with self.lock:
            upto, edges = self._neighbours.get(row, (0, []))
        if any(snapshot.status[to] == GONE for to, _ in edges):
            upto, edges = 0, []  # a ninth may move up
        if upto < known:
            first, last = snapshot.passage_start[upto], snapshot.passage_start[known]
            mine = snapshot.vectors[snapshot.passage_start[row]]
            cosines = snapshot.index.inner_products(snapshot.vectors[first:last], mine)
            owners = snapshot.passage_row[first:last]
            near = np.flatnonzero(cosines >= least)
            near = near[(snapshot.status[owners[near]] != GONE) & (owners[near] != row)]
            best = dict(edges)
            for at in near[np.argsort(-cosines[near], kind="stable")].tolist():
                owner, cosine = int(owners[at]), min(float(cosines[at]), 1.0)
                best[owner] = max(best.get(owner, -1.0), cosine)
                if len(best) >= len(edges) + MAX_DEGREE:
                    break  # the rest is weaker than eight of its kind
            edges = strongest(list(best.items()), least=least)
            with self.lock:
                self._neighbours[row] = (known, edges)
        return edges


_COLUMNS = {
    "created": "int64",
    "started": "int64",
    "count": "int64",
    "base_rate": "float64",
    "importance": "float64",
    "status": "int64",
    "pinned": "bool",
    "held": "bool",
    "category": "int64",
    "source": "int64",
    "speaker": "int64",
    "before": "int64",
    "after": "int64",
    "question": "bool",
    "length": "int64",
}
_COPIED = (
    "created",
    "started",
    "count",
    "base_rate",
    "importance",
    "status",
    "pinned",
    "held",
    "category",
    "source",
    "before",
    "after",
    "question",
)  # written in place, or small


def _source_order(change: Change) -> tuple[str, int, int]:
    """Rows of a source next to each other and in order: appending them is then constant."""
    content, state = change.content, change.state
    if content is None or state is None:
        return ("", 0, 0)
    return (content.source or "", content.position or 0, state.created_at)
