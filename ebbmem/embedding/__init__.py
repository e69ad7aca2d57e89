"""Embedders: the built-in ones, and one face for all that callers bring."""

from __future__ import annotations

from ebbmem.embedding.adapt import adapt
from ebbmem.embedding.base import Encoder, Encoding, Fingerprint, TokenVectors
from ebbmem.embedding.choose import resolve

__all__ = ["Encoder", "Encoding", "Fingerprint", "TokenVectors", "adapt", "resolve"]
