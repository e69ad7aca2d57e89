"""Every answer that a namespace gets is, to the letter, what it would get alone on its own file.

So no word of another is told, nor a count, a size, a number or an order of anything, and who
asks for what another keeps is answered as if nobody kept it.
"""

from __future__ import annotations

import inspect
import io
import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ebbmem import AsyncMemoryBank, MemoryBank
from ebbmem.records import Namespace
from ebbmem.testing import ManualClock, TableEmbedder
from isolation_kit import (
    FAMILIES,
    LOOKS,
    MARK,
    NAMES,
    Look,
    across,
    answer,
    mark_of,
    planted,
    policy_of,
)

COMMON = "the common words"  # everybody may say them
Change = Callable[[MemoryBank, str], object]
CHANGES: dict[str, Change] = {
    "reinforce": lambda bank, id_: bank.reinforce(id_, query=f"who is {id_}?"),
    "pin": lambda bank, id_: bank.pin(id_),
    "unpin": lambda bank, id_: bank.unpin(id_),
    "forget": lambda bank, id_: bank.forget(id_),
    "restore": lambda bank, id_: bank.restore(id_),
    "expire": lambda bank, id_: bank.expire(id_, bank.clock()),
    "erase": lambda bank, id_: bank.erase(id_),
    "update": lambda bank, id_: bank.update(id_, text=f"the lighthouse burned, said {id_}"),
    "add_probe": lambda bank, id_: bank.add_probe(f"who asks for {id_}?", id_),
    "hold": lambda bank, id_: (bank.hold(id_), bank.release(id_)),
}
WHOLES: dict[str, Change] = {
    "recall": lambda bank, mark: bank.recall("keeper", k=50, min_similarity=-1.0),
    "probe": lambda bank, mark: bank.probe(),
    "prune": lambda bank, mark: bank.prune(),
    "erase_expired": lambda bank, mark: bank.erase_expired(),
    "erase_all": lambda bank, mark: bank.erase_all(),
    "remove_probe": lambda bank, mark: bank.remove_probe(1),
    "common words": lambda bank, mark: bank.remember(COMMON, id=f"{mark}common"),
    "rerank": lambda bank, mark: bank.beside("papers").rerank({"paper": 0.9}),
    "import": lambda bank, mark: bank.import_file(io.StringIO(export(bank))),
}

neighbours = st.sampled_from(FAMILIES).flatmap(
    lambda family: st.lists(st.sampled_from(family), min_size=3, max_size=6, unique=True)
)
people = st.integers(0, 5)
numbers = st.integers(0, 3)


def export(bank: MemoryBank) -> str:
    file = io.StringIO()
    bank.export_jsonl(file)
    return file.getvalue()


class Lines(logging.Handler):
    """Keeps every line that is logged."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Isolation(RuleBasedStateMachine):
    """Some namespaces of one file, and each of them once more, alone on a file of its own."""

    looks: ClassVar[Mapping[str, Look]] = {**LOOKS, "recall_across": across}
    sees_below: ClassVar[tuple[str, ...]] = ("inhabited",)  # by design

    @initialize(names=neighbours)
    def open(self, names: list[Namespace]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock, self.names = ManualClock(), names
        self.marks = {each: mark_of(NAMES.index(each)) for each in names}
        shared = self.opened("shared.db")
        files = {each: self.opened(f"{number}.db") for number, each in enumerate(names)}
        self.roots = [shared, *files.values()]
        policies = {each: policy_of(self.marks[each]) for each in names}
        self.banks = {each: shared.at(*each, policy=policies[each]) for each in names}
        self.alone = {each: files[each].at(*each, policy=policies[each]) for each in names}
        self.log = Lines()
        logging.getLogger().addHandler(self.log)

    def opened(self, name: str) -> MemoryBank:
        bank = MemoryBank.open(
            self.folder / name,
            namespace="root",
            embedder=TableEmbedder({}, default=[1.0, 0.0]),
            clock=self.clock,
            maintain=False,
        )
        bank.remember("the first words")  # the dimension is that of the file, not of a namespace
        return bank

    def teardown(self) -> None:
        if hasattr(self, "log"):
            logging.getLogger().removeHandler(self.log)
            for root in self.roots:
                root.close()
            shutil.rmtree(self.folder)

    # -- what happens ------------------------------------------------------------------------

    @rule(who=people, seen_by=people, number=numbers)
    def remember(self, who: int, seen_by: int, number: int) -> None:
        self.happens(who, seen_by, lambda bank, mark: bank.remember_many([planted(mark, number)]))

    @rule(who=people, seen_by=people, number=numbers, how=st.sampled_from(sorted(CHANGES)))
    def change(self, who: int, seen_by: int, number: int, how: str) -> None:
        self.happens(who, seen_by, lambda bank, mark: CHANGES[how](bank, f"{mark}id{number}"))

    @rule(who=people, seen_by=people, a=numbers, b=numbers)
    def link(self, who: int, seen_by: int, a: int, b: int) -> None:
        self.happens(who, seen_by, lambda bank, mark: bank.link(f"{mark}id{a}", f"{mark}id{b}"))

    @rule(who=people, seen_by=people, how=st.sampled_from(sorted(WHOLES)))
    def whole(self, who: int, seen_by: int, how: str) -> None:
        self.happens(who, seen_by, lambda bank, mark: WHOLES[how](bank, mark))

    @rule(who=people, whose=people, number=numbers, how=st.sampled_from(sorted(CHANGES)))
    def take(self, who: int, whose: int, number: int, how: str) -> None:
        """What takes an id is given that of somebody else."""
        id_ = f"{self.marks[self.names[whose % len(self.names)]]}id{number}"
        self.happens(who, whose, lambda bank, mark: CHANGES[how](bank, id_))

    @rule(hours=st.integers(1, 24 * 20))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    # -- what is seen of it ------------------------------------------------------------------

    def happens(self, who: int, seen_by: int, act: Change) -> None:
        """One acts, another looks for what the first keeps; both as if they were alone."""
        actor, eye = (self.names[each % len(self.names)] for each in (who, seen_by))
        said, alone = (
            self.answer(partial(act, each[actor], self.marks[actor]), each[actor])
            for each in (self.banks, self.alone)
        )
        assert said == alone
        for name, look in self.looks.items():
            if name.startswith(self.sees_below) and self.has_others_below(eye):
                continue
            for mark in {self.marks[actor], self.marks[eye]}:
                told, alone = (
                    self.answer(partial(look, each[eye], mark), each[eye])
                    for each in (self.banks, self.alone)
                )
                assert told == alone, f"{name} of {eye} tells of {actor}"

    @staticmethod
    def answer(call: Callable[[], object], bank: MemoryBank) -> str:
        return answer(call).replace(bank.path, "(its file)")

    def has_others_below(self, names: Namespace) -> bool:
        return any(each[: len(names)] == names for each in self.names if each != names)

    @invariant()
    def nothing_is_logged(self) -> None:
        if hasattr(self, "log"):
            assert not [line for line in self.log.lines if MARK.search(line)]


def _from_async(look: Look, bank: MemoryBank, mark: str) -> object:
    return look(AsyncMemoryBank(bank), mark)


class AsyncIsolation(Isolation):
    looks: ClassVar[Mapping[str, Look]] = {
        name: partial(_from_async, look) for name, look in LOOKS.items() if name != "itself"
    }


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
TestIsolation = Isolation.TestCase
TestIsolation.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=SLOW
)
TestAsyncIsolation = AsyncIsolation.TestCase
TestAsyncIsolation.settings = settings(
    max_examples=3, stateful_step_count=8, deadline=None, suppress_health_check=SLOW
)


# -- that every way is looked at -----------------------------------------------------------------

WRITES = {
    "remember", "remember_many", "update", "write", "import_file", "add_probe", "remove_probe",
    "reinforce", "pin", "unpin", "hold", "release", "expire", "restore", "forget", "erase",
    "erase_expired", "erase_all", "link", "unlink", "probe", "rerank",
}  # fmt: skip
GIVES_A_BANK = {"open", "at", "beside"}
OF_THE_WHOLE_FILE = {"reembed", "backup", "diagnose", "close"}  # for whoever runs it, not a tenant
FIELDS = {"clock", "fingerprint", "limits", "namespace", "path", "policy"}


def test_every_public_method_is_a_look_or_writes_or_is_of_the_whole_file() -> None:
    looked = {name.split()[0] for name in LOOKS} - {"itself"}
    kinds = (looked, WRITES, GIVES_A_BANK, OF_THE_WHOLE_FILE, FIELDS)
    named = [name for each in kinds for name in each]
    with MemoryBank.open(namespace="u1", embedder=None) as bank:
        assert sorted(named) == [name for name in dir(bank) if not name.startswith("_")]


@pytest.mark.parametrize(
    "name", sorted(set(inspect.signature(MemoryBank.recall).parameters) - {"self"})
)
def test_every_option_of_recall_is_used_by_a_look(name: str) -> None:
    used = {
        "self",
        "query",
        "k",
        "reinforce",
        "min_similarity",
        "min_score",
    }  # in all of them, or a bound
    words = {each for look in LOOKS for each in look.split()}
    options = {"include_faded": "hidden", "include_superseded": "hidden"}
    assert name in used or options.get(name, name) in words


def test_what_a_namespace_keeps_comes_out_on_every_way_that_looks() -> None:
    """So that the property is about something."""
    embedder, mark = TableEmbedder({}, default=[1.0, 0.0]), mark_of(0)
    with MemoryBank.open(namespace="root", embedder=embedder, clock=ManualClock()) as root:
        bank = root.at("user1", policy=policy_of(mark))
        bank.remember_many(planted(mark, number) for number in range(4))
        bank.add_probe(f"who said {mark}?", f"{mark}id3")
        bank.forget(f"{mark}id2")
        silent = {name for name in LOOKS if mark not in answer(partial(LOOKS[name], bank, mark))}
    numbers_alone = {"strength", "retention", "advice", "probe_history", "audit_verify", "prune"}
    assert silent - numbers_alone == {"inhabited", "inhabited hidden", "list where not"}
