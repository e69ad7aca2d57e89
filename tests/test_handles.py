"""A bank is a handle of a file: siblings, policies that are handed on, copies."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from builders import OpenBank
from ebbmem import AsyncMemoryBank, Category, EbbinghausDecay, InvalidInput, MemoryBank, Policy
from ebbmem.testing import ManualClock

STRICT = Policy(fade_below=0.2, categories=[Category("recipe", 0.02)])


class Mine:
    """The published curve under a name that is not built in."""

    name = "mine"

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> NDArray[np.float64]:
        return EbbinghausDecay().retention(rate, elapsed)

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> NDArray[np.float64]:
        return EbbinghausDecay().elapsed_at(rate, retention)


# -- the policy of a sibling ---------------------------------------------------------------------


def test_a_new_namespace_has_the_policy_of_the_bank_it_was_asked_of(open_bank: OpenBank) -> None:
    bank = open_bank(policy=STRICT)
    assert bank.at("u2").policy == STRICT
    assert bank.at("u2").at("u3").policy == STRICT
    bank.at("u2").remember("tea", category="recipe")


def test_what_was_handed_on_is_not_written_before_the_first_write(open_bank: OpenBank) -> None:
    bank = open_bank(policy=STRICT)
    other = bank.at("u2")
    assert other.list() == other.recall("tea") == []
    assert other.inhabited() == []
    assert bank._store.info(("u2",)) is None
    other.remember("tea")
    info = bank._store.info(("u2",))
    assert info is not None
    assert Policy.from_json(info.policy) == STRICT


def test_a_namespace_that_was_written_keeps_its_own(open_bank: OpenBank) -> None:
    bank = open_bank(policy=STRICT)
    bank.at("u2", policy=Policy.chat()).remember("tea")
    again = bank.at("u2").policy
    assert (again.timeline, again.fade_below) == ("active", 0.05)


def test_a_policy_that_is_given_goes_before_the_one_handed_on(open_bank: OpenBank) -> None:
    bank = open_bank(policy=STRICT)
    assert bank.at("u2", policy=Policy()).policy == Policy()
    assert bank.at("u2").policy == Policy()


def test_a_file_is_opened_anew_without_the_policy_of_a_sibling(open_bank: OpenBank) -> None:
    open_bank(policy=STRICT).at("u2")
    assert open_bank(namespace="u2").policy == Policy()


def test_a_curve_of_my_own_is_opened_with_the_policy_that_has_it(open_bank: OpenBank) -> None:
    mine = Policy(curve=Mine())
    open_bank(policy=mine).remember("tea")
    again = open_bank(policy=mine)
    assert [each.text for each in again.list()] == ["tea"]
    with pytest.raises(InvalidInput, match="open it with the policy that has it"):
        open_bank()


def test_a_bank_with_a_curve_of_my_own_knows_that_it_is_inhabited(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank(policy=Policy(curve=Mine(), timeline="active"), maintain=False)
    bank.remember("tea")
    clock.advance(days=300)  # due by the calendar: it takes the curve to tell
    assert bank.inhabited() == [("u1",)]


def test_documents_beside_a_bank_live_by_a_curve_of_my_own(open_bank: OpenBank) -> None:
    bank = open_bank(policy=Policy(curve=Mine()))
    for _ in range(2):
        assert [each.id for each in bank.beside("docs").rerank({"a": 0.5})] == ["a"]


# -- the pass of a sibling -----------------------------------------------------------------------


def test_a_handle_that_is_made_anew_puts_no_pass_off_and_runs_none_twice(
    open_bank: OpenBank, clock: ManualClock
) -> None:
    bank = open_bank()
    bank.remember("a passing cloud", category="failure", importance=0.5)
    clock.advance(days=11)
    ran = []
    for _ in range(3):
        bank.at("u1")
        info = bank._store.info(("u1",))
        assert info is not None
        ran.append(info.pruned_at)
        clock.advance(hours=1)
    assert len(set(ran)) == 1
    assert [line.action for line in bank.audit()] == ["fade"]


# -- copies --------------------------------------------------------------------------------------


def test_a_deep_copy_is_the_same_bank(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert copy.deepcopy(bank) is bank
    assert copy.deepcopy({"banks": [bank]})["banks"][0] is bank
    beside = bank.at("u2")
    assert copy.deepcopy(beside).namespace == ("u2",)


def test_a_deep_copy_of_the_bank_of_a_loop_is_over_the_same_bank(open_bank: OpenBank) -> None:
    bank = open_bank()
    assert copy.deepcopy(AsyncMemoryBank(bank)).bank is bank


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_says_what_to_do_instead(open_bank: OpenBank, protocol: int) -> None:
    bank = open_bank()
    for each in (bank, AsyncMemoryBank(bank), [bank]):
        with pytest.raises(InvalidInput) as caught:
            pickle.dumps(each, protocol)
        assert str(caught.value) == (
            "bank is a handle of a file and cannot be pickled; open its path in the other process"
        )
    assert bank.list() == []


def test_what_a_bank_gives_back_can_be_pickled(open_bank: OpenBank, clock: ManualClock) -> None:
    bank: MemoryBank = open_bank()
    kept = bank.remember("tea", keyed=True, expires_at=clock() + timedelta(days=1))
    for value in (kept, replace(kept, searchable=False), bank.beside("d").rerank({"a": 0.5})):
        assert pickle.loads(pickle.dumps(value)) == value
