"""How often an outdated fact stands above the current one, as bars; needs the extra [viz]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ebbmem.errors import InvalidInput, MissingExtra
from ebbmem.evaluate.picture_recall import check
from ebbmem.evaluate.stale import OURS, Run

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingExtra("saving figures as a picture", "viz") from error

__all__ = ["check", "save"]


def save(runs: Sequence[Run], path: Path) -> None:
    """Draw a panel a family: a bar a row, and beside it what it loses of stable facts.

    Raises:
        InvalidInput: neither .png nor .svg, or the file cannot be written.
    """
    check(path)
    figure = Figure(figsize=(1.8 + 2.4 * len(runs), 2.6), layout="constrained")
    figure.suptitle("outdated facts above the current one, in %", fontsize="medium")
    panels = figure.subplots(1, len(runs), squeeze=False, sharey=True)[0]
    for panel, run in zip(panels, runs, strict=True):
        names = [row.name for row in run.rows]
        values = [100.0 * row.shares[0] for row in run.rows]
        colours = ["tab:green" if name == OURS else "tab:gray" for name in names]
        bars = panel.barh(names, values, color=colours)
        panel.bar_label(bars, [f"{each:.0f}" for each in values], padding=2)
        panel.set(title=run.family, xlim=(0.0, 110.0))
    panels[0].invert_yaxis()  # of all: they share it
    try:
        figure.savefig(path)
    except OSError as error:
        raise InvalidInput("plot", f"{path} cannot be written: {error.strerror}") from error
