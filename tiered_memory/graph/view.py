"""A view of a scope's graph: the newest facts with their entities, up to a number of nodes."""

from __future__ import annotations

from itertools import islice

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.graph import stored
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import GraphEdge, GraphView, Node
from tiered_memory.graph.stored import Couple
from tiered_memory.graph.times import Times
from tiered_memory.plan import Plan


def view(keys: ScopeKeys, limit: int, times: Times) -> Plan[GraphView]:
    """Up to `limit` nodes, and the edges between them."""
    found: dict[Node, None] = {}
    facts: dict[str, dict[EntityRef, None]] = {}
    texts: dict[str, str] = {}
    together: set[Couple] = set()
    start, more = 0, True
    while more and len(found) <= limit:
        page = yield from stored.newest(keys, start, min(limit + 1, stored.PAGE))
        start, more = start + len(page), bool(page) and not (times.present and page[-1].is_past)
        for fact in page:
            entities = fact.entities(times)
            if entities and len(found) <= limit:
                found |= dict.fromkeys((fact.memory_id, *entities))
                facts.setdefault(fact.memory_id, {}).update(dict.fromkeys(entities))
                texts.setdefault(fact.memory_id, fact.text)
                together.update(stored.couples(entities))  # by fact: an id may have several
    nodes = dict.fromkeys(islice(found, limit))
    shown = {fact: [entity for entity in facts[fact] if entity in nodes] for fact in nodes if isinstance(fact, str)}
    mentions = [GraphEdge("mention", entity, fact) for fact, entities in shown.items() for entity in entities]
    couples = sorted(couple for couple in together if nodes.keys() >= set(couple))
    counts = yield from stored.together(keys, couples)
    pairs = [GraphEdge("co-occurrence", *couple, count) for couple, count in zip(couples, counts, strict=True)]
    return GraphView(tuple(nodes), (*mentions, *pairs), len(found) > limit, {fact: texts[fact] for fact in shown})
