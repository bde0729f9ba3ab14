"""Draws the graph of a few memories, as `tiered_memory.graph` draws any, into docs/images/graph.svg."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from tiered_memory.graph import EntityRef, GraphEdge, GraphView, PatternExtractor, svg

MEMORIES = {
    "trip": "In May Ana Lee flew to Lisbon.",
    "fado": "The bar with fado in Lisbon was Tasca do Chico.",
    "ticket": "For TICKET-7 we asked Ana Lee and Rui.",
    "policy": "Under POL-12 only Rui may close TICKET-7.",
}


def view() -> GraphView:
    """The memories with the entities that patterns find in them."""
    found = {memory_id: PatternExtractor().extract(text) for memory_id, text in MEMORIES.items()}
    nodes = dict.fromkeys(node for memory_id, entities in found.items() for node in (memory_id, *entities))
    mentions = [GraphEdge("mention", entity, memory_id) for memory_id, entities in found.items() for entity in entities]
    together: dict[tuple[EntityRef, EntityRef], int] = {}
    for entities in found.values():
        for pair in combinations(sorted(entities), 2):
            together[pair] = together.get(pair, 0) + 1
    pairs = [GraphEdge("co-occurrence", *pair, count) for pair, count in sorted(together.items())]
    return GraphView(tuple(nodes), (*mentions, *pairs), texts=MEMORIES)


def draw() -> str:
    """The picture."""
    return svg(view())


if __name__ == "__main__":
    (Path(__file__).parent.parent / "docs" / "images" / "graph.svg").write_text(draw(), "utf-8")
