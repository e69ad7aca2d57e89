"""`ebbmem bench stale`: the stories it tells, and its figures on small ones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from ebbmem import __version__
from ebbmem.cli.run import run
from ebbmem.evaluate import stale  # after the skip
from ebbmem.evaluate.encoders import CachedEncoder
from ebbmem.evaluate.stale import COLUMNS, NOW, OURS, UNSWAPPED, Asked, Row, Run, measure, tell
from ebbmem.evaluate.stale_words import CHINESE, CUED, CUELESS, FAMILIES, Family
from ebbmem.testing import HashingEmbedder

FEW = replace(CUED, people=CUED.people[:4])  # 32 pairs: 16 updates, 12 stable facts


# -- stories ---------------------------------------------------------------------------------


def test_a_seed_tells_the_same_story_every_time() -> None:
    assert tell(CUED, 1, now=NOW) == tell(CUED, 1, now=NOW)
    assert tell(CUED, 1, now=NOW) != tell(CUED, 2, now=NOW)


def test_half_of_all_facts_change_and_three_eighths_do_not() -> None:
    story = tell(CUED, 0, now=NOW)
    changed = [each for each in story.asked if each.stale is not None]
    assert (len(changed), len(story.asked) - len(changed)) == (160, 120)
    assert len(story.items) == 2 * 160 + 120


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_new_fact_is_at_least_a_month_younger_and_a_day_old(family: Family) -> None:
    story = tell(family, 0, now=NOW)
    said = {each.id: each for each in story.items}
    for each in story.asked:
        new = said[each.current]
        assert new.at is not None
        if each.stale is None:
            assert timedelta(days=60) <= NOW - new.at <= timedelta(days=360)
            continue
        old = said[each.stale]
        assert old.at is not None
        assert new.text != old.text
        assert timedelta(days=60) <= NOW - old.at <= timedelta(days=360)
        assert new.at - old.at >= timedelta(days=30)
        assert NOW - new.at >= timedelta(days=1)


def test_only_a_family_with_cues_says_that_something_changed() -> None:
    updates = {text for each in CUED.attributes for text in each.new}
    for family, expected in ((CUED, True), (CUELESS, False)):
        story = tell(family, 0, now=NOW)
        said = {each.id: each.text for each in story.items}
        for each in story.asked:
            if each.stale is None:
                continue
            what = [one for one in family.attributes if _fits(said[each.current], one.new)]
            assert bool(what) is expected
    assert updates


def _fits(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether a text is one of these phrases, whatever stands in its places."""
    parts = (
        phrase.replace("{n}", "|").replace("{v}", "|").replace("{o}", "|") for phrase in phrases
    )
    return any(all(part in text for part in each.split("|")) for each in parts)


def test_every_phrase_names_whom_and_what() -> None:
    for family in FAMILIES:
        for each in family.attributes:
            assert "{n}" in each.question
            assert len(set(each.values)) == len(each.values) >= 5
            for phrase in (*each.old, *each.new):
                assert phrase.count("{n}") == phrase.count("{v}") == 1
            assert not any("{o}" in phrase for phrase in each.old)


def test_distractors_stand_among_the_facts_in_the_order_of_time() -> None:
    noise = stale._noise([], 0)
    story = tell(FEW, 0, now=NOW, noise=noise)
    times = [each.at for each in story.items]
    assert len(times) == 2 * 16 + 12 + len(noise)
    assert times == sorted(times, key=lambda at: at or NOW)


# -- figures ---------------------------------------------------------------------------------


def test_the_shares_are_what_they_say() -> None:
    asked = [Asked("q", "new", "old"), Asked("q", "new", "old"), Asked("q", "same", None)]
    shares = stale._shares(asked, [["old", "new"], ["x", "new"], ["same"]])
    assert dict(zip(COLUMNS, shares, strict=True)) == {
        "stale above": 0.5,
        "stale at 1": 0.5,
        "current at 1": 0.0,
        "current in 5": 1.0,
        "stable at 1": 1.0,
    }


def test_what_is_not_found_stands_nowhere() -> None:
    asked = [Asked("q", "new", "old"), Asked("q", "new", "old"), Asked("q", "same", None)]
    assert stale._shares(asked, [["x"], ["x", "old"], ["x"]])[0] == 0.5


def test_the_loss_is_against_ours_without_recency() -> None:
    rows = (Row(UNSWAPPED, (0, 0, 0, 0, 0.75)), Row(OURS, (0, 0, 0, 0, 0.5)))
    run_ = Run("f", 1, 4, 0, rows)
    assert [run_.loss(each) for each in rows] == [0.0, 25.0]


def test_recency_puts_the_new_fact_first_and_the_stable_ones_stay() -> None:
    [found] = measure([], CachedEncoder(HashingEmbedder()), families=[FEW], seeds=(0,))
    assert (found.updated, found.stable) == (16, 12)
    rows = {row.name: row.shares for row in found.rows}
    assert list(rows) == ["hybrid .55/.45", UNSWAPPED, OURS, "ours, x strength"]
    assert rows[OURS][0] < rows[UNSWAPPED][0] - 0.3
    assert rows[OURS][-1] == rows[UNSWAPPED][-1]


def test_without_a_model_and_in_chinese_too() -> None:
    few = replace(CHINESE, people=CHINESE.people[:4])
    [found] = measure([], None, families=[few], seeds=(0,))
    rows = {row.name: row.shares for row in found.rows}
    assert next(iter(rows)) == "BM25"
    assert rows[OURS][0] < rows[UNSWAPPED][0]


def test_the_command_tells_with_what_it_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def few(*args: object, **options: object) -> list[Run]:
        return measure([], None, families=[FEW], seeds=(0,))

    monkeypatch.setattr(stale, "measure", few)
    picture = tmp_path / "stale.svg"
    arguments = ["bench", "stale", "--embedder", "none", "--seeds", "1", "--plot", str(picture)]
    assert run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "bench stale --seeds 1 --embedder none" in document["command"]
    assert document["versions"]["ebbmem"] == __version__
    [told] = document["runs"]
    assert (told["family"], told["updated"], told["rows"][UNSWAPPED]["loss"]) == ("cues", 16, 0.0)
    assert picture.read_text().startswith("<?xml")
    assert run(arguments) == 0
    assert "facts that changed: 16, that did not: 12" in capsys.readouterr().out
