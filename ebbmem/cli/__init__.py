"""The command line: a command parses, calls the bank, prints."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run `ebbmem` with the arguments of the process."""
    try:
        from ebbmem.cli.run import run  # so that a missing extra is one sentence
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("ebbmem: the command line needs an extra: pip install 'ebbmem[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
