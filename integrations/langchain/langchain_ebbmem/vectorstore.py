"""A vector store whose documents fade, and stay while they are used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank, Policy, Recollection
from ebbmem.checks import check_choice, check_count
from ebbmem.clock import Clock, utc_now
from ebbmem.records import TRUSTS, Trust
from langchain_ebbmem.binding import Names, bank_of
from langchain_ebbmem.documents import documents_by_id, drafts_of
from langchain_ebbmem.searching import Search, differing, require_known

__all__ = ["EbbinghausVectorStore"]

_OF_A_LANGGRAPH_STORE = (
    *("get", "put", "batch", "list_namespaces", "supports_ttl", "ttl_config"),
    *("aget", "aput", "abatch", "alist_namespaces"),
)

Scored = list[tuple[Document, float]]


class NotAStore(InvalidInput, AttributeError):
    """A vector store was handed over where a LangGraph store is wanted."""

    def __init__(self) -> None:
        super().__init__(
            "store",
            "must be a LangGraph store, made by EbbinghausStore(memory=bank): this is a "
            "vector store",
        )


class EbbinghausVectorStore(VectorStore):
    """Documents in a bank: searching them counts as use, reading them by id does not.

    ```python
    store = EbbinghausVectorStore(OpenAIEmbeddings())
    store.add_texts(["Anna drinks green tea"])
    store.similarity_search("What does Anna drink?", k=1)
    ```

    Every search takes `filter` (conditions on metadata or a function of the document),
    `reinforce`, `include_scores`, `score_threshold` and `min_similarity`; `k` documents are
    found where there are as many that have not faded.

    Args:
        embedding: LangChain embeddings, or what else `MemoryBank.open` takes as `embedder`;
            None is its "auto".
        memory: a MemoryBank, in place of a new one that lives as long as the program and counts
            days of use, so that documents of an old date are not forgotten on arrival.
        namespace: whose memory; None is the bank's own.
        reinforce: let what a search found near the best count as used.
        include_scores: `score` and `strength` in the metadata of what is found.
        trust: of what is kept: "user" where the program stands for it, as for its own words;
            "import" or "tool" where anybody may have written it. See `Draft`.

    Raises:
        InvalidInput: both an embedding and a memory, which has its own.
    """

    def __init__(
        self,
        embedding: object = None,
        *,
        memory: MemoryBank | AsyncMemoryBank | None = None,
        namespace: Names = None,
        reinforce: bool = True,
        include_scores: bool = False,
        trust: Trust = "user",
    ) -> None:
        self._trust: Trust = check_choice("trust", trust, TRUSTS)
        if memory is None:
            self._bank = _opened(":memory:", embedding, namespace)
        elif embedding is None:
            self._bank = bank_of(memory, namespace)
        else:
            raise InvalidInput("embedding", "is the memory's own; give one of the two")
        self._embedding = embedding
        self._search = Search(
            reinforce=reinforce, include_scores=include_scores, min_similarity=-1.0
        )

    @property
    def memory(self) -> MemoryBank:
        """The bank that holds the documents."""
        return self._bank

    @property
    def embeddings(self) -> Embeddings | None:
        """LangChain's, where they were given."""
        return self._embedding if isinstance(self._embedding, Embeddings) else None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_LANGGRAPH_STORE:
            raise NotAStore
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __deepcopy__(self, memo: object) -> Self:
        """A store over the same bank."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    # -- made of something -------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path = ":memory:",
        namespace: str | Sequence[str] = "default",
        policy: Policy | None = None,
        clock: Clock = utc_now,
        **options: Any,
    ) -> Self:
        """A store of texts, in a file if a `path` is given; `options` as the constructor's."""
        bank = _opened(path, embedding, namespace, policy=policy, clock=clock)
        try:
            made = cls._over(bank, embedding, options)
            made.add_texts(texts, metadatas, ids=ids)
        except BaseException:
            bank.close()
            raise
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path = ":memory:",
        namespace: str | Sequence[str] = "default",
        policy: Policy | None = None,
        clock: Clock = utc_now,
        **options: Any,
    ) -> Self:
        """See `from_texts`; the embedder is awaited."""
        bank = await asyncio.to_thread(
            _opened, path, embedding, namespace, policy=policy, clock=clock
        )
        try:
            made = cls._over(bank, embedding, options)
            await made.aadd_texts(texts, metadatas, ids=ids)
        except BaseException:
            await asyncio.to_thread(bank.close)
            raise
        return made

    @classmethod
    def load_local(
        cls,
        path: str | Path,
        embedding: object = None,
        *,
        namespace: str | Sequence[str] = "default",
        clock: Clock = utc_now,
        **options: Any,
    ) -> Self:
        """Open what `save_local` wrote, or any other file of a bank; writes go to that file.

        Args:
            namespace: the one that was saved; a file may hold several.

        Raises:
            InvalidInput: there is no such file.
            FingerprintMismatch: it was written with another embedding.
            StoreError: it is damaged or no file of a bank.
        """
        if not Path(path).is_file():
            raise InvalidInput("path", f"names no file: {path}")
        return cls._over(_opened(path, embedding, namespace, clock=clock), embedding, options)

    def save_local(self, path: str | Path) -> Path:
        """A consistent copy of the whole file, every namespace of it."""
        return self._bank.backup(path)

    @classmethod
    def _over(cls, bank: MemoryBank, embedding: object, options: Mapping[str, Any]) -> Self:
        require_known(options, ["reinforce", "include_scores", "trust"])
        made = cls(memory=bank, **options)
        made._embedding = embedding
        return made

    # -- writing -----------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **options: Any,
    ) -> list[str]:
        """Keep texts, all or none; one whose id is there is rewritten. Returns the ids."""
        require_known(options, ["batch_size"])  # of index(); a bank makes its own batches
        drafts = drafts_of(texts, metadatas, ids, self._trust)
        return [each.id for each in self._bank.remember_many(drafts, rewrite=True)]

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **options: Any,
    ) -> list[str]:
        """Keep texts, all or none; one whose id is there is rewritten. Returns the ids."""
        require_known(options, ["batch_size"])
        drafts = drafts_of(texts, metadatas, ids, self._trust)
        kept = await AsyncMemoryBank(self._bank).remember_many(drafts, rewrite=True)
        return [each.id for each in kept]

    def delete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """Erase for good; None erases the whole namespace, an id that is not there nothing."""
        if ids is None:
            self._bank.erase_all()
        else:
            self._bank.write({}, erase={self._bank.namespace: ids})
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """Erase for good; None erases the whole namespace, an id that is not there nothing."""
        return await asyncio.to_thread(self.delete, ids)

    # -- reading -----------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Those that are there and have not faded, in that order; no use is counted."""
        return documents_by_id(self._bank, ids)

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Those that are there and have not faded, in that order; no use is counted."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    def search(self, *args: Any, **options: Any) -> list[Document]:
        """See LangChain's; a LangGraph program, which asks with a namespace, is told so."""
        _require_question(args)
        return super().search(*args, **options)

    async def asearch(self, *args: Any, **options: Any) -> list[Document]:
        """See `search`."""
        _require_question(args)
        return await super().asearch(*args, **options)

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """What comes to mind, best first."""
        return _without(self.similarity_search_with_score(query, k, **options))

    async def asimilarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """What comes to mind, best first."""
        return _without(await self.asimilarity_search_with_score(query, k, **options))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """What is nearest to a vector of the same embedder; words do not count."""
        search = self._told(k, options)
        return _without(_scored(search.run(self._bank, embedding), search))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """What is nearest to a vector of the same embedder; words do not count."""
        search = self._told(k, options)
        return _without(_scored(await search.arun(self._bank, embedding), search))

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> Scored:
        """What comes to mind, best first, with scores in [0, 1]: higher is better."""
        search = self._told(k, options)
        return _scored(search.run(self._bank, query), search)

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> Scored:
        """What comes to mind, best first, with scores in [0, 1]: higher is better."""
        search = self._told(k, options)
        return _scored(await search.arun(self._bank, query), search)

    def similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> Scored:
        """The same: scores are relevance here, and a threshold means at least."""
        return self.similarity_search_with_score(query, k, **options)

    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> Scored:
        """The same: scores are relevance here, and a threshold means at least."""
        return await self.asimilarity_search_with_score(query, k, **options)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    # -- choosing what differs ---------------------------------------------------------------

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """`k` of the first `fetch_k` that differ among themselves; no use is counted.

        Args:
            lambda_mult: 1 asks for similarity to the query alone, 0 for difference alone.
        """
        return self._differing(query, k, fetch_k, lambda_mult, options)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """See `max_marginal_relevance_search`."""
        return await self._adiffering(query, k, fetch_k, lambda_mult, options)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """See `max_marginal_relevance_search`."""
        return self._differing(embedding, k, fetch_k, lambda_mult, options)

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """See `max_marginal_relevance_search`."""
        return await self._adiffering(embedding, k, fetch_k, lambda_mult, options)

    def _differing(
        self,
        query: str | Sequence[float],
        k: int,
        fetch_k: int,
        lambda_mult: float,
        options: Mapping[str, Any],
    ) -> list[Document]:
        search = self._candidates(k, fetch_k, options)
        hits = search.run(self._bank, query)
        vectors = self._bank.vectors([each.memory.id for each in hits])
        return search.documents(differing(hits, vectors, k, lambda_mult))

    async def _adiffering(
        self,
        query: str | Sequence[float],
        k: int,
        fetch_k: int,
        lambda_mult: float,
        options: Mapping[str, Any],
    ) -> list[Document]:
        search = self._candidates(k, fetch_k, options)
        hits = await search.arun(self._bank, query)
        ids = [each.memory.id for each in hits]
        vectors = await asyncio.to_thread(self._bank.vectors, ids)
        return search.documents(differing(hits, vectors, k, lambda_mult))

    def _candidates(self, k: int, fetch_k: int, options: Mapping[str, Any]) -> Search:
        check_count("k", k, least=1)
        check_count("fetch_k", fetch_k, least=1)
        return self._told(max(k, fetch_k), {**options, "reinforce": False})

    def _told(self, k: int, options: Mapping[str, Any]) -> Search:
        return self._search.told({**options, "k": k})


def _require_question(args: Sequence[object]) -> None:
    if args and isinstance(args[0], tuple):
        raise NotAStore


def _opened(
    path: str | Path,
    embedding: object,
    namespace: Names,
    *,
    policy: Policy | None = None,
    clock: Clock = utc_now,
) -> MemoryBank:
    new = Policy.chat() if str(path) == ":memory:" else None
    return MemoryBank.open(
        path,
        namespace="default" if namespace is None else namespace,
        embedder="auto" if embedding is None else embedding,
        policy=policy or new,
        clock=clock,
    )


def _scored(hits: Sequence[Recollection], search: Search) -> Scored:
    scores = [each.score for each in hits]
    return list(zip(search.documents(hits), scores, strict=True))


def _without(scored: Scored) -> list[Document]:
    return [document for document, _ in scored]
