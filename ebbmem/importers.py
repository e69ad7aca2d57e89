"""Readers of other people's files: LoCoMo conversations, the MCP memory server, mem0.

Each takes what the file holds and returns batches of drafts with their original times, or
raises one `ExchangeError` that names every bad line or entry (counted from 1). Whose words a
foreign file holds nobody knows: all of it is of trust "import". Keys that we do not know are
passed over: these formats are not ours to judge.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self

from ebbmem.checks import check_label, check_text
from ebbmem.errors import ExchangeError, InvalidInput
from ebbmem.records import Draft, Memory

__all__ = ["Batch", "Problems", "parse_json", "read_locomo", "read_mcp", "read_mem0", "sniff"]

Foreign = Literal["locomo", "mcp", "mem0"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one namespace takes from a file.

    Attributes:
        name: suggested last part of the namespace; None is the caller's own.
        items: in the order of the file.
        dated: a conversation over dated sessions, for which `Policy.chat()` is meant.
        links: (id, id, weight) between items.
        probes: (question, ids of the items that ought to answer it, its line).
        active_days: days of use, counted from the epoch.
        policy: of the namespace that was exported, as JSON.
        lines: the line or entry that each item comes from, counted from 1.
    """

    name: str | None
    items: tuple[Draft | Memory, ...] = field(repr=False)
    dated: bool = False
    links: tuple[tuple[str, str, float], ...] = ()
    probes: tuple[tuple[str, tuple[str, ...], int], ...] = field(default=(), repr=False)
    active_days: tuple[int, ...] = ()
    policy: str | None = None
    lines: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(
        cls, name: str | None, placed: Iterable[tuple[int, Draft]], *, dated: bool = False
    ) -> Self:
        """From (line, draft) pairs."""
        pairs = list(placed)
        items, lines = tuple(draft for _, draft in pairs), tuple(line for line, _ in pairs)
        return cls(name, items, dated=dated, lines=lines)


class Problems:
    """Collects what is wrong with a file, so that one error can name all of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[tuple[int, str]] = []

    @contextmanager
    def at(self, line: int, where: str = "") -> Iterator[None]:
        """Keep an `InvalidInput` of this line, with `where` in front, and go on."""
        try:
            yield
        except InvalidInput as error:
            # A foreign key may be in the reason; it must not make the error unprintable.
            reason = f"{where}{error}".encode("utf-8", "backslashreplace").decode()
            self.found.append((line, reason))
        except RecursionError:
            self.found.append((line, f"{where}JSON is nested too deeply"))

    def finish(self) -> None:
        """Raise `ExchangeError` if anything was found."""
        if self.found:
            raise ExchangeError(self.path, self.found)


def parse_json(text: str) -> Any:
    """The value of a JSON text; NaN and repeated keys are refused, and never quoted."""
    try:
        return json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput("JSON", f"is broken: {error.msg}, column {error.colno}") from None
    except RecursionError:
        raise InvalidInput("JSON", "is nested too deeply") from None
    except InvalidInput:
        raise
    except ValueError:  # the interpreter's own limit on digits
        raise InvalidInput("JSON", "holds a number that is too long") from None


def sniff(data: object) -> Foreign | None:
    """Which foreign format a JSON document or the first line of JSON Lines looks like."""
    first = data[0] if isinstance(data, list) and data else data
    if not isinstance(first, dict):
        return None
    if isinstance(first.get("conversation"), dict):
        return "locomo"
    if first.get("type") in ("entity", "relation"):
        return "mcp"
    if "memory" in first or isinstance(first.get("results"), list):
        return "mem0"
    return None


def read_locomo(data: object, *, path: str = "locomo") -> list[Batch]:
    """One dated batch a conversation; a turn is a draft, its session the source.

    A shared photo's caption is part of the text, as the other person saw the photo. Turns
    carry the date of their session plus one second each, which keeps their order.
    """
    problems, batches = Problems(path), []
    first_with: dict[object, int] = {}
    for line, entry in enumerate(data if isinstance(data, list) else [data], 1):
        with problems.at(line):
            whole = _mapping("entry", entry)
            talk = _mapping("conversation", whole.get("conversation"))
            name = _optional_label("sample_id", whole.get("sample_id"))
            if first_with.setdefault(name, line) != line:
                raise InvalidInput("sample_id", f"repeats that of entry {first_with[name]}")
            drafts = list(_turns(talk, line, problems))
            batches.append(Batch.of(name, _unique(drafts, problems), dated=True))
    problems.finish()
    return batches or [Batch(None, ())]


def _turns(
    talk: Mapping[str, Any], line: int, problems: Problems
) -> Iterator[tuple[int, str, Draft]]:
    sessions = sorted(filter(_SESSION.fullmatch, talk), key=lambda name: int(name[8:]))
    if not sessions:
        raise InvalidInput("conversation", "has no session_1, session_2, ...")
    for session in sessions:
        if not talk[session]:
            continue
        with problems.at(line):
            start = _session_date(session, talk.get(f"{session}_date_time"))
            if not isinstance(talk[session], list):
                raise InvalidInput(session, "must be a list of turns")
            for position, turn in enumerate(talk[session]):
                where = f"{session}[{position}] "
                with problems.at(line, where):
                    yield line, where, _turn(_mapping("turn", turn), session, position, start)


def _turn(turn: Mapping[str, Any], session: str, position: int, start: datetime) -> Draft:
    text = turn.get("text", "")
    if not isinstance(text, str):
        raise InvalidInput("text", f"must be text, not {type(text).__name__}")
    if caption := turn.get("blip_caption"):
        text = f"{text} [shares a photo: {check_text('blip_caption', caption)}]".lstrip()
    return Draft(
        text=text,
        id=check_label("dia_id", turn.get("dia_id")),
        speaker=_optional_label("speaker", turn.get("speaker")),
        source=session,
        position=position,
        at=start + timedelta(seconds=position),
        trust="import",
    )


def _session_date(session: str, value: object) -> datetime:
    field = f"{session}_date_time"
    if value is None:
        raise InvalidInput(field, "is missing")
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found["month"].lower() not in _MONTHS:
        raise InvalidInput(field, "does not read like '1:56 pm on 8 May, 2023'")
    hour = int(found["hour"])
    try:
        if not 1 <= hour <= 12:
            raise ValueError
        return datetime(
            int(found["year"]),
            _MONTHS.index(found["month"].lower()) + 1,
            int(found["day"]),
            hour % 12 + 12 * (found["half"].lower() == "p"),
            int(found["minute"]),
            tzinfo=UTC,
        )
    except ValueError:
        raise InvalidInput(field, "names a time that does not exist") from None


_SESSION = re.compile(r"session_[0-9]{1,9}")
_DATE = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[ap])m\s+on\s+"
    r"(?P<day>\d{1,2})\s+(?P<month>[a-z]+),?\s+(?P<year>[12]\d{3})",
    re.ASCII | re.IGNORECASE,
)
# Spelled out, since strptime's month names follow the locale of the process.
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)


def read_mcp(lines: Iterable[str], *, path: str = "mcp") -> list[Batch]:
    """The memory server's JSON Lines as one undated batch.

    An observation becomes "Name: observation" with the entity as its source; a relation
    becomes the sentence it states, kept with the entity it starts from.
    """
    problems = Problems(path)
    drafts: list[tuple[int, Draft]] = []
    places: Counter[str] = Counter()
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        with problems.at(line):
            entry = _mapping("line", parse_json(text))
            if entry.get("type") == "entity":
                drafts += _observations(entry, line, places, problems)
            elif entry.get("type") == "relation":
                drafts.append((line, _relation(entry)))
            else:
                raise InvalidInput("type", "must be 'entity' or 'relation'")
    problems.finish()
    return [Batch.of(None, drafts)]


def _observations(
    entry: Mapping[str, Any], line: int, places: Counter[str], problems: Problems
) -> Iterator[tuple[int, Draft]]:
    name = check_label("name", entry.get("name"))
    kind = check_label("entityType", entry.get("entityType"))
    observations = entry.get("observations")
    if not isinstance(observations, list):
        raise InvalidInput("observations", "must be a list of texts")
    for index, observation in enumerate(observations):
        with problems.at(line):
            yield (
                line,
                Draft(
                    text=f"{name}: {check_text(f'observations[{index}]', observation)}",
                    source=name,
                    position=places[name],
                    metadata={"entity": name, "entityType": kind},
                    trust="import",
                ),
            )
            places[name] += 1


def _relation(entry: Mapping[str, Any]) -> Draft:
    ends = {key: check_label(key, entry.get(key)) for key in ("from", "relationType", "to")}
    return Draft(text=" ".join(ends.values()), source=ends["from"], metadata=ends, trust="import")


def read_mem0(data: object, *, path: str = "mem0") -> list[Batch]:
    """What `get_all()` returned, or its bare list of results: one batch a user."""
    problems = Problems(path)
    by_user: dict[str | None, list[tuple[int, str, Draft]]] = {}
    entries = data
    if isinstance(data, dict):
        with problems.at(1):
            entries = data.get("results")
            if data.get("next"):
                raise InvalidInput("next", "says that more pages follow; export all of them")
    if not isinstance(entries, list):
        raise ExchangeError(path, [(1, "results must be a list of memories")])
    for line, entry in enumerate(entries, 1):
        with problems.at(line):
            result = _mapping("entry", entry)
            user = _optional_label("user_id", result.get("user_id"))
            by_user.setdefault(user, []).append((line, "", _mem0_draft(result)))
    batches = [Batch.of(user, _unique(drafts, problems)) for user, drafts in by_user.items()]
    problems.finish()
    return batches or [Batch(None, ())]


def _mem0_draft(entry: Mapping[str, Any]) -> Draft:
    created = entry.get("created_at") or entry.get("updated_at")
    metadata = entry.get("metadata")
    return Draft(
        text=check_text("memory", entry.get("memory")),
        id=_optional_label("id", entry.get("id")),
        at=None if created is None else _mem0_time(created),
        metadata={} if metadata is None else metadata,
        trust="import",
    )


def _mem0_time(value: object) -> datetime:
    try:
        if not isinstance(value, str):
            raise ValueError
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput("created_at", "is not an ISO 8601 time") from None


def _unique(
    drafts: Iterable[tuple[int, str, Draft]], problems: Problems
) -> Iterator[tuple[int, Draft]]:
    first: dict[str, str] = {}
    for line, where, draft in drafts:
        with problems.at(line, where):
            place = where.strip() or f"entry {line}"
            if draft.id is not None and first.setdefault(draft.id, place) != place:
                raise InvalidInput("id", f"repeats that of {first[draft.id]}")
            yield line, draft


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(name, f"must be a JSON object, not {type(value).__name__}")
    return value


def _optional_label(name: str, value: object) -> str | None:
    return None if value is None else check_label(name, value)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise InvalidInput("JSON", "has a key that occurs twice")
    return made


def _no_constant(name: str) -> None:
    raise InvalidInput("JSON", f"holds {name}, which the format does not know")
