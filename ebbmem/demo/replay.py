"""Four months of a conversation in seconds, and what the bank then knows of it.

Every number of the report was read from the bank; this module only says what happens when:
who speaks, which questions come up along the way, and what is looked at in the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, Literal

from ebbmem.bank import MemoryBank
from ebbmem.errors import NotFound
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memory, Recollection
from ebbmem.results import Explanation
from ebbmem.testing import ManualClock

__all__ = [
    "Asked",
    "Forgotten",
    "Numbers",
    "Report",
    "Restored",
    "Sample",
    "Trace",
    "load_dialogue",
    "replay",
    "run",
]

NAMESPACE = "demo"

Status = Literal["active", "faded", "gone"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what came to mind, and the ids that would answer it."""

    at: datetime
    question: str
    gold: tuple[str, ...]
    found: tuple[Recollection, ...]

    @property
    def answered(self) -> bool:
        """Whether one of the answers is among what came to mind."""
        return not {each.memory.id for each in self.found}.isdisjoint(self.gold)


@dataclass(frozen=True, slots=True)
class Sample:
    """Strength at one moment; None once it is gone for good."""

    at: datetime
    strength: float | None
    status: Status


@dataclass(frozen=True, slots=True)
class Trace:
    """One memory through time: its strength, and the moments at which a recall counted."""

    memory: Memory
    samples: tuple[Sample, ...]
    reinforced_at: tuple[datetime, ...]

    @property
    def faded_on(self) -> datetime | None:
        """When it was first seen not to be active any more."""
        return next((each.at for each in self.samples if each.status != "active"), None)


@dataclass(frozen=True, slots=True)
class Restored:
    """A faded memory that a question wanted, and the same question once it was back."""

    memory: Memory
    why_not: Explanation
    before: Asked
    after: Asked


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory let go on request: hidden first, then erased."""

    memory: Memory
    before: Asked
    why_not: Explanation
    erased: int
    left: Literal["nothing", "something"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A namespace in numbers; `answered` of the `questions` that have an answer."""

    remembered: int
    active: int
    faded: int
    gone: int
    answered: int
    questions: int
    unrelated: int


@dataclass(frozen=True, slots=True)
class Report:
    """What the replay saw, in the order in which it is told."""

    title: str
    began: datetime
    ended: datetime
    embedder: str
    has_vectors: bool
    along: tuple[Asked, ...]
    recalls: tuple[Asked, ...]
    graph: Asked
    wanted: str
    traces: tuple[Trace, ...]
    faded: tuple[Memory, ...]
    restored: Restored | None
    forgotten: Forgotten
    before: Numbers
    after: Numbers


def load_dialogue() -> dict[str, Any]:
    """The conversation that ships with the package."""
    text = files("ebbmem.demo").joinpath("dialogue.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


# --- the script: what comes up along the way, and what is looked at

_ALONG = (
    ("2026-01-16T18:00", "What food is Lotte allergic to?"),
    ("2026-02-11T10:00", "How should I format code?"),
    ("2026-02-21T09:00", "What food is Lotte allergic to?"),
    ("2026-03-11T15:00", "How should I format code?"),
    ("2026-03-22T17:00", "What food is Lotte allergic to?"),
    ("2026-03-29T08:00", "When does Mara run the marathon?"),
    ("2026-04-02T11:00", "When is the release?"),
    ("2026-04-09T14:00", "How should I format code?"),
    ("2026-04-18T16:00", "What food is Lotte allergic to?"),
)
_TRACED = ("s03t04", "s02t03", "s04t04", "s07t01")
_RECALLED = ("How should I format code?", "What food is Lotte allergic to?", "现在改喝什么茶了？")
_STRICT = 0.3  # cosine: what is less similar is not found directly
_STACK, _DEPLOYMENT = "What is our backend built with?", "s13t02"
_UNRELATED = "What is the boiling point of tungsten?"
_SECRET, _SECRET_QUESTION = "s11t05", "Who keeps the spare key?"
_TURN = timedelta(seconds=20)


def run(embedder: object = "auto") -> Report:
    """Replay into a bank of its own, in memory."""
    dialogue = load_dialogue()
    clock = ManualClock(_time(dialogue["sessions"][0]["at"]))
    with MemoryBank.open(
        ":memory:", namespace=NAMESPACE, embedder=embedder, policy=Policy(), clock=clock
    ) as bank:
        return replay(bank, clock, dialogue)


def replay(bank: MemoryBank, clock: ManualClock, dialogue: dict[str, Any]) -> Report:
    """Everything that is said and asked, in the order of time, and then a look at the bank."""
    gold = {each["question"]: tuple(each["gold"]) for each in dialogue["questions"]}
    said = _drafts(dialogue)
    along, traces = _live(bank, clock, said, gold)
    recalls = tuple(_ask(bank, clock, each, gold[each], k=3) for each in _RECALLED)
    graph = _ask(bank, clock, _STACK, gold[_STACK], k=8, min_similarity=_STRICT)
    active = {each.id for each in bank.list()}
    faded = tuple(each for each in bank.list(include_faded=True) if each.id not in active)
    restored = _restore_one(bank, clock, faded, gold)
    forgotten = _forget_one(bank, clock)
    everything = bank.at(NAMESPACE, "everything")
    everything.remember_many(replace(each, pinned=True) for session in said for each in session)
    count = sum(map(len, said))
    return Report(
        title=dialogue["title"],
        began=_time(dialogue["sessions"][0]["at"]),
        ended=clock(),
        embedder=bank.stats().embedder,
        has_vectors=bank.fingerprint.dimension > 0,
        along=along,
        recalls=recalls,
        graph=graph,
        wanted=_DEPLOYMENT,
        traces=traces,
        faded=faded,
        restored=restored,
        forgotten=forgotten,
        before=_numbers(everything, clock, gold, count),
        after=_numbers(bank, clock, gold, count),
    )


def _drafts(dialogue: dict[str, Any]) -> list[list[Draft]]:
    """The turns of each session, `_TURN` apart."""
    return [
        [
            Draft(
                id=turn["id"],
                text=turn["text"],
                speaker=turn["speaker"],
                category=turn.get("category", "fact"),
                source=session["source"],
                position=position,
                at=_time(session["at"]) + position * _TURN,
            )
            for position, turn in enumerate(session["turns"])
        ]
        for session in dialogue["sessions"]
    ]


def _live(
    bank: MemoryBank,
    clock: ManualClock,
    said: Sequence[Sequence[Draft]],
    gold: dict[str, tuple[str, ...]],
) -> tuple[tuple[Asked, ...], tuple[Trace, ...]]:
    """Let time pass: sessions, questions, and every noon the daily pass."""
    samples: dict[str, list[Sample]] = {each: [] for each in _TRACED}
    last_seen: dict[str, Memory] = {}
    along: list[Asked] = []

    def look() -> None:
        for id_ in _TRACED:
            memory, status = _look_up(bank, id_)
            if memory is not None:
                last_seen[id_] = memory
                samples[id_].append(Sample(clock(), bank.strength(memory), status))
            elif id_ in last_seen:
                samples[id_].append(Sample(clock(), None, status))

    for moment, session, question in _events(said):
        clock.set(moment)
        look()
        if session:
            bank.remember_many(session)
        elif question:
            along.append(_ask(bank, clock, question, gold[question], reinforce=True))
        else:
            bank.prune()
        look()
    return tuple(along), tuple(
        Trace(last_seen[id_], tuple(samples[id_]), tuple(_counted(along, id_))) for id_ in _TRACED
    )


def _look_up(bank: MemoryBank, id_: str) -> tuple[Memory | None, Status]:
    try:
        return bank.get(id_), "active"
    except NotFound:
        pass  # it may still be there, hidden
    try:
        return bank.get(id_, include_faded=True), "faded"
    except NotFound:
        return None, "gone"


def _events(
    said: Sequence[Sequence[Draft]],
) -> Iterator[tuple[datetime, Sequence[Draft], str]]:
    """(when, what was said, what was asked) in the order of time; neither is the daily pass."""
    talks = [(_said_at(session[-1]), session, "") for session in said]
    asked = [(_time(at), (), question) for at, question in _ALONG]
    first = talks[0][0].replace(hour=12, minute=0, second=0)
    days = (talks[-1][0] - first).days + 1
    passes = [(first + timedelta(days=day), (), "") for day in range(1, days)]
    return iter(sorted([*talks, *asked, *passes], key=lambda event: event[0]))


def _counted(along: Iterable[Asked], id_: str) -> Iterator[datetime]:
    for asked in along:
        if any(each.memory.id == id_ and each.reinforced for each in asked.found):
            yield asked.at


def _ask(
    bank: MemoryBank,
    clock: ManualClock,
    question: str,
    gold: tuple[str, ...],
    *,
    k: int = 5,
    reinforce: bool = False,
    min_similarity: float | None = None,
) -> Asked:
    found = bank.recall(question, k, reinforce=reinforce, min_similarity=min_similarity)
    return Asked(clock(), question, gold, tuple(found))


def _restore_one(
    bank: MemoryBank,
    clock: ManualClock,
    faded: Sequence[Memory],
    gold: dict[str, tuple[str, ...]],
) -> Restored | None:
    """The first faded memory that would answer a question best, and is missed now."""
    hidden = {each.id: each for each in faded}
    for question, answers in gold.items():
        best = bank.recall(question, 1, include_faded=True, reinforce=False)
        wanted = next((each.memory.id for each in best if each.memory.id in answers), "")
        before = _ask(bank, clock, question, answers)
        if wanted not in hidden or before.answered:
            continue
        why_not = bank.explain(question, wanted)
        bank.restore(wanted)
        return Restored(hidden[wanted], why_not, before, _ask(bank, clock, question, answers))
    return None


def _forget_one(bank: MemoryBank, clock: ManualClock) -> Forgotten:
    before = _ask(bank, clock, _SECRET_QUESTION, (_SECRET,))
    [memory] = bank.forget(_SECRET)
    why_not = bank.explain(_SECRET_QUESTION, _SECRET)
    erased = bank.erase(_SECRET).count
    left = any(each.id == _SECRET for each in bank.list(include_faded=True))
    return Forgotten(memory, before, why_not, erased, "something" if left else "nothing")


def _numbers(
    bank: MemoryBank, clock: ManualClock, gold: dict[str, tuple[str, ...]], remembered: int
) -> Numbers:
    stats = bank.stats()
    asked = [_ask(bank, clock, question, answers) for question, answers in gold.items() if answers]
    return Numbers(
        remembered=remembered,
        active=stats.active,
        faded=stats.faded,
        gone=remembered - stats.active - stats.faded,
        answered=sum(each.answered for each in asked),
        questions=len(asked),
        unrelated=len(bank.recall(_UNRELATED, reinforce=False)),
    )


def _said_at(draft: Draft) -> datetime:
    assert draft.at is not None
    return draft.at


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
