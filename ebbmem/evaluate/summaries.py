"""LoCoMo's summary protocol: is the answer somewhere in the five summaries that were found?

It is known from published comparisons and is **saturated**: five summaries drawn at random hold
more than a third of the answers, a perfect choice not two thirds. It measures how much text
comes back more than how well it was chosen, so it is shown between those two rows.

A summary of each session is one memory. A question counts if its answer is in words and not
meant to mislead; it is a hit if the answer stands in the text, or at least half of its words
of four characters or more do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ebbmem.evaluate.baselines import Baselines, orders
from ebbmem.evaluate.data import Dataset, History, Question
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.recall import OURS, OURS_ALONE, Ranked, looked_up, opened
from ebbmem.records import Draft

__all__ = ["SummaryRow", "is_hit", "measure_summaries"]

K = 5
_DRAWS = 20  # of five at random, for each question


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRow:
    """`values` (questions,): 1 where the answer was in the text, for chance the share of draws."""

    name: str
    values: NDArray[np.float64] = field(repr=False)


def measure_summaries(dataset: Dataset, encoder: CachedEncoder | None) -> list[SummaryRow]:
    """The rows of a data set, or none if it has no summaries."""
    rows: dict[str, list[float]] = {}
    with TemporaryDirectory(prefix="ebbmem-bench-") as folder:
        for history in dataset.histories:
            if not history.summaries:
                continue
            for name, values in _one(Path(folder), history, encoder).items():
                rows.setdefault(name, []).extend(values)
    return [SummaryRow(name, np.array(values)) for name, values in rows.items() if values]


def is_hit(answer: str, text: str) -> bool:
    """Whether a text holds an answer, or half of its longer words."""
    wanted, given = answer.lower(), text.lower()
    long = [word for word in wanted.split() if len(word) > 3]
    return wanted in given or (bool(long) and 2 * sum(word in given for word in long) >= len(long))


def _one(folder: Path, history: History, encoder: CachedEncoder | None) -> dict[str, list[float]]:
    """Which questions of one history each row answers."""
    dates = {item.source: item.at for item in reversed(history.items)}  # when a source began
    drafts = [
        Draft(text=each.text, id=each.source, at=dates.get(each.source))
        for each in history.summaries
    ]
    asked = [
        each
        for each in (*history.questions, *history.unsupported)
        if each.answer and each.type != "adversarial"
    ]
    text_of = {str(each.id): each.text for each in drafts}

    def hits(found: Ranked) -> list[float]:
        return [
            float(is_hit(question.answer, "\n".join(text_of[id] for id in ids)))
            for question, ids in zip(asked, found, strict=True)
        ]

    ids, longest = list(text_of), sorted(text_of, key=lambda each: -len(text_of[each]))
    draws = [hits(each) for each in _draws(ids, len(asked))]
    return {
        "chance": np.mean(draws, axis=0).tolist(),
        "the longest five": hits([longest[:K]] * len(asked)),
        **{name: hits(each) for name, each in _plain(drafts, asked, encoder).items()},
        **{name: hits(each) for name, each in _ours(folder, history, drafts, asked, encoder)},
        "oracle": hits([_evidence_first(ids, history, each) for each in asked]),
        "every summary": hits([ids] * len(asked)),
    }


def _draws(ids: Sequence[str], questions: int) -> Iterator[Ranked]:
    """Five summaries at random for each question, several times."""
    generator = np.random.default_rng(0)
    for _ in range(_DRAWS):
        orders = (generator.permutation(len(ids))[:K] for _ in range(questions))
        yield [[ids[at] for at in order] for order in orders]


def _plain(
    drafts: Sequence[Draft], asked: Sequence[Question], encoder: CachedEncoder | None
) -> dict[str, Ranked]:
    baselines = Baselines(drafts, encoder)
    found: dict[str, Ranked] = {}
    for question in asked:
        for name, order in orders(baselines.scores(question.text)).items():
            found.setdefault(name, []).append([str(drafts[at].id) for at in order[:K]])
    return found


def _ours(
    folder: Path,
    history: History,
    drafts: Sequence[Draft],
    asked: Sequence[Question],
    encoder: CachedEncoder | None,
) -> Iterator[tuple[str, Ranked]]:
    for name, used in ((OURS_ALONE, None), *(((OURS, encoder),) if encoder is not None else ())):
        with opened(folder / f"{name}.db", history, used) as (bank, _):
            bank.remember_many(drafts)
            yield name, [looked_up(bank, question.text, K) for question in asked]


def _evidence_first(ids: Sequence[str], history: History, question: Question) -> list[str]:
    """The best that can be found: the sources of the evidence, then the others in order."""
    evidence = {item.source for item in history.items if item.id in question.gold}
    return sorted(ids, key=lambda each: each not in evidence)[:K]
