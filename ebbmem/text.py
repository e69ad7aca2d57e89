"""Text as keywords and as passages: words, stems, CJK characters and pairs. Pure.

Stemming is Snowball's English (M. F. Porter, 1980 and 2001); words of other scripts are
kept whole. Han, kana and Hangul have no spaces, so their runs give every character and
every overlapping pair (J. Nie et al., 2000, on unigram and bigram indexing of Chinese).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import Stemmer

__all__ = [
    "CJK",
    "PARTING",
    "count_words",
    "is_pair",
    "keywords",
    "passages",
    "spoken",
    "terms",
    "words",
]

PASSAGE_WORDS = 80
"""Longest passage in words; late interaction and small encoders lose the rest of longer ones."""

PARTING = "\u2029"
"""A paragraph separator: what stands on its two sides is compared with a query apart."""

CJK = (
    "\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters that are written without spaces, as ranges of a regular expression's class."""

_MARKS = (  # combining signs belong to their word: accents, points, vowels of Indic scripts
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u0e30-\u0e4e\u0eb0-\u0ece\u102b-\u109d"
)
_LETTER = rf"(?:[^\W_{CJK}]|[{_MARKS}])"
_TOKEN = re.compile(rf"[{CJK}]+|{_LETTER}+(?:['’]{_LETTER}+)*[+#]{{0,2}}")
_POINTS = (
    "\u3000-\u3004\u3008-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # of CJK text
)
_UNIT = re.compile(rf"[{CJK}]|[^\s{CJK}{_POINTS}]+")
_SPACE = re.compile(r"\s*")
_TAIL = re.compile(rf"[{_POINTS}]*")
_IS_CJK = re.compile(rf"[{CJK}]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_LONGEST_TERM = 64  # characters; beyond that it is a blob, not a word

_STOP_WORDS = frozenset(
    "a about above after again against all also am an and any are aren't as at be because been "
    "before being below between both but by can can't cannot could couldn't did didn't do does "
    "doesn't doing don't down during each else ever few for from further get gets getting got had "
    "hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him himself "
    "his how i i'd i'll i'm i've if in into is isn't it it's its itself just let let's like me "
    "might more most mustn't my myself no nor not of off on once only or other ought our ours "
    "ourselves out over own really same shall she she'd she'll she's should shouldn't so some "
    "such than that that's the their theirs them themselves then there there's these they they'd "
    "they'll they're they've this those through to too under until up us very was wasn't we we'd "
    "we'll we're we've were weren't what what's when when's where which while who who's whom "
    "whose why will with won't would wouldn't yes you you'd you'll you're you've your yours "
    "yourself yourselves".split()
)
_STOP_CHARACTERS = frozenset(
    "的了吗嗎呢吧啊呀哦嗯是我你您他她它们們在有和与與也都就很还還这這那哪什么麼么怎不没沒"
    "把被从從为為于於之其のはがをにでともへかねよ"
)
_WEAK_CHARACTERS = frozenset(  # say little alone, but are half of a word: 最近, 东西, 时候
    "会會要去来來说說给給对對个個点點多少最好大小上下里裡出到过過得着著可能想让讓用年月日天时時"
    "候人事东西些样樣"
)
_SILENT = _STOP_CHARACTERS | _WEAK_CHARACTERS

_stemmer = threading.local()  # a Snowball stemmer is not safe to share between threads


def words(text: str) -> list[str]:
    """Lower-cased words; CJK runs as one."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    lowered = folded.lower().replace("i\u0307", "i")  # what a dotted capital I becomes
    return [match.replace("’", "'") for match in _TOKEN.findall(lowered)]


def keywords(text: str) -> list[str]:
    """Terms for a keyword index, with repetitions: stems without stop words, CJK units."""
    return terms(words(text))


def terms(heard: Iterable[str]) -> list[str]:
    """The same of words that `words` gave."""
    found: list[str] = []
    for word in heard:
        if word.isascii():
            if word not in _STOP_WORDS:
                found.append(_stem(word[:_LONGEST_TERM]))
        elif _IS_CJK.match(word):
            found.extend(_cjk_terms(word))
        else:
            found.append(_stem(word[:_LONGEST_TERM]))
    return found


def is_pair(term: str) -> bool:
    """Whether a keyword is a pair of CJK characters."""
    return len(term) == 2 and _IS_CJK.match(term) is not None


def spoken(speaker: str | None, passage: str) -> str:
    """A passage as it is indexed: who said it is part of what can be asked for."""
    return passage if speaker is None else f"{speaker}: {passage}"


def count_words(text: str) -> int:
    """Length in words; two CJK characters count as one."""
    if text.isascii():
        return len(text.split())
    units = _UNIT.findall(text)
    cjk = sum(1 for unit in units if _IS_CJK.match(unit))
    return len(units) - cjk + (cjk + 1) // 2


def passages(text: str, limit: int = PASSAGE_WORDS) -> list[tuple[int, int]]:
    """Spans [start, stop) of at most `limit` words, whole sentences where they fit.

    The spans lie in order and hold every word of the text; a text of one passage is one span.
    What a paragraph separator (U+2029) parts never shares a passage.
    """
    if PARTING not in text:
        return _spans(text, limit)
    found, start = [], 0
    for part in text.split(PARTING):
        if part.strip():
            found += [(start + begin, start + end) for begin, end in _spans(part, limit)]
        start += len(part) + 1
    return found


def _spans(text: str, limit: int) -> list[tuple[int, int]]:
    if len(text) <= limit or count_words(text) <= limit:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    start, length, last = None, 0.0, 0
    for begin, end, size in _pieces(text, limit):
        if start is not None and length + size > limit:
            spans.append((start, last))
            start = None
        if start is None:
            start, length = begin, 0.0
        length += size
        last = end
    if start is not None:
        spans.append((start, len(text.rstrip())))  # with what points stand at the end
    return spans


def _pieces(text: str, limit: int) -> Iterator[tuple[int, int, float]]:
    """(start, stop, words) of sentences, those over the limit cut between words."""
    begin = last = 0
    ends = [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    for end in ends:
        first, size = None, 0.0
        for unit in _UNIT.finditer(text, begin, end):
            weight = 0.5 if _IS_CJK.match(unit.group()) else 1.0
            if first is not None and size + weight > limit:
                yield first, last, size
                first, size = None, 0.0
            if first is None:
                first = _begin(text, last)  # points before a word belong to its piece
            size += weight
            last = _end(text, unit.end())
        if first is not None:
            yield first, last, size
        begin = end


def _begin(text: str, at: int) -> int:
    """Where the white space at a place ends."""
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _end(text: str, at: int) -> int:
    """Where the punctuation behind a unit ends."""
    match = _TAIL.match(text, at)
    return at if match is None else match.end()


def _cjk_terms(run: str) -> Iterator[str]:
    """Characters that mean something alone, and pairs that hold one or are of two weak ones."""
    for index, character in enumerate(run):
        pair = run[index : index + 2]
        if not _SILENT.issuperset(character):
            yield character
        if len(pair) == 2 and (not _SILENT.issuperset(pair) or _WEAK_CHARACTERS.issuperset(pair)):
            yield pair


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    stem = getattr(_stemmer, "stem", None)
    if stem is None:
        stem = _stemmer.stem = Stemmer.Stemmer("english").stemWord
    return str(stem(word.removesuffix("'s")))
