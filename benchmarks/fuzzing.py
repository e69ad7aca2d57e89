"""What `fuzz.py` throws bytes at: each target is one way in, and the rule is the same for all.

Whatever comes in, an error of ours goes out or what was asked for; never another exception, a
text that nobody wrote, or a call without an end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import fuzz_files
import fuzz_values
from fuzz_data import Data

__all__ = ["TARGETS", "Data", "Target"]

Target = Callable[[Data, Path], None]
"""Takes the data and a folder to write into; what it lets out is a finding."""

TARGETS: Mapping[str, Target] = {
    "arguments": fuzz_values.arguments,
    "bank": fuzz_values.bank,
    "database": fuzz_files.database,
    "import": fuzz_files.imported,
    "log": fuzz_files.log,
    "policy": fuzz_values.policy,
    "rows": fuzz_files.rows,
    "text": fuzz_values.text,
    "where": fuzz_values.where,
}
