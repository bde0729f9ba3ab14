"""The command that moves a namespace to another embedder: `tiered-memory reembed`."""

from __future__ import annotations

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, console, plain, printable

app = typer.Typer()


@command(app)
def reembed(options: Options) -> Answer:
    """Move the namespace to the embedder of --embedder; called again, it goes on where it was interrupted."""
    columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        options.open() as mem,
        Progress(*columns, console=console(quiet=options.as_json, stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("", total=None)
        done = mem.reembed(progress=lambda done, total: progress.update(task, completed=done, total=total))
    made = f"memories embedded: {done.memories}, documents: {done.documents}, old vectors removed: {done.removed}"
    return Answer(plain(done), Text(f"{made}; {printable(done.embedder)} is in force"))
