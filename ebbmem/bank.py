"""MemoryBank: one namespace, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from ebbmem import lifecycle, reading
from ebbmem.checks import check_cosine, check_count, check_label, check_text
from ebbmem.clock import day_of, from_micros
from ebbmem.context import Context, render
from ebbmem.errors import NotFound
from ebbmem.finding import Question, Ranking
from ebbmem.results import Explanation, Recollections
from ebbmem.search import search
from ebbmem.writer import Writer

__all__ = ["MemoryBank"]


class MemoryBank(Writer):
    """A memory that forgets: one namespace of one database file.

    Safe to share between threads. Every instant comes from `clock`. Wherever ids are taken,
    one id may stand for a list of one, and an unknown one raises `NotFound` before anything
    is done.
    """

    # -- recalling ---------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        k: int = 5,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
        include_faded: bool = False,
        reinforce: bool = True,
        min_similarity: float | None = None,
    ) -> Recollections:
        """What comes to mind for a query, best first, at most `k`.

        Args:
            category, source, where: only these; `where` is equality on metadata.
            include_faded: also what is hidden.
            reinforce: let what was found directly and near the best count as used.
            min_similarity: cosine that a memory without a shared word needs, in [-1, 1];
                None is the policy's, else the embedder's. -1 fills `k` places if it can.

        Raises:
            InvalidInput: a blank query, k under 1, an unknown category.
        """
        asked = self._asked(
            query,
            k,
            category=category,
            source=source,
            where=where,
            include_faded=include_faded,
            min_similarity=min_similarity,
        )
        now = self._now()
        ranking = self._rank(asked, now)
        found = self._read(ranking, k)
        used = self._count_use(ranking, reading.used(ranking, k, now, self.policy), now, reinforce)
        return Recollections(
            replace(each, reinforced=each.memory.id in used) if used else each for each in found
        )

    def explain(
        self,
        query: str,
        id: str,
        k: int = 5,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
        include_faded: bool = False,
        min_similarity: float | None = None,
    ) -> Explanation:
        """Why `recall` with the same arguments puts a memory where it does, or leaves it out."""
        asked = self._asked(
            query,
            k,
            category=category,
            source=source,
            where=where,
            include_faded=include_faded,
            min_similarity=min_similarity,
        )
        if not self._store.get(self.namespace, [check_label("id", id)]):
            raise NotFound([id])
        ranking = self._rank(asked, self._now())
        ids = [ranking.snapshot.ids[each] for each, _ in ranking.order[:k]]
        records = {each.id: each for each in self._store.get(self.namespace, [*ids, id])}
        row = ranking.snapshot.row_of.get(id)
        if row is None or id not in records:
            raise NotFound([id])
        return reading.explained(ranking, row, k, records, self.policy)

    def context(
        self,
        query: str,
        *,
        budget: int = 512,
        k: int = 20,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
        min_similarity: float | None = None,
        count_tokens: Callable[[str], int] | None = None,
        reinforce: bool = True,
    ) -> Context:
        """What comes to mind as one delimited block of at most `budget` tokens.

        What counts as used is what `recall` would count, as far as it is in the block.
        """
        check_count("budget", budget, least=1)
        asked = self._asked(
            query, k, category=category, source=source, where=where, min_similarity=min_similarity
        )
        now = self._now()
        ranking = self._rank(asked, now)
        block = render(
            self._read(ranking, k), now=from_micros(now), budget=budget, count_tokens=count_tokens
        )
        ids = ranking.snapshot.ids
        used = [row for row in reading.used(ranking, k, now, self.policy) if ids[row] in block.ids]
        self._count_use(ranking, used, now, reinforce)
        return block

    def _asked(
        self,
        query: str,
        k: int = 5,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
        include_faded: bool = False,
        min_similarity: float | None = None,
    ) -> reading.Asked:
        """The arguments of a recall, checked before anything is embedded."""
        check_text("query", query)
        check_count("k", k, least=1)
        if min_similarity is not None:
            check_cosine("min_similarity", min_similarity)
        filters = self._filters(category, source, where)
        return reading.Asked(query, k, filters, include_faded, min_similarity)

    def _rank(self, asked: reading.Asked, now: int) -> Ranking:
        encoded = self._engine.encoded_query(asked.query)
        arena = self._arena()
        self._engine.require_same(arena, encoded)
        own = self.policy.min_similarity
        wanted = own if asked.min_similarity is None else asked.min_similarity
        return search(
            arena,
            Question.of(asked.query, encoded.encodings[0] if encoded.encodings else None),
            now=now,
            policy=self.policy,
            k=asked.k,
            min_similarity=wanted,
            unrelated=encoded.fingerprint.min_similarity,
            allowed=asked.filters.mask(self._store, self.namespace),
            include_faded=asked.include_faded,
        )

    def _read(self, ranking: Ranking, k: int) -> Recollections:
        """The one row read: the first k with their records."""
        chosen = [(row, score, ranking.snapshot.ids[row]) for row, score in ranking.order[:k]]
        ids = [id_ for *_, id_ in chosen]
        records = {each.id: each for each in self._store.get(self.namespace, ids)}
        return Recollections(
            reading.recollection(ranking, row, score, records[id_])
            for row, score, id_ in chosen
            if id_ in records
        )

    def _count_use(self, ranking: Ranking, rows: list[int], now: int, counts: bool) -> set[str]:
        """Reinforce what was used; one write, and none when nothing can change."""
        snapshot, today = ranking.snapshot, day_of(now)
        if not counts or not snapshot.ids or (not rows and today in snapshot.active_days):
            return set()
        policy, days = self.policy, snapshot.active_days
        changed = self._store.modify(
            self.namespace,
            [snapshot.ids[row] for row in rows],
            lambda state: lifecycle.reinforced(
                lifecycle.settled(state, now, policy, days), now, policy
            ),
            actions=lambda state: ["fade"] if state.status == "faded" else [],
            day=today,
            missing_ok=True,
            now=now,
        )
        self._run_daily_pass(now)
        return {state.id for state in changed if state.status == "active"}
