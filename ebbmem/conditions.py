"""Conditions on metadata: equality, comparisons, and their combinations. Pure.

``{"topic": "tea"}`` is equality as JSON has it, at every depth: 1.0 is 1, true is not. A mapping
whose keys begin with ``$`` compares instead::

    $eq $ne            equal or not; a field that is missing is not equal to anything
    $gt $gte $lt $lte  numbers with numbers, texts with texts; anything else does not match
    $in $nin           one of a list, or none of it
    $exists            whether the field is there
    $has               an object: each of its keys matches, further ones may be there

``$and`` and ``$or`` stand where a field would and take a list of conditions.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ebbmem.checks import check_metadata, is_number
from ebbmem.errors import InvalidInput

__all__ = ["OPERATORS", "Condition", "condition"]

Condition = Callable[[Mapping[str, Any]], bool]
"""Whether some metadata matches."""

_Test = Callable[[object], bool]


class _Missing:
    """Stands for a field that is not there."""


_MISSING = _Missing()


def condition(where: Mapping[str, Any]) -> Condition:
    """What `where` asks of metadata, checked once.

    Raises:
        InvalidInput: an operator that does not exist, or an operand it cannot take.
    """
    wanted = check_metadata(where, "where")
    tests = [_part(key, value) for key, value in wanted.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _part(key: str, value: object) -> Condition:
    if key in _JOINS:
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise InvalidInput("where", f"{key} takes a list of conditions")
        parts = [condition(each) for each in value]
        join = _JOINS[key]
        return lambda metadata: join(part(metadata) for part in parts)
    if key.startswith("$"):
        raise InvalidInput("where", f"has {key} where a field or one of {sorted(_JOINS)} belongs")
    test = _test(value)
    return lambda metadata: test(metadata.get(key, _MISSING))


def _test(value: object) -> _Test:
    """What one field is asked."""
    if not isinstance(value, dict) or not any(name.startswith("$") for name in value):
        return _equal(value)
    if unknown := sorted(set(value) - set(OPERATORS)):
        known = ", ".join(OPERATORS)
        raise InvalidInput("where", f"has {', '.join(unknown)}; known are {known}")
    tests = [OPERATORS[name](operand) for name, operand in value.items()]
    return lambda found: all(test(found) for test in tests)


def _equal(operand: object) -> _Test:
    wanted = _canonical(operand)
    return lambda found: found is not _MISSING and _canonical(found) == wanted


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[object], _Test]:
    def of(operand: object) -> _Test:
        if not (is_number(operand) or isinstance(operand, str)):
            raise InvalidInput("where", f"compares with a {type(operand).__name__}")
        same: _Test = is_number if is_number(operand) else lambda found: isinstance(found, str)
        return lambda found: same(found) and compare(found, operand)

    return of


def _one_of(operand: object) -> _Test:
    if not isinstance(operand, list):
        raise InvalidInput("where", f"$in and $nin take a list, not {type(operand).__name__}")
    wanted = {_canonical(each) for each in operand}
    return lambda found: found is not _MISSING and _canonical(found) in wanted


def _exists(operand: object) -> _Test:
    if not isinstance(operand, bool):
        raise InvalidInput("where", f"$exists takes True or False, not {type(operand).__name__}")
    return lambda found: (found is not _MISSING) == operand


def _has(operand: object) -> _Test:
    if not isinstance(operand, dict):
        raise InvalidInput("where", f"$has takes an object, not {type(operand).__name__}")
    inner = condition(operand)
    return lambda found: isinstance(found, Mapping) and inner(found)


def _not(of: Callable[[object], _Test]) -> Callable[[object], _Test]:
    def negated(operand: object) -> _Test:
        test = of(operand)
        return lambda found: not test(found)

    return negated


OPERATORS: Mapping[str, Callable[[object], _Test]] = {
    "$eq": _equal,
    "$ne": _not(_equal),
    "$gt": _compared(operator.gt),
    "$gte": _compared(operator.ge),
    "$lt": _compared(operator.lt),
    "$lte": _compared(operator.le),
    "$in": _one_of,
    "$nin": _not(_one_of),
    "$exists": _exists,
    "$has": _has,
}
"""What a field may be asked, by name: operand -> test."""

_JOINS: Mapping[str, Callable[..., bool]] = {"$and": all, "$or": any}


def _canonical(value: object) -> str:
    return json.dumps(_plainly(value), sort_keys=True)


def _plainly(value: object) -> object:
    """Numbers as they are written shortest: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plainly(each) for key, each in value.items()}
    return [_plainly(each) for each in value] if isinstance(value, list) else value
