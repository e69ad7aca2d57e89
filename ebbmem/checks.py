"""The door: what callers give is checked here, once, before anything is embedded or written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

from ebbmem.errors import InvalidInput

__all__ = [
    "DEEPEST",
    "MOST_NUMBERS",
    "check_choice",
    "check_cosine",
    "check_count",
    "check_flag",
    "check_fraction",
    "check_ids",
    "check_label",
    "check_metadata",
    "check_namespace",
    "check_path",
    "check_text",
    "check_vector",
    "check_whole",
    "is_number",
    "shown",
]


DEEPEST = 32
"""Levels of lists and objects in metadata; readers of JSON give up somewhere beyond."""

LONGEST_LABEL = 512
"""Characters of what names a thing: it is a key of indexes, and is told in errors."""

MOST_PARTS = 64
"""Names in a namespace; all of them stand in every row."""

MOST_IDS = 1_000_000
"""Ids in one call: they are one parameter of one statement."""

MOST_NUMBERS = 65_536
"""Numbers in a vector that is a query; the largest embedders give a few thousand."""

MOST_VALUES = 200_000
"""Values in metadata: what holds itself twice at every level is short, and without end to copy."""

MOST_CHARACTERS = 2**28
"""In all of them; SQLite holds 2**30 bytes in one value."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_text(name: str, value: object) -> str:
    """`value` if it is text that can be kept; the error never quotes it."""
    if not isinstance(value, str):
        raise InvalidInput(name, f"must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(name, "is blank")
    _check_encodable(name, value)
    return value


def check_label(name: str, value: object) -> str:
    """`value` if it can name a thing: one line of 1 to 512 characters that can be encoded."""
    label = check_text(name, value)
    if len(label) > LONGEST_LABEL:
        size = f"is {len(label)} characters long"
        raise InvalidInput(name, f"{size}, at most {LONGEST_LABEL} are allowed")
    if found := _CONTROL.search(label):  # SQLite's JSON ends a text at NUL
        raise InvalidInput(name, f"holds a control character at character {found.start()}")
    return label


def check_fraction(name: str, value: object) -> float:
    """`value` if it is a number in [0, 1]; booleans are not numbers."""
    if not is_number(value):
        raise InvalidInput(name, f"must be a number in [0, 1], not {type(value).__name__}")
    if not 0.0 <= value <= 1.0:  # type: ignore[operator]  # NaN fails the comparison too
        raise InvalidInput(name, f"must lie in [0, 1], not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def check_whole(name: str, value: object) -> int:
    """`value` if it is a whole number in [0, 2**31)."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise InvalidInput(name, f"must be a whole number in [0, 2**31), not {shown(value)}")
    return value


def check_flag(name: str, value: object) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, bool):
        raise InvalidInput(name, f"must be True or False, not {shown(value)}")
    return value


def check_choice(name: str, value: object, known: tuple[str, ...]) -> Any:
    """`value` if it is one of these."""
    if value not in known:
        raise InvalidInput(name, f"must be one of {', '.join(known)}, not {shown(value)}")
    return value


def check_count(name: str, value: object, *, least: int) -> int:
    """`value` if it is a whole number from `least` on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(name, f"must be a whole number from {least} on, not {shown(value)}")
    return value


def check_cosine(name: str, value: object) -> float:
    """`value` if it is a number in [-1, 1]."""
    if not is_number(value) or not -1.0 <= value <= 1.0:  # type: ignore[operator]
        raise InvalidInput(name, f"must lie in [-1, 1], not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def check_namespace(value: object) -> tuple[str, ...]:
    """A namespace as a tuple of non-blank strings; a single string is a tuple of one."""
    parts: Iterable[object] = (value,) if isinstance(value, str) else ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        parts = value
    checked = tuple(check_label("namespace", part) for part in islice(parts, MOST_PARTS + 1))
    if not checked:
        given = repr(value) if isinstance(value, tuple | list) else type(value).__name__
        raise InvalidInput("namespace", f"must be a name or a tuple of names, not {given}")
    if len(checked) > MOST_PARTS:
        raise InvalidInput("namespace", f"has more than {MOST_PARTS} names")
    return checked


def check_ids(value: object, name: str = "ids") -> list[str]:
    """One id or several as a list without repetitions; None and blank ones are refused."""
    if isinstance(value, str):
        return [check_label("id", value)]
    if not isinstance(value, Iterable):
        raise InvalidInput(name, f"must be an id or several, not {type(value).__name__}")
    listed = list(islice(value, MOST_IDS + 1))
    if len(listed) > MOST_IDS:
        raise InvalidInput(name, f"are more than {MOST_IDS:,}, give them in several calls")
    return list(dict.fromkeys(check_label("id", id_) for id_ in listed))


def check_vector(value: object) -> tuple[float, ...]:
    """A query that is a vector: finite numbers, not all of them zero."""
    if isinstance(value, bytes | Mapping | Set) or not isinstance(value, Iterable):
        raise InvalidInput("query", f"must be text or a vector, not {type(value).__name__}")
    numbers = list(islice(value, MOST_NUMBERS + 1))
    if len(numbers) > MOST_NUMBERS:
        raise InvalidInput("query", f"is a vector of more than {MOST_NUMBERS:,} numbers")
    try:
        if any(isinstance(each, str | bytes) for each in numbers):
            raise TypeError
        row = tuple(float(each) for each in numbers)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("query", "must be text or a vector of numbers") from None
    if not row or not all(map(math.isfinite, row)) or not any(row):
        raise InvalidInput("query", "is a vector that is empty, all zero, or not finite")
    return row


def check_path(value: object) -> str | Path:
    """`value` if it can name a file."""
    if not isinstance(value, str | Path):
        raise InvalidInput("path", f"must be a path, not {type(value).__name__}")
    if not str(value).strip() or "\0" in str(value):
        raise InvalidInput("path", "is blank or holds a NUL")
    return value


def check_metadata(
    value: object, name: str = "metadata", *, deepest: int = DEEPEST
) -> dict[str, Any]:
    """A deep copy of `value` if it is a JSON object: no tuples, NaN or foreign objects."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, f"must be a mapping, not {type(value).__name__}")
    copied = dict(_Json(name, deepest).items((None, name), value, 1))
    if copied:
        _check_encodable(name, json.dumps(copied, ensure_ascii=False))
    return copied


_Place = tuple[Any, str | int]  # where a value stands: the place of what holds it, and a key


class _Json:
    """Copies one JSON object; counts what it copied."""

    __slots__ = ("characters", "deepest", "name", "values")

    def __init__(self, name: str, deepest: int) -> None:
        self.name = name
        self.deepest = deepest
        self.values = MOST_VALUES
        self.characters = MOST_CHARACTERS

    def items(
        self, place: _Place, value: Mapping[Any, object], depth: int
    ) -> Iterable[tuple[str, Any]]:
        self._require_depth(depth)
        for key, item in value.items():
            if not isinstance(key, str):
                kind = shown(key)
                raise InvalidInput(_path(place), f"has a key that is not text: {kind}")
            self._take(len(key))
            yield key, self._value((place, key), item, depth)

    def _value(self, place: _Place, value: object, depth: int) -> Any:
        self._take(len(value) if isinstance(value, str) else 1)
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int):
            if abs(value) >= 2**63:
                raise InvalidInput(_path(place), "is a whole number beyond 64 bits")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise InvalidInput(_path(place), f"is {value!r}, which JSON cannot hold")
            return value
        if isinstance(value, list):
            self._require_depth(depth)
            return [
                self._value((place, index), item, depth + 1) for index, item in enumerate(value)
            ]
        if isinstance(value, dict):
            return dict(self.items(place, value, depth + 1))
        raise InvalidInput(_path(place), f"is a {type(value).__name__}, which JSON cannot hold")

    def _require_depth(self, depth: int) -> None:
        if depth > self.deepest:
            raise InvalidInput(self.name, f"is nested more than {self.deepest} deep")

    def _take(self, characters: int) -> None:
        self.values -= 1
        self.characters -= characters
        if self.values < 0:
            raise InvalidInput(self.name, f"holds more than {MOST_VALUES:,} values")
        if self.characters < 0:
            raise InvalidInput(self.name, f"holds more than {MOST_CHARACTERS:,} characters")


def _path(place: _Place) -> str:
    """A place as text, such as metadata.a[1]; made only where something is wrong there."""
    holder, key = place
    if holder is None:
        return str(key)
    return f"{_path(holder)}[{key}]" if isinstance(key, int) else f"{_path(holder)}.{key[:80]}"


def _check_encodable(name: str, value: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(name, f"holds a lone surrogate at character {error.start}") from None


def shown(value: object) -> str:
    """A number as it is, anything else by its type: it may be private, or too long to print."""
    short = isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20)
    return repr(value) if short else type(value).__name__


def is_number(value: object) -> bool:
    """Whether `value` is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
