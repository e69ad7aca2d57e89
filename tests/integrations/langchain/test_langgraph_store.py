"""A LangGraph store that forgets: what it keeps, finds, hides and refuses."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="needs the extra agents")

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from builders import OpenBank
from ebbmem import EmbeddingError, Held, InvalidInput, MemoryBank, Policy, StoreFull
from ebbmem.store import SQLiteStore
from ebbmem.testing import ManualClock, TableEmbedder
from langchain_ebbmem import EbbinghausStore

ANN, BOB = ("users", "ann"), ("users", "bob")
QUERY = {
    "text: tea": [1.0, 0.0],
    "text: milk": [0.6, 0.8],
    "text: rain": [0.0, 1.0],
    "query": [1.0, 0.0],
    "tea": [1.0, 0.0],
    "rain": [0.0, 1.0],
}
LONG = 95  # days of the calendar: ln(1 / 0.05) / (0.16 * 0.2) = 93.6 is the life of an item


@pytest.fixture
def store(open_bank: OpenBank) -> EbbinghausStore:
    """By keywords alone, on the calendar, with a clock that is moved by hand."""
    return EbbinghausStore(memory=open_bank(policy=Policy()))


@pytest.fixture
def vectors(open_bank: OpenBank) -> EbbinghausStore:
    """With an embedder whose vectors are written out."""
    return EbbinghausStore(memory=open_bank(policy=Policy(), embedder=TableEmbedder(QUERY)))


def keys(found: list[Any]) -> list[str]:
    return [each.key for each in found]


def uses(store: EbbinghausStore, key: str, namespace: tuple[str, ...] = ANN) -> int:
    bank = store.memory.at(*store.memory.namespace, *namespace)
    return bank.get(key, include_faded=True).recall_count


# -- opening -------------------------------------------------------------------------------------


def test_without_a_bank_it_has_one_of_its_own() -> None:
    with EbbinghausStore(clock=ManualClock()) as store:
        store.put(ANN, "k", {"text": "tea"})
        assert store.memory.namespace == ("langgraph",)
        assert store.memory.policy == Policy.chat()
        assert store.memory.at("langgraph", *ANN).policy == Policy.chat()
        assert store.index_config is None
        assert store.embeddings is None
        assert store.supports_ttl


def test_the_index_is_kept_as_a_copy() -> None:
    embed = DeterministicFakeEmbedding(size=8)
    index: Any = {"dims": 8, "embed": embed, "fields": ["text"]}
    with EbbinghausStore(index=index) as store:
        assert store.index_config == index
        assert store.index_config is not index
        assert store.embeddings is embed
        assert store.memory.fingerprint.name == "langchain:DeterministicFakeEmbedding"


def embed_words(texts: list[str]) -> list[list[float]]:
    return [[float("tea" in text), 1.0] for text in texts]


async def embed_later(texts: list[str]) -> list[list[float]]:
    return embed_words(texts)


def test_a_function_that_embeds_is_known_by_its_own_name(file: Path) -> None:
    index: Any = {"dims": 2, "embed": embed_words}
    with EbbinghausStore.open(file, index=index) as store:
        assert store.memory.fingerprint.name.endswith("test_langgraph_store.embed_words")


def test_an_async_function_embeds_for_async_calls_and_fails_by_name_for_others() -> None:
    index: Any = {"dims": 2, "embed": embed_later}

    async def main() -> list[str]:
        async with EbbinghausStore(index=index) as store:
            await store.aput(ANN, "rain", {"text": "rain"})
            await store.aput(ANN, "tea", {"text": "tea"})
            with pytest.raises(EmbeddingError):
                store.put(ANN, "milk", {"text": "milk"})
            return keys(await store.asearch(ANN, query="tea"))

    assert asyncio.run(main()) == ["tea", "rain"]


@pytest.mark.parametrize(
    "given",
    [{"index": {"dims": 2, "embed": embed_words}}, {"clock": ManualClock()}],
)
def test_a_bank_has_its_embedder_and_its_clock_already(
    open_bank: OpenBank, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match="memory are both given"):
        EbbinghausStore(memory=open_bank(), **given)


def test_fields_may_be_named_beside_a_bank(open_bank: OpenBank) -> None:
    store = EbbinghausStore(memory=open_bank(), index={"fields": ["title"]})
    store.put(ANN, "k", {"title": "tea", "body": "rain"})
    assert [each.score is None for each in store.search(ANN, query="tea")] == [False]
    assert [each.score is None for each in store.search(ANN, query="rain")] == [True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep": ["users"]},
        {"keep": [("a.b",)]},
        {"reinforce": 1},
        {"index": {"fields": "text"}},
        {"index": {"fields": [1]}},
        {"ttl": {"default_ttl": 0}},
        {"ttl": {"default_ttl": True}},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        EbbinghausStore(**wrong)


def test_23_a_vector_store_in_place_of_a_bank_gets_a_sentence_that_names_this_store() -> None:
    wrong: Any = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    with pytest.raises(InvalidInput, match=r"EbbinghausStore.*not InMemoryVectorStore"):
        EbbinghausStore(memory=wrong)


def test_closing_closes_the_file(file: Path, clock: ManualClock) -> None:
    with EbbinghausStore.open(file, clock=clock) as store:
        store.put(ANN, "k", {"text": "tea"})
    with pytest.raises(Exception, match="closed"):
        store.get(ANN, "k")

    async def main() -> EbbinghausStore:
        async with EbbinghausStore.open(file, clock=clock) as again:
            assert await again.aget(ANN, "k") is not None
            return again

    with pytest.raises(Exception, match="closed"):
        asyncio.run(main()).get(ANN, "k")


def test_29_a_file_answers_as_before_after_a_restart(file: Path, clock: ManualClock) -> None:
    index: Any = {"dims": 2, "embed": embed_words}
    with EbbinghausStore.open(file, index=index, clock=clock, policy=Policy()) as store:
        for number, text in enumerate(("tea", "rain", "tea and rain")):
            store.put(ANN, f"k{number}", {"text": text})
            clock.advance(days=3)
        store.search(ANN, query="tea", limit=1)
        clock.advance(days=20)
        before = store.search(ANN, query="tea", refresh_ttl=False)
        listed = store.search(())
    with EbbinghausStore.open(file, index=index, clock=clock) as store:
        assert store.search(ANN, query="tea", refresh_ttl=False) == before
        assert [each.score for each in store.search(ANN, query="tea", refresh_ttl=False)] == [
            each.score for each in before
        ]
        assert store.search(()) == listed


def test_a_policy_given_on_opening_holds_for_what_is_there_and_what_comes(
    file: Path, clock: ManualClock
) -> None:
    with EbbinghausStore.open(file, clock=clock) as store:
        store.put(ANN, "k", {"text": "tea"})
    strict = Policy(fade_below=0.5)
    for policy in (strict, None):
        with EbbinghausStore.open(file, clock=clock, policy=policy) as store:
            store.put(BOB, "k", {"text": "tea"})
            for each in (ANN, BOB):
                assert store.memory.at("langgraph", *each).policy == strict


def test_a_file_of_others_is_joined_with_the_policy_for_conversations(
    file: Path, clock: ManualClock
) -> None:
    with MemoryBank.open(file, namespace="alice", embedder=None, clock=clock) as bank:
        bank.remember("tea")
    with EbbinghausStore.open(file, clock=clock) as store:
        store.put(ANN, "k", {"text": "milk"})
        assert store.memory.at("langgraph", *ANN).policy == Policy.chat()
        assert store.list_namespaces() == [ANN]


def test_it_cannot_be_pickled_and_a_copy_is_the_same_store(store: EbbinghausStore) -> None:
    with pytest.raises(InvalidInput, match="handle of a file and cannot be pickled"):
        pickle.dumps(store)
    assert copy.deepcopy({"store": store})["store"] is store
    assert copy.deepcopy(store).memory is store.memory


# -- items ---------------------------------------------------------------------------------------


def test_19_an_update_is_one_item_with_its_creation_kept_and_its_old_text_gone(
    vectors: EbbinghausStore, clock: ManualClock
) -> None:
    begun = clock()
    vectors.put(ANN, "k", {"text": "tea"})
    clock.advance(hours=1)
    vectors.put(ANN, "k", {"text": "rain"})
    [item] = vectors.search(ANN)
    assert (item.value, item.created_at, item.updated_at) == ({"text": "rain"}, begun, clock())
    bank = vectors.memory.at("u1", *ANN)
    assert list(bank.vectors(["k"])["k"]) == [0.0, 1.0]
    assert bank.recall("tea") == []
    assert [hit.memory.id for hit in bank.recall("rain")] == ["k"]


def test_31_times_are_kept_to_the_microsecond_and_stored_as_numbers(
    store: EbbinghausStore, clock: ManualClock
) -> None:
    for number in range(50):
        clock.advance(days=7, microseconds=123_457)
        store.put(ANN, f"k{number}", {"text": "tea"})
        item = store.get(ANN, f"k{number}")
        assert item is not None
        assert item.created_at == item.updated_at == clock()
        stored = store.memory.at("u1", *ANN).get(f"k{number}").metadata["updated_at"]
        assert stored == clock().timestamp()


def test_two_items_may_say_the_same(store: EbbinghausStore) -> None:
    store.put(ANN, "a", {"text": "tea"})
    store.put(ANN, "b", {"text": "tea"})
    found = store.search(ANN, query="tea")
    assert keys(found) == ["a", "b"]
    assert found[0].score == found[1].score


def test_equal_items_score_equally_whether_used_a_moment_ago_or_not(
    vectors: EbbinghausStore,
) -> None:
    vectors.put(ANN, "a", {"text": "tea"})
    [before] = vectors.search(ANN, query="query")
    vectors.put(ANN, "b", {"text": "tea"})
    assert [each.score for each in vectors.search(ANN, query="query")] == [before.score] * 2


def test_values_come_back_equal_in_type_and_content(store: EbbinghausStore) -> None:
    value = {"a": 1, "b": 1.5, "c": True, "d": None, "e": [{"f": "茶"}, []], "g": {}, "h": "\n"}
    store.put(ANN, "k", value)
    item = store.get(ANN, "k")
    assert item is not None
    assert repr(item.value) == repr(value)


@pytest.mark.parametrize("read", ["get", "search", "query"])
def test_20_what_is_returned_is_a_copy(store: EbbinghausStore, read: str) -> None:
    given: dict[str, Any] = {"text": "tea", "tags": ["a"]}
    store.put(ANN, "k", given)
    given["tags"].append("b")

    def item() -> Any:
        if read == "get":
            return store.get(ANN, "k")
        return store.search(ANN, query="tea" if read == "query" else None)[0]

    item().value["tags"].append("c")
    item().value["more"] = 1
    assert item().value == {"text": "tea", "tags": ["a"]}


@pytest.mark.parametrize(
    "value, path",
    [
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, r"value\.when is a datetime"),
        ({"a": [1, {"b": {1, 2}}]}, r"value\.a\[1\]\.b is a set"),
        ({"a": float("nan")}, r"value\.a is nan"),
        ({"a": {1: 2}}, r"value\.a has a key that is not text"),
        ({"a": 2**64}, r"value\.a is a whole number beyond 64 bits"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_its_path_and_nothing_is_written(
    store: EbbinghausStore, value: dict[str, Any], path: str
) -> None:
    ops: list[Op] = [PutOp(ANN, "good", {"text": "tea"}), PutOp(BOB, "bad", value)]
    with pytest.raises(InvalidInput, match=path):
        store.batch(ops)
    with pytest.raises(InvalidInput, match=path):
        asyncio.run(store.abatch(ops))
    assert store.list_namespaces() == []


@pytest.mark.parametrize("index", ["text", True, [1]])
def test_an_index_that_names_no_paths_is_refused(store: EbbinghausStore, index: Any) -> None:
    with pytest.raises(InvalidInput, match="index"):
        store.put(ANN, "k", {"text": "tea"}, index=index)
    assert store.get(ANN, "k") is None


def test_deleting_what_is_not_there_is_silent(store: EbbinghausStore) -> None:
    store.delete(ANN, "k")
    assert store.list_namespaces() == []


def test_memories_that_no_store_wrote_are_items_with_a_text(store: EbbinghausStore) -> None:
    bank = store.memory.at("u1", *ANN)
    made = bank.remember("Ann drinks tea")
    [item] = store.search(ANN, query="tea")
    assert (item.key, item.value, item.updated_at) == (
        made.id,
        {"text": "Ann drinks tea"},
        made.created_at,
    )


# -- texts ---------------------------------------------------------------------------------------


def text_in(store: EbbinghausStore, key: str = "k") -> str:
    return store.memory.at("u1", *ANN).get(key).text


def test_the_whole_value_is_read_as_lines_not_as_json(store: EbbinghausStore) -> None:
    store.put(
        ANN,
        "k",
        {"user": {"first name": "Ann", "age": 30}, "tags": ["a", "b"], "none": None, "ok": True},
    )
    assert text_in(store) == "user first name: Ann\nuser age: 30\ntags: a\ntags: b\nok: true"


def test_each_field_is_a_passage_and_a_vector_of_its_own(open_bank: OpenBank) -> None:
    table = {"tea": [1.0, 0.0], "rain": [0.0, 1.0], "so long": [0.6, 0.8]}
    store = EbbinghausStore(memory=open_bank(embedder=TableEmbedder(table)))
    store.put(ANN, "two", {"a": "tea", "b": ["rain"]}, index=["a", "b[*]"])
    store.put(ANN, "one", {"a": "so long"}, index=["a"])
    assert text_in(store, "two") == "tea\u2029rain"
    for query in ("tea", "rain"):
        assert keys(store.search(ANN, query=query, refresh_ttl=False)) == ["two", "one"]


def test_a_parting_within_a_field_does_not_part_it(store: EbbinghausStore) -> None:
    store.put(ANN, "k", {"a": "green\u2029tea", "b": "x"}, index=["a", "b"])
    assert text_in(store) == "green tea\u2029x"


def test_what_is_not_indexed_is_found_by_no_query_and_fills_the_tail(
    store: EbbinghausStore,
) -> None:
    store.put(ANN, "off", {"text": "green tea"}, index=False)
    store.put(ANN, "no text", {"text": "green tea"}, index=["title", "body"])
    store.put(ANN, "on", {"text": "tea"})
    found = store.search(ANN, query="tea")
    assert [(each.key, each.score is None) for each in found] == [
        ("on", False),
        ("no text", True),
        ("off", True),
    ]
    assert keys(store.search(ANN, query="tea", limit=1)) == ["on"]
    assert keys(store.search(ANN, query="tea", limit=2, offset=1)) == ["no text", "off"]


# -- batches -------------------------------------------------------------------------------------


def run_batch(store: BaseStore, ops: list[Op]) -> list[Any]:
    return store.batch(ops)


def run_abatch(store: BaseStore, ops: list[Op]) -> list[Any]:
    return asyncio.run(store.abatch(ops))


BATCHES = pytest.mark.parametrize("run", [run_batch, run_abatch])
Run = Callable[[BaseStore, list[Op]], list[Any]]


@BATCHES
def test_reads_of_a_batch_see_what_was_before_it_and_the_last_put_of_a_key_wins(
    store: EbbinghausStore, run: Run
) -> None:
    store.put(ANN, "k", {"n": 0})
    store.put(ANN, "gone", {"n": 0})
    results = run(
        store,
        [
            PutOp(ANN, "k", {"n": 1}),
            GetOp(ANN, "k"),
            PutOp(ANN, "k", {"n": 2}),
            PutOp(ANN, "gone", None),
            SearchOp(ANN, filter={"n": 0}),
            PutOp(BOB, "new", None),
            PutOp(BOB, "new", {"n": 3}),
            ListNamespacesOp(),
            PutOp(BOB, "never", {"n": 3}),
            PutOp(BOB, "never", None),
        ],
    )
    assert [type(each).__name__ for each in results] == (
        "NoneType Item NoneType NoneType list NoneType NoneType list NoneType NoneType".split()
    )
    assert results[1].value == {"n": 0}
    assert sorted(keys(results[4])) == ["gone", "k"]
    assert results[7] == [ANN]
    after = {(each.namespace, each.key): each.value["n"] for each in store.search(())}
    assert after == {(ANN, "k"): 2, (BOB, "new"): 3}


class Failing(TableEmbedder):
    """Breaks on the words "not this"."""

    def embed_documents(self, texts: Any) -> Any:
        if any("not this" in text for text in texts):
            raise RuntimeError("broken")
        return super().embed_documents(texts)


@BATCHES
def test_30_a_failing_embedder_leaves_everything_as_it_was(open_bank: OpenBank, run: Run) -> None:
    store = EbbinghausStore(memory=open_bank(embedder=Failing({}, default=[1.0, 0.0])))
    store.put(ANN, "k", {"text": "tea"})
    store.put(ANN, "gone", {"text": "milk"})
    before = store.search(()), store.memory.at("u1", *ANN).list()
    with pytest.raises(EmbeddingError):
        run(
            store,
            [
                PutOp(ANN, "k", {"text": "rain"}),
                PutOp(ANN, "gone", None),
                PutOp(BOB, "k", {"text": "not this"}),
            ],
        )
    assert (store.search(()), store.memory.at("u1", *ANN).list()) == before
    assert store.list_namespaces() == [ANN]


@BATCHES
def test_30_a_failing_disk_leaves_everything_as_it_was(
    store: EbbinghausStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(ANN, "k", {"text": "tea"})
    store.put(ANN, "gone", {"text": "milk"})
    before = store.search(()), store.memory.at("u1", *ANN).list()

    def full(*_: object, **__: object) -> int:
        raise StoreFull("memory.db", "the disk is full; nothing was changed")

    monkeypatch.setattr(SQLiteStore, "erase", full)
    with pytest.raises(StoreFull):
        run(
            store,
            [
                PutOp(ANN, "k", {"text": "rain"}),
                PutOp(BOB, "k", {"text": "rain"}),
                PutOp(ANN, "gone", None),
            ],
        )
    assert (store.search(()), store.memory.at("u1", *ANN).list()) == before
    assert keys(store.search(ANN, query="tea")) == ["k", "gone"]
    assert store.list_namespaces() == [ANN]


@BATCHES
def test_a_held_item_stops_the_whole_batch(store: EbbinghausStore, run: Run) -> None:
    store.put(ANN, "held", {"text": "tea"})
    store.memory.at("u1", *ANN).hold("held")
    with pytest.raises(Held):
        run(store, [PutOp(BOB, "k", {"text": "milk"}), PutOp(ANN, "held", None)])
    assert store.list_namespaces() == [ANN]


@BATCHES
def test_what_is_no_operation_is_refused_before_anything_is_done(
    store: EbbinghausStore, run: Run
) -> None:
    wrong: Any = "get"
    with pytest.raises(ValueError, match="str, which is no operation"):
        run(store, [PutOp(ANN, "k", {"text": "tea"}), wrong])
    assert store.list_namespaces() == []


@BATCHES
@pytest.mark.parametrize(
    "wrong",
    [
        SearchOp(ANN, limit=-1),
        SearchOp(ANN, offset=-1),
        ListNamespacesOp(limit=-1),
        ListNamespacesOp((MatchCondition("infix", ("a",)),)),  # type: ignore[arg-type]
        SearchOp(ANN, filter={"n": {"$near": 1}}),
        SearchOp(ANN, filter={"n": {"$gt": None}}),
        SearchOp(ANN, filter={"n": float("nan")}),
        SearchOp(ANN, filter={"n": 10**400}),
    ],
)
def test_what_cannot_be_asked_is_refused_though_nothing_is_there(
    store: EbbinghausStore, run: Run, wrong: Op
) -> None:
    with pytest.raises(InvalidInput):
        run(store, [PutOp(ANN, "k", {"text": "tea"}), wrong])
    assert store.list_namespaces() == []


# -- namespaces ----------------------------------------------------------------------------------

BAD = [("a.b",), ("a\0",), ("a", ""), (1,), "users"]


@BATCHES
@pytest.mark.parametrize("namespace", BAD)
@pytest.mark.parametrize(
    "op",
    [
        lambda ns: GetOp(ns, "k"),
        lambda ns: PutOp(ns, "k", {"text": "tea"}),
        lambda ns: PutOp(ns, "k", None),
        lambda ns: SearchOp(ns),
        lambda ns: ListNamespacesOp((MatchCondition("prefix", ns),)),
        lambda ns: ListNamespacesOp((MatchCondition("suffix", ns),)),
    ],
)
def test_7_labels_that_base_store_refuses_are_refused_in_a_batch_too(
    store: EbbinghausStore, run: Run, namespace: Any, op: Callable[[Any], Op]
) -> None:
    with pytest.raises(InvalidNamespaceError):
        run(store, [PutOp(ANN, "k", {"text": "tea"}), op(namespace)])
    assert store.list_namespaces() == []


def test_7_names_that_join_to_the_same_never_collide(store: EbbinghausStore) -> None:
    spaces = [("team_a",), ("team", "a"), ("team", "a", "b"), ("team", "a_b"), ("te", "am", "a")]
    for number, each in enumerate(spaces):
        store.put(each, "k", {"n": number})
    assert store.list_namespaces() == sorted(spaces)
    for number, each in enumerate(spaces):
        item = store.get(each, "k")
        assert item is not None
        assert item.value == {"n": number}
    assert [each.value["n"] for each in store.search(("team",))] == [1, 2, 3]
    assert [each.value["n"] for each in store.search(("te",))] == [4]


def test_21_reads_create_no_namespace_and_the_last_item_takes_it_away(
    store: EbbinghausStore,
) -> None:
    assert store.get(ANN, "k") is None
    assert store.search(ANN, query="tea") == []
    assert store.search(ANN) == []
    assert store.list_namespaces() == []
    assert store.memory.inhabited(include_faded=True) in ([], [("u1",)])  # its own, on opening
    store.put(ANN, "a", {"text": "tea"})
    store.put(ANN, "b", {"text": "tea"})
    store.delete(ANN, "a")
    assert store.list_namespaces() == [ANN]
    store.delete(ANN, "b")
    assert store.list_namespaces() == []


def test_two_stores_of_one_file_see_nothing_of_each_other(open_bank: OpenBank) -> None:
    one = EbbinghausStore(memory=open_bank(namespace=("app", "one")))
    two = EbbinghausStore(memory=one.memory.at("app", "two"))
    one.put(ANN, "k", {"text": "tea"})
    two.put(ANN, "k", {"text": "milk"})
    assert [each.value for each in one.search(())] == [{"text": "tea"}]
    assert [each.value for each in two.search((), query="milk tea")] == [{"text": "milk"}]
    assert one.list_namespaces() == two.list_namespaces() == [ANN]


LABELS = st.sampled_from(["a", "b", "a b", "b_a", "%", "*"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)


@given(
    puts=st.lists(st.tuples(SPACES, st.sampled_from("xyz"), st.sampled_from(["tea", "rain"]))),
    asked=SPACES,
    query=st.sampled_from([None, "tea", "rain or tea"]),
)
@settings(max_examples=40, deadline=None)
def test_a_search_gives_all_below_its_prefix_and_nothing_of_anybody_else(
    puts: list[tuple[tuple[str, ...], str, str]], asked: tuple[str, ...], query: str | None
) -> None:
    bank = MemoryBank.open(namespace="root", embedder=None, clock=ManualClock())
    with EbbinghausStore(memory=bank) as store:
        for namespace, key, text in puts:
            store.put(namespace, key, {"text": text, "of": list(namespace)})
        found = store.search(asked, query=query, limit=100)
        expected = {(ns, key) for ns, key, _ in puts if ns[: len(asked)] == asked}
        assert sorted((each.namespace, each.key) for each in found) == sorted(expected)
        assert all(each.value["of"] == list(each.namespace) for each in found)


# -- searching -----------------------------------------------------------------------------------


def test_pages_without_a_query_are_stable_by_namespace_time_and_key(
    store: EbbinghausStore, clock: ManualClock
) -> None:
    for key in ("z", "a"):
        for namespace in (BOB, ANN):
            store.put(namespace, key, {"text": key})
            store.put(namespace, f"{key}2", {"text": key})
        clock.advance(minutes=1)
    store.put(ANN, "z", {"text": "an update moves nothing"})
    full = [(each.namespace[1], each.key) for each in store.search(("users",), limit=100)]
    assert full == [(who, key) for who in ("ann", "bob") for key in ("z", "z2", "a", "a2")]
    pages = [
        (each.namespace[1], each.key)
        for offset in range(0, 9, 3)
        for each in store.search(("users",), limit=3, offset=offset)
    ]
    assert pages == full


def test_pages_of_a_query_are_one_ranking_with_the_unranked_behind(
    vectors: EbbinghausStore,
) -> None:
    for number, text in enumerate(("rain", "tea", "milk")):
        vectors.put((*ANN, str(number)), text, {"text": text})
    vectors.put(ANN, "off", {"text": "tea"}, index=False)

    def page(limit: int, offset: int) -> list[str]:
        return keys(
            vectors.search(ANN, query="query", limit=limit, offset=offset, refresh_ttl=False)
        )

    full = page(10, 0)
    assert full == ["tea", "milk", "rain", "off"]
    for size in (1, 2, 3):
        assert [key for at in range(0, 4, size) for key in page(size, at)] == full


def test_a_limit_of_zero_is_an_empty_page(store: EbbinghausStore) -> None:
    store.put(ANN, "k", {"text": "tea"})
    assert store.search(ANN, limit=0) == store.search(ANN, limit=0, query="tea") == []
    assert store.search(ANN, limit=0, offset=1, query="tea") == []
    assert store.list_namespaces(limit=0) == []


@pytest.mark.parametrize("query", [None, "", "  \n"])
def test_a_blank_query_lists(store: EbbinghausStore, query: str | None) -> None:
    store.put(ANN, "k", {"text": "tea"})
    assert [each.score for each in store.search(ANN, query=query)] == [None]


def test_scores_of_several_namespaces_are_comparable(vectors: EbbinghausStore) -> None:
    vectors.put(ANN, "milk", {"text": "milk"})
    vectors.put(BOB, "tea", {"text": "tea"})
    found = vectors.search(("users",), query="query")
    assert keys(found) == ["tea", "milk"]
    first, second = (each.score or 0.0 for each in found)
    assert second == pytest.approx(0.6 * first)


# -- filters -------------------------------------------------------------------------------------

VALUES: dict[str, dict[str, Any]] = {
    "number": {"n": 5, "deep": {"a": 1, "b": 2}},
    "float": {"n": 5.0},
    "big": {"n": 10, "deep": {"a": 1}},
    "text": {"n": "5", "deep": "a"},
    "true": {"n": True},
    "null": {"n": None},
    "list": {"n": [1, 2]},
    "missing": {"m": 1},
}


@pytest.mark.parametrize(
    "filter, expected",
    [
        ({"n": 5}, "number float"),
        ({"n": {"$eq": 5.0}}, "number float"),
        ({"n": True}, "true"),
        ({"n": 1}, ""),
        ({"n": "5"}, "text"),
        ({"n": None}, "null"),
        ({"n": [1, 2]}, "list"),
        ({"n": [1]}, ""),
        ({"n": {"$ne": 5, "$gt": 2}}, "big"),
        ({"n": {"$ne": 5}}, "big text true null list missing"),
        ({"n": {"$gt": 5}}, "big"),
        ({"n": {"$gte": 5}}, "number float big"),
        ({"n": {"$lt": 10}}, "number float"),
        ({"n": {"$lte": 10}}, "number float big"),
        ({"n": {"$gt": 4.99, "$lt": 9}}, "number float"),
        ({"deep": {"a": 1}}, "number big"),
        ({"deep": {"a": 1, "b": {"$gte": 2}}}, "number"),
        ({"deep": {}}, "number big"),
        ({"deep": {"$eq": {"a": 1}}}, "big"),
        ({"n": {"$gt": 5}, "deep": {"a": 1}}, "big"),
        ({"absent": {"$lt": 1}}, ""),
        ({}, " ".join(VALUES)),
    ],
)
@pytest.mark.parametrize("query", [None, "anything"])
def test_22_filters_compare_as_json_and_a_missing_field_matches_only_unequal(
    store: EbbinghausStore, filter: dict[str, Any], expected: str, query: str | None
) -> None:
    for key, value in VALUES.items():
        store.put(ANN, key, value)
    found = keys(store.search(ANN, filter=filter, query=query))
    assert sorted(found) == sorted(expected.split())


# -- forgetting ----------------------------------------------------------------------------------


def test_a_fresh_item_ranks_before_an_equal_one_that_has_decayed(
    vectors: EbbinghausStore, clock: ManualClock
) -> None:
    for namespace in (ANN, BOB):
        vectors.put(namespace, "old", {"text": "tea"})
    clock.advance(days=30)
    for namespace in (ANN, BOB):
        vectors.put(namespace, "new", {"text": "tea"})
    assert keys(vectors.search(ANN, query="query", refresh_ttl=False)) == ["new", "old"]
    everywhere = vectors.search(("users",), query="query", refresh_ttl=False)
    assert keys(everywhere) == ["new", "new", "old", "old"]


def test_what_has_faded_is_in_no_answer_and_put_brings_it_back(
    store: EbbinghausStore, clock: ManualClock
) -> None:
    store.put(ANN, "k", {"text": "tea"})
    clock.advance(days=LONG - 2)
    assert store.get(ANN, "k") is not None
    clock.advance(days=2)
    assert store.get(ANN, "k") is None
    assert store.search(ANN) == store.search(ANN, query="tea") == []
    assert store.list_namespaces() == []
    store.put(ANN, "k", {"text": "tea"})
    assert store.get(ANN, "k") is not None
    assert keys(store.search(ANN, query="tea")) == ["k"]
    assert store.list_namespaces() == [ANN]


def test_by_default_days_without_use_cost_nothing_and_days_of_use_do(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    store = EbbinghausStore(memory=open_bank(policy=Policy.chat()))
    store.put(ANN, "k", {"text": "tea"})
    store.put(ANN, "other", {"text": "rain"})
    clock.advance(days=1000)
    assert store.get(ANN, "k") is not None
    for _ in range(LONG):
        clock.advance(days=1)
        assert keys(store.search(ANN, query="rain", limit=1)) == ["other"]
    assert store.get(ANN, "k") is None


def test_what_is_used_outlives_what_is_not(store: EbbinghausStore, clock: ManualClock) -> None:
    store.put(ANN, "used", {"text": "tea"})
    store.put(ANN, "not", {"text": "rain"})
    clock.advance(days=60)
    assert keys(store.search(ANN, query="tea", limit=1)) == ["used"]
    clock.advance(days=LONG - 60)
    assert keys(store.search(ANN)) == ["used"]


def test_what_is_kept_or_not_indexed_never_fades(open_bank: OpenBank, clock: ManualClock) -> None:
    store = EbbinghausStore(memory=open_bank(policy=Policy()), keep=[("users", "ann")])
    store.put(ANN, "k", {"text": "tea"})
    store.put((*ANN, "below"), "k", {"text": "tea"})
    store.put(("users", "anna"), "k", {"text": "tea"})
    store.put(BOB, "off", {"text": "tea"}, index=False)
    store.put(BOB, "empty", {})
    store.put(BOB, "on", {"text": "tea"})
    clock.advance(days=10_000)
    left = [(each.namespace, each.key) for each in store.search(())]
    assert left == [(ANN, "k"), ((*ANN, "below"), "k"), (BOB, "empty"), (BOB, "off")]


def test_a_search_counts_as_use_and_get_and_listing_never_do(store: EbbinghausStore) -> None:
    store.put(ANN, "k", {"text": "tea"})
    store.get(ANN, "k")
    store.search(ANN)
    store.search(ANN, filter={"text": "tea"})
    store.list_namespaces()
    assert uses(store, "k") == 0
    store.search(ANN, query="tea", refresh_ttl=False)
    assert uses(store, "k") == 0
    store.search(ANN, query="tea")
    assert uses(store, "k") == 1


@BATCHES
@pytest.mark.parametrize("namespaces", [[ANN], [ANN, BOB]])
def test_use_is_counted_only_where_every_switch_is_on(
    open_bank: OpenBank, run: Run, namespaces: list[tuple[str, ...]]
) -> None:
    bank = open_bank()
    for on, refresh, expected in ((False, True, 0), (True, False, 0), (True, True, 1)):
        store = EbbinghausStore(memory=bank, reinforce=on)
        for each in namespaces:
            store.put(each, "k", {"text": "tea"})
        run(store, [SearchOp(("users",), query="tea", refresh_ttl=refresh)])
        assert [uses(store, "k", each) for each in namespaces] == [expected] * len(namespaces)


def test_turning_the_page_is_no_further_use(store: EbbinghausStore) -> None:
    for key in ("a", "b", "c"):
        store.put(ANN, key, {"text": "tea"})
    store.search(ANN, query="tea", limit=1, offset=1)
    assert [uses(store, key) for key in "abc"] == [0, 0, 0]
    store.search(ANN, query="tea", limit=1)
    assert [uses(store, key) for key in "abc"] == [1, 0, 0]


def test_a_clock_before_the_item_changes_nothing(
    store: EbbinghausStore, clock: ManualClock
) -> None:
    store.put(ANN, "k", {"text": "tea"})
    [now] = store.search(ANN, query="tea", refresh_ttl=False)
    clock.advance(days=-400)
    [then] = store.search(ANN, query="tea", refresh_ttl=False)
    assert then.score == now.score
    assert store.get(ANN, "k") is not None
