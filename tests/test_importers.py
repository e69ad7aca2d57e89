"""Foreign files become drafts with their own times, or one error that names every bad entry."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from ebbmem.errors import ExchangeError
from ebbmem.exchange import read_file
from ebbmem.importers import Batch, read_locomo, read_mcp, read_mem0, sniff
from ebbmem.records import Draft


def conversation(**changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi Bo!"},
            {
                "speaker": "Bo",
                "dia_id": "D1:2",
                "text": "Look at this.",
                "blip_caption": "a photo of a red bicycle",
                "img_url": ["https://example.org/1.jpg"],
            },
        ],
        "session_2_date_time": "12:09 am on 13 September, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Long time no see"}],
    }
    return {"sample_id": "conv-1", "conversation": talk | changes, "qa": []}


def mcp(*entries: object) -> list[str]:
    return [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]


ENTITY = {
    "type": "entity",
    "name": "Ann",
    "entityType": "person",
    "observations": ["speaks Welsh", "prefers mornings"],
}
RELATION = {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works at"}
MEM0 = {
    "id": "f38b689d",
    "memory": "Likes oolong tea",
    "hash": "c4ca",
    "created_at": "2024-07-20T01:30:36.275141-07:00",
    "updated_at": None,
    "user_id": "ann",
    "metadata": {"category": "tea"},
}


def test_a_conversation_is_one_dated_batch_named_after_it() -> None:
    (batch,) = read_locomo(conversation())
    assert (batch.name, batch.dated, len(batch.items)) == ("conv-1", True, 3)


def test_a_turn_keeps_its_id_speaker_place_and_time() -> None:
    (batch,) = read_locomo([conversation()])
    assert batch.items[0] == Draft(
        id="D1:1",
        text="Hi Bo!",
        speaker="Ann",
        source="session_1",
        position=0,
        at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        trust="import",
    )


def test_a_shared_photo_is_part_of_the_text() -> None:
    (batch,) = read_locomo(conversation())
    assert batch.items[1].text == "Look at this. [shares a photo: a photo of a red bicycle]"


def test_a_photo_without_words_is_a_turn() -> None:
    turn = {"speaker": "Bo", "dia_id": "D1:1", "text": "", "blip_caption": "a cat"}
    (batch,) = read_locomo(conversation(session_1=[turn]))
    assert batch.items[0].text == "[shares a photo: a cat]"


def test_turns_of_a_session_keep_their_order_in_time() -> None:
    (batch,) = read_locomo(conversation())
    times = [each.at for each in batch.items if isinstance(each, Draft)]
    assert times[1:] == [
        datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC),
        datetime(2023, 9, 13, 0, 9, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    ("written", "hour"), [("12:05 am", 0), ("12:05 pm", 12), ("1:05 AM", 1), ("11:05 pm", 23)]
)
def test_hours_are_read_on_the_twelve_hour_clock(written: str, hour: int) -> None:
    (batch,) = read_locomo(conversation(session_1_date_time=f"{written} on 8 May, 2023"))
    first = batch.items[0]
    assert isinstance(first, Draft)
    assert first.at == datetime(2023, 5, 8, hour, 5, tzinfo=UTC)


def test_the_tenth_session_comes_after_the_ninth() -> None:
    turns = [{"speaker": "Ann", "dia_id": "D9:1", "text": "nine"}]
    later = [{"speaker": "Ann", "dia_id": "D10:1", "text": "ten"}]
    date = "1:00 pm on 1 June, 2023"
    (batch,) = read_locomo(
        {
            "conversation": {
                "session_10": later,
                "session_10_date_time": date,
                "session_9": turns,
                "session_9_date_time": date,
            }
        }
    )
    assert [each.source for each in batch.items] == ["session_9", "session_10"]


def test_a_session_without_turns_is_passed_over() -> None:
    extra = {"session_3": [], "session_4_date_time": "1:00 pm on 1 June, 2023"}
    assert read_locomo(conversation(**extra)) == read_locomo(conversation())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"session_2_date_time": None}, "session_2_date_time is missing"),
        (
            {"session_2_date_time": "2023-05-08"},
            "session_2_date_time does not read like '1:56 pm on 8 May, 2023'",
        ),
        (
            {"session_2_date_time": "1:00 pm on 31 June, 2023"},
            "session_2_date_time names a time that does not exist",
        ),
        (
            {"session_2_date_time": "13:00 pm on 1 June, 2023"},
            "session_2_date_time names a time that does not exist",
        ),
        ({"session_2": "text"}, "session_2 must be a list of turns"),
        ({"session_2": [7]}, "session_2[0] turn must be a JSON object, not int"),
        ({"session_2": [{"dia_id": "D2:1", "text": " "}]}, "session_2[0] text is blank"),
        (
            {"session_2": [{"dia_id": "D2:1", "text": ["a"]}]},
            "session_2[0] text must be text, not list",
        ),
        (
            {"session_2": [{"text": "Hi"}]},
            "session_2[0] dia_id must be text, not NoneType",
        ),
        (
            {"session_2": [{"dia_id": "D1:1", "text": "Hi"}]},
            "session_2[0] id repeats that of session_1[0]",
        ),
    ],
)
def test_a_bad_turn_is_named_with_its_session(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ExchangeError) as caught:
        read_locomo([conversation(), conversation(**changes) | {"sample_id": "conv-2"}])
    assert caught.value.problems == ((2, reason),)


def test_two_conversations_cannot_share_a_name() -> None:
    with pytest.raises(ExchangeError) as caught:
        read_locomo([conversation(), conversation()])
    assert caught.value.problems == ((2, "sample_id repeats that of entry 1"),)


def test_a_conversation_without_sessions_is_refused() -> None:
    with pytest.raises(ExchangeError, match="has no session_1"):
        read_locomo({"conversation": {}})


def test_an_observation_names_its_entity() -> None:
    (batch,) = read_mcp(mcp(ENTITY))
    assert (batch.name, batch.dated) == (None, False)
    assert batch.items[1] == Draft(
        text="Ann: prefers mornings",
        source="Ann",
        position=1,
        metadata={"entity": "Ann", "entityType": "person"},
        trust="import",
    )


def test_a_relation_becomes_the_sentence_it_states() -> None:
    (batch,) = read_mcp(mcp(RELATION))
    assert batch.items == (
        Draft(
            text="Ann works at Acme",
            source="Ann",
            metadata={"from": "Ann", "relationType": "works at", "to": "Acme"},
            trust="import",
        ),
    )


def test_an_entity_that_is_listed_twice_goes_on_counting() -> None:
    (batch,) = read_mcp(mcp(ENTITY, ENTITY | {"observations": ["is tall"]}))
    assert [each.position for each in batch.items] == [0, 1, 2]


def test_every_bad_line_of_the_memory_server_is_named() -> None:
    with pytest.raises(ExchangeError) as caught:
        read_mcp(
            mcp(
                "{",
                ENTITY,
                "",
                {"type": "thing"},
                ENTITY | {"observations": ["", 3]},
                ENTITY | {"name": " "},
                ENTITY | {"observations": "text"},
                {"type": "relation", "from": "Ann", "to": "Acme"},
            )
        )
    assert caught.value.problems == (
        (1, "JSON is broken: Expecting property name enclosed in double quotes, column 2"),
        (4, "type must be 'entity' or 'relation'"),
        (5, "observations[0] is blank"),
        (5, "observations[1] must be text, not int"),
        (6, "name is blank"),
        (7, "observations must be a list of texts"),
        (8, "relationType must be text, not NoneType"),
    )


@pytest.mark.parametrize(
    "lines", [[], [""], mcp(ENTITY | {"observations": []})], ids=["empty", "blank", "entity"]
)
def test_a_memory_server_file_without_items_is_one_empty_batch(lines: list[str]) -> None:
    assert read_mcp(lines) == [Batch(None, ())]


def test_other_files_without_items_are_one_empty_batch_too() -> None:
    assert read_mem0({"results": []}) == read_mem0([]) == read_locomo([]) == [Batch(None, ())]
    assert read_file(io.StringIO('{"results": []}')) == [Batch(None, ())]
    silent = conversation(session_1=[], session_2=[])
    assert read_locomo([silent]) == [Batch("conv-1", (), dated=True)]


def test_each_item_knows_its_line_or_entry() -> None:
    (server,) = read_mcp(mcp("", ENTITY, "", RELATION))
    assert server.lines == (2, 2, 4)
    ann, bo = read_mem0([MEM0, MEM0 | {"user_id": "bo"}, MEM0 | {"id": "2"}])
    assert (ann.lines, bo.lines) == ((1, 3), (2,))
    first, second = read_locomo([conversation(), conversation() | {"sample_id": "conv-2"}])
    assert (first.lines, second.lines) == ((1, 1, 1), (2, 2, 2))


@pytest.mark.parametrize("data", [{"results": [MEM0]}, [MEM0]])
def test_a_mem0_memory_keeps_id_time_and_metadata(data: object) -> None:
    (batch,) = read_mem0(data)
    assert batch == Batch(
        "ann",
        (
            Draft(
                id="f38b689d",
                text="Likes oolong tea",
                at=datetime(2024, 7, 20, 8, 30, 36, 275141, tzinfo=UTC),
                metadata={"category": "tea"},
                trust="import",
            ),
        ),
    )


def test_a_naive_mem0_time_is_read_as_utc() -> None:
    (batch,) = read_mem0([MEM0 | {"created_at": "2024-07-20T01:30:36"}])
    (item,) = batch.items
    assert isinstance(item, Draft)
    assert item.at == datetime(2024, 7, 20, 1, 30, 36, tzinfo=UTC)


def test_a_mem0_memory_without_creation_takes_its_last_update() -> None:
    (batch,) = read_mem0([MEM0 | {"created_at": None, "updated_at": "2024-08-01T00:00:00Z"}])
    (item,) = batch.items
    assert isinstance(item, Draft)
    assert item.at == datetime(2024, 8, 1, tzinfo=UTC)


def test_mem0_gives_one_batch_a_user() -> None:
    bare = {"memory": "Nobody's"}
    batches = read_mem0([MEM0, bare, MEM0 | {"user_id": "bo"}, MEM0 | {"id": "2"}])
    assert [(each.name, len(each.items)) for each in batches] == [("ann", 2), (None, 1), ("bo", 1)]


def test_every_bad_mem0_entry_is_named() -> None:
    with pytest.raises(ExchangeError) as caught:
        read_mem0(
            [
                MEM0,
                MEM0 | {"memory": ""},
                7,
                MEM0 | {"created_at": "soon"},
                MEM0 | {"metadata": []},
                MEM0 | {"user_id": ""},
                MEM0,
            ]
        )
    assert caught.value.problems == (
        (2, "memory is blank"),
        (3, "entry must be a JSON object, not int"),
        (4, "created_at is not an ISO 8601 time"),
        (5, "metadata must be a mapping, not list"),
        (6, "user_id is blank"),
        (7, "id repeats that of entry 1"),
    )


def test_one_page_of_several_is_refused() -> None:
    with pytest.raises(ExchangeError, match="more pages follow"):
        read_mem0({"results": [MEM0], "next": "https://example.org/?page=2"})


def test_mem0_results_that_are_no_list_are_refused() -> None:
    with pytest.raises(ExchangeError, match="results must be a list"):
        read_mem0({"results": {}})


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (conversation(), "locomo"),
        ([conversation()], "locomo"),
        (ENTITY, "mcp"),
        ({"results": []}, "mem0"),
        ([MEM0], "mem0"),
        ({}, None),
        ([], None),
        ("text", None),
    ],
)
def test_a_format_is_known_by_its_shape(data: object, format: str | None) -> None:
    assert sniff(data) == format


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("data", [[conversation()], {"results": [MEM0]}])
def test_a_document_is_found_by_itself_however_it_is_laid_out(
    data: Any, indent: int | None
) -> None:
    read = read_locomo if isinstance(data, list) else read_mem0
    assert read_file(io.StringIO(json.dumps(data, indent=indent))) == read(data)


def test_memory_server_lines_are_found_by_themselves() -> None:
    lines = mcp(ENTITY, RELATION)
    assert read_file(io.StringIO("\n".join(lines))) == read_mcp(lines)


def test_an_error_in_a_document_names_its_line() -> None:
    with pytest.raises(ExchangeError) as caught:
        read_file(io.StringIO('[\n{"memory": "a"}\n{'), format="mem0")
    assert caught.value.problems == ((3, "JSON is broken: Expecting ',' delimiter, column 1"),)
