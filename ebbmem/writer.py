"""Everything that comes in from outside: texts, edits, files, another embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any, Self, TextIO, TypeVar

from ebbmem import exchange, intake, lifecycle
from ebbmem.checks import (
    check_flag,
    check_fraction,
    check_ids,
    check_label,
    check_metadata,
    check_namespace,
    check_text,
)
from ebbmem.clock import day_of, from_micros
from ebbmem.embedding.base import Fingerprint
from ebbmem.engine import Encoded
from ebbmem.errors import ExchangeError, Held, InvalidInput, UnknownCategory
from ebbmem.intake import Progress
from ebbmem.keeper import Keeper
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memories, Memory, Metadata, Namespace
from ebbmem.results import Imported
from ebbmem.store import Added, Entry, Passage, State

__all__ = ["Writer"]

T = TypeVar("T")


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
        keyed: bool = False,
        searchable: bool = True,
        expires_at: datetime | None = None,
    ) -> Memory:
        """Keep a text; see `Draft` for the arguments. The same text again is one record.

        Raises:
            InvalidInput, EmbeddingError, Held, StoreError: nothing was written.
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
            keyed=keyed,
            searchable=searchable,
            expires_at=expires_at,
        )
        return self.remember_many([draft])[0]

    @staticmethod
    def _draft(text: str, *, metadata: Metadata | None = None, **fields: Any) -> Draft:
        """The arguments of `remember` as a value."""
        return Draft(text=text, metadata={} if metadata is None else metadata, **fields)

    def remember_many(
        self,
        drafts: Iterable[Draft | Memory | str],
        *,
        rewrite: bool = False,
        progress: Progress | None = None,
    ) -> Memories:
        """Keep several texts, all or none; a `Memory` keeps the state it had elsewhere.

        Args:
            rewrite: an id that is there already names that record, which gets these words; the
                same words under it again are no use of it. As for a message that may be
                delivered twice, or edited.
            progress: called with (done, total) passages.
        """
        items = self._checked(drafts)
        if not items:
            return []
        now = self._now()
        made, fingerprint = self._encoded(items, progress, now)
        add = self._adding(made, fingerprint, (), now, rewrite=check_flag("rewrite", rewrite))
        return self._settled(add(), made, now)

    def write(
        self,
        drafts: Mapping[Namespace, Iterable[Draft | Memory | str]],
        *,
        erase: Mapping[Namespace, Iterable[str]] | None = None,
    ) -> dict[Namespace, Memories]:
        """Keep and erase in several namespaces of this file: everything, or nothing.

        Args:
            drafts: what to keep, by namespace.
            erase: ids to remove for good, by namespace; one that is not there is passed over.

        Raises:
            InvalidInput, EmbeddingError, Held, StoreError: nothing was written.
        """
        now = self._now()
        given = _named("erase", {} if erase is None else erase)
        leaving = {ns: check_ids(ids) for ns, ids in given.items()}
        taken = self._taken(drafts)
        ready: dict[Namespace, tuple[list[Entry], Callable[[], list[Added]]]] = {}
        for ns, (bank, items) in taken.items():
            made, fingerprint = bank._encoded(items, None, now)
            ready[ns] = made, bank._adding(made, fingerprint, (), now)
        with self._store.together():
            added = {ns: add() for ns, (made, add) in ready.items() if made}
            for ns, ids in leaving.items():
                if ids:
                    self._store.erase(ns, ids, action="erase", now=now)
        return {
            ns: bank._settled(added[ns], ready[ns][0], now) if items else []
            for ns, (bank, items) in taken.items()
        }

    def _taken(
        self, drafts: Mapping[Namespace, Iterable[Draft | Memory | str]]
    ) -> dict[Namespace, tuple[Self, list[Draft | Memory]]]:
        """What can be kept, by namespace, with the bank that keeps it."""
        banks = {ns: (self._beside(ns), each) for ns, each in _named("drafts", drafts).items()}
        return {ns: (bank, bank._checked(each)) for ns, (bank, each) in banks.items()}

    def _encoded(
        self, items: list[Draft | Memory], progress: Progress | None, now: int
    ) -> tuple[list[Entry], Fingerprint]:
        """Checked items as entries, and whose vectors they carry."""
        cut, known = intake.spans(items), self._engine.recorded(self._arena(), items)
        encoded = self._engine.encoded(intake.texts_to_encode(items, cut), progress, known)
        return self._made(items, cut, encoded, now), encoded.fingerprint

    def _checked(self, drafts: Iterable[Draft | Memory | str]) -> list[Draft | Memory]:
        """What can be kept, by a policy that knows what others registered meanwhile."""
        items = intake.listed(drafts)
        return self._knowing(lambda policy: intake.checked(items, policy))

    def _made(
        self,
        items: list[Draft | Memory],
        cut: list[intake.Spans],
        encoded: Encoded,
        now: int,
    ) -> list[Entry]:
        return intake.entries(
            items,
            cut,
            encoded.encodings,
            arena=self._arena(),
            policy=self.policy,
            now=from_micros(now),
        )

    def _adding(
        self,
        made: list[Entry],
        fingerprint: Fingerprint,
        days: Sequence[int],
        now: int,
        *,
        rewrite: bool = False,
    ) -> Callable[[], list[Added]]:
        """What writes them in one transaction. It asks nothing but the store: the arena must not
        learn what may yet be rolled back, nor be waited for with the store in hand."""
        told = {*intake.days_of(made), *days}
        known = self._engine.arena(self.namespace).active_days  # of a moment ago, in `_made`
        settle, policy = self._settling(known), self.policy
        told_late = any(day < day_of(now) for day in told.difference(known))
        revived: set[str] = set()

        def again(state: State) -> State:
            today = settle(state, now)
            if today.status == "faded":
                revived.add(state.id)
            return lifecycle.said_again(today, now, policy)

        def rewritten(was: State, given: State, changed: bool) -> State:
            if lifecycle.expired(given, now):  # its new end is past: nothing to come back for
                return lifecycle.with_deadline(given, policy) if changed else given
            hidden = settle(was, now).status == "faded"  # by its old end too
            state = lifecycle.faded(given, now) if hidden else given
            if changed:
                return lifecycle.with_deadline(again(state), policy)
            if hidden:
                revived.add(state.id)
            return lifecycle.restored(state, now, policy)

        def add() -> list[Added]:
            with self._store.together():
                added = self._store.add(
                    self.namespace,
                    made,
                    policy=policy.to_json(),
                    fingerprint=fingerprint,
                    again=again,
                    rewritten=rewritten,
                    rewrite=rewrite,
                    actions=lambda state: ["restore"] if state.id in revived else [],
                    days=sorted(told),
                    now=now,
                )
                if told_late and policy.timeline == "active":
                    self._keep_policy()  # days of use in the past: what was safe may be due
            return added

        return add

    def _settled(self, added: list[Added], made: list[Entry], now: int) -> Memories:
        """After the commit: the arena learns, the records are read, the daily pass runs."""
        self._arena()
        ids = list(dict.fromkeys(each.id for each in added))
        found = {each.id: each for each in self._store.get(self.namespace, ids)}
        self._run_daily_pass(now)
        return [  # as it was written, if somebody erased it in this moment
            found.get(each.id, entry.memory) for each, entry in zip(added, made, strict=True)
        ]

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
        changes = self._changes(
            text=text, category=category, importance=importance, speaker=speaker, metadata=metadata
        )
        while not self._revised(id, changes):
            pass  # somebody else changed the words meanwhile: look again
        self._run_daily_pass(self._now())
        return self.get(id, include_faded=True)

    def _changes(self, **given: Any) -> dict[str, Any]:
        """The fields to change, checked."""
        checks: dict[str, Callable[[Any], Any]] = {
            "text": lambda value: check_text("text", value),
            "category": lambda name: self._knowing(lambda policy: policy.category(name).name),
            "importance": lambda value: check_fraction("importance", value),
            "speaker": lambda value: check_label("speaker", value),
            "metadata": check_metadata,
        }
        return {name: checks[name](value) for name, value in given.items() if value is not None}

    def _revised(self, id: str, changes: Mapping[str, Any]) -> bool:
        old = self.get(id, include_faded=True)
        new = replace(old, **changes)
        if old.held and new.text != old.text:
            raise Held([id])
        words = (new.text, new.speaker)
        now, settle = self._now(), self._settling()
        passages, fingerprint = None, self.fingerprint
        if words != (old.text, old.speaker):
            passages, fingerprint = self._passages(new)
        return self._store.revise(
            self.namespace,
            id,
            changes,
            words=words,
            passages=passages,
            fingerprint=fingerprint,
            settle=lambda state: settle(state, now),
            edit=lambda state: lifecycle.with_deadline(state, self.policy),
            now=now,
        )

    def _passages(self, memory: Memory) -> tuple[tuple[Passage, ...], Fingerprint]:
        [cut] = intake.spans([memory])
        encoded = self._engine.encoded(intake.texts_to_encode([memory], [cut]), None)
        encodings = repeat(None) if encoded.encodings is None else iter(encoded.encodings)
        return intake.as_passages(cut, encodings), encoded.fingerprint

    # -- moving and keeping ------------------------------------------------------------------

    def export_jsonl(self, file: str | Path | TextIO) -> int:
        """Every memory, faded ones too, as versioned JSON Lines; returns how many."""
        links = self._store.links(self.namespace)
        memories = self.list(include_faded=True)
        ids = {memory.id for memory in memories}
        header = exchange.Header(
            namespace=self.namespace,
            exported_at=from_micros(self._now()),
            links=tuple(link for link in links if link[0] in ids and link[1] in ids),
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
        batches = _chosen(exchange.read_file(file, format=format), only)
        targets = [self if len(batches) == 1 else self._below(each.name) for each in batches]
        before = [target.policy for target in targets]
        try:
            for target, batch in zip(targets, batches, strict=True):
                if target._store.info(target.namespace) is None:
                    target.policy = _policy_of(batch) or target.policy
                target._require_categories(batch, str(file))
            return self._take(targets, batches, progress)
        except BaseException:
            for target, policy in zip(targets, before, strict=True):
                target.policy = policy
            raise

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
                target._link_all(batch, each)
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
        intake.checked(batch.items, self.policy)

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


def _named(name: str, given: Mapping[Namespace, T]) -> dict[Namespace, T]:
    """A mapping by namespace, its keys checked."""
    if not isinstance(given, Mapping):
        raise InvalidInput(name, f"must be a mapping by namespace, not {type(given).__name__}")
    checked = {check_namespace(ns): each for ns, each in given.items()}
    if len(checked) < len(given):
        raise InvalidInput(name, "names one namespace twice")
    return checked


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
