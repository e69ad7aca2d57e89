"""LangGraph's own tests of its `InMemoryStore`, run on ours.

They ship in the source distribution of langgraph-checkpoint only; `EBBMEM_LANGGRAPH_SOURCES` names
the folder where one is unpacked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parent / "upstream"
PASSED = {"4.3.2": 117}
"""How many cases each version has, so that none can be left out unnoticed."""


def test_langgraphs_own_store_suite_passes(tmp_path: Path) -> None:
    folder = os.environ.get("EBBMEM_LANGGRAPH_SOURCES")
    if not folder:
        pytest.skip("EBBMEM_LANGGRAPH_SOURCES names no source distribution")
    pytest.importorskip("pytest_mock", reason="the suite asks for pytest-mock")
    config = tmp_path / "empty.ini"
    config.touch()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/test_store.py", "-q"),
            *("-p", "plugin", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"),
            *("-c", str(config), "--rootdir", folder),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PLUGINS), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    counts = {name: int(count) for count, name in re.findall(r"(\d+) ([a-z]+)", done.stdout)}
    assert counts.get("passed") == PASSED[version("langgraph-checkpoint")]
    assert "failed" not in counts
    assert "skipped" not in counts
