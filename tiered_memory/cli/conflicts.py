"""The commands about memories that say almost the same: `conflicts` and `resolve`."""

from __future__ import annotations

from math import nan
from typing import Annotated

import typer

from tiered_memory.cli import views
from tiered_memory.cli.options import Handle, Options, command
from tiered_memory.cli.output import Answer, plain, printable
from tiered_memory.cli.parameters import AnyTier, Limit, Scope, Tier
from tiered_memory.errors import NotFound
from tiered_memory.items import Assertion, Conflict

app = typer.Typer()


@command(app)
def conflicts(
    options: Options,
    tier: AnyTier = None,
    scope: Scope = None,
    threshold: Annotated[float, typer.Option(help="The least cosine of a pair, from -1 to 1.")] = 0.9,
    limit: Limit = 100,
) -> Answer:
    """Find pairs of active memories that say almost the same, the most similar first."""
    with options.open_scope(scope) as handle:
        found = handle.conflicts(tier=tier, threshold=threshold, limit=limit)
    return Answer({"conflicts": [plain(each) for each in found]}, views.conflicts(found))


@command(app)
def resolve(
    options: Options,
    a: Annotated[str, typer.Argument(help="The id of one of the two.", show_default=False)],
    b: Annotated[str, typer.Argument(help="The id of the other one.", show_default=False)],
    keep: Annotated[str, typer.Option(help="Which one stays: `a`, `b` or `both`.", show_default=False)],
    tier: Tier = "semantic",
    scope: Scope = None,
    text: Annotated[str | None, typer.Option(help="What the one that stays says from now on.")] = None,
) -> Answer:
    """End a conflict: keep one and forget the other, or keep both and never report the pair again."""
    with options.open_scope(scope) as handle:
        conflict = Conflict(_active(handle, a, tier), _active(handle, b, tier), similarity=nan)
        handle.resolve(conflict, keep, text=text)  # type: ignore[arg-type]  # it is checked there
    kept = [a, b] if keep == "both" else [a if keep == "a" else b]
    return Answer({"tier": tier, "kept": kept}, f"kept {' and '.join(map(printable, kept))} in {tier}")


def _active(handle: Handle, id: str, tier: str) -> Assertion:
    for each in handle.history(id, tier):
        if each.status == "active":
            return each
    raise NotFound(f"nothing stands at id {id!r} in tier {tier!r}")
