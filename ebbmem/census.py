"""What a snapshot says of its memories taken together: counts, strengths, what is to come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ebbmem.clock import DAY
from ebbmem.lifecycle import elapsed_days
from ebbmem.policy import Policy
from ebbmem.reading import days_left
from ebbmem.records import Namespace
from ebbmem.results import Stats
from ebbmem.snapshot import Snapshot

__all__ = ["BINS", "outlook", "stats", "typical"]

BINS = 10
"""Of the histogram of strengths."""

Floats = NDArray[np.float64]


def stats(
    ns: Namespace,
    snapshot: Snapshot,
    now: int,
    policy: Policy,
    embedder: str,
    *,
    on_disk: int,
    in_memory: int,
) -> Stats:
    """One namespace in numbers."""
    alive = snapshot.alive()
    strength = snapshot.strengths(now, policy)
    faded = snapshot.hidden(strength, now, policy)
    current = snapshot.current()
    active = alive & ~faded & current
    numbers = np.bincount(snapshot.category[alive], minlength=len(snapshot.categories))
    ages = elapsed_days(snapshot.created[active], now, policy, snapshot.active_days)
    histogram, top = _histogram(strength[active], policy.strength_cap)
    left = np.minimum(*days_left(snapshot, now, policy))[active]
    return Stats(
        namespace=ns,
        active=int(active.sum()),
        faded=int(faded.sum()),
        superseded=int((alive & ~faded & ~current).sum()),
        pinned=int((alive & snapshot.pinned).sum()),
        held=int((alive & snapshot.held).sum()),
        by_category={
            name: int(count)
            for name, count in zip(snapshot.categories, numbers, strict=True)
            if count
        },
        mean_strength=float(strength[active].mean()) if active.any() else None,
        fading_week=int((left <= 7.0).sum()),
        recalls=int(snapshot.count[alive].sum()),
        embedder=embedder,
        timeline=policy.timeline,
        conversational=snapshot.conversational,
        fading_month=int((left <= 30.0).sum()),
        histogram=histogram,
        histogram_top=top,
        median_age=float(np.median(ages)) if active.any() else None,
        bytes_on_disk=on_disk,
        bytes_in_memory=in_memory,
    )


def _histogram(strengths: Floats, cap: float) -> tuple[tuple[int, ...], float]:
    """How many lie in each tenth of [0, top], and the top: the cap, or the greatest of all."""
    top = cap if np.isfinite(cap) else max(float(strengths.max(initial=0.0)), 1.0)
    counts, _ = np.histogram(strengths, bins=BINS, range=(0.0, top))
    return tuple(counts.tolist()), top


def typical(snapshot: Snapshot, now: int, policy: Policy) -> dict[str, int]:
    """The rows of the strongest, the median and the weakest memory; fewer where there are.

    Of those that can fade: a pinned one is shown whatever becomes of its strength.
    """
    strength = snapshot.strengths(now, policy)
    active = snapshot.alive() & ~snapshot.hidden(strength, now, policy)
    shown = np.flatnonzero(active & snapshot.current() & ~snapshot.pinned)
    if not len(shown):
        return {}
    ranked = shown[np.argsort(-strength[shown], kind="stable")].tolist()
    chosen = {"strongest": ranked[0], "weakest": ranked[-1], "median": ranked[len(ranked) // 2]}
    named: dict[str, int] = {}
    for name in ("strongest", "median", "weakest"):
        if chosen[name] not in named.values() and (name != "median" or len(ranked) > 2):
            named[name] = chosen[name]
    return named


def outlook(snapshot: Snapshot, rows: list[int], days: Floats, now: int, policy: Policy) -> Floats:
    """(rows, days) strength after that many days to come, if nobody uses them.

    Every day to come counts, as if it were one of use; NaN from where one has expired.
    """
    elapsed = elapsed_days(snapshot.started[rows], now, policy, snapshot.active_days)
    rates, importance = snapshot.base_rates(policy)[rows], snapshot.importance[rows]
    values = policy.strength(
        rates[:, None],
        importance[:, None],
        snapshot.count[rows][:, None],
        elapsed[:, None] + days[None, :],
    )
    ends = (snapshot.expires[rows] - now) / DAY
    return np.where(days[None, :] < ends[:, None], values, np.nan)
