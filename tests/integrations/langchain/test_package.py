"""The package as a whole: what it imports, and what it says when a part is missing.

Tests of this folder that begin with a number show one of the 33 failures that were reported of
other memories; those of `test_time_weighted.py` have numbers of their own.
"""

from __future__ import annotations

import ast
import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from langchain_core.load import dumpd

import langchain_ebbmem
from ebbmem import InvalidInput, MemoryBank
from kit import numbered
from langchain_ebbmem import EbbinghausRecall, EbbinghausRetriever, with_ebbinghaus_memory

PACKAGE = Path(langchain_ebbmem.__file__).parent
EXTRAS = {
    "EbbinghausChatMessageHistory": "langchain",
    "EbbinghausMemory": "classic",
    "EbbinghausMiddleware": "agents",
    "EbbinghausRecall": "langchain",
    "EbbinghausRetriever": "langchain",
    "EbbinghausStore": "agents",
    "EbbinghausVectorStore": "langchain",
    "create_forget_tool": "langchain",
    "create_recall_tool": "langchain",
    "create_remember_tool": "langchain",
    "with_ebbinghaus_memory": "langchain",
}
FRAMEWORKS = ("langchain", "langchain_classic", "langchain_core", "langgraph")
BROUGHT = {  # the frameworks that an extra brings
    "langchain": {"langchain_core"},
    "classic": {"langchain_core", "langchain_classic"},
    "agents": {"langchain_core", "langchain", "langgraph"},
}


def ran(code: str, *options: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{PACKAGE.parent}:{Path.cwd()}", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_exports_exactly_these_names() -> None:
    assert langchain_ebbmem.__all__ == sorted(EXTRAS)
    assert dir(langchain_ebbmem) == sorted(EXTRAS)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = langchain_ebbmem.Nothing


def test_importing_it_imports_no_framework() -> None:
    code = "import sys, langchain_ebbmem; print(*(n for n in sys.modules if '.' not in n))"
    assert not set(FRAMEWORKS) & set(ran(code, "-W", "error").split())


@pytest.mark.parametrize("name", EXTRAS)
def test_each_class_names_its_extra_when_that_is_missing(name: str) -> None:
    blocked = "; ".join(f"sys.modules[{each!r}] = None" for each in FRAMEWORKS)
    code = (
        f"import sys; {blocked}; import langchain_ebbmem\n"
        f"try: langchain_ebbmem.{name}\n"
        "except ImportError as error: print(error)"
    )
    assert ran(code).strip() == f"{name} needs an extra: pip install 'ebbmem[{EXTRAS[name]}]'"


@pytest.mark.parametrize("name", EXTRAS)
def test_each_class_needs_no_more_than_its_extra(name: str) -> None:
    home = langchain_ebbmem._HOMES[name][0]
    needed: set[str] = set()
    seen: set[str] = set()
    todo = [home]
    while todo:  # what its module imports, and what those of ours that it imports do
        module = todo.pop()
        seen.add(module)
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        for node in tree.body:  # what is imported when it is, not what a function asks for later
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                first, _, inner = node.module.partition(".")
                needed |= {first} & set(FRAMEWORKS)
                if first == "langchain_ebbmem" and inner not in seen:
                    todo.append(inner)
    assert needed <= BROUGHT[EXTRAS[name]]


def test_nothing_of_it_is_deprecated() -> None:
    code = (
        "from ebbmem import MemoryBank\n"
        "from langchain_ebbmem import *\n"
        "bank = MemoryBank.open(namespace='a', embedder=None)\n"
        "bank.remember('tea', id='t')\n"
        "import asyncio\n"
        "retriever = EbbinghausRetriever(memory=bank, include_scores=True)\n"
        "one = retriever.invoke('tea')\n"
        "two = asyncio.run(retriever.ainvoke('tea'))\n"
        "three = retriever.batch(['tea'])[0]\n"
        "assert one[0].id == two[0].id == three[0].id == 't'\n"
        "assert set(one[0].metadata) == {'score', 'strength'}\n"
        "print('ok')"
    )
    if not all(_installed(each) for each in FRAMEWORKS):
        code = code.replace("import *", "import EbbinghausRetriever")
    assert ran(code, "-W", "error") == "ok\n"


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


# -- criteria 26 and 27: copies, pickles, what is shown ------------------------------------------


def adapters(bank: MemoryBank) -> list[Any]:
    made: list[Any] = [
        EbbinghausRetriever(memory=bank),
        EbbinghausRecall(memory=bank),
        with_ebbinghaus_memory(numbered(), bank),
        langchain_ebbmem.EbbinghausVectorStore(memory=bank),
        langchain_ebbmem.EbbinghausChatMessageHistory(bank, "s"),
    ]
    if _installed("langchain_classic"):
        made.append(langchain_ebbmem.EbbinghausMemory(memory=bank))
    if _installed("langchain"):
        made.append(langchain_ebbmem.EbbinghausMiddleware(bank))
        made.append(langchain_ebbmem.EbbinghausStore(memory=bank))
    return made


def test_26_copies_share_the_bank_and_pickles_say_why_not() -> None:
    with MemoryBank.open(namespace="a", embedder=None) as bank:
        bank.remember("tea")
        for each in adapters(bank):
            assert copy.deepcopy(each) is not None
            with pytest.raises(InvalidInput, match="open its path"):
                pickle.dumps(each)
        twin = copy.deepcopy(EbbinghausRetriever(memory=bank))
        assert [found.page_content for found in twin.invoke("tea")] == ["tea"]


def test_27_nothing_shows_what_is_remembered() -> None:
    with MemoryBank.open(namespace="a", embedder=None) as bank:
        bank.remember("a secret word")
        for each in adapters(bank):
            shown = f"{each!r} {each}"
            assert "secret" not in shown
            assert "secret" not in str(dumpd(each) if hasattr(each, "lc_attributes") else "")


def test_27_nothing_that_was_stored_is_ever_loaded_as_an_object() -> None:
    for path in PACKAGE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not names & {"load", "loads", "eval", "exec", "pickle"}, path


def test_every_reported_failure_has_its_test() -> None:
    tests = [each.read_text(encoding="utf-8") for each in Path(__file__).parent.glob("test_*.py")]
    shown = {
        int(number)
        for text in tests
        if "TimeWeightedVectorStoreRetriever" not in text
        for number in re.findall(r"def test_(\d+)_", text)
    }
    assert shown == set(range(1, 34))
