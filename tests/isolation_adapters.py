"""Every way to look through the adapters of LangChain and LlamaIndex."""

from __future__ import annotations

from langchain_core.documents import Document
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.memory import ebbmem as llama

import langchain_ebbmem as lang
from isolation_kit import ASKED, Look

_IDS = [0, 1, 2, 3]


def _asked(mark: str) -> str:
    return ASKED.format(mark)


def _node() -> NodeWithScore:
    return NodeWithScore(node=TextNode(text="a paper", id_="paper"), score=0.9)


LANGCHAIN: dict[str, Look] = {
    "EbbinghausRetriever": lambda bank, mark: lang.EbbinghausRetriever(
        memory=bank, k=50, min_similarity=-1.0
    ).invoke(_asked(mark)),
    "EbbinghausRetriever filter": lambda bank, mark: lang.EbbinghausRetriever(
        memory=bank, k=50, filter={f"{mark}field": {"of": f"{mark}value"}}
    ).invoke("keeper"),
    "EbbinghausVectorStore": lambda bank, mark: lang.EbbinghausVectorStore(
        memory=bank
    ).similarity_search_with_relevance_scores(_asked(mark), k=50),
    "EbbinghausVectorStore mmr": lambda bank, mark: lang.EbbinghausVectorStore(
        memory=bank
    ).max_marginal_relevance_search(_asked(mark), k=50, fetch_k=50),
    "EbbinghausVectorStore function": lambda bank, mark: lang.EbbinghausVectorStore(
        memory=bank
    ).similarity_search("keeper", k=50, filter=_is_document),
    "EbbinghausVectorStore ids": lambda bank, mark: lang.EbbinghausVectorStore(
        memory=bank
    ).get_by_ids([f"{mark}id{number}" for number in _IDS]),
    "EbbinghausMemory": lambda bank, mark: lang.EbbinghausMemory(
        memory=bank, k=50
    ).load_memory_variables({"input": _asked(mark)}),
    "EbbinghausRecall": lambda bank, mark: lang.EbbinghausRecall(
        memory=bank, k=50, budget=9000
    ).invoke(_asked(mark)),
    "EbbinghausChatMessageHistory": lambda bank, mark: (
        lang.EbbinghausChatMessageHistory(bank, f"{mark}source").messages
    ),
    "EbbinghausStore": lambda bank, mark: lang.EbbinghausStore(memory=bank).search((), limit=50),
    "EbbinghausStore query": lambda bank, mark: lang.EbbinghausStore(memory=bank).search(
        (), query=_asked(mark), limit=50
    ),
    "EbbinghausStore get": lambda bank, mark: lang.EbbinghausStore(memory=bank).get(
        (f"{mark}source",), f"{mark}id0"
    ),
    "EbbinghausStore namespaces": lambda bank, mark: lang.EbbinghausStore(
        memory=bank
    ).list_namespaces(),
    "create_recall_tool": lambda bank, mark: lang.create_recall_tool(bank).invoke(
        {"query": _asked(mark), "limit": 20}
    ),
    "create_forget_tool": lambda bank, mark: lang.create_forget_tool(bank).invoke(
        {"id": f"{mark}id3"}
    ),
}
LLAMAINDEX: dict[str, Look] = {
    "EbbinghausRetriever": lambda bank, mark: llama.EbbinghausRetriever(
        bank, k=50, min_similarity=-1.0
    ).retrieve(_asked(mark)),
    "EbbinghausMemory": lambda bank, mark: llama.EbbinghausMemory(
        bank, k=50, budget=9000, session_id="s"
    ).get(input=_asked(mark)),
    "EbbinghausMemoryBlock": lambda bank, mark: llama.EbbinghausMemoryBlock(
        bank, k=50, budget=9000
    ).aget([ChatMessage(role="user", content=_asked(mark))], session_id="s"),
    "EbbinghausToolSpec": lambda bank, mark: llama.EbbinghausToolSpec(bank).recall(
        _asked(mark), 20
    ),
    "EbbinghausToolSpec forget": lambda bank, mark: llama.EbbinghausToolSpec(bank).forget(
        f"{mark}id3"
    ),
    "EbbinghausPostprocessor": lambda bank, mark: llama.EbbinghausPostprocessor(
        memory=bank
    ).postprocess_nodes([_node()]),
}
ADAPTERS: dict[str, Look] = {
    **{f"LangChain {name}": look for name, look in LANGCHAIN.items()},
    **{f"LlamaIndex {name}": look for name, look in LLAMAINDEX.items()},
}


def _is_document(document: object) -> bool:
    return isinstance(document, Document)
