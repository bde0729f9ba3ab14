"""How facts were reached from entities: directly, or by a fact that mentions two of them."""

from __future__ import annotations

from collections.abc import Sequence

from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import PathHop, RetrievalPath
from tiered_memory.graph.stored import Reached


def paths(asked: Sequence[EntityRef], reached: Sequence[Reached]) -> list[RetrievalPath]:
    """One path for each mention of an entity, asked for or a sibling, by a fact that was reached, in the facts' order.

    A sibling is reached by the first fact that mentions it together with an entity that was asked for, and from the
    first of these that was asked for.
    """
    ways = _ways(asked, reached)
    found = (
        RetrievalPath((*ways[entity], PathHop(entity, fact.memory_id)))
        for fact in reached
        for entity in sorted(fact.entities, key=lambda each: (len(ways.get(each, ())), each))
        if entity in ways
    )
    return list(dict.fromkeys(found))  # memories of one id in several tiers may state the same


def _ways(asked: Sequence[EntityRef], reached: Sequence[Reached]) -> dict[EntityRef, tuple[PathHop, ...]]:
    """The hops that lead to each entity by which a fact may be reached: none, or the one that led to a sibling."""
    ways: dict[EntityRef, tuple[PathHop, ...]] = dict.fromkeys(asked, ())
    for fact in reached:
        entry = next((entity for entity in asked if entity in fact.entities), None)
        if fact.direct and entry is not None:
            for entity in fact.entities:
                ways.setdefault(entity, (PathHop(entry, fact.memory_id),))
    return ways
