"""The same records, question and clock, through both frameworks and the bank itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")
pytest.importorskip("langchain_core", reason="needs the extra langchain")

from hypothesis import event, given, settings
from hypothesis import strategies as st
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.memory.ebbmem import EbbinghausPostprocessor, EbbinghausRetriever

import langchain_ebbmem
from ebbmem import Draft, MemoryBank
from ebbmem.testing import ManualClock

WORDS = "anna bob drinks green black tea coffee sun sea rain likes never".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@dataclass(frozen=True)
class Said:
    text: str
    category: str
    speaker: str | None
    topic: str
    days: int  # until the next one


@dataclass(frozen=True)
class Found:
    id: str
    text: str
    score: float
    strength: float


SAID = st.builds(
    Said,
    SENTENCES,
    st.sampled_from(["fact", "strategy", "failure"]),
    st.sampled_from([None, "Anna", "Bob"]),
    st.sampled_from(["hot", "cold"]),
    st.integers(0, 20),
)
OPTIONS = st.fixed_dictionaries(
    {
        "k": st.integers(1, 8),
        "reinforce": st.booleans(),
        "min_similarity": st.sampled_from([None, -1.0, 0.3]),
        "where": st.sampled_from([None, {"topic": "hot"}, {"topic": {"$ne": "hot"}}]),
        "least": st.sampled_from([0.0, 0.2]),
    }
)


def built(said: list[Said], embedder: object) -> tuple[MemoryBank, ManualClock]:
    """A bank that has heard all this, with a clock of its own."""
    clock = ManualClock()
    bank = MemoryBank.open(namespace="a", embedder=embedder, clock=clock)
    for at, each in enumerate(said):
        draft = Draft(
            text=each.text,
            id=f"m{at}",
            keyed=True,
            category=each.category,
            speaker=each.speaker,
            source="talk",
            metadata={"topic": each.topic},
        )
        bank.remember_many([draft])
        clock.advance(days=each.days)
    return bank, clock


def asked(bank: MemoryBank, question: str, options: dict[str, Any]) -> list[Found]:
    hits = bank.recall(
        question,
        options["k"],
        where=options["where"],
        reinforce=options["reinforce"],
        min_similarity=options["min_similarity"],
        min_score=options["least"],
    )
    return [Found(each.memory.id, each.memory.text, each.score, each.strength) for each in hits]


def through_langchain(bank: MemoryBank, question: str, options: dict[str, Any]) -> list[Found]:
    retriever = langchain_ebbmem.EbbinghausRetriever(
        memory=bank,
        k=options["k"],
        filter=options["where"],
        reinforce=options["reinforce"],
        min_similarity=options["min_similarity"],
        score_threshold=options["least"],
        include_scores=True,
    )
    return [
        Found(str(each.id), each.page_content, each.metadata["score"], each.metadata["strength"])
        for each in retriever.invoke(question)
    ]


def retriever_of(bank: MemoryBank, options: dict[str, Any]) -> EbbinghausRetriever:
    return EbbinghausRetriever(
        bank,
        k=options["k"],
        where=options["where"],
        reinforce=options["reinforce"],
        min_similarity=options["min_similarity"],
        min_score=options["least"],
    )


def seen(nodes: list[NodeWithScore]) -> list[Found]:
    return [
        Found(each.node_id, each.text, each.get_score(True), each.metadata["strength"])
        for each in nodes
    ]


def through_llamaindex(bank: MemoryBank, question: str, options: dict[str, Any]) -> list[Found]:
    return seen(retriever_of(bank, options).retrieve(question))


def through_its_loop(bank: MemoryBank, question: str, options: dict[str, Any]) -> list[Found]:
    return seen(asyncio.run(retriever_of(bank, options).aretrieve(question)))


WAYS = (asked, through_langchain, through_llamaindex, through_its_loop)


def lives(bank: MemoryBank) -> list[tuple[str, int, datetime | None]]:
    listed = bank.list(include_faded=True)
    return [(each.id, each.recall_count, each.last_reinforced_at) for each in listed]


@settings(deadline=None)
@given(
    said=st.lists(SAID, max_size=10),
    questions=st.lists(st.tuples(SENTENCES, st.integers(0, 5)), min_size=1, max_size=3),
    options=OPTIONS,
    embedder=st.sampled_from([None, "hashing"]),
)
def test_every_way_to_ask_gives_the_same_and_leaves_the_same_behind(
    said: list[Said],
    questions: list[tuple[str, int]],
    options: dict[str, Any],
    embedder: object,
) -> None:
    banks = [built(said, embedder) for _ in WAYS]
    try:
        for question, days in questions:
            answers = []
            for (bank, clock), way in zip(banks, WAYS, strict=True):
                answers.append(way(bank, question, options))
                clock.advance(days=days)
            assert answers == [answers[0]] * len(WAYS)
            event("something was found" if answers[0] else "nothing was found")
        left = [lives(bank) for bank, _ in banks]
        assert left == [left[0]] * len(WAYS)
    finally:
        for bank, _ in banks:
            bank.close()


def test_what_was_used_is_counted_whichever_way_it_was_asked_for() -> None:
    said = [Said("anna drinks green tea", "fact", None, "hot", 1)]
    options = {"k": 3, "reinforce": True, "min_similarity": None, "where": None, "least": 0.0}
    for way in WAYS:
        bank, _ = built(said, None)
        with bank:
            assert [each.id for each in way(bank, "green tea", options)] == ["m0"]
            assert [count for _, count, _ in lives(bank)] == [1]


@settings(deadline=None)
@given(
    rounds=st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abcde"), st.floats(0.0, 1.0), min_size=1),
            st.integers(0, 60),
        ),
        max_size=5,
    ),
    top=st.integers(1, 6),
    reinforce=st.booleans(),
)
def test_a_postprocessor_ranks_as_the_bank_does(
    rounds: list[tuple[dict[str, float], int]], top: int, reinforce: bool
) -> None:
    clock = ManualClock()
    with MemoryBank.open(namespace="a", embedder=None, clock=clock) as bank:
        decay = EbbinghausPostprocessor(memory=bank, top_n=top, reinforce=reinforce)
        for relevance, days in rounds:
            nodes = [
                NodeWithScore(node=TextNode(id_=id, text=id), score=score)
                for id, score in relevance.items()
            ]
            ranked = bank.beside("twin").rerank(relevance, top, reinforce=reinforce)
            after = decay.postprocess_nodes(nodes)
            assert [(each.node_id, each.score) for each in after] == [
                (each.id, each.score) for each in ranked
            ]
            clock.advance(days=days)
