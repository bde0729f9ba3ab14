"""What the memories of a scope are about: entities, the facts that mention them, and how these are found."""

from __future__ import annotations

from tiered_memory.graph.entities import KINDS, EntityRef, Other, known_epoch
from tiered_memory.graph.items import Fact, GraphEdge, GraphView, IndexEntry, PathHop, RetrievalPath
from tiered_memory.graph.operations import AsyncGraph, Graph

__all__ = [
    "KINDS",
    "AsyncGraph",
    "EntityRef",
    "Fact",
    "Graph",
    "GraphEdge",
    "GraphView",
    "IndexEntry",
    "Other",
    "PathHop",
    "RetrievalPath",
    "known_epoch",
]
