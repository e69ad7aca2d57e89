"""What is not about anything stored gets no answer; what is gets one, in English and Chinese."""

from __future__ import annotations

import pytest

from builders import OpenBank
from ebbmem import MemoryBank

CHINESE = [
    "我最喜欢的茶是乌龙茶",
    "我们五点见面，人不多",
    "我养了两只猫",
    "明天要去台北出差",
    "他对花生过敏",
]


@pytest.mark.parametrize("question", ["钨的沸点是多少？", "你最近怎么样？", "今天天气好吗？"])
def test_a_single_common_character_answers_nothing(open_bank: OpenBank, question: str) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember_many(CHINESE)
    assert bank.recall(question) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("喜欢喝什么茶？", "我最喜欢的茶是乌龙茶"),
        ("家里有猫吗？", "我养了两只猫"),
        ("什么时候去台北？", "明天要去台北出差"),
        ("他对什么过敏？", "他对花生过敏"),
    ],
)
def test_a_single_telling_character_answers(
    open_bank: OpenBank, question: str, answer: str
) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember_many(CHINESE)
    assert bank.recall(question)[0].memory.text == answer


def test_one_common_word_of_several_answers_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember_many([f"the point of rule {number} is order" for number in range(30)])
    assert bank.recall("What is the boiling point of tungsten?") == []


def test_what_an_unrelated_question_finds_is_not_strengthened(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember_many([f"the point of rule {number} is order" for number in range(30)])
    bank.recall("What is the boiling point of tungsten?")
    assert bank.stats().recalls == 0


def test_a_date_that_nothing_lies_on_costs_nothing(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember("I bought a red bicycle")
    [plain] = bank.recall("Which bicycle?", reinforce=False)
    [dated] = bank.recall("Which bicycle in March 2019?", reinforce=False)
    assert "date" not in dated.bonuses
    assert dated.score >= 0.9 * plain.score


def test_what_is_hidden_does_not_lead_to_what_is_not(open_bank: OpenBank) -> None:
    bank = open_bank(path=":memory:", embedder=None)
    bank.remember("harbour tea", id="a")
    bank.remember("winter bread", id="b")
    bank.remember("an old lamp", id="c")
    bank.link("a", "b")
    bank.link("b", "c")
    assert [hit.memory.id for hit in bank.recall("tea")] == ["a", "b", "c"]
    bank.forget("b")
    assert [hit.memory.id for hit in bank.recall("tea")] == ["a"]


def test_scores_do_not_depend_on_what_was_erased() -> None:
    from ebbmem.testing import HashingEmbedder

    with MemoryBank.open(namespace="u", embedder=HashingEmbedder()) as bank:
        bank.remember_many(["harbour tea", "tea and bread", "winter bread"])
        before = [hit.score for hit in bank.recall("harbour bread", reinforce=False)]
        for number in range(60):
            bank.erase(bank.remember(f"passing thought {number}").id)
        after = [hit.score for hit in bank.recall("harbour bread", reinforce=False)]
    assert after == pytest.approx(before)


def test_unrelated_memories_of_an_unknown_embedder_are_not_all_answers(
    open_bank: OpenBank,
) -> None:
    from ebbmem.testing import TableEmbedder

    table = {
        "tabs": [1.0, 0.0, 0.1],
        "backend": [0.0, 1.0, 0.1],
        "tungsten": [0.05, 0.05, 1.0],
        "indentation": [0.9, 0.1, 0.2],
    }
    bank = open_bank(path=":memory:", embedder=TableEmbedder(table))
    bank.remember_many(["tabs", "backend"])
    assert bank.recall("tungsten") == []
    assert [hit.memory.text for hit in bank.recall("indentation")] == ["tabs"]
