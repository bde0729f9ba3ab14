"""Recalling: one call to the embedder, one round trip for all tiers and scopes, one merge."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tiered_memory import clock, ranking
from tiered_memory.errors import InvalidQuery
from tiered_memory.items import Hits, is_number
from tiered_memory.plan import Plan, embed, join, opened
from tiered_memory.tiers.base import Search, Tier


@frozen
class Request:
    """What a caller wants recalled; validated.

    Attributes:
        query: The text to find memories for.
        k: How many hits at the most.
        threshold: The least cosine in [-1, 1], or None for the tiers' own.
        tiers: Which tiers to ask.
        scopes: Which exact scopes to ask.
    """

    query: str
    k: int
    threshold: float | None
    tiers: Sequence[Tier]
    scopes: Sequence[str | None]

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise InvalidQuery(f"query must be a str, not {type(self.query).__name__}")
        check_count(self.k, "k", 0)
        if self.threshold is not None and not (is_number(self.threshold) and -1 <= self.threshold <= 1):
            raise InvalidQuery(f"threshold={self.threshold!r} must be a cosine from -1 to 1")


def check_count(value: int, name: str, least: int) -> int:
    """`value` itself, a whole number of at least `least`; raises `InvalidQuery`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least:
        raise InvalidQuery(f"{name}={value!r} must be a whole number of at least {least}")
    return value


def recall(request: Request, places: dict[str, int], floor: float | None) -> Plan[Hits]:
    """The best hits of all tiers and scopes that are asked, merged in a total order."""
    if request.k == 0 or not request.tiers or not request.scopes:
        return Hits()
    keyspace = yield from opened()
    vector: bytes | None = None
    if request.query.strip() and any(tier.embeds for tier in request.tiers):
        (embedding,) = yield from embed([request.query])
        vector = embedding.vector
    now = clock.to_micros(clock.now())
    searches = [
        tier.recall(Search(keyspace, keyspace.of(scope), vector, request.k, request.threshold, floor, now))
        for scope in request.scopes
        for tier in request.tiers
    ]
    found = yield from join(searches)
    return Hits(ranking.merge(found, request.k, places))
