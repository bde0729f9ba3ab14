"""What was remembered just before and after hits: the neighbouring turns of their conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tiered_memory import clock
from tiered_memory.assertions.fields import is_of, note
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import pairs
from tiered_memory.engine.scripts import call
from tiered_memory.items import MemoryRecord, RecalledMemory
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest


def add_neighbours(
    keyspace: Keyspace, keepings: Sequence[Keeping], hits: Iterable[RecalledMemory], count: int
) -> Plan[None]:
    """Gives each hit up to `count` active memories of its tier, scope and conversation before it, and after it."""
    kept = {keeping.name: keeping for keeping in keepings}
    places: dict[tuple[str, str | None], list[RecalledMemory]] = {}
    for hit in hits:
        places.setdefault((hit.tier, hit.scope), []).append(hit)
    commands = []
    for (tier, scope), found in places.items():
        keys = keyspace.of(scope)
        digests = [digest(hit.id) for hit in found]
        arguments: list[str | int] = [clock.now_micros(), *kept[tier].address(keys), count, *digests]
        commands.append(call("neighbours", keys.scopes, arguments))
    replies = yield from ask(*commands)
    for ((tier, scope), found), reply in zip(places.items(), replies, strict=True):
        for hit, (before, after) in zip(found, reply, strict=True):
            hit.before = _memories(reversed(before), tier, keyspace.of(scope))
            hit.after = _memories(after, tier, keyspace.of(scope))


def _memories(found: Iterable[Any], tier: str, keys: ScopeKeys) -> list[MemoryRecord]:
    return [note(fields, tier) for fields in map(pairs, found) if is_of(fields, keys)]
