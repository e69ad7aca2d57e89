"""What can be done with the memories of a namespace one by one: read, weigh, tend, let go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ebbmem import census, daily, lifecycle, reading
from ebbmem.checks import (
    check_count,
    check_flag,
    check_fraction,
    check_ids,
    check_label,
    check_text,
    is_number,
    shown,
)
from ebbmem.clock import day_of, from_micros, to_micros, utc
from ebbmem.erasing import Eraser
from ebbmem.errors import InvalidInput, NotFound, Refused, UnknownCategory
from ebbmem.guards import guarded
from ebbmem.policy import Policy
from ebbmem.reading import Where
from ebbmem.records import Draft, Memories, Memory, Namespace, Namespaces
from ebbmem.results import Forecast, Forecasts, Pruned, Stats
from ebbmem.store import State, state_of

__all__ = ["Keeper"]

Asked = TypeVar("Asked")
_CALENDAR = 3_652_059  # days from year 1 to 9999: what fades later is not foreseen


class Keeper(Eraser):
    """The part of `MemoryBank` that takes ids.

    One id may stand for a list of one, and an unknown one raises `NotFound` before anything
    is done.
    """

    # -- reading -----------------------------------------------------------------------------

    def get(self, id: str, *, include_faded: bool = False) -> Memory:
        """One memory; raises `NotFound` if there is none or it has faded and was not asked for.

        What was superseded too: it was asked for by its id, and says what took its place.
        """
        found = self._store.get(self.namespace, [check_label("id", id)])
        if not found:
            raise NotFound([id])
        if not include_faded:
            days = self._arena().active_days
            if not self._visible(found[0], self._now(), days):
                raise NotFound([id])
        return found[0]

    def list(
        self,
        *,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        where: Where | None = None,
        include_faded: bool = False,
        include_superseded: bool = False,
        limit: int | None = None,
        offset: int = 0,
        newest_first: bool = False,
    ) -> Memories:
        """Memories by time of creation, then source and place in it; `where` as in `recall`.

        Like recall it leaves out what has faded and what was superseded, unless asked.
        """
        if limit is not None:
            check_count("limit", limit, least=0)
        check_count("offset", offset, least=0)
        filters = self._filters(category, source, where)
        ids = filters.select(self._store, self.namespace)
        if not include_faded:
            hidden = reading.hidden_ids(self._arena().snapshot(), self._now(), self.policy)
            ids = [id_ for id_ in ids if id_ not in hidden]
        if not include_superseded:
            replaced = self._arena().snapshot().superseded_ids()
            ids = [id_ for id_ in ids if id_ not in replaced]
        if check_flag("newest_first", newest_first):
            ids.reverse()
        stop = None if limit is None else offset + limit
        return self._store.get(self.namespace, ids[offset:stop])

    def inhabited(self, *, include_faded: bool = False) -> Namespaces:
        """Namespaces of this file, this one and below, with a memory that has not faded.

        `include_faded`: every one that was ever written to.
        """
        now, depth = self._now(), len(self.namespace)
        if include_faded:
            return [ns for ns in self._store.namespaces() if ns[:depth] == self.namespace]
        return [
            ns
            for ns, sure in self._store.inhabited(now)
            if ns[:depth] == self.namespace and (sure or self._beside(ns).stats().active)
        ]

    def vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Unit vectors (d,) of memories, the mean over the passages of a long text.

        Those that are not there, or without one, are left out.
        """
        listed, snapshot = check_ids(ids), self._arena().snapshot()
        found: dict[str, NDArray[np.float32]] = {}
        for id_ in listed:
            vector = snapshot.vector(snapshot.row_of.get(id_))
            if vector is not None:
                found[id_] = vector
        return found

    def strength(self, memory: str | Memory) -> float:
        """Strength now, in [0, cap], of the memory as it stands now."""
        record = self._current(memory)
        days = self._arena().active_days
        return lifecycle.strength(state_of(record), self._now(), self.policy, days)

    def retention(self, memory: str | Memory) -> float:
        """Retention now, in [0, 1]: the bare curve."""
        record = self._current(memory)
        return reading.retention(
            state_of(record), self._now(), self.policy, self._arena().active_days
        )

    def stats(self) -> Stats:
        """The namespace in numbers."""
        arena = self._arena()
        return census.stats(
            self.namespace,
            arena.snapshot(),
            self._now(),
            self.policy,
            str(self.fingerprint),
            on_disk=self._store.size(self.namespace),
            in_memory=arena.nbytes,
        )

    def forecast(self, days: float = 30.0) -> Forecasts:
        """What fades within `days` if nobody uses it, soonest first."""
        if not is_number(days) or not days >= 0:
            raise InvalidInput("days", f"must be a number of 0 or more, not {shown(days)}")
        snapshot, within = self._arena().snapshot(), float(min(days, _CALENDAR))
        return self._forecasts(reading.due_within(snapshot, self._now(), self.policy, within))

    def _forecasts(self, due: Sequence[tuple[str, float, int]]) -> Forecasts:
        """With their records, as far as they are still there."""
        records = {
            each.id: each for each in self._store.get(self.namespace, [id_ for id_, *_ in due])
        }
        return [
            Forecast(records[id_], strength, from_micros(at))
            for id_, strength, at in due
            if id_ in records
        ]

    # -- the life of a memory ----------------------------------------------------------------

    def reinforce(self, ids: str | Iterable[str], *, query: str | None = None) -> Memories:
        """Count a use of what an agent really used; returns those for which it counted.

        Args:
            query: what had been asked; with `Policy.sample_probes` it becomes a probe.
        """
        listed, now = check_ids(ids), self._now()
        sampled = query is not None and self.policy.sample_probes > 0
        asked = self._asked_for("query", query) if sampled else None
        if query is not None:
            self.limits.require("query", len(check_text("query", query)), limit="query")
        counted = self._modify(
            listed,
            lambda state: lifecycle.reinforced(state, now, self.policy),
            None,
            day=day_of(now),
            now=now,
        )
        if asked is not None and listed and self.policy.sample_probes:
            most = self.policy.sample_probes
            self._store.sample_probe(self.namespace, asked, listed, most=most, now=now)
        return counted

    def pin(self, ids: str | Iterable[str]) -> Memories:
        """Never let them fade; what had faded comes back."""
        now, policy = self._now(), self.policy
        return self._modify(
            ids,
            lambda state: lifecycle.pinned(lifecycle.restored(state, now, policy), policy, on=True),
            "pin",
            now=now,
        )

    def unpin(self, ids: str | Iterable[str]) -> Memories:
        """Let them fade again, from where the clock stands."""
        return self._modify(
            ids, lambda state: lifecycle.pinned(state, self.policy, on=False), "unpin"
        )

    def hold(self, ids: str | Iterable[str]) -> Memories:
        """Legal hold: not erased by anything until released."""
        return self._modify(ids, lambda state: replace(state, held=True), "hold")

    def release(self, ids: str | Iterable[str]) -> Memories:
        """End a legal hold."""
        return self._modify(ids, lambda state: replace(state, held=False), "release")

    def expire(
        self, ids: str | Iterable[str], at: datetime | None, *, seen: Iterable[Memory] = ()
    ) -> Memories:
        """Set when they fade in any case, pinned or not; None takes the end back.

        Args:
            seen: records as they were read; one whose end was set anew since then keeps that.
        """
        end = None if at is None else to_micros(utc(at, "at"))
        was = {each.id: state_of(each).expires_at for each in _records("seen", seen)}

        def ended(state: State) -> State:
            if was.get(state.id, state.expires_at) != state.expires_at:
                return state
            return lifecycle.with_deadline(replace(state, expires_at=end), self.policy)

        return self._modify(ids, ended, None)

    def restore(self, ids: str | Iterable[str]) -> Memories:
        """Bring back what has faded, expired or was forgotten; its clock starts again."""
        now = self._now()
        return self._modify(
            ids, lambda state: lifecycle.restored(state, now, self.policy), "restore", now=now
        )

    def forget(self, ids: str | Iterable[str]) -> Memories:
        """Let go: hidden at once, restorable for `purge_after`, then gone."""
        now, days = self._now(), self._arena().active_days
        listed = check_ids(ids)
        records = self._store.get(self.namespace, listed)
        if hidden := [each.id for each in records if not self._visible(each, now, days)]:
            raise NotFound(hidden)
        return self._modify(
            listed, lambda state: lifecycle.forgotten(state, now), "forget", now=now
        )

    def link(self, a: str, b: str, *, weight: float = 1.0) -> None:
        """Join two memories: `weight` in (0, 1] of the activation passes between them."""
        check_label("id", a)
        check_label("id", b)
        if a == b:
            raise InvalidInput("link", f"joins {a!r} with itself")
        if check_fraction("weight", weight) == 0.0:
            raise InvalidInput("weight", "must be over 0; unlink() parts two memories")
        self._store.link(self.namespace, a, b, float(weight))
        self._run_daily_pass(self._now())

    def unlink(self, a: str, b: str) -> None:
        """Part two memories."""
        self._store.link(self.namespace, check_label("id", a), check_label("id", b), None)

    def prune(self, *, dry_run: bool = False) -> Pruned:
        """The daily pass, now: hide what has faded, let go what was hidden long enough.

        Raises:
            StoreBusy: somebody else's pass of this namespace took longer than ten seconds.
        """
        now = self._now()
        act = daily.preview if dry_run else daily.run
        return act(self._store, self._arena(), self.policy, now)

    # -- inside ------------------------------------------------------------------------------

    def _asked_for(self, name: str, question: object) -> str:
        """A question to be kept, as the guards let it in."""
        draft = Draft(text=check_text(name, question))
        self.limits.require(name, len(draft.text), limit="query")
        try:
            return guarded(draft, self._guards).text
        except Refused as error:
            raise Refused(name, error.kind) from None

    def _beside(self, ns: Namespace) -> Self:
        """The bank of a namespace of this file: this one, or a sibling."""
        return self if ns == self.namespace else self.at(*ns)

    def _current(self, memory: str | Memory) -> Memory:
        """The record of today: one that a caller kept may be older than the last recall."""
        id_ = memory.id if isinstance(memory, Memory) else memory
        return self.get(id_, include_faded=True)

    def _visible(self, memory: Memory, now: int, active_days: Sequence[int]) -> bool:
        today = lifecycle.settled(state_of(memory), now, self.policy, active_days)
        return today.status == "active"

    def _filters(
        self,
        category: str | Collection[str] | None,
        source: str | None,
        where: Where | None,
        exclude: Iterable[str] = (),
    ) -> reading.Filters:
        """What a caller lets through, checked."""
        return self._knowing(
            lambda policy: reading.Filters.of(policy, category, source, where, exclude)
        )

    def _knowing(self, ask: Callable[[Policy], Asked]) -> Asked:
        """Ask a policy that knows the categories which others registered meanwhile."""
        try:
            return ask(self.policy)
        except UnknownCategory:
            self._arena()
            return ask(self.policy)

    def _modify(
        self,
        ids: str | Iterable[str],
        edit: Callable[[State], State],
        action: str | None,
        *,
        day: int | None = None,
        now: int | None = None,
    ) -> Memories:
        listed = check_ids(ids)
        if not listed:
            return []
        when = self._now() if now is None else now
        settle = self._settling()

        done: dict[str, list[str]] = {}

        def change(state: State) -> State:
            today = settle(state, when)
            after = edit(today)
            faded = ["fade"] if today != state else []
            done[state.id] = [*faded, action or ""] if after != today else faded
            return after

        self._store.modify(
            self.namespace,
            listed,
            change,
            actions=lambda state: [name for name in done[state.id] if name],
            day=day,
            now=when,
        )
        self._run_daily_pass(when)
        edited = [id_ for id_ in listed if done.get(id_, [])[-1:] == [action or ""]]
        return self._store.get(self.namespace, edited)


def _records(name: str, given: Iterable[Memory]) -> Sequence[Memory]:
    """Records that a caller kept, checked."""
    listed = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(each, Memory) for each in listed):
        raise InvalidInput(name, "must be memories as they were read")
    return listed
