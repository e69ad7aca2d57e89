"""A drop-in for LangChain's classic memories: the last turns word for word, older ones recalled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from pydantic import ConfigDict, Field, field_validator

from ebbmem import AsyncMemoryBank, Draft, Memory, MemoryBank, Recollection
from ebbmem.around import check_around
from ebbmem.harmless import as_lines
from ebbmem.intake import new_id
from langchain_ebbmem.binding import Whose, bank_of, check_whose, checked_bank
from langchain_ebbmem.documents import document_of
from langchain_ebbmem.keys import input_key_of, output_key_of
from langchain_ebbmem.turns import text_of

__all__ = ["EbbinghausMemory"]


class EbbinghausMemory(BaseMemory):
    """In place of ConversationBufferMemory, its window and VectorStoreRetrieverMemory.

    The last `window` turns stand as they were; of the older ones, in any session, come those
    that the question brings to mind, whole turns, all in the order of time.

    ```python
    ConversationChain(llm=model, memory=EbbinghausMemory(memory=bank))
    ```

    Attributes:
        memory: a MemoryBank.
        namespace: whose memory; None is the bank's own.
        session_id: the conversation; None is the only one of its namespace, which `clear` empties.
        memory_key: the variable of the prompt.
        input_key: what the human said; None takes the only one, else a usual name.
        output_key: what was answered; None takes the only one, else a usual name.
        return_messages: a list of messages in place of a text.
        return_docs: a list of documents, one a message, in place of a text.
        human_prefix, ai_prefix: who speaks in the text.
        window: turns that stand word for word.
        k: older messages that may be recalled, each with the rest of its turn.
        around: also what was said before and after each; see `MemoryBank.recall`.
        reinforce: let what was recalled count as used.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    memory: MemoryBank = Field(exclude=True, repr=False)
    namespace: str | tuple[str, ...] | None = None
    session_id: str | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    return_docs: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    window: int = Field(default=4, ge=0)
    k: int = Field(default=4, ge=1)
    around: int | None = 0
    reinforce: bool = True

    @field_validator("memory", mode="before")
    @classmethod
    def _is_bank(cls, value: object) -> MemoryBank:
        return checked_bank(value)

    @field_validator("namespace", mode="before")
    @classmethod
    def _is_whose(cls, value: Whose) -> Whose:
        return check_whose(value)

    @field_validator("around", mode="before")
    @classmethod
    def _is_around(cls, value: object) -> int | None:
        return check_around(value)

    @property
    def memory_variables(self) -> list[str]:
        """The variable that it fills."""
        return [self.memory_key]

    # -- loading -----------------------------------------------------------------------------

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The last turns, and what the question brings to mind of the older ones."""
        bank, question = self._bank(), self._question(inputs)
        recent = bank.list(**self._last()) if self.window else []
        older: list[Memory] = []
        if question.strip():
            found = _found(bank.recall(question, **self._asking(recent)))
            turns = _turns(found)
            whole = bank.list(where={"turn": {"$in": turns}}) if turns else []
            older = [*found, *whole]
        return {self.memory_key: self._told(older, recent)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The last turns, and what the question brings to mind of the older ones."""
        bank, question = AsyncMemoryBank(self._bank()), self._question(inputs)
        recent = await bank.list(**self._last()) if self.window else []
        older: list[Memory] = []
        if question.strip():
            found = _found(await bank.recall(question, **self._asking(recent)))
            turns = _turns(found)
            whole = await bank.list(where={"turn": {"$in": turns}}) if turns else []
            older = [*found, *whole]
        return {self.memory_key: self._told(older, recent)}

    def _question(self, inputs: Mapping[str, Any]) -> str:
        given = {key: value for key, value in inputs.items() if key not in self.memory_variables}
        return text_of(given[input_key_of(given, self.input_key)]) if given else ""

    def _last(self) -> dict[str, Any]:
        """The window: the last messages of this session, whether or not they have faded."""
        return {
            "source": self._source,
            "include_faded": True,
            "include_superseded": True,
            "newest_first": True,
            "limit": 2 * self.window,
        }

    def _asking(self, recent: list[Memory]) -> dict[str, Any]:
        return {
            "k": self.k,
            "exclude": [each.id for each in recent],
            "around": self.around,
            "reinforce": self.reinforce,
        }

    def _told(self, older: list[Memory], recent: list[Memory]) -> Any:
        every = {each.id: each for each in [*older, *recent]}
        ordered = sorted(every.values(), key=_when)
        if self.return_docs:
            return [document_of(each) for each in ordered]
        speakers = (self.human_prefix, self.ai_prefix)
        messages = [_message_of(each, speakers) for each in ordered]
        if self.return_messages:
            return messages
        return get_buffer_string(messages, self.human_prefix, self.ai_prefix)

    # -- saving ------------------------------------------------------------------------------

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Keep what was said and answered, and nothing else of the two."""
        self._bank().remember_many(self._drafts(inputs, outputs))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Keep what was said and answered, and nothing else of the two."""
        await AsyncMemoryBank(self._bank()).remember_many(self._drafts(inputs, outputs))

    def _drafts(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Draft]:
        answer = text_of(outputs[output_key_of(outputs, self.output_key)]) if outputs else ""
        turn = new_id()
        said = [("human", self._question(inputs)), ("ai", answer)]
        return [
            Draft(
                text=text,
                id=new_id(),
                keyed=True,
                source=self._source,
                speaker=self.human_prefix if role == "human" else self.ai_prefix,
                metadata={"role": role, "turn": turn},
                trust="user" if role == "human" else "assistant",
            )
            for role, text in said
            if text.strip()
        ]

    def clear(self) -> None:
        """Erase this session, or without a `session_id` this namespace; nothing else."""
        bank = self._bank()
        if self.session_id is None:
            bank.erase_all()
        else:
            everything = bank.list(
                source=self.session_id, include_faded=True, include_superseded=True
            )
            bank.erase([each.id for each in everything])

    async def aclear(self) -> None:
        """Erase this session, or without a `session_id` this namespace; nothing else."""
        bank = AsyncMemoryBank(self._bank())
        if self.session_id is None:
            await bank.erase_all()
        else:
            everything = await bank.list(
                source=self.session_id, include_faded=True, include_superseded=True
            )
            await bank.erase([each.id for each in everything])

    # -- inside ------------------------------------------------------------------------------

    @property
    def _source(self) -> str:
        return self.session_id or "conversation"

    def _bank(self) -> MemoryBank:
        return bank_of(self.memory, self.namespace)


def _found(hits: list[Recollection]) -> list[Memory]:
    """What came to mind with what was said around it; what only fills a place is not told."""
    related = (hit for hit in hits if hit.related)
    return [each for hit in related for each in (*hit.before, hit.memory, *hit.after)]


def _turns(memories: list[Memory]) -> list[str]:
    return sorted({each.metadata["turn"] for each in memories if "turn" in each.metadata})


def _when(memory: Memory) -> tuple[Any, ...]:
    return (memory.created_at, memory.source or "", memory.position or 0, memory.id)


def _message_of(memory: Memory, speakers: tuple[str, str]) -> BaseMessage:
    """As it was said, but for what would speak for another; what nobody said as the human's."""
    kind = AIMessage if memory.metadata.get("role") == "ai" else HumanMessage
    return kind(content=as_lines(memory.text, speakers), id=memory.id)
