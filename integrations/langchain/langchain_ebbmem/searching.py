"""What a search for documents may be told, when it is set up and at the call, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank, Recollection
from ebbmem.around import check_around
from ebbmem.checks import check_cosine, check_count, check_flag, check_fraction
from ebbmem.conditions import condition
from langchain_ebbmem.documents import document_of, hit_of, plain

__all__ = ["CHECKS", "Filter", "Search", "checked_filter", "differing", "require_known"]

Filter: TypeAlias = Mapping[str, Any] | Callable[[Document], bool]
"""Conditions on metadata as `ebbmem.conditions` has them, or a function, which reads every one."""

Query: TypeAlias = str | Sequence[float]


def checked_filter(value: object) -> Any:
    """`value` if it can choose among documents."""
    if isinstance(value, Mapping):
        condition(plain(value))
    elif value is not None and not callable(value):
        raise InvalidInput("filter", f"must be a dict or a function, not {type(value).__name__}")
    return value


CHECKS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "k": lambda value: check_count("k", value, least=1),
        "filter": checked_filter,
        "score_threshold": lambda value: (
            None if value is None else check_fraction("score_threshold", value)
        ),
        "reinforce": lambda value: check_flag("reinforce", value),
        "include_scores": lambda value: check_flag("include_scores", value),
        "min_similarity": lambda value: (
            None if value is None else check_cosine("min_similarity", value)
        ),
        "around": check_around,
        "harmless": lambda value: check_flag("harmless", value),
    }
)
"""What each option of a search must be: value -> the value to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How documents are looked for.

    Attributes:
        k: at most so many.
        filter: only these, before the first k are taken.
        score_threshold: a score of at least this, in [0, 1]; what is cut off does not count as
            used.
        reinforce: let what was found near the best count as used.
        include_scores: `score` and `strength` in the metadata of what is found.
        min_similarity: see `MemoryBank.recall`; -1 fills `k` places if it can.
        around: see `MemoryBank.recall`; the texts are `around` in the metadata of what is found,
            where any were asked for.
        harmless: texts for a prompt, as `ebbmem.harmless.as_lines` has them.
    """

    k: int = 4
    filter: Filter | None = None
    score_threshold: float | None = None
    reinforce: bool = True
    include_scores: bool = False
    min_similarity: float | None = None
    around: int | None = 0
    harmless: bool = False

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(getattr(self, name)))

    def told(self, given: Mapping[str, Any]) -> Self:
        """The same search with what a call says otherwise.

        Raises:
            InvalidInput: there is no such option; the message names those there are.
        """
        require_known(given, [each.name for each in fields(self)])
        return replace(self, **given)

    def run(self, bank: MemoryBank, query: Query) -> list[Recollection]:
        """What comes to mind, best first; nothing does when nothing is asked."""
        if _blank(query):
            return []
        return bank.recall(query, self.k, **self._asking())

    async def arun(self, bank: MemoryBank, query: Query) -> list[Recollection]:
        """See `run`; the embedder is awaited."""
        if _blank(query):
            return []
        return await AsyncMemoryBank(bank).recall(query, self.k, **self._asking())

    def documents(self, hits: Sequence[Recollection]) -> list[Document]:
        """What was found as it is handed over: copies."""
        return [
            hit_of(
                each,
                include_scores=self.include_scores,
                around=self.around != 0,
                harmless=self.harmless,
            )
            for each in hits
        ]

    def _asking(self) -> dict[str, Any]:
        return {
            "where": _where(self.filter),
            "reinforce": self.reinforce,
            "min_similarity": self.min_similarity,
            "min_score": self.score_threshold or 0.0,
            "around": self.around,
        }


def _blank(query: Query) -> bool:
    return isinstance(query, str) and not query.strip()


def _where(filter: Filter | None) -> Any:
    """The filter as a bank takes it."""
    if filter is None or isinstance(filter, Mapping):
        return None if filter is None else plain(filter)
    return lambda memory: filter(document_of(memory))


def require_known(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse options that do not exist: one that is misspelt would change nothing in silence."""
    if unknown := sorted(set(given) - set(known)):
        raise InvalidInput("search", f"has no {', '.join(unknown)}; known are {', '.join(known)}")


def differing(
    hits: Sequence[Recollection],
    vectors: Mapping[str, NDArray[np.float32]],
    k: int,
    lambda_mult: float,
) -> list[Recollection]:
    """At most `k` of the hits by maximal marginal relevance (Carbonell and Goldstein 1998).

    As `langchain_core` computes it, but from the similarities that recall has found already:
    the query is not embedded a second time, and a bank of any embedder will do.

    Args:
        vectors: unit vectors (d,) by id; a hit without one is like nothing.
    """
    weight = check_fraction("lambda_mult", lambda_mult)
    if not hits:
        return []
    wanted = np.array(
        [each.relevance if each.similarity is None else each.similarity for each in hits]
    )
    nothing = np.zeros(next((len(each) for each in vectors.values()), 1))
    unit = np.array([vectors.get(each.memory.id, nothing) for each in hits], np.float64)
    chosen = [int(wanted.argmax())]
    while len(chosen) < min(k, len(hits)):
        alike = (unit @ unit[chosen].T).max(axis=1)
        worth = weight * wanted - (1.0 - weight) * alike
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return [hits[at] for at in chosen]
