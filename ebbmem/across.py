"""One question to several namespaces: answers merged, and use counted where it happened."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ebbmem.around import check_around
from ebbmem.bank import MemoryBank
from ebbmem.budget import most_places, over_share, source_of
from ebbmem.checks import check_count, check_text, check_vector
from ebbmem.errors import NotFound
from ebbmem.reading import Where
from ebbmem.records import Namespace, Recollection
from ebbmem.relevance import mixed

if TYPE_CHECKING:
    from ebbmem.aio import AsyncMemoryBank

__all__ = ["arecall_across", "recall_across"]

Answer = list[tuple[Namespace, Recollection]]


def recall_across(
    banks: Sequence[MemoryBank],
    query: str | Sequence[float],
    k: int = 5,
    *,
    category: str | Collection[str] | None = None,
    where: Where | None = None,
    include_faded: bool = False,
    reinforce: bool = True,
    min_similarity: float | None = None,
    around: int | None = 0,
) -> Answer:
    """What comes to mind in several banks, best first, at most `k`; see `MemoryBank.recall`.

    A score is relative to the best of its namespace, so each namespace's are weighed by what
    its best is worth beside the best of all. Equals keep the order of the banks. One source of
    what tools read fills its share of the whole answer (`Policy.source_share`, the least of
    them). Only what is in the answer counts as used, in its own bank. What is among the best k
    of its namespace but not of all stands beside no hit either.

    Raises:
        InvalidInput: what `recall` refuses.
    """
    _check(query, k, around)
    alone = reinforce and len(banks) == 1  # then recall counts by itself
    answers = [
        bank.recall(
            query,
            k,
            category=category,
            where=where,
            include_faded=include_faded,
            reinforce=alone,
            min_similarity=min_similarity,
            around=around,
        )
        for bank in banks
    ]
    return _finished(banks, answers, k, reinforce=reinforce and not alone)


async def arecall_across(
    banks: Sequence[AsyncMemoryBank],
    query: str | Sequence[float],
    k: int = 5,
    *,
    category: str | Collection[str] | None = None,
    where: Where | None = None,
    include_faded: bool = False,
    reinforce: bool = True,
    min_similarity: float | None = None,
    around: int | None = 0,
) -> Answer:
    """See `recall_across`."""
    _check(query, k, around)
    alone = reinforce and len(banks) == 1
    answers = [
        await bank.recall(  # one after the other: the first encodes the query for all
            query,
            k,
            category=category,
            where=where,
            include_faded=include_faded,
            reinforce=alone,
            min_similarity=min_similarity,
            around=around,
        )
        for bank in banks
    ]
    inner = [bank.bank for bank in banks]
    return await asyncio.to_thread(_finished, inner, answers, k, reinforce=reinforce and not alone)


def _check(query: str | Sequence[float], k: int, around: int | None) -> None:
    """Refuse what `recall` would, though there may be no bank to refuse it."""
    check_count("k", k, least=1)
    check_around(around)
    if isinstance(query, str):
        check_text("query", query)
    else:
        check_vector(query)


def _finished(
    banks: Sequence[MemoryBank],
    answers: Sequence[Sequence[Recollection]],
    k: int,
    *,
    reinforce: bool,
) -> Answer:
    found = [
        (bank, hit)
        for bank, answer in zip(banks, _comparable(answers), strict=True)
        for hit in answer
    ]
    best = sorted(found, key=lambda each: -each[1].score)
    chosen = _within_budget(best, k)[:k]
    counted = _counted(chosen) if reinforce else set()
    return [
        (
            bank.namespace,
            replace(hit, reinforced=True) if (id(bank), hit.memory.id) in counted else hit,
        )
        for bank, hit in chosen
    ]


def _within_budget(
    best: Sequence[tuple[MemoryBank, Recollection]], k: int
) -> list[tuple[MemoryBank, Recollection]]:
    """No source fills more than its share of the whole answer, whatever banks it is in."""
    share = min((bank.policy.source_share for bank, _ in best), default=1.0)
    over = over_share((source_of(hit.memory) for _, hit in best), most_places(k, share))
    return [each for each, left_out in zip(best, over, strict=True) if not left_out]


def _comparable(answers: Sequence[Sequence[Recollection]]) -> list[list[Recollection]]:
    """Scores and relevance of each answer as a share of what the best answer is worth."""
    worth = [max(map(_worth, answer), default=0.0) for answer in answers]
    best = max(worth, default=0.0)
    shares = [each / best if best > 0.0 else 1.0 for each in worth]
    return [
        [replace(hit, score=hit.score * share, relevance=hit.relevance * share) for hit in answer]
        for answer, share in zip(answers, shares, strict=True)
    ]


def _worth(hit: Recollection) -> float:
    """The signals of a hit before they were scaled within its namespace, in [0, 1]."""
    signals = {
        "interaction": hit.interaction,
        "keyword": hit.keyword,
        "similarity": hit.similarity,
    }
    known = {
        name: np.array([max(value, 0.0)]) for name, value in signals.items() if value is not None
    }
    return float(mixed(known)[0])


def _counted(chosen: Sequence[tuple[MemoryBank, Recollection]]) -> set[tuple[int, str]]:
    """Reinforce what was found directly and near the best of the whole answer."""
    direct = [(bank, hit) for bank, hit in chosen if hit.related and not hit.via]
    best = max((hit.relevance for _, hit in direct), default=0.0)
    used: dict[int, tuple[MemoryBank, list[str]]] = {}
    for bank, hit in direct:
        if 0.0 < hit.relevance >= bank.policy.reinforce_ratio * best:
            used.setdefault(id(bank), (bank, []))[1].append(hit.memory.id)
    return {(number, each) for number, (bank, ids) in used.items() for each in _use(bank, ids)}


def _use(bank: MemoryBank, ids: list[str]) -> list[str]:
    """The ids for which a use counted; what was erased meanwhile is passed over."""
    while True:
        try:
            return [each.id for each in bank.reinforce(ids)]
        except NotFound as gone:
            ids = [id_ for id_ in ids if id_ not in gone.ids]
