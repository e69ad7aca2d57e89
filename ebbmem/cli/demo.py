"""`ebbmem demo`: a replayed conversation, told on one screen after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import Output, program, reason, shade
from ebbmem.display import age, bar, curve, excerpt, path, why
from ebbmem.records import Memory, Recollection

if TYPE_CHECKING:
    from ebbmem.demo.replay import Asked, Forgotten, Numbers, Report, Restored, Trace

__all__ = ["demo"]

_WIDTH = 76  # of what is drawn: it fits a terminal of 80


@command("demo", bank=False)
def demo(
    shell: Shell,
    *,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Save the curves as .png or .svg too.")
    ] = None,
) -> None:
    """Watch four months of a conversation fade."""
    from ebbmem.demo import replay  # heavy; --help needs none of it

    out = shell.output
    save = _picture() if plot is not None else None
    with out.waiting("replaying four months"):
        report = replay.run(shell.options.embedder or "auto")
    out.result(report, lambda: _tell(out, report))
    if save is not None and plot is not None:
        save(report, plot)
        if not out.as_json:
            out.line(f"The curves are in {plot}.")


def _picture() -> Callable[[Report, Path], None]:
    """Imported before the replay, so that a missing extra is said at once."""
    from ebbmem.demo.picture import save

    return save


def _tell(out: Output, report: Report) -> None:
    out.width = min(out.width or _WIDTH, _WIDTH)
    _title(out, report)
    _heading(out, 1, "What comes to mind, and why")
    for asked in report.recalls:
        _question(out, asked)
        for rank, each in enumerate(asked.found[:2]):
            _hit(out, each, report.ended, reasons=rank == 0)
    _heading(out, 2, "What is connected")
    _connected(out, report)
    _heading(out, 3, "Strength falls with time and rises with use")
    out.line("▲ marks a question along the way that this memory answered.")
    for trace in report.traces:
        _trace(out, trace, report)
    _heading(out, 4, "What has faded")
    _faded(out, report)
    _heading(out, 5, "One restored, one forgotten")
    if report.restored is not None:
        _restored(out, report.restored, report.ended)
    _forgotten(out, report.forgotten)
    _heading(out, 6, "In numbers")
    _numbers(out, report.before, report.after)
    _closing(out)


def _heading(out: Output, number: int, text: str) -> None:
    out.line()
    out.line(Text(f"{number}  {text}", style="bold cyan"))
    out.line(Text("─" * _WIDTH, style="cyan"))


def _title(out: Output, report: Report) -> None:
    out.line(Text(report.title, style="bold"))
    out.line(
        f"{report.before.remembered} turns of a conversation between {_day(report.began)} and "
        f"{_day(report.ended)} {report.ended.year}, each remembered when it was said. "
        f"{len(report.along)} questions came up along the way; what answered them grew stronger.",
    )
    if not report.has_vectors:
        out.line(
            "The local model is not in use, so only words are compared. "
            "With pip install 'ebbmem[local]' meaning counts too.",
        )


def _question(out: Output, asked: Asked) -> None:
    out.line()
    out.line(Text.assemble(("? ", "bold yellow"), (asked.question, "bold")))
    if not asked.found:
        out.line("  nothing comes to mind")


def _hit(out: Output, each: Recollection, now: datetime, *, reasons: bool) -> None:
    out.line(
        Text.assemble(
            f"  score {each.score:.2f}  strength ",
            (f"{bar(each.strength, width=6)} {each.strength:.2f}", shade(each.strength)),
            f"  {age(each.memory.created_at, now)}",
        )
    )
    out.line(_said(each.memory), indent=4)
    if reasons:
        out.line(Text(why(each), style="dim"), indent=4)


def _connected(out: Output, report: Report) -> None:
    _question(out, report.graph)
    for each in report.graph.found[:1]:
        _hit(out, each, report.ended, reasons=False)
    found = next((each for each in report.graph.found if each.memory.id == report.wanted), None)
    out.line()
    if found is not None and found.via:
        out.line(
            "The question does not ask about the deployment, and the turn that tells of it "
            "names nothing of the backend. It came through the graph:",
        )
        _hit(out, found, report.ended, reasons=False)
        out.line(Text(f"via {path(found)}", style="dim"), indent=4)
    elif found is not None:
        out.line("The deployment came up directly:")
        _hit(out, found, report.ended, reasons=True)
    else:
        out.line(
            "With the local model the deployment comes along, over an edge between memories "
            "that mean something similar. By words alone there are only the edges between "
            "what was said one after the other:",
        )
        for each in [each for each in report.graph.found if each.via][:2]:
            _hit(out, each, report.ended, reasons=False)
            out.line(Text(f"via {path(each)}", style="dim"), indent=4)


def _trace(out: Output, trace: Trace, report: Report) -> None:
    last = trace.samples[-1]
    if trace.faded_on is None:
        state = f"strength {last.strength:.2f} today" if last.strength is not None else "gone"
    else:
        state = f"faded on {_day(trace.faded_on)}" + (", now gone" * (last.status == "gone"))
    uses = len(trace.reinforced_at)
    times = {0: "never asked for", 1: "asked for once"}.get(uses, f"asked for {uses} times")
    out.line()
    out.line(Text(excerpt(_said(trace.memory), width=_WIDTH), style="bold"))
    out.line(Text(f"{trace.memory.category}, {times}: {state}", style="dim"))
    began = report.began

    def day(moment: datetime) -> float:
        return (moment - began).total_seconds() / 86_400

    lines = curve(
        [
            (day(each.at), each.strength if each.status == "active" else None)
            for each in trace.samples
        ],
        width=_WIDTH - 6,
        marks=map(day, trace.reinforced_at),
        ticks=[(day(first), f"{first:%b}") for first in _months(began, report.ended)],
        limits=(0.0, day(report.ended)),
    )
    for line in lines:
        out.line(Text(line, style="yellow" if "▲" in line else ""))


def _months(began: datetime, ended: datetime) -> Iterator[datetime]:
    """The first of every month in between."""
    first = began.replace(day=1, hour=0, minute=0, second=0)
    while first <= ended:
        if first >= began:
            yield first
        first = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)


def _faded(out: Output, report: Report) -> None:
    out.line(
        f"{len(report.faded)} memories are hidden and can be brought back for 30 days; "
        f"{report.after.gone} were let go before that. Nobody had asked for them. Some of the "
        "hidden ones:",
    )
    out.line()
    for memory in _spread(report.faded, 6):
        when = age(memory.created_at, report.ended)
        out.line(Text.assemble((f"  {when:13} ", "dim"), excerpt(_said(memory), width=_WIDTH - 16)))


def _spread(memories: Sequence[Memory], count: int) -> Sequence[Memory]:
    """At most `count` of them, from the whole length."""
    step = max(len(memories) / count, 1.0)
    return [memories[int(index * step)] for index in range(min(count, len(memories)))]


def _restored(out: Output, restored: Restored, now: datetime) -> None:
    _question(out, restored.after)
    first = restored.before.found[:1]
    if first:
        out.line(f"before:  {excerpt(_said(first[0].memory), width=_WIDTH - 12)}", indent=2)
    out.line(f"explain: {restored.memory.id}: {reason(restored.why_not)}", indent=2)
    out.line("after restore:", indent=2)
    for each in restored.after.found[:1]:
        _hit(out, each, now, reasons=False)


def _forgotten(out: Output, forgotten: Forgotten) -> None:
    _question(out, forgotten.before)
    said = excerpt(_said(forgotten.memory), width=_WIDTH - 12)
    out.line(f"before:  {said}", indent=2)
    out.line(
        f"forget:  {forgotten.memory.id} is hidden at once: {forgotten.why_not.outcome}", indent=2
    )
    out.line(f"erase:   {forgotten.left} of it is left in the store", indent=2)


def _numbers(out: Output, before: Numbers, after: Numbers) -> None:
    rows = (
        ("", "nothing forgotten", "as people do"),
        ("turns remembered", before.remembered, after.remembered),
        ("active", before.active, after.active),
        ("faded, restorable", before.faded, after.faded),
        ("gone", before.gone, after.gone),
        ("questions answered", _of(before), _of(after)),
        ("found for a question about tungsten", before.unrelated, after.unrelated),
    )
    for name, *values in rows:
        out.line(Text(f"{name:38}" + "".join(f"{value!s:>19}" for value in values)))
    out.line()
    out.line(
        "What stayed open nobody had asked about for weeks. The published formula on the "
        "wall clock is strict; --policy chat counts only days of use.",
    )


def _of(numbers: Numbers) -> str:
    return f"{numbers.answered} of {numbers.questions}"


def _closing(out: Output) -> None:
    out.line()
    out.line(Text("Your turn:", style="bold"))
    for line in (
        'remember "I take my coffee without sugar" --speaker me',
        'recall "how do I like my coffee?"',
        "forecast --days 60",
    ):
        out.line(Text(f"{program()} {line}", style="green"), indent=2, fold=False)


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B}"  # a day without a zero has no portable directive


def _said(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.text}"
