"""What a run of recall says: means, intervals, the guard, and all of it as one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem.evaluate.metrics import interval
from ebbmem.evaluate.recall import METRICS, OURS, OURS_ALONE, Row, Run
from ebbmem.evaluate.summaries import SummaryRow

__all__ = [
    "ALLOWED",
    "GUARDED",
    "Guard",
    "Report",
    "Timing",
    "figures",
    "groups",
    "guards",
    "intervals",
    "timing",
]

ALLOWED = -1.0
"""Points that ours may lie under the best plain retrieval of the same run."""
GUARDED = "any@5"

_RIVALS = ("BM25", "vector", "hybrid .3/.7")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Guard:
    """Ours against the best of some rivals.

    Attributes:
        value, rival_value: shares in [0, 1].
        points: the difference, in hundredths.
        points_interval: its 95 % bootstrap interval over questions, both asked the same.
        binding: False where the rivals have a model that this row does without.
    """

    row: str
    rival: str
    value: float
    rival_value: float
    points: float
    points_interval: Interval
    binding: bool

    @property
    def holds(self) -> bool:
        return self.points >= ALLOWED


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of CPU time a query: median and p95, without and with encoding it."""

    p50: float
    p95: float
    p50_encoded: float
    p95_encoded: float


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark: what was run, with what, and what came out.

    Attributes:
        summaries: the rows of LoCoMo's summary protocol, by the name of the data set.
    """

    command: str
    versions: Mapping[str, str]
    runs: tuple[Run, ...]
    summaries: Mapping[str, Sequence[SummaryRow]]

    def document(self, *, details: bool = False) -> dict[str, Any]:
        """For JSON: shares in [0, 1], points in hundredths; `details` adds every question."""
        return {
            "benchmark": "recall",
            "command": self.command,
            "versions": dict(self.versions),
            "sets": [
                {**_set(run, details=details), "summaries": self._summaries(run.name)}
                for run in self.runs
            ],
        }

    def _summaries(self, name: str) -> dict[str, Any] | None:
        rows = self.summaries.get(name)
        if not rows:
            return None
        return {
            "saturated": True,
            "questions": len(rows[0].values),
            "rows": {each.name: float(each.values.mean()) for each in rows},
        }


def figures(row: Row, mask: NDArray[np.bool_] | None = None) -> dict[str, float | None]:
    """The mean of every measure, over all questions or some; None where it means nothing."""
    values = row.values if mask is None else row.values[mask]
    found: dict[str, float | None] = {}
    for name, column in zip(METRICS, values.T, strict=True):
        known = column[~np.isnan(column)]
        found[name] = float(known.mean()) if len(known) else None
    return found


def groups(run: Run, by: str) -> dict[str, NDArray[np.bool_]]:
    """Which questions belong to each "type" or "history", in the order of the data."""
    names = [getattr(each, by) for each in run.asked]
    return {name: np.array([each == name for each in names]) for name in dict.fromkeys(names)}


def intervals(run: Run, row: Row) -> tuple[Interval, Interval | None]:
    """95 % bootstrap of the guarded measure over questions, and over histories if several."""
    values = row.column(GUARDED)
    histories = [each.history for each in run.asked]
    several = len(set(histories)) > 1
    return interval(values), interval(values, histories) if several else None


def guards(run: Run) -> list[Guard]:
    """Each row of ours against the best plain retrieval that needs no more than it does."""
    found = [_guard(run, OURS, _RIVALS), _guard(run, OURS_ALONE, ("BM25",))]
    if run.row(OURS) is not None:
        found.append(_guard(run, OURS_ALONE, _RIVALS, binding=False))
    return [each for each in found if each is not None]


def timing(row: Row) -> Timing | None:
    """None for what is not our search."""
    if row.milliseconds is None:
        return None
    (p50, p50_encoded), (p95, p95_encoded) = np.percentile(row.milliseconds, (50, 95), axis=0)
    return Timing(float(p50), float(p95), float(p50_encoded), float(p95_encoded))


def _guard(run: Run, name: str, rivals: Sequence[str], *, binding: bool = True) -> Guard | None:
    ours = run.row(name)
    if ours is None:
        return None
    found = [each for each in map(run.row, rivals) if each is not None]
    best = max(found, key=lambda each: float(each.column(GUARDED).mean()))
    values, others = ours.column(GUARDED), best.column(GUARDED)
    differences = 100.0 * (values - others)
    return Guard(
        row=name,
        rival=best.name,
        value=float(values.mean()),
        rival_value=float(others.mean()),
        points=round(float(differences.mean()), 6),  # one question of a hundred is -1 exactly
        points_interval=interval(differences),
        binding=binding,
    )


def _set(run: Run, *, details: bool) -> dict[str, Any]:
    parts = {by: groups(run, by) for by in ("type", "history")}
    found: dict[str, Any] = {
        "name": run.name,
        "questions": len(run.asked),
        "dropped": run.dropped,
        "histories": len(parts["history"]),
        "records": run.records,
        "rows": [_row(run, row, parts) for row in run.rows],
        "guard": [{**_plain(each), "holds": each.holds} for each in guards(run)],
    }
    if details:
        found["asked"] = [
            {
                "id": each.id,
                "history": each.history,
                "type": each.type,
                "rank": {row.name: row.firsts[at] or None for row in run.rows if row.firsts},
            }
            for at, each in enumerate(run.asked)
        ]
    return found


def _row(
    run: Run, row: Row, parts: Mapping[str, Mapping[str, NDArray[np.bool_]]]
) -> dict[str, Any]:
    over_questions, over_histories = intervals(run, row)
    taken = timing(row)
    return {
        "name": row.name,
        "figures": figures(row),
        "intervals": {GUARDED: {"questions": over_questions, "histories": over_histories}},
        "cpu_ms": None if taken is None else _plain(taken),
        **{
            f"by_{by}": {
                name: {"questions": int(mask.sum()), **figures(row, mask)}
                for name, mask in masks.items()
            }
            for by, masks in parts.items()
        },
    }


def _plain(value: Guard | Timing) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
