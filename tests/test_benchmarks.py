"""The benchmark runs and gives every figure; what they are is not tested."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ebbmem.records import Namespace
from ebbmem.store import SQLiteStore

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


def run_of(name: str, *arguments: str) -> dict[str, Any]:
    """What a benchmark prints as JSON, if it ends well."""
    command = [sys.executable, f"benchmarks/{name}", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a small run prints."""
    return run_of("speed.py", "--items", "120")


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


# -- isolation -----------------------------------------------------------------------------------


def test_a_short_run_over_many_namespaces_finds_no_leak() -> None:
    told = run_of("isolation.py", "--operations", "2000")
    assert (told["operations"], told["leak"]) == (2000, None)
    assert told["namespaces"] == 2 * 200  # on a file and in memory
    assert sum(told["by_name"].values()) == 2000


def test_a_run_ends_at_the_first_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the words are taken for somebody's, whoever said them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import isolation

    def said_by_anybody(store: SQLiteStore, ns: Namespace, items: Sequence[Any]) -> list[str]:
        return ["somebody's" for _ in items]

    monkeypatch.setattr(SQLiteStore, "same", said_by_anybody)
    told = isolation.run(2000, None, 0)
    assert told.operations < 2000
    assert "known in " in told.leak


def fuzzed(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/fuzz.py", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_every_target_of_the_fuzzer_runs_its_seeds_and_finds_nothing(tmp_path: Path) -> None:
    done = fuzzed("--minutes", "0.1", "--seed", "7", "--keep", str(tmp_path), "--json")
    assert done.returncode == 0, done.stdout
    runs = json.loads(done.stdout)["runs"]
    seeds = ROOT / "tests" / "fuzz" / "seeds"
    assert [each["target"] for each in runs] == sorted(each.name for each in seeds.iterdir())
    assert all(each["inputs"] > 0 and each["finding"] is None for each in runs)
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_does_not_exist_is_named() -> None:
    done = fuzzed("--target", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("no target nothing; there are arguments, bank, database")


# -- soaking -------------------------------------------------------------------------------------


def soaked(*options: str) -> dict[str, Any]:
    command = [sys.executable, "benchmarks/soak.py", *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout, done.stderr
    told = dict(json.loads(done.stdout))
    assert done.returncode == bool(told.get("faults")), told
    return told


def test_six_processes_eight_threads_and_twenty_tasks_are_never_refused_and_lose_nothing() -> None:
    told = soaked("--minutes", "0.08")
    assert told["faults"] == []
    assert told["uses"] > 0
    assert told["calls"]["recall"] > 0


def test_uses_by_several_processes_are_counted_with_every_driver() -> None:
    counts = soaked("--reinforcements", "--processes", "3", "--times", "50")["counts"]
    assert [(each["counted"], each["of"]) for each in counts] == [(150, 150)] * len(counts)
    assert "sqlite3" in {each["driver"].split()[0] for each in counts}


def sizes(memory: Sequence[float], files: Sequence[int] | None = None) -> list[Any]:
    """What a run took, at one instant after the other."""
    import soak

    files = files or [9] * len(memory)
    return [
        soak.Sample(float(at), (int(each),), (opened,), 0, 0)
        for at, (each, opened) in enumerate(zip(memory, files, strict=True))
    ]


def test_what_grows_after_the_warm_up_is_named_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import soak

    warming = [*range(50, 100), *[100] * 100]
    assert soak.grown(sizes([1e6 * each for each in warming])) == []
    sawtooth = [100 + each % 5 for each in range(150)]
    assert soak.grown(sizes([1e6 * each for each in sawtooth])) == []
    leaking = [100 + 0.2 * each for each in range(150)]
    assert len(soak.grown(sizes([1e6 * each for each in leaking]))) == 1
    assert soak.grown(sizes([1e8] * 150, [9 + each // 20 for each in range(150)])) == [
        "files of process 0 grew by 5 to 16"
    ]


def test_a_run_that_lost_a_use_is_not_exact(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import soak

    file = tmp_path / "memory.db"
    with soak.opened(file) as bank:
        bank.remember("all use this one", id=soak.SHARED, pinned=True)
        bank.reinforce(soak.SHARED)
    assert soak.left_behind(file, [soak.Ledger(uses=1)]) == []
    lost = soak.Ledger(uses=2, keeps={"m1": "tea"}, erased=["m2"])
    assert soak.left_behind(file, [lost]) == [
        "what is kept is not exact",
        "the count of uses is not exact",
        "the audit trail is not exact",
    ]


def test_search_by_similarity_and_strength_is_exact_and_reads_less(tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    told = run_of("decay_search.py", "--sizes", "9000", "--queries", "4", "--plot", str(plot))
    assert {each["exact"] for each in told["rows"]} == {4}
    scanned = {
        each["state"]: each["scanned"]
        for each in told["rows"]
        if (each["score"], each["when"]) == ("product", "at once")
    }
    assert scanned["faded"] <= scanned["steady"] <= scanned["fresh"] <= 1.0
    assert scanned["faded"] < 0.5
    assert all(0.0 <= share <= 1.0 for each in told["rows"] for share in each["fetched"].values())
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_large_namespace_is_ranked_much_as_all_of_it_would_be(tmp_path: Path) -> None:
    turns = [
        {"id": f"t{number}", "text": f"{('tea', 'boat', 'cat')[number % 3]} {number} is {word}"}
        for number, word in enumerate("green old wet far new red odd shy dry big".split() * 4)
    ]
    questions = [
        {"id": f"q{number}", "question": f"what is {number}?", "gold": [f"t{number}"]}
        for number in range(6)
    ]
    data = tmp_path / "made.json"
    history = {"id": "h", "items": turns, "questions": questions}
    data.write_text(json.dumps({"histories": [history]}), encoding="utf-8")
    told = run_of("agreement.py", str(data), "--items", "400", "--embedder", "hashing")
    [row] = told["rows"]
    assert row["items"] == 400
    assert row["shared"] > 0.9
    assert row["any_part"] == pytest.approx(row["any_all"], abs=0.2)
