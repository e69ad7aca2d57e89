"""Group E of the pain cases: text."""

from __future__ import annotations

import pytest

from builders import OpenBank
from ebbmem import InvalidInput
from ebbmem.testing import TableEmbedder

EMOJI = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # seven code points
FAMILY = f"the family {EMOJI} from \U0001f1ef\U0001f1f5"
SCRIPTS = ["我住在大阪", "我养了两只猫", "أحب القهوة صباحا", "אני גר בחיפה"]
WORDLESS = ["the", "?!", "is it you", "\U0001f600", "\u200b", "的了", "'", "%_"]
BLANK = ["", "   ", "\n\t", None, 42, "\u3000", "\u200a\u2003"]


# -- TX-1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", BLANK)
def test_tx_1_blank_text_is_refused_before_it_is_embedded(
    open_bank: OpenBank, text: object
) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(embedder=embedder)
    with pytest.raises(InvalidInput, match="text"):
        bank.remember(text)  # type: ignore[arg-type]
    assert (bank.list(include_faded=True), embedder.calls) == ([], 0)


@pytest.mark.parametrize("query", BLANK)
def test_tx_1_a_blank_query_is_refused_and_never_matches_everything(
    open_bank: OpenBank, query: object
) -> None:
    embedder = TableEmbedder({}, default=[1.0, 0.0])
    bank = open_bank(embedder=embedder)
    bank.remember("text")
    with pytest.raises(InvalidInput, match="query") as caught:
        bank.recall(query)  # type: ignore[arg-type]
    assert "SELECT" not in str(caught.value)
    assert embedder.calls == 1
    assert bank.list()[0].recall_count == 0


@pytest.mark.parametrize("embedder", [None, "hashing"])
@pytest.mark.parametrize(
    "query", ["the", "?!", "is it you", "\U0001f600", "\u200b", "的了", "'", "%_"]
)
def test_tx_1_a_query_without_a_word_that_says_anything_crashes_nothing(
    open_bank: OpenBank, embedder: object, query: str
) -> None:
    bank = open_bank(embedder=embedder)
    bank.remember("quite another text")
    id_ = bank.remember(query).id
    assert len(bank.recall(query)) <= 2
    assert bank.get(id_).text == query


# -- TX-2 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, "hashing"])
def test_tx_2_emoji_come_back_whole_and_half_of_one_is_refused(
    open_bank: OpenBank, embedder: object
) -> None:
    bank = open_bank(embedder=embedder)
    bank.remember_many(f"ordinary number{i}" for i in range(10))
    id_ = bank.remember(FAMILY).id
    with pytest.raises(InvalidInput, match="lone surrogate"):
        bank.remember("half \ud83d of one")
    for _ in range(2):
        assert bank.get(id_).text == FAMILY
        assert len(bank.list()) == 11
        assert bank.recall("family", k=1)[0].memory.text == FAMILY
        assert bank.recall("family", k=1)[0].passage == FAMILY
        assert bank.prune().faded == ()
        bank.close()
        bank = open_bank(embedder=embedder)


def test_tx_2_no_passage_ends_inside_a_character(open_bank: OpenBank) -> None:
    bank = open_bank(embedder="hashing")
    text = " ".join(f"{EMOJI}w{i}{EMOJI}" for i in range(500))
    bank.remember(text)
    [hit] = bank.recall("w377")
    assert hit.memory.text == text
    assert hit.passage in text
    assert all(part.startswith(EMOJI) for part in hit.passage.split())
    assert all(part.endswith(EMOJI) for part in hit.passage.split())


def test_tx_2_text_is_kept_code_point_for_code_point(open_bank: OpenBank) -> None:
    bank = open_bank()
    for text in ("e\u0301", "\u00e9", " padded ", "a\r\nb\x00c", "\ufeffmark", "\U0010ffff"):
        assert bank.get(bank.remember(text).id).text == text
    assert len(bank.list()) == 6


# -- TX-3 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", ["auto", None, "hashing"])
def test_tx_3_text_in_every_script_finds_itself(open_bank: OpenBank, embedder: object) -> None:
    bank = open_bank(embedder=embedder)
    ids = [bank.remember(text).id for text in SCRIPTS]
    assert len(set(ids)) == 4
    for _ in range(2):
        for id_, text in zip(ids, SCRIPTS, strict=True):
            [hit] = bank.recall(text, k=1)
            assert (hit.memory.id, hit.memory.text) == (id_, text)
        bank.close()
        bank = open_bank(embedder=embedder)


# -- TX-4 ------------------------------------------------------------------------------------

WORDS = "lorem ipsum dolor amet " * 45_454
BLOB = "x" * 1_000_000


def test_tx_4_a_million_characters_come_back_and_the_last_word_is_found(
    open_bank: OpenBank,
) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), path=":memory:")
    text = WORDS[: 1_000_000 - 8] + " zanzibar"[:8]
    assert len(text) == 1_000_000
    id_ = bank.remember(text).id
    bank.remember("something else")
    assert bank.get(id_).text == text
    [hit] = bank.recall(text[-7:], k=1)
    assert hit.memory.id == id_
    assert hit.passage.endswith(text[-7:])


def test_tx_4_a_million_characters_without_a_space_come_back(open_bank: OpenBank) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]), path=":memory:")
    assert bank.get(bank.remember(BLOB).id).text == BLOB


@pytest.mark.parametrize("same", [WORDS[:10_000], BLOB[:10_000], "猫" * 10_000])
def test_tx_4_texts_that_differ_at_the_end_alone_are_two_memories(
    open_bank: OpenBank, same: str
) -> None:
    bank = open_bank(embedder=TableEmbedder({}, default=[1.0, 0.0]))
    first, second = bank.remember_many([same + " alpha", same + " beta"])
    assert first.id != second.id
    assert {each.text[-5:] for each in bank.list()} == {"alpha", " beta"}
