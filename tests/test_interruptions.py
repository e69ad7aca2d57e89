"""Whatever comes in between, what is written and what is answered stays whole."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import FingerprintMismatch, NotFound, Policy
from ebbmem.testing import ManualClock, TableEmbedder


class Slow(TableEmbedder):
    """Encodes documents only after somebody said so."""

    def __init__(self, vector: Sequence[float], model: str) -> None:
        super().__init__({}, default=list(vector))
        self.model = model
        self.entered, self.released = threading.Event(), threading.Event()
        self.released.set()

    def embed_documents(self, texts: list[str]) -> Any:
        self.entered.set()
        assert self.released.wait(30)
        return super().embed_documents(texts)


@pytest.mark.parametrize("vector", [[0.0, 1.0], [0.0, 1.0, 0.0]])
def test_a_text_encoded_before_a_change_of_embedder_is_refused_after_it(
    open_bank: OpenBank, vector: list[float]
) -> None:
    old, new = Slow([1.0, 0.0], "old"), Slow(vector, "new")
    bank = open_bank(embedder=old)
    bank.remember("one")
    old.entered.clear()
    old.released.clear()
    failed: list[BaseException] = []

    def remember() -> None:
        try:
            bank.remember("two")
        except FingerprintMismatch as error:
            failed.append(error)

    writer = threading.Thread(target=remember)
    writer.start()
    assert old.entered.wait(30)
    bank.reembed(new)
    old.released.set()
    writer.join()
    assert len(failed) == 1
    assert [hit.similarity for hit in bank.recall("one")] == [pytest.approx(1.0)]
    bank.remember("two")
    assert [hit.similarity for hit in bank.recall("two", k=2)] == [pytest.approx(1.0)] * 2


def test_an_interrupted_catch_up_starts_over(
    open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ebbmem.lexical import KeywordIndex

    writer, reader = open_bank(), open_bank()
    writer.remember_many(["one lamp", "two lamps", "three lamps"])
    append, left = KeywordIndex.append, [2]

    def interrupted(index: KeywordIndex, terms: Sequence[str], *, silent: bool) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return append(index, terms, silent=silent)

    monkeypatch.setattr(KeywordIndex, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reader.recall("lamps")
    monkeypatch.undo()
    assert len(reader.recall("lamps")) == 3


@pytest.mark.parametrize("use", ["recall", "reinforce", "pin", "update"])
def test_the_daily_pass_runs_in_a_process_that_never_remembers(
    open_bank: OpenBank, clock: ManualClock, use: str
) -> None:
    bank = open_bank()
    kept = bank.remember("the lighthouse", importance=0.9).id
    gone = bank.remember("a passing cloud", importance=0.4, category="failure").id
    for _ in range(45):
        clock.advance(days=1)
        calls = {
            "recall": lambda: bank.recall("lighthouse"),
            "reinforce": lambda: bank.reinforce(kept),
            "pin": lambda: (bank.pin(kept), bank.unpin(kept)),
            "update": lambda: bank.update(kept, importance=0.9),
        }
        calls[use]()
    assert ("fade", gone) in [(line.action, line.id) for line in bank.audit()]
    assert ("purge", gone) in [(line.action, line.id) for line in bank.audit()]


def test_a_clock_that_was_once_ahead_does_not_put_the_pass_off(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    clock.advance(days=3650)
    bank.remember("said by a wrong clock", pinned=True)
    bank.close()
    clock.advance(days=-3650)
    bank = open_bank()
    id_ = bank.remember("a passing cloud", importance=0.4, category="failure").id
    clock.advance(days=20)
    bank.remember("the lighthouse")
    assert ("fade", id_) in [(line.action, line.id) for line in bank.audit()]


def test_a_category_that_another_bank_registered_is_known_at_once(open_bank: OpenBank) -> None:
    from ebbmem import Category

    first = open_bank()
    first.remember("hello")
    second = open_bank(policy=Policy(categories=[Category("recipe", 0.05)]))
    second.remember("soup with leek", category="recipe")
    assert [hit.memory.text for hit in first.recall("soup", category="recipe")] == [
        "soup with leek"
    ]
    assert first.remember("bread", category="recipe").category == "recipe"


def test_an_erasure_by_somebody_else_is_not_found_and_nothing_stranger(
    open_bank: OpenBank,
) -> None:
    one, two = open_bank(), open_bank()
    a, b = one.remember("harbour tea").id, one.remember("winter tea").id
    one.link(a, b)
    one.recall("tea")
    two.erase(a)
    with pytest.raises(NotFound):
        one.explain("tea", a)
    assert one.context("winter tea").ids == (b,)


def test_many_erasures_in_one_source_are_taken_in_one_by_one(open_bank: OpenBank) -> None:
    bank = open_bank()
    ids = [m.id for m in bank.remember_many([f"line number {n}" for n in range(400)])]
    bank.recall("line")
    bank.erase(ids[:399])
    assert [hit.memory.id for hit in bank.recall("line")] == [ids[399]]
