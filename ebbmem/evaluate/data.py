"""Evaluation data: histories of items, and questions that know which items answer them.

Two formats are read: LoCoMo's own (A. Maharana et al., 2024), and a plain one:
`{"name", "histories": [{"id", "items": [{"id", "source", "position", "speaker", "text", "at"}],
"questions": [{"id", "question", "gold", "type", "asked_at", "answer"}]}]}`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ebbmem.bank import MemoryBank
from ebbmem.errors import ExchangeError, InvalidInput
from ebbmem.importers import Problems, parse_json, read_locomo
from ebbmem.records import Draft

__all__ = ["Dataset", "History", "Question", "Summary", "fill", "read"]

_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")  # "D8:6; D9:17" are two, "D:11:26" is D11:26
_TYPES = {1: "multi-hop", 2: "temporal", 3: "inference", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the items that answer it.

    Attributes:
        answer: in words; empty where there is none, or it is a number.
    """

    id: str
    text: str
    gold: tuple[str, ...]
    type: str
    asked_at: datetime | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a source says, in few words; only LoCoMo has them."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class History:
    """What one user said over time, in order, and what is asked about it.

    Attributes:
        questions: each with at least one item that answers it.
        unsupported: those whose evidence is missing, or names what does not exist.
    """

    name: str
    items: tuple[Draft, ...]
    questions: tuple[Question, ...]
    summaries: tuple[Summary, ...] = ()
    unsupported: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Several histories of one kind; `dropped` questions had no evidence that exists."""

    name: str
    histories: tuple[History, ...]
    dropped: int = 0

    @property
    def asked(self) -> int:
        """Number of questions."""
        return sum(len(each.questions) for each in self.histories)


def read(path: Path) -> Dataset:
    """The data set in a file; raises `ExchangeError` naming every bad entry."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise ExchangeError(str(path), [(1, f"cannot be read: {reason}")]) from error
    try:
        data = parse_json(text)
    except InvalidInput as error:
        raise ExchangeError(str(path), [(1, str(error))]) from None
    if isinstance(data, dict) and isinstance(data.get("histories"), list):
        return _plain(data, path)
    return _locomo(data, path)


def fill(bank: MemoryBank, history: History) -> dict[str, str]:
    """Remember a history; returns the record of each item: equal texts are one record."""
    kept = bank.remember_many(history.items)
    return {str(item.id): memory.id for item, memory in zip(history.items, kept, strict=True)}


def _locomo(data: Any, path: Path) -> Dataset:
    batches = read_locomo(data, path=str(path))
    problems = Problems(str(path))
    histories: list[History] = []
    entries = data if isinstance(data, list) else [data]
    for line, (entry, batch) in enumerate(zip(entries, batches, strict=False), 1):
        drafts = tuple(each for each in batch.items if isinstance(each, Draft))
        name = batch.name or str(len(histories))
        known = {each.id for each in drafts}
        asked, told = [], []
        with problems.at(line):
            for number, each in enumerate(_listed("qa", entry)):
                with problems.at(line, f"qa[{number}] "):
                    asked.append(_asked_of_turns(f"{name}-{number}", each, known))
        with problems.at(line):
            told = _summaries(entry.get("session_summary"))
        histories.append(_history(name, drafts, asked, told))
    return _dataset(path.stem, histories, problems)


def _asked_of_turns(id: str, entry: Mapping[str, Any], known: Container[str | None]) -> Question:
    answer, kind = entry.get("answer", entry.get("adversarial_answer")), entry.get("category")
    return Question(
        id,
        _required("question", entry),
        tuple(each for each in _evidence(entry.get("evidence")) if each in known),
        _TYPES.get(kind, str(kind)) if isinstance(kind, int) else str(kind),
        answer=answer if isinstance(answer, str) else "",
    )


def _summaries(told: object) -> list[Summary]:
    if told is None:
        return []
    if not isinstance(told, dict):
        raise InvalidInput("session_summary", "must be an object")
    return [
        Summary(name.removesuffix("_summary"), str(text))
        for name, text in told.items()
        if str(text).strip()
    ]


def _evidence(listed: object) -> list[str]:
    """The turns that evidence names, each once, whatever the string around them."""
    strings = listed if isinstance(listed, list) else [listed]
    found = (
        f"D{session}:{int(turn)}"
        for each in strings
        for session, turn in _EVIDENCE.findall(str(each))
    )
    return list(dict.fromkeys(found))


def _plain(data: Mapping[str, Any], path: Path) -> Dataset:
    problems = Problems(str(path))
    histories: list[History] = []
    first_with: dict[str, int] = {}
    for line, entry in enumerate(data["histories"], 1):
        with problems.at(line):
            listed, questions = _listed("items", entry), _listed("questions", entry)
            name = _required("id", entry)
            if first_with.setdefault(name, line) != line:
                raise InvalidInput("id", f"repeats that of entry {first_with[name]}")
            items: dict[str | None, Draft] = {}
            for number, each in enumerate(listed):
                with problems.at(line, f"items[{number}] "):
                    item = _item(each)
                    if items.setdefault(item.id, item) is not item:
                        raise InvalidInput("id", "repeats that of another item")
            asked = []
            for number, each in enumerate(questions):
                with problems.at(line, f"questions[{number}] "):
                    asked.append(_question(each, items))
            histories.append(_history(name, tuple(items.values()), asked))
    return _dataset(str(data.get("name") or path.stem), histories, problems)


def _history(
    name: str, items: tuple[Draft, ...], asked: Iterable[Question], told: Iterable[Summary] = ()
) -> History:
    answerable: list[Question] = []
    unsupported: list[Question] = []
    for each in asked:
        (answerable if each.gold else unsupported).append(each)
    return History(name, items, tuple(answerable), tuple(told), tuple(unsupported))


def _dataset(name: str, histories: Sequence[History], problems: Problems) -> Dataset:
    """What was read, if nothing was wrong with it and anything can be asked."""
    problems.finish()
    found = Dataset(name, tuple(histories), sum(len(each.unsupported) for each in histories))
    if not found.asked:
        raise ExchangeError(problems.path, [(1, "no question has evidence among the items")])
    return found


def _listed(name: str, entry: object) -> Sequence[Mapping[str, Any]]:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidInput(name, "must be a list of objects")
    return value


def _item(entry: Mapping[str, Any]) -> Draft:
    return Draft(
        text=entry.get("text", ""),
        id=_required("id", entry),
        source=_optional(entry.get("source")),
        position=entry.get("position"),
        speaker=_optional(entry.get("speaker")),
        at=_instant("at", entry.get("at")),
    )


def _question(entry: Mapping[str, Any], known: Container[str | None]) -> Question:
    gold = entry.get("gold")
    if not isinstance(gold, list):
        raise InvalidInput("gold", "must be a list of item ids")
    found = tuple(dict.fromkeys(str(each) for each in gold if str(each) in known))
    return Question(
        _required("id", entry),
        _required("question", entry),
        found,
        str(entry.get("type") or "all"),
        _instant("asked_at", entry.get("asked_at")),
        str(entry.get("answer") or ""),
    )


def _required(name: str, entry: Mapping[str, Any]) -> str:
    if entry.get(name) in (None, ""):
        raise InvalidInput(name, "is missing")
    return str(entry[name])


def _optional(value: object) -> str | None:
    return None if value is None else str(value)


def _instant(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput(name, "must be a time in ISO 8601") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
