"""A sick file made sound."""

from __future__ import annotations

from typing import Annotated

import typer

from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import plain, program

__all__ = ["repair"]


@command("repair")
def repair(
    shell: Shell,
    *,
    backup: Annotated[
        bool, typer.Option(help="Copy the file first, if there is something to mend.")
    ] = True,
) -> None:
    """Mend the file, or save what can be read of it.

    Whatever follows from the memories is worked out again, what belongs to none is dropped, and
    no text is. If the file cannot be mended it stays as it is, and a new one is made beside it.
    """
    from ebbmem.health import repair  # heavy; --help needs none of it
    from ebbmem.store.mends import DONE

    out = shell.output
    with out.progress("embedding") as progress:
        done = repair(
            shell.file(),
            embedder=shell.options.embedder or "auto",
            backup=backup,
            progress=progress,
        )

    def show() -> None:
        if done.salvaged is not None:
            out.line(f"{done.salvaged} memories saved into {done.path}", fold=False)
            out.line(f"{shell.path} could not be mended and is as it was", fold=False)
            for id_ in done.lost:
                out.line(f"lost: {id_}", style="red")
        for kind, count in done.mended.items():
            out.line(f"{kind}: {count} {DONE[kind]}")
        if done.embedded:
            out.line(f"embedded again: {done.embedded}")
        if done.without_vectors:
            left = f"{done.without_vectors} memories are found by words alone"
            out.line(f"{left}; `{program()} reembed` gives them vectors", style="yellow")
        if done.backup is not None:
            out.line(f"as it was before: {done.backup}; remove it when all is well", fold=False)
        if not done.mended and done.salvaged is None and not done.embedded:
            out.line("nothing to mend", style="green")

    out.result(plain(done), show)
