"""What is wrong with the rows of a file, each with the statement that sets it right.

One plan serves both: counted it is a diagnosis, carried out it is a repair. What can be worked
out again is; of facts that cannot be, the nearest that can stands in; no text is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ebbmem.checks import check_label
from ebbmem.errors import InvalidInput
from ebbmem.records import Namespace
from ebbmem.store.audit import START
from ebbmem.store.base import NamespaceInfo, State
from ebbmem.store.driver import Database
from ebbmem.store.mends_rows import Mend, derived_rows, embedders
from ebbmem.store.rows import (
    MEMORY_COLUMNS,
    STATE_COLUMNS,
    checked_metadata,
    digest_of,
    join_namespace,
    pack_days,
    split_namespace,
    state_row,
    unpack_days,
)
from ebbmem.store.sound import Malformed, check_namespace_row, wrong_columns, wrong_facts

__all__ = ["DONE", "Mend", "Rules", "lenient", "plan"]

DONE: Mapping[str, str] = {
    "damaged indexes": "built again",
    "namespaces that are none": "renamed",
    "namespaces without a row": "made",
    "policies that cannot be used": "set right",
    "days of use that cannot be": "set right",
    "numbers of changes that cannot be": "set right",
    "embedders that cannot be": "set right",
    "memories with columns that cannot be": "set right",
    "texts that do not match their digest": "computed again",
    "metadata that is no JSON object": "set aside under the key `unreadable`",
    "memories without a state": "made",
    "states that cannot be": "set right",
    "deadlines that do not follow from the facts": "computed again",
    "states of no memory": "dropped",
    "vectors of no memory": "dropped",
    "vectors of no embedder": "dropped",
    "vectors that cannot be": "dropped",
    "links with a missing end": "dropped",
    "links that cannot be": "dropped",
    "probes that cannot be": "dropped",
    "counts of removals that cannot be": "set right",
}
"""Kind of fault -> what a repair does about it."""

_TABLES = ("namespace", "memory", "state", "vector", "link", "probe", "probe_answer", "probe_run")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the store cannot know: how a policy is read, and when a memory fades by it.

    `policy` makes of what is stored, and the categories in use, a policy that serves: the same
    text if it does. `deadline` gives a state the `fades_at` that follows from it, by a policy, the
    days of use and the last pass: the same state if its own does. `now` stands in for an instant
    that nobody knows.
    """

    now: int
    policy: Callable[[object, Collection[str]], str]
    deadline: Callable[[State, str, tuple[int, ...], int | None], State]


def lenient(raw: bytes) -> str | bytes:
    """A text as it is; the bytes of what is none, which no check takes for one."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def plan(db: Database, rules: Rules) -> Iterator[Mend]:
    """Every fault of the rows; some show only once others are mended, so plan until none is left.

    Over a connection whose `text_factory` is `lenient`.
    """
    renamed = list(_names(db))
    yield from renamed
    if renamed:
        return
    known = dict[str, _Whose]()
    yield from _namespaces(db, rules, known)
    broken = list(embedders(db))
    yield from broken
    yield from _memories(db, rules, known)
    yield from derived_rows(db, vectors=not broken)


# -- namespaces ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Whose:
    """What the state of a memory is judged by."""

    policy: str
    days: tuple[int, ...]
    pruned_at: int | None


def _names(db: Database) -> Iterator[Mend]:
    """Rows under a name that no bank can ask for; their trail stays where it is, append-only."""
    everywhere = " UNION ".join(f"SELECT ns FROM {table}" for table in _TABLES[:3])
    for (key,) in db.execute(everywhere).fetchall():
        if _is_namespace(key):
            continue
        new = _recovered(key.decode(errors="replace") if isinstance(key, bytes) else str(key))
        for table in _TABLES:
            of_trail = f", audit_length = 0, audit_head = x'{START.hex()}'"
            also = of_trail if table == "namespace" else ""
            yield Mend(
                "namespaces that are none",
                f"UPDATE {table} SET ns = ?{also} WHERE ns = ?",
                (new, key),
                counts=table == _TABLES[0],
            )


def _recovered(name: str) -> str:
    """A namespace of its own for what stood under this name."""
    own = digest_of("", name).hex()[:8]
    readable = join_namespace(("recovered", own, name[:200]))
    return readable if _is_namespace(readable) else join_namespace(("recovered", own))


def _is_namespace(key: object) -> bool:
    try:
        ns: Namespace = split_namespace(key)  # type: ignore[arg-type]
    except Malformed:
        return False
    return join_namespace(ns) == key


def _namespaces(db: Database, rules: Rules, known: dict[str, _Whose]) -> Iterator[Mend]:
    tops = {
        key: top if _is_number(top) else 0  # other mends see to the rows themselves
        for key, top in db.execute(
            "SELECT ns, max(max(change_seq, content_seq)) FROM state GROUP BY ns"
        ).fetchall()
    }
    used: dict[str, set[str]] = {}
    for key, category in db.execute("SELECT DISTINCT ns, category FROM memory").fetchall():
        used.setdefault(key, set())
        if _is_category(category):
            used[key].add(category)
    rows = db.execute(
        "SELECT ns, policy, active_days, pruned_at, change_seq, floor_seq FROM namespace"
    ).fetchall()
    for key, policy, packed, pruned, seq, floor in rows:
        serving = rules.policy(policy, used.get(key, ()))
        days = _days(packed)
        ran = _pass(serving, pruned)
        known[key] = _Whose(serving, days, ran)
        if serving != policy:
            yield _set("policies that cannot be used", "policy", serving, key)
        if pack_days(days) != packed:
            yield _set("days of use that cannot be", "active_days", pack_days(days), key)
        if ran != pruned:
            yield _set("days of use that cannot be", "pruned_at", None, key)
        top = tops.get(key, 0)
        known_seq = seq if _is_number(seq) else -1
        if known_seq < top or not (_is_number(floor) and 0 <= floor <= known_seq):
            highest = max(known_seq, top, 0)
            yield _set("numbers of changes that cannot be", "change_seq", highest, key)
            yield _set("numbers of changes that cannot be", "floor_seq", 0, key, counts=False)
    for key in used.keys() - known.keys():
        serving = rules.policy(None, used[key])
        known[key] = _Whose(serving, (), None)
        yield _made(db, key, serving, tops.get(key, 0))


def _is_number(value: object) -> bool:
    return type(value) is int


def _set(kind: str, column: str, value: object, key: str, *, counts: bool = True) -> Mend:
    return Mend(kind, f"UPDATE namespace SET {column} = ? WHERE ns = ?", (value, key), counts)


def _made(db: Database, key: str, policy: str, top: int) -> Mend:
    """A row for a namespace that lost its own, with the end of the trail as the trail has it."""
    length, head = db.execute(
        "SELECT coalesce(max(number), 0), (SELECT hash FROM audit WHERE ns = ?1 "
        "ORDER BY number DESC LIMIT 1) FROM audit WHERE ns = ?1",
        (key,),
    ).fetchone()
    return Mend(
        "namespaces without a row",
        "INSERT INTO namespace (ns, change_seq, floor_seq, policy, active_days, audit_length, "
        "audit_head) VALUES (?, ?, 0, ?, x'', ?, ?)",
        (key, max(top, 1), policy, length, START if head is None else head),
    )


def _pass(policy: str, at: int | None) -> int | None:
    """The instant of the last pass, if it can be one."""
    try:
        return check_namespace_row(NamespaceInfo(policy, at)).pruned_at
    except Malformed:
        return None


def _days(packed: object) -> tuple[int, ...]:
    """The days of use, as far as they can be."""
    try:
        return unpack_days(packed)
    except Malformed:
        return ()


def _is_category(name: object) -> bool:
    try:
        check_label("category", name)
    except InvalidInput:
        return False
    return True


# -- memories and their states -------------------------------------------------------------------

_NAMES = ("text", "source", "position", "speaker", "keyed", "searchable", "key", "trust", "label")
_INSTEAD = {"keyed": 0, "searchable": 1, "trust": "tool", "position": None}  # trusted least
_FACTS = (
    *("category", "importance", "created_at", "last_reinforced_at", "recall_count", "fades_at"),
    *("status", "faded_at", "pinned", "held", "expires_at", "superseded_at", "superseded_by"),
)
_PLAIN: Mapping[str, Any] = {
    **dict.fromkeys(_FACTS),
    **{"category": "fact", "importance": 0.5, "recall_count": 0, "status": "active"},
}


def _memories(db: Database, rules: Rules, known: Mapping[str, _Whose]) -> Iterator[Mend]:
    taken: set[tuple[str, bytes]] | None = None
    rows = db.execute(
        f"SELECT m.rowid, m.ns, s.change_seq, s.content_seq, {MEMORY_COLUMNS}, {STATE_COLUMNS} "
        "FROM memory m LEFT JOIN state s ON s.ns = m.ns AND s.id = m.id"
    )
    for row, key, *rest in rows:
        seqs, told, facts = rest[:2], rest[2:14], rest[14:]
        id_ = told[0]
        if type(id_) is not str:
            new = f"recovered-{row}"
            yield _put("memories with columns that cannot be", row, id=new)
            continue
        yield from (found := list(_columns(row, id_, told, facts, rules.now)))
        if not found:
            wanted, keyed = _digest(told), told[6]
            if told[11] != wanted:
                taken = _digests(db) if taken is None else taken
                if (key, wanted) in taken:  # another says the same: both stay
                    wanted, keyed = digest_of("id", id_), 1
                taken.add((key, wanted))
                yield _put("texts that do not match their digest", row, digest=wanted, keyed=keyed)
        if key in known:
            yield from _state(key, id_, seqs, facts, rules, known[key])


def _columns(row: int, id_: str, told: list[Any], facts: list[Any], now: int) -> Iterator[Mend]:
    given = dict(zip(_NAMES, (*told[1:5], *told[6:11]), strict=True))
    instead = {name: _instead(name, given[name]) for name in wrong_columns(**given)}
    plain = dict(zip(_FACTS[:3], facts[:3], strict=True))
    wrong = wrong_facts(_state_of(id_, {**_PLAIN, **plain}))
    if not wrong and not _is_category(plain["category"]):
        wrong = ["category"]
    for name in wrong:
        instead[name] = now if name == "created_at" else _PLAIN[name]
    if instead:
        if "key" in instead:
            instead["slot"] = instead.pop("key")
        yield _put("memories with columns that cannot be", row, **instead)
    try:
        checked_metadata(id_, told[5])
    except Malformed:
        raw = told[5].decode(errors="replace") if isinstance(told[5], bytes) else str(told[5])
        kept = json.dumps({"unreadable": raw}, ensure_ascii=False)
        yield _put("metadata that is no JSON object", row, metadata=kept)


def _instead(name: str, value: object) -> object:
    if name in _INSTEAD:
        return _INSTEAD[name]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _put(kind: str, row: int, **columns: object) -> Mend:
    names = ", ".join(f"{name} = ?" for name in columns)
    return Mend(kind, f"UPDATE memory SET {names} WHERE rowid = ?", (*columns.values(), row))


def _digest(told: list[Any]) -> bytes:
    return digest_of("id", told[0]) if told[6] else digest_of("", told[1])


def _digests(db: Database) -> set[tuple[str, bytes]]:
    return {(ns, known) for ns, known in db.execute("SELECT ns, digest FROM memory")}


def _state_of(id_: str, facts: Mapping[str, Any]) -> State:
    flags = {name: bool(facts[name]) for name in ("pinned", "held")}
    return State(id=id_, **{**facts, **flags})


def _state(
    key: str, id_: str, seqs: list[Any], facts: list[Any], rules: Rules, whose: _Whose
) -> Iterator[Mend]:
    """The state of a memory whose own columns are sound, or will be."""
    missing = seqs[0] is None
    was = dict(zip(_FACTS, facts, strict=True))
    if missing:
        was |= {"recall_count": 0, "status": "active"}
    stored = _state_of(id_, was)
    plain = {**_PLAIN, "created_at": rules.now}
    wrong = wrong_facts(stored)
    state = replace(stored, **{name: plain[name] for name in wrong})
    state = rules.deadline(state, whose.policy, whose.days, whose.pruned_at)
    numbers = [each if _is_number(each) and each > 0 else 1 for each in seqs]
    low = not missing and numbers != seqs  # readers begin behind 0
    if missing:
        kind = "memories without a state"
    elif low or set(wrong) - set(_FACTS[:3]):
        kind = "states that cannot be"
    elif not wrong and state != stored:
        kind = "deadlines that do not follow from the facts"
    else:
        return
    yield Mend(
        kind,
        "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, id_, *numbers, *state_row(state)),
    )
