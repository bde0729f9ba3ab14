"""Marking what recalls have shown, late and together: a recall neither waits for it nor fails with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiered_memory import clock
from tiered_memory.assertions.keeping import RETENTION_HALF_LIFE, Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call
from tiered_memory.items import MemoryRecord
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.scope import digest


def marking(keyspace: Keyspace, keepings: Mapping[str, Keeping], surfaced: Iterable[MemoryRecord]) -> list[Command]:
    """The commands that mark memories as surfaced now; notes aren't marked."""
    by_partition: dict[str, list[str]] = {}
    for each in surfaced:
        keeping = keepings[each.tier]
        if not keeping.notes and each.status == "active":
            keys = keyspace.of(each.scope)
            by_partition.setdefault(keys.scopes, []).extend((*keeping.address(keys), digest(each.id)))
    now = clock.to_micros(clock.now())
    return [call("surface", key, (now, RETENTION_HALF_LIFE, *each)) for key, each in by_partition.items()]


def mark_surfaced(keyspace: Keyspace, keeping: Keeping, scope: str | None, ids: Sequence[str]) -> Plan[None]:
    """Marks the active memories at these ids as surfaced now; unknown ids are passed over."""
    keys = keyspace.of(scope)
    marked = [part for id in ids for part in (*keeping.address(keys), digest(id))]
    now = clock.to_micros(clock.now())
    if marked:
        yield from ask(call("surface", keys.scopes, (now, RETENTION_HALF_LIFE, *marked)), repeatable=False)
