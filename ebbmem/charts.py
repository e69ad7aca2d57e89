"""Charts as inline SVG: bars, curves, small panels over time. Pure.

Colours are the classes and custom properties of the page they stand in, so that they follow
its light and its dark. Every mark has a `<title>`, which browsers show when it is pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "Panel", "bars", "lines", "panel", "tone"]

_WIDTH = 440
_LEFT, _RIGHT, _TOP = 34.0, 10.0, 16.0
_INNER = _WIDTH - _LEFT - _RIGHT
_MARKED = 60  # points of a panel that get a dot each


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: `kind` is its class; y is NaN where there is nothing."""

    name: str
    kind: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over time: `values` as many as there are moments, `words` how they read."""

    name: str
    kind: str
    values: tuple[float | None, ...]
    words: tuple[str, ...]
    top: float


def tone(share: float) -> str:
    """The class of a strength as a share of the cap: what stays, weakens, is about to go."""
    return "high" if share >= 0.5 else "mid" if share >= 0.2 else "low"


def bars(counts: Sequence[int], top: float, *, label: str) -> str:
    """A histogram over [0, top], with the count on every bar that has one."""
    height, floor = 210, 180.0
    most, step = max(*counts, 1), _INNER / len(counts)
    drawn = [_rule(floor)]
    for index, count in enumerate(counts):
        low, high = (top * each / len(counts) for each in (index, index + 1))
        tall = (floor - _TOP - 12.0) * count / most
        x, y = _LEFT + index * step, floor - tall
        words = f"{count} between {low:.2g} and {high:.2g}"
        drawn.append(
            f'<g><title>{words}</title><rect class="{tone(low / top)}" x="{x + 2:.1f}" '
            f'y="{y:.1f}" width="{step - 4:.1f}" height="{max(tall, 0.5):.1f}" rx="2"/>'
            + (_text(x + step / 2, y - 5, f"{count}", "middle", "strong") if count else "")
            + "</g>"
        )
    for index in range(0, len(counts) + 1, max(len(counts) // 5, 1)):
        value = top * index / len(counts)
        drawn.append(_text(_LEFT + index * step, floor + 17, f"{value:.2g}", "middle"))
    return _svg(drawn, height, label)


def lines(curves: Sequence[Line], *, top: float, level: float, label: str) -> str:
    """Curves over days to come, above the dashed line under which a memory is hidden."""
    height, floor = 230, 200.0
    last = max((x for each in curves for x, _ in each.points), default=0.0) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + _INNER * x / last, floor - (floor - _TOP) * min(y / top, 1.0)

    drawn = [_rule(place(0, top * share)[1], faint=share > 0) for share in (0, 0.25, 0.5, 0.75, 1)]
    drawn += [
        _text(_LEFT - 7, place(0, top * share)[1] + 4, f"{top * share:.2g}", "end")
        for share in (0.0, 0.5, 1.0)
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        word = "now" if share == 0 else f"{last * share:.3g} d"
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        drawn.append(_text(_LEFT + _INNER * share, floor + 18, word, anchor))
    y = place(0, level)[1]
    drawn.append(
        f'<line class="level" x1="{_LEFT}" x2="{_LEFT + _INNER}" y1="{y:.1f}" y2="{y:.1f}"/>'
    )
    for each in curves:
        shown = [place(x, y) for x, y in each.points if not math.isnan(y)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        title = f"<title>{escape(each.name)}</title>"
        drawn.append(f'<polyline class="curve {each.kind}" points="{path}">{title}</polyline>')
        if shown:
            x, y = shown[0]
            drawn.append(f'<circle class="{each.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return _svg(drawn, height, label)


def panel(
    moments: Sequence[float], ends: tuple[str, str], shown: Panel, *, width: int = 300
) -> str:
    """One quantity over time, from zero up, with its name and its last value above."""
    height, ceiling, floor = 128, 28.0, 104.0
    inner, first, span = width - 12.0, moments[0], moments[-1] - moments[0]
    places = [
        (
            6.0 + inner * ((moment - first) / span if span else 0.5),
            floor - (floor - ceiling) * min(value / shown.top, 1.0),
            words,
        )
        for moment, value, words in zip(moments, shown.values, shown.words, strict=True)
        if value is not None
    ]
    drawn = [
        _rule(floor, 6.0, width - 6.0),
        _rule(ceiling, 6.0, width - 6.0, faint=True),
        _text(6.0, ceiling - 9, shown.name, "start"),
        _text(6.0, height - 6.0, ends[0], "start"),
    ]
    if span:
        drawn.append(_text(width - 6.0, height - 6.0, ends[1], "end"))
    if places:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        area = f"{places[0][0]:.1f},{floor:.1f} {path} {places[-1][0]:.1f},{floor:.1f}"
        drawn.append(_text(width - 6.0, ceiling - 9, places[-1][2], "end", "strong"))
        drawn.append(f'<polygon class="area {shown.kind}" points="{area}"/>')
        drawn.append(f'<polyline class="curve {shown.kind}" points="{path}"/>')
    for x, y, words in places if len(places) <= _MARKED else places[-1:]:
        drawn.append(
            f'<circle class="{shown.kind}" cx="{x:.1f}" cy="{y:.1f}" r="3">'
            f"<title>{escape(words)}</title></circle>"
        )
    return _svg(drawn, height, f"{shown.name} over {len(moments)} runs", width=width)


def _svg(drawn: Sequence[str], height: int, label: str, *, width: int = _WIDTH) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(drawn)}</svg>"
    )


def _rule(
    y: float, left: float = _LEFT, right: float = _LEFT + _INNER, *, faint: bool = False
) -> str:
    kind = "rule faint" if faint else "rule"
    return f'<line class="{kind}" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
