"""Indexes memories as they are remembered, and finds what a question has to do with them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tiered_memory.assertions.forget import sweep_scope
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import GraphConfig
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.errors import ConfigError, InvalidItem
from tiered_memory.graph import stored
from tiered_memory.graph.background import enqueue
from tiered_memory.graph.entities import MAX_ENTITIES, EntityRef
from tiered_memory.graph.extract import aextract
from tiered_memory.graph.items import IndexEntry
from tiered_memory.graph.rank import MAX_NODES, pagerank
from tiered_memory.graph.shares import Reach
from tiered_memory.graph.stored import Reached
from tiered_memory.graph.times import Times
from tiered_memory.graph.view import view
from tiered_memory.items import MemoryItem, MemoryRecord, Outcome, Remembered, Reviewed
from tiered_memory.plan import Call, Plan, call

if TYPE_CHECKING:
    from tiered_memory.graph.extract import EntityExtractor

_logger = logging.getLogger(__name__)

_INDEXED = ("recorded", "reaffirmed", "superseded", "updated")
"""The outcomes of remembering after which a memory is active."""

_WALKED = 100
"""Of how many memories that a walk meets it is told at the most."""


@frozen
class Wanted:
    """What a recall wants of the graph.

    Attributes:
        limit: The facts of how many memories.
        read: How many facts are looked at for them.
        least: How many are enough.
        mentions: Whether it is to be told what they mention.
    """

    limit: int
    read: int
    least: int
    mentions: bool


class Weaver:
    """Indexes memories by the entities that an extractor finds in them, and finds them by those of a question.

    What is superseded or forgotten is closed or goes by itself. What fails here is counted and logged by its class, and
    fails nothing else.

    Attributes:
        config: The configuration.
        counters: How often what happened, by name.
    """

    def __init__(self, config: GraphConfig, tiers: Sequence[Keeping]) -> None:
        self.config = config
        self.counters: Counter[str] = Counter()
        self._tiers = tiers
        self._stating = {keeping.name for keeping in tiers}

    def remembered(self, keys: ScopeKeys, written: Iterable[tuple[MemoryItem, Remembered]]) -> Plan[None]:
        """Indexes what has become active in a scope."""
        active = [(item, done) for item, done in written if done.tier in self._stating and done.outcome in _INDEXED]
        if not active:
            return
        try:
            if self.config.background:
                return (yield from enqueue(keys, [done for _, done in active]))
            yield from self.index(keys, [(done.tier, done.id, item) for item, done in active])
        except Exception as error:
            self._failed("index", error)

    def index(self, keys: ScopeKeys, memories: Sequence[tuple[str, str, MemoryItem | MemoryRecord]]) -> Plan[None]:
        """Indexes memories that are active at ids of tiers; raises what the extractor and the store do."""
        texts = [(memory.text, hints_of(memory.metadata)) for _, _, memory in memories]
        found = yield from _extracted(self.config.extractor, texts)
        entries = [
            IndexEntry(id, entities, memory.text, memory.at, tier)
            for (tier, id, memory), entities in zip(memories, found, strict=True)
        ]
        indexed = yield from stored.index(keys, entries)
        self.counters["indexed"] += indexed

    def promoted(self, keys: ScopeKeys, reviewed: Iterable[Reviewed]) -> Plan[None]:
        """Indexes claims that have become active."""
        written = []
        for each in reviewed:
            if each.candidate is not None:
                outcome: Outcome = "recorded" if each.active is None else "superseded"
                item = MemoryItem(each.candidate.text, metadata=each.candidate.metadata, at=each.candidate.at)
                written.append((item, Remembered(each.id, each.tier, keys.scope, outcome)))
        yield from self.remembered(keys, written)

    def reach(self, scopes: Sequence[ScopeKeys], query: str, times: Times, wanted: Wanted) -> Plan[list[Reach | None]]:
        """What a question reaches in each scope.

        None where that fails: a fault in one scope is none in another.
        """
        try:
            (entities,) = yield from _extracted(self.config.asks, [(query, [])])
            for keys in scopes if wanted.mentions and entities else ():
                yield from sweep_scope(keys, self._tiers)  # so that nothing is told of that has expired
            found = yield from stored.reach(
                scopes, entities, wanted.limit, times, read=wanted.read, mentions=wanted.mentions
            )
        except Exception as error:
            entities, found = [], [error for _ in scopes]
        reaches = []
        for keys, facts in zip(scopes, found, strict=True):
            reach = yield from self._reached(keys, entities, facts, times)
            self.counters["graph_hits" if reach and len(reach.facts) >= wanted.least else "fallbacks"] += 1
            reaches.append(reach)
        return reaches

    def _reached(
        self, keys: ScopeKeys, entities: Sequence[EntityRef], facts: list[Reached] | Exception, times: Times
    ) -> Plan[Reach | None]:
        try:
            if isinstance(facts, Exception):
                raise facts
            walked = (yield from self._walk(keys, entities, times)) if self.config.walk and facts else None
        except Exception as error:
            self._failed("recall", error)
            return None
        self.counters["candidates"] += len(facts)
        return Reach(tuple(entities), facts, walked)

    def _walk(self, keys: ScopeKeys, entities: Sequence[EntityRef], times: Times) -> Plan[dict[str, float]]:
        """How often a walk from the entities meets memories, of those that it meets most."""
        seen = yield from view(keys, MAX_NODES, times)
        met = yield from call(pagerank, seen, entities)
        return dict(met[:_WALKED])

    def _failed(self, what: str, error: Exception) -> None:
        self.counters[f"{what}_failed"] += 1
        _logger.warning("the graph failed to %s with %s; memories are not affected", what, type(error).__name__)


def hints_of(metadata: Mapping[str, Any] | None) -> list[EntityRef]:
    """The entities that metadata names under `entities`, each written `kind:name`; anything else is passed over."""
    named = (metadata or {}).get("entities")
    found = []
    for each in named if isinstance(named, list) else []:
        with suppress(InvalidItem):
            found += [EntityRef.parse(each)] if isinstance(each, str) else []
    return found


def _extracted(
    extractor: EntityExtractor, texts: Sequence[tuple[str, Sequence[EntityRef]]]
) -> Plan[list[list[EntityRef]]]:
    """The entities of each text, its hints first; an extractor may be async where plans are awaited."""

    def extract() -> list[Any]:
        return [_at_once(extractor, extractor.extract(text, hints)) for text, hints in texts]

    async def awaited() -> list[Any]:
        return [await aextract(extractor, text, hints) for text, hints in texts]

    answers: list[list[EntityRef]] = yield Call(extract, awaited)
    return [list(found)[:MAX_ENTITIES] for found in answers]


def _at_once(extractor: EntityExtractor, found: Any) -> Any:
    if iscoroutine(found):
        found.close()
        raise ConfigError(f"{type(extractor).__name__} is async, which needs an async memory")
    return found
