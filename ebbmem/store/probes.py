"""What a store keeps of the questions that watch over recall, and of how they went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ebbmem.records import Namespace

__all__ = ["ProbeLine", "ProbeStore", "RunLine"]


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """A question with the ids it expects, sorted."""

    number: int
    question: str
    kind: Literal["given", "sampled"]
    added_at: int
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run over all probes; `found` and `hidden` are sums of shares."""

    at: int
    k: int
    asked: int
    found: float
    hidden: float
    active: int
    faded: int
    mean_strength: float | None


class ProbeStore(Protocol):
    """The part of `MemoryStore` that holds probes. One goes with the last memory it expects."""

    def put_probe(self, ns: Namespace, question: str, ids: Sequence[str], *, now: int) -> int:
        """Keep a question that a user gives; returns its number.

        The same question again is the same probe, with these ids.

        Raises:
            NotFound: an id that does not exist; nothing was written.
        """
        ...

    def sample_probe(
        self, ns: Namespace, question: str, ids: Sequence[str], *, most: int, now: int
    ) -> None:
        """Keep a question with those of `ids` that are active, and the last `most` sampled."""
        ...

    def trim_probes(self, ns: Namespace, most: int) -> None:
        """Let the oldest sampled questions go until there are `most`."""
        ...

    def probes(self, ns: Namespace) -> list[ProbeLine]:
        """By number."""
        ...

    def drop_probe(self, ns: Namespace, number: int) -> bool:
        """Remove one for good; False if there is none."""
        ...

    def put_run(self, ns: Namespace, run: RunLine) -> None: ...

    def runs(self, ns: Namespace) -> list[RunLine]:
        """Oldest first."""
        ...

    def clear_probes(self, ns: Namespace) -> None:
        """Remove every probe and every run of a namespace for good."""
        ...
