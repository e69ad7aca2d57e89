"""The public typing is itself tested."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

API = Path(__file__).parent / "typing" / "api.py"

pytest.importorskip("mypy")


def test_a_type_checker_sees_what_is_promised() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(API)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=API.parents[2],
    )
    assert done.stdout + done.stderr == ""
