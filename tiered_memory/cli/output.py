"""How the command line answers: one JSON object, or text for people; and why a hit is where it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import typer
from attrs import asdict
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tiered_memory import clock
from tiered_memory.errors import TieredMemoryError
from tiered_memory.items import RecalledMemory

_TERMS = {"similarity": "cosine", "text": "words", "reranker": "re-ranker"}
_GAINS = ("neighbours", "month", "speaker", "question")


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
        table.add_row(f"{hit.score:.2f}", hit.tier, Group(Text(printable(hit.text)), reason, *_neighbours(hit)))
    return table if table.row_count else Text("nothing found", style="dim")


def _neighbours(hit: RecalledMemory) -> Iterator[RenderableType]:
    for side, memories in (("before", hit.before), ("after", hit.after)):
        for memory in memories:
            yield Padding(Text(f"{side}: {printable(memory.text)}", style="dim"), (0, 0, 0, 2))


def why(hit: RecalledMemory, now: datetime) -> str:
    """What the score of `hit` was made from at the time `now`, in words."""
    found = ["a recent note, newest first"] if hit.tier == "working" else []
    return ", ".join(found + [_reason(name, value, hit, now) for name, value in hit.why.items()])


def _reason(name: str, value: float, hit: RecalledMemory, now: datetime) -> str:
    if name == "recency":
        return f"fresh {value:.2f} ({ago(now - hit.at)})"
    if name == "reinforcement":
        return f"proven {value:.2f} (remembered {'once' if hit.uses == 1 else f'{hit.uses} times'})"
    if name in _GAINS:
        return f"{name} {value:+.2f}"
    return f"{_TERMS.get(name, name)} {value:.2f}"


def ago(age: timedelta) -> str:
    """How long ago that is, in words."""
    for unit, size in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if age >= size:
            return f"{counted(age // size, unit)} ago"
    return "just now"


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
