"""What a bank's guards keep out comes in through no adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("langgraph", reason="needs the extra agents")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from builders import OpenBank
from ebbmem import MemoryBank, Policy
from langchain_ebbmem import (
    EbbinghausChatMessageHistory,
    EbbinghausStore,
    EbbinghausVectorStore,
)

KEY = "sk-proj-" + "a1B2" * 10


def _transcript(bank: MemoryBank) -> str:
    history = EbbinghausChatMessageHistory(bank, "s1")
    call = {"name": "pay", "args": {"key": KEY, "password": "swordfish"}, "id": "call_1"}
    history.add_messages(
        [
            HumanMessage(f"my key is {KEY}"),
            AIMessage("", tool_calls=[call]),
            ToolMessage(f"paid with {KEY}", tool_call_id="call_1"),
        ]
    )
    return repr(EbbinghausChatMessageHistory(bank, "s1").messages)


def _items(bank: MemoryBank) -> str:
    store = EbbinghausStore(memory=bank)
    store.put(("a",), "k", {"text": f"my key is {KEY}", "more": {"password": "swordfish"}})
    return repr(store.get(("a",), "k"))


def _documents(bank: MemoryBank) -> str:
    store = EbbinghausVectorStore(memory=bank)
    store.add_texts([f"my key is {KEY}"], [{"seen": KEY, "password": "swordfish"}])
    return repr(store.similarity_search("key", k=1))


@pytest.mark.parametrize("kept", [_transcript, _items, _documents])
def test_a_masked_secret_is_in_nothing_that_an_adapter_keeps(
    kept: Callable[[MemoryBank], str], open_bank: OpenBank, file: Path
) -> None:
    bank = open_bank(policy=Policy(secrets="mask"))
    told = kept(bank)
    assert "my key is [secret: api key]" in told
    assert "[secret: password]" in told
    files = b"".join(each.read_bytes() for each in file.parent.iterdir())
    for secret in (KEY, "swordfish"):
        assert secret not in told
        assert secret.encode() not in files
