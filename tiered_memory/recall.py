"""Recalling: one call to the embedder, one round trip for all tiers and scopes, one merge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import field, frozen

from tiered_memory import clock, ranking
from tiered_memory.assertions.surface import marking
from tiered_memory.checks import check_count, is_number
from tiered_memory.errors import InvalidQuery
from tiered_memory.items import Hits
from tiered_memory.plan import Plan, embed, join, opened
from tiered_memory.tiers.base import Search, Tier


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else clock.utc(value, "as_of")


@frozen
class Request:
    """What a caller wants recalled; validated.

    Attributes:
        query: The text to find memories for.
        k: How many hits at the most.
        threshold: The least cosine in [-1, 1], or None for the tiers' own.
        tiers: Which tiers to ask.
        scopes: Which exact scopes to ask.
        as_of: Recall what was believed at this aware time; None: what is believed now.
        include_superseded: Whether what was believed before may be a hit too.
    """

    query: str
    k: int
    threshold: float | None
    tiers: Sequence[Tier]
    scopes: Sequence[str | None]
    as_of: datetime | None = field(default=None, converter=_moment)
    include_superseded: bool = False

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise InvalidQuery(f"query must be a str, not {type(self.query).__name__}")
        check_count(self.k, "k", 0)
        if self.threshold is not None and not (is_number(self.threshold) and -1 <= self.threshold <= 1):
            raise InvalidQuery(f"threshold={self.threshold!r} must be a cosine from -1 to 1")


def recall(request: Request, places: dict[str, int], floor: float | None) -> Plan[Hits]:
    """The best hits of all tiers and scopes that are asked, merged in a total order."""
    if request.k == 0 or not request.tiers or not request.scopes:
        return Hits()
    keyspace = yield from opened()
    vector: bytes | None = None
    if request.query.strip() and any(tier.embeds for tier in request.tiers):
        (embedding,) = yield from embed([request.query])
        vector = embedding.vector
    now = clock.now_micros()
    as_of = None if request.as_of is None else clock.to_micros(request.as_of)

    def search(scope: str | None) -> Search:
        keys = keyspace.of(scope)
        limits = (request.k, request.threshold, floor)
        return Search(keyspace, keys, vector, *limits, now, as_of, request.include_superseded)

    found = yield from join([tier.recall(search(scope)) for scope in request.scopes for tier in request.tiers])
    hits = Hits(ranking.merge(found, request.k, places))
    if hits and as_of is None:
        keepings = {tier.name: tier.keeping for tier in request.tiers}
        yield marking(keyspace, keepings, hits)
    return hits
