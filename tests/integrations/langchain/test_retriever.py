"""EbbinghausRetriever, over a bank and beside somebody else's vector store."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra classic")

from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import BaseTool, create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from builders import OpenBank
from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.testing import ManualClock
from kit import SlowEmbeddings, scripted
from langchain_ebbmem import (
    EbbinghausRetriever,
    EbbinghausVectorStore,
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
)
from tables import Rated, Table

TEA, COFFEE = "Anna drinks green tea", "Anna drinks black coffee"
BOTH = "What green tea is it that Anna drinks?"  # finds both, the tea first


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    made = open_bank()
    made.remember(TEA, id="tea", metadata={"hot": True, "grams": 3})
    made.remember(COFFEE, id="coffee", metadata={"hot": True, "grams": 18})
    return made


@pytest.fixture
def retriever(bank: MemoryBank) -> EbbinghausRetriever:
    return EbbinghausRetriever(memory=bank)


def ids(documents: list[Document]) -> list[str | None]:
    return [each.id for each in documents]


def counts(bank: MemoryBank) -> dict[str, int]:
    return {each.id: each.recall_count for each in bank.list(include_faded=True)}


def test_retriever_vector_store_and_tools_need_langchain_core_alone() -> None:
    code = (
        "import sys, langchain_ebbmem as l\n"
        "l.EbbinghausRetriever, l.EbbinghausVectorStore, l.create_recall_tool\n"
        "import langchain_ebbmem.beside\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = {*done.stdout.split()}
    assert "langchain_core" in loaded
    assert not loaded & {"langchain", "langchain_classic", "langgraph", "langchain_tests"}


# -- what is found --------------------------------------------------------------------------


def test_a_question_finds_documents_with_their_ids_and_metadata(
    retriever: EbbinghausRetriever,
) -> None:
    found = retriever.invoke("green tea")
    assert found[0] == Document(id="tea", page_content=TEA, metadata={"hot": True, "grams": 3})


def test_an_unrelated_question_finds_nothing_unless_places_shall_be_filled(
    open_bank: OpenBank,
) -> None:
    bank = open_bank(embedder=Table({"volcanoes": (0.0, 1.0)}))
    retriever = EbbinghausRetriever(memory=bank, min_similarity=0.5)
    retriever.add_documents([Document(TEA)])
    assert retriever.invoke("volcanoes") == []
    assert len(retriever.invoke("volcanoes", min_similarity=-1.0)) == 1


def test_a_blank_question_brings_nothing_to_mind(retriever: EbbinghausRetriever) -> None:
    assert retriever.invoke("  ") == asyncio.run(retriever.ainvoke("")) == []


def test_scores_are_shown_on_request_alone(retriever: EbbinghausRetriever) -> None:
    plain = retriever.invoke(BOTH, reinforce=False)
    scored = retriever.invoke(BOTH, reinforce=False, include_scores=True)
    assert [set(each.metadata) for each in plain] == [{"hot", "grams"}] * 2
    [first, second] = [each.metadata for each in scored]
    assert 0.0 <= second["score"] < first["score"] <= 1.0
    assert all(0.0 < each["strength"] <= 1.0 for each in (first, second))


def test_a_threshold_means_at_least(retriever: EbbinghausRetriever) -> None:
    scored = retriever.invoke(BOTH, include_scores=True, reinforce=False)
    best, second = (each.metadata["score"] for each in scored)
    assert ids(retriever.invoke(BOTH, score_threshold=best, reinforce=False)) == ["tea"]
    assert len(retriever.invoke(BOTH, score_threshold=second, reinforce=False)) == 2
    assert second < best <= 1.0


@pytest.mark.parametrize("chosen", [
    {"grams": 18},
    {"grams": {"$gt": 3}},
    {"$or": [{"grams": {"$gte": 18}}, {"grams": "many"}]},
    lambda document: document.id == "coffee",
    lambda document: "coffee" in document.page_content,
])  # fmt: skip
def test_a_filter_chooses_before_the_first_k_are_taken(
    chosen: Any, retriever: EbbinghausRetriever
) -> None:
    assert ids(retriever.invoke(BOTH, filter=chosen, k=1)) == ["coffee"]
    made = EbbinghausRetriever(memory=retriever.memory, filter=chosen, k=1)
    assert ids(made.invoke(BOTH)) == ["coffee"]


@pytest.mark.parametrize("operator", ["$gt", "$gte", "$lt", "$lte"])
def test_22_a_field_that_is_missing_or_no_number_does_not_match_and_never_raises(
    operator: str, open_bank: OpenBank
) -> None:
    retriever = EbbinghausRetriever(memory=open_bank(), k=9)
    values: list[dict[str, Any]] = [{"n": 10}, {"n": 9.5}, {"n": "10"}, {"n": None}, {}]
    retriever.add_documents(
        [Document("green tea", id=str(i), metadata=each) for i, each in enumerate(values)]
    )
    found = {*ids(retriever.invoke("green tea", filter={"n": {operator: 10}}))}
    assert found == {"$gt": set(), "$gte": {"0"}, "$lt": {"1"}, "$lte": {"0", "1"}}[operator]
    assert {*ids(retriever.invoke("tea", filter={"n": {"$ne": 10}}))} == {"1", "2", "3", "4"}


def test_20_what_is_returned_is_a_copy(retriever: EbbinghausRetriever) -> None:
    [document] = retriever.invoke("green tea", k=1)
    document.page_content, document.metadata["grams"] = "poison", 99
    assert retriever.invoke("green tea", k=1)[0].metadata["grams"] == 3


# -- what counts as use ---------------------------------------------------------------------


def test_what_was_asked_for_counts_as_used(
    retriever: EbbinghausRetriever, bank: MemoryBank
) -> None:
    retriever.invoke("green tea", k=1)
    assert counts(bank) == {"tea": 1, "coffee": 0}


@pytest.mark.parametrize("at", ["construction", "call"])
def test_nothing_counts_as_used_where_it_shall_not(at: str, bank: MemoryBank) -> None:
    if at == "construction":
        EbbinghausRetriever(memory=bank, reinforce=False).invoke("green tea")
    else:
        EbbinghausRetriever(memory=bank).invoke("green tea", reinforce=False)
    assert counts(bank) == {"tea": 0, "coffee": 0}


def test_what_a_threshold_cuts_off_does_not_count_as_used(
    retriever: EbbinghausRetriever, bank: MemoryBank
) -> None:
    scored = retriever.invoke(BOTH, include_scores=True, reinforce=False)
    best, second = (each.metadata["score"] for each in scored)
    assert best > second
    retriever.invoke(BOTH, score_threshold=best)
    assert counts(bank) == {"tea": 1, "coffee": 0}


def test_on_a_loop_it_does_not_either(retriever: EbbinghausRetriever, bank: MemoryBank) -> None:
    scored = retriever.invoke(BOTH, include_scores=True, reinforce=False)
    asyncio.run(retriever.ainvoke(BOTH, score_threshold=scored[0].metadata["score"]))
    assert counts(bank) == {"tea": 1, "coffee": 0}


def test_what_has_faded_is_hidden_and_comes_back_when_it_is_written_again(
    retriever: EbbinghausRetriever, clock: ManualClock
) -> None:
    clock.advance(days=3650)
    assert retriever.invoke("green tea", min_similarity=-1.0) == []
    retriever.add_documents([Document(TEA, id="tea")])
    assert ids(retriever.invoke("green tea")) == ["tea"]


def test_what_is_used_outlives_what_is_not(
    retriever: EbbinghausRetriever, bank: MemoryBank, clock: ManualClock
) -> None:
    while len(bank.list()) == 2:
        retriever.invoke("green tea", k=1)
        clock.advance(days=5)
    assert ids(retriever.invoke("Anna drinks")) == ["tea"]


# -- how it is made and called --------------------------------------------------------------


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: "memory.db", "must be a MemoryBank, not str; MemoryBank.open"),
    (lambda: InMemoryVectorStore(Table()), "from_vectorstore"),
    (lambda: None, "must be a MemoryBank, not NoneType"),
])  # fmt: skip
def test_25_what_is_no_bank_is_refused_with_what_to_do(wrong: Any, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        EbbinghausRetriever(memory=wrong())


def test_25_a_bank_for_a_loop_is_a_bank(bank: MemoryBank) -> None:
    assert EbbinghausRetriever(memory=AsyncMemoryBank(bank)).memory is bank  # type: ignore[arg-type]


def test_25_an_unknown_argument_is_refused(bank: MemoryBank) -> None:
    with pytest.raises(ValidationError, match="top_k"):
        EbbinghausRetriever(memory=bank, top_k=3)  # type: ignore[call-arg]


def test_25_arguments_without_their_names_are_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="by name, as in memory=bank"):
        EbbinghausRetriever(bank)  # type: ignore[misc]


WRONG = [("k", 0), ("k", True), ("k", "4"), ("score_threshold", 1.5), ("score_threshold", "0.5"),
         ("reinforce", 1), ("include_scores", "yes"), ("min_similarity", 2.0), ("filter", "a = 1"),
         ("filter", {"a": {"$near": 1}}), ("namespace", ""), ("namespace", ())]  # fmt: skip


@pytest.mark.parametrize("name, value", WRONG)
def test_an_option_is_checked_when_it_is_set_and_at_the_call(
    name: str, value: Any, bank: MemoryBank
) -> None:
    with pytest.raises(ValidationError):
        EbbinghausRetriever(memory=bank, **{name: value})
    with pytest.raises(InvalidInput):
        EbbinghausRetriever(memory=bank).invoke("green tea", **{name: value})
    assert counts(bank) == {"tea": 0, "coffee": 0}


def test_an_unknown_option_of_a_call_is_refused_with_those_there_are(
    retriever: EbbinghausRetriever,
) -> None:
    with pytest.raises(InvalidInput, match=r"has no top_k; known are k, filter, .*namespace"):
        retriever.invoke("green tea", top_k=3)


def test_25_the_bank_is_in_no_dump_and_no_representation(retriever: EbbinghausRetriever) -> None:
    assert "MemoryBank" not in repr(retriever)
    assert "memory" not in retriever.model_dump()


def test_27_what_is_dumped_shows_no_memory(retriever: EbbinghausRetriever) -> None:
    retriever.invoke("green tea")
    dumped = json.dumps(dumpd(retriever)) + json.dumps(dumpd(retriever | RunnableLambda(len)))
    assert "Anna" not in dumped
    assert "green" not in dumped


def test_26_a_copy_shares_the_bank_and_a_pickle_says_why_not(
    retriever: EbbinghausRetriever, bank: MemoryBank
) -> None:
    copied = copy.deepcopy(retriever)
    assert copied.memory is bank
    copied.k = 1
    assert retriever.k == 4
    with pytest.raises(InvalidInput, match="cannot be pickled; open its path"):
        pickle.dumps(retriever)


# -- isolation ------------------------------------------------------------------------------


def test_6_whose_memory_it_is_may_be_said_once_or_at_the_call(bank: MemoryBank) -> None:
    theirs = EbbinghausRetriever(memory=bank, namespace=("u1", "bob"))
    theirs.add_documents([Document("green tea of Bob", id="bob")])
    assert ids(theirs.invoke("green tea")) == ["bob"]
    mine = EbbinghausRetriever(memory=bank)
    assert "bob" not in ids(mine.invoke("green tea"))
    assert ids(mine.invoke("green tea", namespace=("u1", "bob"))) == ["bob"]
    assert mine.invoke("green tea", namespace="nobody") == []


def recalled(tool: BaseTool, question: str) -> list[Document]:
    call = {"name": tool.name, "args": {"query": question}, "id": "1", "type": "tool_call"}
    return list(tool.invoke(call).artifact)


TEXTS = st.lists(st.sampled_from(["tea", "coffee", "tea and coffee", "rain"]), max_size=6)


@given(mine=TEXTS, theirs=TEXTS, question=st.sampled_from(["tea", "coffee or tea", "snow"]))
def test_6_two_users_of_one_file_never_see_each_other(
    mine: list[str], theirs: list[str], question: str
) -> None:
    table = Table({"tea": (1.0, 0.0), "coffee": (0.0, 1.0), "rain": (0.6, 0.8)}, (0.8, 0.6))
    with MemoryBank.open(":memory:", namespace="app", embedder=table) as bank:
        for user, texts in (("mine", mine), ("theirs", theirs)):
            documents = [
                Document(text, id=f"{user}{i}", metadata={"of": user})
                for i, text in enumerate(texts)
            ]
            EbbinghausRetriever(memory=bank, namespace=user).add_documents(documents)
        for user, texts in (("mine", mine), ("theirs", theirs)):
            store = EbbinghausVectorStore(memory=bank, namespace=user)
            retriever = EbbinghausRetriever(memory=bank, namespace=user, min_similarity=-1.0, k=9)
            every = [f"{each}{i}" for each in ("mine", "theirs") for i in range(6)]
            paths = [
                retriever.invoke(question),
                retriever.invoke(question, score_threshold=0.0),
                retriever.invoke(question, filter=lambda _: True),
                asyncio.run(retriever.ainvoke(question)),
                store.similarity_search(question, k=9),
                store.similarity_search_by_vector([1.0, 0.0], k=9),
                store.max_marginal_relevance_search(question, k=9),
                store.as_retriever(search_kwargs={"k": 9}).invoke(question),
                recalled(create_recall_tool(bank, namespace=user, k=9), question),
                store.get_by_ids(every),
            ]
            own = {f"{user}{i}" for i in range(len(texts))}
            for found in paths:
                assert {*ids(found)} <= own
                assert {each.metadata["of"] for each in found} <= {user}
            assert {*ids(paths[-1])} == own


# -- LangChain's machinery ------------------------------------------------------------------


class Runs(BaseCallbackHandler):
    """Which run was started below which, by name."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.parents: dict[str, str | None] = {}
        self.tags: dict[str, list[str]] = {}
        self.metadata: dict[str, dict[str, Any]] = {}
        self.found: list[Document] = []

    def _start(self, run_id: UUID, parent: UUID | None, kwargs: dict[str, Any]) -> None:
        name = kwargs["name"]
        self.names[run_id] = name
        self.parents[name] = None if parent is None else self.names[parent]
        self.tags[name] = kwargs.get("tags") or []
        self.metadata[name] = kwargs.get("metadata") or {}

    def on_chain_start(self, *_: Any, run_id: UUID, parent_run_id: Any = None, **kw: Any) -> None:
        self._start(run_id, parent_run_id, kw)

    def on_tool_start(
        self, tool: Any, *_: Any, run_id: UUID, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self._start(run_id, parent_run_id, {**kw, "name": tool["name"]})

    def on_retriever_start(
        self, *_: Any, run_id: UUID, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self._start(run_id, parent_run_id, kw)

    def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self.found += documents


def test_28_its_run_is_a_child_of_the_chain_that_calls_it(
    retriever: EbbinghausRetriever,
) -> None:
    runs = Runs()
    prompt = ChatPromptTemplate.from_template("{context}\n{question}")
    chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | scripted("tea")
    answer = chain.invoke("green tea", {"callbacks": [runs], "tags": ["outer"]})
    assert answer.content == "tea"
    parent = runs.parents["EbbinghausRetriever"]
    assert parent is not None
    assert parent.startswith("RunnableParallel")
    assert "outer" in runs.tags["EbbinghausRetriever"]
    assert runs.found[0].id == "tea"


def test_28_its_run_is_a_child_of_the_tool_that_an_agent_calls(
    retriever: EbbinghausRetriever,
) -> None:
    runs = Runs()
    tool = create_retriever_tool(retriever, "recall", "Recalls.")
    tool.invoke({"query": "green tea"}, {"callbacks": [runs]})
    assert runs.parents == {"recall": None, "EbbinghausRetriever": "recall"}


def test_its_tags_and_metadata_come_with_its_runs(bank: MemoryBank) -> None:
    runs = Runs()
    made = EbbinghausRetriever(memory=bank, tags=["mine"], metadata={"team": "a"})
    made.invoke("green tea", {"callbacks": [runs]})
    assert "mine" in runs.tags["EbbinghausRetriever"]
    assert runs.metadata["EbbinghausRetriever"]["team"] == "a"
    assert runs.metadata["EbbinghausRetriever"]["ls_retriever_name"] == "ebbinghaus"


def test_an_error_reaches_the_callbacks_and_the_caller(retriever: EbbinghausRetriever) -> None:
    class Errors(BaseCallbackHandler):
        seen: list[BaseException]

        def on_retriever_error(self, error: BaseException, **_: Any) -> None:
            self.seen.append(error)

    errors = Errors()
    errors.seen = []
    with pytest.raises(InvalidInput):
        retriever.invoke("green tea", {"callbacks": [errors]}, k=0)
    assert len(errors.seen) == 1


def test_its_fields_are_configurable(retriever: EbbinghausRetriever) -> None:
    made = retriever.configurable_fields(
        k=ConfigurableField(id="many"), namespace=ConfigurableField(id="user")
    )
    assert len(made.invoke("Anna drinks")) == 2
    assert len(made.invoke("Anna drinks", {"configurable": {"many": 1}})) == 1
    assert made.invoke("Anna drinks", {"configurable": {"user": "bob"}}) == []


def test_a_batch_answers_every_question_in_order(retriever: EbbinghausRetriever) -> None:
    found = retriever.batch(["green", "black"] * 5)
    assert [ids(each)[0] for each in found] == ["tea", "coffee"] * 5
    assert found == asyncio.run(retriever.abatch(["green", "black"] * 5))


def test_events_are_streamed(retriever: EbbinghausRetriever) -> None:
    async def main() -> list[tuple[str, str]]:
        chain = retriever | RunnableLambda(len)
        events = chain.astream_events("green tea", version="v2")
        return [(each["event"], each["name"]) async for each in events]

    events = asyncio.run(main())
    assert events.count(("on_retriever_start", "EbbinghausRetriever")) == 1
    assert events.count(("on_retriever_end", "EbbinghausRetriever")) == 1


def test_the_async_twin_finds_and_counts_the_same(bank: MemoryBank) -> None:
    async def main() -> None:
        retriever = EbbinghausRetriever(memory=bank, score_threshold=0.0)
        assert await retriever.aadd_documents([Document("rain", id="r")]) == ["r"]
        assert ids(await retriever.ainvoke("rain", k=1)) == ["r"]

    asyncio.run(main())
    assert counts(bank) == {"tea": 0, "coffee": 0, "r": 1}


def test_it_joins_an_ensemble(retriever: EbbinghausRetriever) -> None:
    other = InMemoryVectorStore.from_texts([TEA], Table()).as_retriever()
    made = EnsembleRetriever(retrievers=[retriever, other], weights=[0.5, 0.5])
    assert [each.page_content for each in made.invoke(BOTH)] == [TEA, COFFEE]


def test_it_becomes_a_tool(retriever: EbbinghausRetriever) -> None:
    tool = create_retriever_tool(
        retriever, "recall", "Recalls.", response_format="content_and_artifact"
    )
    call = {"name": "recall", "args": {"query": "green"}, "id": "1", "type": "tool_call"}
    message = tool.invoke(call)
    assert str(message.content).startswith(TEA)
    assert message.artifact[0].id == "tea"


async def _awaited(call: Any) -> Any:
    return await call()


class Watch(ManualClock):
    """A clock that knows in which threads a bank looked at it: it does in every call."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[threading.Thread] = set()

    def __call__(self) -> datetime:
        self.threads.add(threading.current_thread())
        return super().__call__()


def test_16_a_bank_is_never_called_on_the_loop(open_bank: OpenBank) -> None:
    watch = Watch()
    bank = open_bank(embedder=Table(), clock=watch)
    mine = {"memory": bank, "namespace": ("u1", "mine")}
    retriever = EbbinghausRetriever(**mine)
    other = beside(Rated(Table()), **mine)
    store = EbbinghausVectorStore(**mine)
    recall, remember, forget = (
        make(bank) for make in (create_recall_tool, create_remember_tool, create_forget_tool)
    )
    documents = [Document("tea", id="tea")]
    for call in (
        lambda: retriever.aadd_documents(documents),
        lambda: retriever.ainvoke("q"),
        lambda: retriever.ainvoke("q", namespace="bob", score_threshold=0.1),
        lambda: other.aadd_documents(documents),
        lambda: other.ainvoke("q"),
        lambda: store.aadd_texts(["tea"]),
        lambda: store.asimilarity_search("q"),
        lambda: store.amax_marginal_relevance_search("q"),
        lambda: store.aget_by_ids(["tea"]),
        lambda: store.adelete(["tea"]),
        lambda: remember.ainvoke({"content": "tea"}),
        lambda: recall.ainvoke({"query": "tea"}),
        lambda: forget.ainvoke({"id": "nobody"}),
    ):
        watch.threads.clear()
        asyncio.run(_awaited(call))
        assert watch.threads
        assert threading.main_thread() not in watch.threads


def test_16_nothing_blocks_the_loop_while_the_embedder_is_slow() -> None:
    async def main() -> int:
        slow = SlowEmbeddings()
        bank = await AsyncMemoryBank.open(namespace="u1", embedder=slow)
        retriever = EbbinghausRetriever(memory=bank.bank)
        await retriever.aadd_documents([Document(TEA)])
        slow.most = 0
        await asyncio.gather(*(retriever.ainvoke(f"question {i}") for i in range(4)))
        await bank.close()
        return slow.most

    assert asyncio.run(main()) == 4


# -- beside a vector store ------------------------------------------------------------------


def beside(store: Any, **options: Any) -> EbbinghausRetriever:
    return EbbinghausRetriever.from_vectorstore(store, **options)


class Asked(Rated):
    """Keeps with what it was asked, and in which thread."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kw: Any) -> Any:
        self.asked = {"k": k, **kw, "thread": threading.current_thread()}
        return super().similarity_search_with_score(query, k, **kw)


def test_documents_are_visible_from_first_sight_with_strength_1() -> None:
    store = Rated.holding(["tea", "coffee"], Table({"coffee": (0.6, 0.8)}))
    found = beside(store, include_scores=True).invoke("q")
    assert [(each.id, each.metadata["strength"]) for each in found] == [
        ("tea", 1.0),
        ("coffee", 1.0),
    ]
    assert [each.metadata["score"] for each in found] == pytest.approx([1.0, 0.6], abs=1e-6)


def test_without_a_memory_lives_are_kept_as_long_as_the_program_runs() -> None:
    retriever = beside(Rated.holding(["tea"], Table()))
    retriever.invoke("q")
    bank = retriever.memory
    assert (bank.path, bank.namespace, bank.policy.timeline) == (
        ":memory:",
        ("documents",),
        "active",
    )
    assert counts(bank.beside("documents")) == {"tea": 1}


@pytest.mark.parametrize("on_a_loop", [False, True])
def test_a_document_that_has_faded_is_hidden_until_it_is_written_again(
    on_a_loop: bool, open_bank: OpenBank, clock: ManualClock
) -> None:
    store = Rated.holding(["tea", "coffee"], Table())
    bank = open_bank()
    retriever = beside(store, memory=bank)
    retriever.invoke("q", reinforce=False)
    clock.advance(days=20)
    bank.beside("documents").reinforce("tea")
    while len(bank.beside("documents").list()) == 2:
        clock.advance(days=5)
    assert ids(retriever.invoke("q", reinforce=False)) == ["tea"]
    again = [Document("coffee", id="coffee")]
    if on_a_loop:
        asyncio.run(retriever.aadd_documents(again))
    else:
        retriever.add_documents(again)
    assert {*ids(retriever.invoke("q", reinforce=False))} == {"tea", "coffee"}


def test_equals_keep_the_order_of_the_vector_store_and_come_once() -> None:
    class Twice(Rated):
        def similarity_search_with_score(self, query: str, k: int = 4, **kw: Any) -> Any:
            return [(Document(each, id=each), 0.5) for each in ("c", "a", "b", "a")]

    assert ids(beside(Twice(Table())).invoke("q")) == ["c", "a", "b"]


def test_more_is_asked_of_the_vector_store_than_is_wanted() -> None:
    store = Asked.holding(["tea"], Table())
    for options, call, expected in [
        ({}, {}, 16),
        ({"k": 2}, {}, 8),
        ({"k": 2}, {"k": 3}, 12),
        ({"fetch_k": 10}, {}, 10),
        ({"fetch_k": 10}, {"k": 30}, 30),
    ]:
        beside(store, **options).invoke("q", **call)
        assert store.asked["k"] == expected


def test_a_filter_is_left_to_the_vector_store_in_its_own_words() -> None:
    store = Asked.holding(["tea", "coffee"], Table())
    chosen = lambda document: document.id == "coffee"  # noqa: E731
    assert ids(beside(store, filter=chosen).invoke("q")) == ["coffee"]
    assert store.asked["filter"] is chosen
    assert ids(beside(store).invoke("q", filter=chosen)) == ["coffee"]
    beside(store).invoke("q")
    assert "filter" not in store.asked


def test_documents_without_an_id_keep_the_one_they_were_given(open_bank: OpenBank) -> None:
    class Nameless(Rated):
        def similarity_search_with_score(self, query: str, k: int = 4, **kw: Any) -> Any:
            found = super().similarity_search_with_score(query, k, **kw)
            return [(Document(each.page_content, metadata=each.metadata), s) for each, s in found]

    bank = open_bank()
    retriever = beside(Nameless.holding(["tea", "coffee"], Table()), memory=bank)
    first, again = ids(retriever.invoke("q")), ids(retriever.invoke("q"))
    assert sorted(map(str, first)) == sorted(map(str, again))
    assert len({*first}) == 2
    assert len(bank.beside("documents").list()) == 2


def test_use_is_counted_beside_the_vector_store_and_what_a_threshold_cuts_off_is_not(
    open_bank: OpenBank,
) -> None:
    bank = open_bank()
    table = Table({"tea": (1.0, 0.0), "coffee": (0.8, 0.6), "q": (1.0, 0.0)})
    retriever = beside(Rated.holding(["tea", "coffee"], table), memory=bank)
    retriever.invoke("q", reinforce=False)
    assert counts(bank.beside("documents")) == {"tea": 0, "coffee": 0}
    assert ids(retriever.invoke("q", score_threshold=0.9, reinforce=False)) == ["tea"]
    assert counts(bank.beside("documents")) == {"tea": 0, "coffee": 0}
    assert ids(retriever.invoke("q", score_threshold=0.9)) == ["tea"]
    assert counts(bank.beside("documents")) == {"tea": 1, "coffee": 0}
    retriever.invoke("q")
    assert counts(bank.beside("documents")) == {"tea": 1, "coffee": 1}


def test_24_a_threshold_beside_a_vector_store_means_at_least() -> None:
    table = Table({"tea": (1.0, 0.0), "coffee": (0.8, 0.6), "q": (1.0, 0.0)})
    retriever = beside(Rated.holding(["tea", "coffee"], table), include_scores=True)
    second = retriever.invoke("q", reinforce=False)[1].metadata["score"]
    found = retriever.invoke("q", reinforce=False, score_threshold=second)
    assert ids(found) == ["tea", "coffee"]
    assert ids(retriever.invoke("q", score_threshold=second + 1e-9)) == ["tea"]


def test_6_lives_beside_a_vector_store_are_of_one_namespace_each(open_bank: OpenBank) -> None:
    bank = open_bank()
    store = Rated.holding(["tea"], Table())
    beside(store, memory=bank, namespace="anna").invoke("q")
    beside(store, memory=bank, namespace="bob").invoke("q", reinforce=False)
    assert counts(bank.at("anna").beside("documents")) == {"tea": 1}
    assert counts(bank.at("bob").beside("documents")) == {"tea": 0}
    assert bank.list() == []


def test_20_a_document_of_a_vector_store_is_a_copy() -> None:
    store = InMemoryVectorStore(Table())
    store.add_documents([Document("tea", id="tea", metadata={"tags": ["hot"]})])
    [found] = beside(store, include_scores=True).invoke("q")
    found.metadata["tags"].append("poison")
    assert store.get_by_ids(["tea"])[0].metadata == {"tags": ["hot"]}


def test_the_async_twin_beside_a_vector_store_finds_the_same(open_bank: OpenBank) -> None:
    async def main() -> None:
        retriever = beside(InMemoryVectorStore(Table()), memory=open_bank())
        await retriever.aadd_documents([Document("tea", id="tea")], ids=["other"])
        found = await retriever.ainvoke("q")
        assert found == retriever.invoke("q") == [Document("tea", id="other")]

    asyncio.run(main())


def test_16_a_vector_store_without_async_methods_is_asked_in_a_thread() -> None:
    store = Asked.holding(["tea"], Table())
    store.asimilarity_search_with_score = (  # type: ignore[method-assign]
        super(InMemoryVectorStore, store).asimilarity_search_with_score
    )
    asyncio.run(beside(store).ainvoke("q"))
    assert store.asked["thread"] is not threading.main_thread()


def test_an_empty_vector_store_finds_nothing() -> None:
    assert beside(Rated(Table())).invoke("q") == []
    assert beside(InMemoryVectorStore(Table())).invoke("q") == []


@pytest.mark.parametrize("options, sentence", [
    ({"vectorstore": "chroma"}, "vectorstore must be a LangChain VectorStore, not str"),
    ({"memory": "memory.db"}, "must be a MemoryBank, not str"),
    ({"fetch_k": 0}, "fetch_k must be a whole number from 1"),
    ({"k": 0}, "k must be a whole number from 1"),
])  # fmt: skip
def test_25_what_cannot_be_used_beside_a_vector_store_is_refused(
    options: dict[str, Any], sentence: str
) -> None:
    given: dict[str, Any] = {"vectorstore": Rated(Table()), **options}
    with pytest.raises(ValueError, match=sentence):
        EbbinghausRetriever.from_vectorstore(**given)


def test_a_similarity_is_the_affair_of_the_vector_store() -> None:
    with pytest.raises(InvalidInput, match="score_threshold cuts off"):
        beside(Rated(Table())).invoke("q", min_similarity=0.5)


def test_26_a_copy_shares_the_vector_store_and_the_bank() -> None:
    store = Rated.holding(["tea"], Table())
    store.lock = threading.Lock()  # type: ignore[attr-defined]  # as real ones have
    retriever: Any = beside(store)
    copied = copy.deepcopy(retriever)
    assert (copied.memory, copied.vectorstore) == (retriever.memory, store)
