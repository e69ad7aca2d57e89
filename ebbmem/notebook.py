"""How values show themselves in Jupyter: tables, strength bars, a curve.

Memory text is untrusted and escaped. The HTML holds no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ebbmem.decay import half_life
from ebbmem.display import inert, size, why
from ebbmem.records import Recollection

if TYPE_CHECKING:  # they show themselves with what is here, so they lie above
    from ebbmem.policy import Policy
    from ebbmem.results import Stats

__all__ = ["policy_html", "recollections_html", "stats_html"]


class _Html(str):
    """Markup that is already safe; everything else is escaped."""


def recollections_html(recollections: Sequence[Recollection]) -> str:
    """A table of what came to mind: score, strength, text, parts."""
    if not recollections:
        return "<p><em>nothing came to mind</em></p>"
    rows = [
        (
            rank,
            f"{each.score:.2f}",
            _meter(each.strength),
            _text_cell(each),
            each.memory.category,
            f"{each.memory.created_at:%Y-%m-%d}",
            why(each),
        )
        for rank, each in enumerate(recollections, 1)
    ]
    return _table(("", "score", "strength", "memory", "category", "said", "why"), rows)


def stats_html(stats: Stats) -> str:
    """A table of what a namespace holds."""
    rows: list[tuple[object, object]] = [
        ("active", stats.active),
        ("faded", stats.faded),
        ("superseded", stats.superseded),
        ("pinned", stats.pinned),
        ("under hold", stats.held),
        ("mean strength", "" if stats.mean_strength is None else _meter(stats.mean_strength)),
        ("strengths", _bars(stats)),
        ("fading within a week", stats.fading_week),
        ("fading within a month", stats.fading_month),
        ("recalls", stats.recalls),
        ("embedder", stats.embedder),
        ("timeline", stats.timeline),
        ("on disk", size(stats.bytes_on_disk)),
        ("in memory", size(stats.bytes_in_memory)),
        *((f"category {name}", count) for name, count in stats.by_category.items()),
    ]
    return _table(("namespace", " / ".join(stats.namespace)), rows)


def policy_html(policy: Policy) -> str:
    """A table of the categories at importance 0.5, each with its curve over 60 days."""
    rows = []
    for each in policy.known.values():
        rate = policy.rate(each.base_rate, 0.5)
        low, high = each.importance
        rows.append(
            (
                each.name,
                f"{each.base_rate:g}",
                f"{low:g} to {high:g}",
                f"{float(half_life(rate, policy.curve)):.3f} d",
                f"{float(policy.lifetime(each.base_rate, 0.5, 0)):.3f} d",
                _svg(policy, each.base_rate),
            )
        )
    caption = (
        f"{policy.curve.name} curve on the {policy.timeline} timeline, fades below "
        f"{policy.fade_below:g}, restorable for {policy.purge_after / timedelta(days=1):g} days"
    )
    heads = ("category", "rate a day", "importance", "half-life", "lifetime", "60 days")
    return _table(heads, rows, caption=caption)


def _text_cell(each: Recollection) -> _Html:
    said = f"<b>{escape(each.memory.speaker)}</b>: " if each.memory.speaker else ""
    return _Html(f"{said}{escape(inert(each.memory.text))}")


def _meter(value: float) -> _Html:
    share = 100 * min(max(value, 0.0), 1.0)
    return _Html(
        '<div style="width:5em;height:.7em;border:1px solid currentColor;display:inline-block">'
        f'<div style="width:{share:.0f}%;height:100%;background:currentColor;opacity:.6"></div>'
        f"</div> {value:.2f}"
    )


def _bars(stats: Stats) -> _Html:
    """The histogram of strengths, weak to strong."""
    most = max(*stats.histogram, 1)
    drawn = "".join(
        f'<rect x="{12 * index}" y="{30 - 30 * count / most:.1f}" width="10" '
        f'height="{30 * count / most:.1f}"><title>{count}</title></rect>'
        for index, count in enumerate(stats.histogram)
    )
    wide = 12 * len(stats.histogram)
    return _Html(
        f'<svg width="{wide}" height="31" role="img" fill="currentColor" '
        f'aria-label="strengths from 0 to {stats.histogram_top:g}">{drawn}'
        f'<line x1="0" x2="{wide}" y1="30.5" y2="30.5" stroke="currentColor"/></svg>'
    )


def _svg(policy: Policy, base_rate: float, *, days: int = 60) -> _Html:
    """Strength from 0.5 over `days`, above the dashed line under which it is hidden."""
    x = np.arange(days + 1, dtype=np.float64)
    y = policy.strength(base_rate, 0.5, 0, x)
    points = " ".join(f"{2 * a:.0f},{32 - 60 * b:.1f}" for a, b in zip(x, y, strict=True))
    level = 32 - 60 * policy.fade_below
    return _Html(
        f'<svg width="{2 * days}" height="34" role="img" aria-label="strength over {days} days">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<line x1="0" x2="{2 * days}" y1="{level:.1f}" y2="{level:.1f}" stroke="currentColor"'
        ' stroke-dasharray="2 3" opacity=".5"/></svg>'
    )


def _table(heads: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    style = ' style="text-align:left;vertical-align:top"'
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th{style}>{_cell(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td{style}>{_cell(each)}</td>" for each in row) + "</tr>" for row in rows
    )
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return str(value) if isinstance(value, _Html) else escape(str(value))
