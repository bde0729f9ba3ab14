"""What can be done with the graph of a scope: facts are indexed by their entities, and found by them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from tiered_memory import clock
from tiered_memory.assertions.forget import sweep_scope
from tiered_memory.checks import check_count, check_id
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.errors import InvalidItem, InvalidLimit, UnknownTier
from tiered_memory.graph import stored
from tiered_memory.graph.entities import EntityRef, check_entities
from tiered_memory.graph.items import Fact, GraphView, IndexEntry, RetrievalPath
from tiered_memory.graph.paths import paths
from tiered_memory.graph.stored import Reached
from tiered_memory.graph.times import Times
from tiered_memory.graph.view import view
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, opened

if TYPE_CHECKING:
    from tiered_memory.tiers.enabled import Tiers

MAX_CANDIDATES = 1000
"""How many facts are found at the most."""

MAX_VIEW = 5000
"""How many nodes a view has at the most."""

# aliases, since what an operation returns reads better by a name
Facts: TypeAlias = "list[Fact]"
Frequencies: TypeAlias = "dict[EntityRef, int]"
Paths: TypeAlias = "list[RetrievalPath]"


class GraphOperations:
    """Indexing the facts of a scope by the entities that they mention, and finding them by these.

    Facts have two times. In the world, one holds from `valid_from` until `valid_to`. To us, it is known from
    `recorded_at` on, and its end from `expired_at` on. Readings take `as_of`, a time in the world (None: what hasn't
    ended), and `known_at`, a time of our knowledge (None: now).
    """

    _runner: Any
    _scope: str | None
    _tiers: Tiers

    def __init__(self, handle: Any) -> None:
        self._runner, self._scope, self._tiers = handle._runner, handle._scope, handle._tiers

    @property
    def counters(self) -> dict[str, int]:
        """How often what happened in recalls and writes of this memory since it was opened, in all scopes, by name.

        `indexed` memories; `graph_hits` and `fallbacks`, recalls for which the graph had enough or not; `candidates`,
        the facts that they reached; `index_failed`, `recall_failed`. Without a graph it is empty.
        """
        weaver = self._tiers.weaver
        return {} if weaver is None else dict(weaver.counters)

    def __repr__(self) -> str:
        scope = "" if self._scope is None else f" of scope {self._scope!r}"
        return f"<{type(self).__name__}{scope} on {self._runner!r}>"

    @operation
    def index(
        self,
        memory_id: str,
        entities: Iterable[EntityRef],
        text: str = "",
        valid_from: datetime | None = None,
        *,
        tier: str | None = None,
    ) -> Plan[bool]:
        """Indexes what a memory is about; entities that it has stay, so that repeating a call changes nothing.

        Args:
            memory_id: The memory's id.
            entities: What it is about; none: nothing is indexed.
            text: The sentence, to show in a view.
            valid_from: From when it holds, an aware time; None: from now, for the memory of a tier from its `at`, or
                as it stands. `known_epoch()`: always.
            tier: The tier of the memory, whose fact it is then: closed when the memory is superseded, gone when that
                goes. `text` must be what the memory says, or "". None: a fact of your own.

        Where your own fact is closed there is a new one from then on, and the closed one stays; the fact of a memory
        stays closed. To replace entities, `forget` first.

        Returns:
            Whether it was indexed: not without entities, nor if the tier has no such memory.

        Raises:
            InvalidItem: An argument can't be used; nothing is indexed.
            UnknownTier: There is no such tier, or its notes aren't searched.
            StoreError: Redis can't be reached, or refused.
        """
        entry = self._entry(IndexEntry(memory_id, entities, text, valid_from, tier))
        return bool((yield from stored.index((yield from self._keys()), [entry])))

    @operation
    def index_many(self, entries: Iterable[IndexEntry]) -> Plan[int]:
        """Indexes a batch in one round trip; returns how many were indexed.

        Entries without entities are passed over, and such as name a tier that has no such memory.

        Raises:
            InvalidItem: An entry isn't one; the message names its place, and nothing is indexed.
            UnknownTier: There is no such tier, or its notes aren't searched.
            StoreError: Redis failed meanwhile; some may be indexed, and repeating the call is safe.
        """
        batch = [self._entry(entry, f"entries[{place}]") for place, entry in enumerate(entries)]
        return (yield from stored.index((yield from self._keys()), batch))

    @operation
    def close(self, memory_id: str, valid_to: datetime | None = None) -> Plan[bool]:
        """Says that what a memory states ceases to hold; returns whether it was open.

        Args:
            memory_id: The memory's id.
            valid_to: When, an aware time; None: now. A fact that ends before it begins held at no time.
        """
        check_id(memory_id, "memory_id")
        end = clock.now() if valid_to is None else clock.utc(valid_to, "valid_to")
        return bool((yield from stored.close((yield from self._keys()), self._tiers.stating, memory_id, end)))

    @operation
    def neighbors(
        self,
        entities: Iterable[EntityRef],
        *,
        limit: int = MAX_CANDIDATES,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Plan[list[str]]:
        """The ids of the memories that mention one of these entities, or an entity mentioned together with one.

        In a total order: those that mention them before the others; then by the entities that led there, each counted
        by log(1 + facts of the scope / facts that mention it); then by how often their siblings were met; then the
        newest; then by id. No more than 1,000 mentions are looked at, and as many of siblings: those of the rarest
        entity first, and the newest of each.

        Args:
            entities: What to begin with; unknown ones are passed over.
            limit: How many ids, from 1 to 1,000.
            as_of: Only what held at this time in the world; None: what hasn't ended.
            known_at: As it was known at this time; None: now.
        """
        reached = yield from self._reached(check_entities(entities), limit, Times.at(as_of, known_at))
        return list(dict.fromkeys(fact.memory_id for fact in reached))

    @operation
    def paths(
        self,
        entities: Iterable[EntityRef],
        *,
        limit: int = MAX_CANDIDATES,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Plan[Paths]:
        """Why `neighbors` has each id: a path for every mention by which it is reached, in the same order.

        Takes what `neighbors` takes; `limit` is about ids.
        """
        asked = check_entities(entities)
        return paths(asked, (yield from self._reached(asked, limit, Times.at(as_of, known_at), mentions=True)))

    @operation
    def view(
        self, limit: int = 200, *, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> Plan[GraphView]:
        """The newest facts with their entities, up to `limit` nodes (0 to 5,000); takes times as `neighbors` does."""
        _check_limit(limit, 0, MAX_VIEW)
        times = Times.at(as_of, known_at)
        return (yield from view((yield from self._living()), limit, times))

    @operation
    def facts(self, memory_id: str) -> Plan[Facts]:
        """The facts of an id, the newest first; the ones that ended are among them."""
        check_id(memory_id, "memory_id")
        found = yield from stored.facts((yield from self._living()), self._tiers.stating, memory_id)
        return [fact.public() for fact in found]

    @operation
    def frequencies(self) -> Plan[Frequencies]:
        """How many facts mention each entity, ended ones included: the most frequent first, then by kind and name."""
        found = yield from stored.frequencies((yield from self._living()))
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @operation
    def forget(self, memory_id: str) -> Plan[int]:
        """Forgets all facts of an id, and entities that no other mentions; returns how many facts that were."""
        check_id(memory_id, "memory_id")
        return (yield from stored.forget((yield from self._keys()), self._tiers.stating, memory_id))

    @operation
    def clear(self) -> Plan[int]:
        """Forgets all of this scope's graph; returns how many facts that were. The memories stay."""
        return (yield from stored.clear((yield from self._keys())))

    def _keys(self) -> Plan[ScopeKeys]:
        return (yield from opened()).of(self._scope)

    def _reached(
        self, asked: tuple[EntityRef, ...], limit: int, times: Times, *, mentions: bool = False
    ) -> Plan[list[Reached]]:
        _check_limit(limit, 1, MAX_CANDIDATES)
        (found,) = yield from stored.reach([(yield from self._living())], asked, limit, times, mentions=mentions)
        if isinstance(found, Exception):
            raise found
        return found

    def _living(self) -> Plan[ScopeKeys]:
        """The keys, once the facts of memories that have expired are gone."""
        keys = yield from self._keys()
        yield from sweep_scope(keys, self._tiers.stating)
        return keys

    def _entry(self, entry: object, name: str = "entry") -> IndexEntry:
        if not isinstance(entry, IndexEntry):
            raise InvalidItem(f"{name}={entry!r} must be an IndexEntry")
        if entry.tier is not None and self._tiers[entry.tier].keeping.notes:
            raise UnknownTier(f"tier {entry.tier!r} keeps notes, which state no facts; name a tier that is searched")
        return entry


class Graph(GraphOperations, Blocking):
    """The graph of one scope."""


class AsyncGraph(GraphOperations, NonBlocking):
    """The graph of one scope, whose operations are awaited."""


def _check_limit(limit: int, least: int, most: int) -> None:
    if check_count(limit, "limit", least) > most:
        raise InvalidLimit(f"limit={limit} must be at most {most}")
