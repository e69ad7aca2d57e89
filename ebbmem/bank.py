"""MemoryBank: one namespace, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ebbmem import lifecycle, reading
from ebbmem.checks import check_cosine, check_count, check_label, check_text
from ebbmem.clock import day_of, from_micros
from ebbmem.context import Context, render
from ebbmem.errors import NotFound
from ebbmem.results import Explanation, Recollections
from ebbmem.search import Question, Ranking, search
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
        check_count("k", k, least=1)
        filters = reading.Filters.of(self.policy, category, source, where)
        now = self._now()
        ranking = self._rank(query, k, now, filters, min_similarity, include_faded)
        chosen = ranking.order[:k]
        ids = [ranking.snapshot.ids[row] for row, _ in chosen]
        records = {each.id: each for each in self._store.get(self.namespace, ids)}
        used = self._count_use(ranking, chosen, now) if reinforce else set()
        return Recollections(
            reading.recollection(ranking, row, score, records[id_], reinforced=id_ in used)
            for (row, score), id_ in zip(chosen, ids, strict=True)
            if id_ in records
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
        check_count("k", k, least=1)
        if not self._store.get(self.namespace, [check_label("id", id)]):
            raise NotFound([id])
        filters = reading.Filters.of(self.policy, category, source, where)
        ranking = self._rank(query, k, self._now(), filters, min_similarity, include_faded)
        row = ranking.snapshot.row_of.get(id)
        if row is None:
            raise NotFound([id])
        ids = [ranking.snapshot.ids[each] for each, _ in ranking.order[:k]]
        records = {each.id: each for each in self._store.get(self.namespace, [*ids, id])}
        return reading.explained(ranking, row, k, records, self.policy)

    def context(
        self,
        query: str,
        *,
        budget: int = 512,
        k: int = 20,
        count_tokens: Callable[[str], int] | None = None,
        reinforce: bool = True,
    ) -> Context:
        """What comes to mind as one delimited block of at most `budget` tokens."""
        check_count("budget", budget, least=1)
        found = self.recall(query, k, reinforce=False)
        block = render(
            found, now=from_micros(self._now()), budget=budget, count_tokens=count_tokens
        )
        if reinforce and block.ids:
            self.reinforce([id_ for id_ in block.ids if _was_direct(found, id_)])
        return block

    def _rank(
        self,
        query: str,
        k: int,
        now: int,
        filters: reading.Filters,
        min_similarity: float | None,
        include_faded: bool,
    ) -> Ranking:
        check_text("query", query)
        if min_similarity is not None:
            check_cosine("min_similarity", min_similarity)
        encoding = self._engine.encoded_query(query)
        arena = self._arena()
        self._engine.require_same(arena, encoding)
        for wanted in (min_similarity, self.policy.min_similarity, self.fingerprint.min_similarity):
            if wanted is not None:
                break
        return search(
            arena,
            Question.of(query, encoding),
            now=now,
            policy=self.policy,
            k=k,
            min_similarity=wanted,
            allowed=filters.mask(self._store, self.namespace),
            include_faded=include_faded,
        )

    def _count_use(self, ranking: Ranking, chosen: list[tuple[int, float]], now: int) -> set[str]:
        """Reinforce what was used; one write, and none when nothing can change."""
        rows = reading.used(ranking, chosen, now, self.policy)
        ids = [ranking.snapshot.ids[row] for row in rows]
        today = day_of(now)
        if not ids and today in ranking.snapshot.active_days:
            return set()
        if not ranking.snapshot.ids:
            return set()
        policy, days = self.policy, ranking.snapshot.active_days
        changed = self._store.modify(
            self.namespace,
            ids,
            lambda state: lifecycle.reinforced(
                lifecycle.settled(state, now, policy, days), now, policy
            ),
            actions=lambda state: ["fade"] if state.status == "faded" else [],
            day=today,
            missing_ok=True,
            now=now,
        )
        return {state.id for state in changed if state.status == "active"}


def _was_direct(found: Recollections, id_: str) -> bool:
    return any(each.memory.id == id_ and not each.via for each in found)
