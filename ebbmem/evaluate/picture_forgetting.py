"""What forgetting costs, and how a store grows, as lines; needs the extra [viz]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ebbmem.errors import InvalidInput, MissingExtra
from ebbmem.evaluate.forgetting import ORDERS, Report
from ebbmem.evaluate.growth import Growth

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingExtra("saving figures as a picture", "viz") from error

__all__ = ["save"]

_COLOURS = ("tab:green", "#8fce8f", "tab:orange", "gray", "lightgray")
_STYLES = (("tab:green", "-"), ("tab:orange", "-"), ("gray", "--"))
_PANELS = ("recall@5 of facts, in %", "memories that are there", "CPU ms a question")


def save(reports: Sequence[Report], growth: Growth | None, path: Path) -> None:
    """A panel for each data set, and three for growth.

    Raises:
        InvalidInput: the file cannot be written.
    """
    panels = len(reports) + len(_PANELS) * (growth is not None)
    columns = min(3, panels)
    rows = -(-panels // columns)
    figure = Figure(figsize=(1.0 + 3.6 * columns, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axis, report in zip(axes, reports, strict=False):
        _draw_drops(axis, report)
    if growth is not None:
        _draw_growth(axes[len(reports) :], growth)
    for axis in axes[panels:]:
        axis.set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InvalidInput("plot", f"{path} cannot be written: {error.strerror}") from error


def _draw_drops(axis: Any, report: Report) -> None:
    for name, colour in zip(ORDERS, _COLOURS, strict=True):
        rows = [each for each in report.drops if each.name == name]
        shares = [0.0, *(100 * each.dropped for each in rows)]
        axis.plot(shares, [100.0, *(100 * report.kept(each) for each in rows)], "o-", color=colour)
        axis.lines[-1].set(label=name, markersize=3)
    _finish(axis, f"{report.name}: any@5 kept, in %")
    axis.set_xlabel("memories dropped before asking, in %", fontsize="small")
    axis.set_ylim(0, 108)


def _draw_growth(axes: Sequence[Any], growth: Growth) -> None:
    for line, (colour, style) in zip(growth.lines, _STYLES, strict=True):
        sizes = [each.size for each in line.points]
        drawn = (
            [100 * each.used for each in line.points],
            [each.stored for each in line.points],
            [each.milliseconds for each in line.points],
        )
        for axis, values in zip(axes, drawn, strict=False):
            axis.plot(sizes, values, style, marker="o", markersize=3, color=colour, label=line.name)
        unused = [100 * each.unused for each in line.points]
        axes[0].plot(sizes, unused, ":", marker="x", markersize=4, color=colour)
    for axis, title in zip(axes, _PANELS, strict=False):
        _finish(axis, title)
        axis.set_xscale("log")
        axis.set_xlabel("memories that went in", fontsize="small")
        axis.set_ylim(bottom=0)
    axes[0].set_title(f"{_PANELS[0]} (dotted: not in use)", fontsize="small", loc="left")


def _finish(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize="small", loc="left")
    axis.tick_params(labelsize="small")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize="x-small", frameon=False, loc="best")
