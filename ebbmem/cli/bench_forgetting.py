"""`ebbmem bench forgetting`: what forgetting costs, and what a cap does to a store that grows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ebbmem.cli.app import Shell, command
from ebbmem.cli.bench import bench, versions
from ebbmem.cli.output import Output, program
from ebbmem.errors import InvalidInput

if TYPE_CHECKING:
    from ebbmem.embedding import Encoder
    from ebbmem.evaluate.forgetting import Report, Row
    from ebbmem.evaluate.growth import Growth

__all__ = ["forgetting"]

_SIZES = "1000,10000,100000"


@command("forgetting", bank=False, on=bench)
def forgetting(
    shell: Shell,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="More data sets.")
    ] = None,
    *,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="LoCoMo's format or plain JSON; repeatable."),
    ] = None,
    growth: Annotated[
        bool, typer.Option("--growth", help="Stream chatter through stores with and without cap.")
    ] = False,
    sizes: Annotated[
        str, typer.Option(metavar="N,N,...", help="With --growth: when to look.")
    ] = _SIZES,
    cap: Annotated[int, typer.Option(min=1, help="With --growth: most memories.")] = 10_000,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Save lines as .png or .svg too.")
    ] = None,
) -> None:
    """Measure what forgetting costs: replayed with decay, dropped by order, grown with a cap."""
    paths = [*(data or ()), *(files or ())]
    if not paths and not growth:
        raise InvalidInput("data", "is missing: name a file with --data, or ask for --growth")
    looked_at = _sizes(sizes)
    save = _picture(plot) if plot is not None else None
    found = _measured(shell, paths, looked_at if growth else (), cap)
    found.command = _command(shell, paths, growth, sizes, cap, plot)
    if save is not None:
        save(found.reports, found.growth)
    shell.output.result(found.document(), lambda: _tell(shell.output, found))


def _sizes(listed: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(each) for each in listed.split(","))
    except ValueError:
        raise InvalidInput("sizes", f"must be whole numbers and commas, not {listed!r}") from None
    if min(sizes) < 10:
        raise InvalidInput("sizes", f"must be 10 or more each, not {min(sizes)}")
    return sizes


def _picture(plot: Path) -> Callable[[Sequence[Report], Growth | None], None]:
    """Imported and checked before the run, so that what is missing is said at once."""
    from ebbmem.evaluate import picture_forgetting, picture_recall

    picture_recall.check(plot)
    return lambda reports, growth: picture_forgetting.save(reports, growth, plot)


@dataclass
class _Found:
    """What was measured, and with what."""

    reports: list[Report]
    growth: Growth | None
    versions: dict[str, str]
    grown_with: str = ""
    command: str = field(default="")

    def document(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "command": self.command,
            "versions": self.versions,
            "datasets": [_report(each) for each in self.reports],
            "growth": None if self.growth is None else _grown(self.growth, self.grown_with),
        }


def _measured(shell: Shell, paths: Sequence[Path], sizes: Sequence[int], cap: int) -> _Found:
    from ebbmem.embedding import resolve  # heavy; --help needs none of it
    from ebbmem.evaluate import forgetting, growth
    from ebbmem.evaluate.data import read
    from ebbmem.evaluate.encoders import CachedEncoder

    chosen = resolve(shell.options.embedder or "auto") if paths else None
    encoder = None if chosen is None else CachedEncoder(chosen)
    sets = [read(path) for path in paths]
    reports = []
    for each in sets:
        with shell.output.progress(each.name) as progress:
            reports.append(forgetting.measure(each, encoder, progress=progress))
    known = versions(chosen)
    if not sizes:
        return _Found(reports, None, known)
    # A model would take a quarter of an hour for what says the same: chatter is told by words.
    light: Encoder | None = resolve(shell.options.embedder or "hashing")
    with shell.output.progress("growth") as progress:
        grown = growth.measure(light, sizes=sizes, cap=cap, progress=progress)
    name = "none" if light is None else light.fingerprint.name
    return _Found(reports, grown, known if paths else versions(light), name)


def _command(
    shell: Shell, paths: Sequence[Path], growth: bool, sizes: str, cap: int, plot: Path | None
) -> str:
    parts = [program(), "bench", "forgetting"]
    for path in paths:
        parts += ["--data", shlex.quote(str(path))]
    if growth:
        parts += ["--growth", "--sizes", sizes, "--cap", str(cap)]
    if shell.options.embedder:
        parts += ["--embedder", shell.options.embedder]
    if plot is not None:
        parts += ["--plot", shlex.quote(str(plot))]
    return " ".join(parts)


# -- for programs ----------------------------------------------------------------------------


def _report(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "questions": report.questions,
        "records": report.records,
        "seen by the weights of importance": _seen(report),
        "replayed": [_row(report, each) for each in report.replays],
        "dropped": [_row(report, each) for each in report.drops],
    }


def _row(report: Report, row: Row) -> dict[str, Any]:
    from ebbmem.evaluate.forgetting import METRICS
    from ebbmem.evaluate.metrics import interval

    return {
        "row": row.name,
        "dropped": row.dropped,
        **{name: row.mean(name) for name in METRICS},
        "any@5, 95 %": interval(row.values[:, METRICS.index("any@5")]),
        "any@5 kept": report.kept(row),
        "memories": row.memories,
        "evidence": row.evidence,
    }


def _grown(growth: Growth, embedder: str) -> dict[str, Any]:
    return {
        "cap": growth.cap,
        "daily": growth.daily,
        "facts": growth.facts,
        "embedder": embedder,
        "lines": growth.lines,
        "lost": {each.name: growth.lost(each) for each in growth.lines[:-1]},
    }


def _seen(report: Report) -> bool:
    from ebbmem.salience_weights import SEEN

    return report.name in SEEN


# -- for people ------------------------------------------------------------------------------


def _tell(out: Output, found: _Found) -> None:
    out.line(found.command, fold=False)
    out.line(", ".join(f"{name} {value}" for name, value in found.versions.items()))
    for report in found.reports:
        _tell_report(out, report)
    if found.growth is not None:
        _tell_growth(out, found.growth, found.grown_with)


def _tell_report(out: Output, report: Report) -> None:
    from ebbmem.evaluate.forgetting import METRICS

    out.line()
    out.line(Text(report.name, style="bold"))
    seen = "has seen" if _seen(report) else "has not seen"
    out.line(
        f"questions: {report.questions}, records: {report.records}; "
        f"what weighs importance {seen} this set"
    )
    heads = ("in %", *METRICS, "any@5 kept", "memories", "evidence")
    _table(out, ("replayed, " + heads[0], *heads[1:]), [_cells(report, e) for e in report.replays])
    for share in dict.fromkeys(each.dropped for each in report.drops):
        rows = [_cells(report, each) for each in report.drops if each.dropped == share]
        _table(out, (f"{100 * share:.0f} dropped, {heads[0]}", *heads[1:]), rows)


def _cells(report: Report, row: Row) -> tuple[str, ...]:
    from ebbmem.evaluate.forgetting import METRICS

    values = (*map(row.mean, METRICS), report.kept(row), row.memories, row.evidence)
    return (row.name, *(f"{100 * each:.1f}" for each in values))


def _tell_growth(out: Output, growth: Growth, embedder: str) -> None:
    from ebbmem.evaluate.growth import RESTORABLE

    out.line()
    out.line(Text("growth", style="bold"))
    out.line(
        f"{growth.facts} facts, half of them asked about every three days; {growth.daily} "
        f"memories a day; what has faded is restorable for {RESTORABLE.days} days; "
        f"embedder {embedder}"
    )
    heads = ("in", "store", "in use", "unused", "active", "stored", "MB", "CPU ms")
    rows = [
        (
            f"{point.size:,}",
            line.name,
            f"{100 * point.used:.1f}",
            f"{100 * point.unused:.1f}",
            f"{point.active:,}",
            f"{point.stored:,}",
            f"{point.megabytes:.1f}",
            f"{point.milliseconds:.2f}",
        )
        for at in range(len(growth.lines[0].points))
        for line in growth.lines
        for point in (line.points[at],)
    ]
    _table(out, heads, rows)
    out.line()
    for each in growth.lines[:-1]:
        used, unused = growth.lost(each)
        out.line(f"{each.name}: lost {used:.1f} points in use, {unused:.1f} unused (recall@5)")


def _table(out: Output, heads: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
    """A table whose heads are also there in a pipe, where figures without a name say nothing."""
    out.line()
    out.table(heads, rows if out.for_eyes else [tuple(heads), *rows])
