"""Memories as documents, documents as drafts."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from builders import AT, OpenBank, a_memory, a_recollection
from ebbmem import InvalidInput
from langchain_ebbmem.beside import key_of
from langchain_ebbmem.documents import (
    document_of,
    documents_as_drafts,
    documents_by_id,
    draft_of,
    drafts_of,
    hit_of,
    moment,
    plain,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def test_a_document_has_the_id_the_text_and_the_metadata_of_its_memory() -> None:
    memory = a_memory(id="m1", text="tea", metadata={"page": 3})
    assert document_of(memory) == Document(id="m1", page_content="tea", metadata={"page": 3})


def test_a_document_shares_nothing_with_its_memory() -> None:
    memory = a_memory(metadata={"tags": ["hot"], "of": {"who": "Anna"}})
    document = document_of(memory)
    document.metadata["tags"].append("cold")
    document.metadata["of"]["who"] = "Bob"
    assert memory.metadata == {"tags": ["hot"], "of": {"who": "Anna"}}


def test_scores_are_in_the_metadata_on_request_alone() -> None:
    hit = a_recollection(a_memory(metadata={"page": 3}), score=0.25, strength=0.75)
    assert hit_of(hit).metadata == {"page": 3}
    scored = hit_of(hit, include_scores=True).metadata
    assert scored == {"page": 3, "score": 0.25, "strength": 0.75}


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_metadata_that_is_json_comes_through_as_it_was(metadata: dict[str, Any]) -> None:
    before = json.dumps(metadata)
    assert plain(metadata) == metadata
    assert json.dumps(metadata) == before


def test_what_json_lacks_becomes_what_it_has() -> None:
    given = {"when": AT, "day": date(2026, 1, 1), "pair": (1, 2), "n": np.int64(3)}
    seconds = AT.timestamp()
    assert plain(given) == {"when": seconds, "day": seconds, "pair": [1, 2], "n": 3}


@pytest.mark.parametrize(
    "value", [AT, AT.replace(tzinfo=None), AT.isoformat(), "2026-01-01", AT.timestamp(),
              int(AT.timestamp())]
)  # fmt: skip
def test_a_time_is_read_however_it_is_written(value: object) -> None:
    assert moment(value) == AT


@pytest.mark.parametrize(
    "value", [None, True, [], {}, "the day before", 1e300, float("nan"), "2026-13-01"]
)
def test_what_does_not_look_like_a_time_is_none(value: object) -> None:
    assert moment(value) is None


def test_a_time_in_the_future_is_kept_and_weighs_no_more_than_now(open_bank: OpenBank) -> None:
    bank = open_bank()
    [memory] = bank.remember_many([draft_of("tea", {"created_at": "2036-01-01T00:00:00"}, "m1")])
    assert memory.created_at == datetime(2036, 1, 1, tzinfo=UTC)
    assert bank.retention("m1") == 1.0


def test_texts_without_metadata_and_ids_are_drafts_too() -> None:
    one, other = drafts_of(iter(["tea", "coffee"]), None, None)
    assert [one.text, other.text] == ["tea", "coffee"]
    assert (one.id, one.metadata, one.keyed) == (None, {}, True)


@pytest.mark.parametrize("field", ["metadatas", "ids"])
def test_as_many_as_there_are_texts_or_none(field: str) -> None:
    values: Any = {"metadatas": [{}], "ids": ["m1"]}[field]
    given = {"metadatas": None, "ids": None, field: values}
    with pytest.raises(InvalidInput, match=f"{field} are 1, and there are 2 texts"):
        drafts_of(["tea", "coffee"], **given)


def test_ids_that_are_given_stand_in_for_those_of_the_documents() -> None:
    documents = [Document("tea", id="a"), Document("coffee")]
    assert [each.id for each in documents_as_drafts(documents, None)] == ["a", None]
    assert [each.id for each in documents_as_drafts(documents, ["b", "c"])] == ["b", "c"]


def test_documents_by_id_come_in_the_order_asked_for_once_and_without_the_missing(
    open_bank: OpenBank,
) -> None:
    bank = open_bank()
    bank.remember("tea", id="a")
    bank.remember("coffee", id="b")
    found = documents_by_id(bank, ["b", "none", "a", "b"])
    assert [each.id for each in found] == ["b", "a"]


# -- the key of a document kept elsewhere ---------------------------------------------------


def test_a_document_without_an_id_has_one_that_follows_from_what_is_in_it() -> None:
    one = Document("tea", metadata={"a": 1, "b": 2})
    same = Document("tea", metadata={"b": 2, "a": 1})
    others = [Document("tea", metadata={"a": 1}), Document("coffee", metadata={"a": 1, "b": 2})]
    assert key_of(one) == key_of(same)
    assert len({key_of(each) for each in [one, *others]}) == 3


def test_an_id_that_a_bank_would_refuse_has_a_stand_in_of_its_own() -> None:
    ids = ["x" * 600, "x" * 601, "a\nb", "plain"]
    keys = [key_of(Document("tea", id=id)) for id in ids]
    assert keys[-1] == "plain"
    assert len({*keys}) == 4
    assert all(len(key) <= 512 and key.isprintable() for key in keys)
