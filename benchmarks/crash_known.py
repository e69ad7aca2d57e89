"""What writers were told is kept, and whether it is there: see `crash.py`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from crash_derived import derived
from crash_writer import Call, direction, opened, text_of
from numpy.typing import NDArray

from ebbmem import EbbmemError, Memory, MemoryBank
from ebbmem.exchange import read_file
from ebbmem.store.driver import driver

Pair = tuple[str, str]


@dataclass(slots=True)
class Kept:
    """One memory as it must be; an "ending" one fades with the next pass, whoever runs it."""

    version: int = 0
    pinned: bool = False
    status: Literal["active", "ending", "faded"] = "active"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it was acknowledged."""

    kind: str
    what: str

    @property
    def lost(self) -> bool:
        """Whether something acknowledged is not there; else it is there in part, or wrong."""
        return "lost" in self.kind or self.kind == "came back"


@dataclass
class Known:
    """What was acknowledged, and what may have been done besides.

    Attributes:
        kept: each by the writer that made it alone, apart from its uses.
        used: how often, also by writers that say so before its own says that it made it.
        inside: kills within a call.
        whole: of these, calls that were done.
    """

    kept: dict[str, Kept] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)
    erased: set[str] = field(default_factory=set)
    links: dict[Pair, float] = field(default_factory=dict)
    under_way: list[Call] = field(default_factory=list)
    acknowledged: int = 0
    inside: int = 0
    whole: int = 0

    def hear(self, lines: Iterable[Call]) -> None:
        """What one writer said until it was killed."""
        begun: Call | None = None
        for line in lines:
            if "begin" in line:
                begun = line["begin"]
            elif "done" in line:
                self.done(line["done"])
                self.acknowledged += max(len(line["done"]["ids"]), 1)
                begun = None
        if begun is not None:
            self.under_way.append(begun)
            self.inside += 1

    def done(self, call: Call) -> None:
        """What a call makes of it."""
        kind, ids = call["kind"], call["ids"]
        if kind in ("remember", "import"):
            self.kept |= {id_: Kept() for id_ in ids}
        elif kind == "erase":
            self.erased.update(ids)
            for id_ in ids:
                del self.kept[id_]
            self.links = {pair: at for pair, at in self.links.items() if not {*pair} & {*ids}}
        elif kind == "link":
            self.links[_pair(ids)] = call["weight"]
        elif kind == "unlink":
            self.links.pop(_pair(ids), None)
        elif kind == "prune":
            for id_, each in self.kept.items():
                if each.status == "ending" and id_.startswith(f"w{call['writer']}-"):
                    each.status = "faded"
        elif kind in ("recall", "reinforce"):
            self.used.update(ids)
        for each in (self.kept[id_] for id_ in ids if id_ in self.kept):
            if kind == "update":
                each.version = call["version"]
            elif kind == "pin":
                each.pinned = True
            elif kind == "forget":
                each.status, each.pinned = "faded", False
            elif kind == "expire":
                each.status = "ending"


def _pair(ids: list[str]) -> Pair:
    return min(ids), max(ids)


def check(
    file: Path, known: Known, observer: MemoryBank | None = None
) -> tuple[list[Fault], float]:
    """What was lost or torn, and the seconds until the file was open and read.

    Settles what was under way, so that the next round knows.
    """
    began = time.monotonic()
    try:
        bank = opened(file)
    except EbbmemError as error:
        return [Fault("damaged", f"it does not open: {error}")], 0.0
    with bank:
        there = {each.id: each for each in bank.list(include_faded=True, include_superseded=True)}
        took = time.monotonic() - began
        faults = [*check_pages(file)]
        links = {(a, b): weight for a, b, weight in bank._store.links(bank.namespace)}
        faults += _settle(known, there, links)
        for id_, each in known.kept.items():
            faults += _check_memory(id_, each, known.used[id_], there.get(id_))
        faults += [Fault("came back", id_) for id_ in known.erased & set(there)]
        faults += [
            Fault("from nowhere", id_) for id_ in set(there) - set(known.kept) - known.erased
        ]
        faults += _check_vectors(bank.vectors(list(there)), known, there)
        faults += _check_links(links, known.links)
        if not bank.audit_verify().ok:
            faults.append(Fault("damaged", "the audit trail"))
        if observer is not None:
            faults += _compare(derived(bank._arena()), derived(observer._arena()))
    return [*faults, *_check_folder(file)], took


def _settle(
    known: Known, there: Mapping[str, Memory], links: Mapping[Pair, float]
) -> Iterator[Fault]:
    """A call that was under way is there as a whole or not at all."""
    recalls = 0
    for call in known.under_way:
        kind, ids = call["kind"], call["ids"]
        if kind == "recall":
            recalls += 1
        elif kind in ("link", "unlink"):
            wanted = call["weight"] if kind == "link" else None
            if links.get(_pair(ids)) == wanted:
                known.done(call)
        elif changing := [id_ for id_ in ids if not (kind == "pin" and known.kept[id_].pinned)]:
            present = [_shows(call, known, there.get(id_), id_) for id_ in changing]
            if all(present):
                known.done(call)
                known.whole += 1
            elif any(present) and not (kind == "reinforce" and recalls):
                yield Fault("torn", f"{kind} of {len(present)}: {sum(present)} are done")
    known.under_way.clear()
    yield from _settle_recalls(known, there, recalls)


def _shows(call: Call, known: Known, found: Memory | None, id_: str) -> bool:
    """Whether a memory is as this call makes it."""
    if found is None or call["kind"] == "erase":
        return found is None and call["kind"] == "erase"
    match call["kind"]:
        case "update":
            return found.text == text_of(id_, call["version"])
        case "reinforce":
            return found.recall_count > known.used[id_]
        case "pin":
            return found.pinned
        case "forget":
            return found.status == "faded"
        case "expire":
            return found.expires_at is not None
    return True  # remember, import


def _settle_recalls(known: Known, there: Mapping[str, Memory], recalls: int) -> Iterator[Fault]:
    """Which memories a recall that was under way had used, only the file knows: three at most."""
    more = 0
    for id_ in there.keys() & known.kept.keys():
        used = there[id_].recall_count - known.used[id_]
        if 0 < used <= recalls:
            more += used
            known.used[id_] += used
    if more > 3 * recalls:
        yield Fault("from nowhere", f"{more} uses in {recalls} recalls")


def _check_memory(id_: str, wanted: Kept, used: int, found: Memory | None) -> Iterator[Fault]:
    if found is None:
        yield Fault("lost", id_)
        return
    if found.text != text_of(id_, wanted.version):
        yield Fault("wrong text", id_)
    if found.recall_count != used:
        kind = "lost count" if found.recall_count < used else "from nowhere"
        yield Fault(kind, f"{id_}: used {found.recall_count} times, not {used}")
    if wanted.status != "ending" and found.status != wanted.status:
        yield Fault("lost state", f"{id_}: {found.status}, not {wanted.status}")
    if wanted.status == "ending" and found.expires_at is None:
        yield Fault("lost state", f"{id_}: its end")
    if wanted.status == "active" and found.pinned != wanted.pinned:
        yield Fault("lost state", f"{id_}: a pin")


def _check_vectors(
    vectors: Mapping[str, NDArray[np.float32]], known: Known, there: Mapping[str, Memory]
) -> Iterator[Fault]:
    for id_ in there.keys() & known.kept.keys():
        made = np.array(direction(text_of(id_, known.kept[id_].version)), np.float32)
        found = vectors.get(id_)
        if found is None:
            yield Fault("lost vector", id_)
        elif abs(found - made).max() > 1e-6:  # a rounding of the mean over its passages
            yield Fault("wrong vector", id_)


def _check_links(stored: Mapping[Pair, float], wanted: Mapping[Pair, float]) -> Iterator[Fault]:
    for pair in stored.keys() | wanted.keys():
        if stored.get(pair) != wanted.get(pair):
            kind = "lost link" if pair in wanted else "from nowhere"
            yield Fault(kind, f"{pair}: {stored.get(pair)}, not {wanted.get(pair)}")


def check_pages(file: Path) -> Iterator[Fault]:
    """Whether SQLite finds a file sound.

    The one that banks use: two copies of SQLite in one process do not see each other's locks, and
    the one that closes a file lets go those of the other.
    """
    try:
        with closing(driver().connect(str(file), wait=10.0)) as db:
            found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except driver().error as error:
        found = str(error)
    if found != "ok":
        yield Fault("damaged", f"{file.name}: {found}")


def _check_folder(file: Path) -> Iterator[Fault]:
    """The file and its log, whole exports and copies, and what is left of parts of these."""
    usual = {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    for each in sorted(file.parent.iterdir()):
        if each.name.startswith("copy-"):
            yield from check_pages(each)
        elif each.name == "out.jsonl":
            try:
                read_file(each)
            except EbbmemError as error:
                yield Fault("torn", f"an export: {error}")
        elif not (each.name in usual or each.name.startswith((".out.jsonl.", ".copy-"))):
            yield Fault("left behind", each.name)


def check_leftovers(file: Path, writers: int) -> Iterator[Fault]:
    """With the next export and copies, what killed ones left of theirs is gone."""
    with opened(file) as bank:
        bank.export_jsonl(file.with_name("out.jsonl"))
        for number in range(writers):
            copy = file.with_name(f"copy-{number}.db")
            copy.unlink(missing_ok=True)
            bank.backup(copy)
    for each in file.parent.glob(".*"):
        yield Fault("left behind", each.name)


def _compare(
    fresh: Mapping[str, Mapping[str, object]], open_one: Mapping[str, Mapping[str, object]]
) -> Iterator[Fault]:
    """What an open bank learned call by call, against what a new one reads at once."""
    for id_ in fresh.keys() | open_one.keys():
        one, other = fresh.get(id_, {}), open_one.get(id_, {})
        if one != other:
            names = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
            yield Fault("derived state differs", f"{id_}: {', '.join(sorted(names))}")
