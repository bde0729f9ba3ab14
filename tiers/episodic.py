"""Episodic memory: events, similarity blended with recency."""

from __future__ import annotations

from typing import ClassVar

from tiered_memory import ranking
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import EpisodicConfig
from tiered_memory.engine.reply import Fields
from tiered_memory.tiers.vector import VectorTier


class EpisodicTier(VectorTier):
    """Scored (1 - w) * cosine + w * 0.5 ** (age / half-life); remembering an event again makes it fresh."""

    leads_by: ClassVar[str | None] = "at"

    def __init__(self, config: EpisodicConfig) -> None:
        keeping = Keeping(name="episodic", refreshes=True)
        super().__init__(keeping, config, weight=config.weight)
        self._half_life = config.half_life

    def bonus(self, fields: Fields, now: int) -> float:
        """How fresh the event is."""
        return ranking.recency((now - int(fields[b"at"])) / 1e6, self._half_life)
