"""Each file operation, SQLite's own too, fails in turn: what is kept is as before, or as after."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crash_operations import OPERATIONS

TESTS = Path(__file__).parents[1]
BENCHMARKS = TESTS.parent / "benchmarks"
COMPILER = shutil.which("cc")
KINDS = ("EIO", "ENOSPC", "EACCES", "EIO lasting", "ENOSPC lasting")
CHOSEN = ("remember", "write", "update", "recall", "import", "export", "backup", "erase")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler: file operations fail by LD_PRELOAD")
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    source = TESTS / "crash_shim.c"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_operation_that_fails_leaves_everything_as_before_or_after(
    shim: Path, tmp_path: Path, kind: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(TESTS / "crash_child.py"), str(tmp_path), kind, *CHOSEN],
        env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(BENCHMARKS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    failed = json.loads(done.stdout)
    assert set(failed) == set(CHOSEN) <= {each.name for each in OPERATIONS}
    assert all(failed.values()), failed
