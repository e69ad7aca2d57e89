"""From the arguments to an exit code: all commands together, and what becomes of errors."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence

import typer

from ebbmem.cli import (  # each adds its commands
    audit,
    bench,
    bench_forgetting,
    bench_recall,
    bench_stale,
    data,
    demo,
    doctor,
    life,
    memories,
    monitor,
    repair,
)
from ebbmem.cli.app import app
from ebbmem.cli.output import print_error, program
from ebbmem.errors import EbbmemError

__all__ = ["COMMANDS", "run"]

COMMANDS = (
    demo,
    memories,
    life,
    data,
    doctor,
    repair,
    audit,
    monitor,
    bench,
    bench_forgetting,
    bench_recall,
    bench_stale,
)
"""The modules whose import adds their commands to the app."""

# Which library typer takes its errors from differs between its versions; this one class does not.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run(args: Sequence[str]) -> int:
    """0: done. 1: an error of ours. 2: used wrongly. 130: interrupted."""
    as_json = "--json" in args
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A bar or a Chinese word on a terminal without Unicode must not end in a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(list(args), standalone_mode=False, prog_name=program())
        with contextlib.suppress(ValueError):  # closed by a caller
            sys.stdout.flush()
    except _UsageError as error:
        print_error(error, as_json=as_json, hint=_hint(error))
        return 2
    except EbbmemError as error:
        print_error(error, as_json=as_json)
        return 1
    except typer.Abort:
        print("ebbmem: nothing was done", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    return code if isinstance(code, int) else 0


def _hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"try {context.command_path} --help" if context is not None else ""
