"""Marking what recalls have shown, late and together: a recall neither waits for it nor fails with it."""

from __future__ import annotations

from collections.abc import Iterable

from tiered_memory import clock
from tiered_memory.assertions.keeping import RETENTION_HALF_LIFE, Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call
from tiered_memory.plan import Command
from tiered_memory.scope import digest


def marking(keyspace: Keyspace, surfaced: Iterable[tuple[Keeping, str | None, str]]) -> list[Command]:
    """The commands that mark memories, given by tier, scope and id, as surfaced now."""
    by_partition: dict[str, list[str]] = {}
    for keeping, scope, id in surfaced:
        keys = keyspace.of(scope)
        by_partition.setdefault(keys.scopes, []).extend((*keeping.address(keys), digest(id)))
    now = clock.to_micros(clock.now())
    return [call("surface", key, (now, RETENTION_HALF_LIFE, *each)) for key, each in by_partition.items()]
