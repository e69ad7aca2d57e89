"""Writers on one file are killed at random moments; what they were told is kept must be there.

    python benchmarks/crash.py --kills 200 --writes 100000

A writer says on a pipe what it is about to do and, after the call returned, that it was done. It
is killed with SIGKILL, which no program can answer. Then the file is opened, and asked for
everything that was ever acknowledged: texts, vectors, links, counts, erasures. Of each writer one
call may have been under way; it must be there whole or not at all. What a bank that stayed open
knows must be what a fresh one reads. Power loss is another thing: a killed process leaves its
writes to the operating system.

Exits with 1 if anything was lost or torn.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np

import ebbmem
from ebbmem import Draft, MemoryBank, Policy
from ebbmem.store.driver import driver
from ebbmem.store.schema import migrate, newest

NAMESPACE = "u1"
POLICY = Policy(spacing=timedelta(0))
DIMENSION = 8
PER_FILE = 8  # kills before a file has grown enough
WRITERS = 2
START = 30.0  # seconds a writer may take to open the file before something is wrong


class Directions:
    """An embedder: each text has a direction of its own, drawn from its digest."""

    def __init__(self, name: str = "directions", dimension: int = DIMENSION) -> None:
        self.model = name
        self.dimension = dimension

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [direction(text, self.dimension) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return direction(text, self.dimension)


def direction(text: str, dimension: int = DIMENSION) -> list[float]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    drawn = np.random.default_rng(seed).normal(size=dimension)
    return [float(each) for each in drawn / np.linalg.norm(drawn)]


def text_of(id_: str, version: int = 0) -> str:
    return f"note {id_} version {version} {'about rivers ' * (version % 3)}".strip()


def opened(file: Path, embedder: Directions | None = None) -> MemoryBank:
    return MemoryBank.open(
        file, namespace=NAMESPACE, embedder=embedder or Directions(), policy=POLICY
    )


# -- the writer ----------------------------------------------------------------------------------


def write(file: Path, number: int, seed: int, embedder: str) -> None:
    """Until killed: say what comes, do it, say that it is done."""
    rng = random.Random(seed)
    other = Directions(embedder, DIMENSION) if embedder else None
    say({"opening": True})
    bank = opened(file, other)
    mine: list[str] = []
    say({"ready": True})
    made = 0

    def fresh(count: int) -> list[str]:
        nonlocal made
        made += count
        return [f"w{number}-{seed}-{each}" for each in range(made - count, made)]

    while True:
        kind = rng.choice(KINDS) if mine else "remember"
        chosen = rng.sample(mine, min(len(mine), rng.choice([1, 2, 5])))
        call: dict[str, Any] = {"kind": kind, "ids": chosen}
        if kind in ("remember", "import"):
            call["ids"] = fresh(rng.choice([1, 1, 5, 20, 60]))
        elif kind == "update":
            call = {"kind": kind, "ids": chosen[:1], "version": rng.randrange(1, 10**6)}
        elif kind == "link":
            call["ids"] = rng.sample(mine, min(len(mine), 2))
        say({"begin": call})
        told = DO[kind](bank, call, file)
        say({"done": told})
        if kind in ("remember", "import"):
            mine += call["ids"]
        elif kind in ("erase", "forget"):  # what is hidden is not worked with any more
            mine = [each for each in mine if each not in set(call["ids"])]


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _remember(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.remember_many([Draft(text=text_of(id_), id=id_, importance=1.0) for id_ in call["ids"]])
    return call


def _import(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    with MemoryBank.open(namespace=NAMESPACE, embedder=None) as there:
        there.remember_many(
            [Draft(text=text_of(id_), id=id_, importance=1.0) for id_ in call["ids"]]
        )
        lines = io.StringIO()
        there.export_jsonl(lines)
    lines.seek(0)
    bank.import_file(lines)
    return call


def _update(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.update(call["ids"][0], text=text_of(call["ids"][0], call["version"]))
    return call


def _recall(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    hits = bank.recall(text_of(call["ids"][0]), k=3)
    return {**call, "ids": [each.memory.id for each in hits if each.reinforced]}


def _reinforce(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.reinforce(call["ids"])
    return call


def _erase(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.erase(call["ids"])
    return call


def _forget(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.forget(call["ids"])
    return call


def _link(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    if len(call["ids"]) == 2:
        bank.link(*call["ids"])
    return call


def _prune(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.prune()
    return call


def _export(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    bank.export_jsonl(file.with_name("out.jsonl"))
    return call


def _backup(bank: MemoryBank, call: dict[str, Any], file: Path) -> dict[str, Any]:
    target = file.with_name(f"copy-{os.getpid()}.db")
    bank.backup(target)
    target.unlink()
    return call


DO = {
    "remember": _remember,
    "import": _import,
    "update": _update,
    "recall": _recall,
    "reinforce": _reinforce,
    "erase": _erase,
    "forget": _forget,
    "link": _link,
    "prune": _prune,
    "export": _export,
    "backup": _backup,
}
KINDS = [
    *["remember"] * 12,
    *["import"] * 3,
    *["update", "recall", "reinforce"] * 3,
    *["forget", "link"] * 2,
    *["erase", "prune", "export", "backup"],
]


# -- what must be there --------------------------------------------------------------------------


@dataclass
class Known:
    """What was acknowledged, and what may have been done besides."""

    version: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    erased: set[str] = field(default_factory=set)
    links: set[tuple[str, str]] = field(default_factory=set)
    under_way: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: int = 0

    def done(self, call: dict[str, Any]) -> None:
        kind, ids = call["kind"], call["ids"]
        if kind in ("remember", "import"):
            self.version |= dict.fromkeys(ids, 0)
        elif kind == "update":
            self.version[ids[0]] = call["version"]
        elif kind in ("recall", "reinforce"):
            for id_ in ids:
                self.counts[id_] += 1
        elif kind == "erase":
            self.erased |= set(ids)
            for id_ in ids:
                self.version.pop(id_)
            self.links = {pair for pair in self.links if not self.erased & set(pair)}
        elif kind == "link" and len(ids) == 2:
            self.links.add((min(ids), max(ids)))
        self.acknowledged += len(ids) if kind != "prune" else 1


@dataclass(frozen=True)
class Fault:
    """Something that is not as it was acknowledged."""

    kind: str
    what: str


def check(file: Path, known: Known, embedder: Directions, observer: MemoryBank) -> list[Fault]:
    """What was lost or torn; settles what was under way, so that the next round knows."""
    faults = [*_check_pages(file), *_check_folder(file)]
    with opened(file, embedder) as bank:
        there = {each.id: each for each in bank.list(include_faded=True)}
        for call in known.under_way:
            faults += _settle(call, known, there)
        known.under_way.clear()
        for id_, version in known.version.items():
            if id_ not in there:
                faults.append(Fault("lost", id_))
            elif there[id_].text != text_of(id_, version):
                faults.append(Fault("wrong text", id_))
            elif there[id_].recall_count < known.counts[id_]:
                faults.append(Fault("lost count", id_))
        faults += [Fault("came back", id_) for id_ in known.erased & set(there)]
        faults += [Fault("from nowhere", id_) for id_ in set(there) - set(known.version)]
        faults += _check_vectors(bank, known, there)
        faults += _check_links(bank, known)
        faults += _compare(bank, observer)
    return faults


def _settle(call: dict[str, Any], known: Known, there: dict[str, Any]) -> list[Fault]:
    """A call that was under way is there as a whole or not at all."""
    kind, ids = call["kind"], call["ids"]
    if kind in ("remember", "import"):
        found = [id_ in there for id_ in ids]
        if any(found) and not all(found):
            return [Fault("torn", f"{kind} of {len(ids)}: {sum(found)} are there")]
        if all(found):
            known.version |= dict.fromkeys(ids, 0)
    elif kind == "update" and ids[0] in there:
        if there[ids[0]].text == text_of(ids[0], call["version"]):
            known.version[ids[0]] = call["version"]
    elif kind == "erase":
        gone = [id_ not in there for id_ in ids]
        if any(gone) and not all(gone):
            return [Fault("torn", f"erase of {len(ids)}: {sum(gone)} are gone")]
        if all(gone):
            known.done(call)
    return []


def _check_pages(file: Path) -> Iterator[Fault]:
    with closing(sqlite3.connect(file)) as db:
        found = db.execute("PRAGMA integrity_check").fetchall()
    if found != [("ok",)]:
        yield Fault("damaged", str(found[:3]))


def _check_folder(file: Path) -> Iterator[Fault]:
    """No pile: the file, its log, what was exported, and one leftover a target at most."""
    usual = {file.name, f"{file.name}-wal", f"{file.name}-shm", "out.jsonl"}
    exports = 0
    for each in file.parent.iterdir():
        exports += each.name.startswith(".out.jsonl.")
        backups = each.name.startswith((".copy-", "copy-"))
        if each.name not in usual and not backups and not each.name.startswith(".out.jsonl."):
            yield Fault("left behind", each.name)
    if exports > WRITERS:  # those of the writers killed last; the next export sweeps them
        yield Fault("piled up", f"{exports} parts of exports")


def _check_vectors(bank: MemoryBank, known: Known, there: dict[str, Any]) -> Iterator[Fault]:
    vectors = bank.vectors(list(there))
    for id_ in set(there) & set(known.version):
        wanted = np.array(direction(text_of(id_, known.version[id_])), np.float32)
        if id_ not in vectors or not np.allclose(vectors[id_], wanted, atol=1e-6):
            yield Fault("wrong vector", id_)


def _check_links(bank: MemoryBank, known: Known) -> Iterator[Fault]:
    stored = {
        (min(change.id, to), max(change.id, to))
        for change in bank._store.changes(bank.namespace, 0).rows
        for to, _ in change.links or ()
    }
    yield from (Fault("lost link", f"{a} {b}") for a, b in known.links - stored)


def _compare(fresh: MemoryBank, observer: MemoryBank) -> Iterator[Fault]:
    """What an open bank learned call by call, against what a new one reads at once."""
    if derived(fresh) != derived(observer):
        yield Fault("derived state differs", "between an open bank and a new one")


def derived(bank: MemoryBank) -> dict[str, Any]:
    """All that is kept in memory of the living rows, by id."""
    arena = bank._arena()
    snapshot = arena.snapshot()
    terms = [f"w{n}" for n in range(WRITERS)] + ["river", "note", "version", "about"]
    _, postings = arena.view(terms)
    living = snapshot.living_passages()
    found: dict[str, Any] = {"active": arena.active}
    for term, documents in zip(terms, postings.documents, strict=True):
        rows = snapshot.passage_row[documents[living[documents]]]
        found[term] = sorted(snapshot.ids[row] for row in rows.tolist())
    for id_, row in snapshot.row_of.items():
        vector = snapshot.vector(row)
        found[id_] = (
            int(snapshot.status[row]),
            int(snapshot.count[row]),
            float(snapshot.importance[row]),
            None if vector is None else vector.tobytes(),
        )
    return found


# -- killing -------------------------------------------------------------------------------------


class Writer:
    """A process that writes, and what it said."""

    def __init__(self, file: Path, number: int, seed: int, embedder: str = "") -> None:
        command = [sys.executable, __file__, "--write", str(file), str(number), str(seed), embedder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: list[dict[str, Any]] = []
        self.moved = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            if line.endswith(b"\n"):  # the last may be cut
                with self.moved:
                    self.lines.append(json.loads(line))
                    self.moved.notify_all()
        with self.moved:
            self.lines.append({"ended": True})
            self.moved.notify_all()

    def wait_for(self, count: int) -> None:
        """Until it has said so much, or ended."""
        with self.moved:
            self.moved.wait_for(
                lambda: len(self.lines) >= count or self.lines[-1:] == [{"ended": True}], START
            )

    def kill(self) -> list[dict[str, Any]]:
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


def hear(known: Known, lines: Sequence[dict[str, Any]]) -> None:
    """What one writer said until it was killed."""
    begun: dict[str, Any] | None = None
    for line in lines:
        if "begin" in line:
            begun = line["begin"]
        elif "done" in line:
            known.done(line["done"])
            begun = None
    if begun is not None:
        known.under_way.append(begun)


def kill_round(file: Path, known: Known, rng: random.Random, calls: int) -> None:
    """Start writers, and kill each at a moment of its own, which may lie within a call."""
    writers = [Writer(file, n, rng.randrange(10**9)) for n in range(WRITERS)]
    for each in writers:
        each.wait_for(2 + rng.randrange(2 * calls))
        time.sleep(rng.random() * 0.004)  # somewhere within a call; nothing depends on where
    for each in writers:
        hear(known, each.kill())


# -- other moments: an embedder changed, an old file opened ----------------------------------------


def reembedding(folder: Path, rng: random.Random) -> list[Fault]:
    """A file of 300 is given another embedder; killed, and again, until one was not."""
    file = folder / "memory.db"
    with opened(file) as bank:
        bank.remember_many([Draft(text=text_of(f"m{n}"), id=f"m{n}") for n in range(300)])
    for _ in range(4):
        _kill_amid([sys.executable, __file__, "--reembed", str(file)], rng.random() * 0.5)
        faults = list(_check_pages(file))
        with _whichever(file) as bank:
            there = {each.id: each.text for each in bank.list()}
            if there != {f"m{n}": text_of(f"m{n}") for n in range(300)}:
                faults.append(Fault("lost", "while another embedder was given"))
            if len(bank.vectors(list(there))) != 300:
                faults.append(Fault("lost vector", "while another embedder was given"))
        if faults:
            return faults
    subprocess.run(
        [sys.executable, __file__, "--reembed", str(file)], check=True, stdout=subprocess.DEVNULL
    )
    with opened(file, Directions("other", 12)) as bank:
        return (
            []
            if len(bank.vectors([f"m{n}" for n in range(300)])) == 300
            else [Fault("lost vector", "after another embedder was given")]
        )


def _whichever(file: Path) -> MemoryBank:
    try:
        return opened(file)
    except ebbmem.FingerprintMismatch:
        return opened(file, Directions("other", 12))


def migrating(folder: Path, rng: random.Random) -> list[Fault]:
    """Files of every older shape are opened for the first time; killed, and opened again."""
    for version in range(1, newest()):
        file = folder / f"old-{version}.db"
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            migrate(db, upto=version)
            db.execute(
                "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
                "VALUES ('[\"u1\"]', 1, 0, ?, x'')",
                (POLICY.to_json(),),
            )
            db.executemany(
                "INSERT INTO audit (ns, at, action, id) VALUES ('[\"u1\"]', ?, 'pin', 'x')",
                [(n,) for n in range(2000)],
            )
        for _ in range(3):
            _kill_amid([sys.executable, __file__, "--open", str(file)], rng.random() * 0.1)
        faults = list(_check_pages(file))
        with MemoryBank.open(file, namespace=NAMESPACE, embedder=None) as bank:
            if len(bank.audit()) != 2000 or not bank.audit_verify().ok:
                faults.append(Fault("torn", f"migration of a file of version {version}"))
        if faults:
            return faults
    return []


def _kill_amid(command: list[str], after: float) -> None:
    """Kill a program some time after it said that it begins, if it still runs then."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)  # any moment will do
    process.kill()
    process.wait()
    process.stdout.close()


# -- the run -------------------------------------------------------------------------------------


def run(
    *, kills: int, writes: int, minutes: float, calls: int, seed: int, folder: Path
) -> dict[str, Any]:
    """Kill until both numbers are reached or the time is over; the figures."""
    rng = random.Random(seed)
    until = time.monotonic() + 60.0 * minutes
    faults: list[Fault] = []
    done = written = files = 0
    reopening = 0.0
    while not faults and time.monotonic() < until and (done < kills or written < writes):
        room = folder / f"file-{files}"
        room.mkdir()
        files += 1
        file, known = room / "memory.db", Known()
        observer = opened(file)
        with observer:
            for _ in range(PER_FILE):
                kill_round(file, known, rng, calls)
                done += WRITERS
                began = time.monotonic()
                faults += check(file, known, Directions(), observer)
                reopening = max(reopening, time.monotonic() - began)
                if faults or time.monotonic() > until:
                    break
        written += known.acknowledged
        shutil.rmtree(room)
        if not faults and files % 4 == 1:
            for part in (reembedding, migrating):
                with tempfile.TemporaryDirectory(dir=folder) as other:
                    faults += part(Path(other), rng)
    return {
        "kills": done,
        "acknowledged": written,
        "lost": sum("lost" in each.kind or "came" in each.kind for each in faults),
        "torn": sum(not ("lost" in each.kind or "came" in each.kind) for each in faults),
        "files": files,
        "slowest check after a kill, s": round(reopening, 2),
        "faults": [f"{each.kind}: {each.what}" for each in faults[:20]],
        "seed": seed,
    }


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--writes", type=int, default=100_000, help="acknowledged, at least")
    parser.add_argument("--minutes", type=float, default=60.0, help="and then stop")
    parser.add_argument("--calls", type=int, default=60, help="of a writer before a kill, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            kills=given.kills,
            writes=given.writes,
            minutes=given.minutes,
            calls=given.calls,
            seed=given.seed,
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
            print(f"{name:>32}  {value}")
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write", file, number, seed, embedder]:
            write(Path(file), int(number), int(seed), embedder)
        case ["--reembed", file]:
            say({"begins": True})
            with _whichever(Path(file)) as bank:
                bank.reembed(Directions("other", 12))
        case ["--open", file]:
            say({"begins": True})
            MemoryBank.open(Path(file), namespace=NAMESPACE, embedder=None).close()
        case rest:
            sys.exit(main(rest))
