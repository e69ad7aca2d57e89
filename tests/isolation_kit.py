"""Namespaces that are easily taken for one another, what is planted in each, every way to look."""

from __future__ import annotations

import asyncio
import inspect
import io
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ebbmem import Category, Draft, EbbmemError, MemoryBank, Policy, recall_across
from ebbmem.context import Context
from ebbmem.records import Namespace

FAMILIES: tuple[tuple[Namespace, ...], ...] = (
    (
        ("user1",), ("user10",), ("User1",), ("USER1",), ("user1 ",), (" user1",),
        ("user\u200b1",), ("user\u200d1",), ("us\u0435r1",), ("\uff55ser1",), ("user1", "user1"),
        ("user%",), ("user_",), ("user1' OR '1'='1",), ("user1\\",),
    ),
    (
        ("a",), ("a", "b"), ("a/b",), ("a,b",), ("a:b",), ("a|b",), ("a.b",), ('["a"]',),
        ('["a", "b"]',), ('a", "b',), ("a", "b", "c"), ("a", "b/c"), ("a/b", "c"), ("a, b",),
    ),
    (
        ("caf\u00e9",), ("cafe\u0301",), ("CAF\u00c9",), ("cafe",), ("..",), ("../a",), ("C:\\a",),
        ("CON",), ("null",), ("x" * 511,), ("x" * 512,), ("x" * 300, "x" * 300),
    ),
)  # fmt: skip
NAMES = tuple(each for family in FAMILIES for each in family)
T0 = datetime(2026, 1, 1, tzinfo=UTC)
MARK = re.compile(r"zqmark\d+qz")
_MADE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def mark_of(number: int) -> str:
    """The word that stands in everything a namespace keeps, and in nothing else."""
    return f"zqmark{number:02}qz"


def policy_of(mark: str) -> Policy:
    """With a category that only this namespace has."""
    return Policy(categories=[Category(f"{mark}category", 0.3)], sample_probes=3)


def planted(mark: str, number: int) -> Draft:
    """A memory with the mark in every field that holds a word."""
    return Draft(
        text=f"the lighthouse keeper number {number} said {mark}",
        id=f"{mark}id{number}",
        category=f"{mark}category",
        source=f"{mark}source",
        speaker=f"{mark}speaker",
        key=f"{mark}key{number % 2}",
        metadata={f"{mark}field": {"of": f"{mark}value"}},
    )


def told(value: object) -> str:
    """Everything a value says, whatever its `repr` keeps to itself; new ids all look alike."""
    return _MADE_ID.sub("(an id)", "\n".join(_words(value)))


def _words(value: object) -> list[str]:
    if isinstance(value, Context):
        return [str(value), repr(value), *_words(value.ids), *_words(value.scores)]
    if isinstance(value, str | bytes | int | float | None):
        return [str(value)]
    if isinstance(value, np.ndarray):
        return [str(value.tolist())]
    if isinstance(value, BaseException):
        return [type(value).__name__, str(value), repr(value), *_words(dict(vars(value)))]
    if isinstance(value, Mapping):
        return [each for item in value.items() for part in item for each in _words(part)]
    if isinstance(value, Set):
        return sorted(each for item in value for each in _words(item))
    if isinstance(value, list | tuple):
        return [f"{len(value)} of them", *(each for item in value for each in _words(item))]
    if is_dataclass(value):
        inner = [each for field in fields(value) for each in _words(getattr(value, field.name))]
        return [repr(value), *inner]
    if hasattr(value, "model_dump"):
        return [repr(value), *_words(value.model_dump())]
    return [repr(value)]


def answer(call: Callable[[], Any]) -> str:
    """What a call says, an error of ours included."""
    try:
        made = call()
        return told(asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made)
    except EbbmemError as error:
        return told(error)


async def _awaited(made: Any) -> Any:
    return await made


def exported(bank: Any) -> Any:
    """The lines of an export, of a bank of either kind."""
    file = io.StringIO()
    size = bank.export_jsonl(file)

    async def wait() -> tuple[object, str]:
        return await size, file.getvalue()

    return wait() if inspect.isawaitable(size) else (size, file.getvalue())


Look = Callable[[Any, str], Any]
"""A way to look into a bank, given the mark that is looked for."""

_ALL: dict[str, Any] = {"k": 50, "min_similarity": -1.0, "reinforce": False}
ASKED = "who said {}, the lighthouse keeper?"

LOOKS: dict[str, Look] = {
    "recall": lambda bank, mark: bank.recall(ASKED.format(mark), **_ALL),
    "recall by vector": lambda bank, mark: bank.recall([1.0, 0.0], **_ALL),
    "recall around": lambda bank, mark: bank.recall(ASKED.format(mark), around=3, **_ALL),
    "recall where": lambda bank, mark: bank.recall(
        "keeper", where={f"{mark}field": {"of": f"{mark}value"}}, **_ALL
    ),
    "recall where function": lambda bank, mark: bank.recall(
        "keeper", where=lambda memory: mark in memory.text, **_ALL
    ),
    "recall category": lambda bank, mark: bank.recall("keeper", category=f"{mark}category", **_ALL),
    "recall source": lambda bank, mark: bank.recall("keeper", source=f"{mark}source", **_ALL),
    "recall exclude": lambda bank, mark: bank.recall("keeper", exclude=[f"{mark}id0"], **_ALL),
    "recall as_of": lambda bank, mark: bank.recall(
        "keeper", as_of=T0 + timedelta(days=1), include_faded=True, **_ALL
    ),
    "recall hidden": lambda bank, mark: bank.recall(
        "keeper", include_faded=True, include_superseded=True, **_ALL
    ),
    "explain": lambda bank, mark: bank.explain(
        ASKED.format(mark), f"{mark}id0", include_faded=True
    ),
    "context": lambda bank, mark: bank.context(
        ASKED.format(mark), k=50, budget=9000, min_similarity=-1.0, reinforce=False, around=2
    ),
    "list": lambda bank, mark: bank.list(),
    "list hidden": lambda bank, mark: bank.list(include_faded=True, include_superseded=True),
    "list where": lambda bank, mark: bank.list(where={f"{mark}field": {"$exists": True}}),
    "list where not": lambda bank, mark: bank.list(where={f"{mark}field": {"$exists": False}}),
    "list where function": lambda bank, mark: bank.list(where=lambda memory: mark in memory.text),
    "list category": lambda bank, mark: bank.list(category=f"{mark}category"),
    "list source": lambda bank, mark: bank.list(source=f"{mark}source", newest_first=True),
    "get": lambda bank, mark: bank.get(f"{mark}id0", include_faded=True),
    "known": lambda bank, mark: bank.known([planted(mark, 0).text, "the common words"]),
    "vectors": lambda bank, mark: bank.vectors([f"{mark}id{number}" for number in range(4)]),
    "strength": lambda bank, mark: bank.strength(f"{mark}id0"),
    "retention": lambda bank, mark: bank.retention(f"{mark}id0"),
    "stats": lambda bank, mark: bank.stats(),
    "forecast": lambda bank, mark: bank.forecast(4000.0),
    "advice": lambda bank, mark: bank.advice(),
    "report": lambda bank, mark: bank.report(),
    "probes": lambda bank, mark: bank.probes(),
    "probe_history": lambda bank, mark: bank.probe_history(),
    "audit": lambda bank, mark: bank.audit(),
    "audit_verify": lambda bank, mark: bank.audit_verify(),
    "inhabited": lambda bank, mark: bank.inhabited(),
    "inhabited hidden": lambda bank, mark: bank.inhabited(include_faded=True),
    "prune": lambda bank, mark: bank.prune(dry_run=True),
    "export_jsonl": lambda bank, mark: exported(bank),
    "itself": lambda bank, mark: [
        repr(bank), bank.namespace, bank.policy.to_json(), bank.limits, bank.fingerprint, bank.path
    ],
}  # fmt: skip


def across(bank: MemoryBank, mark: str) -> object:
    """By way of the question to several banks, of which there is one."""
    return recall_across([bank], ASKED.format(mark), **_ALL)
