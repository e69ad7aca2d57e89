"""The daily pass: touches only what is due, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Sequence

from ebbmem import lifecycle
from ebbmem.clock import micros
from ebbmem.errors import Held
from ebbmem.policy import Policy
from ebbmem.records import Namespace
from ebbmem.results import Pruned
from ebbmem.store import MemoryStore

__all__ = ["preview", "run"]

_BATCH = 1000  # memories in one transaction


def run(
    store: MemoryStore, ns: Namespace, policy: Policy, active_days: Sequence[int], now: int
) -> Pruned:
    """Hide what has faded, then let go what has been hidden for `purge_after`."""
    faded: list[str] = []
    while ids := store.due(ns, now, limit=_BATCH):
        changed = store.modify(
            ns,
            ids,
            lambda state: lifecycle.passed(state, now, policy, active_days),
            actions=lambda state: ["fade"] if state.status == "faded" else [],
            missing_ok=True,
            now=now,
        )
        faded.extend(state.id for state in changed if state.status == "faded")
    erased: list[str] = []
    before = _purge_before(policy, now)
    while ids := store.purgeable(ns, before, limit=_BATCH):
        try:
            store.erase(ns, ids, action="purge", now=now)
        except Held:
            continue  # held meanwhile; the next question leaves it out
        erased.extend(ids)
    return Pruned(faded=tuple(faded), erased=tuple(erased), dry_run=False)


def preview(
    store: MemoryStore, ns: Namespace, policy: Policy, active_days: Sequence[int], now: int
) -> Pruned:
    """What `run` would do, writing nothing."""
    everything = 2**31
    states = [
        lifecycle.passed(state, now, policy, active_days)
        for state in store.states(ns, store.due(ns, now, limit=everything))
    ]
    faded = tuple(state.id for state in states if state.status == "faded")
    before = _purge_before(policy, now)
    erased = tuple(store.purgeable(ns, before, limit=everything))
    if before >= now:
        held = {state.id for state in states if state.held}
        erased += tuple(id_ for id_ in faded if id_ not in held)
    return Pruned(faded=faded, erased=erased, dry_run=True)


def _purge_before(policy: Policy, now: int) -> int:
    """What faded by this instant is let go."""
    return now if policy.on_fade == "erase" else now - micros(policy.purge_after)
