"""Group A of the pain cases: what others lost, kept here."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from builders import OpenBank
from ebbmem import EmbeddingError, Held, InvalidInput, MemoryBank, NotFound, Recollections
from ebbmem.testing import HashingEmbedder, ManualClock, TableEmbedder

A, B = [1.0, 0.0, 0.0], [0.8, 0.6, 0.0]
AXES = {name: [float(i == j) for j in range(4)] for i, name in enumerate(("A", "B", "C", "D"))}


def found(bank: MemoryBank, query: str, k: int = 5) -> list[tuple[str, float | None]]:
    """(text, cosine) of a recall that touches nothing."""
    return cosines(bank.recall(query, k, min_similarity=-1.0, reinforce=False))


def cosines(hits: Recollections) -> list[tuple[str, float | None]]:
    return [(each.memory.text, each.similarity) for each in hits]


def near(text: str, cosine: float) -> tuple[str, object]:
    return text, pytest.approx(cosine, abs=1e-6)


# -- DL-1 ------------------------------------------------------------------------------------


def two(open_bank: OpenBank) -> tuple[MemoryBank, str, TableEmbedder]:
    embedder = TableEmbedder({"alpha": A, "beta": B, "query": A})
    bank = open_bank(embedder=embedder)
    id_ = bank.remember("alpha", importance=0.5).id
    bank.remember("beta", importance=0.5)
    return bank, id_, embedder


def test_dl_1_a_forgotten_memory_is_not_found_again(open_bank: OpenBank) -> None:
    bank, id_, embedder = two(open_bank)
    bank.forget(id_)
    bank.close()
    for reopened in (open_bank(embedder=embedder), open_bank(embedder=embedder)):
        assert found(reopened, "query") == [near("beta", 0.8)]
        assert [each.text for each in reopened.list()] == ["beta"]
        with pytest.raises(NotFound):
            reopened.get(id_)


def test_dl_1_forgetting_again_is_not_found_and_changes_nothing(open_bank: OpenBank) -> None:
    bank, id_, _ = two(open_bank)
    bank.forget(id_)
    before = bank.list(include_faded=True), bank.audit()
    with pytest.raises(NotFound):
        bank.forget(id_)
    assert (bank.list(include_faded=True), bank.audit()) == before


def test_dl_1_restore_brings_a_forgotten_memory_back(open_bank: OpenBank) -> None:
    bank, id_, _ = two(open_bank)
    bank.forget(id_)
    bank.restore(id_)
    assert bank.get(id_).text == "alpha"
    assert found(bank, "query") == [near("alpha", 1.0), near("beta", 0.8)]
    assert bank.strength(id_) == pytest.approx(0.5, rel=1e-9)


def test_dl_1_an_erased_memory_is_gone_for_good(open_bank: OpenBank) -> None:
    bank, id_, embedder = two(open_bank)
    assert bank.erase(id_).count == 1
    bank.close()
    for reopened in (open_bank(embedder=embedder), open_bank(embedder=embedder)):
        assert found(reopened, "query") == [near("beta", 0.8)]
        assert [each.text for each in reopened.list(include_faded=True)] == ["beta"]
        for call in (reopened.erase, reopened.restore, reopened.forget, reopened.pin):
            with pytest.raises(NotFound):
                call(id_)
        with pytest.raises(NotFound):
            reopened.get(id_, include_faded=True)


def test_dl_1_an_erased_text_is_in_no_file(open_bank: OpenBank, file: Path) -> None:
    bank = open_bank()
    id_ = bank.remember("the word is xylophonist", importance=0.5).id
    bank.remember("another", importance=0.5)
    bank.erase(id_)
    for each in file.parent.iterdir():
        assert b"xylophonist" not in each.read_bytes()


def test_dl_1_the_id_of_an_erased_memory_can_be_given_again(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({"alpha": A, "beta": B, "query": A}))
    bank.remember("alpha", importance=0.5, id="one")
    bank.recall("query")
    bank.erase("one")
    again = bank.remember("beta", importance=0.5, id="one")
    assert (again.recall_count, again.last_reinforced_at, again.status) == (0, None, "active")
    assert found(bank, "query") == [near("beta", 0.8)]


# -- DL-2 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["forget", "erase"])
def test_dl_2_after_a_delete_every_query_returns_its_own_text(
    open_bank: OpenBank, how: str
) -> None:
    embedder = TableEmbedder({**AXES, **{f"q{name}": row for name, row in AXES.items()}})
    bank = open_bank(embedder=embedder)
    ids = {name: bank.remember(name, importance=0.5).id for name in AXES}
    getattr(bank, how)(ids["B"])
    for _ in range(2):
        for name in ("A", "C", "D"):
            assert found(bank, f"q{name}", k=1) == [near(name, 1.0)]
        rest = found(bank, "qB", k=1)
        assert all(text != "B" and cosine == 0.0 for text, cosine in rest)
        bank.close()
        bank = open_bank(embedder=embedder)


def test_dl_2_deletes_and_edits_in_turn_never_mix_texts_up(open_bank: OpenBank) -> None:
    names = [f"n{i}" for i in range(12)]
    table = {name: [float(i == j) for j in range(12)] for i, name in enumerate(names)}
    table |= {f"q{name}": row for name, row in table.items()} | {"edited": table["n3"]}
    bank = open_bank(embedder=TableEmbedder(table))
    ids = {name: bank.remember(name, importance=0.5).id for name in names}
    bank.erase([ids.pop("n0"), ids.pop("n5")])
    bank.update(ids["n3"], text="edited")
    bank.erase(ids.pop("n11"))
    bank.remember("n5", importance=0.5)
    for name in (*ids, "n5"):
        text = "edited" if name == "n3" else name
        assert found(bank, f"q{name}", k=1) == [near(text, 1.0)]


def test_dl_2_after_a_thousand_deletes_every_text_is_still_its_own(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=TableEmbedder({"x": A, "y": B}, default=[0, 0, 1]))
    bank.remember("x", importance=0.5, id="x")
    doomed = bank.remember_many(f"doomed number{i}" for i in range(1200))
    bank.recall("doomed", reinforce=False)
    bank.erase([each.id for each in doomed])
    bank.remember("y", importance=0.5, id="y")
    assert found(bank, "x", k=9) == [near("x", 1.0), near("y", 0.8)]
    assert bank.recall("doomed", min_similarity=1.0) == []


def test_dl_2_a_bank_that_slept_while_others_erased_does_not_find_the_erased(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    sleeper, other = open_bank(), open_bank()
    gone = sleeper.remember("the lighthouse", importance=1.0, pinned=True).id
    kept = sleeper.remember("the windmill", importance=1.0, pinned=True).id
    assert len(sleeper.recall("lighthouse windmill", reinforce=False)) == 2
    other.erase(gone)
    for _ in range(3):  # until the store itself has forgotten the id
        clock.advance(days=40)
        other.remember(f"something else {clock():%x}")
    hits = sleeper.recall("lighthouse windmill", reinforce=False)
    assert [hit.memory.id for hit in hits] == [kept]
    assert gone not in {each.id for each in sleeper.list(include_faded=True)}


# -- DL-3 ------------------------------------------------------------------------------------


def crowd(open_bank: OpenBank) -> tuple[MemoryBank, MemoryBank]:
    first = open_bank(namespace="u1")
    second = first.at("u2")
    first.remember_many(f"item number{i}" for i in range(150))
    second.remember_many(f"thing number{i}" for i in range(3))
    return first, second


@pytest.mark.parametrize("how", ["forget", "erase"])
def test_dl_3_an_empty_list_of_ids_is_nobody(open_bank: OpenBank, how: str) -> None:
    first, second = crowd(open_bank)
    assert not getattr(first, how)([])
    assert (len(first.list()), len(second.list())) == (150, 3)


@pytest.mark.parametrize("how", ["forget", "erase"])
@pytest.mark.parametrize("ids", ["", None, [""], [None], {"": 1}])
def test_dl_3_blank_ids_are_refused(open_bank: OpenBank, how: str, ids: object) -> None:
    first, second = crowd(open_bank)
    with pytest.raises(InvalidInput):
        getattr(first, how)(ids)
    assert (len(first.list()), len(second.list())) == (150, 3)


def test_dl_3_an_empty_set_of_categories_matches_nothing(open_bank: OpenBank) -> None:
    first, _ = crowd(open_bank)
    assert first.list(category=[]) == []
    assert first.recall("item", category=[]) == []


def test_dl_3_erase_all_takes_this_namespace_and_no_other(open_bank: OpenBank) -> None:
    first, second = crowd(open_bank)
    assert first.erase_all().count == 150
    assert first.list(include_faded=True) == []
    assert len(second.list()) == 3
    for i in range(3):
        assert found(second, f"number{i}", k=1)[0][0] == f"thing number{i}"
    assert first.erase_all().count == 0


# -- DL-5 ------------------------------------------------------------------------------------


def test_dl_5_the_store_is_the_database_alone(open_bank: OpenBank, file: Path) -> None:
    bank, _, _ = two(open_bank)
    allowed = {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    bank.recall("query")
    bank.prune()
    assert {each.name for each in file.parent.iterdir()} <= allowed
    bank.close()
    assert {each.name for each in file.parent.iterdir()} <= allowed


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize(
    "content",
    [b"", bytes(3 * 4096), random.Random(5).randbytes(3 * 4096)],
    ids=["empty", "zeros", "noise"],
)
def test_dl_5_a_file_beside_it_that_is_none_of_its_own_costs_nothing(
    open_bank: OpenBank, file: Path, suffix: str, content: bytes
) -> None:
    with open_bank(embedder=HashingEmbedder()) as bank:
        bank.remember_many([f"note {number} of thing{number}" for number in range(100)])
    file.with_name(file.name + suffix).write_bytes(content)
    bank = open_bank(embedder=HashingEmbedder())
    vectors = bank.vectors([each.id for each in bank.list()])
    assert len(vectors) == 100
    for id_, vector in vectors.items():
        [hit] = bank.recall(vector.tolist(), k=1, reinforce=False)
        assert hit.memory.id == id_


# -- DL-6 ------------------------------------------------------------------------------------

FIVE = {f"t{i}": [float(i == j) for j in range(5)] for i in range(5)}
ASKED = {f"q{i}": FIVE[f"t{i}"] for i in range(5)}


def test_dl_6_an_embedder_that_fails_once_costs_that_memory_alone(open_bank: OpenBank) -> None:
    embedder = TableEmbedder({**FIVE, **ASKED}, fail_on=3)
    bank = open_bank(embedder=embedder)
    kept, failed = [], []
    for text in FIVE:
        try:
            kept.append(bank.remember(text, importance=0.5).text)
        except EmbeddingError:
            failed.append(text)
    assert failed == ["t2"]
    assert sorted(each.text for each in bank.list()) == kept == ["t0", "t1", "t3", "t4"]
    for text in kept:
        assert found(bank, f"q{text[1]}", k=1) == [near(text, 1.0)]


def test_dl_6_a_batch_whose_embedder_fails_keeps_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({**FIVE, **ASKED}, fail_on=3))
    with pytest.raises(EmbeddingError):
        bank.remember_many(FIVE)
    assert bank.list(include_faded=True) == []


def test_dl_6_a_retry_makes_no_duplicates(open_bank: OpenBank) -> None:
    embedder = TableEmbedder({**FIVE, **ASKED}, fail_on=3)
    bank = open_bank(embedder=embedder)
    first = [bank.remember(text, importance=0.5).id for text in ("t0", "t1")]
    with pytest.raises(EmbeddingError):
        bank.remember_many(FIVE)
    embedder.fail_on = None
    kept = bank.remember_many(FIVE)
    assert [each.id for each in kept[:2]] == first
    assert len(bank.list()) == 5
    for i in range(5):
        assert found(bank, f"q{i}", k=1) == [near(f"t{i}", 1.0)]


# -- DL-7 ------------------------------------------------------------------------------------

WORDS = {
    "neighbour": [0.9, 0.435889894, 0.0],
    "old": [1.0, 0.0, 0.0],
    "new": [0.0, 1.0, 0.0],
    "newer": [0.0, 0.0, 1.0],
    "ask old": [1.0, 0.0, 0.0],
    "ask new": [0.0, 1.0, 0.0],
}


def edited(open_bank: OpenBank, clock: ManualClock) -> tuple[MemoryBank, str, TableEmbedder]:
    embedder = TableEmbedder(WORDS)
    bank = open_bank(embedder=embedder)
    bank.remember("neighbour", importance=0.5)
    id_ = bank.remember(
        "old", importance=0.7, category="strategy", metadata={"src": "chat", "n": 3}
    ).id
    bank.recall("ask old", min_similarity=-1.0)
    clock.advance(days=2)
    bank.update(id_, text="new")
    return bank, id_, embedder


def test_dl_7_an_edited_memory_is_found_under_its_new_meaning(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank, _, embedder = edited(open_bank, clock)
    for _ in range(2):
        assert found(bank, "ask new")[0] == near("new", 1.0)
        assert all(text != "old" for text, _ in found(bank, "ask old"))
        bank.close()
        bank = open_bank(embedder=embedder)


def test_dl_7_an_edit_keeps_every_other_field(open_bank: OpenBank, clock: ManualClock) -> None:
    bank, id_, _ = edited(open_bank, clock)
    memory = bank.get(id_)
    assert (memory.importance, memory.category) == (0.7, "strategy")
    assert (memory.recall_count, memory.last_reinforced_at) == (1, clock() - timedelta(days=2))
    assert memory.created_at == clock() - timedelta(days=2)
    assert memory.metadata == {"src": "chat", "n": 3}
    assert type(memory.metadata["n"]) is int


def test_dl_7_an_edit_keeps_pin_source_and_links(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder(WORDS))
    other = bank.remember("newer", importance=0.5).id
    memory = bank.remember("old", importance=0.5, source="s", position=7, pinned=True)
    bank.link(memory.id, other, weight=0.5)
    after = bank.update(memory.id, text="new")
    assert (after.pinned, after.source, after.position) == (True, "s", 7)
    [first, second] = bank.recall("ask new", min_similarity=0.5)
    assert first.memory.id == memory.id
    assert [step.kind for step in second.via] == ["seed", "linked"]


def test_dl_7_the_text_of_what_is_on_hold_cannot_be_edited_away(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder(WORDS))
    id_ = bank.remember("old", importance=0.5).id
    bank.hold(id_)
    with pytest.raises(Held):
        bank.update(id_, text="new", importance=0.9)
    assert (bank.get(id_).text, bank.get(id_).importance) == ("old", 0.5)
    assert bank.update(id_, metadata={"seen": True}).held


def test_dl_7_the_edges_of_an_edited_memory_follow_its_new_vector(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank, id_, _ = edited(open_bank, clock)
    [first, second] = bank.recall("ask old", min_similarity=0.5, reinforce=False)
    assert (first.memory.text, first.via) == ("neighbour", ())
    assert second.memory.id == id_
    assert [step.kind for step in second.via] == ["seed", "similar"]
    assert second.via[-1].weight == pytest.approx(0.435889894, abs=1e-6)


def test_dl_7_an_edit_that_fails_leaves_everything_as_it_was(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank, id_, embedder = edited(open_bank, clock)
    before = bank.list(include_faded=True)
    embedder.fail_on = len(embedder.texts) + 1
    with pytest.raises(EmbeddingError):
        bank.update(id_, text="newer", importance=0.1, metadata={})
    assert bank.list(include_faded=True) == before
    assert found(bank, "ask new")[0] == near("new", 1.0)


def test_dl_7_an_edit_without_the_embedder_of_the_file_does_not_lose_the_vector(
    open_bank: OpenBank,
) -> None:
    embedder = TableEmbedder(WORDS)
    bank = open_bank(embedder=embedder)
    id_ = bank.remember("old", importance=0.5).id
    bank.close()
    keywords_alone = open_bank(embedder="auto")
    with pytest.raises(EmbeddingError):  # as remember() does
        keywords_alone.update(id_, text="new")
    keywords_alone.close()
    assert found(open_bank(embedder=embedder), "ask old") == [near("old", 1.0)]


def test_dl_7_an_edit_of_one_field_keeps_what_another_bank_changed_meanwhile(
    open_bank: OpenBank, file: Path, clock: ManualClock
) -> None:
    other: list[MemoryBank] = []

    def embed(texts: list[str]) -> list[list[float]]:
        if other:
            bank = other.pop()
            bank.update(id_, metadata={"changed": "meanwhile"})
        return [WORDS[text] for text in texts]

    bank = open_bank(embedder=embed)
    id_ = bank.remember("old", importance=0.5).id
    other.append(open_bank(embedder=embed))
    bank.update(id_, text="new")
    assert bank.get(id_).metadata == {"changed": "meanwhile"}


# -- DL-8 ------------------------------------------------------------------------------------


def test_dl_8_the_same_text_three_times_is_one_record(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({"same": A, "query": A}))
    ids = {bank.remember("same", importance=0.5).id for _ in range(3)}
    assert len(ids) == 1
    [memory] = bank.list(include_faded=True)
    assert memory.recall_count == 0
    assert bank.strength(memory) == pytest.approx(0.5, rel=1e-9)
    assert found(bank, "query") == [near("same", 1.0)]


def test_dl_8_the_same_text_three_times_in_one_batch_is_one_record(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({"same": A, "query": A}))
    kept = bank.remember_many(["same"] * 3)
    assert len({each.id for each in kept}) == 1
    assert [each.recall_count for each in bank.list(include_faded=True)] == [0]
    assert found(bank, "query") == [near("same", 1.0)]


def test_dl_8_saying_it_again_later_counts_as_a_reinforcement(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    bank.remember("same", importance=0.5)
    clock.advance(days=10)
    assert bank.remember("same").recall_count == 1
    assert bank.strength(bank.list()[0].id) == pytest.approx(0.6, rel=1e-9)


def test_dl_8_saying_it_again_revives_a_forgotten_memory(open_bank: OpenBank) -> None:
    bank = open_bank()
    memory = bank.remember("same", importance=0.5)
    bank.forget(memory.id)
    assert bank.remember("same").id == memory.id
    assert [each.id for each in bank.list()] == [memory.id]


# -- DL-9 ------------------------------------------------------------------------------------

LATER = """
import sys
from datetime import timedelta
from ebbmem import MemoryBank
from ebbmem.testing import ManualClock
clock = ManualClock()
clock.advance(timedelta(days=20))
with MemoryBank.open(sys.argv[1], namespace="u1", embedder=None, clock=clock) as bank:
    print(repr(bank.strength(sys.argv[2])))
"""


def recalled_at_15_days(open_bank: OpenBank, clock: ManualClock) -> str:
    bank = open_bank()
    id_ = bank.remember("the harbour is closed", importance=0.6).id
    clock.advance(days=15)
    [hit] = bank.recall("harbour")
    assert hit.reinforced
    bank.close()
    return id_


def test_dl_9_a_restart_remembers_how_often_and_when(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    id_ = recalled_at_15_days(open_bank, clock)
    clock.advance(days=5)
    assert open_bank().strength(id_) == pytest.approx(0.474969794748760, rel=1e-9)


def test_dl_9_another_process_remembers_it_too(
    open_bank: OpenBank, clock: ManualClock, file: Path
) -> None:
    id_ = recalled_at_15_days(open_bank, clock)
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(file), id_], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(0.474969794748760, rel=1e-9)


# -- DL-4: killed while writing --------------------------------------------------------------------

STORING = """
import sys
from ebbmem import MemoryBank
from ebbmem.testing import HashingEmbedder
bank = MemoryBank.open(sys.argv[1], namespace="u1", embedder=HashingEmbedder())
number = int(sys.argv[2]) * 10_000
while True:
    number += 1
    text = f"note {number} " + "x" * 1000
    print(bank.remember(text, id=str(number)).id, flush=True)
"""


def test_dl_4_what_a_killed_process_was_told_is_kept_is_there(file: Path) -> None:
    rng, printed = random.Random(4), list[str]()
    for number in range(20):
        command = [sys.executable, "-c", STORING, str(file), str(number)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(rng.randrange(5, 20)):
            printed.append(writer.stdout.readline().strip())
        writer.kill()
        printed += writer.stdout.read().split("\n")[:-1]  # whole lines, told before it died
        writer.stdout.close()
        writer.wait()
        with MemoryBank.open(file, namespace="u1", embedder=HashingEmbedder()) as bank:
            texts = {each.id: each.text for each in bank.list()}
            assert set(printed) <= set(texts)
            assert len(texts) <= len(printed) + number + 1  # of each round one more at most
            assert all(text == f"note {id_} " + "x" * 1000 for id_, text in texts.items())
            for id_ in rng.sample(printed, 5):
                vector = bank.vectors([id_])[id_].tolist()
                [hit] = bank.recall(vector, k=1, reinforce=False)
                assert hit.memory.text == texts[id_]
        assert [each.name for each in file.parent.iterdir()] == [file.name]
