"""The commands that show what stands: at an id, in a tier, and over time."""

from __future__ import annotations

import typer

from tiered_memory.cli import views
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, plain
from tiered_memory.cli.parameters import Cursor, Id, Limit, Scope, Tier
from tiered_memory.errors import NotFound

app = typer.Typer()


@command(app)
def get(options: Options, id: Id, tier: Tier = "semantic", scope: Scope = None) -> Answer:
    """Show what stands at an id."""
    with options.open_scope(scope) as handle:
        memory = handle.get(id, tier)
    if memory is None:
        raise NotFound(f"nothing stands at id {id!r} in tier {tier!r}")
    return Answer(plain(memory), views.card(memory))


@command(app, "list")
def list_memories(
    options: Options, tier: Tier = "semantic", scope: Scope = None, limit: Limit = 100, cursor: Cursor = None
) -> Answer:
    """List what stands in a tier, in the order in which it was first remembered."""
    with options.open_scope(scope) as handle:
        page = handle.list(tier, limit=limit, cursor=cursor)
    return Answer(plain(page), views.memories(page))


@command(app)
def history(options: Options, id: Id, tier: Tier = "semantic", scope: Scope = None) -> Answer:
    """Show all that was and is claimed at an id: what stands and stood there, then what waits, each newest first."""
    with options.open_scope(scope) as handle:
        found = handle.history(id, tier)
    return Answer({"history": [plain(each) for each in found]}, views.history(found))
