"""A terminal around anything that answers and remembers: what the example programs share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timedelta

from ebbmem.bank import MemoryBank
from ebbmem.clock import utc_now
from ebbmem.errors import EbbmemError

__all__ = ["Calendar", "Talk"]

HELP = """\
/memories      what is remembered, with its strength
/days N        let N days pass (for this program alone)
/new           begin a new thread: the transcript is gone, the memory is not
/forget ID     let a memory go; /restore ID brings it back
/quit          leave"""


class Calendar:
    """The clock of the system, moved on by `/days`."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


class Talk:
    """One person's conversation. `say` gets a text and the name of the thread, and answers."""

    def __init__(
        self, bank: MemoryBank, say: Callable[[str, str], str], calendar: Calendar
    ) -> None:
        self._bank = bank
        self._say = say
        self._calendar = calendar
        self._thread = 1

    def run(self) -> int:
        """Talk until the end of the input; returns the exit code."""
        name = "/".join(self._bank.namespace)
        print(f"{len(self._bank.list())} memories of {name}; /help shows the commands")
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                print()
                return 0
            if line == "/quit":
                return 0
            if line:
                try:
                    print(self.answer(line))
                except (EbbmemError, ValueError) as error:
                    print(error, file=sys.stderr)

    def answer(self, line: str) -> str:
        """What a line typed by a person leads to."""
        command, _, rest = line.partition(" ")
        if command == "/memories":
            return self._memories()
        if command == "/days":
            self._calendar.ahead += timedelta(days=float(rest))
            return f"{rest} days later; {len(self._bank.prune().faded)} memories faded"
        if command == "/new":
            self._thread += 1
            return f"thread {self._thread}"
        if command in ("/forget", "/restore"):
            act = self._bank.forget if command == "/forget" else self._bank.restore
            return f"{len(act(rest.strip()))} done"
        return HELP if command.startswith("/") else self._say(line, f"thread-{self._thread}")

    def _memories(self) -> str:
        lines = [
            f"{self._bank.strength(each):.2f}  {each.id}  {each.speaker or '-'}: {each.text}"
            for each in self._bank.list()
        ]
        return "\n".join(lines) or "nothing yet"
