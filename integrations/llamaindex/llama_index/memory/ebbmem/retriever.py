"""A retriever over a bank: for query engines, tools, fusion and chat engines with a context."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.memory.ebbmem.binding import Names, bank_of
from llama_index.memory.ebbmem.nodes import node_of

from ebbmem import AsyncMemoryBank, MemoryBank, Recollection
from ebbmem.around import check_around
from ebbmem.checks import check_cosine, check_count, check_flag, check_fraction
from ebbmem.reading import Where

__all__ = ["EbbinghausRetriever"]


class EbbinghausRetriever(BaseRetriever):
    """What a question brings to mind, as nodes with the ids of the memories.

    ```python
    RetrieverQueryEngine.from_args(EbbinghausRetriever(bank), llm=llm)
    ```

    The text of a query is what is looked for; its embedding, which must be by the bank's
    embedder, only where it has no text: a text finds by keywords as well.
    """

    def __init__(
        self,
        memory: MemoryBank | AsyncMemoryBank,
        *,
        namespace: Names = None,
        k: int = 5,
        where: Where | None = None,
        category: str | Collection[str] | None = None,
        source: str | None = None,
        reinforce: bool = False,
        min_similarity: float | None = None,
        min_score: float = 0.0,
        around: int | None = 0,
        harmless: bool = True,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """A retriever; see `MemoryBank.recall` for the arguments that are not here.

        Args:
            namespace: whose memory; None is the bank's own.
            reinforce: let what was found near the best count as used. Not by default: fusion
                and evaluation ask again and again.
            around: so many texts said before and after each are `around` in its metadata, as
                `{"before": [...], "after": [...]}`, and in prompts.
            harmless: no text ends a block or speaks for anybody in a prompt; see
                `ebbmem.harmless.as_lines`. False gives every text as it was kept.
        """
        super().__init__(callback_manager=callback_manager)
        self.memory = bank_of(memory, namespace)
        self.k = check_count("k", k, least=1)
        self.where = where
        self.category = category
        self.source = source
        self.reinforce = check_flag("reinforce", reinforce)
        self.min_similarity = (
            None if min_similarity is None else check_cosine("min_similarity", min_similarity)
        )
        self.min_score = check_fraction("min_score", min_score)
        self.around = check_around(around)
        self.harmless = check_flag("harmless", harmless)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = _asked(query_bundle)
        if query is None:
            return []
        return self._nodes(self.memory.recall(query, self.k, **self._asking()))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = _asked(query_bundle)
        if query is None:
            return []
        bank = AsyncMemoryBank(self.memory)
        return self._nodes(await bank.recall(query, self.k, **self._asking()))

    def _nodes(self, hits: Sequence[Recollection]) -> list[NodeWithScore]:
        shape = {"around": self.around != 0, "harmless": self.harmless}
        return [node_of(each, **shape) for each in hits]

    def _asking(self) -> dict[str, Any]:
        return {
            "where": self.where,
            "category": self.category,
            "source": self.source,
            "reinforce": self.reinforce,
            "min_similarity": self.min_similarity,
            "min_score": self.min_score,
            "around": self.around,
        }


def _asked(query: QueryBundle) -> str | list[float] | None:
    """What to look for; None when nothing is asked."""
    return query.query_str if query.query_str.strip() else query.embedding or None
