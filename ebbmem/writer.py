"""Everything that comes in from outside: texts, edits, files, another embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TextIO

from ebbmem import exchange, intake, lifecycle
from ebbmem.checks import check_fraction, check_label, check_metadata, check_text
from ebbmem.clock import day_of, from_micros
from ebbmem.embedding.base import Encoding
from ebbmem.errors import Held, InvalidInput
from ebbmem.intake import Progress
from ebbmem.keeper import Keeper
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memories, Memory, Metadata, Namespace
from ebbmem.store import Added, Entry, Passage

__all__ = ["Writer"]


class Writer(Keeper):
    """The part of `MemoryBank` that takes texts."""

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
        draft = self._draft(
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
    def _draft(text: str, *, metadata: Metadata | None = None, **fields: Any) -> Draft:
        """The arguments of `remember` as a value."""
        return Draft(text=text, metadata={} if metadata is None else metadata, **fields)

    def remember_many(
        self, drafts: Iterable[Draft | Memory | str], *, progress: Progress | None = None
    ) -> Memories:
        """Keep several texts, all or none; a `Memory` keeps the state it had elsewhere."""
        items = intake.checked(drafts, self.policy)
        cut = intake.spans(items)
        encodings = self._engine.encoded(intake.texts_to_encode(items, cut), progress)
        if not items:
            return []
        now = self._now()
        return self._settled(self._adding(self._made(items, cut, encodings, now), (), now)(), now)

    def _made(
        self,
        items: list[Draft | Memory],
        cut: list[intake.Spans],
        encodings: list[Encoding] | None,
        now: int,
    ) -> list[Entry]:
        return intake.entries(
            items, cut, encodings, arena=self._arena(), policy=self.policy, now=from_micros(now)
        )

    def _adding(
        self, made: list[Entry], days: Sequence[int], now: int
    ) -> Callable[[], list[Added]]:
        """What writes them in one transaction. It asks nothing but the store: the arena must not
        learn what may yet be rolled back, nor be waited for with the store in hand."""
        days = [*intake.days_of(made), *days]
        settle, policy = self._settling(), self.policy
        known = self._arena().active_days
        told_late = any(day < day_of(now) and day not in known for day in days)

        def add() -> list[Added]:
            with self._store.together():
                added = self._store.add(
                    self.namespace,
                    made,
                    policy=policy.to_json(),
                    fingerprint=self.fingerprint,
                    again=lambda state: lifecycle.said_again(settle(state, now), now, policy),
                    days=days,
                    now=now,
                )
                if told_late and policy.timeline == "active":
                    self._keep_policy()  # days of use in the past: what was safe may be due
            return added

        return add

    def _settled(self, added: list[Added], now: int) -> Memories:
        """After the commit: the arena learns, the records are read, the daily pass runs."""
        if not added:
            return []
        self._arena()
        ids = list(dict.fromkeys(each.id for each in added))
        found = {each.id: each for each in self._store.get(self.namespace, ids)}
        self._run_daily_pass(now)
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
            InvalidInput, NotFound, Held, EmbeddingError: everything is as it was.
        """
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
        while not self._revised(id, changes):
            pass  # somebody else changed the words meanwhile: look again
        return self.get(id, include_faded=True)

    def _revised(self, id: str, changes: Mapping[str, Any]) -> bool:
        old = self.get(id, include_faded=True)
        new = replace(old, **changes)
        if old.held and new.text != old.text:
            raise Held([id])
        words = (new.text, new.speaker)
        now, settle = self._now(), self._settling()
        return self._store.revise(
            self.namespace,
            id,
            changes,
            words=words,
            passages=None if words == (old.text, old.speaker) else self._encoded(new),
            fingerprint=self.fingerprint,
            settle=lambda state: settle(state, now),
            edit=lambda state: lifecycle.with_deadline(state, self.policy),
            now=now,
        )

    def _encoded(self, memory: Memory) -> list[Passage]:
        [cut] = intake.spans([memory])
        encodings = self._engine.encoded(intake.texts_to_encode([memory], [cut]), None)
        if encodings is None:
            return [Passage(*span) for span in cut]
        return [Passage(*span, each) for span, each in zip(cut, encodings, strict=True)]

    # -- moving and keeping ------------------------------------------------------------------

    def export_jsonl(self, file: str | Path | TextIO) -> int:
        """Every memory, faded ones too, as versioned JSON Lines; returns how many."""
        header = exchange.Header(
            namespace=self.namespace,
            exported_at=from_micros(self._now()),
            links=tuple(self._store.links(self.namespace)),
            active_days=self._arena().active_days,
            policy=self.policy.to_json(),
        )
        memories = self.list(include_faded=True)
        if isinstance(file, str | Path):
            return exchange.export_file(file, memories, header)
        return exchange.write_jsonl(memories, file, header)

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
        name and puts it here. A new namespace that was opened without a policy takes that of
        the export, or for a dated conversation `Policy.chat()`: by the calendar it would be
        forgotten on arrival.

        Raises:
            ExchangeError: naming every bad line; nothing was written.
        """
        batches = _chosen(exchange.read_file(file, format=format), only)
        targets = [self if len(batches) == 1 else self._below(each.name) for each in batches]
        before = [target.policy for target in targets]
        try:
            for target, batch in zip(targets, batches, strict=True):
                if target._store.info(target.namespace) is None:
                    target.policy = _policy_of(batch) or target.policy
                intake.checked(batch.items, target.policy)
            return self._take(targets, batches, progress)
        except BaseException:
            for target, policy in zip(targets, before, strict=True):
                target.policy = policy
            raise

    def _take(
        self, targets: Sequence[Self], batches: Sequence[exchange.Batch], progress: Progress | None
    ) -> dict[Namespace, int]:
        """Encode everything, then write everything in one transaction."""
        total, done, now = sum(len(batch.items) for batch in batches), 0, self._now()
        adding = []
        for target, batch in zip(targets, batches, strict=True):
            items = list(batch.items)
            cut = intake.spans(items)
            inner = _scaled(progress, done, items, total)
            encodings = self._engine.encoded(intake.texts_to_encode(items, cut), inner)
            made = target._made(items, cut, encodings, now)
            adding.append(target._adding(made, batch.active_days, now))
            done += len(items)
            if progress is not None:
                progress(done, total)
        with self._store.together():
            added = [add() for add in adding]
            for target, batch, each in zip(targets, batches, added, strict=True):
                target._link_all(batch, each)
        return {
            target.namespace: len(target._settled(each, now))
            for target, each in zip(targets, added, strict=True)
        }

    def _link_all(self, batch: exchange.Batch, added: Sequence[Added]) -> None:
        """Links between items, which may have been here already under another id."""
        called = {item.id: each.id for item, each in zip(batch.items, added, strict=True)}
        for a, b, weight in batch.links:
            self._store.link(self.namespace, called[a], called[b], weight)

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


def _chosen(batches: list[exchange.Batch], only: str | None) -> list[exchange.Batch]:
    chosen = [each for each in batches if only in (None, each.name)]
    if not chosen:
        raise InvalidInput("only", f"is {only!r}; the file holds {[each.name for each in batches]}")
    return chosen


def _policy_of(batch: exchange.Batch) -> Policy | None:
    if batch.policy is not None:
        return Policy.from_json(batch.policy)
    return Policy.chat() if batch.dated else None


def _scaled(
    progress: Progress | None, done: int, items: Sequence[object], total: int
) -> Progress | None:
    """Passages of one batch as its share of all items."""
    if progress is None:
        return None
    return lambda part, whole: progress(done + len(items) * part // max(whole, 1), total)
