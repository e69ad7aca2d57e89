"""Many namespaces with look-alike names on one file, and a model of what each should hold.

    python benchmarks/isolation.py [--operations 1000000] [--minutes N] [--seed 0] [--json]

Every answer is compared with the model, whole: which memories, with which words, how many. All
texts have one vector, so everything resembles everything, and half of the ids are used by every
namespace. Half of the operations are on a file that is opened twice, as two processes would, the
other half in memory. Ends at the first answer that is not exact, prints it, and exits with 1.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import random
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import ebbmem
from ebbmem import Draft, MemoryBank, NotFound
from ebbmem.records import Namespace
from ebbmem.testing import ManualClock, TableEmbedder

MOST = 8  # memories of a namespace
WINDOW, DRIFT = 12, 400  # namespaces in use at a time, and operations until they are others
LOOK_THROUGH = 25_000  # operations between two looks through everything
COMMON = tuple(f"the lighthouse number {number}" for number in range(3))  # anybody may say these
_MARK = re.compile(r"mark\d+x")


def look_alikes() -> list[Namespace]:
    """Names that something careless takes for one another, 200 of them."""
    alone = [
        "user1", "user10", "User1", "USER1", "user1 ", " user1", "user 1", "user\u200b1",
        "user\u200d1", "\uff55ser1", "us\u0435r1", "user\u0661", "ac", "acme", "acme-corp",
        "acme:1", "acme/1", "acme|1", "acme,1", "acme.1", "a", "a/b", "a,b", "a:b", "a|b", "a.b",
        "a b", '["a"]', '["a", "b"]', 'a", "b', "a\\b", "a'b", "a''b", 'a"b', "a;--", "%", "_",
        "user%", "user_", "*", "caf\u00e9", "cafe\u0301", "CAFE\u0301", "stra\u00dfe", "strasse",
        "..", "../a", "CON", "null", "None", "0", "00", "x" * 511, "x" * 512, "\U0001f9d1",
        "\U0001f9d1\u200d\U0001f4bb",
    ]  # fmt: skip
    below = [(a, b) for a in ("a", "user1", "acme", "..", "%") for b in alone[:20]]
    deep = [("a", "b", "c"), ("a", "b/c"), ("a/b", "c"), ("a,b", "c"), ("a", "b,c"), ("a, b",)]
    names = [*((each,) for each in alone), *below, *deep]
    names += [("user", str(number)) for number in range(200 - len(names))]
    return list(dict.fromkeys(names))


@dataclass(slots=True)
class Place:
    """One namespace: its banks, a word that stands in all it keeps, and what it should hold."""

    banks: list[MemoryBank]
    names: Namespace
    mark: str
    holds: dict[str, str] = field(default_factory=dict)

    def free(self, choose: random.Random) -> str | None:
        """An id that is not taken here; half of them are used by others too."""
        ids = [f"m{number}" for number in range(MOST // 2)]
        ids += [f"{self.mark}-{number}" for number in range(MOST // 2)]
        left = [id_ for id_ in ids if id_ not in self.holds]
        return choose.choice(left) if left else None


class World:
    """The namespaces of one file, and the operations; each gives what came and what should."""

    def __init__(self, openings: Sequence[MemoryBank], choose: random.Random) -> None:
        self.choose = choose
        self.numbers = count()
        self.places = [
            Place([each.at(*names) for each in openings], names, f"mark{number}x")
            for number, names in enumerate(look_alikes())
        ]

    def step(self, done: int) -> tuple[str, Place, object, object]:
        """One operation on one namespace: (its name, where, what came, what should)."""
        number = (done // DRIFT + self.choose.randrange(WINDOW)) % len(self.places)
        place = self.places[number]
        name = self.choose.choices(NAMES, WEIGHTS)[0]
        got, expected = OPERATIONS[name][0](self, place, self.choose.choice(place.banks))
        return name, place, got, expected

    def text(self, place: Place) -> str:
        free = [each for each in COMMON if each not in place.holds.values()]
        if free and self.choose.random() < 0.2:
            return self.choose.choice(free)
        return f"the lighthouse {next(self.numbers)} of {place.mark}"

    def foreign(self, place: Place) -> str:
        """An id that another namespace has, or might have had, and this one has not."""
        while True:
            other = self.choose.choice(self.places)
            id_ = self.choose.choice([*other.holds, f"{other.mark}-0"])
            if id_ not in place.holds:
                return id_

    # -- reading -----------------------------------------------------------------------------

    def get(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        if not place.holds:
            return self.get_foreign(place, bank)
        id_ = self.choose.choice([*place.holds])
        return bank.get(id_).text, place.holds[id_]

    def get_foreign(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        return self._refused(place, bank.get)

    def strength_foreign(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        return self._refused(place, bank.strength)

    def known(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        text = self.choose.choice(COMMON)
        here = [id_ for id_, held in place.holds.items() if held == text]
        return bank.known([text]), here or [None]

    def list(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        return {each.id: each.text for each in bank.list()}, place.holds

    def where(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        """What all keep under one key of the metadata, with a value of their own."""
        other = self.choose.choice(self.places)
        found = bank.list(where={"of": other.mark})
        return {each.id for each in found}, set(place.holds) if other is place else set()

    def vectors(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        asked = {self.foreign(place), *list(place.holds)[:2]}
        return set(bank.vectors(asked)), asked & set(place.holds)

    def recall(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        query = [1.0, 0.0] if self.choose.random() < 0.3 else "who keeps the lighthouse"
        hits = bank.recall(query, k=50, min_similarity=-1.0, reinforce=False)
        return {each.memory.id: each.memory.text for each in hits}, place.holds

    def context(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        block = bank.context("lighthouse", k=50, budget=10_000, reinforce=False)
        told = set(_MARK.findall(str(block))) - {place.mark}
        return (set(block.ids), told), (set(place.holds), set())

    def stats(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        told = bank.stats()
        return (told.active, told.faded), (len(place.holds), 0)

    def inhabited(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        depth = len(place.names)
        below = {
            each.names for each in self.places if each.holds and each.names[:depth] == place.names
        }
        return set(bank.inhabited()), below

    # -- writing -----------------------------------------------------------------------------

    def remember(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        id_, text = place.free(self.choose), self.text(place)
        if id_ is None:
            return self.update(place, bank)
        place.holds[id_] = text
        told = bank.remember(text, id=id_, metadata={"of": place.mark}, speaker=place.mark)
        return (told.id, told.text), (id_, text)

    def update(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        if not place.holds:
            return self.remember(place, bank)
        id_, text = self.choose.choice([*place.holds]), self.text(place)
        place.holds[id_] = text
        return bank.update(id_, text=text).text, text

    def write(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        """Into two namespaces at once."""
        other = self.choose.choice(self.places)
        drafts = {}
        for each in (place, other):
            id_, text = each.free(self.choose), self.text(each)
            if id_ is not None and each.names not in drafts:
                drafts[each.names] = [Draft(text=text, id=id_, metadata={"of": each.mark})]
                each.holds[id_] = text
        told = bank.write(drafts)
        return (
            {names: [(each.id, each.text) for each in made] for names, made in told.items()},
            {names: [(each.id, each.text) for each in made] for names, made in drafts.items()},
        )

    def reinforce(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        told = bank.reinforce([*place.holds][:1])
        return {each.id for each in told} - set(place.holds), set()

    def erase(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        ids = [*place.holds][: self.choose.randint(1, 3)]
        for id_ in ids:
            del place.holds[id_]
        return bank.erase(ids).ids, tuple(ids)

    def change_foreign(self, place: Place, bank: MemoryBank) -> tuple[object, object]:
        """Whatever takes an id, given that of somebody else."""
        ways: list[Callable[[str], object]] = [
            bank.reinforce, bank.pin, bank.hold, bank.release, bank.restore, bank.forget,
            bank.erase,
            lambda id_: bank.update(id_, text="taken over"),
            lambda id_: bank.expire(id_, None),
            lambda id_: bank.link(id_, id_ + "0"),
            lambda id_: bank.add_probe("whose?", [id_]),
            lambda id_: bank.remember("taken over", supersedes=id_),
        ]  # fmt: skip
        return self._refused(place, self.choose.choice(ways))

    def _refused(self, place: Place, call: Callable[[str], object]) -> tuple[object, object]:
        id_ = self.foreign(place)
        try:
            return call(id_), NotFound
        except NotFound as error:
            known = (str(error).replace(f", '{id_}0'", ""), error.ids[:1])
            return known, (f"no memory {id_!r}", (id_,))

    # -- everything of everybody -------------------------------------------------------------

    def look_through(self) -> tuple[Place, object, object] | None:
        """The first namespace whose export, report or list tells of another."""
        for place in self.places:
            for bank in place.banks:
                found, exported = bank.list(include_faded=True), io.StringIO()
                size = bank.export_jsonl(exported)
                told = f"{exported.getvalue()} {bank.report()} {bank.audit()} {bank!r}"
                got = {each.id: each.text for each in found}, size, set(_MARK.findall(told))
                expected = place.holds, len(place.holds), got[2] & {place.mark}
                if got != expected:
                    return place, got, expected
        return None


Operation = Callable[[World, Place, MemoryBank], tuple[object, object]]
OPERATIONS: dict[str, tuple[Operation, float]] = {  # and how often it is chosen
    "get": (World.get, 24),
    "get_foreign": (World.get_foreign, 20),
    "strength_foreign": (World.strength_foreign, 10),
    "known": (World.known, 12),
    "list": (World.list, 8),
    "where": (World.where, 6),
    "vectors": (World.vectors, 6),
    "recall": (World.recall, 5),
    "context": (World.context, 1),
    "stats": (World.stats, 2),
    "inhabited": (World.inhabited, 1),
    "remember": (World.remember, 3),
    "update": (World.update, 1),
    "write": (World.write, 0.5),
    "reinforce": (World.reinforce, 1),
    "erase": (World.erase, 0.2),
    "change_foreign": (World.change_foreign, 3),
}
NAMES = tuple(OPERATIONS)
WEIGHTS = tuple(weight for _, weight in OPERATIONS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was done, and the first answer that was not exact."""

    operations: int
    namespaces: int
    seconds: float
    cpu_seconds: float
    by_name: dict[str, int]
    leak: str | None


def run(operations: int, minutes: float | None, seed: int) -> Run:
    """Up to so many operations, or as many as fit into the minutes."""
    start, cpu, choose = time.perf_counter(), time.process_time(), random.Random(seed)
    embedder, clock = TableEmbedder({}, default=[1.0, 0.0]), ManualClock()
    done: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        opened = [
            MemoryBank.open(path, namespace="root", embedder=embedder, clock=clock)
            for path in (file, file, ":memory:")
        ]
        worlds = [World(opened[:2], choose), World(opened[2:], choose)]
        leak = None
        try:
            for number in range(operations):
                if minutes is not None and time.perf_counter() - start > 60 * minutes:
                    break
                name, place, got, expected = worlds[number % 2].step(number)
                done[name] += 1
                if got != expected:
                    leak = f"{name} in {place.names}: {got!r}, not {expected!r}"
                    break
                if number % LOOK_THROUGH == LOOK_THROUGH - 1:
                    leak = _looked(worlds)
                    if leak is not None:
                        break
            leak = leak or _looked(worlds)
        finally:
            for bank in opened:
                bank.close()
    return Run(
        operations=done.total(),
        namespaces=sum(len(world.places) for world in worlds),
        seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - cpu,
        by_name=dict(done.most_common()),
        leak=leak,
    )


def _looked(worlds: Sequence[World]) -> str | None:
    for world in worlds:
        if (found := world.look_through()) is not None:
            place, got, expected = found
            return f"looking through {place.names}: {got!r}, not {expected!r}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, help="end after so many at the latest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    made = run(given.operations, given.minutes, given.seed)
    told = {
        "command": " ".join(["python benchmarks/isolation.py", *sys.argv[1:]]),
        "versions": {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "ebbmem": ebbmem.__version__,
        },
        **asdict(made),
    }
    if given.json:
        print(json.dumps(told))
    else:
        print(f"{told['command']}  {told['versions']}")
        print(
            f"{made.operations:,} operations on {made.namespaces} namespaces in "
            f"{made.seconds:.0f} s, {made.cpu_seconds:.0f} s of CPU time; "
            f"leaks: {0 if made.leak is None else 1}"
        )
        for name, times in made.by_name.items():
            print(f"  {name:<18}{times:>10,}")
    if made.leak is not None:
        print(f"leak: {made.leak}", file=sys.stderr)
    return made.leak is not None


if __name__ == "__main__":
    sys.exit(main())
