"""The commands that forget: an id, what matches a rule, a tier, history, or all of a scope."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted
from tiered_memory.cli.parameters import AnyTier, Scope, Source, json_object, moment
from tiered_memory.items import Stats
from tiered_memory.memory import Memory

app = typer.Typer()


@command(app)
def forget(
    options: Options,
    id: Annotated[str | None, typer.Argument(help="Where it stands in its tier and scope.", show_default=False)] = None,
    tier: Annotated[
        str | None, typer.Option(help="Its tier.", show_default="semantic for an ID, all that are searched for a rule")
    ] = None,
    scope: Scope = None,
    source: Source = None,
    before: Annotated[datetime | None, moment("Only what happened before this", "any time")] = None,
    metadata: Annotated[dict[str, Any] | None, json_object("Only what has these names and values.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what the rule matches.")] = False,
) -> Answer:
    """Forget an ID, or all that matches a rule (--source, --before, --metadata), with what waits there and history."""
    by_rule = any(each is not None for each in (source, before, metadata))
    if by_rule == (id is not None) or (dry_run and not by_rule):
        raise typer.BadParameter("say what to forget: either an ID, or a rule by --source, --before or --metadata")
    with options.open_scope(scope) as handle:
        if id is not None:
            return _forgot(handle.forget(id, tier or "semantic"))
        number = handle.forget_where(tier=tier, source=source, before=before, metadata=metadata, dry_run=dry_run)
    if dry_run:
        return Answer({"matching_ids": number}, f"would forget what stands and waits at {counted(number, 'id')}")
    return _forgot(number)


@command(app)
def prune(
    options: Options,
    tier: AnyTier = None,
    scope: Scope = None,
    keep: Annotated[
        int | None, typer.Option(help="How many to keep at each id, the newest.", show_default="none")
    ] = None,
    older_than: Annotated[datetime | None, moment("Only what was superseded before this", "any time")] = None,
) -> Answer:
    """Drop history: what was superseded. What is active or waits stays."""
    if keep is None and older_than is None:
        raise typer.BadParameter("say which history to drop by --keep or --older-than; --keep 0 drops all of it")
    with options.open_scope(scope) as handle:
        pruned = handle.prune_history(tier=tier, keep=keep or 0, older_than=older_than)
    return Answer({"pruned": pruned}, f"dropped {_memories(pruned)} of history")


@command(app)
def clear(
    options: Options,
    scope: Annotated[str | None, typer.Option(help="The exact scope to forget.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget in EVERY scope of the namespace.")] = False,
    tier: AnyTier = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before forgetting with --all.")] = False,
) -> Answer:
    """Forget a scope, or a tier of it; with --all, every scope."""
    if everything == (scope is not None):
        raise typer.BadParameter("say what to forget: either --scope SCOPE or --all")
    with options.open() as mem:
        if everything and not yes:
            _confirm_all(mem.stats(), tier)
        cleared = mem.clear(tier) if scope is None else mem.scoped(scope).clear(tier)
    return Answer({"cleared": cleared}, f"forgot {_memories(cleared)}")


def _confirm_all(stats: Stats, tier: str | None) -> None:
    what = "everything" if tier is None else f"tier {tier!r}"
    question = f"Forget {what} in namespace {stats.namespace!r} ({counted(stats.scopes, 'scope')})?"
    typer.confirm(question, abort=True, err=True)


@command(app)
def erase(
    options: Options,
    scope: Annotated[str | None, typer.Argument(help="The exact scope to erase.", show_default=False)] = None,
    unscoped: Annotated[bool, typer.Option("--unscoped", help="Erase the unscoped pool.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> Answer:
    """Erase all of a scope, and prove that nothing of it is left. Asks first."""
    if unscoped == (scope is not None):
        raise typer.BadParameter("say what to erase: either a SCOPE or --unscoped")
    with options.open() as mem:
        if not yes:
            _confirm_scope(mem, scope)
        erased = mem.erase(scope)
    left = "Redis' append-only file holds it until BGREWRITEAOF; so do backups."
    return Answer({"erased": erased}, f"erased {_memories(erased)}; nothing of the scope is left. {left}")


def _confirm_scope(mem: Memory, scope: str | None) -> None:
    handle = mem if scope is None else mem.scoped(scope)
    numbers = handle.memory_stats().by_status
    held = f"{handle.count()} active, {numbers['candidate']} waiting, {numbers['superseded']} superseded"
    what = "the unscoped pool" if scope is None else f"scope {scope!r}"
    typer.confirm(f"Erase {what} ({held})?", abort=True, err=True)


def _forgot(number: int) -> Answer:
    return Answer({"forgotten": number}, f"forgot {_memories(number)}")


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"
