"""Text as keywords and as passages."""

from __future__ import annotations

import json
import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem import context
from ebbmem.embedding import hashing
from ebbmem.text import (
    CJK,
    PASSAGE_WORDS,
    count_words,
    is_pair,
    keywords,
    passages,
    spoken,
    terms,
    words,
)

GOLDEN: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "keywords.json").read_text(encoding="utf-8")
)
relaxed = settings(deadline=None, max_examples=150)
long_texts = st.lists(
    st.sampled_from(
        ["tea", "a.b", "wait!", "Why?", "\n", "\n\n", "咖啡", "好。", "東京タワー", "서울", "👍"]
    )
    | st.text(max_size=6),
    min_size=60,
    max_size=300,
).map(" ".join) | st.text("喝咖啡。！ a", min_size=150, max_size=600)


def bare(text: str) -> str:
    """Everything that is not white space."""
    return "".join(text.split())


# -- keywords ------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['language']}: {row['text'][:12]}")
def test_keywords_are_the_golden_ones(row: dict[str, Any]) -> None:
    assert keywords(row["text"]) == row["keywords"]


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert keywords(unicodedata.normalize("NFD", "Café Übung")) == keywords("Café Übung")


def test_inflections_meet_in_their_stem() -> None:
    assert {each for text in ("connect", "connected", "Connecting") for each in keywords(text)} == {
        "connect"
    }


def test_a_possessive_is_found_by_the_bare_name() -> None:
    assert keywords("Anna's") == keywords("Anna’s") == keywords("Anna")


def test_a_dotted_capital_i_does_not_cut_its_word() -> None:
    assert words("İstanbul")[-1].endswith("istanbul")


def test_a_blob_is_cut_to_a_term_of_64_characters() -> None:
    assert keywords("x" * 10_000) == ["x" * 64]


def test_a_chinese_word_is_found_inside_a_longer_run() -> None:
    assert set(keywords("咖啡")) <= set(keywords("我每天早上喝咖啡"))


WEAK = "点點多少最好大小上下里裡出到过過得着著可能想要让讓用年月日天时時候人事东西些样樣"


@pytest.mark.parametrize("character", WEAK)
def test_a_weak_character_is_no_keyword_but_makes_a_pair(character: str) -> None:
    assert keywords(character) == []
    assert keywords(f"{character}茶") == [f"{character}茶", "茶"]
    assert keywords(f"茶{character}") == ["茶", f"茶{character}"]
    assert keywords(f"我{character}") == keywords(f"{character}的") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我最近搬家了", "我最喜欢吃什么"),
        ("下午三点开会", "我有点累"),
        ("她想去北京", "你想吃辣"),
        ("他每天跑步", "今天下雨"),
        ("上海很热", "早上喝茶"),
    ],
)
def test_texts_that_share_a_weak_character_alone_share_no_keyword(one: str, other: str) -> None:
    assert not set(keywords(one)) & set(keywords(other))


@pytest.mark.parametrize("word", ["五点", "最近", "去年", "东西", "小时", "个人", "日本", "大学"])
def test_a_word_with_a_weak_character_is_found_as_a_pair(word: str) -> None:
    assert word in keywords(f"我说{word}吧")


def test_words_keep_runs_of_chinese_whole() -> None:
    assert words("Hello 世界, Don’t") == ["hello", "世界", "don't"]


def test_stems_are_the_same_in_every_thread() -> None:
    text = "running connections generously organised"
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(each) for each in pool.map(keywords, [text] * 64)}) == 1


@relaxed
@given(st.text(max_size=80) | long_texts)
def test_keywords_are_the_terms_of_the_words(text: str) -> None:
    assert terms(words(text)) == keywords(text)


@pytest.mark.parametrize(
    ("term", "pair"),
    [("乌龙", True), ("サカ", True), ("茶", False), ("ab", False), ("乌龙茶", False)],
)
def test_two_characters_without_spaces_are_a_pair(term: str, pair: bool) -> None:
    assert is_pair(term) is pair


@relaxed
@given(st.text())
def test_any_text_has_keywords_that_are_short_and_not_blank(text: str) -> None:
    for term in keywords(text):
        assert term.strip() == term != ""
        assert len(term) <= 64


@relaxed
@given(st.text(), st.text())
def test_keywords_of_two_lines_are_those_of_each(one: str, other: str) -> None:
    assert keywords(f"{one}\n{other}") == keywords(one) + keywords(other)


# -- lengths -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("  ", 0),
        ("one", 1),
        ("one two", 2),
        ("咖啡", 1),
        ("咖啡店", 2),
        ("喝 tea", 2),
        ("a。b", 2),
    ],
)
def test_two_cjk_characters_count_as_one_word(text: str, length: int) -> None:
    assert count_words(text) == length


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tea", False),
        ("茶", True),
        ("ひ", True),
        ("カ", True),
        ("한", True),
        ("ㄅ", True),
        ("々", True),
        ("〇", True),
        ("\uf900", True),
        ("\U00020000", True),
        ("\U00031350", True),
        ("é", False),
        ("。", False),
        ("\u3000", False),
    ],
)
def test_han_kana_and_hangul_are_cjk(text: str, found: bool) -> None:
    assert (re.fullmatch(f"[{CJK}]", text) is not None) is found


def test_keywords_vectors_and_contexts_agree_on_what_has_no_spaces() -> None:
    for character in map(chr, [*range(0x1000, 0x10000), *range(0x20000, 0x40000, 101)]):
        cjk = re.fullmatch(f"[{CJK}]", character) is not None
        assert cjk <= (context._UNSPACED.fullmatch(character) is not None)
        found = hashing._RUNS.fullmatch(character)
        assert cjk == (found is not None and found.lastgroup == "cjk")


def test_who_said_it_is_part_of_what_is_indexed() -> None:
    assert spoken("Ann", "tea") == "Ann: tea"
    assert spoken(None, "tea") == "tea"


# -- passages ------------------------------------------------------------------------------------


def test_a_short_text_is_one_passage_as_it_stands() -> None:
    text = "  I like tea.  "
    assert passages(text) == [(0, len(text))]


def test_eighty_words_are_one_passage_and_eighty_one_are_two() -> None:
    assert len(passages(" ".join(["word"] * 80))) == 1
    assert len(passages(" ".join(["word"] * 81))) == 2


def test_passages_end_where_sentences_end() -> None:
    sentences = [" ".join([f"word{number}"] * 29) + " end." for number in range(4)]
    text = " ".join(sentences)
    cut = [text[start:stop] for start, stop in passages(text)]
    assert cut == [" ".join(sentences[:2]), " ".join(sentences[2:])]


def test_a_sentence_over_the_limit_is_cut_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    cut = [text[start:stop].split() for start, stop in passages(text)]
    assert [len(each) for each in cut] == [80, 80, 40]
    assert [word for each in cut for word in each] == text.split()


def test_a_long_chinese_text_is_cut_at_its_full_stops() -> None:
    sentence = "我每天早上在咖啡店喝一杯咖啡，" * 4 + "然后去上班。"  # 35.5 words with its marks
    text = sentence * 4
    cut = [text[start:stop] for start, stop in passages(text)]
    assert cut == [sentence * 2, sentence * 2]


def test_a_long_chinese_text_without_stops_is_cut_between_characters() -> None:
    text = "茶" * 500
    cut = [text[start:stop] for start, stop in passages(text)]
    assert [len(each) for each in cut] == [160, 160, 160, 20]


def test_a_long_text_without_spaces_is_one_word() -> None:
    assert passages("x" * 10_000) == [(0, 10_000)]


def test_the_limit_is_the_callers() -> None:
    assert [len(each) for each in [passages("a b c d e", limit=2)]] == [3]


@relaxed
@given(st.one_of(st.text(), long_texts))
def test_passages_lie_in_order_within_the_text_and_hold_all_of_it(text: str) -> None:
    cut = passages(text)
    flat = [edge for span in cut for edge in span]
    assert flat == sorted(flat)
    assert all(0 <= start <= stop <= len(text) for start, stop in cut)
    assert bare("".join(text[start:stop] for start, stop in cut)) == bare(text)


@relaxed
@given(long_texts)
def test_no_passage_is_longer_than_the_limit_or_blank(text: str) -> None:
    cut = passages(text)
    assert all(count_words(text[start:stop]) <= PASSAGE_WORDS for start, stop in cut)
    if text.strip():
        assert all(text[start:stop].strip() for start, stop in cut)


@relaxed
@given(long_texts)
def test_passages_hold_every_keyword_of_the_text(text: str) -> None:
    found = {term for start, stop in passages(text) for term in keywords(text[start:stop])}
    single = {term for term in keywords(text) if len(term) == 1 or not re.search(f"[{CJK}]", term)}
    assert single <= found


# -- parted texts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("one\u2029two", [(0, 3), (4, 7)]),
        ("one\u2029\u2029two", [(0, 3), (5, 8)]),
        ("\u2029one", [(1, 4)]),
        ("one\u2029 \n\u2029", [(0, 3)]),
        ("one two\u2029three", [(0, 7), (8, 13)]),
    ],
)
def test_what_a_separator_parts_shares_no_passage(text: str, spans: list[tuple[int, int]]) -> None:
    assert passages(text) == spans


def test_a_long_part_is_cut_as_it_would_be_alone() -> None:
    long = "One two three. Four five six."
    alone = passages(long, 4)
    assert len(alone) == 2
    assert passages(f"head\u2029{long}", 4) == [(0, 4), *((a + 5, b + 5) for a, b in alone)]


@given(st.lists(st.text(st.characters(exclude_characters="\u2029"), min_size=1), min_size=2))
def test_parted_texts_have_the_passages_of_each(parts: list[str]) -> None:
    joined = "\u2029".join(parts)
    said = [joined[start:stop] for start, stop in passages(joined, 5)]
    assert said == [
        part[start:stop] for part in parts if part.strip() for start, stop in passages(part, 5)
    ]
