"""Text as a reader sees it, with the way back: what is invisible or full-width hides nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Folded", "fold"]

# soft hyphen, grapheme joiner, Arabic and Mongolian marks, fillers, zero width, bidi, invisible
# operators, variation selectors, byte order mark, interlinear marks, tag characters
_HIDDEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_HIDDEN}]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text to look into.

    Attributes:
        text: compatibility forms folded (NFKC, one by one), digits of all scripts as 0 to 9,
            invisible characters left out.
        places: where each character of it stands in the original; None if that is the same.
    """

    text: str
    places: tuple[int, ...] | None

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The part of the original that a part of `text` was made of."""
        if self.places is None or start >= stop:
            return start, stop
        return self.places[start], self.places[stop - 1] + 1


def fold(text: str) -> Folded:
    """`text` folded, in time linear in its length."""
    if text.isascii() or not _needs_folding(text):
        return Folded(text, None)
    chars: list[str] = []
    places: list[int] = []
    known: dict[str, str] = {}
    for place, char in enumerate(text):
        plain = char if char < "\x80" else known.get(char)
        if plain is None:
            plain = known[char] = _plain(char)
        chars.extend(plain)
        places.extend([place] * len(plain))
    return Folded("".join(chars), tuple(places))


def _needs_folding(text: str) -> bool:
    return (
        not unicodedata.is_normalized("NFKC", text)
        or _INVISIBLE.search(text) is not None
        or _OTHER_DIGIT.search(text) is not None
    )


def _plain(char: str) -> str:
    if _INVISIBLE.match(char):
        return ""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return unicodedata.normalize("NFKC", char)
