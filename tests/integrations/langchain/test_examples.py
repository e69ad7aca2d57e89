"""The example program, as somebody starts it and talks to it."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("langchain.agents", reason="needs the extra agents")
pytest.importorskip("onnxruntime", reason="the example recalls by meaning")

from langchain_core.runnables import RunnableLambda

from ebbmem import MemoryBank
from talking import talked

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "integrations" / "langchain" / "examples" / "chat.py"
talk = partial(talked, EXAMPLE)


def test_it_remembers_across_threads_and_restarts_and_forgets(tmp_path: Path) -> None:
    said, errors = talk(
        tmp_path,
        "I am allergic to peanuts",
        "/new",
        "Which food am I allergic to?",
        "/days 20",
        "/memories",
    )
    assert errors == ""
    assert said[0].startswith("0 memories of you")
    assert said[1:4] == [
        "I will remember that.",
        "thread 2",
        "I remember:\ntoday, user: I am allergic to peanuts",
    ]
    assert said[4] == "20 days later; 0 memories faded"
    first, second = said[5].splitlines()
    assert first.endswith("I am allergic to peanuts")
    assert float(first[:4]) > float(second[:4])  # it was used

    said, _ = talk(tmp_path, "Am I allergic to anything?", "/days 300", "/memories")
    assert said[0].startswith("2 memories of you")
    assert "I am allergic to peanuts" in said[1]
    assert said[2] == "300 days later; 3 memories faded"
    assert said[3] == "nothing yet"


def test_a_memory_is_let_go_and_brought_back(tmp_path: Path) -> None:
    said, _ = talk(tmp_path, "I like tea", "/memories")
    [id_] = re.findall(r"  (\S+)  user: I like tea", said[2])
    said, errors = talk(tmp_path, f"/forget {id_}", "/memories", f"/restore {id_}", "/forget no")
    assert said[1:4] == ["1 done", "nothing yet", "1 done"]
    assert errors == "no memory 'no'\n"


def test_two_people_do_not_meet(tmp_path: Path) -> None:
    talk(tmp_path, "I am allergic to peanuts", arguments=("--user", "alice"))
    said, _ = talk(tmp_path, "Am I allergic to peanuts?", arguments=("--user", "bob"))
    assert said[:2] == [
        "0 memories of bob; /help shows the commands",
        "I will remember that.",
    ]


def test_facts_that_a_model_finds_take_the_place_of_the_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = importlib.util.spec_from_file_location("chat", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    chat = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "chat", chat)
    spec.loader.exec_module(chat)
    asked: list[str] = []

    class Structured(chat.StandIn):  # type: ignore[name-defined,misc]
        def with_structured_output(self, schema: object, **_: object) -> object:
            assert schema is chat.Facts

            def answer(prompt: str) -> object:
                asked.append(prompt)
                return chat.Facts(
                    facts=[chat.Fact(text="You are allergic to peanuts", category="strategy")]
                )

            return RunnableLambda(answer)

    model = Structured()
    with MemoryBank.open(namespace="you", embedder=None) as bank:
        talk = chat.Chat(bank, model, chat.Extract(model))
        talk.say("Peanuts and I do not go together", "thread-1")
        assert [(each.text, each.category, each.source) for each in bank.list()] == [
            ("You are allergic to peanuts", "strategy", "thread-1")
        ]
    assert len(asked) == 1
    assert "human: Peanuts and I do not go together\nai: I will remember that." in asked[0]
