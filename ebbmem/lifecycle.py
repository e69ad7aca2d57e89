"""How the state of a memory changes: reinforced, faded, restored, said again. Pure.

Each function takes the state as it is and returns the state as it will be; the store runs
them inside its transaction, so that nothing is decided on what was read before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbmem.clock import DAY, NEVER, micros
from ebbmem.policy import Policy
from ebbmem.salience import salience_of
from ebbmem.store.base import State

__all__ = [
    "claim",
    "claims",
    "elapsed_days",
    "expired",
    "faded",
    "fades_at",
    "forgotten",
    "passed",
    "pinned",
    "reinforced",
    "restored",
    "said_again",
    "settled",
    "spaced",
    "strength",
    "with_deadline",
]


def elapsed_days(
    start: ArrayLike, now: int, policy: Policy, active_days: Sequence[int]
) -> NDArray[np.float64]:
    """Fractional days from `start` to `now`, instants in microseconds; never below zero.

    On the active timeline: at most the number of days of use after the day of `start`.
    """
    started = np.asarray(start, np.int64)
    wall = np.maximum(now - started, 0) / DAY
    if policy.timeline == "wall":
        return np.asarray(wall, np.float64)
    days = np.asarray(active_days, np.int64)
    used = np.searchsorted(days, now // DAY, "right") - np.searchsorted(
        days, started // DAY, "right"
    )
    return np.asarray(np.minimum(wall, np.maximum(used, 0)))


def strength(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> float:
    """Strength in [0, cap] at `now`."""
    base = policy.category(state.category).base_rate
    elapsed = elapsed_days(state.clock_start, now, policy, active_days)
    return float(policy.strength(base, state.importance, state.recall_count, elapsed))


def claim(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> float:
    """What a memory has to show for its place where places are few, see `claims`."""
    salience = salience_of(state.importance, *policy.category(state.category).importance)
    now_strong = strength(state, now, policy, active_days)
    return float(claims(now_strong, salience, state.recall_count))


def claims(strength: ArrayLike, salience: ArrayLike, count: ArrayLike) -> NDArray[np.float64]:
    """The chance of being asked for, times the root of strength: in [0, root of the cap].

    Salience is that chance before anybody asked; each counted use is one observation beside it
    (the rule of succession). Strength is mostly age, which decay sees to, and what is asked for
    is as often old as new: time counts for less here. Measured with `ebbmem bench forgetting`.
    """
    uses = np.asarray(count, np.float64)
    asked_for = (np.asarray(salience, np.float64) + uses) / (1.0 + uses)
    return np.asarray(asked_for * np.sqrt(strength), np.float64)


def fades_at(state: State, policy: Policy) -> int | None:
    """When it expires, or strength crosses the threshold on the wall clock; None: never."""
    if state.status != "active":
        return None
    return _sooner(_crossing(state, policy), state.expires_at)


def _sooner(a: int | None, b: int | None) -> int | None:
    return min((each for each in (a, b) if each is not None), default=None)


def _crossing(state: State, policy: Policy) -> int | None:
    """The first instant after strength crosses the threshold on the wall clock; None: never."""
    if state.pinned:
        return None
    base = policy.category(state.category).base_rate
    if float(policy.strength(base, state.importance, state.recall_count, 0.0)) < policy.fade_below:
        return state.clock_start  # born under the threshold
    days = float(policy.lifetime(base, state.importance, state.recall_count))
    return min(state.clock_start + int(days * DAY) + 1, NEVER)


def with_deadline(state: State, policy: Policy) -> State:
    """The same state with `fades_at` as the policy has it."""
    return replace(state, fades_at=fades_at(state, policy))


def spaced(last: int | None, now: int, policy: Policy) -> bool:
    """Whether something may count again after `last`: at most once an interval of `spacing`.

    Without spacing everything counts: who waited for the file may come after who looked later.
    """
    every = micros(policy.spacing)
    return not every or last is None or now - last >= every


def reinforced(state: State, now: int, policy: Policy) -> State:
    """Used: the clock starts again and the count grows, unless it is too soon."""
    if state.status != "active" or not spaced(state.last_reinforced_at, now, policy):
        return state
    grown = replace(
        state,
        last_reinforced_at=max(now, state.last_reinforced_at or now),  # a clock may go back
        recall_count=state.recall_count + 1,
    )
    return with_deadline(grown, policy)


def said_again(state: State, now: int, policy: Policy) -> State:
    """Heard once more: revived if it had faded, current again if another had taken its place,
    reinforced unless it was said just now."""
    state = replace(state, superseded_at=None, superseded_by=None)
    if state.status == "faded":
        state = restored(state, now, policy)
    if not spaced(state.created_at, now, policy):
        return state
    return reinforced(state, now, policy)


def settled(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> State:
    """The state with what time has done to it: whether a pass has run makes no difference."""
    if state.status != "active":
        return state
    if expired(state, now):
        return faded(state, now)
    if state.pinned:
        return state
    if strength(state, now, policy, active_days) < policy.fade_below:
        return faded(state, now)
    return state


def passed(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> State:
    """What the daily pass makes of a memory that is due: faded, or due later."""
    state = settled(state, now, policy, active_days)
    if state.status != "active" or state.pinned:
        return state
    chance = max(_next_chance(state, now, policy, active_days), now + 1)
    return replace(state, fades_at=_sooner(chance, state.expires_at))


def expired(state: State, now: int) -> bool:
    """Whether the end that was set has come."""
    return state.expires_at is not None and state.expires_at <= now


def faded(state: State, now: int) -> State:
    """Hidden, restorable."""
    if state.status == "faded":
        return state
    return replace(state, status="faded", faded_at=now, fades_at=None)


def forgotten(state: State, now: int) -> State:
    """Let go by request: faded at once, and no longer pinned."""
    return faded(replace(state, pinned=False), now)


def restored(state: State, now: int, policy: Policy) -> State:
    """Back from fading; the clock starts again, the count does not grow."""
    if state.status != "faded":
        return state
    back = replace(
        state,
        status="active",
        faded_at=None,
        expires_at=None if expired(state, now) else state.expires_at,
        last_reinforced_at=max(now, state.last_reinforced_at or now),
    )
    return with_deadline(back, policy)


def pinned(state: State, policy: Policy, *, on: bool) -> State:
    """Pinned memories never fade; the clock ran on meanwhile."""
    return with_deadline(replace(state, pinned=on), policy)


def _next_chance(state: State, now: int, policy: Policy, active_days: Sequence[int]) -> int:
    """The earliest instant at which a memory still alive on days of use can cross.

    Every day to come may be one of use, and today if it is not one yet; none counts twice.
    """
    crossing = _crossing(state, policy)
    assert crossing is not None
    if policy.timeline == "wall":
        return crossing
    lifetime = (crossing - state.clock_start) / DAY
    used = float(elapsed_days(state.clock_start, now, policy, active_days))
    missing = max(int(np.ceil(lifetime - used)), 1)
    today = now // DAY
    first = today + 1 if today in active_days else today
    return max(crossing, (first + missing - 1) * DAY)
