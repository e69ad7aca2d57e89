"""Nothing of what is erased is left in any byte of the store."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import random
import re
import signal
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from builders import AT, OpenBank, another
from ebbmem import Draft, Erased, Held, MemoryBank, NotFound, Policy, StoreUnreadable
from ebbmem.embedding.base import Encoder, Encoding, Fingerprint, TokenVectors
from ebbmem.store import connection, removal
from ebbmem.store.removal import Sweeper
from ebbmem.testing import HashingEmbedder, ManualClock
from ebbmem.text import passages, spoken

WIDTH = 32  # of a vector: 128 bytes, and as many of token ids and of codes


class NoisyEncoder(Encoder):
    """Vectors and token vectors of which no 16 bytes are like any others."""

    fingerprint = Fingerprint("noise", WIDTH, token_dimension=4)

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        return [noise(text) for text in texts]

    def encode_query(self, text: str) -> Encoding:
        return noise(text)


def noise(text: str) -> Encoding:
    rng = np.random.default_rng(crc32(text.encode()))
    row = rng.normal(size=WIDTH)
    ids = rng.integers(2**30, size=WIDTH).astype(np.int32)
    codes = rng.integers(-127, 128, size=(WIDTH, 4)).astype(np.int8)
    codes[:, 0] = 127
    return Encoding((row / np.linalg.norm(row)).astype(np.float32), TokenVectors(ids, codes))


@dataclass(frozen=True, slots=True)
class Secret:
    """A memory whose every private part carries its mark, so that no piece of it can hide."""

    id: str
    mark: str
    wide: str
    words: int

    @property
    def text(self) -> str:
        return " ".join([self.wide, *[f"{self.mark}{n % 10}" for n in range(self.words)]])

    @property
    def speaker(self) -> str:
        return f"speaker {self.mark}"

    def draft(self, **fields: Any) -> Draft:
        return Draft(
            text=self.text,
            id=self.id,
            speaker=self.speaker,
            source=f"source {self.mark}",
            key=f"key {self.mark}",
            metadata={self.mark: f"value {self.mark}"},
            **fields,
        )

    def needles(self) -> dict[str, bytes]:
        """Of each kind of trace, as files may hold it."""
        start, stop = passages(self.text)[-1]
        made = noise(spoken(self.speaker, self.text[start:stop]))
        assert made.tokens is not None
        arrays = {"vector": made.vector, "ids": made.tokens.ids, "codes": made.tokens.codes}
        return {
            "text": self.mark.encode(),
            "text in UTF-16-LE": self.mark.encode("utf-16-le"),
            "text in UTF-16-BE": self.mark.encode("utf-16-be"),
            "wide text": self.wide.encode(),
            "wide text in UTF-16-LE": self.wide.encode("utf-16-le"),
            "wide text in UTF-16-BE": self.wide.encode("utf-16-be"),
            "wide text in JSON": json.dumps(self.wide)[1:-1].encode(),
            **{
                f"{name} from byte {start}": array.tobytes()[start : start + 16]
                for name, array in arrays.items()
                for start in (0, 48, 112)
            },
        }


def secrets(count: int, seed: int = 1) -> list[Secret]:
    rng = random.Random(seed)
    return [
        Secret(
            f"s{number}",
            f"zq{rng.getrandbits(40):010x}",
            "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(4)),
            rng.choice([2, 20, 200, 2000]),  # up to seven pages
        )
        for number in range(count)
    ]


def bytes_of(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(folder.iterdir()))


def traces(folder: Path, doomed: Iterable[Secret]) -> set[str]:
    """Kinds of traces that any file of the folder holds."""
    held = bytes_of(folder)
    return {
        name for secret in doomed for name, needle in secret.needles().items() if needle in held
    }


KEPT = [f"tea number {number} is kept" for number in range(20)]
DOOMED = secrets(30)
IDS = [each.id for each in DOOMED]
HOUR = timedelta(hours=1)


@pytest.fixture(params=["sqlite3", "pysqlite3"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine that is installed."""
    name: str = request.param
    pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.setenv("EBBMEM_SQLITE", name)
    return name


@pytest.fixture
def bank(open_bank: OpenBank, driver: str) -> MemoryBank:
    """Secrets between memories that stay, written one by one, as a life goes."""
    made = open_bank(embedder=NoisyEncoder(), policy=Policy(purge_after=timedelta(days=1)))
    assert made.diagnose()["engine"] == driver
    for number, secret in enumerate(DOOMED):
        made.remember_many([secret.draft(expires_at=AT + HOUR)])
        if number < len(KEPT):
            made.remember(KEPT[number], pinned=True)
    return made


# -- every way out -------------------------------------------------------------------------------


def erase(bank: MemoryBank, clock: ManualClock) -> None:
    assert bank.erase(IDS).complete


def erase_one_by_one(bank: MemoryBank, clock: ManualClock) -> None:
    assert all(bank.erase(id_).complete for id_ in IDS)


def erase_all(bank: MemoryBank, clock: ManualClock) -> None:
    assert bank.erase_all().complete


def erase_expired(bank: MemoryBank, clock: ManualClock) -> None:
    clock.advance(HOUR)
    receipt = bank.erase_expired()
    assert (sorted(receipt.ids), receipt.complete) == (sorted(IDS), True)


def purge(bank: MemoryBank, clock: ManualClock) -> None:
    bank.forget(IDS)
    clock.advance(days=1)
    assert sorted(bank.prune().erased) == sorted(IDS)


def purge_by_the_daily_pass(bank: MemoryBank, clock: ManualClock) -> None:
    bank.forget(IDS)
    clock.advance(days=2)
    bank.remember("rain")
    assert "purge" in {each.action for each in bank.audit()}


WAYS: list[Callable[[MemoryBank, ManualClock], None]] = [
    erase,
    erase_one_by_one,
    erase_all,
    erase_expired,
    purge,
    purge_by_the_daily_pass,
]


@pytest.mark.parametrize("way", WAYS)
def test_no_byte_is_left_while_the_file_is_open_nor_after(
    bank: MemoryBank,
    clock: ManualClock,
    file: Path,
    way: Callable[[MemoryBank, ManualClock], None],
) -> None:
    everything = {name for each in DOOMED for name in each.needles()}
    absent = {name for name in everything if "16" in name or "JSON" in name}
    assert traces(file.parent, DOOMED) == everything - absent  # the scan sees what is there
    way(bank, clock)
    assert traces(file.parent, DOOMED) == set()
    bank.close()
    assert traces(file.parent, DOOMED) == set()
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_what_is_erased_beside_a_write_is_in_no_byte_after_closing(
    bank: MemoryBank, file: Path
) -> None:
    bank.write({("u1",): ["rain"]}, erase={("u1",): IDS})
    assert {each.text for each in bank.list()} == {*KEPT, "rain"}
    bank.close()
    assert traces(file.parent, DOOMED) == set()


def reword(bank: MemoryBank) -> None:
    for number, id_ in enumerate(IDS):
        bank.update(id_, text=f"harmless {number}", speaker="Ann", metadata={})


def deliver_again(bank: MemoryBank) -> None:
    drafts = [Draft(text=f"harmless {number}", id=id_) for number, id_ in enumerate(IDS)]
    bank.remember_many(drafts, rewrite=True)


def edit_to_what_another_says(bank: MemoryBank) -> None:
    bank.remember_many([Draft(text=KEPT[0], id=id_) for id_ in IDS], rewrite=True)


@pytest.mark.parametrize("edit", [reword, deliver_again, edit_to_what_another_says])
def test_what_a_text_was_before_is_in_no_byte_after_closing(
    bank: MemoryBank, file: Path, edit: Callable[[MemoryBank], None]
) -> None:
    edit(bank)
    assert {each.text for each in bank.list()}.isdisjoint(each.text for each in DOOMED)
    bank.close()
    still = {"text", "wide text"} if edit is not edit_to_what_another_says else set()
    left = traces(file.parent, DOOMED)
    assert left - still == set()
    held = bytes_of(file.parent)  # source and key are no part of these edits
    for each in DOOMED:
        assert f"{each.mark}0 {each.mark}1".encode() not in held
        assert each.wide.encode() not in held


def test_the_vectors_of_the_embedder_before_are_in_no_byte(bank: MemoryBank, file: Path) -> None:
    assert bank.reembed(HashingEmbedder()) == len(DOOMED) + len(KEPT)
    assert {name for name in traces(file.parent, DOOMED) if "byte" in name} == set()


QUESTION = "where is zq0123456789 kept"


def test_a_probe_that_is_removed_is_in_no_byte(bank: MemoryBank, file: Path) -> None:
    probe = bank.add_probe(QUESTION, IDS[0])
    assert QUESTION.encode() in bytes_of(file.parent)
    bank.remove_probe(probe.number)
    assert QUESTION.encode() not in bytes_of(file.parent)


def test_a_probe_goes_with_the_last_memory_it_expects(bank: MemoryBank, file: Path) -> None:
    bank.add_probe(QUESTION, IDS[:2])
    bank.erase(IDS[0])
    assert [each.question for each in bank.probes()] == [QUESTION]
    bank.erase(IDS[1])
    assert QUESTION.encode() not in bytes_of(file.parent)


def test_probes_that_are_no_longer_sampled_are_in_no_byte_after_closing(
    open_bank: OpenBank, file: Path, driver: str
) -> None:
    bank = open_bank(policy=Policy(sample_probes=1))
    bank.remember("tea", id="tea")
    bank.reinforce("tea", query=QUESTION)
    bank.reinforce("tea", query="another question")
    bank.close()
    assert QUESTION.encode() not in bytes_of(file.parent)
    assert b"another question" in bytes_of(file.parent)


def test_a_backup_made_afterwards_holds_nothing_of_it(bank: MemoryBank, file: Path) -> None:
    bank.erase(IDS)
    bank.backup(file.with_name("copy.db"))
    bank.export_jsonl(file.with_name("copy.jsonl"))
    assert len(list(file.parent.iterdir())) >= 3
    assert traces(file.parent, DOOMED) == set()


PRIVATE = re.compile(rb"zq[0-9a-f]{10}")


def test_rows_that_moved_between_pages_leave_no_copy_behind(
    open_bank: OpenBank, file: Path, driver: str
) -> None:
    """Edits in a mixed order balance pages; SQLite then leaves copies in room that is unused.

    With this seed some of the erased texts are found if the file is not written anew.
    """
    bank, rng = open_bank(), random.Random(14)
    marks = {f"memory-{n:05d}": f"zq{rng.getrandbits(40):010x}" for n in range(600)}

    def words(id_: str, most: int) -> Draft:
        return Draft(text=f"{marks[id_]} {'x' * rng.randrange(most)}", id=id_)

    order = list(marks)
    bank.remember_many([words(id_, 1500) for id_ in order])
    for _ in range(2):
        rng.shuffle(order)
        for start in range(0, len(order), 50):
            drafts = [words(id_, 3000) for id_ in order[start : start + 50]]
            bank.remember_many(drafts, rewrite=True)
    doomed = rng.sample(order, 300)
    assert set(PRIVATE.findall(bytes_of(file.parent))) == {m.encode() for m in marks.values()}
    receipt = bank.erase(doomed)
    assert (receipt.count, receipt.complete) == (300, True)
    kept = {marks[id_].encode() for id_ in set(order) - set(doomed)}
    assert set(PRIVATE.findall(bytes_of(file.parent))) == kept


# -- somebody is reading -------------------------------------------------------------------------


@pytest.fixture
def reader(bank: MemoryBank, file: Path) -> Iterator[sqlite3.Connection]:
    """Another connection in the middle of a transaction, for which the log must stay."""
    with another(file) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM memory").fetchone()
        yield db


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SWEEP_SECONDS", 0.05)


def test_a_receipt_says_that_a_reader_kept_traces(
    bank: MemoryBank, file: Path, reader: sqlite3.Connection
) -> None:
    receipt = bank.erase(IDS)
    assert (receipt.count, receipt.complete) == (len(IDS), False)
    assert [each.id for each in bank.list(include_faded=True) if each.id in IDS] == []
    assert traces(file.parent, DOOMED)
    assert not bank._store.is_swept()
    assert not bank.erase([]).complete  # it still is not


def test_the_next_write_after_the_reader_has_gone_finishes_it(
    bank: MemoryBank, file: Path, reader: sqlite3.Connection
) -> None:
    assert not bank.erase(IDS).complete
    bank.remember("rain")
    assert not bank._store.is_swept()
    reader.execute("ROLLBACK")
    bank.remember("snow")
    assert bank._store.is_swept()
    assert traces(file.parent, DOOMED) == set()


def test_closing_after_the_reader_has_gone_finishes_it(
    bank: MemoryBank, file: Path, reader: sqlite3.Connection
) -> None:
    assert not bank.erase(IDS).complete
    reader.close()
    bank.close()
    assert traces(file.parent, DOOMED) == set()


def test_the_daily_pass_of_another_program_finishes_it(
    bank: MemoryBank,
    open_bank: OpenBank,
    clock: ManualClock,
    file: Path,
    reader: sqlite3.Connection,
) -> None:
    assert not bank.erase(IDS).complete
    bank.close()  # the reader is still there
    reader.close()
    clock.advance(days=2)
    other = open_bank(embedder=NoisyEncoder())
    assert other._store.is_swept()
    assert traces(file.parent, DOOMED) == set()


@pytest.mark.parametrize("call", ["list", "recall", "export_jsonl", "get"])
def test_an_error_that_somebody_keeps_is_no_reader(
    bank: MemoryBank, open_bank: OpenBank, file: Path, call: str
) -> None:
    """Its traceback keeps the frames of what was reading, and with them the statements."""
    [*_, kept] = bank.list()
    with another(file) as db:
        assert db.execute("UPDATE memory SET text = 'forged' WHERE id = ?", (kept.id,)).rowcount
    bank.close()
    failing = open_bank(embedder=NoisyEncoder())
    asked: dict[str, tuple[Any, ...]] = {
        "list": (),
        "recall": ("tea",),
        "export_jsonl": (io.StringIO(),),
        "get": (kept.id,),
    }
    with pytest.raises(StoreUnreadable) as error:
        getattr(failing, call)(*asked[call])
    with open_bank(embedder=NoisyEncoder()) as other:  # it has not read the row
        assert other.erase(IDS).complete
    assert error.value is not None
    assert traces(file.parent, DOOMED) == set()


def test_another_writer_in_the_middle_of_its_work_is_no_error(
    bank: MemoryBank, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Sweeper.sweep

    def disturbed(self: Sweeper) -> bool:
        with another(file) as other:
            other.execute("BEGIN IMMEDIATE")
            return sweep(self)

    with monkeypatch.context() as patched:
        patched.setattr(Sweeper, "sweep", disturbed)
        assert not bank.erase(IDS).complete
    assert bank.erase([]).complete
    assert traces(file.parent, DOOMED) == set()


def die(file: str, done: Pipe) -> None:
    clock = ManualClock()
    bank = MemoryBank.open(file, namespace="u1", embedder=NoisyEncoder(), clock=clock)
    done.send(bank.erase(IDS).complete)
    signal.pause()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_kill_right_after_the_receipt_brings_nothing_back(bank: MemoryBank, file: Path) -> None:
    bank.close()
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe()
    child = spawn.Process(target=die, args=(str(file), theirs))
    child.start()
    assert mine.recv() is True
    os.kill(child.pid or 0, signal.SIGKILL)
    child.join()
    assert traces(file.parent, DOOMED) == set()
    with MemoryBank.open(file, namespace="u1", embedder=NoisyEncoder()) as again:
        assert {each.id for each in again.list(include_faded=True)}.isdisjoint(IDS)


# -- receipts ------------------------------------------------------------------------------------


def test_a_receipt_tells_what_went_and_where_the_trail_stands(open_bank: OpenBank) -> None:
    bank = open_bank(namespace=("u1", "home"))
    bank.remember("tea", id="a")
    bank.remember("milk", id="b")
    receipt = bank.erase(["b", "a"])
    assert receipt == Erased(
        namespace=("u1", "home"),
        at=AT,
        ids=("b", "a"),
        head=bank.audit()[-1].hash,
        complete=True,
    )
    assert (receipt.count, len(receipt), int(receipt), bool(receipt)) == (2, 2, 2, True)
    assert "tea" not in repr(receipt)


def test_a_receipt_for_nothing_is_false(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert not bank.erase([])
    assert not bank.erase_expired()
    assert not bank.erase_all()


def test_the_same_id_twice_is_one_removal(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", id="a")
    assert bank.erase(["a", "a"]).ids == ("a",)


@pytest.mark.parametrize("call", ["erase", "erase_all"])
def test_a_hold_refuses_the_whole_erasure_and_names_what_is_held(
    open_bank: OpenBank, call: str
) -> None:
    bank = open_bank()
    bank.remember_many([Draft(text="tea", id="a"), Draft(text="milk", id="b")])
    bank.add_probe(QUESTION, "a")
    bank.hold("b")
    before = bank.list(), bank.audit(), bank.probes(), bank._arena().active_days
    with pytest.raises(Held, match="under legal hold: 'b'") as caught:
        bank.erase(["a", "b"]) if call == "erase" else bank.erase_all()
    assert caught.value.ids == ("b",)
    assert (bank.list(), bank.audit(), bank.probes(), bank._arena().active_days) == before


def test_what_is_unknown_refuses_the_whole_erasure(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("tea", id="a")
    with pytest.raises(NotFound) as caught:
        bank.erase(["a", "b"])
    assert caught.value.ids == ("b",)
    assert [each.id for each in bank.list()] == ["a"]


def test_erasing_what_has_ended_names_what_is_held(open_bank: OpenBank, clock: ManualClock) -> None:
    bank = open_bank()
    for id_ in ("a", "b"):
        bank.remember(f"tea {id_}", id=id_, expires_at=AT + HOUR)
    bank.hold("b")
    clock.advance(HOUR)
    receipt = bank.erase_expired()
    assert (receipt.ids, receipt.held) == (("a",), ("b",))


def test_erasing_everything_keeps_the_policy_the_trail_and_the_count_of_changes(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(fade_below=0.04))
    reader = open_bank()
    bank.remember("tea", id="a")
    bank.reinforce("a")
    seen = bank._store.changes(("u1",), 0)
    assert seen.active_days
    assert reader.recall("tea", reinforce=False)
    bank.erase_all()
    now = bank._store.changes(("u1",), seen.seq)
    assert now.seq > seen.seq
    assert (now.active_days, now.reset) == ((), False)
    assert [each.action for each in bank.audit()] == ["erase"]
    assert reader.recall("tea", reinforce=False) == []  # it learned
    assert reader._arena().active_days == ()
    assert open_bank().policy.fade_below == 0.04


def test_nothing_is_written_anew_where_nothing_was_removed(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    bank._store.connection._db.set_trace_callback(statements.append)  # type: ignore[attr-defined]
    bank.remember("rain")
    bank.prune()
    bank.erase([])
    assert "VACUUM" not in statements
    bank.erase(IDS[0])
    assert statements.count("VACUUM") == 1


def test_weighing_a_memory_anew_removes_nothing(bank: MemoryBank) -> None:
    bank.update(IDS[0], importance=0.9)
    bank.pin(IDS[1])
    bank.forget(IDS[2])
    bank.link(IDS[3], IDS[4])
    bank.unlink(IDS[3], IDS[4])
    assert bank._store.is_swept()
    bank.update(IDS[0], speaker="Ann")
    assert not bank._store.is_swept()


def test_a_disk_that_fails_while_traces_are_cleared_undoes_no_erasure(
    bank: MemoryBank, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(db: sqlite3.Connection) -> bool:
        raise db.OperationalError("the disk failed")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "truncate_log", broken)
        patched.setattr(removal, "truncate_log", broken)
        receipt = bank.erase(IDS)
    assert (receipt.count, receipt.complete) == (len(IDS), False)
    assert "not yet cleared" in caplog.text
    bank.remember("rain")  # tries again
    assert bank._store.is_swept()
    assert traces(file.parent, DOOMED) == set()
