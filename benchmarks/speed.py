"""What remembering and recalling cost, without the embedding, which is the model's own matter.

    python benchmarks/speed.py [--items 6000] [--data LOCOMO.json] [--json]
    python benchmarks/speed.py --footprint [--json]

CPU time of one process on one thread, because time on the wall tells more of the neighbours.
Targets stand beside the figures and are not enforced. The two bare figures, a numpy product
over all vectors and an SQLite commit, are what any memory must pay on the same machine.
"""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # read when numpy is imported, not later

# ruff: noqa: E402  # for that reason
import argparse
import json
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import corpus
import faiss
import numpy as np
from numpy.typing import NDArray

import ebbmem
from ebbmem import MemoryBank, Policy
from ebbmem.testing import ManualClock

ROOT = Path(__file__).resolve().parent.parent
OPENINGS = 5
IMPORTS = 5
SINGLES = 200  # bare commits, and memories remembered one by one
INSTALL_TARGET_MB = 150.0
NOT_OURS = ("pip*", "setuptools*", "pkg_resources", "_distutils_hack")  # the environment's own

Call = Callable[[], object]
Sample = tuple[float, float]  # milliseconds of CPU time, and on the wall


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Milliseconds; all but `wall` are CPU time.

    Attributes:
        wall: the median on the wall.
        target: what the `target_of` should not exceed; None is no target.
    """

    name: str
    runs: int
    median: float
    p95: float
    wall: float
    target: float | None = None
    target_of: str = "median"


def sample(call: Call) -> Sample:
    """What one call takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return 1e3 * (time.process_time() - cpu), 1e3 * (time.perf_counter() - wall)


def figure(
    name: str,
    samples: Iterable[Sample],
    *,
    target: float | None = None,
    target_of: str = "median",
) -> Figure:
    """Median and p95 of what several calls took."""
    taken = np.array(list(samples))
    median, p95 = np.percentile(taken[:, 0], [50, 95]).tolist()
    return Figure(
        name=name,
        runs=len(taken),
        median=median,
        p95=p95,
        wall=float(np.median(taken[:, 1])),
        target=target,
        target_of=target_of,
    )


def speed(given: corpus.Corpus) -> list[Figure]:
    """All figures, measured one after the other in this process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        clock = ManualClock(corpus.END)
        open_bank = partial(
            MemoryBank.open,
            path,
            namespace="benchmark",
            embedder=given.encoder,
            policy=Policy.chat(),
            clock=clock,
        )
        with open_bank() as bank:
            figures = [*remembering(bank, given), recalling(bank, clock, given)]
        figures.append(opening(open_bank, given))
        figures.append(importing())
        figures.append(numpy_scan(given))
        figures.append(sqlite_commit(Path(folder) / "bare.db"))
    return figures


def remembering(bank: MemoryBank, given: corpus.Corpus) -> Iterator[Figure]:
    """Many in one call, then one a call."""
    bulk = figure("bulk_remember", [sample(partial(bank.remember_many, given.drafts))])
    yield bulk
    share = 1 / len(given.drafts)
    yield replace(
        bulk,
        name="bulk_remember_each",
        median=bulk.median * share,
        p95=bulk.p95 * share,
        wall=bulk.wall * share,
    )
    singles = (sample(partial(remember_one, bank, draft)) for draft in given.later[:SINGLES])
    yield figure("remember", singles, target=1.0)


def remember_one(bank: MemoryBank, draft: ebbmem.Draft) -> None:
    """As a chat does it."""
    bank.remember(draft.text, speaker=draft.speaker, source=draft.source)


def recalling(bank: MemoryBank, clock: ManualClock, given: corpus.Corpus) -> Figure:
    """Different questions, each with its reinforcement written; the first one warms up."""

    def recalled() -> Iterator[Sample]:
        bank.recall(given.questions[-1])
        for question in given.questions:
            clock.advance(timedelta(minutes=11))  # beyond the spacing: every use counts
            yield sample(partial(bank.recall, question))

    return figure("recall", recalled(), target=8.0, target_of="p95")


def opening(open_bank: Callable[[], MemoryBank], given: corpus.Corpus) -> Figure:
    """From the closed file to the answer to a first question."""

    def opened(question: str) -> Sample:
        banks: list[MemoryBank] = []

        def first_answer() -> None:
            banks.append(open_bank())
            banks[0].recall(question, reinforce=False)

        taken = sample(first_answer)
        banks[0].close()
        return taken

    return figure("open", map(opened, given.questions[:OPENINGS]), target=500.0)


def importing() -> Figure:
    """`import ebbmem` in new processes, without what Python itself takes to start."""
    bare = np.median([started("") for _ in range(IMPORTS)], axis=0)
    full = [started("import ebbmem") for _ in range(IMPORTS)]
    return figure("import", [(cpu - bare[0], wall - bare[1]) for cpu, wall in full], target=250.0)


def started(statement: str) -> Sample:
    """A new Python that runs one statement and then says what CPU time it took so far."""
    code = f"{statement}\nimport time; print(time.process_time())"
    before = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return 1e3 * float(done.stdout), 1e3 * (time.perf_counter() - before)


def numpy_scan(given: corpus.Corpus) -> Figure:
    """One product of all vectors with one query."""
    vectors = stacked(given.encoder.encode_documents([each.text for each in given.drafts]))
    queries = stacked(map(given.encoder.encode_query, given.questions))
    return figure("numpy_scan", (sample(partial(np.matmul, vectors, each)) for each in queries))


def stacked(encodings: Iterable[ebbmem.embedding.Encoding]) -> NDArray[np.float32]:
    """(n, d) vectors."""
    return np.stack([each.vector for each in encodings])


def sqlite_commit(path: Path) -> Figure:
    """One row in one transaction, with the settings of the store."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")

    def commit() -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO bare (text) VALUES (?)", ("x" * 120,))
        db.execute("COMMIT")

    taken = [sample(commit) for _ in range(SINGLES)]
    db.close()
    return figure("sqlite_commit", taken)


def ratios(figures: Iterable[Figure]) -> dict[str, float]:
    """Medians over medians of the same run."""
    median = {each.name: each.median for each in figures}
    return {
        "recall_to_numpy_scan": median["recall"] / median["numpy_scan"],
        "remember_to_sqlite_commit": median["remember"] / median["sqlite_commit"],
    }


def footprint() -> dict[str, float]:
    """Megabytes of a new environment with the core installed, and of its packages alone."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / ("Scripts" if os.name == "nt" else "bin") / "python"
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", "install", *quiet, str(ROOT)], check=True)
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
        packages = Path(found.stdout.strip())
        tools = [each for pattern in NOT_OURS for each in packages.glob(pattern)]
        return {
            "core_install_mb": megabytes(packages) - sum(map(megabytes, tools)),
            "environment_mb": megabytes(Path(folder)),
        }


def megabytes(path: Path) -> float:
    """Of all files below, links not followed."""
    files = [each for each in path.rglob("*") if each.is_file() and not each.is_symlink()]
    return sum(each.stat().st_size for each in files) / 1e6


def versions() -> dict[str, str]:
    """What was measured, and what it stands on."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "faiss": faiss.__version__,
        "sqlite": sqlite3.sqlite_version,
        "ebbmem": ebbmem.__version__,
    }


def machine() -> dict[str, str]:
    """What it was measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "processor": platform.machine(), "cores": str(cores)}


def table(figures: Iterable[Figure]) -> str:
    """Figures for people."""
    lines = [f"{'milliseconds':20}{'CPU median':>12}{'CPU p95':>12}{'wall median':>13}  target"]
    for each in figures:
        wanted = "" if each.target is None else f"  {each.target_of} <= {each.target:g}"
        numbers = f"{each.median:12.3f}{each.p95:12.3f}{each.wall:13.3f}"
        lines.append(f"{each.name.replace('_', ' '):20}{numbers}{wanted}")
    return "\n".join(lines)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options; wrong ones end the program with a sentence."""
    parser = argparse.ArgumentParser(prog="speed.py", description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=6000, help="memories in the namespace")
    parser.add_argument("--data", type=Path, help="a LoCoMo file to take texts from")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--footprint", action="store_true", help="sizes on disk instead of times")
    options = parser.parse_args(arguments)
    if options.items < 1:
        parser.error(f"--items must be 1 or more, not {options.items}")
    if options.data is not None and not options.data.is_file():
        parser.error(f"--data: there is no file {options.data}")
    return options


def times(options: argparse.Namespace) -> tuple[dict[str, object], str]:
    """Figures and ratios, for programs and for people."""
    count = options.items
    given = corpus.read(options.data, count) if options.data else corpus.made(count)
    figures = speed(given)
    compared = ratios(figures)
    for_people = [f"{count} items, texts: {given.origin}; vectors made beforehand", ""]
    for_people += [table(figures), "", lines(compared)]
    for_programs: dict[str, object] = {"items": count, "texts": given.origin, "ratios": compared}
    for_programs["figures"] = [asdict(each) for each in figures]
    return for_programs, "\n".join(for_people)


def sizes() -> tuple[dict[str, object], str]:
    """The footprint, for programs and for people."""
    found = footprint()
    return {"sizes": found}, f"{lines(found)}\ntarget: core install <= {INSTALL_TARGET_MB:g}"


def lines(numbers: dict[str, float]) -> str:
    """Name and number."""
    return "\n".join(f"{name.replace('_', ' '):28}{each:8.1f}" for name, each in numbers.items())


def main(arguments: list[str]) -> None:
    """Measure, then print."""
    options = parsed(arguments)
    for_programs, for_people = sizes() if options.footprint else times(options)
    command = " ".join(["python benchmarks/speed.py", *arguments])
    if options.json:
        known = {"command": command, "versions": versions(), "machine": machine(), "threads": 1}
        print(json.dumps(known | for_programs))
        return
    print(command)
    for part in (versions(), machine()):
        print(", ".join(f"{name} {value}" for name, value in part.items()))
    print(f"one thread: {', '.join(THREADS)} are 1\n{for_people}")


if __name__ == "__main__":
    main(sys.argv[1:])
