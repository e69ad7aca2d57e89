"""Lets LangGraph's own tests of its `InMemoryStore` run on ours: `pytest -p plugin`."""

import langgraph.store.memory

from langchain_ebbmem import EbbinghausStore

langgraph.store.memory.InMemoryStore = EbbinghausStore
