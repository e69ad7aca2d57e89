"""Commands about the audit trail: what was done, and whether the trail is as it was written."""

from __future__ import annotations

from typing import Annotated

import typer

from ebbmem.cli.app import Shell, app, command
from ebbmem.cli.output import plain
from ebbmem.display import inert

__all__ = ["audit", "show", "verify"]

audit = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(audit, name="audit")


@command("", on=audit)
def show(shell: Shell) -> None:
    """List what faded, came back, was forgotten or erased.

    Ids and actions alone; oldest first.
    """
    with shell.bank() as bank:
        lines = bank.audit()
    out = shell.output

    def shown() -> None:
        if not lines:
            out.line("nothing was done yet")
            return
        out.table(
            ("", "at", "action", "memory"),
            [
                (f"{each.number}", f"{each.at:%Y-%m-%d %H:%M:%S}", each.action, inert(each.id))
                for each in lines
            ],
        )

    out.result(lines, shown)


@command("verify", on=audit)
def verify(
    shell: Shell,
    *,
    head: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="What it said at the end of an earlier check."),
    ] = None,
) -> None:
    """Look for lines of the trail that were changed, removed or moved.

    Somebody who can write the file can write the whole trail anew. Only the hash that this
    prints, kept where they cannot write and given back as --head, finds that.
    """
    with shell.bank(maintain=False) as bank:
        found = bank.audit_verify(head=head)
    out = shell.output

    def shown() -> None:
        if found.reason is not None:
            out.line(f"fault: {found.reason}", style="red")
            return
        out.line(f"{found.length} lines, as they were written", style="green")
        out.line(f"head {found.head}", fold=False)

    out.result({**plain(found), "ok": found.ok}, shown)
    if not found.ok:
        raise typer.Exit(1)
