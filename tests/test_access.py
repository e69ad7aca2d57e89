"""An export is the answer to "what do you keep about me": everything, and it can come back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import Draft, ExchangeError, MemoryBank, Policy
from ebbmem.testing import ManualClock

ELSEWHERE = "stands in the header"
OURS = "counts writes for readers; says nothing of a person"
DERIVED = "follows from the text and the embedder"
OF_THE_CHAIN = "the number and the hash of the last line of the trail"
COLUMNS: dict[str, dict[str, str]] = {
    # column: the field of an export that holds it, or in brackets why none does
    "namespace": {
        "ns": "namespace",
        "policy": "policy",
        "active_days": "active_days",
        "change_seq": f"({OURS})",
        "floor_seq": f"({OURS})",
        "pruned_at": "(when the daily pass last ran; says nothing of a person)",
        "audit_length": f"({OF_THE_CHAIN})",
        "audit_head": f"({OF_THE_CHAIN})",
    },
    "memory": {
        **{name: name for name in ("id", "text", "category", "importance", "source", "position")},
        **{name: name for name in ("speaker", "created_at", "metadata", "keyed", "searchable")},
        **{name: name for name in ("trust", "label")},
        "slot": "key",
        "ns": f"({ELSEWHERE})",
        "digest": "(follows from the text)",
    },
    "state": {
        **{name: name for name in ("id", "last_reinforced_at", "recall_count", "fades_at")},
        **{name: name for name in ("status", "faded_at", "pinned", "held", "expires_at")},
        **{name: name for name in ("superseded_at", "superseded_by")},
        "ns": f"({ELSEWHERE})",
        "change_seq": f"({OURS})",
        "content_seq": f"({OURS})",
    },
    "vector": dict.fromkeys(
        ("ns", "id", "embedder", "passage", "start", "stop", "vector", "pieces", "codes"),
        f"({DERIVED})",
    ),
    "link": {"a": "link", "b": "link", "weight": "link", "ns": f"({ELSEWHERE})"},
    "audit": {
        **{name: f"audit.{name}" for name in ("number", "at", "action", "id", "hash")},
        "ns": f"({ELSEWHERE})",
    },
    "probe": {
        **{name: f"probe.{name}" for name in ("question", "kind", "added_at")},
        "number": "(the order of the lines)",
        "ns": f"({ELSEWHERE})",
    },
    "probe_answer": {
        "id": "probe.expected",
        "number": "(of the probe it stands with)",
        "ns": f"({ELSEWHERE})",
    },
    "probe_run": {
        **{
            name: f"probe_run.{name}"
            for name in ("at", "k", "asked", "found", "hidden", "active", "faded")
        },
        "mean_strength": "probe_run.mean_strength",
        "number": "(the order of the lines)",
        "ns": f"({ELSEWHERE})",
    },
    "lease": dict.fromkeys(("ns", "holder", "ends_at"), "(which program runs a pass just now)"),
}


@pytest.fixture
def bank(open_bank: OpenBank, clock: ManualClock) -> MemoryBank:
    """Something of everything."""
    made = open_bank(policy=Policy(sample_probes=2))
    made.remember_many(
        [
            Draft(text="tea", id="a", speaker="Ann", source="chat", metadata={"n": 1}),
            Draft(text="milk", id="b", key="drink"),
            Draft(text="rain", id="c"),
        ]
    )
    made.remember("water", id="d", key="drink")
    made.link("a", "c", weight=0.5)
    made.reinforce("a", query="what do I drink?")
    made.add_probe("tea or rain?", ["a", "c"])
    made.probe()
    made.forget("c")
    made.hold("a")
    return made


def exported(bank: MemoryBank) -> list[dict[str, Any]]:
    out = io.StringIO()
    bank.export_jsonl(out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def fields(lines: list[dict[str, Any]]) -> set[str]:
    """As `COLUMNS` names them."""
    found: set[str] = set()
    for line in lines:
        for name, value in line.items():
            inner = value if len(line) == 1 and isinstance(value, dict) else {}
            found |= {f"{name}.{each}" for each in inner} or {name}
    return found


def test_every_column_about_a_namespace_is_in_it_or_has_a_reason(bank: MemoryBank) -> None:
    known = fields(exported(bank))
    with bank._store.connection.read() as db:  # type: ignore[attr-defined]
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        columns = {
            table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables
        }
    about = {table: names for table, names in columns.items() if "ns" in names}
    assert len(about) >= 9
    for table, names in about.items():
        for name in names:
            place = COLUMNS[table][name]
            assert place.startswith("(") or place in known, (table, name)


def test_it_holds_probes_their_history_and_the_trail(bank: MemoryBank) -> None:
    lines = exported(bank)
    probes = [line["probe"] for line in lines if "probe" in line]
    assert [(each["kind"], each["question"], each["expected"]) for each in probes] == [
        ("sampled", "what do I drink?", ["a"]),
        ("given", "tea or rain?", ["a", "c"]),
    ]
    assert [line["probe_run"]["asked"] for line in lines if "probe_run" in line] == [2]
    trail = [line["audit"] for line in lines if "audit" in line]
    assert [each["action"] for each in trail] == ["supersede", "forget", "hold"]
    assert trail[-1]["hash"] == bank.audit_verify().head


def test_given_probes_come_back_and_what_is_history_does_not(bank: MemoryBank) -> None:
    lines = "\n".join(json.dumps(line) for line in exported(bank))
    copy = bank.at("u2")
    copy.import_file(io.StringIO(lines))
    assert [(each.question, each.expected, each.kind) for each in copy.probes()] == [
        ("tea or rain?", ("a", "c"), "given")
    ]
    assert copy.probe_history() == []
    assert copy.audit() == []


def test_probes_of_texts_that_are_here_under_another_id_expect_those(bank: MemoryBank) -> None:
    lines = "\n".join(json.dumps(line) for line in exported(bank))
    copy = bank.at("u2")
    copy.remember("tea", id="mine")
    copy.import_file(io.StringIO(lines))
    assert [each.expected for each in copy.probes()] == [("c", "mine")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"probe": {"question": "?"}}, "probe must be an object of question, expected, kind"),
        ({"probe": ["a"]}, "probe must be an object of question, expected, kind"),
        ({"audit": {}}, "audit must be an object of number, at, action, id, hash"),
        ({"probe_run": 1}, "probe_run must be an object of at, k, asked, found"),
        (
            {"probe": {"question": "q", "expected": ["z"], "kind": "given", "added_at": ""}},
            "probe names memories that are not in this file",
        ),
        (
            {"probe": {"question": "", "expected": ["a"], "kind": "given", "added_at": ""}},
            "question ",
        ),
        (
            {"probe": {"question": "q", "expected": [[]], "kind": "given", "added_at": ""}},
            "id must be text",
        ),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_taken(
    bank: MemoryBank, line: dict[str, Any], reason: str
) -> None:
    lines = [*exported(bank), line]
    copy = bank.at("u2")
    with pytest.raises(ExchangeError) as caught:
        copy.import_file(io.StringIO("\n".join(map(json.dumps, lines))))
    [(number, said)] = caught.value.problems
    assert number == len(lines)
    assert said.startswith(reason)
    assert copy.list(include_faded=True) == []


def test_the_question_of_a_probe_passes_the_guards(bank: MemoryBank, open_bank: OpenBank) -> None:
    lines = "\n".join(json.dumps(line) for line in exported(bank))

    def masks(draft: Draft) -> Draft:
        return replace(draft, text=draft.text.replace("rain", "****"))

    copy = open_bank(namespace="u2", guard=masks)
    copy.import_file(io.StringIO(lines))
    assert [each.question for each in copy.probes()] == ["tea or ****?"]
