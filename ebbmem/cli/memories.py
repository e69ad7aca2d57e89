"""Commands about what is remembered: remember, recall, explain, list, show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ebbmem import decay
from ebbmem.cli import arguments as args
from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import Output, plain, reason, shade
from ebbmem.clock import utc_now
from ebbmem.display import age, bar, curve, excerpt, inert, span, why
from ebbmem.records import Memory, Recollection

if TYPE_CHECKING:
    from ebbmem.bank import MemoryBank
    from ebbmem.results import Explanation

__all__ = ["explain", "list_", "recall", "remember", "show", "show_recollections", "with_strength"]


@command("remember")
def remember(
    shell: Shell,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    *,
    category: Annotated[str, typer.Option(help="Decides how fast it fades.")] = "fact",
    importance: Annotated[
        float | None, typer.Option(help="In [0, 1]; by default the text decides.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="The conversation or document it is from.")
    ] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it was said: ISO 8601 with a zone.")
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="It never fades.")] = False,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="An object of your own.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="What it is about: of one key only the newest is current.")
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="What it takes the place of; may be repeated."),
    ] = None,
) -> None:
    """Remember a text.

    The same text again strengthens what is there.
    """
    when, extra = args.read_time(at), args.read_metadata(metadata)
    with shell.bank(create=True) as bank:
        memory = bank.remember(
            text,
            category=category,
            importance=importance,
            source=source,
            speaker=speaker,
            at=when,
            pinned=pinned,
            metadata=extra,
            key=key,
            supersedes=args.full_ids(bank, supersedes or ()),
        )
        document = with_strength(bank, memory)
    out = shell.output
    out.result(document, lambda: out.line(f"remembered {memory.id} ({_until(memory, utc_now())})"))


@command("recall")
def recall(
    shell: Shell,
    query: args.Query,
    *,
    k: args.Top = 5,
    category: args.Category = None,
    source: args.Source = None,
    where: args.Where = None,
    include_faded: args.IncludeFaded = False,
    include_superseded: args.IncludeSuperseded = False,
    as_of: args.AsOf = None,
    reinforce: Annotated[
        bool, typer.Option("--reinforce/--no-reinforce", help="Whether what is used strengthens.")
    ] = True,
    min_similarity: args.MinSimilarity = None,
    around: Annotated[
        int, typer.Option(min=0, max=10, help="So many said before and after each, too.")
    ] = 0,
) -> None:
    """What comes to mind, best first, and why."""
    with shell.bank() as bank:
        found = bank.recall(
            query,
            k,
            category=category,
            source=source,
            where=args.read_where(where),
            include_faded=include_faded,
            include_superseded=include_superseded,
            as_of=args.read_time(as_of, "as_of"),
            reinforce=reinforce,
            min_similarity=min_similarity,
            around=around,
        )
    out = shell.output
    out.result(list(found), lambda: show_recollections(out, found, utc_now()))


def show_recollections(out: Output, found: Sequence[Recollection], now: datetime) -> None:
    """Each with its rank, score, strength, age, text and reasons."""
    if not found:
        out.line("nothing comes to mind")
    for rank, each in enumerate(found, 1):
        memory = each.memory
        drawn = f"{bar(each.strength)} " if out.for_eyes else "strength "
        out.line(
            Text.assemble(
                (f"{rank}. ", "bold"),
                (f"{each.score:.2f}", "bold"),
                "  ",
                (f"{drawn}{each.strength:.2f}", shade(each.strength)),
                f"  {memory.created_at:%Y-%m-%d}, {age(memory.created_at, now)}",
                (f"  {_origin(memory)}", "dim"),
            )
        )
        for near in each.before:
            out.line(_said(near), style="dim", indent=5)
        out.line(memory.text, indent=3)
        for near in each.after:
            out.line(_said(near), style="dim", indent=5)
        out.line(f"{'reinforced; ' if each.reinforced else ''}{why(each)}", style="dim", indent=3)
        out.line(inert(memory.id), style="dim", indent=3)


def _said(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text


@command("explain")
def explain(
    shell: Shell,
    query: args.Query,
    id: args.Id,
    *,
    k: args.Top = 5,
    category: args.Category = None,
    source: args.Source = None,
    where: args.Where = None,
    include_faded: args.IncludeFaded = False,
    include_superseded: args.IncludeSuperseded = False,
    as_of: args.AsOf = None,
    min_similarity: args.MinSimilarity = None,
) -> None:
    """Why a memory comes to mind, or why not."""
    with shell.bank() as bank:
        [whole] = args.full_ids(bank, [id])
        found = bank.explain(
            query,
            whole,
            k=k,
            category=category,
            source=source,
            where=args.read_where(where),
            include_faded=include_faded,
            include_superseded=include_superseded,
            as_of=args.read_time(as_of, "as_of"),
            min_similarity=min_similarity,
        )
    shell.output.result(found, lambda: _show_explanation(shell.output, found))


def _show_explanation(out: Output, found: Explanation) -> None:
    out.line(Text.assemble((found.outcome, "bold"), f": {inert(reason(found))}"))
    scored = found.recollection
    if scored is not None:
        out.line(f"score {scored.score:.3f}, relevance {scored.relevance:.3f}", indent=3)
        out.line(why(scored), indent=3)
    if found.better:
        out.line("better were:")
    for each in found.better:
        out.line(f"{each.score:.3f}  {excerpt(each.memory.text)}  {each.memory.id}", indent=3)


@command("list")
def list_(
    shell: Shell,
    *,
    category: args.Category = None,
    source: args.Source = None,
    where: args.Where = None,
    include_faded: args.IncludeFaded = False,
    include_superseded: args.IncludeSuperseded = False,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many at first.")] = 0,
) -> None:
    """All memories, in the order they were said."""
    with shell.bank() as bank:
        found = bank.list(
            category=category,
            source=source,
            where=args.read_where(where),
            include_faded=include_faded,
            include_superseded=include_superseded,
            limit=limit,
            offset=offset,
        )
        strengths = [bank.strength(each) for each in found]
    out = shell.output
    document = [
        {**plain(memory), "strength": strength}
        for memory, strength in zip(found, strengths, strict=True)
    ]
    out.result(document, lambda: _show_list(out, found, strengths))


def _show_list(out: Output, found: Sequence[Memory], strengths: Sequence[float]) -> None:
    now = utc_now()
    if not found:
        out.line("no memories")
        return
    if not out.for_eyes:
        rows = (
            (
                each.id,
                f"{strength:.3f}",
                each.created_at.isoformat(),
                each.category,
                _marks(each),
                each.text,
            )
            for each, strength in zip(found, strengths, strict=True)
        )
        out.table((), rows)
        return
    out.table(
        ("strength", "said", "category", "memory"),
        [
            (
                Text(f"{bar(strength, width=6)} {strength:.2f}", shade(strength)),
                age(each.created_at, now),
                f"{each.category}\n{_unusual(each)}",
                Text.assemble(excerpt(each.text), "\n", (inert(each.id), "dim")),
            )
            for each, strength in zip(found, strengths, strict=True)
        ],
    )


@command("show")
def show(shell: Shell, id: args.Id) -> None:
    """Everything about one memory, and its curve."""
    with shell.bank() as bank:
        [whole] = args.full_ids(bank, [id])
        memory = bank.get(whole, include_faded=True)
        base = bank.policy.category(memory.category).base_rate
        rate = bank.policy.rate(base, memory.importance)
        lifetime = float(bank.policy.lifetime(base, memory.importance, memory.recall_count))
        document = with_strength(bank, memory) | {
            "retention": bank.retention(memory),
            "half_life_days": float(decay.half_life(rate, bank.policy.curve)),
            "lifetime_days": lifetime,
        }
        drawn = _curve(bank, memory, lifetime)
    out = shell.output

    def show_all() -> None:
        out.line(memory.text)
        out.line()
        out.pairs(_facts(document, memory, utc_now()))
        out.line()
        for each in drawn:
            out.line(each)

    out.result(document, show_all)


def _facts(document: dict[str, Any], memory: Memory, now: datetime) -> list[tuple[str, str]]:
    facts = []
    for name, value in document.items():
        moment = getattr(memory, name, None)
        if name == "text" or value is None or value == {}:
            continue
        if isinstance(moment, datetime):
            said = f"{moment:%Y-%m-%d %H:%M:%S} UTC, {age(moment, now)}"
        else:
            said = f"{value:.3f}" if isinstance(value, float) else str(value)
        facts.append((name.replace("_", " "), said))
    return facts


def _curve(bank: MemoryBank, memory: Memory, lifetime: float) -> list[str]:
    """Strength from the last reinforcement until it would fade, with today marked."""
    began = max(filter(None, (memory.created_at, memory.last_reinforced_at)))
    today = (utc_now() - began).total_seconds() / 86_400
    end = min(max(1.25 * lifetime, 1.0), 3_650.0)
    base = bank.policy.category(memory.category).base_rate
    days = [end * step / 128 for step in range(129)]
    values = bank.policy.strength(base, memory.importance, memory.recall_count, days)
    ticks = ((0.0, "0"), (lifetime, f"day {lifetime:.0f}: fades"))
    return curve(
        list(zip(days, map(float, values), strict=True)),
        width=60,
        marks=[today] if bank.policy.timeline == "wall" and 0.0 <= today <= end else (),
        ticks=ticks,
    )


def with_strength(bank: MemoryBank, memory: Memory) -> dict[str, Any]:
    """The memory as a JSON object, with its strength now."""
    return {**plain(memory), "strength": bank.strength(memory)}


def _origin(memory: Memory) -> str:
    parts = (memory.speaker, memory.category, memory.source, _unusual(memory))
    return " · ".join(inert(each) for each in parts if each)


def _unusual(memory: Memory) -> str:
    return _marks(memory).removeprefix("active").removeprefix(", ")


def _marks(memory: Memory) -> str:
    marks = [memory.status, *(name for name in ("pinned", "held") if getattr(memory, name))]
    if not memory.searchable:
        marks.append("not searched")
    if memory.superseded_at is not None:
        marks.append("superseded")
    if memory.expires_at is not None:
        marks.append(f"ends {memory.expires_at:%Y-%m-%d %H:%M}Z")
    return ", ".join(marks)


def _until(memory: Memory, now: datetime) -> str:
    if memory.fades_at is None:
        return "never fades"
    return f"fades in {span(memory.fades_at - now)}" if memory.fades_at > now else "fading"
