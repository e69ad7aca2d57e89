"""LangChain's own tests, by inheritance alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="needs the extra test")

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import ToolsUnitTests

from ebbmem import MemoryBank
from langchain_ebbmem import (
    EbbinghausRetriever,
    EbbinghausVectorStore,
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
)

SUITES = (VectorStoreIntegrationTests, RetrieversIntegrationTests, ToolsIntegrationTests)


def _mark_coroutines() -> None:
    """The suites count on asyncio_mode = "auto", which is not the mode of this project."""
    for suite in SUITES:
        for name, member in vars(suite).items():
            if name.startswith("test_") and inspect.iscoroutinefunction(member):
                pytest.mark.asyncio(member)


_mark_coroutines()


def a_bank() -> MemoryBank:
    return MemoryBank.open(":memory:", namespace="u1", embedder=None)


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:  # type: ignore[override]
        store = EbbinghausVectorStore(self.get_embeddings())
        yield store
        store.memory.close()


class TestVectorStoreOverABank(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:  # type: ignore[override]
        with MemoryBank.open(":memory:", namespace="u1", embedder=self.get_embeddings()) as bank:
            yield EbbinghausVectorStore(memory=bank, namespace=("u2", "documents"))


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[EbbinghausRetriever]:
        return EbbinghausRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        bank = a_bank()
        bank.remember_many(f"Anna drinks tea number {i}" for i in range(6))
        return {"memory": bank}

    @property
    def retriever_query_example(self) -> str:
        return "Which tea does Anna drink?"


class TestRetrieverBesideAVectorStore(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        return EbbinghausRetriever.from_vectorstore

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        texts = [f"Anna drinks tea number {i}" for i in range(6)]
        embedding = DeterministicFakeEmbedding(size=6)
        return {"vectorstore": InMemoryVectorStore.from_texts(texts, embedding)}

    @property
    def retriever_query_example(self) -> str:
        return "Which tea does Anna drink?"


class Recall:
    @property
    def tool_constructor(self) -> BaseTool:
        bank = a_bank()
        bank.remember("Anna drinks green tea")
        return create_recall_tool(bank)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "What does Anna drink?"}


class Remember:
    @property
    def tool_constructor(self) -> BaseTool:
        return create_remember_tool(a_bank())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": "Anna drinks green tea"}


class Forget:
    @property
    def tool_constructor(self) -> BaseTool:
        bank = a_bank()
        bank.remember("Anna drinks green tea", id="m1")
        return create_forget_tool(bank)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"id": "m1"}


class TestRecallUnit(Recall, ToolsUnitTests):
    pass


class TestRecallTool(Recall, ToolsIntegrationTests):
    pass


class TestRememberUnit(Remember, ToolsUnitTests):
    pass


class TestRememberTool(Remember, ToolsIntegrationTests):
    pass


class TestForgetUnit(Forget, ToolsUnitTests):
    pass


class TestForgetTool(Forget, ToolsIntegrationTests):
    pass
