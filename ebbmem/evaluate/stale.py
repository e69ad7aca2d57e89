"""Facts that change: whether the new one is found before the old one, and what that costs.

A story is facts about people, some of which were replaced later, among a chat that has nothing
to do with them. It is made from a seed (`stale_words` holds what is said), so that a run can be
repeated to the letter.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

from ebbmem.bank import MemoryBank
from ebbmem.evaluate.baselines import Baselines, orders
from ebbmem.evaluate.data import Dataset
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.small_talk import chatter
from ebbmem.evaluate.stale_words import FAMILIES, Attribute, Family
from ebbmem.policy import Policy
from ebbmem.records import Draft
from ebbmem.testing import ManualClock

__all__ = ["COLUMNS", "OURS", "UNSWAPPED", "Asked", "Row", "Run", "Story", "measure", "tell"]

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SEEDS = (0, 1, 2)
DEPTH = 50
"""Places that are looked at; what is not among them was not found."""

PLAIN, UNSWAPPED, OURS = "hybrid .55/.45", "ours, no recency", "ours"
_POLICIES = {
    UNSWAPPED: Policy.chat(current_first=False),
    OURS: Policy.chat(),
    "ours, x strength": Policy.chat(ranking="product"),
}
COLUMNS = ("stale above", "stale at 1", "current at 1", "current in 5", "stable at 1")
"""Shares in [0, 1]: the first four of the facts that changed, the last of those that did not."""

_NOISE, _LITTLE = 2_000, 500  # distractors from data, and without any

UPDATED, STABLE = 0.5, 0.375  # shares of all pairs of a person and an attribute
FIRST_SAID = (60.0, 360.0)  # days ago
LEAST_GAP = 30.0  # days between the old fact and the new one


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about the present: the id that answers it, and the one that no longer does."""

    question: str
    current: str
    stale: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """What was said, in the order of time, and what is asked at the end."""

    items: tuple[Draft, ...]
    asked: tuple[Asked, ...]


def tell(family: Family, seed: int, *, now: datetime, noise: Sequence[Draft] = ()) -> Story:
    """A story of one family; `noise` is put among the facts as it is dated."""
    generator = random.Random(f"{family.name} {seed}")
    pairs = [(who, what) for who in family.people for what in family.attributes]
    generator.shuffle(pairs)
    updated = pairs[: int(UPDATED * len(pairs))]
    stable = pairs[len(updated) : len(updated) + int(STABLE * len(pairs))]
    items, asked = list(noise), []
    for number, (who, what) in enumerate((*updated, *stable)):
        said = _told(family, who, what, generator, changed=number < len(updated))
        old, *new = [
            Draft(text=text, id=f"{number}-{at}", at=now - timedelta(days=age))
            for at, (text, age) in enumerate(said)
        ]
        items += [old, *new]
        question = what.question.format(n=who)
        asked.append(Asked(question, str((new or [old])[0].id), str(old.id) if new else None))
    return Story(tuple(sorted(items, key=lambda each: each.at or now)), tuple(asked))


def _told(
    family: Family, who: str, what: Attribute, generator: random.Random, *, changed: bool
) -> list[tuple[str, float]]:
    """(text, days ago) of a fact, and of what replaced it."""
    old, new = generator.sample(what.values, 2)
    first = generator.uniform(*FIRST_SAID)
    said = [(generator.choice(what.old).format(n=who, v=old), first)]
    if changed:
        cued = generator.random() < family.cued
        phrase = generator.choice(what.new if cued else what.old)
        later = generator.uniform(1.0, first - LEAST_GAP)
        said.append((phrase.format(n=who, v=new, o=old), later))
    return said


# -- measuring -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One way of ranking: shares in the order of `COLUMNS`."""

    name: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One family over all seeds.

    Attributes:
        updated, stable: how many questions of each kind.
        noise: distractors a story.
    """

    family: str
    updated: int
    stable: int
    noise: int
    rows: tuple[Row, ...]

    def loss(self, row: Row) -> float:
        """What a row loses of the stable facts against ours without recency, in points."""
        plain = next(each for each in self.rows if each.name == UNSWAPPED)
        return 100.0 * (plain.shares[-1] - row.shares[-1])


Ranked = dict[str, list[list[str]]]


def measure(
    sets: Sequence[Dataset],
    encoder: CachedEncoder | None,
    *,
    families: Iterable[Family] = FAMILIES,
    seeds: Sequence[int] = SEEDS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Run]:
    """Every family over every seed, by plain retrieval and by the bank under several policies.

    Args:
        sets: where distractors come from; without any they are invented, and fewer.
        encoder: None leaves keywords alone.
    """
    listed, runs = list(families), list[Run]()
    for family in listed:
        ranked, asked, noise = Ranked(), list[Asked](), 0
        for seed in seeds:
            others = _noise(sets, seed)
            story, noise = tell(family, seed, now=NOW, noise=others), len(others)
            for name, each in _answers(story, encoder).items():
                ranked.setdefault(name, []).extend(each)
            asked += story.asked
            if progress is not None:
                done = len(runs) * len(seeds) + seeds.index(seed) + 1
                progress(done, len(listed) * len(seeds))
        rows = tuple(Row(name, _shares(asked, each)) for name, each in ranked.items())
        updated = sum(each.stale is not None for each in asked)
        runs.append(Run(family.name, updated, len(asked) - updated, noise, rows))
    return runs


def _noise(sets: Sequence[Dataset], seed: int) -> list[Draft]:
    """Distractors, said at any time of the last year; of a data set in their order."""
    generator = random.Random(seed)
    said = [
        replace(item, id=None, source=item.source and f"{each.name}/{item.source}")
        for data in sets
        for each in data.histories
        for item in each.items
    ]
    if not said:
        said = [Draft(text=text) for text in islice(chatter(seed=seed), _LITTLE)]
    chosen = sorted(generator.sample(range(len(said)), min(_NOISE, len(said))))
    longest = FIRST_SAID[1]
    return [
        replace(said[at], at=NOW - timedelta(days=generator.uniform(0.0, longest))) for at in chosen
    ]


def _answers(story: Story, encoder: CachedEncoder | None) -> Ranked:
    """For each row and question the first `DEPTH` ids."""
    found = Ranked()
    plain = Baselines(story.items, encoder)
    ids = [str(each.id) for each in story.items]
    name = PLAIN if encoder is not None else "BM25"
    found[name] = [
        [ids[at] for at in orders(plain.scores(each.question))[name][:DEPTH]]
        for each in story.asked
    ]
    clock = ManualClock(NOW)
    with MemoryBank.open(
        namespace="bench", embedder=encoder, policy=Policy.chat(), clock=clock, maintain=False
    ) as bank:
        kept = bank.remember_many(story.items)
        mine = {memory.id: id_ for memory, id_ in zip(kept, ids, strict=True) if id_ != "None"}
        for name, policy in _POLICIES.items():
            ours = bank.at("bench", policy=policy)
            found[name] = [_recalled(ours, each.question, mine) for each in story.asked]
    return found


def _recalled(bank: MemoryBank, question: str, mine: dict[str, str]) -> list[str]:
    hits = bank.recall(question, DEPTH, include_faded=True, reinforce=False, min_similarity=-1.0)
    return [mine.get(hit.memory.id, "") for hit in hits]


def _shares(asked: Sequence[Asked], ranked: Sequence[Sequence[str]]) -> tuple[float, ...]:
    changed = [
        (
            _rank(order, str(each.stale)) < _rank(order, each.current),
            order[:1] == [each.stale],
            order[:1] == [each.current],
            each.current in order[:5],
        )
        for each, order in zip(asked, ranked, strict=True)
        if each.stale is not None
    ]
    same = [
        order[:1] == [each.current]
        for each, order in zip(asked, ranked, strict=True)
        if each.stale is None
    ]
    return (*np.mean(changed, axis=0).tolist(), float(np.mean(same)))


def _rank(order: Sequence[str], id: str) -> int:
    return list(order).index(id) if id in order else DEPTH
