"""A retriever over a bank: what is asked for counts as used, what nobody asks for fades."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from ebbmem import AsyncMemoryBank, InvalidInput, MemoryBank
from ebbmem.checks import check_namespace
from ebbmem.records import Trust
from langchain_ebbmem.binding import Names, bank_of, checked_bank
from langchain_ebbmem.documents import documents_as_drafts
from langchain_ebbmem.searching import CHECKS, Filter, Search, require_known

__all__ = ["EbbinghausRetriever"]


class EbbinghausRetriever(BaseRetriever):
    """What a question brings to mind, as documents.

    ```python
    EbbinghausRetriever(memory=bank, k=4).invoke("What does Anna drink?")
    ```

    Whatever stands here but `memory` may be said otherwise at the call:
    `invoke(question, k=1, reinforce=False)`.

    Attributes:
        memory: a MemoryBank.
        namespace: whose memory; None is the bank's own.
        k: at most so many documents.
        filter: conditions on metadata (`ebbmem.conditions`), or a function of the document.
        score_threshold: only those with a score of at least this, in [0, 1].
        reinforce: let what was found near the best count as used.
        include_scores: `score` and `strength` in the metadata of what is found.
        min_similarity: cosine that a document without a shared word needs; None leaves
            out what is unrelated, -1 fills `k` places if it can.
        around: so many texts said before and after each are `around` in its metadata, as
            `{"before": [...], "after": [...]}`; see `MemoryBank.recall`.
        harmless: no text ends a block or speaks for anybody in a prompt; see
            `ebbmem.harmless.as_lines`. False gives every text as it was kept.
    """

    model_config = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    memory: MemoryBank = Field(exclude=True, repr=False)
    namespace: Names = None
    k: int = 4
    filter: Filter | None = None
    score_threshold: float | None = None
    reinforce: bool = True
    include_scores: bool = False
    min_similarity: float | None = None
    around: int | None = 0
    harmless: bool = True

    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]] = CHECKS

    if not TYPE_CHECKING:  # a type checker sees the fields

        def __init__(self, *args: object, **fields: Any) -> None:
            if args:
                raise InvalidInput(
                    type(self).__name__, "takes its arguments by name, as in memory=bank"
                )
            super().__init__(**fields)

    @field_validator("memory", mode="before")
    @classmethod
    def _is_bank(cls, value: object) -> MemoryBank:
        return checked_bank(value)

    @field_validator("namespace", mode="before")
    @classmethod
    def _is_namespace(cls, value: object) -> Names:
        return None if value is None else check_namespace(value)

    @field_validator(*CHECKS, mode="before")
    @classmethod
    def _is_option(cls, value: object, info: ValidationInfo) -> Any:
        return cls._checks[str(info.field_name)](value)

    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: VectorStore,
        *,
        memory: MemoryBank | AsyncMemoryBank | None = None,
        namespace: Names = None,
        fetch_k: int | None = None,
        k: int = 4,
        filter: Any = None,
        score_threshold: float | None = None,
        reinforce: bool = True,
        include_scores: bool = False,
        harmless: bool = True,
    ) -> EbbinghausRetriever:
        """A retriever over documents that stay in a vector store, their lives kept in a bank.

        What is there already is visible, and begins at strength 1 when it is first found.

        Args:
            memory: where the lives are kept; None keeps them as long as the program runs.
            fetch_k: documents asked of the vector store; None is four times `k`.
            filter: whatever the vector store takes as its own `filter=`.
        """
        from langchain_ebbmem.beside import BesideRetriever, bank_for_documents

        return BesideRetriever(
            memory=bank_for_documents() if memory is None else checked_bank(memory),
            vectorstore=vectorstore,
            namespace=namespace,
            fetch_k=fetch_k,
            k=k,
            filter=filter,
            score_threshold=score_threshold,
            reinforce=reinforce,
            include_scores=include_scores,
            harmless=harmless,
        )

    # -- reading -----------------------------------------------------------------------------

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        told = self._told(given)
        bank, search = bank_of(self.memory, told.pop("namespace")), Search(**told)
        return search.documents(search.run(bank, query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        told = self._told(given)
        bank, search = await self._abank(told.pop("namespace")), Search(**told)
        return search.documents(await search.arun(bank, query))

    def _told(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of one call: what it says, else what was said at construction."""
        checks = {**self._checks, "namespace": self._is_namespace}
        require_known(given, list(checks))
        return {
            name: check(given[name]) if name in given else getattr(self, name)
            for name, check in checks.items()
        }

    async def _abank(self, namespace: Names) -> MemoryBank:
        return await asyncio.to_thread(bank_of, self.memory, namespace)

    # -- writing -----------------------------------------------------------------------------

    def add_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        trust: Trust = "user",
    ) -> list[str]:
        """Keep documents, all or none; one whose id is there is rewritten. Returns the ids.

        Args:
            trust: "user" are the program's own; see `Draft`.
        """
        drafts = documents_as_drafts(documents, ids, trust)
        kept = bank_of(self.memory, self.namespace).remember_many(drafts, rewrite=True)
        return [each.id for each in kept]

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        trust: Trust = "user",
    ) -> list[str]:
        """See `add_documents`."""
        bank = AsyncMemoryBank(await self._abank(self.namespace))
        kept = await bank.remember_many(documents_as_drafts(documents, ids, trust), rewrite=True)
        return [each.id for each in kept]
