"""What is worth keeping of a conversation, and what it asks, whatever framework it runs in.

An adapter tells each message as `Said`. One with an id is known by it
(`remember_many(rewrite=True)`), so that retries, resumed runs and replayed checkpoints add
nothing, and an edited one gets its new words. What is said again in another message is one
memory, strengthened, as everything in a bank is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, TypeVar

from ebbmem.bank import MemoryBank
from ebbmem.checks import check_label
from ebbmem.context import CLOSING, OPENING
from ebbmem.errors import InvalidInput, NotFound
from ebbmem.records import Draft, Trust

__all__ = [
    "Extract",
    "Ledger",
    "Role",
    "Said",
    "Save",
    "TurnCache",
    "aturn_drafts",
    "drafts_of",
    "last_question",
    "message_id",
    "turn_drafts",
    "turn_of",
    "without_recalled",
]

log = logging.getLogger("ebbmem")

Role: TypeAlias = Literal["human", "ai", "other"]
"""Who said it; "other" are tools, instructions and summaries, which are nobody's words."""

Save: TypeAlias = Literal["turn", "human", "none"]
"""Keep what the human and the assistant said, the human alone, or nothing."""

Extract: TypeAlias = Callable[[list[Any]], Any]
"""Messages of a turn -> drafts or texts to keep of it, or an awaitable of them."""

SPEAKERS = {"human": "user", "ai": "assistant"}
TRUSTS: dict[Role, Trust] = {"human": "user", "ai": "assistant"}
_KEPT = {"turn": ("human", "ai"), "human": ("human",), "none": ()}


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who said what.

    Attributes:
        text: what was said, "" if there was none; without what was recalled.
        id: by which it is known again; None is by its text.
        name: of the speaker, where there is one.
        message: as the framework has it, for `Extract`.
    """

    role: Role
    text: str
    id: str | None = None
    name: str | None = None
    message: Any = None


def without_recalled(text: str) -> str:
    """The text without recalled blocks: what was recalled is never stored again."""
    kept, done = [], 0
    while (start := text.find(OPENING, done)) >= 0 and (end := text.find(CLOSING, start)) >= 0:
        kept.append(text[done:start])
        done = end + len(CLOSING)
    return text if not kept else "".join([*kept, text[done:]]).strip()


def message_id(id: str | None) -> str | None:
    """The id of a message as a memory can have it; None without one."""
    if not id:
        return None
    try:
        return check_label("id", id)
    except InvalidInput:  # too long, or with control characters
        return str(uuid.uuid5(uuid.NAMESPACE_OID, id.encode("utf-8", "replace").hex()))


def turn_of(said: Sequence[Said]) -> list[Said]:
    """The last turn: the humans' last words in a row, and all that followed."""
    at = len(said)
    while at and said[at - 1].role != "human":
        at -= 1
    while at and said[at - 1].role == "human":
        at -= 1
    return list(said[at:])


def last_question(said: Sequence[Said]) -> str:
    """The last words of a human, "" without any."""
    return next((each.text for each in reversed(said) if each.role == "human"), "")


def drafts_of(said: Sequence[Said], source: str | None, save: Save = "turn") -> list[Draft]:
    """The words of those who are kept, with speaker and source."""
    return [
        Draft(
            text=each.text,
            id=each.id,
            source=source,
            speaker=each.name or SPEAKERS[each.role],
            metadata={"role": each.role},
            trust=TRUSTS[each.role],
        )
        for each in said
        if each.role in _KEPT[save] and each.text.strip()
    ]


def turn_drafts(
    bank: MemoryBank,
    turn: Sequence[Said],
    source: str | None,
    *,
    save: Save,
    extract: Extract | None,
    kept: int = 0,
) -> list[Draft]:
    """What to keep of a turn: what `extract` makes of it, else its words from `kept` on.

    Where `extract` fails, the words are kept.

    Raises:
        InvalidInput: `extract` is async.
    """
    if extract is None or save == "none":
        return drafts_of(turn[kept:], source, save)
    if inspect.iscoroutinefunction(extract):
        raise InvalidInput("extract", "is async; call the program by its async methods")
    if _known(bank, base := _base(turn)):
        return []
    try:
        return _named(extract([each.message for each in turn]), base, source)
    except Exception as error:
        _not_extracted(error)
        return drafts_of(turn, source, save)


async def aturn_drafts(
    bank: MemoryBank,
    turn: Sequence[Said],
    source: str | None,
    *,
    save: Save,
    extract: Extract | None,
    kept: int = 0,
) -> list[Draft]:
    """The same for an event loop; a plain `extract` runs in a thread."""
    if extract is None or save == "none":
        return drafts_of(turn[kept:], source, save)
    if await asyncio.to_thread(_known, bank, base := _base(turn)):
        return []
    messages = [each.message for each in turn]
    try:
        if inspect.iscoroutinefunction(extract):
            return _named(await extract(messages), base, source)
        return _named(await asyncio.to_thread(extract, messages), base, source)
    except Exception as error:
        _not_extracted(error)
        return drafts_of(turn, source, save)


def _not_extracted(error: Exception) -> None:
    """By its type alone: what it says may quote the turn."""
    log.warning("extract failed with %s; the turn is kept word for word", type(error).__name__)


def _base(turn: Sequence[Said]) -> str | None:
    return next((each.id for each in turn if each.id is not None), None)


def _known(bank: MemoryBank, base: str | None) -> bool:
    """Whether something was extracted from this turn before."""
    if base is None:
        return False
    try:
        bank.get(f"{base}#0", include_faded=True)
    except NotFound:
        return False
    return True


def _named(found: Any, base: str | None, source: str | None) -> list[Draft]:
    drafts = [  # a text is a model's wording of the turn; a draft says itself where it is from
        Draft(text=each, trust="assistant") if isinstance(each, str) else each for each in found
    ]
    return [
        replace(
            each,
            id=each.id or (f"{base}#{number}" if base else None),
            source=each.source or source,
        )
        for number, each in enumerate(drafts)
    ]


Value = TypeVar("Value")


class TurnCache:
    """What was recalled in a turn, by whatever tells turns apart; the latest `size` of them.

    Safe between threads: a turn that is asked for twice at once recalls twice, and both get the
    same.
    """

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        """A copy begins empty."""
        return type(self), (self._size,)

    def seen(self, key: Hashable) -> Any:
        """What this turn recalled; None if it did not yet."""
        with self._lock:
            return self._kept.get(key)

    def first(self, key: Hashable, value: Value) -> Value:
        """What this turn recalled first, which is this unless somebody was faster."""
        with self._lock:
            found: Value = self._kept.setdefault(key, value)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return found


class Ledger:
    """What of a conversation is kept already, and what could not be kept yet; safe between threads.

    What was kept once is not kept again because a transcript shows it still: it may have been
    erased meanwhile.
    """

    def __init__(self, size: int = 4096, owing: int = 1024) -> None:
        """Know the latest `size` that were kept and, of each place, `owing` that were not."""
        self._size, self._owing = size, owing
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, str] = OrderedDict()
        self._owed: dict[Hashable, list[Draft]] = {}

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        """A copy begins empty."""
        return type(self), (self._size, self._owing)

    def ids(self, keys: Iterable[Hashable]) -> list[str | None]:
        """The ids of what was kept under these; None for what was not."""
        with self._lock:
            return [self._kept.get(key) for key in keys]

    def keep(self, ids: Iterable[tuple[Hashable, str]]) -> None:
        """Note that these were kept."""
        with self._lock:
            for key, id_ in ids:
                self._kept[key] = id_
                self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def owe(self, place: Hashable, drafts: Sequence[Draft]) -> None:
        """Note that these could not be kept."""
        with self._lock:
            owed = {(each.id, each.text): each for each in (*self._owed.pop(place, ()), *drafts)}
            if owed:
                self._owed[place] = [*owed.values()][-self._owing :]

    def pay(self, place: Hashable) -> list[Draft]:
        """What is owed to this place, which owes nothing from now on."""
        with self._lock:
            return self._owed.pop(place, [])
