"""Fit the weights of the ranking, and write them where `ebbmem.ranking` reads them.

A conditional logit (D. McFadden, 1974): of the memories that a question finds, the one that
answers it is taken with a probability in proportion to relevance ** sharpness * exp(sum w f).
Weights are not negative, one optimum, no random seed; every question counts the same. Held out
means that neither the history nor its translation, nor any of the same fold, was seen.

    python scripts/fit_ranking.py locomo7.json sets/*.json --out ebbmem/ranking_weights.py

Texts that the local embedder does not cover are read with the multilingual one, which must be
installed too.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebbmem import MemoryBank, Policy
from ebbmem.clock import day_of, to_micros
from ebbmem.embedding import resolve
from ebbmem.embedding.base import Encoder, Encoding, Fingerprint
from ebbmem.evaluate.data import Dataset, History, fill, read
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.metrics import any_at, recall_at, reciprocal_rank
from ebbmem.finding import Question
from ebbmem.ranking import WEIGHTS, Weights
from ebbmem.search import search

FOLDS = 7
RIDGE = 5e-4
LEAST = 1e-3  # relevance: its logarithm is taken
NAMES = tuple(each.name for each in fields(Weights) if each.name != "strength")
ONES = Weights(**dict.fromkeys(NAMES, 1.0), strength=0.0)
MODES = ("interaction", "similarity", "keyword")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One question: what was found, best first by nothing, and what answers it.

    `relevance` (m,), `values` (m, features), `gold` (m,) 1 where it answers.
    """

    dataset: str
    fold: int
    kind: str
    ids: tuple[str, ...]
    answers: frozenset[str]
    relevance: Floats
    values: Floats
    gold: Floats


class Plain(CachedEncoder):
    """The same vectors without those of the pieces, as a foreign embedder gives them."""

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        return [Encoding(each.vector) for each in super().encode_documents(texts)]

    def encode_query(self, text: str) -> Encoding:
        return Encoding(super().encode_query(text).vector)

    @property
    def fingerprint(self) -> Fingerprint:
        return replace(super().fingerprint, token_dimension=0)


def encoder_for(history: History, encoders: dict[str, Encoder], mode: str) -> Encoder | None:
    """The one that reads the language of a history, as far as a mode lets it."""
    if mode == "keyword":
        return None
    covered = encoders["local"].covers(" ".join(each.text for each in history.items))
    if not covered:
        return encoders["multilingual"]
    return encoders["plain" if mode == "similarity" else "local"]


def samples(
    dataset: Dataset, encoders: dict[str, Encoder], mode: str, folder: Path
) -> Iterator[Sample]:
    """What search finds for each question, with every feature at weight 1."""
    for number, history in enumerate(dataset.histories):
        encoder = encoder_for(history, encoders, mode)
        path = folder / f"{dataset.name}-{number}-{mode}.db"
        with MemoryBank.open(path, namespace="x", embedder=encoder, policy=Policy.chat()) as bank:
            kept = fill(bank, history)
            arena, last = (
                bank._arena(),
                max((each.at for each in history.items if each.at), default=None),
            )
            for asked in history.questions:
                asked_at = asked.asked_at or last
                now = bank._now() if asked_at is None else to_micros(asked_at)
                encoding = None if encoder is None else encoder.encode_query(asked.text)
                covers = encoder is not None and encoder.covers(asked.text)
                found = search(
                    arena,
                    Question.of(asked.text, encoding if covers else None, today=day_of(now)),
                    now=now,
                    policy=replace(bank.policy, current_first=False, strength_weight=0.0),
                    k=50,
                    min_similarity=None,
                    unrelated=None if encoder is None else encoder.fingerprint.min_similarity,
                    include_faded=True,
                    weights=ONES,
                )
                answers = frozenset(kept[each] for each in asked.gold)
                rows = list(found.relevance)
                ids = tuple(found.snapshot.ids[row] for row in rows)
                values = np.zeros((len(rows), len(NAMES)))
                for at, name in enumerate(NAMES):
                    if name in found.bonuses:
                        weight, of = found.bonuses[name]
                        values[:, at] = [weight * of.get(row, 0.0) for row in rows]
                relevance = np.array([found.relevance[row] for row in rows])
                gold = np.array([float(each in answers) for each in ids])
                yield Sample(
                    dataset.name, number % FOLDS, asked.type, ids, answers, relevance, values, gold
                )


def fitted(train: Sequence[Sample]) -> tuple[float, Floats]:
    """(sharpness, weights) by projected Newton steps; what search did not find teaches nothing."""
    used = [each for each in train if each.gold.any()]
    sizes = np.array([len(each.ids) for each in used])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    design = np.concatenate(
        [np.column_stack((np.log(np.maximum(s.relevance, LEAST)), s.values)) for s in used]
    )
    target = np.concatenate([each.gold / each.gold.sum() for each in used])
    share = np.full(len(used), 1.0 / len(used))
    every = np.repeat(share, sizes)
    ridge = np.concatenate(([0.0], np.full(len(NAMES), RIDGE)))

    def loss(at: Floats) -> tuple[float, Floats]:
        scores = design @ at
        top = np.maximum.reduceat(scores, starts)
        exped = np.exp(scores - np.repeat(top, sizes))
        total = np.add.reduceat(exped, starts)
        value = float((np.log(total) + top) @ share - (every * target) @ scores)
        return value + float(ridge @ at**2), exped / np.repeat(total, sizes)

    at = np.concatenate(([1.0], np.zeros(len(NAMES))))
    value, chance = loss(at)
    for _ in range(100):
        gradient = design.T @ (every * (chance - target)) + 2 * ridge * at
        means = np.add.reduceat(design * chance[:, None], starts, axis=0)
        hessian = (design * (every * chance)[:, None]).T @ design
        hessian -= (means * share[:, None]).T @ means
        free = (at > 0.0) | (gradient < 0.0)
        step = np.zeros(len(at))
        inner = hessian[np.ix_(free, free)] + np.diag(2 * ridge[free] + 1e-9)
        step[free] = np.linalg.solve(inner, gradient[free])
        size = 1.0
        while size > 1e-6:
            tried = np.maximum(at - size * step, 0.0)
            new, its_chance = loss(tried)
            if new < value:
                break
            size /= 2
        else:
            break
        done = value - new < 1e-9
        at, value, chance = tried, new, its_chance
        if done:
            break
    return float(at[0]), at[1:]


def ranked(sample: Sample, weights: Floats) -> list[str]:
    """Ids, best first, by relevance and weights as the product has them."""
    scores = np.log(np.maximum(sample.relevance, 1e-12)) + sample.values @ weights
    return [sample.ids[at] for at in np.argsort(-scores, kind="stable")]


def figures(pairs: Sequence[tuple[Sample, list[str]]]) -> str:
    """any@1 / any@5 / any@10, rec@5, MRR, and rec@10 of multi-hop questions, in percent."""
    means = [
        100 * float(np.mean([measure(order, s.answers, *k) for s, order in pairs]))
        for measure, k in (
            (any_at, (1,)),
            (any_at, (5,)),
            (any_at, (10,)),
            (recall_at, (5,)),
            (reciprocal_rank, ()),
        )
    ]
    hops = [recall_at(order, s.answers, 10) for s, order in pairs if s.kind == "multi-hop"]
    hop = f" {100 * np.mean(hops):5.1f}" if hops else ""
    return " ".join(f"{each:5.1f}" for each in means) + hop


def report(data: Sequence[Sample], label: str, weights_of: dict[int, Floats]) -> None:
    """One line a set."""
    for name in dict.fromkeys(each.dataset for each in data):
        pairs = [(s, ranked(s, weights_of[s.fold])) for s in data if s.dataset == name]
        print(f"  {label:22s} {name:20s} {figures(pairs)}", flush=True)


def study(data: Sequence[Sample], *, features: bool) -> Floats:
    """Fit on everything; print relevance alone, held out, in sample and each feature's part."""
    parts = {fold: [each for each in data if each.fold != fold] for fold in range(FOLDS)}

    def held_out(columns: Sequence[int]) -> dict[int, Floats]:
        found = {}
        for fold, part in parts.items():
            kept = [replace(s, values=_only(s.values, columns)) for s in part]
            sharpness, weights = fitted(kept)
            found[fold] = weights / sharpness
        return found

    every = range(len(NAMES))
    report(data, "relevance alone", dict.fromkeys(range(FOLDS), np.zeros(len(NAMES))))
    report(data, "held out", held_out(every))
    sharpness, weights = fitted(data)
    final = weights / sharpness
    report(data, "in sample", dict.fromkeys(range(FOLDS), final))
    if features:
        for at in every:
            if final[at] > 0.0:
                without = held_out([each for each in every if each != at])
                report(data, f"without {NAMES[at]}", without)
    return final


def _only(values: Floats, columns: Sequence[int]) -> Floats:
    kept = np.zeros_like(values)
    kept[:, list(columns)] = values[:, list(columns)]
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--features", action="store_true", help="leave each one out in turn")
    parser.add_argument("--mode", choices=MODES, action="append")
    given = parser.parse_args()
    encoders = the_encoders()
    sets = [read(path) for path in given.data]
    found: dict[str, dict[str, float]] = {}
    for mode in given.mode or MODES:
        with tempfile.TemporaryDirectory() as folder:
            data = [s for each in sets for s in samples(each, encoders, mode, Path(folder))]
        print(f"{mode}: any@1 any@5 any@10 rec@5 MRR (multi-hop rec@10)")
        final = study(data, features=given.features)
        found[mode] = {
            name: round(float(each), 3) for name, each in zip(NAMES, final, strict=True) if each
        }
        print("  " + ", ".join(f"{name} {each}" for name, each in found[mode].items()))
    if given.out is not None:
        given.out.write_text(_module(sets, found), encoding="utf-8")


def the_encoders() -> dict[str, Encoder]:
    """Those that are read with; "plain" has no token vectors."""
    local = CachedEncoder(_encoder("local"))
    multilingual = CachedEncoder(_encoder("multilingual"))
    return {"local": local, "plain": Plain(local), "multilingual": multilingual}


def _encoder(name: str) -> Encoder:
    encoder = resolve(name)
    if encoder is None:
        raise SystemExit(f"the embedder {name} is not installed")
    return encoder


def _module(sets: Sequence[Dataset], found: dict[str, dict[str, float]]) -> str:
    described = [f"    {each.name}: {len(each.histories)} histories, {each.asked} questions"
                 for each in sets]  # fmt: skip
    lines = [
        '"""Weights of the ranking, written by `scripts/fit_ranking.py`; do not edit.',
        "",
        "They saw:",
        *described,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        '__all__ = ["FITTED"]',
        "",
        "FITTED: dict[str, dict[str, float]] = {",
    ]
    for mode in MODES:
        each = found.get(mode, {k: getattr(WEIGHTS[mode], k) for k in NAMES})
        lines += [f'    "{mode}": {{', *(f'        "{k}": {v},' for k, v in each.items()), "    },"]
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    main()
