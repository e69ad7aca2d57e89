"""Other memories on the same vectors."""

from __future__ import annotations

import importlib
import sys
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra bench")

from ebbmem.errors import MissingExtra
from ebbmem.evaluate.baselines import Baselines, orders
from ebbmem.evaluate.data import History, Question  # after the skip
from ebbmem.evaluate.peers import langchain
from ebbmem.evaluate.recall import Pool
from ebbmem.records import Draft
from ebbmem.testing import HashingEmbedder

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ["I keep bees behind the barn", "Bees sleep in winter", "The ferry leaves at nine"]


def pool(*questions: str, texts: list[str] = TEXTS, days: int = 1) -> Pool:
    items = tuple(
        Draft(text=text, id=f"i{at}", at=T0 + timedelta(days=days * at))
        for at, text in enumerate(texts)
    )
    asked = tuple(Question(f"q{at}", text, ("i0",), "all") for at, text in enumerate(questions))
    return Pool.of(History("h", items, asked), {f"i{at}": f"i{at}" for at in range(len(texts))})


def test_a_plain_store_ranks_as_the_vectors_do() -> None:
    given = pool("Where are the bees?", "When does the ferry leave?")
    items = list(given.items.values())
    found = langchain(given, HashingEmbedder())["LangChain, vectors"]
    for question, ranked in zip(given.questions, found, strict=True):
        scores = Baselines(items, HashingEmbedder()).scores(question.text)
        assert ranked == [items[at].id for at in orders(scores)["vector"]]


def test_as_shipped_the_newest_comes_first_and_hardly_decaying_the_most_similar() -> None:
    found = langchain(pool("Do bees sleep?", texts=TEXTS[1:], days=100), HashingEmbedder())
    # .99 ** 2400 hours is nothing, so the old one scores its cosine, which is under 1.
    assert found["LangChain, decay .01/h"] == [["i1", "i0"]]
    assert found["LangChain, decay ~0"] == [["i0", "i1"]]


def test_a_question_leaves_no_trace_for_the_next_one() -> None:
    alone = langchain(pool("When does the ferry leave?"), HashingEmbedder())
    after = langchain(pool("bees", "winter", "When does the ferry leave?"), HashingEmbedder())
    assert {name: found[-1] for name, found in after.items()} == {
        name: found[0] for name, found in alone.items()
    }


def test_zero_vectors_are_like_nothing() -> None:
    found = langchain(pool("?!", texts=["...", "bees"]), HashingEmbedder())
    assert set(found["LangChain, vectors"][0]) == {"i0", "i1"}


def test_without_the_framework_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_classic.retrievers", None)
    module = sys.modules["ebbmem.evaluate.peers"]
    with pytest.raises(MissingExtra, match=r"pip install 'ebbmem\[bench\]'"):
        importlib.reload(module)
