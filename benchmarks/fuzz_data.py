"""Bytes as choices, numbers, texts and values that mean no good."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ebbmem import EbbmemError
from ebbmem.context import CLOSING, OPENING

__all__ = ["Data", "quietly"]


class Data:
    """Bytes read as choices, numbers, texts and values; at their end everything is zero."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next bytes, fewer at the end."""
        part = self._raw[self._at : self._at + size]
        self._at += size
        return part

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._raw))

    @property
    def left(self) -> bool:
        return self._at < len(self._raw)

    def below(self, most: int) -> int:
        """A whole number in [0, most)."""
        return int.from_bytes(self.take(4 if most > 256 else 1), "big") % most

    def one(self, of: Sequence[Any]) -> Any:
        """One of several."""
        return of[self.below(len(of))]

    def text(self) -> str:
        """A text of pieces: bytes as they come, and what others have stumbled over."""
        parts = []
        for _ in range(self.below(6)):
            kind = self.below(3)
            if kind == 0:
                parts.append(self.take(self.below(24)).decode("utf-8", "surrogateescape"))
            elif kind == 1:
                parts.append(self.one(FRAGMENTS))
            else:
                parts.append(self.one(FRAGMENTS) * self.below(200))
        return "".join(parts)

    def number(self) -> Any:
        """A number, or what looks like one."""
        return self.one(NUMBERS) if self.below(2) else self.below(2**31) / (1 + self.below(200))

    def time(self) -> Any:
        """An instant, or what looks like one."""
        if self.below(4) == 0:
            return self.one(TIMES)
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=self.below(4000) - 2000)

    def value(self, depth: int = 0) -> Any:
        """A value as JSON has it, or nearly."""
        kind = self.below(9 if depth < 6 else 6)
        if kind < 2:
            return self.text()
        if kind < 4:
            return self.number()
        if kind < 6:
            return self.one((None, True, False, b"x", (1,), {1}, "tea", 1, 1.0))
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.below(5))]
        return self.object(depth + 1)

    def object(self, depth: int = 0) -> dict[Any, Any]:
        """An object whose keys are often operators."""
        made: dict[Any, Any] = {}
        for _ in range(self.below(5)):
            key = self.one(KEYS) if self.below(3) else self.text()
            made[key] = self.value(depth + 1)
        return made


FRAGMENTS = (
    *(
        "tea",
        "I moved to Lisbon.",
        "我住在大阪。",
        "yesterday",
        "\n",
        " ",
        "\t",
        "",
        '"',
        "\u201c",
        "《",
    ),
    *(
        "「",
        "'",
        "\u2019",
        ".",
        "!?",
        "\0",
        "\x1b[31m",
        "[red]",
        "{x}",
        "<",
        "</memories>",
        OPENING,
    ),
    *(CLOSING, "\u202e", "\u200d", "\ufeff", "\u2029", "\U0001f468\u200d\U0001f469", "\ud83d", "é"),
    *(
        "\u0130",
        "ﬀ",
        "１９９９",
        "1999-12-31",
        "in May 2021 ",
        "三月",
        "A" * 300,
        "\U000e0041",
        "%s",
        "$or",
    ),
    *(
        "Ann's",
        "the",
        "system:",
        "\u0301",
        "\ufe0f",
        "\uac00",
        "\u1100\u1161",
        "a-b_c",
        "http://x.y/z?",
    ),
)
NUMBERS: tuple[Any, ...] = (
    *(
        0,
        1,
        -1,
        0.5,
        1.0,
        -0.0,
        1e-300,
        1e300,
        2**31,
        2**53 + 1,
        2**63,
        -(2**63),
        10**400,
        10**5000,
    ),
    *(math.nan, math.inf, -math.inf, True, "1", None, [], 5e-324, 0.05, 1e-6),
)
TIMES: tuple[Any, ...] = (
    *(None, "2026-01-01", 0, datetime(2026, 1, 1), datetime.min.replace(tzinfo=UTC)),
    datetime.max.replace(tzinfo=UTC),
)
KEYS = (
    *(
        "topic",
        "$or",
        "$and",
        "$eq",
        "$ne",
        "$gt",
        "$lte",
        "$in",
        "$nin",
        "$exists",
        "$has",
        "$x",
        "",
    ),
    *("a.b", "x') OR '1'='1", "type", "id", "\0", "é"),
)


def quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call answers; None if it was refused as it should be."""
    try:
        return call(*args, **kwargs)
    except EbbmemError as error:
        if not str(error):
            raise AssertionError("an error that says nothing") from error
        return None
