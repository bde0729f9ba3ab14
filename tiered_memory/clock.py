"""The one clock: aware UTC, and whole microseconds since 1970 as they lie in Redis."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache

from tiered_memory.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = ((edge.replace(tzinfo=timezone.utc) - _EPOCH) // _MICROSECOND for edge in (datetime.min, datetime.max))


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(timezone.utc)


def utc(moment: datetime, name: str = "at") -> datetime:
    """`moment` in UTC; a naive one is refused, since its zone can only be guessed."""
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{name}={moment!r} is not a datetime")
    if moment.utcoffset() is None:
        raise InvalidInput(
            f"{name}={moment!r} has no time zone; pass an aware datetime, e.g. datetime.now(timezone.utc)"
        )
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidInput(f"{name}={moment!r} lies outside the calendar in UTC") from None


def to_micros(moment: datetime) -> int:
    """Whole microseconds since 1970-01-01T00:00Z of an aware `moment`."""
    return (moment - _EPOCH) // _MICROSECOND


def now_micros() -> int:
    """The present moment, in whole microseconds since 1970-01-01T00:00Z."""
    return to_micros(now())


@lru_cache(maxsize=1024)
def from_micros(micros: int) -> datetime:
    """The aware UTC moment that lies `micros` microseconds after 1970-01-01T00:00Z, or the calendar's nearest end.

    Redis' numbers hold every microsecond from 1684 to 2255, so that one near an end may come back beyond it.
    """
    return _EPOCH + timedelta(microseconds=min(max(micros, _FIRST), _LAST))
