"""The crowd of `soak.py`: each does what a bank can do, and keeps a ledger of what it was told."""

from __future__ import annotations

import asyncio
import io
import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ebbmem import AsyncMemoryBank, MemoryBank

SHARED = "shared"  # the memory that all use
VOCABULARY = 1_000  # words, as a language has its number of them
LENGTH = 6  # words of a text: among a million of them two are the same with a chance of 1e-6
MOST = 20  # memories that one keeps at a time
SHORT = timedelta(seconds=0.2)  # the life of a memory that is to fade


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a bank, and what to do with its answer: False if that is wrong."""

    name: str
    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    then: Callable[[Any], bool]


@dataclass(slots=True)
class Ledger:
    """What one was told: `keeps` by id, what was to fade, what it erased, uses of the shared."""

    keeps: dict[str, str] = field(default_factory=dict)
    passing: list[str] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    uses: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)  # seconds, by operation
    faults: list[str] = field(default_factory=list)


class Missing(io.TextIOBase):
    """A file to export to that keeps nothing but the ids it has not seen."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.left = set(ids)

    def writable(self) -> bool:
        return True

    def write(self, line: str) -> int:
        self.left.discard(json.loads(line).get("id"))
        return len(line)


class Actor:
    """Chooses what to do next, by its own seed, and notes what came of it."""

    def __init__(self, name: str, seed: int, without: Sequence[str] = ()) -> None:
        self.name = name
        self._weights = [0.0 if name in without else weight for name, weight in WEIGHTS]
        self.choose = random.Random(f"{seed} {name}")
        self.ledger = Ledger()
        self._made = 0

    def next(self) -> Step:
        """The next step; what needs a memory makes one first."""
        name = self.choose.choices(NAMES, self._weights)[0]
        full = len(self.ledger.keeps) >= MOST
        if name == "remember" and full:
            name = "erase"
        if name in NEEDS and len(self.ledger.keeps) < 2:
            name = "remember"
        return OPERATIONS[name][0](self)

    def done(self, step: Step, seconds: float, answer: Any) -> None:
        """Note an answer."""
        ledger = self.ledger
        ledger.calls[step.name] += 1
        ledger.worst[step.name] = max(seconds, ledger.worst.get(step.name, 0.0))
        if not step.then(answer):
            ledger.faults.append(f"{self.name}: {step.name} was answered wrongly")

    def failed(self, step: Step) -> None:
        """Note the error that is being handled."""
        self.ledger.faults.append(f"{self.name}: {step.name}: {traceback.format_exc()}")

    def _one(self) -> str:
        return self.choose.choice([*self.ledger.keeps])

    def _words(self) -> tuple[str, str]:
        """An id that nobody else uses, and a text that nobody else says."""
        self._made += 1
        words = [f"word{self.choose.randrange(VOCABULARY)}" for _ in range(LENGTH)]
        return f"{self.name}-{self._made}", f"{' '.join(words)} was told"

    def remember(self) -> Step:
        id_, text = self._words()

        def kept(made: Any) -> bool:
            self.ledger.keeps[id_] = text
            return bool((made.id, made.text) == (id_, text))

        return Step("remember", "remember", (text,), {"id": id_, "importance": 0.5}, kept)

    def passing(self) -> Step:
        """One that is to fade at once, by whoever's pass."""
        id_, text = self._words()

        def kept(made: Any) -> bool:
            self.ledger.passing.append(id_)
            return bool(made.id == id_)

        end = datetime.now(UTC) + SHORT
        return Step("passing", "remember", (text,), {"id": id_, "expires_at": end}, kept)

    def recall(self) -> Step:
        id_ = self._one()
        text = self.ledger.keeps[id_]

        def found(hits: Any) -> bool:
            return (id_, text) in [(each.memory.id, each.memory.text) for each in hits]

        return Step("recall", "recall", (text,), {"k": 5, "reinforce": False}, found)

    def get(self) -> Step:
        id_ = self._one()
        text = self.ledger.keeps[id_]
        return Step("get", "get", (id_,), {}, lambda found: bool(found.text == text))

    def update(self) -> Step:
        id_, (_, text) = self._one(), self._words()

        def changed(made: Any) -> bool:
            self.ledger.keeps[id_] = text
            return bool(made.text == text)

        return Step("update", "update", (id_,), {"text": text}, changed)

    def erase(self) -> Step:
        id_ = self._one()

        def gone(receipt: Any) -> bool:
            del self.ledger.keeps[id_]
            self.ledger.erased.append(id_)
            return bool(receipt.ids == (id_,))

        return Step("erase", "erase", (id_,), {}, gone)

    def reinforce(self) -> Step:
        def counted(changed: Any) -> bool:
            self.ledger.uses += 1
            return [each.id for each in changed] == [SHARED]

        return Step("reinforce", "reinforce", (SHARED,), {}, counted)

    def link(self) -> Step:
        ends = tuple(self.choose.sample([*self.ledger.keeps], 2))
        return Step("link", "link", ends, {}, lambda none: none is None)

    def export(self) -> Step:
        ids = {*self.ledger.keeps, SHARED}
        out = Missing(ids)

        def whole(count: Any) -> bool:
            return bool(count >= len(ids)) and not out.left

        return Step("export", "export_jsonl", (out,), {}, whole)

    def stats(self) -> Step:
        least = len(self.ledger.keeps) + 1
        return Step("stats", "stats", (), {}, lambda told: bool(told.active >= least))

    def prune(self) -> Step:
        lasting = {*self.ledger.keeps, SHARED}
        return Step("prune", "prune", (), {}, lambda done: lasting.isdisjoint(done.faded))


OPERATIONS: dict[str, tuple[Callable[[Actor], Step], float]] = {  # and how often it is chosen
    "remember": (Actor.remember, 10),
    "passing": (Actor.passing, 2),
    "recall": (Actor.recall, 20),
    "get": (Actor.get, 10),
    "update": (Actor.update, 4),
    "erase": (Actor.erase, 2),
    "reinforce": (Actor.reinforce, 10),
    "link": (Actor.link, 3),
    "export": (Actor.export, 1),
    "stats": (Actor.stats, 3),
    "prune": (Actor.prune, 1),
}
NAMES = tuple(OPERATIONS)
WEIGHTS = tuple((name, weight) for name, (_, weight) in OPERATIONS.items())
NEEDS = {"recall", "get", "update", "erase", "link", "stats", "export"}


def act(bank: MemoryBank, actor: Actor, until: float) -> None:
    """One thread, up to an instant of the monotonic clock; an error ends it."""
    while time.monotonic() < until and not actor.ledger.faults:
        step, start = actor.next(), time.monotonic()
        try:
            answer = getattr(bank, step.method)(*step.arguments, **step.options)
            actor.done(step, time.monotonic() - start, answer)
        except Exception:
            actor.failed(step)


async def act_awaiting(bank: AsyncMemoryBank, actor: Actor, until: float) -> None:
    """One task."""
    while time.monotonic() < until and not actor.ledger.faults:
        step, start = actor.next(), time.monotonic()
        try:
            answer = await getattr(bank, step.method)(*step.arguments, **step.options)
            actor.done(step, time.monotonic() - start, answer)
        except Exception:
            actor.failed(step)


async def act_all(bank: AsyncMemoryBank, actors: Sequence[Actor], until: float) -> None:
    """All tasks on one loop."""
    await asyncio.gather(*(act_awaiting(bank, each, until) for each in actors))
