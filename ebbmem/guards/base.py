"""The seam: what may change, label or refuse a text before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TypeAlias

from ebbmem.errors import InvalidInput
from ebbmem.records import Draft, Memory

__all__ = ["CHANGEABLE", "Guard", "check_guards", "guarded"]

Guard: TypeAlias = Callable[[Draft], Draft]
"""Gives a draft back as it is, or with other words, metadata or label; or raises `Refused`.

It is asked for every text on its way in, before any is embedded, weighed or written, and for the
same one more than once: to look whether it is known, and after somebody else's change. So the
same draft must give the same. What it raises reaches the caller, and nothing is kept.
"""

CHANGEABLE = ("text", "speaker", "metadata", "label")
"""What a guard may give otherwise; what a record is known by is not its to change."""

_SHARED = tuple(
    each.name for each in fields(Draft) if each.name in {one.name for one in fields(Memory)}
)
_FIXED = tuple(each.name for each in fields(Draft) if each.name not in CHANGEABLE)


def check_guards(given: Guard | Iterable[Guard]) -> tuple[Guard, ...]:
    """One guard or several; raises `InvalidInput` where one cannot be called."""
    listed = given if isinstance(given, Iterable) else (given,)
    guards = tuple(listed)
    for each in guards:
        if not callable(each):
            raise InvalidInput("guard", f"must be a function of a draft, not {_kind(each)}")
    return guards


def guarded(item: Draft | Memory, guards: Sequence[Guard]) -> Draft | Memory:
    """What the guards make of it, one after the other; a memory is shown to them as a draft.

    Raises:
        InvalidInput: a guard gave something else than this draft with `CHANGEABLE` changed.
    """
    if not guards:
        return item
    draft = was = item if isinstance(item, Draft) else _as_draft(item)
    for guard in guards:
        draft = _checked(draft, guard(draft))
    if isinstance(item, Draft):
        return draft
    changed = {name: getattr(draft, name) for name in CHANGEABLE}
    same = all(getattr(was, name) == value for name, value in changed.items())
    return item if same else replace(item, **changed)


def _as_draft(memory: Memory) -> Draft:
    return Draft(at=memory.created_at, **{name: getattr(memory, name) for name in _SHARED})


def _checked(was: Draft, given: object) -> Draft:
    if given is was:
        return was
    if not isinstance(given, Draft):
        raise InvalidInput("guard", f"must give a Draft back, not {_kind(given)}")
    if changed := [name for name in _FIXED if getattr(given, name) != getattr(was, name)]:
        may = ", ".join(CHANGEABLE)
        raise InvalidInput("guard", f"changed {', '.join(changed)}; it may change {may}")
    return given


def _kind(value: object) -> str:
    return type(value).__name__
