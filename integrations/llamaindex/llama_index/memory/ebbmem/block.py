"""A memory block that forgets: for LlamaIndex's `Memory`, and inside `EbbinghausMemory`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock
from llama_index.memory.ebbmem.asking import Turn
from llama_index.memory.ebbmem.binding import Whose, bank_of, checked_bank
from llama_index.memory.ebbmem.handles import bank_at, place_of
from llama_index.memory.ebbmem.messages import Count, said_all
from llama_index.memory.ebbmem.steps import Call, Guard, Steps, adriven, driven

from ebbmem import AsyncMemoryBank, Draft, InvalidInput, MemoryBank
from ebbmem.around import check_around
from ebbmem.checks import check_choice, check_count, check_flag, check_label
from ebbmem.context import shrink
from ebbmem.tokens import default_counter
from ebbmem.turns import Ledger, Said, Save, TurnCache, drafts_of, message_id

__all__ = ["EbbinghausMemoryBlock", "Scope"]

Scope = Literal["user", "session"]
"""Recall what was said in any session of the namespace, or in this one alone."""

_DESCRIPTION = "What comes to mind of earlier conversations; it fades unless it is used."


class EbbinghausMemoryBlock(BaseMemoryBlock[str]):
    """Forgetting-curve memory as a block: what is said is kept the turn it is said.

    It reads and writes with every `aget`, not only when the short-term memory overflows. With
    agents use `insert_method=InsertMethod.USER`: ReAct and CodeAct agents drop what is put into
    a system message. `EbbinghausMemory` has it right for every engine.

    ```python
    Memory.from_defaults(session_id="s1", memory_blocks=[EbbinghausMemoryBlock(bank)])
    ```
    """

    memory: MemoryBank = Field(exclude=True)
    namespace: Any = Field(default=None, exclude=True)
    scope: Scope = "user"
    k: int = 10
    budget: int = 512
    around: int | None = None
    save: Save = "turn"
    reinforce: bool = True
    query_max_chars: int = 2000
    on_error: Literal["warn", "raise"] = "warn"
    count_tokens: Count | None = Field(default=None, exclude=True)

    _turns: TurnCache = PrivateAttr(default_factory=TurnCache)
    _ledger: Ledger = PrivateAttr(default_factory=Ledger)

    def __init__(
        self,
        memory: MemoryBank | AsyncMemoryBank,
        *,
        namespace: Whose = None,
        name: str = "ebbmem",
        description: str | None = _DESCRIPTION,
        priority: int = 1,
        accept_short_term_memory: bool = True,
        scope: Scope = "user",
        k: int = 10,
        budget: int = 512,
        around: int | None = None,
        save: Save = "turn",
        reinforce: bool = True,
        query_max_chars: int = 2000,
        on_error: Literal["warn", "raise"] = "warn",
        count_tokens: Count | None = None,
    ) -> None:
        """Take a bank; whose memory it is may depend on the session.

        Args:
            namespace: whose memory: names, or a function of the session's id that gives them;
                None is the bank's own.
            name: no other block of a `Memory` may have it.
            priority: for `Memory`, which truncates a block of 0 never, and the others by this.
            accept_short_term_memory: keep what `Memory` flushes.
            scope: recall from all sessions of the namespace, or from the one that asks.
            k: at most so many recollections a turn.
            budget: tokens that they never exceed, with what surrounds them.
            around: what was said before and after each is told as well; see
                `MemoryBank.recall`.
            save: "turn" keeps what the human and the assistant said, "human" the first alone.
            reinforce: let what was recalled count as used.
            query_max_chars: of a longer question only its end is asked.
            on_error: what to do when recalling or keeping fails: log it and go on, or raise.
            count_tokens: None is the counter of the bank.

        Raises:
            InvalidInput: an argument that cannot be used.
        """
        if not callable(namespace):
            bank_of(memory, namespace)  # refused here rather than in the first turn
        fields: dict[str, Any] = {
            "memory": checked_bank(memory),
            "namespace": namespace,
            "name": check_label("name", name),
            "description": description,
            "priority": priority,
            "accept_short_term_memory": accept_short_term_memory,
            "scope": check_choice("scope", scope, get_args(Scope)),
            "k": check_count("k", k, least=1),
            "budget": check_count("budget", budget, least=1),
            "around": check_around(around),
            "save": check_choice("save", save, get_args(Save)),
            "reinforce": check_flag("reinforce", reinforce),
            "query_max_chars": check_count("query_max_chars", query_max_chars, least=1),
            "on_error": check_choice("on_error", on_error, ("warn", "raise")),
            "count_tokens": count_tokens,
        }
        super().__init__(**fields)

    # -- as a block of Memory ----------------------------------------------------------------

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        return await self.arecall(said_all(messages), session_id)

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Keep messages; they stay as they are, and a flush of what is kept adds nothing."""
        if from_short_term_memory and not self.accept_short_term_memory:
            return
        session = _session_of(messages) if session_id is None else session_id
        await self.akeep(said_all(messages), session, anew=not from_short_term_memory)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block with so many tokens less, its lowest scores left out; None if none is left."""
        count = self.counter
        return self.shrunk(content, count(content) - tokens_to_truncate) or None

    # -- for whoever composes it -------------------------------------------------------------

    def recall(
        self, said: Sequence[Said], session_id: str | None, turn_id: str | None = None
    ) -> str:
        """What the last words of a human bring to mind, once a turn; what is new is kept.

        Args:
            said: what the model sees anyway, and is not told again.
            turn_id: what tells turns apart, where `said` does not begin with the session.
        """
        turn = Turn.of(said, session_id, turn_id)
        with self._guarded("recall"):
            bank = self.bank(session_id)
            return driven(bank, self._recalling(bank, turn))
        return ""

    async def arecall(
        self, said: Sequence[Said], session_id: str | None, turn_id: str | None = None
    ) -> str:
        """The same for an event loop."""
        turn = Turn.of(said, session_id, turn_id)
        with self._guarded("recall"):
            bank = await asyncio.to_thread(self.bank, session_id)
            return await adriven(bank, self._recalling(bank, turn))
        return ""

    def keep(self, said: Sequence[Said], session_id: str | None, *, anew: bool = True) -> None:
        """Keep what was said; not `anew` is a transcript, of which only what is new is kept."""
        turn = Turn.of(said, session_id)
        with self._guarded("save"):
            bank = self.bank(session_id)
            driven(bank, self._keeping(bank, turn, _texts(turn) if anew else ()))

    async def akeep(
        self, said: Sequence[Said], session_id: str | None, *, anew: bool = True
    ) -> None:
        """The same for an event loop."""
        turn = Turn.of(said, session_id)
        with self._guarded("save"):
            bank = await asyncio.to_thread(self.bank, session_id)
            await adriven(bank, self._keeping(bank, turn, _texts(turn) if anew else ()))

    def bank(self, session_id: str | None) -> MemoryBank:
        """The bank of a session."""
        return bank_of(self.memory, self.namespace, session_id)

    @property
    def counter(self) -> Count:
        """What counts tokens here."""
        return self.count_tokens or default_counter()[0]

    def shrunk(self, content: str, budget: int) -> str:
        """A block of at most `budget` tokens, its lowest scores left out."""
        return shrink(content, max(budget, 0), count_tokens=self.counter)

    # -- inside ------------------------------------------------------------------------------

    def _recalling(self, bank: MemoryBank, turn: Turn) -> Steps[str]:
        found: str | None = self._turns.seen(key := turn.key(bank)) if turn.question else ""
        shown = yield from self._keeping(bank, turn, () if found is not None else (turn.question,))
        if found is not None:
            return found
        if self.scope == "session" and not turn.session:
            raise InvalidInput("session_id", "is needed where scope is 'session'")
        block: str = yield Call(
            "context",
            {
                "query": turn.question[-self.query_max_chars :],
                "k": self.k,
                "budget": self.budget,
                "around": self.around,
                "source": message_id(turn.session) if self.scope == "session" else None,
                "exclude": shown,
                "count_tokens": self.count_tokens,
                "inert": True,
                "reinforce": self.reinforce,
            },
        )
        return self._turns.first(key, block)

    def _keeping(self, bank: MemoryBank, turn: Turn, said_now: Collection[str]) -> Steps[list[str]]:
        """Keep what is new of it, and what is said now; the ids of all that stands there."""
        known: dict[Hashable, str | None] = {}
        with self._guarded("save"):
            drafts, wanted = self._drafts(bank, turn, "turn"), self._drafts(bank, turn, self.save)
            known = dict(zip(drafts, self._ledger.ids(drafts), strict=True))
            saying = {key for key in wanted if wanted[key].text in said_now}
            unsure = [key for key, id_ in known.items() if id_ is None and key not in saying]
            if unsure:
                found = yield Call("known", {"drafts": [drafts[key] for key in unsure]})
                known.update(zip(unsure, found, strict=True))
            new = {key: wanted[key] for key in wanted if known[key] is None or key in saying}
            owed = self._ledger.pay(bank.namespace)
            if owed or new:
                ids = yield from self._remembering(bank, [*owed, *new.values()])
                known.update(zip(new, ids[len(owed) :], strict=True))
            self._ledger.keep((key, id_) for key, id_ in known.items() if id_ is not None)
        return [id_ for id_ in known.values() if id_ is not None]

    def _remembering(self, bank: MemoryBank, drafts: list[Draft]) -> Steps[list[str]]:
        """Their ids; what cannot be kept is owed, as of now."""
        try:
            memories = yield Call("remember_many", {"drafts": drafts})
        except BaseException:
            now = bank.clock()
            self._ledger.owe(bank.namespace, [replace(each, at=each.at or now) for each in drafts])
            raise
        return [each.id for each in memories]

    def _drafts(self, bank: MemoryBank, turn: Turn, save: Save) -> dict[Hashable, Draft]:
        """What is worth keeping, by what it is known by: its text, or its text in its session."""
        source = message_id(turn.session)
        found: dict[Hashable, Draft] = {}
        for each in drafts_of(turn.said, source, save):
            draft = each
            if self.scope == "session":  # what another session says too is another memory
                id_ = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([source, each.text])))
                draft = replace(each, id=id_, keyed=True)
            digest = hashlib.blake2b((draft.id or draft.text).encode(), digest_size=16).digest()
            found.setdefault((bank.namespace, digest), draft)
        return found

    def _guarded(self, what: str) -> Guard:
        return Guard(f"{self.name}: {what}", raises=self.on_error == "raise")

    def __reduce__(self) -> tuple[Any, ...]:
        """By where its bank is: a bank is a handle of a file, and not pickled itself."""
        options = {each: getattr(self, each) for each in type(self).model_fields}
        del options["memory"]
        return _reopened, (type(self), place_of(self.memory), options)


def _reopened(
    cls: type[EbbinghausMemoryBlock], place: dict[str, Any], options: dict[str, Any]
) -> EbbinghausMemoryBlock:
    return cls(bank_at(place), **options)


def _session_of(messages: Sequence[ChatMessage]) -> str | None:
    """The session that `Memory` notes on messages."""
    noted = (each.additional_kwargs.get("session_id") for each in messages)
    return next((each for each in noted if isinstance(each, str)), None)


def _texts(turn: Turn) -> set[str]:
    return {each.text for each in turn.said}
