"""`ebbmem bench recall` on histories small enough to know every figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from ebbmem import __version__
from ebbmem.cli.run import run
from ebbmem.evaluate import recall  # after the skip
from ebbmem.evaluate.data import read
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.recall import METRICS, OURS, OURS_ALONE, Asked, Row, Run, measure
from ebbmem.evaluate.report_recall import Report, figures, groups, guards, intervals
from ebbmem.testing import HashingEmbedder

BEES = "I keep bees behind the barn"
TINY: dict[str, Any] = {
    "name": "tiny",
    "histories": [
        {
            "id": "h1",
            "items": [
                {"id": "i1", "source": "s1", "speaker": "Ann", "text": BEES, "at": "2026-01-01"},
                {"id": "i2", "source": "s1", "speaker": "Bo", "text": "I repair violins"},
                {"id": "i3", "source": "s2", "speaker": "Ann", "text": "The ferry leaves at nine"},
                {"id": "i4", "source": "s2", "speaker": "Ann", "text": BEES},
            ],
            "questions": [
                {"id": "q1", "question": "Who repairs violins?", "gold": ["i2"], "type": "who"},
                {"id": "q2", "question": "Where are the bees?", "gold": ["i4"], "type": "where"},
                {"id": "q3", "question": "Why?", "gold": ["i9"], "type": "why"},
            ],
        },
        {
            "id": "h2",
            "items": [{"id": "i1", "text": "Oolong"}, {"id": "i2", "text": "Sencha"}],
            "questions": [
                {"id": "q1", "question": "Oolong or sencha?", "gold": ["i1", "i2"], "type": "who"}
            ],
        },
    ],
}
LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi Bo!"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "I bought a red bicycle."},
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "The ferry was late."}],
        },
        "session_summary": {
            "session_1_summary": "Bo tells Ann that he bought a red bicycle.",
            "session_2_summary": "Ann complains about the ferry.",
        },
        "qa": [
            {
                "question": "Which bicycle did Bo buy?",
                "answer": "a red bicycle",
                "evidence": ["D1:2"],
                "category": 4,
            },
            {
                "question": "What made Ann late?",
                "answer": "a storm",
                "evidence": ["D:2:1"],
                "category": 1,
            },
        ],
    }
]

Bench = Callable[..., tuple[str, str, int]]


@pytest.fixture
def bench(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    """Runs the command; gives stdout, stderr and the code. `tiny.json`, `locomo.json` are there."""
    for name in ("NO_COLOR", "FORCE_COLOR", "EBBMEM_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    Path("locomo.json").write_text(json.dumps(LOCOMO), encoding="utf-8")

    def call(*args: str) -> tuple[str, str, int]:
        code = run(["bench", "recall", *args])
        out, err = capsys.readouterr()
        return out, err, code

    return call


def document(bench: Bench, *args: str) -> Any:
    out, err, code = bench(*args, "--json")
    assert (err, code) == ("", 0)
    return json.loads(out)


def rows_of(data_set: Any) -> dict[str, dict[str, float | None]]:
    return {row["name"]: row["figures"] for row in data_set["rows"]}


def a_row(name: str, hits: list[float]) -> Row:
    """A row whose every measure is 1 where it hit."""
    return Row(name, np.repeat(np.array(hits)[:, None], len(METRICS), axis=1))


def a_run(**hits: list[float]) -> Run:
    names = {"bm25": "BM25", "vector": "vector", "mix": "hybrid .3/.7", "alone": OURS_ALONE}
    rows = tuple(a_row(names.get(name, OURS), each) for name, each in hits.items())
    count = len(next(iter(hits.values())))
    asked = tuple(Asked(f"q{at}", f"h{at % 2}", "fact") for at in range(count))
    return Run("made", asked, rows, count, 0)


# -- figures that are known


def test_chance_and_oracle_of_a_tiny_set_are_what_they_are_by_hand(bench: Bench) -> None:
    [found] = document(bench, "--data", "tiny.json", "--embedder", "none")["sets"]
    rows = rows_of(found)
    # Two questions with one of three records, one with two of two.
    assert rows["chance"]["any@1"] == pytest.approx((1 / 3 + 1 / 3 + 1) / 3)
    assert rows["chance"]["any@5"] == rows["chance"]["all@5"] == pytest.approx(1.0)
    assert rows["chance"]["MRR"] == pytest.approx((11 / 18 + 11 / 18 + 1) / 3)
    ndcg = (1 + 0.6309297536 + 0.5) / 3  # of one answer at each of three places
    assert rows["chance"]["NDCG@10"] == pytest.approx((2 * ndcg + 1) / 3)
    assert rows["chance"]["source any@5"] == pytest.approx(1.0)
    assert set(rows["oracle"].values()) == {1.0}


def test_records_not_items_are_counted_and_gold_follows_its_record(bench: Bench) -> None:
    [found] = document(bench, "--data", "tiny.json", "--embedder", "none")["sets"]
    assert (found["questions"], found["dropped"]) == (3, 1)
    assert (found["histories"], found["records"]) == (2, 5)
    assert rows_of(found)["BM25"]["any@1"] == 1.0  # the bees of i4 are the record of i1
    assert rows_of(found)[OURS_ALONE]["any@1"] == 1.0


def test_source_measures_leave_out_histories_without_sources(bench: Bench) -> None:
    only = {"name": "bare", "histories": TINY["histories"][1:]}
    Path("bare.json").write_text(json.dumps(only), encoding="utf-8")
    [found] = document(bench, "--data", "bare.json", "--embedder", "none")["sets"]
    assert {row["source any@5"] for row in rows_of(found).values()} == {None}


def test_the_format_of_locomo_is_measured_with_its_summaries(bench: Bench) -> None:
    [found] = document(bench, "--data", "locomo.json", "--embedder", "none")["sets"]
    assert (found["name"], found["questions"], found["records"]) == ("locomo", 2, 3)
    assert rows_of(found)["chance"]["any@1"] == pytest.approx(1 / 3)
    summaries = found["summaries"]
    assert (summaries["saturated"], summaries["questions"]) == (True, 2)
    assert summaries["rows"]["oracle"] == summaries["rows"]["every summary"] == 0.5  # no storm
    assert summaries["rows"]["chance"] == 0.5  # two summaries are all there are


def test_an_embedder_adds_the_rows_that_need_one(bench: Bench) -> None:
    [bare] = document(bench, "--data", "tiny.json", "--embedder", "none")["sets"]
    [full] = document(bench, "--data", "tiny.json", "--embedder", "hashing")["sets"]
    assert list(rows_of(bare)) == ["chance", "oracle", "BM25", OURS_ALONE]
    assert list(rows_of(full)) == [
        *("chance", "oracle", "BM25", "vector", "hybrid .55/.45", "hybrid .3/.7"),
        *(OURS_ALONE, OURS),
    ]
    assert rows_of(full)["BM25"] == rows_of(bare)["BM25"]


def test_ours_is_the_public_bank_whose_faded_memories_are_found_too(tmp_path: Path) -> None:
    history = json.loads(json.dumps(TINY["histories"][0]))
    history["items"].append({"id": "late", "text": "Good night", "at": "2031-01-01"})
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"histories": [history]}), encoding="utf-8")
    found = measure(read(path), None).row(OURS_ALONE)
    assert found is not None
    assert found.firsts == (1, 1)  # five years after they were said


def test_banks_and_baselines_share_one_encoding_of_each_text(tmp_path: Path) -> None:
    class Counting(HashingEmbedder):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def encode_documents(self, texts: Any) -> Any:
            self.seen.extend(texts)
            return super().encode_documents(texts)

    path = tmp_path / "tiny.json"
    path.write_text(json.dumps({"histories": TINY["histories"][:1]}), encoding="utf-8")
    embedder = Counting()
    measure(read(path), CachedEncoder(embedder))
    documents = [each for each in embedder.seen if ": " in each]
    assert sorted(documents) == [
        f"Ann: {BEES}",
        "Ann: The ferry leaves at nine",
        "Bo: I repair violins",
    ]


def test_a_history_that_nothing_is_asked_of_counts_for_nothing(tmp_path: Path) -> None:
    empty = {"id": "empty", "items": [], "questions": []}
    silent = {"id": "silent", "items": [{"id": "i1", "text": "tea"}], "questions": []}
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps({"histories": [empty, *TINY["histories"], silent]}))
    found = measure(read(path), None)
    assert (found.records, {each.history for each in found.asked}) == (5, {"h1", "h2"})


# -- the guard


def test_the_guard_is_ours_less_the_best_plain_retrieval_in_points() -> None:
    ours, alone, beside = guards(
        a_run(
            bm25=[1, 0, 0, 0],
            vector=[1, 1, 0, 0],
            mix=[1, 0, 1, 1],
            alone=[1, 1, 0, 0],
            ours=[1] * 4,
        )
    )
    assert (ours.row, ours.rival, ours.points, ours.binding) == (OURS, "hybrid .3/.7", 25.0, True)
    assert (alone.row, alone.rival, alone.points) == (OURS_ALONE, "BM25", 25.0)
    assert (beside.rival, beside.points, beside.binding) == ("hybrid .3/.7", -25.0, False)


@pytest.mark.parametrize("missed, holds", [(1, True), (2, False)])
def test_the_guard_holds_down_to_one_point(missed: int, holds: bool) -> None:
    [guard] = guards(a_run(bm25=[1.0] * 100, alone=[1.0] * (100 - missed) + [0.0] * missed))
    assert guard.points == -missed
    assert guard.holds is holds


def test_its_interval_is_that_of_the_differences() -> None:
    [guard] = guards(a_run(bm25=[1, 0] * 10, alone=[1, 0] * 10))
    assert guard.points_interval == (0.0, 0.0)  # the same questions, whichever are drawn


@pytest.mark.parametrize("ours, style", [([0.0] * 9, "\x1b[1;31m"), ([1.0] * 9, "\x1b[32m")])
def test_a_broken_guard_is_red_and_one_that_holds_is_green(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, ours: list[float], style: str
) -> None:
    made = a_run(bm25=[1.0] * 9, alone=ours)
    monkeypatch.setattr(recall, "measure", lambda *_, **__: made)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out, _, code = bench("--data", "tiny.json", "--embedder", "none")
    assert code == 0
    assert style in out


# -- what is shown


def test_the_document_says_what_was_run_with_what(bench: Bench) -> None:
    found = document(bench, "--data", "tiny.json", "--embedder", "hashing", "--details")
    assert found["benchmark"] == "recall"
    assert found["command"].endswith("bench recall --data tiny.json --embedder hashing --details")
    assert found["versions"]["ebbmem"] == __version__
    assert found["versions"]["embedder"] == "hashing-256"
    assert set(found["versions"]) == {"ebbmem", "python", "numpy", "embedder"}


def test_every_row_has_its_figures_intervals_and_groups(bench: Bench) -> None:
    [found] = document(bench, "--data", "tiny.json", "--embedder", "hashing")["sets"]
    for row in found["rows"]:
        assert list(row["figures"]) == list(METRICS)
        assert set(row["intervals"]["any@5"]) == {"questions", "histories"}
        assert {each: group["questions"] for each, group in row["by_type"].items()} == {
            "who": 2,
            "where": 1,
        }
        assert list(row["by_history"]) == ["h1", "h2"]
        assert (row["cpu_ms"] is not None) == row["name"].startswith("ours")
    assert [each["row"] for each in found["guard"]] == [OURS, OURS_ALONE, OURS_ALONE]
    assert "asked" not in found


def test_details_give_the_rank_of_the_first_answer_to_every_question(bench: Bench) -> None:
    [found] = document(bench, "--data", "tiny.json", "--embedder", "none", "--details")["sets"]
    assert found["asked"][1] == {
        "id": "q2",
        "history": "h1",
        "type": "where",
        "rank": {"oracle": 1, "BM25": 1, OURS_ALONE: 1},
    }


def test_a_pipe_gets_every_table_with_its_heads(bench: Bench) -> None:
    out, _, code = bench("tiny.json", "locomo.json", "--embedder", "none", "--details")
    assert code == 0
    for line in (
        "questions: 3, histories: 2, records: 5; left out, without evidence: 1",
        "in %\tany@1\tany@5\tany@10\tany@20\tall@5\tall@10\trec@5\trec@10",
        "oracle\t100.0\t100.0\t100.0\t100.0",
        "the guard: any@5\tpoints\t95 %\tagainst",
        "any@5 by type\tn\tBM25\tno model\tany@1\trec@10\tMRR",
        "It is saturated",
    ):
        assert line in out


def test_figures_of_a_group_are_those_of_its_questions() -> None:
    run_ = a_run(bm25=[1.0, 0.0, 1.0, 0.0])
    masks = groups(run_, "history")
    assert {name: figures(run_.rows[0], mask)["any@5"] for name, mask in masks.items()} == {
        "h0": 1.0,
        "h1": 0.0,
    }


def test_one_history_has_no_interval_over_histories() -> None:
    one = Run("one", (Asked("q", "h", "fact"),), (a_row("BM25", [1.0]),), 1, 0)
    assert intervals(one, one.rows[0]) == ((1.0, 1.0), None)


# -- what goes wrong


def test_a_bad_file_is_named_with_every_bad_entry_and_nothing_is_printed(bench: Bench) -> None:
    broken = json.loads(json.dumps(TINY))
    broken["histories"][0]["items"][1]["text"] = ""
    del broken["histories"][1]["questions"][0]["gold"]
    Path("bad.json").write_text(json.dumps(broken), encoding="utf-8")
    out, err, code = bench("--data", "tiny.json", "--data", "bad.json", "--plot", "bars.png")
    assert (out, code) == ("", 1)
    assert "bad.json" in err
    assert "line 1: items[1] text is blank" in err
    assert "line 2: questions[0] gold must be a list of item ids" in err
    assert not Path("bars.png").exists()


@pytest.mark.parametrize(
    "args, reason",
    [
        ((), "data is missing: name a file with --data"),
        (("--data", "tiny.json", "tiny.json"), "data holds two sets of one name"),
        (("tiny.json", "--plot", "bars.jpg"), "plot must end in .png or .svg, not '.jpg'"),
        (("tiny.json", "--plot", "no/bars.png"), "cannot be written: there is no such folder"),
        (("tiny.json", "--peers"), "peers compare vectors: choose an embedder"),
        (("tiny.json", "--embedder", "magic"), "embedder is 'magic'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], reason: str
) -> None:
    monkeypatch.setattr(recall, "measure", lambda *_, **__: pytest.fail("was measured"))
    chosen = () if "--embedder" in args else ("--embedder", "none")
    out, err, code = bench(*args, *chosen)
    assert (out, code) == ("", 1)
    assert reason in err


# -- the picture


@pytest.mark.parametrize("name", ["bars.png", "bars.svg"])
def test_the_picture_is_saved_beside_the_figures(bench: Bench, name: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra viz")
    _, _, code = bench("tiny.json", "locomo.json", "--embedder", "none", "--plot", name)
    assert code == 0
    head = Path(name).read_bytes()[:200]
    assert head.startswith(b"\x89PNG") or b"<svg" in head or b"<?xml" in head


def test_the_picture_names_every_set_and_row_that_is_not_exact(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra viz")
    from ebbmem.evaluate.picture_recall import save

    path = tmp_path / "bars.svg"
    save(Report("", {}, (a_run(bm25=[1.0, 0.0], alone=[1.0, 1.0]),), {}), path)
    drawn = path.read_text(encoding="utf-8")
    for words in ("made  (2 questions)", "BM25", OURS_ALONE, "50.0", "100.0"):
        assert f"<!-- {words} -->" in drawn
