"""EbbinghausVectorStore: LangChain's vector store, over a bank that forgets."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("langchain_classic", reason="needs the extra classic")

from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.load import dumpd
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from numpy.typing import NDArray

from builders import OpenBank, a_memory, a_recollection
from ebbmem import (
    AsyncMemoryBank,
    EmbeddingError,
    FingerprintMismatch,
    Held,
    InvalidInput,
    MemoryBank,
    Policy,
    StoreError,
    StoreUnreadable,
)
from ebbmem.testing import ManualClock
from kit import SlowEmbeddings
from langchain_ebbmem import EbbinghausRetriever, EbbinghausVectorStore
from langchain_ebbmem.searching import differing
from tables import Table

VECTORS = {
    "tea": (1.0, 0.0, 0.0),
    "chai": (0.98, 0.199, 0.0),
    "coffee": (0.6, 0.8, 0.0),
    "rain": (0.0, 0.0, 1.0),
    "drink": (1.0, 0.0, 0.0),
}
TEXTS = ["tea", "chai", "coffee", "rain"]


def table() -> Table:
    return Table(VECTORS, (0.0, 1.0, 0.0))


@pytest.fixture
def store(open_bank: OpenBank) -> EbbinghausVectorStore:
    """Four texts, whose ids are the texts."""
    made = EbbinghausVectorStore(memory=open_bank(embedder=table()))
    made.add_texts(TEXTS, [{"n": i} for i in range(4)], ids=TEXTS)
    return made


@pytest.fixture
def closing() -> Iterator[Callable[[EbbinghausVectorStore], EbbinghausVectorStore]]:
    opened: list[EbbinghausVectorStore] = []

    def keep(store: EbbinghausVectorStore) -> EbbinghausVectorStore:
        opened.append(store)
        return store

    yield keep
    for each in opened:
        each.memory.close()


Closing = Callable[[EbbinghausVectorStore], EbbinghausVectorStore]


def ids(documents: list[Document]) -> list[str | None]:
    return [each.id for each in documents]


def counts(store: EbbinghausVectorStore) -> dict[str, int]:
    return {each.id: each.recall_count for each in store.memory.list(include_faded=True)}


UNUSED = dict.fromkeys(TEXTS, 0)


# -- writing --------------------------------------------------------------------------------


def test_a_text_under_an_id_that_is_there_takes_its_place(store: EbbinghausVectorStore) -> None:
    before = store.memory.get("tea").created_at
    assert store.add_texts(["rain"], [{"new": True}], ids=["tea"]) == ["tea"]
    expected = Document(id="tea", page_content="rain", metadata={"new": True})
    assert store.get_by_ids(["tea"]) == [expected]
    assert store.memory.get("tea").created_at == before
    assert len(store.memory.list()) == 4
    assert "tea" not in ids(store.similarity_search("drink", k=2))


def test_what_the_bank_remembered_in_another_way_is_rewritten_too(
    store: EbbinghausVectorStore,
) -> None:
    memory = store.memory.remember("Anna drinks tea")
    [found] = store.get_by_ids([memory.id])
    found.page_content = "Anna drinks coffee"
    assert store.add_documents([found]) == [memory.id]
    assert store.memory.get(memory.id).text == "Anna drinks coffee"


def test_the_same_text_twice_is_two_documents(store: EbbinghausVectorStore) -> None:
    assert len({*store.add_texts(["tea", "tea"])}) == 2
    assert len(store.memory.list()) == 6


def test_ids_are_made_for_those_that_have_none(store: EbbinghausVectorStore) -> None:
    first, second = store.add_documents([Document("one", id="mine"), Document("two")])
    assert first == "mine"
    assert [each.page_content for each in store.get_by_ids([first, second])] == ["one", "two"]


def test_two_under_one_id_in_one_call_are_refused(store: EbbinghausVectorStore) -> None:
    with pytest.raises(InvalidInput, match="'x' is given twice"):
        store.add_texts(["one", "two"], ids=["x", "x"])
    assert {*counts(store)} == {*TEXTS}


def test_metadata_comes_back_as_it_was_and_the_callers_is_left_alone(
    store: EbbinghausVectorStore,
) -> None:
    metadata = {"tags": ["a", {"b": None}], "score": 0.5, "strength": "mine", "ok": True}
    given = Document("note", id="note", metadata=metadata)
    before = given.model_copy(deep=True)
    store.add_documents([given])
    assert given == before
    [found] = store.get_by_ids(["note"])
    assert found == before
    found.metadata["tags"].append("poison")
    assert store.get_by_ids(["note"]) == [before]


@pytest.mark.parametrize("name", ["namespace", "top_k", "embedding"])
def test_an_option_that_does_not_exist_is_refused(name: str, store: EbbinghausVectorStore) -> None:
    calls: list[Callable[..., Any]] = [
        lambda **kw: store.add_texts(["x"], **kw),
        lambda **kw: store.similarity_search("drink", **kw),
        lambda **kw: store.similarity_search_with_relevance_scores("drink", **kw),
        lambda **kw: store.max_marginal_relevance_search("drink", **kw),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=f"has no {name}; known are"):
            call(**{name: "bob"})
    assert len(store.memory.list()) == 4


def test_30_an_embedder_that_fails_leaves_everything_as_it_was(open_bank: OpenBank) -> None:
    failing = table()
    store = EbbinghausVectorStore(memory=open_bank(embedder=failing))
    store.add_texts(["tea"], ids=["tea"])
    failing.fails = True
    with pytest.raises(EmbeddingError):
        store.add_texts(["coffee", "rain"], ids=["tea", "new"])
    with pytest.raises(EmbeddingError):
        store.similarity_search("a new question")
    failing.fails = False
    assert [each.text for each in store.memory.list(include_faded=True)] == ["tea"]
    assert counts(store) == {"tea": 0}
    assert ids(store.similarity_search("drink")) == ["tea"]


def test_deleting_passes_over_what_is_not_there(store: EbbinghausVectorStore) -> None:
    assert store.delete(["tea", "nobody"]) is True
    assert store.delete([]) is True
    assert {*counts(store)} == {"chai", "coffee", "rain"}


def test_deleting_everything_stays_within_the_namespace(store: EbbinghausVectorStore) -> None:
    other = EbbinghausVectorStore(memory=store.memory, namespace="other")
    other.add_texts(["tea"], ids=["tea"])
    assert store.delete() is True
    assert counts(store) == {}
    assert ids(other.similarity_search("drink")) == ["tea"]


def test_what_is_held_is_not_deleted_and_nothing_else_of_the_call_is(
    store: EbbinghausVectorStore,
) -> None:
    store.memory.hold("tea")
    with pytest.raises(Held):
        store.delete(["rain", "tea"])
    assert {*counts(store)} == {*TEXTS}


# -- searching ------------------------------------------------------------------------------


def test_k_documents_are_found_where_there_are_as_many(store: EbbinghausVectorStore) -> None:
    assert [len(store.similarity_search("drink", k=k)) for k in (1, 3, 4, 9)] == [1, 3, 4, 4]
    assert len(store.similarity_search("drink", k=9, min_similarity=0.5)) == 3


@pytest.mark.parametrize("chosen", [
    {"n": {"$gte": 2}}, lambda document: document.metadata["n"] >= 2,
    lambda document: document.id in ("coffee", "rain"),
])  # fmt: skip
def test_a_filter_chooses_before_the_first_k_are_taken(
    chosen: Any, store: EbbinghausVectorStore
) -> None:
    query = list(VECTORS["drink"])
    paths = [
        store.similarity_search("drink", k=2, filter=chosen),
        [each for each, _ in store.similarity_search_with_score("drink", k=2, filter=chosen)],
        store.similarity_search_by_vector(query, k=2, filter=chosen),
        store.max_marginal_relevance_search("drink", k=2, fetch_k=2, filter=chosen),
        store.max_marginal_relevance_search_by_vector(query, k=2, fetch_k=2, filter=chosen),
    ]
    assert [{*ids(found)} for found in paths] == [{"coffee", "rain"}] * 5


def test_a_blank_question_brings_nothing_to_mind(store: EbbinghausVectorStore) -> None:
    assert store.similarity_search("  ") == []
    assert store.max_marginal_relevance_search("") == []
    assert asyncio.run(store.asimilarity_search("\n")) == []
    assert counts(store) == UNUSED


def test_16_a_filter_is_run_off_the_loop(store: EbbinghausVectorStore) -> None:
    threads: set[threading.Thread] = set()

    def chosen(_: Document) -> bool:
        threads.add(threading.current_thread())
        return True

    retriever = EbbinghausRetriever(memory=store.memory, filter=chosen)
    for question in (
        store.asimilarity_search("drink", filter=chosen),
        store.amax_marginal_relevance_search("drink", filter=chosen),
        retriever.ainvoke("drink", score_threshold=0.0),
    ):
        threads.clear()
        asyncio.run(question)  # type: ignore[arg-type]
        assert threads
        assert threading.current_thread() not in threads


def test_a_vector_finds_what_its_text_finds(store: EbbinghausVectorStore) -> None:
    quiet = {"k": 4, "reinforce": False}
    found = store.similarity_search_by_vector(list(VECTORS["drink"]), **quiet)
    assert ids(found) == ids(store.similarity_search("drink", **quiet)) == TEXTS


def test_24_scores_lie_in_0_and_1_and_follow_similarity(store: EbbinghausVectorStore) -> None:
    scored = store.similarity_search_with_relevance_scores("drink", k=4)
    assert [document.id for document, _ in scored] == TEXTS
    scores = [score for _, score in scored]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert store._select_relevance_score_fn()(0.25) == 0.25


@pytest.mark.parametrize("length", [0.01, 1.0, 1000.0])
def test_24_vectors_of_any_length_score_the_same(
    length: float, open_bank: OpenBank, store: EbbinghausVectorStore
) -> None:
    longer = Table({text: [length * x for x in row] for text, row in VECTORS.items()})
    other = EbbinghausVectorStore(memory=open_bank(path=":memory:", embedder=longer))
    other.add_texts(TEXTS, ids=TEXTS)
    scores = [
        [score for _, score in each.similarity_search_with_score("drink", reinforce=False)]
        for each in (store, other)
    ]
    assert scores[1] == pytest.approx(scores[0], abs=1e-6)


def test_24_a_threshold_means_at_least(store: EbbinghausVectorStore) -> None:
    quiet = {"k": 4, "reinforce": False}
    _, (_, second), *_ = store.similarity_search_with_relevance_scores("drink", **quiet)
    found = store.similarity_search_with_relevance_scores("drink", score_threshold=second, **quiet)
    assert [document.id for document, _ in found] == ["tea", "chai"]


def test_scores_are_in_the_metadata_on_request_alone(open_bank: OpenBank) -> None:
    store = EbbinghausVectorStore(memory=open_bank(embedder=table()), include_scores=True)
    store.add_texts(["tea"])
    [found] = store.similarity_search("drink")
    assert {*found.metadata} == {"score", "strength"}
    [plain] = store.similarity_search("drink", include_scores=False)
    assert plain.metadata == {}


# -- choosing what differs ------------------------------------------------------------------


def test_marginal_relevance_leaves_out_what_says_the_same(store: EbbinghausVectorStore) -> None:
    by_text = store.max_marginal_relevance_search("drink", k=2, lambda_mult=0.3)
    by_vector = store.max_marginal_relevance_search_by_vector(
        list(VECTORS["drink"]), k=2, lambda_mult=0.3
    )
    assert ids(by_text) == ids(by_vector) == ["tea", "rain"]
    assert ids(store.max_marginal_relevance_search("drink", k=2, lambda_mult=1.0)) == [
        "tea",
        "chai",
    ]
    assert ids(store.max_marginal_relevance_search("drink", k=2, fetch_k=2)) == ["tea", "chai"]
    assert len(store.max_marginal_relevance_search("drink", k=3, fetch_k=1)) == 3


ROWS = st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3).filter(any), min_size=1,
                max_size=8)  # fmt: skip


@given(ROWS, st.integers(1, 9), st.sampled_from([0.1, 0.45, 0.8, 1.0]))
def test_marginal_relevance_chooses_as_langchain_does(
    rows: list[list[int]], k: int, weight: float
) -> None:
    unit = np.array(rows, np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    query = np.array([0.6, 0.48, 0.64])
    hits = [
        a_recollection(a_memory(id=str(i)), similarity=float(each))
        for i, each in enumerate(unit @ query)
    ]
    vectors: dict[str, NDArray[np.float32]] = {
        str(i): row.astype(np.float64)
        for i, row in enumerate(unit)  # type: ignore[misc]
    }
    chosen = [int(each.memory.id) for each in differing(hits, vectors, k, weight)]
    theirs = maximal_marginal_relevance(query, list(unit), lambda_mult=weight, k=k)
    assert _worth(chosen, unit, query, weight) == pytest.approx(
        _worth(theirs, unit, query, weight), abs=1e-9
    )


def _worth(order: list[int], unit: NDArray[Any], query: NDArray[Any], weight: float) -> list[float]:
    """What each choice was worth when it was made; equals may come in any order."""
    worth = []
    for place, row in enumerate(order):
        alike = max((float(unit[row] @ unit[before]) for before in order[:place]), default=0.0)
        share = weight if place else 1.0
        worth.append(share * float(unit[row] @ query) - (1.0 - share) * alike)
    return worth


def test_marginal_relevance_without_vectors_keeps_the_order(open_bank: OpenBank) -> None:
    store = EbbinghausVectorStore(memory=open_bank(embedder=None))
    store.add_texts(["green tea", "green tea of Anna", "rain"], ids=["a", "b", "c"])
    assert ids(store.max_marginal_relevance_search("green tea", k=2)) == ["a", "b"]
    assert store.max_marginal_relevance_search("volcanoes", k=2) == []


@pytest.mark.parametrize("options", [{"k": 0}, {"fetch_k": 0}, {"lambda_mult": 1.5}])
def test_marginal_relevance_refuses_what_it_cannot_use(
    options: dict[str, Any], store: EbbinghausVectorStore
) -> None:
    with pytest.raises(InvalidInput):
        store.max_marginal_relevance_search("drink", **options)


# -- what counts as use, and what fades ------------------------------------------------------


SEARCHES: dict[str, Callable[..., Any]] = {
    "similarity": lambda store, **kw: store.similarity_search("drink", 1, **kw),
    "score": lambda store, **kw: store.similarity_search_with_score("drink", 1, **kw),
    "vector": lambda store, **kw: store.similarity_search_by_vector([1.0, 0.0, 0.0], 1, **kw),
    "relevance": lambda store, **kw: store.similarity_search_with_relevance_scores(
        "drink", 1, **kw
    ),
    "threshold": lambda store, **kw: store.similarity_search_with_relevance_scores(
        "drink", 4, score_threshold=0.49, **kw
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_counts_as_use_unless_it_shall_not(
    name: str, store: EbbinghausVectorStore
) -> None:
    found = SEARCHES[name](store, reinforce=False)
    assert counts(store) == UNUSED
    SEARCHES[name](EbbinghausVectorStore(memory=store.memory, reinforce=False))
    assert counts(store) == UNUSED
    SEARCHES[name](store)
    assert counts(store)["tea"] == 1
    assert sum(counts(store).values()) <= max(len(found), 1)


def test_reading_by_id_choosing_what_differs_and_indexing_are_no_use(
    store: EbbinghausVectorStore,
) -> None:
    store.get_by_ids(TEXTS)
    store.max_marginal_relevance_search("drink", k=4)
    store.max_marginal_relevance_search("drink", k=4, reinforce=True)
    store.max_marginal_relevance_search_by_vector([1.0, 0.0, 0.0], k=4)
    records = InMemoryRecordManager("tests")
    for _ in range(2):
        index([Document("tea", metadata={"source": "s"})], records, store, cleanup="full",
              source_id_key="source", key_encoder="sha256")  # fmt: skip
    assert set(counts(store).values()) == {0}


def test_a_document_that_has_faded_is_hidden_on_every_path(
    store: EbbinghausVectorStore, clock: ManualClock
) -> None:
    clock.advance(days=3650)
    store.add_texts(["coffee"], ids=["fresh"])
    for search in SEARCHES.values():
        found = [each[0] if isinstance(each, tuple) else each for each in search(store)]
        assert {*ids(found)} <= {"fresh"}
    assert ids(store.max_marginal_relevance_search("drink")) == ["fresh"]
    assert ids(store.get_by_ids([*TEXTS, "fresh"])) == ["fresh"]
    assert len(store.memory.list(include_faded=True)) == 5


def test_what_is_searched_for_outlives_what_is_not(
    store: EbbinghausVectorStore, clock: ManualClock
) -> None:
    while len(store.memory.list()) == 4:
        store.similarity_search("drink", k=1)
        clock.advance(days=3)
    clock.advance(days=3)
    left = store.similarity_search("drink", k=4, reinforce=False)
    assert "tea" in ids(left)
    assert len(left) < 4


# -- index(), retrievers and other machinery -------------------------------------------------


def docs(*texts: str, source: str = "s") -> list[Document]:
    return [Document(text, metadata={"source": source}) for text in texts]


def test_indexing_adds_skips_updates_and_cleans_up(open_bank: OpenBank) -> None:
    store = EbbinghausVectorStore(memory=open_bank(embedder=table()))
    records = InMemoryRecordManager("tests")

    def run(documents: list[Document], cleanup: Any) -> tuple[int, ...]:
        done = index(documents, records, store, cleanup=cleanup, source_id_key="source",
                     key_encoder="sha256")  # fmt: skip
        return done["num_added"], done["num_skipped"], done["num_deleted"]

    assert run(docs("tea", "coffee"), "incremental") == (2, 0, 0)
    assert run(docs("tea", "coffee"), "incremental") == (0, 2, 0)
    assert run(docs("tea", "chai"), "incremental") == (1, 1, 1)
    assert sorted(each.text for each in store.memory.list()) == ["chai", "tea"]
    assert run(docs("rain"), "full") == (1, 0, 2)
    assert [each.text for each in store.memory.list()] == ["rain"]
    assert run([], "full") == (0, 0, 1)
    assert store.memory.list(include_faded=True) == []


def test_indexing_on_a_loop_does_the_same(open_bank: OpenBank) -> None:
    async def main() -> None:
        store = EbbinghausVectorStore(memory=open_bank(embedder=table()))
        records = InMemoryRecordManager("tests")
        options: dict[str, Any] = {"source_id_key": "source", "key_encoder": "sha256"}
        await aindex(docs("tea", "chai"), records, store, cleanup="full", **options)
        done = await aindex(docs("tea", "rain"), records, store, cleanup="full", **options)
        assert (done["num_added"], done["num_skipped"], done["num_deleted"]) == (1, 1, 1)
        assert sorted(each.text for each in store.memory.list()) == ["rain", "tea"]

    asyncio.run(main())


@pytest.mark.parametrize("kind, options, expected", [
    ("similarity", {"k": 2}, ["tea", "chai"]),
    ("mmr", {"k": 2, "lambda_mult": 0.3}, ["tea", "rain"]),
    ("similarity_score_threshold", {"k": 4, "score_threshold": 0.01}, TEXTS),
    ("similarity_score_threshold", {"k": 4, "score_threshold": 1.0}, []),
    ("similarity", {"k": 2, "filter": {"n": {"$gt": 0}}, "reinforce": False}, ["chai", "coffee"]),
])  # fmt: skip
def test_as_a_retriever_it_searches_in_every_way_without_a_warning(
    kind: str, options: dict[str, Any], expected: list[str], store: EbbinghausVectorStore,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    retriever = store.as_retriever(search_type=kind, search_kwargs=options)
    with caplog.at_level(logging.WARNING):
        found = ids(retriever.invoke("drink"))
        assert found[: len(expected)] == expected[: len(found)]
        assert bool(found) == bool(expected)
        assert found == ids(asyncio.run(retriever.ainvoke("drink")))
    assert caplog.records == []


def test_as_a_retriever_it_joins_an_ensemble(store: EbbinghausVectorStore) -> None:
    retrievers = [store.as_retriever(), EbbinghausRetriever(memory=store.memory)]
    made = EnsembleRetriever(retrievers=retrievers, weights=[0.5, 0.5], id_key="n")
    assert ids(made.invoke("drink"))[0] == "tea"
    assert store.as_retriever().tags == ["EbbinghausVectorStore"]


def test_23_handed_over_as_a_langgraph_store_it_names_the_one_that_is_wanted(
    store: EbbinghausVectorStore,
) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda given: given.put(("u1",), "key", {}),
        lambda given: given.get(("u1",), "key"),
        lambda given: given.batch([]),
        lambda given: given.abatch([]),
        lambda given: given.aput(("u1",), "key", {}),
        lambda given: given.aget(("u1",), "key"),
        lambda given: given.list_namespaces(),
        lambda given: given.alist_namespaces(),
        lambda given: given.search(("u1",), query="drink"),
        lambda given: given.search(("u1",)),
        lambda given: asyncio.run(given.asearch(("u1",), query="drink")),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=r"EbbinghausStore\(memory=bank\)"):
            call(store)
    assert ids(store.search("drink", "similarity", k=1)) == ["tea"]
    assert ids(asyncio.run(store.asearch("drink", search_type="mmr", k=1))) == ["tea"]
    assert not hasattr(store, "put")
    assert getattr(store, "batch", None) is None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        store.nonsense  # noqa: B018


def test_the_async_methods_do_what_the_others_do(open_bank: OpenBank) -> None:
    async def main() -> None:
        store = EbbinghausVectorStore(memory=open_bank(embedder=table()))
        assert await store.aadd_texts(TEXTS, ids=TEXTS) == TEXTS
        vector, quiet = list(VECTORS["drink"]), {"k": 3, "reinforce": False}
        pairs = [
            (store.asimilarity_search, store.similarity_search, "drink"),
            (store.asimilarity_search_with_score, store.similarity_search_with_score, "drink"),
            (
                store.asimilarity_search_with_relevance_scores,
                store.similarity_search_with_relevance_scores,
                "drink",
            ),
            (store.asimilarity_search_by_vector, store.similarity_search_by_vector, vector),
            (store.amax_marginal_relevance_search, store.max_marginal_relevance_search, "drink"),
            (
                store.amax_marginal_relevance_search_by_vector,
                store.max_marginal_relevance_search_by_vector,
                vector,
            ),
        ]
        for awaited, called, query in pairs:
            assert await awaited(query, **quiet) == called(query, **quiet)  # type: ignore[operator]
        assert await store.aget_by_ids(["tea"]) == store.get_by_ids(["tea"])
        assert await store.adelete(["tea", "nobody"]) is True
        assert await store.adelete() is True
        assert counts(store) == {}

    asyncio.run(main())


class OffTheLoop(Table):
    """Has no async methods of its own; says in which threads it was called."""

    def __init__(self) -> None:
        super().__init__(VECTORS, (0.0, 1.0, 0.0))
        self.threads: set[threading.Thread] = set()

    def embed_query(self, text: str) -> list[float]:
        self.threads.add(threading.current_thread())
        return super().embed_query(text)


def test_16_an_embedder_without_async_methods_is_called_off_the_loop() -> None:
    async def main() -> set[threading.Thread]:
        embedding = OffTheLoop()
        store = await EbbinghausVectorStore.afrom_texts(TEXTS, embedding)
        await store.asimilarity_search("drink")
        await store.amax_marginal_relevance_search("another question")
        await asyncio.to_thread(store.memory.close)
        return embedding.threads

    threads = asyncio.run(main())
    assert threads
    assert threading.main_thread() not in threads


def test_16_slow_searches_wait_at_the_same_time() -> None:
    async def main() -> int:
        slow = SlowEmbeddings()
        store = await EbbinghausVectorStore.afrom_texts(["tea"], slow)
        slow.most = 0
        await asyncio.gather(*(store.asimilarity_search(f"question {i}") for i in range(4)))
        await asyncio.to_thread(store.memory.close)
        return slow.most

    assert asyncio.run(main()) == 4


# -- made, copied, saved and loaded ----------------------------------------------------------


def test_it_takes_an_embedding_or_a_memory_and_not_both(open_bank: OpenBank) -> None:
    with pytest.raises(InvalidInput, match="embedding is the memory's own"):
        EbbinghausVectorStore(table(), memory=open_bank())
    with pytest.raises(InvalidInput, match="must be a MemoryBank, not str"):
        EbbinghausVectorStore(memory="memory.db")  # type: ignore[arg-type]


def test_its_embeddings_are_those_it_was_given(closing: Closing, open_bank: OpenBank) -> None:
    embedding = table()
    assert closing(EbbinghausVectorStore(embedding)).embeddings is embedding
    assert closing(EbbinghausVectorStore.from_texts(["tea"], embedding)).embeddings is embedding
    assert EbbinghausVectorStore(memory=open_bank()).embeddings is None


def test_documents_of_an_old_date_are_not_forgotten_on_arrival(closing: Closing) -> None:
    old = [Document("tea", id="tea", metadata={"created_at": "2015-05-05"})]
    made = closing(EbbinghausVectorStore(table()))
    made.add_documents(old)
    assert ids(made.similarity_search("drink")) == ["tea"]
    also = closing(EbbinghausVectorStore.from_documents(old, table()))
    assert ids(also.similarity_search("drink")) == ["tea"]


def test_a_bank_for_a_loop_will_do_and_a_namespace_of_it(open_bank: OpenBank) -> None:
    bank = open_bank()
    store = EbbinghausVectorStore(memory=AsyncMemoryBank(bank), namespace=("a", "b"))
    store.add_texts(["tea"])
    assert [each.text for each in bank.at("a", "b").list()] == ["tea"]
    assert bank.list() == []


def test_it_is_made_of_documents_in_a_file(file: Path, closing: Closing) -> None:
    documents = [Document("tea", id="tea", metadata={"n": 1}), Document("coffee")]
    made = EbbinghausVectorStore.from_documents(
        documents, table(), path=file, namespace="anna", policy=Policy.chat(), reinforce=False
    )
    made.similarity_search("drink")
    made.memory.close()
    with MemoryBank.open(file, namespace="anna", embedder=table()) as bank:
        assert sorted(each.text for each in bank.list()) == ["coffee", "tea"]
        assert (bank.get("tea").metadata, bank.get("tea").recall_count) == ({"n": 1}, 0)
        assert bank.policy.timeline == "active"


def test_texts_that_cannot_be_kept_leave_no_open_file(file: Path) -> None:
    failing = table()
    failing.fails = True
    with pytest.raises(EmbeddingError):
        EbbinghausVectorStore.from_texts(["tea"], failing, path=file)
    with pytest.raises(EmbeddingError):
        asyncio.run(EbbinghausVectorStore.afrom_texts(["tea"], failing, path=file))
    assert [each.name for each in file.parent.iterdir()] == [file.name]  # no -wal: it was closed


def test_26_a_copy_shares_the_bank_and_a_pickle_says_why_not(closing: Closing) -> None:
    embedding = table()
    embedding.lock = threading.Lock()  # type: ignore[attr-defined]  # as clients have
    store = closing(EbbinghausVectorStore(embedding))
    copied = copy.deepcopy(store)
    assert (copied.memory, copied.embeddings) == (store.memory, embedding)
    with pytest.raises(InvalidInput, match="cannot be pickled; open its path"):
        pickle.dumps(store)


def test_27_what_is_dumped_of_its_retriever_shows_no_memory(store: EbbinghausVectorStore) -> None:
    store.add_texts(["Anna has an allergy"])
    store.similarity_search("Anna has an allergy")
    dumped = str(dumpd(store.as_retriever()))
    assert "EbbinghausVectorStore" in dumped
    assert "Anna" not in dumped


def test_29_what_was_saved_ranks_and_fades_as_before(
    store: EbbinghausVectorStore, tmp_path: Path, clock: ManualClock, closing: Closing
) -> None:
    store.memory.link("tea", "rain")
    clock.advance(days=2)
    store.similarity_search("drink", k=1)
    clock.advance(days=2)
    saved = store.save_local(tmp_path / "saved.db")
    again = closing(EbbinghausVectorStore.load_local(saved, table(), namespace="u1", clock=clock))
    options = {"k": 4, "reinforce": False, "include_scores": True}
    assert again.similarity_search_with_score("drink", **options) == (
        store.similarity_search_with_score("drink", **options)
    )
    assert again.memory.list() == store.memory.list()
    assert again.memory.explain("drink", "rain") == store.memory.explain("drink", "rain")


def test_29_a_file_that_is_damaged_or_another_one_is_refused(
    store: EbbinghausVectorStore, tmp_path: Path
) -> None:
    saved = store.save_local(tmp_path / "saved.db")
    half = tmp_path / "half.db"
    half.write_bytes(saved.read_bytes()[: saved.stat().st_size // 2])
    foreign = tmp_path / "foreign.db"
    foreign.write_text("this is no database, it is a text of some length" * 50)
    with pytest.raises(StoreError):
        EbbinghausVectorStore.load_local(half, table(), namespace="u1").similarity_search("drink")
    with pytest.raises(StoreUnreadable):
        EbbinghausVectorStore.load_local(foreign, table())
    with pytest.raises(FingerprintMismatch):
        EbbinghausVectorStore.load_local(saved, SlowEmbeddings())
    with pytest.raises(InvalidInput, match="names no file"):
        EbbinghausVectorStore.load_local(tmp_path / "none.db", table())
    assert not (tmp_path / "none.db").exists()


def test_29_saving_overwrites_nothing(store: EbbinghausVectorStore, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        store.save_local(tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "mine"


def test_31_times_in_metadata_come_back_as_numbers_and_say_when_it_was(
    store: EbbinghausVectorStore, clock: ManualClock
) -> None:
    now = clock()
    for id, when in [("a", now), ("b", now.replace(tzinfo=None)), ("c", now.isoformat()),
                     ("d", int(now.timestamp())), ("e", now.timestamp())]:  # fmt: skip
        store.add_texts(["tea"], [{"created_at": when}], ids=[id])
        assert store.memory.get(id).created_at == now
    found = {each.id: each.metadata["created_at"] for each in store.get_by_ids([*"abcde"])}
    seconds = now.timestamp()
    assert found == {"a": seconds, "b": seconds, "c": now.isoformat(), "d": seconds, "e": seconds}


def test_20_what_a_search_returns_is_a_copy(store: EbbinghausVectorStore) -> None:
    for search in SEARCHES.values():
        for found in search(store):
            document = found[0] if isinstance(found, tuple) else found
            document.page_content, document.metadata["n"] = "poison", "poison"
    assert [each.metadata["n"] for each in store.get_by_ids(TEXTS)] == [0, 1, 2, 3]
