"""Recall of several data sets as bars; needs the extra [viz]."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebbmem.errors import InvalidInput, MissingExtra
from ebbmem.evaluate.recall import OURS, OURS_ALONE, Run
from ebbmem.evaluate.report_recall import GUARDED, intervals

try:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ModuleNotFoundError as error:
    raise MissingExtra("saving figures as a picture", "viz") from error

if TYPE_CHECKING:
    from ebbmem.evaluate.report_recall import Report

__all__ = ["check", "save"]

_SUFFIXES = (".png", ".svg")
_VALUES = 117.0  # where the figures end, right of all bars
_COLOURS = {OURS: "tab:green", OURS_ALONE: "#8fce8f"}
_LEFT_OUT = ("chance", "oracle")  # a line, and 100 everywhere


def check(path: Path) -> Path:
    """Raises `InvalidInput` before anything is measured for a picture that cannot be made."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InvalidInput("plot", f"must end in .png or .svg, not {path.suffix!r}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput("plot", f"{path} cannot be written: there is no such folder")
    return path


def save(report: Report, path: Path) -> None:
    """Draw a panel a data set: a bar a row with its interval, and a line where chance is.

    Raises:
        InvalidInput: neither .png nor .svg, or the file cannot be written.
    """
    check(path)
    runs = report.runs
    columns = 2 if len(runs) == 4 else min(3, len(runs))
    lines = math.ceil(len(runs) / columns)
    bars = max(len(run.rows) for run in runs) - len(_LEFT_OUT)
    figure = Figure(
        figsize=(1.8 + 3.0 * columns, 1.3 + lines * (0.7 + 0.26 * bars)),
        layout=ConstrainedLayoutEngine(wspace=0.08),  # a value belongs to the panel on its left
    )
    figure.suptitle(
        f"{GUARDED}: questions with an answer among the first five, in %", fontsize="medium"
    )
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for at, (panel, run) in enumerate(zip(panels, runs, strict=False)):
        _draw(panel, run, named=at % columns == 0)
    for panel in panels[len(runs) :]:
        panel.set_visible(False)
    figure.supxlabel(
        "line: 95 % bootstrap interval over questions; dotted: an order at random",
        fontsize="small",
        color="gray",
    )
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InvalidInput("plot", f"{path} cannot be written: {error.strerror}") from error


def _draw(panel: Any, run: Run, *, named: bool) -> None:
    rows = [row for row in run.rows if row.name not in _LEFT_OUT]
    for at, row in enumerate(rows):
        mean = 100.0 * float(row.column(GUARDED).mean())
        low, high = (100.0 * each for each in intervals(run, row)[0])
        colour = _COLOURS.get(row.name, "lightgray")
        panel.barh(at, mean, color=colour, height=0.72)
        panel.plot([low, high], [at, at], color="#333333", linewidth=1.1)
        panel.text(_VALUES, at, f"{mean:.1f}", va="center", ha="right", fontsize="small")
    chance = run.row("chance")
    if chance is not None:
        panel.axvline(
            100.0 * float(chance.column(GUARDED).mean()), color="gray", linestyle=":", linewidth=1
        )
    panel.set_title(f"{run.name}  ({len(run.asked)} questions)", fontsize="small", loc="left")
    panel.set_yticks(range(len(rows)), [row.name if named else "" for row in rows])
    panel.tick_params(axis="y", length=0, labelsize="small")
    panel.tick_params(axis="x", labelsize="small")
    panel.invert_yaxis()
    panel.set_xlim(0.0, _VALUES)
    panel.set_xticks(range(0, 101, 20))
    panel.spines["bottom"].set_bounds(0.0, 100.0)
    panel.spines[["top", "right", "left"]].set_visible(False)
