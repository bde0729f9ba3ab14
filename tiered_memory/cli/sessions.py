"""The commands for the conversations of a scope: `sessions ls | cat | new | append | context | commit | rm`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, plain, printable
from tiered_memory.cli.parameters import Cursor, Limit, Scope
from tiered_memory.store.messages import Message
from tiered_memory.store.sessions import Sessions

app = typer.Typer(help="Keep and read the conversations of a scope.", no_args_is_help=True)

Session = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.", show_default=False)]


@command(app)
def ls(options: Options, scope: Scope = None, limit: Limit = 100, cursor: Cursor = None) -> Answer:
    """List sessions by their ids."""
    with options.open_scope(scope) as handle:
        page = Sessions(handle).ids(limit=limit, cursor=cursor)
    lines = [printable(id) for id in page.items] or ["no sessions"]
    return Answer({"sessions": page.items, "cursor": page.cursor}, Text("\n".join([*lines, *_more(page.cursor)])))


@command(app)
def cat(options: Options, session: Session, scope: Scope = None, limit: Limit = 100, cursor: Cursor = None) -> Answer:
    """Show the messages of a session, in their order."""
    with options.open_scope(scope) as handle:
        page = Sessions(handle).messages(session, limit=limit, cursor=cursor)
    data = {"messages": [plain(message) for message in page.items], "cursor": page.cursor}
    return Answer(data, _conversation(page.items, _more(page.cursor)))


@command(app)
def new(options: Options, scope: Scope = None) -> Answer:
    """Create an empty session and print its id."""
    with options.open_scope(scope) as handle:
        session = Sessions(handle).create()
    return Answer({"session": session}, session)


@command(app)
def append(
    options: Options,
    session: Session,
    role: Annotated[str, typer.Argument(help="Who says it: user, assistant, system…", show_default=False)],
    content: Annotated[str, typer.Argument(help="What is said; - is standard input.")] = "-",
    scope: Scope = None,
) -> Answer:
    """Append a message to a session."""
    said = sys.stdin.read() if content == "-" else content
    with options.open_scope(scope) as handle:
        message = Sessions(handle).append(session, role, said)
    return Answer(plain(message), f"message {message.seq} of session {printable(session)}")


@command(app)
def context(
    options: Options,
    session: Session,
    tokens: Annotated[int, typer.Option(help="How many tokens at the most.")] = 4000,
    scope: Scope = None,
) -> Answer:
    """Show the newest messages of a session that have so many tokens at the most."""
    with options.open_scope(scope) as handle:
        found = Sessions(handle).context(session, tokens)
    data = {
        "messages": [plain(message) for message in found.messages],
        "summary": found.summary,
        "left_out": found.left_out,
        "tokens": found.tokens,
    }
    left_out = [f"… {counted(found.left_out, 'older message')} left out"] if found.left_out else []
    return Answer(data, _conversation(found.messages, before=left_out))


@command(app)
def commit(
    options: Options,
    session: Session,
    uri: Annotated[str, typer.Argument(help="The document's URI.", show_default=False)],
    scope: Scope = None,
) -> Answer:
    """Write a session out as a document of the tree."""
    with options.open_scope(scope) as handle:
        done = Sessions(handle).commit(session, uri)
    return Answer(plain(done), f"{done.outcome}: {printable(done.uri)}")


@command(app)
def rm(options: Options, session: Session, scope: Scope = None) -> Answer:
    """Remove a session; documents that it was written out to stay."""
    with options.open_scope(scope) as handle:
        removed = Sessions(handle).remove(session)
    return Answer({"removed": removed}, f"removed a session of {counted(removed, 'message')}")


def _conversation(messages: Iterable[Message], after: Iterable[str] = (), before: Iterable[str] = ()) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(style="cyan")
    table.add_column(overflow="fold")
    for line in before:
        table.add_row("", "", Text(line, style="dim"))
    for message in messages:
        table.add_row(str(message.seq), printable(message.role), printable(message.content))
    for line in after:
        table.add_row("", "", Text(line, style="dim"))
    return table if table.row_count else Text("no messages", style="dim")


def _more(cursor: str | None) -> list[str]:
    return [] if cursor is None else [f"… there are more: --cursor {printable(cursor)}"]
