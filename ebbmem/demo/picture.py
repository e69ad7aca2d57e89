"""The curves of a replay as a picture; needs the extra [viz]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ebbmem.display import excerpt
from ebbmem.errors import InvalidInput, MissingExtra

try:
    from matplotlib.dates import DateFormatter, MonthLocator
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingExtra("saving the curves as a picture", "viz") from error

if TYPE_CHECKING:
    from ebbmem.demo.replay import Report

__all__ = ["save"]

_SUFFIXES = (".png", ".svg")


def save(report: Report, path: Path) -> None:
    """Draw one panel a memory, with a triangle where a recall counted.

    Raises:
        InvalidInput: neither .png nor .svg, or the file cannot be written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InvalidInput("plot", f"must end in .png or .svg, not {path.suffix!r}")
    figure = Figure(figsize=(8.0, 1.9 * len(report.traces) + 0.9), layout="constrained")
    figure.suptitle("Strength over four months: what is used stays, the rest fades")
    panels = figure.subplots(len(report.traces), 1, sharex=True, squeeze=False)[:, 0]
    for panel, trace in zip(panels, report.traces, strict=True):
        seen = [each for each in trace.samples if each.status == "active"]
        moments = [each.at for each in seen]
        values = [float(each.strength or 0.0) for each in seen]
        panel.fill_between(moments, values, alpha=0.15, color="tab:green")
        panel.plot(moments, values, color="tab:green")
        panel.plot(
            list(trace.reinforced_at),
            [0.06] * len(trace.reinforced_at),
            linestyle="none",
            marker="^",
            color="tab:orange",
            label="a recall counted",
        )
        panel.axhline(0.05, color="gray", linewidth=0.8, linestyle=":")
        if trace.faded_on is not None:
            panel.annotate(
                f"faded on {trace.faded_on:%d %b}",
                (trace.faded_on, 0.05),
                xytext=(6, 8),
                textcoords="offset points",
                fontsize="small",
                color="gray",
            )
        said = excerpt(f"{trace.memory.speaker}: {trace.memory.text}", width=88)
        panel.set_title(f"{said}  ({trace.memory.category})", fontsize="small", loc="left")
        panel.set_ylim(0.0, 1.08)
        panel.set_xlim(report.began, report.ended)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(loc="upper left", fontsize="small", frameon=False)
    panels[-1].xaxis.set_major_locator(MonthLocator())
    panels[-1].xaxis.set_major_formatter(DateFormatter("%b"))
    figure.supylabel("strength", fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InvalidInput("plot", f"{path} cannot be written: {error.strerror}") from error
