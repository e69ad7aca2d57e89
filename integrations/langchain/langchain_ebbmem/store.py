"""A LangGraph store whose items fade unless they are used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
)

from ebbmem import (
    AsyncMemoryBank,
    Draft,
    InvalidInput,
    Memory,
    MemoryBank,
    NotFound,
    Policy,
    Recollection,
    arecall_across,
    recall_across,
)
from ebbmem.checks import check_flag
from ebbmem.clock import Clock, utc, utc_now
from ebbmem.embedding import adapt
from ebbmem.records import Namespace
from langchain_ebbmem.binding import checked_bank
from langchain_ebbmem.items import (
    check_op,
    checked_labels,
    checked_paths,
    checked_ttl,
    draft_of,
    hit_of,
    item_of,
    matches,
    ttl_of,
    where_of,
)

__all__ = ["EbbinghausStore"]

Hits = list[tuple[Namespace, Recollection]]


class EbbinghausStore(BaseStore):
    """Long-term memory of LangGraph agents that forgets: `create_agent(store=EbbinghausStore())`.

    A namespace is one of the bank's, below its own; an item is one record, known by its key.
    A search with a query ranks by meaning, words and strength, and what it returns first is
    strengthened; `refresh_ttl=False` reads without that, and `get` never does it. What has
    faded is in no answer, `put` brings it back. Never fading are items under `keep`, those
    with `index=False` or without text at the indexed fields: they are kept for good, also
    after an update.

    Filters compare as JSON does: numbers with numbers, true is not 1, lists as wholes and as
    they are written. A field that is missing matches `$ne` and nothing else. Expired items are
    always omitted, which is stricter than `omit_expired=False`; they leave the file by
    `sweep_ttl()`, or `purge_after` later.

    Attributes:
        index_config, embeddings, ttl_config: as LangGraph's own stores have them.
        reinforce: whether searches count as use.
    """

    supports_ttl = True

    def __init__(
        self,
        *,
        memory: MemoryBank | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock = utc_now,
        reinforce: bool = True,
        keep: Sequence[tuple[str, ...]] = (),
    ) -> None:
        """Over a bank; without one, over a new bank that lasts as long as the process.

        Args:
            index: `fields` are searched, all of them by default; `embed` is for a bank of the
                store's own, whose embedder otherwise is "auto".
            ttl: minutes, as LangGraph has it; nothing sweeps by itself.
            clock: of a bank of the store's own.
            reinforce: whether searches count as use.
            keep: namespaces whose items never fade, with all below them.

        Raises:
            InvalidInput: no bank; a bank and an embedder or a clock, which it has already.
        """
        self._configure(index, ttl, reinforce, keep)
        if memory is None:
            self._root = self._opened(":memory:", "langgraph", None, clock)
            return
        self._root = checked_bank(memory, "memory of EbbinghausStore")
        for name, given in (("index", self.embeddings), ("clock", clock is not utc_now)):
            if given:
                raise InvalidInput(name, "and memory are both given, and the bank has its own")

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        namespace: str | Sequence[str] = "langgraph",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        policy: Policy | None = None,
        clock: Clock = utc_now,
        reinforce: bool = True,
        keep: Sequence[tuple[str, ...]] = (),
    ) -> Self:
        """Over a file, which is created if it does not exist.

        Args:
            namespace: below which everything of this store lies in the file.
            policy: how items fade, those that are there too; None is what each namespace was
                last opened with, else `Policy.chat()`.

        Raises:
            InvalidInput, FingerprintMismatch, StoreError: as `MemoryBank.open`.
        """
        store = cls.__new__(cls)
        store._configure(index, ttl, reinforce, keep)
        store._root = store._opened(path, namespace, policy, clock)
        return store

    def _configure(
        self,
        index: IndexConfig | None,
        ttl: TTLConfig | None,
        reinforce: bool,
        keep: Sequence[tuple[str, ...]],
    ) -> None:
        self.index_config = None if index is None else index.copy()
        embed = None if index is None else index.get("embed")
        self.embeddings: Embeddings | None = None if embed is None else ensure_embeddings(embed)
        self._fields = checked_paths("fields", (index or {}).get("fields") or ["$"])
        self.ttl_config = None if ttl is None else ttl.copy()
        checked_ttl("default_ttl", (ttl or {}).get("default_ttl"))
        self.reinforce = check_flag("reinforce", reinforce)
        self._keep = [checked_labels(each) for each in keep]

    def _opened(
        self,
        path: str | Path,
        namespace: str | Sequence[str],
        policy: Policy | None,
        clock: Clock,
    ) -> MemoryBank:
        bank = MemoryBank.open(
            path, namespace=namespace, embedder=self._embedder(), policy=policy, clock=clock
        )
        try:
            if policy is None:
                bank.policy = Policy.chat()  # of what was never opened with another
                return bank.at(*bank.namespace)
            for ns in bank.inhabited(include_faded=True):
                bank.at(*ns, policy=policy)
        except BaseException:
            bank.close()
            raise
        return bank

    def _embedder(self) -> object:
        """What the file knows its vectors by: a function by its name, not by its wrapper's."""
        if self.embeddings is None:
            return "auto"
        given = (self.index_config or {}).get("embed")
        name = getattr(given, "__qualname__", None)
        return adapt(self.embeddings, name=f"function:{given.__module__}.{name}" if name else None)

    @property
    def memory(self) -> MemoryBank:
        """The bank of the root: its namespaces are those of the store."""
        return self._root

    def close(self) -> None:
        """Close the file."""
        self._root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.close)

    def __deepcopy__(self, memo: object) -> Self:
        """The same store: it is a handle of a file, as its bank is."""
        return self

    def __repr__(self) -> str:
        return f"EbbinghausStore(memory={self._root!r})"

    def sweep_ttl(self) -> int:
        """Erase what has expired and is not held; returns how many."""
        return sum(
            self._root.at(*ns).erase_expired().count
            for ns in self._root.inhabited(include_faded=True)
        )

    # -- batches -----------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read what was there before the batch, then write all of it in one transaction.

        Raises:
            InvalidNamespaceError, InvalidInput: nothing was read or written.
            EmbeddingError, Held, StoreError: nothing was written.
        """
        listed = list(ops)
        drafts, erase = self._writes(listed)
        results = [self._read(op, self._recalled(op)) for op in listed]
        if drafts or erase:
            self._root.write(drafts, erase=erase)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`; the embedder is awaited, the rest runs in threads."""
        listed = list(ops)
        drafts, erase = await asyncio.to_thread(self._writes, listed)
        results = [
            await asyncio.to_thread(self._read, op, await self._arecalled(op)) for op in listed
        ]
        if drafts or erase:
            await AsyncMemoryBank(self._root).write(drafts, erase=erase)
        return results

    def _writes(
        self, ops: Sequence[Op]
    ) -> tuple[dict[Namespace, list[Draft]], dict[Namespace, list[str]]]:
        """What a checked batch keeps and what it erases, by namespace; the last put of a key."""
        for op in ops:
            check_op(op)
        now = self._now()
        puts = {(tuple(op.namespace), op.key): op for op in ops if isinstance(op, PutOp)}
        drafts: dict[Namespace, list[Draft]] = {}
        erase: dict[Namespace, list[str]] = {}
        for (labels, key), op in puts.items():
            ns = (*self._root.namespace, *labels)
            if op.value is None:
                erase.setdefault(ns, []).append(key)
                continue
            draft = draft_of(
                op,
                fields=self._fields,
                kept=any(labels[: len(each)] == each for each in self._keep),
                now=now,
            )
            drafts.setdefault(ns, []).append(draft)
        return drafts, erase

    def _read(self, op: Op, hits: Hits) -> Result:
        if isinstance(op, GetOp):
            return self._got(op)
        if isinstance(op, SearchOp):
            return self._page(op, hits)
        if isinstance(op, ListNamespacesOp):
            return self._listed(op)
        return None

    # -- reading -----------------------------------------------------------------------------

    def _got(self, op: GetOp) -> Item | None:
        bank = self._bank(op.namespace)
        try:
            memory = bank.get(op.key)
        except NotFound:
            return None
        if op.refresh_ttl:
            self._refresh([memory], bank)
        return item_of(memory, tuple(op.namespace))

    def _recalled(self, op: Op) -> Hits:
        """What a search with a query ranks; nothing for any other operation."""
        if not isinstance(op, SearchOp) or not _asks(op):
            return []
        return recall_across(self._banks(op), **self._question(op))

    async def _arecalled(self, op: Op) -> Hits:
        if not isinstance(op, SearchOp) or not _asks(op):
            return []
        banks = await asyncio.to_thread(self._banks, op)
        return await arecall_across([AsyncMemoryBank(bank) for bank in banks], **self._question(op))

    def _question(self, op: SearchOp) -> dict[str, Any]:
        """The arguments of a recall; turning to a further page is no further use."""
        return {
            "query": op.query,
            "k": min(op.offset + op.limit, self._root.limits.results),  # the rest is listed
            "where": where_of(op.filter),
            "min_similarity": -1.0,
            "reinforce": self.reinforce and op.refresh_ttl and op.offset == 0,
        }

    def _page(self, op: SearchOp, hits: Hits) -> list[SearchItem]:
        """One page: what was ranked, then the rest of what may be seen, without a score."""
        where, stop = where_of(op.filter), op.offset + op.limit
        found: list[tuple[Namespace, Memory, float | None]]
        found = [(ns, hit.memory, hit.score) for ns, hit in hits]
        ranked = {(ns, memory.id) for ns, memory, _ in found}
        for bank in self._banks(op) if len(found) < stop else ():
            found += [
                (bank.namespace, memory, None)
                for memory in bank.list(where=where, limit=stop)
                if (bank.namespace, memory.id) not in ranked
            ]
            if len(found) >= stop:
                break
        page = found[op.offset : stop]
        if op.refresh_ttl:
            for ns in dict.fromkeys(ns for ns, memory, _ in page if ttl_of(memory) is not None):
                self._refresh([memory for its, memory, _ in page if its == ns], self._root.at(*ns))
        return [hit_of(memory, self._labels(ns), score) for ns, memory, score in page]

    def _listed(self, op: ListNamespacesOp) -> list[Namespace]:
        patterns = op.match_conditions or ()
        found = {
            labels[: op.max_depth]
            for labels in map(self._labels, self._root.inhabited())
            if all(matches(each, labels) for each in patterns)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _refresh(self, memories: Sequence[Memory], bank: MemoryBank) -> None:
        """Let those that live for some minutes begin them again."""
        lives: dict[float, list[Memory]] = {}
        for memory in memories:
            if (ttl := ttl_of(memory)) is not None:
                lives.setdefault(ttl, []).append(memory)
        for ttl, read in lives.items():
            _expire(bank, read, self._now() + timedelta(minutes=ttl))

    # -- namespaces --------------------------------------------------------------------------

    def _bank(self, labels: Sequence[str]) -> MemoryBank:
        return self._root.at(*self._root.namespace, *labels) if labels else self._root

    def _banks(self, op: SearchOp) -> list[MemoryBank]:
        """Those at and below a prefix that hold anything, in order."""
        prefix = self._bank(op.namespace_prefix)
        return [self._root.at(*ns) for ns in sorted(prefix.inhabited())]

    def _labels(self, ns: Namespace) -> Namespace:
        return ns[len(self._root.namespace) :]

    def _now(self) -> datetime:
        return utc(self._root.clock(), "clock")


def _asks(op: SearchOp) -> bool:
    return op.limit > 0 and op.query is not None and bool(op.query.strip())


def _expire(bank: MemoryBank, read: Sequence[Memory], at: datetime) -> None:
    """Move the end of what is still there and was not put anew since it was read."""
    ids = [each.id for each in read]
    while True:
        try:
            bank.expire(ids, at, seen=read)
            return
        except NotFound as gone:
            ids = [id_ for id_ in ids if id_ not in gone.ids]
