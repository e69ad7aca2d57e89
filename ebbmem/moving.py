"""Memories in and out: exports, foreign files, another embedder, a copy of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self, TextIO

from ebbmem import exchange, intake
from ebbmem.checks import check_path
from ebbmem.clock import from_micros
from ebbmem.errors import ExchangeError, InvalidInput, UnknownCategory
from ebbmem.exchange_lines import plain_lines
from ebbmem.health import rules_at
from ebbmem.importers import Problems
from ebbmem.intake import Progress
from ebbmem.policy import Policy
from ebbmem.records import Namespace
from ebbmem.results import Imported
from ebbmem.store import Added, Entry
from ebbmem.writer import Writer

__all__ = ["Mover"]


class Mover(Writer):
    """The part of `MemoryBank` that moves whole namespaces and files."""

    def export_jsonl(self, file: str | Path | TextIO) -> int:
        """Everything that is kept about this namespace, as versioned JSON Lines.

        Memories with their state, hidden ones too, links, probes and their history, days of
        use, the policy, the audit trail; not the vectors, which follow from the texts. What was
        exported is the caller's to keep and to remove.

        Returns:
            How many memories.
        """
        links = self._store.links(self.namespace)
        memories = self.list(include_faded=True, include_superseded=True)
        ids = {memory.id for memory in memories}
        header = exchange.Header(
            namespace=self.namespace,
            exported_at=from_micros(self._now()),
            links=tuple(link for link in links if link[0] in ids and link[1] in ids),
            beside=tuple(
                plain_lines(
                    self._store.probes(self.namespace),
                    self._store.runs(self.namespace),
                    self._store.audit(self.namespace),
                )
            ),
            active_days=self._arena().active_days,
            policy=self.policy.to_json(),
        )
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
    ) -> dict[Namespace, Imported]:
        """Take in a file; returns what each namespace got and what it already had.

        Several conversations go to one namespace each, below this one; `only` picks one by
        name and puts it here. A new namespace that was opened without a policy takes that of
        the export, or for a dated conversation `Policy.chat()`: by the calendar it would be
        forgotten on arrival.

        Raises:
            ExchangeError: naming every bad line; nothing was written.
        """
        batches = _chosen(self._held(file, format), only)
        targets = [self if len(batches) == 1 else self._below(each.name) for each in batches]
        before = [target.policy for target in targets]
        try:
            for target, batch in zip(targets, batches, strict=True):
                if target._store.info(target.namespace) is None:
                    chosen = _policy_of(batch) or target.policy
                    target.policy = chosen.as_strict_as(target.policy)
                target._require_categories(batch, str(file))
            kept = [
                target._let_in(batch, str(file))
                for target, batch in zip(targets, batches, strict=True)
            ]
            return self._take(targets, kept, progress)
        except BaseException:
            for target, policy in zip(targets, before, strict=True):
                target.policy = policy
            raise

    def _held(self, file: str | Path | TextIO, format: str) -> list[exchange.Batch]:
        """What a file holds, each item small enough to be kept."""
        batches = exchange.read_file(file, format=format, limits=self.limits)
        problems = Problems(str(file))
        for batch in batches:
            for line, item in zip(batch.lines, batch.items, strict=True):
                with problems.at(line):
                    self.limits.check_item(item)
        problems.finish()
        return batches

    def _let_in(self, batch: exchange.Batch, file: str) -> exchange.Batch:
        """What the guards make of it; every line that one refuses is named."""
        problems, kept = Problems(file), []
        for line, item in zip(batch.lines, batch.items, strict=True):
            with problems.at(line):
                kept.append(self._guarded(item))
        probes = []
        for question, ids, line in batch.probes:
            with problems.at(line):
                probes.append((self._asked_for("question", question), ids, line))
        problems.finish()
        return replace(batch, items=tuple(kept), probes=tuple(probes))

    def _take(
        self, targets: Sequence[Self], batches: Sequence[exchange.Batch], progress: Progress | None
    ) -> dict[Namespace, Imported]:
        """Encode everything, then write everything in one transaction."""
        total, done, now = sum(len(batch.items) for batch in batches), 0, self._now()
        made: list[list[Entry]] = []
        adding = []
        for target, batch in zip(targets, batches, strict=True):
            items = list(batch.items)
            inner = _scaled(progress, done, items, total)
            entries, fingerprint = target._encoded(items, inner, now)
            made.append(entries)
            adding.append(target._adding(entries, fingerprint, batch.active_days, now))
            done += len(items)
            if progress is not None:
                progress(done, total)
        with self._store.together():
            added = [add() for add in adding]
            for target, batch, each in zip(targets, batches, added, strict=True):
                target._connect(batch, each, now)
        for target, each, entries in zip(targets, added, made, strict=True):
            target._settled(each, entries, now)
        return {
            target.namespace: Imported(
                new=sum(one.created for one in each), known=sum(not one.created for one in each)
            )
            for target, each in zip(targets, added, strict=True)
        }

    def _require_categories(self, batch: exchange.Batch, file: str) -> None:
        """Name every line with a category that nobody registered."""
        self._arena()
        problems = [
            (line, str(UnknownCategory(item.category, tuple(self.policy.known))))
            for line, item in zip(batch.lines, batch.items, strict=True)
            if item.category not in self.policy.known
        ]
        if problems:
            raise ExchangeError(file, problems)
        intake.checked(batch.items, self.policy, self.limits)

    def _connect(self, batch: exchange.Batch, added: Sequence[Added], now: int) -> None:
        """Links and probes of items, which may have been here already under another id."""
        called = {item.id: each.id for item, each in zip(batch.items, added, strict=True)}
        for a, b, weight in batch.links:
            if called[a] != called[b]:  # two that say the same once their secrets are masked
                self._store.link(self.namespace, called[a], called[b], weight)
        for question, ids, _ in batch.probes:
            named = list(dict.fromkeys(called[id_] for id_ in ids))
            self._store.put_probe(self.namespace, question, named, now=now)

    def reembed(self, embedder: object, *, progress: Progress | None = None) -> int:
        """Give the whole file vectors of another embedder; resumable; returns how many."""
        return self._engine.reembed(embedder, progress)

    def backup(self, file: str | Path) -> Path:
        """A consistent copy of the whole file, made while others use it.

        What is erased later stays in the copy, which is the caller's to remove.
        """
        path = Path(check_path(file))
        self._store.backup(str(path))
        return path

    def diagnose(self) -> dict[str, object]:
        """The health of the whole file: engine, schema, integrity, faults, counts and sizes.

        See `ebbmem doctor`, which says what to do about them; `ebbmem.repair` mends what is
        `unsound`.
        """
        found = self._store.diagnose(rules_at(self._now()))
        return {**found, "embedder": found.get("embedder") or str(self.fingerprint)}

    def _below(self, name: str | None) -> Self:
        return self if name is None else self.at(*self.namespace, name)


def _chosen(batches: list[exchange.Batch], only: str | None) -> list[exchange.Batch]:
    if only is None:
        return batches
    chosen = [each for each in batches if each.name == only]
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
