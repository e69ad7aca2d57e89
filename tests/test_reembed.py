"""Another embedder for a whole file: resumable, and never half of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import OpenBank
from ebbmem import EmbeddingError, FingerprintMismatch, MemoryBank

SIZE = 150  # three batches of 64


class Directions:
    """Texts as directions; the same text has another one for every model."""

    def __init__(self, model: str, dimension: int, *, fail_on: int | None = None) -> None:
        self.model = model
        self.dimension = dimension
        self.fail_on = fail_on
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float64]:
        for text in texts:
            self.texts.append(text)
            if len(self.texts) == self.fail_on:
                raise RuntimeError("the line is dead")
        return np.array([self._direction(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float64]:
        return self._direction(text)

    def _direction(self, text: str) -> NDArray[np.float64]:
        random = np.random.default_rng(crc32(f"{self.model} {text}".encode()))
        return random.standard_normal(self.dimension)


def fill(bank: MemoryBank, size: int = SIZE) -> None:
    bank.remember_many(f"memory number {number}" for number in range(size))


def similarity(bank: MemoryBank, text: str) -> float | None:
    """Of a text with itself: one where query and vectors come from the same embedder."""
    return bank.recall(text, k=1, reinforce=False)[0].similarity


@pytest.fixture
def old() -> Directions:
    return Directions("old", 8)


def test_every_memory_of_every_namespace_gets_new_vectors(
    open_bank: OpenBank, old: Directions
) -> None:
    bank, new = open_bank(embedder=old), Directions("new", 5)
    fill(bank, 3)
    bank.at("u2").remember("somebody else's")
    assert bank.reembed(new) == 4
    assert len(new.texts) == 4
    assert "new" in bank.fingerprint.name
    assert bank.fingerprint.dimension == 5
    for each, text in ((bank, "memory number 1"), (bank.at("u2"), "somebody else's")):
        assert similarity(each, text) == pytest.approx(1.0, abs=1e-6)


def test_a_question_asked_before_is_encoded_anew(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=old)
    fill(bank, 3)
    for model in (old, Directions("same size", 8)):
        bank.reembed(model)
        assert similarity(bank, "memory number 1") == pytest.approx(1.0, abs=1e-6)


def test_what_is_remembered_afterwards_uses_the_new_embedder(
    open_bank: OpenBank, old: Directions
) -> None:
    bank, new = open_bank(embedder=old), Directions("new", 5)
    fill(bank, 2)
    bank.reembed(new)
    asked = len(old.texts)
    bank.remember("something new")
    assert (len(old.texts), new.texts[-1]) == (asked, "something new")
    assert similarity(bank, "something new") == pytest.approx(1.0, abs=1e-6)


def test_progress_reaches_the_total(open_bank: OpenBank, old: Directions) -> None:
    bank, seen = open_bank(embedder=old), []
    fill(bank)
    bank.reembed(Directions("new", 5), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (SIZE, SIZE)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_a_failure_in_the_second_batch_leaves_the_old_vectors_answering(
    open_bank: OpenBank, old: Directions
) -> None:
    bank = open_bank(embedder=old)
    fill(bank)
    with pytest.raises(EmbeddingError):
        bank.reembed(Directions("new", 5, fail_on=100))
    assert "old" in bank.fingerprint.name
    assert similarity(bank, "memory number 7") == pytest.approx(1.0, abs=1e-6)
    bank.remember("in between")
    assert similarity(bank, "in between") == pytest.approx(1.0, abs=1e-6)


def test_a_second_call_goes_on_where_the_first_stopped(
    open_bank: OpenBank, old: Directions
) -> None:
    bank, new = open_bank(embedder=old), Directions("new", 5, fail_on=100)
    fill(bank)
    with pytest.raises(EmbeddingError):
        bank.reembed(new)
    asked = len(new.texts)
    assert bank.reembed(new) == SIZE - 64  # the first batch was kept
    assert len(new.texts) - asked == SIZE - 64
    assert similarity(bank, "memory number 7") == pytest.approx(1.0, abs=1e-6)


def test_the_progress_of_a_second_call_reaches_the_total_too(
    open_bank: OpenBank, old: Directions
) -> None:
    bank, new, seen = open_bank(embedder=old), Directions("new", 5, fail_on=100), []
    fill(bank)
    with pytest.raises(EmbeddingError):
        bank.reembed(new)
    bank.reembed(new, progress=lambda done, total: seen.append((done, total)))
    done, total = seen[-1]
    assert done == total


def test_an_interrupted_change_survives_closing(open_bank: OpenBank, old: Directions) -> None:
    bank, new = open_bank(embedder=old), Directions("new", 5, fail_on=100)
    fill(bank)
    with pytest.raises(EmbeddingError):
        bank.reembed(new)
    bank.close()
    again = open_bank(embedder=old)
    assert again.reembed(new) == SIZE - 64
    assert similarity(again, "memory number 149") == pytest.approx(1.0, abs=1e-6)


def test_a_change_of_mind_halfway_leaves_no_vectors_of_the_first_choice(
    open_bank: OpenBank, old: Directions
) -> None:
    bank = open_bank(embedder=old)
    fill(bank)
    with pytest.raises(EmbeddingError):
        bank.reembed(Directions("new", 5, fail_on=100))
    assert bank.reembed(Directions("third", 6)) == SIZE
    assert similarity(bank, "memory number 7") == pytest.approx(1.0, abs=1e-6)
    assert bank.reembed(Directions("new", 5)) == SIZE


def test_the_embedder_in_use_needs_no_second_round(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=old)
    fill(bank, 3)
    asked = len(old.texts)
    assert bank.reembed(old) == 0
    assert len(old.texts) == asked


def test_old_vectors_answer_while_new_ones_are_made(open_bank: OpenBank, old: Directions) -> None:
    bank, seen = open_bank(embedder=old), []
    fill(bank)

    def look(done: int, total: int) -> None:
        seen.append(similarity(bank, f"memory number {done - 1}"))

    bank.reembed(Directions("new", 5), progress=look)
    assert seen[:2] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_what_is_remembered_meanwhile_is_not_left_behind(
    open_bank: OpenBank, old: Directions
) -> None:
    bank = open_bank(embedder=old)
    fill(bank)
    late: list[str] = []

    def write(done: int, total: int) -> None:
        if not late:
            late.append(bank.remember("said meanwhile").text)

    assert bank.reembed(Directions("new", 5), progress=write) == SIZE + 1
    assert similarity(bank, "said meanwhile") == pytest.approx(1.0, abs=1e-6)


# -- others over the same file -------------------------------------------------------------------


def test_another_bank_over_the_file_notices_and_names_both(
    open_bank: OpenBank, old: Directions
) -> None:
    bank, other = open_bank(embedder=old), open_bank(embedder=old)
    fill(bank, 3)
    assert similarity(other, "memory number 1") == pytest.approx(1.0, abs=1e-6)
    bank.reembed(Directions("new", 5))
    calls: list[Callable[[], Any]] = [
        lambda: other.recall("memory number 1"),
        lambda: other.remember("something else"),
    ]
    for call in calls:
        with pytest.raises(FingerprintMismatch) as caught:
            call()
        assert "new" in caught.value.stored
        assert "old" in caught.value.given
    assert len(bank.list()) == 3


def test_a_bank_that_is_opened_afterwards_with_the_old_embedder_is_refused(
    open_bank: OpenBank, old: Directions
) -> None:
    bank = open_bank(embedder=old)
    fill(bank, 2)
    bank.reembed("hashing")
    with pytest.raises(FingerprintMismatch):
        open_bank(embedder=old).recall("memory")


def test_a_built_in_embedder_is_found_again_by_itself(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=old)
    fill(bank, 3)
    bank.reembed("hashing")
    assert similarity(open_bank(embedder="auto"), "memory number 1") == pytest.approx(1.0, abs=1e-6)


# -- to keywords and back ------------------------------------------------------------------------


def test_none_gives_the_vectors_up(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=old)
    fill(bank, 3)
    assert bank.reembed(None) == 0
    [found, *_] = bank.recall("number 1")
    assert (found.memory.text, found.similarity) == ("memory number 1", None)
    bank.remember("by keywords alone")
    assert bank.recall("alone")[0].similarity is None


def test_a_file_of_keywords_may_get_vectors_later(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=None)
    fill(bank, 3)
    assert bank.reembed(old) == 3
    assert similarity(bank, "memory number 1") == pytest.approx(1.0, abs=1e-6)


def test_an_empty_file_takes_the_new_embedder(open_bank: OpenBank, old: Directions) -> None:
    bank = open_bank(embedder=None)
    assert bank.reembed(old) == 0
    bank.remember("the first")
    assert similarity(bank, "the first") == pytest.approx(1.0, abs=1e-6)


def test_a_long_text_gets_a_vector_for_every_passage(open_bank: OpenBank, old: Directions) -> None:
    bank, new = open_bank(embedder=old), Directions("new", 5)
    bank.remember(" ".join(f"Sentence {number} about rain." for number in range(60)))
    parts = len(old.texts)
    assert parts > 1
    assert bank.reembed(new) == 1
    assert sorted(new.texts) == sorted(old.texts[:parts])
