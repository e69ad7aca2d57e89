"""Fifteen defects of LangChain's TimeWeightedVectorStoreRetriever, each run against ours.

Where it costs little the other runs too, and is expected to fail: that shows that a test can.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra classic")

from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from builders import OpenBank
from ebbmem import Category, EmbeddingError, InvalidInput
from ebbmem.testing import ManualClock
from langchain_ebbmem import EbbinghausRetriever, EbbinghausVectorStore
from tables import Rated, Table

Make = Callable[..., BaseRetriever]


def ours(vectorstore: VectorStore, **options: Any) -> BaseRetriever:
    return EbbinghausRetriever.from_vectorstore(vectorstore, **options)


def theirs(vectorstore: VectorStore, *, filter: Any = None, **options: Any) -> BaseRetriever:
    search = {"k": 100, **({} if filter is None else {"filter": filter})}
    return TimeWeightedVectorStoreRetriever(
        vectorstore=vectorstore, search_kwargs=search, **options
    )


def both(reason: str, raises: type[BaseException] = AssertionError) -> Any:
    """Ours and theirs, which is expected to fail for this reason and in this way."""
    fails = pytest.mark.xfail(strict=True, reason=reason, raises=raises)
    cases = [pytest.param(ours, id="ours"), pytest.param(theirs, id="theirs", marks=fails)]
    return pytest.mark.parametrize("make", cases)


def texts_of(documents: list[Document]) -> list[str]:
    return [each.page_content for each in documents]


@both("the stream is in memory alone, and the indices of the store point nowhere", IndexError)
def test_1_what_a_vector_store_kept_is_found_by_the_next_retriever(make: Make) -> None:
    store = Rated(Table())
    retriever: Any = make(store)
    retriever.add_documents([Document("tea")])
    assert texts_of(make(store).invoke("q")) == ["tea"]


def test_1_a_vector_store_that_was_saved_ranks_the_same_after_loading(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = EbbinghausVectorStore.from_texts(
        ["tea", "coffee", "milk"], Table({"coffee": (0.6, 0.8)}), clock=clock
    )
    clock.advance(days=3)
    store.similarity_search("tea", k=1)
    clock.advance(days=3)
    store.save_local(tmp_path / "kept.db")
    again = EbbinghausVectorStore.load_local(
        tmp_path / "kept.db", Table({"coffee": (0.6, 0.8)}), clock=clock
    )
    quiet = {"k": 3, "reinforce": False, "include_scores": True}
    assert again.similarity_search("q", **quiet) == store.similarity_search("q", **quiet)
    again.memory.close()
    store.memory.close()


@both("only what it added itself has a place in its stream")
def test_2_documents_that_were_in_the_vector_store_before_are_found(make: Make) -> None:
    assert texts_of(make(Rated.holding(["tea"], Table())).invoke("q")) == ["tea"]


@both("the stream keeps what the vector store let go")
def test_3_what_is_deleted_from_the_vector_store_is_gone(make: Make) -> None:
    store = Rated(Table())
    retriever: Any = make(store)
    [kept, gone] = retriever.add_documents([Document("tea"), Document("coffee")])
    store.delete([gone])
    assert [each.id for each in retriever.invoke("q")] == [kept]


@both("the last k of the stream are candidates whatever the filter says")
def test_4_a_filter_holds_for_every_candidate(make: Make) -> None:
    retriever: Any = make(Rated(Table()), filter=lambda each: each.metadata["user"] == "anna")
    retriever.add_documents([Document(who, metadata={"user": who}) for who in ("anna", "bob")])
    assert texts_of(retriever.invoke("q")) == ["anna"]


class Failing(Rated):
    def add_documents(self, documents: list[Document], **_: Any) -> list[str]:  # type: ignore[override]
        raise OSError("no space left")


@both("the stream takes documents before the vector store does")
def test_5_a_write_that_failed_leaves_no_ghost(make: Make) -> None:
    retriever: Any = make(Failing(Table()))
    with pytest.raises(OSError):
        retriever.add_documents([Document("tea")])
    assert retriever.invoke("q") == []


def test_5_an_embedder_that_failed_leaves_the_bank_as_it_was(open_bank: OpenBank) -> None:
    table = Table()
    bank = open_bank(embedder=table)
    retriever = EbbinghausRetriever(memory=bank)
    retriever.add_documents([Document("tea")])
    table.fails = True
    with pytest.raises(EmbeddingError):
        retriever.add_documents([Document("coffee"), Document("milk")])
    table.fails = False
    assert texts_of(retriever.invoke("q")) == ["tea"]
    assert [each.text for each in bank.list(include_faded=True)] == ["tea"]


def test_6_threads_that_write_at_once_mix_up_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=None)
    retriever = EbbinghausRetriever(memory=bank, k=1)

    def write(thread: int) -> dict[str, str]:
        texts = [f"number{thread}x{i} is kept" for i in range(25)]
        documents = [Document(text) for text in texts]
        return dict(zip(retriever.add_documents(documents), texts, strict=True))

    with ThreadPoolExecutor(8) as pool:
        written = {id: text for part in pool.map(write, range(8)) for id, text in part.items()}
    assert len(written) == 200
    assert {each.id: each.text for each in bank.list()} == written
    found = {text: retriever.invoke(text, reinforce=False)[0] for text in written.values()}
    assert {each.id: each.page_content for each in found.values()} == written


@both("the documents of the stream itself are handed out")
def test_7_a_returned_document_is_a_copy(make: Make) -> None:
    retriever: Any = make(Rated(Table()))
    retriever.add_documents([Document("tea", metadata={"tags": ["hot"]})])
    [first] = retriever.invoke("q")
    first.page_content = "poison"
    first.metadata["tags"].append("poison")
    [again] = retriever.invoke("q")
    assert (again.page_content, again.metadata["tags"]) == ("tea", ["hot"])


WHEN = datetime(2025, 12, 31, 12, tzinfo=UTC)  # half a day before the clock of the tests
WRITTEN = [WHEN, WHEN.replace(tzinfo=None), WHEN.isoformat(), int(WHEN.timestamp()),
           WHEN.timestamp()]  # fmt: skip


@pytest.mark.parametrize("when", WRITTEN, ids=["aware", "naive", "iso", "int", "float"])
def test_8_a_time_may_be_written_in_any_of_the_usual_ways(
    when: object, open_bank: OpenBank
) -> None:
    bank = open_bank()
    retriever = EbbinghausRetriever(memory=bank)
    [id] = retriever.add_documents([Document("tea", metadata={"created_at": when})])
    assert bank.get(id).created_at == WHEN
    assert texts_of(retriever.invoke("tea")) == ["tea"]


@pytest.mark.parametrize("when", [WRITTEN[0], WRITTEN[2], WRITTEN[3]], ids=["aware", "iso", "int"])
@both("it subtracts whatever it finds from a naive time", TypeError)
def test_8_a_time_in_the_metadata_disturbs_nothing(make: Make, when: object) -> None:
    retriever: Any = make(Rated(Table()))
    retriever.add_documents([Document("tea", metadata={"last_accessed_at": when})])
    assert texts_of(retriever.invoke("q")) == ["tea"]


@both("it needs relevance scores, which this vector store has not", NotImplementedError)
def test_9_the_vector_store_in_memory_will_do(make: Make) -> None:
    table = Table({"tea": (1.0, 0.0), "coffee": (0.0, 1.0), "q": (0.6, 0.8)})
    retriever: Any = make(InMemoryVectorStore(table))
    retriever.add_documents([Document("tea"), Document("coffee")])
    assert texts_of(retriever.invoke("q")) == ["coffee", "tea"]


@both("a call cannot say k")
def test_10_a_call_says_how_many(make: Make) -> None:
    retriever: Any = make(Rated(Table()))
    retriever.add_documents([Document("tea"), Document("coffee"), Document("milk")])
    assert [len(retriever.invoke("q", k=k)) for k in (1, 2, 3)] == [1, 2, 3]


def test_11_a_time_in_the_future_does_not_carry_a_document(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=Table())
    retriever = EbbinghausRetriever(memory=bank, include_scores=True)
    later = WHEN + timedelta(days=100)
    retriever.add_documents([Document("tea", metadata={"created_at": later}), Document("coffee")])
    found = retriever.invoke("q")
    assert len(found) == 2
    assert {each.metadata["score"] for each in found} == {found[0].metadata["score"]}
    assert 0.0 <= found[0].metadata["score"] <= 1.0


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="elapsed time may be negative")
def test_11_a_time_in_the_future_does_not_carry_a_document_of_theirs() -> None:
    retriever: Any = theirs(Rated(Table()))
    now = datetime(2026, 1, 1)
    later = Document("tea", metadata={"last_accessed_at": now + timedelta(days=100)})
    assert retriever._get_combined_score(later, 1.0, now) <= 2.0


@both("its times are no JSON", TypeError)
def test_12_the_metadata_of_what_is_found_is_json(make: Make) -> None:
    retriever: Any = make(Rated(Table()))
    retriever.add_documents([Document("tea", metadata={"page": 3})])
    [found] = retriever.invoke("q")
    assert json.loads(json.dumps(found.metadata))["page"] == 3


@pytest.mark.parametrize(
    "relevance",
    [
        lambda cosine: 1.0 - (2.0 - 2.0 * cosine) / math.sqrt(2.0),  # squared L2: -0.41 at 90°
        lambda cosine: 1.0 - 50.0 * (1.0 - cosine),  # vectors that are not normalised
        lambda cosine: 1.0 - 31.0 * (cosine < 0.5),  # beyond any scale
    ],
    ids=["squared L2", "not normalised", "far below"],
)
@both("it passes on what the vector store says, with its warning", UserWarning)
def test_13_relevance_outside_0_and_1_is_mended_without_a_warning(
    make: Make, relevance: Callable[[float], float]
) -> None:
    table = Table({"tea": (1.0, 0.0), "coffee": (0.0, 1.0), "q": (1.0, 0.0)})
    retriever: Any = make(Rated(table, relevance))
    retriever.add_documents([Document("tea", id="tea"), Document("coffee", id="coffee")])
    options = {"include_scores": True} if make is ours else {}
    found = retriever.invoke("q", **options)
    assert [each.id for each in found] == ["tea", "coffee"]
    assert all(0.0 <= each.metadata.get("score", 0.0) <= 1.0 for each in found)


def test_13_a_relevance_that_is_no_number_is_none() -> None:
    table = Table({"tea": (1.0, 0.0), "coffee": (0.0, 1.0), "q": (1.0, 0.0)})
    store = Rated.holding(["coffee", "tea"], table, relevance=lambda x: x if x > 0.5 else math.nan)
    found = ours(store, include_scores=True).invoke("q")
    assert texts_of(found) == ["tea", "coffee"]
    assert 0.0 <= found[1].metadata["score"] < 0.1


def test_14_what_was_used_is_known_after_a_restart(open_bank: OpenBank) -> None:
    bank = open_bank()
    [id] = EbbinghausRetriever(memory=bank).add_documents([Document("green tea")])
    EbbinghausRetriever(memory=bank).invoke("green tea")
    bank.close()
    again = open_bank()
    assert again.get(id).recall_count == 1
    assert again.get(id).last_reinforced_at is not None


def test_14_so_it_is_of_documents_in_a_vector_store(open_bank: OpenBank) -> None:
    store = Rated.holding(["tea"], Table())
    bank = open_bank()
    EbbinghausRetriever.from_vectorstore(store, memory=bank).invoke("q")
    bank.close()
    assert open_bank().beside("documents").get("tea").recall_count == 1


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="the store is never told")
def test_14_what_was_used_is_known_to_their_vector_store() -> None:
    store = Rated(Table())
    retriever: Any = theirs(store)
    [id] = retriever.add_documents(
        [Document("tea", metadata={"last_accessed_at": datetime(2026, 1, 1)})]
    )
    retriever.invoke("q")
    [kept] = store.get_by_ids([id])
    assert kept.metadata["last_accessed_at"] > datetime(2026, 1, 1)


def test_15_what_nobody_used_for_ten_years_fills_no_places(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    retriever = EbbinghausRetriever(memory=open_bank(embedder=Table()), min_similarity=-1.0)
    retriever.add_documents([Document(f"junk {i}") for i in range(10)])
    clock.advance(days=3650)
    retriever.add_documents([Document("tea")])
    assert texts_of(retriever.invoke("q")) == ["tea"]


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="nothing is ever too old for it")
def test_15_what_nobody_used_for_ten_years_fills_no_places_of_theirs() -> None:
    retriever: Any = theirs(Rated(Table()))
    old = {"last_accessed_at": datetime.now() - timedelta(days=3650)}
    retriever.add_documents([Document(f"junk {i}", metadata=old) for i in range(10)])
    retriever.add_documents([Document("tea")])
    assert texts_of(retriever.invoke("q")) == ["tea"]


def test_what_is_new_and_hardly_relevant_does_not_outrank_an_exact_match_of_a_fortnight_ago(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    table = Table({"exact": (1.0, 0.0), "new": (0.1, 0.995), "q": (1.0, 0.0)})
    retriever = EbbinghausRetriever(memory=open_bank(embedder=table), min_similarity=-1.0)
    retriever.add_documents([Document("exact")])
    clock.advance(days=14)
    retriever.add_documents([Document("new")])
    assert texts_of(retriever.invoke("q")) == ["exact", "new"]


def test_11_a_rate_of_forgetting_beyond_any_scale_is_refused() -> None:
    with pytest.raises(InvalidInput, match="base_rate"):
        Category("worse", base_rate=float("inf"))
