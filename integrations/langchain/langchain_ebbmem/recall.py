"""Memory for any chain: a runnable that recalls, and one that recalls, runs and keeps the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable, ensure_config
from langchain_core.runnables.base import RunnableLike, coerce_to_runnable
from pydantic import ConfigDict, Field, field_validator

from ebbmem import AsyncMemoryBank, MemoryBank, Recollection
from ebbmem.around import check_around
from ebbmem.records import Memories
from ebbmem.turns import (
    Extract,
    Said,
    Save,
    aturn_drafts,
    drafts_of,
    last_question,
    turn_drafts,
    turn_of,
)
from langchain_ebbmem.binding import Whose, bank_of, check_whose, checked_bank
from langchain_ebbmem.guard import Guard, OnError
from langchain_ebbmem.keys import input_key_of, output_key_of
from langchain_ebbmem.turns import said_all, text_of

__all__ = ["EbbinghausRecall", "with_ebbinghaus_memory"]

Input: TypeAlias = str | Mapping[str, Any] | Sequence[BaseMessage]


class _Remembering(RunnableSerializable[Any, Any]):
    """What the two share: a bank, whose it is, and how a question is asked of it."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    memory: MemoryBank = Field(exclude=True, repr=False)
    namespace: Any = None
    k: int = Field(default=10, ge=1)
    budget: int = Field(default=512, ge=1)
    around: int | None = None
    input_key: str | None = None
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

    def _bank(self, config: RunnableConfig) -> MemoryBank:
        return bank_of(self.memory, self.namespace, config)

    def _question(self, value: Input, ignored: Sequence[str] = ()) -> str:
        if isinstance(value, Mapping):
            value = value[input_key_of(value, self.input_key, ignored=ignored)]
        messages = _messages(value)
        return last_question(said_all(messages)) if messages else text_of(value)

    def _asking(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "budget": self.budget,
            "around": self.around,
            "inert": True,  # a prompt is mostly made of a template
            "reinforce": self.reinforce,
        }


class EbbinghausRecall(_Remembering):
    """From a question to what it brings to mind, as text for a prompt; "" if nothing does.

    Takes a text, a dict (see `input_key`) or messages.

    ```python
    RunnablePassthrough.assign(memories=EbbinghausRecall(memory=bank)) | prompt | model
    ```

    Attributes:
        memory: a MemoryBank.
        namespace: whose memory: names, or a function of the config; None is the bank's own.
        k: at most so many recollections.
        budget: tokens that the block never exceeds.
        around: what was said before and after each is told as well; see `MemoryBank.recall`.
        input_key: of a dict, what the human said; None takes the only key or a usual one.
        reinforce: let what was recalled count as used.
        formatter: recollections to text, in place of the delimited block.
    """

    formatter: Callable[[list[Recollection]], str] | None = None

    def invoke(self, input: Input, config: RunnableConfig | None = None, **_: Any) -> str:
        """What comes to mind."""
        found: str = self._call_with_config(self._recalled, input, config, run_type="retriever")
        return found

    async def ainvoke(self, input: Input, config: RunnableConfig | None = None, **_: Any) -> str:
        """What comes to mind."""
        found: str = await self._acall_with_config(
            self._arecalled, input, config, run_type="retriever"
        )
        return found

    def _recalled(self, input: Any, run_manager: object, config: RunnableConfig) -> str:
        question = self._question(input)
        if not question.strip():
            return ""
        bank = self._bank(config)
        if self.formatter is None:
            return str(bank.context(question, **self._asking()))
        return self.formatter(bank.recall(question, self.k, **self._plainly()))

    async def _arecalled(self, input: Any, run_manager: object, config: RunnableConfig) -> str:
        question = self._question(input)
        if not question.strip():
            return ""
        bank = AsyncMemoryBank(await asyncio.to_thread(self._bank, config))
        if self.formatter is None:
            return str(await bank.context(question, **self._asking()))
        return self.formatter(await bank.recall(question, self.k, **self._plainly()))

    def _plainly(self) -> dict[str, Any]:
        return {"around": self.around, "reinforce": self.reinforce}


def with_ebbinghaus_memory(
    runnable: RunnableLike[Any, Any],
    memory: MemoryBank | AsyncMemoryBank,
    *,
    input_key: str | None = None,
    memory_key: str = "memories",
    output_key: str | None = None,
    session_key: str = "session_id",
    namespace: Whose = None,
    k: int = 10,
    budget: int = 512,
    around: int | None = None,
    save: Save = "turn",
    extract: Extract | None = None,
    reinforce: bool = True,
    on_error: OnError = "warn",
) -> Runnable[Any, Any]:
    """A chain that remembers: it gets what comes to mind as `memory_key`, and its turns are kept.

    The human's words are kept before the chain runs, the answer after it, what there is of it
    if a stream is closed early. A question without an id that is asked again, as a retry does,
    is one record.

    Args:
        runnable: a chain or a function that takes a dict; a text or messages come to it as
            `input_key`, else "input".
        input_key: what the human said; None takes the only key or a usual one.
        output_key: of a dict that it gives, what was answered; None takes a usual one.
        session_key: of `config["configurable"]`, what names the conversation.
        namespace: whose memory: names, or a function of the config; None is the bank's own.
        around: what was said before and after each is told as well; see `MemoryBank.recall`.
        save: "turn" keeps both, "human" the question alone, "none" nothing.
        extract: makes drafts or texts of the messages of a turn, in place of its words.
        on_error: what to do when recalling or keeping fails: log it and go on, or raise.

    Raises:
        InvalidInput: an argument that cannot be used.
    """
    return _WithMemory(
        bound=coerce_to_runnable(runnable),
        memory=checked_bank(memory),
        input_key=input_key,
        memory_key=memory_key,
        output_key=output_key,
        session_key=session_key,
        namespace=namespace,
        k=k,
        budget=budget,
        around=around,
        save=save,
        extract=extract,
        reinforce=reinforce,
        on_error=on_error,
    )


@dataclass(frozen=True, slots=True)
class _Turn:
    """One call under way: where it goes, what the chain gets, what the human said."""

    bank: MemoryBank
    session: str | None
    value: dict[str, Any]
    own: list[Said]


class _WithMemory(_Remembering):
    """See `with_ebbinghaus_memory`."""

    bound: Runnable[Any, Any]
    memory_key: str = "memories"
    output_key: str | None = None
    session_key: str = "session_id"
    save: Save = "turn"
    extract: Any = None
    on_error: OnError = "warn"

    @property
    def _guard(self) -> Guard:
        return Guard("with_ebbinghaus_memory", self.on_error)

    # -- the runnable ------------------------------------------------------------------------

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Recall, run, keep."""
        turn = self._begun(input, ensure_config(config))
        answer = self.bound.invoke(turn.value, config, **kwargs)
        self._ended(turn, answer)
        return answer

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Recall, run, keep."""
        turn = await self._abegun(input, ensure_config(config))
        answer = await self.bound.ainvoke(turn.value, config, **kwargs)
        await self._aended(turn, answer)
        return answer

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Recall, run, and keep what was streamed, also if nobody reads it to the end."""
        turn = self._begun(input, ensure_config(config))
        gathered = _Gathered()
        try:
            for chunk in self.bound.stream(turn.value, config, **kwargs):
                gathered.add(chunk)
                yield chunk
        except GeneratorExit:
            self._ended(turn, gathered.answer)
            raise
        self._ended(turn, gathered.answer)

    async def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Recall, run, and keep what was streamed, also if nobody reads it to the end."""
        turn = await self._abegun(input, ensure_config(config))
        gathered = _Gathered()
        try:
            async for chunk in self.bound.astream(turn.value, config, **kwargs):
                gathered.add(chunk)
                yield chunk
        except (GeneratorExit, asyncio.CancelledError):
            await asyncio.shield(self._aended(turn, gathered.answer))
            raise
        await self._aended(turn, gathered.answer)

    # -- before and after --------------------------------------------------------------------

    def _given(self, input: Input) -> tuple[dict[str, Any], list[Said]]:
        """The dict the chain gets, and what was said."""
        value = dict(input) if isinstance(input, Mapping) else {self.input_key or "input": input}
        said = value[input_key_of(value, self.input_key, ignored=[self.memory_key])]
        return value, said_all(_messages(said) or [HumanMessage(content=text_of(said))])

    def _session(self, config: RunnableConfig) -> str | None:
        found = config.get("configurable", {}).get(self.session_key)
        return None if found is None else str(found)

    def _begun(self, input: Input, config: RunnableConfig) -> _Turn:
        """Keep the question, then ask what it brings to mind, itself left out."""
        bank, (value, asked) = self._bank(config), self._given(input)
        session, own = self._session(config), turn_of(asked)
        kept = self._guard.run("save", session, lambda: self._kept(bank, own, session))
        asking = {**self._asking(), "exclude": [each.id for each in kept or ()]}
        block, question = "", last_question(asked)
        if question.strip():
            found = self._guard.run("recall", session, lambda: bank.context(question, **asking))
            block = str(found or "")
        return _Turn(bank, session, {**value, self.memory_key: block}, own)

    async def _abegun(self, input: Input, config: RunnableConfig) -> _Turn:
        bank, (value, asked) = await asyncio.to_thread(self._bank, config), self._given(input)
        session, own = self._session(config), turn_of(asked)
        kept = await self._guard.arun("save", session, self._akept(bank, own, session))
        asking = {**self._asking(), "exclude": [each.id for each in kept or ()]}
        block, question = "", last_question(asked)
        if question.strip():
            recalling = AsyncMemoryBank(bank).context(question, **asking)
            block = str(await self._guard.arun("recall", session, recalling) or "")
        return _Turn(bank, session, {**value, self.memory_key: block}, own)

    def _kept(self, bank: MemoryBank, own: list[Said], session: str | None) -> Memories:
        """The question at once, as the chain may fail; `extract` wants the whole turn."""
        drafts = [] if self.extract is not None else drafts_of(own, session, self.save)
        return bank.remember_many(drafts, rewrite=True)

    async def _akept(self, bank: MemoryBank, own: list[Said], session: str | None) -> Memories:
        drafts = [] if self.extract is not None else drafts_of(own, session, self.save)
        return await AsyncMemoryBank(bank).remember_many(drafts, rewrite=True)

    def _ended(self, turn: _Turn, answer: object) -> None:
        self._guard.run("save", turn.session, lambda: self._kept_whole(turn, answer))

    async def _aended(self, turn: _Turn, answer: object) -> None:
        await self._guard.arun("save", turn.session, self._akept_whole(turn, answer))

    def _kept_whole(self, turn: _Turn, answer: object) -> None:
        whole = [*turn.own, *self._answered(answer)]
        drafts = turn_drafts(turn.bank, whole, turn.session, **self._keeping(turn))
        turn.bank.remember_many(drafts, rewrite=True)

    async def _akept_whole(self, turn: _Turn, answer: object) -> None:
        whole = [*turn.own, *self._answered(answer)]
        drafts = await aturn_drafts(turn.bank, whole, turn.session, **self._keeping(turn))
        await AsyncMemoryBank(turn.bank).remember_many(drafts, rewrite=True)

    def _keeping(self, turn: _Turn) -> dict[str, Any]:
        """What was asked was kept when the turn began."""
        return {"save": self.save, "extract": self.extract, "kept": len(turn.own)}

    def _answered(self, answer: object) -> list[Said]:
        """What the assistant said in this turn."""
        if isinstance(answer, Mapping):
            if not answer:
                return []
            answer = answer[output_key_of(answer, self.output_key)]
        messages = _messages(answer) or [AIMessage(content=text_of(answer))]
        return [each for each in turn_of(said_all(messages)) if each.role == "ai"]


class _Gathered:
    """The chunks of a stream so far, added up where they can be."""

    def __init__(self) -> None:
        self.answer: Any = None

    def add(self, chunk: Any) -> None:
        if self.answer is None:
            self.answer = chunk
            return
        try:
            self.answer = self.answer + chunk
        except TypeError:
            self.answer = {**self.answer, **chunk} if isinstance(chunk, Mapping) else chunk


def _messages(value: object) -> list[BaseMessage]:
    """The messages in a value; none if it is not made of them."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list | tuple) and all(isinstance(each, BaseMessage) for each in value):
        return list(value)
    return []
