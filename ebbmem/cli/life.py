"""Commands about the life of memories: strengthen, keep, bring back, let go, look ahead."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from ebbmem.cli import arguments as args
from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import Output, plain, shade
from ebbmem.clock import utc_now
from ebbmem.display import age, bar, excerpt, inert, size
from ebbmem.records import Memory
from ebbmem.results import Stats

__all__ = [
    "erase",
    "forecast",
    "forget",
    "hold",
    "pin",
    "prune",
    "reinforce",
    "restore",
    "stats",
]


@command("reinforce")
def reinforce(
    shell: Shell,
    ids: args.Ids,
    *,
    query: Annotated[
        str | None, typer.Option(help="What had been asked, for a policy that samples probes.")
    ] = None,
) -> None:
    """Count memories as used.

    One that was used within the spacing of the policy does not count again.
    """
    with shell.bank() as bank:
        counted = bank.reinforce(args.full_ids(bank, ids), query=query)
    _report(shell.output, "reinforced", counted, none="none counted: they were used just now")


@command("pin")
def pin(
    shell: Shell,
    ids: args.Ids,
    *,
    off: Annotated[bool, typer.Option("--off", help="Let them fade again.")] = False,
) -> None:
    """Keep memories from fading."""
    with shell.bank() as bank:
        named = args.full_ids(bank, ids)
        changed = bank.unpin(named) if off else bank.pin(named)
    _report(shell.output, "unpinned" if off else "pinned", changed)


@command("hold")
def hold(
    shell: Shell,
    ids: args.Ids,
    *,
    off: Annotated[bool, typer.Option("--off", "--release", help="End the hold.")] = False,
) -> None:
    """Put memories under legal hold.

    They cannot be erased until they are released.
    """
    with shell.bank() as bank:
        named = args.full_ids(bank, ids)
        changed = bank.release(named) if off else bank.hold(named)
    _report(shell.output, "released" if off else "held", changed)


@command("restore")
def restore(shell: Shell, ids: args.Ids) -> None:
    """Bring faded memories back."""
    with shell.bank() as bank:
        changed = bank.restore(args.full_ids(bank, ids))
    _report(shell.output, "restored", changed)


@command("forget")
def forget(shell: Shell, ids: args.Ids) -> None:
    """Let memories fade now, restorable for a while."""
    with shell.bank() as bank:
        changed = bank.forget(args.full_ids(bank, ids))
    _report(shell.output, "forgotten", changed)


@command("erase")
def erase(
    shell: Shell,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID...", help="Of the memories, or how they begin."),
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All of the namespace.")] = False,
    expired: Annotated[
        bool, typer.Option("--expired", help="What has reached its set end.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove memories at once and for good."""
    if [bool(ids), everything, expired].count(True) != 1:
        raise typer.BadParameter("name the memories to erase, or say --all or --expired")
    if shell.options.as_json and not yes:
        raise typer.BadParameter("with --json it cannot ask: add --yes")
    whose = "/".join(shell.namespace)
    with shell.bank() as bank:
        named = args.full_ids(bank, ids or ())
        if not yes:
            for memory in (bank.get(each, include_faded=True) for each in named):
                print(f"   {inert(memory.id)}  {excerpt(memory.text, width=40)}", file=sys.stderr)
            whole = "all memories" if everything else "what has reached its end"
            what = str(len(named)) if named else whole
            _confirm(f"Erase {what} of {inert(whose)} for good? [y/N] ")
        if named:
            done = bank.erase(named)
        else:
            done = bank.erase_all() if everything else bank.erase_expired()
    out = shell.output

    def show() -> None:
        out.line(f"{done.count} erased")
        for id_ in done.held:
            out.line(f"{id_} is under legal hold and stays", indent=3)
        if not done.complete:
            out.line(
                "somebody is reading the file, so traces may stay in it until the next write",
                style="yellow",
            )

    out.result({"erased": done.count, **plain(done)}, show)


@command("prune")
def prune(
    shell: Shell,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Run the daily pass.

    It hides what has faded, and lets go what has been faded for long.
    """
    with shell.bank(maintain=False) as bank:  # or opening would leave nothing to report
        done = bank.prune(dry_run=dry_run)
        everything = bank.list(include_faded=True, include_superseded=True)
        left = {each.id: each for each in everything}
        named = [left[id_] for id_ in done.faded if id_ in left]
    out = shell.output
    verb = "would be " if dry_run else ""

    def show() -> None:
        out.line(f"{len(done.faded)} {verb}faded, {len(done.erased)} {verb}forgotten for good")
        for memory in named:
            out.line(f"{memory.id}  {excerpt(memory.text, width=40)}", style="dim", indent=3)

    out.result(done, show)


@command("forecast")
def forecast(
    shell: Shell,
    *,
    days: Annotated[float, typer.Option(min=0.0, help="How far to look ahead.")] = 30.0,
) -> None:
    """What fades within some days if nobody uses it."""
    with shell.bank() as bank:
        coming = bank.forecast(days)
    out, now = shell.output, utc_now()

    def show() -> None:
        if not coming:
            out.line(f"nothing fades within {days:g} days")
            return
        out.table(
            ("fades", "strength", "memory"),
            [
                (
                    age(each.fades_at, now),
                    Text(_strength(out, each.strength), shade(each.strength)),
                    Text.assemble(excerpt(each.memory.text), "\n", (inert(each.memory.id), "dim")),
                )
                for each in coming
            ],
        )

    out.result(coming, show)


@command("stats")
def stats(shell: Shell) -> None:
    """A namespace in numbers, and what they advise."""
    with shell.bank() as bank:
        found, advice = bank.stats(), bank.advice()
    out = shell.output
    rows = [
        ("namespace", "/".join(found.namespace)),
        ("active", found.active),
        ("faded", found.faded),
        ("superseded", found.superseded),
        ("pinned", found.pinned),
        ("under hold", found.held),
        *((name, count) for name, count in sorted(found.by_category.items())),
        ("mean strength", "-" if found.mean_strength is None else f"{found.mean_strength:.3f}"),
        ("fading in a week", found.fading_week),
        ("and in a month", found.fading_month),
        ("recalls", found.recalls),
        ("embedder", found.embedder),
        ("timeline", found.timeline),
        ("on disk", size(found.bytes_on_disk)),
        ("in memory", size(found.bytes_in_memory)),
    ]

    def show() -> None:
        out.pairs(rows)
        if found.active:
            out.line()
            out.table(("strength", "memories"), list(_bins(out, found)))
        for each in advice:
            out.line()
            out.line(f"{each.code}: {each.text}")

    out.result({**plain(found), "advice": advice}, show)


def _bins(out: Output, found: Stats) -> Iterator[tuple[str, Text]]:
    """A row for each bin of the histogram, with a bar for eyes."""
    most, step = max(found.histogram), found.histogram_top / len(found.histogram)
    for index, count in enumerate(found.histogram):
        low = index * step
        drawn = bar(count / most, width=40).rstrip("░") if out.for_eyes else ""
        colour = shade(low / found.histogram_top) if count else "dim"
        yield f"{low:.1f} to {low + step:.1f}", Text(f"{drawn} {count}".lstrip(), colour)


def _confirm(question: str) -> None:
    """Asked on stderr, so that the standard output stays what a pipe expects."""
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort


def _report(out: Output, verb: str, changed: Sequence[Memory], *, none: str = "") -> None:
    def show() -> None:
        if not changed:
            out.line(none or f"none {verb}")
        for memory in changed:
            out.line(f"{verb} {memory.id}  {excerpt(memory.text, width=40)}")

    out.result({verb: [plain(each) for each in changed]}, show)


def _strength(out: Output, value: float) -> str:
    return f"{bar(value, width=6)} {value:.2f}" if out.for_eyes else f"{value:.3f}"
