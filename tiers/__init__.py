"""The four tiers, and what a tier of your own is made from."""

from __future__ import annotations

from tiered_memory.tiers.base import Candidate, Found, Search, Tier
from tiered_memory.tiers.episodic import EpisodicTier
from tiered_memory.tiers.procedural import ProceduralTier
from tiered_memory.tiers.semantic import SemanticTier
from tiered_memory.tiers.vector import VectorTier
from tiered_memory.tiers.working import WorkingTier

__all__ = [
    "Candidate",
    "EpisodicTier",
    "Found",
    "ProceduralTier",
    "Search",
    "SemanticTier",
    "Tier",
    "VectorTier",
    "WorkingTier",
]
