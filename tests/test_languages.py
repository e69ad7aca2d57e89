"""A bank is opened with languages of the user's, which read what is said and what is asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from builders import AT, OpenBank
from ebbmem import AsyncMemoryBank, Draft, InvalidInput, MemoryBank
from ebbmem.asking import Vocabulary
from ebbmem.cues import Cues
from ebbmem.languages import CHINESE, ENGLISH, LANGUAGES, Language, check_languages
from ebbmem.slots import Wording
from ebbmem.testing import ManualClock

NEVER = "(?!)"
DUTCH = Language(
    cues=Cues(
        question=r"^(wat|wie|waar)\b",
        time=r"\bgisteren\b",
        first_person=r"\bik\b",
        backchannel=r"^(ja|nee)\b",
        feeling=r"\bblij\b",
    ),
    asking=Vocabulary(
        self="ik mijn", ask_assistant=r"\bjij\b[^.?!]*\bgezegd\b", ask_user=r"\bmijn\b"
    ),
    slots=Wording(
        names={"home": "woon"},
        values={},
        weak={},
        update="verhuisd, nu",
        past=NEVER,
        present=r"\bnu\b",
        several=NEVER,
        asking="wat wie waar",
    ),
)
SAID = [
    Draft(text="ik dronk thee bij Bo", id="tea", speaker="Anna", importance=0.5),
    Draft(text="wie dronk thee bij Bo", id="asked", speaker="Ben", importance=0.5),
    Draft(text="thee is lekker", id="advice", speaker="assistant", importance=0.5),
]


def told(bank: MemoryBank, question: str) -> dict[str, dict[str, float]]:
    """The bonuses of each memory by its id."""
    found = bank.recall(question, reinforce=False)
    return {each.memory.id: dict(each.bonuses) for each in found}


# -- what they reach -----------------------------------------------------------------------------


def test_items_are_marked_with_the_words_of_the_given_languages(open_bank: OpenBank) -> None:
    for languages, expected in ((LANGUAGES, 0.0), ([*LANGUAGES, DUTCH], True)):
        bank = open_bank(path=":memory:", languages=languages)
        bank.remember_many(SAID)
        bonuses = told(bank, "Anna thee")
        assert (bonuses["tea"]["speaker"] > 0.0) is bool(expected)
        assert bonuses["advice"]["speaker"] == 0.0


def test_questions_are_read_with_the_given_languages(open_bank: OpenBank) -> None:
    question = "wat heb jij over lekker thee gezegd"
    bank = open_bank(path=":memory:", languages=[*LANGUAGES, DUTCH])
    bank.remember_many(SAID)
    bonuses = told(bank, question)
    assert bonuses["advice"]["role"] > bonuses["tea"]["role"] == 0.0
    bank = open_bank(path=":memory:")
    bank.remember_many(SAID)
    assert "role" not in told(bank, question)["advice"]


def test_importance_is_read_with_the_given_languages(open_bank: OpenBank) -> None:
    text = "ik was gisteren blij met de thee"
    plain, dutch = (
        open_bank(path=":memory:", languages=each).remember(text).importance
        for each in (LANGUAGES, [DUTCH])
    )
    assert dutch != plain


def test_which_item_is_a_question_is_read_with_the_given_languages(open_bank: OpenBank) -> None:
    for languages, expected in ((LANGUAGES, [False] * 3), ([DUTCH], [False, True, False])):
        bank = open_bank(path=":memory:", languages=languages)
        bank.remember_many(SAID)
        assert bank._arena().snapshot().question.tolist() == expected


def test_what_is_current_is_read_with_the_given_languages(open_bank: OpenBank) -> None:
    for languages, expected in ((LANGUAGES, False), ([DUTCH], True)):
        bank = open_bank(path=":memory:", languages=languages)
        bank.remember("ik ben verhuisd en woon in Delft", importance=0.5)
        assert bool(bank._arena().snapshot().marks[0]) is expected


def test_siblings_read_with_the_same_languages(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", languages=[DUTCH]).at("other")
    bank.remember_many(SAID)
    assert told(bank, "Anna thee")["tea"]["speaker"] > 0.0


def test_languages_are_not_stored_and_read_anew_what_is_there(open_bank: OpenBank) -> None:
    open_bank(languages=[DUTCH]).remember_many(SAID)
    assert told(open_bank(), "Anna thee")["tea"]["speaker"] == 0.0
    assert told(open_bank(languages=[DUTCH]), "Anna thee")["tea"]["speaker"] > 0.0


def test_an_added_word_goes_through_replace(open_bank: OpenBank) -> None:
    mine = replace(ENGLISH, asking=replace(ENGLISH.asking, self=ENGLISH.asking.self + " meself"))
    said = Draft(text="thee for meself", id="tea", speaker="Anna", importance=0.5)
    for languages, expected in ((LANGUAGES, 0.0), ([mine, CHINESE], True)):
        bank = open_bank(path=":memory:", languages=languages)
        bank.remember_many([said, SAID[1]])
        assert (told(bank, "Anna thee")["tea"]["speaker"] > 0.0) is bool(expected)


def test_languages_may_come_one_by_one(open_bank: OpenBank) -> None:
    def coming() -> Iterator[Language]:
        yield from (*LANGUAGES, DUTCH)

    bank = open_bank(path=":memory:", languages=coming())
    bank.remember_many(SAID)
    assert told(bank, "Anna thee")["tea"]["speaker"] > 0.0


# -- what is refused -----------------------------------------------------------------------------

BAD: dict[str, Any] = {
    "None": None,
    "a number": 5,
    "none of them": [],
    "a name": "english",
    "one alone": ENGLISH,
    "one table": [ENGLISH.asking],
    "something else beside": [ENGLISH, None],
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_language_is_refused_before_a_file_is_made(file: Path, name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        MemoryBank.open(file, namespace="u1", embedder=None, languages=BAD[name])
    assert caught.value.field == "languages"
    assert list(file.parent.iterdir()) == []


def test_the_languages_are_given_back_in_their_order() -> None:
    assert check_languages(iter([DUTCH, ENGLISH])) == (DUTCH, ENGLISH)


def test_each_language_has_patterns_that_compile() -> None:
    for language in LANGUAGES:
        for each in fields(Cues):
            re.compile(getattr(language.cues, each.name))
        for name in ("past", "present", "several"):
            re.compile(getattr(language.slots, name))


# -- for an event loop ---------------------------------------------------------------------------


def test_the_async_twin_reads_with_the_given_languages(file: Path) -> None:
    async def main() -> dict[str, float]:
        async with await AsyncMemoryBank.open(
            file, namespace="u1", embedder=None, clock=ManualClock(AT), languages=[DUTCH]
        ) as bank:
            await bank.remember_many(SAID)
            found = await bank.recall("Anna thee", reinforce=False)
            return {each.memory.id: each.bonuses["speaker"] for each in found}

    assert asyncio.run(main())["tea"] > 0.0


def test_the_async_twin_refuses_what_is_no_language(file: Path) -> None:
    async def main() -> None:
        with pytest.raises(InvalidInput, match="languages"):
            await AsyncMemoryBank.open(file, namespace="u1", embedder=None, languages=[])

    asyncio.run(main())
    assert list(file.parent.iterdir()) == []
