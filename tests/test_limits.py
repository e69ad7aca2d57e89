"""What is too large is refused by name, before it is embedded or written; the rest is taken."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import (
    AsyncMemoryBank,
    Draft,
    EbbmemError,
    ExchangeError,
    InvalidInput,
    Limits,
    MemoryBank,
    recall_across,
)
from ebbmem.checks import MOST_IDS, MOST_NUMBERS, MOST_PARTS, MOST_VALUES
from ebbmem.testing import ManualClock, TableEmbedder

SMALL = Limits(
    text=20,
    query=10,
    metadata=40,
    metadata_depth=3,
    drafts=3,
    results=4,
    budget=600,
    file=2000,
    line=1500,
)


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder({}, default=[1.0, 0.0])


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    """Holds one memory, `kept`, and takes little."""
    made = open_bank(embedder=embedder, limits=SMALL)
    made.remember("kept", id="kept")
    return made


def told(bank: MemoryBank) -> str:
    out = io.StringIO()
    bank.export_jsonl(out)
    return out.getvalue()


# -- the values ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True, 2**41, 10**4000])
def test_a_limit_that_is_no_size_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        Limits(**{name: value})
    assert caught.value.field == name


def test_a_limit_says_what_it_is_and_nobody_sets_it_over_what_values_bear() -> None:
    assert all(name in (Limits.__doc__ or "") for name in (each.name for each in fields(Limits)))
    with pytest.raises(InvalidInput, match=r"^metadata_depth must be at most 32$"):
        Limits(metadata_depth=33)


def test_what_is_no_limits_is_refused_and_opens_nothing(open_bank: OpenBank, file: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^limits must be a Limits, not dict$"):
        open_bank(limits={"text": 5})
    assert not file.exists()


def test_siblings_share_them(bank: MemoryBank) -> None:
    assert bank.at("u2").limits is bank.beside("docs").limits is SMALL


def test_they_are_of_the_opening_and_not_of_the_file(open_bank: OpenBank, bank: MemoryBank) -> None:
    bank.close()
    other = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    assert other.limits == Limits()
    long = other.remember("x" * 21)
    other.close()
    again = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), limits=SMALL)
    assert again.get(long.id).text == "x" * 21  # what is there is read, whatever its size


# -- each of them ----------------------------------------------------------------------------

Call = Callable[[MemoryBank], object]
DEEP = {"a": [[["x"]]]}
REFUSED: dict[str, tuple[Call, str]] = {
    "text": (
        lambda bank: bank.remember("x" * 21),
        "text is 21 characters long, at most 20 are allowed (Limits.text)",
    ),
    "text of a batch": (
        lambda bank: bank.remember_many(["good", Draft(text="x" * 21)]),
        "text is 21 characters long, at most 20 are allowed (Limits.text)",
    ),
    "text of a write": (
        lambda bank: bank.write({("u2",): ["good"], ("u1",): ["x" * 21]}),
        "text is 21 characters long, at most 20 are allowed (Limits.text)",
    ),
    "text of an update": (
        lambda bank: bank.update("kept", text="x" * 21),
        "text is 21 characters long, at most 20 are allowed (Limits.text)",
    ),
    "known": (
        lambda bank: bank.known(["x" * 21]),
        "text is 21 characters long, at most 20 are allowed (Limits.text)",
    ),
    "metadata": (  # {"a": "..."} is 9 bytes and 3 for each
        lambda bank: bank.remember("new", metadata={"a": "猫" * 12}),
        "metadata is 45 bytes long, at most 40 are allowed (Limits.metadata)",
    ),
    "metadata of an update": (
        lambda bank: bank.update("kept", metadata={"a": "x" * 40}),
        "metadata is 49 bytes long, at most 40 are allowed (Limits.metadata)",
    ),
    "depth": (
        lambda bank: bank.remember("new", metadata={"a": {"b": {"c": {}}}}),
        "metadata is nested more than 3 deep",
    ),
    "drafts": (
        lambda bank: bank.remember_many(["a", "b", "c", "d"]),
        "drafts are more than 3, at most 3 are allowed in one call (Limits.drafts)",
    ),
    "drafts without end": (
        lambda bank: bank.remember_many(f"text {number}" for number in itertools.count()),
        "drafts are more than 3, at most 3 are allowed in one call (Limits.drafts)",
    ),
    "query": (
        lambda bank: bank.recall("x" * 11),
        "query is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "query that is a vector": (
        lambda bank: bank.recall([1.0] * 11),
        "query is 11 numbers long, at most 10 are allowed (Limits.query)",
    ),
    "query of a context": (
        lambda bank: bank.context("x" * 11),
        "query is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "query of an explanation": (
        lambda bank: bank.explain("x" * 11, "kept"),
        "query is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "question of a probe": (
        lambda bank: bank.add_probe("x" * 11, ["kept"]),
        "question is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "query of a use": (
        lambda bank: bank.reinforce("kept", query="x" * 11),
        "query is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "query to several": (
        lambda bank: recall_across([bank], "x" * 11),
        "query is 11 characters long, at most 10 are allowed (Limits.query)",
    ),
    "results": (lambda bank: bank.recall("q", 5), "k must be at most 4 (Limits.results)"),
    "results of a context": (
        lambda bank: bank.context("q", k=5),
        "k must be at most 4 (Limits.results)",
    ),
    "results of a rerank": (
        lambda bank: bank.rerank({"kept": 1.0}, 5),
        "k must be at most 4 (Limits.results)",
    ),
    "results of a probe": (lambda bank: bank.probe(5), "k must be at most 4 (Limits.results)"),
    "budget": (
        lambda bank: bank.context("q", k=4, budget=601),
        "budget must be at most 600 (Limits.budget)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_too_large_is_refused_by_name_and_changes_nothing(
    bank: MemoryBank, embedder: TableEmbedder, name: str
) -> None:
    call, message = REFUSED[name]
    before, calls = told(bank), embedder.calls
    with pytest.raises(InvalidInput) as caught:
        call(bank)
    assert str(caught.value) == message
    assert (told(bank), embedder.calls) == (before, calls)


@pytest.mark.parametrize("name", ["text", "query", "results of a probe", "budget", "drafts"])
def test_on_a_loop_it_is_refused_before_the_embedder_is_awaited(
    bank: MemoryBank, embedder: TableEmbedder, name: str
) -> None:
    calls: dict[str, Callable[[AsyncMemoryBank], Any]] = {
        "text": lambda bank: bank.remember("x" * 21),
        "query": lambda bank: bank.recall("x" * 11),
        "results of a probe": lambda bank: bank.probe(5),
        "budget": lambda bank: bank.context("q", k=4, budget=601),
        "drafts": lambda bank: bank.remember_many(["a", "b", "c", "d"]),
    }
    asked = embedder.calls
    with pytest.raises(InvalidInput) as caught:
        asyncio.run(calls[name](AsyncMemoryBank(bank)))
    assert str(caught.value) == REFUSED[name][1]
    assert name == "budget" or embedder.calls == asked
    assert AsyncMemoryBank(bank).limits is SMALL


def test_what_is_just_small_enough_is_taken(bank: MemoryBank) -> None:
    kept = bank.remember("x" * 20, metadata={"a": "x" * 31})
    assert json.dumps(dict(kept.metadata)) == '{"a": "' + "x" * 31 + '"}'
    assert bank.remember("flat", metadata={"a": [[1]]}).metadata == {"a": [[1]]}
    assert len(bank.remember_many(["a", "b", "c"])) == 3
    assert len(bank.recall("x" * 10, 4, min_similarity=-1.0)) == 4
    assert bank.context("q", k=4, budget=600) is not None


# -- files -----------------------------------------------------------------------------------


def exported(*texts: str) -> str:
    with MemoryBank.open(namespace="other", embedder=None, clock=ManualClock()) as other:
        other.remember_many(Draft(text=text, id=text[:8]) for text in texts)
        return told(other)


def test_an_item_that_is_too_large_is_named_by_its_line(bank: MemoryBank) -> None:
    large = {"type": "entity", "name": "a", "entityType": "p", "observations": ["x" * 18]}
    small = {**large, "observations": ["x"]}
    lines = "\n".join(map(json.dumps, [small, large, small, large]))
    before = told(bank)
    with pytest.raises(ExchangeError) as caught:
        bank.import_file(io.StringIO(lines))
    reason = "text is 21 characters long, at most 20 are allowed (Limits.text)"
    assert caught.value.problems == ((2, reason), (4, reason))
    assert told(bank) == before


def test_a_line_that_is_too_long_is_named(bank: MemoryBank) -> None:
    line = json.dumps({"type": "relation", "from": "a", "relationType": "猫" * 300, "to": "b"})
    with pytest.raises(ExchangeError) as caught:
        bank.import_file(io.StringIO(f"{line[:20]}\n{line}"), format="mcp")
    size = len(line)  # escaped, so that its bytes are its characters
    reason = f"line is {size:,} bytes long, at most 1,500 are allowed (Limits.line)"
    assert caught.value.problems == ((2, reason),)


@pytest.mark.parametrize("how", ["path", "stream"])
def test_a_file_that_is_too_large_is_refused(bank: MemoryBank, tmp_path: Any, how: str) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text("\n" * 2001, encoding="utf-8")
    given = path if how == "path" else io.StringIO("猫" * 667)
    with pytest.raises(InvalidInput, match=r"longer than 2,000 bytes.*\(Limits\.file\)"):
        bank.import_file(given)


def test_a_stream_without_an_end_is_not_waited_for(bank: MemoryBank) -> None:
    class Endless(io.TextIOBase):
        read_at_once: tuple[int, ...] = ()

        def read(self, size: int | None = -1) -> str:
            self.read_at_once += (size or -1,)
            return " " * max(size or 0, 1)

    stream = Endless()
    with pytest.raises(InvalidInput, match=r"Limits\.file"):
        bank.import_file(stream)  # type: ignore[arg-type]
    assert stream.read_at_once == (2**20,)


def test_what_one_bank_exports_another_of_the_same_limits_takes(open_bank: OpenBank) -> None:
    limits = Limits(text=400, metadata=400, line=6 * 400 + 400 + 1500)
    bank = open_bank(limits=limits)
    bank.remember("\x01" * 399 + "x", metadata={"a": "\\" * 190})  # six bytes a character
    file = told(bank)
    assert bank.at("u2").import_file(io.StringIO(file))["u2",].new == 1


# -- what values refuse, whoever made them ---------------------------------------------------


def endless(value: object) -> Any:
    return itertools.repeat(value)


HARD: dict[str, tuple[Call, str]] = {
    "ids": (lambda bank: bank.pin(endless("kept")), f"ids are more than {MOST_IDS:,}"),
    "excluded": (
        lambda bank: bank.recall("q", exclude=endless("kept")),
        f"exclude are more than {MOST_IDS:,}",
    ),
    "supersedes": (
        lambda bank: bank.remember("new", supersedes=endless("kept")),
        f"supersedes are more than {MOST_IDS:,}",
    ),
    "vector": (
        lambda bank: bank.recall(endless(1.0)),
        f"query is a vector of more than {MOST_NUMBERS:,} numbers",
    ),
    "namespace": (
        lambda bank: bank.at(*["a"] * (MOST_PARTS + 1)),
        f"namespace has more than {MOST_PARTS} names",
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_what_has_no_end_is_not_waited_for(open_bank: OpenBank, name: str) -> None:
    bank = open_bank()
    bank.remember("kept", id="kept")
    call, message = HARD[name]
    with pytest.raises(InvalidInput) as caught:
        call(bank)
    assert str(caught.value).startswith(message)


def laughs(levels: int) -> dict[str, Any]:
    """An object of a few lists that is 2**levels values when it is written out."""
    value: list[Any] = ["ha"]
    for _ in range(levels):
        value = [value, value]
    return {"a": value}


@pytest.mark.parametrize("door", ["remember", "update", "where"])
def test_what_holds_itself_twice_at_every_level_is_refused(open_bank: OpenBank, door: str) -> None:
    bank = open_bank()
    bank.remember("kept", id="kept")
    calls: dict[str, Callable[[], object]] = {
        "remember": lambda: bank.remember("x", metadata=laughs(28)),
        "update": lambda: bank.update("kept", metadata=laughs(28)),
        "where": lambda: bank.list(where={"$or": [laughs(28)]}),
    }
    with pytest.raises(InvalidInput, match=f"holds more than {MOST_VALUES:,} values"):
        calls[door]()


def test_a_long_text_that_occurs_often_is_counted_as_often() -> None:
    part = "x" * 2**20
    with pytest.raises(InvalidInput, match=r"metadata holds more than 268,435,456 characters"):
        Draft(text="x", metadata={"a": [part] * 257})


def test_a_long_key_costs_no_more_than_itself() -> None:
    key = "k" * 2**20
    kept = Draft(text="x", metadata={key: list(range(20_000))})
    assert len(kept.metadata[key]) == 20_000
    with pytest.raises(InvalidInput) as caught:
        Draft(text="x", metadata={key: [float("nan")]})
    assert caught.value.field == "metadata." + "k" * 80 + "[0]"


@pytest.mark.parametrize("call", [lambda bank: bank.recall("q", 10**5000)], ids=["k"])
def test_a_number_too_long_to_print_is_refused_by_its_name(open_bank: OpenBank, call: Call) -> None:
    with pytest.raises(EbbmemError, match=r"^k must be"):
        call(open_bank())
