"""The same bank for an event loop: the embedder is awaited, the rest runs in a thread.

Every method is that of `MemoryBank`, with its signature; none is written twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from ebbmem import intake
from ebbmem.bank import MemoryBank
from ebbmem.clock import Clock, utc_now
from ebbmem.embedding.base import Fingerprint
from ebbmem.guards import Guard
from ebbmem.intake import Progress
from ebbmem.languages import LANGUAGES, Language
from ebbmem.limits import DEFAULTS, Limits
from ebbmem.policy import Policy
from ebbmem.records import Draft, Memories, Memory, Namespace
from ebbmem.results import ProbeRun
from ebbmem.store import Durability

__all__ = ["AsyncMemoryBank"]

_ASKED = frozenset(signature(MemoryBank._asked).parameters) - {"self"}

P = ParamSpec("P")
R = TypeVar("R")
Awaited = Callable[Concatenate["AsyncMemoryBank", P], Coroutine[Any, Any, R]]


def _threaded(method: Callable[Concatenate[MemoryBank, P], R]) -> Awaited[P, R]:
    """The method of the wrapped bank, in a thread."""

    @wraps(method)
    async def call(self: AsyncMemoryBank, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.bank, *args, **kwargs)

    return cast("Awaited[P, R]", call)  # `wraps` hides that the signature is the same


def _asking(method: Callable[Concatenate[MemoryBank, P], R]) -> Awaited[P, R]:
    """The same, after the question was checked, and encoded on the loop."""
    shape = signature(method)

    @wraps(method)
    async def call(self: AsyncMemoryBank, *args: P.args, **kwargs: P.kwargs) -> R:
        given = shape.bind(self.bank, *args, **kwargs).arguments
        asked = {name: value for name, value in given.items() if name in _ASKED}
        checked = await asyncio.to_thread(cast(Any, self.bank._asked), **asked)
        await self._encode_query(checked.query)
        return await asyncio.to_thread(method, self.bank, *args, **kwargs)

    return cast("Awaited[P, R]", call)


def _telling(method: Callable[Concatenate[MemoryBank, P], Memory]) -> Awaited[P, Memory]:
    """`remember` by way of `remember_many`, which awaits the embedder."""

    @wraps(method)
    async def call(self: AsyncMemoryBank, *args: P.args, **kwargs: P.kwargs) -> Memory:
        [memory] = await self.remember_many([cast(Any, MemoryBank._draft)(*args, **kwargs)])
        return memory

    return cast("Awaited[P, Memory]", call)


def _editing(method: Callable[Concatenate[MemoryBank, P], Memory]) -> Awaited[P, Memory]:
    """`update`, which awaits the embedder first."""

    @wraps(method)
    async def call(self: AsyncMemoryBank, *args: P.args, **kwargs: P.kwargs) -> Memory:
        edited: Memory = await cast(Any, self._update)(*args, **kwargs)
        return edited

    return cast("Awaited[P, Memory]", call)


class AsyncMemoryBank:
    """See `MemoryBank`; `bank` is the one it wraps."""

    def __init__(self, bank: MemoryBank) -> None:
        self.bank = bank

    @classmethod
    async def open(
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
        """See `MemoryBank.open`."""
        return cls(
            await asyncio.to_thread(
                MemoryBank.open,
                path,
                namespace=namespace,
                embedder=embedder,
                policy=policy,
                clock=clock,
                maintain=maintain,
                languages=languages,
                limits=limits,
                guard=guard,
                durability=durability,
            )
        )

    async def at(self, *namespace: str, policy: Policy | None = None) -> Self:
        """A sibling over the same file."""
        return type(self)(await asyncio.to_thread(self.bank.at, *namespace, policy=policy))

    async def beside(self, name: str) -> Self:
        """A namespace below, for documents kept elsewhere."""
        return type(self)(await asyncio.to_thread(self.bank.beside, name))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    @property
    def namespace(self) -> Namespace:
        return self.bank.namespace

    @property
    def policy(self) -> Policy:
        return self.bank.policy

    @property
    def path(self) -> str:
        return self.bank.path

    @property
    def clock(self) -> Clock:
        return self.bank.clock

    @property
    def limits(self) -> Limits:
        return self.bank.limits

    @property
    def fingerprint(self) -> Fingerprint:
        return self.bank.fingerprint

    async def remember_many(
        self,
        drafts: Iterable[Draft | Memory | str],
        *,
        rewrite: bool = False,
        progress: Progress | None = None,
    ) -> Memories:
        """See `MemoryBank.remember_many`."""
        items = await asyncio.to_thread(self.bank._checked, drafts)
        texts = await asyncio.to_thread(self._new_texts, self.bank, items)
        async with self._encoded(texts, progress):
            return await asyncio.to_thread(self.bank.remember_many, items, rewrite=rewrite)

    async def write(
        self,
        drafts: Mapping[Namespace, Iterable[Draft | Memory | str]],
        *,
        erase: Mapping[Namespace, Iterable[str]] | None = None,
    ) -> dict[Namespace, Memories]:
        """See `MemoryBank.write`."""
        taken = await asyncio.to_thread(self.bank._taken, drafts)
        texts: list[str] = []
        for bank, each in taken.values():
            texts += await asyncio.to_thread(self._new_texts, bank, each)
        async with self._encoded(texts, None):
            items = {ns: each for ns, (_, each) in taken.items()}
            return await asyncio.to_thread(self.bank.write, items, erase=erase)

    @staticmethod
    def _new_texts(bank: MemoryBank, items: list[Draft | Memory]) -> list[str]:
        """What there is to encode and not yet in the file."""
        known = bank._engine.recorded(bank._arena(), items)
        texts = intake.texts_to_encode(items, intake.spans(items))
        return [text for text in texts if text not in known]

    async def _update(self, id: str, **changes: Any) -> Memory:
        old = await self.get(id, include_faded=True)
        checked = await asyncio.to_thread(self.bank._changes, **changes)
        new = await asyncio.to_thread(self.bank._edited, old, checked)
        texts: list[str] = []
        if (new.text, new.speaker) != (old.text, old.speaker) and not old.held:
            texts = intake.texts_to_encode([new], intake.spans([new]))
        async with self._encoded(texts, None):
            return await asyncio.to_thread(self.bank.update, id, **changes)

    @asynccontextmanager
    async def _encoded(
        self, texts: Sequence[str], progress: Progress | None
    ) -> AsyncIterator[None]:
        """Encodes on the loop what the calls inside will ask for."""
        engine, encodings = self.bank._engine, []
        encoder = engine.encoder
        if encoder is None:
            yield
            return
        for batch in intake.batches(texts):
            encodings.extend(await encoder.aencode_documents(batch))
            if progress is not None:
                progress(len(encodings), len(texts))
        with engine.offering(encoder, texts, encodings):
            yield

    async def probe(self, k: int = 5) -> ProbeRun:
        """See `MemoryBank.probe`."""
        self.limits.check_results(k)
        for each in await self.probes():
            await self._encode_query(each.question)
        return await asyncio.to_thread(self.bank.probe, k)

    async def _encode_query(self, query: str | tuple[float, ...]) -> None:
        engine, encoder = self.bank._engine, self.bank._engine.encoder
        if encoder is None or not isinstance(query, str) or not encoder.covers(query):
            return
        if engine.known_query(encoder, query) is None:
            engine.keep_query(encoder, query, await encoder.aencode_query(query))

    remember = _telling(MemoryBank.remember)
    recall = _asking(MemoryBank.recall)
    explain = _asking(MemoryBank.explain)
    context = _asking(MemoryBank.context)
    rerank = _threaded(MemoryBank.rerank)
    update = _editing(MemoryBank.update)
    known = _threaded(MemoryBank.known)
    get = _threaded(MemoryBank.get)
    list = _threaded(MemoryBank.list)
    inhabited = _threaded(MemoryBank.inhabited)
    vectors = _threaded(MemoryBank.vectors)
    strength = _threaded(MemoryBank.strength)
    retention = _threaded(MemoryBank.retention)
    stats = _threaded(MemoryBank.stats)
    forecast = _threaded(MemoryBank.forecast)
    audit = _threaded(MemoryBank.audit)
    audit_verify = _threaded(MemoryBank.audit_verify)
    reinforce = _threaded(MemoryBank.reinforce)
    pin = _threaded(MemoryBank.pin)
    unpin = _threaded(MemoryBank.unpin)
    hold = _threaded(MemoryBank.hold)
    release = _threaded(MemoryBank.release)
    expire = _threaded(MemoryBank.expire)
    restore = _threaded(MemoryBank.restore)
    forget = _threaded(MemoryBank.forget)
    erase = _threaded(MemoryBank.erase)
    erase_expired = _threaded(MemoryBank.erase_expired)
    erase_all = _threaded(MemoryBank.erase_all)
    link = _threaded(MemoryBank.link)
    unlink = _threaded(MemoryBank.unlink)
    prune = _threaded(MemoryBank.prune)
    add_probe = _threaded(MemoryBank.add_probe)
    probes = _threaded(MemoryBank.probes)
    remove_probe = _threaded(MemoryBank.remove_probe)
    probe_history = _threaded(MemoryBank.probe_history)
    advice = _threaded(MemoryBank.advice)
    report = _threaded(MemoryBank.report)
    export_jsonl = _threaded(MemoryBank.export_jsonl)
    import_file = _threaded(MemoryBank.import_file)
    reembed = _threaded(MemoryBank.reembed)
    backup = _threaded(MemoryBank.backup)
    diagnose = _threaded(MemoryBank.diagnose)
    close = _threaded(MemoryBank.close)
