"""Exact inner products over one namespace."""

from __future__ import annotations

from ebbmem.vectors.base import VectorIndex
from ebbmem.vectors.exact import ExactIndex
from ebbmem.vectors.flat import FlatIndex

__all__ = ["ExactIndex", "FlatIndex", "VectorIndex"]
