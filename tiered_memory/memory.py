"""The factory and the two facades: what an orchestrator holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from attrs import evolve

from tiered_memory.assertions import forget as forgetting
from tiered_memory.assertions import read as reading
from tiered_memory.config import MemoryConfig
from tiered_memory.errors import InvalidItem, InvalidQuery, InvalidScope
from tiered_memory.items import Hits, MemoryItem, MemoryRecord, Outcomes, Page, Remembered, Stats, check_id
from tiered_memory.plan import Blocking, NonBlocking, Plan, opened, operation
from tiered_memory.recall import Request, check_count, recall
from tiered_memory.remember import Changes, remember, update
from tiered_memory.scope import check_scope, check_scopes
from tiered_memory.survey import survey
from tiered_memory.tiers.enabled import Tiers

if TYPE_CHECKING:
    from tiered_memory.engine.run import BlockingRunner, NonBlockingRunner


class _Operations:
    """What both handles can do in the scope that they are bound to."""

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
        return (yield from update(chosen, self._scope, check_id(id), changes))

    @operation
    def list(self, tier: str, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[MemoryRecord]]:
        """A page of a tier's active memories, in the order in which their ids were first remembered.

        Pass the page's `cursor` for the next one; None says that there is none.
        """
        keeping = self._tiers[tier].keeping
        check_count(limit, "limit", 1)
        if cursor is not None and not (isinstance(cursor, str) and cursor.isdecimal()):
            raise InvalidQuery(f"cursor={cursor!r} is not one that a page of `list` gave")
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
        return (yield from forgetting.forget(keyspace, keeping, self._tiers.everything, self._scope, id))

    def _recall(
        self,
        query: str,
        k: int,
        tier: str | Sequence[str] | None,
        threshold: float | None,
        scopes: Sequence[str | None],
    ) -> Plan[Hits]:
        request = Request(query, k, threshold, self._tiers.chosen(tier), scopes)
        return (yield from recall(request, self._tiers.places, self._runner.embedder.floor))

    def _scope_of(self, item: MemoryItem) -> str | None:
        """The scope that an item goes to through this handle."""
        raise NotImplementedError


class _ScopedOperations(_Operations):
    """What a handle that is bound to one scope can do; it can't reach any other."""

    @operation
    def recall(
        self, query: str, *, k: int = 5, tier: str | Sequence[str] | None = None, threshold: float | None = None
    ) -> Plan[Hits]:
        """The memories of this scope that are most relevant to `query`, best first.

        Args:
            query: What to find memories for. Working memory answers whatever it is; a blank one finds nothing else.
            k: How many hits at the most.
            tier: Which tiers to ask; None: all of them.
            threshold: The least cosine in [-1, 1], inclusive; None: each tier's own.

        Returns:
            The hits in a total order: score, then tier, cosine, time (newest first), id.

        Raises:
            InvalidQuery: `k` or `threshold` is out of its range.
            UnknownTier: A tier doesn't exist or is switched off.
            EmbeddingError: The embedder failed, or answered with something unusable.
            StoreError: Redis can't be reached, or refused.
        """
        return (yield from self._recall(query, k, tier, threshold, [self._scope]))

    @operation
    def clear(self, tier: str | None = None) -> Plan[int]:
        """Forgets a tier of this scope, or all of the scope; returns how many memories that were."""
        keepings = self._tiers.everything if tier is None else [self._tiers[tier].keeping]
        keyspace = yield from opened()
        return (yield from forgetting.clear(keyspace, keepings, self._tiers.everything, self._scope))

    def _scope_of(self, item: MemoryItem) -> str | None:
        if item.scope not in (None, self._scope):
            raise InvalidScope(f"scope={item.scope!r} isn't {self._scope!r}, to which this handle is bound")
        return self._scope


class _RootOperations(_Operations):
    """What the root handle can do: the unscoped pool, items and recalls that name scopes, and the whole namespace."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        tier: str | Sequence[str] | None = None,
        threshold: float | None = None,
        scope: str | Sequence[str | None] | None = None,
    ) -> Plan[Hits]:
        """The memories that are most relevant to `query`, best first, from exactly the scopes that are named.

        Args:
            query: What to find memories for. Working memory answers whatever it is; a blank one finds nothing else.
            k: How many hits at the most.
            tier: Which tiers to ask; None: all of them.
            threshold: The least cosine in [-1, 1], inclusive; None: each tier's own.
            scope: One scope or several, asked in one round trip; None is the unscoped pool, never all scopes.

        Returns:
            The hits in a total order: score, then tier, cosine, time (newest first), id, scope.

        Raises:
            InvalidQuery: `k` or `threshold` is out of its range.
            InvalidScope: A scope is empty or too long.
            UnknownTier: A tier doesn't exist or is switched off.
            EmbeddingError: The embedder failed, or answered with something unusable.
            StoreError: Redis can't be reached, or refused.
        """
        return (yield from self._recall(query, k, tier, threshold, check_scopes(scope)))

    @operation
    def clear(self, tier: str | None = None) -> Plan[int]:
        """Forgets a tier, or everything, in EVERY scope; returns how many memories that were.

        To clear one scope, clear the handle that `scoped` gives.
        """
        keepings = self._tiers.everything if tier is None else [self._tiers[tier].keeping]
        keyspace = yield from opened()
        return (yield from forgetting.clear_everywhere(keyspace, keepings, self._tiers.everything))

    @operation
    def scopes(self, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[str | None]]:
        """A page of the scopes that hold something; pass the page's `cursor` for the next one."""
        check_count(limit, "limit", 1)
        if cursor is not None and not (isinstance(cursor, str) and cursor.partition(":")[0].isdecimal()):
            raise InvalidQuery(f"cursor={cursor!r} is not one that a page of `scopes` gave")
        return (yield from forgetting.scopes((yield from opened()), limit, cursor))

    @operation
    def stats(self) -> Plan[Stats]:
        """What the namespace holds: counted, not scanned."""
        return (yield from survey((yield from opened()), self._runner.embedder, self._tiers))

    def _scope_of(self, item: MemoryItem) -> str | None:
        return item.scope


class ScopedMemory(_ScopedOperations, Blocking):
    """A view bound to one exact scope."""

    def __init__(self, runner: BlockingRunner, tiers: Tiers, scope: str) -> None:
        self._runner, self._tiers, self._scope = runner, tiers, scope


class AsyncScopedMemory(_ScopedOperations, NonBlocking):
    """A view bound to one exact scope, whose operations are awaited."""

    def __init__(self, runner: NonBlockingRunner, tiers: Tiers, scope: str) -> None:
        self._runner, self._tiers, self._scope = runner, tiers, scope


class Memory(_RootOperations, Blocking):
    """The root handle of a memory: the unscoped pool, and views on scopes. Made by `memory()`."""

    def __init__(self, config: MemoryConfig) -> None:
        from tiered_memory.engine.run import BlockingRunner

        self._tiers, self._scope = Tiers(config), None
        self._runner = BlockingRunner(config)

    def scoped(self, scope: str) -> ScopedMemory:
        """A view bound to exactly `scope`, which it can never leave. Raises `InvalidScope`."""
        return ScopedMemory(self._runner, self._tiers, _bound(scope))

    def close(self) -> None:
        """Gives back the connections, and the embedded server if this was its last user."""
        self._runner.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncMemory(_RootOperations, NonBlocking):
    """The root handle of a memory whose operations are awaited. Made by `async_memory()`."""

    def __init__(self, config: MemoryConfig) -> None:
        from tiered_memory.engine.run import NonBlockingRunner

        self._tiers, self._scope = Tiers(config), None
        self._runner = NonBlockingRunner(config)

    def scoped(self, scope: str) -> AsyncScopedMemory:
        """A view bound to exactly `scope`, which it can never leave. Raises `InvalidScope`."""
        return AsyncScopedMemory(self._runner, self._tiers, _bound(scope))

    async def close(self) -> None:
        """Gives back the connections, and the embedded server if this was its last user."""
        await self._runner.close()

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def memory(config: str | MemoryConfig | Mapping[str, Any] | None = None, **overrides: Any) -> Memory:
    """A memory whose operations block.

    Args:
        config: Nothing (an embedded Redis), a URL, a `MemoryConfig`, or a mapping of its settings.
        overrides: Settings of `MemoryConfig` that take precedence.

    Construction does no I/O: the first operation connects, checks the server and makes the index.

    Raises:
        ConfigError: A setting is unknown or out of its range.
    """
    return Memory(MemoryConfig.load(config, overrides))


def async_memory(config: str | MemoryConfig | Mapping[str, Any] | None = None, **overrides: Any) -> AsyncMemory:
    """A memory whose operations are awaited; otherwise as `memory`. It belongs to one event loop."""
    return AsyncMemory(MemoryConfig.load(config, overrides))


def _bound(scope: str) -> str:
    if check_scope(scope) is None:
        raise InvalidScope("scope is None; the root handle itself is the unscoped pool")
    return scope


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
