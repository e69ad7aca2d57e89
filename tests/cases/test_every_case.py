"""Each failure seen elsewhere has a test named after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CASES = {
    "dl": 9,  # data loss
    "is": 5,  # isolation
    "ti": 6,  # time
    "nu": 9,  # numbers
    "tx": 4,  # text
    "co": 3,  # concurrency
    "ad": 3,  # adapters
    "sc": 2,  # scale
    "se": 5,  # security
}
NAMED = re.compile(r"^(?:async )?def test_([a-z]{2})_(\d)_", re.MULTILINE)


def named() -> set[tuple[str, int]]:
    here = Path(__file__).parent
    return {
        (kind, int(number))
        for file in here.glob("test_*.py")
        for kind, number in NAMED.findall(file.read_text("utf-8"))
    }


@pytest.mark.parametrize(
    ("kind", "number"),
    [(kind, number) for kind, count in CASES.items() for number in range(1, count + 1)],
)
def test_the_case_has_a_test(kind: str, number: int) -> None:
    assert (kind, number) in named()


def test_no_test_is_named_after_a_case_that_does_not_exist() -> None:
    assert all(number <= CASES.get(kind, 0) for kind, number in named())
