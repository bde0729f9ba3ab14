"""Episodic memory: events, similarity blended with recency."""

from __future__ import annotations

from typing import ClassVar

from tiered_memory import ranking
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import EpisodicConfig
from tiered_memory.engine.reply import Fields
from tiered_memory.items import MemoryItem
from tiered_memory.tiers.vector import VectorTier
from tiered_memory.turns import TurnRules, speaker_of


class EpisodicTier(VectorTier):
    """Scored (1 - w) * cosine + w * 0.5 ** (age / half-life); remembering an event again makes it fresh."""

    bonus_name: ClassVar[str] = "recency"
    leads_by: ClassVar[str | None] = "at"

    def __init__(self, config: EpisodicConfig) -> None:
        keeping = Keeping(name="episodic", refreshes=True)
        rules = TurnRules(config.neighbours, config.month, config.speaker, config.question)
        super().__init__(keeping, config, weight=config.weight, rules=rules)
        self._half_life = config.half_life

    def described(self, item: MemoryItem) -> str:
        """The words by which an item is found: its text, and before it the `speaker` whom its metadata names."""
        speaker = speaker_of(item.metadata or {})
        return item.text if speaker is None else f"{speaker}: {item.text}"

    def bonus(self, fields: Fields, now: int) -> float:
        """How fresh the event is."""
        return ranking.recency((now - int(fields[b"at"])) / 1e6, self._half_life)

    def leads_from(self, bonus: float, now: int) -> float | None:
        """The time of an event that is just as fresh."""
        return now - 1e6 * ranking.age(bonus, self._half_life) if bonus > 0 else None
