"""What watches over a bank: questions with known answers, their history, advice, a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from ebbmem import census, reading
from ebbmem.advice import advise
from ebbmem.checks import check_ids, check_whole
from ebbmem.clock import from_micros
from ebbmem.errors import InvalidInput
from ebbmem.finding import Ranking
from ebbmem.moving import Mover
from ebbmem.report import Curve, Report, page
from ebbmem.results import Advices, Probe, ProbeAnswer, ProbeRun, ProbeRuns, Probes
from ebbmem.snapshot import Snapshot
from ebbmem.store import ProbeLine, RunLine

__all__ = ["Prober", "answered"]

_HORIZONS = (14.0, 30.0, 60.0, 90.0, 180.0, 365.0)  # days that the curves of a report may show
_POINTS = 61  # of a curve
_AHEAD, _SOONEST = 90.0, 20  # days that a report looks ahead, memories it lists as fading


class Prober(Mover):
    """The part of `MemoryBank` that watches over it."""

    def add_probe(self, question: str, expected_ids: str | Iterable[str]) -> Probe:
        """Keep a question and the memories that ought to come to mind for it.

        The same question again is the same probe with these memories. It goes with the last
        of them that is erased, as it may quote it.

        Raises:
            InvalidInput, NotFound: nothing was written.
        """
        asked = self._asked_for("question", question)
        ids = check_ids(expected_ids, "expected_ids")
        if not ids:
            raise InvalidInput("expected_ids", "names no memory, and a probe must expect one")
        now = self._now()
        number = self._store.put_probe(self.namespace, asked, ids, now=now)
        return _probe(ProbeLine(number, asked, "given", now, tuple(sorted(ids))))

    def probes(self) -> Probes:
        """Those that were given, and those the bank sampled, by number."""
        return [_probe(line) for line in self._store.probes(self.namespace)]

    def remove_probe(self, number: int) -> None:
        """Take a probe out for good; its runs stay in the history."""
        if not self._store.drop_probe(self.namespace, check_whole("number", number)):
            raise InvalidInput("number", f"is {number}, and there is no such probe")
        self._store.sweep()

    def probe_history(self) -> ProbeRuns:
        """What `probe` measured so far, oldest first."""
        return [_run(line) for line in self._store.runs(self.namespace)]

    def advice(self) -> Advices:
        """What the distribution and the history say about the policy; see `ebbmem.advice`."""
        return advise(self.stats(), self.probe_history())

    def report(self) -> str:
        """The state of this namespace as one HTML page that needs nothing else.

        It quotes memories: keep it as private as the file.
        """
        now, snapshot = self._now(), self._arena().snapshot()
        stats, history = self.stats(), self.probe_history()
        due = reading.due_within(snapshot, now, self.policy, _AHEAD)
        gone = snapshot.superseded_ids()
        soonest = list(islice((each for each in due if each[0] not in gone), _SOONEST))
        made = Report(
            made_at=from_micros(now),
            stats=stats,
            fade_below=self.policy.fade_below,
            curves=self._curves(snapshot, now),
            fading=tuple(self._forecasts(soonest)),
            probes=len(self.probes()),
            history=tuple(history),
            advice=tuple(advise(stats, history)),
        )
        return page(made)

    # -- inside ------------------------------------------------------------------------------

    def _curves(self, snapshot: Snapshot, now: int) -> tuple[Curve, ...]:
        """The strongest, the median and the weakest, until they have faded or for a year."""
        named = census.typical(snapshot, now, self.policy)
        ids = {name: snapshot.ids[row] for name, row in named.items()}
        found = {each.id: each for each in self._store.get(self.namespace, list(ids.values()))}
        ends = census.outlook(snapshot, list(named.values()), np.array(_HORIZONS), now, self.policy)
        over = [not np.any(column >= self.policy.fade_below) for column in ends.T]
        horizon = _HORIZONS[over.index(True)] if True in over else _HORIZONS[-1]
        days = np.linspace(0.0, horizon, _POINTS)
        values = census.outlook(snapshot, list(named.values()), days, now, self.policy)
        return tuple(
            Curve(name, found[ids[name]], tuple(days.tolist()), tuple(row.tolist()))
            for name, row in zip(named, values, strict=True)
            if ids[name] in found
        )

    def _keep_run(self, answers: Sequence[ProbeAnswer], k: int, now: int) -> ProbeRun:
        """Append to the history how the probes went, and how large the store is."""
        stats = self.stats()
        line = RunLine(
            at=now,
            k=k,
            asked=len(answers),
            found=sum(_share(each.found, each) for each in answers),
            hidden=sum(_share(each.hidden, each) for each in answers),
            active=stats.active,
            faded=stats.faded,
            mean_strength=stats.mean_strength,
        )
        self._store.put_run(self.namespace, line)
        return _run(line, tuple(answers))


def answered(probe: Probe, ranking: Ranking, k: int) -> ProbeAnswer:
    """Which of the expected memories are among the first k, could not be, or were missed."""
    snapshot, shown = ranking.snapshot, ranking.eligible
    first = {snapshot.ids[row] for row, _ in ranking.order[:k]}
    rows = {id_: snapshot.row_of.get(id_) for id_ in probe.expected}
    hidden = {id_ for id_, row in rows.items() if row is not None and not shown[row]}
    return ProbeAnswer(
        number=probe.number,
        found=tuple(id_ for id_ in probe.expected if id_ in first),
        hidden=tuple(id_ for id_ in probe.expected if id_ in hidden),
        missed=tuple(id_ for id_ in probe.expected if id_ not in first | hidden),
    )


def _share(some: Sequence[str], answer: ProbeAnswer) -> float:
    return len(some) / len((*answer.found, *answer.hidden, *answer.missed))


def _probe(line: ProbeLine) -> Probe:
    return Probe(
        number=line.number,
        question=line.question,
        expected=line.expected,
        kind=line.kind,
        added_at=from_micros(line.added_at),
    )


def _run(line: RunLine, answers: tuple[ProbeAnswer, ...] = ()) -> ProbeRun:
    return ProbeRun(
        at=from_micros(line.at),
        k=line.k,
        asked=line.asked,
        found=line.found,
        hidden=line.hidden,
        active=line.active,
        faded=line.faded,
        mean_strength=line.mean_strength,
        answers=answers,
    )
