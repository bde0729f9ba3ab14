"""The commands for the documents of a scope: `tiered-memory ls | tree | cat | put | rm`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from tiered_memory.cli.completion import complete_uri, full_uri
from tiered_memory.cli.options import Handle, Options, command
from tiered_memory.cli.output import Answer, counted, plain, printable
from tiered_memory.cli.parameters import Cursor, Limit, Scope
from tiered_memory.errors import InvalidInput, NotFound
from tiered_memory.store.commits import JOBS
from tiered_memory.store.items import JobRequest, Row
from tiered_memory.store.listing import Filter
from tiered_memory.store.memory_uris import memory_type
from tiered_memory.store.uri import ROOT, SCHEME
from tiered_memory.store.uri import Uri as StoredUri

app = typer.Typer()

Uri = Annotated[
    str,
    typer.Argument(
        help=f"A URI, such as {SCHEME}resources/tea.md; the scheme may be left out.",
        show_default=False,
        autocompletion=complete_uri,
    ),
]
Under = Annotated[
    str,
    typer.Argument(
        help="The URI to begin at; the scheme may be left out.",
        show_default="the whole tree",
        autocompletion=complete_uri,
    ),
]


@command(app)
def ls(options: Options, uri: Under = ROOT, scope: Scope = None) -> Answer:
    """List what stands directly below a URI; directories have a slash behind them."""
    with options.open_scope(scope) as handle:
        entries = handle.store.documents.entries(full_uri(uri))
    shown = Text("\n".join(printable(name) + ("/" if kind == "dir" else "") for name, kind in entries.items()))
    data = {"entries": [{"name": name, "kind": kind} for name, kind in entries.items()]}
    return Answer(data, shown if entries else Text("nothing there", style="dim"))


@command(app)
def tree(
    options: Options, uri: Under = ROOT, scope: Scope = None, limit: Limit = 1000, cursor: Cursor = None
) -> Answer:
    """Show the documents at a URI and below as a tree, with what is switched off and the groups."""
    with options.open_scope(scope) as handle:
        everything = Filter(include_disabled=True)
        page = handle.store.documents.list(full_uri(uri), limit, filter=everything, cursor=cursor)
    data = {"documents": [plain(row) for row in page.items], "total": page.total, "cursor": page.cursor}
    return Answer(data, _drawn(full_uri(uri), page.items, page.cursor))


@command(app)
def cat(
    options: Options,
    uri: Uri,
    scope: Scope = None,
    abstract: Annotated[bool, typer.Option("--abstract", help="Print its abstract, or what stands in for it.")] = False,
    overview: Annotated[bool, typer.Option("--overview", help="Print its overview, or what stands in for it.")] = False,
) -> Answer:
    """Print a document, or a layer of it; as JSON all that is known of it."""
    if abstract and overview:
        raise typer.BadParameter("give either --abstract or --overview, not both")
    with options.open_scope(scope) as handle:
        store, full = handle.store, full_uri(uri)
        if abstract or overview:
            name = "abstract" if abstract else "overview"
            layer = getattr(store.layers, name)(full)
            return Answer({"uri": full, name: layer}, Text(layer))
        node = store.documents.get(full)
    if node is None or node.content is None:
        raise NotFound(f"no document stands at {full!r}")
    if not options.as_json:
        typer.echo(node.content.encode(), nl=False)
        raise typer.Exit
    return Answer(plain(node) | {"stale": sorted(node.stale)}, "")


@command(app)
def put(
    options: Options,
    uri: Uri,
    source: Annotated[
        typer.FileBinaryRead, typer.Argument(help="The local file to take its content from; - is standard input.")
    ] = "-",  # type: ignore[assignment]
    scope: Scope = None,
    abstract: Annotated[str | None, typer.Option(help="A line about it.", show_default="the one that it has")] = None,
    overview: Annotated[str | None, typer.Option(help="A paragraph.", show_default="the one that it has")] = None,
    no_jobs: Annotated[bool, typer.Option("--no-jobs", help="Ask no worker to embed and summarise it.")] = False,
) -> Answer:
    """Write a document from a local file or standard input; at the URI of a memory, remember it."""
    content = _decoded(source.read())
    with options.open_scope(scope) as handle:
        if memory_type(full_uri(uri)) is not None:
            return _remember(handle, full_uri(uri), content, layers=(abstract, overview))
        supplied = {f"summarize_{name}" for name, text in (("abstract", abstract), ("overview", overview)) if text}
        jobs: list[JobRequest] = [] if no_jobs else [(kind, {}) for kind in JOBS if kind not in supplied]
        documents = handle.store.documents
        written = documents.put(full_uri(uri), content, abstract=abstract, overview=overview, jobs=jobs)
    shown = f"{written.outcome} {printable(written.uri)}, {counted(len(content.encode()), 'byte')}"
    return Answer(plain(written), shown + (f"; {counted(len(jobs), 'job')} for a worker" if jobs else ""))


@command(app)
def rm(
    options: Options,
    uri: Uri,
    scope: Scope = None,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="With all that lies below.")] = False,
) -> Answer:
    """Remove a document, or a directory with all below, from everything that is kept by URI."""
    full = full_uri(uri)
    with options.open_scope(scope) as handle:
        documents = handle.store.documents
        node = documents.get(full)
        alone = node is not None and node.kind == "doc" and documents.count(full) == 1
        if node is not None and not alone and not recursive:
            raise InvalidInput(f"something lies below {full!r}; pass --recursive to remove that, too")
        removed = documents.remove(full)
    return Answer({"removed": removed}, f"removed {counted(removed, 'document')}")


def _remember(handle: Handle, uri: str, content: str, layers: tuple[str | None, str | None]) -> Answer:
    if any(layer is not None for layer in layers):
        raise typer.BadParameter("a memory has no abstract and no overview of its own")
    remembered = handle.store.memories.put(uri, content.removesuffix("\n"))
    outcome = remembered.outcome.replace("_", " ")
    return Answer(plain(remembered), f"{outcome} in {remembered.tier}: {printable(remembered.id)}")


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"a document is text in UTF-8, which isn't so at byte {error.start}") from None


def _drawn(under: str, rows: list[Row], cursor: str | None) -> RenderableType:
    if not rows:
        return Text("no documents", style="dim")
    root = Tree(Text(printable(under), style="cyan"))
    branches = {under: root}
    for row in rows:
        if row.uri != under:
            branches[row.uri] = _branch(branches, row.uri.lineage[1]).add(_leaf(row))
    if cursor is not None:
        root.add(Text(f"… there are more: --cursor {printable(cursor)}", style="dim"))
    return root


def _branch(branches: dict[str, Tree], uri: StoredUri) -> Tree:
    """The branch of a URI, made with those above it where it is missing."""
    if uri not in branches:
        label = Text(f"{printable(uri.name)}/", style="cyan")
        branches[uri] = _branch(branches, uri.lineage[1]).add(label)
    return branches[uri]


def _leaf(row: Row) -> Text:
    marks = [*(() if row.enabled else ("off",)), *((f"group {row.group}",) if row.group else ())]
    label = Text(printable(row.uri.name), style="" if row.enabled else "dim")
    return label.append(f"  ({', '.join(marks)})" if marks else "", style="dim")
