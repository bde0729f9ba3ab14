"""What the memories of a scope are about: entities, the facts that mention them, and how these are found."""

from __future__ import annotations

from tiered_memory.graph.entities import KINDS, EntityRef, Other, known_epoch
from tiered_memory.graph.extract import ChainExtractor, EntityExtractor, FixedExtractor
from tiered_memory.graph.items import Fact, GraphEdge, GraphView, IndexEntry, PathHop, RetrievalPath
from tiered_memory.graph.llm import LLMExtractor
from tiered_memory.graph.operations import AsyncGraph, Graph
from tiered_memory.graph.patterns import PatternExtractor
from tiered_memory.graph.picture import mermaid, svg
from tiered_memory.graph.rank import pagerank

__all__ = [
    "KINDS",
    "AsyncGraph",
    "ChainExtractor",
    "EntityExtractor",
    "EntityRef",
    "Fact",
    "FixedExtractor",
    "Graph",
    "GraphEdge",
    "GraphView",
    "IndexEntry",
    "LLMExtractor",
    "Other",
    "PathHop",
    "PatternExtractor",
    "RetrievalPath",
    "known_epoch",
    "mermaid",
    "pagerank",
    "svg",
]
