"""`remember_many(rewrite=True)`: a message may be delivered twice, or edited. And what is in the
file already is not embedded again."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from builders import OpenBank
from ebbmem import AsyncMemoryBank, Draft, Held, InvalidInput, Memory, MemoryBank
from ebbmem.testing import HashingEmbedder, ManualClock


class Counting(HashingEmbedder):
    """Keeps every document it was asked to encode."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode_documents(self, texts):  # type: ignore[no-untyped-def]
        self.asked += texts
        return super().encode_documents(texts)

    async def aencode_documents(self, texts):  # type: ignore[no-untyped-def]
        return self.encode_documents(texts)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def bank(open_bank: OpenBank, embedder: Counting) -> MemoryBank:
    return open_bank(embedder=embedder)


def deliver(bank: MemoryBank, text: str, id: str = "m1", source: str = "t") -> Memory:
    draft = Draft(text=text, id=id, source=source, speaker="user")
    return bank.remember_many([draft], rewrite=True)[0]


def facts(bank: MemoryBank) -> list[tuple[str, str, int]]:
    return [(each.id, each.text, each.recall_count) for each in bank.list(include_faded=True)]


def test_the_same_message_again_is_no_use_of_it_however_late(
    bank: MemoryBank, clock: ManualClock
) -> None:
    first = deliver(bank, "I like tea")
    clock.advance(days=3)
    assert deliver(bank, "I like tea") == first
    assert facts(bank) == [("m1", "I like tea", 0)]


def test_the_same_words_in_another_message_are_said_again(
    bank: MemoryBank, clock: ManualClock
) -> None:
    deliver(bank, "I like tea")
    clock.advance(days=3)
    assert deliver(bank, "I like tea", "m2").id == "m1"
    assert facts(bank) == [("m1", "I like tea", 1)]


def test_an_edited_message_gets_its_new_words_and_the_old_are_not_found(
    bank: MemoryBank, clock: ManualClock
) -> None:
    first = deliver(bank, "I live in Bonn")
    clock.advance(days=1)
    second = deliver(bank, "I live in Ulm")
    assert (second.id, second.text, second.created_at) == ("m1", "I live in Ulm", first.created_at)
    assert bank.recall("Bonn") == []
    assert [hit.memory.id for hit in bank.recall("Ulm")] == ["m1"]
    assert not second.keyed


def test_a_message_edited_to_what_another_says_is_that_one(
    bank: MemoryBank, clock: ManualClock
) -> None:
    deliver(bank, "I live in Ulm", "m1")
    deliver(bank, "I live in Bonn", "m2")
    clock.advance(days=1)
    assert deliver(bank, "I live in Ulm", "m2").id == "m1"
    assert facts(bank) == [("m1", "I live in Ulm", 1)]


def test_a_fork_does_not_take_a_message_away_from_its_thread(bank: MemoryBank) -> None:
    deliver(bank, "I like tea", source="t1")
    assert deliver(bank, "I like tea", source="t2").source == "t1"


def test_one_that_had_faded_comes_back(bank: MemoryBank, clock: ManualClock) -> None:
    deliver(bank, "I like tea")
    clock.advance(days=300)
    bank.prune()
    assert bank.list() == []
    deliver(bank, "I like tea")
    assert facts(bank) == [("m1", "I like tea", 0)]
    assert [each.status for each in bank.list()] == ["active"]


def test_one_under_hold_is_not_reworded_and_nothing_is_written(bank: MemoryBank) -> None:
    deliver(bank, "I like tea")
    bank.hold("m1")
    with pytest.raises(Held):
        bank.remember_many(
            [Draft(text="new", id="m0"), Draft(text="I like milk", id="m1")], rewrite=True
        )
    assert facts(bank) == [("m1", "I like tea", 0)]
    deliver(bank, "I like tea")


def test_without_it_an_id_with_other_words_is_refused(bank: MemoryBank) -> None:
    deliver(bank, "I like tea")
    with pytest.raises(InvalidInput, match="id"):
        bank.remember("I like milk", id="m1")
    with pytest.raises(InvalidInput, match="rewrite"):
        bank.remember_many(["tea"], rewrite="yes")  # type: ignore[arg-type]


def test_many_who_deliver_at_once_leave_one_record(bank: MemoryBank) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: deliver(bank, f"version {n % 2}"), range(40)))
    [(id_, text, _)] = facts(bank)
    assert id_ == "m1"
    assert [hit.memory.text for hit in bank.recall(text)] == [text]


# -- what is in the file already is not embedded again ---------------------------------------------


def test_only_new_words_are_embedded(bank: MemoryBank, embedder: Counting) -> None:
    deliver(bank, "I like tea")
    assert embedder.asked == ["user: I like tea"]
    deliver(bank, "I like tea")
    deliver(bank, "I like tea", "m2")
    bank.remember("Something else")
    assert embedder.asked == ["user: I like tea", "Something else"]
    bank.remember_many([Draft(text="I like tea", speaker="user"), "Something else", "new", "new"])
    assert embedder.asked == ["user: I like tea", "Something else", "new"]


def test_new_metadata_of_a_keyed_record_embeds_nothing(
    bank: MemoryBank, embedder: Counting
) -> None:
    for number in range(3):
        bank.remember("I like tea", id="k", keyed=True, metadata={"n": number})
    assert embedder.asked == ["I like tea"]
    assert [each.metadata for each in bank.list()] == [{"n": 2}]
    assert [hit.memory.id for hit in bank.recall("tea")] == ["k"]


def test_who_said_it_belongs_to_the_words(bank: MemoryBank, embedder: Counting) -> None:
    bank.remember("I like tea", id="a", keyed=True, speaker="Ana")
    bank.remember("I like tea", id="a", keyed=True, speaker="Ben")
    assert embedder.asked == ["Ana: I like tea", "Ben: I like tea"]


def test_the_vectors_that_are_taken_over_are_those_that_were_made(
    bank: MemoryBank, embedder: Counting
) -> None:
    long = " ".join(f"word{n}" for n in range(200))
    bank.remember(long, id="a", keyed=True)
    made = len(embedder.asked)
    bank.remember(long, id="a", keyed=True, metadata={"n": 1})
    bank.remember(long)  # the first without a key: its words are known by the key's record alone
    assert len(embedder.asked) == 2 * made
    bank.remember(long, id="b", speaker=None, metadata={})
    first, second = bank.list()
    vectors = bank.vectors([first.id, second.id])
    assert (vectors[first.id] == vectors[second.id]).all()


def test_an_event_loop_embeds_as_little(bank: MemoryBank, embedder: Counting) -> None:
    async def main() -> None:
        live = AsyncMemoryBank(bank)
        for _ in range(3):
            await live.remember_many([Draft(text="I like tea", id="m1")], rewrite=True)
            await live.write({("u1",): [Draft(text="milk", id="k", keyed=True)]})
            await live.remember("honey")

    asyncio.run(main())
    assert embedder.asked == ["I like tea", "milk", "honey"]


def test_after_another_embedder_its_vectors_are_taken_over(
    bank: MemoryBank, embedder: Counting
) -> None:
    asked: list[str] = []

    def constant(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, 0.5, 0.25] for _ in texts]

    tea = bank.remember("I like tea")
    bank.reembed(constant)
    bank.remember("I like tea")
    assert (embedder.asked, asked) == (["I like tea"], ["dimension", "I like tea"])
    assert bank.vectors([tea.id])[tea.id].shape == (3,)
