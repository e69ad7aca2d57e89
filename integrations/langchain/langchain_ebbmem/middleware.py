"""A memory for `create_agent`: recalled once a turn, shown to the model, not in the transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from ebbmem import AsyncMemoryBank, Draft, InvalidInput, MemoryBank
from ebbmem.around import check_around
from ebbmem.checks import check_choice, check_count
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
from langchain_ebbmem.turns import said_all

__all__ = ["EbbinghausMiddleware", "EbbinghausState"]


def _merged(left: dict[str, str] | None, right: dict[str, str] | None) -> dict[str, str]:
    return {**(left or {}), **(right or {})}


class EbbinghausState(AgentState[Any]):
    """What a turn recalled, by the name of the middleware; not part of the agent's output."""

    ebbmem: NotRequired[Annotated[dict[str, str], PrivateStateAttr, _merged]]


class _Name(str):
    """A name that says what to do where two instances of one agent share it."""

    __slots__ = ("owner",)
    owner: object

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        same = str.__eq__(self, other) is True
        if same and isinstance(other, _Name) and self.owner is not other.owner:
            raise InvalidInput(
                "middleware",
                f"two EbbinghausMiddleware of one agent are called {str(self)!r}; "
                "give one of them another name=",
            )
        return same


class EbbinghausMiddleware(AgentMiddleware[EbbinghausState, Any, Any]):
    """Forgetting-curve memory for an agent: one object in `middleware=[...]`.

    Before a turn it recalls what the last human message brings to mind, and keeps that message,
    even if the model fails. The model sees the recollections as one delimited block; the
    transcript never does. After the turn the answer is kept, by message id, so that
    retries, resumed and replayed runs add nothing.

    ```python
    agent = create_agent(model, tools, middleware=[EbbinghausMiddleware(bank)])
    ```
    """

    state_schema = EbbinghausState

    def __init__(
        self,
        memory: MemoryBank | AsyncMemoryBank | None = None,
        *,
        namespace: Whose = None,
        k: int = 10,
        budget: int = 512,
        around: int | None = None,
        save: Save = "turn",
        extract: Extract | None = None,
        inject: Literal["system", "message"] = "system",
        reinforce: bool = True,
        tools: bool = False,
        on_error: OnError = "warn",
        name: str | None = None,
    ) -> None:
        """Take a memory; whose it is may depend on the run.

        Args:
            memory: None takes that of the agent's `store=EbbinghausStore(...)`.
            namespace: whose memory: names, or a function of the `runtime` that gives them
                (`lambda runtime: ("users", runtime.context.user_id)`); None is the bank's own.
            k: at most so many recollections a turn.
            budget: tokens that their block never exceeds.
            around: what was said before and after each is told as well; see
                `MemoryBank.recall`.
            save: "turn" keeps what the human and the assistant said, "human" the first alone.
            extract: makes drafts or texts of the messages of a turn, in place of its words.
            inject: the block ends the system message, or begins the last human one.
            reinforce: let what was recalled count as used.
            tools: give the model tools to recall, remember and forget as well.
            on_error: what to do when recalling or keeping fails: log it and go on, or raise.
            name: tells two of them in one agent apart.

        Raises:
            InvalidInput: an argument that cannot be used.
        """
        super().__init__()
        self._memory = None if memory is None else checked_bank(memory)
        self._namespace = check_whose(namespace)
        self._k = check_count("k", k, least=1)
        self._budget = check_count("budget", budget, least=1)
        self._around = check_around(around)
        self._save = check_choice("save", save, ("turn", "human", "none"))
        self._extract = extract
        self._inject = check_choice("inject", inject, ("system", "message"))
        self._reinforce = reinforce
        self._name = _Name(type(self).__name__ if name is None else name)
        self._name.owner = self
        self._guard = Guard(str(self._name), on_error)
        if tools:
            self.tools = self._made_tools()

    @property
    def name(self) -> str:
        """What tells it apart in an agent."""
        return self._name

    def _made_tools(self) -> Sequence[Any]:
        if self._memory is None or callable(self._namespace):
            raise InvalidInput("tools", "need a memory and a namespace that no run changes")
        from langchain_ebbmem.tools import (
            create_forget_tool,
            create_recall_tool,
            create_remember_tool,
        )

        makers = (create_recall_tool, create_remember_tool, create_forget_tool)
        return [make(self._memory, namespace=self._namespace) for make in makers]

    # -- before the turn ---------------------------------------------------------------------

    def before_agent(self, state: EbbinghausState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what the human said, for the model may fail, and recall once."""
        bank, said = self._bank(runtime), said_all(state["messages"])
        saved = self._guard.run(
            "save", _thread(runtime), lambda: self._kept_asked(bank, said, runtime)
        )
        block = self._guard.run(
            "recall", _thread(runtime), lambda: self._recalled(bank, said, saved)
        )
        return self._noted(block or "")

    async def abefore_agent(
        self, state: EbbinghausState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Keep what the human said, for the model may fail, and recall once."""
        bank, said = await asyncio.to_thread(self._bank, runtime), said_all(state["messages"])
        saved = await self._guard.arun(
            "save", _thread(runtime), self._akept_asked(bank, said, runtime)
        )
        block = await self._guard.arun(
            "recall", _thread(runtime), self._arecalled(bank, said, saved)
        )
        return self._noted(block or "")

    def _kept_asked(
        self, bank: MemoryBank, said: Sequence[Said], runtime: Runtime[Any]
    ) -> Memories:
        return self._kept(bank, self._asked(said, runtime))

    async def _akept_asked(
        self, bank: MemoryBank, said: Sequence[Said], runtime: Runtime[Any]
    ) -> Memories:
        return await self._akept(bank, self._asked(said, runtime))

    def _asked(self, said: Sequence[Said], runtime: Runtime[Any]) -> list[Draft]:
        """The human's words; `extract` wants the whole turn, and takes an unanswered one later."""
        asked = [] if self._extract is not None else turn_of(said)
        return drafts_of(asked, _thread(runtime), self._save)

    def _recalled(self, bank: MemoryBank, said: Sequence[Said], saved: Memories | None) -> str:
        question = last_question(said)
        if not question.strip():
            return ""
        return str(bank.context(question, **self._asking(said, saved)))

    async def _arecalled(
        self, bank: MemoryBank, said: Sequence[Said], saved: Memories | None
    ) -> str:
        question = last_question(said)
        if not question.strip():
            return ""
        return str(await AsyncMemoryBank(bank).context(question, **self._asking(said, saved)))

    def _asking(self, said: Sequence[Said], saved: Memories | None) -> dict[str, Any]:
        """What the model reads in the transcript anyway needs no recalling."""
        shown = [each.id for each in said if each.id is not None]
        return {
            "k": self._k,
            "budget": self._budget,
            "around": self._around,
            "inert": True,
            "exclude": [*shown, *(each.id for each in saved or ())],
            "reinforce": self._reinforce,
        }

    def _noted(self, block: str) -> dict[str, Any]:
        return {"ebbmem": {str(self._name): block}}

    # -- the model ---------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Show the model what was recalled, in this call alone."""
        return handler(self._told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """Show the model what was recalled, in this call alone."""
        return await handler(self._told(request))

    def _told(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state: Any = request.state
        block = (state.get("ebbmem") or {}).get(str(self._name), "")
        if not block:
            return request
        if self._inject == "system":
            return request.override(system_message=_extended(request.system_message, block))
        messages: list[Any] = list(request.messages)
        for at in range(len(messages) - 1, -1, -1):
            if isinstance(messages[at], HumanMessage):
                messages[at] = _prefixed(messages[at], block)
                break
        return request.override(messages=messages)

    # -- after the turn ----------------------------------------------------------------------

    def after_agent(self, state: EbbinghausState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep the turn, each message by its id."""
        bank = self._bank(runtime)
        self._guard.run("save", _thread(runtime), lambda: self._kept_turn(bank, state, runtime))
        return self._noted("")

    async def aafter_agent(
        self, state: EbbinghausState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Keep the turn, each message by its id."""
        bank = await asyncio.to_thread(self._bank, runtime)
        await self._guard.arun("save", _thread(runtime), self._akept_turn(bank, state, runtime))
        return self._noted("")

    def _kept_turn(self, bank: MemoryBank, state: EbbinghausState, runtime: Runtime[Any]) -> None:
        turn = turn_of(said_all(state["messages"]))
        drafts = turn_drafts(bank, turn, _thread(runtime), save=self._save, extract=self._extract)
        self._kept(bank, drafts)

    async def _akept_turn(
        self, bank: MemoryBank, state: EbbinghausState, runtime: Runtime[Any]
    ) -> None:
        turn = turn_of(said_all(state["messages"]))
        drafts = await aturn_drafts(
            bank, turn, _thread(runtime), save=self._save, extract=self._extract
        )
        await self._akept(bank, drafts)

    @staticmethod
    def _kept(bank: MemoryBank, drafts: Sequence[Draft]) -> Memories:
        return bank.remember_many(drafts, rewrite=True) if drafts else []

    @staticmethod
    async def _akept(bank: MemoryBank, drafts: Sequence[Draft]) -> Memories:
        return await AsyncMemoryBank(bank).remember_many(drafts, rewrite=True) if drafts else []

    # -- wiring ------------------------------------------------------------------------------

    def _bank(self, runtime: Runtime[Any]) -> MemoryBank:
        memory = _of_store(runtime.store) if self._memory is None else self._memory
        return bank_of(memory, self._namespace, runtime)


def _of_store(store: object) -> MemoryBank:
    from langchain_ebbmem.store import EbbinghausStore

    if isinstance(store, EbbinghausStore):
        return store.memory
    given = "has no store" if store is None else f"has a {type(store).__name__}"
    raise InvalidInput(
        "memory",
        f"was not given, and the agent {given}; "
        "use EbbinghausMiddleware(bank) or create_agent(store=EbbinghausStore(...))",
    )


def _thread(runtime: Runtime[Any]) -> str | None:
    info = runtime.execution_info
    return None if info is None or not info.thread_id else str(info.thread_id)


def _extended(system: SystemMessage | None, block: str) -> SystemMessage:
    """The one system message, with the block at its end."""
    if system is None:
        return SystemMessage(content=block)
    content = system.content
    if isinstance(content, str):
        return system.model_copy(update={"content": f"{content}\n\n{block}" if content else block})
    return system.model_copy(update={"content": [*content, {"type": "text", "text": block}]})


def _prefixed(message: BaseMessage, block: str) -> BaseMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{block}\n\n{content}"})
    return message.model_copy(update={"content": [{"type": "text", "text": block}, *content]})
