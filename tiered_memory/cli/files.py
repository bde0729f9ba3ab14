"""The commands for the files of a scope: `tiered-memory files ls | cat | put | edit | rm | mv | find`."""

from __future__ import annotations

import base64
from typing import Annotated, Any

import typer
from attrs import asdict
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, plain, printable
from tiered_memory.cli.parameters import Cursor, Limit, Scope
from tiered_memory.files import File, FileInfo
from tiered_memory.files.items import is_text

app = typer.Typer(help="Read and write the files of a scope.", no_args_is_help=True)

Path = Annotated[str, typer.Argument(help="The file's absolute path, such as /notes/today.md.", show_default=False)]
Folder = Annotated[str, typer.Argument(help="The folder to begin in.")]
Pattern = Annotated[
    str | None, typer.Option(help="Only files like this: a name, or a whole path below the folder.", show_default="all")
]
IfMatch = Annotated[
    str | None, typer.Option(metavar="SHA256", help="Only if its content is the one that has this SHA-256.")
]


@command(app)
def ls(
    options: Options,
    folder: Folder = "/",
    scope: Scope = None,
    pattern: Pattern = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Answer:
    """List the files below a folder, with size and time."""
    with options.open_scope(scope) as handle:
        page = handle.files.list(folder, pattern=pattern, limit=limit, cursor=cursor)
    data = {"files": [plain(info) for info in page.items], "cursor": page.cursor}
    return Answer(data, _listing(page.items, page.cursor))


@command(app)
def cat(options: Options, path: Path, scope: Scope = None) -> Answer:
    """Print a file, byte for byte; as JSON with its details, bytes that aren't text as base64."""
    with options.open_scope(scope) as handle:
        file = handle.files.read(path)
    if not options.as_json:
        typer.echo(file.content, nl=False)
        raise typer.Exit
    if is_text(file.content):
        return Answer(plain(file.info) | {"text": file.text}, "")
    return Answer(plain(file.info) | {"base64": base64.b64encode(file.content).decode()}, "")


@command(app)
def put(
    options: Options,
    path: Path,
    source: Annotated[
        typer.FileBinaryRead, typer.Argument(help="The local file to take its content from; - is standard input.")
    ] = "-",  # type: ignore[assignment]
    scope: Scope = None,
    new: Annotated[bool, typer.Option("--new", help="Refuse to overwrite a file.")] = False,
    if_match: IfMatch = None,
) -> Answer:
    """Write a file from a local one or from standard input."""
    content = source.read()
    with options.open_scope(scope) as handle:
        file = handle.files.write(path, content, if_exists="error" if new else "overwrite", if_match=if_match)
    return _wrote(file)


@command(app)
def edit(
    options: Options,
    path: Path,
    old: Annotated[str, typer.Argument(help="The exact text to replace.", show_default=False)],
    new: Annotated[str, typer.Argument(help="What to put there.", show_default=False)],
    scope: Scope = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Replace every occurrence, not just the only one.")] = False,
    if_match: IfMatch = None,
) -> Answer:
    """Replace a text in a file."""
    with options.open_scope(scope) as handle:
        file = handle.files.edit(path, old, new, replace_all=everywhere, if_match=if_match)
    return _wrote(file)


@command(app)
def rm(
    options: Options,
    path: Path,
    scope: Scope = None,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Delete a folder with all its files.")] = False,
) -> Answer:
    """Delete a file, or a folder."""
    with options.open_scope(scope) as handle:
        deleted = handle.files.delete(path, recursive=recursive)
    return Answer({"deleted": deleted}, f"deleted {counted(deleted, 'file')}")


@command(app)
def mv(
    options: Options,
    path: Path,
    new_path: Annotated[str, typer.Argument(help="Where it goes.", show_default=False)],
    scope: Scope = None,
) -> Answer:
    """Move a file, or a folder with all its files."""
    with options.open_scope(scope) as handle:
        moved = handle.files.move(path, new_path)
    return Answer({"moved": moved}, f"moved {counted(moved, 'file')}")


@command(app)
def find(
    options: Options,
    text: Annotated[str, typer.Argument(help="What to look for, literally.", show_default=False)],
    folder: Folder = "/",
    scope: Scope = None,
    pattern: Pattern = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Whatever the case of letters.")] = False,
    limit: Limit = 100,
) -> Answer:
    """Show the lines that have a text in them."""
    with options.open_scope(scope) as handle:
        found = handle.files.find(text, folder, pattern=pattern, ignore_case=ignore_case, limit=limit)
    lines = [f"{printable(line.path)}:{line.number}: {printable(line.text)}" for line in found.lines]
    lines += ["… there may be more"] if found.truncated else []
    return Answer(asdict(found), Text("\n".join(lines)) if lines else Text("nothing found", style="dim"))


def _wrote(file: File) -> Answer:
    data: dict[str, Any] = plain(file.info)
    return Answer(data, f"wrote {printable(file.path)}, {counted(file.size, 'byte')}, SHA-256 {file.sha256}")


def _listing(infos: list[FileInfo], cursor: str | None) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    table.add_column()
    table.add_column(overflow="fold", style="cyan")
    for info in infos:
        time = info.modified_at.strftime("%Y-%m-%d %H:%MZ") if info.modified_at else ""
        table.add_row("" if info.size is None else str(info.size), time, printable(info.path))
    if cursor is not None:
        table.add_row("", "", f"… there are more: --cursor {printable(cursor)}")
    return table if table.row_count else Text("no files", style="dim")
