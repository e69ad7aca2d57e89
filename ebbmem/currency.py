"""Which of two statements of one thing is true now: local recency. Pure.

Near the top of an answer to a question about the present, a newer statement of the same thing
changes places with an older one. Of the same thing are two that tell of one subject and of the
slot that is asked for (`ebbmem.slots`). Where no table has that slot, they must be much alike:
the newer one says that something changed, or answers the question about as well. In a dialogue,
where everything resembles everything, both must speak of what else is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ebbmem import cues
from ebbmem.slots import LANGUAGES, Wording
from ebbmem.text import CJK, count_words, keywords, words

__all__ = ["DEPTH", "Statements", "Wanted", "marks", "refreshed", "wanted"]

Bools = NDArray[np.bool_]

DEPTH = 20
"""Places within which a newer statement may move up."""

# Found on one set of made-up updates (`ebbmem.evaluate.stale`) and kept off LoCoMo's answers.
WORTH = 0.35  # least score of the newer statement, as a share of the older one's
TALKED = 0.5  # the same in a dialogue
AS_WELL = 0.75  # the same where nothing says that something changed
ALIKE = 0.45  # least cosine of two of one thing, on the way from unrelated to identical
OVERLAP = 0.5  # least share, by idf, of what either holds of a nameless subject, in both
SHORT, LONGEST = 8, 25  # words of a query: what is short asks, what is longer tells more
BESIDE = 1  # words of a question that are neither its slot nor a name, at most

CHANGED, PERSONAL = 1 << 61, 1 << 60  # bits of `marks` above those of the slots
SLOTS = PERSONAL - 1

_IS_CJK = re.compile(rf"[{CJK}]")
_NAME = re.compile(r"(?<!^)\b[A-Z][\w-]+")
_CJK_NAME = range(2, 5)  # characters
_PERSON = re.compile("|".join(each.first_person for each in cues.LANGUAGES))

_Run = tuple[Sequence[str], str]
"""Words or characters that stand in a row, and what joins them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question about the present.

    Attributes:
        slots: what it asks for, as bits.
        plain: whether it asks for nothing beside.
        subject: (t,) of its distinct terms, which say whom or what it is about.
        named: (t,) which of those are names.
    """

    slots: int
    plain: bool
    subject: Bools
    named: Bools


@dataclass(frozen=True, slots=True)
class Statements:
    """What stands in the first places of an answer, (m,) each.

    Attributes:
        scores: descending.
        marks: of `marks`.
        created: microseconds.
        speaker: -1 nobody.
        asks: whether it is a question.
        talked: whether it stands beside what another speaker said.
        held: (m, t) which terms of the question it holds.
        weight: (t,) their idf.
        alike: (m, m) cosines, 0 for unrelated and 1 for identical; None without vectors.
    """

    scores: NDArray[np.float64]
    marks: NDArray[np.int64]
    created: NDArray[np.int64]
    speaker: NDArray[np.int64]
    asks: Bools
    talked: Bools
    held: Bools
    weight: NDArray[np.float64]
    alike: NDArray[np.float64] | None


def marks(
    text: str, languages: tuple[Wording, ...] = LANGUAGES, *, heard: Sequence[str] | None = None
) -> int:
    """The slots a text tells of as bits, and whether it tells of a change and of the speaker.

    Args:
        heard: its words, if they have been read.
    """
    tables, runs = _compiled(languages), _runs(words(text) if heard is None else heard)
    changed = CHANGED if any(_spans(each, tables.update) for each in runs) else 0
    personal = PERSONAL if _PERSON.search(text.lower()) else 0
    return _slots(runs, tables)[1] | changed | personal


def wanted(
    question: str, terms: Iterable[str], languages: tuple[Wording, ...] = LANGUAGES
) -> Wanted | None:
    """What of a question must be current, given its keywords.

    None where it asks nothing, of another time, or of what may be true side by side.
    """
    tables, lowered, distinct = _compiled(languages), question.lower(), list(dict.fromkeys(terms))
    present, slots = tables.present.search(lowered), _slots(_runs(words(question)), tables)[0]
    length = count_words(question)
    asks = cues.is_question(question) or length <= SHORT or present or slots
    past = tables.past.search(lowered) and not present
    if not (distinct and asks) or past or tables.several.search(lowered):
        return None
    if length > LONGEST:
        return None
    rest = [each for each in _rest(_runs(words(question)), tables) if each]
    names = [*_NAME.findall(question), *filter(_is_cjk_name, rest[:1])]
    subject = set(keywords(" ".join(rest)))
    named = subject.intersection(keywords(" ".join(names)))
    beside = sum(not named.issuperset(keywords(each)) for each in rest)
    return Wanted(
        slots,
        beside <= BESIDE,
        np.array([term in subject for term in distinct], bool),
        np.array([term in named for term in distinct], bool),
    )


def refreshed(found: Statements, asked: Wanted) -> list[int]:
    """The order of the first places, from 0, with what is current before what it replaced."""
    order = list(range(len(found.scores)))
    for place, old in enumerate(order):
        newer = [at for at in range(place + 1, len(order)) if _renews(found, order[at], old, asked)]
        if newer:
            last = max(newer, key=lambda at: int(found.created[order[at]]))
            order[place], order[last] = order[last], old
    return order


# -- two statements --------------------------------------------------------------------------


def _renews(found: Statements, new: int, old: int, asked: Wanted) -> bool:
    """Whether a statement tells what has become of what another one told."""
    worth = found.scores[new] / max(found.scores[old], 1e-9)
    talked = found.talked[new] or found.talked[old]
    if worth < (TALKED if talked else WORTH):
        return False
    if found.created[new] <= found.created[old] or found.asks[new]:
        return False
    if not _same_subject(found, new, old, asked):
        return False
    mine, theirs = int(found.marks[new]) & SLOTS, int(found.marks[old]) & SLOTS
    if asked.plain and asked.slots & mine & theirs:
        return True
    other_slot = mine and theirs and not mine & theirs
    if other_slot or found.alike is None or found.alike[new, old] < ALIKE:
        return False
    if not (found.held[new] & found.held[old] & asked.subject).any():
        return False
    if talked:
        return bool(found.marks[new] & CHANGED) and _says_as_much(found, new, old, asked)
    return bool(found.marks[new] & CHANGED) or bool(worth >= AS_WELL)


def _same_subject(found: Statements, new: int, old: int, asked: Wanted) -> bool:
    """The names of the question in both alike, else most of what it is about; of one speaker,
    unless both speak of the named from outside."""
    mine, theirs = found.held[new], found.held[old]
    if not asked.named.any():
        either = found.weight @ ((mine | theirs) & asked.subject)
        both = found.weight @ (mine & theirs & asked.subject)
        return bool(found.speaker[new] == found.speaker[old] and both >= OVERLAP * either)
    if (mine != theirs)[asked.named].any() or not mine[asked.named].any():
        return False
    personal = int(found.marks[new] | found.marks[old]) & PERSONAL
    return bool(found.speaker[new] == found.speaker[old] or not personal)


def _says_as_much(found: Statements, new: int, old: int, asked: Wanted) -> bool:
    """Whether the newer statement holds every word, and one at least, that the older one has of
    what a plain question asks beside a name."""
    beside = asked.subject & ~asked.named
    theirs = found.held[old] & beside
    return asked.plain and bool(theirs.any()) and not (theirs & ~found.held[new]).any()


# -- wording ---------------------------------------------------------------------------------


class _Entries(frozenset[str]):
    """Entries of tables, with the longest that begins with a word or character, in units."""

    def __init__(self, entries: Iterable[str]) -> None:
        self.longest: dict[str, int] = {}
        for entry in self:
            units = list(entry) if _IS_CJK.match(entry) else entry.split()
            self.longest[units[0]] = max(len(units), self.longest.get(units[0], 0))


@dataclass(frozen=True, slots=True)
class _Tables:
    names: Mapping[str, int]
    values: Mapping[str, int]
    weak: Mapping[str, int]
    slots: _Entries
    update: _Entries
    rest: _Entries
    past: re.Pattern[str]
    present: re.Pattern[str]
    several: re.Pattern[str]


@lru_cache(maxsize=16)
def _compiled(languages: tuple[Wording, ...]) -> _Tables:
    """One set of tables of all languages: no word of one is a word of another by its script."""
    slots = dict.fromkeys(name for each in languages for name in each.names)
    bits = {name: 1 << number for number, name in enumerate(slots)}

    def table(kind: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for language in languages:
            for name, listed in getattr(language, kind).items():
                for entry in _listed(listed):
                    found[entry] = found.get(entry, 0) | bits[name]
        return found

    def every(kind: str) -> Iterator[str]:
        return (entry for each in languages for entry in _listed(getattr(each, kind)))

    def pattern(kind: str) -> re.Pattern[str]:
        return re.compile("|".join(getattr(each, kind) for each in languages))

    names, values, weak = table("names"), table("values"), table("weak")
    return _Tables(
        names,
        values,
        weak,
        _Entries((*names, *values, *weak)),
        _Entries(every("update")),
        _Entries((*names, *weak, *every("asking"))),
        pattern("past"),
        pattern("present"),
        pattern("several"),
    )


def _listed(entries: str) -> Iterator[str]:
    for each in entries.split(","):
        yield " ".join(map(_stem, words(each)))


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    if _IS_CJK.match(word):
        return word
    found = keywords(word)
    return found[0] if found else word  # a stop word may be half of an entry


def _runs(heard: Iterable[str]) -> list[_Run]:
    latin: list[str] = []
    runs: list[_Run] = [(latin, " ")]
    for word in heard:
        if not word.isascii() and _IS_CJK.match(word):
            runs.append((word, ""))
        else:
            latin.append(_stem(word))
    return runs


def _spans(run: _Run, known: _Entries) -> list[tuple[int, int]]:
    """Where known entries stand, in order, each the longest that begins where it does."""
    (units, joint), spans, free, longest = run, [], 0, known.longest
    for at in [at for at, unit in enumerate(units) if unit in longest]:  # hardly any
        if at < free:
            continue
        for end in range(min(at + longest[units[at]], len(units)), at, -1):
            if joint.join(units[at:end]) in known:
                spans.append((at, end))
                free = end
                break
    return spans


def _slots(runs: Iterable[_Run], tables: _Tables) -> tuple[int, int]:
    """(slots that are named, slots that are named or told of), as bits."""
    named = told = weak = 0
    for units, joint in runs:
        for start, end in _spans((units, joint), tables.slots):
            entry = joint.join(units[start:end])
            named |= tables.names.get(entry, 0)
            told |= tables.values.get(entry, 0)
            weak |= tables.weak.get(entry, 0)
    return named or weak, named | told or weak


def _rest(runs: Iterable[_Run], tables: _Tables) -> Iterator[str]:
    """What a question holds beside its slot and the words of asking."""
    for units, joint in runs:
        at = 0
        for start, end in [*_spans((units, joint), tables.rest), (len(units), len(units))]:
            between = units[at:start]
            yield from between if joint else ["".join(between)]
            at = end


def _is_cjk_name(text: str) -> bool:
    return _IS_CJK.match(text) is not None and len(text) in _CJK_NAME
