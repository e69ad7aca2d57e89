"""What is kept of a conversation, apart from any framework."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import Draft, InvalidInput, MemoryBank
from ebbmem.context import CLOSING, OPENING
from ebbmem.turns import (
    Ledger,
    Role,
    Said,
    TurnCache,
    aturn_drafts,
    drafts_of,
    last_question,
    message_id,
    turn_drafts,
    turn_of,
    without_recalled,
)

H = Said("human", "hello", "m1")
A = Said("ai", "hi", "m2")
TOOL = Said("other", "rain", "m3")


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


# -- the last turn -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "kept"),
    [
        ("", ""),
        ("h", "h"),
        ("hahoa", "hoa"),
        ("hahh", "hh"),
        ("hhoaoa", "hhoaoa"),
        ("oa", "oa"),
        ("ohao", "hao"),
    ],
)
def test_the_last_turn_begins_with_the_humans_last_words_in_a_row(roles: str, kept: str) -> None:
    names: dict[str, Role] = {"h": "human", "a": "ai", "o": "other"}
    said = [Said(names[each], str(at)) for at, each in enumerate(roles)]
    assert "".join(each.role[0] for each in turn_of(said)) == kept
    assert turn_of(said) == said[len(said) - len(kept) :]


@given(st.lists(st.sampled_from([H, A, TOOL])))
def test_a_turn_is_the_end_of_what_was_said_and_has_its_question(said: list[Said]) -> None:
    turn = turn_of(said)
    assert said[len(said) - len(turn) :] == turn
    before = said[: len(said) - len(turn)]
    assert not before or before[-1].role != "human" or not any(s.role == "human" for s in said)
    assert last_question(turn) == last_question(said)


def test_without_a_human_there_is_no_question() -> None:
    assert last_question([A, TOOL]) == ""


# -- what is kept ------------------------------------------------------------------------------


def test_words_are_kept_with_speaker_source_and_id() -> None:
    named = Said("human", "tea", None, "Ana")
    assert drafts_of([H, TOOL, A, named], "t") == [
        Draft(text="hello", id="m1", source="t", speaker="user", metadata={"role": "human"}),
        Draft(
            text="hi",
            id="m2",
            source="t",
            speaker="assistant",
            metadata={"role": "ai"},
            trust="assistant",
        ),
        Draft(text="tea", source="t", speaker="Ana", metadata={"role": "human"}),
    ]
    assert [each.text for each in drafts_of([H, A], None, "human")] == ["hello"]
    assert drafts_of([H, A], None, "none") == []
    assert drafts_of([Said("human", " \n")], None) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("  plain  ", "  plain  "),
        (f"{OPENING} a\nb {CLOSING}\n\nWhat now?", "What now?"),
        (f"one {OPENING}x{CLOSING} two {OPENING}y{CLOSING}", "one  two"),
        (f"{OPENING} never closed", f"{OPENING} never closed"),
    ],
)
def test_what_was_recalled_is_left_out(text: str, kept: str) -> None:
    assert without_recalled(text) == kept


@given(st.text(max_size=600))
def test_any_id_becomes_one_that_a_memory_can_have(id: str) -> None:
    made = message_id(id)
    assert (made is None) == (id == "")
    if made is not None:
        assert Draft(text="-", id=made).id == made
        assert message_id(id) == made


# -- extraction --------------------------------------------------------------------------------


def test_a_turn_is_extracted_once_and_named_after_its_first_message(bank: MemoryBank) -> None:
    calls: list[object] = []

    def extract(messages: list[object]) -> list[Draft | str]:
        calls.append(messages)
        return ["a fact", Draft(text="another", source="elsewhere", id="mine")]

    turn = [Said("human", "x", "m1", message="H"), Said("ai", "y", "m2", message="A")]
    made = turn_drafts(bank, turn, "t", save="turn", extract=extract)
    assert made == [
        Draft(text="a fact", id="m1#0", source="t", trust="assistant"),
        Draft(text="another", id="mine", source="elsewhere"),
    ]
    bank.remember_many(made)
    assert turn_drafts(bank, turn, "t", save="turn", extract=extract) == []
    assert calls == [["H", "A"]]


def test_a_failed_extraction_keeps_all_the_words_also_those_kept_before(bank: MemoryBank) -> None:
    def extract(messages: list[object]) -> list[str]:
        raise ValueError

    def texts(kept: int, extract: object) -> list[str]:
        drafts = turn_drafts(bank, [H, A], None, save="turn", extract=extract, kept=kept)  # type: ignore[arg-type]
        return [each.text for each in drafts]

    assert texts(1, extract) == ["hello", "hi"]
    assert texts(1, None) == ["hi"]
    assert turn_drafts(bank, [H], None, save="none", extract=extract) == []


def test_an_async_extraction_works_where_it_can(bank: MemoryBank) -> None:
    async def extract(messages: list[object]) -> list[str]:
        return [f"{len(messages)}"]

    with pytest.raises(InvalidInput, match="extract is async"):
        turn_drafts(bank, [H], None, save="turn", extract=extract)
    made = asyncio.run(aturn_drafts(bank, [H], None, save="turn", extract=extract))
    assert [each.text for each in made] == ["1"]


def ask(cache: TurnCache, key: str, recall: Callable[[], Any]) -> Any:
    """What a turn recalled, recalled now if it did not yet."""
    found = cache.seen(key)
    return cache.first(key, recall()) if found is None else found


async def aask(cache: TurnCache, key: str, recall: Callable[[], Awaitable[Any]]) -> Any:
    """The same for an event loop."""
    found = cache.seen(key)
    return cache.first(key, await recall()) if found is None else found


# -- once a turn -------------------------------------------------------------------------------


def test_a_turn_recalls_once() -> None:
    cache, calls = TurnCache(), []

    def recall(value: int) -> int:
        calls.append(value)
        return value

    assert [ask(cache, "a", lambda: recall(1)), ask(cache, "a", lambda: recall(2))] == [1, 1]
    assert ask(cache, "b", lambda: recall(3)) == 3
    assert calls == [1, 3]


def test_the_oldest_turns_leave_and_what_fails_is_asked_again() -> None:
    cache = TurnCache(size=2)
    for key in "abc":
        ask(cache, key, lambda key=key: key)  # type: ignore[misc]
    assert ask(cache, "c", lambda: "new") == "c"
    assert ask(cache, "a", lambda: "new") == "new"
    with pytest.raises(ZeroDivisionError):
        ask(cache, "d", lambda: 1 // 0)
    assert ask(cache, "d", lambda: 1) == 1


def test_those_who_ask_at_once_get_the_same() -> None:
    cache, gate = TurnCache(), threading.Barrier(8)

    def together(number: int) -> int:
        gate.wait()
        found: int = ask(cache, "turn", lambda: number)
        return found

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(together, range(8)))) == 1


def test_so_do_those_on_a_loop() -> None:
    cache = TurnCache()

    async def recall(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*(aask(cache, "turn", lambda n=n: recall(n)) for n in range(5)))  # type: ignore[misc]

    assert len(set(asyncio.run(main()))) == 1


def test_a_copy_of_what_was_recalled_begins_empty() -> None:
    cache = TurnCache(size=7)
    ask(cache, "turn", lambda: 1)
    for copied in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert ask(copied, "turn", lambda: 2) == 2
    assert ask(cache, "turn", lambda: 3) == 1


# -- what is kept, and what is owed ------------------------------------------------------------


def test_what_was_kept_is_known_by_its_key() -> None:
    ledger = Ledger(size=2)
    ledger.keep([("a", "1"), ("b", "2"), ("c", "3")])
    assert ledger.ids("abc") == [None, "2", "3"]
    assert copy.deepcopy(ledger).ids("abc") == [None, None, None]


def test_what_is_owed_is_paid_once_the_latest_of_it() -> None:
    ledger, drafts = Ledger(owing=3), [Draft(text=each) for each in "abcd"]
    ledger.owe("here", drafts[:2])
    ledger.owe("here", drafts[2:])
    assert ledger.pay("there") == []
    assert ledger.pay("here") == drafts[1:]
    assert ledger.pay("here") == []
