"""The commands and their options."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table

import tiered_memory
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted, hits_table, plain, printable
from tiered_memory.items import Stats

app = typer.Typer(
    help="Memory for agents: four tiers, exact scopes, on Redis. New here? Run `tiered-memory demo`.",
    no_args_is_help=True,
    add_completion=False,
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


def _metadata(text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}") from None
    if not isinstance(metadata, dict):
        raise typer.BadParameter('not a JSON object such as {"ticket": 7}')
    return metadata


_TIERS = "`working`, `semantic`, `episodic` or `procedural`"


@command(app)
def demo(options: Options) -> Answer:
    """Watch an agent remember a conversation of 60 turns, and recall from it across four tiers."""
    from tiered_memory.cli.demo import run

    return run(options)


@command(app)
def remember(
    options: Options,
    text: Annotated[str, typer.Argument(help="The memory itself, in words.", show_default=False)],
    tier: Annotated[str, typer.Option(help=f"Where it goes: {_TIERS}.")] = "semantic",
    scope: Annotated[str | None, typer.Option(help="Its exact scope.", show_default="the unscoped pool")] = None,
    id: Annotated[
        str | None, typer.Option(help="Where it stands in its tier and scope.", show_default="a digest of the text")
    ] = None,
    metadata: Annotated[
        dict[str, Any] | None,
        typer.Option(parser=_metadata, metavar="JSON", help="A JSON object to keep with it."),
    ] = None,
    ttl: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="After how many seconds it is forgotten.", show_default="never"),
    ] = None,
) -> Answer:
    """Remember a text."""
    item = tiered_memory.MemoryItem(text, tier, id=id, scope=scope, metadata=metadata, ttl=ttl)
    with options.open() as mem:
        (remembered,) = mem.remember(item)
    return Answer(plain(remembered), f"{remembered.outcome} in {remembered.tier}, id {printable(remembered.id)}")


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
    threshold: Annotated[
        float | None, typer.Option(help="The least cosine of a hit, from -1 to 1.", show_default="each tier's own")
    ] = None,
) -> Answer:
    """Recall the most relevant memories, best first, and why they are."""
    with options.open() as mem:
        hits = mem.recall(query, k=k, tier=tier or None, threshold=threshold, scope=scope or None)
    several = len(scope or ()) > 1
    return Answer({"hits": [plain(hit) for hit in hits]}, hits_table(hits, with_scope=several))


@command(app)
def clear(
    options: Options,
    scope: Annotated[str | None, typer.Option(help="The exact scope to forget.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget in EVERY scope of the namespace.")] = False,
    tier: Annotated[str | None, typer.Option(help="Forget this tier only.", show_default="all tiers")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before forgetting with --all.")] = False,
) -> Answer:
    """Forget a scope, or a tier of it; with --all, every scope."""
    if everything == (scope is not None):
        raise typer.BadParameter("say what to forget: either --scope SCOPE or --all")
    with options.open() as mem:
        if everything and not yes:
            _confirm(mem.stats(), tier)
        cleared = mem.clear(tier) if scope is None else mem.scoped(scope).clear(tier)
    return Answer({"cleared": cleared}, f"forgot {_memories(cleared)}")


def _confirm(stats: Stats, tier: str | None) -> None:
    what = "everything" if tier is None else f"tier {tier!r}"
    question = f"Forget {what} in namespace {stats.namespace!r} ({counted(stats.scopes, 'scope')})?"
    typer.confirm(question, abort=True, err=True)


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"


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
