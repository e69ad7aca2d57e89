"""What one query and one snapshot say about rows, against loops and in small stores."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders import OpenBank
from ebbmem import Draft, MemoryBank
from ebbmem.evidence import Late, gathered, surroundings
from ebbmem.finding import Question, Ranking
from ebbmem.ranking import ADJACENT, Evidence, neighbours
from ebbmem.relevance import scaled
from ebbmem.snapshot import Snapshot

relaxed = settings(deadline=None, max_examples=100)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[list[int]], Ints, Ints]:
    """Items that are strung on a few sources, the last of none, and the neighbours of each."""
    size = draw(st.integers(1, 25))
    order = draw(st.permutations(range(size)))
    cuts = sorted(draw(st.sets(st.integers(1, size), max_size=4)))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    before, after = np.full(size, -1), np.full(size, -1)
    for part in parts[:-1]:
        for left, right in pairwise(part):
            after[left], before[right] = right, left
    return parts, before, after


def within_two(parts: list[list[int]], item: int) -> dict[int, int]:
    """Who stands around an item of a source, by how many steps away."""
    for part in parts[:-1]:
        if item in part:
            at = part.index(item)
            return {part[at + by]: abs(by) for by in (-2, -1, 1, 2) if 0 <= at + by < len(part)}
    return {}


# -- surroundings --------------------------------------------------------------------------------


@relaxed
@given(chains(), st.data())
def test_surroundings_are_what_a_loop_finds(
    given_: tuple[list[list[int]], Ints, Ints], data: st.DataObject
) -> None:
    parts, before, after = given_
    rows = sorted(data.draw(st.sets(st.integers(0, len(before) - 1))))
    snapshot = cast("Snapshot", SimpleNamespace(before=before, after=after))
    expected = {near for row in rows for near in within_two(parts, row)}
    assert surroundings(snapshot, np.array(rows, np.int64)).tolist() == sorted(expected)


# -- late interaction with what is around --------------------------------------------------------


@relaxed
@given(chains(), st.integers(0, 2**31), st.integers(1, 5), st.data())
def test_pieces_may_match_what_is_around_as_a_loop_finds(
    given_: tuple[list[list[int]], Ints, Ints], seed: int, length: int, data: st.DataObject
) -> None:
    parts, before, after = given_
    everyone = st.integers(0, len(before) - 1)
    pool = sorted(data.draw(st.sets(everyone, min_size=1)))
    rows = sorted(data.draw(st.sets(st.sampled_from(pool), min_size=1)))
    random = np.random.default_rng(seed)
    best = random.uniform(-1.0, 1.0, (len(pool), length)).astype(np.float32)
    weights = random.dirichlet(np.ones(length))
    nobody = np.full((1, length), -1.0, np.float32)
    late = Late(best @ weights, np.concatenate((best, nobody)), weights)

    asked = np.array(rows, np.int64)
    near = (before[asked], after[asked])
    far = (neighbours(near[0], before), neighbours(near[1], after))
    found = late.around(np.array(pool, np.int64), asked, near, far)

    sums = []
    for row in rows:
        total = 0.0
        for piece in range(length):
            most = max(float(best[pool.index(row), piece]), -0.9)  # nobody is -1, at both ends
            for other, steps in within_two(parts, row).items():
                if other in pool:
                    share = {1: 0.95, 2: 0.9}[steps]
                    most = max(most, share * float(best[pool.index(other), piece]))
            total += float(weights[piece]) * most
        sums.append(total)
    expected = scaled(np.array(sums), np.array(sums))
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_match_next_door_counts_a_twentieth_less_and_behind_it_a_tenth_less() -> None:
    best = np.array([[1.0], [0.0], [0.0], [0.0], [-1.0]], np.float32)
    late = Late(best[:4, 0].astype(np.float64), best, np.ones(1))
    before, after = np.array([-1, 0, 1, 2]), np.array([1, 2, 3, -1])
    rows = np.arange(4)
    far = (neighbours(before, before), neighbours(after, after))
    # 1, 0.95, 0.9 and 0; the least, 0, is the background
    assert late.around(rows, rows, (before, after), far).tolist() == pytest.approx(
        [1.0, 0.95, 0.9, 0.0]
    )


# -- all of it -----------------------------------------------------------------------------------

TALK = [
    ("Anna", "I have a heron"),
    ("Ben Smith", "what does it eat"),
    ("Anna", "fish and frogs"),
    ("Ben Smith", "I see"),
]


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    """Four lines of two speakers in one source, one fact in none."""
    made = open_bank()
    made.remember_many(
        [
            *(
                Draft(text=text, speaker=speaker, source="talk", position=at, importance=0.5)
                for at, (speaker, text) in enumerate(TALK)
            ),
            Draft(text="the lamp is broken", importance=0.5),
        ]
    )
    return made


def gather(
    bank: MemoryBank, question: str, own: list[float], rows: list[int] | None = None
) -> tuple[list[float], Evidence]:
    """As a search does: by hand but for the snapshot. Rows are in the order of the file."""
    snapshot = bank._arena().snapshot()
    size = len(snapshot.status)
    base = SimpleNamespace(
        snapshot=snapshot,
        signals=SimpleNamespace(coverage=np.zeros(size)),
        strength=np.ones(size),
    )
    chosen = np.array(list(range(size)) if rows is None else rows, np.int64)
    relevance, evidence = gathered(
        cast("Ranking", base),
        Question.of(question, None),
        chosen,
        np.arange(size),
        np.array([*own, 0.0]),
        None,
    )
    return relevance.tolist(), evidence


def rows_of(bank: MemoryBank) -> tuple[list[int], int]:
    """The rows of the talk in its order, and that of the fact."""
    snapshot = bank._arena().snapshot()
    alone = int(np.flatnonzero(snapshot.source < 0)[0])
    at = int(np.flatnonzero((snapshot.source >= 0) & (snapshot.before < 0))[0])
    talk = []
    while at >= 0:
        talk.append(at)
        at = int(snapshot.after[at])
    return talk, alone


def test_an_item_has_a_share_of_what_those_around_it_are_worth(bank: MemoryBank) -> None:
    talk, alone = rows_of(bank)
    share = bank._arena().snapshot().conversational
    assert share == pytest.approx(3 / 5)  # three of five follow somebody else
    own = np.zeros(5)
    own[talk[0]] = 1.0
    relevance, _ = gather(bank, "heron", own.tolist())
    expected = {talk[0]: 1.0, talk[1]: ADJACENT * share, talk[2]: ADJACENT * share * 0.85}
    assert {row: each for row, each in enumerate(relevance) if each} == pytest.approx(expected)
    assert relevance[alone] == 0.0


def test_an_item_never_loses_by_its_neighbours(bank: MemoryBank) -> None:
    own = [0.5, 0.9, 0.1, 0.3, 0.2]
    relevance, evidence = gather(bank, "heron", own)
    assert all(found >= its for found, its in zip(relevance, own, strict=True))
    assert evidence.relevance.tolist() == own  # bonuses are made of what it is worth itself


def test_neighbours_stand_where_the_talk_has_them(bank: MemoryBank) -> None:
    talk, alone = rows_of(bank)
    _, found = gather(bank, "heron", [0.5] * 5, [talk[2], alone])
    for name, expected in {
        "before": [talk[1], -1],
        "two_before": [talk[0], -1],
        "after": [talk[3], -1],
        "two_after": [-1, -1],
        "source_size": [4, 0],
    }.items():
        assert getattr(found, name).tolist() == expected


def test_a_source_counts_its_living_items(bank: MemoryBank) -> None:
    talk, _ = rows_of(bank)
    bank.erase(bank._arena().snapshot().ids[talk[1]])
    _, found = gather(bank, "heron", [0.5] * 5, [talk[0]])
    assert found.source_size.tolist() == [3]


def speaking(bank: MemoryBank, question: str) -> set[str] | None:
    snapshot = bank._arena().snapshot()
    _, found = gather(bank, question, [0.5] * len(snapshot.status))
    if found.speaker is None:
        return None
    spoken = snapshot.speaker[found.rows[found.speaker]]
    return {snapshot.speakers[each] for each in spoken.tolist()}


def test_the_one_speaker_whose_first_name_is_asked_for_is_named(bank: MemoryBank) -> None:
    assert speaking(bank, "What does Ben see?") == {"Ben Smith"}
    assert speaking(bank, "what does anna have?") == {"Anna"}


@pytest.mark.parametrize("question", ["What does Smith see?", "Anna or Ben?", "What is broken?"])
def test_nobody_is_named_where_none_or_several_are(bank: MemoryBank, question: str) -> None:
    assert speaking(bank, question) is None


def test_a_single_speaker_is_never_named(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember("I have a heron", speaker="Anna")
    assert speaking(bank, "What does Anna have?") is None


def test_among_more_than_fifty_speakers_nobody_is_named(open_bank: OpenBank) -> None:
    bank = open_bank()
    bank.remember_many(Draft(text=f"I see {n}", speaker=f"p{n}") for n in range(50))
    assert speaking(bank, "what does p7 see?") == {"p7"}
    bank.remember("I see", speaker="p50")
    assert speaking(bank, "what does p7 see?") is None


@pytest.mark.parametrize("name", ["assistant", "AI", "Chatbot", "助手"])
def test_an_assistant_is_told_by_its_name(open_bank: OpenBank, name: str) -> None:
    bank = open_bank()
    bank.remember("a heron eats fish", speaker=name)
    bank.remember("I have a heron", speaker="Anna")
    _, found = gather(bank, "heron", [0.5, 0.5])
    snapshot = bank._arena().snapshot()
    assert found.assistant is not None
    assert found.assistant.tolist() == [
        snapshot.speakers[each] == name for each in snapshot.speaker.tolist()
    ]


def test_where_no_assistant_speaks_there_is_no_role(bank: MemoryBank) -> None:
    _, found = gather(bank, "heron", [0.5] * 5)
    assert found.assistant is None


def test_days_are_weighed_where_the_question_names_some(bank: MemoryBank) -> None:
    def when(question: str) -> Any:
        _, found = gather(bank, question, [0.5] * 5)
        return None if found.when is None else found.when.tolist()

    assert when("What did Anna have?") is None
    assert when("What did Anna have in January 2026?") == [1.0] * 5
    assert when("What did Anna have in March 2019?") == [0.0] * 5


def test_a_speaker_whose_name_is_written_without_spaces_is_named_in_a_run(
    open_bank: OpenBank,
) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    for number, speaker in enumerate(("小明", "小红") * 3):
        text = f"我喜欢第{number}种茶"
        bank.remember(text, source="t", speaker=speaker, position=number)
    hits = bank.recall("小明喜欢什么茶？", k=6)
    with_bonus = {hit.memory.speaker for hit in hits if hit.bonuses.get("speaker")}
    assert with_bonus == {"小明"}
