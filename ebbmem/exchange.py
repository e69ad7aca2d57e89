"""Memories as versioned JSON Lines, out and in.

The first line is a header, each further line one memory with every field of `Memory`, or what
`exchange_lines` knows. Times are ISO 8601 with a zone. The reader checks every line and returns
everything or raises.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeVar

from ebbmem.checks import check_namespace
from ebbmem.clock import DAY, from_micros, utc
from ebbmem.errors import ExchangeError, InvalidInput
from ebbmem.exchange_lines import Beside
from ebbmem.importers import (
    Batch,
    Problems,
    parse_json,
    read_locomo,
    read_mcp,
    read_mem0,
    sniff,
)
from ebbmem.limits import DEFAULTS, Limits
from ebbmem.policy import Policy
from ebbmem.records import CHECKS, Memory, Namespace, check_fading, check_succession
from ebbmem.whole import appearing

__all__ = ["FORMATS", "VERSION", "Batch", "Header", "export_file", "read_file", "write_jsonl"]

FORMATS = ("ebbmem", "locomo", "mcp", "mem0")
"""What `read_file` reads."""

VERSION = 3
"""Of our own lines; a reader refuses a newer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a namespace is beside its memories.

    Attributes:
        links: (id, id, weight), each once.
        beside: further lines, as JSON knows them.
        active_days: days of use, counted from the epoch.
        policy: as JSON; None leaves it to the reader.
    """

    namespace: Namespace
    exported_at: datetime
    links: tuple[tuple[str, str, float], ...] = ()
    beside: tuple[Mapping[str, object], ...] = ()
    active_days: tuple[int, ...] = ()
    policy: str | None = None


def write_jsonl(memories: Iterable[Memory], stream: TextIO, header: Header) -> int:
    """Write the header and one line a memory, as they come; returns how many memories.

    Raises:
        InvalidInput: the stream does not take text.
    """
    opening = {
        "format": "ebbmem",
        "version": VERSION,
        "namespace": list(check_namespace(header.namespace)),
        "exported_at": utc(header.exported_at, "exported_at").isoformat(),
        "policy": None if header.policy is None else json.loads(header.policy),
        "active_days": [from_micros(day * DAY).date().isoformat() for day in header.active_days],
    }
    first = _line(opening)
    try:
        stream.write(first)
    except TypeError:
        raise InvalidInput("file", "must be a stream of text, not of bytes") from None
    written = 0
    for memory in memories:
        stream.write(_line({name: _plain(getattr(memory, name)) for name in CHECKS}))
        written += 1
    for link in header.links:
        stream.write(_line({"link": list(link)}))
    for each in header.beside:
        stream.write(_line(each))
    return written


def export_file(path: str | Path, memories: Iterable[Memory], header: Header) -> int:
    """`write_jsonl` into a file that appears whole or not at all, readable by its owner alone.

    Raises:
        InvalidInput: the file cannot be written; what stood there before still does.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InvalidInput("file", f"{path} is not a regular file")
    try:
        with (
            appearing(target) as partial,
            open(partial, "w", encoding="utf-8", newline="\n") as stream,
        ):
            return write_jsonl(memories, stream, header)
    except OSError as error:
        raise InvalidInput("file", f"{path} cannot be written: {error.strerror}") from error


def read_file(
    path: str | Path | TextIO, *, format: str = "auto", limits: Limits = DEFAULTS
) -> list[Batch]:
    """Everything the file holds, or nothing.

    Args:
        path: a file of UTF-8 text, or a stream of text.
        format: one of `FORMATS`, or "auto" to look at the content.

    Raises:
        ExchangeError: naming every bad line or entry.
        InvalidInput: no such format, no file, one that is too large, or a stream of bytes.
    """
    if format != "auto" and format not in FORMATS:
        raise InvalidInput("format", f"must be auto or one of {', '.join(FORMATS)}")
    name, text = _read_text(path, limits)
    if format == "auto":
        format = _detect(name, text)
    if format == "ebbmem":
        return _read_ebbmem(_lines(name, text, limits), name)
    if format == "mcp":
        return read_mcp(_lines(name, text, limits), path=name)
    reader = read_locomo if format == "locomo" else read_mem0
    return reader(_document(name, text), path=name)


def _lines(name: str, text: str, limits: Limits) -> list[str]:
    problems, lines = Problems(name), text.split("\n")
    for number, line in enumerate(lines, 1):
        if 4 * len(line) > limits.line:
            size = len(line.encode("utf-8", "surrogatepass"))
            with problems.at(number):
                limits.require("line", size, limit="line", unit="bytes")
    problems.finish()
    return lines


def _read_text(path: str | Path | TextIO, limits: Limits) -> tuple[str, str]:
    if not isinstance(path, str | Path):
        return _read_stream(path, limits)
    try:
        with open(path, "rb") as file:
            raw = b"".join(_up_to(file.read, limits, len))
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise InvalidInput("file", f"{path} cannot be read: {reason}") from error
    try:
        return str(path), raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ExchangeError(str(path), [(line, "is not UTF-8 text")]) from None


Part = TypeVar("Part", str, bytes)
_PART = 2**20  # read at once, so that a file without an end is noticed


def _up_to(read: Callable[[int], Part], limits: Limits, size: Callable[[Part], int]) -> list[Part]:
    """What a file holds, in parts; one that is too large is not read to its end."""
    parts, total = [], 0
    while added := size(part := read(_PART)):
        parts.append(part)
        total += added
        if total > limits.file:
            most = f"at most {limits.file:,} are allowed (Limits.file)"
            raise InvalidInput("file", f"is longer than {limits.file:,} bytes, {most}")
    return parts


def _encoded_size(text: str) -> int:
    if not isinstance(text, str):
        raise InvalidInput("file", "must be a stream of text, not of bytes")
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _read_stream(stream: TextIO, limits: Limits) -> tuple[str, str]:
    name = str(getattr(stream, "name", "stream"))
    if not callable(getattr(stream, "read", None)):
        kind = type(stream).__name__
        raise InvalidInput("file", f"must be a path or a stream of text, not {kind}")
    try:
        text = "".join(_up_to(stream.read, limits, _encoded_size))
    except UnicodeError:
        raise ExchangeError(name, [(1, "is not UTF-8 text")]) from None
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        raise InvalidInput("file", f"{name} cannot be read: {error}") from error
    return name, text.removeprefix("\ufeff")


def _detect(name: str, text: str) -> str:
    # JSON Lines first, and past a broken line, so that its reader can name that line.
    for line in islice(filter(str.strip, text.split("\n")), 50):
        try:
            value = parse_json(line)
        except InvalidInput:
            continue
        if isinstance(value, dict) and value.get("format") == "ebbmem":
            return "ebbmem"
        if isinstance(value, dict) and sniff(value) == "mcp":
            return "mcp"
        if isinstance(value, dict | list):
            break
    found = sniff(_document(name, text, hint=_KNOWN))
    if found is None or found == "mcp":
        raise ExchangeError(name, [(1, f"the shape is unknown; {_KNOWN}")])
    return found


def _document(name: str, text: str, hint: str = "") -> Any:
    try:
        return parse_json(text)
    except InvalidInput as error:
        cause = error.__cause__ or error.__context__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else 1
        tail = f"; {hint}" if hint else ""
        raise ExchangeError(name, [(line, f"{error}{tail}")]) from None


_KNOWN = f"known formats are {', '.join(FORMATS)}"


def _read_ebbmem(lines: list[str], name: str) -> list[Batch]:
    problems = Problems(name)
    numbered = ((line, text) for line, text in enumerate(lines, 1) if text.strip())
    line, text = next(numbered, (1, ""))
    header: dict[str, Any] = {}
    with problems.at(line):
        header = _checked_header(parse_json(text))
    # Lines below a header that is not ours would only repeat one complaint.
    problems.finish()
    memories: dict[int, Memory] = {}
    first: dict[str, int] = {}
    beside = Beside()
    for line, text in numbered:
        with problems.at(line):
            value = parse_json(text)
            if beside.take(line, value):
                continue
            values = _checked(value, line, problems)
            id = values.get("id")
            if id is not None and first.setdefault(id, line) != line:
                raise InvalidInput("id", f"repeats that of line {first[id]}")
            if len(values) == len(CHECKS):
                memories[line] = Memory.read(**values)
    for line, kind, ids in beside.named():
        with problems.at(line):
            if not first.keys() >= set(ids):
                raise InvalidInput(kind, "names memories that are not in this file")
    problems.finish()
    links, probes = tuple(beside.links.values()), tuple(beside.probes.values())
    items, places = tuple(memories.values()), tuple(memories)
    return [Batch(None, items, lines=places, links=links, probes=probes, **header)]


def _checked_header(header: object) -> dict[str, Any]:
    """What a batch keeps of it."""
    if not isinstance(header, dict) or header.get("format") != "ebbmem":
        raise InvalidInput("header", 'must be an object with "format": "ebbmem"')
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidInput("version", "must be a whole number from 1")
    if version > VERSION:
        raise InvalidInput(
            "version", f"is {version}, this ebbmem reads up to {VERSION}; upgrade ebbmem"
        )
    _same_names(header, _HEADER)
    check_namespace(header["namespace"])
    _time("exported_at", header["exported_at"])
    policy = header["policy"]
    if policy is not None:
        Policy.from_json(json.dumps(policy))  # refused here rather than half-way
    return {
        "active_days": _days(header["active_days"]),
        "policy": None if policy is None else json.dumps(policy),
    }


def _days(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise InvalidInput("active_days", f"must be a list of dates, not {type(value).__name__}")
    try:
        return tuple((date.fromisoformat(day) - date(1970, 1, 1)).days for day in value)
    except (TypeError, ValueError):
        raise InvalidInput("active_days", "must hold dates such as 2026-01-31") from None


def _checked(line: object, number: int, problems: Problems) -> dict[str, Any]:
    if not isinstance(line, dict):
        raise InvalidInput("line", f"must be a JSON object, not {type(line).__name__}")
    values = {}
    line = {**_SINCE_2, **_SINCE_3, **line}
    with problems.at(number):
        _same_names(line, CHECKS)
    for name, check in CHECKS.items():
        if name in line:
            with problems.at(number):
                value = line[name]
                if name == "created_at" or (name in _OPEN_TIMES and value is not None):
                    value = _time(name, value)
                values[name] = check(name, value)
    if "status" in values and "faded_at" in values:
        with problems.at(number):
            check_fading(values["status"], values["faded_at"])
    if "superseded_at" in values and "superseded_by" in values:
        with problems.at(number):
            check_succession(values["superseded_at"], values["superseded_by"])
    return values


def _same_names(given: Mapping[str, Any], wanted: Iterable[str]) -> None:
    missing = [name for name in wanted if name not in given]
    if missing:
        raise InvalidInput("line", f"lacks {', '.join(missing)}")
    unknown = sorted(set(given).difference(wanted))
    if unknown:
        shown = ", ".join(ascii(name[:40]) for name in unknown[:5])
        raise InvalidInput("line", f"has fields that are not known: {shown}")


def _time(name: str, value: object) -> datetime:
    if not isinstance(value, str):
        raise InvalidInput(name, f"must be an ISO 8601 time, not {type(value).__name__}")
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(name, "is not an ISO 8601 time") from None
    return utc(time, name)


_HEADER = ("format", "version", "namespace", "exported_at", "policy", "active_days")
_OPEN_TIMES = (  # as text or null
    *("last_reinforced_at", "fades_at", "faded_at", "expires_at", "superseded_at"),
)
_SINCE_2 = {
    **{"keyed": False, "searchable": True, "expires_at": None},
    **{"key": None, "superseded_at": None, "superseded_by": None},
}
_SINCE_3 = {"trust": "user", "label": None}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return dict(value) if isinstance(value, Mapping) else value


def _line(value: Mapping[str, object]) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Legal inside JSON, but many readers of lines would break there.
    return text.translate(_LINE_BREAKS) + "\n"


_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
