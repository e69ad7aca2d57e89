"""The kit does what tests rely on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from ebbmem.embedding import Encoder, adapt
from ebbmem.errors import EmbeddingError, InvalidInput
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder, UnknownText

TABLE = {"tea": [3.0, 4.0], "rain": [0.0, 2.0]}


def test_the_clock_starts_in_2026_and_stands_still() -> None:
    clock = ManualClock()
    assert clock() == clock() == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_clock_advances_by_a_timedelta_or_by_its_keywords() -> None:
    clock = ManualClock()
    assert clock.advance(timedelta(hours=12)) == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert clock.advance(days=1.5) == datetime(2026, 1, 3, tzinfo=UTC)


def test_the_clock_can_be_set_and_answers_in_utc() -> None:
    clock = ManualClock()
    clock.set(datetime(2026, 5, 1, 8, tzinfo=timezone(timedelta(hours=8))))
    assert clock() == datetime(2026, 5, 1, tzinfo=UTC)
    assert clock().tzinfo is UTC


def test_the_clock_refuses_a_naive_moment() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        ManualClock().set(datetime(2026, 5, 1))


def test_the_hashing_embedder_is_an_encoder() -> None:
    embedder = HashingEmbedder()
    assert isinstance(embedder, Encoder)
    assert adapt(embedder) is embedder


def test_the_table_gives_its_vectors_as_directions() -> None:
    encoder = adapt(TableEmbedder(TABLE))
    (tea,) = encoder.encode_documents(["tea"])
    np.testing.assert_allclose(tea.vector, [0.6, 0.8], rtol=1e-6)
    assert encoder.fingerprint.name == "langchain:TableEmbedder:table"


def test_the_table_counts_calls_and_texts() -> None:
    table = TableEmbedder(TABLE)
    table.embed_documents(["tea", "rain"])
    table.embed_query("tea")
    assert table.calls == 2
    assert table.texts == ["tea", "rain", "tea"]


def test_the_table_gives_its_default_for_an_unknown_text() -> None:
    assert TableEmbedder(TABLE, [1.0, 0.0]).embed_query("snow").tolist() == [1.0, 0.0]


def test_the_table_without_default_refuses_an_unknown_text() -> None:
    with pytest.raises(UnknownText, match="text 1 is not in the table"):
        TableEmbedder(TABLE).embed_query("snow")


def test_the_table_fails_on_the_text_it_was_told_to() -> None:
    encoder = adapt(TableEmbedder(TABLE, fail_on=2))
    encoder.encode_query("tea")
    with pytest.raises(EmbeddingError) as caught:
        encoder.encode_query("rain")
    assert isinstance(caught.value.__cause__, RuntimeError)
    encoder.encode_query("rain")
