"""Data sets are read whole, or one error names every entry that is wrong."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem.errors import ExchangeError
from ebbmem.evaluate.data import Dataset, Summary, fill, read

DATA = Path(os.environ.get("EBBMEM_DATA", Path(__file__).parents[3] / "shared" / "data"))


def item(id: str, text: str, **changes: Any) -> dict[str, Any]:
    return {"id": id, "text": text, "source": "s1", "position": 0, "speaker": "Ann"} | changes


def question(id: str, *gold: str, **changes: Any) -> dict[str, Any]:
    return {"id": id, "question": "Who keeps bees?", "gold": list(gold)} | changes


def plain(*histories: dict[str, Any]) -> dict[str, Any]:
    return {"name": "tiny", "histories": list(histories)}


def conversation(*qa: dict[str, Any], **changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi Bo!"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "I keep bees now."},
        ],
        "session_2_date_time": "12:09 am on 13 September, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Long time no see"}],
    }
    return {"sample_id": "conv-1", "conversation": talk, "qa": list(qa)} | changes


def asked(*evidence: str, **changes: Any) -> dict[str, Any]:
    entry = {"question": "What does Bo keep?", "evidence": list(evidence), "category": 4}
    return entry | {"answer": "bees"} | changes


def load(folder: Path, data: object) -> Dataset:
    path = folder / "set.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return read(path)


def problems(folder: Path, data: object) -> list[tuple[int, str]]:
    with pytest.raises(ExchangeError) as caught:
        load(folder, data)
    return list(caught.value.problems)


# -- the plain format


def test_a_plain_set_keeps_every_field(tmp_path: Path) -> None:
    items = [item("i1", "Ann keeps bees", at="2026-01-02", position=3)]
    ask = question("q1", "i1", type="fact", asked_at="2026-03-04T05:06:07", answer="Ann")
    found = load(tmp_path, plain({"id": "h1", "items": items, "questions": [ask]}))
    [history] = found.histories
    [kept] = history.items
    [wanted] = history.questions
    assert (found.name, found.asked, found.dropped, history.name) == ("tiny", 1, 0, "h1")
    assert (kept.id, kept.text, kept.source) == ("i1", "Ann keeps bees", "s1")
    assert (kept.position, kept.speaker, kept.at) == (3, "Ann", datetime(2026, 1, 2, tzinfo=UTC))
    assert (wanted.id, wanted.gold, wanted.type, wanted.answer) == ("q1", ("i1",), "fact", "Ann")
    assert wanted.asked_at == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_gold_that_does_not_exist_is_left_out_and_what_has_no_other_is_set_aside(
    tmp_path: Path,
) -> None:
    questions = [question("q1", "i1", "nope", "i1"), question("q2", "nope"), question("q3")]
    found = load(
        tmp_path, plain({"id": "h1", "items": [item("i1", "bees")], "questions": questions})
    )
    assert [each.gold for each in found.histories[0].questions] == [("i1",)]
    assert [each.id for each in found.histories[0].unsupported] == ["q2", "q3"]
    assert found.dropped == 2


def test_every_bad_entry_of_a_plain_set_is_named(tmp_path: Path) -> None:
    first = {
        "id": "h1",
        "items": [item("i1", "bees"), item("i1", "wasps"), item("i2", " "), item("", "ants")],
        "questions": [question("q1", "i1"), question("q2", gold="i1"), question("q3", question="")],
    }
    second = {"id": "h1", "items": [], "questions": []}
    third = {"id": "h3", "items": "bees", "questions": []}
    fourth = {"items": [item("i1", "bees", at="yesterday")], "questions": []}
    assert problems(tmp_path, plain(first, second, third, fourth)) == [
        (1, "items[1] id repeats that of another item"),
        (1, "items[2] text is blank"),
        (1, "items[3] id is missing"),
        (1, "questions[1] gold must be a list of item ids"),
        (1, "questions[2] question is missing"),
        (2, "id repeats that of entry 1"),
        (3, "items must be a list of objects"),
        (4, "id is missing"),
    ]


def test_a_time_that_is_none_is_named(tmp_path: Path) -> None:
    history = {"id": "h1", "items": [item("i1", "bees", at="yesterday")], "questions": []}
    assert problems(tmp_path, plain(history)) == [
        (1, "items[0] at must be a time in ISO 8601"),
    ]


# -- LoCoMo


@pytest.mark.parametrize(
    "evidence, gold",
    [
        (["D1:1; D2:1"], ("D1:1", "D2:1")),
        (["D1:1 D1:2"], ("D1:1", "D1:2")),
        (["D:1:2"], ("D1:2",)),
        (["D1:02"], ("D1:2",)),
        (["D1:1", "D1:1", "D9:9"], ("D1:1",)),
    ],
)
def test_odd_evidence_names_the_turns_that_it_means(
    tmp_path: Path, evidence: list[str], gold: tuple[str, ...]
) -> None:
    found = load(tmp_path, [conversation(asked(*evidence))])
    assert found.histories[0].questions[0].gold == gold


def test_types_have_names_and_answers_are_words(tmp_path: Path) -> None:
    misled = {"question": "?", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "Bo"}
    found = load(
        tmp_path,
        [
            conversation(
                asked("D1:1", category=1),
                asked("D1:1", category=2, answer=2022),
                misled,
                asked("D7:1", category=3),
            )
        ],
    )
    [history] = found.histories
    kinds = [(each.type, each.answer) for each in history.questions]
    assert kinds == [("multi-hop", "bees"), ("temporal", ""), ("adversarial", "Bo")]
    assert [(each.type, each.answer) for each in history.unsupported] == [("inference", "bees")]
    assert found.dropped == 1


def test_summaries_are_read_by_their_session(tmp_path: Path) -> None:
    told = {"session_1_summary": "Bo keeps bees.", "session_2_summary": " "}
    found = load(tmp_path, conversation(asked("D1:2"), session_summary=told))
    assert found.histories[0].summaries == (Summary("session_1", "Bo keeps bees."),)


def test_every_bad_question_of_locomo_is_named(tmp_path: Path) -> None:
    first = conversation({"evidence": ["D1:1"]}, asked("D1:1"), asked("D1:1", question=""))
    second = conversation(sample_id="conv-2", qa="none", session_summary=["no"])
    assert problems(tmp_path, [first, second]) == [
        (1, "qa[0] question is missing"),
        (1, "qa[2] question is missing"),
        (2, "qa must be a list of objects"),
        (2, "session_summary must be an object"),
    ]


# -- any file


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", "JSON is broken"),
        ("[]", "no question has evidence among the items"),
        ('{"histories": []}', "no question has evidence among the items"),
        ('{"x": 1}', "conversation must be a JSON object"),
        ("[1]", "entry must be a JSON object"),
    ],
)
def test_a_file_that_is_no_data_set_says_why(tmp_path: Path, text: str, reason: str) -> None:
    [(line, said)] = problems(tmp_path, text)
    assert line == 1
    assert said.startswith(reason)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="cannot be read: No such file"):
        read(tmp_path / "none.json")


def test_equal_texts_are_one_record_and_both_items_lead_to_it(
    tmp_path: Path, open_bank: OpenBank
) -> None:
    items = [item("i1", "bees"), item("i2", "wasps"), item("i3", "bees", source="s2")]
    found = load(tmp_path, plain({"id": "h1", "items": items, "questions": [question("q", "i3")]}))
    assert fill(open_bank(), found.histories[0]) == {"i1": "i1", "i2": "i2", "i3": "i1"}


@pytest.mark.skipif(not (DATA / "locomo7.json").exists(), reason="no LoCoMo file: set EBBMEM_DATA")
def test_seven_conversations_of_locomo_hold_what_is_known_of_them() -> None:
    found = read(DATA / "locomo7.json")
    assert (len(found.histories), found.asked, found.dropped) == (7, 1345, 2)
    assert sum(len(each.items) for each in found.histories) == 4124
    in_words = [
        each
        for history in found.histories
        for each in (*history.questions, *history.unsupported)
        if each.answer and each.type != "adversarial"
    ]
    assert len(in_words) == 1029
