"""Marking what recalls have shown, late and together: a recall neither waits for it nor fails with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
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
        ids: dict[tuple[str, str | None], list[str]] = {}
        for tier, scope, id in marked:
            if not keepings[tier].notes:
                ids.setdefault((tier, scope), []).append(id)
        return [_mark(keyspace, keepings[tier], scope, found, now) for (tier, scope), found in ids.items()]

    return Later(commands)


def mark_surfaced(keyspace: Keyspace, keeping: Keeping, scope: str | None, ids: Sequence[str]) -> Plan[None]:
    """Marks the active memories at these ids as surfaced now; unknown ids are passed over."""
    if ids:
        now = clock.to_micros(clock.now())
        yield from ask(_mark(keyspace, keeping, scope, ids, now), repeatable=False)


def _mark(keyspace: Keyspace, keeping: Keeping, scope: str | None, ids: Sequence[str], now: int) -> Command:
    keys = keyspace.of(scope)
    half_life = keeping.half_life if keeping.is_bounded else ""
    return call("surface", keys.scopes, (now, *keeping.address(keys), half_life, len(ids), *map(digest, ids)))
