"""The public face: a change here is a change for everybody."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import ebbmem

NAMES = [
    "CATEGORIES",
    "Advice",
    "AsyncMemoryBank",
    "AuditCheck",
    "AuditEntry",
    "Category",
    "Context",
    "DecayModel",
    "Draft",
    "EbbinghausDecay",
    "EbbmemError",
    "EmbeddingError",
    "Erased",
    "ExchangeError",
    "Explanation",
    "FingerprintMismatch",
    "Forecast",
    "Held",
    "Imported",
    "InvalidInput",
    "Limits",
    "Memory",
    "MemoryBank",
    "MissingExtra",
    "NotFound",
    "Policy",
    "PowerDecay",
    "Probe",
    "ProbeAnswer",
    "ProbeRun",
    "Pruned",
    "Ranked",
    "Recollection",
    "Recollections",
    "Refused",
    "Repaired",
    "SchemaTooNew",
    "Stats",
    "Step",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnreadable",
    "UnknownCategory",
    "arecall_across",
    "diagnose",
    "recall_across",
    "repair",
]
MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(ebbmem.__path__, "ebbmem.")
    if each.name != "ebbmem.__main__"
)


def constants_first(name: str) -> tuple[int, str]:
    """The order of the linter: constants, classes, functions; a single letter is a class."""
    constant = name.isupper() and len(name) > 1
    return (0 if constant else 1 if name[0].isupper() else 2, name)


def test_the_package_exports_exactly_these_names() -> None:
    assert ebbmem.__all__ == NAMES


@pytest.mark.parametrize("module", ["ebbmem", *MODULES])
def test_every_module_lists_what_it_exports_sorted_and_has_it(module: str) -> None:
    loaded = importlib.import_module(module)
    names = loaded.__all__ if hasattr(loaded, "__all__") else []
    assert names == sorted(names, key=constants_first)
    assert all(hasattr(loaded, name) for name in names)


def test_every_error_is_one_of_ours() -> None:
    exported = [getattr(ebbmem, name) for name in ebbmem.__all__]
    errors = [each for each in exported if isinstance(each, type) and issubclass(each, Exception)]
    assert len(errors) == 16
    assert all(issubclass(each, ebbmem.EbbmemError) for each in errors)


def test_errors_are_also_what_python_calls_them() -> None:
    assert issubclass(ebbmem.InvalidInput, ValueError)
    assert issubclass(ebbmem.NotFound, LookupError)
    assert issubclass(ebbmem.MissingExtra, ImportError)


def test_the_version_is_there() -> None:
    assert ebbmem.__version__.count(".") == 2
