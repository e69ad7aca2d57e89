"""The forgetting curve: published numbers, and the laws it keeps."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.decay import (
    DecayModel,
    EbbinghausDecay,
    PowerDecay,
    half_life,
    lifetime,
    rate,
    strength,
)
from ebbmem.records import CATEGORIES

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "decay.json").read_text(encoding="utf-8")
)
PUBLISHED_LIFETIMES = {"strategy": 38.376, "fact": 23.985, "assumption": 19.188, "failure": 10.965}
PUBLISHED_HALF_LIVES = {"strategy": 11.55, "fact": 7.22, "assumption": 5.78, "failure": 3.30}
CURVES: tuple[DecayModel, ...] = (EbbinghausDecay(), PowerDecay())

curves = st.sampled_from(CURVES)
rates = st.floats(1e-4, 10.0)
importances = st.floats(0.0, 1.0, allow_subnormal=False)
counts = st.integers(0, 10_000)
days = st.floats(0.0, 10_000.0)
relaxed = settings(deadline=None, max_examples=100)


def rate_at_half(category: str) -> float:
    return float(rate(CATEGORIES[category].base_rate, 0.5))


# -- goldens -------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", CATEGORIES)
def test_lifetimes_at_importance_one_half_are_the_published_days(category: str) -> None:
    found = float(lifetime(rate_at_half(category), 0.5, 0))
    assert found == pytest.approx(PUBLISHED_LIFETIMES[category], abs=1e-3)
    assert found == pytest.approx(float(GOLDEN["lifetimes"][category]), rel=1e-13)


@pytest.mark.parametrize("category", CATEGORIES)
def test_half_lives_at_importance_one_half_are_the_published_days(category: str) -> None:
    found = float(half_life(rate_at_half(category)))
    assert round(found, 2) == PUBLISHED_HALF_LIVES[category]
    assert found == pytest.approx(float(GOLDEN["half_lives"][category]), rel=1e-13)


@pytest.mark.parametrize("row", GOLDEN["strengths"], ids=lambda row: row["category"])
def test_strengths_are_the_golden_ones(row: dict[str, Any]) -> None:
    importance = float(row["importance"])
    daily = rate(CATEGORIES[row["category"]].base_rate, importance)
    retained = EbbinghausDecay().retention(daily, row["days"])
    found = float(strength(importance, retained, row["recalls"]))
    assert found == pytest.approx(float(row["strength"]), rel=1e-12)


@pytest.mark.parametrize("row", GOLDEN["power_retention"])
def test_the_power_curve_has_the_golden_retentions(row: dict[str, Any]) -> None:
    found = float(PowerDecay().retention(float(row["rate"]), row["days"]))
    assert found == pytest.approx(float(row["retention"]), rel=1e-13)


def test_the_golden_numbers_follow_from_the_formula_at_sixty_digits() -> None:
    with localcontext() as context:
        context.prec = 60
        damping, half, threshold = Decimal("0.8"), Decimal("0.5"), Decimal("0.05")
        base = {name: Decimal(str(each.base_rate)) for name, each in CATEGORIES.items()}
        for name, daily in base.items():
            effective = daily * (1 - damping * half)
            assert_digits(GOLDEN["lifetimes"][name], (half / threshold).ln() / effective)
            assert_digits(GOLDEN["half_lives"][name], Decimal(2).ln() / effective)
        for row in GOLDEN["strengths"]:
            weight = Decimal(row["importance"])
            exponent = -base[row["category"]] * (1 - damping * weight) * row["days"]
            grown = 1 + Decimal("0.2") * row["recalls"]
            assert_digits(row["strength"], weight * exponent.exp() * grown)


def assert_digits(golden: str, exact: Decimal) -> None:
    assert abs(Decimal(golden) - exact) < Decimal("1e-23")


# -- laws ----------------------------------------------------------------------------------------


@relaxed
@given(curves, rates, importances, counts, days, st.floats(0.1, 10.0))
def test_strength_lies_between_zero_and_the_cap(
    curve: DecayModel, daily: float, importance: float, count: int, elapsed: float, cap: float
) -> None:
    found = strength(importance, curve.retention(daily, elapsed), count, cap=cap)
    assert 0.0 <= float(found) <= cap


@relaxed
@given(curves, rates, importances, counts, days, days)
def test_strength_never_rises_with_time_alone(
    curve: DecayModel, daily: float, importance: float, count: int, one: float, other: float
) -> None:
    early, late = sorted((one, other))
    before, after = (curve.retention(daily, each) for each in (early, late))
    assert strength(importance, before, count) >= strength(importance, after, count)


@relaxed
@given(importances, importances, counts)
def test_strength_at_the_start_rises_with_importance(one: float, other: float, count: int) -> None:
    low, high = sorted((one, other))
    assert strength(low, 1.0, count) <= strength(high, 1.0, count)


@relaxed
@given(importances, st.floats(0.0, 1.0), counts, counts)
def test_strength_rises_with_the_number_of_recalls(
    importance: float, retained: float, one: int, other: int
) -> None:
    few, many = sorted((one, other))
    assert strength(importance, retained, few) <= strength(importance, retained, many)


@relaxed
@given(curves, st.floats(1e-4, 10.0), importances, counts)
def test_strength_at_the_end_of_the_lifetime_is_the_threshold(
    curve: DecayModel, base: float, importance: float, count: int
) -> None:
    daily = rate(base, importance)
    end = lifetime(daily, importance, count, model=curve)
    found = float(strength(importance, curve.retention(daily, end), count, cap=math.inf))
    if end > 0.0:
        assert found == pytest.approx(0.05, abs=1e-9)
    else:
        assert found <= 0.05 + 1e-9


@relaxed
@given(curves, st.floats(1e-4, 1e3), importances, st.integers(0, 2**31))
def test_every_lifetime_ends(curve: DecayModel, base: float, importance: float, count: int) -> None:
    end = float(lifetime(rate(base, importance), importance, count, model=curve))
    assert 0.0 <= end < math.inf


@relaxed
@given(curves, rates, st.floats(1e-6, 1.0))
def test_retention_after_the_inverse_is_what_was_asked_for(
    curve: DecayModel, daily: float, wanted: float
) -> None:
    assert curve.retention(daily, curve.elapsed_at(daily, wanted)) == pytest.approx(wanted)


@relaxed
@given(curves, rates, st.floats(0.0, 12.0))
def test_the_inverse_of_a_retention_is_the_time_it_took(
    curve: DecayModel, daily: float, scaled: float
) -> None:
    elapsed = scaled / daily
    back = curve.elapsed_at(daily, curve.retention(daily, elapsed))
    assert float(back) * daily == pytest.approx(scaled, rel=1e-9, abs=1e-9)


@relaxed
@given(rates)
def test_both_curves_stand_at_nine_tenths_on_the_same_day(daily: float) -> None:
    day = EbbinghausDecay().elapsed_at(daily, 0.9)
    assert EbbinghausDecay().retention(daily, day) == pytest.approx(0.9, rel=1e-12)
    assert PowerDecay().retention(daily, day) == pytest.approx(0.9, rel=1e-12)


@relaxed
@given(curves, rates, st.floats(-1e6, 0.0))
def test_time_below_zero_counts_as_zero(curve: DecayModel, daily: float, elapsed: float) -> None:
    assert curve.retention(daily, elapsed) == 1.0


@relaxed
@given(st.floats(1e-4, 1e3), importances, importances)
def test_what_is_important_fades_no_faster(base: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 < rate(base, high) <= rate(base, low) <= base


@relaxed
@given(st.lists(st.tuples(rates, importances, counts, days), min_size=1, max_size=20), curves)
def test_arrays_give_what_scalars_give_one_by_one(
    rows: list[tuple[float, float, int, float]], curve: DecayModel
) -> None:
    daily, importance, count, elapsed = (np.array(each) for each in zip(*rows, strict=True))
    together = strength(importance, curve.retention(daily, elapsed), count)
    ends = lifetime(daily, importance, count, model=curve)
    for index, (one, weight, recalls, time) in enumerate(rows):
        alone = strength(weight, curve.retention(one, time), recalls)
        assert together[index] == pytest.approx(float(alone), rel=1e-12)
        end = float(lifetime(one, weight, recalls, model=curve))
        assert ends[index] == pytest.approx(end, rel=1e-12)


def test_columns_and_rows_broadcast_to_a_table() -> None:
    table = EbbinghausDecay().retention(np.array([0.1, 0.2])[:, None], np.array([0.0, 1.0, 2.0]))
    assert table.shape == (2, 3)
    assert table[1, 2] == pytest.approx(math.exp(-0.4))


@pytest.mark.parametrize("importance", [0.0, 0.01, 0.05])
def test_what_starts_at_or_under_the_threshold_has_no_lifetime(importance: float) -> None:
    assert float(lifetime(0.1, importance, 0)) == 0.0
    assert math.copysign(1.0, float(lifetime(0.1, importance, 0))) == 1.0


def test_an_importance_next_to_nothing_has_no_lifetime_and_raises_no_warning() -> None:
    assert float(lifetime(0.1, 5e-324, 0)) == 0.0


def test_the_raw_product_shows_without_a_cap() -> None:
    assert float(strength(0.9, 1.0, 5, cap=math.inf)) == pytest.approx(1.8)
    assert float(strength(0.9, 1.0, 5)) == 1.0


@pytest.mark.parametrize("curve", CURVES)
def test_both_curves_are_decay_models_with_names_of_their_own(curve: DecayModel) -> None:
    assert isinstance(curve, DecayModel)
    assert [each.name for each in CURVES].count(curve.name) == 1
