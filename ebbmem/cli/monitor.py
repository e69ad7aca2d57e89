"""Commands that watch over recall: probes with known answers, and the report as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ebbmem.cli import arguments as args
from ebbmem.cli.app import Shell, app, command
from ebbmem.cli.output import Output, plain, program
from ebbmem.display import bar, excerpt, inert
from ebbmem.errors import InvalidInput
from ebbmem.results import Advice, Probe, ProbeRun

__all__ = ["add", "ask", "history", "probe", "remove", "report", "show"]

probe = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(probe, name="probe")

Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the probe.")]


@command("", on=probe)
def ask(
    shell: Shell,
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="Places an answer may take.")] = 5,
) -> None:
    """Ask questions with known answers, and keep the score.

    Recall@k goes into the history, with the size of the store. Nothing counts as used, and an
    answer that has faded is not found.
    """
    with shell.bank() as bank:
        run = bank.probe(k)
        probes = {each.number: each for each in bank.probes()}
        history, advice = bank.probe_history(), bank.advice()
    out = shell.output

    def shown() -> None:
        _show_run(out, run, history)
        for answer in run.answers:
            if answer.hidden or answer.missed:
                lost = [f"{_named(answer.missed)} not among them"] if answer.missed else []
                lost += [f"{_named(answer.hidden)} hidden"] if answer.hidden else []
                said = excerpt(probes[answer.number].question, width=48)
                out.line(f"{answer.number}  {said}  ({', '.join(lost)})", indent=3)
        _show_advice(out, advice)

    out.result({**plain(run), "recall": run.recall, "advice": plain(advice)}, shown)


@command("add", on=probe)
def add(shell: Shell, question: args.Query, ids: args.Ids) -> None:
    """Keep a question and the memories that ought to answer it."""
    with shell.bank() as bank:
        made = bank.add_probe(question, args.full_ids(bank, ids))
    out = shell.output
    out.result(made, lambda: out.line(f"probe {made.number}: {excerpt(made.question)}"))


@command("list", on=probe)
def show(shell: Shell) -> None:
    """List the probes."""
    with shell.bank() as bank:
        kept = bank.probes()
    out = shell.output

    def shown() -> None:
        if not kept:
            out.line(_none_yet())
            return
        out.table(("", "kind", "question", "expects"), [_row(each) for each in kept])

    out.result(kept, shown)


@command("remove", on=probe)
def remove(shell: Shell, number: Number) -> None:
    """Take a probe out; its runs stay in the history."""
    with shell.bank() as bank:
        bank.remove_probe(number)
    out = shell.output
    out.result({"removed": number}, lambda: out.line(f"probe {number} removed"))


@command("history", on=probe)
def history(shell: Shell) -> None:
    """Show how the probes went so far."""
    with shell.bank() as bank:
        runs = bank.probe_history()
    out = shell.output

    def shown() -> None:
        if not runs:
            out.line(f"never asked yet; `{program()} probe` asks them")
            return
        out.table(
            ("at", "recall", "questions", "active", "faded", "mean strength"),
            [
                (
                    f"{each.at:%Y-%m-%d %H:%M}",
                    f"@{each.k} {_percent(each.recall)}",
                    f"{each.asked}",
                    f"{each.active}",
                    f"{each.faded}",
                    "-" if each.mean_strength is None else f"{each.mean_strength:.3f}",
                )
                for each in runs
            ],
        )

    out.result([{**plain(each), "recall": each.recall} for each in runs], shown)


@command("report")
def report(
    shell: Shell,
    file: Annotated[Path, typer.Argument(metavar="FILE.html", help="To write.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Over a file that is there.")] = False,
) -> None:
    """Write the state of the namespace as one page for a browser.

    It loads nothing from elsewhere, and quotes memories: keep it private.
    """
    from ebbmem.report import save

    if file.is_file() and not force:
        raise InvalidInput("file", f"{file} already exists; --force writes over it")
    with shell.bank() as bank:
        written = save(bank.report(), file, overwrite=force)
    out = shell.output
    out.result({"file": str(written)}, lambda: out.line(f"written to {file}", fold=False))


def _show_run(out: Output, run: ProbeRun, history: Sequence[ProbeRun]) -> None:
    if run.recall is None:
        out.line(_none_yet())
        return
    drawn = f"{bar(run.recall, width=20)} " if out.for_eyes else ""
    before = [each.recall for each in history[:-1] if each.k == run.k and each.recall is not None]
    change = f", {_percent(before[-1])} before" if before else ""
    out.line(f"recall@{run.k}  {drawn}{_percent(run.recall)}{change}")
    questions = f"{run.asked} question{'' if run.asked == 1 else 's'}"
    out.line(f"{questions}, {run.active:,} active and {run.faded:,} faded memories")


def _show_advice(out: Output, advice: Sequence[Advice]) -> None:
    for each in advice:
        out.line()
        out.line(f"{each.code}: {each.text}")


def _row(each: Probe) -> tuple[str, str, str, str]:
    question = excerpt(each.question, width=40)
    return f"{each.number}", each.kind, question, " ".join(map(inert, each.expected))


def _none_yet() -> str:
    return f"no probes yet; `{program()} probe add QUESTION ID` keeps one"


def _named(ids: Sequence[str]) -> str:
    return ", ".join(map(inert, ids))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
