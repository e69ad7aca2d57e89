"""Which record is current where several tell of one thing at different times; in a transaction.

What another record took the place of keeps its text and its life, and names its successor. Of
the records of a key one is current: the one said last, or said again last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ebbmem.errors import InvalidInput
from ebbmem.store.audit import append_audit
from ebbmem.store.base import Edit, Entry, State
from ebbmem.store.driver import Database
from ebbmem.store.reads import json_list, read_states
from ebbmem.store.removal import mark_removed
from ebbmem.store.sound import text_of
from ebbmem.store.writes import edit_states

__all__ = ["Succession"]


class Succession:
    """One namespace in one transaction, whose number is `seq`."""

    def __init__(self, db: Database, ns: str, seq: int, now: int) -> None:
        self._db, self._ns, self._seq, self._now = db, ns, seq, now

    def take_place(self, id: str, entry: Entry, *, created: bool) -> None:
        """Let the record that an entry became supersede what it names, and what has its key.

        A retry of what was superseded meanwhile changes nothing. Without a key of its own it
        takes that of what it supersedes.

        Raises:
            NotFound, InvalidInput: there is no such record, it is this one, or of another key.
        """
        if id in entry.supersedes:
            raise InvalidInput("supersedes", f"names {id!r} itself")
        [mine, *named] = read_states(self._db, self._ns, [id, *entry.supersedes])
        had = self._keys([id]).get(id)
        key = self._inherited(entry.memory.key or had, entry.supersedes)
        if mine.superseded_at is not None:
            return
        at = mine.created_at if created else self._now
        self._supersede(named, mine.id, at)
        if key is not None:
            self._lead(key, mine, at, created=created)
        if key != had:
            if had is not None:
                mark_removed(self._db)
            self._db.execute(
                "UPDATE memory SET slot = ? WHERE ns = ? AND id = ?", (key, self._ns, id)
            )
            self._one_current([had] if had else [], revive=True)

    def taken_in(self, memories: Iterable[tuple[str, Entry]], called: Mapping[str, str]) -> None:
        """Records that came with their own history: `called` is what the ids became here."""
        keys: set[str] = set()
        for id_, entry in memories:
            heir = called.get(entry.memory.superseded_by or "")
            if heir is not None and heir != entry.memory.superseded_by:
                renamed = partial(replace, superseded_by=heir)
                edit_states(self._db, self._ns, [id_], renamed, self._seq)
            if entry.memory.key is not None:
                keys.add(entry.memory.key)
        self._one_current(sorted(keys), revive=False)

    def before_erasing(self, ids: Sequence[str], *, forgotten: bool) -> list[str]:
        """Give what they superseded to their own successors; returns the keys this concerns.

        An erasure takes a statement back: what it had superseded is current again. What fades
        and is `forgotten` was true all the same: its predecessors stay superseded.
        """
        gone = {state.id: state for state in read_states(self._db, self._ns, ids, missing_ok=True)}

        def inherited(state: State) -> State:
            met: set[str] = set()
            while state.superseded_by in gone and state.superseded_by not in met:
                met.add(state.superseded_by)
                heir = gone[state.superseded_by]
                at = heir.superseded_at
                if at is None and forgotten:
                    return replace(state, superseded_by=None)
                state = replace(state, superseded_at=at, superseded_by=heir.superseded_by)
            return state

        rows = self._db.execute(
            "SELECT id FROM state WHERE ns = ? AND superseded_by IN "
            "(SELECT value FROM json_each(?))",
            (self._ns, json_list(gone)),
        )
        behind = [text_of(row[0]) for row in rows if row[0] not in gone]
        self._edit(behind, inherited)
        led = [state.id for state in gone.values() if state.superseded_at is None]
        return sorted(set(self._keys([*led, *behind]).values()))

    def after_erasing(self, keys: Iterable[str], *, forgotten: bool) -> None:
        """Let one record be current of each key: of several predecessors the one said last."""
        self._one_current(keys, revive=not forgotten)

    # -- inside ------------------------------------------------------------------------------

    def _inherited(self, key: str | None, named: Sequence[str]) -> str | None:
        for other, theirs in self._keys(named).items():
            key = key or theirs
            if theirs != key:
                raise InvalidInput("supersedes", f"has {other!r} of key {theirs!r}, not {key!r}")
        return key

    def _lead(self, key: str, mine: State, at: int, *, created: bool) -> None:
        """Make a record the current one of its key, unless it tells of a time before that."""
        others = [state for state in self._of_key(key) if state.id != mine.id]
        current = [state for state in others if state.superseded_at is None]
        later = [state for state in others if state.created_at > mine.created_at]
        if created and any(state in later for state in current):
            heir = min(later, key=lambda state: (state.created_at, state.id))
            self._supersede([mine], heir.id, heir.created_at)
        else:
            self._supersede(current, mine.id, at)

    def _one_current(self, keys: Iterable[str], *, revive: bool) -> None:
        for key in keys:
            states = self._of_key(key)
            current = [state for state in states if state.superseded_at is None]
            if len(current) > 1:
                last = max(current, key=lambda state: (state.created_at, state.id))
                self._supersede(current, last.id, last.created_at)
            elif states and not current and revive:
                last = max(states, key=lambda state: (state.superseded_at or 0, state.created_at))
                self._edit(
                    [last.id], lambda state: replace(state, superseded_at=None, superseded_by=None)
                )

    def _supersede(self, states: Sequence[State], by: str, at: int) -> None:
        self._edit([state.id for state in states], lambda state: _superseded(state, by, at))

    def _edit(self, ids: Sequence[str], edit: Edit) -> None:
        changed = edit_states(self._db, self._ns, ids, edit, self._seq)
        replaced = [("supersede", each.id) for each in changed if each.superseded_at is not None]
        back = [("reinstate", each.id) for each in changed if each.superseded_at is None]
        append_audit(self._db, self._ns, self._now, [*replaced, *back])

    def _of_key(self, key: str) -> list[State]:
        rows = self._db.execute(
            "SELECT id FROM memory WHERE ns = ? AND slot = ?", (self._ns, key)
        ).fetchall()
        return read_states(self._db, self._ns, [row[0] for row in rows])

    def _keys(self, ids: Iterable[str]) -> dict[str, str]:
        rows = self._db.execute(
            "SELECT id, slot FROM memory WHERE slot IS NOT NULL AND ns = ? AND id IN "
            "(SELECT value FROM json_each(?))",
            (self._ns, json_list(ids)),
        )
        return {text_of(id_): text_of(slot) for id_, slot in rows}


def _superseded(state: State, by: str, at: int) -> State:
    """The state of what `by` takes the place of; what has a successor keeps it."""
    if state.superseded_at is not None or state.id == by:
        return state
    return replace(state, superseded_at=max(at, state.created_at), superseded_by=by)
