"""The forgetting curve: pure functions over arrays, time in days.

rate      = base_rate * (1 - damping * importance)                      per day
retention = curve(rate, elapsed)                                        in [0, 1]
strength  = min(cap, importance * retention * (1 + gain * recall_count))

Every argument may be a number or an array; results broadcast as numpy does.
Source: H. Ebbinghaus, "Über das Gedächtnis" (1885), for the exponential with importance
and recall count as published for agent memories; J. Ye et al., FSRS-4.5, for the power curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "DecayModel",
    "EbbinghausDecay",
    "PowerDecay",
    "half_life",
    "lifetime",
    "rate",
    "strength",
]

Array = NDArray[np.float64]


@runtime_checkable
class DecayModel(Protocol):
    """A curve that starts at 1, falls with time and comes as close to 0 as one likes."""

    @property
    def name(self) -> str:
        """What a namespace remembers it by."""
        ...

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> Array:
        """Retention in [0, 1] after `elapsed` days (below zero counts as zero)."""
        ...

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> Array:
        """Days after which `retention` in (0, 1] is reached: the inverse of `retention`."""
        ...


@dataclass(frozen=True, slots=True)
class EbbinghausDecay:
    """R = exp(-rate * t)."""

    name: str = "ebbinghaus"

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> Array:
        return np.asarray(np.exp(-np.asarray(rate, np.float64) * np.maximum(elapsed, 0.0)))

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> Array:
        return np.asarray(-np.log(np.asarray(retention, np.float64)) / np.asarray(rate, np.float64))


@dataclass(frozen=True, slots=True)
class PowerDecay:
    """R = (1 + F * t / S) ** -0.5 with R(S) = 0.9: steep at first, a long tail after.

    S is the day on which the exponential of the same rate stands at 0.9, so both curves
    cross there and rates keep their meaning.
    """

    name: str = "power"

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> Array:
        scaled = np.asarray(rate, np.float64) * np.maximum(elapsed, 0.0)
        return np.asarray(1.0 / np.sqrt(1.0 + _POWER_FACTOR * scaled))

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> Array:
        wanted = np.asarray(retention, np.float64)
        return np.asarray((wanted**-2.0 - 1.0) / (_POWER_FACTOR * np.asarray(rate, np.float64)))


_POWER_FACTOR = (0.9**-2.0 - 1.0) / -math.log(0.9)


def rate(base_rate: ArrayLike, importance: ArrayLike, *, damping: float = 0.8) -> Array:
    """Decay rate per day: what is important fades slower."""
    return np.asarray(base_rate, np.float64) * (1.0 - damping * np.asarray(importance, np.float64))


def strength(
    importance: ArrayLike,
    retention: ArrayLike,
    recall_count: ArrayLike,
    *,
    gain: float = 0.2,
    cap: float = 1.0,
) -> Array:
    """Strength in [0, cap]: importance, times what is retained, times what recalls added."""
    grown = 1.0 + gain * np.asarray(recall_count, np.float64)
    raw = np.asarray(importance, np.float64) * np.asarray(retention, np.float64) * grown
    return np.asarray(np.minimum(cap, raw))


def half_life(rate: ArrayLike, model: DecayModel | None = None) -> Array:
    """Days until retention is one half; ln 2 / rate on the exponential."""
    return (model or EbbinghausDecay()).elapsed_at(rate, 0.5)


def lifetime(
    rate: ArrayLike,
    importance: ArrayLike,
    recall_count: ArrayLike,
    *,
    threshold: float = 0.05,
    gain: float = 0.2,
    model: DecayModel | None = None,
) -> Array:
    """Days until strength crosses `threshold` (below `cap`); 0 where it starts at or under it."""
    top = np.asarray(importance, np.float64) * (1.0 + gain * np.asarray(recall_count, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        level = np.minimum(1.0, threshold / top)
    return (model or EbbinghausDecay()).elapsed_at(rate, level) + 0.0  # no negative zero
