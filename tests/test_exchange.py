"""Our own lines go out and come back exactly; a bad file comes back as one complete complaint."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import OpenBank, a_memory
from ebbmem import Imported
from ebbmem.errors import ExchangeError, InvalidInput
from ebbmem.exchange import FORMATS, Batch, Header, export_file, read_file, write_jsonl
from ebbmem.records import Memory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HEADER = {
    "format": "ebbmem",
    "version": 3,
    "namespace": ["alice"],
    "exported_at": NOW.isoformat(),
    "policy": None,
    "active_days": [],
}


def memory(**changes: Any) -> Memory:
    values: dict[str, Any] = {
        "text": "I prefer tabs over spaces",
        "importance": 0.9,
        "source": "chat-17",
        "position": 3,
        "speaker": "Alice",
        "created_at": NOW,
        "metadata": {"n": 3},
        "fades_at": NOW + timedelta(days=24),
    }
    return a_memory(**values | changes)


def exported(*memories: Memory) -> str:
    stream = io.StringIO()
    write_jsonl(memories, stream, Header(namespace=("alice",), exported_at=NOW))
    return stream.getvalue()


def line(**changes: Any) -> str:
    return json.dumps(json.loads(exported(memory()).splitlines()[1]) | changes)


def read(*lines: str) -> list[Batch]:
    return read_file(io.StringIO("\n".join(lines)), format="ebbmem")


def problems(*lines: str) -> tuple[tuple[int, str], ...]:
    with pytest.raises(ExchangeError) as caught:
        read(*lines)
    return caught.value.problems


def faded(given: Memory, at: datetime | None) -> Memory:
    return replace(given, status="active" if at is None else "faded", faded_at=at)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    str.strip
)
instants = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(-timedelta(hours=8))]),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(labels, inner, max_size=3),
    max_leaves=6,
)
active = st.builds(
    Memory,
    id=labels,
    text=texts,
    category=labels,
    importance=st.floats(0, 1),
    source=st.none() | labels,
    position=st.none() | st.integers(0, 2**31 - 1),
    speaker=st.none() | labels,
    created_at=instants,
    metadata=st.dictionaries(labels, json_values, max_size=3),
    last_reinforced_at=st.none() | instants,
    recall_count=st.integers(0, 2**31 - 1),
    fades_at=st.none() | instants,
    status=st.just("active"),
    faded_at=st.none(),
    pinned=st.booleans(),
    held=st.booleans(),
    keyed=st.booleans(),
    searchable=st.booleans(),
    expires_at=st.none() | instants,
)
memories = st.builds(faded, active, st.none() | instants)


@given(st.lists(memories, max_size=4, unique_by=lambda each: each.id))
def test_what_goes_out_comes_back_equal(given: list[Memory]) -> None:
    (batch,) = read_file(io.StringIO(exported(*given)))
    assert batch == Batch(None, tuple(given), dated=False)


@given(memories)
def test_a_memory_is_one_line_for_every_reader_of_lines(given: Memory) -> None:
    assert len(exported(given).splitlines()) == 2


def test_an_empty_namespace_comes_back_empty() -> None:
    assert read(exported()) == [Batch(None, ())]


@pytest.mark.parametrize(
    "text",
    [
        "她喜欢乌龙茶",
        "👩‍👩‍👧 family",
        'he said "no"',
        "one\ntwo\r\n",
        "a\u2028b\u2029c\x85d",
        "\x00",
    ],
)
def test_text_is_kept_code_point_for_code_point(text: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    export_file(path, [memory(text=text)], Header(namespace=("a",), exported_at=NOW))
    (item,) = read_file(path)[0].items
    assert item.text == text


def test_chinese_stays_readable_in_the_file() -> None:
    assert "她喜欢乌龙茶" in exported(memory(text="她喜欢乌龙茶"))


def test_the_header_names_format_version_namespace_and_time() -> None:
    assert json.loads(exported().splitlines()[0]) == HEADER


def test_a_line_has_every_field_and_times_in_utc() -> None:
    at = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    value = json.loads(exported(memory(created_at=at)).splitlines()[1])
    assert set(value) == set(Memory.__dataclass_fields__)
    assert value["created_at"] == "2026-01-01T00:00:00+00:00"


def test_writing_returns_the_count_of_memories() -> None:
    both = [memory(), memory(id="m2")]
    assert write_jsonl(both, io.StringIO(), Header(namespace=("a",), exported_at=NOW)) == 2


def test_lines_are_written_as_the_memories_come() -> None:
    stream = io.StringIO()
    seen: list[int] = []

    def source() -> Iterator[Memory]:
        for index in range(3):
            seen.append(stream.getvalue().count("\n"))
            yield memory(id=f"m{index}")

    write_jsonl(source(), stream, Header(namespace=("a",), exported_at=NOW))
    assert seen == [1, 2, 3]


def test_a_naive_time_of_export_is_refused() -> None:
    with pytest.raises(InvalidInput, match="exported_at"):
        write_jsonl([], io.StringIO(), Header(namespace=("a",), exported_at=datetime(2026, 1, 1)))


def test_blank_lines_are_skipped_and_still_counted() -> None:
    assert problems("", json.dumps(HEADER), "", line(importance=5)) == (
        (4, "importance must lie in [0, 1], not 5"),
    )


def test_windows_line_ends_are_read() -> None:
    (batch,) = read_file(io.StringIO(exported(memory()).replace("\n", "\r\n"), newline=""))
    assert batch.items == (memory(),)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": " "}, "id is blank"),
        ({"id": None}, "id must be text, not NoneType"),
        ({"text": "\u3000"}, "text is blank"),
        ({"text": "a\ud800"}, "text holds a lone surrogate at character 1"),
        ({"text": 7}, "text must be text, not int"),
        ({"category": ""}, "category is blank"),
        ({"importance": 1.5}, "importance must lie in [0, 1], not 1.5"),
        ({"importance": True}, "importance must be a number in [0, 1], not bool"),
        ({"source": ""}, "source is blank"),
        ({"position": -1}, "position must be a whole number in [0, 2**31), not -1"),
        ({"speaker": "x" * 513}, "speaker is 513 characters long, at most 512 are allowed"),
        ({"created_at": "yesterday"}, "created_at is not an ISO 8601 time"),
        ({"created_at": None}, "created_at must be an ISO 8601 time, not NoneType"),
        (
            {"created_at": "2026-01-01T00:00:00"},
            "created_at must carry a time zone, 2026-01-01T00:00:00 has none",
        ),
        ({"fades_at": "0001-01-01T00:00+05:00"}, "fades_at lies outside the years 1 to 9999"),
        ({"metadata": []}, "metadata must be a mapping, not list"),
        ({"metadata": {"\ud800": 2**70}}, "metadata.\\ud800 is a whole number beyond 64 bits"),
        ({"recall_count": 1.0}, "recall_count must be a whole number in [0, 2**31), not 1.0"),
        ({"status": "gone"}, "status must be 'active' or 'faded'"),
        ({"pinned": 1}, "pinned must be True or False, not 1"),
        ({"held": None}, "held must be True or False, not NoneType"),
        ({"id": "a\0b"}, "id holds a control character at character 1"),
        ({"status": "faded"}, "faded_at must be a time when the status is 'faded'"),
        (
            {"faded_at": NOW.isoformat()},
            "faded_at must be None when the status is 'active'",
        ),
        ({"vector": [1]}, "line has fields that are not known: 'vector'"),
    ],
)
def test_a_bad_field_is_named_with_its_line_and_reason(
    changes: dict[str, Any], reason: str
) -> None:
    assert problems(json.dumps(HEADER), line(**changes)) == ((2, reason),)


def test_a_missing_field_is_named() -> None:
    short = json.loads(line())
    del short["held"], short["text"]
    assert problems(json.dumps(HEADER), json.dumps(short)) == ((2, "line lacks text, held"),)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"id": ', "JSON is broken: Expecting value, column 8"),
        ("[1]", "line must be a JSON object, not list"),
        ('{"id": "a", "id": "b"}', "JSON has a key that occurs twice"),
        ('{"importance": NaN}', "JSON holds NaN, which the format does not know"),
        ("[" * 100_000, "JSON is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "JSON holds a number that is too long"),
    ],
)
def test_a_line_that_is_not_plain_json_is_named(bad: str, reason: str) -> None:
    assert problems(json.dumps(HEADER), bad) == ((2, reason),)


def test_metadata_nested_beyond_reason_is_named() -> None:
    bad = line().replace('{"n": 3}', '{"a": ' * 600 + "3" + "}" * 600)
    [(number, reason)] = problems(json.dumps(HEADER), bad)
    assert number == 2
    assert "nested" in reason


def test_every_problem_of_every_line_is_in_the_one_error() -> None:
    found = problems(
        json.dumps(HEADER), line(text="", importance=2), line(id="m2"), "{", line(id="m2")
    )
    assert found == (
        (2, "text is blank"),
        (2, "importance must lie in [0, 1], not 2"),
        (4, "JSON is broken: Expecting property name enclosed in double quotes, column 2"),
        (5, "id repeats that of line 3"),
    )


def test_a_status_that_contradicts_its_time_is_named_beside_the_rest() -> None:
    bad = [line(status="faded", importance=2), line(id="m2"), line(id="m2", status="faded")]
    wanted = "faded_at must be a time when the status is 'faded'"
    assert problems(json.dumps(HEADER), *bad) == (
        (2, "importance must lie in [0, 1], not 2"),
        (2, wanted),
        (4, wanted),
        (4, "id repeats that of line 3"),
    )


def test_each_memory_knows_its_line() -> None:
    (batch,) = read(json.dumps(HEADER), "", line(), json.dumps({"link": ["m1", "m2", 1]}),
                    line(id="m2"))  # fmt: skip
    assert batch.lines == (3, 5)


def test_no_problem_quotes_the_text_of_a_memory() -> None:
    bad = line(text="the marker \ud800", importance=9)
    with pytest.raises(ExchangeError) as caught:
        read(json.dumps(HEADER), bad, bad[:-40])
    assert "marker" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": "other"}, 'header must be an object with "format": "ebbmem"'),
        ({"version": 4}, "version is 4, this ebbmem reads up to 3; upgrade ebbmem"),
        ({"version": True}, "version must be a whole number from 1"),
        ({"namespace": []}, "namespace must be a name or a tuple of names, not []"),
        ({"exported_at": "now"}, "exported_at is not an ISO 8601 time"),
        ({"namespace": ["a\0b"]}, "namespace holds a control character at character 1"),
        ({"policy": 5}, "policy must be a JSON object with the fields of a policy"),
        ({"policy": []}, "policy must be a JSON object with the fields of a policy"),
        ({"policy": {}}, "policy must be a JSON object with the fields of a policy"),
        (
            {"policy": {"spacing": "x"}},
            "spacing must be a number of seconds that a timedelta holds",
        ),
        (
            {"policy": {"categories": []}},
            "categories must be an object of names with [base_rate, low, high]",
        ),
        ({"active_days": 5}, "active_days must be a list of dates, not int"),
        ({"active_days": [5]}, "active_days must hold dates such as 2026-01-31"),
        ({"more": 1}, "line has fields that are not known: 'more'"),
    ],
)
def test_a_header_that_is_not_ours_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert problems(json.dumps(HEADER | changes), line()) == ((1, reason),)


def test_a_file_without_a_header_is_refused() -> None:
    assert problems(line()) == ((1, 'header must be an object with "format": "ebbmem"'),)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "bom.jsonl"
    path.write_text(exported(memory()), encoding="utf-8-sig")
    assert read_file(path)[0].items == (memory(),)


def test_a_file_that_is_not_utf8_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(HEADER).encode() + b"\n\xe9\n")
    with pytest.raises(ExchangeError) as caught:
        read_file(path)
    assert caught.value.problems == ((2, "is not UTF-8 text"),)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        read_file(tmp_path / "none.jsonl")


def test_a_stream_of_bytes_is_refused_in_both_directions(tmp_path: Path) -> None:
    for stream in (io.BytesIO(exported(memory()).encode()), io.BytesIO()):
        with pytest.raises(InvalidInput, match="must be a stream of text, not of bytes") as caught:
            read_file(stream)  # type: ignore[arg-type]
        assert caught.value.field == "file"
    out = io.BytesIO()
    with pytest.raises(InvalidInput, match="must be a stream of text, not of bytes") as caught:
        write_jsonl([], out, Header(namespace=("a",), exported_at=NOW))  # type: ignore[arg-type]
    assert (caught.value.field, out.getvalue()) == ("file", b"")


@pytest.mark.parametrize("given", [None, 42, b"memories.jsonl", ["memories.jsonl"]], ids=str)
def test_what_is_neither_path_nor_stream_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput, match="file must be a path or a stream of text") as caught:
        read_file(given)
    assert caught.value.field == "file"


def test_a_stream_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    closed = io.StringIO("{}")
    closed.close()
    with pytest.raises(InvalidInput, match="stream cannot be read: I/O operation on closed file"):
        read_file(closed)
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b"\xe9")
    with open(path, encoding="utf-8") as stream, pytest.raises(ExchangeError, match="not UTF-8"):
        read_file(stream)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="format must be auto or one of"):
        read_file(io.StringIO("{}"), format="csv")


@pytest.mark.parametrize("content", ["", "[]", "{}", '"text"', "hello", '{"a": [1]}', "[[1]]"])
def test_an_unknown_shape_names_the_known_formats(content: str) -> None:
    with pytest.raises(ExchangeError) as caught:
        read_file(io.StringIO(content))
    assert all(known in str(caught.value) for known in FORMATS)


def test_auto_finds_our_lines_past_a_broken_one() -> None:
    found = io.StringIO("{broken\n" + exported(memory()))
    with pytest.raises(ExchangeError) as caught:
        read_file(found)
    assert caught.value.problems[0][0] == 1
    assert "column 2" in caught.value.problems[0][1]


def test_a_file_is_exported_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    assert export_file(path, [memory()], Header(namespace=("alice",), exported_at=NOW)) == 1
    assert path.read_text(encoding="utf-8") == exported(memory())


def test_an_export_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def source() -> Iterator[Memory]:
        yield memory()
        raise RuntimeError

    path = tmp_path / "out.jsonl"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        export_file(path, source(), Header(namespace=("alice",), exported_at=NOW))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", "none/out.jsonl"])
def test_a_place_that_cannot_hold_the_export_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="file"):
        export_file(tmp_path / name, [], Header(namespace=("alice",), exported_at=NOW))


# -- the first version ---------------------------------------------------------------------------

VERSION_1 = """\
{"format":"ebbmem","version":1,"namespace":["alice"],"exported_at":"2026-01-02T00:00:00+00:00",\
"policy":null,"active_days":["2026-01-01"]}
{"id":"m1","text":"I prefer tabs","category":"fact","importance":0.9,"source":"chat","position":0,\
"speaker":"Alice","created_at":"2026-01-01T00:00:00+00:00","metadata":{"n":3},\
"last_reinforced_at":"2026-01-01T12:00:00+00:00","recall_count":2,\
"fades_at":"2026-03-01T00:00:00+00:00","status":"active","faded_at":null,"pinned":false,"held":true}
{"id":"m2","text":"rain","category":"failure","importance":0.4,"source":null,"position":null,\
"speaker":null,"created_at":"2026-01-01T00:00:00+00:00","metadata":{},"last_reinforced_at":null,\
"recall_count":0,"fades_at":null,"status":"faded","faded_at":"2026-01-01T06:00:00+00:00",\
"pinned":false,"held":false}
{"link":["m1","m2",0.5]}
"""


def test_a_file_of_the_first_version_is_read_as_it_was_meant() -> None:
    [batch] = read_file(io.StringIO(VERSION_1))
    assert [each.id for each in batch.items] == ["m1", "m2"]
    for each in batch.items:
        assert isinstance(each, Memory)
        assert (each.keyed, each.searchable, each.expires_at) == (False, True, None)
        assert (each.trust, each.label) == ("user", None)
    assert batch.links == (("m1", "m2", 0.5),)


def test_a_file_of_the_first_version_is_taken_in(open_bank: OpenBank) -> None:
    bank = open_bank()
    told = bank.import_file(io.StringIO(VERSION_1))
    assert told == {("u1",): Imported(new=2, known=0)}
    kept = bank.get("m1")
    assert (kept.text, kept.recall_count, kept.held) == ("I prefer tabs", 2, True)
    assert [each.status for each in bank.list(include_faded=True)] == ["active", "faded"]
    assert [hit.memory.id for hit in bank.recall("tabs", reinforce=False)] == ["m1"]


@pytest.mark.parametrize("name", ["keyed", "searchable", "expires_at"])
@pytest.mark.parametrize("value", [7, "no", [], "2026-01-01T00:00:00"])
def test_a_new_field_that_cannot_be_read_is_named_with_its_line(name: str, value: Any) -> None:
    [(number, reason)] = problems(json.dumps(HEADER), line(**{name: value}))
    assert number == 2
    assert reason.startswith(name)


def test_a_line_without_trust_is_of_a_version_that_knew_none() -> None:
    value = json.loads(line(trust="tool", label="instructions"))
    del value["trust"], value["label"]
    [batch] = read(json.dumps(HEADER | {"version": 2}), json.dumps(value))
    assert [(each.trust, each.label) for each in batch.items] == [("user", None)]


@pytest.mark.parametrize("changes", [{"trust": "root"}, {"trust": None}, {"label": "a\nb"}])
def test_trust_that_cannot_be_read_is_named_with_its_line(changes: dict[str, Any]) -> None:
    [(number, reason)] = problems(json.dumps(HEADER), line(**changes))
    assert number == 2
    assert reason.startswith(next(iter(changes)))


def test_trust_goes_out_and_comes_back_as_it_was() -> None:
    [batch] = read(json.dumps(HEADER), line(trust="tool", label="instructions"))
    assert [(each.trust, each.label) for each in batch.items] == [("tool", "instructions")]


def test_what_goes_out_is_of_the_third_version_with_the_new_fields() -> None:
    end = NOW + timedelta(days=1)
    lines = exported(memory(keyed=True, searchable=False, expires_at=end)).splitlines()
    header, values = map(json.loads, lines)
    assert header["version"] == 3
    assert (values["keyed"], values["searchable"], values["expires_at"]) == (
        True,
        False,
        "2026-01-02T00:00:00+00:00",
    )
