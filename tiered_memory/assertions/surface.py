"""Marking what recalls have shown, late and together: a recall neither waits for it nor fails with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call
from tiered_memory.items import MemoryRecord
from tiered_memory.plan import Command, Later, Plan, ask
from tiered_memory.scope import digest


@frozen
class _Shown:
    """Memories, by tier, scope and id, that were shown at the same time."""

    keyspace: Keyspace
    keepings: Mapping[str, Keeping]
    memories: Sequence[tuple[str, str | None, str]]
    now: int


def marking(keyspace: Keyspace, keepings: Mapping[str, Keeping], surfaced: Iterable[MemoryRecord]) -> Later:
    """Marks memories as surfaced now, with some later batch; notes and superseded ones aren't marked."""
    memories = [(each.tier, each.scope, each.id) for each in surfaced if each.status == "active"]
    return Later(_marks, _Shown(keyspace, keepings, memories, clock.now_micros()))


def mark_surfaced(keyspace: Keyspace, keeping: Keeping, scope: str | None, ids: Sequence[str]) -> Plan[None]:
    """Marks the active memories at these ids as surfaced now; unknown ids are passed over."""
    memories = [(keeping.name, scope, id) for id in ids]
    now = clock.now_micros()
    yield from ask(*_marks([_Shown(keyspace, {keeping.name: keeping}, memories, now)]), repeatable=False)


def _marks(shown: Iterable[_Shown]) -> list[Command]:
    """One command for each partition."""
    arguments: dict[str, list[str | int]] = {}
    for each in shown:
        ids: dict[tuple[str, str | None], list[str]] = {}
        for tier, scope, id in each.memories:
            if not each.keepings[tier].notes:
                ids.setdefault((tier, scope), []).append(id)
        for (tier, scope), found in ids.items():
            keys, keeping = each.keyspace.of(scope), each.keepings[tier]
            half_life = keeping.half_life if keeping.is_bounded else ""
            block = (*keeping.address(keys), half_life, each.now, len(found), *map(digest, found))
            arguments.setdefault(keys.scopes, []).extend(block)
    return [call("surface", key, given) for key, given in arguments.items()]
