"""Bytes that mean no good, thrown at everything that takes any; stops at the first finding.

    python benchmarks/fuzz.py [--target NAME ...] [--minutes 1] [--seed 0] [--json]

Guided by coverage where atheris is installed (`pip install atheris`; it is no dependency), else
by mutating the seeds in `tests/fuzz/seeds` at random. Minutes are of CPU time, shared by the
targets. What was found is kept beside the seeds of a run, and told with the command that shows it
again:

    python benchmarks/fuzz.py --target import --input FILE
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
LONGEST = 4096  # bytes of an input
PATIENCE = 60  # seconds one input may take, on a machine that has others to serve
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # to wait for no disk
GUIDED = importlib.util.find_spec("atheris") is not None


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one target: how many inputs, and what was found, if anything."""

    target: str
    inputs: int
    cpu_seconds: float
    finding: str | None


def seeds_of(target: str) -> list[Path]:
    """The seeds of a target, in order."""
    return sorted((SEEDS / target).glob("*"))


def mutated(raw: bytes, choose: random.Random) -> bytes:
    """Some bytes changed, cut, doubled or added."""
    made = bytearray(raw)
    for _ in range(choose.randint(1, 8)):
        at = choose.randint(0, len(made))
        kind = choose.randrange(4)
        if kind == 0 and made:
            made[min(at, len(made) - 1)] = choose.randrange(256)
        elif kind == 1:
            made[at:at] = choose.randbytes(choose.randint(1, 16))
        elif kind == 2:
            del made[at : at + choose.randint(1, 16)]
        else:
            made[at:at] = made[max(at - 16, 0) : at]
    return bytes(made[:LONGEST])


def too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"one input took more than {PATIENCE} s")


def at_random(name: str, seconds: float, seed: int, found: Path, folder: Path) -> Run:
    """Mutations of the seeds until the time is over or something is found."""
    from fuzzing import TARGETS, Data

    choose, corpus = random.Random(f"{seed} {name}"), [b"", *map(Path.read_bytes, seeds_of(name))]
    signal.signal(signal.SIGALRM, too_long)
    began, inputs = time.process_time(), 0
    while inputs < len(corpus) or time.process_time() - began < seconds:
        if inputs < len(corpus):
            raw = corpus[inputs]
        elif choose.random() < 0.3:
            raw = choose.randbytes(choose.randint(0, 400))
        else:
            raw = mutated(choose.choice(corpus), choose)
        inputs += 1
        signal.alarm(PATIENCE)
        try:
            TARGETS[name](Data(raw), folder)
        except Exception as error:
            found.write_bytes(raw)
            kind = f"{type(error).__name__}: {error}"
            return Run(name, inputs, time.process_time() - began, kind)
        finally:
            signal.alarm(0)
    return Run(name, inputs, time.process_time() - began, None)


def guided(name: str, seconds: float, seed: int, found: Path, folder: Path) -> None:
    """By coverage; ends the process, with 0 if nothing was found."""
    import atheris

    with atheris.instrument_imports(include=["ebbmem"]):
        from fuzzing import TARGETS, Data
    corpus = folder / "corpus"
    corpus.mkdir()
    target = TARGETS[name]
    options = [
        *(f"-max_total_time={max(round(seconds), 1)}", f"-seed={seed + 1}", f"-max_len={LONGEST}"),
        *(f"-timeout={PATIENCE}", "-rss_limit_mb=2048", f"-exact_artifact_path={found}"),
        *("-print_final_stats=1", str(corpus), *map(str, [SEEDS / name] * bool(seeds_of(name)))),
    ]
    atheris.Setup([sys.argv[0], *options], lambda raw: target(Data(raw), folder))
    atheris.Fuzz()


def run(name: str, seconds: float, seed: int, keep: Path) -> Run:
    """One target in processes of its own, until its CPU time is spent."""
    before, inputs, spent = children_seconds(), 0, 0.0
    for again in count(1000 * seed):
        found = keep / f"{name}-{again}"
        left = max(seconds - spent, 1.0) / 60
        inner = ["--inner", name, "--minutes", str(left), "--seed", str(again)]
        command = [sys.executable, str(Path(__file__)), *inner, "--found", str(found)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not GUIDED:
            return Run(**json.loads(done.stdout)) if done.stdout else Run(name, 0, 0.0, done.stderr)
        spent = children_seconds() - before
        inputs += int(_EXECUTED.findall(done.stderr)[-1]) if _EXECUTED.search(done.stderr) else 0
        if done.returncode != 0:
            shown = f"{found}\n{done.stdout[-4000:]}\n{done.stderr[-1000:]}"
            return Run(name, inputs, spent, shown)
        if spent >= seconds - 1.0:
            break
    return Run(name, inputs, spent, None)


_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def children_seconds() -> float:
    """CPU time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def replayed(name: str, file: Path) -> None:
    """One input again, with its traceback if it has one."""
    from fuzzing import TARGETS, Data

    with TemporaryDirectory() as folder:
        TARGETS[name](Data(file.read_bytes()), Path(folder))


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", action="append", help="only these; several may be named")
    parser.add_argument("--minutes", type=float, default=1.0, help="of CPU time, for all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path.cwd(), help="where findings are written")
    parser.add_argument("--input", type=Path, help="only this one, for one target")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    parser.add_argument("--found", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def inner(options: argparse.Namespace) -> int:
    """What runs in the process of one target."""
    warnings.simplefilter("error")
    logging.disable()
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        work = guided if GUIDED else at_random
        done = work(options.inner, 60 * options.minutes, options.seed, options.found, Path(folder))
        if done is not None:
            print(json.dumps(asdict(done)))
    return 0


def told(each: Run) -> str:
    """One line, and what was found below it."""
    head = f"{each.target:10} {each.inputs:9,} inputs {each.cpu_seconds:7.1f} s"
    return f"{head}  nothing found" if each.finding is None else f"{head}  FOUND\n{each.finding}"


def main() -> int:
    options = parsed()
    if options.inner:
        return inner(options)
    sys.path.insert(0, str(Path(__file__).parent))
    from fuzzing import TARGETS

    import ebbmem

    names = options.target or list(TARGETS)
    if unknown := sorted(set(names) - set(TARGETS)):
        print(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    if options.input:
        replayed(names[0], options.input)
        return 0
    seconds = 60 * options.minutes / len(names)
    command = f"python benchmarks/fuzz.py {' '.join(sys.argv[1:])}".strip()
    if not options.json:
        print(command, "guided by coverage" if GUIDED else "at random", sep="\n", flush=True)
    runs = []
    for name in names:
        runs.append(run(name, seconds, options.seed, options.keep))
        if not options.json:
            print(told(runs[-1]), flush=True)
    if options.json:
        versions = {"python": platform.python_version(), "ebbmem": ebbmem.__version__}
        head = {"command": command, "versions": versions, "guided": GUIDED}
        print(json.dumps({**head, "runs": [asdict(each) for each in runs]}))
    return 1 if any(each.finding for each in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
