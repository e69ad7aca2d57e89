"""The encoder that reads every text once."""

from __future__ import annotations

from builders import OpenBank
from ebbmem.embedding import adapt
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.testing import HashingEmbedder, TableEmbedder


def counted() -> tuple[TableEmbedder, CachedEncoder]:
    table = TableEmbedder({}, default=[1.0, 0.0])
    return table, CachedEncoder(adapt(table))


def test_a_text_is_read_once_however_often_it_is_asked_for() -> None:
    table, cached = counted()
    first = cached.encode_documents(["tea", "milk", "tea"])
    again = cached.encode_documents(["milk", "rum"])
    assert table.texts == ["tea", "milk", "rum"]
    assert first[0] is first[2]
    assert again[0] is first[1]


def test_nothing_new_is_no_call() -> None:
    table, cached = counted()
    cached.encode_documents(["tea"])
    cached.encode_documents(["tea"])
    assert cached.encode_documents([]) == []
    assert table.calls == 1


def test_a_question_and_a_document_of_the_same_words_are_kept_apart() -> None:
    table, cached = counted()
    cached.encode_documents(["tea"])
    assert cached.encode_query("tea") is cached.encode_query("tea")
    assert table.texts == ["tea", "tea"]


def test_the_time_of_a_question_is_that_of_its_only_encoding() -> None:
    cached = CachedEncoder(HashingEmbedder())
    assert cached.query_seconds("tea") == 0.0
    cached.encode_query("tea " * 1000)
    once = cached.seconds
    cached.encode_query("tea " * 1000)
    assert 0.0 < cached.query_seconds("tea " * 1000) == once == cached.seconds


def test_a_bank_takes_it_for_the_encoder_that_it_wraps(open_bank: OpenBank) -> None:
    cached = CachedEncoder(HashingEmbedder())
    open_bank(embedder=cached).remember("tea")
    assert open_bank(embedder="hashing").recall("tea")[0].memory.text == "tea"
    assert cached.covers("茶")
