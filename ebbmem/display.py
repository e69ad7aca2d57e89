"""Drawing for a terminal: strength bars, curves of braille dots, ages in words.

Memory text is untrusted: `inert` takes the teeth out of it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

import numpy as np

from ebbmem.records import Recollection

__all__ = [
    "age",
    "bar",
    "curve",
    "excerpt",
    "inert",
    "path",
    "size",
    "span",
    "why",
]

Point = tuple[float, float | None]


# --- text -------------------------------------------------------------------------------

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def inert(text: str) -> str:
    """`text` with what could steer a terminal made visible; line feeds stay."""
    return "".join(map(_visible, text.replace("\r\n", "\n").expandtabs(4)))


def _visible(char: str) -> str:
    if char == "\n" or (char not in _BIDI and unicodedata.category(char) not in _STEERING):
        return char
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else f"\\u{code:04x}"


_STEERING = ("Cc", "Cs", "Zl", "Zp")


def excerpt(text: str, *, width: int = 60) -> str:
    """The beginning of `text` on one line, at most `width` columns; Han takes two."""
    line = " ".join(inert(text[: 4 * width]).split())
    used = list(accumulate(_columns(char) for char in line))
    if not used or used[-1] <= width:
        return line
    return line[: bisect_right(used, width - 1)].rstrip() + "…"


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


_UNITS = (
    (timedelta(days=365.25), "year"),
    (timedelta(days=30.44), "month"),
    (timedelta(days=7), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)


def span(length: timedelta) -> str:
    """A length of time in its largest unit of which there are two, or one: "3 weeks"."""
    length = abs(length)
    for unit, name in _UNITS:
        count = int(length / unit)
        if count >= 2 or (count == 1 and name in ("day", "hour", "minute")):
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "moments"


def age(then: datetime, now: datetime) -> str:
    """How long ago, or how far ahead, in words: "3 days ago", "in 2 hours"."""
    if abs(now - then) < timedelta(minutes=1):
        return "just now"
    return f"{span(now - then)} ago" if then < now else f"in {span(then - now)}"


def size(count: int) -> str:
    """Bytes in the unit that leaves one to three digits before the point: "1.2 MB"."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000.0, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.95 else f"{value:.1f} {unit}"


def path(recollection: Recollection) -> str:
    """The way through the graph, "a -> b (similar 0.48)"; empty on a direct hit."""
    return " -> ".join(
        inert(step.id) + ("" if step.kind == "seed" else f" ({step.kind} {step.weight:.2f})")
        for step in recollection.via
    )


def why(recollection: Recollection) -> str:
    """The parts of a score on one line; what played no part is left out."""
    parts = [
        f"{name} {value:.2f}"
        for name, value in (
            ("similarity", recollection.similarity),
            ("keyword", recollection.keyword),
            ("interaction", recollection.interaction),
        )
        if value is not None
    ]
    parts += [
        f"{name} {value:+.3f}"
        for name, value in recollection.bonuses.items()
        if abs(value) >= 0.0005
    ]
    if recollection.via:
        parts.append(f"via {path(recollection)}")
    return ", ".join(parts)


# --- terminal ---------------------------------------------------------------------------


def bar(value: float, *, width: int = 8) -> str:
    """A bar of blocks for a value in [0, 1], an eighth of a character exact."""
    eighths = round(min(max(value, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (chr(0x2590 - rest) if rest else "")
    return drawn.ljust(width, "░")


def curve(
    points: Sequence[Point],
    *,
    width: int = 64,
    height: int = 4,
    top: float = 1.0,
    marks: Iterable[float] = (),
    ticks: Iterable[tuple[float, str]] = (),
    limits: tuple[float, float] | None = None,
) -> list[str]:
    """Lines of a plot in braille dots, two by four a character.

    Args:
        points: (x, y) ascending in x; y in [0, top], None where there is nothing.
        marks: where on x a triangle stands under the axis.
        ticks: (x, label) written under the axis.
        limits: x of the first and the last column; those of the points unless given.
    """
    left, right = limits or (points[0][0], points[-1][0])
    scale = (2 * width - 1) / ((right - left) or 1.0)
    cells = np.zeros((height, width), np.int32)
    for column, low, high in _strokes(points, left, scale):
        bottom, peak = (_row(value, top, height) for value in (low, high))
        for row in range(bottom, peak + 1):
            down = 4 * height - 1 - row
            if 0 <= column < 2 * width:
                cells[down // 4, column // 2] |= _DOTS[down % 4][column % 2]
    lines = ["".join(chr(0x2800 + dots) if dots else " " for dots in row) for row in cells]
    labels = [f"{top:.1f} ┤", *(["    │"] * (height - 1))]
    drawn = [label + line.rstrip() for label, line in zip(labels, lines, strict=True)]
    drawn.append("0.0 ┴" + "─" * width)
    under = (_written(labels, left, scale, width) for labels in (((x, "▲") for x in marks), ticks))
    return [*drawn, *("     " + row for row in under if row)]


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def _row(value: float, top: float, height: int) -> int:
    return round(min(max(value / top, 0.0), 1.0) * (4 * height - 1))


def _strokes(
    points: Sequence[Point], left: float, scale: float
) -> Iterable[tuple[int, float, float]]:
    """(dot column, lowest, highest) of the line through the points, gaps left out."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 is None or y1 is None:
            continue
        first, last = round((x0 - left) * scale), round((x1 - left) * scale)
        if first == last:
            yield first, min(y0, y1), max(y0, y1)
            continue
        for column in range(first, last):
            here, there = (
                y0 + (y1 - y0) * (each - first) / (last - first) for each in (column, column + 1)
            )
            # A steep stroke must not leave holes, a flat one must stay one dot high.
            yield column, min(here, there), max(here, there)


def _written(labels: Iterable[tuple[float, str]], left: float, scale: float, width: int) -> str:
    row = [" "] * width
    for x, label in labels:
        start = round((x - left) * scale) // 2
        for index, char in enumerate(label, start):
            if 0 <= index < width and start + len(label) <= width:
                row[index] = char
    return "".join(row).rstrip()
