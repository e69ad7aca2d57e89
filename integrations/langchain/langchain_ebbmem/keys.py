"""Which value of a dict is what the human said, and which is what was answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ebbmem import InvalidInput

__all__ = ["input_key_of", "output_key_of"]

_INPUTS = ("input", "question", "query", "human_input")
_OUTPUTS = ("answer", "output", "response", "text", "result")


def input_key_of(
    values: Mapping[str, Any], key: str | None, *, ignored: Collection[str] = ()
) -> str:
    """The key of what the human said.

    Args:
        key: the one that was named; None takes the only one, else a usual name.
        ignored: keys that are not the human's, such as the memory's own.

    Raises:
        InvalidInput: the named key is not there, or none is clear; the message names them all.
    """
    return _chosen("input_key", values, key, _INPUTS, ignored)


def output_key_of(values: Mapping[str, Any], key: str | None) -> str:
    """The key of what was answered; sources and steps beside it are not.

    Raises:
        InvalidInput: the named key is not there, or none is clear; the message names them all.
    """
    return _chosen("output_key", values, key, _OUTPUTS, ())


def _chosen(
    name: str,
    values: Mapping[str, Any],
    key: str | None,
    usual: Collection[str],
    ignored: Collection[str],
) -> str:
    if key is not None:
        if key not in values:
            raise InvalidInput(name, f"is {key!r}; there are {sorted(values)}")
        return key
    candidates = [each for each in values if each not in ignored]
    if len(candidates) == 1:
        return candidates[0]
    for each in usual:
        if each in candidates:
            return each
    raise InvalidInput(name, f"must be one of {sorted(candidates)}: none has a usual name")
