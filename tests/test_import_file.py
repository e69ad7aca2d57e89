"""Importing is one transaction over all namespaces, and leaves nothing behind when it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ebbmem import EmbeddingError, InvalidInput, MemoryBank
from ebbmem.testing import TableEmbedder


def conversations(path: Path, *texts: str) -> Path:
    """A LoCoMo file: one conversation of one turn for each text."""
    plain = [
        {
            "sample_id": f"conv-{number}",
            "conversation": {
                "speaker_a": "Ann",
                "speaker_b": "Ben",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": text}],
            },
            "qa": [],
        }
        for number, text in enumerate(texts)
    ]
    path.write_text(json.dumps(plain), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return conversations(tmp_path / "talks.json", "about tea", "about rain")


def test_a_refusal_in_the_second_namespace_leaves_nothing_in_the_first(file: Path) -> None:
    with MemoryBank.open(namespace="talks", embedder=None) as bank:
        bank.at("talks", "conv-1").remember("something else", id="D1:1")
        with pytest.raises(InvalidInput, match="id 'D1:1' is already that of another text"):
            bank.import_file(file)
        first = bank.at("talks", "conv-0")
        assert first.list() == first.recall("tea") == []
        first.remember("about coffee")
        assert [each.text for each in first.list()] == ["about coffee"]


def test_a_failing_embedder_leaves_the_policy_and_the_store_as_they_were(file: Path) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0], fail_on=1)
    with MemoryBank.open(namespace="talks", embedder=embedder) as bank:
        with pytest.raises(EmbeddingError):
            bank.import_file(file, only="conv-0")
        assert bank.policy.timeline == "wall"
        assert bank.stats().active == 0


def test_nothing_but_the_store_is_asked_inside_the_transaction(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ebbmem.arena import Arena

    with MemoryBank.open(namespace="talks", embedder=None) as bank:
        connection = bank._store.connection  # type: ignore[attr-defined]
        catch_up = Arena.catch_up

        def watched(arena: Arena) -> None:
            assert not connection._writing, "the arena waits for whoever holds the store"
            catch_up(arena)

        monkeypatch.setattr(Arena, "catch_up", watched)
        assert sum(each.new for each in bank.import_file(file).values()) == 2
        bank.remember("and more")
        bank.update(bank.list()[0].id, text="and less")
        bank.recall("less")
        bank.prune()


def test_a_name_that_the_file_does_not_hold_is_refused(file: Path) -> None:
    with (
        MemoryBank.open(namespace="talks", embedder=None) as bank,
        pytest.raises(InvalidInput, match="conv-0"),
    ):
        bank.import_file(file, only="conv-7")
