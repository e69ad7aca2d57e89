"""`MemoryBank.known`: what is recorded already, without saying it again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from builders import OpenBank
from ebbmem import Draft, MemoryBank
from ebbmem.testing import ManualClock


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


def test_a_text_is_known_by_its_words_and_a_keyed_one_by_its_id(bank: MemoryBank) -> None:
    tea = bank.remember("I like tea.")
    bank.remember("I like cake.", id="cake", keyed=True)
    assert bank.known(
        [
            "I like tea.",
            "I like cake.",
            Draft(text="Other words.", id="cake", keyed=True),
            Draft(text="I like tea.", id="tea", keyed=True),
        ]
    ) == [tea.id, None, "cake", None]


def test_what_has_faded_is_known_and_asking_is_no_use_of_it(
    bank: MemoryBank, clock: ManualClock
) -> None:
    tea = bank.remember("I like tea.")
    bank.forget(tea.id)
    clock.advance(timedelta(days=1))
    assert bank.known(["I like tea."]) == [tea.id]
    assert bank.get(tea.id, include_faded=True).status == "faded"


def test_of_another_namespace_nothing_is_known(bank: MemoryBank) -> None:
    bank.at("somebody else").remember("I like tea.")
    assert bank.known(["I like tea."]) == [None]
