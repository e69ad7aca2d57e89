"""What cannot be used is refused with one error of ours, and changes nothing."""

from __future__ import annotations

import io
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import (
    Draft,
    EbbmemError,
    EmbeddingError,
    InvalidInput,
    MemoryBank,
    NotFound,
    SchemaTooNew,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreadable,
    UnknownCategory,
)
from ebbmem.embedding import adapt
from ebbmem.testing import ManualClock, TableEmbedder

Refused = Callable[..., AbstractContextManager[None]]

SECRET = "xylophone"  # in every text here, and in no message
KEPT = f"a kept {SECRET}"
NAN = float("nan")
HALF = "half \ud83d of one"
FIVE_PM = timezone(timedelta(hours=17))


ROWS: dict[str, list[float]] = {
    f"nan {SECRET}": [NAN, 0.0],
    f"inf {SECRET}": [math.inf, 0.0],
    f"three {SECRET}": [1.0, 0.0, 0.0],
    f"none {SECRET}": [],
}


@pytest.fixture
def embedder() -> TableEmbedder:
    return TableEmbedder(ROWS, default=[1.0, 0.0])


@pytest.fixture
def bank(open_bank: OpenBank, embedder: TableEmbedder) -> MemoryBank:
    """Holds one memory, `kept`, and has just run its pass."""
    made = open_bank(embedder=embedder)
    made.remember(KEPT, importance=0.5, source="s", metadata={"n": 1}, id="kept")
    made.remember(f"another {SECRET}", importance=0.5, id="other")
    return made


def told(bank: MemoryBank) -> str:
    out = io.StringIO()
    bank.export_jsonl(out)
    return out.getvalue()


@pytest.fixture
def refused(bank: MemoryBank, embedder: TableEmbedder) -> Refused:
    """One error of ours, quiet about texts; the bank as it was, the embedder not asked."""

    @contextmanager
    def check(kind: type[EbbmemError] = InvalidInput, *, embeds: bool = False) -> Iterator[None]:
        before, calls = (told(bank), bank.audit(), bank.stats()), embedder.calls
        with pytest.raises(EbbmemError) as caught:
            yield
        assert isinstance(caught.value, kind)
        assert_quiet(caught.value)
        assert embeds or embedder.calls == calls, "the embedder was asked"
        assert (told(bank), bank.audit(), bank.stats()) == before

    return check


def assert_quiet(error: EbbmemError) -> None:
    message = str(error)
    assert message
    assert SECRET not in message
    assert not any(word in message for word in ("Traceback", "SELECT", "INSERT", "sqlite3."))


# -- remembering -----------------------------------------------------------------------------

DRAFTS: dict[str, dict[str, Any]] = {
    "blank": {"text": ""},
    "spaces": {"text": " \t\n"},
    "None": {"text": None},
    "number": {"text": 42},
    "bytes": {"text": b"text"},
    "half an emoji": {"text": f"{SECRET} {HALF}"},
    "half a source": {"source": HALF},
    "half a speaker": {"speaker": HALF},
    "half in metadata": {"metadata": {"x": [HALF]}},
    "half a key": {"metadata": {HALF: 1}},
    "half an id": {"id": HALF},
    "blank source": {"source": " "},
    "blank speaker": {"speaker": ""},
    "blank id": {"id": ""},
    "numeric id": {"id": 7},
    "long id": {"id": "x" * 513},
    "nul in an id": {"id": "a\0b"},
    "line in a source": {"source": "a\nb"},
    "escape in a speaker": {"speaker": "\x1b[2J"},
    "importance below": {"importance": -0.1},
    "importance above": {"importance": 1.1},
    "importance five": {"importance": 5},
    "importance nan": {"importance": NAN},
    "importance inf": {"importance": math.inf},
    "importance -inf": {"importance": -math.inf},
    "importance text": {"importance": "0.5"},
    "importance list": {"importance": []},
    "importance True": {"importance": True},
    "Fact": {"category": "Fact"},
    "facts": {"category": "facts"},
    "no category": {"category": ""},
    "category None": {"category": None},
    "naive at": {"at": datetime(2026, 1, 1)},
    "at text": {"at": "2026-01-01"},
    "at number": {"at": 0},
    "at before year 1": {"at": datetime.min.replace(tzinfo=FIVE_PM)},
    "at after year 9999": {"at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
    "position below": {"position": -1},
    "position True": {"position": True},
    "position text": {"position": "1"},
    "position beyond": {"position": 2**31},
    "pinned text": {"pinned": "yes"},
    "pinned None": {"pinned": None},
    "metadata set": {"metadata": {"x": {1, 2}}},
    "metadata tuple": {"metadata": {"x": (1, 2)}},
    "metadata tuple key": {"metadata": {(1, 2): 3}},
    "metadata number key": {"metadata": {1: 3}},
    "metadata NaN": {"metadata": {"x": {"y": NAN}}},
    "metadata inf": {"metadata": {"x": [math.inf]}},
    "metadata object": {"metadata": {"x": [{"y": object()}]}},
    "metadata bytes": {"metadata": {"x": b"y"}},
    "metadata time": {"metadata": {"x": datetime(2026, 1, 1, tzinfo=UTC)}},
    "metadata large": {"metadata": {"x": 2**63}},
    "metadata list": {"metadata": [1]},
    "metadata text": {"metadata": "x"},
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_that_cannot_be_kept_is_refused(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    fields = {"text": f"new {SECRET}", **DRAFTS[name]}
    with refused():
        bank.remember(**fields)


@pytest.mark.parametrize("name", DRAFTS)
def test_one_bad_draft_spoils_its_batch(bank: MemoryBank, refused: Refused, name: str) -> None:
    fields = {"text": f"new {SECRET}", **DRAFTS[name]}
    with refused():
        bank.remember_many([Draft(text="good"), Draft(**fields)])


MEMORIES: dict[str, dict[str, Any]] = {
    "importance": {"importance": 5.0},
    "blank": {"text": " "},
    "naive": {"created_at": datetime(2026, 1, 1)},
    "id": {"id": "a\0b"},
    "count": {"recall_count": -1},
    "faded": {"status": "faded"},
    "pinned": {"pinned": 1},
    "Fact": {"category": "Fact"},
}


@pytest.mark.parametrize("name", MEMORIES)
def test_a_memory_that_cannot_be_kept_is_refused(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    with refused():
        new = replace(bank.get("kept"), id="new", text=f"new {SECRET}")
        bank.remember_many([replace(new, **MEMORIES[name])])


def test_metadata_nested_without_end_is_refused(bank: MemoryBank, refused: Refused) -> None:
    loop: dict[str, Any] = {}
    loop["x"] = loop
    with refused():
        bank.remember("new", metadata=loop)


@pytest.mark.parametrize("drafts", [None, 42, f"{SECRET}", [42], [None], [b"x"], [("a", "b")]])
def test_what_holds_no_drafts_is_refused(bank: MemoryBank, refused: Refused, drafts: Any) -> None:
    with refused():
        bank.remember_many(drafts)


def test_an_id_given_twice_is_refused(bank: MemoryBank, refused: Refused) -> None:
    with refused():
        bank.remember_many([Draft(text="one", id="same"), Draft(text="two", id="same")])


def test_the_id_of_another_text_is_refused(bank: MemoryBank, refused: Refused) -> None:
    with refused(embeds=True):
        bank.remember(f"a new {SECRET}", id="kept")


# -- updating --------------------------------------------------------------------------------

UPDATES: dict[str, dict[str, Any]] = {
    "blank": {"text": " "},
    "number": {"text": 42},
    "half": {"text": f"{SECRET} {HALF}"},
    "category": {"category": "Fact"},
    "importance": {"importance": NAN},
    "importance True": {"importance": True},
    "speaker": {"speaker": " "},
    "half a speaker": {"speaker": HALF},
    "metadata": {"metadata": {"x": NAN}},
    "metadata list": {"metadata": []},
}


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_that_cannot_be_kept_is_refused(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    with refused():
        bank.update("kept", **UPDATES[name])


def test_an_update_to_the_text_of_another_memory_is_refused(
    bank: MemoryBank, refused: Refused
) -> None:
    with refused(embeds=True):
        bank.update("kept", text=f"another {SECRET}")


# -- recalling -------------------------------------------------------------------------------

QUESTIONS: dict[str, dict[str, Any]] = {
    "blank": {"query": ""},
    "spaces": {"query": " \t"},
    "None": {"query": None},
    "number": {"query": 42},
    "list": {"query": ["x"]},
    "half": {"query": f"{SECRET} {HALF}"},
    "k 0": {"k": 0},
    "k -1": {"k": -1},
    "k True": {"k": True},
    "k text": {"k": "5"},
    "k float": {"k": 5.0},
    "k None": {"k": None},
    "category": {"category": "Fact"},
    "no category": {"category": ""},
    "categories": {"category": ["fact", "facts"]},
    "category number": {"category": 5},
    "category numbers": {"category": [5]},
    "source": {"source": " "},
    "source number": {"source": 5},
    "half a source": {"source": HALF},
    "where list": {"where": ["n"]},
    "where text": {"where": "n"},
    "where key": {"where": {1: 2}},
    "similarity 2": {"min_similarity": 2.0},
    "similarity NaN": {"min_similarity": NAN},
    "similarity text": {"min_similarity": "0.5"},
    "similarity True": {"min_similarity": True},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_that_cannot_be_asked_is_refused(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    asked = {"query": f"which {SECRET}", **QUESTIONS[name]}
    with refused():
        bank.recall(**asked)


@pytest.mark.parametrize("name", QUESTIONS)
def test_nobody_explains_a_question_that_cannot_be_asked(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    asked = {"query": f"which {SECRET}", **QUESTIONS[name]}
    with refused():
        bank.explain(id="kept", **asked)


LISTS = [name for name in QUESTIONS if name.startswith(("categor", "no cat", "source", "where"))]


@pytest.mark.parametrize("name", LISTS)
def test_a_filter_that_cannot_match_is_refused_by_list_too(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    with refused():
        bank.list(**QUESTIONS[name])


@pytest.mark.parametrize(
    "page", [{"limit": -1}, {"offset": -1}, {"limit": "5"}, {"limit": True}], ids=str
)
def test_a_page_that_does_not_exist_is_refused(
    bank: MemoryBank, refused: Refused, page: Any
) -> None:
    with refused():
        bank.list(**page)


@pytest.mark.parametrize("budget", [0, -1, 1.5, "512", None, True])
def test_a_budget_that_is_no_number_of_tokens_is_refused(
    bank: MemoryBank, refused: Refused, budget: Any
) -> None:
    with refused():
        bank.context(f"which {SECRET}", budget=budget)


@pytest.mark.parametrize("days", [-1, NAN, "30", None, True])
def test_a_forecast_over_no_number_of_days_is_refused(
    bank: MemoryBank, refused: Refused, days: Any
) -> None:
    with refused():
        bank.forecast(days)


# -- ids -------------------------------------------------------------------------------------

Call = Callable[[MemoryBank, Any], object]

TAKES_IDS: dict[str, Call] = {
    name: lambda bank, ids, name=name: getattr(bank, name)(ids)
    for name in ("pin", "unpin", "hold", "release", "restore", "forget", "reinforce", "erase")
}
TAKES_ID: dict[str, Call] = {
    "get": lambda bank, id_: bank.get(id_),
    "get faded": lambda bank, id_: bank.get(id_, include_faded=True),
    "strength": lambda bank, id_: bank.strength(id_),
    "retention": lambda bank, id_: bank.retention(id_),
    "update": lambda bank, id_: bank.update(id_, text="new"),
    "update nothing": lambda bank, id_: bank.update(id_),
    "explain": lambda bank, id_: bank.explain(f"which {SECRET}", id_),
    "link from": lambda bank, id_: bank.link(id_, "kept"),
    "link to": lambda bank, id_: bank.link("kept", id_),
    "unlink from": lambda bank, id_: bank.unlink(id_, "kept"),
    "unlink to": lambda bank, id_: bank.unlink("kept", id_),
}
BAD_ID = [None, "", "  ", 42, [], HALF, True, "a\0b"]
BAD_IDS = ["a\0b", None, "", 42, [None], [""], ["kept", None], ["kept", 3], HALF, [HALF], True]


@pytest.mark.parametrize("name", TAKES_IDS)
@pytest.mark.parametrize("ids", BAD_IDS, ids=ascii)
def test_what_is_no_id_is_refused(bank: MemoryBank, refused: Refused, name: str, ids: Any) -> None:
    with refused(EbbmemError):
        TAKES_IDS[name](bank, ids)


@pytest.mark.parametrize("name", TAKES_ID)
@pytest.mark.parametrize("id_", BAD_ID, ids=ascii)
def test_what_is_not_one_id_is_refused(
    bank: MemoryBank, refused: Refused, name: str, id_: Any
) -> None:
    with refused(EbbmemError):
        TAKES_ID[name](bank, id_)


@pytest.mark.parametrize("name", TAKES_ID)
def test_an_unknown_id_is_not_found(bank: MemoryBank, refused: Refused, name: str) -> None:
    with refused(NotFound):
        TAKES_ID[name](bank, "made-up")


@pytest.mark.parametrize("name", TAKES_IDS)
@pytest.mark.parametrize("ids", ["made-up", ["made-up"], ["kept", "made-up"], ("made-up", "kept")])
def test_an_unknown_id_among_others_stops_all(
    bank: MemoryBank, refused: Refused, name: str, ids: Any
) -> None:
    with refused(NotFound):
        TAKES_IDS[name](bank, ids)


@pytest.mark.parametrize("name", TAKES_IDS)
def test_no_ids_at_all_is_nothing_to_do(bank: MemoryBank, name: str) -> None:
    before = told(bank)
    assert not TAKES_IDS[name](bank, [])
    assert told(bank) == before


@pytest.mark.parametrize("name", TAKES_ID | TAKES_IDS)
def test_a_namespace_that_never_wrote_knows_no_id(
    bank: MemoryBank, refused: Refused, name: str
) -> None:
    stranger = bank.at("stranger")
    with refused(NotFound):
        (TAKES_ID | TAKES_IDS)[name](stranger, "other")


@pytest.mark.parametrize("weight", [0, 0.0, -0.5, 1.5, NAN, "1", True, None])
def test_a_link_of_no_weight_is_refused(bank: MemoryBank, refused: Refused, weight: Any) -> None:
    with refused():
        bank.link("kept", "other", weight=weight)


def test_a_link_with_itself_is_refused(bank: MemoryBank, refused: Refused) -> None:
    with refused():
        bank.link("kept", "kept")


# -- vectors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS)
def test_a_vector_that_is_none_is_refused_when_told(
    bank: MemoryBank, refused: Refused, row: str
) -> None:
    with refused(EmbeddingError, embeds=True):
        bank.remember(row)
    with refused(EmbeddingError, embeds=True):
        bank.update("kept", text=row)
    with refused(EmbeddingError, embeds=True):
        bank.recall(row)


@pytest.mark.parametrize("rows", [None, 5, "x", [], [[1.0, 0.0]] * 3, [None], [["a", "b"]]])
def test_an_embedder_that_answers_nonsense_is_refused(open_bank: OpenBank, rows: Any) -> None:
    bank = open_bank(path=":memory:", embedder=adapt(lambda texts: rows, name="nonsense"))
    with pytest.raises(EmbeddingError) as caught:
        bank.remember(f"text {SECRET}")
    assert_quiet(caught.value)
    assert bank.list(include_faded=True) == []
    bank.close()


# -- opening ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "namespace",
    [
        None,
        "",
        "  ",
        "\t",
        (),
        [],
        ("",),
        ("a", " "),
        ("a", None),
        42,
        b"u1",
        ("a", HALF),
        "a\0b",
        "x" * 513,
    ],
    ids=ascii,
)
def test_a_blank_namespace_is_refused_and_opens_nothing(file: Path, namespace: Any) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        MemoryBank.open(file, namespace=namespace, embedder=None)
    assert not list(file.parent.iterdir())


@pytest.mark.parametrize("parts", [(), ("",), ("a", ""), (None,), ("  ",)])
def test_a_blank_sibling_is_refused(bank: MemoryBank, refused: Refused, parts: Any) -> None:
    with refused():
        bank.at(*parts)


@pytest.mark.parametrize(
    "options",
    [
        {"embedder": "nonsense"},
        {"embedder": 42},
        {"clock": lambda: datetime(2026, 1, 1)},
        {"clock": lambda: None},
        {"policy": "chat"},
        {"embedder": lambda texts: [[1.0] for _ in texts]},
    ],
    ids=["embedder name", "embedder", "naive clock", "clock", "policy", "nameless embedder"],
)
def test_a_refused_opening_leaves_no_file(file: Path, options: Any) -> None:
    with pytest.raises(InvalidInput):
        MemoryBank.open(file, **{"namespace": "u1", "embedder": None, **options})
    assert not list(file.parent.iterdir())


@pytest.mark.parametrize("path", [None, 42, "", "x\0y", b"memory.db"])
def test_a_path_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EbbmemError):
        MemoryBank.open(path, namespace="u1", embedder=None).close()
    assert not list(tmp_path.iterdir())


def test_a_naive_clock_is_refused_whenever_it_is_read(bank: MemoryBank, refused: Refused) -> None:
    naive = bank.at("u1")
    naive._clock = lambda: datetime(2026, 1, 1)
    for call in (naive.prune, naive.stats, lambda: naive.recall("x"), lambda: naive.remember("x")):
        with refused(embeds=True):
            call()


# -- files that are not ours -----------------------------------------------------------------


def unchanged(path: Path, kind: type[EbbmemError]) -> EbbmemError:
    before = path.read_bytes()
    with pytest.raises(kind) as caught:
        MemoryBank.open(path, namespace="u1", embedder=None)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert str(path) in str(caught.value)
    assert_quiet(caught.value)
    return caught.value


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly) as caught:
        MemoryBank.open(tmp_path / "nowhere" / "memory.db", namespace="u1", embedder=None)
    assert_quiet(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_a_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        MemoryBank.open(tmp_path, namespace="u1", embedder=None)
    assert not list(tmp_path.iterdir())


def test_a_text_file_is_not_a_database(file: Path) -> None:
    file.write_text(f"dear diary, {SECRET}\n" * 100)
    unchanged(file, StoreUnreadable)


def test_half_a_database_is_not_a_database(file: Path) -> None:
    file.write_bytes(b"SQLite format 3\0" + bytes(84))
    unchanged(file, StoreUnreadable)


def test_a_damaged_database_is_refused_or_read_but_never_crashes(
    bank: MemoryBank, file: Path
) -> None:
    bank.close()
    whole = bytearray(file.read_bytes())
    whole[4096:] = b"\xff" * (len(whole) - 4096)
    file.write_bytes(whole)
    with pytest.raises(StoreError) as caught:
        MemoryBank.open(file, namespace="u1", embedder=None).list()
    assert_quiet(caught.value)


def test_the_database_of_another_program_is_left_alone(file: Path) -> None:
    theirs = sqlite3.connect(file)
    theirs.execute("CREATE TABLE theirs (x)")
    theirs.commit()
    theirs.close()
    unchanged(file, StoreUnreadable)


def test_a_newer_schema_is_left_alone(bank: MemoryBank, file: Path) -> None:
    bank.close()
    newer = sqlite3.connect(file)
    newer.execute("PRAGMA user_version = 99")
    newer.execute("PRAGMA journal_mode = DELETE")
    newer.close()
    error = unchanged(file, SchemaTooNew)
    assert isinstance(error, SchemaTooNew)
    assert error.found == 99


AS_NOBODY = """
import os, sys
from ebbmem import MemoryBank, StoreReadOnly
os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    bank = MemoryBank.open(sys.argv[1], namespace="u1", embedder=None)
    bank.remember("a new text")
except StoreReadOnly as error:
    print("refused:", error)
"""


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="needs to be root once")
@pytest.mark.parametrize("folder", [0o755, 0o555, 0o777])
@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_may_not_be_written_is_refused(
    open_bank: OpenBank, file: Path, folder: int, closed: bool
) -> None:
    bank = open_bank()
    bank.remember("kept")
    if closed:
        bank.close()
    for each in file.parent.iterdir():
        each.chmod(0o444)
    for each in (file.parent, *list(file.parents)[1:4]):
        each.chmod(folder if each == file.parent else 0o755)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(file)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("refused:"), done.stderr
    assert [each.text for each in open_bank().list()] == ["kept"]


# -- a full disk, a closed bank --------------------------------------------------------------


@contextmanager
def full_disk(bank: MemoryBank) -> Iterator[None]:
    db = bank._store.connection._db  # type: ignore[attr-defined]
    [pages] = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    yield
    db.execute("PRAGMA max_page_count = 1073741823").fetchall()


LARGE = f"{SECRET} " * 20_000


def test_on_a_full_disk_nothing_is_half_written(bank: MemoryBank, file: Path) -> None:
    before = told(bank)
    with full_disk(bank):
        for call in (
            lambda: bank.remember(LARGE),
            lambda: bank.remember_many(["small", LARGE]),
            lambda: bank.update("kept", text=LARGE),
        ):
            with pytest.raises(StoreFull) as caught:
                call()
            assert_quiet(caught.value)
            assert told(bank) == before
        assert bank.recall("kept", reinforce=False)
    assert bank.remember(LARGE).text == LARGE
    assert len(bank.list()) == 3


CLOSED: dict[str, Callable[[MemoryBank], object]] = {
    "remember": lambda bank: bank.remember("new"),
    "remember_many": lambda bank: bank.remember_many(["new"]),
    "recall": lambda bank: bank.recall("query"),
    "explain": lambda bank: bank.explain("query", "kept"),
    "context": lambda bank: bank.context("query"),
    "get": lambda bank: bank.get("kept"),
    "list": lambda bank: bank.list(),
    "update": lambda bank: bank.update("kept", importance=0.1),
    "strength": lambda bank: bank.strength("kept"),
    "forget": lambda bank: bank.forget("kept"),
    "erase": lambda bank: bank.erase("kept"),
    "erase_all": lambda bank: bank.erase_all(),
    "prune": lambda bank: bank.prune(),
    "stats": lambda bank: bank.stats(),
    "forecast": lambda bank: bank.forecast(),
    "audit": lambda bank: bank.audit(),
    "link": lambda bank: bank.link("kept", "other"),
    "export": lambda bank: bank.export_jsonl(io.StringIO()),
    "at": lambda bank: bank.at("u2"),
    "diagnose": lambda bank: bank.diagnose(),
    "reembed": lambda bank: bank.reembed("hashing"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_bank_says_that_it_is_closed(bank: MemoryBank, name: str) -> None:
    bank.close()
    with pytest.raises(StoreError, match="closed") as caught:
        CLOSED[name](bank)
    assert_quiet(caught.value)


def test_closing_twice_is_closing(bank: MemoryBank) -> None:
    bank.close()
    bank.close()


def test_an_export_that_cannot_be_written_is_refused(
    bank: MemoryBank, refused: Refused, file: Path
) -> None:
    for target in (file.parent / "nowhere" / "out", file.parent):
        with refused():
            bank.export_jsonl(target)


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '{"format": "ebbmem"}', "\0", HALF])
def test_a_file_that_cannot_be_imported_changes_nothing(
    bank: MemoryBank, refused: Refused, line: str
) -> None:
    with refused(EbbmemError):
        bank.import_file(io.StringIO(f"{line}\n"))


@pytest.mark.parametrize("given", [io.BytesIO(b"{}"), None, 42, b"x"], ids=type)
def test_what_is_no_text_cannot_be_imported(bank: MemoryBank, refused: Refused, given: Any) -> None:
    with refused():
        bank.import_file(given)


def test_a_stream_of_bytes_gets_no_export(bank: MemoryBank, refused: Refused) -> None:
    out: Any = io.BytesIO()
    with refused():
        bank.export_jsonl(out)


def test_a_bad_line_spoils_its_file_and_names_no_text(
    bank: MemoryBank, refused: Refused, clock: ManualClock
) -> None:
    clock.advance(days=1)
    lines = told(bank).replace('"importance":0.5', '"importance":5', 1)
    with refused(EbbmemError):
        bank.import_file(io.StringIO(lines))


def test_an_unknown_category_names_the_known_ones(bank: MemoryBank) -> None:
    with pytest.raises(UnknownCategory) as caught:
        bank.remember("text", category="Fact")
    assert caught.value.known == ("strategy", "fact", "assumption", "failure")
