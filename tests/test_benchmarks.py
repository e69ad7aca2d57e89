"""The benchmark runs and gives every figure; what they are is not tested."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIGURES = [
    "bulk_remember",
    "bulk_remember_each",
    "remember",
    "recall",
    "open",
    "import",
    "numpy_scan",
    "sqlite_commit",
]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a small run prints."""
    command = [sys.executable, "benchmarks/speed.py", "--items", "120", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


def test_every_figure_is_there(told: dict[str, Any]) -> None:
    assert [each["name"] for each in told["figures"]] == FIGURES


def test_every_figure_is_positive_and_finite(told: dict[str, Any]) -> None:
    for each in told["figures"]:
        for part in ("median", "p95", "wall"):
            assert each[part] > 0, (each["name"], part)
            assert math.isfinite(each[part]), (each["name"], part)


def test_what_must_be_fast_is_shown_with_its_target(told: dict[str, Any]) -> None:
    targets = {each["name"]: (each["target_of"], each["target"]) for each in told["figures"]}
    assert targets["recall"] == ("p95", 8.0)
    assert targets["remember"] == ("median", 1.0)
    assert targets["open"] == ("median", 500.0)
    assert targets["import"] == ("median", 250.0)


def test_recall_and_remember_are_compared_with_the_bare_work(told: dict[str, Any]) -> None:
    assert set(told["ratios"]) == {"recall_to_numpy_scan", "remember_to_sqlite_commit"}
    assert all(math.isfinite(each) and each > 0 for each in told["ratios"].values())


def test_a_run_says_what_it_was_made_with(told: dict[str, Any]) -> None:
    assert told["command"] == "python benchmarks/speed.py --items 120 --json"
    assert set(told["versions"]) == {"python", "numpy", "faiss", "sqlite", "ebbmem"}
    assert int(told["machine"]["cores"]) >= 1
    assert (told["items"], told["threads"]) == (120, 1)
