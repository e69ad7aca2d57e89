"""Lines of an export that are no memories: links, probes and their runs, the audit trail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ebbmem.checks import check_fraction, check_ids, check_label, check_text
from ebbmem.clock import from_micros
from ebbmem.errors import InvalidInput
from ebbmem.store import AuditLine, ProbeLine, RunLine

__all__ = ["Beside", "plain_lines"]

_PROBE = ("question", "expected", "kind", "added_at")
_READ_PAST = {  # of another store's past: shown, never taken in
    "probe_run": ("at", "k", "asked", "found", "hidden", "active", "faded", "mean_strength"),
    "audit": ("number", "at", "action", "id", "hash"),
}
_KINDS = ("link", "probe", *_READ_PAST)


def plain_lines(
    probes: Sequence[ProbeLine], runs: Sequence[RunLine], audit: Sequence[AuditLine]
) -> Iterator[dict[str, object]]:
    """What a namespace keeps beside memories and links, as JSON knows it."""
    for probe in probes:
        added = _time(probe.added_at)
        yield _named("probe", _PROBE, probe.question, list(probe.expected), probe.kind, added)
    for run in runs:
        names = _READ_PAST["probe_run"]
        yield _named("probe_run", names, _time(run.at), *(getattr(run, n) for n in names[1:]))
    for line in audit:
        done = line.number, _time(line.at), line.action, line.id, line.hash.hex()
        yield _named("audit", _READ_PAST["audit"], *done)


def _named(kind: str, names: Sequence[str], *values: object) -> dict[str, object]:
    return {kind: dict(zip(names, values, strict=True))}


def _time(at: int) -> str:
    return from_micros(at).isoformat()


@dataclass(slots=True)
class Beside:
    """What the lines of a file say beside its memories, each with its line for complaints.

    Attributes:
        links: (id, id, weight) by line.
        probes: (question, expected ids, line) by line, of those that a user gave: what was
            sampled comes back by use.
    """

    links: dict[int, tuple[str, str, float]] = field(default_factory=dict)
    probes: dict[int, tuple[str, tuple[str, ...], int]] = field(default_factory=dict)

    def take(self, line: int, value: object) -> bool:
        """Whether the line is one of ours; raises `InvalidInput` for one that is malformed."""
        if not isinstance(value, dict) or len(value) != 1:
            return False
        [(kind, content)] = value.items()
        if kind not in _KINDS:
            return False
        if kind == "link":
            self.links[line] = _link(content)
        elif kind == "probe":
            _require(kind, content, _PROBE)
            if content["kind"] == "given":
                ids = tuple(check_ids(content["expected"], "expected"))
                self.probes[line] = check_text("question", content["question"]), ids, line
        else:
            _require(kind, content, _READ_PAST[kind])
        return True

    def named(self) -> Iterator[tuple[int, str, Sequence[str]]]:
        """(line, kind, ids that must be those of memories of the file)."""
        for line, (a, b, _) in self.links.items():
            yield line, "link", (a, b)
        for line, (_, ids, _) in self.probes.items():
            yield line, "probe", ids


def _require(kind: str, content: Any, names: Sequence[str]) -> None:
    if not isinstance(content, dict) or set(content) != set(names):
        raise InvalidInput(kind, f"must be an object of {', '.join(names)}")


def _link(value: object) -> tuple[str, str, float]:
    if not isinstance(value, list) or len(value) != 3:
        raise InvalidInput("link", "must be two ids and a weight")
    a, b = check_label("link", value[0]), check_label("link", value[1])
    weight = check_fraction("link weight", value[2])
    if a == b or weight == 0.0:
        raise InvalidInput("link", "must join two memories with a weight over 0")
    return a, b, weight
