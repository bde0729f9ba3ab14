"""How memories, their history, claims and conflicts are shown to people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tiered_memory import clock
from tiered_memory.cli.output import ago, counted, printable
from tiered_memory.items import Assertion, Claim, Conflict, MemoryRecord, Page, Reviewed

_STYLES = {"active": "green", "candidate": "yellow", "superseded": "dim"}


def card(memory: MemoryRecord) -> RenderableType:
    """All about one memory, a line for each value."""
    table = _grid(2)
    for name, value in {"id": printable(memory.id), "tier": memory.tier, **_facts(memory)}.items():
        if value:
            table.add_row(_dim(name), Text(value))
    return table


def memories(page: Page[MemoryRecord]) -> RenderableType:
    """A part of a listing, and where to go on."""
    table = _grid(1)
    for each in page.items:
        table.add_row(_lines(each, _dim(_origin(each))))
    return _part(table, page.cursor)


def claims(page: Page[Claim]) -> RenderableType:
    """A part of what waits, each claim with what it would take the place of, and where to go on."""
    table = _grid(2)
    for each in page.items:
        stands = f"instead of: {printable(each.active.text)}" if each.active else "nothing stands there"
        why = f"; {printable(each.candidate.reason)}" if each.candidate.reason else ""
        waits = f"{_claimed(each.candidate)}; {_origin(each.candidate)}{why}"
        table.add_row(Text(each.candidate.tier, style="cyan"), _lines(each.candidate, _dim(stands), _dim(waits)))
    return _part(table, page.cursor)


def claim(claim: Claim, others: int = 0) -> RenderableType:
    """A claim and what stands there side by side, as wide as the terminal; what both have in common is dim."""
    claimed = _facts(claim.candidate)
    standing = _facts(claim.active) if claim.active else {"text": "(nothing stands here)"}
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column("active", ratio=1, overflow="fold", header_style="green")
    table.add_column("claimed", ratio=1, overflow="fold", header_style="yellow")
    for name, value in claimed.items():
        stands = standing.get(name, "")
        if stands or value:
            style = "dim" if stands == value else ""
            table.add_row(name, Text(stands, style=style), Text(value, style=style))
    return Group(_head(claim.candidate), *_why(claim.candidate, others), Text(), table)


def history(found: Iterable[Assertion]) -> RenderableType:
    """Assertions at one id, each with its number, status, text and life."""
    table = _grid(3)
    for each in found:
        life = _dim(f"{_life(each)}, {_origin(each)}")
        status = Text(each.status, style=_STYLES[each.status])
        table.add_row(f"#{each.number}", status, Group(Text(printable(each.text)), life))
    return table if table.row_count else _dim("nothing found")


def conflicts(found: Sequence[Conflict]) -> RenderableType:
    """Pairs with their cosine, and how to end a conflict."""
    if not found:
        return _dim("nothing found")
    table = _grid(4)
    for each in found:
        table.add_row(
            f"{each.similarity:.2f}", Text(each.a.tier, style="cyan"), "a", _lines(each.a, _dim(_origin(each.a)))
        )
        table.add_row("", "", "b", _lines(each.b, _dim(_origin(each.b))))
    return Group(table, Text(), _dim("To end one: tiered-memory resolve ID_A ID_B --tier TIER --keep a|b|both"))


def reviewed(found: Sequence[Reviewed]) -> RenderableType:
    """What became of each claim, and of how many."""
    table = _grid(3)
    for each in found:
        lines = [Text(printable(each.id), style="bold")]
        if each.candidate:
            lines.append(Text(printable(each.candidate.text)))
        table.add_row(outcome(each), Text(each.tier, style="cyan"), Group(*lines))
    return Group(table, tally(found))


def outcome(reviewed: Reviewed) -> Text:
    """What became of a claim."""
    return Text(reviewed.outcome.replace("_", " "), style="red" if reviewed.outcome == "conflict" else "")


def tally(found: Iterable[Reviewed]) -> Text:
    """How many were promoted and rejected, and what a conflict means."""
    numbers = Counter(outcome(each).plain for each in found)
    counts = ", ".join(f"{number} {name}" for name, number in numbers.items()) or "nothing was decided"
    meaning = "; a conflict changed meanwhile, so look at it again" if numbers["conflict"] else ""
    return Text(counts + meaning, style="bold")


def _grid(columns: int) -> Table:
    """A table without lines, whose last column wraps."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(columns - 1):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _part(table: Table, cursor: str | None) -> RenderableType:
    lines = [table] if table.row_count else [_dim("nothing found")]
    return Group(*lines, _dim(f"more: --cursor {cursor}")) if cursor else Group(*lines)


def _lines(memory: MemoryRecord, *more: Text) -> RenderableType:
    below = Group(Text(printable(memory.text)), *more)
    return Group(Text(printable(memory.id), style="bold"), Padding(below, (0, 0, 0, 2)))


def _head(memory: MemoryRecord) -> Text:
    return Text.assemble((memory.tier, "cyan"), "  ", (printable(memory.id), "bold"))


def _why(candidate: Assertion, others: int) -> Iterator[Text]:
    reason = printable(candidate.reason or "it was remembered as a candidate")
    yield Text(f"{_claimed(candidate).capitalize()}. Why it waits: {reason}.")
    if others:
        yield Text(f"{counted(others, 'older claim')} at this id will be dropped, whichever way this is decided.")


def _facts(memory: MemoryRecord) -> dict[str, str]:
    """What there is to compare of a memory, by name; empty where there is nothing."""
    return {
        "text": printable(memory.text),
        "source": printable(memory.source or ""),
        "confidence": f"{memory.confidence:.2f}",
        "importance": f"{memory.importance:.2f}",
        "happened": _time(memory.at),
        "updated": _time(memory.updated_at),
        "expires": _time(memory.expires_at),
        "remembered": "once" if memory.uses == 1 else f"{memory.uses} times",
        "metadata": printable(json.dumps(memory.metadata, ensure_ascii=False)) if memory.metadata else "",
    }


def _life(each: Assertion) -> str:
    if each.status == "candidate":
        return _claimed(each)
    if each.superseded_at is None:
        return f"since {_time(each.active_from)}"
    return f"{_time(each.active_from)} to {_time(each.superseded_at)}, then #{each.superseded_by}"


def _origin(memory: MemoryRecord) -> str:
    source = f"from {printable(memory.source)}, " if memory.source else ""
    return f"{source}confidence {memory.confidence:.2f}, importance {memory.importance:.2f}"


def _claimed(candidate: Assertion) -> str:
    first, last = (ago(clock.now() - moment) for moment in (candidate.recorded_at, candidate.updated_at))
    times = "once" if candidate.uses == 1 else f"{candidate.uses} times"
    return f"claimed {times}, {last}" if first == last else f"claimed {times}, first {first}, last {last}"


def _time(moment: datetime | None) -> str:
    """In a form that options take, too; empty for None."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


def _dim(text: str) -> Text:
    return Text(text, style="dim")
