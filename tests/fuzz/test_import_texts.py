"""Files to import that mean no good: every bad line is named, and nothing is taken."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem import EbbmemError, ExchangeError, InvalidInput, Limits, MemoryBank
from ebbmem.exchange import FORMATS, read_file
from ebbmem.testing import ManualClock

SEEDS = Path(__file__).parent / "seeds" / "import"
DEEP = 100_000
relaxed = settings(deadline=None, max_examples=200)


def kinds(raw: bytes) -> list[str]:
    """What each format makes of it: "taken", or the error of ours."""
    found = []
    for format in ("auto", *FORMATS):
        with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
            try:
                bank.import_file(io.TextIOWrapper(io.BytesIO(raw), "utf-8"), format=format)
                found.append("taken")
            except EbbmemError as error:
                found.append(type(error).__name__)
            assert found[-1] == "taken" or bank.list(include_faded=True) == []
    return found


def mem0(metadata: str) -> bytes:
    return b'{"results":[{"memory":"tea","metadata":' + metadata.encode() + b"}]}"


BOMBS: dict[str, bytes] = {
    "lists": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "lists without end": b"[" * DEEP,
    "nested metadata": mem0('{"a":' + "[" * 200 + "]" * 200 + "}"),
    "digits": mem0('{"a":' + "9" * 10_000 + "}"),
    "beyond 64 bits": mem0('{"a":' + "9" * 20 + "}"),
    "infinity": mem0('{"a":1e999}'),
    "NaN": mem0('{"a":NaN}'),
    "-Infinity": mem0('{"a":-Infinity}'),
    "keys twice": mem0('{"a":1,"a":2}'),
    "half of an emoji": mem0('{"a":"\\ud83d"}'),
    "noise": bytes(range(128)) * 10,
    "pickle": b"\x80\x04\x95cposix\nsystem\n(Vecho\ntR.",
    "yaml": b"!!python/object/apply:os.system ['true']",
    "nothing": b"",
    "spaces": b" \n\t\n" * 1000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_as_every_format(name: str) -> None:
    assert "taken" not in kinds(BOMBS[name]) or name in ("nothing", "spaces")


def test_the_stack_is_as_deep_as_before() -> None:
    before = sys.getrecursionlimit()
    kinds(BOMBS["objects"])
    assert sys.getrecursionlimit() == before


def test_a_mark_at_the_beginning_is_passed_over_and_a_nul_in_a_text_is_kept() -> None:
    raw = "\ufeff".encode() + mem0("{}").replace(b"tea", b"tea\\u0000pot")
    with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
        bank.import_file(io.StringIO(raw.decode()))
        assert [each.text for each in bank.list()] == ["tea\0pot"]


def test_a_line_of_megabytes_is_taken_and_found(tmp_path: Path) -> None:
    text = "word " * 200_000 + "zanzibar"
    file = tmp_path / "long.jsonl"
    entity = {"type": "entity", "name": "a", "entityType": "b", "observations": [text]}
    file.write_text(json.dumps(entity), encoding="utf-8")
    with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
        bank.import_file(file)
        assert bank.recall("zanzibar")[0].memory.text == f"a: {text}"


def test_a_file_that_is_no_text_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "binary.json"
    file.write_bytes(b"{}\n\n\xff\xfe")
    with pytest.raises(ExchangeError) as caught:
        read_file(file)
    assert caught.value.problems == ((3, "is not UTF-8 text"),)


@pytest.mark.parametrize("seed", sorted(each.name for each in SEEDS.iterdir()))
def test_a_file_cut_off_anywhere_is_refused_or_taken_whole(seed: str) -> None:
    raw = (SEEDS / seed).read_bytes()[1:]
    for size in range(0, len(raw), max(len(raw) // 25, 1)):
        kinds(raw[:size])


@relaxed
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_refused_or_taken(raw: bytes) -> None:
    kinds(raw)


@relaxed
@given(data=st.data(), seed=st.sampled_from(sorted(each.name for each in SEEDS.iterdir())))
def test_a_changed_file_is_refused_or_taken(data: st.DataObject, seed: str) -> None:
    raw = bytearray((SEEDS / seed).read_bytes()[1:])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
    kinds(bytes(raw))


def test_every_seed_is_small_and_sound_ones_are_taken() -> None:
    folder = Path(__file__).parent / "seeds"
    assert all(each.stat().st_size < 1000 for each in folder.rglob("*") if each.is_file())
    for format in FORMATS:
        raw = (SEEDS / format).read_bytes()[1:]
        assert read_file(io.StringIO(raw.decode()), format=format)


def test_no_file_is_waited_for_without_end() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("has no file without an end")
    with pytest.raises(InvalidInput, match=r"Limits\.file"):
        read_file("/dev/zero", limits=Limits(file=2**22))
