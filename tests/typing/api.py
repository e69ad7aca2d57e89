"""What a type checker sees of the public face. Read by mypy, never run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from ebbmem import (
    Advice,
    AsyncMemoryBank,
    Category,
    Context,
    DecayModel,
    Draft,
    Erased,
    Explanation,
    Forecast,
    Imported,
    Memory,
    MemoryBank,
    Policy,
    PowerDecay,
    Probe,
    ProbeRun,
    Pruned,
    Ranked,
    Recollection,
    Recollections,
    Stats,
    Step,
)
from ebbmem.testing import HashingEmbedder, ManualClock

curve: DecayModel = PowerDecay()
policy = Policy(curve=curve, categories=[Category("recipe", 0.02)], salience=lambda text: 0.5)
assert_type(Policy.chat(), Policy)
assert_type(policy.with_categories([Category("song")]), Policy)

bank = MemoryBank.open("memory.db", namespace="alice", policy=policy, clock=ManualClock())
assert_type(bank, MemoryBank)
assert_type(
    MemoryBank.open(Path("x"), namespace=("a", "b"), embedder=HashingEmbedder()), MemoryBank
)
assert_type(bank.at("bob"), MemoryBank)
with bank as entered:
    assert_type(entered, MemoryBank)

assert_type(bank.namespace, tuple[str, ...])
assert_type(bank.policy, Policy)
assert_type(bank.path, str)

memory = bank.remember("tea", category="recipe", importance=0.5, at=datetime.now().astimezone())
assert_type(memory, Memory)
assert_type(bank.remember_many(["milk", Draft(text="rain"), memory]), list[Memory])
assert_type(bank.update(memory.id, text="green tea"), Memory)

found = bank.recall("tea", k=3, category=["recipe"], where={"n": 1}, min_similarity=-1)
assert_type(found, Recollections)
assert_type(found[0], Recollection)
assert_type(found[0].memory, Memory)
assert_type(found[0].score, float)
assert_type(found[0].similarity, float | None)
assert_type(found[0].bonuses, Mapping[str, float])
assert_type(found[0].via, tuple[Step, ...])
assert_type(bank.explain("tea", memory.id), Explanation)
assert_type(bank.context("tea", budget=100), Context)

assert_type(bank.get(memory.id), Memory)
assert_type(bank.list(source="chat", limit=10), list[Memory])
assert_type(bank.strength(memory), float)
assert_type(bank.retention(memory.id), float)
assert_type(bank.reinforce([memory.id]), list[Memory])
assert_type(bank.forget(memory.id), list[Memory])
assert_type(bank.erase([memory.id]), Erased)
assert_type(bank.expire(memory.id, None), list[Memory])
assert_type(bank.expire([memory.id], datetime.now().astimezone()), list[Memory])
assert_type(bank.inhabited(), list[tuple[str, ...]])
assert_type(bank.vectors([memory.id]), dict[str, NDArray[np.float32]])
assert_type(bank.list(newest_first=True, where=lambda each: each.keyed), list[Memory])
assert_type(
    bank.write({("alice",): ["tea", Draft(text="rain", keyed=True)]}, erase={("bob",): ["id"]}),
    dict[tuple[str, ...], list[Memory]],
)

beside = bank.beside("documents")
assert_type(beside, MemoryBank)
ranked = beside.rerank({"doc": 0.5}, k=3, reinforce=False)
assert_type(ranked, list[Ranked])
assert_type(ranked[0].score, float)
assert_type(ranked[0].reinforced, bool)

assert_type(bank.recall([0.1, 0.2], exclude=[memory.id]), Recollections)
assert_type(bank.recall("tea", where=lambda each: each.pinned), Recollections)
assert_type(bank.recall("tea", where={"n": {"$gt": 1}}, exclude=memory.id), Recollections)
kept = bank.remember("tea", id="k", keyed=True, searchable=False, expires_at=None)
assert_type(kept.keyed, bool)
assert_type(kept.searchable, bool)
assert_type(kept.expires_at, datetime | None)
assert_type(bank.prune(dry_run=True), Pruned)
assert_type(bank.forecast(7), list[Forecast])
assert_type(bank.stats(), Stats)
assert_type(bank.add_probe("tea?", [memory.id]), Probe)
assert_type(bank.probes(), list[Probe])
assert_type(bank.remove_probe(1), None)
assert_type(bank.probe(k=5), ProbeRun)
assert_type(bank.probe().recall, float | None)
assert_type(bank.probe_history(), list[ProbeRun])
assert_type(bank.advice(), list[Advice])
assert_type(bank.report(), str)
assert_type(bank.reinforce(memory.id, query="tea?"), list[Memory])
assert_type(bank.export_jsonl("out.jsonl"), int)
assert_type(bank.import_file("in.jsonl"), dict[tuple[str, ...], Imported])
assert_type(bank.reembed(None), int)
assert_type(bank.backup("copy.db"), Path)
assert_type(bank.diagnose(), dict[str, object])
assert_type(memory.metadata, Mapping[str, Any])


async def main() -> None:
    async with await AsyncMemoryBank.open(namespace="alice") as twin:
        assert_type(twin, AsyncMemoryBank)
        assert_type(await twin.remember("tea", importance=0.5), Memory)
        assert_type(await twin.remember_many(["milk"]), list[Memory])
        assert_type(await twin.recall("tea", k=3), Recollections)
        assert_type(await twin.explain("tea", "id"), Explanation)
        assert_type(await twin.context("tea", budget=100), Context)
        assert_type(await twin.list(limit=3), list[Memory])
        assert_type(await twin.erase_all(), Erased)
        assert_type(await twin.probe(k=5), ProbeRun)
        assert_type(await twin.add_probe("tea?", "id"), Probe)
        assert_type(await twin.report(), str)
        assert_type(await twin.at("bob"), AsyncMemoryBank)
        assert_type(await twin.beside("documents"), AsyncMemoryBank)
        assert_type(await twin.rerank({"doc": 0.5}), list[Ranked])
        assert_type(await twin.recall([0.1, 0.2], exclude=["id"]), Recollections)
        assert_type(await twin.vectors(["id"]), dict[str, NDArray[np.float32]])
        assert_type(await twin.inhabited(), list[tuple[str, ...]])
        assert_type(await twin.expire("id", None), list[Memory])
        assert_type(
            await twin.write({("alice",): ["tea"]}, erase={("bob",): ["id"]}),
            dict[tuple[str, ...], list[Memory]],
        )
        await twin.recall("tea", 3, "fact")  # type: ignore[call-arg]  # options are by keyword
        await twin.recall("tea", wehre={})  # type: ignore[call-arg]


bank.recall("tea", 3, "fact")  # type: ignore[call-arg]  # options are by keyword
bank.rerank([("doc", 0.5)])  # type: ignore[arg-type]
bank.remember(7)  # type: ignore[arg-type]
MemoryBank.open("memory.db")  # type: ignore[call-arg]  # a namespace is a must
