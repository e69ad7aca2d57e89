"""Run the notebooks and keep their outputs, without a trace of when, where or by whom.

Usage: python notebooks/execute.py
"""

from __future__ import annotations

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
    NotebookClient(notebook, kernel_name="python3", record_timing=False).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text/html" in output.get("data", ()):
                output.data.pop("text/plain", None)  # a repr, with ids that are new in every run
    path.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sorted(Path(__file__).parent.glob("*.ipynb")):
        execute(each)
