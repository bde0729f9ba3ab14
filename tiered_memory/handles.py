"""What every handle can do with the memories of the scope that it is bound to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from attrs import evolve

from tiered_memory.assertions import forget as forgetting
from tiered_memory.assertions import read as reading
from tiered_memory.checks import check_count, check_cursor, check_id
from tiered_memory.errors import InvalidItem
from tiered_memory.graph.recall import TracedRecall, traced
from tiered_memory.items import Hits, MemoryItem, MemoryRecord, Outcomes, Page, Remembered
from tiered_memory.operation import operation
from tiered_memory.plan import Plan, opened
from tiered_memory.recall import Request, recall
from tiered_memory.remember import Changes, remember, update
from tiered_memory.settings import GraphMode
from tiered_memory.tiers.enabled import Tiers


class Operations:
    """Remembering, reading, updating and forgetting in one scope."""

    _runner: Any
    _tiers: Tiers
    _scope: str | None

    @property
    def scope(self) -> str | None:
        """The exact scope that this handle is bound to; None is the unscoped pool."""
        return self._scope

    def __repr__(self) -> str:
        scope = "" if self._scope is None else f" of scope {self._scope!r}"
        return f"<{type(self).__name__}{scope} on {self._runner!r}>"

    @operation
    def remember(
        self,
        items: str | MemoryItem | Iterable[str | MemoryItem],
        *,
        tier: str | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        ttl: timedelta | float | None = None,
    ) -> Plan[Outcomes]:
        """Stores one memory or a batch: everything is validated and embedded before anything is written.

        All items of one scope are written in one step, or none of them is.

        Args:
            items: Texts or items.
            tier: The tier of items that name none.
            id: The id of a single text; so are `metadata`, `at` and `ttl`. An item carries its own.
            metadata: JSON values by name.
            at: When it happened, an aware time.
            ttl: How long it is kept, a time span or seconds.

        Returns:
            What became of each item, in their order.

        Raises:
            InvalidItem: An item can't be used; the message names its place.
            InvalidScope: An item names a scope that this handle isn't bound to.
            UnknownTier: A tier doesn't exist or is switched off.
            KindConflict: A document that is no memory stands at an id that is the URI of one.
            EmbeddingError: The embedder failed, or answered with something unusable.
            StoreError: Redis can't be reached, or refused.
        """
        own = {"id": id, "metadata": metadata, "at": at, "ttl": ttl}
        batch = _batch(items, tier, {name: value for name, value in own.items() if value is not None})
        return (yield from remember(self._tiers, batch, self._scope_of))

    @operation
    def get(self, id: str, tier: str) -> Plan[MemoryRecord | None]:
        """What stands at an id of a tier in this scope, or None."""
        keeping = self._tiers[tier].keeping
        check_id(id)
        standing = yield from reading.read((yield from opened()), keeping, self._scope, id)
        return None if standing is None else standing.memory

    @operation
    def update(
        self,
        id: str,
        tier: str,
        *,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        source: str | None = None,
        ttl: timedelta | float | bool | None = None,
    ) -> Plan[Remembered]:
        """Changes what stands at an id, and leaves what isn't given, its creation time and its use count.

        Args:
            id: Where it stands.
            tier: Its tier.
            text: The new text; the old one stays as history (in working memory it doesn't).
            metadata: Merged into what is there; None as a value removes the name.
            at: When it happened, an aware time.
            confidence: In [0, 1].
            importance: In [0, 1].
            source: Who says so.
            ttl: How long it is kept from now on, a time span or seconds; False: until it is forgotten.

        Raises:
            NotFound: Nothing stands there.
            InvalidItem: A value is out of its range.
            UpdateConflict: Others changed it each time it was tried.
        """
        chosen = self._tiers[tier]
        changes = Changes(
            text=text, metadata=metadata, at=at, confidence=confidence, importance=importance, source=source, ttl=ttl
        )
        return (yield from update(self._tiers, chosen, self._scope, check_id(id), changes))

    @operation
    def list(self, tier: str, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[MemoryRecord]]:
        """A page of a tier's active memories, in the order in which their ids were first remembered.

        Pass the page's `cursor` for the next one; None says that there is none.
        """
        keeping = self._tiers[tier].keeping
        check_count(limit, "limit", 1)
        check_cursor(cursor, "list", r"\d+")
        return (yield from reading.page((yield from opened()), keeping, self._scope, limit, cursor))

    @operation
    def count(self, tier: str | None = None) -> Plan[int]:
        """How many memories are active in a tier of this scope, or in all of its tiers."""
        keepings = [each.keeping for each in self._tiers.chosen(tier)]
        return (yield from reading.count((yield from opened()), keepings, self._scope))

    @operation
    def forget(self, id: str, tier: str) -> Plan[int]:
        """Forgets what stands at an id, its history and what waits there for review.

        Returns how many memories that were: 0 when there was none.
        """
        keeping = self._tiers[tier].keeping
        check_id(id)
        keyspace = yield from opened()
        return (yield from forgetting.forget(keyspace, keeping, self._scope, id))

    @operation
    def recall_traced(
        self,
        query: str,
        *,
        k: int = 5,
        tier: str | Sequence[str] | None = None,
        graph: GraphMode | None = None,
        threshold: float | None = None,
        as_of: datetime | None = None,
    ) -> Plan[TracedRecall]:
        """Recalls from this scope and tells what the graph had to do with it: entities, facts, and the paths to them.

        Each hit's `why` has what made its score. Takes and raises what `recall` does.
        """
        asked = {"k": k, "graph": graph, "threshold": threshold, "as_of": as_of, "trace": True}
        return traced((yield from self._recall(query, tier, [self._scope], **asked)))

    def _recall(
        self, query: str, tier: str | Sequence[str] | None, scopes: Sequence[str | None], **asked: Any
    ) -> Plan[Hits]:
        request = Request(query, tiers=self._tiers.chosen(tier), scopes=scopes, **asked)
        return (yield from recall(request, self._tiers, self._runner.embedder.floor))

    def _scope_of(self, item: MemoryItem) -> str | None:
        """The scope that an item goes to through this handle."""
        return item.scope


def _batch(
    items: str | MemoryItem | Iterable[str | MemoryItem], tier: str | None, own: Mapping[str, Any]
) -> Sequence[MemoryItem]:
    if isinstance(items, str):
        return [MemoryItem(items, tier=tier, **own)]
    if own:
        raise InvalidItem(f"{', '.join(own)} can be given for a single text only; an item carries its own")
    if isinstance(items, bytes | Mapping) or not isinstance(items, MemoryItem | Iterable):
        raise InvalidItem(f"items must be a text, a MemoryItem or several of them, not {type(items).__name__}")
    batch = [items] if isinstance(items, MemoryItem) else items
    return [_item(place, item, tier) for place, item in enumerate(batch)]


def _item(place: int, item: str | MemoryItem, tier: str | None) -> MemoryItem:
    if isinstance(item, MemoryItem):
        return item if item.tier or tier is None else evolve(item, tier=tier)
    try:
        return MemoryItem(item, tier=tier)
    except InvalidItem as error:
        raise InvalidItem(f"item {place}: {error}") from None
