"""Fit the weights of importance from content, and write them where `ebbmem.salience` reads them.

A logistic regression of "a question is answered by this item" on the terms of `ebbmem.salience`,
with an intercept for each history: how much is asked of a store is no matter of its texts. Held
out means that neither the history nor its translation was seen.

    python scripts/fit_salience.py locomo7.json sets/*.json --out ebbmem/salience_weights.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebbmem import intake, salience
from ebbmem.arena import Arena
from ebbmem.cues import traits
from ebbmem.evaluate.data import Dataset, History, read
from ebbmem.policy import Policy
from ebbmem.store import SQLiteStore

RIDGE = 1e-3  # on weights of terms in units of their deviation
LOOSE = 1e-5  # on intercepts
SMALL_SETS = 2.0  # an item of a small set counts as so many of the largest
STEPS = 60
DROPPED = (0.2, 0.4, 0.6)
NOTHING = traits(""), salience.Heard(length=0, stated=0, new=0, rarity=0.0)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One history: terms (n, t) of its items, and which of them answer a question (n,)."""

    family: str
    dataset: str
    history: History
    terms: Floats
    asked: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights (t,) of the terms as they are, and the bias that makes an average text even."""

    weights: Floats
    bias: float

    def scores(self, terms: Floats) -> Floats:
        """(n,) evidence."""
        return terms @ self.weights + self.bias


def samples(dataset: Dataset) -> Iterator[Sample]:
    """Every history as the bank would hear it, one item after the other."""
    for history in dataset.histories:
        store = SQLiteStore(":memory:")
        weigh = intake.Weigher(Arena(store, ("fit",)), Policy())
        cut = intake.spans(history.items)
        rows = [
            list(salience.terms(*weigh.read(item, parts)).values())
            for item, parts in zip(history.items, cut, strict=True)
        ]
        store.close()
        gold = {each for question in history.questions for each in question.gold}
        asked = np.array([item.id in gold for item in history.items], np.float64)
        family = f"{dataset.name.split('_')[0]} {history.name}"  # of a history and its translation
        yield Sample(family, dataset.name, history, np.array(rows, np.float64), asked)


def fitted(given: Sequence[Sample]) -> Fit:
    """Newton's method on the penalised likelihood."""
    largest = max(len(each.asked) for each in given)
    terms = np.concatenate([each.terms for each in given])
    asked = np.concatenate([each.asked for each in given])
    share = np.concatenate(
        [np.full(len(e.asked), 1.0 if len(e.asked) * 2 > largest else SMALL_SETS) for e in given]
    )
    share /= share.sum()
    mean = share @ terms
    spread = np.sqrt(share @ (terms - mean) ** 2) + 1e-9
    member = np.repeat(np.eye(len(given)), [len(each.asked) for each in given], axis=0)
    design = np.hstack([(terms - mean) / spread, member])
    ridge = np.r_[np.full(terms.shape[1], RIDGE), np.full(len(given), LOOSE)]
    beta = np.zeros(design.shape[1])
    for _ in range(STEPS):
        expected = 1.0 / (1.0 + np.exp(-design @ beta))
        slope = design.T @ (share * (expected - asked)) + ridge * beta
        curvature = (design.T * (share * expected * (1.0 - expected))) @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    weights = beta[: terms.shape[1]] / spread
    return Fit(weights, -float(mean @ weights))


def auc(scores: Floats, asked: Floats) -> float:
    """Chance that an item that is asked for scores over one that is not; ties count half."""
    over = scores[asked == 1][:, None] - scores[asked == 0][None, :]
    return float(((over > 0) + 0.5 * (over == 0)).mean())


def kept(sample: Sample, scores: Floats, dropped: float) -> list[bool]:
    """Which questions can still be answered when the weakest are gone."""
    order = np.argsort(scores, kind="stable")
    gone = {sample.history.items[at].id for at in order[: round(len(order) * dropped)]}
    return [not gone.issuperset(each.gold) for each in sample.history.questions]


def report(given: Sequence[Sample], found: Sequence[Floats], label: str) -> Iterator[str]:
    """A line for each data set: AUC, and the share of questions that can still be answered."""
    for name in dict.fromkeys(each.dataset for each in given):
        mine = [pair for pair in zip(given, found, strict=True) if pair[0].dataset == name]
        areas = [auc(scores, each.asked) for each, scores in mine if 0 < each.asked.mean() < 1]
        shares = [
            np.mean([one for each, scores in mine for one in kept(each, scores, dropped)])
            for dropped in DROPPED
        ]
        shown = " / ".join(f"{100 * share:.1f}" for share in shares)
        yield f"{name:18} {label:10} AUC {np.mean(areas):.3f}   kept {shown}"


def module(fit: Fit, given: Sequence[Sample], lines: Sequence[str]) -> str:
    """The source of the module of weights."""
    names = list(salience.terms(*NOTHING))
    weights = "\n".join(
        f'    "{name}": {weight:.3f},' for name, weight in zip(names, fit.weights, strict=True)
    )
    seen = ", ".join(dict.fromkeys(each.dataset for each in given))
    indented = "\n".join(f"    {line}" for line in lines)
    names_seen = "\n".join(f'        "{name}",' for name in dict.fromkeys(e.dataset for e in given))
    items = sum(len(each.asked) for each in given)
    evidence = int(sum(each.asked.sum() for each in given))
    return f'''"""Weights of importance, written by `scripts/fit_salience.py`; do not edit.

Seen: {seen};
{len(given)} histories, {items} items, {evidence} of them evidence.
AUC of "is evidence", and percent of questions that keep evidence when 20 / 40 / 60 % are dropped,
in sample and with the history and its translation held out:

{indented}
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BIAS", "SEEN", "WEIGHTS"]

_FITTED = {{
{weights}
}}
SEEN = frozenset(
    (
{names_seen}
    )
)
WEIGHTS: Mapping[str, float] = MappingProxyType(_FITTED)
BIAS = {fit.bias:.3f}  # an average text has a salience of one half
'''


def main() -> None:
    """Fit, print what it is worth, and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="+", type=Path, help="LoCoMo files or sets of histories")
    parser.add_argument("--out", type=Path, help="write the module of weights here")
    options = parser.parse_args()
    given = [sample for path in options.data for sample in samples(read(path))]
    fit = fitted(given)
    held_out = [
        fitted([other for other in given if other.family != each.family]).scores(each.terms)
        for each in given
    ]
    lines = list(report(given, [fit.scores(each.terms) for each in given], "in sample"))
    lines += report(given, held_out, "held out")
    print("\n".join(lines))
    for name, weight in zip(salience.terms(*NOTHING), fit.weights, strict=True):
        print(f"{name:14} {weight:+.3f}")
    if options.out is not None:
        options.out.write_text(module(fit, given, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
