"""The commands for the skills of a scope: `skills list | import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, plain, printable
from tiered_memory.cli.parameters import Cursor, Limit, Scope
from tiered_memory.store import ImportedSkill, Skill, SkillFilter

app = typer.Typer(help="List and import the skills of a scope.", no_args_is_help=True)


@command(app, "list")
def list_(
    options: Options,
    scope: Scope = None,
    owner: Annotated[str | None, typer.Option(help="Only those of this owner.", show_default="all owners")] = None,
    group: Annotated[str | None, typer.Option(help="Only those of this group, or owner.", show_default="all")] = None,
    substring: Annotated[
        str | None, typer.Option(help="Only those with this in their URI.", show_default="all")
    ] = None,
    include_disabled: Annotated[
        bool, typer.Option("--include-disabled", help="Those that are switched off, too.")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer:
    """List skills by their URIs."""
    wanted = SkillFilter(substring, group, include_disabled, owner)
    with options.open_scope(scope) as handle:
        page = handle.store.skills.list(limit, filter=wanted, cursor=cursor)
    found = [plain(skill) | {"name": skill.name, "owner": skill.owner} for skill in page.items]
    return Answer({"skills": found, "total": page.total, "cursor": page.cursor}, _listing(page.items, page.cursor))


@command(app, "import")
def import_(
    options: Options,
    source: Annotated[
        Path, typer.Argument(help="A folder, or a tar archive that may be compressed by gzip.", show_default=False)
    ],
    owner: Annotated[str, typer.Option(help="Whose skills they are.")] = "default",
    scope: Scope = None,
) -> Answer:
    """Import the skills of a folder or archive; nothing is written if anything about them is unsafe."""
    with options.open_scope(scope) as handle:
        done = handle.store.skills.import_from(source, owner=owner)
    lines = Text("\n".join(map(_told, done)))
    return Answer({"skills": [plain(each) for each in done]}, lines, code=int(any(each.error for each in done)))


def _told(skill: ImportedSkill) -> str:
    reason = f" ({skill.error})" if skill.error else ""
    return f"{skill.outcome}: {printable(skill.uri)}, {counted(skill.files, 'file')}{reason}"


def _listing(skills: list[Skill], cursor: str | None) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", style="cyan")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for skill in skills:
        marks = [skill.group] * bool(skill.group) + ["switched off"] * (not skill.enabled)
        table.add_row(printable(skill.uri), counted(skill.files, "file"), ", ".join(marks))
    if cursor is not None:
        table.add_row(f"… there are more: --cursor {printable(cursor)}", "", "")
    return table if table.row_count else Text("no skills", style="dim")
