"""What a store holds and what it must be able to do.

Instants are microseconds since the epoch. Every call is one transaction or none, is given
the namespace, and raises errors of ours. A write numbers what it touched with the
namespace's next `change_seq`, so that `changes(since)` can tell a reader what it missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ebbmem.clock import to_micros
from ebbmem.embedding.base import Encoding, Fingerprint
from ebbmem.records import Draft, Memory, Namespace, Status, Trust
from ebbmem.store.probes import ProbeStore

if TYPE_CHECKING:
    from ebbmem.store.mends import Rules

__all__ = [
    "Added",
    "AuditFault",
    "AuditLine",
    "AuditState",
    "Change",
    "Changes",
    "Content",
    "Edit",
    "Entry",
    "MemoryStore",
    "NamespaceInfo",
    "Passage",
    "Rewrite",
    "State",
    "as_given",
    "state_of",
]


@dataclass(frozen=True, slots=True)
class State:
    """The facts that strength follows from, and what recall and the daily pass write.

    `fades_at` is a lower bound of the instant at which strength falls below the policy's
    threshold or the memory expires: exact on the wall clock, checked again by the pass on days
    of use. None: never.
    """

    id: str
    category: str
    importance: float
    created_at: int
    last_reinforced_at: int | None = None
    recall_count: int = 0
    fades_at: int | None = None
    status: Status = "active"
    faded_at: int | None = None
    pinned: bool = False
    held: bool = False
    expires_at: int | None = None
    superseded_at: int | None = None
    superseded_by: str | None = None

    @property
    def clock_start(self) -> int:
        """The instant from which time elapses."""
        return max(self.created_at, self.last_reinforced_at or self.created_at)


def state_of(memory: Memory) -> State:
    """The state a record carries, instants as integers."""
    return State(
        id=memory.id,
        category=memory.category,
        importance=memory.importance,
        created_at=to_micros(memory.created_at),
        last_reinforced_at=_micros(memory.last_reinforced_at),
        recall_count=memory.recall_count,
        fades_at=_micros(memory.fades_at),
        status=memory.status,
        faded_at=_micros(memory.faded_at),
        pinned=memory.pinned,
        held=memory.held,
        expires_at=_micros(memory.expires_at),
        superseded_at=_micros(memory.superseded_at),
        superseded_by=memory.superseded_by,
    )


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


@dataclass(frozen=True, slots=True)
class Passage:
    """The span [start, stop) of a text that was indexed as one, and its encoding if any."""

    start: int
    stop: int
    encoding: Encoding | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A new memory with its passages, ready to be written, and what it takes the place of."""

    memory: Memory
    passages: tuple[Passage, ...]
    imported: bool = False  # with its own history: if it is here already, nothing happened
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Added:
    """What became of an entry: `id` is the record's, new or the one that was there."""

    id: str
    created: bool


@dataclass(frozen=True, slots=True)
class Content:
    """What a reader needs to index a memory."""

    text: str
    source: str | None
    position: int | None
    speaker: str | None
    passages: tuple[Passage, ...]
    searchable: bool = True
    trust: Trust = "user"


@dataclass(frozen=True, slots=True)
class Change:
    """One memory that changed: its state (None: gone); its content and links if those did too."""

    id: str
    state: State | None
    content: Content | None
    links: tuple[tuple[str, float], ...] | None


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything after `since`, up to and including `seq`; `reset`: forget what you knew."""

    seq: int
    reset: bool
    active_days: tuple[int, ...]
    embedder: Fingerprint | None
    policy: str | None
    rows: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class NamespaceInfo:
    """What a namespace keeps about itself."""

    policy: str
    pruned_at: int | None


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One thing that was done to one memory: ids and actions, never text; see audit.py.

    `number` counts from 1 in its namespace; `hash` binds it to everything before.
    """

    number: int
    at: int
    action: str
    id: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditFault:
    """The first line of a trail that is not as it was written."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class AuditState:
    """How long a trail is, its last hash, and what is wrong with it if anything is."""

    length: int
    head: bytes
    fault: AuditFault | None


Edit = Callable[[State], State]
Rewrite = Callable[[State, State, bool], State]
"""(as it is, with what is given, whether anything of it is new) -> as it will be."""


def as_given(was: State, given: State, changed: bool) -> State:
    """A rewritten memory whose state nobody edits."""
    return given


class MemoryStore(ProbeStore, Protocol):
    """One database, several namespaces, several processes."""

    path: str

    def info(self, ns: Namespace) -> NamespaceInfo | None:
        """None: nothing was ever written there."""
        ...

    def set_policy(self, ns: Namespace, policy: str, *, edit: Edit) -> None:
        """Keep a policy and run `edit` (new `fades_at`) over every state."""
        ...

    def namespaces(self) -> list[Namespace]: ...

    def inhabited(self, now: int) -> list[tuple[Namespace, bool]]:
        """Namespaces with active memories, and whether one of them surely has not faded."""
        ...

    def fingerprint(self) -> Fingerprint | None:
        """The embedder the vectors come from; dimension 0: none; None: nothing written yet."""
        ...

    def together(self) -> AbstractContextManager[object]:
        """Writes inside it are one transaction."""
        ...

    def sweep(self) -> bool:
        """Clear what was removed from every byte of the files, after the transaction.

        What was removed are erased and purged memories, replaced texts, vectors and probes.

        Returns:
            False while somebody reads an older state; the next write or closing goes on.
        """
        ...

    def is_swept(self) -> bool:
        """Whether nothing of what was removed so far is left in the files."""
        ...

    def clear_days(self, ns: Namespace) -> None:
        """Forget the days of use."""
        ...

    def add(
        self,
        ns: Namespace,
        entries: Sequence[Entry],
        *,
        policy: str,
        fingerprint: Fingerprint,
        again: Edit,
        rewritten: Rewrite = as_given,
        rewrite: bool = False,
        actions: Callable[[State], Sequence[str]] | None = None,
        days: Sequence[int],
        now: int,
    ) -> list[Added]:
        """Write new memories, and what follows where one is there already.

        Where the text is, `again` runs on its state, and its trust rises to that of the entry,
        if that is higher; a label goes only with it, and a new one is noted. Where the id of a
        keyed one is, or with `rewrite` that of any, its content becomes that of the entry,
        creation and counts stay, and `rewritten` runs on its state. `actions` names for the
        audit trail what these two changed. An entry then takes the place of what it supersedes,
        and of what was current under its key.

        Raises:
            Held: a keyed memory under hold would be reworded.
            NotFound: an entry supersedes what is not there.
            InvalidInput: it supersedes itself, or what has another key.
        """
        ...

    def revise(
        self,
        ns: Namespace,
        id: str,
        changes: Mapping[str, Any],
        *,
        words: tuple[str, str | None],
        passages: Sequence[Passage] | None,
        fingerprint: Fingerprint,
        settle: Edit,
        edit: Edit,
        now: int,
    ) -> bool:
        """Change fields of a memory as it is now; `settle` runs on its state before, `edit` after.

        Args:
            words: the (text, speaker) that will stand then.
            passages: of those words; None keeps the vectors.

        Returns:
            False, and nothing done, if somebody else changed the words meanwhile.

        Raises:
            NotFound, Held, FingerprintMismatch, InvalidInput: nothing was done.
        """
        ...

    def get(self, ns: Namespace, ids: Sequence[str]) -> list[Memory]:
        """The records that exist, in the order of `ids`."""
        ...

    def select(
        self,
        ns: Namespace,
        *,
        category: Sequence[str] | None = None,
        source: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Ids by (created_at, source, position, id); `where` as `ebbmem.conditions` has it."""
        ...

    def encoded(
        self, ns: Namespace, *, ids: Sequence[str], texts: Sequence[str]
    ) -> list[tuple[str, str | None, tuple[Passage, ...]]]:
        """(text, speaker, passages) of memories with these ids or, unkeyed, these texts."""
        ...

    def same(self, ns: Namespace, items: Sequence[Draft | Memory]) -> list[str | None]:
        """The id of the record that `add` would take each item for; None where there is none."""
        ...

    def changes(self, ns: Namespace, since: int) -> Changes: ...

    def modify(
        self,
        ns: Namespace,
        ids: Sequence[str],
        edit: Edit,
        *,
        actions: Callable[[State], Sequence[str]] | None = None,
        day: int | None = None,
        missing_ok: bool = False,
        now: int,
    ) -> list[State]:
        """Run `edit` on the states of `ids` as they are now; returns those it changed.

        Args:
            actions: what the audit trail calls the change of a state.
            day: a day of use, counted from the epoch, noted in the same transaction.

            missing_ok: pass over ids that do not exist.

        Raises:
            NotFound: an id that does not exist; nothing was changed.
        """
        ...

    def states(self, ns: Namespace, ids: Sequence[str]) -> list[State]:
        """The states of `ids`; raises `NotFound`."""
        ...

    def due(self, ns: Namespace, now: int, *, limit: int) -> list[str]:
        """Active memories whose `fades_at` has come."""
        ...

    def count_active(self, ns: Namespace) -> int:
        """How many memories have not faded."""
        ...

    def purgeable(self, ns: Namespace, before: int, *, limit: int) -> list[str]:
        """Memories that faded before an instant and are not held."""
        ...

    def mark_pruned(self, ns: Namespace, now: int, *, unless_after: int) -> bool:
        """Note that a pass runs now; False if another ran after `unless_after`."""
        ...

    def take_lease(self, ns: Namespace, holder: str) -> bool:
        """Take or renew the right to run the daily pass; False: another holder has it.

        It ends by itself `LEASE_SECONDS` after it was taken or renewed last.
        """
        ...

    def end_lease(self, ns: Namespace, holder: str) -> None:
        """Give it back, if this holder still has it."""
        ...

    def erase(self, ns: Namespace, ids: Sequence[str], *, action: str, now: int) -> int:
        """Remove rows, vectors and links; raises `Held` naming held ids, removing nothing.

        What they had superseded is current again, or superseded by what superseded them.
        """
        ...

    def link(self, ns: Namespace, a: str, b: str, weight: float | None) -> None:
        """Join two memories, or part them (None)."""
        ...

    def links(self, ns: Namespace) -> list[tuple[str, str, float]]:
        """(id, id, weight) of all links, each once."""
        ...

    def audit(self, ns: Namespace) -> list[AuditLine]:
        """By number."""
        ...

    def audit_head(self, ns: Namespace) -> bytes:
        """The hash of the last line; 32 zero bytes where there is none."""
        ...

    def audit_state(self, ns: Namespace, *, known: bytes | None = None) -> AuditState:
        """The trail checked from its first line; `known` is a head that it had once."""
        ...

    def stale(
        self, fingerprint: Fingerprint, *, limit: int
    ) -> list[tuple[Namespace, str, str, str | None]]:
        """(namespace, id, text, speaker) of memories without vectors of this embedder."""
        ...

    def count_stale(self, fingerprint: Fingerprint) -> int:
        """How many memories of the file are without vectors of this embedder."""
        ...

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        items: Sequence[tuple[Namespace, str, str, tuple[Passage, ...]]],
    ) -> None:
        """Add vectors of another embedder, where (namespace, id, text) still holds."""
        ...

    def switch(self, fingerprint: Fingerprint) -> bool:
        """Make this embedder the current one; False if memories without its vectors remain."""
        ...

    def count(self) -> int:
        """Memories in the whole database."""
        ...

    def size(self, ns: Namespace) -> int:
        """Bytes that its texts, metadata and vectors take in the file; 0 where nothing is kept.

        That of the file would tell one namespace how much the others write.
        """
        ...

    def diagnose(self, rules: Rules | None = None) -> dict[str, object]:
        """path, engine, engine_version, schema, integrity ("ok" or what is wrong), counts, sizes.

        `unsound` has the kinds of faults of rows and how many there are, deadlines among them
        only by `rules`; `trails` the namespaces whose audit trail is not as it was written;
        `swept` is False while traces of what was removed may be left.
        """
        ...

    def backup(self, path: str) -> None: ...

    def close(self) -> None: ...
