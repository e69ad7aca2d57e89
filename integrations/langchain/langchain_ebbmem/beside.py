"""Decay beside a vector store: the documents stay where they are, their lives are kept here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from pydantic import field_validator

from ebbmem import InvalidInput, MemoryBank, Policy
from ebbmem.checks import check_count, check_label
from ebbmem.harmless import as_lines
from ebbmem.records import Trust
from langchain_ebbmem.binding import Names, bank_of
from langchain_ebbmem.documents import copy_of
from langchain_ebbmem.retriever import EbbinghausRetriever
from langchain_ebbmem.searching import CHECKS

__all__ = ["BesideRetriever", "bank_for_documents", "key_of"]

Found = list[tuple[Document, float]]


def _no_similarity(value: object) -> None:
    if value is not None:
        raise InvalidInput(
            "min_similarity", "is the vector store's affair; score_threshold cuts off what is weak"
        )


def _no_trust(value: object) -> None:
    if value != "user":
        raise InvalidInput("trust", "has no meaning here: the vector store keeps the documents")


def _nothing_around(value: object) -> int:
    if value != 0:
        raise InvalidInput("around", "has no meaning here: a vector store knows no order")
    return 0


class BesideRetriever(EbbinghausRetriever):
    """See `EbbinghausRetriever.from_vectorstore`."""

    vectorstore: VectorStore
    fetch_k: int | None = None
    filter: Any = None

    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **CHECKS,
        "filter": lambda value: value,  # in the words of the vector store
        "min_similarity": _no_similarity,
        "around": _nothing_around,
    }

    @field_validator("vectorstore", mode="before")
    @classmethod
    def _is_vectorstore(cls, value: object) -> VectorStore:
        if not isinstance(value, VectorStore):
            raise InvalidInput(
                "vectorstore", f"must be a LangChain VectorStore, not {type(value).__name__}"
            )
        return value

    @field_validator("fetch_k", mode="before")
    @classmethod
    def _is_count(cls, value: object) -> int | None:
        return None if value is None else check_count("fetch_k", value, least=1)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A retriever over the same vector store and the same bank."""
        return self.model_copy()

    # -- reading -----------------------------------------------------------------------------

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        told = self._told(given)
        asked = self._fetching(told)
        try:
            # not the public method: it warns of scores outside [0, 1], which are mended here
            found = self.vectorstore._similarity_search_with_relevance_scores(query, **asked)
        except NotImplementedError:
            found = _by_rank(self.vectorstore.similarity_search(query, **asked))
        return self._ranked(found, told)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        told = self._told(given)
        asked = self._fetching(told)
        try:
            found = await self.vectorstore._asimilarity_search_with_relevance_scores(query, **asked)
        except NotImplementedError:
            found = _by_rank(await self.vectorstore.asimilarity_search(query, **asked))
        return await asyncio.to_thread(self._ranked, found, told)

    def _fetching(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """More than is wanted: some may have faded."""
        wanted = told["k"]
        fetched = 4 * wanted if self.fetch_k is None else max(self.fetch_k, wanted)
        chosen = {} if told["filter"] is None else {"filter": told["filter"]}
        return {"k": fetched, **chosen}

    def _ranked(self, found: Found, told: Mapping[str, Any]) -> list[Document]:
        if not found:
            return []
        lives, threshold = self._lives(told["namespace"]), told["score_threshold"]
        documents: dict[str, Document] = {}
        relevance: dict[str, float] = {}
        for document, each in found:  # equals keep this order
            id = key_of(document)
            documents.setdefault(id, document)
            relevance.setdefault(id, _clipped(each))
        ranked = lives.rerank(
            relevance, told["k"], reinforce=told["reinforce"], min_score=threshold or 0.0
        )
        shown = [copy_of(documents[each.id], each.id) for each in ranked]
        if told["harmless"]:
            for document in shown:
                document.page_content = as_lines(document.page_content)
        if told["include_scores"]:
            for document, place in zip(shown, ranked, strict=True):
                document.metadata |= {"score": place.score, "strength": place.strength}
        return shown

    def _lives(self, namespace: Names) -> MemoryBank:
        return bank_of(self.memory, namespace).beside("documents")

    # -- writing -----------------------------------------------------------------------------

    def add_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        trust: Trust = "user",
    ) -> list[str]:
        """Put documents into the vector store; one that had faded comes back."""
        _no_trust(trust)
        named = {} if ids is None else {"ids": list(ids)}
        kept = self.vectorstore.add_documents(list(documents), **named)
        self._born(kept)
        return kept

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        trust: Trust = "user",
    ) -> list[str]:
        """Put documents into the vector store; one that had faded comes back."""
        _no_trust(trust)
        named = {} if ids is None else {"ids": list(ids)}
        kept = await self.vectorstore.aadd_documents(list(documents), **named)
        await asyncio.to_thread(self._born, kept)
        return kept

    def _born(self, ids: Sequence[str]) -> None:
        keys = [_label(each) for each in ids]
        if keys:
            lives = self._lives(self.namespace)
            lives.rerank(dict.fromkeys(keys, 0.0), reinforce=False)
            lives.restore(keys)


def bank_for_documents() -> MemoryBank:
    """Keeps lives as long as the program runs."""
    return MemoryBank.open(":memory:", namespace="documents", embedder=None, policy=Policy.chat())


def key_of(document: Document) -> str:
    """The id of a document, else one that follows from what is in it."""
    if document.id:
        return _label(document.id)
    inside = [document.page_content, document.metadata]
    return _digest(json.dumps(inside, sort_keys=True, default=str))


def _label(id: str) -> str:
    """The id, or one made of it where a bank would refuse it as too long."""
    try:
        return check_label("id", id)
    except InvalidInput:
        return _digest(id)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _by_rank(documents: Sequence[Document]) -> Found:
    """Relevance 1, 1/2, 1/3, ... where a vector store tells none."""
    return [(each, 1.0 / (1 + rank)) for rank, each in enumerate(documents)]


def _clipped(relevance: float) -> float:
    """Within [0, 1], which not every vector store keeps; NaN is nothing."""
    return min(max(float(relevance), 0.0), 1.0) if relevance == relevance else 0.0
