"""The example program, as somebody starts it and talks to it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")
pytest.importorskip("onnxruntime", reason="the example recalls by meaning")

from talking import talked

EXAMPLE = Path(__file__).parents[3] / "integrations" / "llamaindex" / "examples" / "chat_engine.py"
talk = partial(talked, EXAMPLE)


def test_it_remembers_across_sessions_and_restarts_and_forgets(tmp_path: Path) -> None:
    said, errors = talk(
        tmp_path, "I am allergic to peanuts", "/new", "Which food am I allergic to?"
    )
    assert errors == ""
    assert said[1:4] == [
        "I will remember that.",
        "thread 2",
        "I remember:\ntoday, user: I am allergic to peanuts",
    ]
    said, _ = talk(tmp_path, "Am I allergic to anything?", "/days 300", "/memories")
    assert said[0].startswith("2 memories of you")
    assert "I am allergic to peanuts" in said[1]
    assert said[2:4] == ["300 days later; 3 memories faded", "nothing yet"]


def test_two_people_do_not_meet_and_any_llm_may_take_the_place_of_the_stand_in(
    tmp_path: Path,
) -> None:
    talk(tmp_path, "I am allergic to peanuts", arguments=("--user", "alice"))
    mock = ("--user", "bob", "--llm", "llama_index.core.llms.mock:MockLLM")
    said, errors = talk(tmp_path, "Am I allergic to peanuts?", arguments=mock)
    assert errors == ""
    assert said[0] == "0 memories of bob; /help shows the commands"
    assert "I am allergic to peanuts" not in said[1]
