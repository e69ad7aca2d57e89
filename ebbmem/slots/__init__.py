"""What facts are about, and how wording tells that one has changed: a table for each language.

A slot is a thing of which one is true at a time: a home, an employer, a phone. The longest entry
is taken first; English words are compared by their stems. What is in no table is not lost: see
`ebbmem.currency` for what else is compared.
"""

from __future__ import annotations

from ebbmem.slots.base import Wording
from ebbmem.slots.chinese import CHINESE
from ebbmem.slots.english import ENGLISH

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Wording"]

LANGUAGES: tuple[Wording, ...] = (ENGLISH, CHINESE)
"""The languages that facts are read with; a user may add one through `marks(languages=)`."""
