"""A program that writes until it is killed, and says so: see `crash.py`."""

from __future__ import annotations

import hashlib
import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ebbmem import Draft, MemoryBank, Policy
from ebbmem.store import Durability

NAMESPACE = "u1"
POLICY = Policy(spacing=timedelta(0))  # every use counts
DIMENSION = 8
BATCHES = (1, 1, 5, 40, 150)

Call = dict[str, Any]


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
    """A unit vector."""
    need = -(-dimension // 8)
    drawn = b"".join(
        hashlib.blake2b(text.encode(), salt=bytes([n])).digest()[:32] for n in range(need)
    )
    row = np.frombuffer(drawn, "<i4").astype(np.float64)[:dimension]
    return [float(each) for each in row / np.linalg.norm(row)]


OTHER = Directions("other", 12)


def text_of(id_: str, version: int = 0) -> str:
    return f"note {id_} version {version} {'about rivers ' * (version % 3)}".strip()


def opened(
    file: Path, embedder: Directions | None = None, durability: Durability = "normal"
) -> MemoryBank:
    """The bank that all take part in."""
    return MemoryBank.open(
        file,
        namespace=NAMESPACE,
        embedder=embedder or Directions(),
        policy=POLICY,
        durability=durability,
    )


def drafts(ids: list[str]) -> list[Draft]:
    return [Draft(text=text_of(id_), id=id_, importance=1.0) for id_ in ids]


def write(file: Path, number: int, seed: int, durability: Durability) -> None:
    """Say what comes, do it, say that it is done, and so on."""
    say({"opening": True})
    bank = opened(file, durability=durability)
    say({"ready": True})
    for call in calls(random.Random(seed), number, f"w{number}-{seed}"):
        say({"begin": call})
        DO[call["kind"]](bank, call, file)
        say({"done": call})


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def calls(rng: random.Random, number: int, prefix: str) -> Iterator[Call]:
    """Of one writer, without an end; each works on memories that it made itself."""
    mine: list[str] = []
    made = 0
    while True:
        kind = rng.choice(KINDS) if len(mine) > 1 else "remember"
        call: Call = {"kind": kind, "writer": number}
        if kind in ("remember", "import"):
            count = rng.choice(BATCHES)
            call["ids"] = [f"{prefix}-{each}" for each in range(made, made + count)]
            made += count
        elif kind in ("prune", "export", "backup"):
            call["ids"] = []
        elif kind in ("update", "recall"):
            call |= {"ids": rng.sample(mine, 1), "version": rng.randrange(1, 10**6)}
        elif kind in ("link", "unlink"):
            call |= {"ids": rng.sample(mine, 2), "weight": rng.choice([0.25, 0.5, 1.0])}
        else:
            call["ids"] = rng.sample(mine, min(len(mine), rng.choice([1, 2, 5])))
        yield call
        if kind in ("remember", "import"):
            mine += call["ids"]
        elif kind in ("erase", "forget", "expire"):  # what is hidden is not worked with any more
            mine = [each for each in mine if each not in set(call["ids"])]


def _import(bank: MemoryBank, call: Call, file: Path) -> None:
    with MemoryBank.open(namespace=NAMESPACE, embedder=None) as there:
        there.remember_many(drafts(call["ids"]))
        lines = io.StringIO()
        there.export_jsonl(lines)
    lines.seek(0)
    bank.import_file(lines)


def _recall(bank: MemoryBank, call: Call, file: Path) -> None:
    hits = bank.recall(text_of(call["ids"][0]), k=3)
    call["ids"] = [each.memory.id for each in hits if each.reinforced]


def _backup(bank: MemoryBank, call: Call, file: Path) -> None:
    target = file.with_name(f"copy-{call['writer']}.db")
    target.unlink(missing_ok=True)
    bank.backup(target)


DO: dict[str, Callable[[MemoryBank, Call, Path], object]] = {
    "remember": lambda bank, call, _: bank.remember_many(drafts(call["ids"])),
    "import": _import,
    "update": lambda bank, call, _: bank.update(
        call["ids"][0], text=text_of(call["ids"][0], call["version"])
    ),
    "recall": _recall,
    "reinforce": lambda bank, call, _: bank.reinforce(call["ids"]),
    "pin": lambda bank, call, _: bank.pin(call["ids"]),
    "erase": lambda bank, call, _: bank.erase(call["ids"]),
    "forget": lambda bank, call, _: bank.forget(call["ids"]),
    "expire": lambda bank, call, _: bank.expire(call["ids"], bank.clock()),
    "link": lambda bank, call, _: bank.link(*call["ids"], weight=call["weight"]),
    "unlink": lambda bank, call, _: bank.unlink(*call["ids"]),
    "prune": lambda bank, *_: bank.prune(),
    "export": lambda bank, call, file: bank.export_jsonl(file.with_name("out.jsonl")),
    "backup": _backup,
}
KINDS = [
    *["remember"] * 12,
    *["import"] * 3,
    *["update", "recall", "reinforce"] * 3,
    *["forget", "link", "expire", "pin"] * 2,
    *["unlink", "erase", "prune", "export", "backup"],
]
