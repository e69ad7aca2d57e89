"""What leaves a namespace for good, and the trail that says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ebbmem.checks import check_ids
from ebbmem.clock import from_micros
from ebbmem.errors import InvalidInput, NotFound
from ebbmem.opening import Opened
from ebbmem.results import AuditCheck, AuditEntry, AuditTrail, Erased

__all__ = ["Eraser"]

_HASH = re.compile("[0-9a-f]{64}")


class Eraser(Opened):
    """The part of `MemoryBank` that removes for good and answers for it."""

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """Remove at once and for good; returns a receipt without content.

        No byte of them stays in the file, its log or its unused room. What was copied out of it
        before, by `backup` or `export_jsonl`, is the caller's to remove.

        Raises:
            NotFound, Held: nothing was removed.
        """
        listed, now = check_ids(ids), self._now()

        def chosen() -> tuple[Sequence[str], Sequence[str]]:
            there = {each.id for each in self._store.get(self.namespace, listed)}
            if missing := set(listed) - there:
                raise NotFound(sorted(missing))
            return listed, ()

        return self._erased(chosen, now)

    def erase_expired(self) -> Erased:
        """Remove for good what has reached its set end; what is held stays, and is named."""
        now = self._now()

        def chosen() -> tuple[Sequence[str], Sequence[str]]:
            states = self._store.states(self.namespace, self._store.select(self.namespace))
            ended = [s for s in states if s.expires_at is not None and s.expires_at <= now]
            return [s.id for s in ended if not s.held], [s.id for s in ended if s.held]

        return self._erased(chosen, now)

    def erase_all(self) -> Erased:
        """Remove everything of this namespace and nothing else: probes and days of use too.

        What stays are ids in the audit trail, and the policy. See `erase`.

        Raises:
            Held: naming what is under hold; nothing was removed.
        """

        def chosen() -> tuple[Sequence[str], Sequence[str]]:
            self._store.clear_probes(self.namespace)
            self._store.clear_days(self.namespace)
            return self._store.select(self.namespace), ()

        return self._erased(chosen, self._now())

    def _erased(
        self, chosen: Callable[[], tuple[Sequence[str], Sequence[str]]], now: int
    ) -> Erased:
        """Remove what is `chosen`, beside what is held, on how things stand when it goes."""
        with self._store.together():
            ids, held = chosen()
            if ids:
                self._store.erase(self.namespace, ids, action="erase", now=now)
            head = self._store.audit_head(self.namespace)
        return Erased(
            namespace=self.namespace,
            at=from_micros(now),
            ids=tuple(ids),
            held=tuple(held),
            head=head.hex(),
            complete=self._store.sweep(),
        )

    def audit(self) -> AuditTrail:
        """What faded, came back, was forgotten or erased, oldest first: ids, never text."""
        return [
            AuditEntry(line.number, from_micros(line.at), line.action, line.id, line.hash.hex())
            for line in self._store.audit(self.namespace)
        ]

    def audit_verify(self, *, head: str | None = None) -> AuditCheck:
        """Check that no line of the audit trail was changed, removed, moved or slipped in.

        Whoever can write the file can also write the whole trail anew, so that it agrees with
        itself. Against that helps only a head kept where they cannot write: note `head` of the
        answer elsewhere, and give it back later.

        Args:
            head: of an earlier answer, or a receipt; it must still stand in the trail.

        Raises:
            InvalidInput: `head` is no such hash.
        """
        known = None if head is None else _as_hash(head)
        found = self._store.audit_state(self.namespace, known=known)
        fault = found.fault
        return AuditCheck(
            length=found.length,
            head=found.head.hex(),
            fault_at=None if fault is None else fault.number,
            reason=None if fault is None else f"line {fault.number} {fault.reason}",
        )


def _as_hash(head: object) -> bytes:
    if not isinstance(head, str) or not _HASH.fullmatch(head):
        raise InvalidInput("head", "must be a hash: 64 characters of 0-9 and a-f")
    return bytes.fromhex(head)
