"""Conditions on metadata against a reference that shares no code with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import OpenBank
from ebbmem import Draft, InvalidInput
from ebbmem.conditions import OPERATORS, condition

TEA: dict[str, Any] = {
    "topic": "tea",
    "cups": 3,
    "hot": True,
    "nothing": None,
    "tags": ["green", "loose"],
    "pot": {"size": 2, "lid": {"blue": True}},
}


def matches(where: dict[str, Any], metadata: dict[str, Any] = TEA) -> bool:
    return condition(where)(metadata)


# -- every operator ------------------------------------------------------------------------------

HOLD: dict[str, dict[str, Any]] = {
    "text": {"topic": "tea"},
    "number": {"cups": 3},
    "true": {"hot": True},
    "null": {"nothing": None},
    "list": {"tags": ["green", "loose"]},
    "object": {"pot": {"lid": {"blue": True}, "size": 2}},
    "both": {"topic": "tea", "cups": 3},
    "nothing asked": {},
    "$eq": {"topic": {"$eq": "tea"}},
    "$eq object": {"pot": {"$eq": {"size": 2, "lid": {"blue": True}}}},
    "$ne": {"topic": {"$ne": "milk"}},
    "a number written otherwise": {"cups": 3.0},
    "$in a number written otherwise": {"cups": {"$in": [3.0]}},
    "between itself written otherwise": {"cups": {"$gte": 3.0, "$lte": 3.0}},
    "$ne of another type": {"hot": {"$ne": 1}},
    "$gt": {"cups": {"$gt": 2}},
    "$gt fraction": {"cups": {"$gt": 2.5}},
    "$gte": {"cups": {"$gte": 3}},
    "$lt": {"cups": {"$lt": 3.1}},
    "$lte": {"cups": {"$lte": 3}},
    "$gt text": {"topic": {"$gt": "milk"}},
    "$lte text": {"topic": {"$lte": "tea"}},
    "between": {"cups": {"$gt": 2, "$lt": 4}},
    "$in": {"topic": {"$in": ["milk", "tea"]}},
    "$in number": {"cups": {"$in": [2, 3]}},
    "$in null": {"nothing": {"$in": [None]}},
    "$in list": {"tags": {"$in": [["green", "loose"]]}},
    "$nin": {"topic": {"$nin": ["milk", 3]}},
    "$nin nothing": {"topic": {"$nin": []}},
    "$exists": {"nothing": {"$exists": True}},
    "$exists not": {"sugar": {"$exists": False}},
    "$has": {"pot": {"$has": {"size": 2}}},
    "$has nothing": {"pot": {"$has": {}}},
    "$has within": {"pot": {"$has": {"lid": {"$has": {"blue": True}}}}},
    "$has compared": {"pot": {"$has": {"size": {"$lt": 3}}}},
    "$has joined": {"pot": {"$has": {"$or": [{"size": 9}, {"size": 2}]}}},
    "$and": {"$and": [{"topic": "tea"}, {"cups": {"$gte": 3}}]},
    "$and of nothing": {"$and": []},
    "$or": {"$or": [{"topic": "milk"}, {"cups": 3}]},
    "joins within joins": {"$or": [{"$and": [{"topic": "tea"}, {"cups": 9}]}, {"hot": True}]},
    "a join beside a field": {"topic": "tea", "$or": [{"cups": 3}]},
}
FAIL: dict[str, dict[str, Any]] = {
    "another text": {"topic": "Tea"},
    "$ne of a number written otherwise": {"cups": {"$ne": 3.0}},
    "within an object": {"pot": {"lid": {"blue": 1}, "size": 2}},
    "1 is not true": {"hot": 1},
    "true is not 3": {"cups": True},
    "text is not a number": {"cups": "3"},
    "null is not missing": {"sugar": None},
    "order of a list": {"tags": ["loose", "green"]},
    "a member of a list": {"tags": "green"},
    "part of an object": {"pot": {"size": 2}},
    "an empty object": {"pot": {}},
    "one of two": {"topic": "tea", "cups": 4},
    "$eq": {"topic": {"$eq": "milk"}},
    "$eq missing": {"sugar": {"$eq": None}},
    "$ne": {"topic": {"$ne": "tea"}},
    "$ne the same number": {"cups": {"$ne": 3}},
    "$gt": {"cups": {"$gt": 3}},
    "$gte": {"cups": {"$gte": 3.5}},
    "$lt": {"cups": {"$lt": 3}},
    "$lte": {"cups": {"$lte": 2}},
    "$gt text": {"topic": {"$gt": "tea"}},
    "between": {"cups": {"$gt": 3, "$lt": 4}},
    "$in": {"topic": {"$in": ["milk", "Tea"]}},
    "$in nothing": {"topic": {"$in": []}},
    "$in missing": {"sugar": {"$in": [None]}},
    "$in true": {"hot": {"$in": [1]}},
    "$nin": {"topic": {"$nin": ["tea"]}},
    "$exists": {"sugar": {"$exists": True}},
    "$exists not": {"nothing": {"$exists": False}},
    "$has": {"pot": {"$has": {"size": 3}}},
    "$has of a list": {"tags": {"$has": {}}},
    "$has missing": {"sugar": {"$has": {}}},
    "$has missing within": {"pot": {"$has": {"sugar": 1}}},
    "$and": {"$and": [{"topic": "tea"}, {"cups": 4}]},
    "$or": {"$or": [{"topic": "milk"}, {"cups": 4}]},
    "$or of nothing": {"$or": []},
    "a join beside a field": {"topic": "milk", "$or": [{"cups": 3}]},
}


@pytest.mark.parametrize("name", HOLD)
def test_a_condition_that_holds_matches(name: str) -> None:
    assert matches(HOLD[name])


@pytest.mark.parametrize("name", FAIL)
def test_a_condition_that_does_not_hold_does_not_match(name: str) -> None:
    assert not matches(FAIL[name])


@pytest.mark.parametrize("name", ["$ne", "$nin"])
def test_a_missing_field_is_not_equal_to_anything(name: str) -> None:
    operand: Any = [None, "tea"] if name == "$nin" else None
    assert matches({"sugar": {name: operand}})


@pytest.mark.parametrize("name", ["$gt", "$gte", "$lt", "$lte"])
@pytest.mark.parametrize("operand", [0, 0.5, "tea"])
@pytest.mark.parametrize("field", ["sugar", "hot", "nothing", "tags", "pot"])
def test_what_has_no_order_with_the_operand_is_neither_above_nor_below(
    name: str, operand: object, field: str
) -> None:
    assert not matches({field: {name: operand}})


@pytest.mark.parametrize("name", ["$gt", "$gte", "$lt", "$lte"])
def test_a_number_and_a_text_have_no_order(name: str) -> None:
    assert not matches({"cups": {name: "3"}})
    assert not matches({"topic": {name: 3}})


def test_a_whole_number_is_compared_exactly_beyond_what_a_float_holds() -> None:
    assert not matches({"n": 2**53}, {"n": 2**53 + 1})
    assert matches({"n": {"$gt": float(2**53)}}, {"n": 2**53 + 1})


def test_a_condition_does_not_see_later_changes_to_what_it_was_made_of() -> None:
    wanted: dict[str, Any] = {"cups": {"$in": [3]}}
    made = condition(wanted)
    wanted["cups"]["$in"].clear()
    assert made(TEA)


# -- what cannot be asked ------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"n": {"$near": 1}}, r"where has \$near; known are \$eq, \$ne"),
    "unknown beside known": ({"n": {"$gt": 1, "$about": 2}}, r"where has \$about; known"),
    "a field among operators": ({"n": {"$gt": 1, "size": 2}}, "where has size; known"),
    "an operator for a field": ({"$gt": 1}, r"has \$gt where a field or one of"),
    "$not": ({"$not": [{"n": 1}]}, r"has \$not where a field or one of"),
    "$and of an object": ({"$and": {"n": 1}}, r"where \$and takes a list of conditions"),
    "$or of values": ({"$or": [1]}, r"where \$or takes a list of conditions"),
    "$or of one bad": ({"$or": [{"n": 1}, {"$nor": []}]}, r"has \$nor"),
    "$gt of a list": ({"n": {"$gt": [1]}}, "where compares with a list"),
    "$lt of true": ({"n": {"$lt": True}}, "where compares with a bool"),
    "$gte of null": ({"n": {"$gte": None}}, "where compares with a NoneType"),
    "$lte of an object": ({"n": {"$lte": {}}}, "where compares with a dict"),
    "$in of a text": ({"n": {"$in": "tea"}}, r"\$in and \$nin take a list, not str"),
    "$nin of null": ({"n": {"$nin": None}}, r"\$in and \$nin take a list, not NoneType"),
    "$exists of 1": ({"n": {"$exists": 1}}, r"\$exists takes True or False, not int"),
    "$has of a list": ({"n": {"$has": []}}, r"\$has takes an object, not list"),
    "bad within $has": ({"n": {"$has": {"m": {"$gt": []}}}}, "where compares with a list"),
    "nan": ({"n": {"$gt": float("nan")}}, r"where.n.\$gt is nan"),
    "a set": ({"n": {"$in": {1}}}, r"where.n.\$in is a set"),
    "a tuple": ({"n": (1, 2)}, "where.n is a tuple"),
    "a numeric key": ({1: 2}, "where has a key that is not text"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused_and_named(name: str) -> None:
    where, message = REFUSED[name]
    with pytest.raises(InvalidInput, match=message):
        condition(where)


@pytest.mark.parametrize("call", ["recall", "list", "explain", "context"])
def test_every_call_that_filters_refuses_a_bad_condition(open_bank: OpenBank, call: str) -> None:
    bank = open_bank()
    bank.remember("tea", id="m1")
    calls = {
        "recall": lambda where: bank.recall("tea", where=where),
        "list": lambda where: bank.list(where=where),
        "explain": lambda where: bank.explain("tea", "m1", where=where),
        "context": lambda where: bank.context("tea", where=where),
    }
    for where in ({"n": {"$near": 1}}, [("n", 1)], "n", 7):
        with pytest.raises(InvalidInput, match="where"):
            calls[call](where)
    assert bank.get("m1").recall_count == 0


@pytest.mark.parametrize("call", ["recall", "list"])
def test_a_bank_shows_what_matches(open_bank: OpenBank, call: str) -> None:
    bank = open_bank()
    bank.remember_many(
        Draft(text=f"tea number {n}", id=f"m{n}", metadata={"n": n}) for n in range(5)
    )
    bank.remember("tea without a number", id="none")
    where = {"$or": [{"n": {"$gte": 3}}, {"n": {"$exists": False}}]}
    if call == "list":
        found = {each.id for each in bank.list(where=where)}
    else:
        found = {each.memory.id for each in bank.recall("tea", k=9, where=where)}
    assert found == {"m3", "m4", "none"}


# -- against a plain reference -------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Equality as JSON has it, written out."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def ordered(a: Any, b: Any) -> int | None:
    """-1, 0 or 1 where there is an order."""
    for kinds in ((int, float), (str,)):
        if all(isinstance(each, kinds) and not isinstance(each, bool) for each in (a, b)):
            return (a > b) - (a < b)
    return None


def reference(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    for key, value in where.items():
        if key == "$and":
            holds = all(reference(each, metadata) for each in value)
        elif key == "$or":
            holds = any(reference(each, metadata) for each in value)
        elif isinstance(value, dict) and any(name.startswith("$") for name in value):
            holds = all(one(name, operand, key, metadata) for name, operand in value.items())
        else:
            holds = one("$eq", value, key, metadata)
        if not holds:
            return False
    return True


def one(name: str, operand: Any, key: str, metadata: dict[str, Any]) -> bool:
    there, found = key in metadata, metadata.get(key)
    equal = there and same(found, operand)
    order = ordered(found, operand) if there else None
    listed = isinstance(operand, list) and there and any(same(found, each) for each in operand)
    answers: dict[str, Any] = {
        "$eq": lambda: equal,
        "$ne": lambda: not equal,
        "$gt": lambda: order == 1,
        "$gte": lambda: order in (0, 1),
        "$lt": lambda: order == -1,
        "$lte": lambda: order in (0, -1),
        "$in": lambda: listed,
        "$nin": lambda: not listed,
        "$exists": lambda: there == operand,
        "$has": lambda: isinstance(found, dict) and reference(operand, found),
    }
    return bool(answers[name]())


fields = st.sampled_from(["a", "b", "c"])
plain = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, 0.0, 1.0, -1.5, 2**53, 2**53 + 1])
    | st.sampled_from(["", "0", "a", "b", "1"])
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(fields, inner, max_size=2)
)
objects = st.dictionaries(fields, values, max_size=3)
comparable = plain.filter(lambda value: value is not None and not isinstance(value, bool))


def conditions(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    operands = {
        **dict.fromkeys(("$eq", "$ne"), values),
        **dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), comparable),
        **dict.fromkeys(("$in", "$nin"), st.lists(values, max_size=3)),
        "$exists": st.booleans(),
        "$has": inner,
    }
    tests = st.sampled_from(sorted(operands)).flatmap(
        lambda name: operands[name].map(lambda operand: {name: operand})
    )
    several = st.lists(tests, min_size=1, max_size=2).map(
        lambda found: {name: operand for each in found for name, operand in each.items()}
    )
    joins = st.tuples(st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=3))
    return st.dictionaries(fields, values | several, max_size=2) | joins.map(
        lambda pair: {pair[0]: pair[1]}
    )


asked = st.recursive(st.dictionaries(fields, values, max_size=2), conditions, max_leaves=6)


def test_the_reference_knows_every_operator() -> None:
    for name in OPERATORS:
        operand: Any = {"$in": [], "$nin": [], "$exists": True, "$has": {}}.get(name, 1)
        assert one(name, operand, "a", {"a": {}}) in (True, False)


@given(where=asked, metadata=objects)
def test_any_condition_finds_what_a_plain_reference_finds(
    where: dict[str, Any], metadata: dict[str, Any]
) -> None:
    assert matches(where, metadata) is reference(where, metadata)


@given(where=asked, metadata=objects)
def test_what_is_put_in_one_list_is_asked_as_it_was(
    where: dict[str, Any], metadata: dict[str, Any]
) -> None:
    for join in ("$and", "$or"):
        assert matches({join: [where]}, metadata) == matches(where, metadata)
