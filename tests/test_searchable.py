"""Records that no query finds: kept, listed, moved and erased, and nothing to any ranking."""

from __future__ import annotations

import io
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import Draft, FingerprintMismatch, Memory, MemoryBank, Policy
from ebbmem.store.schema import MIGRATIONS
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder

WORDS = "tea milk cup rain sun harbour bread winter".split()
QUIET: dict[str, Any] = {"searchable": False, "importance": 0.5}


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder({"rain": [0.0, 1.0]}, default=[1.0, 0.0])


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    """Holds `quiet`, which says "green tea" and must not be found."""
    made = open_bank(embedder=embedder)
    made.remember("green tea", id="quiet", **QUIET)
    return made


def found(bank: MemoryBank, query: Any, **options: Any) -> list[str]:
    return [hit.memory.id for hit in bank.recall(query, 9, **options)]


# -- no query finds it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_similarity": -1},
        {"include_faded": True, "min_similarity": -1},
        {"category": "fact", "min_similarity": -1},
        {"where": lambda memory: memory.id == "quiet", "min_similarity": -1},
        {"where": {}, "source": None, "min_similarity": -1},
    ],
)
def test_no_query_finds_it(bank: MemoryBank, options: dict[str, Any]) -> None:
    for query in ("green tea", "quiet", [1.0, 0.0]):
        assert found(bank, query, **options) == []
    assert bank.context("green tea") == ""
    assert bank.get("quiet").recall_count == 0


def test_keywords_alone_do_not_find_it(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("green tea", id="quiet", **QUIET)
    assert found(bank, "green tea") == []


def test_the_graph_does_not_reach_it_nor_go_through_it(bank: MemoryBank) -> None:
    bank.remember_many([Draft(text=text, id=text, importance=0.5) for text in ("milk cup", "rain")])
    bank.link("milk cup", "quiet")
    bank.link("quiet", "rain")
    assert found(bank, "milk cup") == ["milk cup"]
    bank.link("milk cup", "rain")
    assert found(bank, "milk cup") == ["milk cup", "rain"]  # where it is not in between


def test_what_is_said_around_it_is_said_one_after_the_other(open_bank: OpenBank) -> None:
    def chat(quiet: bool) -> list[tuple[str, float]]:
        said = [("Ann", "Do you like the harbour?"), ("Bob", "Only in winter.")]
        bank = open_bank(path=":memory:")
        drafts = [
            Draft(text=text, speaker=who, source="chat", importance=0.5) for who, text in said
        ]
        between = Draft(text="Who asked?", speaker="Eve", source="chat", **QUIET)
        bank.remember_many([drafts[0], *([between] * quiet), drafts[1]])
        return [(hit.memory.text, hit.score) for hit in bank.recall("harbour", reinforce=False)]

    assert chat(quiet=True) == chat(quiet=False)
    assert len(chat(quiet=True)) == 2  # the answer came by its place alone


@pytest.mark.parametrize("together", [True, False])
def test_a_question_that_nobody_finds_is_not_answered(open_bank: OpenBank, together: bool) -> None:
    bank = open_bank()
    drafts = [
        Draft(text="Where is the harbour?", speaker="Ann", source="chat", searchable=False),
        Draft(text="In the north of the town.", speaker="Bob", source="chat"),
    ]
    kept = (
        bank.remember_many(drafts)
        if together
        else [bank.remember_many([each])[0] for each in drafts]
    )
    alone = bank.at("u2").remember("In the north of the town.", speaker="Bob", source="chat")
    assert kept[1].importance == alone.importance


def test_its_words_are_as_new_as_if_it_were_not_there(bank: MemoryBank) -> None:
    first = bank.remember("green tea with milk")
    assert first.importance == bank.at("u2").remember("green tea with milk").importance


def test_explaining_says_that_it_is_not_searchable(bank: MemoryBank) -> None:
    told = bank.explain("green tea", "quiet")
    assert (told.outcome, told.reason) == ("filtered", "it is kept, but not searchable")


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=40)
@given(
    loud=st.lists(texts, min_size=1, max_size=6, unique=True),
    quiet=st.lists(texts, max_size=12),
    query=texts,
    embedder=st.sampled_from([None, HashingEmbedder()]),
)
def test_no_answer_is_other_than_without_it(
    loud: list[str], quiet: list[str], query: str, embedder: object
) -> None:
    def answers(extra: list[str]) -> list[tuple[object, ...]]:
        with MemoryBank.open(namespace="u1", embedder=embedder, clock=ManualClock()) as bank:
            for n, text in enumerate(extra[::2]):
                bank.remember(text, id=f"q{n}", keyed=True, source="s", **QUIET)
            bank.remember_many(Draft(text=each, id=each, source="s") for each in loud)
            for n, text in enumerate(extra[1::2]):
                bank.remember(text, id=f"r{n}", keyed=True, source="t", **QUIET)
            assert len(bank.list()) == len(loud) + len(extra)
            return [
                (hit.memory.id, hit.score, hit.keyword, hit.similarity, hit.memory.importance)
                for hit in bank.recall(query, 9, reinforce=False)
            ]

    assert answers(quiet) == answers([])


def test_silent_records_do_not_lower_what_counts_as_unrelated(open_bank: OpenBank) -> None:
    table = {f"word{n}": [math.cos(n / 140), math.sin(n / 140)] for n in range(70)}
    table["elsewhere"] = [math.cos(1.5), math.sin(1.5)]

    def reason(silent: int) -> str:
        bank = open_bank(path=":memory:", embedder=TableEmbedder(table))
        bank.remember_many(Draft(text=f"silent{n}", **QUIET) for n in range(silent))
        bank.remember_many(Draft(text=f"word{n}", id=f"m{n}", importance=0.5) for n in range(70))
        return bank.explain("elsewhere", "m0").reason

    assert reason(0) == reason(200)
    # cos 1.5 = 0.0707; all those words are within half a radian of each other
    assert "its similarity 0.071 is under 1.000" in reason(0)


# -- it is there ---------------------------------------------------------------------------------


def test_it_is_not_embedded(bank: MemoryBank, embedder: TableEmbedder) -> None:
    assert embedder.texts == []
    bank.update("quiet", text="black tea")
    assert embedder.texts == []
    assert bank.vectors("quiet") == {}


def test_it_is_listed_and_got_and_counted(bank: MemoryBank) -> None:
    [kept] = bank.list()
    assert kept == bank.get("quiet")
    assert not kept.searchable
    assert (bank.stats().active, bank.strength("quiet")) == (1, 0.5)


def test_it_goes_out_and_comes_in_as_it_is(bank: MemoryBank) -> None:
    out = io.StringIO()
    assert bank.export_jsonl(out) == 1
    other = bank.at("u2")
    other.import_file(io.StringIO(out.getvalue()))
    assert other.list() == bank.list()
    assert found(other, "green tea", min_similarity=-1) == []


def test_it_fades_and_is_let_go_like_any_other(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(days=25)
    assert bank.prune().faded == ("quiet",)
    clock.advance(days=30)
    assert bank.prune().erased == ("quiet",)


def test_it_is_erased(bank: MemoryBank) -> None:
    assert bank.erase("quiet").count == 1
    assert bank.list(include_faded=True) == []


def test_the_same_words_once_more_are_the_same_record(bank: MemoryBank) -> None:
    assert bank.remember("green tea").id == "quiet"
    assert found(bank, "green tea", min_similarity=-1) == []


# -- another embedder ----------------------------------------------------------------------------


def test_another_embedder_is_not_asked_for_it_and_all_is_done(bank: MemoryBank) -> None:
    bank.remember("rain", id="loud", importance=0.5)
    other = TableEmbedder({}, default=[0.0, 0.0, 1.0])
    other.model = "other"
    assert bank.reembed(other) == 1
    assert "green tea" not in other.texts
    assert bank.vectors(["quiet", "loud"]).keys() == {"loud"}
    assert found(bank, "green tea", min_similarity=-1) == ["loud"]


def test_a_file_of_silent_records_alone_changes_its_embedder(bank: MemoryBank) -> None:
    other = TableEmbedder({}, default=[0.0, 0.0, 1.0])
    other.model = "other"
    assert bank.reembed(other) == 0
    assert bank.remember("rain").text == "rain"


# -- on and off ----------------------------------------------------------------------------------


def rewrite(bank: MemoryBank, text: str, *, searchable: bool) -> Memory:
    return bank.remember(text, id="k", keyed=True, importance=0.5, searchable=searchable)


@pytest.mark.parametrize("text", ["green tea", "cold tea"])
def test_rewriting_it_as_searchable_makes_it_found_by_words_and_vector(
    bank: MemoryBank, text: str
) -> None:
    rewrite(bank, "green tea", searchable=False)
    assert rewrite(bank, text, searchable=True).searchable
    assert found(bank, "tea") == ["k"]
    assert found(bank, [1.0, 0.0]) == ["k"]


def test_rewriting_it_as_not_searchable_hides_it_and_drops_its_vector(bank: MemoryBank) -> None:
    rewrite(bank, "green tea", searchable=True)
    assert found(bank, "tea", reinforce=False) == ["k"]
    rewrite(bank, "green tea", searchable=False)
    assert found(bank, "tea", min_similarity=-1) == []
    assert bank.vectors("k") == {}
    [change] = [each for each in bank._store.changes(("u1",), 0).rows if each.id == "k"]
    assert change.content is not None
    assert change.content.passages == ()


def test_a_reader_that_opens_later_sees_the_same(bank: MemoryBank, open_bank: OpenBank) -> None:
    rewrite(bank, "green tea", searchable=True)
    other = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    assert found(other, "tea", min_similarity=-1, reinforce=False) == ["k"]
    rewrite(bank, "green tea", searchable=False)
    third = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    assert found(other, "tea", min_similarity=-1) == found(third, "tea", min_similarity=-1) == []


def test_a_chat_policy_hides_it_too(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy.chat())
    bank.remember("green tea", **QUIET)
    assert found(bank, "green tea") == []


def test_what_is_not_embedded_may_be_the_first_of_a_file(open_bank: OpenBank) -> None:
    """The dimension of a foreign embedder is known by its first vector, whoever needs it."""
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    bank.beside("papers").rerank({"paper": 0.9})
    other = bank.at("u2")
    other.remember("tea")
    assert str(bank.diagnose()["embedder"]).endswith("(2)")
    assert [each.memory.text for each in other.recall("tea")] == ["tea"]
    with pytest.raises(FingerprintMismatch):
        open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0, 0.0])).remember("milk")


def test_a_file_that_never_learned_the_dimension_learns_it_from_its_vectors(
    open_bank: OpenBank, file: Path
) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    bank.remember("tea")
    bank.close()
    [learn] = [step for step in MIGRATIONS[3][1] if str(step).startswith("UPDATE embedder")]
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE embedder SET dimension = 0")
        db.execute(str(learn))
        assert db.execute("SELECT dimension, token_dimension FROM embedder").fetchall() == [(2, 0)]
