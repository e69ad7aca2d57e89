"""A chat engine you can talk to, which remembers across sessions and forgets what nobody needs.

    python integrations/llamaindex/examples/chat_engine.py
    python integrations/llamaindex/examples/chat_engine.py --llm llama_index.llms.openai:OpenAI

Without `--llm` a stand-in answers with what it was reminded of, so that nothing is needed but
this checkout: pip install '.[local,llamaindex]'.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import LLM, CustomLLM
from llama_index.memory.ebbmem import EbbinghausMemory

from ebbmem import MemoryBank, Policy
from ebbmem.context import CLOSING, OPENING
from ebbmem.demo.talk import Calendar, Talk


class StandIn(CustomLLM):
    """Answers with what it was reminded of: a model that needs no key."""

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex wants to know of a model."""
        return LLMMetadata(model_name="stand-in")

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """What it was told, without the ids."""
        told = "\n".join(str(each.content or "") for each in messages)
        block = told[told.rfind(OPENING) : told.rfind(CLOSING)] if OPENING in told else ""
        lines = [line.partition("] ")[2] for line in block.splitlines()[1:]]
        answer = "I remember:\n" + "\n".join(lines) if lines else "I will remember that."
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=answer))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The same for a text."""
        asked = ChatMessage(role=MessageRole.USER, content=prompt)
        return CompletionResponse(text=str(self.chat([asked]).message.content))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **_: Any
    ) -> CompletionResponseGen:
        """The same at once."""
        yield self.complete(prompt)


class Chat:
    """One person's chat engines, one a session."""

    def __init__(self, bank: MemoryBank, llm: LLM) -> None:
        self._bank = bank
        self._llm = llm
        self._engines: dict[str, SimpleChatEngine] = {}

    def say(self, text: str, session: str) -> str:
        """The engine's answer."""
        if session not in self._engines:
            # what the stand-in says is what it was told: not worth keeping
            save: Any = "human" if isinstance(self._llm, StandIn) else "turn"
            memory = EbbinghausMemory(self._bank, session_id=session, save=save)
            self._engines[session] = SimpleChatEngine.from_defaults(llm=self._llm, memory=memory)
        return str(self._engines[session].chat(text).response)


def named(place: str, model: str | None) -> LLM:
    """The LLM at `module:Class`, of a model if one is named."""
    module, _, name = place.partition(":")
    made: LLM = getattr(import_module(module), name)(**({} if model is None else {"model": model}))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Talk until the end of the input."""
    parser = argparse.ArgumentParser(description="Talk to an engine that remembers and forgets.")
    parser.add_argument("--llm", help="any LLM, such as llama_index.llms.openai:OpenAI")
    parser.add_argument("--model", help="the model of that LLM")
    parser.add_argument("--db", default="chat-memory.db", help="where the memory is kept")
    parser.add_argument("--user", default="you", help="whose memory it is")
    options = parser.parse_args(arguments)
    llm = StandIn() if options.llm is None else named(options.llm, options.model)
    calendar = Calendar()
    # The curve on the calendar, so that /days shows it; Policy.chat() would not count days
    # without a word.
    with MemoryBank.open(
        options.db, namespace=options.user, policy=Policy(), clock=calendar
    ) as bank:
        return Talk(bank, Chat(bank, llm).say, calendar).run()


if __name__ == "__main__":
    raise SystemExit(main())
