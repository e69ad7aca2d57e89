"""A bank against a dictionary: whatever is done to both, they tell the same story.

The model knows the published formula and the rules of the design, and shares no code with
the package. The pass runs when it is told to.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from ebbmem import Held, MemoryBank, NotFound, Policy, Recollection
from ebbmem.testing import HashingEmbedder, ManualClock

RATES = {"strategy": 0.10, "fact": 0.16, "assumption": 0.20, "failure": 0.35}
THRESHOLD, SPACING, PURGE = 0.05, timedelta(minutes=10), timedelta(days=30)
NEVER = timedelta(days=36_500)
T0 = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)
TEXTS = (
    "alice keeps three parrots in her kitchen",
    "the harbour closes during winter storms",
    "quarterly invoices belong on the shared drive",
    "grandmother baked walnut bread every sunday",
    "retry failed uploads with exponential backoff",
    "marathon training starts before sunrise",
    "我住在大阪，养了两只猫",
    "the violin was repaired by a luthier in cremona",
    "deploying on fridays broke production twice",
    "saturn has rings made of ice \U0001fa90",
)

categories = st.sampled_from(sorted(RATES))
importances = st.one_of(st.sampled_from([0.05, 0.5, 1.0]), st.floats(0.05, 1.0))
steps = st.one_of(
    st.integers(1, 90).map(lambda n: timedelta(minutes=n)),
    st.integers(1, 24 * 40).map(lambda n: timedelta(hours=n)),
)


@dataclass
class Fact:
    """What the model knows of one memory."""

    text: str
    category: str
    importance: float
    created: datetime
    pinned: bool
    last: datetime | None = None
    count: int = 0
    faded_at: datetime | None = None
    held: bool = False
    keyed: bool = False
    ends: datetime | None = None


class BankMachine(RuleBasedStateMachine):
    policy = Policy(prune_every=NEVER)
    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.facts: dict[str, Fact] = {}
        self.days: set[int] = set()
        self.bank = self.opened(self.policy)

    def opened(self, policy: Policy | None) -> MemoryBank:
        return MemoryBank.open(
            self.folder / "memory.db",
            namespace=("model", "one"),
            embedder=HashingEmbedder(),
            policy=policy,
            clock=self.clock,
        )

    def teardown(self) -> None:
        self.bank.close()
        shutil.rmtree(self.folder)

    # -- the model ---------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.clock()

    @staticmethod
    def start(fact: Fact) -> datetime:
        return max(fact.created, fact.last or fact.created)

    def elapsed(self, fact: Fact, when: datetime) -> float:
        wall = max((when - self.start(fact)) / timedelta(days=1), 0.0)
        if self.policy.timeline == "wall":
            return wall
        first, last = day(self.start(fact)), day(when)
        return min(wall, float(sum(first < each <= last for each in self.days)))

    def strength(self, fact: Fact, when: datetime | None = None) -> float:
        rate = RATES[fact.category] * (1.0 - 0.8 * fact.importance)
        kept = math.exp(-rate * self.elapsed(fact, when or self.now))
        return min(1.0, fact.importance * kept * (1.0 + 0.2 * fact.count))

    def ended(self, fact: Fact, when: datetime | None = None) -> bool:
        return fact.ends is not None and fact.ends <= (when or self.now)

    def weak(self, fact: Fact) -> bool:
        return self.ended(fact) or (not fact.pinned and self.strength(fact) < THRESHOLD)

    def hidden(self, fact: Fact) -> bool:
        return fact.faded_at is not None or self.weak(fact)

    def spaced(self, fact: Fact) -> bool:
        return fact.last is None or self.now - fact.last >= SPACING

    def reinforce_fact(self, fact: Fact) -> bool:
        if fact.faded_at is not None or not self.spaced(fact):
            return False
        fact.last, fact.count = self.now, fact.count + 1
        return True

    def revive(self, fact: Fact) -> None:
        if self.hidden(fact):
            fact.faded_at, fact.last = None, self.now
            fact.ends = None if self.ended(fact) else fact.ends

    def settle(self) -> tuple[set[str], set[str]]:
        """What the pass does: ids it fades, ids it forgets."""
        faded = {id_ for id_, fact in self.facts.items() if not fact.faded_at and self.weak(fact)}
        for id_ in faded:
            self.facts[id_].faded_at = self.now
        forgotten = {
            id_
            for id_, fact in self.facts.items()
            if fact.faded_at and not fact.held and self.now - fact.faded_at >= PURGE
        }
        for id_ in forgotten:
            del self.facts[id_]
        return faded, forgotten

    def look(self, id_: str) -> Fact | None:
        """What is known of an id, after a pass if it is hidden.

        That the pass makes no difference has a test of its own.
        """
        if self.known(id_) and self.hidden(self.facts[id_]):
            self.prune()
        return self.facts.get(id_)

    def known(self, id_: str) -> bool:
        """Whether the model has it; if not, neither may the bank."""
        if id_ in self.facts:
            return True
        for call in (self.bank.pin, self.bank.restore, self.bank.erase, self.bank.reinforce):
            with pytest.raises(NotFound):
                call(id_)
        return False

    # -- what is done ------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        """With the one pass that runs by itself behind us."""
        assert self.bank.list() == []
        self.bank.erase(self.bank.remember("to begin with", pinned=True).id)
        self.days.add(day(self.now))

    @rule(
        target=ids,
        text=st.sampled_from(TEXTS),
        category=categories,
        importance=importances,
        pinned=st.booleans(),
        shift=st.one_of(st.none(), st.integers(-24 * 60, 24 * 20)),
    )
    def remember(
        self, text: str, category: str, importance: float, pinned: bool, shift: int | None
    ) -> Any:
        same = (id_ for id_, fact in self.facts.items() if fact.text == text and not fact.keyed)
        said = next(same, None)
        if said is not None and self.look(said) is None:
            said = None
        at = None if shift is None else self.now + timedelta(hours=shift)
        memory = self.bank.remember(
            text, category=category, importance=importance, pinned=pinned, at=at
        )
        self.days.add(day(at or self.now))
        if said is None:
            assert memory.id not in self.facts
            self.facts[memory.id] = Fact(text, category, importance, at or self.now, pinned)
        else:
            assert memory.id == said
            self.say_again(self.facts[said], memory.recall_count)
        return memory.id if said is None else multiple()

    def say_again(self, fact: Fact, count: int) -> None:
        was_hidden = self.hidden(fact)
        self.revive(fact)
        if was_hidden:  # revived, and perhaps counted as well
            assert count in (fact.count, fact.count + 1)
            fact.count = count
        elif self.now - fact.created >= SPACING:
            self.reinforce_fact(fact)

    @rule(
        target=ids,
        key=st.sampled_from(["key a", "key b"]),
        text=st.sampled_from(TEXTS),
        category=categories,
        importance=importances,
        pinned=st.booleans(),
        hours=st.none() | st.integers(-5, 24 * 20),
    )
    def put(
        self,
        key: str,
        text: str,
        category: str,
        importance: float,
        pinned: bool,
        hours: int | None,
    ) -> Any:
        """Under a key, whatever was there."""
        fact = self.look(key) if key in self.facts else None
        ends = None if hours is None else self.now + timedelta(hours=hours)
        given: dict[str, Any] = {
            "id": key,
            "keyed": True,
            "category": category,
            "importance": importance,
            "pinned": pinned,
            "expires_at": ends,
        }
        if fact is not None and fact.held and fact.text != text:
            with pytest.raises(Held):
                self.bank.remember(text, **given)
            return multiple()
        assert self.bank.remember(text, **given).id == key
        self.days.add(day(self.now))
        if fact is None:
            self.facts[key] = Fact(
                text, category, importance, self.now, pinned, keyed=True, ends=ends
            )
            return key
        self.rewrite(fact, text, category, importance, fact.pinned or pinned, ends)
        return multiple()

    def rewrite(
        self,
        fact: Fact,
        text: str,
        category: str,
        importance: float,
        pinned: bool,
        ends: datetime | None,
    ) -> None:
        old = (fact.text, fact.category, fact.pinned, fact.ends)
        changed = old != (text, category, pinned, ends)
        if fact.text != text:
            fact.importance = importance
        fact.text, fact.category, fact.pinned, fact.ends = text, category, pinned, ends
        if self.ended(fact):
            return  # nothing to come back for
        if self.hidden(fact):
            self.revive(fact)
        elif changed and self.now - fact.created >= SPACING:
            self.reinforce_fact(fact)

    @rule(id_=ids, hours=st.none() | st.integers(-5, 24 * 20))
    def expire(self, id_: str, hours: int | None) -> None:
        if (fact := self.look(id_)) is not None:
            fact.ends = None if hours is None else self.now + timedelta(hours=hours)
            self.bank.expire(id_, fact.ends)
            assert self.bank.get(id_, include_faded=True).expires_at == fact.ends

    @precondition(lambda self: self.facts)
    @rule(id_=ids, reinforce=st.booleans(), k=st.integers(1, 10))
    def recall(self, id_: str, reinforce: bool, k: int) -> None:
        text = self.facts[id_].text if id_ in self.facts else "parrots in the harbour"
        hits = self.bank.recall(text, k, reinforce=reinforce)
        assert len(hits) <= k
        assert len({hit.memory.id for hit in hits}) == len(hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            fact = self.facts[hit.memory.id]
            assert not self.hidden(fact)
            assert hit.strength == pytest.approx(self.strength(fact), rel=1e-9)
            assert 0.0 <= hit.score <= 1.0
        if id_ in self.facts and not self.hidden(self.facts[id_]):
            assert hits[0].memory.text == text  # under a key another may say the same
            assert hits[0].via == ()
        used = counted(hits) if reinforce else set()
        expected = {each for each in used if self.spaced(self.facts[each])}
        assert {hit.memory.id for hit in hits if hit.reinforced} == expected
        for each in expected:
            self.reinforce_fact(self.facts[each])
        if reinforce:
            self.days.add(day(self.now))

    @rule(id_=ids)
    def reinforce(self, id_: str) -> None:
        if (fact := self.look(id_)) is not None:
            counts = self.reinforce_fact(fact)
            assert [each.id for each in self.bank.reinforce(id_)] == [id_] * counts
            self.days.add(day(self.now))

    @rule(id_=ids, category=st.none() | categories, importance=st.none() | importances)
    def update(self, id_: str, category: str | None, importance: float | None) -> None:
        if (fact := self.look(id_)) is not None:
            fact.category = category or fact.category
            fact.importance = fact.importance if importance is None else importance
            changed = self.bank.update(id_, category=category, importance=importance)
            assert (changed.category, changed.importance) == (fact.category, fact.importance)

    @rule(id_=ids, text=st.sampled_from([f"{text} indeed" for text in TEXTS]))
    def reword(self, id_: str, text: str) -> None:
        fact = self.look(id_)
        others = {
            fact.text for other, fact in self.facts.items() if other != id_ and not fact.keyed
        }
        if fact is not None and (fact.keyed or text not in others):
            if fact.held and fact.text != text:
                with pytest.raises(Held):
                    self.bank.update(id_, text=text)
                return
            fact.text = text
            assert self.bank.update(id_, text=text).text == text

    @rule(id_=ids)
    def forget(self, id_: str) -> None:
        fact = self.facts.get(id_)
        if fact is None or self.hidden(fact):
            with pytest.raises(NotFound):
                self.bank.forget(id_)
            return
        self.bank.forget(id_)
        fact.faded_at, fact.pinned = self.now, False

    @rule(id_=ids)
    def restore(self, id_: str) -> None:
        if self.known(id_):
            revived = self.hidden(self.facts[id_])
            assert [each.id for each in self.bank.restore(id_)] == [id_] * revived
            self.revive(self.facts[id_])

    @rule(id_=ids, on=st.booleans())
    def pin(self, id_: str, on: bool) -> None:
        if (fact := self.look(id_)) is not None:
            if on:
                self.revive(fact)
                self.bank.pin(id_)
            else:
                self.bank.unpin(id_)
            fact.pinned = on

    @rule(id_=ids, on=st.booleans())
    def hold(self, id_: str, on: bool) -> None:
        if (fact := self.look(id_)) is not None:
            (self.bank.hold if on else self.bank.release)(id_)
            fact.held = on

    @rule(id_=consumes(ids))
    def erase(self, id_: str) -> Any:
        if not self.known(id_):
            return
        if self.facts[id_].held:
            with pytest.raises(Held):
                self.bank.erase(id_)
            self.bank.release(id_)
        assert self.bank.erase([id_, id_]).count == 1
        del self.facts[id_]

    @rule(by=steps)
    def wait(self, by: timedelta) -> None:
        self.clock.advance(by)

    @rule()
    def prune(self) -> None:
        self.clock.advance(seconds=1)  # a pass does not look twice at one moment
        said = self.bank.prune(dry_run=True)
        done = self.bank.prune()
        faded, forgotten = self.settle()
        assert (set(said.faded), set(said.erased)) == (faded, forgotten)
        assert (set(done.faded), set(done.erased)) == (faded, forgotten)

    @rule()
    def reopen(self) -> None:
        self.bank.close()
        self.bank = self.opened(None)
        assert self.bank.policy == self.policy

    @rule()
    def move(self) -> None:
        """Out and in again: at a time when nothing is due."""
        out, back = io.StringIO(), io.StringIO()
        self.bank.export_jsonl(out)
        with MemoryBank.open(
            namespace="copy", embedder="hashing", policy=self.policy, clock=lambda: LONG_AGO
        ) as copy:
            if self.facts:
                copy.import_file(io.StringIO(out.getvalue()))
            copy.export_jsonl(back)
        assert self.lines(out) == self.lines(back)

    def lines(self, exported: io.StringIO) -> list[dict[str, Any]]:
        """Without header and audit trail, and without the deadlines that a pass has put off."""
        lines = [json.loads(line) for line in exported.getvalue().splitlines()[1:]]
        lines = [line for line in lines if "audit" not in line]
        if self.policy.timeline == "active":
            for line in lines:
                del line["fades_at"]
        return lines

    @rule(id_=ids, text=st.sampled_from(TEXTS))
    def explain(self, id_: str, text: str) -> None:
        if id_ not in self.facts:
            with pytest.raises(NotFound):
                self.bank.explain(text, id_)
            return
        found = self.bank.explain(text, id_, k=3)
        if self.hidden(self.facts[id_]):
            assert found.outcome == "faded"
        recalled = [hit.memory.id for hit in self.bank.recall(text, 3, reinforce=False)]
        assert (found.outcome == "recalled") == (id_ in recalled)

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def the_bank_lists_what_the_model_knows(self) -> None:
        everything = {each.id: each for each in self.bank.list(include_faded=True)}
        assert everything.keys() == self.facts.keys()
        shown = [each.id for each in self.bank.list()]
        assert set(shown) == {id_ for id_, fact in self.facts.items() if not self.hidden(fact)}
        assert shown == sorted(shown, key=lambda id_: (self.facts[id_].created, id_))
        for id_, memory in everything.items():
            fact = self.facts[id_]
            assert (memory.text, memory.category) == (fact.text, fact.category)
            assert (memory.importance, memory.created_at) == (fact.importance, fact.created)
            assert (memory.recall_count, memory.last_reinforced_at) == (fact.count, fact.last)
            assert (memory.pinned, memory.held) == (fact.pinned, fact.held)
            assert (memory.keyed, memory.expires_at) == (fact.keyed, fact.ends)
            assert memory.faded_at == fact.faded_at
            assert self.bank.strength(id_) == pytest.approx(self.strength(fact), rel=1e-9)
            self.check_deadline(fact, memory.fades_at)

    def check_deadline(self, fact: Fact, fades_at: datetime | None) -> None:
        """On the wall clock exact; on days of use never too late, whatever days are used."""
        if fact.faded_at:
            assert fades_at is None
        elif fact.pinned or fades_at == fact.ends:
            assert fades_at == fact.ends
        elif not self.hidden(fact):
            assert fades_at is not None
            assert fact.ends is None or fades_at < fact.ends
            if self.policy.timeline == "wall":
                just_before = fades_at - timedelta(microseconds=2)
                assert self.strength(fact, fades_at) < THRESHOLD
                assert self.strength(fact, just_before) >= THRESHOLD * (1 - 1e-12)

    @invariant()
    def the_numbers_add_up(self) -> None:
        stats = self.bank.stats()
        shown = [fact for fact in self.facts.values() if not self.hidden(fact)]
        assert (stats.active, stats.faded) == (len(shown), len(self.facts) - len(shown))
        assert stats.pinned == sum(fact.pinned for fact in self.facts.values())
        assert stats.held == sum(fact.held for fact in self.facts.values())
        assert stats.recalls == sum(fact.count for fact in self.facts.values())
        soon = {each.memory.id for each in self.bank.forecast(7)}
        if self.policy.timeline == "wall":
            week = self.now + timedelta(days=7)
            assert self.fading(week) <= soon <= self.fading(week + timedelta(seconds=1))

    def fading(self, when: datetime) -> set[str]:
        """What is shown now and will not be then."""
        return {
            id_
            for id_, fact in self.facts.items()
            if not self.hidden(fact)
            and (
                self.ended(fact, when)
                or (not fact.pinned and self.strength(fact, when) < THRESHOLD)
            )
        }


class ChatMachine(BankMachine):
    policy = Policy.chat(prune_every=NEVER)


def day(when: datetime) -> int:
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(days=1)


def counted(hits: list[Recollection]) -> set[str]:
    """Found directly, relevant at all, and at least half as relevant as the best."""
    direct = [hit for hit in hits if not hit.via]
    best = max((hit.relevance for hit in direct), default=0.0)
    return {hit.memory.id for hit in direct if hit.relevance >= 0.5 * best and hit.relevance > 0.0}


QUICK = settings(
    max_examples=80,
    stateful_step_count=50,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

TestOnTheWallClock = BankMachine.TestCase
TestOnTheWallClock.settings = QUICK
TestOnDaysOfUse = ChatMachine.TestCase
TestOnDaysOfUse.settings = QUICK
