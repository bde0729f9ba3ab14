"""Keeps the graph in step with memories: what is remembered is indexed, what is superseded closed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import gone
from tiered_memory.config import GraphConfig
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call as call_script
from tiered_memory.errors import ConfigError, InvalidItem
from tiered_memory.graph import stored
from tiered_memory.graph.background import enqueue
from tiered_memory.graph.entities import MAX_ENTITIES, EntityRef
from tiered_memory.graph.extract import aextract
from tiered_memory.graph.items import IndexEntry
from tiered_memory.graph.rank import MAX_NODES, pagerank
from tiered_memory.graph.stored import Reached
from tiered_memory.graph.times import Times
from tiered_memory.graph.view import view
from tiered_memory.items import MemoryItem, MemoryRecord, Outcome, Remembered, Reviewed
from tiered_memory.plan import Call, Plan, ask, call

if TYPE_CHECKING:
    from tiered_memory.graph.extract import EntityExtractor

_logger = logging.getLogger(__name__)

_INDEXED = ("recorded", "reaffirmed", "superseded", "updated")
"""The outcomes of remembering after which a memory is active."""

_WALKED = 100
"""Of how many memories that a walk meets it is told at the most."""

_PAGE = 500

_DAMPING = 3
"""The power to which rarity is taken, so that an entity which many memories mention hardly counts."""

_SIBLING = 0.5
"""What a fact that mentions a sibling counts, beside one that mentions an entity which was asked for."""


@frozen
class Reach:
    """What a question reached in the graph of one scope.

    Attributes:
        entities: The entities that it names.
        facts: The facts that were reached, in their order.
        walked: How often a walk through the graph met each memory, by its id; None: there was no walk.
    """

    entities: tuple[EntityRef, ...]
    facts: Sequence[Reached] = field(default=(), repr=False)
    walked: Mapping[str, float] | None = field(default=None, repr=False)

    @property
    def shares(self) -> dict[str, float]:
        """How much each memory has to do with the entities, in [0, 1], by its id.

        That is the rarity of its entities, which is 1 for one that no other memory mentions, to a power that damps
        what many mention. A sibling's counts half, and as much less as the entity that led to it is common. After a
        walk it is how often the walk met the memory, by the most.
        """
        if self.walked is not None:
            most = max(self.walked.values(), default=1.0)
            return {id: met / most for id, met in self.walked.items()}
        rarities = {fact.memory_id: min(fact.weight / 1e6, 1.0) ** _DAMPING for fact in self.facts}
        led = max((rarities[fact.memory_id] for fact in self.facts if fact.direct), default=0.0)
        return {
            fact.memory_id: rarities[fact.memory_id] * (1.0 if fact.direct else _SIBLING * led) for fact in self.facts
        }


class Weaver:
    """Indexes memories by the entities that an extractor finds in them, and finds them by those of a question.

    What fails here is counted and logged by its class, and fails nothing else.

    Attributes:
        config: The configuration.
        counters: How often what happened, by name.
    """

    def __init__(self, config: GraphConfig) -> None:
        self.config = config
        self.counters: Counter[str] = Counter()

    def remembered(self, keys: ScopeKeys, written: Iterable[tuple[MemoryItem, Remembered]]) -> Plan[None]:
        """Indexes what has become active in a scope; what superseded another memory closes its facts first."""
        active = [(item, done) for item, done in written if done.tier != "working" and done.outcome in _INDEXED]
        if not active:
            return
        try:
            if self.config.background:
                return (yield from enqueue(keys, [done for _, done in active]))
            found = yield from self.entities_of([item for item, _ in active])
            superseded = [done.id for _, done in active if done.outcome == "superseded"]
            if superseded:
                yield from stored.close(keys, superseded, clock.now())
            entries = [
                IndexEntry(done.id, entities, item.text, item.at)
                for (item, done), entities in zip(active, found, strict=True)
            ]
            yield from stored.index(keys, entries)
            self.counters["indexed"] += sum(bool(entry.entities) for entry in entries)
        except Exception as error:
            self._failed("index", error)

    def entities_of(self, memories: Iterable[MemoryItem | MemoryRecord]) -> Plan[list[list[EntityRef]]]:
        """The entities of each memory, those that its metadata names first; raises what the extractor does."""
        texts = [(each.text, hints_of(each.metadata)) for each in memories]
        return (yield from _extracted(self.config.extractor, texts))

    def promoted(self, keys: ScopeKeys, reviewed: Iterable[Reviewed]) -> Plan[None]:
        """Indexes claims that have become active."""
        written = []
        for each in reviewed:
            if each.candidate is not None:
                outcome: Outcome = "recorded" if each.active is None else "superseded"
                item = MemoryItem(each.candidate.text, metadata=each.candidate.metadata, at=each.candidate.at)
                written.append((item, Remembered(each.id, each.tier, keys.scope, outcome)))
        yield from self.remembered(keys, written)

    def forgotten(self, keys: ScopeKeys, tiers: Sequence[str], ids: Sequence[str]) -> Plan[None]:
        """Removes the facts of memories that were forgotten, unless one of that id stands in one of these tiers."""
        try:
            yield from stored.forget(keys, (yield from gone(keys, tiers, ids)))
        except Exception as error:
            self._failed("forget", error)

    def cleared(self, keepings: Sequence[Keeping], others: Sequence[str], keys: ScopeKeys) -> Plan[None]:
        """Removes the facts of all memories of tiers that are about to be cleared, but not of those in the others."""
        for keeping in keepings:
            cursor: str | None = ""
            while cursor is not None:
                arguments = (clock.now_micros(), *keeping.address(keys), cursor, _PAGE, "oldest", "")
                ((following, found),) = yield from ask(call_script("page", keys.scopes, arguments))
                yield from self.forgotten(keys, others, [text(pairs(fields)[b"id"]) for _, fields in found])
                cursor = text(following) or None

    def reach(
        self, keys: ScopeKeys, query: str, times: Times, limit: int, *, least: int = 1, mentions: bool = False
    ) -> Plan[Reach | None]:
        """What a question reaches in a scope, up to `limit` facts, of which `least` are enough; None after a fault."""
        try:
            (entities,) = yield from _extracted(self.config.asks, [(query, [])])
            facts = yield from stored.reach(keys, entities, limit, times, mentions=mentions)
            walked = (yield from self._walk(keys, entities, times)) if self.config.walk and facts else None
        except Exception as error:
            self._failed("recall", error)
            self.counters["fallbacks"] += 1
            return None
        self.counters["graph_hits" if len(facts) >= least else "fallbacks"] += 1
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
        try:
            found.append(EntityRef.parse(each))
        except (InvalidItem, AttributeError):
            continue
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
