"""Marking what recalls have shown, late and together: a recall neither waits for it nor fails with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiered_memory import clock
from tiered_memory.assertions.keeping import RETENTION_HALF_LIFE, Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call
from tiered_memory.items import MemoryRecord
from tiered_memory.plan import Command, Later, Plan, ask
from tiered_memory.scope import digest


def marking(keyspace: Keyspace, keepings: Mapping[str, Keeping], surfaced: Iterable[MemoryRecord]) -> Later:
    """Marks memories as surfaced now, with some later batch; notes and superseded ones aren't marked."""
    now = clock.to_micros(clock.now())
    marked = [(each.tier, each.scope, each.id) for each in surfaced if each.status == "active"]

    def commands() -> list[Command]:
        by_partition: dict[str, list[str]] = {}
        for tier, scope, id in marked:
            if not keepings[tier].notes:
                keys = keyspace.of(scope)
                by_partition.setdefault(keys.scopes, []).extend((*keepings[tier].address(keys), digest(id)))
        return [call("surface", key, (now, RETENTION_HALF_LIFE, *each)) for key, each in by_partition.items()]

    return Later(commands)


def mark_surfaced(keyspace: Keyspace, keeping: Keeping, scope: str | None, ids: Sequence[str]) -> Plan[None]:
    """Marks the active memories at these ids as surfaced now; unknown ids are passed over."""
    keys = keyspace.of(scope)
    marked = [part for id in ids for part in (*keeping.address(keys), digest(id))]
    now = clock.to_micros(clock.now())
    if marked:
        yield from ask(call("surface", keys.scopes, (now, RETENTION_HALF_LIFE, *marked)), repeatable=False)
