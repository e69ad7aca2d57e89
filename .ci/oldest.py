"""Print the oldest versions that an extra of ours promises to work with, as requirements.

Usage: python .ci/oldest.py EXTRA [EXTRA ...]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def oldest(extra: str) -> list[str]:
    """`name==version` for each requirement of an extra that has a lower bound."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (
        re.match(r"([\w-]+)>=([\w.]+)", each) for each in project["optional-dependencies"][extra]
    )
    return [f"{each[1]}=={each[2]}" for each in found if each is not None]


if __name__ == "__main__":
    print(*(line for extra in sys.argv[1:] for line in oldest(extra)), sep="\n")
