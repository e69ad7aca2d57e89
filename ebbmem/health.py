"""Is a file sound, and if not, mend it: by its path, as a sick one need not open.

What the policies say of deadlines comes in here; what is wrong with rows, and the statements that
set it right, are `ebbmem.store.mends`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from itertools import count
from pathlib import Path

from ebbmem import lifecycle
from ebbmem.checks import check_path
from ebbmem.clock import DAY, Clock, read_clock, utc_now
from ebbmem.embedding.choose import resolve
from ebbmem.engine import Engine
from ebbmem.errors import InvalidInput, StoreError, StoreUnreadable
from ebbmem.intake import Progress
from ebbmem.policy import Policy
from ebbmem.records import CATEGORIES, Category
from ebbmem.store import SQLiteStore, State
from ebbmem.store.mends import Rules
from ebbmem.store.repair import mend
from ebbmem.store.salvage import salvage

__all__ = ["Repaired", "diagnose", "repair", "rules_at"]

_CENTURY = timedelta(days=36_500)
_SECOND = 1_000_000  # microseconds that the logarithm of another machine may shift a deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did.

    Attributes:
        path: the sound file: the one that was given, or a new one with what could be saved.
        mended: what was wrong, by kind, and how often; empty for a file that was sound.
        backup: the file as it was before; like any backup it is the caller's to remove.
        salvaged: how many memories were saved, if the file could not be mended where it stands;
            that one is as it was.
        lost: ids of memories that could not be read, as far as they are known.
        embedded: memories that got new vectors.
        without_vectors: memories that are found by words alone until `reembed`.
    """

    path: Path
    mended: Mapping[str, int] = field(default_factory=dict)
    backup: Path | None = None
    salvaged: int | None = None
    lost: tuple[str, ...] = ()
    embedded: int = 0
    without_vectors: int = 0


def diagnose(path: str | Path, *, clock: Clock = utc_now) -> dict[str, object]:
    """The health of a file, which need not open; see `MemoryBank.diagnose`.

    Raises:
        StoreError: there is no such file, it is of a newer ebbmem, or others hold it.
    """
    file = _existing(path)
    try:
        with closing(SQLiteStore(str(file))) as store:
            return store.diagnose(rules_at(read_clock(clock)))
    except StoreUnreadable as error:
        return {"path": str(file), "bytes": file.stat().st_size, "unreadable": error.reason}


def repair(
    path: str | Path,
    *,
    embedder: object = "auto",
    backup: bool = True,
    clock: Clock = utc_now,
    progress: Progress | None = None,
) -> Repaired:
    """Mend a file: work out again whatever is derived, drop what belongs to nothing.

    No text is dropped. One whose pages are damaged stays as it is, and what can be read of it goes
    to a new file next to it. Banks that have the file open notice.

    Args:
        embedder: what wrote the vectors, to embed again what lost them; "auto" is the built-in one
            that did, if it was one.
        backup: copy the file first, next to it, if there is something to mend.
        progress: called with (done, total) while texts are embedded.

    Raises:
        FingerprintMismatch, InvalidInput, MissingExtra: of the embedder; nothing was changed.
        StoreError: nothing can be done for the file, as it says.
    """
    file, rules = _existing(path), rules_at(read_clock(clock))
    chosen = embedder if embedder == "auto" else resolve(embedder)
    try:
        done = _mended(file, rules, chosen, backup=backup)
    except StoreUnreadable as error:
        done = _salvaged(file, rules, error)
    return _embedded(done, chosen, progress)


def _existing(path: str | Path) -> Path:
    file = Path(check_path(path))
    if not file.is_file():
        raise StoreError(file, "is no file")
    return file


def _mended(file: Path, rules: Rules, chosen: object, *, backup: bool) -> Repaired:
    with closing(SQLiteStore(str(file))) as store:
        found = store.diagnose(rules)
        if chosen != "auto" and chosen is not None:
            with suppress(StoreUnreadable):  # which is about to be mended
                if (stored := store.fingerprint()) is not None:
                    stored.require(chosen.fingerprint)  # type: ignore[attr-defined]
        if found["integrity"] == "ok" and not found["unsound"]:
            return Repaired(path=file)
        copy = _free(file, "before-repair") if backup else None
        if copy is not None:
            store.backup(str(copy))
        try:
            return Repaired(path=file, mended=mend(store.connection, rules), backup=copy)
        except StoreUnreadable:
            if copy is not None:  # of what stays as it is
                copy.unlink()
            raise


def _salvaged(file: Path, rules: Rules, why: StoreUnreadable) -> Repaired:
    target = _free(file, "salvaged")
    try:
        saved = salvage(file, target, rules)
    except StoreUnreadable as error:
        raise error from why
    return Repaired(path=target, mended=saved.mended, salvaged=saved.memories, lost=saved.lost)


def _free(file: Path, what: str) -> Path:
    """A name next to a file that is not taken: memory.salvaged.db, memory.salvaged-2.db."""
    for number in count(1):
        more = "" if number == 1 else f"-{number}"
        named = file.with_name(f"{file.stem}.{what}{more}{file.suffix}")
        if not named.exists():
            return named
    raise AssertionError("unreachable")


def _embedded(done: Repaired, chosen: object, progress: Progress | None) -> Repaired:
    """Give memories without vectors new ones, by what made the others."""
    with closing(SQLiteStore(str(done.path))) as store:
        by = store.fingerprint()
        stale = 0 if by is None or not by.dimension else store.count_stale(by)
    if not stale:
        return done
    engine = Engine(done.path, chosen)
    with closing(engine):
        made = 0 if engine.encoder is None else engine.reembed(engine.encoder, progress)
    return replace(done, embedded=made, without_vectors=stale - made)


# -- what policies say ---------------------------------------------------------------------------


def rules_at(now: int) -> Rules:
    """How policies are read, and what deadlines follow from them at an instant."""

    def deadline(state: State, line: str, days: tuple[int, ...], pruned_at: int | None) -> State:
        policy = _read(line)
        if policy is None or state.category not in policy.known:
            return state
        seen = max(pruned_at or now, days[-1] * DAY if days else now)
        if _follows(state, policy, days, now, behind=seen > now):
            return state
        return lifecycle.with_deadline(state, policy)

    return Rules(now, _serving, deadline)


def _follows(state: State, policy: Policy, days: Sequence[int], now: int, *, behind: bool) -> bool:
    """Whether `fades_at` lies where a write or a daily pass up to `now` may have put it.

    Args:
        behind: the file was used by a later clock, so that passes may have run any time after.
    """
    least = lifecycle.fades_at(state, policy)
    if least is None or state.fades_at is None:
        return least == state.fades_at
    if state.fades_at < least - _SECOND:
        return False
    if behind:
        return True
    passed = lifecycle.passed(lifecycle.with_deadline(state, policy), now, policy, days)
    most = max(now + 1, passed.fades_at or 0)  # one that is due has not been looked at yet
    return state.fades_at <= most + _SECOND


@lru_cache(maxsize=256)
def _read(line: str) -> Policy | None:
    """A stored policy; None if it is of a newer ebbmem or has a curve that is not built in."""
    with suppress(InvalidInput):
        return Policy.from_json(line)
    return None


def _serving(stored: object, categories: Collection[str]) -> str:
    """A policy that serves: the stored one, else as much of it as can be read.

    Of what is not known, nothing is let go for a century: somebody will open it with a policy.
    """
    line = stored if isinstance(stored, str) else ""
    plain = _object(line)
    policy = _read(line) if plain else None
    if policy is None and plain and _of_others(plain):
        return line
    if policy is None:
        policy = Policy.from_json(json.dumps(_kept(plain)))
    missing = [Category(name, *_MIDDLE) for name in sorted(categories) if name not in policy.known]
    if missing:
        return policy.with_categories(missing).to_json()
    return line if _read(line) is not None and plain else policy.to_json()


_MIDDLE = (CATEGORIES["fact"].base_rate, CATEGORIES["fact"].importance)


def _object(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_others(plain: Mapping[str, object]) -> bool:
    """Whether all that keeps it from being read is a curve or fields we do not have."""
    known = json.loads(Policy().to_json()).keys()
    if plain.keys() - known and known - plain.keys():  # a name that was damaged
        return False
    ours = {name: plain[name] for name in plain.keys() & known - {"curve"}}
    curve = plain.get("curve", "")
    named = isinstance(curve, str) and "\N{REPLACEMENT CHARACTER}" not in curve  # damaged, saved
    return named and (not ours or _read(json.dumps(ours)) is not None)


def _kept(plain: Mapping[str, object]) -> dict[str, object]:
    """The fields that can be read, over a policy that keeps what it hides."""
    kept: dict[str, object] = _object(Policy.chat(purge_after=_CENTURY).to_json())
    for name, value in plain.items():
        if name in kept and _read(json.dumps({**kept, name: value})) is not None:
            kept[name] = value
    return kept
