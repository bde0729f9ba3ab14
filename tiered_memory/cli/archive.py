"""The commands that write a scope to a file and load it again: `tiered-memory export | import`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from tiered_memory.archive import Archive, Loaded, Manifest
from tiered_memory.archive.operations import Progress as Report
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, console, counted, plain, printable
from tiered_memory.cli.parameters import Scope

app = typer.Typer()

_OUTCOMES = ("imported", "skipped", "conflict", "expired")
_SHOWN = 20
"""How many conflicts are shown."""


@command(app, "export")
def export_scope(
    options: Options,
    file: Annotated[str, typer.Argument(help="The file to write; - is standard output.", show_default=False)],
    scope: Scope = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> Answer:
    """Write everything that a scope holds to a file of JSON lines."""
    if file != "-" and not force and Path(file).exists():
        raise typer.BadParameter(f"{file!r} exists; pass --force to replace it", param_hint="FILE")
    with options.open_scope(scope) as handle, _progress(options) as report:
        manifest = Archive(handle).export(sys.stdout.buffer if file == "-" else file, progress=report)
    if file == "-":
        raise typer.Exit
    return Answer(_described(manifest), _written(manifest, file))


@command(app, "import")
def import_scope(
    options: Options,
    file: Annotated[str, typer.Argument(help="The file to read; - is standard input.", show_default=False)],
    scope: Scope = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the file and say what it holds.")] = False,
) -> Answer:
    """Add what a file of an export holds to a scope; what stands there already stays."""
    source: Any = sys.stdin.buffer if file == "-" else file
    with options.open_scope(scope) as handle:
        if check:
            manifest = Archive(handle).check(source)
            return Answer(_described(manifest), _contents(manifest))
        with _progress(options) as report:
            loaded = Archive(handle).load(source, progress=report)
    conflicts = [{"section": section, "name": name} for section, name in loaded.conflicts]
    return Answer({"outcomes": loaded.outcomes, "conflicts": conflicts}, _loaded_table(loaded))


@contextmanager
def _progress(options: Options) -> Iterator[Report]:
    """A bar on standard error, or a count as long as nobody knows how many there are."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(quiet=options.as_json, stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def report(section: str, done: int, total: int | None) -> None:
            progress.update(task, description=section, completed=done, total=total)

        yield report


def _described(manifest: Manifest) -> dict[str, Any]:
    return {**plain(manifest.heading), "records": manifest.records, "sha256": manifest.sha256}


def _written(manifest: Manifest, file: str) -> RenderableType:
    return Text(f"wrote {counted(manifest.total, 'record')} to {printable(file)}, SHA-256 {manifest.sha256}")


def _contents(manifest: Manifest) -> RenderableType:
    scope = "the unscoped pool" if manifest.heading.scope is None else f"scope {printable(manifest.heading.scope)}"
    heading = f"an archive of {scope}, exported at {printable(manifest.heading.exported_at)}"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for section, number in manifest.records.items():
        table.add_row(section, str(number))
    return Group(Text(heading), table)


def _loaded_table(loaded: Loaded) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("section", style="cyan")
    for outcome in _OUTCOMES:
        table.add_column(outcome, justify="right")
    for section, counts in loaded.outcomes.items():
        table.add_row(section, *(str(counts.get(outcome, 0)) for outcome in _OUTCOMES))
    lines = [f"stays as it is: {section} {printable(name)}" for section, name in loaded.conflicts[:_SHOWN]]
    lines += [f"… and more; --json names {len(loaded.conflicts)}"] if len(loaded.conflicts) > _SHOWN else []
    if not loaded.outcomes:
        return Text("the archive holds nothing", style="dim")
    return Group(table, *map(Text, lines))
