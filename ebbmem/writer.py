"""Texts that come in: remembered, rewritten, edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import repeat
from typing import Any, Self, TypeVar

from ebbmem import daily, intake, lifecycle
from ebbmem.checks import (
    check_choice,
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
from ebbmem.errors import Held, InvalidInput, NotFound
from ebbmem.guards import CHANGEABLE, guarded, unlabelled
from ebbmem.intake import Progress
from ebbmem.keeper import Keeper
from ebbmem.records import TRUSTS, Draft, Memories, Memory, Metadata, Namespace, Trust
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
        key: str | None = None,
        supersedes: str | Iterable[str] = (),
        trust: Trust = "user",
        label: str | None = None,
    ) -> Memory:
        """Keep a text; see `Draft` for the arguments. The same text again is one record.

        Args:
            key: what was current under it is superseded: kept, and left out of recall. An older
                text said again under its key is current again.
            supersedes: ids of what is superseded besides.

        Raises:
            InvalidInput, NotFound, EmbeddingError, Held, StoreError: nothing was written.
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
            key=key,
            supersedes=supersedes,
            trust=trust,
            label=label,
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

    def known(self, drafts: Iterable[Draft | Memory | str]) -> list[str | None]:
        """The id of the record that each would be if it was remembered; None for what is new.

        Faded ones too; nothing counts as said.
        """
        return self._store.same(self.namespace, self._checked(drafts))

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
                Their bytes leave the unused room of the file when it is closed, in the daily
                pass or with the next `erase`, which is slower because it waits for that.

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
        items = intake.listed(drafts, self.limits)
        given = self._knowing(lambda policy: intake.checked(items, policy, self.limits))
        checked = [self._guarded(each) for each in given]
        self._require_superseded(checked)
        return checked

    def _guarded(self, item: Draft | Memory) -> Draft | Memory:
        """What the guards make of it; they may make it larger."""
        kept = guarded(item, self._guards)
        if kept is not item:
            self.limits.check_item(kept)
        return kept

    def _require_superseded(self, items: Sequence[Draft | Memory]) -> None:
        """Refuse to supersede what is not there, here or earlier in the batch, or itself."""
        named = {id_ for each in items if isinstance(each, Draft) for id_ in each.supersedes}
        if not named:
            return
        there = {each.id for each in self._store.get(self.namespace, sorted(named))}
        for each, same in zip(items, self._store.same(self.namespace, items), strict=True):
            wanted = each.supersedes if isinstance(each, Draft) else ()
            if missing := [id_ for id_ in wanted if id_ not in there]:
                raise NotFound(missing)
            if same in wanted:
                raise InvalidInput("supersedes", f"names {same!r}, which says the same")
            there |= {each.id} if each.id is not None else set()

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
        arena = self._arena()
        ids = list(dict.fromkeys(each.id for each in added))
        if self._maintain:
            daily.make_room(self._store, arena, self.policy, now, said=ids)
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
        trust: Trust | None = None,
    ) -> Memory:
        """Change what is given and keep the rest: creation, recall count, pin, hold.

        Other words do not change where a record comes from: whoever stands for it now says so
        by `trust`.

        Raises:
            InvalidInput, NotFound, Held, EmbeddingError: everything is as it was.
        """
        changes = self._changes(
            text=text,
            category=category,
            importance=importance,
            speaker=speaker,
            metadata=metadata,
            trust=trust,
        )
        while not self._revised(id, changes):
            pass  # somebody else changed the words meanwhile: look again
        self._run_daily_pass(self._now())
        return self.get(id, include_faded=True)

    def _changes(self, **given: Any) -> dict[str, Any]:
        """The fields to change, checked."""
        checks: dict[str, Callable[[Any], Any]] = {
            "text": lambda value: self.limits.check_text(check_text("text", value)),
            "category": lambda name: self._knowing(lambda policy: policy.category(name).name),
            "importance": lambda value: check_fraction("importance", value),
            "speaker": lambda value: check_label("speaker", value),
            "metadata": lambda value: self.limits.check_metadata(check_metadata(value)),
            "trust": lambda value: check_choice("trust", value, TRUSTS),
        }
        return {name: checks[name](value) for name, value in given.items() if value is not None}

    def _edited(self, old: Memory, changes: Mapping[str, Any]) -> Memory:
        """A memory with these changes, as the guards let them in."""
        new = replace(old, **changes)
        if not any(name in changes for name in (*CHANGEABLE, "trust")):
            return new
        other = (new.text, new.trust) != (old.text, old.trust)
        kept = self._guarded(unlabelled(new) if other else new)
        return replace(new, **{name: getattr(kept, name) for name in CHANGEABLE})

    def _revised(self, id: str, changes: Mapping[str, Any]) -> bool:
        old = self.get(id, include_faded=True)
        new = self._edited(old, changes)
        changes = {
            name: getattr(new, name)
            for name in (*changes, *CHANGEABLE)
            if name in changes or getattr(new, name) != getattr(old, name)
        }
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


def _named(name: str, given: Mapping[Namespace, T]) -> dict[Namespace, T]:
    """A mapping by namespace, its keys checked."""
    if not isinstance(given, Mapping):
        raise InvalidInput(name, f"must be a mapping by namespace, not {type(given).__name__}")
    checked = {check_namespace(ns): each for ns, each in given.items()}
    if len(checked) < len(given):
        raise InvalidInput(name, "names one namespace twice")
    return checked
