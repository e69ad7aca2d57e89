"""A store that grows: the generator, and a stream small enough to see through."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice

import pytest

from ebbmem.evaluate.growth import Growth, Line, Point, measure
from ebbmem.evaluate.small_talk import chatter, facts
from ebbmem.testing import HashingEmbedder

COMMAND = (sys.executable, "-m", "ebbmem", "bench", "forgetting")


@pytest.fixture(scope="module")
def grown() -> Growth:
    return measure(HashingEmbedder(), sizes=(600, 200), cap=200, daily=100)


def test_facts_differ_and_name_whom_they_are_asked_about() -> None:
    found = facts(250)
    assert len({each.text for each in found}) == len({each.question for each in found}) == 250
    assert facts(250) == found
    assert all(set(each.question.split()) & set(each.text.split()) for each in found)


def test_chatter_never_repeats_itself_and_is_the_same_for_a_seed() -> None:
    said = list(islice(chatter(seed=3), 5_000))
    assert len(set(said)) == 5_000
    assert said[:50] == list(islice(chatter(seed=3), 50))
    assert said[:50] != list(islice(chatter(seed=4), 50))


def test_chatter_is_no_fact() -> None:
    told = {each.text for each in facts(250)}
    assert told.isdisjoint(islice(chatter(), 5_000))


def test_sizes_are_looked_at_in_order(grown: Growth) -> None:
    assert [[each.size for each in line.points] for line in grown.lines] == [[200, 600]] * 3
    assert grown.facts == 50


def test_the_cap_holds_and_the_others_have_none(grown: Growth) -> None:
    capped, decay, whole = grown.lines
    assert [each.active for each in capped.points] == [200, 198]  # room for a hundredth
    assert [each.active for each in whole.points] == [200, 600]
    assert [each.stored for each in whole.points] == [200, 600]
    assert decay.points[-1].active == 600  # after six days nothing has faded by itself


def test_facts_in_use_survive_a_cap(grown: Growth) -> None:
    used, _ = grown.lost(grown.lines[0])
    assert used <= 0.0


def test_what_is_lost_is_counted_against_the_store_that_never_forgets() -> None:
    def point(used: float, unused: float) -> Point:
        return Point(10, used, unused, active=1, stored=1, megabytes=0.0, milliseconds=0.0)

    capped = Line("cap", (point(0.75, 0.5),))
    growth = Growth(1, 1, 4, (capped, Line("never forgets", (point(1.0, 0.75),))))
    assert growth.lost(capped) == (25.0, 25.0)


def test_the_command_says_what_a_cap_costs() -> None:
    ran = subprocess.run(
        [*COMMAND, "--growth", "--sizes", "40,120", "--cap", "60", "--embedder", "none", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    growth = json.loads(ran.stdout)["growth"]
    assert [each["name"] for each in growth["lines"]] == [
        "cap of 60",
        "decay alone",
        "never forgets",
    ]
    assert set(growth["lost"]) == {"cap of 60", "decay alone"}


def test_sizes_that_are_no_numbers_are_refused_before_anything_runs() -> None:
    ran = subprocess.run(
        [*COMMAND, "--growth", "--sizes", "10,x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "sizes" in ran.stderr
