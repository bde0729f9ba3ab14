"""The graph of a scope in our store: every change is one script, every reading bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any, TypeAlias

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.facts import StoredFact, memory_id_of
from tiered_memory.graph.items import IndexEntry
from tiered_memory.graph.times import Times
from tiered_memory.plan import Command, Plan, ask

READ = 1000
"""How many facts are read at the most to find those that mention entities; as many for their siblings."""

_AT_ONCE = 100
"""How many facts one script indexes or forgets, so that it never holds up the server for long."""

_PAGE = 500
"""How many facts are listed in one step."""

_CLEARED = 1000


@frozen
class Reached:
    """A fact that was reached from entities.

    Attributes:
        memory_id: The id of its memory.
        direct: Whether it mentions one of them; otherwise it mentions a sibling.
        weight: How rare those of its entities are that led to it, summed up.
        met: How often the siblings that led to it were met.
        entities: What it mentions, if that was asked for.
    """

    memory_id: str
    direct: bool
    weight: int
    met: int
    entities: tuple[EntityRef, ...] = ()


def index(keys: ScopeKeys, entries: Sequence[IndexEntry]) -> Plan[int]:
    """Indexes the entries that have entities, in one round trip; how many facts are new."""
    now = clock.now_micros()
    wanted = [entry for entry in entries if entry.entities]
    commands = [
        call("graph_index", keys.scopes, (now, keys.member, keys.token("graph"), *_arguments(part)))
        for part in _parts(wanted)
    ]
    return sum((yield from ask(*commands)))


def close(keys: ScopeKeys, memory_ids: Sequence[str], valid_to: datetime) -> Plan[int]:
    """Closes the open facts of memories; how many were open."""
    now, end = clock.now_micros(), clock.to_micros(valid_to)
    commands = [call("graph_close", keys.scopes, (now, keys.token("graph"), end, *part)) for part in _parts(memory_ids)]
    return sum((yield from ask(*commands)))


def forget(keys: ScopeKeys, memory_ids: Sequence[str]) -> Plan[int]:
    """Forgets all facts of memories; how many that were."""
    commands = [
        call("graph_forget", keys.scopes, (keys.member, keys.token("graph"), *part)) for part in _parts(memory_ids)
    ]
    return sum((yield from ask(*commands)))


def clear(keys: ScopeKeys) -> Plan[int]:
    """Forgets all facts, step by step; how many that were."""
    (total,) = yield from ask(("HLEN", keys.key("facts", "graph")))
    more = True
    while more:
        (more,) = yield from ask(call("graph_clear", keys.scopes, (keys.member, keys.token("graph"), _CLEARED)))
    return int(total)


def facts(keys: ScopeKeys, memory_id: str) -> Plan[list[StoredFact]]:
    """The facts of a memory, the newest first."""
    (rows,) = yield from ask(call("graph_facts", keys.scopes, (keys.token("graph"), memory_id)))
    return [StoredFact.read(*row) for row in rows]


def newest(keys: ScopeKeys, start: int, count: int = _PAGE) -> Plan[list[StoredFact]]:
    """Up to `count` facts, the newest first, from a place on."""
    places = (start, start + count - 1)
    (rows,) = yield from ask(call("graph_list", keys.scopes, (keys.token("graph"), *places)))
    return [StoredFact.read(*row) for row in rows]


def reach(
    keys: ScopeKeys, entities: Sequence[EntityRef], limit: int, times: Times, *, mentions: bool = False
) -> Plan[list[Reached]]:
    """Up to `limit` facts that mention entities or a sibling of theirs, in their order, and what they mention."""
    if not entities:
        return []
    bounds: tuple[float | str, ...] = (times.from_most, times.to_least, times.known_by, "mentions" if mentions else "")
    arguments = (keys.token("graph"), limit, READ, *bounds, *map(str, entities))
    (found,) = yield from ask(call("graph_reach", keys.scopes, arguments))
    direct, others = (_rows(flat, direct=place == 0) for place, flat in enumerate(found))
    best: dict[str, Reached] = {}
    for row in (*direct, *others):
        if len(best) == limit:
            break
        best.setdefault(row[4], _reached(row))
    return list(best.values())


def frequencies(keys: ScopeKeys) -> Plan[dict[EntityRef, int]]:
    """How many facts mention each entity."""
    (reply,) = yield from ask(("HGETALL", keys.key("entities", "graph")))
    return {EntityRef.parse(text(entity)): int(count) for entity, count in pairs(reply).items()}


def together(keys: ScopeKeys, wanted: Iterable[tuple[EntityRef, EntityRef]]) -> Plan[list[int]]:
    """How many facts mention both entities of each pair."""
    commands: list[Command] = [
        ("ZINTERCARD", 2, keys.mentions(str(first)), keys.mentions(str(second))) for first, second in wanted
    ]
    return (yield from ask(*commands))


def couples(entities: Iterable[EntityRef]) -> list[tuple[EntityRef, EntityRef]]:
    """All pairs of different entities, each in their order."""
    return list(combinations(sorted(entities), 2))


def _parts(whole: Sequence[Any]) -> list[Any]:
    return [whole[start : start + _AT_ONCE] for start in range(0, len(whole), _AT_ONCE)]


def _arguments(entries: Iterable[IndexEntry]) -> list[str | int]:
    return [argument for entry in entries for argument in _entry(entry)]


def _entry(entry: IndexEntry) -> tuple[str | int, ...]:
    start = "" if entry.valid_from is None else clock.to_micros(entry.valid_from)
    return (entry.memory_id, entry.text, start, len(entry.entities), *map(str, entry.entities))


_Row: TypeAlias = "tuple[bool, int, int, int, str, bytes]"


def _rows(flat: Sequence[Any], *, direct: bool) -> list[_Row]:
    """Facts in their order: the rarest, those whose siblings were most often met, the newest, and by id."""
    columns = (flat[place::5] for place in range(5))
    return sorted(
        (not direct, -int(weight), -int(met), -int(recorded), memory_id_of(name), mentions)
        for name, weight, met, recorded, mentions in zip(*columns, strict=True)
    )


def _reached(row: _Row) -> Reached:
    sibling, weight, met, _, memory_id, mentions = row
    entities = tuple(map(EntityRef.parse, text(mentions).split("\n"))) if mentions else ()
    return Reached(memory_id, not sibling, -weight, -met, entities)
