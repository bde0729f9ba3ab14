"""What a namespace holds, as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiered_memory.assertions.forget import sweep, tallies
from tiered_memory.engine.keys import Keyspace
from tiered_memory.items import Stats
from tiered_memory.plan import Plan
from tiered_memory.tiers.enabled import Tiers

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Embedder


def survey(keyspace: Keyspace, embedder: Embedder, tiers: Tiers) -> Plan[Stats]:
    """The namespace's numbers, after what has expired was forgotten."""
    yield from sweep(keyspace)
    scopes, totals = yield from tallies(keyspace)
    names = [keeping.name for keeping in tiers.everything]

    def by_tier(status: str) -> dict[str, int]:
        return {name: totals.get((name, status), 0) for name in names}

    return Stats(
        namespace=keyspace.namespace,
        embedder=embedder.id,
        dimensions=embedder.dimensions,
        partitions=keyspace.partitions,
        scopes=scopes,
        memories=by_tier("active"),
        candidates=by_tier("candidate"),
        superseded=by_tier("superseded"),
    )
