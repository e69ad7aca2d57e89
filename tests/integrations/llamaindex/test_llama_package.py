"""The package as a whole: what it imports, where it lies, what it says when a part is missing."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

import llama_index.memory.ebbmem as package

PACKAGE = Path(package.__file__).parent
ROOT = PACKAGE.parents[2]
BASES = {
    "EbbinghausMemory": "BaseMemory",
    "EbbinghausMemoryBlock": "BaseMemoryBlock",
    "EbbinghausPostprocessor": "BaseNodePostprocessor",
    "EbbinghausRetriever": "BaseRetriever",
    "EbbinghausToolSpec": "BaseToolSpec",
}
FRAMEWORKS = {"llama_index.core", "langchain", "langchain_core", "langgraph", "sqlalchemy"}


def ran(code: str, *options: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{ROOT}:{Path.cwd()}", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs_its_module(name: str) -> None:
    module = f"{package.__name__}.{package._HOMES[name]}"
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not there yet")


def test_it_exports_exactly_these_names() -> None:
    assert package.__all__ == sorted(BASES)
    assert dir(package) == sorted(BASES)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = package.Nothing


@pytest.mark.parametrize("name", BASES)
def test_class(name: str) -> None:
    needs_its_module(name)
    assert BASES[name] in [base.__name__ for base in getattr(package, name).__mro__]


def test_importing_it_imports_no_framework() -> None:
    code = "import sys, llama_index.memory.ebbmem; print(*sys.modules)"
    assert not FRAMEWORKS & set(ran(code, "-W", "error").split())


@pytest.mark.parametrize("name", BASES)
def test_each_class_names_its_extra_when_that_is_missing(name: str) -> None:
    needs_its_module(name)
    code = (
        "import sys; sys.modules['llama_index.core'] = None\n"
        "import llama_index.memory.ebbmem as package\n"
        f"try: package.{name}\n"
        "except ImportError as error: print(type(error).__name__, error, sep=': ')"
    )
    said = f"MissingExtra: {name} needs an extra: pip install 'ebbmem[llamaindex]'"
    assert ran(code).strip() == said


@pytest.mark.parametrize("name", BASES)
def test_each_class_is_imported_without_a_warning(name: str) -> None:
    needs_its_module(name)
    code = f"from llama_index.memory.ebbmem import {name}; print({name}.__name__)"
    assert ran(code, "-W", "error::DeprecationWarning:llama_index.memory.ebbmem").strip() == name


def test_the_namespace_stays_open_for_others() -> None:
    above = [PACKAGE.parent, PACKAGE.parent.parent]
    assert [each.name for each in above] == ["memory", "llama_index"]
    assert not [each for each in above if (each / "__init__.py").exists()]
    assert (PACKAGE / "py.typed").is_file()
    code = (
        "import llama_index.memory.ebbmem, llama_index.core, llama_index.core.memory\n"
        "import llama_index, llama_index.memory\n"
        "print(llama_index.__file__, llama_index.memory.__file__)"
    )
    assert ran(code).split() == ["None", "None"]


def test_21_nothing_that_was_stored_is_ever_loaded_as_an_object() -> None:
    for path in PACKAGE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not names & {"eval", "exec", "pickle"}, path


def test_every_pitfall_that_was_reported_has_its_test() -> None:
    tests = [each.read_text(encoding="utf-8") for each in Path(__file__).parent.glob("test_*.py")]
    shown = {int(each) for text in tests for each in re.findall(r"def test_(\d+)_", text)}
    assert shown == set(range(1, 32))
