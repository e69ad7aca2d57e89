"""`ebbmem bench recall`: how much is found, beside plain retrieval on the same data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ebbmem.cli.app import Shell, command
from ebbmem.cli.bench import bench, versions
from ebbmem.cli.output import Output, program
from ebbmem.errors import InvalidInput

if TYPE_CHECKING:
    from ebbmem.evaluate.data import Dataset
    from ebbmem.evaluate.encoders import CachedEncoder
    from ebbmem.evaluate.recall import Rival, Run
    from ebbmem.evaluate.report_recall import Guard, Report
    from ebbmem.evaluate.summaries import SummaryRow

__all__ = ["recall"]

_FIRST = ("any@1", "any@5", "any@10", "any@20", "all@5", "all@10", "rec@5", "rec@10")
_SECOND = ("MRR", "NDCG@10", "source any@5", "source any@10")
_SHORT = {
    "BM25": "BM25",
    "vector": "vector",
    "hybrid .3/.7": ".3/.7",
    "ours, no model": "no model",
    "ours, with model": "ours",
}
_OF_OURS = ("any@1", "rec@10", "MRR")
_EXACT = ("chance", "oracle")  # nothing to resample


@command("recall", bank=False, on=bench)
def recall(
    shell: Shell,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="More data sets.")
    ] = None,
    *,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="LoCoMo's format or plain JSON; repeatable."),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Other memories too, on the same vectors.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Also by type and by history; JSON: every question.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Save bars as .png or .svg too.")
    ] = None,
) -> None:
    """Measure how well questions find what answers them, beside plain retrieval."""
    from ebbmem.embedding import resolve  # heavy; --help needs none of it
    from ebbmem.evaluate.data import read
    from ebbmem.evaluate.encoders import CachedEncoder

    paths = [*(data or ()), *(files or ())]
    if not paths:
        raise InvalidInput("data", "is missing: name a file with --data")
    save = _picture(plot) if plot is not None else None
    chosen = resolve(shell.options.embedder or "auto")
    encoder = None if chosen is None else CachedEncoder(chosen)
    rivals = _rivals(encoder) if peers else []
    sets = [read(path) for path in paths]
    if len({each.name for each in sets}) < len(sets):
        raise InvalidInput("data", "holds two sets of one name")
    report = _run(shell, _command(shell, paths, peers, details, plot), sets, encoder, rivals)
    if save is not None:
        save(report)
    out = shell.output
    out.result(report.document(details=details), lambda: _tell(out, report, details=details))


def _picture(plot: Path) -> Callable[[Report], None]:
    """Imported and checked before the run, so that what is missing is said at once."""
    from ebbmem.evaluate import picture_recall

    picture_recall.check(plot)
    return lambda report: picture_recall.save(report, plot)


def _rivals(encoder: CachedEncoder | None) -> list[Rival]:
    if encoder is None:
        raise InvalidInput("peers", "compare vectors: choose an embedder, such as local")
    from ebbmem.evaluate import peers

    return [peers.langchain]


def _run(
    shell: Shell,
    line: str,
    sets: Sequence[Dataset],
    encoder: CachedEncoder | None,
    rivals: Sequence[Rival],
) -> Report:
    from ebbmem.evaluate.recall import measure
    from ebbmem.evaluate.report_recall import Report
    from ebbmem.evaluate.summaries import measure_summaries

    runs, summaries = [], {}
    for each in sets:
        with shell.output.progress(each.name) as progress:
            runs.append(measure(each, encoder, rivals=rivals, progress=progress))
        with shell.output.waiting(f"{each.name}: summaries"):
            summaries[each.name] = measure_summaries(each, encoder)
    return Report(line, versions(encoder), tuple(runs), summaries)


def _command(
    shell: Shell, paths: Iterable[Path], peers: bool, details: bool, plot: Path | None
) -> str:
    """The run as it can be repeated."""
    words = [word for path in paths for word in ("--data", str(path))]
    if shell.options.embedder:
        words += ["--embedder", shell.options.embedder]
    words += ["--peers"] * peers + ["--details"] * details
    if plot is not None:
        words += ["--plot", str(plot)]
    return f"{program()} bench recall {shlex.join(words)}"


# -- on a terminal --------------------------------------------------------------------------


def _tell(out: Output, report: Report, *, details: bool) -> None:
    out.line(report.command, fold=False)
    out.line(", ".join(f"{name} {value}" for name, value in report.versions.items()))
    for run in report.runs:
        _tell_run(out, run, details=details)
        if rows := report.summaries.get(run.name):
            _tell_summaries(out, run, rows)


def _tell_run(out: Output, run: Run, *, details: bool) -> None:
    from ebbmem.evaluate.report_recall import figures, groups, intervals

    out.line()
    out.line(Text(run.name, style="bold cyan"))
    dropped = f"; left out, without evidence: {run.dropped}" if run.dropped else ""
    out.line(
        f"questions: {len(run.asked)}, histories: {len(groups(run, 'history'))}, "
        f"records: {run.records}{dropped}"
    )
    found = [(row, figures(row)) for row in run.rows]
    _table(
        out,
        ("in %", *_FIRST),
        [(row.name, *(_percent(values[each]) for each in _FIRST)) for row, values in found],
    )
    _table(
        out,
        ("in %", "MRR", "NDCG@10", "source@5", "source@10"),
        [(row.name, *(_percent(values[each]) for each in _SECOND)) for row, values in found],
    )
    spread = [
        (row.name, *map(_span, intervals(run, row))) for row in run.rows if row.name not in _EXACT
    ]
    _table(out, ("any@5, 95 %", "over questions", "over histories"), spread)
    _tell_cost(out, run)
    _tell_guard(out, run)
    if details:
        _tell_groups(out, run, "type")
        _tell_groups(out, run, "history")


def _tell_cost(out: Output, run: Run) -> None:
    from ebbmem.evaluate.report_recall import timing

    rows = [
        (row.name, *(f"{each:.1f}" for each in (at.p50, at.p95, at.p50_encoded, at.p95_encoded)))
        for row in run.rows
        if (at := timing(row)) is not None
    ]
    _table(out, ("CPU ms a query", "p50", "p95", "p50 encoding", "p95 encoding"), rows)


def _tell_guard(out: Output, run: Run) -> None:
    from ebbmem.evaluate.report_recall import guards

    rows = [
        (
            each.row,
            Text(f"{each.points:+.1f}", style=_shade(each)),
            _span(each.points_interval, scale=1.0),
            f"{'under' if each.points < 0 else 'over'} {each.rival}, {_percent(each.rival_value)}"
            + ", which has a model" * (not each.binding),
        )
        for each in guards(run)
    ]
    _table(out, ("the guard: any@5", "points", "95 %", "against"), rows)


def _shade(guard: Guard) -> str:
    """Red is a promise broken; where the rival has more to go by, none was made."""
    if not guard.binding:
        return "dim"
    return "green" if guard.holds else "bold red"


def _tell_groups(out: Output, run: Run, by: str) -> None:
    """any@5 of some rows for each group, and more of the last one, which is ours."""
    from ebbmem.evaluate.report_recall import figures, groups

    shown = [(row, short) for name, short in _SHORT.items() if (row := run.row(name)) is not None]
    ours = shown[-1][0]
    rows = []
    for name, mask in groups(run, by).items():
        cells = [_percent(figures(row, mask)["any@5"]) for row, _ in shown]
        more = figures(ours, mask)
        cells += [_percent(more[each]) for each in _OF_OURS]
        rows.append((name, str(int(mask.sum())), *cells))
    heads = (f"any@5 by {by}", "n", *(short for _, short in shown), *_OF_OURS)
    _table(out, heads, rows)


def _tell_summaries(out: Output, run: Run, rows: Sequence[SummaryRow]) -> None:
    out.line()
    out.line(
        f"{run.name}, the summary protocol: {len(rows[0].values)} questions, 5 summaries each. "
        "It is saturated: read it between chance and oracle."
    )
    _table(
        out, ("in %", "hits"), [(each.name, _percent(float(each.values.mean()))) for each in rows]
    )


def _table(out: Output, heads: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
    """A table whose heads are also there in a pipe, where figures without a name say nothing."""
    out.line()
    out.table(heads, rows if out.for_eyes else [tuple(heads), *rows])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.1f}"


def _span(interval: tuple[float, float] | None, *, scale: float = 100.0) -> str:
    return "-" if interval is None else f"{scale * interval[0]:.1f} to {scale * interval[1]:.1f}"
