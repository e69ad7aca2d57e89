"""What a row must be to be believed: a file may be damaged, or made by somebody else.

SQLite's own types do not help there: a flipped bit makes a text of a number. So what is read is
checked once more, by the same few comparisons for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ebbmem.checks import check_namespace
from ebbmem.clock import NEVER
from ebbmem.errors import InvalidInput
from ebbmem.records import TRUSTS, Namespace
from ebbmem.store.base import AuditLine, NamespaceInfo, Passage, State
from ebbmem.store.probes import ProbeLine, RunLine

__all__ = [
    "Malformed",
    "check_audit",
    "check_columns",
    "check_namespace_row",
    "check_numbers",
    "check_passage",
    "check_probe",
    "check_run",
    "check_spans",
    "check_state",
    "namespace",
    "number_of",
    "text_of",
    "wrong_columns",
    "wrong_facts",
]

Test = Callable[[Any], object]
Line = TypeVar("Line")

_FIRST = -62_135_596_800_000_000  # 0001-01-01 in microseconds
_OVER_ONE = 1.01  # squared length of a unit vector, and what rounding adds


class Malformed(Exception):
    """A row that no ebbmem writes; the connection turns it into an error that names the file."""

    def __init__(self, id: object, reason: str) -> None:
        named = f"memory {id[:80]!r}" if isinstance(id, str) else "a row"
        super().__init__(f"{named} is damaged: {reason}; `ebbmem repair` mends the file")


def _text(value: object) -> bool:
    return type(value) is str


def _words(value: object) -> bool:
    return value is None or type(value) is str


def _flag(value: object) -> bool:
    return value in (0, 1)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _place(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 2**63)


def _instant(value: Any) -> bool:
    return type(value) is int and _FIRST <= value <= NEVER


def _ending(value: Any) -> bool:
    return value is None or (type(value) is int and _FIRST <= value <= NEVER)


_STATE: Mapping[str, Test] = {
    "category": _text,
    "importance": lambda value: type(value) is float and 0.0 <= value <= 1.0,
    "created_at": _instant,
    "last_reinforced_at": _ending,
    "recall_count": _count,
    "fades_at": _ending,
    "status": lambda value: value in ("active", "faded"),
    "faded_at": _ending,
    "expires_at": _ending,
    "superseded_at": _ending,
    "superseded_by": _words,
}
_NAMESPACE: Mapping[str, Test] = {"policy": _text, "pruned_at": _ending}
_AUDIT: Mapping[str, Test] = {
    "number": _count,
    "at": _instant,
    "action": _text,
    "id": _text,
    "hash": lambda value: type(value) is bytes,
}
_PROBE: Mapping[str, Test] = {
    "number": _count,
    "question": _text,
    "kind": lambda value: value in ("given", "sampled"),
    "added_at": _instant,
    "expected": lambda value: value and all(type(each) is str for each in value),
}
_RUN: Mapping[str, Test] = {
    "at": _instant,
    "k": _count,
    "asked": _count,
    "found": lambda value: type(value) is float and 0.0 <= value < 2**31,
    "hidden": lambda value: type(value) is float and 0.0 <= value < 2**31,
    "active": _count,
    "faded": _count,
    "mean_strength": lambda value: value is None or (type(value) is float and 0.0 <= value < 2**31),
}
_COLUMNS: Mapping[str, Test] = {
    "text": _text,
    "source": _words,
    "position": _place,
    "speaker": _words,
    "keyed": _flag,
    "searchable": _flag,
    "key": _words,
    "trust": lambda value: value in TRUSTS,
    "label": _words,
}


def check_state(state: State) -> State:
    """A state, if each of its facts can be."""
    if type(state.id) is not str:
        raise Malformed(None, "its id is no text")
    for name, test in _STATE.items():  # each row that is read: no list is made
        if not test(getattr(state, name)):
            raise Malformed(state.id, f"its {name} cannot be")
    return state


def wrong_facts(state: State) -> list[str]:
    """The facts of a state that cannot be."""
    return [name for name, test in _STATE.items() if not test(getattr(state, name))]


def wrong_columns(**columns: object) -> list[str]:
    """Those columns of a memory that cannot be, by the names its fields have."""
    return [name for name, value in columns.items() if not _COLUMNS[name](value)]


def check_namespace_row(info: NamespaceInfo) -> NamespaceInfo:
    """What a namespace keeps about itself, if it can be."""
    return _checked("of a namespace", info, _NAMESPACE)


def check_audit(line: AuditLine) -> AuditLine:
    """A line of the audit trail, if it can be."""
    return _checked("of the audit trail", line, _AUDIT)


def check_probe(line: ProbeLine) -> ProbeLine:
    """A probe, if it can be."""
    return _checked("of a probe", line, _PROBE)


def check_run(line: RunLine) -> RunLine:
    """A run over the probes, if it can be."""
    return _checked("of the history of probes", line, _RUN)


def _checked(whose: str, line: Line, tests: Mapping[str, Test]) -> Line:
    for name, test in tests.items():
        if not test(getattr(line, name)):
            raise Malformed(None, f"the {name} {whose} cannot be")
    return line


def check_numbers(*values: object) -> None:
    """Numbers by which readers know what they have missed."""
    if not all(type(each) is int for each in values):
        raise Malformed(None, "the number of a change is none")


def number_of(value: object) -> int:
    """A number that was read."""
    check_numbers(value)
    return value  # type: ignore[return-value]


def text_of(value: object) -> str:
    """An id or a name that was read."""
    if type(value) is not str:
        raise Malformed(None, "an id or a name in it is no text")
    return value


def check_columns(id: object, **columns: object) -> None:
    """Columns of a memory, by the names its fields have."""
    if type(id) is not str:
        raise Malformed(None, "its id is no text")
    for name, value in columns.items():
        if not _COLUMNS[name](value):
            raise Malformed(id, f"its {name} cannot be")


def check_passage(
    id: object, columns: tuple[Any, ...], *, dimension: int, token_dimension: int
) -> None:
    """Start, stop, vector, pieces and codes of a passage, by what its embedder gives."""
    start, stop, vector, pieces, codes = columns
    if type(start) is not int or type(stop) is not int or not 0 <= start <= stop:
        raise Malformed(id, "a passage of it lies nowhere")
    if type(vector) is not bytes or not vector or len(vector) != 4 * dimension:
        raise Malformed(id, "a vector of it is not of the embedder's dimension")
    row = np.frombuffer(vector, "<f4")
    if not float(np.dot(row, row)) <= _OVER_ONE:  # nor NaN
        raise Malformed(id, "a vector of it is no direction")
    if pieces is None and codes is None:
        return
    if type(pieces) is not bytes or type(codes) is not bytes or not pieces or len(pieces) % 4:
        raise Malformed(id, "the pieces of a passage of it are cut off")
    if max(pieces[3::4]) > 0x7F or len(codes) != len(pieces) // 4 * token_dimension or not codes:
        raise Malformed(id, "the pieces of a passage of it do not belong together")


def check_spans(id: str, text: str, passages: tuple[Passage, ...]) -> None:
    """That passages lie within their text."""
    if any(each.stop > len(text) for each in passages):
        raise Malformed(id, "a passage of it lies beyond its text")


def namespace(parts: object) -> Namespace:
    """A namespace that was read."""
    try:
        return check_namespace(parts)
    except InvalidInput:
        raise Malformed(None, "its namespace is none") from None
