"""A bank is opened: one namespace of one file, with a policy and a clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, Self

from ebbmem import daily, lifecycle
from ebbmem.arena import Arena
from ebbmem.checks import check_namespace, check_path
from ebbmem.clock import Clock, micros, read_clock, utc_now
from ebbmem.embedding.base import Fingerprint
from ebbmem.engine import Engine
from ebbmem.errors import InvalidInput, StoreUnreadable
from ebbmem.guards import Guard, built_in, check_guards
from ebbmem.languages import LANGUAGES, Language, check_languages
from ebbmem.limits import DEFAULTS, Limits, check_limits
from ebbmem.policy import Policy
from ebbmem.records import Namespace
from ebbmem.store import Durability, State

__all__ = ["Opened"]


class Opened:
    """The part of `MemoryBank` that opens, closes and knows what time it is."""

    def __init__(
        self, engine: Engine, ns: Namespace, policy: Policy, clock: Clock, *, maintain: bool
    ) -> None:
        self._maintain = maintain
        self._engine = engine
        self._store = engine.store
        self._clock = clock
        self.namespace = ns
        self.policy = policy
        self._pass_due = 0
        self._policy_seen: str | None = None

    @classmethod
    def open(
        cls,
        path: str | Path = ":memory:",
        *,
        namespace: str | Sequence[str],
        embedder: object = "auto",
        policy: Policy | None = None,
        clock: Clock = utc_now,
        maintain: bool = True,
        languages: Iterable[Language] = LANGUAGES,
        limits: Limits = DEFAULTS,
        guard: Guard | Iterable[Guard] = (),
        durability: Durability = "normal",
    ) -> Self:
        """Open a namespace of a file, which is created if it does not exist.

        Args:
            path: the database; ":memory:" keeps nothing.
            namespace: whose memory: a name or a tuple of names, none blank.
            embedder: "auto" (the one the file was written with, else the local model if it is
                installed, else keywords alone), None, "local", "multilingual", "hashing", or
                anything that embeds: see `ebbmem.embedding.adapt`.
            policy: None is the one this namespace was last opened with, else `Policy()`.
            maintain: False leaves the daily pass to `prune()`.
            languages: what texts are read with; not stored, so give it again on opening.
            limits: how much is taken at once, by all banks of this opening; not stored.
            guard: what looks at each text before it is embedded or written, one or several,
                for all banks of this opening; not stored. See `ebbmem.guards`.
            durability: "normal" keeps every commit when the process dies, and may lose the last
                ones when the power fails; "full" waits for the disk at each. Not stored.

        Raises:
            InvalidInput: a blank namespace; nothing was opened.
            FingerprintMismatch: the file was written with another embedder.
            StoreError: the file cannot be used.
        """
        ns = check_namespace(namespace)
        check_path(path)
        if not (policy is None or isinstance(policy, Policy)):
            raise InvalidInput("policy", f"must be a Policy, not {type(policy).__name__}")
        read_clock(clock)
        engine = Engine(
            path,
            embedder,
            check_languages(languages),
            check_limits(limits),
            check_guards(guard),
            durability,
        )
        try:
            return cls._at(engine, ns, policy, clock, maintain=maintain)
        except BaseException:
            engine.close()
            raise

    @classmethod
    def _at(
        cls,
        engine: Engine,
        ns: Namespace,
        policy: Policy | None,
        clock: Clock,
        *,
        maintain: bool,
        new: Policy | None = None,
    ) -> Self:
        """`new` is the policy of a namespace that was never opened with one."""
        info = engine.store.info(ns)
        if info is None:
            chosen = policy or new or Policy()
        else:
            chosen = _chosen(policy, info.policy, engine.store.path)
        bank = cls(engine, ns, chosen, clock, maintain=maintain)
        now = bank._now()
        stored = None if info is None else info.policy
        if stored != chosen.to_json() and (policy is not None or stored is not None):
            bank._keep_policy()
        if info is not None:
            if info.pruned_at is not None:
                bank._pass_due = info.pruned_at + micros(chosen.prune_every)
            bank._run_daily_pass(now)
        return bank

    def at(self, *namespace: str, policy: Policy | None = None) -> Self:
        """A sibling over the same file, with its own namespace.

        Without a policy it has the one it was last opened with, a new one that of this bank.
        """
        ns = check_namespace(namespace)
        return self._at(
            self._engine, ns, policy, self._clock, maintain=self._maintain, new=self.policy
        )

    def close(self) -> None:
        """Close the file, for all siblings."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __deepcopy__(self, memo: object) -> Self:
        """The same bank: it is a handle of a file, which a copy would share."""
        return self

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            "bank",
            "is a handle of a file and cannot be pickled; open its path in the other process",
        )

    def __repr__(self) -> str:
        return f"MemoryBank({self._store.path!r}, namespace={self.namespace!r})"

    @property
    def path(self) -> str:
        return self._store.path

    @property
    def clock(self) -> Clock:
        """What tells this bank the time."""
        return self._clock

    @property
    def limits(self) -> Limits:
        """How much this bank and its siblings take at once."""
        return self._engine.limits

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the embedder in use."""
        return self._engine.fingerprint

    @property
    def _guards(self) -> tuple[Guard, ...]:
        """The caller's, then what the policy asks for, which has the last word."""
        return (*self._engine.guards, *built_in(self.policy))

    def _now(self) -> int:
        return read_clock(self._clock)

    def _arena(self) -> Arena:
        arena = self._engine.arena(self.namespace)
        arena.catch_up()
        if arena.policy is not None and arena.policy != self._policy_seen:
            self._policy_seen = arena.policy
            self.policy = self.policy.knowing(arena.policy)
        return arena

    def _keep_policy(self) -> None:
        """Store the policy, work out every `fades_at` anew, and let go what it does not sample."""
        policy = self.policy
        self._store.set_policy(
            self.namespace,
            policy.to_json(),
            edit=lambda state: lifecycle.with_deadline(state, policy),
        )
        self._store.trim_probes(self.namespace, policy.sample_probes)

    def _settling(self, days: Sequence[int] | None = None) -> Callable[[State, int], State]:
        """Makes of a state what it is by now, though no pass has said so yet.

        `days` are the days of use, where they have just been read.
        """
        days = self._arena().active_days if days is None else days
        policy = self.policy
        return lambda state, now: lifecycle.settled(state, now, policy, days)

    def _run_daily_pass(self, now: int) -> None:
        """At most once in `prune_every`, whoever comes first."""
        every = micros(self.policy.prune_every)
        if not self._maintain or self._pass_due - every <= now < self._pass_due:
            return  # a clock that went back does not put the pass off
        info = self._store.info(self.namespace)
        last = None if info is None else info.pruned_at
        self._pass_due = now + every
        if info is None or (last is not None and now - every < last <= now):
            return  # nothing is kept here, or another came first
        if not daily.run_if_free(self._store, self._arena(), self.policy, now):
            self._pass_due = now + daily.AGAIN  # they may yet fail


def _chosen(given: Policy | None, stored: str, path: str) -> Policy:
    """The policy of a namespace that has one, which need not be readable where another is given."""
    try:
        sound = isinstance(json.loads(stored), dict)
    except (RecursionError, ValueError):
        sound = False
    if not sound and given is None:
        reason = "the policy of this namespace is damaged; open it with one, or `ebbmem repair` it"
        raise StoreUnreadable(path, reason)
    chosen = given or Policy.from_json(stored)
    return chosen.knowing(stored) if sound else chosen
