"""Through the adapters too, every answer is what the namespace would get alone on its own file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest
from hypothesis import settings

pytest.importorskip("langchain.agents", reason="needs the extra agents")
pytest.importorskip("langchain_classic", reason="needs the extra classic")
pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

import llama_index.memory.ebbmem as llama

import langchain_ebbmem as lang
from ebbmem import MemoryBank
from isolation_adapters import ADAPTERS, LANGCHAIN, LLAMAINDEX
from isolation_kit import Look
from test_isolation_model import SLOW, Isolation

# what runs a whole conversation, or only writes: tests/integrations/langchain/test_isolation.py
CONVERSATIONS = {"EbbinghausMiddleware", "with_ebbinghaus_memory", "create_remember_tool"}


class AdapterIsolation(Isolation):
    looks: ClassVar[Mapping[str, Look]] = ADAPTERS
    sees_below: ClassVar[tuple[str, ...]] = ("LangChain EbbinghausStore",)

    @staticmethod
    def answer(call: Callable[[], object], bank: MemoryBank) -> str:
        """Without hashes of the audit trail: it holds ids that adapters make at random."""
        return re.sub(r"\b[0-9a-f]{64}\b", "(a hash)", Isolation.answer(call, bank))


TestAdapterIsolation = AdapterIsolation.TestCase
TestAdapterIsolation.settings = settings(
    max_examples=4, stateful_step_count=8, deadline=None, suppress_health_check=SLOW
)


def test_every_public_class_of_the_adapters_is_looked_through() -> None:
    assert {name.split()[0] for name in LANGCHAIN} | CONVERSATIONS == set(lang.__all__)
    assert {name.split()[0] for name in LLAMAINDEX} == set(llama.__all__)
