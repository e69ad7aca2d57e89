"""Faults planted in a file: found, mended, and no text lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import OpenBank, another
from ebbmem import Draft, FingerprintMismatch, MemoryBank, Policy, diagnose, repair
from ebbmem.errors import StoreError, StoreFull, StoreReadOnly, StoreUnreadable
from ebbmem.health import Repaired
from ebbmem.store import salvage
from ebbmem.store.driver import Database
from ebbmem.store.schema import migrate
from ebbmem.testing import ManualClock, TableEmbedder

IDS = tuple(f"m{number}" for number in range(9))
THINGS = ("lamp", "chair", "piano", "stove", "mirror", "clock", "shelf", "harp", "vase")
TEXTS = {id_: f"the {thing} stands in room {id_}" for id_, thing in zip(IDS, THINGS, strict=True)}
NS = """'["u1"]'"""

PLANTED = {
    "namespaces that are none": ("UPDATE {each} SET ns = '[]' WHERE ns = " + NS,),
    "namespaces without a row": ("DELETE FROM namespace",),
    "policies that cannot be used": ("UPDATE namespace SET policy = '{'",),
    "days of use that cannot be": ("UPDATE namespace SET active_days = x'0102'",),
    "numbers of changes that cannot be": ("UPDATE namespace SET change_seq = 0",),
    "embedders that cannot be": ("UPDATE embedder SET dimension = -1",),
    "memories with columns that cannot be": ("UPDATE memory SET trust = 'god' WHERE id = 'm1'",),
    "texts that do not match their digest": ("UPDATE memory SET digest = x'00' WHERE id = 'm1'",),
    "metadata that is no JSON object": ("UPDATE memory SET metadata = '[1' WHERE id = 'm1'",),
    "memories without a state": ("DELETE FROM state WHERE id = 'm1'",),
    "states that cannot be": ("UPDATE state SET status = 'gone' WHERE id = 'm1'",),
    "deadlines that do not follow from the facts": (
        "UPDATE state SET fades_at = fades_at + 86400000000 WHERE id = 'm1'",
    ),
    "states of no memory": (
        f"INSERT INTO state VALUES ({NS}, 'x', 1, 1, 0, 0, 0, 'active', 0, 0, 0, NULL, NULL, NULL)",
    ),
    "vectors of no memory": (
        f"INSERT INTO vector VALUES ({NS}, 'x', 1, 0, 0, 3, zeroblob(1024), NULL, NULL)",
    ),
    "vectors of no embedder": ("UPDATE vector SET embedder = 7 WHERE id = 'm1'",),
    "vectors that cannot be": ("UPDATE vector SET vector = x'0000' WHERE id = 'm1'",),
    "links with a missing end": (f"INSERT INTO link VALUES ({NS}, 'm1', 'x', 0.5)",),
    "links that cannot be": ("UPDATE link SET weight = 7.0",),
    "probes that cannot be": (f"INSERT INTO probe_answer VALUES ({NS}, 'x', 9)",),
    "counts of removals that cannot be": ("DELETE FROM removal",),
}
TABLES = ("namespace", "memory", "state", "vector", "link", "probe", "probe_answer")


def filled(bank: MemoryBank) -> MemoryBank:
    """Nine texts, two of them linked, one asked for, metadata on one."""
    bank.remember_many([Draft(text=text, id=id_) for id_, text in TEXTS.items()])
    bank.update("m1", metadata={"floor": 2})
    bank.link("m2", "m3")
    bank.add_probe("where is the piano?", ["m2"])
    return bank


def plant(file: Path, *statements: str) -> None:
    with another(file) as db:
        for each in statements:
            names = TABLES if "{each}" in each else ("",)
            for name in names:
                db.execute(each.replace("{each}", name))


def only_namespace(file: Path) -> tuple[str, ...]:
    with closing(sqlite3.connect(file)) as db:
        [(key,)] = db.execute("SELECT DISTINCT ns FROM memory").fetchall()
    return tuple(json.loads(key))


def texts(bank: MemoryBank) -> dict[str, str]:
    return {each.id: each.text for each in bank.list(include_faded=True)}


def assert_recalled(bank: MemoryBank) -> None:
    """Every text is the first answer to itself."""
    for id_, text in TEXTS.items():
        assert bank.recall(text, k=1, reinforce=False)[0].memory.id == id_


def unsound(file: Path, clock: ManualClock) -> object:
    return diagnose(file, clock=clock)["unsound"]


@pytest.fixture
def planted(open_bank: OpenBank, file: Path) -> Path:
    with filled(open_bank(embedder="hashing")):
        return file


# -- what is planted is found and mended ---------------------------------------------------------


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_found_and_mended_and_every_text_recalled(
    planted: Path, open_bank: OpenBank, clock: ManualClock, kind: str
) -> None:
    plant(planted, *PLANTED[kind])
    found = unsound(planted, clock)
    assert isinstance(found, dict)
    assert kind in found
    done = repair(planted, clock=clock)
    assert kind in done.mended
    assert (done.path, done.salvaged, done.lost, done.without_vectors) == (planted, None, (), 0)
    after = diagnose(planted, clock=clock)
    assert (after["unsound"], after["integrity"], after["without_vectors"]) == ({}, "ok", 0)
    bank = open_bank(namespace=only_namespace(planted), embedder="hashing")
    assert texts(bank) == TEXTS
    assert_recalled(bank)


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in PLANTED
        if kind not in ("namespaces without a row", "embedders that cannot be")
    ],
)
def test_one_fault_is_counted_once_and_brings_no_other(
    planted: Path, clock: ManualClock, kind: str
) -> None:
    plant(planted, *PLANTED[kind])
    assert unsound(planted, clock) == {kind: 1}


@settings(max_examples=15)
@given(kinds=st.sets(st.sampled_from(sorted(PLANTED)), min_size=2, max_size=8))
def test_faults_of_several_kinds_are_mended_in_one_go(kinds: set[str]) -> None:
    clock = ManualClock()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        with MemoryBank.open(file, namespace="u1", embedder="hashing", clock=clock) as bank:
            filled(bank)
        plant(file, *(each for kind in sorted(kinds) for each in PLANTED[kind]))
        repair(file, clock=clock, backup=False)
        after = diagnose(file, clock=clock)
        assert (after["unsound"], after["integrity"], after["without_vectors"]) == ({}, "ok", 0)
        name = only_namespace(file)
        with MemoryBank.open(file, namespace=name, embedder="hashing", clock=clock) as bank:
            assert texts(bank) == TEXTS
        assert repair(file, clock=clock) == Repaired(path=file)


# -- what becomes of what was wrong --------------------------------------------------------------


def test_a_sound_file_is_left_as_it_is(planted: Path, clock: ManualClock) -> None:
    before = planted.read_bytes()
    assert repair(planted, clock=clock) == Repaired(path=planted)
    assert planted.read_bytes() == before
    assert os.listdir(planted.parent) == [planted.name]


def test_two_memories_that_came_to_say_the_same_both_stay(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, f"UPDATE memory SET text = '{TEXTS['m1']}' WHERE id = 'm2'")
    assert repair(planted, clock=clock).mended == {"texts that do not match their digest": 1}
    said = texts(open_bank(embedder="hashing"))
    assert said == {**TEXTS, "m2": TEXTS["m1"]}


def test_metadata_that_cannot_be_read_is_set_aside(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, *PLANTED["metadata that is no JSON object"])
    repair(planted, clock=clock)
    assert open_bank(embedder="hashing").get("m1").metadata == {"unreadable": "[1"}


def test_a_policy_keeps_the_fields_that_can_be_read(open_bank: OpenBank, file: Path) -> None:
    with open_bank(policy=Policy(purge_after=timedelta(days=7))) as bank:
        bank.remember("tea")
        line = bank.policy.to_json()
    broken = json.dumps({**json.loads(line), "fade_below": "x"})
    plant(file, f"UPDATE namespace SET policy = '{broken}'")
    assert repair(file).mended == {"policies that cannot be used": 1}
    assert open_bank().policy == Policy(purge_after=timedelta(days=7))


def test_where_no_policy_can_be_read_nothing_hidden_is_let_go(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, *PLANTED["policies that cannot be used"])
    repair(planted, clock=clock)
    bank = open_bank(embedder="hashing")
    bank.forget("m1")
    clock.advance(days=10_000)
    bank.prune()
    assert texts(bank) == TEXTS


def test_a_policy_of_a_curve_that_is_not_built_in_is_no_fault(
    planted: Path, clock: ManualClock
) -> None:
    line = json.dumps({**json.loads(Policy().to_json()), "curve": "of my own"})
    plant(planted, f"UPDATE namespace SET policy = '{line}'")
    assert unsound(planted, clock) == {}


def test_a_curve_whose_name_was_damaged_is_no_curve_of_somebody(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    line = json.dumps({**json.loads(Policy().to_json()), "curve": "eb\N{REPLACEMENT CHARACTER}x"})
    plant(planted, f"UPDATE namespace SET policy = '{line}'")
    assert repair(planted, clock=clock).mended == {"policies that cannot be used": 1}
    assert open_bank(embedder="hashing").policy.curve == Policy().curve


def test_a_category_that_nobody_knows_gets_a_rate(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, "UPDATE memory SET category = 'dream' WHERE id = 'm1'")
    assert repair(planted, clock=clock).mended == {"policies that cannot be used": 1}
    assert "dream" in open_bank(embedder="hashing").policy.known


def test_a_bank_that_has_the_file_open_notices(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    bank = filled(open_bank(embedder="hashing"))
    assert_recalled(bank)
    plant(file, "UPDATE state SET status = 'faded', fades_at = 5 WHERE id = 'm1'")
    assert repair(file, clock=clock).mended == {"deadlines that do not follow from the facts": 1}
    assert TEXTS["m1"] not in [each.memory.text for each in bank.recall(TEXTS["m1"], k=9)]


# -- vectors -------------------------------------------------------------------------------------


def test_lost_vectors_are_embedded_again_by_the_embedder_of_the_file(
    planted: Path, clock: ManualClock
) -> None:
    plant(planted, *PLANTED["vectors that cannot be"])
    assert repair(planted, clock=clock).embedded == 1
    assert diagnose(planted, clock=clock)["vectors"] == 9


def test_without_its_embedder_at_hand_it_is_told_how_many_remain(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    table = TableEmbedder({}, default=[1.0, 0.0])
    with open_bank(embedder=table) as bank:
        bank.remember_many([Draft(text=text, id=id_) for id_, text in TEXTS.items()])
    plant(file, *PLANTED["vectors that cannot be"])
    done = repair(file, clock=clock)
    assert (done.embedded, done.without_vectors) == (0, 1)
    done = repair(file, clock=clock, embedder=table)
    assert (done.embedded, done.without_vectors, done.mended) == (1, 0, {})


def test_another_embedder_is_refused_before_anything_is_mended(
    planted: Path, clock: ManualClock
) -> None:
    plant(planted, *PLANTED["vectors that cannot be"])
    with pytest.raises(FingerprintMismatch):
        repair(planted, clock=clock, embedder=TableEmbedder({"x": [1.0, 0.0]}))
    assert unsound(planted, clock) == {"vectors that cannot be": 1}
    assert os.listdir(planted.parent) == [planted.name]


# -- the copy ------------------------------------------------------------------------------------


def test_the_file_as_it_was_is_kept_beside_it(planted: Path, clock: ManualClock) -> None:
    for name in ("memory.before-repair.db", "memory.before-repair-2.db"):
        plant(
            planted,
            *PLANTED["links that cannot be"],
            f"INSERT INTO link VALUES ({NS}, 'a', 'b', 1)",
        )
        done = repair(planted, clock=clock)
        assert done.backup == planted.with_name(name)
        assert stat.S_IMODE(done.backup.stat().st_mode) == 0o600 or os.name != "posix"
        assert "links with a missing end" in str(unsound(done.backup, clock))


def test_no_copy_is_made_if_none_is_wanted(planted: Path, clock: ManualClock) -> None:
    plant(planted, *PLANTED["links that cannot be"])
    assert repair(planted, clock=clock, backup=False).backup is None
    assert os.listdir(planted.parent) == [planted.name]


# -- a file that use alone has changed is sound --------------------------------------------------


@pytest.mark.parametrize("policy", [Policy(max_memories=40), Policy.chat(sample_probes=3)])
def test_a_file_that_was_lived_with_is_sound(
    open_bank: OpenBank, file: Path, clock: ManualClock, policy: Policy
) -> None:
    bank = open_bank(policy=policy, embedder="hashing")
    for day in range(60):
        made = bank.remember(f"on day {day} it was {day % 7} degrees", expires_at=_end(clock, day))
        bank.remember(f"my number is {day}", key="number")
        if day % 3 == 0:
            bank.recall(f"day {day - 9}")
        if day % 5 == 0:
            bank.pin(made.id)
        if day % 11 == 0:
            bank.erase(made.id)
        clock.advance(days=1 + day % 4, hours=5)
        bank.prune()
    assert unsound(file, clock) == {}
    clock.advance(days=400)
    assert unsound(file, clock) == {}  # nothing has run since
    assert unsound(file, ManualClock()) == {}  # a clock that is behind
    bank.prune()
    bank.export_jsonl(file.with_suffix(".jsonl"))
    open_bank(namespace="u2", embedder="hashing").import_file(file.with_suffix(".jsonl"))
    assert unsound(file, clock) == {}


def _end(clock: ManualClock, day: int) -> object:
    return clock() + timedelta(days=30) if day % 4 == 0 else None


# -- indexes and pages ---------------------------------------------------------------------------


def without_index(file: Path, name: str, *statements: str) -> None:
    """Change rows behind the back of an index."""
    made: tuple[object, ...] = ()
    for step in range(3):
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("PRAGMA writable_schema = ON")
            if step == 0:
                made = db.execute("SELECT * FROM sqlite_master WHERE name = ?", (name,)).fetchone()
                db.execute("DELETE FROM sqlite_master WHERE name = ?", (name,))
            elif step == 1:
                for each in statements:
                    db.execute(each)
            else:
                db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", made)


@pytest.mark.parametrize(
    ("index", "change"),
    [
        ("memory_source", "UPDATE memory SET source = 'there'"),
        ("memory_digest", "UPDATE memory SET digest = zeroblob(rowid)"),
        ("state_due", "UPDATE state SET fades_at = fades_at + 1 WHERE id < 'm5'"),
    ],
)
def test_an_index_that_disagrees_with_its_table_is_built_again(
    planted: Path, open_bank: OpenBank, clock: ManualClock, index: str, change: str
) -> None:
    without_index(planted, index, change)
    assert diagnose(planted, clock=clock)["integrity"] != "ok"
    assert repair(planted, clock=clock).mended["damaged indexes"] == 1
    after = diagnose(planted, clock=clock)
    assert (after["integrity"], after["unsound"]) == ("ok", {})
    assert_recalled(open_bank(embedder="hashing"))


MANY = {f"n{number:03}": f"entry {number:03} " + "of a long list " * 20 for number in range(200)}
PAGE = 4096


@pytest.fixture
def long_file(open_bank: OpenBank, file: Path) -> Path:
    with open_bank() as bank:
        bank.remember_many([Draft(text=text, id=id_) for id_, text in MANY.items()])
    return file


def page_with(file: Path, text: str) -> tuple[int, set[str]]:
    """Where the page of a text begins, and the ids of all texts on it."""
    held = file.read_bytes()
    begin = held.index(text.encode()) // PAGE * PAGE
    page = held[begin : begin + PAGE]
    return begin, {id_ for id_, each in MANY.items() if each[:10].encode() in page}


def overwrite(file: Path, begin: int, *, filling: bytes = b"\xff") -> None:
    with file.open("r+b") as stream:
        stream.seek(begin)
        stream.write(filling * PAGE)


@pytest.mark.parametrize("chosen", [("n100",), ("n000",), ("n199",), ("n030", "n120", "n199")])
def test_what_can_be_read_of_damaged_pages_is_saved_into_a_new_file(
    long_file: Path, open_bank: OpenBank, clock: ManualClock, chosen: tuple[str, ...]
) -> None:
    gone: set[str] = set()
    for id_ in chosen:
        begin, there = page_with(long_file, MANY[id_])
        gone |= there
        overwrite(long_file, begin)
    sick = long_file.read_bytes()
    done = repair(long_file, clock=clock)
    assert done.path == long_file.with_name("memory.salvaged.db")
    assert set(done.lost) == gone
    assert done.salvaged == len(MANY) - len(gone)
    assert long_file.read_bytes() == sick
    made = {each for each in os.listdir(long_file.parent) if not each.startswith("memory.db-")}
    assert made == {"memory.db", "memory.salvaged.db"}
    after = diagnose(done.path, clock=clock)
    assert (after["integrity"], after["unsound"]) == ("ok", {})
    left = {id_: text for id_, text in MANY.items() if id_ not in gone}
    assert texts(open_bank(path=done.path)) == left


def test_a_damaged_page_is_told_before_it_is_mended(long_file: Path, clock: ManualClock) -> None:
    overwrite(long_file, page_with(long_file, MANY["n100"])[0])
    assert diagnose(long_file, clock=clock)["integrity"] != "ok"


def test_a_text_that_is_no_utf_8_is_saved_as_far_as_it_is(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    held = planted.read_bytes()
    planted.write_bytes(held.replace(TEXTS["m4"].encode(), TEXTS["m4"].encode()[:-1] + b"\xff"))
    assert diagnose(planted, clock=clock)["unsound"] == {"memories with columns that cannot be": 1}
    done = repair(planted, clock=clock)
    assert done.mended["memories with columns that cannot be"] == 1
    assert (
        texts(open_bank(embedder="hashing"))["m4"] == TEXTS["m4"][:-1] + "\N{REPLACEMENT CHARACTER}"
    )


def test_what_somebody_put_into_a_file_does_not_come_along(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, "CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM memory; END")
    assert "trigger 't'" in str(diagnose(planted, clock=clock)["unreadable"])
    done = repair(planted, clock=clock)
    assert (done.salvaged, done.lost, done.mended) == (9, (), {})
    assert_recalled(open_bank(path=done.path, embedder="hashing"))


def test_a_table_that_was_dropped_is_made_from_the_memories(
    planted: Path, open_bank: OpenBank, clock: ManualClock
) -> None:
    plant(planted, "DROP TABLE state", "DROP TABLE vector")
    done = repair(planted, clock=clock)
    assert done.mended == {"memories without a state": 9}
    assert (done.salvaged, done.embedded) == (9, 9)
    assert_recalled(open_bank(path=done.path, embedder="hashing"))


@pytest.mark.skipif(os.name != "posix", reason="whether a process lives is not asked elsewhere")
def test_what_a_killed_salvage_left_is_private_and_goes_with_the_next(
    planted: Path, clock: ManualClock
) -> None:
    plant(planted, "CREATE TABLE mine (x)")
    process = os.fork()
    if process == 0:
        salvage._with_our_tables = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        repair(planted, clock=clock)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    left = [each for each in planted.parent.iterdir() if each != planted]
    assert left
    assert {stat.S_IMODE(each.stat().st_mode) for each in left} == {0o600}
    repair(planted, clock=clock)
    assert sorted(os.listdir(planted.parent)) == ["memory.db", "memory.salvaged.db"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are of POSIX")
def test_a_log_that_is_copied_is_private_whatever_it_was(tmp_path: Path) -> None:
    source, target = tmp_path / "memory.db-wal", tmp_path / "copy-wal"
    source.write_bytes(b"tea")
    source.chmod(0o644)
    salvage._copy_privately(str(source), str(target))
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"tea", 0o600)


def test_a_full_disk_is_no_reason_to_give_a_file_up(
    planted: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(planted, "CREATE TABLE mine (x)")

    def without_room(db: Database, **rest: int) -> None:
        migrate(db, **rest)
        db.execute("PRAGMA max_page_count = 1").fetchall()  # no more than it has

    with monkeypatch.context() as patched:
        patched.setattr(salvage, "migrate", without_room)
        with pytest.raises(StoreFull, match="the disk is full; nothing was changed"):
            repair(planted, clock=clock)
    assert os.listdir(planted.parent) == [planted.name]
    assert repair(planted, clock=clock).salvaged == len(TEXTS)


def test_a_folder_that_takes_no_copy_is_said_so(
    planted: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(planted, "CREATE TABLE mine (x)")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(salvage, "_copy_privately", refuse)
    with pytest.raises(StoreReadOnly, match="Permission denied"):
        repair(planted, clock=clock)
    assert os.listdir(planted.parent) == [planted.name]


@pytest.mark.parametrize(
    "content", [b"no database at all" * 300, b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_of_what_is_no_database_nothing_is_made(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreUnreadable):
        repair(file)
    assert file.read_bytes() == content
    assert os.listdir(file.parent) == [file.name]


def test_the_database_of_another_program_is_left_alone(file: Path) -> None:
    plant(file, "CREATE TABLE memory (ns, id, text)")
    before = file.read_bytes()
    with pytest.raises(StoreUnreadable, match="another program"):
        repair(file)
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("what", [diagnose, repair])
def test_a_file_that_is_not_there_is_not_made(file: Path, what: object) -> None:
    with pytest.raises(StoreError, match="is no file"):
        what(file)  # type: ignore[operator]
    assert os.listdir(file.parent) == []


# -- the trail -----------------------------------------------------------------------------------


def test_a_trail_that_was_changed_is_told_and_not_mended(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    with filled(open_bank()) as bank:
        bank.erase("m1")
        bank.erase("m2")
    plant(
        file,
        "DROP TRIGGER audit_no_update",
        "UPDATE audit SET action = 'fade' WHERE number = 2",
        "CREATE TRIGGER audit_no_update BEFORE update ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END",
    )
    told = {NS[1:-1]: "line 2 is not the line that was written here"}
    assert diagnose(file, clock=clock)["trails"] == told
    repair(file, clock=clock)
    assert diagnose(file, clock=clock)["trails"] == told


# -- whatever befalls a file ---------------------------------------------------------------------

flips = st.lists(
    st.tuples(st.floats(0.0, 1.0, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=40
)


@pytest.fixture(scope="module")
def sound_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("sound") / "memory.db"
    with MemoryBank.open(file, namespace="u1", embedder="hashing", clock=ManualClock()) as bank:
        filled(bank)
        bank.remember_many([Draft(text=text) for text in list(MANY.values())[:40]])
        bank.erase("m5")
    return file.read_bytes()


@settings(max_examples=25)
@given(flips=flips)
def test_flipped_bytes_end_in_a_sound_file_or_in_none(
    sound_bytes: bytes, flips: list[tuple[float, int]]
) -> None:
    held, clock = bytearray(sound_bytes), ManualClock()
    for where, by in flips:
        held[100 + int(where * (len(held) - 100))] ^= by  # behind the header
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        file.write_bytes(held)
        try:
            done = repair(file, clock=clock)
        except StoreUnreadable:
            assert file.read_bytes() == held
            return
        after = diagnose(done.path, clock=clock)
        assert (after["integrity"], after["unsound"]) == ("ok", {})
        assert repair(done.path, clock=clock).mended == {}
        with MemoryBank.open(done.path, namespace="u1", clock=clock) as bank:
            bank.recall("where is the piano?")
            assert len(bank.list(include_faded=True, include_superseded=True)) <= 49
