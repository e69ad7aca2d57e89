"""Embeddings that are written out, and vector stores of somebody else, for these tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

__all__ = ["Rated", "Table"]


class Table(Embeddings):
    """The vectors of a table, `default` for what is not in it; it counts and fails on demand."""

    model = "table"

    def __init__(
        self,
        table: Mapping[str, Sequence[float]] | None = None,
        default: Sequence[float] = (1.0, 0.0),
    ) -> None:
        self.table = {} if table is None else dict(table)
        self.default = default
        self.calls = 0
        self.fails = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls += 1
        if self.fails:
            raise RuntimeError("told to fail")
        return [*self.table.get(text, self.default)]


class Rated(InMemoryVectorStore):
    """Somebody's vector store that tells relevance, by whatever formula it likes."""

    def __init__(
        self, embedding: Embeddings, relevance: Callable[[float], float] = lambda score: score
    ) -> None:
        super().__init__(embedding)
        self.relevance = relevance

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self.relevance

    def add_documents(self, documents: list[Document], *args: Any, **options: Any) -> list[str]:
        """Copies: the metadata of the caller is not that of a real store."""
        return super().add_documents(deepcopy(documents), *args, **options)

    @classmethod
    def holding(cls, texts: Sequence[str], embedding: Embeddings, **options: Any) -> Rated:
        """With texts in it, whose ids are the texts."""
        store = cls(embedding, **options)
        store.add_texts([*texts], ids=[*texts])
        return store
