"""Processes, threads and tasks on one file at once, everything they were told checked.

    python benchmarks/soak.py [--minutes 5] [--processes 6] [--threads 8] [--tasks 20]
                              [--without export] [--seed 0] [--json]
    python benchmarks/soak.py --reinforcements [--times 400] [--processes 6] [--json]

The first does everything a bank can do, mixed. Each of the crowd keeps a ledger of what it was
told; in the end the file must hold exactly that, the count of a memory that all used must be
exact, and everything that was to fade must have done so once. Memory, open files and the log are
looked at all the time; where a run is long enough to judge, they must not grow. The second counts
uses of one memory by several processes, with every driver that is installed, and how long the
unluckiest waited. Begins itself again with MALLOC_ARENA_MAX=1, which is read at the start.

Exits with 1 if anything failed, was not exact, or grew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from soak_crowd import NAMES, SHARED, Actor, Ledger, act, act_all

import ebbmem
from ebbmem import AsyncMemoryBank, MemoryBank, MissingExtra, Policy
from ebbmem.store.driver import DRIVERS, Driver, driver

SPAWN = multiprocessing.get_context("spawn")  # as separate programs are: nothing is inherited
POLICY = Policy(spacing=timedelta(0), on_fade="erase", prune_every=timedelta(seconds=1))
PROC = Path("/proc/self")
ONE_HEAP = "MALLOC_ARENA_MAX"  # glibc's heap of each thread grows for itself and hides what is ours

WARM_UP = 1 / 3  # of a run, not judged
JUDGED = 60.0  # seconds: in less nothing can be said of growth
# Bytes of memory for each that the file grows by, which it does by design: the trail only grows.
HELD = 2.0  # a VACUUM holds the whole file, the cache its pages
EXPORTED = 20.0  # an export holds the trail as values: 8 measured, and one process runs several
GROWTH = {"memory": (0.05, 2e6), "files": (0.0, 3.0), "log": (0.0, 4e6)}  # share, or so much


def opened(file: Path, **options: Any) -> MemoryBank:
    """The bank that all share."""
    return MemoryBank.open(file, namespace="crowd", embedder="hashing", policy=POLICY, **options)


# -- what it takes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes of memory and open files of each process, bytes of the write-ahead log and the file."""

    at: float
    memory: tuple[int, ...]
    files: tuple[int, ...]
    log: int
    file: int


def sample(at: float, pids: Iterable[int], file: Path) -> Sample:
    """What is taken now."""
    folders = [PROC.with_name(str(pid)) for pid in pids]
    pages = [int((each / "statm").read_text().split()[1]) for each in folders]
    log = file.with_name(f"{file.name}-wal")
    return Sample(
        at,
        tuple(os.sysconf("SC_PAGE_SIZE") * each for each in pages),
        tuple(len(os.listdir(each / "fd")) for each in folders),
        log.stat().st_size if log.exists() else 0,
        file.stat().st_size,
    )


def growth(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """What a straight line through the samples after the warm-up gains, for each process."""
    at = np.array([each.at for each in samples])
    after = at >= at[0] + WARM_UP * (at[-1] - at[0])
    rows: dict[str, Any] = {
        "memory": [each.memory for each in samples],
        "files": [each.files for each in samples],
        "log": [[each.log] for each in samples],
        "file": [[each.file] for each in samples],
    }
    span = at[-1] - at[after][0]
    return {
        name: [float(span * np.polyfit(at[after], line, 1)[0]) for line in np.array(each)[after].T]
        for name, each in rows.items()
    }


def grown(samples: Sequence[Sample], *, held: float = HELD) -> list[str]:
    """What did not stay flat, in words; memory may gain `held` bytes for each of the file."""
    last, found = samples[-1], []
    now = {"memory": last.memory, "files": last.files, "log": (last.log,)}
    gained = growth(samples)
    [data] = gained.pop("file")
    for name, gains in gained.items():
        share, least = GROWTH[name]
        more = max(held * data, 0.0) if name == "memory" else 0.0
        for number, (gain, size) in enumerate(zip(gains, now[name], strict=True)):
            if gain > max(share * size, least) + more:
                found.append(f"{name} of process {number} grew by {gain:.0f} to {size}")
    return found


# -- the crowd -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was done, how long the unluckiest waited, what was taken, what was wrong.

    Attributes:
        worst_alone_ms: of the processes that make one call at a time, and so wait for nobody
            within their own.
    """

    seconds: float
    calls: dict[str, int]
    worst_ms: dict[str, float]
    worst_alone_ms: float
    uses: int
    faded: int
    erased: int
    kept: int
    samples: list[Sample]
    growth: dict[str, list[float]]
    judged: bool
    faults: list[str]


def run(
    seconds: float, processes: int, threads: int, tasks: int, seed: int, without: Sequence[str]
) -> Run:
    """The mixed load, and the look at what it left behind."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        with opened(file) as bank:
            bank.remember("all use this one", id=SHARED, pinned=True)
            alone = [Actor(f"p{each}", seed, without) for each in range(processes)]
            inside = [Actor(f"t{each}", seed, without) for each in range(threads)]
            awaiting = [Actor(f"a{each}", seed, without) for each in range(tasks)]
            crowd = [start(act_alone, file, each, seconds) for each in alone]
            begin = time.monotonic()
            until = begin + seconds
            work = [threading.Thread(target=act, args=(bank, each, until)) for each in inside]
            loop = act_all(AsyncMemoryBank(bank), awaiting, until)
            work.append(threading.Thread(target=asyncio.run, args=(loop,)))
            for _, pipe in crowd:
                pipe.send("begin")
            for thread in work:
                thread.start()
            samples = watch(file, [process.pid or 0 for process, _ in crowd], begin, until)
            for thread in work:
                thread.join()
            outside: list[Ledger] = [pipe.recv() for _, pipe in crowd]
            ledgers = [*outside, *(each.ledger for each in (*inside, *awaiting))]
            for process, _ in crowd:
                process.join()
        faults = [fault for each in ledgers for fault in each.faults] + left_behind(file, ledgers)
    held = HELD if "export" in without else HELD + EXPORTED
    judged = len(samples) > 2 and seconds >= JUDGED
    return Run(
        seconds=seconds,
        calls=dict(sum((each.calls for each in ledgers), Counter[str]())),
        worst_ms={name: longest(ledgers, [name]) for name in NAMES},
        worst_alone_ms=longest(outside, NAMES),
        uses=sum(each.uses for each in ledgers),
        faded=sum(len(each.passing) for each in ledgers),
        erased=sum(len(each.erased) for each in ledgers),
        kept=sum(len(each.keeps) for each in ledgers),
        samples=samples,
        growth=growth(samples) if len(samples) > 2 else {},
        judged=judged,
        faults=faults + (grown(samples, held=held) if judged else []),
    )


def longest(ledgers: Iterable[Ledger], names: Sequence[str]) -> float:
    """Milliseconds of the longest of these operations."""
    worst = [each.worst.get(name, 0.0) for each in ledgers for name in names]
    return round(1e3 * max(worst, default=0.0), 1)


def act_alone(file: Path, actor: Actor, seconds: float, pipe: Connection) -> None:
    """One process: opens, says so, begins when it is told, gives its ledger."""
    with opened(file) as bank:
        pipe.send("ready")
        pipe.recv()
        act(bank, actor, time.monotonic() + seconds)
    pipe.send(actor.ledger)


def start(work: Callable[..., None], *given: Any) -> tuple[Any, Connection]:
    """A process that has opened the file and waits, and the pipe to it."""
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=work, args=(*given, theirs))
    process.start()
    theirs.close()  # so that the death of the process ends a wait for it
    ours.recv()
    return process, ours


def watch(file: Path, pids: Sequence[int], begin: float, until: float) -> list[Sample]:
    """Samples of this process and the others, up to a hundred, until it is over."""
    samples: list[Sample] = []
    if not PROC.exists():
        return samples
    every = max((until - begin) / 100, 0.1)
    while (now := time.monotonic()) < until - every:
        samples.append(sample(now - begin, [os.getpid(), *pids], file))
        time.sleep(every)
    return samples


def left_behind(file: Path, ledgers: Sequence[Ledger]) -> list[str]:
    """Where the file is not what the ledgers say, in words."""
    with opened(file, clock=lambda: datetime.now(UTC) + timedelta(hours=1)) as bank:
        bank.prune()
        found = {each.id: each.text for each in bank.list(include_faded=True)}
        uses = bank.get(SHARED).recall_count
        lines = Counter((line.action, line.id) for line in bank.audit())
        integrity = bank.diagnose()["integrity"]
    keeps = {id_: text for each in ledgers for id_, text in each.keeps.items()}
    passing = [id_ for each in ledgers for id_ in each.passing]
    expected = Counter({(action, id_): 1 for id_ in passing for action in ("fade", "purge")})
    expected += Counter(("erase", id_) for each in ledgers for id_ in each.erased)
    checks = {
        "what is kept": found == {SHARED: "all use this one", **keeps},
        "the count of uses": uses == sum(each.uses for each in ledgers),
        "the audit trail": lines == expected,
        "the database": integrity == "ok",
    }
    return [f"{what} is not exact" for what, right in checks.items() if not right]


# -- uses of one memory ----------------------------------------------------------------------


def use(file: Path, times: int, pipe: Connection) -> None:
    """One process: uses the memory so often, and gives what each took in seconds."""
    waits = []
    with opened(file) as bank:
        pipe.send("ready")
        pipe.recv()
        for _ in range(times):
            start = time.monotonic()
            bank.reinforce(SHARED)
            waits.append(time.monotonic() - start)
    pipe.send(waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many uses were counted, of how many, and how long they took."""

    driver: str
    counted: int
    of: int
    seconds: float
    median_ms: float
    worst_ms: float


def reinforcements(driver: Driver, processes: int, times: int) -> Count:
    """Uses of one memory by several processes at once."""
    os.environ["EBBMEM_SQLITE"] = driver.name  # the others inherit it
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        with opened(file) as bank:
            bank.remember("all use this one", id=SHARED, pinned=True)
        crowd = [start(use, file, times) for _ in range(processes)]
        begin = time.monotonic()
        for _, pipe in crowd:
            pipe.send("begin")
        waits = [each for _, pipe in crowd for each in pipe.recv()]
        seconds = time.monotonic() - begin
        for process, _ in crowd:
            process.join()
        with opened(file) as bank:
            counted = bank.get(SHARED).recall_count
    return Count(
        driver=f"{driver.name} {driver.version}",
        counted=counted,
        of=processes * times,
        seconds=round(seconds, 2),
        median_ms=round(1e3 * float(np.median(waits)), 2),
        worst_ms=round(1e3 * max(waits), 1),
    )


def installed() -> list[Driver]:
    """Every driver there is."""
    found = []
    for name in DRIVERS:
        with suppress(MissingExtra):
            found.append(driver(name))
    return found


# -- the command -----------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """What was measured."""
    return {
        "python": platform.python_version(),
        "driver": f"{driver().name} {driver().version}",
        "ebbmem": ebbmem.__version__,
    }


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="soak.py", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--reinforcements", action="store_true", help="count uses of one memory")
    parser.add_argument("--times", type=int, default=400, help="uses by each process")
    parser.add_argument("--without", choices=NAMES, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def lines(made: Run) -> list[str]:
    """A run for people."""
    told = [
        f"{'seconds':>8}{'MB, largest':>13}{'MB, all':>9}{'files':>7}{'log MB':>8}{'file MB':>9}"
    ]
    for each in made.samples[:: max(len(made.samples) // 12, 1)]:
        sizes = f"{max(each.memory) / 1e6:13.1f}{sum(each.memory) / 1e6:9.1f}{max(each.files):7}"
        told.append(f"{each.at:8.1f}{sizes}{each.log / 1e6:8.2f}{each.file / 1e6:9.2f}")
    told += ["", f"{'operation':>12}{'calls':>8}{'worst ms':>10}"]
    told += [f"{name:>12}{made.calls.get(name, 0):8}{made.worst_ms[name]:10.1f}" for name in NAMES]
    told.append(f"worst of a process that makes one call at a time: {made.worst_alone_ms} ms")
    told += ["", f"{made.uses} uses, {made.faded} faded, {made.erased} erased, {made.kept} kept"]
    gains = {name: [round(each) for each in gain] for name, gain in made.growth.items()}
    told.append(
        f"growth after the warm-up{'' if made.judged else ' (too short to judge)'}: {gains}"
    )
    return [*told, *(f"FAULT {each}" for each in made.faults), f"{len(made.faults)} faults"]


def main(arguments: list[str]) -> int:
    """Run, print; 1 if anything was wrong."""
    options = parsed(arguments)
    told: dict[str, object] = {
        "command": " ".join(["python benchmarks/soak.py", *arguments]),
        "versions": versions(),
    }
    if options.reinforcements:
        counts = [reinforcements(each, options.processes, options.times) for each in installed()]
        right = all(each.counted == each.of for each in counts)
        told |= {"counts": [asdict(each) for each in counts]}
        for_people = [str(each) for each in counts]
    else:
        crowd = options.processes, options.threads, options.tasks
        made = run(60 * options.minutes, *crowd, options.seed, options.without)
        right, for_people = not made.faults, lines(made)
        told |= asdict(made)
    if options.json:
        print(json.dumps(told))
    else:
        print(told["command"], told["versions"], *for_people, sep="\n")
    return 0 if right else 1


if __name__ == "__main__":
    if ONE_HEAP not in os.environ:
        os.environ[ONE_HEAP] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    sys.exit(main(sys.argv[1:]))
