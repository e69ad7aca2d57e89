"""`ebbmem bench ...`: measurements of recall and of forgetting, on data that you give."""

from __future__ import annotations

import typer

from ebbmem.cli.app import app

__all__ = ["bench"]

bench = typer.Typer(
    help="Measure recall and forgetting on data that you give; nothing is written.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")
