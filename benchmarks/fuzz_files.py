"""Files that mean no good, to import and to open: what `fuzz.py` does with them."""

from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz_data import Data, quietly
from fuzz_values import round_trip

from ebbmem import MemoryBank
from ebbmem.exchange import FORMATS, read_file
from ebbmem.testing import ManualClock

__all__ = ["database", "imported", "log", "rows"]


def imported(data: Data, _: Path) -> None:
    """A file to import, as every format and as none."""
    format = data.one((*FORMATS, "auto"))
    raw = data.rest()
    stream = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")
    if not quietly(read_file, stream, format=format):
        return
    with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
        taken = quietly(
            bank.import_file, io.StringIO(raw.decode("utf-8", "replace")), format=format
        )
        for ns in taken or ():
            sibling = bank.at(*ns)
            round_trip(sibling, {each.text for each in sibling.list(include_faded=True)})


_TEXTS = tuple(
    f"note {number}: {words}"
    for number, words in enumerate(
        (
            "green tea at four",
            "the boat is in Porto",
            "我养了两只猫",
            "long " * 120,
            "call Ann on May 3",
        )
    )
)


def _template(folder: Path) -> bytes:
    """A small database with something in every table, as bytes."""
    path = folder / f"template-{os.getpid()}.db"
    path.unlink(missing_ok=True)
    clock = ManualClock()
    with MemoryBank.open(path, namespace="u", embedder="hashing", clock=clock) as bank:
        for number, text in enumerate(_TEXTS):
            bank.remember(text, id=f"m{number}", source="s", key="k" if number < 2 else None)
        bank.remember("with a picture", id="p", metadata={"a": [1, {"b": "c"}]}, speaker="Ann")
        bank.link("m2", "m3")
        bank.add_probe("where is the boat", ["m1"])
        bank.probe()
        bank.pin("m3")
        bank.forget("m4")
        bank.at("other").remember("of somebody else")
    raw = path.read_bytes()
    path.unlink()
    return raw


# The last is of another namespace: flipped bits move a row from one to another, and no digest
# says so (SECURITY.md).
_KEPT = {*_TEXTS, "with a picture", "told later", "of somebody else"}
_made: dict[str, bytes] = {}


def database(data: Data, folder: Path) -> None:
    """A database with some of its bytes changed, cut, moved or added."""
    raw = bytearray(_made.setdefault("db", _made.get("db") or _template(folder)))
    for _ in range(1 + data.below(4)):
        _spoil(raw, data)
    _use(folder, bytes(raw))


def _spoil(raw: bytearray, data: Data) -> None:
    kind, at = data.below(5), data.below(max(len(raw), 1))
    if kind == 0:
        raw[at : at + 1] = bytes([data.below(256)])
    elif kind == 1:
        part = data.take(data.below(32))
        raw[at : at + len(part)] = part
    elif kind == 2:
        del raw[at:]
    elif kind == 3:
        page, other = at // 4096 * 4096, data.below(max(len(raw), 1)) // 4096 * 4096
        raw[page : page + 4096], raw[other : other + 4096] = (
            raw[other : other + 4096],
            raw[page : page + 4096],
        )
    else:
        raw[at : at + 64] = bytes(64)


def _use(folder: Path, raw: bytes, beside: Mapping[str, bytes] | None = None) -> None:
    """Everything a program does with a file, on one that nobody should trust."""
    path = folder / f"fuzz-{os.getpid()}.db"
    _clear(path)
    path.write_bytes(raw)
    for suffix, content in (beside or {}).items():
        Path(f"{path}{suffix}").write_bytes(content)
    try:
        bank = quietly(MemoryBank.open, path, namespace="u", clock=ManualClock())
        if bank is not None:
            try:
                _ask(bank)
            finally:
                quietly(bank.close)
    finally:
        _clear(path)


def _clear(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _ask(bank: MemoryBank) -> None:
    for hit in quietly(bank.recall, "tea boat") or ():
        assert hit.memory.text in _KEPT, "a text that nobody wrote"
        assert hit.passage in hit.memory.text
        assert 0.0 <= hit.score <= 1.0
        assert 0.0 <= hit.strength <= 1.0
    quietly(bank.get, "m0")
    quietly(bank.context, "Ann")
    quietly(bank.list, include_faded=True, include_superseded=True, where={"a": {"$exists": True}})
    quietly(bank.stats)
    quietly(bank.forecast)
    quietly(bank.audit)
    quietly(bank.probe)
    quietly(bank.report)
    quietly(bank.export_jsonl, io.StringIO())
    quietly(bank.remember, "told later", key="k")
    quietly(bank.reinforce, "m1")
    quietly(bank.prune)
    quietly(bank.diagnose)
    quietly(bank.inhabited)
    quietly(bank.erase, "m0")
    quietly(bank.erase_all)


def rows(data: Data, folder: Path) -> None:
    """A sound database with values in it that no ebbmem writes."""
    path = folder / f"rows-{os.getpid()}.db"
    _clear(path)
    path.write_bytes(_made.setdefault("db", _made.get("db") or _template(folder)))
    db = sqlite3.connect(path, isolation_level=None)
    try:
        for _ in range(1 + data.below(3)):
            table, columns = data.one(_tables(db))
            value: Any = data.one((data.text(), data.number(), data.take(data.below(64)), None))
            if isinstance(value, str):
                value = value.encode("utf-8", "replace").decode()
            with suppress(sqlite3.Error, OverflowError):
                db.execute(f"UPDATE {table} SET {data.one(columns)} = ?", (value,))
    finally:
        db.close()
    raw = path.read_bytes()
    _clear(path)
    _kept_anyway(folder, raw)


def _tables(db: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [
        (name, [row[1] for row in db.execute(f"PRAGMA table_info({name})")])
        for (name,) in names.fetchall()
    ]


def _kept_anyway(folder: Path, raw: bytes) -> None:
    """As `_use`, where a text may have been written by the fuzzer."""
    path = folder / f"fuzz-{os.getpid()}.db"
    _clear(path)
    path.write_bytes(raw)
    bank = quietly(MemoryBank.open, path, namespace="u", clock=ManualClock())
    if bank is not None:
        with suppress(AssertionError):
            _ask(bank)
        quietly(bank.close)
    _clear(path)


def log(data: Data, folder: Path) -> None:
    """A database with a write-ahead log that is cut, garbage, or another's."""
    if "wal" not in _made:
        _made.update(_with_log(folder))
    written, index = bytearray(_made["wal"]), bytearray(_made["shm"])
    if data.below(4) == 0:
        written = bytearray(data.rest())
    for _ in range(data.below(4)):
        _spoil(data.one((written, index)), data)
    _use(folder, _made["logged"], {"-wal": bytes(written), "-shm": bytes(index)})


def _with_log(folder: Path) -> dict[str, bytes]:
    path = folder / f"logged-{os.getpid()}.db"
    _clear(path)
    path.write_bytes(_template(folder))
    with MemoryBank.open(path, namespace="u", clock=ManualClock()) as bank:
        bank.remember("told later")
        files = {"logged": "", "wal": "-wal", "shm": "-shm"}
        made = {name: Path(f"{path}{suffix}").read_bytes() for name, suffix in files.items()}
    _clear(path)
    return made
