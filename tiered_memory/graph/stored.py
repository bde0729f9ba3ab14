"""The graph of a scope in our store: every change is one script, every reading bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any, TypeAlias

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.facts import NO_TIER, StoredFact, parted
from tiered_memory.graph.items import IndexEntry
from tiered_memory.graph.times import Times
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.scope import digest

READ = 1000
"""How many facts are read to find those that mention entities, unless fewer are wanted; as many for their siblings."""

_AT_ONCE = 100
"""How many facts one script indexes or forgets, so that it never holds up the server for long."""

PAGE = 500
"""How many facts are listed in one step."""

_CLEARED = 1000

Couple: TypeAlias = "tuple[EntityRef, EntityRef]"
"""Two different entities, in their order."""


@frozen
class Reached:
    """A fact that was reached from entities.

    Attributes:
        memory_id: The id of its memory.
        record: The number of the record that states it; None for a fact that was indexed by hand.
        direct: Whether it mentions one of them; otherwise it mentions a sibling.
        weight: How rare those of its entities are that led to it, summed up.
        met: How often the siblings that led to it were met.
        entities: What it mentions, if that was asked for.
    """

    memory_id: str
    record: str | None
    direct: bool
    weight: int
    met: int
    entities: tuple[EntityRef, ...] = ()


def index(keys: ScopeKeys, entries: Sequence[IndexEntry]) -> Plan[int]:
    """Indexes the entries that have entities, in one round trip; of how many the memory was there, or needn't be."""
    now = clock.now_micros()
    wanted = [entry for entry in entries if entry.entities]
    commands = [
        call("graph_index", keys.scopes, (now, keys.member, keys.token("graph"), *_arguments(keys, part)))
        for part in _parts(wanted)
    ]
    return sum((yield from ask(*commands)))


def close(keys: ScopeKeys, tiers: Sequence[Keeping], memory_id: str, valid_to: datetime) -> Plan[int]:
    """Closes the open facts of an id; how many were open."""
    arguments = (clock.now_micros(), keys.token("graph"), clock.to_micros(valid_to), *_ids(keys, tiers, memory_id))
    (closed,) = yield from ask(call("graph_close", keys.scopes, arguments))
    return int(closed)


def forget(keys: ScopeKeys, tiers: Sequence[Keeping], memory_id: str) -> Plan[int]:
    """Forgets all facts of an id; how many that were."""
    arguments = (keys.member, keys.token("graph"), *_ids(keys, tiers, memory_id))
    (forgotten,) = yield from ask(call("graph_forget", keys.scopes, arguments))
    return int(forgotten)


def clear(keys: ScopeKeys) -> Plan[int]:
    """Forgets all facts, step by step; how many that were."""
    (total,) = yield from ask(("HLEN", keys.key("facts", "graph")))
    more = True
    while more:
        (more,) = yield from ask(call("graph_clear", keys.scopes, (keys.member, keys.token("graph"), _CLEARED)))
    return int(total)


def facts(keys: ScopeKeys, tiers: Sequence[Keeping], memory_id: str) -> Plan[list[StoredFact]]:
    """The facts of an id, the newest first."""
    arguments = (keys.token("graph"), *_ids(keys, tiers, memory_id))
    (rows,) = yield from ask(call("graph_facts", keys.scopes, arguments))
    return sorted((StoredFact.read(*row) for row in rows), key=lambda fact: -fact.number)


def newest(keys: ScopeKeys, start: int, count: int = PAGE) -> Plan[list[StoredFact]]:
    """Up to `count` facts, the newest first, from a place on."""
    places = (start, start + count - 1)
    (rows,) = yield from ask(call("graph_list", keys.scopes, (keys.token("graph"), *places)))
    return [StoredFact.read(*row) for row in rows]


def reach(
    keys: Sequence[ScopeKeys],
    entities: Sequence[EntityRef],
    limit: int,
    times: Times,
    *,
    read: int = READ,
    mentions: bool = False,
) -> Plan[list[list[Reached] | Exception]]:
    """In each scope the facts of up to `limit` memories that mention entities or a sibling of theirs, in their order.

    No more than `read` facts are looked at for either. For a scope whose graph can't be read it is the error.
    """
    from tiered_memory.engine.faults import ours  # which needs redis-py, that a command line's help shouldn't wait for

    if not entities:
        return [[] for _ in keys]
    bounds: tuple[float | str, ...] = (times.from_most, times.to_least, times.known_by, "mentions" if mentions else "")
    named = (limit, read, *bounds, *map(str, entities))
    commands = [call("graph_reach", each.scopes, (each.token("graph"), *named)) for each in keys]
    replies = yield from ask(*commands, keep_errors=True)
    return [ours(reply) if isinstance(reply, Exception) else _reached(reply, limit) for reply in replies]


def frequencies(keys: ScopeKeys) -> Plan[dict[EntityRef, int]]:
    """How many facts mention each entity."""
    (reply,) = yield from ask(("HGETALL", keys.key("entities", "graph")))
    return {EntityRef.parse(text(entity)): int(count) for entity, count in pairs(reply).items()}


def together(keys: ScopeKeys, wanted: Iterable[Couple]) -> Plan[list[int]]:
    """How many facts mention both entities of each pair."""
    commands: list[Command] = [
        ("ZINTERCARD", 2, keys.mentions(str(first)), keys.mentions(str(second))) for first, second in wanted
    ]
    return (yield from ask(*commands))


def couples(entities: Iterable[EntityRef]) -> list[Couple]:
    """All pairs of different entities, each in their order."""
    return list(combinations(sorted(entities), 2))


def _parts(whole: Sequence[Any]) -> list[Any]:
    return [whole[start : start + _AT_ONCE] for start in range(0, len(whole), _AT_ONCE)]


def _ids(keys: ScopeKeys, tiers: Sequence[Keeping], memory_id: str) -> tuple[str | int, ...]:
    """An id, and the tiers in which memories of it may state facts, as the scripts are told."""
    return (len(tiers), *(keys.token(tier.name) for tier in tiers), memory_id, digest(memory_id))


def _arguments(keys: ScopeKeys, entries: Iterable[IndexEntry]) -> list[str | int]:
    return [argument for entry in entries for argument in _entry(keys, entry)]


def _entry(keys: ScopeKeys, entry: IndexEntry) -> tuple[str | int, ...]:
    start = "" if entry.valid_from is None else clock.to_micros(entry.valid_from)
    token, tier = ("", NO_TIER) if entry.tier is None else (keys.token(entry.tier), entry.tier)
    named = (digest(entry.memory_id), entry.memory_id, entry.text)
    return (token, tier, *named, start, len(entry.entities), *map(str, entry.entities))


_Row: TypeAlias = "tuple[bool, int, int, int, str, str, bytes]"


def _rows(flat: Sequence[Any], *, direct: bool) -> list[_Row]:
    """Facts in their order: the rarest, those whose siblings were most often met, the newest, and by id."""
    columns = (flat[place::6] for place in range(6))
    return sorted(_row(direct, *values) for values in zip(*columns, strict=True))


def _row(direct: bool, name: Any, weight: Any, met: Any, recorded: Any, tier: Any, mentions: Any) -> _Row:
    memory_id, number = parted(name)
    record = "" if text(tier) == NO_TIER else number
    return (not direct, -int(weight), -int(met), -int(recorded), memory_id, record, mentions)


def _reached(reply: Any, limit: int) -> list[Reached]:
    direct, others = (_rows(flat, direct=place == 0) for place, flat in enumerate(reply))
    ids: dict[str, None] = {}
    found = []
    for sibling, weight, met, _, memory_id, record, mentions in (*direct, *others):
        ids[memory_id] = None
        if len(ids) > limit:
            break
        entities = tuple(map(EntityRef.parse, text(mentions).split("\n"))) if mentions else ()
        found.append(Reached(memory_id, record or None, not sibling, -weight, -met, entities))
    return found
