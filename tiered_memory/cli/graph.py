"""The commands for the graph of a scope: `tiered-memory graph show | neighbors | paths`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, plain, printable
from tiered_memory.cli.parameters import Limit, Scope, moment
from tiered_memory.errors import InvalidInput
from tiered_memory.graph import EntityRef, Fact, GraphView, RetrievalPath, mermaid, svg

app = typer.Typer(help="Look at what the memories of a scope are about.", no_args_is_help=True)

Entities = Annotated[
    list[str], typer.Argument(help="Entities, each as kind:name, such as Ticket:ticket-1.", show_default=False)
]
AsOf = Annotated[datetime | None, moment("What held in the world at that time", "what hasn't ended")]
KnownAt = Annotated[datetime | None, moment("As it was known at that time", "now")]


@command(app)
def show(
    options: Options,
    scope: Scope = None,
    limit: Limit = 200,
    picture: Annotated[
        str | None, typer.Option(help="Draw it, as `mermaid` or `svg`, to standard output.", show_default="a table")
    ] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Answer:
    """Show the newest facts and their entities."""
    if picture not in (None, "mermaid", "svg"):
        raise InvalidInput(f"picture={picture!r} must be mermaid or svg")
    with options.open_scope(scope) as handle:
        view = handle.graph.view(limit, as_of=as_of, known_at=known_at)
    drawn = {"mermaid": mermaid, "svg": svg}[picture](view) if picture else None
    if drawn and not options.as_json:
        typer.echo(drawn, nl=False)
        raise typer.Exit
    return Answer(_data(view) | ({} if drawn is None else {"picture": drawn}), _table(view))


@command(app)
def neighbors(
    options: Options,
    entities: Entities,
    scope: Scope = None,
    limit: Limit = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Answer:
    """Find the memories that mention entities, or an entity mentioned together with one."""
    with options.open_scope(scope) as handle:
        found = handle.graph.neighbors(_parsed(entities), limit=limit, as_of=as_of, known_at=known_at)
        texts = {memory_id: _text_at(handle.graph.facts(memory_id), as_of) for memory_id in found}
    table = Table.grid(padding=(0, 2))
    for memory_id, text in texts.items():
        table.add_row(Text(printable(memory_id), style="cyan"), printable(text))
    data = {"neighbors": [{"memory_id": memory_id, "text": text} for memory_id, text in texts.items()]}
    return Answer(data, table if texts else Text("nothing found", style="dim"))


@command(app)
def paths(
    options: Options,
    entities: Entities,
    scope: Scope = None,
    limit: Limit = 20,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Answer:
    """Show by which mentions each memory is found."""
    with options.open_scope(scope) as handle:
        found = handle.graph.paths(_parsed(entities), limit=limit, as_of=as_of, known_at=known_at)
    lines = [_line(path) for path in found]
    return Answer({"paths": [plain(path) for path in found]}, Text("\n".join(lines) or "nothing found"))


def _parsed(entities: list[str]) -> list[EntityRef]:
    return [EntityRef.parse(entity) for entity in entities]


def _text_at(facts: list[Fact], as_of: datetime | None) -> str:
    """The sentence of the newest fact that had begun by then."""
    return next((fact.text for fact in facts if as_of is None or fact.valid_from <= as_of), "")


def _line(path: RetrievalPath) -> str:
    return " → ".join(f"{printable(str(hop.entity))} → {printable(hop.memory_id)}" for hop in path.hops)


def _data(view: GraphView) -> dict[str, Any]:
    nodes = [{"entity": plain(node)} if isinstance(node, EntityRef) else {"memory_id": node} for node in view.nodes]
    edges = [
        {
            "kind": edge.kind,
            "source": str(edge.source),
            "target": str(edge.target),
            "count": edge.count,
        }
        for edge in view.edges
    ]
    return {"nodes": nodes, "edges": edges, "texts": dict(view.texts), "truncated": view.truncated}


def _table(view: GraphView) -> RenderableType:
    about: dict[str, list[str]] = {}
    for edge in view.edges:
        if isinstance(edge.target, str):
            about.setdefault(edge.target, []).append(printable(edge.source.name))
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", style="cyan")
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for memory_id in (node for node in view.nodes if isinstance(node, str)):
        text = printable(view.texts.get(memory_id, ""))
        table.add_row(printable(memory_id), text, ", ".join(about.get(memory_id, [])))
    entities = len(view.nodes) - table.row_count
    heading = f"{counted(table.row_count, 'fact')}, {entities} {'entity' if entities == 1 else 'entities'}"
    more = [Text("… there are more: --limit", style="dim")] if view.truncated else []
    return Group(heading, table, *more)
