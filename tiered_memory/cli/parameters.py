"""The arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from tiered_memory import clock

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter('not a JSON object such as {"ticket": 7}')
    return value


def _moment(text: str) -> datetime:
    number, unit = text[:-1], _UNITS.get(text[-1:])
    try:
        if unit and number.isdecimal():
            return clock.now() - timedelta(**{unit: int(number)})
        return clock.utc(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither a time with its zone, such as 2026-03-01T12:00Z, nor an age, such as 90d or 12h"
        ) from None


def moment(help: str, default: str) -> Any:
    """An option that is a time with its zone, or an age, which is a time that long ago."""
    return typer.Option(
        parser=_moment, metavar="TIME", help=f"{help} (2026-03-01T12:00Z, or an age: 90d, 12h).", show_default=default
    )


def json_object(help: str) -> Any:
    """An option that is a JSON object."""
    return typer.Option(parser=_object, metavar="JSON", help=help)


TIERS = "`working`, `semantic`, `episodic` or `procedural`"

Id = Annotated[str, typer.Argument(help="Where it stands in its tier and scope.", show_default=False)]
Tier = Annotated[str, typer.Option(help=f"Its tier: {TIERS}.")]
AnyTier = Annotated[str | None, typer.Option(help="Only this tier.", show_default="all tiers")]
Scope = Annotated[str | None, typer.Option(help="Its exact scope.", show_default="the unscoped pool")]
Source = Annotated[str | None, typer.Option(help="Only what exactly this source said.", show_default="all sources")]
Limit = Annotated[int, typer.Option(help="How many at the most.")]
Cursor = Annotated[
    str | None, typer.Option(help="Where to go on: the cursor of the part before.", show_default="the beginning")
]
