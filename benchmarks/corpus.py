"""Something to remember: dated dialogue, seeded, with vectors made beforehand.

The texts are invented words with the frequencies of a language, or the turns of LoCoMo. The
vectors mean nothing, but their cosines are spread like those of a small sentence model
(mean 0.2, deviation 0.13), so that as many rows become candidates and neighbours as in life.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebbmem import Draft
from ebbmem.embedding import Encoder, Encoding, Fingerprint
from ebbmem.embedding.encoding import quantise
from ebbmem.importers import read_locomo

__all__ = ["DIMENSION", "END", "Corpus", "made", "read"]

DIMENSION = 384
TOKEN_DIMENSION = 128
END = datetime(2026, 1, 29, tzinfo=UTC)
DAYS = 28  # everything was said within so many days, so that nothing has faded
QUESTIONS = 300
LATER = 200  # drafts beyond the first ones, to be remembered one by one
_SESSION = 25
_TOKENS = (20, 26)
_LATENT = 38  # directions in which vectors differ; fewer make cosines spread wider
_COMMON = 0.45  # share of one direction in every vector: cosines of unrelated texts are over 0
_SPEAKERS = ("Ada", "Bruno", "Chen", "Dilara", "Emil", "Farah")
_FREQUENT = (
    "the i to and a you it that was of for my so in is we me have with but on what do she he "
    "about this just at your are not really how can went think love been time"
).split()
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What a run remembers and asks."""

    origin: str
    drafts: list[Draft]
    later: list[Draft]
    questions: list[str]
    encoder: Encoder


class _Precomputed(Encoder):
    """Hands out what was made before: documents in turn, questions by their text."""

    def __init__(self, documents: Sequence[Encoding], questions: dict[str, Encoding]) -> None:
        self._documents = cycle(documents)
        self._questions = questions

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("precomputed", DIMENSION, TOKEN_DIMENSION, min_similarity=0.2)

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        return list(islice(self._documents, len(texts)))

    def encode_query(self, text: str) -> Encoding:
        return self._questions[text]


class _Encodings:
    """Makes encodings: a cluster for each session, a direction for each word."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._basis = np.linalg.qr(rng.normal(size=(DIMENSION, _LATENT + 1)))[0].T
        self._words: dict[str, int] = {}
        self._directions = rng.normal(size=(4096, TOKEN_DIMENSION)).astype(np.float32)

    def __call__(self, text: str, centre: NDArray[np.float64]) -> Encoding:
        latent = centre + 1.2 * self._rng.normal(size=_LATENT)
        latent *= np.sqrt(1 - _COMMON**2) / np.linalg.norm(latent)
        vector = np.concatenate([[_COMMON], latent]) @ self._basis
        numbers = [self._words.setdefault(word, len(self._words)) for word in text.split()]
        ids = list(islice(cycle(numbers), int(self._rng.integers(*_TOKENS))))
        pieces = self._directions[np.array(ids) % len(self._directions)]
        pieces = pieces + 0.5 * self._rng.normal(size=pieces.shape)
        return Encoding(vector.astype(np.float32), quantise(ids, pieces))

    def centre(self) -> NDArray[np.float64]:
        """Where the texts of a session lie."""
        return self._rng.normal(size=_LATENT)


def made(count: int) -> Corpus:
    """A corpus of invented words."""
    rng = np.random.default_rng(0)
    texts = list(_sentences(count + LATER, rng))
    turns = [(text, _SPEAKERS[n // _SESSION % 3 * 2 + n % 2]) for n, text in enumerate(texts)]
    questions = list(_questions(turns[:count], rng))
    return _corpus("invented words", turns, count, questions, rng)


def read(path: Path, count: int) -> Corpus:
    """A corpus of the turns and questions of a LoCoMo file, repeated as often as needed."""
    data = json.loads(path.read_text(encoding="utf-8"))
    known = [item for batch in read_locomo(data, path=path.name) for item in batch.items]
    turns = []
    for n, item in enumerate(islice(cycle(known), count + LATER)):
        again = f" ({n // len(known) + 1})" if n >= len(known) else ""
        turns.append((item.text + again, item.speaker or "somebody"))
    asked = dict.fromkeys(each["question"] for entry in data for each in entry["qa"])
    return _corpus(path.name, turns, count, list(asked)[:QUESTIONS], np.random.default_rng(0))


def _corpus(
    origin: str,
    turns: list[tuple[str, str]],
    count: int,
    questions: list[str],
    rng: np.random.Generator,
) -> Corpus:
    encode = _Encodings(rng)
    centres = [encode.centre() for _ in range(len(turns) // _SESSION + 1)]
    documents = [encode(text, centres[n // _SESSION]) for n, (text, _) in enumerate(turns)]
    asked = {text: encode(text, centres[n % len(centres)]) for n, text in enumerate(questions)}
    drafts = list(_dated(turns[:count]))
    later = [replace(each, source="today", at=None) for each in _dated(turns[count:])]
    return Corpus(
        origin=origin,
        drafts=drafts,
        later=later,
        questions=questions,
        encoder=_Precomputed(documents, asked),
    )


def _sentences(count: int, rng: np.random.Generator) -> Iterator[str]:
    """20 to 25 words each, with Zipf's frequencies; every sixth is a question."""
    invented = np.array(["".join(each) for each in product(_SYLLABLES, repeat=3)])
    words = np.concatenate([_FREQUENT, rng.permutation(invented)])
    weights = 1.0 / (np.arange(len(words)) + 2.7)
    weights /= weights.sum()
    for n in range(count):
        chosen = rng.choice(words, size=int(rng.integers(*_TOKENS)), p=weights)
        yield " ".join(chosen).capitalize() + ("?" if n % 6 == 0 else ".")


def _questions(turns: Sequence[tuple[str, str]], rng: np.random.Generator) -> Iterator[str]:
    """Each about words of one turn."""
    for n in range(QUESTIONS):
        text, speaker = turns[int(rng.integers(len(turns)))]
        rare = [word for word in text.rstrip(".?").lower().split() if word not in _FREQUENT]
        about = " and ".join(list(dict.fromkeys(rare))[:3])
        asked = ("What did {} say about {}", "When did {} talk of {}", "Did {} ever mention {}")
        yield f"{asked[n % 3].format(speaker, about)}?"


def _dated(turns: Sequence[tuple[str, str]]) -> Iterator[Draft]:
    """Sessions spread evenly over the days, turns a minute apart."""
    sessions = len(turns) / _SESSION
    for n, (text, speaker) in enumerate(turns):
        session, turn = divmod(n, _SESSION)
        begun = END - timedelta(days=DAYS * (1 - session / (sessions + 1)))
        yield Draft(
            text=text,
            speaker=speaker,
            source=f"session {session + 1}",
            at=begun + timedelta(minutes=turn),
        )
