"""Run the notebooks and keep their outputs, without a trace of when, where or by whom.

They run without evaluation data, so that no figure depends on what is not here.

Usage: python notebooks/execute.py [NOTEBOOK ...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Fill in the outputs of one notebook, in place."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        notebook, kernel_name="python3", record_timing=False, resources=place, timeout=600
    ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text/html" in output.get("data", ()):
                output.data.pop("text/plain", None)  # a repr, with ids that are new in every run
    path.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["EBBMEM_DATA"] = ""
    named = [Path(each) for each in sys.argv[1:]]
    for each in named or sorted(Path(__file__).resolve().parent.glob("*.ipynb")):
        execute(each)
