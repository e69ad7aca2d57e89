"""Where a text comes from: what raises its trust, and who says so on the way in."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from builders import OpenBank
from ebbmem import AsyncMemoryBank, Draft, MemoryBank
from ebbmem.errors import InvalidInput
from ebbmem.records import TRUSTS, Trust
from ebbmem.turns import Said, drafts_of

TEA = "Ann drinks green tea"


@pytest.fixture
def bank(open_bank: OpenBank) -> MemoryBank:
    return open_bank()


def said(bank: MemoryBank, trust: Trust, label: str | None = None, **more: Any) -> tuple[str, Any]:
    kept = bank.remember(TEA, trust=trust, label=label, **more)
    assert len(bank.list(include_faded=True)) == 1
    return kept.trust, kept.label


def test_a_file_is_trusted_less_than_a_model_and_a_tool_least_of_all() -> None:
    assert TRUSTS == ("user", "assistant", "import", "tool")


@pytest.mark.parametrize(("first", "second"), list(product(TRUSTS, TRUSTS)))
def test_a_text_said_again_has_the_trust_of_whoever_is_trusted_most(
    first: Trust, second: Trust, bank: MemoryBank
) -> None:
    said(bank, first)
    assert said(bank, second)[0] == min(first, second, key=TRUSTS.index)


def test_whom_one_trusts_less_labels_nothing(bank: MemoryBank) -> None:
    said(bank, "user")
    assert said(bank, "tool", "instructions") == ("user", None)


def test_whom_one_trusts_more_says_it_without_the_label(bank: MemoryBank) -> None:
    said(bank, "tool", "instructions")
    assert said(bank, "user") == ("user", None)


def test_whom_one_trusts_as_much_adds_a_label_and_takes_none_away(bank: MemoryBank) -> None:
    said(bank, "tool")
    assert said(bank, "tool", "instructions") == ("tool", "instructions")
    assert said(bank, "tool") == ("tool", "instructions")


def test_source_and_speaker_stay_those_of_the_first(bank: MemoryBank) -> None:
    said(bank, "tool", source="web", speaker="browser")
    said(bank, "user", source="chat", speaker="Ann")
    [kept] = bank.list()
    assert (kept.trust, kept.source, kept.speaker) == ("user", "web", "browser")


def test_what_is_rewritten_by_its_id_has_the_new_trust(bank: MemoryBank) -> None:
    bank.remember(TEA, id="k", keyed=True)
    kept = bank.remember("Ann drinks rum", id="k", keyed=True, trust="tool", label="odd")
    assert (kept.text, kept.trust, kept.label) == ("Ann drinks rum", "tool", "odd")
    [again] = bank.remember_many([Draft(text="x", id="k", trust="user")], rewrite=True)
    assert (again.text, again.trust, again.label) == ("x", "user", None)


def test_other_words_change_nothing_about_where_it_comes_from(bank: MemoryBank) -> None:
    bank.remember(TEA, id="m", trust="tool")
    assert bank.update("m", text="Ann drinks rum").trust == "tool"
    assert bank.update("m", trust="user").trust == "user"
    assert bank.get("m").text == "Ann drinks rum"


def test_an_event_loop_says_who_stands_for_it_too(bank: MemoryBank) -> None:
    bank.remember(TEA, id="m", trust="tool")
    kept = asyncio.run(AsyncMemoryBank(bank).update("m", trust="assistant"))
    assert (kept.text, kept.trust) == (TEA, "assistant")


def test_a_text_that_somebody_stands_for_is_looked_at_again(bank: MemoryBank) -> None:
    bank.remember(TEA, id="m", trust="tool", label="instructions")
    assert bank.update("m", importance=0.5).label == "instructions"
    assert bank.update("m", trust="user").label is None


def test_a_trust_that_does_not_exist_changes_nothing(bank: MemoryBank) -> None:
    bank.remember(TEA, id="m", trust="tool")
    with pytest.raises(InvalidInput, match="trust must be one of"):
        bank.update("m", trust="root")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="trust must be one of"):
        bank.remember("rum", trust="root")  # type: ignore[arg-type]
    assert [each.trust for each in bank.list()] == ["tool"]


def test_another_process_searches_by_the_trust_that_was_raised(
    open_bank: OpenBank, bank: MemoryBank
) -> None:
    texts = [f"green tea number {number}" for number in range(4)]
    bank.remember_many(Draft(text=each, trust="tool", source="web") for each in texts)
    other = open_bank()
    assert len(other.recall("green tea", 4, reinforce=False)) == 2
    bank.remember_many(texts)
    assert len(other.recall("green tea", 4, reinforce=False)) == 4


def test_the_store_tells_readers_of_trust_alone(bank: MemoryBank) -> None:
    store = bank._store
    kept = bank.remember(TEA, trust="tool")
    seq = store.changes(("u1",), 0).seq
    bank.remember(TEA, trust="user")
    [change] = store.changes(("u1",), seq).rows
    assert change.id == kept.id
    assert change.content is not None
    assert change.content.trust == "user"


def test_our_own_export_comes_back_as_it_says(
    bank: MemoryBank, open_bank: OpenBank, tmp_path: Path
) -> None:
    for number, trust in enumerate(TRUSTS):
        bank.remember(f"text {number}", trust=trust, label="odd" if number else None)
    bank.export_jsonl(tmp_path / "out.jsonl")
    other = open_bank(path=tmp_path / "other.db")
    other.import_file(tmp_path / "out.jsonl")
    told = [(each.trust, each.label) for each in other.list()]
    assert told == [("user", None), ("assistant", "odd"), ("import", "odd"), ("tool", "odd")]


def test_a_foreign_file_is_an_import_and_disowns_nobodys_words(
    bank: MemoryBank, tmp_path: Path
) -> None:
    bank.remember("Ann likes oolong")
    found = {"results": [{"memory": "Ann likes oolong"}, {"memory": "Ann likes rum"}]}
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(found), "utf-8")
    bank.import_file(path)
    assert {each.text: each.trust for each in bank.list()} == {
        "Ann likes oolong": "user",
        "Ann likes rum": "import",
    }


def test_what_a_human_says_is_the_users_and_what_a_model_says_the_assistants() -> None:
    made = drafts_of([Said("human", "tea"), Said("ai", "rum"), Said("other", "42")], None)
    assert [each.trust for each in made] == ["user", "assistant"]
