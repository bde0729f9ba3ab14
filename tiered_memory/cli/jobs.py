"""The commands for the queue of jobs: `tiered-memory jobs stats | detail | cancel`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory import clock
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, ago, counted, plain, printable
from tiered_memory.cli.parameters import Limit, Scope
from tiered_memory.store.queue import FailedJob, QueueDetail

app = typer.Typer(help="Look after the queue of jobs.", no_args_is_help=True)

WholeQueue = Annotated[str | None, typer.Option("--scope", help="Only this exact scope.", show_default="every scope")]


@command(app)
def stats(options: Options, scope: WholeQueue = None) -> Answer:
    """Count the jobs by status."""
    with options.open_scope(scope) as handle:
        found = handle.store.jobs.stats()
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for status, number in found.items():
        table.add_row(status, str(number))
    return Answer(found, table)


@command(app)
def detail(options: Options, scope: WholeQueue = None, limit: Limit = 20) -> Answer:
    """Show how far behind the queue is, and which jobs failed last and why."""
    with options.open_scope(scope) as handle:
        found = handle.store.jobs.detail(limit)
    data = {"oldest_pending_ms": found.oldest_pending_ms, "failed": [plain(job) for job in found.failed]}
    return Answer(data, _detail(found))


@command(app)
def cancel(
    options: Options,
    uri: Annotated[str, typer.Argument(help="The URI that they are about, or one above.", show_default=False)],
    scope: Scope = None,
) -> Answer:
    """Drop the jobs that are about a URI or what is below it, whatever their status."""
    with options.open_scope(scope) as handle:
        cancelled = handle.store.jobs.cancel(uri)
    return Answer({"cancelled": cancelled}, f"cancelled {counted(cancelled, 'job')}")


def _detail(found: QueueDetail) -> RenderableType:
    oldest = found.oldest_pending_ms
    waits = "nothing waits that could be run" if oldest is None else f"the oldest waits for {oldest / 1000:.1f} s"
    return Group(Text(waits), _failed(found.failed)) if found.failed else Group(Text(waits), Text("none has failed"))


def _failed(jobs: list[FailedJob]) -> RenderableType:
    table, now = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0)), clock.now()
    for name in ("failed", "kind", "reason", "tries", "about"):
        table.add_column(name, style="cyan" if name == "kind" else "", overflow="fold")
    for job in jobs:
        about = "" if job.uri is None else printable(job.uri)
        table.add_row(ago(now - job.failed_at), job.kind, job.last_error or "", str(job.attempts), about)
    return table
