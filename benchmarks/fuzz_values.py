"""Texts, filters, policies and arguments that mean no good: what `fuzz.py` does with them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz_data import Data, quietly

from ebbmem import Draft, MemoryBank, Policy
from ebbmem.asking import names
from ebbmem.conditions import condition
from ebbmem.context import CLOSING
from ebbmem.cues import traits
from ebbmem.testing import ManualClock
from ebbmem.text import keywords, passages, words

__all__ = ["arguments", "bank", "policy", "round_trip", "text", "where"]


def text(data: Data, _: Path) -> None:
    said = data.text()
    for read in (words, keywords, traits, names):
        read(said)
    _spans_hold(said)


def _spans_hold(said: str) -> None:
    spans = passages(said)
    assert all(0 <= start < stop <= len(said) or not said.strip() for start, stop in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def bank(data: Data, _: Path) -> None:
    """A memory told, asked, shown, and told again elsewhere."""
    told = [data.text() for _ in range(1 + data.below(4))]
    with _opened(":memory:", data) as bank:
        kept = [each for text in told if (each := quietly(bank.remember, text)) is not None]
        for query in (*told, data.text()):
            for hit in quietly(bank.recall, query, reinforce=False) or ():
                assert hit.memory.text in told
                assert hit.passage in hit.memory.text
            block = quietly(bank.context, query, inert=bool(data.below(2)))
            if block is not None and str(block):
                assert str(block).count(CLOSING) == 1
                assert str(block).rstrip().endswith(CLOSING)
        round_trip(bank, {each.text for each in kept})


def round_trip(bank: MemoryBank, texts: set[str]) -> None:
    out = io.StringIO()
    bank.export_jsonl(out)
    with MemoryBank.open(namespace="other", embedder=None, clock=bank.clock) as other:
        other.import_file(io.StringIO(out.getvalue()))
        assert {each.text for each in other.list(include_faded=True)} == texts


def _opened(path: Path | str, data: Data) -> MemoryBank:
    embedder = data.one((None, "hashing"))
    return MemoryBank.open(path, namespace="u", embedder=embedder, clock=ManualClock())


def where(data: Data, _: Path) -> None:
    """A filter and a value: what the filter says in Python the store says in SQL."""
    metadata, where = data.object(), data.object()
    with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
        kept = quietly(lambda: bank.remember("tea", metadata=metadata))
        test = quietly(condition, where)
        found = quietly(bank.list, where=where)
        if kept is not None and test is not None:
            assert found is not None
            assert bool(found) == test(kept.metadata)
            assert bank.get(kept.id).metadata == kept.metadata


def arguments(data: Data, _: Path) -> None:
    """Calls with anything in the place of everything."""
    with _opened(":memory:", data) as bank:
        bank.remember("tea with Ann", id="a", source="s")
        while data.left:
            quietly(data.one(_CALLS), bank, data)
            assert bank.namespace == ("u",)


def _draft(data: Data) -> dict[str, Any]:
    fields: Mapping[str, Callable[[], Any]] = {
        "category": data.text,
        "importance": data.number,
        "source": data.text,
        "position": data.number,
        "speaker": data.text,
        "at": data.time,
        "metadata": data.object,
        "id": data.text,
        "expires_at": data.time,
        "key": data.text,
        "supersedes": lambda: data.one(("a", ["a"], [data.value()], data.value())),
        "pinned": lambda: data.one((True, False, 1, None)),
        "trust": data.text,
    }
    return {name: made() for name, made in fields.items() if data.below(4) == 0}


_CALLS: tuple[Callable[[MemoryBank, Data], Any], ...] = (
    lambda bank, data: bank.remember(data.text(), **_draft(data)),
    lambda bank, data: bank.remember_many([Draft(text=data.text(), **_draft(data)), "x"]),
    lambda bank, data: bank.recall(data.value(), data.number()),
    lambda bank, data: bank.recall("tea", k=data.number(), min_score=data.number()),
    lambda bank, data: bank.recall("tea", around=data.number(), min_similarity=data.number()),
    lambda bank, data: bank.recall("tea", as_of=data.time(), exclude=data.value()),
    lambda bank, data: bank.recall("tea", where=data.value(), category=data.value()),
    lambda bank, data: bank.context("tea", budget=data.number(), k=data.number()),
    lambda bank, data: bank.explain("tea", data.value()),
    lambda bank, data: bank.list(limit=data.number(), offset=data.number()),
    lambda bank, data: bank.list(source=data.value(), where=data.value()),
    lambda bank, data: bank.get(data.value()),
    lambda bank, data: bank.update("a", text=data.value(), importance=data.number()),
    lambda bank, data: bank.update("a", metadata=data.value(), speaker=data.value()),
    lambda bank, data: bank.reinforce(data.value(), query=data.value()),
    lambda bank, data: bank.forget(data.value()),
    lambda bank, data: bank.expire("a", data.time()),
    lambda bank, data: bank.restore("a"),
    lambda bank, data: bank.link("a", data.value(), weight=data.number()),
    lambda bank, data: bank.forecast(data.number()),
    lambda bank, data: bank.rerank(data.value(), data.number()),
    lambda bank, data: bank.at(*data.one(((data.text(),), (data.value(), "b"), ()))),
    lambda bank, data: bank.vectors(data.value()),
    lambda bank, data: bank.known(data.value()),
    lambda bank, data: bank.add_probe(data.value(), data.value()),
    lambda bank, data: bank.probe(data.number()),
    lambda bank, data: bank.prune(),
    lambda bank, data: bank.report(),
    lambda bank, data: bank.export_jsonl(io.StringIO()),
    lambda bank, data: bank.write({data.one(("u", ("u",), data.value)): ["x"]}),
)


def policy(data: Data, _: Path) -> None:
    plain = json.loads(Policy().to_json())
    for _time in range(1 + data.below(3)):
        plain[data.one(sorted(plain))] = data.one((data.value(), data.number()))
    with suppress(TypeError, ValueError):  # not JSON: nothing to read
        line = json.dumps(plain)
        policy = quietly(Policy.from_json, line)
        if policy is not None:
            assert Policy.from_json(policy.to_json()) == policy
            with MemoryBank.open(
                namespace="u", embedder=None, clock=ManualClock(), policy=policy
            ) as bank:
                bank.remember("tea")
                bank.recall("tea")
                bank.stats()
