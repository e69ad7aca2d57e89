"""`ebbmem bench ...`: measurements of recall and of forgetting, on data that you give."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

import typer

from ebbmem import __version__
from ebbmem.cli.app import app

if TYPE_CHECKING:
    from ebbmem.embedding import Encoder

__all__ = ["bench", "versions"]

bench = typer.Typer(
    help="Measure recall and forgetting on data that you give; nothing is written.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")


def versions(encoder: Encoder | None) -> dict[str, str]:
    """What figures were made with: ours, Python's, numpy's, and the embedder."""
    return {
        "ebbmem": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "embedder": "none" if encoder is None else encoder.fingerprint.name,
    }
