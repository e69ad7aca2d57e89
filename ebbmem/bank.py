"""MemoryBank: one namespace, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Self

from ebbmem import lifecycle, reading
from ebbmem.around import check_around, default_around, neighbours
from ebbmem.checks import (
    check_cosine,
    check_flag,
    check_fraction,
    check_label,
    check_text,
    check_vector,
)
from ebbmem.clock import day_of, from_micros, to_micros, utc
from ebbmem.context import Context, render
from ebbmem.errors import InvalidInput, NotFound
from ebbmem.explaining import explained
from ebbmem.finding import Question, Ranking
from ebbmem.guards import mask
from ebbmem.probing import Prober, answered
from ebbmem.reading import Where
from ebbmem.records import Draft
from ebbmem.results import Explanation, ProbeRun, Ranked, Recollections
from ebbmem.search import search

__all__ = ["MemoryBank"]

_ALWAYS = timedelta(days=36_500)


class MemoryBank(Prober):
    """A memory that forgets: one namespace of one database file.

    Safe to share between threads. Every instant comes from `clock`. Wherever ids are taken,
    one id may stand for a list of one, and an unknown one raises `NotFound` before anything
    is done.
    """

    # -- recalling ---------------------------------------------------------------------------

    def recall(
        self,
        query: str | Sequence[float],
        k: int = 5,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Where | None = None,
        exclude: Iterable[str] = (),
        include_faded: bool = False,
        include_superseded: bool = False,
        as_of: datetime | None = None,
        reinforce: bool = True,
        min_similarity: float | None = None,
        min_score: float = 0.0,
        around: int | None = 0,
    ) -> Recollections:
        """What comes to mind for a query, best first, at most `k`.

        Args:
            query: a text, or the vector (d,) of one by the same embedder, which leaves
                keywords out.
            category, source, where: only these; `where` is a mapping of conditions on metadata
                (`ebbmem.conditions`), or a function of the memory, which reads every one.
            exclude: ids that are at hand already.
            include_faded: also what is hidden.
            include_superseded: also what another record took the place of.
            as_of: only what was current then: said by that time, and not yet superseded. What
                has faded since needs `include_faded`. Asked of the past, nothing counts as used.
            reinforce: let what was found directly and near the best count as used.
            min_similarity: cosine that a memory without a shared word needs, in [-1, 1];
                None is the policy's, else the embedder's. -1 fills `k` places if it can.
            min_score: in [0, 1]; what scores less is left out, and not used.
            around: how many that were said before a direct hit in its source come with it, and
                how many said after, in [0, 10]; only what this recall may show, and no use is
                counted for them. None is 1 where the memories are a dialogue, else 0.

        Raises:
            InvalidInput: a blank query, k under 1, an unknown category.
        """
        asked = self._asked(
            query,
            k,
            category=category,
            source=source,
            where=where,
            exclude=exclude,
            include_faded=include_faded,
            include_superseded=include_superseded,
            as_of=as_of,
            min_similarity=min_similarity,
            min_score=min_score,
            around=around,
        )
        now = self._now()
        reinforce = reinforce and not asked.filters.past(now)
        ranking = self._rank(asked, now).at_least(asked.min_score)
        found = self._read(ranking, k, around)
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
        where: Where | None = None,
        exclude: Iterable[str] = (),
        include_faded: bool = False,
        include_superseded: bool = False,
        as_of: datetime | None = None,
        min_similarity: float | None = None,
        min_score: float = 0.0,
    ) -> Explanation:
        """Why `recall` with the same arguments puts a memory where it does, or leaves it out."""
        asked = self._asked(
            query,
            k,
            category=category,
            source=source,
            where=where,
            exclude=exclude,
            include_faded=include_faded,
            include_superseded=include_superseded,
            as_of=as_of,
            min_similarity=min_similarity,
            min_score=min_score,
        )
        if not self._store.get(self.namespace, [check_label("id", id)]):
            raise NotFound([id])
        ranking = self._rank(asked, self._now(), also=[id])
        ids = [ranking.snapshot.ids[each] for each, _ in ranking.order[:k]]
        records = {each.id: each for each in self._store.get(self.namespace, [*ids, id])}
        row = ranking.snapshot.row_of.get(id)
        if row is None or id not in records:
            raise NotFound([id])
        return explained(ranking, row, asked, records, self.policy)

    def context(
        self,
        query: str,
        *,
        budget: int = 512,
        k: int = 20,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Where | None = None,
        exclude: Iterable[str] = (),
        as_of: datetime | None = None,
        min_similarity: float | None = None,
        count_tokens: Callable[[str], int] | None = None,
        inert: bool = False,
        reinforce: bool = True,
        around: int | None = None,
    ) -> Context:
        """What comes to mind as one delimited block of at most `budget` tokens.

        What counts as used is what `recall` would count, as far as it is in the block. `inert`
        is for a prompt that is a template: see `ebbmem.context.render`. What is `around` a hit
        is told as far as the hits leave room.
        """
        self.limits.check_budget(budget)
        asked = self._asked(
            query,
            k,
            category=category,
            source=source,
            where=where,
            exclude=exclude,
            as_of=as_of,
            min_similarity=min_similarity,
            around=around,
        )
        now = self._now()
        ranking = self._rank(asked, now)
        block = render(
            self._read(ranking, k, asked.around),
            now=from_micros(now),
            budget=budget,
            count_tokens=count_tokens,
            inert=inert,
        )
        ids = ranking.snapshot.ids
        used = [row for row in reading.used(ranking, k, now, self.policy) if ids[row] in block.ids]
        self._count_use(ranking, used, now, reinforce and not asked.filters.past(now))
        return block

    def probe(self, k: int = 5) -> ProbeRun:
        """Ask all probes now, and add to the history how they went and how large the store is.

        Nothing counts as used. An expected memory that has faded or was superseded is not
        found: that is what a probe is to notice.
        """
        self.limits.check_results(k)
        now = self._now()
        answers = [
            answered(each, self._rank(self._asked(each.question, k), now, also=each.expected), k)
            for each in self.probes()
        ]
        return self._keep_run(answers, k, now)

    # -- beside another index ----------------------------------------------------------------

    def beside(self, name: str) -> Self:
        """The namespace `name` below this one, for the lives of documents kept elsewhere.

        Nothing of it is purged: what is hidden there would come back as new.
        """
        policy = replace(self.policy, purge_after=_ALWAYS, on_fade="hide")
        return self.at(*self.namespace, check_label("name", name), policy=policy)

    def rerank(
        self,
        relevance: Mapping[str, float],
        k: int = 5,
        *,
        reinforce: bool = True,
        min_score: float = 0.0,
    ) -> list[Ranked]:
        """What another index found, with its life kept here: at most `k` that have not faded.

        A document seen for the first time begins at strength 1. Its text is not kept.

        Args:
            relevance: in [0, 1], by the id of the document.
            reinforce: let what is near the best count as used.
            min_score: in [0, 1]; what scores less is left out, and not used.
        """
        self.limits.check_results(k)
        check_fraction("min_score", min_score)
        if not isinstance(relevance, Mapping):
            raise InvalidInput("relevance", f"must be a mapping, not {type(relevance).__name__}")
        given = {
            check_label("id", id_): check_fraction("relevance", each)
            for id_, each in relevance.items()
        }
        now = self._now()
        known = self._arena().snapshot().row_of
        self.remember_many(
            Draft(text=id_, id=id_, keyed=True, searchable=False, importance=1.0)
            for id_ in given
            if id_ not in known
        )
        ranked = reading.reranked(self._arena().snapshot(), given, now, self.policy)
        found = [each for each in ranked[:k] if each.score >= min_score]
        near = self.policy.reinforce_ratio * max((each.relevance for each in found), default=0.0)
        used = self.reinforce(
            each.id for each in found if reinforce and 0.0 < each.relevance >= near
        )
        counted = {each.id for each in used}
        return [replace(each, reinforced=each.id in counted) for each in found]

    # -- inside ------------------------------------------------------------------------------

    def _asked(
        self,
        query: str | Sequence[float],
        k: int = 5,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Where | None = None,
        exclude: Iterable[str] = (),
        include_faded: bool = False,
        include_superseded: bool = False,
        as_of: datetime | None = None,
        min_similarity: float | None = None,
        min_score: float = 0.0,
        around: int | None = 0,
    ) -> reading.Asked:
        """The arguments of a recall, checked before anything is embedded."""
        words = check_text("query", query) if isinstance(query, str) else check_vector(query)
        unit = "characters" if isinstance(words, str) else "numbers"
        self.limits.require("query", len(words), limit="query", unit=unit)
        if isinstance(words, str) and self.policy.secrets != "keep":
            words = mask(words)  # as what was said is kept, and before an embedder reads it
        self.limits.check_results(k)
        if min_similarity is not None:
            check_cosine("min_similarity", min_similarity)
        filters = replace(
            self._filters(category, source, where, exclude),
            as_of=None if as_of is None else to_micros(utc(as_of, "as_of")),
            superseded=check_flag("include_superseded", include_superseded),
        )
        least = check_fraction("min_score", min_score)
        beside = check_around(around)
        return reading.Asked(words, k, filters, include_faded, min_similarity, least, beside)

    def _rank(self, asked: reading.Asked, now: int, *, also: Collection[str] = ()) -> Ranking:
        """A search; `also` are ids it is asked about, whatever comes of them."""
        encoded = self._engine.encoded_query(asked.query)
        arena = self._arena()
        self._engine.require_same(arena, encoded)
        own = self.policy.min_similarity
        wanted = own if asked.min_similarity is None else asked.min_similarity
        return search(
            arena,
            Question.of(
                asked.query if isinstance(asked.query, str) else "",
                encoded.encodings[0] if encoded.encodings else None,
                self._engine.languages,
                today=day_of(now),
            ),
            now=now,
            policy=self.policy,
            k=asked.k,
            min_similarity=wanted,
            unrelated=encoded.fingerprint.min_similarity,
            allowed=asked.filters.mask(self._store, self.namespace),
            include_faded=asked.include_faded,
            around=1 if asked.around is None else asked.around,
            also=also,
            source_share=1.0 if asked.filters.source is not None else self.policy.source_share,
        )

    def _read(self, ranking: Ranking, k: int, around: int | None) -> Recollections:
        """The one row read: the first k with their records, and what was said around them."""
        chosen, ids = ranking.order[:k], ranking.snapshot.ids
        wanted = default_around(ranking.snapshot) if around is None else around
        beside = neighbours(ranking, [row for row, _ in chosen], wanted)
        rows = [*dict(chosen), *(row for each in beside.values() for row in chain(*each))]
        found = self._store.get(self.namespace, [ids[row] for row in rows])
        return Recollections(
            reading.recollections(ranking, chosen, beside, {each.id: each for each in found})
        )

    def _count_use(self, ranking: Ranking, rows: list[int], now: int, counts: bool) -> set[str]:
        """Reinforce what was used; one write, and none when nothing can change."""
        snapshot, today = ranking.snapshot, day_of(now)
        if not counts or not ranking.known or (not rows and today in snapshot.active_days):
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
