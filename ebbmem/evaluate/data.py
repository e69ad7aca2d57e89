"""Evaluation data: histories of items, and questions that know which items answer them.

Two formats are read: LoCoMo's own (A. Maharana et al., 2024), and a plain one:
`{"name", "histories": [{"id", "items": [{"id", "source", "position", "speaker", "text", "at"}],
"questions": [{"id", "question", "gold", "type", "asked_at", "answer"}]}]}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    """A question, and the ids of the items that answer it (at least one)."""

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
    """What one user said over time, in order, and what is asked about it."""

    name: str
    items: tuple[Draft, ...]
    questions: tuple[Question, ...]
    summaries: tuple[Summary, ...] = ()


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
    histories, dropped = [], 0
    for entry, batch in zip(data if isinstance(data, list) else [data], batches, strict=True):
        drafts = [each for each in batch.items if isinstance(each, Draft)]
        known = {each.id for each in drafts}
        questions = []
        for number, asked in enumerate(entry.get("qa") or ()):
            gold = tuple(each for each in _evidence(asked.get("evidence")) if each in known)
            if not gold:
                dropped += 1
                continue
            kind = asked.get("category")
            questions.append(
                Question(
                    f"{batch.name}-{number}",
                    str(asked["question"]),
                    gold,
                    _TYPES.get(kind, str(kind)),
                    answer=str(asked.get("answer", asked.get("adversarial_answer", ""))),
                )
            )
        summaries = tuple(
            Summary(name.removesuffix("_summary"), str(text))
            for name, text in (entry.get("session_summary") or {}).items()
        )
        histories.append(
            History(batch.name or str(len(histories)), tuple(drafts), tuple(questions), summaries)
        )
    return Dataset(path.stem, tuple(histories), dropped)


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
    problems, histories, dropped = Problems(str(path)), [], 0
    for line, entry in enumerate(data["histories"], 1):
        with problems.at(line):
            items = [_item(each) for each in _listed("items", entry)]
            known = {each.id for each in items}
            asked = [_question(each, known) for each in _listed("questions", entry)]
            dropped += sum(not each.gold for each in asked)
            answerable = tuple(each for each in asked if each.gold)
            histories.append(History(str(entry["id"]), tuple(items), answerable))
    problems.finish()
    return Dataset(str(data.get("name") or path.stem), tuple(histories), dropped)


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


def _question(entry: Mapping[str, Any], known: Iterable[str | None]) -> Question:
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
