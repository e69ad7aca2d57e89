"""Every public method of a bank that writes, with a call of it on the file of `crash_kit.plant`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from crash_kit import Directions
from ebbmem import Draft, MemoryBank, Policy


@dataclass(frozen=True)
class Operation:
    """One call.

    Attributes:
        method: of `MemoryBank`.
        steps: why it may stop between two of its transactions; "" is: it has but one.
        writes: whether it changes anything in the file.
        maintain: let the daily pass come with it.
    """

    name: str
    method: str
    call: Callable[[MemoryBank, Path], object]
    steps: str = ""
    writes: bool = True
    maintain: bool = False


PASS = "the daily pass comes after the call's own write, in batches"

OPERATIONS = (
    Operation("remember", "remember", lambda bank, _: bank.remember("new", id="new")),
    Operation("remember again", "remember", lambda bank, _: bank.remember("said second")),
    Operation(
        "remember in the place of others",
        "remember",
        lambda bank, _: bank.remember("anna is in Bonn", id="bonn", key="anna's town"),
    ),
    Operation(
        "remember, and the pass",
        "remember",
        lambda bank, _: bank.remember("new", id="new"),
        steps=PASS,
        maintain=True,
    ),
    Operation(
        "remember many",
        "remember_many",
        lambda bank, _: bank.remember_many(
            [Draft(text=f"new {n}", id=f"n{n}", source="talk") for n in range(5)]
        ),
    ),
    Operation(
        "rewrite",
        "remember_many",
        lambda bank, _: bank.remember_many(
            [Draft(text="other words", id="anna"), Draft(text="more words", id="bert")],
            rewrite=True,
        ),
    ),
    Operation(
        "write",
        "write",
        lambda bank, _: bank.write(
            {("u1",): [Draft(text="one", id="one")], ("u2",): [Draft(text="two", id="two")]},
            erase={("u2",): ["anna"], ("u1",): ["bert"]},
        ),
    ),
    Operation("update", "update", lambda bank, _: bank.update("anna", text="anna left")),
    Operation(
        "update metadata", "update", lambda bank, _: bank.update("anna", metadata={"town": "Bonn"})
    ),
    Operation(
        "recall",
        "recall",
        lambda bank, _: bank.recall("tea by the river", k=3),
    ),
    Operation(
        "recall, and the pass",
        "recall",
        lambda bank, _: bank.recall("tea by the river", k=3),
        steps=PASS,
        maintain=True,
    ),
    Operation("context", "context", lambda bank, _: bank.context("tea by the river")),
    Operation(
        "rerank",
        "rerank",
        lambda bank, _: bank.rerank({"anna": 0.9, "unknown": 0.8}),
        steps="a document that was unknown is kept first, which changes no answer",
    ),
    Operation("reinforce", "reinforce", lambda bank, _: bank.reinforce(["anna", "bert"])),
    Operation(
        "reinforce what was asked",
        "reinforce",
        lambda bank, _: bank.reinforce("anna", query="who is it?"),
        steps="the question that it samples comes after the use that it counts",
    ),
    Operation("pin", "pin", lambda bank, _: bank.pin(["anna", "hidden"])),
    Operation("unpin", "unpin", lambda bank, _: bank.unpin("dora")),
    Operation("hold", "hold", lambda bank, _: bank.hold("anna")),
    Operation("release", "release", lambda bank, _: bank.release("kept")),
    Operation(
        "expire",
        "expire",
        lambda bank, _: bank.expire(["anna", "bert"], bank.clock() + timedelta(days=5)),
    ),
    Operation("restore", "restore", lambda bank, _: bank.restore(["hidden", "ended"])),
    Operation("forget", "forget", lambda bank, _: bank.forget(["anna", "bert"])),
    Operation("link", "link", lambda bank, _: bank.link("cora", "dora", weight=0.5)),
    Operation("unlink", "unlink", lambda bank, _: bank.unlink("anna", "bert")),
    Operation(
        "prune",
        "prune",
        lambda bank, _: bank.prune(),
        steps="it fades, and lets go, in batches",
    ),
    Operation("erase", "erase", lambda bank, _: bank.erase(["anna", "oslo", "said1"])),
    Operation("erase what has expired", "erase_expired", lambda bank, _: bank.erase_expired()),
    Operation("erase all", "erase_all", lambda bank, _: bank.at("u2").erase_all()),
    Operation("add a probe", "add_probe", lambda bank, _: bank.add_probe("who?", "cora")),
    Operation("remove a probe", "remove_probe", lambda bank, _: bank.remove_probe(1)),
    Operation("probe", "probe", lambda bank, _: bank.probe()),
    Operation("import", "import_file", lambda bank, folder: bank.import_file(folder / "in.jsonl")),
    Operation(
        "export",
        "export_jsonl",
        lambda bank, folder: bank.export_jsonl(folder / "o.jsonl"),
        writes=False,
    ),
    Operation("backup", "backup", lambda bank, folder: _backup(bank, folder), writes=False),
    Operation(
        "reembed",
        "reembed",
        lambda bank, _: bank.reembed(Directions("other", 6)),
        steps="vectors come in batches, beside the old ones, which answer until the last",
    ),
    Operation(
        "open with another policy",
        "at",
        lambda bank, _: bank.at("u2", policy=Policy(fade_below=0.2)),
    ),
)

READS = {
    "advice", "audit", "audit_verify", "clock", "close", "diagnose", "explain", "fingerprint",
    "forecast", "get", "inhabited", "known", "limits", "list", "path", "probe_history", "probes",
    "report", "retention", "stats", "strength", "vectors",
}  # fmt: skip
"""They change nothing that is kept; closing sweeps, which is no part of it."""

ELSEWHERE = {"open": "tests/crash/test_opening.py", "beside": "is `at`"}


def _backup(bank: MemoryBank, folder: Path) -> None:
    made = len(list(folder.glob("copy-*.db")))
    bank.backup(folder / f"copy-{made}.db")
