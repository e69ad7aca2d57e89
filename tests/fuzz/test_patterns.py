"""No pattern goes over a text more than a few times, whatever stands in it.

A quadratic one takes half a minute of CPU for one of these texts, so the bound can be generous.
"""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG = 120_000  # characters
CPU = 30  # seconds for all texts through one function; a linear one needs a few
FRAGMENTS = (
    *(
        " ",
        "\n",
        "\t",
        "a",
        "A",
        "Aa",
        "1",
        "19",
        "一",
        "吗",
        "? ",
        ". ",
        "?",
        "《",
        "「",
        "“",
        '"',
    ),
    *("'", "a'", "a’", "<", "&#0", "has ", "什么时候", "what a ", "A-a ", "\0", "<\0", "\u0301"),
    *("\ufe0f", "\U000e0041", "{", "你", "《a", "“aa", "有什么", "<recollections>", "Answer:\n"),
)

FUNCTIONS: dict[str, str] = {
    "words": "from ebbmem.text import words as call",
    "keywords": "from ebbmem.text import keywords as call",
    "passages": "from ebbmem.text import passages as call",
    "traits": "from ebbmem.cues import traits as call",
    "is_question": "from ebbmem.cues import is_question as call",
    "stated": "from ebbmem.cues import stated as call",
    "date_cue": "from ebbmem.cues import date_cue as call",
    "names": "from ebbmem.asking import names as call",
    "asks": "from ebbmem.asking import asks as call",
    "marks": "from ebbmem.asking import marks\nfrom ebbmem.text import words\n"
    "call = lambda text: marks(text, words(text))",
    "current": "from ebbmem.currency import marks as call",
    "wanted": "from ebbmem.currency import wanted\nfrom ebbmem.text import keywords\n"
    "call = lambda text: wanted(text, keywords(text))",
    "days_named": "from ebbmem.days import days_named\n"
    "call = lambda text: days_named(text, 20_000)",
    "without_recalled": "from ebbmem.turns import without_recalled as call",
    "tokens": "from ebbmem.tokens import default_counter\ncall = default_counter()[0]",
    "hashing": "from ebbmem.testing import HashingEmbedder\n"
    "call = lambda text: HashingEmbedder().encode_query(text)",
}

CONTEXT = """
from ebbmem import MemoryBank
from ebbmem.testing import ManualClock

def call(text):
    with MemoryBank.open(namespace="u", embedder=None, clock=ManualClock()) as bank:
        try:
            bank.remember("tea " + text)
        except ValueError:
            return
        bank.context("tea", inert=True)
"""
ANSWER = """
from llama_index.core.base.llms.types import ChatMessage
from llama_index.memory.ebbmem.messages import said
call = lambda text: said(ChatMessage(role="assistant", content="Thought: " + text))
"""
BODY = """
for fragment in FRAGMENTS:
    for before, after in (("", "x"), ("吗", "x"), ("what ", "?")):
        call(before + fragment * (LONG // len(fragment)) + after)
"""


def ran(setup: str, size: int) -> subprocess.CompletedProcess[str]:
    code = f"FRAGMENTS, LONG = {FRAGMENTS!r}, {size}\n{setup}\n{BODY}"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_long_text_of_one_kind_is_read_in_steps_of_its_length(name: str) -> None:
    done = ran(FUNCTIONS[name], LONG)
    assert done.returncode == 0, (name, done.returncode, done.stderr[-500:])


def test_a_long_text_of_one_kind_is_told_in_steps_of_its_length() -> None:
    done = ran(CONTEXT, LONG)
    assert done.returncode == 0, done.stderr[-500:]


def test_an_agents_reasoning_of_blank_lines_is_read_in_steps_of_its_length() -> None:
    pytest.importorskip("llama_index.core")
    done = ran(ANSWER, LONG)
    assert done.returncode == 0, done.stderr[-500:]


UNBOUNDED = {".*", ".+"}


def literals(file: Path) -> list[str]:
    """What is written in a module as text."""
    tree = ast.parse(file.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


READERS = ["text", "cues", "asking", "days", "currency", "slots/english", "slots/chinese"]


@pytest.mark.parametrize("module", READERS)
def test_no_pattern_that_reads_texts_looks_ahead_without_an_end(module: str) -> None:
    written = literals(ROOT / "ebbmem" / f"{module}.py")
    assert not [each for each in written if any(part in each for part in UNBOUNDED)]
