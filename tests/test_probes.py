"""Questions with known answers: kept, asked, remembered, and forgotten with their answers."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import AT, OpenBank
from ebbmem import (
    AsyncMemoryBank,
    Draft,
    EmbeddingError,
    Held,
    InvalidInput,
    MemoryBank,
    NotFound,
    Policy,
    Probe,
    ProbeAnswer,
    ProbeRun,
)
from ebbmem.testing import ManualClock, TableEmbedder

TEXTS = {"tea": "green tea in the harbour", "milk": "cold milk", "rain": "winter rain"}


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    made = open_bank(maintain=False)
    made.remember_many(Draft(text=text, id=id_, importance=0.5) for id_, text in TEXTS.items())
    return made


def state(bank: MemoryBank) -> object:
    return bank.list(include_faded=True, include_superseded=True), bank.audit()


# -- keeping them --------------------------------------------------------------------------------


def test_a_probe_is_kept_with_what_it_expects(bank: MemoryBank, clock: ManualClock) -> None:
    made = bank.add_probe("where is the tea?", ["tea", "milk"])
    assert made == Probe(
        number=1,
        question="where is the tea?",
        expected=("milk", "tea"),
        kind="given",
        added_at=AT,
    )
    assert bank.probes() == [made]


def test_one_id_stands_for_a_list_of_one(bank: MemoryBank) -> None:
    assert bank.add_probe("tea?", "tea").expected == ("tea",)


def test_probes_outlive_the_process(open_bank: OpenBank, bank: MemoryBank) -> None:
    made = bank.add_probe("tea?", "tea")
    run = bank.probe()
    again = open_bank()
    assert again.probes() == [made]
    assert [each.recall for each in again.probe_history()] == [run.recall]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("", "tea"), InvalidInput),
        (("  ", "tea"), InvalidInput),
        ((7, "tea"), InvalidInput),
        (("tea?", []), InvalidInput),
        (("tea?", None), InvalidInput),
        (("tea?", [""]), InvalidInput),
        (("tea?", "none"), NotFound),
        (("tea?", ["tea", "none"]), NotFound),
    ],
    ids=str,
)
def test_what_is_no_probe_is_refused_and_nothing_is_written(
    bank: MemoryBank, arguments: Any, error: type[Exception]
) -> None:
    before = state(bank)
    with pytest.raises(error):
        bank.add_probe(*arguments)
    assert bank.probes() == []
    assert state(bank) == before


def test_an_expected_memory_of_another_namespace_is_not_found(bank: MemoryBank) -> None:
    with pytest.raises(NotFound):
        bank.at("u2").add_probe("tea?", "tea")


def test_a_probe_is_removed_by_its_number(bank: MemoryBank) -> None:
    bank.add_probe("tea?", "tea")
    bank.add_probe("milk?", "milk")
    bank.remove_probe(1)
    assert [each.number for each in bank.probes()] == [2]
    with pytest.raises(InvalidInput, match="no such probe"):
        bank.remove_probe(1)


@pytest.mark.parametrize("number", [-1, "1", True, None, 1.0])
def test_what_is_no_number_of_a_probe_is_refused(bank: MemoryBank, number: Any) -> None:
    with pytest.raises(InvalidInput):
        bank.remove_probe(number)


# -- asking them ---------------------------------------------------------------------------------


def test_recall_is_the_share_of_expected_memories_among_the_first_k(bank: MemoryBank) -> None:
    bank.add_probe("tea in the harbour?", ["tea", "rain"])  # one of two
    bank.add_probe("cold milk?", "milk")
    run = bank.probe(k=1)
    assert (run.k, run.asked, run.found, run.hidden) == (1, 2, 1.5, 0.0)
    assert run.recall == 0.75
    assert run.answers == (
        ProbeAnswer(number=1, found=("tea",), hidden=(), missed=("rain",)),
        ProbeAnswer(number=2, found=("milk",), hidden=(), missed=()),
    )


def test_a_run_tells_when_it_was_and_how_large_the_store_was(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.forget("rain")
    clock.advance(days=1)
    run, told = bank.probe(), bank.stats()
    assert (run.at, run.active, run.faded) == (clock(), 2, 1)
    assert run.mean_strength == told.mean_strength


def test_an_expected_memory_that_faded_is_not_found(bank: MemoryBank, clock: ManualClock) -> None:
    bank.add_probe("tea in the harbour?", "tea")
    assert bank.probe().recall == 1.0
    clock.advance(days=30)  # a fact of importance 0.5 lives for 23.985 days
    run = bank.probe()
    assert (run.recall, run.hidden) == (0.0, 1.0)
    assert run.answers[0].hidden == ("tea",)


def test_an_expected_memory_that_was_superseded_is_not_found(bank: MemoryBank) -> None:
    bank.add_probe("tea in the harbour?", "tea")
    bank.remember("black coffee", supersedes="tea")
    run = bank.probe()
    assert (run.recall, run.answers[0].hidden) == (0.0, ("tea",))


def test_without_probes_a_run_keeps_the_size_alone(bank: MemoryBank) -> None:
    run = bank.probe()
    assert (run.asked, run.recall, run.active) == (0, None, 3)
    assert bank.probe_history() == [run]


def test_asking_probes_changes_no_memory(bank: MemoryBank, clock: ManualClock) -> None:
    bank.add_probe("tea in the harbour?", "tea")
    clock.advance(days=1)
    before = state(bank)
    bank.probe()
    assert state(bank) == before


def test_the_history_has_every_run_in_order_without_its_answers(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.add_probe("tea in the harbour?", "tea")
    runs = []
    for k in (1, 5, 1):
        runs.append(bank.probe(k))
        clock.advance(days=1)
    told = bank.probe_history()
    assert [(each.at, each.k, each.recall) for each in told] == [
        (each.at, each.k, each.recall) for each in runs
    ]
    assert all(each.answers == () for each in told)


@pytest.mark.parametrize("k", [0, -1, True, "5", None])
def test_a_k_that_is_none_is_refused_and_no_run_is_kept(bank: MemoryBank, k: Any) -> None:
    bank.add_probe("tea?", "tea")
    with pytest.raises(InvalidInput):
        bank.probe(k)
    assert bank.probe_history() == []


def test_an_embedder_that_fails_leaves_no_run(open_bank: OpenBank) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0], fail_on=2)
    bank = open_bank(embedder=embedder)
    bank.remember("tea", id="tea")
    bank.add_probe("tea?", "tea")
    with pytest.raises(EmbeddingError):
        bank.probe()
    assert bank.probe_history() == []


def test_probes_and_runs_of_a_namespace_show_in_no_other(bank: MemoryBank) -> None:
    bank.add_probe("tea?", "tea")
    bank.probe()
    other = bank.at("u2")
    assert (other.probes(), other.probe_history(), other.advice()) == ([], [], [])
    assert other.probe().asked == 0


@given(
    expected=st.lists(st.sets(st.sampled_from(sorted(TEXTS)), min_size=1), max_size=4),
    gone=st.sets(st.sampled_from(sorted(TEXTS))),
    k=st.integers(1, 5),
)
@settings(max_examples=40, deadline=None)
def test_found_hidden_and_missed_are_all_that_was_expected(
    expected: list[set[str]], gone: set[str], k: int
) -> None:
    with MemoryBank.open(namespace="u1", embedder=None, clock=ManualClock()) as bank:
        bank.remember_many(Draft(text=text, id=id_) for id_, text in TEXTS.items())
        for number, ids in enumerate(expected):
            bank.add_probe(f"tea, milk or rain {number}?", ids)
        bank.forget(gone)
        run = bank.probe(k)
    assert run.asked == len(expected)
    for answer, ids in zip(run.answers, expected, strict=True):
        assert sorted((*answer.found, *answer.hidden, *answer.missed)) == sorted(ids)
        assert set(answer.hidden) == ids & gone
        assert len(answer.found) <= k
    shares = [len(each.found) / len(ids) for each, ids in zip(run.answers, expected, strict=True)]
    assert run.found == pytest.approx(sum(shares))
    assert 0.0 <= run.found + run.hidden <= run.asked + 1e-9


# -- sampling ------------------------------------------------------------------------------------


@pytest.fixture
def sampling(open_bank: OpenBank) -> MemoryBank:
    made = open_bank(policy=Policy(sample_probes=2))
    made.remember_many(Draft(text=text, id=id_) for id_, text in TEXTS.items())
    return made


def test_by_default_no_question_is_kept(bank: MemoryBank) -> None:
    bank.reinforce("tea", query="where is the tea?")
    bank.recall("where is the tea?")
    assert bank.probes() == []


def test_a_question_whose_answer_was_reinforced_is_sampled(sampling: MemoryBank) -> None:
    sampling.reinforce(["tea", "rain"], query="where is the tea?")
    [probe] = sampling.probes()
    assert (probe.question, probe.expected) == ("where is the tea?", ("rain", "tea"))
    assert probe.kind == "sampled"


def test_only_the_last_questions_stay(sampling: MemoryBank) -> None:
    for number in range(4):
        sampling.reinforce("tea", query=f"question {number}?")
    assert [each.question for each in sampling.probes()] == ["question 2?", "question 3?"]


def test_what_is_recalled_without_a_word_of_use_is_not_sampled(sampling: MemoryBank) -> None:
    sampling.recall("green tea")
    sampling.reinforce("tea")
    assert sampling.probes() == []


def test_a_question_counts_as_used_what_it_names(sampling: MemoryBank, clock: ManualClock) -> None:
    clock.advance(hours=1)
    assert [each.id for each in sampling.reinforce("tea", query="tea?")] == ["tea"]
    assert sampling.get("tea").recall_count == 1


@pytest.mark.parametrize("query", ["", "  ", 7])
def test_a_blank_question_is_refused_before_anything_counts(
    sampling: MemoryBank, clock: ManualClock, query: Any
) -> None:
    clock.advance(hours=1)
    with pytest.raises(InvalidInput):
        sampling.reinforce("tea", query=query)
    assert sampling.get("tea").recall_count == 0


def test_an_unknown_memory_leaves_no_sample(sampling: MemoryBank) -> None:
    with pytest.raises(NotFound):
        sampling.reinforce(["tea", "none"], query="tea?")
    assert sampling.probes() == []


def test_turning_the_sample_off_removes_it_and_keeps_what_was_given(
    open_bank: OpenBank, sampling: MemoryBank
) -> None:
    sampling.add_probe("given?", "tea")
    sampling.reinforce("tea", query="sampled?")
    later = open_bank(policy=Policy())
    assert [each.question for each in later.probes()] == ["given?"]


def test_the_switch_is_stored_with_the_namespace(open_bank: OpenBank, sampling: MemoryBank) -> None:
    later = open_bank()
    assert later.policy.sample_probes == 2
    later.reinforce("tea", query="tea?")
    assert len(later.probes()) == 1


def test_a_spacing_of_nothing_samples_a_retry_once(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(sample_probes=5, spacing=timedelta(0)))
    bank.remember("tea", id="tea")
    for _ in range(3):
        bank.reinforce("tea", query="tea?")
    assert len(bank.probes()) == 1


@pytest.mark.parametrize("value", [-1, True, 1.5, "3", 2**31])
def test_a_sample_of_no_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        Policy(sample_probes=value)


# -- what they quote goes with what it came from -------------------------------------------------


def test_a_probe_goes_when_the_last_of_its_memories_is_erased(bank: MemoryBank) -> None:
    bank.add_probe("tea or milk?", ["tea", "milk"])
    bank.erase("tea")
    assert bank.probes()[0].expected == ("milk",)
    bank.erase("milk")
    assert bank.probes() == []


def test_a_probe_goes_when_the_daily_pass_lets_its_memory_go(
    bank: MemoryBank, clock: ManualClock
) -> None:
    bank.add_probe("tea?", "tea")
    clock.advance(days=30)
    bank.prune()
    assert len(bank.probes()) == 1  # hidden, restorable
    clock.advance(days=30)
    bank.prune()
    assert bank.probes() == []


def test_erasing_everything_takes_probes_and_runs(bank: MemoryBank) -> None:
    other = bank.at("u2")
    other.remember("tea", id="tea")
    for each in (bank, other):
        each.add_probe("tea?", "tea")
        each.probe()
    assert bank.erase_all().count == 3
    assert (bank.probes(), bank.probe_history()) == ([], [])
    assert (len(other.probes()), len(other.probe_history())) == (1, 1)


def test_erasing_everything_takes_runs_of_a_store_that_is_empty(bank: MemoryBank) -> None:
    bank.erase(list(TEXTS))
    bank.probe()
    assert bank.erase_all().count == 0
    assert bank.probe_history() == []


def test_a_hold_keeps_the_probes_too(bank: MemoryBank) -> None:
    bank.add_probe("tea?", "tea")
    bank.probe()
    bank.hold("milk")
    with pytest.raises(Held):
        bank.erase_all()
    assert (len(bank.probes()), len(bank.probe_history())) == (1, 1)


def test_no_word_of_an_erased_question_is_left_on_disk(bank: MemoryBank, file: Path) -> None:
    bank.add_probe("which zanzibar?", "tea")
    bank.erase("tea")
    left = b"".join(each.read_bytes() for each in file.parent.iterdir())
    assert b"zanzibar" not in left


def test_a_backup_has_the_probes(bank: MemoryBank, open_bank: OpenBank, tmp_path: Path) -> None:
    bank.add_probe("tea?", "tea")
    bank.probe()
    copy = open_bank(path=bank.backup(tmp_path / "copy.db"))
    assert (len(copy.probes()), len(copy.probe_history())) == (1, 1)


# -- on an event loop ----------------------------------------------------------------------------


class Awaited(TableEmbedder):
    """Has an async twin for questions, and must not be asked them in any other way."""

    def __init__(self) -> None:
        super().__init__({}, default=[1.0, 0.0])
        self.asked: list[str] = []

    async def aembed_documents(self, texts: Any) -> object:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> object:
        self.asked.append(text)
        await asyncio.sleep(0)
        return [1.0, 0.0]

    def embed_query(self, text: str) -> Any:
        raise AssertionError("the twin was not awaited")


def test_probes_are_asked_on_the_loop() -> None:
    embedder = Awaited()

    async def ask() -> tuple[ProbeRun, list[ProbeRun]]:
        async with await AsyncMemoryBank.open(
            namespace="u1", embedder=embedder, clock=ManualClock()
        ) as bank:
            await bank.remember("tea", id="tea")
            await bank.add_probe("tea?", "tea")
            return await bank.probe(k=3), await bank.probe_history()

    run, told = asyncio.run(ask())
    assert (run.recall, embedder.asked) == (1.0, ["tea?"])
    assert [each.recall for each in told] == [1.0]
