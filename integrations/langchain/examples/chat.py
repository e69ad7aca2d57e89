"""An agent you can talk to, which remembers across threads and forgets what nobody needs.

    python integrations/langchain/examples/chat.py
    python integrations/langchain/examples/chat.py --model openai:gpt-4o-mini --extract

Without `--model` a stand-in answers with what it was reminded of, so that nothing is needed but
this checkout: pip install '.[local,agents]'.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from ebbmem import Draft, MemoryBank, Policy
from ebbmem.context import CLOSING, OPENING
from ebbmem.demo.talk import Calendar, Talk
from langchain_ebbmem import EbbinghausMiddleware


class StandIn(FakeListChatModel):
    """Answers with what it was reminded of: a model that needs no key."""

    responses: list[str] = Field(default_factory=lambda: ["I will remember that."])

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        told = str(messages[0].content)
        block = told[told.find(OPENING) : told.find(CLOSING)] if OPENING in told else ""
        lines = [line.partition("] ")[2] for line in block.splitlines()[1:]]
        return "I remember:\n" + "\n".join(lines) if lines else super()._call(messages)


class Fact(BaseModel):
    """One thing worth remembering about the user."""

    text: str = Field(description="A sentence that can be understood alone")
    category: str = Field(description="strategy, fact, assumption or failure")


class Facts(BaseModel):
    """What is worth remembering of a turn; none is a good answer."""

    facts: list[Fact]


class Extract:
    """Turns a turn into facts, with a model that gives structured output."""

    def __init__(self, model: BaseChatModel) -> None:
        self._model = model.with_structured_output(Facts)

    def __call__(self, messages: list[BaseMessage]) -> Sequence[Draft]:
        asked = "List what is worth remembering about the user in this turn:\n\n"
        turn = "\n".join(f"{each.type}: {each.text}" for each in messages)
        found: Any = self._model.invoke(asked + turn)
        return [Draft(text=each.text, category=each.category) for each in found.facts]


class Chat:
    """One person's agent."""

    def __init__(self, bank: MemoryBank, model: BaseChatModel, extract: Extract | None) -> None:
        self.agent: Any = create_agent(
            model,
            system_prompt="You are a friendly companion who remembers.",
            middleware=[
                # what the stand-in says is what it was told: not worth keeping
                EbbinghausMiddleware(
                    bank, extract=extract, save="human" if isinstance(model, StandIn) else "turn"
                )
            ],
            checkpointer=InMemorySaver(),
        )

    def say(self, text: str, thread: str) -> str:
        """The agent's answer."""
        config = {"configurable": {"thread_id": thread}}
        state = self.agent.invoke({"messages": [("user", text)]}, config)
        return str(state["messages"][-1].text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Talk until the end of the input."""
    parser = argparse.ArgumentParser(description="Talk to an agent that remembers and forgets.")
    parser.add_argument("--model", help="any chat model, such as openai:gpt-4o-mini")
    parser.add_argument("--db", default="chat-memory.db", help="where the memory is kept")
    parser.add_argument("--user", default="you", help="whose memory it is")
    parser.add_argument("--extract", action="store_true", help="keep facts instead of words")
    options = parser.parse_args(arguments)
    if options.extract and options.model is None:
        parser.error("--extract needs a --model that gives structured output")
    model = StandIn() if options.model is None else init_chat_model(options.model)
    calendar = Calendar()
    # The curve on the calendar, so that /days shows it; Policy.chat() would not count days
    # without a word.
    with MemoryBank.open(
        options.db, namespace=options.user, policy=Policy(), clock=calendar
    ) as bank:
        chat = Chat(bank, model, Extract(model) if options.extract else None)
        return Talk(bank, chat.say, calendar).run()


if __name__ == "__main__":
    raise SystemExit(main())
