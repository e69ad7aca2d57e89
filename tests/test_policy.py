"""Every tunable: the published defaults, what is refused, and what a namespace keeps."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from ebbmem.decay import Array, DecayModel, EbbinghausDecay, PowerDecay
from ebbmem.errors import InvalidInput, UnknownCategory
from ebbmem.policy import Policy
from ebbmem.records import CATEGORIES, Category

relaxed = settings(deadline=None, max_examples=100)
fractions = st.floats(0.0, 1.0, allow_subnormal=False)
spans = st.timedeltas(timedelta(0), timedelta(days=1000))
printed = st.characters(codec="utf-8", exclude_categories=["Cc"])
names = st.text(printed, min_size=1, max_size=20).filter(str.strip)
ranges = st.tuples(fractions, fractions).map(lambda pair: (min(pair), max(pair)))
categories = st.builds(Category, names, st.floats(1e-4, 1e3), ranges)
policies = st.builds(
    Policy,
    curve=st.sampled_from([EbbinghausDecay(), PowerDecay()]),
    timeline=st.sampled_from(["wall", "active"]),
    categories=st.lists(categories, max_size=3),
    importance_damping=st.floats(0.0, 0.999),
    recall_gain=st.floats(0.0, 100.0),
    strength_cap=st.floats(0.5, 10.0) | st.just(math.inf),
    fade_below=st.floats(1e-6, 0.49),
    purge_after=spans,
    max_memories=st.none() | st.integers(1, 2**31 - 1),
    on_fade=st.sampled_from(["hide", "erase"]),
    prune_every=spans,
    spacing=spans,
    reinforce_ratio=fractions,
    ranking=st.sampled_from(["bonus", "product"]),
    current_first=st.booleans(),
    min_similarity=st.none() | st.floats(-1.0, 1.0),
    link_similarity=st.floats(-1.0, 1.0),
)


def test_the_default_policy_is_the_published_formula_on_the_wall_clock() -> None:
    policy = Policy()
    assert policy.curve == EbbinghausDecay()
    assert policy.timeline == "wall"
    assert (policy.importance_damping, policy.recall_gain) == (0.8, 0.2)
    assert (policy.strength_cap, policy.fade_below) == (1.0, 0.05)
    assert (policy.purge_after, policy.on_fade) == (timedelta(days=30), "hide")
    assert (policy.prune_every, policy.spacing) == (timedelta(hours=24), timedelta(minutes=10))
    assert (policy.ranking, policy.reinforce_ratio) == ("bonus", 0.5)
    assert policy.categories == dict(CATEGORIES)


def test_a_chat_forgets_by_days_of_use_and_nothing_else_differs() -> None:
    assert Policy.chat() == replace(Policy(), timeline="active")
    assert Policy.chat(spacing=timedelta(0)).spacing == timedelta(0)


def test_strength_and_lifetime_use_every_number_of_the_policy() -> None:
    policy = Policy(importance_damping=0.5, recall_gain=1.0, strength_cap=3.0, fade_below=0.1)
    # rate 0.16 * (1 - 0.5 * 0.5) = 0.12; top 0.5 * (1 + 2) = 1.5
    assert float(policy.strength(0.16, 0.5, 2, 10.0)) == pytest.approx(1.5 * math.exp(-1.2))
    assert float(policy.lifetime(0.16, 0.5, 2)) == pytest.approx(math.log(15) / 0.12)


@pytest.mark.parametrize("name", ["Fact", "facts", "", "fact ", None, 7, ["fact"]])
def test_an_unknown_category_is_an_error_that_lists_the_known_ones(name: object) -> None:
    with pytest.raises(UnknownCategory) as caught:
        Policy().category(name)
    assert caught.value.known == tuple(CATEGORIES)
    assert all(known in str(caught.value) for known in CATEGORIES)


def test_a_category_of_ones_own_joins_the_built_in_ones() -> None:
    recipe = Category("recipe", 0.02, (0.5, 0.6))
    for policy in (Policy(categories=[recipe]), Policy().with_categories([recipe])):
        assert policy.category("recipe") is recipe
        assert policy.category("fact") is CATEGORIES["fact"]


def test_a_built_in_category_may_be_given_another_rate() -> None:
    policy = Policy(categories=[Category("fact", 0.01)])
    assert policy.category("fact").base_rate == 0.01
    assert Policy().category("fact").base_rate == 0.16


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fade_below": 0.0}, "fade_below"),
        ({"fade_below": 1.0}, "fade_below"),
        ({"fade_below": 0.5, "strength_cap": 0.4}, "fade_below"),
        ({"fade_below": math.nan}, "fade_below"),
        ({"strength_cap": math.nan}, "fade_below"),
        ({"importance_damping": 1.0}, "importance_damping"),
        ({"importance_damping": -0.1}, "importance_damping"),
        ({"recall_gain": -1.0}, "recall_gain"),
        ({"recall_gain": math.nan}, "recall_gain"),
        ({"recall_gain": 101.0}, "recall_gain"),
        ({"reinforce_ratio": 1.1}, "reinforce_ratio"),
        ({"spacing": timedelta(seconds=-1)}, "spacing"),
        ({"spacing": 600}, "spacing"),
        ({"purge_after": None}, "purge_after"),
        ({"prune_every": "daily"}, "prune_every"),
        ({"timeline": "lunar"}, "timeline"),
        ({"on_fade": "burn"}, "on_fade"),
        ({"ranking": "sum"}, "ranking"),
        ({"curve": "ebbinghaus"}, "curve"),
        ({"min_similarity": 1.5}, "min_similarity"),
        ({"link_similarity": -1.5}, "link_similarity"),
        ({"link_similarity": math.nan}, "link_similarity"),
        ({"categories": ["fact"]}, "categories"),
    ],
    ids=str,
)
def test_a_number_out_of_range_is_refused_by_its_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Policy(**changes)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "changes",
    [
        {"recall_gain": "much"},
        {"strength_cap": "high"},
        {"min_similarity": "0.3"},
        {"link_similarity": None},
        {"categories": 7},
    ],
    ids=str,
)
def test_a_value_of_another_type_is_invalid_input(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Policy(**changes)


# -- what a namespace keeps ----------------------------------------------------------------------


@relaxed
@given(policies)
def test_a_policy_survives_its_line_of_json(policy: Policy) -> None:
    line = policy.to_json()
    assert "\n" not in line
    assert Policy.from_json(line) == policy
    assert Policy.from_json(line).to_json() == line


def test_a_callable_for_salience_stays_out_of_the_line() -> None:
    assert Policy(salience=len).to_json() == Policy().to_json()  # type: ignore[arg-type]
    assert Policy.from_json(Policy(salience=len).to_json()).salience is None  # type: ignore[arg-type]


class Steps:
    """A curve of a user's own: one half after a day, one quarter after two."""

    name = "steps"

    def retention(self, rate: ArrayLike, elapsed: ArrayLike) -> Array:
        return np.asarray(0.5 ** np.maximum(elapsed, 0.0))

    def elapsed_at(self, rate: ArrayLike, retention: ArrayLike) -> Array:
        return np.asarray(-np.log2(np.asarray(retention)))


def test_a_curve_of_ones_own_works_and_is_refused_by_name_without_it() -> None:
    policy = Policy(curve=Steps())
    assert float(policy.strength(0.1, 1.0, 0, 1.0)) == 0.5
    with pytest.raises(InvalidInput, match="steps"):
        Policy.from_json(policy.to_json())


def test_the_line_is_plain_json_without_the_built_in_categories() -> None:
    plain = json.loads(Policy(strength_cap=math.inf).to_json())
    assert plain["categories"] == {}
    assert plain["strength_cap"] == "inf"
    assert plain["spacing"] == 600.0


PLAIN = json.loads(Policy().to_json())
NO_POLICY = ["", "{", "nonsense", "{}", "[]", "[[]]", "5", "null", "true", '"x"', "[" * 100_000]


@pytest.mark.parametrize("line", NO_POLICY, ids=lambda line: line[:10])
def test_a_line_that_is_no_policy_is_invalid_input(line: str) -> None:
    for read in (Policy.from_json, Policy().knowing):
        with pytest.raises(InvalidInput, match="policy"):
            read(line)


@pytest.mark.parametrize("name", [name for name, value in PLAIN.items() if value is not True])
@pytest.mark.parametrize(
    "value", [[], [1], {"a": 1}, "x", True, math.nan, -2, -math.inf, 10**400], ids=str
)
def test_a_stored_value_of_another_kind_is_invalid_input(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput):
        Policy.from_json(json.dumps(PLAIN | {name: value}))


@pytest.mark.parametrize(
    "stored",
    [
        [],
        None,
        5,
        "recipe",
        {"recipe": 5},
        {"recipe": "abc"},
        {"recipe": [0.1, 0.5]},
        {"recipe": [0.1, 0.5, 0.7, 0.9]},
        {"recipe": [0.1, 0.7, 0.5]},
        {"recipe": ["0.1", 0.5, 0.7]},
        {"recipe": [0.1, None, 0.7]},
        {"": [0.1, 0.5, 0.7]},
    ],
    ids=str,
)
def test_stored_categories_that_are_none_are_invalid_input(stored: Any) -> None:
    for read in (Policy.from_json, Policy().knowing):
        with pytest.raises(InvalidInput):
            read(json.dumps({"categories": stored}))


@pytest.mark.parametrize("name", PLAIN)
def test_what_a_stored_policy_leaves_out_has_its_default(name: str) -> None:
    rest = {key: value for key, value in PLAIN.items() if key != name}
    assert Policy.from_json(json.dumps(rest)) == Policy()
    assert Policy().knowing(json.dumps(rest)) == Policy()


@pytest.mark.parametrize("name", ["salience", "later"])
def test_a_field_that_no_policy_stores_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name}.*upgrade ebbmem"):
        Policy.from_json(json.dumps(PLAIN | {name: 1}))


def test_a_policy_learns_the_categories_of_a_stored_one_and_nothing_else() -> None:
    stored = Policy(curve=Steps(), spacing=timedelta(0), categories=[Category("recipe", 0.02)])
    mine = Policy(categories=[Category("fact", 0.01)])
    assert mine.knowing(stored.to_json()) == mine.with_categories([Category("recipe", 0.02)])


# -- laws ----------------------------------------------------------------------------------------


@relaxed
@given(policies, st.floats(1e-4, 1e3), fractions, st.integers(0, 10**6))
def test_every_unpinned_memory_ends_under_every_policy(
    policy: Policy, base_rate: float, importance: float, count: int
) -> None:
    end = float(policy.lifetime(base_rate, importance, count))
    assert 0.0 <= end < math.inf
    late = float(policy.strength(base_rate, importance, count, end * (1 + 1e-9) + 1e-6))
    assert late <= policy.fade_below * (1 + 1e-9)


@relaxed
@given(policies, st.floats(1e-4, 1e3), fractions, st.integers(0, 10**6), st.floats(0.0, 1e5))
def test_strength_lies_between_zero_and_the_cap_under_every_policy(
    policy: Policy, base_rate: float, importance: float, count: int, elapsed: float
) -> None:
    found = float(policy.strength(base_rate, importance, count, elapsed))
    assert 0.0 <= found <= policy.strength_cap


@pytest.mark.parametrize("curve", [EbbinghausDecay(), PowerDecay()])
def test_a_threshold_next_to_nothing_is_refused_or_reached(curve: DecayModel) -> None:
    with suppress(InvalidInput):
        policy = Policy(curve=curve, fade_below=1e-200)
        assert float(policy.lifetime(0.16, 0.5, 0)) < math.inf


def test_both_built_in_curves_can_be_kept() -> None:
    curve: DecayModel
    for curve in (EbbinghausDecay(), PowerDecay()):
        assert Policy.from_json(Policy(curve=curve).to_json()).curve == curve
