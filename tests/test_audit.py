"""The audit trail says what was done, and whether anybody touched what it says."""

from __future__ import annotations

import hashlib
import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import AT, OpenBank
from ebbmem import Held, InvalidInput, MemoryBank, StoreError
from ebbmem.clock import to_micros
from ebbmem.store.audit import append_audit, verify_audit
from ebbmem.store.connection import Connection
from ebbmem.store.schema import migrate
from ebbmem.testing import ManualClock

NS = '["u1"]'
T0 = to_micros(AT)  # 2026-01-01T00:00:00Z is 1,767,225,600 seconds after the epoch


def linked(before: str, words: str) -> str:
    """By the rule that `ebbmem.store.audit` states, without its code."""
    line = f'["{before}",{words}]'
    return hashlib.blake2b(line.encode("ascii"), digest_size=32).hexdigest()


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    """Four lines: erase a, forget b, restore b, erase c."""
    made = open_bank()
    made.remember_many([f"tea {number}" for number in range(3)])
    for id_, text in {"a": "milk", "b": "rain", "c": "salt"}.items():
        made.remember(text, id=id_)
    made.erase("a")
    made.forget("b")
    made.restore("b")
    made.erase("c")
    return made


def tamper(file: Path, *statements: str) -> None:
    """As somebody does who can write the file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, made in guards:  # or the file would not be opened
            db.execute(made)


def reopened(file: Path) -> MemoryBank:
    return MemoryBank.open(file, namespace="u1", embedder=None, clock=ManualClock())


# -- what it says --------------------------------------------------------------------------------


def test_the_chain_is_the_one_worked_out_by_hand(bank: MemoryBank) -> None:
    at = 1767225600000000
    first = linked("00" * 32, f'"[\\"u1\\"]",1,{at},"erase","a"')
    second = linked(first, f'"[\\"u1\\"]",2,{at},"forget","b"')
    third = linked(second, f'"[\\"u1\\"]",3,{at},"restore","b"')
    fourth = linked(third, f'"[\\"u1\\"]",4,{at},"erase","c"')
    assert [(each.number, each.action, each.id, each.hash) for each in bank.audit()] == [
        (1, "erase", "a", first),
        (2, "forget", "b", second),
        (3, "restore", "b", third),
        (4, "erase", "c", fourth),
    ]
    found = bank.audit_verify()
    assert (found.ok, found.length, found.head) == (True, 4, fourth)


def test_an_id_outside_of_ascii_is_escaped_as_json_does(open_bank: OpenBank) -> None:
    bank = open_bank(namespace=("u1", "茶"))
    bank.remember("tea", id='q"é茶')
    head = bank.erase('q"é茶').head
    words = '"[\\"u1\\", \\"\\u8336\\"]",1,1767225600000000,"erase","q\\"\\u00e9\\u8336"'
    assert head == linked("00" * 32, words)


def test_a_trail_without_lines_is_as_it_was_written(open_bank: OpenBank) -> None:
    found = open_bank().audit_verify()
    assert (found.ok, found.length, found.head) == (True, 0, "00" * 32)
    assert open_bank().audit_verify(head=found.head).ok


def test_every_head_it_ever_had_still_stands_in_it(bank: MemoryBank) -> None:
    heads = [each.hash for each in bank.audit()]
    bank.pin("b")
    assert all(bank.audit_verify(head=head).ok for head in heads)


@pytest.mark.parametrize("head", ["", "ab", "0" * 63, "A" * 64, "0" * 64 + "\n", b"0" * 64, 7])
def test_a_head_that_is_no_hash_is_refused(bank: MemoryBank, head: Any) -> None:
    with pytest.raises(InvalidInput, match="head"):
        bank.audit_verify(head=head)


def test_a_write_that_is_rolled_back_leaves_no_line(bank: MemoryBank) -> None:
    before = bank.audit(), bank.audit_verify()
    doomed = bank.list()[0].id
    bank.hold("b")
    bank.release("b")
    with pytest.raises(Held):  # the first of two was erased already
        bank.write({}, erase={("u1",): [doomed], ("u2",): [held(bank.at("u2"))]})
    assert bank.audit()[:-2] == before[0]
    found = bank.audit_verify()
    assert (found.ok, found.length) == (True, before[1].length + 2)


def held(bank: MemoryBank) -> str:
    """The id of a memory that cannot be erased."""
    return bank.hold(bank.remember("tea").id)[0].id


# -- who touches it ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET action = 'hold'",
        "UPDATE audit SET hash = hash",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE number = 1",
    ],
)
def test_its_lines_can_be_neither_changed_nor_removed(bank: MemoryBank, statement: str) -> None:
    before = bank.audit()
    with (
        pytest.raises(StoreError, match="append-only"),
        bank._store.connection.write() as db,  # type: ignore[attr-defined]
    ):
        db.execute(statement)
    assert bank.audit() == before


SWAP = (
    "UPDATE audit SET number = -2 WHERE ns = '[\"u1\"]' AND number = 2",
    "UPDATE audit SET number = 2 WHERE ns = '[\"u1\"]' AND number = 3",
    "UPDATE audit SET number = 3 WHERE ns = '[\"u1\"]' AND number = -2",
)
OTHERS = "(SELECT {} FROM audit WHERE ns = '[\"u2\"]')"
TAMPERED: dict[str, tuple[tuple[str, ...], int]] = {
    "a changed action": (("UPDATE audit SET action = 'hold' WHERE number = 3",), 3),
    "a changed id": (("UPDATE audit SET id = 'x' WHERE number = 2",), 2),
    "a changed time": (("UPDATE audit SET at = at + 1 WHERE number = 4",), 4),
    "a changed hash": (("UPDATE audit SET hash = zeroblob(32) WHERE number = 1",), 1),
    "the first removed": (("DELETE FROM audit WHERE number = 1",), 1),
    "one of the middle removed": (("DELETE FROM audit WHERE number = 2",), 2),
    "one removed and the others moved up": (
        ("DELETE FROM audit WHERE number = 2", "UPDATE audit SET number = 2 WHERE number = 3"),
        2,
    ),
    "the end removed": (("DELETE FROM audit WHERE number >= 3",), 3),
    "all removed": (("DELETE FROM audit",), 1),
    "the end removed, its length set": (
        ("DELETE FROM audit WHERE number = 4", "UPDATE namespace SET audit_length = 3"),
        3,
    ),
    "two swapped": (SWAP, 2),
    "one slipped in": (
        (
            "UPDATE audit SET number = 5 WHERE number = 4",
            "INSERT INTO audit SELECT ns, 4, at, action, 'x', hash FROM audit WHERE number = 3",
        ),
        4,
    ),
    "one put behind the end": (
        ("INSERT INTO audit SELECT ns, 5, at, 'hold', 'b', hash FROM audit WHERE number = 4",),
        5,
    ),
}


@pytest.mark.parametrize(("statements", "where"), TAMPERED.values(), ids=TAMPERED)
def test_what_somebody_did_to_the_trail_is_found_and_where(
    bank: MemoryBank, file: Path, statements: tuple[str, ...], where: int
) -> None:
    bank.close()
    tamper(file, *statements)
    with reopened(file) as again:
        found = again.audit_verify()
    assert (found.ok, found.fault_at) == (False, where)
    assert found.reason is not None
    assert found.reason.startswith(f"line {where} ")


def test_a_line_of_another_namespace_is_found(bank: MemoryBank, file: Path) -> None:
    other = bank.at("u2")
    other.remember("tea", id="a")
    other.erase("a")
    assert (other.audit()[0].action, other.audit()[0].id) == ("erase", "a")  # the same, of another
    bank.close()
    tamper(
        file,
        "DELETE FROM audit WHERE ns = '[\"u1\"]' AND number = 1",
        "UPDATE audit SET ns = '[\"u1\"]' WHERE ns = '[\"u2\"]'",
    )
    with reopened(file) as again:
        assert again.audit_verify().fault_at == 1
        assert again.at("u2").audit_verify().fault_at == 1


def test_what_happens_to_one_namespace_says_nothing_of_another(bank: MemoryBank) -> None:
    other = bank.at("u2")
    before = other.audit_verify()
    bank.erase("b")
    assert other.audit_verify() == before


def test_a_trail_that_was_written_anew_is_found_by_a_head_kept_elsewhere(
    bank: MemoryBank, file: Path
) -> None:
    head = bank.audit_verify().head
    bank.close()
    tamper(
        file,
        "DELETE FROM audit",
        f"UPDATE namespace SET audit_length = 0, audit_head = x'{'00' * 32}'",
    )
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        append_audit(db, NS, T0, [("erase", "a"), ("forget", "b"), ("restore", "b")])
    with reopened(file) as again:
        assert again.audit_verify().ok  # it agrees with itself
        found = again.audit_verify(head=head)
        assert not found.ok
        assert (found.length, found.fault_at) == (3, 3)


ACTIONS = st.sampled_from(["fade", "hold", "erase", "reinstate"])
LINES = st.lists(st.tuples(ACTIONS, st.text(max_size=5)), min_size=2, max_size=8)


@given(LINES, st.data())
def test_any_one_change_is_found(done: list[tuple[str, str]], data: st.DataObject) -> None:
    connection = Connection(":memory:")
    with connection.write() as db:
        db.execute(
            "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
            "VALUES (?, 0, 0, '{}', x'')",
            (NS,),
        )
        for line in done:
            append_audit(db, NS, T0, [line])
        assert verify_audit(db, NS, None).fault is None
        db.execute("DROP TRIGGER audit_no_update")
        db.execute("DROP TRIGGER audit_no_delete")
        was = db.execute("SELECT * FROM audit").fetchall()
        data.draw(st.sampled_from([_change, _remove, _swap, _slip_in]))(db, len(done), data)
        same = db.execute("SELECT * FROM audit").fetchall() == was
        assert (verify_audit(db, NS, None).fault is None) == same
    connection.close()


def _change(db: sqlite3.Connection, length: int, data: st.DataObject) -> None:
    column, values = data.draw(
        st.sampled_from(
            [
                ("at", st.integers(-(2**60), 2**60)),
                ("action", ACTIONS),
                ("id", st.text(max_size=5)),
                ("hash", st.binary(min_size=32, max_size=32)),
                ("number", st.integers(length + 1, 2**40)),
            ]
        )
    )
    number = data.draw(st.integers(1, length))
    db.execute(f"UPDATE audit SET {column} = ? WHERE number = ?", (data.draw(values), number))


def _remove(db: sqlite3.Connection, length: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, length))
    last = data.draw(st.integers(first, length))
    db.execute("DELETE FROM audit WHERE number BETWEEN ? AND ?", (first, last))
    if data.draw(st.booleans()):  # and what is behind moves up
        db.execute(
            "UPDATE audit SET number = number - ? WHERE number > ?", (last - first + 1, last)
        )


def _swap(db: sqlite3.Connection, length: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(1, length)), data.draw(st.integers(1, length))
    for old, new in ((a, -1), (b, a if a != b else -1), (-1, b)):
        db.execute("UPDATE audit SET number = ? WHERE number = ?", (new, old))


def _slip_in(db: sqlite3.Connection, length: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, length + 1))
    action, id_ = data.draw(ACTIONS), data.draw(st.text(max_size=5))
    db.execute("UPDATE audit SET number = -number - 1 WHERE number >= ?", (at,))
    db.execute("UPDATE audit SET number = -number WHERE number < 0")
    hash_ = data.draw(st.binary(min_size=32, max_size=32))
    db.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", (NS, at, T0, action, id_, hash_))


# -- several at once -----------------------------------------------------------------------------

EACH = 40  # pins and unpins by each writer


def hand(file: str, id_: str) -> None:
    with MemoryBank.open(file, namespace="u1", embedder=None, clock=ManualClock()) as bank:
        for _ in range(EACH // 2):
            bank.pin(id_)
            bank.unpin(id_)


def threads(work: list[tuple[str, str]]) -> None:
    running = [threading.Thread(target=hand, args=each) for each in work]
    for each in running:
        each.start()
    for each in running:
        each.join()


def processes(work: list[tuple[str, str]]) -> None:
    spawn = multiprocessing.get_context("spawn")
    running = [spawn.Process(target=hand, args=each) for each in work]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert [each.exitcode for each in running] == [0] * len(work)


@pytest.mark.parametrize("run", [threads, processes])
def test_writers_at_the_same_time_make_one_chain(
    open_bank: OpenBank, file: Path, run: Callable[[list[tuple[str, str]]], None]
) -> None:
    bank = open_bank()
    ids = [f"m{number}" for number in range(4)]
    for id_ in ids:
        bank.remember(f"tea {id_}", id=id_)
    run([(str(file), id_) for id_ in ids])
    found = bank.audit_verify()
    assert (found.ok, found.length) == (True, 4 * EACH)
    for id_ in ids:
        assert [each.action for each in bank.audit() if each.id == id_] == ["pin", "unpin"] * 20


# -- files from before ---------------------------------------------------------------------------


def test_lines_from_before_there_was_a_chain_are_bound_in_their_order(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        migrate(db, upto=3)
        for ns in ('["u2"]', NS):
            db.execute(
                "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days) "
                "VALUES (?, 0, 0, '{}', x'')",
                (ns,),
            )
        for ns, action, id_ in (
            (NS, "pin", "b"),
            ('["u2"]', "hold", "x"),
            (NS, "fade", "a"),
        ):
            db.execute("INSERT INTO audit (ns, at, action, id) VALUES (?, 5, ?, ?)",
                       (ns, action, id_))  # fmt: skip
    connection = Connection(str(file))
    with connection.read() as db:
        first = linked("00" * 32, '"[\\"u1\\"]",1,5,"pin","b"')
        second = linked(first, '"[\\"u1\\"]",2,5,"fade","a"')
        assert verify_audit(db, NS, None).head.hex() == second
        for ns, length in ((NS, 2), ('["u2"]', 1)):
            found = verify_audit(db, ns, None)
            assert (found.length, found.fault) == (length, None)
    connection.close()
