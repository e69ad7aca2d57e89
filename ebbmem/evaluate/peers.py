"""Other memories without a language model, asked the same with the same vectors.

LangChain's time-weighted retriever ranks by `similarity + (1 - decay) ** hours`; its stream
starts with every record used when it was said. Each question finds that state again, as ours
does, though the retriever would count what it returned as used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ebbmem.embedding import Encoder
from ebbmem.errors import MissingExtra
from ebbmem.evaluate.recall import Pool, Ranked
from ebbmem.text import spoken

try:
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.utils import mock_now
    from langchain_core.vectorstores import InMemoryVectorStore
except ModuleNotFoundError as error:
    raise MissingExtra("comparing with other memories", "bench") from error

__all__ = ["langchain"]

_DEPTH = 50
_DECAYS = {"LangChain, decay .01/h": 0.01, "LangChain, decay ~0": 1e-9}  # .01 is its default


class _Vectors(Embeddings):
    """Our vectors under LangChain's names.

    Its cosine does not take zeros, which stand for "like nothing": these get axes of their own.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        found = self._encoder.encode_documents(texts)
        return [_extended(each.vector.tolist(), (1.0, 0.0)) for each in found]

    def embed_query(self, text: str) -> list[float]:
        found = self._encoder.encode_query(text)
        return _extended(found.vector.tolist(), (0.0, 1.0))


def _extended(vector: list[float], axes: tuple[float, float]) -> list[float]:
    return [*vector, *((0.0, 0.0) if any(vector) else axes)]


class _Store(InMemoryVectorStore):
    """With what the retriever asks of a store, and this one leaves open: a cosine's relevance."""

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)


def langchain(pool: Pool, encoder: Encoder) -> dict[str, Ranked]:
    """A plain vector store, and the time-weighted retriever as shipped and hardly decaying."""
    vectors = _Vectors(encoder)
    documents = [
        Document(
            page_content=spoken(item.speaker, item.text),
            metadata={"id": id, "last_accessed_at": item.at or pool.now},
        )
        for id, item in pool.items.items()
    ]
    plain = _Store(vectors)
    plain.add_documents(documents)
    found = {
        "LangChain, vectors": [
            _ids(plain.similarity_search(question.text, k=_DEPTH)) for question in pool.questions
        ]
    }
    for name, decay in _DECAYS.items():
        retriever = TimeWeightedVectorStoreRetriever(
            vectorstore=_Store(vectors), decay_rate=decay, k=_DEPTH
        )
        retriever.add_documents(documents)
        found[name] = [_asked(retriever, pool, question.text) for question in pool.questions]
    return found


def _asked(retriever: TimeWeightedVectorStoreRetriever, pool: Pool, text: str) -> list[str]:
    with mock_now(pool.now):
        found = _ids(retriever.invoke(text))
    for document in retriever.memory_stream:  # as if nobody had asked
        item = pool.items[document.metadata["id"]]
        document.metadata["last_accessed_at"] = item.at or pool.now
    return found


def _ids(documents: Sequence[Document]) -> list[str]:
    return [str(each.metadata["id"]) for each in documents]
