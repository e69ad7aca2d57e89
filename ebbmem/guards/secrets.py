"""What must not be kept: keys, tokens, passwords, card numbers, found and masked or refused.

A secret is what lets whoever reads it act in somebody's name. A telephone or an account number,
an address of mail, a code that is good for a minute are private, and no secrets. What names a
thing (an id, a source, a key) cannot be masked, or two would become one: a secret there is
refused. What is asked for is masked too, as the words of a person are asked for after they have
been kept. Names of namespaces are the caller's, and nobody looks into them.

It finds what looks like a secret, or is called one. A password in a sentence that does not say
so is found by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ebbmem.checks import check_choice
from ebbmem.errors import Refused
from ebbmem.guards.folding import fold
from ebbmem.guards.formats import FORMATS, Format
from ebbmem.guards.naming import QUOTES, formats, names_password, trimmed
from ebbmem.records import Draft

__all__ = ["SecretGuard", "Span", "mask", "secrets"]

_NAMED = formats()
_NAMES = ("id", "source", "key")
_MARK = "[secret"
_LONGEST_NAMED = 512  # characters under a key that may name them: more are no key or password


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where in a text a secret stands, and of what kind it is."""

    start: int
    stop: int
    kind: str


@dataclass(frozen=True, slots=True)
class SecretGuard:
    """Masks secrets in words, speakers and metadata, or refuses a draft that holds one.

    `Policy(secrets="mask")` asks for it wherever a namespace is opened; as `guard=` it acts for
    one opening.

    Raises, when called:
        Refused: with the kind of secret and the field; the secret is not in it.
    """

    act: Literal["mask", "refuse"] = "mask"

    def __post_init__(self) -> None:
        check_choice("act", self.act, ("mask", "refuse"))

    def __call__(self, draft: Draft) -> Draft:
        for field in _NAMES:
            _require_none(field, getattr(draft, field))
        if self.act == "refuse":
            _require_none("text", draft.text)
            _require_none("speaker", draft.speaker)
            if kind := _kind_within(draft.metadata):
                raise Refused("metadata", kind)
            return draft
        text = mask(draft.text)
        speaker = None if draft.speaker is None else mask(draft.speaker)
        metadata = _masked_mapping(draft.metadata) if draft.metadata else draft.metadata
        if (text, speaker, metadata) == (draft.text, draft.speaker, draft.metadata):
            return draft
        return replace(draft, text=text, speaker=speaker, metadata=metadata)


def secrets(text: str) -> list[Span]:
    """The secrets of a text, in order, none within another; time is linear in its length."""
    folded = fold(text)
    found = sorted(_matches(folded.text), key=lambda each: each[0])  # formats before names
    apart: list[Span] = []
    for first, last, kind in found:
        start, stop = folded.span(first, last)
        if not apart or start >= apart[-1].stop:
            apart.append(Span(start, stop, kind))
        elif stop > apart[-1].stop:
            apart[-1] = replace(apart[-1], stop=stop)
    return apart


def mask(text: str) -> str:
    """The text with `[secret: kind]` in place of each; masked again it is the same."""
    found = secrets(text)
    return _without(text, found) if found else text


def _without(text: str, found: Iterable[Span]) -> str:
    parts: list[str] = []
    last = 0
    for each in found:
        parts += [text[last : each.start], f"{_MARK}: {each.kind}]"]
        last = each.stop
    return "".join([*parts, text[last:]])


def _matches(text: str) -> Iterable[tuple[int, int, str]]:
    for each in FORMATS:
        if not each.anchors or any(anchor in text for anchor in each.anchors):
            yield from _found(each, text)
    lowered = text.lower()
    for each in _NAMED:
        if any(anchor in lowered for anchor in each.anchors):
            for start, stop, kind in _found(each, text):
                quoted = text[start - 1] in QUOTES
                yield start, stop if quoted else start + len(trimmed(text[start:stop])), kind


def _found(form: Format, text: str) -> Iterable[tuple[int, int, str]]:
    """Matches that hold; after one that does not, the search goes on behind its first character."""
    group = "secret" if "secret" in form.pattern.groupindex else 0
    place = 0
    while match := form.pattern.search(text, place):
        secret = match[group]
        if form.holds(secret) and _MARK not in secret:
            yield match.start(group), match.end(group), form.kind
            place = match.end()
        else:
            place = match.start() + 1


def _require_none(field: str, text: str | None) -> None:
    if text is not None and (found := secrets(text)):
        raise Refused(field, found[0].kind)


def _kind_within(value: object, name: str = "") -> str | None:
    """The kind of a secret in metadata; None without one."""
    if isinstance(value, Mapping):
        each = (_kind_within(key) or _kind_within(item, key) for key, item in value.items())
        return next(filter(None, each), None)
    if isinstance(value, list):
        return next(filter(None, (_kind_within(item, name) for item in value)), None)
    found = _told(name, value)
    return found[0].kind if found else None


def _masked_mapping(metadata: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in metadata.items():
        name, number = mask(key), 1
        while name in made or (name != key and name in metadata):  # two keys may be masked alike
            number += 1
            name = f"{mask(key)} {number}"
        made[name] = _masked(value, key)
    return made


def _masked(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return _masked_mapping(value)
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    return _without(str(value), found) if (found := _told(name, value)) else value


def _told(name: str, value: object) -> list[Span]:
    """The secrets of a text or a whole number of metadata, which its key may name."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return []
    text = str(value)
    if text and names_password(name) and _MARK not in text:
        return [Span(0, len(text), "password")]
    if (found := secrets(text)) or not name or len(text) > _LONGEST_NAMED:
        return found
    before = len(name) + 2
    return [
        Span(each.start - before, each.stop - before, each.kind)
        for each in secrets(f"{name}: {text}")
        if each.start >= before
    ]
