"""Talking to an example program as somebody who started it in a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["talked"]


def talked(
    example: Path, folder: Path, *lines: str, arguments: tuple[str, ...] = ()
) -> tuple[list[str], str]:
    """What it prints after each prompt, and what it complains of."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(example), *arguments],
        input="\n".join([*lines, ""]),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [part.strip() for part in ran.stdout.split("> ")], ran.stderr
