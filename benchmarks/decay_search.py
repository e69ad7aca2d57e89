"""The exact best by similarity and strength, in times of one scan of all vectors.

    python benchmarks/decay_search.py [--sizes 10000 100000 1000000] [--queries 20] [--json]
                                      [--plot FILE]

Vectors are invented: clusters of very different sizes around a common direction, with noise of a
falling spectrum, so that cosines of pairs and of the best hits are spread as those of a small
sentence model are. Strengths follow the shipped curve in three states of a store: fresh (ages of a
day), steady (what a daily pass leaves that hides under 0.05) and faded (a year in which nothing was
removed). Each figure is the median CPU time of a query on one thread, divided by that of a bare
FAISS scan of the same vectors in the same run. `exact` counts the queries whose ten are those of
brute force; it must be all. The usual method, a number of candidates by similarity that are scored
again, stands beside it with the share of the true ten that it finds.
"""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # read when numpy is imported, not later

# ruff: noqa: E402  # for that reason
import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

import ebbmem
from ebbmem import decay
from ebbmem.vectors.bands import Bands, Layout, Score
from ebbmem.vectors.flat import products

DIMENSION = 384
K = 10
BLOCK = 100_000
CLUSTERS = 2000
FETCHED = (20, 100, 1000)  # candidates of the usual method

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

SCORES: dict[str, Score] = {
    "product": lambda similar, strong: similar * strong,
    "floor .1": lambda similar, strong: similar * (np.float32(0.1) + np.float32(0.9) * strong),
    "floor .3": lambda similar, strong: similar * (np.float32(0.3) + np.float32(0.7) * strong),
    "floor .5": lambda similar, strong: similar * (np.float32(0.5) + np.float32(0.5) * strong),
    "additive .7/.3": lambda similar, strong: np.float32(0.7) * similar + np.float32(0.3) * strong,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One score in one state at one size.

    Attributes:
        ratio: CPU time of a query over that of a bare scan; `ms`: in milliseconds.
        exact: queries whose best are those of brute force, of `queries`.
        scanned, rescored: share of rows whose codes were read; rows compared in full, on average.
        fetched: by the number of candidates, what share of the true best the usual method finds.
    """

    size: int
    state: str
    score: str
    when: str
    ratio: float
    ms: float
    scan_ms: float
    queries: int
    exact: int
    scanned: float
    rescored: float
    bytes_a_row: float
    fetched: dict[int, float]


@dataclass(frozen=True, slots=True)
class Lives:
    """What strengths follow from, (n,) each; ages are days."""

    importance: Floats
    rate: Floats
    count: Floats
    age: Floats

    def strengths(self, days: float = 0.0) -> Floats:
        """After so many days more."""
        kept = decay.EbbinghausDecay().retention(self.rate, self.age + days)
        return decay.strength(self.importance, kept, self.count).astype(np.float32)


def vectors_of(count: int, rng: np.random.Generator) -> Floats:
    """(n, d) unit vectors."""
    world = np.random.default_rng(0)  # the same for memories and for questions
    centres = world.normal(size=(CLUSTERS, DIMENSION)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    common = world.normal(size=DIMENSION).astype(np.float32)
    common /= np.linalg.norm(common)
    spectrum = np.arange(1, DIMENSION + 1, dtype=np.float32) ** -0.6
    spectrum /= np.linalg.norm(spectrum)
    made = np.empty((count, DIMENSION), np.float32)
    for at in range(0, count, BLOCK):
        block = made[at : at + BLOCK]
        cluster = np.minimum(rng.zipf(1.3, len(block)) - 1, CLUSTERS - 1)
        noise = rng.standard_normal((len(block), DIMENSION), np.float32) * spectrum
        block[:] = 0.45 * centres[cluster] + 0.4 * common + 0.8 * noise
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return made


def lives_of(state: str, count: int, rng: np.random.Generator) -> Lives:
    """Memories of four categories, some of them recalled, in a state of a store."""
    base = rng.choice([0.16, 0.20, 0.35, 0.10], count)
    importance = rng.beta(2.5, 2.5, count)
    uses = rng.geometric(0.5, count) - 1
    rate = decay.rate(base, importance)
    if state == "fresh":
        age = rng.exponential(1.0, count)
    elif state == "steady":
        life = decay.lifetime(rate, importance, uses, threshold=0.05)
        age = rng.uniform(0.0, 1.0, count) * life
    else:
        age = rng.uniform(0.0, 365.0, count)
    columns = (importance, rate, uses, age)
    return Lives(*(each.astype(np.float32) for each in columns))


def median_ms(call: Callable[[Floats], object], queries: Floats) -> float:
    taken = []
    for query in queries:
        began = time.thread_time()
        call(query)
        taken.append(time.thread_time() - began)
    return 1e3 * float(np.median(taken))


def judged(
    layout: Layout, vectors: Floats, queries: Floats, score: Score, strengths: Floats
) -> tuple[int, float, float, dict[int, float]]:
    """Exact queries, share scanned, rows rescored, and what the usual method finds."""
    exact, scanned, rescored = 0, list[int](), list[int]()
    found: dict[int, list[float]] = {each: [] for each in FETCHED}
    for query in queries:
        top = layout.top(vectors, query, K, score, lambda rows: strengths[rows])
        similar = products(vectors, query)
        scores = score(similar, strengths)
        best = np.argsort(-scores, kind="stable")[:K]
        exact += bool(np.allclose(scores[best], top.scores, rtol=0.0, atol=1e-6))
        scanned.append(top.scanned)
        rescored.append(top.rescored)
        for count, shares in found.items():
            near = np.argpartition(-similar, min(count, len(similar) - 1))[:count]
            again = near[np.argsort(-scores[near], kind="stable")[:K]]
            shares.append(len({*again.tolist()} & {*best.tolist()}) / K)
    means = {count: float(np.mean(shares)) for count, shares in found.items()}
    return exact, float(np.mean(scanned)) / len(vectors), float(np.mean(rescored)), means


def measured(size: int, queries: int, seed: int) -> list[Row]:
    """Every state and score at one size."""
    rng = np.random.default_rng(seed)
    vectors, asked = vectors_of(size, rng), vectors_of(queries, rng)
    scan = median_ms(lambda query: products(vectors, query), asked)
    rows: list[Row] = []
    for state in ("fresh", "steady", "faded"):
        lives = lives_of(state, size, rng)
        index = Bands()
        index.extend(size)
        strengths = lives.strengths()
        index.order(vectors, lambda rows, now=strengths: now[rows])  # type: ignore[misc]

        def row(
            score: str, when: str, now: Floats, state: str = state, index: Bands = index
        ) -> Row:
            layout = index.layout
            ms = median_ms(
                lambda query: layout.top(vectors, query, K, SCORES[score], lambda some: now[some]),
                asked,
            )
            exact, scanned, rescored, fetched = judged(layout, vectors, asked, SCORES[score], now)
            return Row(
                size=size,
                state=state,
                score=score,
                when=when,
                ratio=ms / scan,
                ms=ms,
                scan_ms=scan,
                queries=queries,
                exact=exact,
                scanned=scanned,
                rescored=rescored,
                bytes_a_row=index.nbytes / size,
                fetched=fetched,
            )

        rows += [row(score, "at once", strengths) for score in SCORES]
        if state != "steady":
            continue
        now = lives.strengths(10.0)
        rows.append(row("product", "ten days later", now))
        index.refresh(lambda rows, now=now: now[rows])  # type: ignore[misc]
        rows.append(row("product", "and refreshed", now))
        rows.append(row("product", "a hundred days later", lives.strengths(100.0)))
        used = rng.choice(size, min(4000, size // 10), replace=False)
        gone = rng.choice(size, 3 * size // 10, replace=False)
        now = now.copy()
        now[used] = np.minimum(1.0, now[used] + 0.5)
        index.loosen(used.tolist())
        now[gone] = 0.0
        rows.append(row("product", "after 4,000 uses, 30 % gone", now))
        index.order(vectors, lambda rows, now=now: now[rows])  # type: ignore[misc]
        rows.append(row("product", "and ordered", now))
    return rows


def plotted(rows: Sequence[Row], path: Path) -> None:
    """Cost against the number of rows, and against the share of them that is read."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for state in ("fresh", "steady", "faded"):
        told = [r for r in rows if (r.state, r.score, r.when) == (state, "product", "at once")]
        left.loglog([r.size for r in told], [r.ms for r in told], marker="o", label=state)
    sizes = sorted({(r.size, r.scan_ms) for r in rows})
    left.loglog(*zip(*sizes, strict=True), marker="o", color="grey", label="scan of all vectors")
    left.set(xlabel="memories", ylabel="CPU ms a query", title="similarity × strength")
    left.legend()
    for size, _ in sizes:
        told = sorted((r for r in rows if r.size == size), key=lambda r: r.scanned)
        right.plot([r.scanned for r in told], [r.ratio for r in told], "o", label=f"{size:,}")
    right.set(xlabel="share of rows read", ylabel="of one scan", title="any score", ylim=(0, None))
    right.legend()
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Exact decay-aware search beside a bare scan.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path)
    told = parser.parse_args(arguments)
    rows = [row for size in told.sizes for row in measured(size, told.queries, told.seed)]
    versions = {
        "command": " ".join(["python benchmarks/decay_search.py", *sys.argv[1:]]),
        "ebbmem": ebbmem.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "faiss": f"{faiss.__version__} ({faiss.get_compile_options().strip()})",
    }
    if told.plot is not None:
        plotted(rows, told.plot)
    if told.json:
        print(json.dumps({**versions, "rows": [asdict(each) for each in rows]}, indent=1))
    else:
        print(*(f"{name}: {value}" for name, value in versions.items()), sep="\n")
        for each in rows:
            usual = ", ".join(f"{count}: {share:.2f}" for count, share in each.fetched.items())
            print(
                f"{each.size:>9,} {each.state:6} {each.score:14} {each.when:27} "
                f"{each.ratio:6.3f} of {each.scan_ms:.2f} ms, exact {each.exact}/{each.queries}, "
                f"scanned {each.scanned:.3f}, rescored {each.rescored:.0f}, "
                f"{each.bytes_a_row:.0f} B a row; usual {usual}"
            )
    return 0 if all(each.exact == each.queries for each in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
