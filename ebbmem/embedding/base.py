"""What the bank uses of an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ebbmem.embedding.encoding import Encoding, Fingerprint, TokenVectors

__all__ = ["Encoder", "Encoding", "Fingerprint", "TokenVectors"]


@runtime_checkable
class Encoder(Protocol):
    """What the bank uses; subclass it to inherit the async twins."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The dimension of a foreign embedder is 0 until its first call."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding for each text, in order."""
        ...

    def encode_query(self, text: str) -> Encoding:
        """The encoding of a question."""
        ...

    async def aencode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        """The same, without blocking the event loop."""
        return await asyncio.to_thread(self.encode_documents, texts)

    async def aencode_query(self, text: str) -> Encoding:
        """The same, without blocking the event loop."""
        return await asyncio.to_thread(self.encode_query, text)

    def covers(self, text: str) -> bool:
        """False where a vector of this text would mean nothing."""
        return True
