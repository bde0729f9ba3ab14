"""The root of the command line, and the commands to try, fill and check a memory."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, cast

import typer
from rich.console import Group, RenderableType
from rich.table import Table

import tiered_memory
from tiered_memory.cli import (
    archive,
    conflicts,
    files,
    finding,
    forgetting,
    graph,
    jobs,
    reading,
    reembed,
    review,
    sessions,
    skills,
    tree,
    worker,
)
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, hits_table, plain, printable
from tiered_memory.cli.parameters import TIERS, Scope, json_object, moment
from tiered_memory.items import Mode, Remembered, Stats

app = typer.Typer(
    help="Memory for agents: four tiers, exact scopes, on Redis. New here? Run `tiered-memory demo`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(tiered_memory.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@command(app)
def demo(options: Options) -> Answer:
    """Watch an agent remember a conversation of 60 turns, and recall from it across four tiers."""
    from tiered_memory.cli.demo import run

    return run(options)


@command(app)
def remember(
    options: Options,
    text: Annotated[str, typer.Argument(help="The memory itself, in words.", show_default=False)],
    tier: Annotated[
        str | None, typer.Option(help=f"Where it goes: {TIERS}.", show_default="semantic, or where its id belongs")
    ] = None,
    scope: Scope = None,
    id: Annotated[
        str | None, typer.Option(help="Where it stands in its tier and scope.", show_default="a digest of the text")
    ] = None,
    metadata: Annotated[dict[str, Any] | None, json_object("A JSON object to keep with it.")] = None,
    at: Annotated[datetime | None, moment("When it happened", "now")] = None,
    status: Annotated[str, typer.Option(help="`active`, or `candidate` to wait for review.")] = "active",
    source: Annotated[str | None, typer.Option(help="Who says so.", show_default="nobody in particular")] = None,
    confidence: Annotated[float, typer.Option(help="How sure the source is, from 0 to 1.")] = 0.5,
    importance: Annotated[float, typer.Option(help="How much it matters, from 0 to 1.")] = 0.5,
    ttl: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="After how many seconds it is forgotten.", show_default="never"),
    ] = None,
) -> Answer:
    """Remember a text."""
    item = tiered_memory.MemoryItem(
        text,
        tier,
        id=id,
        scope=scope,
        metadata=metadata,
        at=at,
        status=status,
        confidence=confidence,
        importance=importance,
        source=source,
        ttl=ttl,
    )
    with options.open() as mem:
        (remembered,) = mem.remember(item)
    return Answer(plain(remembered), _outcome(remembered))


def _outcome(remembered: Remembered) -> str:
    outcome = remembered.outcome.replace("_", " ")
    waits = "; waits for review" if outcome.endswith("queued") else ""
    return f"{outcome} in {remembered.tier}, id {printable(remembered.id)}{waits}"


@command(app)
def recall(
    options: Options,
    query: Annotated[str, typer.Argument(help="What to find memories for.", show_default=False)],
    tier: Annotated[
        list[str] | None, typer.Option(help="A tier to ask; may be repeated.", show_default="all tiers")
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="An exact scope to ask; may be repeated.", show_default="the unscoped pool")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many hits at the most.")] = 5,
    mode: Annotated[
        str | None,
        typer.Option(
            envvar="TIERED_MEMORY_MODE",
            help="What finds memories: `vector`, `text`, or `hybrid`, which is both.",
            show_default="hybrid",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The least cosine of a hit, from -1 to 1.", show_default="each tier's own")
    ] = None,
    window: Annotated[int, typer.Option(help="How many neighbours of each hit to show, on each side.")] = 0,
    max_tokens: Annotated[
        int | None, typer.Option(help="The most tokens that the hits have in a prompt.", show_default="no limit")
    ] = None,
    diversity: Annotated[
        float | None, typer.Option(help="How much hits are to differ, from 0 to 1.", show_default="0")
    ] = None,
    as_of: Annotated[datetime | None, moment("What was believed at that time", "now")] = None,
    include_superseded: Annotated[
        bool, typer.Option("--include-superseded", help="Find what was believed before, too.")
    ] = False,
) -> Answer:
    """Recall the most relevant memories, best first, and why they are."""
    with options.open() as mem:
        hits = mem.recall(
            query,
            k=k,
            tier=tier or None,
            mode=cast("Mode | None", mode),
            threshold=threshold,
            window=window,
            max_tokens=max_tokens,
            diversity=diversity,
            scope=scope or None,
            as_of=as_of,
            include_superseded=include_superseded,
        )
    several = len(scope or ()) > 1
    return Answer({"hits": [plain(hit) for hit in hits]}, hits_table(hits, with_scope=several, as_of=as_of))


@command(app)
def stats(options: Options) -> Answer:
    """Count what the namespace holds."""
    with options.open() as mem:
        found = mem.stats()
    return Answer(plain(found), _stats_table(found))


def _stats_table(found: Stats) -> RenderableType:
    heading = f"namespace {found.namespace}: {counted(found.scopes, 'scope')}, embedder {found.embedder}"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("tier", style="cyan")
    for name in ("memories", "candidates", "superseded"):
        table.add_column(name, justify="right")
    for tier, number in found.memories.items():
        table.add_row(tier, str(number), str(found.candidates[tier]), str(found.superseded[tier]))
    return Group(heading, table)


@command(app)
def doctor(
    options: Options,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download tiktoken's ranks, for exact token counts.")] = False,
) -> Answer:
    """Check the set-up, and say what to do about what is missing."""
    from tiered_memory.cli.doctor import run

    return run(options, fetch=fetch)


for part in (reading.app, conflicts.app, forgetting.app, tree.app, finding.app, archive.app, reembed.app, worker.app):
    app.add_typer(part)
app.add_typer(review.app, name="review")
app.add_typer(files.app, name="files")
app.add_typer(graph.app, name="graph")
app.add_typer(jobs.app, name="jobs")
app.add_typer(sessions.app, name="sessions")
app.add_typer(skills.app, name="skills")
