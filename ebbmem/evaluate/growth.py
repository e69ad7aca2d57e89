"""A store with a cap beside one that never forgets, while chatter streams through them.

Facts are told within the first part of the stream. Half of them are asked about every three days,
as one does with what matters, and that counts as use; the other half is never mentioned again.
At certain sizes all are asked about without leaving a trace. Time passes: so many memories a day,
every day one of use, and the daily pass runs, so that what has faded is let go a week later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from ebbmem.bank import MemoryBank
from ebbmem.embedding import Encoder
from ebbmem.evaluate import metrics
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.small_talk import Fact, chatter, facts
from ebbmem.policy import Policy
from ebbmem.records import Draft
from ebbmem.testing import ManualClock

__all__ = ["CAP", "DAILY", "RESTORABLE", "SIZES", "Growth", "Line", "Point", "measure"]

SIZES = (1_000, 10_000, 100_000)
CAP = 10_000
DAILY = 2_000  # memories a day
RESTORABLE = timedelta(days=7)  # after fading; who sets a cap wants the place back
_FACTS = 200
_TOLD_WITHIN = 0.8  # of the smallest size
_ASKED_EVERY = timedelta(days=3)
_BATCH = 250  # memories in one call, if so many are said on a day
_SESSION = 25
_SPEAKERS = ("Mia", "Tom")
_K = 5


@dataclass(frozen=True, slots=True)
class Point:
    """One store at one size.

    Attributes:
        size: memories that went in so far.
        used, unused: recall@5 of the facts that are asked about, and of those that are not.
        active, stored: memories that recall can find, and that are there at all.
        megabytes: of the file.
        milliseconds: median CPU time of a question, without encoding it.
    """

    size: int
    used: float
    unused: float
    active: int
    stored: int
    megabytes: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Line:
    """One store at all sizes."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """The stores side by side; the last of `lines` never forgets."""

    cap: int
    daily: int
    facts: int
    lines: tuple[Line, ...]

    def lost(self, line: Line, at: int = -1) -> tuple[float, float]:
        """Points of recall@5 under the store that never forgets: facts in use, and not."""
        point, whole = line.points[at], self.lines[-1].points[at]
        return 100.0 * (whole.used - point.used), 100.0 * (whole.unused - point.unused)


def measure(
    encoder: Encoder | None,
    *,
    sizes: Sequence[int] = SIZES,
    cap: int = CAP,
    daily: int = DAILY,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Growth:
    """Stream until the largest size; `progress` is called with (done, total) memories."""
    ordered = sorted(set(sizes))
    told = facts(min(_FACTS, max(2, ordered[0] // 4)), seed=seed)
    cached = None if encoder is None else CachedEncoder(encoder)
    policies = {
        f"cap of {cap:,}": Policy.chat(max_memories=cap, purge_after=RESTORABLE),
        "decay alone": Policy.chat(purge_after=RESTORABLE),
        "never forgets": None,
    }
    with TemporaryDirectory(prefix="ebbmem-bench-") as folder, ExitStack() as opened:
        stores = [
            opened.enter_context(closing(_Store(Path(folder) / f"{at}.db", cached, policy, told)))
            for at, policy in enumerate(policies.values())
        ]
        points: list[list[Point]] = [[] for _ in stores]
        done, stream = 0, _stream(told, ordered[0], seed)
        for size in ordered:
            while done < size:
                batch = list(islice(stream, min(_BATCH, daily, size - done)))
                for each in stores:
                    each.remember(batch, timedelta(days=len(batch) / daily))
                if cached is not None:
                    cached.forget_documents()
                done += len(batch)
                progress(done, ordered[-1])
            for each, found in zip(stores, points, strict=True):
                found.append(each.point(size))
    lines = tuple(Line(name, tuple(each)) for name, each in zip(policies, points, strict=True))
    return Growth(cap, daily, len(told), lines)


class _Store:
    """A bank with its clock, asked about facts of which every other is in use."""

    def __init__(
        self,
        path: Path,
        encoder: CachedEncoder | None,
        policy: Policy | None,  # None never forgets
        told: Sequence[Fact],
    ) -> None:
        self._path = path
        self._encoder = encoder
        self._told = told
        self._forgets = policy is not None
        self._clock = ManualClock()
        self._asked_at = self._clock()
        self._bank = MemoryBank.open(
            path,
            namespace="growth",
            embedder=encoder,
            policy=policy or Policy.chat(),
            clock=self._clock,
            maintain=self._forgets,
        )
        self._id_of: dict[str, str] = {}
        self._wanted = {each.text for each in told}

    def remember(self, batch: Sequence[Draft], takes: timedelta) -> None:
        """Hear some more; every three days facts in use are asked about."""
        for draft, kept in zip(batch, self._bank.remember_many(batch), strict=True):
            if draft.text in self._wanted:
                self._id_of[draft.text] = kept.id
        if self._clock.advance(takes) - self._asked_at >= _ASKED_EVERY:
            self._asked_at = self._clock()
            for fact in self._told[::2]:
                self._bank.recall(fact.question, _K, include_faded=not self._forgets)

    def point(self, size: int) -> Point:
        """How it stands now."""
        answers = [self._ask(fact) for fact in self._told]
        found = [metrics.any_at(ranked, gold, _K) for ranked, gold, _ in answers]
        if self._forgets:
            self._bank.prune()
        active, stored = (len(self._bank.list(include_faded=each)) for each in (False, True))
        return Point(
            size,
            float(np.mean(found[::2])),
            float(np.mean(found[1::2])),
            active if self._forgets else stored,
            stored,
            _megabytes(self._path),
            1e3 * float(np.median([seconds for *_, seconds in answers])),
        )

    def _ask(self, fact: Fact) -> tuple[list[str], set[str], float]:
        """(what comes to mind, what should, CPU seconds)."""
        if self._encoder is not None:
            self._encoder.encode_query(fact.question)
        began = time.thread_time()
        found = self._bank.recall(
            fact.question, _K, include_faded=not self._forgets, reinforce=False
        )
        seconds = time.thread_time() - began
        return [each.memory.id for each in found], {self._id_of[fact.text]}, seconds

    def close(self) -> None:
        self._bank.close()


def _stream(told: Sequence[Fact], first: int, seed: int) -> Iterator[Draft]:
    """Two people talking in sessions; facts lie scattered in the beginning."""
    places = set(Random(seed).sample(range(int(first * _TOLD_WITHIN)), len(told)))
    remaining = iter(told)
    for number, text in enumerate(chatter(seed=seed)):
        session, turn = divmod(number, _SESSION)
        yield Draft(
            text=next(remaining).text if number in places else text,
            source=f"session {session + 1}",
            position=turn,
            speaker=_SPEAKERS[turn % 2],
        )


def _megabytes(path: Path) -> float:
    """Of a database with its write-ahead log."""
    files = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
    return sum(each.stat().st_size for each in files) / 1e6
