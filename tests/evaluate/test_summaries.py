"""LoCoMo's summary protocol: what a hit is."""

from __future__ import annotations

import pytest

from ebbmem.evaluate.summaries import is_hit

TEXT = "Bo told Ann about the camping trip in the mountains."


@pytest.mark.parametrize(
    "answer, expected",
    [
        ("the camping trip", True),
        ("CAMPING", True),
        ("a camping holiday", True),  # one of two long words
        ("a camping holiday abroad", False),  # one of three
        ("in May", False),  # no long word, and not as it stands
        ("mount", True),  # a part of a word, as the protocol has it
        ("a storm", False),
    ],
)
def test_an_answer_is_there_whole_or_by_half_of_its_long_words(answer: str, expected: bool) -> None:
    assert is_hit(answer, TEXT) is expected
