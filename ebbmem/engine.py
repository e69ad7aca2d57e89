"""What the banks of one file share: the store, the encoder, the arenas, the query cache."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from ebbmem import intake
from ebbmem.arena import Arena
from ebbmem.embedding.base import Encoder, Encoding, Fingerprint
from ebbmem.embedding.choose import BUILT_IN, resolve
from ebbmem.embedding.encoding import encodings
from ebbmem.errors import InvalidInput, MissingExtra, StoreUnreadable
from ebbmem.guards import Guard
from ebbmem.intake import Progress
from ebbmem.languages import LANGUAGES, Language
from ebbmem.limits import DEFAULTS, Limits
from ebbmem.records import Draft, Memory, Namespace
from ebbmem.store import Durability, MemoryStore, SQLiteStore
from ebbmem.text import passages, spoken

__all__ = ["KEYWORDS_ALONE", "Encoded", "Engine"]

KEYWORDS_ALONE = Fingerprint("keywords alone", 0)
"""What a database remembers when it was written without an embedder."""

_QUERIES = 256  # encoded queries kept
_ARENAS = 64  # namespaces kept in memory, least recently used go first
_BATCH = 64  # memories re-embedded in one transaction

log = logging.getLogger("ebbmem")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Texts as vectors of one embedder; None without any."""

    fingerprint: Fingerprint
    encodings: list[Encoding] | None


class Engine:
    """One open database. Raises what opening a store or choosing an embedder raises."""

    def __init__(
        self,
        path: str | Path,
        embedder: object,
        languages: tuple[Language, ...] = LANGUAGES,
        limits: Limits = DEFAULTS,
        guards: tuple[Guard, ...] = (),
        durability: Durability = "normal",
    ) -> None:
        self.languages = languages
        self.limits = limits
        self.guards = guards
        new = not os.path.exists(path)  # then what is refused leaves no file behind
        chosen = resolve(embedder) if new or embedder != "auto" else None
        self.store: MemoryStore = SQLiteStore(str(path), durability=durability)
        try:
            self.encoder = self._checked(chosen) if new or embedder != "auto" else self._as_before()
        except BaseException:
            self.store.close()
            raise
        self._lock = threading.RLock()
        self._arenas: OrderedDict[Namespace, Arena] = OrderedDict()
        self._queries: OrderedDict[tuple[str, str], Encoding] = OrderedDict()
        self._offered: dict[tuple[str, str], Encoding] = {}

    def _checked(self, encoder: Encoder | None) -> Encoder | None:
        stored = self.store.fingerprint()
        if stored is not None:
            stored.require(self._fingerprint(encoder))
        return encoder

    def _as_before(self) -> Encoder | None:
        """The built-in that wrote this database; never another one in silence."""
        stored = self.store.fingerprint()
        if stored is None:
            return resolve("auto")
        missing = ""
        if stored.name in BUILT_IN:
            try:
                return resolve(BUILT_IN[stored.name])
            except MissingExtra as error:
                missing = f" ({error})"
        if stored.name == KEYWORDS_ALONE.name:
            if resolve("auto") is not None:
                log.warning(
                    "written with keywords alone, and read so: reembed('local') adds meaning"
                )
        else:
            log.warning(
                "opened without its embedder %s%s: recall is by keywords alone, "
                "and nothing new is taken",
                stored,
                missing,
            )
        return None

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the embedder in use."""
        return self._fingerprint(self.encoder)

    @staticmethod
    def _fingerprint(encoder: Encoder | None) -> Fingerprint:
        return KEYWORDS_ALONE if encoder is None else encoder.fingerprint

    def arena(self, ns: Namespace) -> Arena:
        """The cache of a namespace, made when it is first asked for."""
        with self._lock:
            found = self._arenas.get(ns)
            if found is None:
                found = self._arenas[ns] = Arena(self.store, ns, languages=self.languages)
                if len(self._arenas) > _ARENAS:
                    self._arenas.popitem(last=False)
            self._arenas.move_to_end(ns)
            return found

    def known_query(self, encoder: Encoder, text: str) -> Encoding | None:
        """The encoding of a query that this encoder was asked before."""
        with self._lock:
            if (found := self._queries.get((encoder.fingerprint.name, text))) is not None:
                self._queries.move_to_end((encoder.fingerprint.name, text))
            return found

    def keep_query(self, encoder: Encoder, text: str, encoding: Encoding) -> Encoding:
        """Remember the encoding of a query."""
        with self._lock:
            self._queries[encoder.fingerprint.name, text] = encoding
            if len(self._queries) > _QUERIES:
                self._queries.popitem(last=False)
        return encoding

    def encoded_query(self, text: str | tuple[float, ...]) -> Encoded:
        """The query as a vector; without one where there is none or it would mean nothing."""
        encoder = self.encoder
        if encoder is not None and not isinstance(text, str):
            known_by = encoder.fingerprint
            return Encoded(known_by, encodings(known_by.name, [text], 1, known=known_by))
        if not isinstance(text, str):
            raise InvalidInput("query", "is a vector, and this file has none to compare it with")
        if encoder is None or not encoder.covers(text):
            return Encoded(self._fingerprint(encoder), None)
        known = self.known_query(encoder, text)
        if known is None:
            known = self.keep_query(encoder, text, encoder.encode_query(text))
        return Encoded(encoder.fingerprint, [known])

    def encoded(
        self,
        texts: Sequence[str],
        progress: Progress | None,
        known: Mapping[str, Encoding] = MappingProxyType({}),
    ) -> Encoded:
        """Documents as vectors, and whose they are: the encoder may change meanwhile.

        What is `known` or was offered is not encoded again.
        """
        encoder = self.encoder
        if encoder is None:
            return Encoded(KEYWORDS_ALONE, None)
        name = encoder.fingerprint.name
        with self._lock:
            offered = {
                text: self._offered[name, text] for text in texts if (name, text) in self._offered
            }
        ready = {**known, **offered}
        missing = list(dict.fromkeys(text for text in texts if text not in ready))
        ready |= zip(missing, intake.encode(encoder, missing, progress), strict=True)
        return Encoded(encoder.fingerprint, [ready[text] for text in texts])

    def recorded(self, arena: Arena, items: Sequence[Draft | Memory]) -> dict[str, Encoding]:
        """Encodings that stand in the file already, by the words as they are encoded.

        Of what is being said again or written over: an embedder may cost money.
        """
        encoder, stored = self.encoder, arena.embedder
        if encoder is None or stored is None or not stored.accepts(encoder.fingerprint):
            return {}
        return {
            spoken(speaker, text[part.start : part.stop]): part.encoding
            for text, speaker, parts in self.store.encoded(
                arena.namespace,
                ids=[each.id for each in items if each.id],
                texts=[each.text for each in items],
            )
            for part in parts
            if part.encoding is not None
        }

    @contextmanager
    def offering(
        self, encoder: Encoder, texts: Sequence[str], encodings: Sequence[Encoding]
    ) -> Iterator[None]:
        """Documents that were encoded elsewhere, on an event loop, for the calls inside."""
        keys = [(encoder.fingerprint.name, text) for text in texts]
        with self._lock:
            self._offered.update(zip(keys, encodings, strict=True))
        try:
            yield
        finally:
            with self._lock:
                for key in keys:
                    self._offered.pop(key, None)

    def require_same(self, arena: Arena, encoded: Encoded) -> None:
        """Refuse to compare a query with vectors of another embedder."""
        stored = arena.embedder
        if stored is None or encoded.encodings is None:
            return
        stored.require(replace(encoded.fingerprint, dimension=len(encoded.encodings[0].vector)))

    def reembed(self, embedder: object, progress: Progress | None) -> int:
        """Give every memory of the file vectors of another embedder; returns how many it made.

        The old vectors answer until the last new one is written. Interrupted, a second call
        goes on where the first one stopped.
        """
        encoder = resolve(embedder)
        if encoder is None:
            self.store.switch(KEYWORDS_ALONE)
            return self._adopt(None, 0)
        if not encoder.fingerprint.dimension:
            encoder.encode_query("dimension")
        total, made_now = self.store.count(), 0
        met: set[tuple[Namespace, str, str]] = set()
        while True:
            stale = self.store.stale(encoder.fingerprint, limit=_BATCH)
            if not stale:
                if self.store.switch(encoder.fingerprint):
                    return self._adopt(encoder, made_now)
                continue
            if met.issuperset(words := [each[:3] for each in stale]):
                reason = "some memories take no vectors; `ebbmem repair` mends the file"
                raise StoreUnreadable(self.store.path, reason)
            met.update(words)
            cut = [passages(text) for _, _, text, _ in stale]
            texts = [
                each
                for (_, _, text, speaker), parts in zip(stale, cut, strict=True)
                for each in intake.spoken_parts(speaker, text, parts)
            ]
            made = iter(intake.encode(encoder, texts, None))
            self.store.put_vectors(
                encoder.fingerprint,
                [
                    (ns, id_, text, intake.as_passages(parts, made))
                    for (ns, id_, text, _), parts in zip(stale, cut, strict=True)
                ],
            )
            made_now += len(stale)
            if progress is not None:
                left = self.store.count_stale(encoder.fingerprint)
                total = max(total, left)
                progress(total - left, total)

    def _adopt(self, encoder: Encoder | None, done: int) -> int:
        self.store.sweep()  # of the old vectors
        with self._lock:
            self.encoder = encoder
            self._queries.clear()
        return done

    def close(self) -> None:
        self.store.close()
