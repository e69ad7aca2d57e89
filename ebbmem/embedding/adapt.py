"""Whatever the caller brings, as an `Encoder`: known by its methods, no framework imported."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ebbmem.embedding.base import Encoder, Encoding, Fingerprint
from ebbmem.embedding.encoding import encodings
from ebbmem.errors import EmbeddingError, InvalidInput

__all__ = ["adapt"]


@dataclass(frozen=True, slots=True)
class _Source:
    """The calls of a foreign embedder under our names; queries and documents alike give rows."""

    kind: str
    documents: Callable[[list[str]], object]
    query: Callable[[str], object]
    adocuments: Callable[[list[str]], Awaitable[object]] | None = None
    aquery: Callable[[str], Awaitable[object]] | None = None
    tokens: Callable[[list[str]], object] | None = None


class _Adapted(Encoder):
    """A foreign embedder: its calls, our checks."""

    def __init__(self, source: _Source, name: str, min_similarity: float | None) -> None:
        self._source = source
        self._fingerprint = Fingerprint(name, 0, min_similarity=min_similarity)
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        asked = list(texts)
        if not asked:
            return []
        with self._translated():
            rows = _materialised(self._source.documents(asked))
        return self._checked(rows, asked, self._tokens(asked))

    def encode_query(self, text: str) -> Encoding:
        with self._translated():
            row = self._source.query(text)
        return self._checked([row], [text], self._tokens([text]))[0]

    async def aencode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        asked = list(texts)
        if not asked:
            return []
        if self._source.adocuments is None:
            return await asyncio.to_thread(self.encode_documents, asked)
        with self._translated():
            rows = _materialised(await self._source.adocuments(asked))
        return self._checked(rows, asked, await asyncio.to_thread(self._tokens, asked))

    async def aencode_query(self, text: str) -> Encoding:
        if self._source.aquery is None:
            return await asyncio.to_thread(self.encode_query, text)
        with self._translated():
            row = await self._source.aquery(text)
        return self._checked([row], [text], await asyncio.to_thread(self._tokens, [text]))[0]

    def _tokens(self, texts: list[str]) -> object:
        if self._source.tokens is None:
            return None
        with self._translated():
            return _materialised(self._source.tokens(texts))

    def _checked(self, rows: object, texts: list[str], tokens: object) -> list[Encoding]:
        with self._lock:  # the first answer fixes the dimension, even when two race for it
            known = self._fingerprint
            found = encodings(known.name, rows, len(texts), tokens=tokens, known=known)
            pieces = found[0].tokens
            self._fingerprint = replace(
                known,
                dimension=len(found[0].vector),
                token_dimension=0 if pieces is None else pieces.codes.shape[1],
            )
        return found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            name = self._fingerprint.name
            raise EmbeddingError(f"embedder {name}: failed with {type(error).__name__}") from error


def _materialised(rows: object) -> object:
    """Generators run here, where what they raise is still the source's failure."""
    return list(rows) if isinstance(rows, Iterator) else rows


def adapt(
    source: object, *, name: str | None = None, min_similarity: float | None = None
) -> Encoder:
    """`source` as an `Encoder`, by the methods it has.

    Known are our own encoders, LangChain embeddings, LlamaIndex embeddings, sentence-transformers
    models, and a function from a list of texts to rows. A method `embed_tokens(texts)` that gives
    a pair (ids, vectors) for each text adds late interaction.

    Args:
        name: by which a database knows the embedder again; None takes that of the model, the
            class or the function. An encoder of ours keeps its own.
        min_similarity: a cosine in [-1, 1] that unrelated texts rarely reach; None leaves it
            to the similarities that a namespace shows.

    Raises:
        InvalidInput: it is none of these, or a lambda without a name.
    """
    if isinstance(source, type):
        raise InvalidInput("embedder", f"is the class {source.__name__}, pass an instance of it")
    if isinstance(source, Encoder):
        return source
    for recognise in (_langchain, _llamaindex, _sentence_transformers, _function):
        known = recognise(source)
        if known is not None:
            return _Adapted(
                known, _name_of(known.kind, source) if name is None else name, min_similarity
            )
    raise InvalidInput(
        "embedder",
        f"of type {type(source).__name__} has none of embed_documents and embed_query, "
        "get_text_embedding_batch and get_query_embedding, encode, and cannot be called",
    )


def _method(source: object, name: str) -> Callable[..., Any] | None:
    found = getattr(source, name, None)
    return found if callable(found) else None


def _langchain(source: object) -> _Source | None:
    documents, query = _method(source, "embed_documents"), _method(source, "embed_query")
    if documents is None or query is None:
        return None
    return _Source(
        "langchain",
        documents,
        query,
        _method(source, "aembed_documents"),
        _method(source, "aembed_query"),
        _method(source, "embed_tokens"),
    )


def _llamaindex(source: object) -> _Source | None:
    documents = _method(source, "get_text_embedding_batch")
    query = _method(source, "get_query_embedding")
    if documents is None or query is None:
        return None
    return _Source(
        "llamaindex",
        documents,
        query,
        _method(source, "aget_text_embedding_batch"),
        _method(source, "aget_query_embedding"),
        _method(source, "embed_tokens"),
    )


def _sentence_transformers(source: object) -> _Source | None:
    plain = _method(source, "encode")
    documents = _method(source, "encode_document") or plain
    queries = _method(source, "encode_query") or plain
    if documents is None or queries is None:
        return None
    tokens = _method(source, "embed_tokens")
    return _Source("sentence-transformers", documents, _one_of(queries), tokens=tokens)


def _function(source: object) -> _Source | None:
    if not callable(source):
        return None
    if inspect.iscoroutinefunction(source):
        raise InvalidInput("embedder", "is an async function, pass one that can also be called")
    tokens = _method(source, "embed_tokens")
    return _Source("function", source, _one_of(source), tokens=tokens)


def _one_of(many: Callable[[list[str]], Any]) -> Callable[[str], object]:
    """The row of one text, from a call that takes a list."""

    def query(text: str) -> object:
        (row,) = many([text])
        return row

    return query


_MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment", "model_name_or_path")


def _name_of(kind: str, source: object) -> str:
    if kind == "function":
        named = source
        while isinstance(named, partial):  # known by what it wraps
            named = named.func
        if not hasattr(named, "__qualname__"):
            named = type(named)
        if "<lambda>" in named.__qualname__:
            raise InvalidInput(
                "embedder", "is a lambda, and those look all alike: use adapt(..., name=...)"
            )
        return f"function:{named.__module__}.{named.__qualname__}"
    candidates = [getattr(source, each, None) for each in _MODEL_ATTRIBUTES]
    candidates.append(getattr(getattr(source, "tokenizer", None), "name_or_path", None))
    models = [each for each in candidates if isinstance(each, str) and each.strip()]
    return ":".join([kind, type(source).__name__, *models[:1]])
