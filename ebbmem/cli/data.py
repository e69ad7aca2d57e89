"""Commands that move whole memories: export, import, reembed, backup."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ebbmem.cli.app import Shell, command
from ebbmem.cli.output import plain

__all__ = ["backup", "export", "import_", "reembed"]


@command("export")
def export(
    shell: Shell, file: Annotated[str, typer.Argument(help="To write; - is the standard output.")]
) -> None:
    """Write the namespace as JSON Lines."""
    out = shell.output
    if file == "-" and out.as_json:
        raise typer.BadParameter("--json and the memories cannot both go to the standard output")
    with shell.bank() as bank, out.waiting("exporting"):
        count = bank.export_jsonl(sys.stdout if file == "-" else file)
    if file == "-":
        print(f"{count} exported", file=sys.stderr)
    else:
        document = {"exported": count, "file": file}
        out.result(document, lambda: out.line(f"{count} exported to {file}"))


@command("import")
def import_(
    shell: Shell,
    file: Annotated[Path, typer.Argument(help="To read.")],
    *,
    format: Annotated[str, typer.Option(help="auto, ebbmem, locomo, mcp or mem0.")] = "auto",
    only: Annotated[
        str | None,
        typer.Option(help="One conversation of the file, into the namespace itself."),
    ] = None,
) -> None:
    """Read memories from a file.

    Several conversations become a namespace each, below the one that is given.
    """
    out = shell.output
    with shell.bank(create=True) as bank, out.progress("importing") as progress:
        counts = bank.import_file(file, format=format, only=only, progress=progress)
    document = [{"namespace": name, **plain(count)} for name, count in counts.items()]

    def show() -> None:
        for name, count in counts.items():
            out.line(
                f"{'/'.join(name)}: {count.new:,} new, {count.known:,} already there   "
                f"({shell.suggest('recall', name)} ...)",
                fold=False,
            )

    out.result(document, show)


@command("reembed")
def reembed(
    shell: Shell,
    to: Annotated[str, typer.Argument(metavar="EMBEDDER", help="local, multilingual, hashing.")],
) -> None:
    """Convert the file to another embedder.

    If it is stopped, the next run goes on where it was.
    """
    out = shell.output
    with shell.bank(as_written=True) as bank, out.progress("embedding") as progress:
        count = bank.reembed(to, progress=progress)
    document = {"reembedded": count, "embedder": to}
    out.result(document, lambda: out.line(f"{count} embedded again with {to}"))


@command("backup")
def backup(shell: Shell, file: Annotated[Path, typer.Argument(help="To write.")]) -> None:
    """Copy the whole file while it is in use."""
    out = shell.output
    with shell.bank() as bank, out.waiting("copying"):
        written = bank.backup(file)
    out.result({"file": str(written)}, lambda: out.line(f"copied to {written}"))
