"""What README promises is executed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

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


@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
def test_every_line_for_the_shell_works_for_somebody_who_ran_the_first_command(
    tmp_path: Path,
) -> None:
    pytest.importorskip("typer", reason="needs the extra cli")
    [lines] = re.findall(r"```sh\nsource \.venv/bin/activate.*\n((?:ebbmem .*\n)+)```", README)
    ran = subprocess.run(
        ["/bin/sh", "-euc", f'ebbmem() {{ "{sys.executable}" -m ebbmem "$@"; }}\n{lines}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            "PATH": "",
            "PYTHONUTF8": "1",
            "PYTHONPATH": str(ROOT),
            "XDG_DATA_HOME": str(tmp_path),
        },
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for part in ("remembered ", "1. ", "active ", "1 exported to ", "copy: 1 new, 0 already there"):
        assert f"\n{part}" in f"\n{ran.stdout}"


def test_all_commands_are_named() -> None:
    pytest.importorskip("typer", reason="needs the extra cli")
    from ebbmem.cli.app import app
    from ebbmem.cli.run import COMMANDS

    assert COMMANDS
    [listed] = re.findall(r"`(demo remember[a-z\s]+)`", README)
    alone = {each.name for each in app.registered_commands}
    assert set(listed.split()) == alone | {each.name for each in app.registered_groups}


def test_the_core_alone_finds_what_the_quickstart_says_it_does() -> None:
    from ebbmem import MemoryBank

    with MemoryBank.open(namespace="alice", embedder=None) as bank:
        wanted = bank.remember("I prefer tabs over spaces when I write code")
        stack = bank.remember("Our backend runs on Python with MongoDB")
        bank.remember("My sister Ines keeps the spare key")
        assert [hit.memory.id for hit in bank.recall("How should I format code?")] == [wanted.id]
        assert bank.recall("What is the boiling point of tungsten?") == []
        assert bank.recall("Which database do we use?") == []
        bank.reembed("local")
        assert [hit.memory.id for hit in bank.recall("Which database do we use?")] == [stack.id]


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
        wanted = bank.remember("I prefer tabs over spaces when I write code", importance=0.9)
        bank.remember_many([Draft(text="Our backend runs on Python with MongoDB")])
        hits = bank.recall("How should I format code?")
        assert hits[0].memory.id == wanted.id
        assert bank.recall("What is the boiling point of tungsten?") == []


# --- the notebooks, which are kept with what they print and draw

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_the_notebooks_that_are_named_are_there() -> None:
    named = re.findall(r"\]\((notebooks/[^)]+)\)", README)
    assert named
    assert all((ROOT / each).is_file() for each in named)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_as_one_run_left_it(path: Path) -> None:
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}
    assert "error" not in {output["output_type"] for output in outputs}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_every_plot_and_stays_small(path: Path) -> None:
    for cell in code_cells(path):
        drawn = [output for output in cell["outputs"] if "image/png" in output.get("data", ())]
        assert len(drawn) == "".join(cell["source"]).count("plt.show()")
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_does_not_say_where_or_when_it_was_run(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    for output in (output for cell in code_cells(path) for output in cell["outputs"]):
        shown = {kind: data for kind, data in output.get("data", {}).items() if "png" not in kind}
        said = json.dumps([shown, output.get("text"), output.get("metadata")])
        assert not re.search(r"(?<![<\w])/\w+/\w+|[A-Z]:\\\\|site-packages|0x[0-9a-f]{6}", said)
        assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-7", said), "an id holds the time"


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]
