"""How the command line answers: one JSON object, or text for people; and why a hit is where it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import typer
from attrs import asdict
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory import clock, ranking
from tiered_memory.config import EpisodicConfig
from tiered_memory.errors import TieredMemoryError
from tiered_memory.items import RecalledMemory


class Answer(NamedTuple):
    """What a command answers: as JSON values, and for people; and the exit code."""

    data: Mapping[str, Any]
    shown: RenderableType
    code: int = 0


def console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """A standard stream, as wide as the terminal (80 columns without one), without colour if `NO_COLOR` is set."""
    return Console(highlight=False, markup=False, emoji=False, quiet=quiet, stderr=stderr)


def write(answer: Answer, *, as_json: bool) -> None:
    """Prints an answer."""
    if as_json:
        typer.echo(encode(answer.data))
    else:
        console().print(answer.shown)


def write_error(error: TieredMemoryError, *, as_json: bool) -> None:
    """Prints an error to standard error, in one line."""
    message = printable(str(error))
    failure = {"error": {"code": error.code, "message": message}}
    text = json.dumps(failure) if as_json else f"error: {message}"
    typer.echo(text, err=True)


def encode(data: Mapping[str, Any]) -> str:
    """`data` as one JSON object; times as ISO 8601 in UTC."""
    return json.dumps(data, indent=2)


def plain(value: Any) -> dict[str, Any]:
    """The attributes of one of our objects as JSON values."""
    return asdict(value, value_serializer=lambda _, __, each: each.isoformat() if isinstance(each, datetime) else each)


def printable(text: str) -> str:
    """`text` in one line; what could steer a terminal is replaced."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in " ".join(text.split()))


def hits_table(
    hits: Iterable[RecalledMemory], *, with_scope: bool = False, as_of: datetime | None = None
) -> RenderableType:
    """Hits, best first, each with its score, tier, text, and why it is there (or was, at the time `as_of`)."""
    now = as_of or clock.now()
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    for hit in hits:
        scope = f", scope {'(none)' if hit.scope is None else printable(hit.scope)}" if with_scope else ""
        believed = ", now superseded" if hit.status == "superseded" else ""
        reason = Text(why(hit, now) + believed + scope, style="dim")
        table.add_row(f"{hit.score:.2f}", hit.tier, Group(Text(printable(hit.text)), reason))
    return table if table.row_count else Text("nothing found", style="dim")


def why(hit: RecalledMemory, now: datetime) -> str:
    """What the score of `hit` is made of, under the default settings of the tiers."""
    if hit.similarity is None:
        return "a recent note, newest first"
    parts = [f"cosine {hit.similarity:.2f}"]
    if hit.tier == "episodic":
        age = now - hit.at
        freshness = ranking.recency(age.total_seconds(), EpisodicConfig().half_life)
        parts.append(f"fresh {freshness:.2f} ({ago(age)})")
    if hit.tier == "procedural":
        times = "once" if hit.uses == 1 else f"{hit.uses} times"
        parts.append(f"proven {ranking.reinforcement(hit.uses):.2f} (remembered {times})")
    return ", ".join(parts)


def ago(age: timedelta) -> str:
    """How long ago that is, in words."""
    for unit, size in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if age >= size:
            return f"{counted(age // size, unit)} ago"
    return "just now"


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
