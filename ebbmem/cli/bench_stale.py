"""`ebbmem bench stale`: whether the new fact is found before the old one, and what that costs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ebbmem.cli.app import Shell, command
from ebbmem.cli.bench import bench, versions
from ebbmem.cli.output import Output, program

if TYPE_CHECKING:
    from ebbmem.evaluate.stale import Run

__all__ = ["stale"]


@command("stale", bank=False, on=bench)
def stale(
    shell: Shell,
    *,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="Where distractors come from; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Stories of each kind.")] = 3,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Save bars as .png or .svg too.")
    ] = None,
) -> None:
    """Measure how often an outdated fact is found before the current one.

    The facts are invented: with words of change, without, of kinds that no table has, and in
    Chinese.
    """
    from ebbmem.embedding import resolve  # heavy; --help needs none of it
    from ebbmem.evaluate import stale as evaluate
    from ebbmem.evaluate.data import read
    from ebbmem.evaluate.encoders import CachedEncoder

    if plot is not None:
        from ebbmem.evaluate import picture_stale

        picture_stale.check(plot)
    chosen = resolve(shell.options.embedder or "auto")
    encoder = None if chosen is None else CachedEncoder(chosen)
    sets = [read(path) for path in data or ()]
    out = shell.output
    with out.progress("stale facts") as progress:
        runs = evaluate.measure(sets, encoder, seeds=range(seeds), progress=progress)
    if plot is not None:
        picture_stale.save(runs, plot)
    head = {
        "command": _command(shell, data or (), seeds, plot),
        "versions": versions(encoder),
    }
    out.result({**head, "runs": [_document(run) for run in runs]}, lambda: _tell(out, head, runs))


def _command(shell: Shell, data: Sequence[Path], seeds: int, plot: Path | None) -> str:
    """The run as it can be repeated."""
    words = [word for path in data for word in ("--data", str(path))]
    words += ["--seeds", str(seeds)]
    if shell.options.embedder:
        words += ["--embedder", shell.options.embedder]
    if plot is not None:
        words += ["--plot", str(plot)]
    return f"{program()} bench stale {shlex.join(words)}"


def _document(run: Run) -> dict[str, Any]:
    from ebbmem.evaluate.stale import COLUMNS

    return {
        "family": run.family,
        "updated": run.updated,
        "stable": run.stable,
        "noise": run.noise,
        "rows": {
            row.name: dict(zip(COLUMNS, row.shares, strict=True)) | {"loss": run.loss(row)}
            for row in run.rows
        },
    }


def _tell(out: Output, head: dict[str, Any], runs: Sequence[Run]) -> None:
    from ebbmem.evaluate.stale import COLUMNS

    out.line(head["command"], fold=False)
    out.line(", ".join(f"{name} {value}" for name, value in head["versions"].items()))
    for run in runs:
        out.line()
        out.line(Text(run.family, style="bold cyan"))
        out.line(
            f"facts that changed: {run.updated}, that did not: {run.stable}; "
            f"distractors in each story: {run.noise}"
        )
        heads = ("in %", *COLUMNS, "lost at 1")
        rows = [
            (
                row.name,
                *(f"{100.0 * share:.1f}" for share in row.shares),
                f"{run.loss(row):+.1f}",
            )
            for row in run.rows
        ]
        out.table(heads, rows if out.for_eyes else [heads, *rows])
