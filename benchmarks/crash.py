"""Writers on one file are killed at random moments; what they were told is kept must be there.

    python benchmarks/crash.py --kills 200 --writes 100000

A writer (`crash_writer.py`) says on a pipe what it is about to do and, after the call returned,
that it was done. It is killed with SIGKILL, which no program can answer. Then the file is opened
and asked for everything that was ever acknowledged (`crash_known.py`): texts, vectors, links,
counts, states, erasures, the audit trail, exports and copies. Of each writer one call may have
been under way; it must be there whole or not at all. In every other file a bank stays open, and
must know what a fresh one reads; in the others nobody does, and the log is recovered from the
disk. Files are also killed while they are made, migrated and given another embedder
(`crash_moments.py`). Power loss is another thing: a killed process leaves its writes to the
operating system.

Exits with 1 if anything was lost or torn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, get_args

import crash_writer
from crash_known import Fault, Known, check, check_leftovers
from crash_moments import creating, migrating, reembedding
from crash_writer import Call, opened

import ebbmem
from ebbmem.store import Durability
from ebbmem.store.driver import DRIVERS, driver

WRITERS = 3
PER_FILE = 6  # rounds before a file has grown enough
START = 60.0  # seconds a writer may take to say something before something is wrong
PAUSE = 0.006  # seconds within which a call is hit somewhere; most take less
MOMENTS = (creating, migrating, reembedding)


class Writer:
    """A process that writes, and what it said."""

    def __init__(self, file: Path, number: int, seed: int, durability: Durability) -> None:
        command = [sys.executable, __file__, "--write", str(file), str(number), str(seed)]
        self.process = subprocess.Popen(
            [*command, durability], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.lines: list[Call] = []
        self.moved = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            if line.endswith(b"\n"):  # the last may be cut
                with self.moved:
                    self.lines.append(json.loads(line))
                    self.moved.notify_all()
        with self.moved:
            self._ended = True
            self.moved.notify_all()

    def wait_for(self, count: int) -> None:
        """Until it has said so much, or ended."""
        with self.moved:
            self.moved.wait_for(lambda: len(self.lines) >= count or self._ended, START)

    def kill(self) -> list[Call]:
        """End it, and return what it said."""
        self.process.send_signal(signal.SIGKILL)
        code = self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        errors = self.process.stderr.read().decode()
        for each in (self.process.stdout, self.process.stderr):
            each.close()
        if code != -signal.SIGKILL:
            raise RuntimeError(f"a writer failed by itself:\n{errors}")
        return self.lines


def kill_round(
    file: Path, known: Known, rng: random.Random, calls: int, durability: Durability = "normal"
) -> None:
    """Start writers, and kill each at a moment of its own, which may lie within a call."""
    writers = [Writer(file, n, rng.randrange(10**9), durability) for n in range(WRITERS)]
    for each in writers:
        while_opening = rng.random() < 0.1
        each.wait_for(1 if while_opening else 2 + rng.randrange(2 * calls))
        time.sleep(rng.random() * PAUSE * (8 if while_opening else 1))
        known.hear(each.kill())


def run(
    *,
    kills: int,
    writes: int,
    minutes: float,
    calls: int,
    seed: int,
    durability: Durability,
    folder: Path,
) -> dict[str, Any]:
    """Kill until both numbers are reached or the time is over; the figures."""
    rng = random.Random(seed)
    until = time.monotonic() + 60.0 * minutes
    faults: list[Fault] = []
    done, every, files, reopening = 0, list[Known](), 0, 0.0

    def over() -> bool:
        written = sum(each.acknowledged for each in every)
        return bool(faults) or time.monotonic() > until or (done >= kills and written >= writes)

    while not over():
        room = folder / f"file-{files}"
        room.mkdir()
        file, known = room / "memory.db", Known()
        every.append(known)
        with ExitStack() as stack:
            observer = stack.enter_context(opened(file)) if files % 2 == 0 else None
            for _ in range(PER_FILE):
                kill_round(file, known, rng, calls, durability)
                done += WRITERS
                found, took = check(file, known, observer)
                faults += found
                reopening = max(reopening, took)
                if over():
                    break
        if not faults:
            faults += check_leftovers(file, WRITERS)
        shutil.rmtree(room)
        if not faults:
            faults += _at_other_moments(folder, files, rng)
        files += 1
    return {
        "kills": done,
        "within a call": sum(each.inside for each in every),
        "done nevertheless": sum(each.whole for each in every),
        "acknowledged": sum(each.acknowledged for each in every),
        "lost": sum(each.lost for each in faults),
        "torn": sum(not each.lost for each in faults),
        "files": files,
        "slowest reopening, s": round(reopening, 2),
        "faults": [f"{each.kind}: {each.what}" for each in faults[:20]],
        "seed": seed,
    }


def _at_other_moments(folder: Path, number: int, rng: random.Random) -> list[Fault]:
    """One of them after each file."""
    with tempfile.TemporaryDirectory(dir=folder) as room:
        return MOMENTS[number % len(MOMENTS)](Path(room), rng)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--writes", type=int, default=100_000, help="acknowledged, at least")
    parser.add_argument("--minutes", type=float, default=60.0, help="and then stop")
    parser.add_argument("--calls", type=int, default=60, help="of a writer before a kill, at most")
    parser.add_argument("--driver", choices=[*DRIVERS, "auto"], help="else that of EBBMEM_SQLITE")
    parser.add_argument("--durability", choices=get_args(Durability), default="normal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.driver:
        os.environ["EBBMEM_SQLITE"] = given.driver  # of the writers too
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            kills=given.kills,
            writes=given.writes,
            minutes=given.minutes,
            calls=given.calls,
            seed=given.seed,
            durability=given.durability,
            folder=Path(folder),
        )
    engine = driver()
    figures |= {
        "command": " ".join(["python", "benchmarks/crash.py", *arguments]),
        "versions": f"ebbmem {ebbmem.__version__}, {engine.name} with SQLite {engine.version}",
    }
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:>24}  {value}")
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write", file, number, seed, "normal" | "full" as durability]:
            crash_writer.write(Path(file), int(number), int(seed), durability)
        case rest:
            sys.exit(main(rest))
