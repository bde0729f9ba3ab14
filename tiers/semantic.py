"""Semantic memory: facts, by similarity."""

from __future__ import annotations

from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import SemanticConfig
from tiered_memory.tiers.vector import VectorTier
from tiered_memory.turns import TurnRules


class SemanticTier(VectorTier):
    """Scored by the cosine alone."""

    def __init__(self, config: SemanticConfig) -> None:
        super().__init__(Keeping(name="semantic"), config, rules=TurnRules(month=config.month))
