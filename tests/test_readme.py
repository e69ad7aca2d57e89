"""What README promises is executed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="README shows the local embedder")

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", README, re.DOTALL)


def command(name: str) -> str:
    """The one-line command under a marker."""
    found = re.search(rf"<!-- {name} -->\n```sh\n(.*?)\n```", README)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize(
    ("code", "printed"), EXAMPLES, ids=[f"example-{n}" for n in range(1, len(EXAMPLES) + 1)]
)
def test_every_example_prints_what_it_says(code: str, printed: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": "", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.stderr == ""
    assert ran.stdout == printed


def test_there_are_examples_for_each_way_in() -> None:
    assert len(EXAMPLES) >= 6
    assert all(printed for _, printed in EXAMPLES)


def test_the_two_commands_are_one_line_each_and_make_their_own_environment() -> None:
    for name in ("demo", "test"):
        assert command(name).startswith("python3 -m venv .venv && ")
        assert "\n" not in command(name)


def test_ci_takes_the_test_command_from_here() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "<!-- test -->" in script
    assert "pip install -q -e" not in script, "the command must not have two homes"


def test_the_first_example_holds_among_three_thousand(tmp_path: Path) -> None:
    from ebbmem import Draft, MemoryBank

    verbs = ["bought", "painted", "lost", "found", "washed", "sold", "drew", "moved", "fixed"]
    things = ["chair", "bicycle", "curtain", "carpet", "window", "gate", "rug", "desk"]
    noise = [
        f"{verb.capitalize()} the {thing} number {number} again"
        for number in range(42)
        for verb in verbs
        for thing in things
    ][:3000]
    with MemoryBank.open(tmp_path / "m.db", namespace="alice") as bank:
        bank.remember_many(noise)
        wanted = bank.remember("I prefer tabs over spaces", importance=0.9)
        bank.remember_many([Draft(text="Our backend runs on Python with MongoDB")])
        hits = bank.recall("How should I format code?")
        assert hits[0].memory.id == wanted.id
        assert bank.recall("What is the boiling point of tungsten?") == []
