"""The daily pass: touches only what is due, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Collection

from ebbmem import lifecycle
from ebbmem.arena import Arena
from ebbmem.clock import micros
from ebbmem.errors import Held
from ebbmem.policy import Policy
from ebbmem.records import Namespace
from ebbmem.results import Pruned
from ebbmem.store import MemoryStore, State

__all__ = ["make_room", "preview", "run"]

_BATCH = 1000  # memories in one transaction
_ROOM = 100  # a write over the cap makes room for a hundredth of it, so that the next ones need not
_RECENT = 20  # a twentieth of the places is for what was made or used last, whatever it is worth
_SAME = 1e-9  # claims that differ by less are equal: arrays round otherwise than single numbers


def run(store: MemoryStore, arena: Arena, policy: Policy, now: int) -> Pruned:
    """Hide what has faded and what is over the cap, let go what was hidden for `purge_after`."""
    faded: list[str] = []
    ns, active_days = arena.namespace, arena.active_days
    while ids := store.due(ns, now, limit=_BATCH):
        changed = store.modify(
            ns,
            ids,
            lambda state: lifecycle.passed(state, now, policy, active_days),
            actions=_fading,
            missing_ok=True,
            now=now,
        )
        faded.extend(state.id for state in changed if state.status == "faded")
    if policy.max_memories is not None:
        arena.catch_up()
        faded += _fade_weakest(store, arena, policy, now, arena.active - policy.max_memories)
    return Pruned(faded=tuple(faded), erased=_purge(store, ns, policy, now), dry_run=False)


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
    over = arena.active - cap + cap // _ROOM
    _fade_weakest(store, arena, policy, now, over, said=said if few else ())
    if policy.on_fade == "erase":
        _purge(store, arena.namespace, policy, now)


def _fade_weakest(
    store: MemoryStore,
    arena: Arena,
    policy: Policy,
    now: int,
    count: int,
    *,
    said: Collection[str] = (),
) -> list[str]:
    """Fade so many; one that grew stronger since it was looked at stays."""
    weakest = _weakest(arena, policy, now, count, said)
    if not weakest:
        return []
    active_days = arena.active_days

    def fade(state: State) -> State:
        claim = lifecycle.claim(state, now, policy, active_days)
        grown = claim > weakest[state.id] + _SAME
        return state if grown or state.pinned else lifecycle.faded(state, now)

    changed = store.modify(
        arena.namespace, list(weakest), fade, actions=_fading, missing_ok=True, now=now
    )
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


def _purge(store: MemoryStore, ns: Namespace, policy: Policy, now: int) -> tuple[str, ...]:
    """Let go what has been hidden long enough."""
    erased: list[str] = []
    before = _purge_before(policy, now)
    while ids := store.purgeable(ns, before, limit=_BATCH):
        try:
            store.erase(ns, ids, action="purge", now=now)
        except Held:
            continue  # held meanwhile; the next question leaves it out
        erased.extend(ids)
    return tuple(erased)


def _purge_before(policy: Policy, now: int) -> int:
    """What faded by this instant is let go."""
    return now if policy.on_fade == "erase" else now - micros(policy.purge_after)
