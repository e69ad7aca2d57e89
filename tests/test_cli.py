"""The command line as a person, a pipe and a script meet it."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from ebbmem import Draft, __version__
from ebbmem.bank import MemoryBank  # after the skip
from ebbmem.cli.app import app
from ebbmem.cli.output import program
from ebbmem.cli.run import run
from ebbmem.clock import utc_now
from ebbmem.policy import Policy
from ebbmem.store.driver import wal_reset_affected
from ebbmem.testing import ManualClock

HOSTILE = "[red]MARKER[/red] :smile: \x1b[31mred\x1b[0m \x9b5m \u202eabc"


class Cli:
    """Runs commands on one database and keeps what they printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], db: Path) -> None:
        self._capsys = capsys
        self.db = db

    def __call__(self, *args: str, code: int = 0) -> str:
        """Standard output of a command that must end with `code`."""
        out, err, got = self.all(*args)
        assert got == code, err or out
        return out

    def all(self, *args: str) -> tuple[str, str, int]:
        self._capsys.readouterr()
        got = run(args)
        out, err = self._capsys.readouterr()
        return out, err, got

    def json(self, *args: str, code: int = 0) -> Any:
        """The one document that a command prints with --json."""
        return json.loads(self(*args, "--json", code=code))

    def error(self, *args: str, code: int = 1) -> str:
        """The sentence on stderr of a command that must fail with `code`."""
        out, err, got = self.all(*args)
        assert (got, out) == (code, "")
        assert "Traceback" not in err
        return err

    def id(self, text: str, *options: str) -> str:
        """The id of a text, remembered now."""
        return str(self.json("remember", text, *options)["id"])


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("EBBMEM_NAMESPACE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EBBMEM_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("EBBMEM_EMBEDDER", "hashing")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Cli(capsys, tmp_path / "memory.db")


# --- every command, in text and in JSON


def test_remember_says_the_id_and_how_long_it_lasts(cli: Cli) -> None:
    said = cli("remember", "I prefer tabs over spaces", "--speaker", "Mara")
    assert said.startswith("remembered ")
    assert "fades in" in said


def test_remember_takes_every_field(cli: Cli) -> None:
    memory = cli.json(
        *("remember", "try restoring while calm", "--category", "strategy"),
        *("--importance", "0.75", "--source", "chat-1", "--speaker", "Mara", "--pinned"),
        *("--at", "2026-03-04T08:47:00+01:00", "--metadata", '{"team": "库"}'),
    )
    expected = {
        "category": "strategy",
        "importance": 0.75,
        "source": "chat-1",
        "speaker": "Mara",
        "pinned": True,
        "created_at": "2026-03-04T07:47:00+00:00",
        "metadata": {"team": "库"},
    }
    assert {name: memory[name] for name in expected} == expected


def test_recall_shows_the_text_its_strength_and_the_reasons(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces")
    said = cli("recall", "tabs or spaces?")
    for part in ("1. ", "strength 0.", "just now", "I prefer tabs over spaces", "keyword", id_):
        assert part in said


def test_recall_in_json_is_the_list_with_its_parts(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces")
    [found] = cli.json("recall", "tabs or spaces?")
    assert found["memory"]["id"] == id_
    assert found["reinforced"] is True
    assert {"score", "strength", "similarity", "keyword", "bonuses", "via"} <= set(found)


def test_recall_shows_what_was_said_around_if_asked(cli: Cli) -> None:
    talk = [("Ann", "where is the key"), ("Bob", "under the mat"), ("Ann", "thanks")]
    for speaker, text in talk:
        cli.id(text, "--source", "s", "--speaker", speaker)
    said = cli("recall", "mat", "-k", "1", "--around", "1").split("\n")
    assert said[1:4] == ["     Ann: where is the key", "   under the mat", "     Ann: thanks"]
    [found] = cli.json("recall", "mat", "-k", "1", "--around", "1")
    assert [each["text"] for each in found["before"]] == ["where is the key"]
    assert [each["text"] for each in found["after"]] == ["thanks"]
    assert "Ann" not in cli("recall", "mat", "-k", "1")
    cli.error("recall", "mat", "--around", "11", code=2)


def test_recall_that_finds_nothing_says_so_and_is_no_error(cli: Cli) -> None:
    cli.id("I prefer tabs over spaces")
    assert cli("recall", "tungsten", "--min-similarity", "1") == "nothing comes to mind\n"
    assert cli.json("recall", "tungsten", "--min-similarity", "1") == []


def test_recall_without_reinforcing_leaves_the_count(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces")
    cli("recall", "tabs", "--no-reinforce")
    assert cli.json("show", id_)["recall_count"] == 0


def test_recall_filters_by_category_source_and_metadata(cli: Cli) -> None:
    wanted = cli.id("tabs in Go", "--source", "a", "--metadata", '{"n": 1}')
    cli.id("tabs in C", "--source", "b", "--category", "strategy")
    for options in (("--source", "a"), ("--category", "fact"), ("--where", "n=1")):
        [found] = cli.json("recall", "tabs", *options)
        assert found["memory"]["id"] == wanted


def test_explain_answers_for_what_appears_and_for_what_does_not(cli: Cli) -> None:
    first = cli.id("tabs in every file of the Go code", "--source", "a")
    assert cli("explain", "tabs", first).startswith("recalled: ")
    assert cli("explain", "tabs", first, "--source", "b").startswith("filtered: ")
    cli("forget", first)
    explained = cli.json("explain", "tabs", first)
    assert explained["outcome"] == "faded"
    assert explained["reason"]


def test_list_is_one_line_a_memory_in_a_pipe(cli: Cli) -> None:
    first = cli.id("one\nand a half", "--at", "2026-01-01T00:00:00Z", "--pinned")
    second = cli.id("two")
    lines = [line.split("\t") for line in cli("list").splitlines()]
    assert [line[0] for line in lines] == [first, second]
    assert lines[0][-1] == "one and a half"
    assert len(cli("list", "--limit", "1").splitlines()) == 1
    assert [each["id"] for each in cli.json("list", "--offset", "1")] == [second]


def test_list_of_nothing_says_so(cli: Cli) -> None:
    cli.id("tabs", "-n", "somebody else")
    assert cli("list") == "no memories\n"
    assert cli.json("list") == []


def test_show_has_all_fields_and_the_curve(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces", "--importance", "0.5")
    said = cli("show", id_)
    for part in (id_, "half life days", "7.220", "lifetime days", "23.985", "┤", "▲"):
        assert part in said
    assert cli.json("show", id_)["lifetime_days"] == pytest.approx(23.985, abs=1e-3)


def test_reinforce_counts_once_within_the_spacing(cli: Cli) -> None:
    id_ = cli.id("tabs")
    assert cli("reinforce", id_).startswith(f"reinforced {id_}")
    assert cli("reinforce", id_) == "none counted: they were used just now\n"
    assert cli.json("reinforce", id_) == {"reinforced": []}


@pytest.mark.parametrize(
    ("command", "back", "field"),
    [("pin", "--off", "pinned"), ("hold", "--off", "held"), ("hold", "--release", "held")],
)
def test_a_mark_is_set_and_taken_back(cli: Cli, command: str, back: str, field: str) -> None:
    id_ = cli.id("tabs")
    assert id_ in cli(command, id_)
    assert cli.json("show", id_)[field] is True
    [changed] = next(iter(cli.json(command, back, id_).values()))
    assert changed[field] is False


def test_what_is_forgotten_is_hidden_and_can_be_restored(cli: Cli) -> None:
    id_ = cli.id("tabs")
    assert cli("forget", id_).startswith(f"forgotten {id_}")
    assert cli.json("list") == []
    assert [each["status"] for each in cli.json("list", "--faded")] == ["faded"]
    assert cli("restore", id_).startswith(f"restored {id_}")
    assert [each["id"] for each in cli.json("list")] == [id_]


def test_erase_removes_for_good(cli: Cli) -> None:
    id_ = cli.id("tabs")
    cli.id("spaces")
    assert cli("erase", id_, "--yes") == "1 erased\n"
    assert "no memory" in cli.error("show", id_)
    assert cli.json("erase", "--all", "--yes")["erased"] == 1


def test_erase_asks_and_takes_no_answer_for_no(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = cli.id("tabs")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli.error("erase", id_).rstrip().endswith("nothing was done")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert cli("erase", id_) == "1 erased\n"


def test_what_is_held_is_not_erased(cli: Cli) -> None:
    id_ = cli.id("tabs")
    cli("hold", id_)
    assert "legal hold" in cli.error("erase", id_, "--yes")
    assert cli.json("show", id_)["held"] is True


def test_what_is_not_searched_and_what_ends_is_told(cli: Cli) -> None:
    with MemoryBank.open(cli.db, namespace="default", embedder="hashing") as bank:
        end = datetime(2099, 1, 2, 3, 4, tzinfo=UTC)
        id_ = bank.remember("a tool's answer", searchable=False, expires_at=end).id
    assert "expires at      2099-01-02 03:04:00 UTC" in cli("show", id_)
    listed = " ".join(cli("list").split())
    assert "not searched" in listed
    assert "2099-01-02" in listed
    shown = cli.json("show", id_)
    assert (shown["searchable"], shown["keyed"]) == (False, False)
    assert shown["expires_at"].startswith("2099-01-02T03:04")


def test_prune_says_what_would_go_and_then_lets_it_go(cli: Cli) -> None:
    yesterday = ManualClock(utc_now() - timedelta(hours=20))  # the next pass is not due yet
    with MemoryBank.open(cli.db, namespace="default", clock=yesterday) as bank:
        id_ = bank.remember("weak", category="failure", importance=0.06).id
    said = cli("prune", "--dry-run")
    assert "1 would be faded" in said
    assert id_ in said
    assert cli.json("prune")["faded"] == [id_]
    assert cli("prune") == "0 faded, 0 forgotten for good\n"


@pytest.mark.parametrize("on_fade", ["hide", "erase"])
def test_prune_reports_though_the_pass_is_long_due(cli: Cli, on_fade: str) -> None:
    before = ManualClock(utc_now() - timedelta(days=100))
    policy = Policy(on_fade=on_fade)  # type: ignore[arg-type]
    with MemoryBank.open(cli.db, namespace="default", clock=before, policy=policy) as bank:
        id_ = bank.remember("weak", category="failure", importance=0.5).id
    assert cli.json("prune", "--dry-run")["faded"] == [id_]
    done = cli.json("prune")
    assert done["faded"] == [id_]
    assert done["erased"] == ([id_] if on_fade == "erase" else [])


def test_forecast_names_what_fades_next(cli: Cli) -> None:
    soon = cli.id("tabs", "--category", "failure")
    later = cli.id("spaces", "--category", "strategy")
    lines = cli("forecast", "--days", "300").splitlines()
    assert [line.split("\t")[-1] for line in lines] == [soon, later]
    assert cli("forecast", "--days", "0.5") == "nothing fades within 0.5 days\n"
    assert [each["memory"]["id"] for each in cli.json("forecast", "--days", "300")] == [soon, later]


def test_stats_count(cli: Cli) -> None:
    cli.id("tabs")
    cli.id("spaces", "--pinned")
    assert "active            2" in cli("stats")
    found = cli.json("stats")
    assert (found["active"], found["pinned"], found["namespace"]) == (2, 1, ["default"])


def test_what_is_exported_is_imported_elsewhere(cli: Cli, tmp_path: Path) -> None:
    cli.id("我最喜欢的茶是乌龙茶")
    file = str(tmp_path / "out.jsonl")
    assert cli("export", file) == f"1 exported to {file}\n"
    assert cli("import", file, "-n", "bob").startswith("bob: 1 new, 0 already there")
    assert cli.json("import", file, "-n", "eve") == [{"namespace": ["eve"], "new": 1, "known": 0}]
    assert [each["text"] for each in cli.json("list", "-n", "bob")] == ["我最喜欢的茶是乌龙茶"]


def test_what_was_there_already_is_not_counted_as_new(cli: Cli, tmp_path: Path) -> None:
    cli.id("one")
    file = str(tmp_path / "out.jsonl")
    cli("export", file)
    cli.id("two")
    cli("export", str(tmp_path / "more.jsonl"))
    cli("import", file, "-n", "bob")
    again = cli("import", str(tmp_path / "more.jsonl"), "-n", "bob")
    assert again.startswith("bob: 1 new, 1 already there")


def test_a_command_that_is_suggested_works_in_a_shell(cli: Cli, tmp_path: Path) -> None:
    name, db = "it's alice; rm *", str(tmp_path / "my file.db")
    cli.id("tabs")
    cli("export", file := str(tmp_path / "out.jsonl"))
    said = cli("import", file, "-n", name, "-n", "$HOME", "--db", db)
    program_, *words, dots = shlex.split(said[said.rindex("   (") + 4 :].rstrip().rstrip(")"))
    assert (program_, dots) == ("ebbmem", "...")
    assert [each["memory"]["text"] for each in cli.json(*words, "tabs")] == ["tabs"]


def test_export_to_the_standard_output_is_the_file_itself(cli: Cli) -> None:
    cli.id("tabs")
    header, line = cli("export", "-").splitlines()
    assert json.loads(header)["format"] == "ebbmem"
    assert json.loads(line)["text"] == "tabs"


def conversation(name: str) -> dict[str, Any]:
    turn = {"speaker": "A", "dia_id": "D1:1", "text": f"hello from {name}"}
    talk = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [turn]}
    return {"sample_id": name, "conversation": talk}


def test_several_conversations_become_a_namespace_each(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([conversation("one"), conversation("two")]))
    said = cli("import", str(file), "-n", "alice")
    assert "alice/one" in said
    assert "-n alice -n two" in said
    assert len(cli.json("list", "-n", "alice", "-n", "two", "--faded")) == 1


def test_one_conversation_goes_into_the_namespace_itself(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([conversation("one"), conversation("two")]))
    assert cli.json("import", str(file), "--only", "two")[0]["namespace"] == ["default"]
    assert "three" in cli.error("import", str(file), "--only", "three")


def test_every_bad_line_of_a_file_is_named(cli: Cli, tmp_path: Path) -> None:
    cli.id("tabs")
    file = tmp_path / "bad.jsonl"
    cli("export", str(file))
    header, line = file.read_text().splitlines()
    bad = json.loads(line) | {"importance": 5}
    file.write_text("\n".join([header, json.dumps(bad), "{"]))
    _, *lines = cli.error("import", str(file), "-n", "bob").splitlines()
    assert [each.split(":")[0].strip() for each in lines] == ["line 2", "line 3"]
    out, err, _ = cli.all("import", str(file), "-n", "bob", "--json")
    assert not out
    assert [line for line, _ in json.loads(err)["error"]["problems"]] == [2, 3]


def test_reembed_converts_and_is_then_the_files_own(cli: Cli) -> None:
    cli.id("tabs", "--embedder", "none")
    assert cli("reembed", "hashing") == "1 embedded again with hashing\n"
    assert cli.json("stats")["embedder"].startswith("hashing")


def test_a_backup_opens_as_a_database(cli: Cli, tmp_path: Path) -> None:
    cli.id("tabs")
    copy = tmp_path / "copy.db"
    assert cli("backup", str(copy)) == f"copied to {copy}\n"
    assert len(cli.json("list", "--db", str(copy))) == 1


def test_doctor_finds_a_sound_file_sound(cli: Cli) -> None:
    cli.id("tabs")
    assert cli("doctor").splitlines()[-1] == "no faults"
    found = cli.json("doctor")
    assert found["integrity"] == "ok"
    assert found["faults"] == []
    assert found["memories"] == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are of POSIX")
def test_doctor_notes_that_others_may_read(cli: Cli) -> None:
    cli.id("tabs")
    cli.db.chmod(0o644)
    assert any("chmod 600" in note for note in cli.json("doctor")["notes"])


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ("3.6.23", False),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.53.4", False),
        ("unknown", False),
    ],
)
def test_the_wal_reset_bug_is_known_by_version(version: str, affected: bool) -> None:
    assert wal_reset_affected(version) is affected


def test_stats_draw_the_strengths_and_give_advice(cli: Cli) -> None:
    cli("remember", "tabs", "--importance", "0.55")
    said = cli("stats")
    assert "\n0.5 to 0.6\t1\n" in said
    assert said.count(" to ") == 10
    for name in ("superseded        0", "and in a month    1", "on disk", "in memory"):
        assert name in said
    found = cli.json("stats")
    assert (found["histogram"], found["advice"]) == ([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [])


def test_advice_stands_under_the_stats(cli: Cli) -> None:
    clock = ManualClock(utc_now() - timedelta(days=8))
    with MemoryBank.open(cli.db, namespace="default", embedder="hashing", clock=clock) as bank:
        bank.remember_many(Draft(text=f"note {n}", importance=0.9) for n in range(20))
    assert "\n\nunused: None of 20 memories was ever reinforced" in cli("stats")
    assert [each["code"] for each in cli.json("stats")["advice"]] == ["unused"]


def test_probes_are_added_listed_asked_and_removed(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces")
    assert cli("probe", "add", "tabs or spaces?", id_[:35]) == "probe 1: tabs or spaces?\n"
    assert cli("probe", "list") == f"1\tgiven\ttabs or spaces?\t{id_}\n"
    assert cli("probe") == "recall@5  100%\n1 question, 1 active and 0 faded memories\n"
    assert cli("probe", "-k", "3").startswith("recall@3  100%\n")
    assert cli("probe", "remove", "1") == "probe 1 removed\n"
    assert "no probes yet" in cli("probe", "list")
    times = [line.split("\t") for line in cli("probe", "history").splitlines()]
    assert [each[1:5] for each in times] == [["@5 100%", "1", "1", "0"], ["@3 100%", "1", "1", "0"]]


def test_a_probe_names_what_it_missed_and_how_it_went_before(cli: Cli) -> None:
    id_ = cli.id("I prefer tabs over spaces")
    cli("probe", "add", "tabs or spaces?", id_)
    cli("probe")
    cli("forget", id_)
    said = cli("probe")
    assert said.startswith("recall@5  0%, 100% before\n")
    assert f"   1  tabs or spaces?  ({id_} hidden)\n" in said
    assert "probes-fading: 100%" in said
    found = cli.json("probe")
    assert (found["recall"], found["answers"][0]["hidden"]) == (0.0, [id_])


def test_without_probes_asking_them_says_how_to_add_one(cli: Cli) -> None:
    cli.id("tabs")
    assert cli("probe") == "no probes yet; `ebbmem probe add QUESTION ID` keeps one\n"
    assert cli.json("probe")["recall"] is None


def test_the_shared_options_may_stand_behind_a_command_of_a_group(cli: Cli) -> None:
    id_ = cli.id("tabs", "-n", "bob")
    cli("probe", "add", "tabs?", id_, "-n", "bob")
    assert len(cli.json("probe", "list", "-n", "bob")) == 1
    assert len(json.loads(cli("probe", "-n", "bob", "list", "--json"))) == 1
    assert cli.json("probe", "-n", "bob")["asked"] == 1
    assert cli.json("probe")["asked"] == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [(("remove", "7"), 1), (("add", "tabs?", "none"), 1), (("remove", "x"), 2), (("-k", "0"), 2)],
    ids=str,
)
def test_a_probe_that_cannot_be_is_one_sentence(cli: Cli, args: Sequence[str], code: int) -> None:
    cli.id("tabs")
    assert cli.error("probe", *args, code=code).count("\n") == 1


def test_probes_make_no_file(cli: Cli) -> None:
    for args in ((), ("list",), ("history",), ("add", "tabs?", "id"), ("remove", "1")):
        assert "no memory at" in cli.error("probe", *args)
    assert not cli.db.exists()


def test_reinforcing_may_name_the_question(cli: Cli) -> None:
    id_ = cli.id("tabs")
    with MemoryBank.open(cli.db, namespace="default", policy=Policy(sample_probes=3)):
        pass
    cli("reinforce", id_, "--query", "what do I prefer?")
    [probe] = cli.json("probe", "list")
    assert (probe["question"], probe["kind"]) == ("what do I prefer?", "sampled")


def test_a_report_is_written_once_and_over_it_only_when_forced(cli: Cli, tmp_path: Path) -> None:
    cli.id("tabs")
    file = tmp_path / "report.html"
    assert cli("report", str(file)) == f"written to {file}\n"
    assert file.read_text("utf-8").startswith("<!doctype html>")
    before = file.read_bytes()
    assert "--force writes over it" in cli.error("report", str(file))
    assert file.read_bytes() == before
    assert cli.json("report", str(file), "--force") == {"file": str(file)}


# --- ids may be cut short


@pytest.fixture
def some(cli: Cli) -> Sequence[str]:
    """Ids of three memories; four characters are enough for the first alone."""
    ids = ("abcd1111-tabs", "abce2222-spaces", "abce3333-bees")
    with MemoryBank.open(cli.db, namespace="default") as bank:
        for id_ in ids:
            bank.remember(id_.partition("-")[2], id=id_)
    return ids


BY_ID = {
    "show": (),
    "explain": ("tabs",),
    "reinforce": (),
    "pin": (),
    "hold": (),
    "restore": (),
    "forget": (),
    "erase": ("--yes",),
}


def test_every_command_that_takes_ids_is_known_here() -> None:
    taking = {
        each.name
        for each in app.registered_commands
        if {"id", "ids"} & set(getattr(each.callback, "__annotations__", ()))
    }
    assert taking == set(BY_ID)


@pytest.mark.parametrize("command", BY_ID)
def test_the_beginning_of_an_id_is_enough(cli: Cli, some: Sequence[str], command: str) -> None:
    said = cli(command, *BY_ID[command], "abcd")
    if command == "erase":
        assert [each["id"] for each in cli.json("list")] == list(some[1:])
    elif command not in ("explain", "restore"):
        assert some[0] in said


@pytest.mark.parametrize("command", BY_ID)
def test_a_beginning_that_fits_several_is_one_sentence_with_their_names(
    cli: Cli, some: Sequence[str], command: str
) -> None:
    before = cli("list", "--faded")
    err = cli.error(command, *BY_ID[command], "abce")
    assert err == f"ebbmem: id 'abce' begins 2 of them: {some[1]}, {some[2]}\n"
    assert cli("list", "--faded") == before


@pytest.mark.parametrize("command", BY_ID)
def test_three_characters_of_an_id_are_not_enough(
    cli: Cli, some: Sequence[str], command: str
) -> None:
    assert "no memory 'abc'" in cli.error(command, *BY_ID[command], "abc")


def test_the_beginning_of_a_faded_id_is_enough_to_restore_it(cli: Cli, some: Sequence[str]) -> None:
    cli("forget", some[0])
    assert cli("restore", "abcd1").startswith(f"restored {some[0]}")


def test_a_whole_id_is_itself_though_it_begins_another(cli: Cli) -> None:
    with MemoryBank.open(cli.db, namespace="default") as bank:
        bank.remember("tabs", id="abcd")
        bank.remember("spaces", id="abcde")
    assert cli.json("show", "abcd")["text"] == "tabs"


def test_of_many_that_fit_only_some_are_named(cli: Cli) -> None:
    with MemoryBank.open(cli.db, namespace="default") as bank:
        for number in range(9):
            bank.remember(f"number {number}", id=f"abcd{number}")
    assert cli.error("show", "abcd").endswith("abcd0, abcd1, abcd2, abcd3, abcd4 and 4 more\n")


def test_erase_says_what_it_would_erase_before_it_asks(
    cli: Cli, some: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    asked = cli.error("erase", "abcd", "abcd1111")
    assert asked.startswith(f"   {some[0]}  tabs\nErase 1 of default for good? [y/N] ")


# --- only what remembers makes a file

MAKERS = {"remember": ("tabs",), "import": ("out.jsonl",)}
READERS = {
    **BY_ID,
    "recall": (),
    "list": (),
    "prune": (),
    "forecast": (),
    "stats": (),
    "doctor": (),
    "repair": (),
    "export": (),
    "backup": (),
    "reembed": (),
    "report": (),
}
"""Command -> what stands before its last argument."""


def test_every_command_makes_a_file_or_reads_one() -> None:
    assert {each.name for each in app.registered_commands} == {"demo", *MAKERS, *READERS}


@pytest.mark.parametrize("command", READERS)
def test_a_command_that_remembers_nothing_makes_no_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delenv("EBBMEM_DB")
    monkeypatch.chdir(tmp_path)
    bare = ("list", "prune", "forecast", "stats", "doctor", "repair")
    last = () if command in bare else ("hashing",)
    default = tmp_path / "data" / "ebbmem" / "memory.db"
    for options, path in ((("--db", "typo.db"), "typo.db"), ((), default)):
        err = cli.error(command, *READERS[command], *last, *options)
        assert err == f"ebbmem: no memory at {path} yet; `ebbmem remember` makes one\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", MAKERS)
def test_a_command_that_remembers_makes_the_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.id("tabs")
    cli("export", "out.jsonl")
    cli(command, *MAKERS[command], "--db", "new.db")
    assert len(cli.json("list", "--db", "new.db")) == 1


def test_a_missing_file_is_an_error_in_json_too(cli: Cli) -> None:
    out, err, code = cli.all("list", "--json")
    assert (out, code) == ("", 1)
    assert json.loads(err)["error"]["path"] == str(cli.db)
    assert not cli.db.exists()


# --- the shared options


def test_options_may_stand_before_the_command(cli: Cli, tmp_path: Path) -> None:
    cli.id("spaces", "-n", "eve")
    db = str(tmp_path / "other.db")
    out = cli("--db", db, "--json", "-n", "bob", "remember", "tabs")
    assert json.loads(out)["text"] == "tabs"
    assert len(cli.json("list", "--db", db, "-n", "bob")) == 1
    assert cli.json("list") == []


def test_an_option_after_the_command_wins(cli: Cli) -> None:
    cli.id("tabs", "-n", "bob")
    assert len(json.loads(cli("-n", "eve", "list", "-n", "bob", "--json"))) == 1


def test_the_namespace_comes_from_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.id("tabs", "-n", "alice", "-n", "work")
    monkeypatch.setenv("EBBMEM_NAMESPACE", "alice/work")
    assert cli.json("stats")["namespace"] == ["alice", "work"]
    assert len(cli.json("list")) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are of POSIX")
def test_the_default_place_is_private(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EBBMEM_DB")
    cli.id("tabs")
    folder = tmp_path / "data" / "ebbmem"
    assert (folder / "memory.db").is_file()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_policy_is_kept_with_the_namespace(cli: Cli) -> None:
    cli.id("tabs", "--policy", "chat")
    assert cli.json("stats")["timeline"] == "active"
    assert cli.json("stats", "--policy", "published")["timeline"] == "wall"


def test_the_version_is_said(cli: Cli) -> None:
    assert cli("--version") == f"ebbmem {__version__}\n"


def test_an_option_means_the_same_wherever_it_is_taken(cli: Cli) -> None:
    listed = [
        line.split(maxsplit=1)
        for each in app.registered_commands
        for line in cli(str(each.name), "--help").splitlines()
        if line.lstrip().startswith(("--all ", "--faded "))
    ]
    assert {tuple(each) for each in listed} == {
        ("--all", "All of the namespace."),
        ("--faded", "Faded ones too."),
    }


def test_without_a_command_the_help_lists_them_all(cli: Cli) -> None:
    said = cli()
    for name in ("demo", "remember", "recall", "reembed", "doctor"):
        assert f"\n  {name} " in said
    assert not set(said) & set("╭│╰─")


# --- errors


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("show", "nope"), "no memory 'nope'"),
        (("remember", "  "), "text is blank"),
        (("recall", ""), "query is blank"),
        (("remember", "x", "--at", "2026-01-01"), "at must carry a time zone"),
        (("remember", "x", "--at", "yesterday"), "at must be a time like"),
        (("remember", "x", "--importance", "5"), "importance must lie in [0, 1]"),
        (("remember", "x", "--category", "mood"), "category is 'mood'; known are"),
        (("remember", "x", "--metadata", "[1]"), "metadata must be a JSON object"),
        (("remember", "x", "--embedder", "gpt"), "embedder is 'gpt'"),
        (("list", "--embedder", "none"), "leave out --embedder, or convert the file with `ebbmem"),
        (("recall", "x", "--where", "n"), "where must look like key=value"),
        (("list", "-n", " "), "namespace is blank"),
        (("pin", "nope"), "no memory 'nope'"),
        (("import", "/no/such/file"), "cannot be read"),
        (("list", "--db", "/no/such/folder/x.db"), "/no/such/folder/x.db"),
    ],
)
def test_an_error_is_one_sentence(cli: Cli, args: Sequence[str], sentence: str) -> None:
    cli.id("tabs")
    err = cli.error(*args)
    assert err.startswith("ebbmem: ")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_no_database_is_an_error(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello " * 1000)
    assert "not a database" in cli.error("list", "--db", str(file))
    assert file.read_text() == "hello " * 1000


def test_an_error_in_json_stands_on_stderr_with_its_datum(cli: Cli) -> None:
    cli.id("tabs")
    out, err, code = cli.all("show", "nope", "--json")
    assert (out, code) == ("", 1)
    assert json.loads(err) == {
        "error": {"type": "NotFound", "message": "no memory 'nope'", "ids": ["nope"]}
    }


@pytest.mark.parametrize(
    "args",
    [
        ("bogus",),
        ("recall",),
        ("recall", "x", "-k", "0"),
        ("list", "--policy", "never"),
        ("erase",),
        ("erase", "x", "--all"),
        ("export", "-", "--json"),
    ],
)
def test_wrong_use_ends_with_2(cli: Cli, args: Sequence[str]) -> None:
    out, err, code = cli.all(*args)
    assert (out, code) == ("", 2)
    assert "Traceback" not in err
    if "--json" in args:
        assert "message" in json.loads(err)["error"]
    else:
        assert len(err.splitlines()) == 1


def test_erase_in_json_cannot_ask(cli: Cli) -> None:
    _, err, code = cli.all("erase", "--all", "--json")
    assert code == 2
    assert "--yes" in json.loads(err)["error"]["message"]


def test_no_error_holds_the_text_of_a_memory(cli: Cli) -> None:
    for args in (
        ("remember", "MARKER", "--importance", "7"),
        ("remember", "MARKER", "--at", "2026-01-01T00:00"),
        ("remember", "MARKER \ud800"),
    ):
        assert "MARKER" not in cli.error(*args)


# --- text that would like to be more


def test_hostile_text_is_printed_inert(cli: Cli) -> None:
    id_ = cli.id(HOSTILE)
    for args in (("recall", "MARKER"), ("list",), ("show", id_), ("forecast", "--days", "99")):
        said = cli(*args)
        assert "[red]MARKER[/red] :smile:" in said
        assert not set(said) & {"\x1b", "\x9b", "\u202e"}


def test_hostile_text_in_json_is_whole_and_inert(cli: Cli) -> None:
    cli.id(HOSTILE)
    raw = cli("list", "--json")
    assert json.loads(raw)[0]["text"] == HOSTILE
    assert not set(raw) & {"\x1b", "\x9b", "\u202e"}


def test_a_terminal_gets_bars_and_the_same_inert_text(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    id_ = cli.id(HOSTILE)
    for args in (("recall", "MARKER"), ("list",), ("show", id_), ("forecast", "--days", "99")):
        said = cli(*args)
        assert "[red]MARKER[/red] :smile:" in said
        assert "\x1b[31mred" not in said
        assert not set(said) & {"\x9b", "\u202e"}
    assert "█" in cli("recall", "MARKER")


def test_why_a_memory_is_hidden_ends_with_a_command_not_with_a_call(cli: Cli) -> None:
    id_ = cli.id("tabs")
    cli("forget", id_)
    said = cli("explain", "tabs", id_)
    assert said.endswith(f"; `ebbmem restore {id_}` brings it back\n")
    assert "()" not in said


# --- the process


@pytest.mark.parametrize(
    ("started", "typed"),
    [
        ("{here}/bin/ebbmem", "ebbmem"),
        ("{here}/other/ebbmem", "{here}/other/ebbmem"),
        ("other/ebbmem", "other/ebbmem"),
        ("{here}/my venv/ebbmem", "'{here}/my venv/ebbmem'"),
        ("{here}/ebbmem/__main__.py", f"{shlex.quote(sys.executable)} -m ebbmem"),
        ("{here}/pytest/__main__.py", "ebbmem"),
        ("-c", "ebbmem"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="paths and permissions are of POSIX")
def test_the_program_is_named_as_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, typed: str
) -> None:
    for folder in ("bin", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ebbmem").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [started.format(here=tmp_path)])
    assert program() == typed.format(here=tmp_path)


def process(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ebbmem.cli import main; main()", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "EBBMEM_EMBEDDER": "none", **environment},
    )


def test_a_pipe_gets_neither_colour_nor_boxes(tmp_path: Path) -> None:
    db = str(tmp_path / "m.db")
    process("remember", "tabs", EBBMEM_DB=db)
    for args in (("recall", "tabs"), ("list",), ("stats",), ("recall", "--help")):
        done = process(*args, EBBMEM_DB=db)
        assert done.returncode == 0
        assert not set(done.stdout) & set("\x1b╭│╰━")


def test_without_its_extra_the_command_line_says_how_to_get_it() -> None:
    blocked = (
        "import sys; sys.modules['typer'] = None; from ebbmem.cli import main; "
        "sys.argv = ['ebbmem', 'list']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == ("ebbmem: the command line needs an extra: pip install 'ebbmem[cli]'\n")


def test_a_terminal_without_unicode_gets_escapes_not_a_traceback(tmp_path: Path) -> None:
    db = str(tmp_path / "m.db")
    environment = {"EBBMEM_DB": db, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process("remember", "乌龙茶", **environment)
    done = process("list", **environment)
    assert done.returncode == 0
    assert "\\u4e4c" in done.stdout
    document = json.loads(process("list", "--json", **environment).stdout)
    assert document[0]["text"] == "乌龙茶"
