"""The commands of `tiered-memory review`: what waits, looked at, promoted and rejected."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from tiered_memory.cli import views
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, plain, printable
from tiered_memory.cli.parameters import AnyTier, Cursor, Id, Limit, Scope, Source, Tier
from tiered_memory.cli.waiting import Verdict, answer, decide, waiting, waiting_at
from tiered_memory.cli.walk import run

app = typer.Typer(help="Review claims that wait: look at them, promote or reject them.", no_args_is_help=True)


@command(app, "list")
def list_claims(
    options: Options,
    tier: AnyTier = None,
    scope: Scope = None,
    source: Source = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer:
    """List what waits, tier by tier, the oldest first, and what it would take the place of."""
    with options.open_scope(scope) as handle:
        page = handle.review.pending(tier, source=source, limit=limit, cursor=cursor)
    return Answer(plain(page), views.claims(page))


@command(app)
def show(options: Options, id: Id, tier: Tier = "semantic", scope: Scope = None) -> Answer:
    """Show what waits at an id and what stands there side by side, why it waits, and the history."""
    with options.open_scope(scope) as handle:
        found = waiting_at(handle, id, tier)
        history = handle.history(id, tier)
    claim = found.claim
    shown = [
        views.claim(claim, found.others),
        Text(f"\nTo decide on just this: --version {claim.version}", style="dim"),
    ]
    above = {each.number for each in (claim.candidate, claim.active) if each}
    if rest := [each for each in history if each.number not in above]:
        shown += [Text("\nAlso at this id", style="bold"), views.history(rest)]
    return Answer({**plain(claim), "history": [plain(each) for each in history]}, Group(*shown))


@command(app)
def walk(options: Options, tier: AnyTier = None, scope: Scope = None, source: Source = None) -> Answer:
    """Go through what waits, claim by claim, and answer for each: promote, reject, skip or quit."""
    return run(options, tier=tier, scope=scope, source=source)


OneId = Annotated[str | None, typer.Argument(help="Where it waits in its tier and scope.", show_default=False)]
OneTier = Annotated[str | None, typer.Option(help="Its tier.", show_default="semantic for an ID, all tiers for --all")]
Version = Annotated[
    str | None, typer.Option(help="Decide only while this version waits and stands there.", show_default="whichever")
]
All = Annotated[bool, typer.Option("--all", help="All that waits.")]


@command(app)
def promote(
    options: Options,
    id: OneId = None,
    tier: OneTier = None,
    scope: Scope = None,
    version: Version = None,
    everything: All = False,
    source: Source = None,
) -> Answer:
    """Promote the newest claim at an ID, or at each id with --all: it takes the place of what stands there."""
    _check_choice(id, version, everything, source)
    if id is None:
        return _decide_all(options, "promote", tier, scope, source)
    return _decide_one(options, "promote", id, tier or "semantic", scope, version)


@command(app)
def reject(
    options: Options,
    id: OneId = None,
    tier: OneTier = None,
    scope: Scope = None,
    version: Version = None,
    everything: All = False,
    source: Source = None,
) -> Answer:
    """Drop all claims at an ID, or at each id with --all, without a trace: what stands there stays."""
    _check_choice(id, version, everything, source)
    if id is None:
        return _decide_all(options, "reject", tier, scope, source)
    return _decide_one(options, "reject", id, tier or "semantic", scope, version)


def _check_choice(id: str | None, version: str | None, everything: bool, source: str | None) -> None:
    if everything == (id is not None):
        raise typer.BadParameter("say what to decide on: either an ID or --all")
    if (version is not None and everything) or (source is not None and not everything):
        raise typer.BadParameter("--version goes with an ID, and --source with --all")


def _decide_one(
    options: Options, verdict: Verdict, id: str, tier: str, scope: str | None, version: str | None
) -> Answer:
    with options.open_scope(scope) as handle:
        act = handle.review.promote if verdict == "promote" else handle.review.reject
        act(id, tier, version=version)
    outcome = "promoted" if verdict == "promote" else "rejected"
    data = {"reviewed": [{"id": id, "tier": tier, "outcome": outcome}]}
    return Answer(data, f"{outcome} in {tier}, id {printable(id)}")


def _decide_all(options: Options, verdict: Verdict, tier: str | None, scope: str | None, source: str | None) -> Answer:
    with options.open_scope(scope) as handle:
        claims = [each.claim for each in waiting(handle, tier, source)]
        reviewed = decide(handle, verdict, claims)
    return answer(reviewed, views.reviewed(reviewed))
