"""MemoryBank: one namespace, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TextIO

from ebbmem import exchange, intake, lifecycle, reading
from ebbmem.checks import (
    check_fraction,
    check_label,
    check_metadata,
    check_namespace,
    check_text,
    is_number,
)
from ebbmem.clock import Clock, day_of, from_micros, utc_now
from ebbmem.context import Context, render
from ebbmem.embedding.base import Encoding
from ebbmem.engine import Engine
from ebbmem.errors import InvalidInput, NotFound
from ebbmem.intake import Progress
from ebbmem.keeper import Keeper
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memories, Memory, Metadata, Namespace
from ebbmem.results import Explanation, Recollections
from ebbmem.search import Question, Ranking, search
from ebbmem.store import Entry, Passage

__all__ = ["MemoryBank"]


class MemoryBank(Keeper):
    """A memory that forgets: one namespace of one database file.

    Safe to share between threads. Every instant comes from `clock`. Wherever ids are taken,
    one id may stand for a list of one, and an unknown one raises `NotFound` before anything
    is done.
    """

    # -- opening and closing -----------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: str | Path = ":memory:",
        *,
        namespace: str | Sequence[str],
        embedder: object = "auto",
        policy: Policy | None = None,
        clock: Clock = utc_now,
        maintain: bool = True,
    ) -> Self:
        """Open a namespace of a file, which is created if it does not exist.

        Args:
            path: the database; ":memory:" keeps nothing.
            namespace: whose memory: a name or a tuple of names, none blank.
            embedder: "auto" (the one the file was written with, else the local model if it is
                installed, else keywords alone), None, "local", "multilingual", "hashing", or
                anything that embeds: see `ebbmem.embedding.adapt`.
            policy: None is the one this namespace was last opened with, else `Policy()`.
            maintain: False leaves the daily pass to `prune()`.

        Raises:
            InvalidInput: a blank namespace; nothing was opened.
            FingerprintMismatch: the file was written with another embedder.
            StoreError: the file cannot be used.
        """
        ns = check_namespace(namespace)
        engine = Engine(path, embedder)
        try:
            return cls._at(engine, ns, policy, clock, maintain=maintain)
        except BaseException:
            engine.close()
            raise

    @classmethod
    def _at(
        cls,
        engine: Engine,
        ns: Namespace,
        policy: Policy | None,
        clock: Clock,
        *,
        maintain: bool,
    ) -> Self:
        info = engine.store.info(ns)
        chosen = policy or (Policy() if info is None else Policy.from_json(info.policy))
        bank = cls(engine, ns, chosen, clock, maintain=maintain)
        now = bank._now()
        if info is not None and info.policy != chosen.to_json():
            engine.store.set_policy(
                ns,
                chosen.to_json(),
                edit=lambda state: lifecycle.with_deadline(state, chosen),
                now=now,
            )
        if info is not None:
            bank._run_daily_pass(now)
        return bank

    def at(self, *namespace: str, policy: Policy | None = None) -> Self:
        """A sibling over the same file, with its own namespace."""
        return self._at(
            self._engine,
            check_namespace(namespace),
            policy,
            self._clock,
            maintain=self._maintain,
        )

    def close(self) -> None:
        """Close the file, for all siblings."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryBank({self._store.path!r}, namespace={self.namespace!r})"

    # -- remembering -------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        category: str = "fact",
        importance: float | None = None,
        source: str | None = None,
        position: int | None = None,
        speaker: str | None = None,
        at: datetime | None = None,
        pinned: bool = False,
        metadata: Metadata | None = None,
        id: str | None = None,
    ) -> Memory:
        """Keep a text; see `Draft` for the arguments. The same text again is one record.

        Raises:
            InvalidInput, EmbeddingError, StoreError: nothing was written.
        """
        draft = self.draft(
            text,
            category=category,
            importance=importance,
            source=source,
            position=position,
            speaker=speaker,
            at=at,
            pinned=pinned,
            metadata=metadata,
            id=id,
        )
        return self.remember_many([draft])[0]

    @staticmethod
    def draft(text: str, *, metadata: Metadata | None = None, **fields: Any) -> Draft:
        """The arguments of `remember` as a value."""
        return Draft(text=text, metadata={} if metadata is None else metadata, **fields)

    def remember_many(
        self, drafts: Iterable[Draft | Memory | str], *, progress: Progress | None = None
    ) -> Memories:
        """Keep several texts, all or none; a `Memory` keeps the state it had elsewhere."""
        items = intake.checked(drafts, self.policy)
        cut = intake.spans(items)
        encoder, encodings = self._engine.encoder, None
        if encoder is not None:
            encodings = intake.encode(encoder, intake.texts_to_encode(items, cut), progress)
        return self._keep(items, cut, encodings)

    def _keep(
        self,
        items: list[Draft | Memory],
        cut: list[intake.Spans],
        encodings: list[Encoding] | None,
    ) -> Memories:
        if not items:
            return []
        now = self._now()
        arena = self._arena()
        made = intake.entries(
            items, cut, encodings, arena=arena, policy=self.policy, now=from_micros(now)
        )
        added = self._store.add(
            self.namespace,
            made,
            policy=self.policy.to_json(),
            fingerprint=self.fingerprint,
            again=lambda state: lifecycle.said_again(state, now, self.policy),
            days=intake.days_of(made),
            now=now,
        )
        arena.catch_up(self.policy)
        self._run_daily_pass(now)
        found = {each.id: each for each in self._store.get(self.namespace, _ids(added))}
        return [found[each.id] for each in added if each.id in found]

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        speaker: str | None = None,
        metadata: Metadata | None = None,
    ) -> Memory:
        """Change what is given and keep the rest: creation, recall count, pin, hold.

        Raises:
            InvalidInput, NotFound, EmbeddingError: everything is as it was.
        """
        old = self.get(id, include_faded=True)
        changes: dict[str, Any] = {}
        if text is not None:
            changes["text"] = check_text("text", text)
        if category is not None:
            changes["category"] = self.policy.category(category).name
        if importance is not None:
            changes["importance"] = check_fraction("importance", importance)
        if speaker is not None:
            changes["speaker"] = check_label("speaker", speaker)
        if metadata is not None:
            changes["metadata"] = check_metadata(metadata)
        new = replace(old, **changes)
        same_words = (new.text, new.speaker) == (old.text, old.speaker)
        [cut] = intake.spans([new])
        passages = tuple(Passage(*span) for span in cut)
        if not same_words and self._engine.encoder is not None:
            texts = intake.texts_to_encode([new], [cut])
            encodings = intake.encode(self._engine.encoder, texts, None)
            passages = tuple(
                Passage(*span, each) for span, each in zip(cut, encodings, strict=True)
            )
        self._store.replace(
            self.namespace,
            Entry(new, passages),
            edit=lambda state: lifecycle.with_deadline(state, self.policy),
            keep_vectors=same_words,
        )
        return self.get(id, include_faded=True)

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
        check_text("query", query)
        filters = reading.Filters.of(self.policy, category, source, where)
        now = self._now()
        ranking = self._rank(query, check_k(k), now, filters, min_similarity, include_faded)
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
        check_text("query", query)
        filters = reading.Filters.of(self.policy, category, source, where)
        ranking = self._rank(query, check_k(k), self._now(), filters, min_similarity, include_faded)
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
            min_similarity=_checked_similarity(wanted),
            allowed=filters.mask(self._store, self.namespace),
            include_faded=include_faded,
        )

    def _count_use(self, ranking: Ranking, chosen: list[tuple[int, float]], now: int) -> set[str]:
        """Reinforce what was used; one write, and none when nothing can change."""
        rows = reading.used(ranking, chosen, self.policy.reinforce_ratio)
        ids = [ranking.snapshot.ids[row] for row in rows]
        today = day_of(now)
        if not ids and today in ranking.snapshot.active_days:
            return set()
        if not ranking.snapshot.ids:
            return set()
        changed = self._store.modify(
            self.namespace,
            ids,
            lambda state: lifecycle.reinforced(state, now, self.policy),
            day=today,
            now=now,
        )
        return {state.id for state in changed}

    # -- moving and keeping ------------------------------------------------------------------

    def export_jsonl(self, file: str | Path | TextIO) -> int:
        """Every memory, faded ones too, as versioned JSON Lines; returns how many."""
        memories = self.list(include_faded=True)
        at = from_micros(self._now())
        if isinstance(file, str | Path):
            return exchange.export_file(file, memories, namespace=self.namespace, exported_at=at)
        return exchange.write_jsonl(memories, file, namespace=self.namespace, exported_at=at)

    def import_file(
        self,
        file: str | Path | TextIO,
        *,
        format: str = "auto",
        only: str | None = None,
        progress: Progress | None = None,
    ) -> dict[Namespace, int]:
        """Take in a file; returns how many memories each namespace got or already had.

        Several conversations go to one namespace each, below this one; `only` picks one by
        name and puts it here. A dated conversation makes a new namespace forget by days of
        use (`Policy.chat()`), or it would be forgotten on arrival.

        Raises:
            ExchangeError: naming every bad line; nothing was written.
        """
        batches = exchange.read_file(file, format=format)
        if only is not None:
            known = [each.name for each in batches]
            batches = [each for each in batches if each.name == only]
            if not batches:
                raise InvalidInput("only", f"is {only!r}; the file holds {known}")
        targets = [self if len(batches) == 1 else self._below(each.name) for each in batches]
        for target, batch in zip(targets, batches, strict=True):
            if batch.dated and target._store.info(target.namespace) is None:
                target.policy = Policy.chat()
            intake.checked(batch.items, target.policy)
        total = sum(len(batch.items) for batch in batches)
        taken, done = {}, 0
        for target, batch in zip(targets, batches, strict=True):
            inner = _shifted(progress, done, total)
            taken[target.namespace] = len(target.remember_many(batch.items, progress=inner))
            done += len(batch.items)
        return taken

    def reembed(self, embedder: object, *, progress: Progress | None = None) -> int:
        """Give the whole file vectors of another embedder; resumable; returns how many."""
        return self._engine.reembed(embedder, progress)

    def backup(self, file: str | Path) -> Path:
        """A consistent copy of the whole file, made while others use it."""
        self._store.backup(str(file))
        return Path(file)

    def diagnose(self) -> dict[str, object]:
        """The health of the file: engine, schema, integrity, sizes; see `ebbmem doctor`."""
        return {
            **self._store.diagnose(),
            "embedder": str(self._store.fingerprint() or self.fingerprint),
            "memories": self._store.count(),
            "namespaces": len(self._store.namespaces()),
        }

    def _below(self, name: str | None) -> Self:
        return self if name is None else self.at(*self.namespace, name)


def check_k(k: object) -> int:
    """`k` if it can be a number of places."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidInput("k", f"must be a whole number from 1 on, not {k!r}")
    return k


def _checked_similarity(value: float | None) -> float | None:
    if value is not None and not (is_number(value) and -1.0 <= value <= 1.0):
        raise InvalidInput("min_similarity", f"must lie in [-1, 1], not {value!r}")
    return value


def _ids(added: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(each.id for each in added))


def _was_direct(found: Recollections, id_: str) -> bool:
    return any(each.memory.id == id_ and not each.via for each in found)


def _shifted(progress: Progress | None, done: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda part, _: progress(min(done + part, total), total)
