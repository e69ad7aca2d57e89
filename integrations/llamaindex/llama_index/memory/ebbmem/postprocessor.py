"""Decay for any index: its nodes stay where they are, their lives are kept in a bank."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NoReturn

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.memory.ebbmem.binding import Names, bank_of, checked_bank
from llama_index.memory.ebbmem.nodes import key_of, relevances
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from ebbmem import AsyncMemoryBank, MemoryBank, Policy
from ebbmem.checks import check_count, check_flag, check_fraction, check_label, check_namespace
from ebbmem.results import Ranked

__all__ = ["EbbinghausPostprocessor"]


def _bank_for_nodes() -> MemoryBank:
    """Keeps lives as long as the program runs."""
    return MemoryBank.open(":memory:", namespace="nodes", embedder=None, policy=Policy.chat())


class EbbinghausPostprocessor(BaseNodePostprocessor):
    """Ranks what an index found by relevance and strength, and leaves out what has faded.

    ```python
    index.as_query_engine(
        similarity_top_k=20,
        node_postprocessors=[EbbinghausPostprocessor(memory=bank, top_n=5)],
    )
    ```

    A node is known by its id, and begins at strength 1 when it is first found. Scores outside
    [0, 1] are scaled within the list, and rank stands in where one has none: see
    `nodes.relevances`.

    Attributes:
        memory: where the lives are kept; None keeps them as long as the program runs.
        namespace: whose use counts; None is the bank's own namespace.
        name: of the index: the lives are in a namespace of this name below.
        top_n: at most so many nodes; None is every one that has not faded.
        reinforce: let what is near the best count as used.
        min_score: in [0, 1]; what scores less is left out, and not used.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    memory: MemoryBank = Field(default_factory=_bank_for_nodes, exclude=True, repr=False)
    namespace: Names = None
    name: str = "nodes"
    top_n: int | None = None
    reinforce: bool = True
    min_score: float = 0.0

    @field_validator("memory", mode="before")
    @classmethod
    def _is_bank(cls, value: object) -> MemoryBank:
        return _bank_for_nodes() if value is None else checked_bank(value)

    @field_validator("namespace", mode="before")
    @classmethod
    def _is_namespace(cls, value: object) -> Names:
        return None if value is None else check_namespace(value)

    @field_validator("name", "top_n", "reinforce", "min_score", mode="before")
    @classmethod
    def _is_option(cls, value: Any, info: ValidationInfo) -> Any:
        if info.field_name == "top_n":
            return None if value is None else check_count("top_n", value, least=1)
        checks = {"name": check_label, "reinforce": check_flag, "min_score": check_fraction}
        return checks[str(info.field_name)](str(info.field_name), value)

    @classmethod
    def class_name(cls) -> str:
        return "EbbinghausPostprocessor"

    def __getstate__(self) -> NoReturn:  # LlamaIndex's own would leave the bank behind in silence
        self.memory.__reduce__()

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        return _shown(nodes, self._lives().rerank(**self._asking(nodes)))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        lives = AsyncMemoryBank(await asyncio.to_thread(self._lives))
        return _shown(nodes, await lives.rerank(**self._asking(nodes)))

    def _lives(self) -> MemoryBank:
        return bank_of(self.memory, self.namespace).beside(self.name)

    def _asking(self, nodes: Sequence[NodeWithScore]) -> dict[str, Any]:
        best: dict[str, float] = {}
        for node, relevance in zip(nodes, relevances(nodes), strict=True):
            key = key_of(node)
            best[key] = max(relevance, best.get(key, 0.0))
        return {
            "relevance": best,
            "k": len(nodes) if self.top_n is None else self.top_n,
            "reinforce": self.reinforce,
            "min_score": self.min_score,
        }


def _shown(nodes: Sequence[NodeWithScore], ranked: Sequence[Ranked]) -> list[NodeWithScore]:
    """The nodes in their new order, as copies: who edits them later edits nobody's index."""
    first: dict[str, NodeWithScore] = {}
    for each in nodes:
        first.setdefault(key_of(each), each)
    shown = []
    for place in ranked:
        found = first[place.id]
        node = found.node.model_copy(update={"metadata": {**found.node.metadata}})
        shown.append(found.model_copy(update={"node": node, "score": place.score}))
    return shown
