"""Procedural memory: how-tos, similarity blended with reinforcement."""

from __future__ import annotations

from typing import ClassVar

from tiered_memory import ranking
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import ProceduralConfig
from tiered_memory.engine.reply import Fields
from tiered_memory.tiers.vector import VectorTier


class ProceduralTier(VectorTier):
    """Scored (1 - w) * cosine + w * uses / (uses + 1); a reworded procedure keeps its count."""

    bonus_name: ClassVar[str] = "reinforcement"
    leads_by: ClassVar[str | None] = "uses"

    def __init__(self, config: ProceduralConfig) -> None:
        keeping = Keeping(name="procedural", carries=True)
        super().__init__(keeping, config, weight=config.weight)

    def bonus(self, fields: Fields, now: int) -> float:  # noqa: ARG002 - time doesn't matter here
        """How often the procedure proved itself."""
        return ranking.reinforcement(int(fields[b"uses"]))

    def leads_from(self, bonus: float, now: int) -> float | None:  # noqa: ARG002 - time doesn't matter here
        """How often a procedure was used that is just as proven."""
        return bonus / (1 - bonus)
