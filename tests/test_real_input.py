"""Real conversations, where the evaluation data is at hand: EBBMEM_DATA names its folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ebbmem import MemoryBank
from ebbmem.exchange import read_file

DATA = Path(os.environ.get("EBBMEM_DATA", Path(__file__).parents[2] / "shared" / "data"))
LOCOMO = DATA / "locomo7.json"
QUESTION = "When did Caroline go to the LGBTQ support group?"

pytestmark = pytest.mark.skipif(not LOCOMO.exists(), reason="no LoCoMo file: set EBBMEM_DATA")


def ebbmem(*arguments: str, db: Path) -> list[dict[str, Any]]:
    environment = {**os.environ, "EBBMEM_DB": str(db), "EBBMEM_EMBEDDER": ""}
    ran = subprocess.run(
        [sys.executable, "-m", "ebbmem", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return json.loads(ran.stdout)


def test_an_imported_conversation_answers_with_its_date_and_parts(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the local embedder")
    db = tmp_path / "m.db"
    ebbmem("import", str(LOCOMO), "--only", "conv-26", db=db)
    hits = ebbmem("recall", QUESTION, db=db)
    found = {hit["memory"]["id"]: hit for hit in hits}
    assert len(hits) == 5
    parts = found["D1:3"]
    assert parts["memory"]["created_at"].startswith("2023-05-08T13:56")
    assert parts["similarity"] > 0
    assert parts["interaction"] > 0
    assert parts["keyword"] > 0
    assert set(parts["bonuses"]) >= {"before", "window", "coverage", "strength"}


def test_a_file_of_seven_conversations_becomes_seven_namespaces(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with MemoryBank.open(tmp_path / "m.db", namespace="locomo", embedder="hashing") as bank:
        taken = bank.import_file(LOCOMO, progress=lambda done, total: seen.append((done, total)))
        assert next(iter(taken)) == ("locomo", "conv-26")
        assert len(taken) == 7
        assert [each.new for each in taken.values()] == [419, 369, 663, 629, 680, 675, 687]
        assert [each.known for each in taken.values()] == [0, 0, 0, 0, 0, 0, 2]
        assert seen[-1] == (4124, 4124)
        assert seen == sorted(seen)
        first = bank.at("locomo", "conv-26")
        assert first.policy.timeline == "active"
        assert first.stats().faded == 0
        assert first.recall(QUESTION, k=5)
        assert bank.stats().active == 0


@pytest.fixture
def chat() -> Iterator[MemoryBank]:
    """Three thousand turns of real chat, and what the README remembers."""
    pytest.importorskip("onnxruntime", reason="needs the local embedder")
    turns = [item.text for batch in read_file(LOCOMO) for item in batch.items]
    with MemoryBank.open(namespace="alice", embedder="local") as bank:
        bank.remember_many(list(dict.fromkeys(turns))[:3000])
        bank.remember("I prefer tabs over spaces when I write code", importance=0.9, id="tabs")
        bank.remember_many(["Our backend runs on Python with MongoDB", "Ines keeps the spare key"])
        yield bank


def test_the_readme_example_holds_among_three_thousand_turns_of_real_chat(
    chat: MemoryBank,
) -> None:
    assert "tabs" in [hit.memory.id for hit in chat.recall("How should I format code?")]


def test_an_unrelated_question_finds_nothing_among_three_thousand_turns_of_real_chat(
    chat: MemoryBank,
) -> None:
    assert chat.recall("What is the boiling point of tungsten?") == []
