"""What forgetting costs, measured on conversations small enough to work out by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ebbmem.evaluate.data import Dataset, History, Question
from ebbmem.evaluate.forgetting import METRICS, ORDERS, Report, measure
from ebbmem.records import Draft

COMMAND = (sys.executable, "-m", "ebbmem", "bench", "forgetting")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
TALK = (
    "My sister Anna moved to Oslo last March.",
    "Okay.",
    "The telescope in the attic belongs to uncle Viktor.",
    "Sounds good!",
    "I planted 40 tulips behind the garage in October.",
)
ASKED = (
    ("Where did Anna move?", "1", 0),
    ("Whose is the telescope?", "2", 2),
    ("What did I plant behind the garage?", "3", 4),
)


def conversation(*, apart: timedelta) -> Dataset:
    items = tuple(
        Draft(text=text, id=f"i{at}", source=f"s{at}", position=0, at=START + at * apart)
        for at, text in enumerate(TALK)
    )
    questions = tuple(Question(id, text, (f"i{gold}",), "all") for text, id, gold in ASKED)
    return Dataset("by hand", (History("one", items, questions),))


@pytest.fixture(scope="module")
def report() -> Report:
    return measure(conversation(apart=timedelta(days=30)), None, dropped=(0.4,))


def row(report: Report, name: str):
    return next(each for each in (*report.replays, *report.drops) if each.name == name)


def test_every_question_is_answered_when_nothing_is_forgotten(report: Report) -> None:
    nothing = row(report, "nothing forgotten")
    assert (nothing.mean("any@1"), nothing.mean("MRR")) == (1.0, 1.0)
    assert (nothing.memories, nothing.evidence, report.kept(nothing)) == (1.0, 1.0, 1.0)
    assert nothing.values.shape == (3, len(METRICS))
    assert (report.questions, report.records) == (3, 5)


def test_on_days_of_use_pauses_cost_nothing(report: Report) -> None:
    days = row(report, "days of use")  # five days of use, and lifetimes of 37.5 and more
    assert (days.memories, report.kept(days)) == (1.0, 1.0)


def test_every_day_what_is_older_than_its_lifetime_is_lost(report: Report) -> None:
    every = row(report, "every day")
    # said 120, 90, 60, 30 and 0 days ago; no fact lives for more than 64.5, none for under 37.5
    assert every.memories in (2 / 5, 3 / 5)
    assert every.values[:, 1].tolist()[0] == 0.0
    assert every.values[:, 1].tolist()[2] == 1.0


def test_the_weakest_are_what_nobody_asks_about(report: Report) -> None:
    assert report.kept(row(report, "weakest, as a cap does")) == 1.0
    assert report.kept(row(report, "least important")) == 1.0
    assert row(report, "weakest, as a cap does").memories == 3 / 5


def test_what_is_dropped_oldest_first_is_missed(report: Report) -> None:
    oldest = row(report, "oldest")  # the first two, one of which is evidence
    assert oldest.evidence == pytest.approx(2 / 3)
    assert oldest.values[:, METRICS.index("any@10")].tolist() == [0.0, 1.0, 1.0]


def test_dropping_at_random_is_the_mean_over_its_seeds(report: Report) -> None:
    assert len(ORDERS["at random"].seeds) == 3
    found = row(report, "at random").values[:, METRICS.index("any@10")]
    assert ((3 * found) == (3 * found).round()).all()


def test_equal_texts_are_one_record_and_still_answer() -> None:
    items = (
        Draft(text="The cellar key hangs by the stairs.", id="a", at=START),
        Draft(text="The cellar key hangs by the stairs.", id="b", at=START + timedelta(days=1)),
    )
    asked = (Question("q", "Where does the cellar key hang?", ("b",), "all"),)
    found = measure(Dataset("twice", (History("one", items, asked),)), None, dropped=())
    assert found.records == 1
    assert [each.mean("any@1") for each in found.replays] == [1.0, 1.0, 1.0]


def test_the_command_prints_every_row_and_draws_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs [viz]")
    items = [
        {"id": f"i{at}", "source": None, "position": None, "speaker": "Ann", "text": text}
        | {"at": (START + timedelta(hours=at)).isoformat()}
        for at, text in enumerate(TALK)
    ]
    questions = [
        {"id": id, "question": text, "gold": [f"i{gold}"], "type": "all", "answer": ""}
        for text, id, gold in ASKED
    ]
    data = {"name": "by hand", "histories": [{"id": "h", "items": items, "questions": questions}]}
    file, picture = tmp_path / "data.json", tmp_path / "drops.png"
    file.write_text(json.dumps(data), encoding="utf-8")
    ran = subprocess.run(
        [*COMMAND, "--data", str(file), "--embedder", "none", "--plot", str(picture), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    [found] = json.loads(ran.stdout)["datasets"]
    assert [each["row"] for each in found["replayed"]] == [
        "nothing forgotten",
        "days of use",
        "every day",
    ]
    assert len(found["dropped"]) == 3 * len(ORDERS)
    assert found["seen by the weights of importance"] is False
    assert picture.read_bytes().startswith(b"\x89PNG")
