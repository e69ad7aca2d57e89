"""The report: one page that needs nothing else, says what the numbers say, and cannot bite."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from builders import AT, OpenBank, a_memory
from ebbmem import Draft, InvalidInput, MemoryBank
from ebbmem.charts import Line, Panel, bars, lines, panel, tone
from ebbmem.report import Curve, Report, page, save
from ebbmem.results import Advice, Forecast, ProbeRun, Stats
from ebbmem.testing import ManualClock

HOSTILE = (
    "<script>document.title = 'bitten'</script><img src=x onerror=\"document.title='bitten'\">"
)
CHINESE = "我们下周三在上海开会，请带上护照。"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def fill(bank: MemoryBank, clock: ManualClock) -> MemoryBank:
    """A month with all that a page can show, long and hostile words included."""
    categories = ("fact", "strategy", "assumption", "failure")
    for day in range(30):
        bank.remember_many(
            Draft(text=f"note {day}.{n} about the harbour", category=categories[n], importance=0.6)
            for n in range(4)
        )
        if day == 1:
            bank.add_probe("note 1.1 about the harbour", bank.list()[5].id)
        if day % 5 == 4:
            bank.probe()
        clock.advance(days=1)
    bank.remember(HOSTILE, speaker="<b>Mara</b>", importance=0.06)
    bank.remember(CHINESE, speaker="李雷", importance=0.07)
    bank.remember("w" * 400, importance=0.08)
    bank.remember("pinned", pinned=True)
    return bank


@pytest.fixture
def bank(open_bank: OpenBank, clock: ManualClock) -> MemoryBank:
    return fill(open_bank(namespace=("alice", "<i>工作</i>")), clock)


def a_report(**changes: Any) -> Report:
    plain: dict[str, Any] = {
        "made_at": AT,
        "stats": Stats(
            namespace=("u1",),
            active=0,
            faded=0,
            pinned=0,
            held=0,
            by_category={},
            mean_strength=None,
            fading_week=0,
            recalls=0,
            embedder="none",
            timeline="wall",
            conversational=0.0,
        ),
        "fade_below": 0.05,
        "curves": (),
        "fading": (),
        "probes": 0,
        "history": (),
        "advice": (),
    }
    return Report(**plain | changes)


def a_run(recall: float | None, *, k: int = 5, day: int = 0, **changes: Any) -> ProbeRun:
    plain: dict[str, Any] = {
        "at": AT + timedelta(days=day),
        "k": k,
        "asked": 0 if recall is None else 4,
        "found": 4 * (recall or 0.0),
        "hidden": 0.0,
        "active": 10,
        "faded": 0,
        "mean_strength": 0.5,
    }
    return ProbeRun(**plain | changes)


class Reader(HTMLParser):
    """Tags with their attributes, and whether each that was opened was closed."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# -- the page ------------------------------------------------------------------------------------


def test_every_tag_is_closed_in_its_place(bank: MemoryBank) -> None:
    assert Reader(bank.report()).open == []


def test_the_page_holds_no_script_and_names_no_other_place(bank: MemoryBank) -> None:
    document = bank.report()
    read = Reader(document)
    assert not {"script", "img", "link", "iframe", "object", "base"} & {tag for tag, _ in read.tags}
    names = {name for _, attributes in read.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "href"})
    assert not re.search(r"https?:|//[a-z]|url\(|@import", document)
    [policy] = [each["content"] for _, each in read.tags if "http-equiv" in each]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_texts_and_names_are_escaped(bank: MemoryBank) -> None:
    document = bank.report()
    assert "&lt;script&gt;" in document
    assert "&lt;b&gt;Mara&lt;/b&gt;" in document
    assert "alice / &lt;i&gt;工作&lt;/i&gt;" in document


def test_chinese_is_written_as_it_is(bank: MemoryBank) -> None:
    assert f"李雷: {CHINESE}" in bank.report()


def test_what_could_steer_is_made_visible() -> None:
    memory = a_memory(text="a\u202eb\x1b[31m\x00", speaker=None)
    document = page(a_report(fading=(Forecast(memory, 0.1, AT),)))
    assert "a\\u202eb␛[31m␀" in document
    assert not set("\u202e\x1b\x00") & set(document)


def test_making_a_page_changes_nothing(bank: MemoryBank) -> None:
    before = bank.list(include_faded=True), bank.probe_history(), bank.audit()
    assert bank.report() == bank.report()
    assert (bank.list(include_faded=True), bank.probe_history(), bank.audit()) == before


def test_an_empty_namespace_has_a_page(open_bank: OpenBank) -> None:
    document = open_bank().report()
    assert Reader(document).open == []
    for words in ("No active memories.", "None yet", "Nothing fades", "ask for no change"):
        assert words in document


def test_the_counts_are_those_of_the_stats(bank: MemoryBank) -> None:
    document, told = bank.report(), bank.stats()
    for number in (
        f"<b>{told.active}</b> <span>{told.faded} faded</span>",
        f"<b>{told.mean_strength:.2f}</b>",
        f"<b>{told.fading_week}</b> <span>in 7 days, {told.fading_month} in 30</span>",
        f"<b>{told.pinned}</b>",
    ):
        assert number in document


def test_superseded_ones_are_counted_where_there_are_any() -> None:
    plain = a_report()
    assert "superseded" not in page(plain)
    stats = Stats(
        **{name: getattr(plain.stats, name) for name in Stats.__slots__} | {"superseded": 3}
    )
    assert "0 faded, 3 superseded" in page(a_report(stats=stats))


def test_the_first_twenty_to_fade_are_listed_soonest_first(bank: MemoryBank) -> None:
    document = bank.report()
    coming = bank.forecast(90)
    assert len(coming) > 20
    assert document.count("<tr><td>") == 20
    listed = re.findall(r"<small>(\d\d \w{3} \d{4})</small></td>", document)
    assert listed == [f"{each.fades_at:%d %b %Y}" for each in coming[:20]]


def test_what_was_superseded_is_not_listed_as_fading(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("green tea", id="old", importance=0.5)
    bank.remember("black coffee", importance=0.5, supersedes="old")
    document = bank.report()
    assert "black coffee<small>" in document
    assert "green tea<small>" not in document


def test_the_typical_memories_have_a_curve_each(bank: MemoryBank) -> None:
    document = bank.report()
    for kind in ("strongest", "median", "weakest"):
        assert document.count(f'<polyline class="curve {kind}" points=') >= 1
        assert f'<li><i class="{kind}">' in document


def test_advice_is_in_the_page() -> None:
    said = Advice(code="x", text="Raise <it>.", numbers={"a": 1.0})
    document = page(a_report(advice=(said,)))
    assert "<li>Raise &lt;it&gt;.</li>" in document
    assert "ask for no change" not in document


def test_the_history_shows_runs_of_the_last_k() -> None:
    runs = (a_run(1.0, k=10), a_run(0.5, day=1), a_run(0.75, day=2))
    document = page(a_report(history=runs, probes=4))
    assert "2 runs, 4 questions in the last one" in document
    assert "recall@5" in document
    assert ">75%<" in document
    assert "<title>100%</title>" not in document


def test_what_is_hidden_is_said_of_the_last_run() -> None:
    document = page(a_report(history=(a_run(0.5, hidden=1.0),)))
    assert "1 run, 4 questions in the last one, 25% of what they expect is hidden" in document


def test_probes_that_were_never_asked_say_how() -> None:
    assert "4 kept, never asked yet" in page(a_report(probes=4))


# -- charts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "kind"), [(0.0, "low"), (0.19, "low"), (0.2, "mid"), (0.5, "high"), (1.0, "high")]
)
def test_a_strength_has_a_tone(share: float, kind: str) -> None:
    assert tone(share) == kind


def test_bars_are_as_tall_as_their_counts() -> None:
    drawn = bars((0, 5, 10), 0.9, label="x")
    heights = [float(each) for each in re.findall(r'height="([\d.]+)" rx', drawn)]
    assert heights[1] * 2 == heights[2] > 0
    assert heights[0] == 0.5  # a line where there is nothing
    assert "<title>5 between 0.3 and 0.6</title>" in drawn


def test_a_curve_ends_where_there_is_nothing() -> None:
    drawn = lines(
        [Line("a", "median", ((0.0, 1.0), (5.0, 0.5), (10.0, math.nan)))],
        top=1.0,
        level=0.05,
        label="x",
    )
    [points] = re.findall(r'<polyline[^>]* points="([^"]*)"', drawn)
    assert points == "34.0,16.0 232.0,108.0"  # half of 396 wide, half of 184 high


def test_a_panel_leaves_out_what_is_not_known() -> None:
    shown = Panel("recall", "median", (0.5, None, 1.0), ("50%", "–", "100%"), 1.0)
    drawn = panel([0.0, 1.0, 2.0], ("a", "b"), shown)
    assert re.findall(r'<polyline[^>]* points="([^"]*)"', drawn) == ["6.0,66.0 294.0,28.0"]
    assert drawn.count("<circle") == 2


def test_a_panel_of_one_moment_has_one_date() -> None:
    shown = Panel("recall", "median", (0.5,), ("50%",), 1.0)
    drawn = panel([7.0], ("1 Jan", "1 Jan"), shown)
    assert drawn.count("1 Jan") == 1
    assert 'cx="150.0"' in drawn


def test_a_long_history_is_a_line_with_one_dot() -> None:
    many = 100
    shown = Panel("recall", "median", (0.5,) * many, ("50%",) * many, 1.0)
    drawn = panel([float(each) for each in range(many)], ("a", "b"), shown)
    assert drawn.count("<circle") == 1


def test_labels_are_escaped() -> None:
    assert "<b>" not in lines([Line("<b>", "x", ((0.0, 1.0),))], top=1.0, level=0.1, label="<b>")


def test_a_curve_that_expired_at_once_draws_nothing() -> None:
    curve = Curve("weakest", a_memory(), (0.0, 1.0), (math.nan, math.nan))
    assert 'class="curve weakest" points=""' in page(a_report(curves=(curve,)))


# -- the file ------------------------------------------------------------------------------------


def test_a_page_is_saved_for_its_owner_alone(tmp_path: Path) -> None:
    written = save("<p>茶</p>", tmp_path / "out.html")
    assert written.read_text("utf-8") == "<p>茶</p>"
    assert os.name != "posix" or written.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["out.html"]


def test_what_is_there_is_written_over_only_when_told(tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    save("first", file)
    with pytest.raises(InvalidInput, match="already exists"):
        save("second", file)
    assert file.read_text() == "first"
    save("second", file, overwrite=True)
    assert file.read_text() == "second"


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        save("x", tmp_path / "none" / "out.html")
    with pytest.raises(InvalidInput, match="no file"):
        save("x", tmp_path, overwrite=True)
    assert list(tmp_path.iterdir()) == []


# -- in a browser --------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a browser reported while it showed a page."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def show(self, file: Path) -> Any:
        self.page.goto(file.as_uri())
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra test")
    if CHROMIUM is None:
        pytest.skip("needs chromium on the PATH")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(params=[(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], ids=str)
def seen(request: pytest.FixtureRequest, browser: Any) -> Iterator[Seen]:
    width, scheme = request.param
    opened = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    told = Seen(opened)
    opened.on("request", lambda each: told.requests.append(each.url))
    opened.on("console", lambda each: told.complaints.append(each.text))
    opened.on("pageerror", lambda each: told.complaints.append(str(each)))
    yield told
    opened.close()


def test_a_browser_shows_everything_and_asks_for_nothing_else(
    bank: MemoryBank, seen: Seen, tmp_path: Path
) -> None:
    file = save(bank.report(), tmp_path / "report.html")
    shown = seen.show(file)
    assert seen.requests == [file.as_uri()]
    assert seen.complaints == []
    assert shown.title() == "Memory of alice / <i>工作</i>"
    for name in ("h1", ".advice", ".tiles > div", ".card", "svg", ".legend li", "tbody tr"):
        for element in shown.query_selector_all(name):
            box = element.bounding_box()
            assert box is not None, name
            assert box["width"] > 40, name
            assert box["height"] > 10, name
    assert len(shown.query_selector_all(".card")) == 4
    assert len(shown.query_selector_all("svg")) == 5
    assert len(shown.query_selector_all("tbody tr")) == 20
    picture = tmp_path / "report.png"
    shown.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 20_000


def test_nothing_is_wider_than_the_window(bank: MemoryBank, seen: Seen, tmp_path: Path) -> None:
    shown = seen.show(save(bank.report(), tmp_path / "report.html"))
    width = shown.evaluate("innerWidth")
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    wide = shown.evaluate(
        "[...document.querySelectorAll('body *')]"
        ".filter(each => each.getBoundingClientRect().right > innerWidth + 1)"
        ".map(each => each.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_a_hostile_memory_is_text(bank: MemoryBank, seen: Seen, tmp_path: Path) -> None:
    shown = seen.show(save(bank.report(), tmp_path / "report.html"))
    assert shown.title() != "bitten"
    assert shown.query_selector_all("script, img, b b") == []
    assert HOSTILE in shown.inner_text("table")


def test_words_stand_out_from_their_ground(bank: MemoryBank, seen: Seen, tmp_path: Path) -> None:
    shown = seen.show(save(bank.report(), tmp_path / "report.html"))
    colours = shown.evaluate(
        "[...document.querySelectorAll('h1, .advice li, dt, dd b, .card > p, td, small')].map("
        "each => { let up = each, ground; do { ground = getComputedStyle(up).backgroundColor;"
        " up = up.parentElement } while (ground === 'rgba(0, 0, 0, 0)');"
        " return [getComputedStyle(each).color, ground] })"
    )
    assert len(colours) > 50
    assert min(contrast(*each) for each in colours) >= 4.5  # WCAG 2.1, 1.4.3


def contrast(ink: str, ground: str) -> float:
    """The ratio of two CSS colours, by WCAG 2.1: (L1 + 0.05) / (L2 + 0.05)."""
    bright = sorted(map(luminance, (ink, ground)))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def luminance(colour: str) -> float:
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_an_empty_page_shows_in_a_browser(open_bank: OpenBank, seen: Seen, tmp_path: Path) -> None:
    shown = seen.show(save(open_bank().report(), tmp_path / "report.html"))
    assert (seen.complaints, len(seen.requests)) == ([], 1)
    assert shown.is_visible("text=No active memories.")
