"""The daily pass: touches only what is due, in batches of one transaction each.

One at a time in a namespace, by a lease that each batch takes or renews. What is due is asked in
the transaction that changes it, so that nothing fades or goes twice whatever becomes of the lease.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Self

from ebbmem import lifecycle
from ebbmem.arena import Arena
from ebbmem.clock import micros
from ebbmem.errors import EbbmemError, StoreBusy, StoreError, StoreUnreadable
from ebbmem.policy import Policy
from ebbmem.records import Namespace
from ebbmem.results import Pruned
from ebbmem.store import MemoryStore, State
from ebbmem.store.lease import LEASE_SECONDS

__all__ = ["AGAIN", "PATIENCE", "make_room", "preview", "run", "run_if_free"]

AGAIN = round(1e6 * LEASE_SECONDS)  # microseconds after which somebody else's pass may be over
PATIENCE = 10.0  # seconds for somebody else's pass; longer than a lease, so the dead delay alone
_PAUSE = 0.02  # seconds between two looks at a lease of somebody else
_BATCH = 1000  # memories in one transaction
_ROOM = 100  # a write over the cap makes room for a hundredth of it, so that the next ones need not
_RECENT = 20  # a twentieth of the places is for what was made or used last, whatever it is worth
_SAME = 1e-9  # claims that differ by less are equal: arrays round otherwise than single numbers


class _Lease:
    """The right to run the pass, while inside: taken by the first batch, given back at the end."""

    def __init__(self, store: MemoryStore, ns: Namespace, patience: float) -> None:
        self._store = store
        self._ns = ns
        self._patience = patience
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._taken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._taken:
            with suppress(StoreError):  # it ends by itself
                self._store.end_lease(self._ns, self._holder)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction that holds the lease.

        Raises:
            StoreBusy: somebody else had it for longer than the patience.
        """
        deadline = time.monotonic() + self._patience
        while True:
            with self._store.together():
                if self._store.take_lease(self._ns, self._holder):
                    self._taken = True
                    yield
                    return
            if time.monotonic() >= deadline:
                reason = f"another process or thread runs the daily pass of {self._ns!r}"
                raise StoreBusy(self._store.path, reason)
            time.sleep(_PAUSE)


Batch = Callable[[], AbstractContextManager[object]]  # a transaction to work in


def run(
    store: MemoryStore, arena: Arena, policy: Policy, now: int, *, patience: float | None = None
) -> Pruned:
    """Hide what has faded and what is over the cap, let go what was hidden for `purge_after`.

    Args:
        patience: seconds to wait for somebody else's pass; None is `PATIENCE`.

    Raises:
        StoreBusy: theirs took longer.
    """
    ns = arena.namespace
    with _Lease(store, ns, PATIENCE if patience is None else patience) as lease:
        faded = _fade_due(store, arena, policy, now, lease.batch)
        if policy.max_memories is not None:
            arena.catch_up()
            faded += _fade_weakest(store, arena, policy, now, lease.batch)
        erased = _purge(store, ns, policy, now, lease.batch)
    store.sweep()
    return Pruned(faded=tuple(faded), erased=erased, dry_run=False)


def run_if_free(store: MemoryStore, arena: Arena, policy: Policy, now: int) -> bool:
    """The pass, noted when it is through; False: somebody else is at it, or at the file.

    One that was killed has noted nothing: who comes next goes on. One that fails is noted, or
    it would fail every call until somebody finds out why.
    """
    ns, since = arena.namespace, now - micros(policy.prune_every)
    try:
        run(store, arena, policy, now, patience=0.0)
        store.mark_pruned(ns, now, unless_after=since)
    except StoreBusy:
        return False
    except EbbmemError:
        with suppress(StoreError):
            store.mark_pruned(ns, now, unless_after=since)
        raise
    return True


def preview(store: MemoryStore, arena: Arena, policy: Policy, now: int) -> Pruned:
    """What `run` would do, writing nothing."""
    everything = 2**31
    ns = arena.namespace
    states = [
        lifecycle.passed(state, now, policy, arena.active_days)
        for state in store.states(ns, store.due(ns, now, limit=everything))
    ]
    faded = tuple(state.id for state in states if state.status == "faded")
    if policy.max_memories is not None:
        over = arena.active - policy.max_memories
        due = set(faded)
        faded += tuple(id_ for id_ in _weakest(arena, policy, now, over) if id_ not in due)
    before = _purge_before(policy, now)
    erased = tuple(store.purgeable(ns, before, limit=everything))
    if before >= now:
        held = {state.id for state in store.states(ns, faded) if state.held}
        erased += tuple(id_ for id_ in faded if id_ not in held)
    return Pruned(faded=faded, erased=erased, dry_run=True)


def make_room(
    store: MemoryStore, arena: Arena, policy: Policy, now: int, *, said: Collection[str]
) -> None:
    """After a write: if there are more than `max_memories`, the weakest fade, in one transaction.

    What was `said` in this write goes after everything else, unless it is a load of memories
    that would take the places of all others.
    """
    cap = policy.max_memories
    if cap is None or arena.active <= cap:
        return
    few = len(said) <= max(cap // _RECENT, 1)
    spared = said if few else ()
    _fade_weakest(store, arena, policy, now, store.together, room=cap // _ROOM, said=spared)
    if policy.on_fade == "erase":
        _purge(store, arena.namespace, policy, now, store.together)


def _fade_due(
    store: MemoryStore, arena: Arena, policy: Policy, now: int, batch: Batch
) -> list[str]:
    """Fade what has grown too weak by now."""
    faded: list[str] = []
    ns, active_days = arena.namespace, arena.active_days
    while store.due(ns, now, limit=1):  # who finds nothing to do need not wait for anybody
        with batch():
            ids = store.due(ns, now, limit=_BATCH)
            changed = store.modify(
                ns,
                ids,
                lambda state: lifecycle.passed(state, now, policy, active_days),
                actions=_fading,
                now=now,
            )
            _require_done(store, ids, store.due(ns, now, limit=1))
        faded.extend(state.id for state in changed if state.status == "faded")
    return faded


def _fade_weakest(
    store: MemoryStore,
    arena: Arena,
    policy: Policy,
    now: int,
    batch: Batch,
    *,
    room: int = 0,
    said: Collection[str] = (),
) -> list[str]:
    """Fade what is over the cap, and `room` more then; one that grew stronger meanwhile stays."""
    cap, ns, active_days = policy.max_memories, arena.namespace, arena.active_days
    if cap is None or arena.active <= cap:
        return []
    weakest = _weakest(arena, policy, now, arena.active - cap + room, said)
    with batch():
        over = store.count_active(ns) - cap  # others may have made room meanwhile
        left = over + room if over > 0 else 0

        def fade(state: State) -> State:
            nonlocal left
            grown = lifecycle.claim(state, now, policy, active_days) > weakest[state.id] + _SAME
            if not left or grown or state.pinned or state.status != "active":
                return state
            left -= 1
            return lifecycle.faded(state, now)

        ids = list(weakest) if left else []
        changed = store.modify(ns, ids, fade, actions=_fading, missing_ok=True, now=now)
    return [state.id for state in changed]


def _weakest(
    arena: Arena, policy: Policy, now: int, count: int, said: Collection[str] = ()
) -> dict[str, float]:
    """Ids that a cap makes fade, and their claims."""
    if policy.max_memories is None or count <= 0:
        return {}
    recent = policy.max_memories // _RECENT
    return dict(arena.snapshot().weakest(now, policy, count, recent=recent, said=said))


def _fading(state: State) -> list[str]:
    return ["fade"] if state.status == "faded" else []


def _purge(
    store: MemoryStore, ns: Namespace, policy: Policy, now: int, batch: Batch
) -> tuple[str, ...]:
    """Let go what has been hidden long enough."""
    erased: list[str] = []
    before = _purge_before(policy, now)
    while store.purgeable(ns, before, limit=1):
        with batch():
            ids = store.purgeable(ns, before, limit=_BATCH)
            store.erase(ns, ids, action="purge", now=now)
            _require_done(store, ids, store.purgeable(ns, before, limit=1))
        erased.extend(ids)
    return tuple(erased)


def _require_done(store: MemoryStore, ids: list[str], left: list[str]) -> None:
    """Of a batch nothing is left, or an index disagrees with its table and would for ever."""
    if not set(left).isdisjoint(ids):
        raise StoreUnreadable(store.path, "an index is damaged; `ebbmem repair` mends the file")


def _purge_before(policy: Policy, now: int) -> int:
    """What faded by this instant is let go."""
    return now if policy.on_fade == "erase" else now - micros(policy.purge_after)
