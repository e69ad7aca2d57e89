"""How far the ranking of a large namespace is that of an exhaustive one.

    python benchmarks/agreement.py LOCOMO.json [--items 30000 100000] [--questions 300] [--json]

Conversations are hidden among distractors: turns stitched together of halves of two real ones,
with the token vectors of those halves and, as their vector, something between the two. A
distractor has the words, the meanings and the sessions of the real ones, so it competes. Each
question is asked twice of all that is kept, faded or not: ranked among all rows, and among those
that `ebbmem.narrowing` lets through. Agreement is how much of the exhaustive first five is there,
and how often all five are, in order; any@5 stands beside it, for what disagreement costs. Time is
CPU time of one thread, the median, without the encoding.
"""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # read when numpy is imported, not later

# ruff: noqa: E402  # for that reason
import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import faiss
import numpy as np

import ebbmem
from ebbmem import Draft, MemoryBank, Policy, narrowing
from ebbmem.embedding import Encoder, Encoding, TokenVectors, resolve
from ebbmem.evaluate.data import History, Question, read
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.testing import ManualClock

FIRST = 5
SESSION = 20  # turns of a distractor's
BATCH = 2000  # memories of one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Of one size.

    Attributes:
        shared: share of the exhaustive first five that the narrowed ranking has among its own.
        same: share of questions with the same first five in the same order.
        any_all, any_part: share of questions with evidence among the first five.
        ms_all, ms_part: median milliseconds of CPU time.
        ranked: median rows of the part.
    """

    items: int
    questions: int
    shared: float
    same: float
    any_all: float
    any_part: float
    ms_all: float
    ms_part: float
    ranked: float


class Stitched(CachedEncoder):
    """An encoder that makes distractors, and knows how those it made are encoded."""

    def __init__(self, encoder: Encoder, seed: int) -> None:
        super().__init__(encoder)
        self._random = random.Random(seed)
        self._noise = np.random.default_rng(seed)

    def distractor(self, turns: Sequence[str]) -> str:
        """A new text, and what it is encoded as."""
        one, two = self._random.sample(turns, 2)
        text = f"{_half(one, first=True)} {_half(two, first=False)}"
        if text not in self._documents:
            first, second = self.encode_documents([one, two])
            share = self._random.uniform(0.3, 0.7)
            vector = share * first.vector + (1.0 - share) * second.vector
            noise = self._noise.normal(size=len(vector)) * 0.3 / np.sqrt(len(vector))
            mixed = (vector + noise).astype(np.float32)
            tokens = _joined(first.tokens, second.tokens)
            self._documents[text] = Encoding(mixed / np.linalg.norm(mixed), tokens)
        return text


def _half(text: str, *, first: bool) -> str:
    words = text.split()
    middle = max(len(words) // 2, 1)
    return " ".join(words[:middle] if first else words[-middle:])


def _joined(first: TokenVectors | None, second: TokenVectors | None) -> TokenVectors | None:
    if first is None or second is None:
        return None
    head, tail = max(len(first.ids) // 2, 1), max(len(second.ids) // 2, 1)
    return TokenVectors(
        np.concatenate((first.ids[:head], second.ids[-tail:])),
        np.concatenate((first.codes[:head], second.codes[-tail:])),
    )


def drafts(histories: Sequence[History], encoder: Stitched, items: int) -> list[Draft]:
    """All turns of the histories, each with ids of its own, and distractors up to `items`."""
    real = [_named(history, each) for history in histories for each in history.items]
    texts = [each.text for each in real]
    speakers = sorted({each.speaker for each in real if each.speaker})
    choose, start = random.Random(items), datetime(2022, 1, 1, tzinfo=UTC)
    made, known = list[Draft](), set(texts)
    while len(real) + len(made) < items:
        text = encoder.distractor(texts)
        if text in known:
            continue
        known.add(text)
        session, turn = divmod(len(made), SESSION)
        told = start + timedelta(hours=5 * session, minutes=turn)
        first = session % max(len(speakers) - 1, 1)
        pair: Sequence[str | None] = speakers[first : first + 2] or [None]
        made.append(
            Draft(
                text=text, source=f"x{session}", position=turn, speaker=choose.choice(pair), at=told
            )
        )
    return [*real, *made]


def _named(history: History, draft: Draft) -> Draft:
    return Draft(
        text=draft.text,
        id=f"{history.name} {draft.id}",
        keyed=True,
        source=f"{history.name} {draft.source}",
        position=draft.position,
        speaker=draft.speaker,
        at=draft.at,
    )


def measured(bank: MemoryBank, asked: Sequence[tuple[str, Question]]) -> Row:
    """Both rankings of every question."""
    shared, same, hits, taken, ranked = [], [], [], [], []
    for name, question in asked:
        gold = {f"{name} {each}" for each in question.gold}
        firsts, costs = [], []
        for above in (sys.maxsize, 0):
            narrowing.ABOVE = above
            began = time.thread_time()
            ranking = bank._rank(bank._asked(question.text, FIRST, include_faded=True), bank._now())
            costs.append(1e3 * (time.thread_time() - began))
            firsts.append([ranking.snapshot.ids[row] for row, _ in ranking.order[:FIRST]])
        everything, part = firsts
        ranked.append(len(ranking.snapshot.ids))
        shared.append(len({*everything} & {*part}) / max(len(everything), 1) if everything else 1.0)
        same.append(everything == part)
        hits.append([bool(gold & {*each}) for each in firsts])
        taken.append(costs)
    any_all, any_part = np.mean(hits, axis=0).tolist()
    ms_all, ms_part = np.median(taken, axis=0).tolist()
    return Row(
        items=len(bank._arena().snapshot().ids),
        questions=len(asked),
        shared=float(np.mean(shared)),
        same=float(np.mean(same)),
        any_all=any_all,
        any_part=any_part,
        ms_all=ms_all,
        ms_part=ms_part,
        ranked=float(median(ranked)),
    )


def run(data: Path, sizes: Sequence[int], questions: int, embedder: str, seed: int) -> list[Row]:
    """One row a size."""
    histories = read(data).histories
    found = resolve(embedder)
    assert found is not None
    encoder = Stitched(found, seed)
    encoder.encode_documents([each.text for history in histories for each in history.items])
    asked = [(history.name, each) for history in histories for each in history.questions]
    asked = random.Random(seed).sample(asked, min(questions, len(asked)))
    rows = []
    for items in sizes:
        with TemporaryDirectory() as folder:
            told = drafts(histories, encoder, items)
            with MemoryBank.open(
                Path(folder) / "memory.db",
                namespace="all",
                embedder=encoder,
                policy=Policy.chat(),
                clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)),
                maintain=False,
            ) as bank:
                for at in range(0, len(told), BATCH):
                    bank.remember_many(told[at : at + BATCH])
                rows.append(measured(bank, asked))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Narrowed rankings beside exhaustive ones.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--items", type=int, nargs="+", default=[30_000])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    told = parser.parse_args(arguments)
    rows = run(told.data, told.items, told.questions, told.embedder, told.seed)
    versions = {
        "command": " ".join(["python benchmarks/agreement.py", *sys.argv[1:]]),
        "ebbmem": ebbmem.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "faiss": faiss.__version__,
    }
    if told.json:
        print(json.dumps({**versions, "rows": [asdict(each) for each in rows]}, indent=1))
        return 0
    print(*(f"{name}: {value}" for name, value in versions.items()), sep="\n")
    for row in rows:
        print(
            f"{row.items} items, {row.questions} questions: first five shared {row.shared:.4f}, "
            f"the same in order {row.same:.3f}; any@5 {100 * row.any_part:.1f} of "
            f"{100 * row.any_all:.1f} exhaustive; {row.ms_part:.1f} ms of {row.ms_all:.1f}, "
            f"{row.ranked:.0f} rows ranked"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
