"""The state of a namespace as one HTML page, for people: see `MemoryBank.report`. Pure but `save`.

The page holds no script and may load nothing, which its own policy makes sure of: texts of
memories are untrusted, and escaped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from ebbmem import charts
from ebbmem.display import age, excerpt, inert, size
from ebbmem.errors import InvalidInput
from ebbmem.records import Memory
from ebbmem.results import Advice, Forecast, ProbeRun, Stats
from ebbmem.whole import appearing

__all__ = ["Curve", "Report", "page", "save"]

_QUOTED = 160  # columns of a memory's text


@dataclass(frozen=True, slots=True)
class Curve:
    """The strength of one memory over days to come; NaN where it has expired."""

    name: str
    memory: Memory
    days: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a page shows.

    Attributes:
        fading: soonest first.
        history: oldest first.
    """

    made_at: datetime
    stats: Stats
    fade_below: float
    curves: tuple[Curve, ...]
    fading: tuple[Forecast, ...]
    probes: int
    history: tuple[ProbeRun, ...]
    advice: tuple[Advice, ...]


def page(report: Report) -> str:
    """The whole document."""
    stats = report.stats
    name = escape(inert(" / ".join(stats.namespace)))
    style = files("ebbmem").joinpath("report.css").read_text("utf-8")
    sections = (
        _advice(report.advice),
        _tiles(stats),
        '<div class="grid">',
        _distribution(stats),
        _curves(report),
        "</div>",
        _history(report),
        _fading(report),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Memory of {name}</title><style>{style}</style></head>\n<body><main>"
        f'<header><p class="brand">ebbmem report</p><h1 dir="auto">{name}</h1>'
        f"<p>{report.made_at:%d %B %Y, %H:%M} UTC, {escape(stats.timeline)} timeline, "
        f"{escape(inert(stats.embedder))}</p></header>\n"
        + "\n".join(each for each in sections if each)
        + "\n<footer>Strengths are what they are without further use; a recall that counts sets "
        "the clock back. This page quotes memories: keep it as private as they are.</footer>"
        "</main></body></html>\n"
    )


def save(text: str, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page into a file that appears whole or not at all, readable by its owner alone.

    Raises:
        InvalidInput: the file cannot be written, or is there and not to be overwritten.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (overwrite and target.is_file()):
        raise InvalidInput(
            "file", f"{path} already exists" if target.is_file() else f"{path} is no file"
        )
    try:
        with appearing(target) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidInput("file", f"{path} cannot be written: {error.strerror}") from error
    return target


# --- sections ---------------------------------------------------------------------------


def _advice(advice: tuple[Advice, ...]) -> str:
    if not advice:
        return '<p class="calm">The numbers ask for no change.</p>'
    items = "".join(f"<li>{escape(each.text)}</li>" for each in advice)
    return f'<section class="advice"><h2>Advice</h2><ul>{items}</ul></section>'


def _tiles(stats: Stats) -> str:
    mean = "–" if stats.mean_strength is None else f"{stats.mean_strength:.2f}"
    hidden = f"{stats.faded:,} faded"
    if stats.superseded:
        hidden += f", {stats.superseded:,} superseded"
    tiles = (
        ("active", f"{stats.active:,}", hidden),
        ("mean strength", mean, f"of {stats.histogram_top:.2g}"),
        ("fading", f"{stats.fading_week:,}", f"in 7 days, {stats.fading_month:,} in 30"),
        ("recalls", f"{stats.recalls:,}", "counted so far"),
        ("protected", f"{stats.pinned:,}", f"pinned, {stats.held:,} held"),
        ("in memory", size(stats.bytes_in_memory), f"{size(stats.bytes_on_disk)} on disk"),
    )
    drawn = "".join(
        f"<div><dt>{name}</dt><dd><b>{value}</b> <span>{more}</span></dd></div>"
        for name, value, more in tiles
    )
    return f'<dl class="tiles">{drawn}</dl>'


def _distribution(stats: Stats) -> str:
    chart = charts.bars(
        stats.histogram, stats.histogram_top, label="active memories by strength, in ten bins"
    )
    most = max(stats.by_category.values(), default=1)
    rows = "".join(
        f'<li><span dir="auto">{escape(inert(name))}</span>{_meter(count / most, "median")}'
        f"<b>{count:,}</b></li>"
        for name, count in sorted(stats.by_category.items(), key=lambda each: (-each[1], each[0]))
    )
    categories = f'<h3>By category, faded ones too</h3><ul class="shares">{rows}</ul>'
    return _card(
        "Strength of active memories",
        "how many stand where; what drifts to the left is about to fade",
        (chart if stats.active else _nothing("No active memories.")) + (categories if rows else ""),
    )


def _curves(report: Report) -> str:
    if not report.curves:
        return ""
    drawn = charts.lines(
        [
            charts.Line(
                f"{each.name}: {excerpt(each.memory.text)}",
                each.name,
                tuple(zip(each.days, each.values, strict=True)),
            )
            for each in report.curves
        ],
        top=report.stats.histogram_top,
        level=report.fade_below,
        label="strength of the strongest, the median and the weakest memory over days to come",
    )
    legend = "".join(
        f'<li><i class="{each.name}"></i><span><b>{each.name}</b> {each.values[0]:.2f}, '
        f"{escape(inert(each.memory.category))}{', pinned' if each.memory.pinned else ''}"
        f"<q>{_said(each.memory, width=90)}</q></span></li>"
        for each in report.curves
    )
    return _card(
        "What is to come",
        f"strength if nobody uses them; under the dotted line, {report.fade_below:g}, recall "
        "does not show them",
        f'{drawn}<ul class="legend">{legend}</ul>',
    )


def _history(report: Report) -> str:
    title = "Probes"
    if not report.history:
        hint = f"{report.probes} kept, never asked yet: <code>ebbmem probe</code> asks them."
        if not report.probes:
            hint = "None yet: <code>ebbmem probe add QUESTION ID</code> keeps a question."
        return _card(title, "questions with known answers", _nothing(hint))
    k = report.history[-1].k
    runs = [each for each in report.history if each.k == k]
    recall = [each.recall for each in runs]
    means = [each.mean_strength for each in runs]
    shown = (
        charts.Panel(
            f"recall@{k}",
            "strongest",
            tuple(recall),
            tuple("–" if each is None else f"{each:.0%}" for each in recall),
            1.0,
        ),
        charts.Panel(
            "mean strength",
            "median",
            tuple(means),
            tuple("–" if each is None else f"{each:.2f}" for each in means),
            report.stats.histogram_top,
        ),
        charts.Panel(
            "active memories",
            "plain",
            tuple(float(each.active) for each in runs),
            tuple(f"{each.active:,}" for each in runs),
            float(max(*(each.active for each in runs), 1)),
        ),
    )
    moments = [each.at.timestamp() for each in runs]
    ends = f"{runs[0].at:%d %b %Y}", f"{runs[-1].at:%d %b %Y}"
    drawn = "".join(charts.panel(moments, ends, each) for each in shown)
    last = runs[-1]
    lost = f", {last.hidden / last.asked:.0%} of what they expect is hidden" if last.hidden else ""
    told = f"{_many(len(runs), 'run')}, {_many(last.asked, 'question')} in the last one{lost}"
    return _card(title, told, f'<div class="panels">{drawn}</div>')


def _fading(report: Report) -> str:
    if not report.fading:
        return _card("Fading soonest", "", _nothing("Nothing fades within 90 days."))
    rows = "".join(_row(each, report) for each in report.fading)
    heads = "".join(f"<th>{name}</th>" for name in ("fades", "strength", "memory"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    told = f"the first {len(report.fading)}, if nobody uses them"
    return _card("Fading soonest", told, table)


def _row(each: Forecast, report: Report) -> str:
    share = each.strength / report.stats.histogram_top
    return (
        f"<tr><td>{age(each.fades_at, report.made_at)}<small>{each.fades_at:%d %b %Y}</small></td>"
        f"<td>{_meter(share, charts.tone(share))}{each.strength:.2f}</td>"
        f'<td dir="auto">{_said(each.memory)}'
        f"<small>{escape(inert(each.memory.category))}</small></td></tr>"
    )


def _card(title: str, told: str, body: str) -> str:
    below = f"<p>{told}</p>" if told else ""
    return f'<section class="card"><h2>{title}</h2>{below}{body}</section>'


def _nothing(words: str) -> str:
    return f'<p class="nothing">{words}</p>'


def _said(memory: Memory, *, width: int = _QUOTED) -> str:
    said = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
    return escape(excerpt(said, width=width))


def _meter(share: float, kind: str) -> str:
    wide = 100.0 * min(max(share, 0.0), 1.0)
    return f'<span class="meter"><i class="{kind}" style="width:{wide:.0f}%"></i></span>'


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
