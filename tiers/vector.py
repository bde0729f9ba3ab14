"""Tiers that are searched: by similarity, by words, or by both."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from tiered_memory import ranking
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import keys_at
from tiered_memory.config import DurableConfig
from tiered_memory.engine.reply import Fields
from tiered_memory.engine.search import ACTIVE, AS_OF, BELIEVED_EVER, Parameters, Where
from tiered_memory.plan import Plan
from tiered_memory.tiers.base import Found, Search, Tier
from tiered_memory.tiers.hybrid import by_words_too
from tiered_memory.tiers.nearest import by_similarity
from tiered_memory.turns import NO_RULES, TurnRules


class VectorTier(Tier):
    """Scored by the cosine, by words or by both, blended with a bonus.

    In mode `vector` that is (1 - weight) * cosine + weight * bonus among the rows whose cosine reaches the
    threshold. A tier of your own derives from this; for a blend it sets `leads_by` and `bonus`.
    """

    leads_by: ClassVar[str | None] = None
    """The sorted number (`at` or `uses`) by which the bonus never falls; None when there is no bonus."""

    bonus_name: ClassVar[str] = "bonus"
    """What the bonus is called where a hit says why it is one."""

    def __init__(
        self, keeping: Keeping, config: DurableConfig, *, weight: float = 0.0, rules: TurnRules = NO_RULES
    ) -> None:
        self.keeping = keeping if config.max_items is None else evolve(keeping, most=config.max_items)
        self.ttl = config.ttl
        self.threshold = config.threshold
        self.rules = rules
        self.weight = weight if self.leads_by else 0.0

    def bonus(self, fields: Fields, now: int) -> float:  # noqa: ARG002 - for tiers that have one
        """What is blended with the cosine, in [0, 1]; it must never fall as the number of `leads_by` rises."""
        return 0.0

    def leads_from(self, bonus: float, now: int) -> float | None:  # noqa: ARG002 - for tiers that know it
        """The least number of `leads_by` that has this bonus, in [0, 1); None if that isn't known."""
        return None

    def recall(self, search: Search) -> Plan[Found]:
        """The best k, exactly, in mode `vector`; else what words and similarity find, which is rated later."""
        if search.among is not None:
            named = yield from keys_at(search.scope, self.name, search.among)
            search = evolve(search, records=[*search.records, *named])
            if not search.records:
                return Found(self, search, [])
        if search.mode == "vector":
            return Found(self, search, (yield from by_similarity(self, search)))
        return (yield from by_words_too(self, search))

    def least(self, search: Search) -> float:
        """The least cosine of a hit: the caller's, the configured one, the embedder's, or the common one."""
        for threshold in (search.threshold, self.threshold, search.floor):
            if threshold is not None:
                return threshold
        return ranking.DEFAULT_THRESHOLD

    def where(self, search: Search) -> Where:
        """Which rows may be hits: what is believed, or was at the time that the recall asks for."""
        parameters: Parameters = {"token": search.scope.token(self.name)}
        records = None if search.among is None else search.records
        if search.as_of is not None:
            return Where(AS_OF, parameters | {"moment": search.as_of}, records)
        return Where(BELIEVED_EVER if search.include_superseded else ACTIVE, parameters, records)
