"""The commands that find documents: `tiered-memory find | grep | search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory.cli.completion import full_uri
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, plain, printable
from tiered_memory.cli.parameters import Limit, Scope
from tiered_memory.cli.tree import Under
from tiered_memory.store.hits import MAX_EXCERPT, Found, excerpt
from tiered_memory.store.ranked import SearchMode
from tiered_memory.store.uri import ROOT

app = typer.Typer()

Sought = Annotated[str, typer.Argument(help="What to look for, literally, in any case.", show_default=False)]
Mode = Annotated[str, typer.Option(help="What finds them: `keyword`, `vector`, or `hybrid`, which is both.")]


@command(app)
def find(options: Options, text: Sought, uri: Under = ROOT, scope: Scope = None, limit: Limit = 50) -> Answer:
    """Find documents and directories by a part of their paths."""
    with options.open_scope(scope) as handle:
        found = handle.store.search.paths(text, full_uri(uri), limit)
    lines = [printable(each.uri) + ("/" if each.kind == "dir" else "") for each in found]
    return Answer({"matches": [plain(each) for each in found]}, _lines(lines))


@command(app)
def grep(options: Options, text: Sought, uri: Under = ROOT, scope: Scope = None, limit: Limit = 50) -> Answer:
    """Show the lines of documents that have a text in them."""
    with options.open_scope(scope) as handle:
        found = handle.store.search.grep(text, full_uri(uri), limit)
    lines = [f"{printable(each.uri)}:{each.line}: {printable(each.excerpt)}" for each in found]
    return Answer({"lines": [plain(each) for each in found]}, _lines(lines))


@command(app)
def search(
    options: Options,
    query: Annotated[str, typer.Argument(help="What to look for, in words.", show_default=False)],
    uri: Under = ROOT,
    scope: Scope = None,
    mode: Mode = "hybrid",
    k: Annotated[int, typer.Option("-k", help="How many at the most.")] = 10,
) -> Answer:
    """Find the documents that answer a query best."""
    with options.open_scope(scope) as handle:
        hits = handle.store.search.search(query, cast("SearchMode", mode), k, full_uri(uri))
    data = {"hits": [plain(hit) for hit in hits], "degraded": list(hits.degraded)}
    return Answer(data, _hits(hits, hits.degraded))


def _lines(lines: list[str]) -> RenderableType:
    return Text("\n".join(lines)) if lines else Text("nothing found", style="dim")


def _hits(hits: Sequence[Found], degraded: Sequence[str]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for hit in hits:
        said = hit.abstract or excerpt((hit.content or "").lstrip(), 0, MAX_EXCERPT)
        score = "" if hit.score is None else f"{hit.score:.2f}"
        table.add_row(score, Group(Text(printable(hit.uri), style="cyan"), Text(printable(said), style="dim")))
    shown: list[RenderableType] = [table if hits else Text("nothing found", style="dim")]
    if degraded:
        shown.append(Text(f"without the {' and the '.join(degraded)}, which failed", style="yellow"))
    return Group(*shown)
