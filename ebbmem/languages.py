"""The languages that texts and questions are read with: three tables each, side by side.

Another language, or more words of one, go to `MemoryBank.open(languages=)`:

    mine = replace(ENGLISH, asking=replace(ENGLISH.asking, place=ENGLISH.asking.place + " loch"))
    MemoryBank.open("memory.db", namespace="a", languages=[mine, CHINESE])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ebbmem import asking, cues, slots
from ebbmem.asking import Vocabulary
from ebbmem.checks import shown
from ebbmem.cues import Cues
from ebbmem.errors import InvalidInput
from ebbmem.slots import Wording

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language", "check_languages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What is known of one language.

    Attributes:
        cues: patterns of questions, times and persons, for importance and dates.
        asking: what a question asks for, and the words that mark such things.
        slots: what facts are about, and how wording tells that one has changed.
    """

    cues: Cues
    asking: Vocabulary
    slots: Wording


ENGLISH = Language(cues=cues.ENGLISH, asking=asking.ENGLISH, slots=slots.ENGLISH)
CHINESE = Language(cues=cues.CHINESE, asking=asking.CHINESE, slots=slots.CHINESE)
LANGUAGES: tuple[Language, ...] = (ENGLISH, CHINESE)


def check_languages(given: Iterable[Language]) -> tuple[Language, ...]:
    """The languages; raises `InvalidInput` where one is none, or there is none."""
    if not isinstance(given, Iterable):
        raise InvalidInput("languages", f"must be several, not {type(given).__name__}")
    listed = tuple(given)
    if not listed:
        raise InvalidInput("languages", "must hold one at least")
    for each in listed:
        if not isinstance(each, Language):
            raise InvalidInput("languages", f"must hold Language values, not {shown(each)}")
    return listed
