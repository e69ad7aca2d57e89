"""What goes out: text for eyes or for pipes, one JSON document, or one sentence on stderr."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ebbmem.display import inert
from ebbmem.errors import ExchangeError, FingerprintMismatch

if TYPE_CHECKING:
    from ebbmem.results import Explanation

__all__ = ["Output", "plain", "print_error", "program", "reason", "shade"]


class Output:
    """Prints a result once: as JSON when asked to, else as text."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = _console(stderr=False)
        self.for_eyes = self.console.is_terminal
        self.width = self.console.width if self.for_eyes else None
        """Columns at which lines are folded; None leaves them whole."""

    def result(self, document: Any, show: Callable[[], None]) -> None:
        """The outcome of a command: `document` as JSON, or whatever `show` prints."""
        if self.as_json:
            print_json(document)
        else:
            show()

    def line(
        self, text: str | Text = "", *, style: str = "", indent: int = 0, fold: bool = True
    ) -> None:
        """One line, folded at `width` unless it is one to copy."""
        drawn = Text(inert(text), style=style) if isinstance(text, str) else text
        pad = " " * indent
        if self.width is None:
            print(pad + drawn.plain)  # rich would turn tabs into spaces
            return
        room = max(self.width - indent, 20)
        for each in drawn.wrap(self.console, room) if fold else [drawn]:
            each.rstrip()
            self.console.print(Text(pad) + each, soft_wrap=True)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Columns on a terminal, the last one taking what is left; tabs in a pipe."""
        if not self.for_eyes:
            for row in rows:
                print("\t".join(map(_cell, row)))
            return
        table = Table(box=None, pad_edge=False, header_style="dim")
        for index, head in enumerate(heads):
            last = index == len(heads) - 1
            table.add_column(head, no_wrap=not last, overflow="fold" if last else "ellipsis")
        for row in rows:
            table.add_row(*(Text(inert(each)) if isinstance(each, str) else each for each in row))
        self.console.print(table)

    def pairs(self, rows: Iterable[tuple[str, object]]) -> None:
        """Names and values, one pair a line."""
        listed = [(name, inert(str(value))) for name, value in rows]
        wide = max((len(name) for name, _ in listed), default=0)
        for name, value in listed:
            self.line(Text.assemble((name.ljust(wide + 2), "dim"), value))

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A callback (done, total) that moves a bar on stderr, if that is a terminal."""
        console = _console(stderr=True)
        if self.as_json or not console.is_terminal:
            yield lambda done, total: None
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task(label, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total)

    @contextmanager
    def waiting(self, label: str) -> Iterator[None]:
        """A sign of life on stderr for work whose length nobody knows."""
        console = _console(stderr=True)
        if self.as_json or not console.is_terminal:
            yield
            return
        with console.status(label):
            yield


def _cell(cell: str | Text) -> str:
    """On one line: a drawn cell's lines become columns, a text's become spaces."""
    if isinstance(cell, Text):
        return cell.plain.replace("\n", "\t")
    return inert(cell).replace("\n", " ")


def _console(*, stderr: bool) -> Console:
    # Memory text is data: no markup, no emoji codes, no guessing what might be a number.
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def shade(strength: float) -> str:
    """The colour of a strength: what will stay, what weakens, what is about to go."""
    return "green" if strength >= 0.5 else "yellow" if strength >= 0.2 else "red"


def program() -> str:
    """`ebbmem` as it was started: a command that works in the same shell."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name == "ebbmem":
        return f"{_typed(sys.executable)} -m ebbmem"
    return _typed(sys.argv[0]) if started.stem == "ebbmem" else "ebbmem"


def _typed(path: str) -> str:
    """The bare name where PATH leads to it, else the path."""
    name = os.path.basename(path)
    found = shutil.which(name)
    same = found is not None and os.path.abspath(found) == os.path.abspath(path)
    return name if same else shlex.quote(path)


def reason(found: Explanation) -> str:
    """Why, and what to do about it in words of the command line."""
    if found.outcome != "faded":
        return found.reason
    facts = found.reason.partition(";")[0]  # behind it stands the call that a program would make
    return f"{facts}; `{program()} restore {shlex.quote(found.id)}` brings it back"


def plain(value: Any) -> Any:
    """`value` as JSON knows it: records as objects, times as ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def print_json(document: Any, *, stderr: bool = False) -> None:
    stream = sys.stderr if stderr else sys.stdout
    unicode = (stream.encoding or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(plain(document), ensure_ascii=not unicode, indent=2, allow_nan=False)
    # JSON escapes the controls below 0x20 itself; those above may steer a terminal too.
    print(inert(text), file=stream)


def print_error(error: Exception, *, as_json: bool, hint: str = "") -> None:
    """One sentence on stderr, or {"error": ...}; a file's problems stand one to a line."""
    message = getattr(error, "format_message", error.__str__)()
    if as_json:
        kind = type(error).__name__
        details = {
            name: value
            for name, value in sorted(vars(error).items())
            if name in _DETAILS and value is not None
        }
        print_json({"error": {"type": kind, "message": message, **details}}, stderr=True)
        return
    if isinstance(error, ExchangeError):
        message = f"{error.path}: nothing was imported, because of:" + "".join(
            f"\n  line {line}: {reason}" if line else f"\n  {reason}"
            for line, reason in error.problems
        )
    elif isinstance(error, FingerprintMismatch):
        message = (
            f"the file was written with embedder {error.stored}, this one is {error.given}; "
            f"leave out --embedder, or convert the file with `{program()} reembed`"
        )
    elif hint:
        message = f"{message.rstrip('.')}; {hint}"
    print(f"ebbmem: {inert(message)}", file=sys.stderr)


_DETAILS = ("extra", "field", "ids", "path", "problems", "reason")
