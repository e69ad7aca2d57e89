"""Instants are whole microseconds inside and aware datetimes outside."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbmem.clock import DAY, day_of, from_micros, to_micros, utc, utc_now
from ebbmem.errors import InvalidInput

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T0_MICROS = 1_767_225_600_000_000  # date -u -d 2026-01-01 +%s, six zeros
relaxed = settings(deadline=None, max_examples=100)


def offset(hours: float) -> timezone:
    return timezone(timedelta(hours=hours))


def test_the_first_of_january_2026_is_its_published_number() -> None:
    assert to_micros(T0) == T0_MICROS
    assert from_micros(T0_MICROS) == T0


@relaxed
@given(st.datetimes(timezones=st.just(UTC)))
def test_every_instant_survives_the_way_there_and_back(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant


@relaxed
@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_differences_are_exact(one: datetime, other: datetime) -> None:
    assert timedelta(microseconds=to_micros(one) - to_micros(other)) == one - other


@relaxed
@given(st.datetimes(timezones=st.just(UTC)))
def test_the_day_of_an_instant_is_its_utc_date(instant: datetime) -> None:
    assert day_of(to_micros(instant)) == (instant.date() - date(1970, 1, 1)).days


def test_a_day_changes_at_midnight_utc_and_not_a_microsecond_before() -> None:
    assert day_of(T0_MICROS) == day_of(T0_MICROS - 1) + 1
    assert day_of(T0_MICROS + DAY - 1) == day_of(T0_MICROS)


def test_instants_beyond_the_last_datetime_are_the_last_datetime() -> None:
    assert from_micros(2**62) == datetime.max.replace(tzinfo=UTC)


def test_the_same_moment_elsewhere_is_the_same_moment_in_utc() -> None:
    here = utc(datetime(2026, 1, 1, 8, tzinfo=offset(8)), "at")
    assert here == T0
    assert here.tzinfo is UTC


def test_the_hour_that_happens_twice_in_autumn_is_two_moments() -> None:
    summer = utc(datetime(2026, 10, 25, 2, 30, tzinfo=offset(2)), "at")
    winter = utc(datetime(2026, 10, 25, 2, 30, tzinfo=offset(1)), "at")
    assert winter - summer == timedelta(hours=1)


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), "2026-01-01", 0, None, date(2026, 1, 1)])
def test_what_is_no_aware_datetime_is_refused_by_the_name_of_its_field(value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        utc(value, "created_at")  # type: ignore[arg-type]
    assert caught.value.field == "created_at"


@pytest.mark.parametrize(
    "edge",
    [datetime.min.replace(tzinfo=offset(5)), datetime.max.replace(tzinfo=offset(-5))],
    ids=["first year", "last year"],
)
def test_a_moment_that_utc_cannot_hold_is_invalid_input(edge: datetime) -> None:
    with pytest.raises(InvalidInput):
        utc(edge, "at")


def test_the_system_clock_is_aware() -> None:
    assert utc_now().utcoffset() == timedelta(0)
