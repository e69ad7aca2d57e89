"""One namespace in memory: a cache fed only by `store.changes`, and snapshots for readers.

Rows are numbered in the order they came and never move: an edited memory gets a new row and
its old one dies, an erased one dies. Readers work on an immutable snapshot; the lock covers
only catching up and taking one.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem import asking
from ebbmem.asking import MANY_SPEAKERS
from ebbmem.clock import DAY, NEVER
from ebbmem.cues import is_question
from ebbmem.currency import marks
from ebbmem.embedding.base import Fingerprint
from ebbmem.graph import MAX_DEGREE, SIMILAR_SHARE, Edge, strongest
from ebbmem.growing import Growing
from ebbmem.indexing import PassageIndex
from ebbmem.languages import LANGUAGES, Language
from ebbmem.lexical import Postings
from ebbmem.policy import Policy
from ebbmem.ranking import conversational
from ebbmem.records import TRUSTS, Namespace
from ebbmem.snapshot import ACTIVE, FADED, GONE, Order, Snapshot, sample
from ebbmem.store.base import Change, Content, MemoryStore, Passage, State
from ebbmem.text import count_words, passages, words
from ebbmem.text import terms as keyword_terms
from ebbmem.vectors import FlatIndex, VectorIndex
from ebbmem.vectors.bands import Bands

__all__ = ["Arena"]

_STATUS = {"active": ACTIVE, "faded": FADED}
_TRUST = {trust: number for number, trust in enumerate(TRUSTS)}
_MANY_DEAD = 1000  # rows: with more dead than alive beyond this the arena starts over
_REFRESH = DAY // 24  # after which the bounds of strength are lowered to what it is by then
_MANY_PASSAGES = 8  # of a memory that stand for it in the graph: its beginning
_STATE = (
    ("created", "i8"),
    ("started", "i8"),
    ("reinforced", "i8"),
    ("count", "i8"),
    ("importance", "f8"),
    ("status", "i8"),
    ("pinned", "?"),
    ("expires", "i8"),
    ("superseded", "i8"),
    ("held", "?"),
    ("category", "i8"),
)
_STATUS_AT = [name for name, _ in _STATE].index("status")
_CONTENT = (
    ("source", "i8"),
    ("speaker", "i8"),
    ("question", "?"),
    ("marks", "i8"),
    ("holds", "i8"),
    ("names", "i8"),
    ("searchable", "?"),
    ("trust", "i1"),
    ("length", "i8"),
    ("position", "i8"),
    ("before", "i8"),
    ("after", "i8"),
)
_COPIED = [name for name, _ in (*_STATE, *_CONTENT) if name != "position"]


class Arena:
    """The cache of one namespace. `make_index` builds the vector index of a dimension."""

    def __init__(
        self,
        store: MemoryStore,
        ns: Namespace,
        *,
        make_index: Callable[[int], VectorIndex] = FlatIndex,
        languages: tuple[Language, ...] = LANGUAGES,
    ) -> None:
        self.lock = threading.RLock()
        self._store = store
        self.namespace = ns
        self._make_index = make_index
        self.cues = tuple(each.cues for each in languages)
        self._vocabularies = tuple(each.asking for each in languages)
        self._wordings = tuple(each.slots for each in languages)
        self._generation = 0
        self._reset()

    def _reset(self) -> None:
        self.embedder: Fingerprint | None = None
        self.policy: str | None = None  # as stored
        self._seq = 0
        self._generation += 1
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self.active_days: tuple[int, ...] = ()
        self._rows = Growing(np.dtype([*_STATE, *_CONTENT]))
        self._passages = PassageIndex(self._make_index)
        self._passage_start = Growing("int64")
        self._passage_start.append(0)
        self._names: dict[str, dict[str, int]] = {"category": {}, "source": {}, "speaker": {}}
        self._named: list[frozenset[str]] = []  # names in each row
        self._lines: Counter[int] = Counter()  # living rows of each speaker, by number
        self._speaker_words: frozenset[str] = frozenset()  # names that tell a row from no other
        self._recount = False  # speakers came or went since names were counted
        self._order: dict[int, list[tuple[int, int, str, int]]] = {}
        self._links: dict[str, tuple[tuple[str, float], ...]] = {}
        self._neighbours: dict[int, tuple[int, list[tuple[int, float]]]] = {}
        self._dead = 0
        self._silent = 0  # passages of what no query finds: they say nothing
        self.active = 0  # memories that the store has as active
        self._snapshot: Snapshot | None = None
        self._conversational: float | None = None  # measured when somebody asks
        self._bands = Bands()
        self._ordering: Order | None = None  # of a large namespace, from its first search on

    # -- catching up -------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Read what changed since the last call: usually one query that finds nothing."""
        with self.lock:
            changes = self._store.changes(self.namespace, self._seq)
            if changes.reset or self._dead > max(_MANY_DEAD, len(self._row_of)):
                self._reset()
                changes = self._store.changes(self.namespace, 0)
            renewed = any(each.content or each.state is None for each in changes.rows)
            if renewed:
                self._snapshot = None
            try:
                for change in sorted(changes.rows, key=_source_order):
                    self._apply(change)
            except BaseException:  # interrupted half-way: start over next time
                self._reset()
                raise
            moved = changes.active_days != self.active_days
            self.active_days = changes.active_days
            self.embedder = changes.embedder
            self.policy = changes.policy
            self._seq = changes.seq
            if renewed:
                self._conversational = None
            elif self._snapshot is not None and (changes.rows or moved):
                self._snapshot = self._with_states(self._snapshot)

    def _apply(self, change: Change) -> None:
        row = self._row_of.get(change.id)
        if row is not None and (change.state is None or change.content is not None):
            self._kill(change.id, row)
        if change.state is None:
            self._links.pop(change.id, None)
            return
        facts = self._facts(change.state)
        if change.content is not None:
            self._append(change.id, facts, change.content)
        elif row is not None:
            self._bands.loosen(range(self._passage_start[row], self._passage_start[row + 1]))
            record = self._rows[row]
            self.active += (change.state.status == "active") - (int(record["status"]) == ACTIVE)
            for (name, _), value in zip(_STATE, facts, strict=True):
                record[name] = value
        if change.links is not None:
            self._links[change.id] = change.links

    def _facts(self, state: State) -> tuple[object, ...]:
        """The values of `_STATE`."""
        return (
            state.created_at,
            state.clock_start,
            -1 if state.last_reinforced_at is None else state.last_reinforced_at,
            state.recall_count,
            state.importance,
            _STATUS[state.status],
            state.pinned,
            NEVER if state.expires_at is None else state.expires_at,
            NEVER if state.superseded_at is None else state.superseded_at,
            state.held,
            self._number("category", state.category),
        )

    def _append(self, id_: str, facts: tuple[object, ...], content: Content) -> None:
        row = len(self._ids)
        self.active += facts[_STATUS_AT] == ACTIVE
        self._ids.append(id_)
        self._row_of[id_] = row
        text, speaker = content.text, content.speaker
        heard = words(text)
        self._named.append(asking.names(text))
        number = self._number("speaker", speaker)
        self._hear(number, 1)
        said = (
            self._number("source", content.source),
            number,
            is_question(text, self.cues),
            marks(text, self._wordings, heard=heard),
            asking.marks(text, heard, self._vocabularies),
            asking.count_names(self._named[-1], self._speaker_words),
            content.searchable,
            _TRUST[content.trust],
            count_words(text),
            -1 if content.position is None else content.position,
            -1,
            -1,
        )
        self._rows.append((*facts, *said))
        if not content.searchable:  # a row needs a passage; this one says nothing
            self._passages.append(row, (0, len(text)), [], None, silent=True)
            self._silent += 1
            self._passage_start.append(len(self._passages))
            return
        parts = content.passages or [Passage(*span) for span in passages(text)]
        for part in parts:
            said_words = heard if len(parts) == 1 else words(text[part.start : part.stop])
            terms = keyword_terms([*words(speaker or ""), *said_words])
            self._passages.append(row, (part.start, part.stop), terms, part.encoding)
        self._passage_start.append(len(self._passages))
        self._join(row, content.position)

    def _kill(self, id_: str, row: int) -> None:
        self._dead += 1
        del self._row_of[id_]
        self._hear(int(self._rows[row]["speaker"]), -1)
        self._passages.discard(self._passage_start[row], self._passage_start[row + 1])
        rows = self._rows.view()
        self.active -= int(rows["status"][row]) == ACTIVE
        rows["status"][row] = GONE
        left, right = int(rows["before"][row]), int(rows["after"][row])
        order = self._order.get(int(rows["source"][row]), [])
        place = self._place(row)
        at = bisect_left(order, place)
        if at < len(order) and order[at] == place:
            del order[at]
        if left >= 0:
            rows["after"][left] = right
        if right >= 0:
            rows["before"][right] = left
        rows["before"][row] = rows["after"][row] = -1

    def _join(self, row: int, position: int | None) -> None:
        """Put a row between its neighbours in its source."""
        rows = self._rows.view()
        source = int(rows["source"][row])
        if source < 0 or position is None:
            return
        order = self._order.setdefault(source, [])
        place = self._place(row)
        at = bisect_left(order, place)
        order.insert(at, place)
        if at:
            rows["before"][row] = order[at - 1][-1]
            rows["after"][order[at - 1][-1]] = row
        if at + 1 < len(order):
            rows["after"][row] = order[at + 1][-1]
            rows["before"][order[at + 1][-1]] = row

    def _place(self, row: int) -> tuple[int, int, str, int]:
        """Where a row stands among those of its source."""
        record = self._rows[row]
        return (int(record["position"]), int(record["created"]), self._ids[row], row)

    def _hear(self, speaker: int, lines: int) -> None:
        """Note that a speaker, by number, has so many more living rows."""
        if speaker >= 0:
            before = self._lines[speaker]
            self._lines[speaker] += lines
            self._recount |= not (before and self._lines[speaker])

    def _count_names(self) -> None:
        """Count again in how many names rows differ, by the speakers that there are now."""
        speakers = tuple(self._names["speaker"])
        living = [speakers[number] for number, lines in self._lines.items() if lines]
        few = living if len(living) <= MANY_SPEAKERS else []
        own = frozenset(part for name in few for part in name.split())
        if own != self._speaker_words:
            self._speaker_words = own
            rows = self._rows.view()
            rows["names"] = [asking.count_names(each, own) for each in self._named]
        self._recount = False

    def _number(self, kind: str, name: str | None) -> int:
        if name is None:
            return -1
        return self._names[kind].setdefault(name, len(self._names[kind]))

    def _measure(self) -> float:
        rows = self._rows.view()
        alive = (rows["status"] != GONE) & rows["searchable"]
        return conversational(rows["speaker"], rows["before"], rows["length"], alive)

    # -- reading -----------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of this namespace."""
        with self.lock:
            return self._rows.nbytes + self._passages.nbytes + self._passage_start.nbytes

    def snapshot(self) -> Snapshot:
        """What there is now; the same object until something changes."""
        with self.lock:
            if self._snapshot is None:
                self._snapshot = self._take()
            return self._snapshot

    def _take(self) -> Snapshot:
        if self._recount:
            self._count_names()
        rows = self._rows.view()
        vectors = self._passages.filled_vectors()
        if self._conversational is None:
            self._conversational = self._measure()
        return Snapshot(
            generation=self._generation,
            ids=self._ids,
            row_of=dict(self._row_of),
            active_days=self.active_days,
            conversational=self._conversational,
            categories=tuple(self._names["category"]),
            sources=dict(self._names["source"]),
            speakers=tuple(self._names["speaker"]),
            **{name: rows[name].copy() for name in _COPIED},
            source_sizes=self._source_sizes(),
            passage_row=self._passages.rows.view(),
            passage_start=self._passage_start.view(),
            spans=self._passages.spans.view(),
            index=self._passages.vectors,
            vectors=vectors,
            pieces=self._passages.pieces(),
            order=self._current_order(),
        )

    def _source_sizes(self) -> NDArray[np.int64]:
        rows = self._rows.view()
        living = rows["source"][(rows["status"] != GONE) & (rows["source"] >= 0)]
        return np.bincount(living, minlength=1)

    def _with_states(self, snapshot: Snapshot) -> Snapshot:
        """The same rows in a new state: most recalls change nothing else."""
        rows = self._rows.view()
        states: dict[str, Any] = {name: rows[name].copy() for name, _ in _STATE}
        order = self._current_order()
        return replace(snapshot, active_days=self.active_days, order=order, **states)

    # -- the order of a large namespace --------------------------------------------------------

    @property
    def passages(self) -> int:
        """Passages there are, dead ones included."""
        return len(self._passages)

    def keep_order(self, now: int, policy: Policy) -> None:
        """Order by strength what came or was used since; lower the bounds when time has passed."""
        with self.lock:
            snapshot, known = self.snapshot(), self._ordering
            if (vectors := snapshot.vectors) is None:
                return
            self._bands.extend(len(vectors) - len(self._bands))

            def strengths(passages: NDArray[np.int64]) -> NDArray[np.float32]:
                return snapshot.bounds(now, policy, passages)

            due = known is None or self._bands.is_due
            stale = known is not None and (policy != known.policy or now >= known.at + _REFRESH)
            if stale:
                self._bands.refresh(strengths)
            if due:
                self._bands.order(vectors, strengths)
            if due or stale:
                at = now if known is None else max(now, known.at)
                usual = sample(len(vectors))
                layout = self._bands.layout
                self._ordering = Order(layout, at, policy, (usual, vectors[usual]))
                self._snapshot = replace(snapshot, order=self._ordering)

    def _current_order(self) -> Order | None:
        """The order with what is loose by now."""
        if self._ordering is None:
            return None
        self._bands.extend(len(self._passages) - len(self._bands))
        return replace(self._ordering, layout=self._bands.layout)

    def view(self, terms: Sequence[str]) -> tuple[Snapshot, Postings]:
        """A snapshot, and what the keyword index of the same moment has on some terms."""
        with self.lock:
            return self.snapshot(), self._passages.keywords.select(terms)

    def piece_frequency(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """In how many living passages each piece occurs."""
        with self.lock:
            return self._passages.frequency(ids)

    def heard(self, terms: Iterable[str]) -> tuple[dict[str, int], int]:
        """How many passages ever held each of these terms, and how many there were at all."""
        with self.lock:
            index = self._passages.keywords
            return {term: index.frequency(term) for term in terms}, len(index) - self._silent

    def follows_question(self, source: str, speaker: str | None) -> bool:
        """Whether what is said next in a source follows a question of another speaker."""
        with self.lock:
            order = self._order.get(self._names["source"].get(source, -1), [])
            if not order:
                return False
            last = self._rows[order[-1][-1]]
            other = self._names["speaker"].get(speaker, -1) if speaker is not None else -1
            return bool(last["question"]) and int(last["speaker"]) != other

    # -- the graph ---------------------------------------------------------------------------

    def linked(self, id_: str) -> list[str]:
        """The ids that somebody linked with one."""
        return [other for other, _ in self._links.get(id_, ())]

    def edges(
        self,
        snapshot: Snapshot,
        active: Mapping[int, float],
        *,
        least: float,
        floor: float,
        unrelated: float = 0.0,
    ) -> dict[int, list[Edge]]:
        """The edges that leave rows of some activation, but for those of order.

        What was said next to a row is ranked with it, so it need not be looked for here.

        Similar memories follow from the vectors, so they are found when asked for, kept, and
        completed with what came since; nothing of them is stored. `least` is the cosine that
        connects, `unrelated` the one that weighs nothing. They are not looked for where what
        they could pass on is not over `floor`.
        """
        found: dict[int, list[Edge]] = {}
        for row, activation in active.items():
            edges: list[Edge] = []
            for other, weight in self._links.get(snapshot.ids[row], ()):
                if (to := snapshot.row_of.get(other)) is not None:
                    edges.append(Edge(to, "linked", weight))
            if unrelated < 1.0 and activation * SIMILAR_SHARE > floor:
                for to, cosine in self._similar(snapshot, row, least):
                    share = (cosine - unrelated) / (1.0 - unrelated)
                    edges.append(Edge(to, "similar", cosine, share))
            found[row] = edges
        return found

    def _similar(self, snapshot: Snapshot, row: int, least: float) -> list[tuple[int, float]]:
        known = len(snapshot.status)
        with self.lock:
            upto, edges = self._neighbours.get(row, (0, []))
            mine = snapshot.generation == self._generation and upto <= known
        if not mine or any(snapshot.status[to] == GONE for to, _ in edges):
            upto, edges = 0, []  # when one died a ninth may move up
        if upto < known:
            edges = strongest([*edges, *_nearest(snapshot, row, upto)])
            if mine:  # not of a reader who has seen less than another, or other rows
                with self.lock:
                    if snapshot.generation == self._generation:
                        self._neighbours[row] = (known, edges)
        return [edge for edge in edges if edge[1] >= least]


def _nearest(snapshot: Snapshot, row: int, upto: int) -> list[tuple[int, float]]:
    """The most similar living rows from `upto` on, any similarity."""
    if snapshot.index is None or snapshot.vectors is None:
        return []
    starts = snapshot.passage_start[upto:-1]
    rows = snapshot.vectors[starts[0] : snapshot.passage_start[-1]]
    best = np.full(len(starts), -2.0, np.float32)
    mine = snapshot.passage_start[row : row + 2]
    for passage in range(mine[0], min(mine[1], mine[0] + _MANY_PASSAGES)):
        cosines = snapshot.index.inner_products(rows, snapshot.vectors[passage])
        best = np.maximum(best, np.maximum.reduceat(cosines, starts - starts[0]))
    best[snapshot.status[upto:] == GONE] = -2.0
    if row >= upto:
        best[row - upto] = -2.0
    count = min(MAX_DEGREE, len(best))
    nearest = np.argpartition(-best, count - 1)[:count]
    return [(upto + int(at), min(float(best[at]), 1.0)) for at in nearest if best[at] > -2.0]


def _source_order(change: Change) -> tuple[str, int, int, str]:
    """Rows of a source next to each other and in order: appending them is then constant."""
    content, state = change.content, change.state
    if content is None or state is None:
        return ("", 0, 0, "")
    return (content.source or "", content.position or 0, state.created_at, change.id)
