"""Time at the edge: a clock is a function, an instant is an integer.

Inside, every instant is a count of microseconds since 1970-01-01 UTC; outside, it is an
aware `datetime`. Days are always fractions, never whole.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ebbmem.errors import InvalidInput

__all__ = [
    "DAY",
    "NEVER",
    "Clock",
    "day_of",
    "from_micros",
    "micros",
    "read_clock",
    "to_micros",
    "utc",
    "utc_now",
]


Clock = Callable[[], datetime]

DAY = 86_400_000_000
"""Microseconds in a day."""

NEVER = 2**62
"""An instant beyond every datetime, within 64 bits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def utc_now() -> datetime:
    """The system clock, aware."""
    return datetime.now(UTC)


def utc(value: datetime, field: str) -> datetime:
    """`value` in UTC; a naive or foreign value raises `InvalidInput` naming `field`."""
    if not isinstance(value, datetime):
        raise InvalidInput(field, f"must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(field, f"must carry a time zone, {value.isoformat()} has none")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(field, "lies outside the years 1 to 9999") from None


def read_clock(clock: Clock) -> int:
    """The instant a clock shows, in microseconds; raises `InvalidInput` naming the clock."""
    if not callable(clock):
        raise InvalidInput("clock", f"must be a function, not {type(clock).__name__}")
    return to_micros(utc(clock(), "clock"))


def to_micros(value: datetime) -> int:
    """Microseconds since the epoch of an aware datetime, exact."""
    return (value - _EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """The aware datetime of an instant; beyond year 9999 it is the last one there is."""
    return _EPOCH + timedelta(microseconds=min(int(value), _LAST))


def micros(length: timedelta) -> int:
    """A length of time in microseconds, exact."""
    return length // timedelta(microseconds=1)


def day_of(micros: int) -> int:
    """The UTC day, counted from the epoch, on which an instant lies."""
    return micros // DAY
