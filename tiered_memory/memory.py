"""The factory and the two facades: what an orchestrator holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tiered_memory.assertions import forget as forgetting
from tiered_memory.checks import check_count, check_cursor
from tiered_memory.config import MemoryConfig
from tiered_memory.errors import InvalidScope
from tiered_memory.handles import Operations
from tiered_memory.items import Hits, MemoryItem, Mode, Page, Reembedded, Stats
from tiered_memory.lifecycle import LifecycleOperations
from tiered_memory.operation import operation
from tiered_memory.parts import AsyncParts, Parts
from tiered_memory.plan import Plan, opened
from tiered_memory.reembed import reembed
from tiered_memory.scope import check_scope, check_scopes
from tiered_memory.settings import GraphMode
from tiered_memory.survey import survey
from tiered_memory.tiers.enabled import Tiers

if TYPE_CHECKING:
    from tiered_memory.engine.run import BlockingRunner, NonBlockingRunner


class _ScopedOperations(Operations, LifecycleOperations):
    """What a handle that is bound to one scope can do; it can't reach any other."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        tier: str | Sequence[str] | None = None,
        mode: Mode | None = None,
        threshold: float | None = None,
        window: int = 0,
        max_tokens: int | None = None,
        diversity: float | None = None,
        among: Iterable[str] | None = None,
        graph: GraphMode | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> Plan[Hits]:
        """The memories of this scope that are most relevant to `query`, best first.

        Args:
            query: What to find memories for. Working memory answers whatever it is; a blank one finds nothing else.
            k: How many hits at the most.
            tier: Which tiers to ask; None: all of them.
            mode: What finds memories: `vector`, `text`, or `hybrid`, which is both; None: the configuration's.
            threshold: The least cosine in [-1, 1], inclusive. None: each tier's own, which what shares words with
                the query needn't reach in mode `hybrid`.
            window: How many neighbours of each hit come with it, at `before` and `after`.
            max_tokens: The most tokens of the block that `format_memories` makes of the hits; what doesn't fit is
                left out.
            diversity: How much hits are to differ from each other, in [0, 1]: 0 orders by relevance alone, with 0.5
                many ways to say one thing don't crowd out all else. None: the configuration's, which is 0.
            among: None but memories of these ids may be hits; working memory then has none. None: all.
            graph: What is made of the graph: nothing (`off`), `boost` or `filter`; None: what the configuration says.
            as_of: Recall what was believed at this aware time, scored as then; working memory has no past.
            include_superseded: Whether what was believed before may be a hit too, with that status.

        Returns:
            The hits in a total order: score, then tier, cosine, time (newest first), id; with a `diversity` in the
            order in which they were chosen.

        Raises:
            InvalidLimit: `k`, `window` or `max_tokens` is out of its range.
            InvalidQuery: `threshold`, `mode` or `diversity` is.
            UnknownTier: A tier doesn't exist or is switched off.
            EmbeddingError: The embedder failed, or answered with something unusable.
            StoreError: Redis can't be reached, or refused.
        """
        return (
            yield from self._recall(
                query, tier, [self._scope], k=k, mode=mode, threshold=threshold, window=window,
                max_tokens=max_tokens, diversity=diversity, among=among, graph=graph, as_of=as_of,
                include_superseded=include_superseded,
            )
        )  # fmt: skip

    @operation
    def clear(self, tier: str | None = None) -> Plan[int]:
        """Forgets a tier of this scope, or all of the scope, files and store too; how many memories that were."""
        keepings = self._tiers.everything if tier is None else [self._tiers[tier].keeping]
        keyspace = yield from opened()
        return (yield from forgetting.clear(keyspace, keepings, self._scope, everything=tier is None))

    def _scope_of(self, item: MemoryItem) -> str | None:
        if item.scope not in (None, self._scope):
            raise InvalidScope(f"scope={item.scope!r} isn't {self._scope!r}, to which this handle is bound")
        return self._scope


class _RootOperations(Operations, LifecycleOperations):
    """What the root handle can do: the unscoped pool, items and recalls that name scopes, and the whole namespace."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        tier: str | Sequence[str] | None = None,
        mode: Mode | None = None,
        threshold: float | None = None,
        window: int = 0,
        max_tokens: int | None = None,
        diversity: float | None = None,
        among: Iterable[str] | None = None,
        graph: GraphMode | None = None,
        scope: str | Sequence[str | None] | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> Plan[Hits]:
        """The memories that are most relevant to `query`, best first, from exactly the scopes that are named.

        Args:
            query: What to find memories for. Working memory answers whatever it is; a blank one finds nothing else.
            k: How many hits at the most.
            tier: Which tiers to ask; None: all of them.
            mode: What finds memories: `vector`, `text`, or `hybrid`, which is both; None: the configuration's.
            threshold: The least cosine in [-1, 1], inclusive. None: each tier's own, which what shares words with
                the query needn't reach in mode `hybrid`.
            window: How many neighbours of each hit come with it, at `before` and `after`.
            max_tokens: The most tokens of the block that `format_memories` makes of the hits; what doesn't fit is
                left out.
            diversity: How much hits are to differ from each other, in [0, 1]: 0 orders by relevance alone, with 0.5
                many ways to say one thing don't crowd out all else. None: the configuration's, which is 0.
            among: None but memories of these ids may be hits; working memory then has none. None: all.
            graph: What is made of the graph: nothing (`off`), `boost` or `filter`; None: what the configuration says.
            scope: One scope or several, asked in one round trip; None is the unscoped pool, never all scopes.
            as_of: Recall what was believed at this aware time, scored as then; working memory has no past.
            include_superseded: Whether what was believed before may be a hit too, with that status.

        Returns:
            The hits in a total order: score, then tier, cosine, time (newest first), id, scope; with a `diversity` in
            the order in which they were chosen.

        Raises:
            InvalidLimit: `k`, `window` or `max_tokens` is out of its range.
            InvalidQuery: `threshold`, `mode` or `diversity` is.
            InvalidScope: A scope is empty or too long.
            UnknownTier: A tier doesn't exist or is switched off.
            EmbeddingError: The embedder failed, or answered with something unusable.
            StoreError: Redis can't be reached, or refused.
        """
        return (
            yield from self._recall(
                query, tier, check_scopes(scope), k=k, mode=mode, threshold=threshold, window=window,
                max_tokens=max_tokens, diversity=diversity, among=among, graph=graph, as_of=as_of,
                include_superseded=include_superseded,
            )
        )  # fmt: skip

    @operation
    def clear(self, tier: str | None = None) -> Plan[int]:
        """Forgets a tier, or everything, files and stores too, in EVERY scope; returns how many memories that were.

        To clear one scope, clear the handle that `scoped` gives.
        """
        keepings = self._tiers.everything if tier is None else [self._tiers[tier].keeping]
        keyspace = yield from opened()
        return (yield from forgetting.clear_everywhere(keyspace, keepings, everything=tier is None))

    @operation
    def scopes(self, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[str | None]]:
        """A page of the scopes that hold something; pass the page's `cursor` for the next one."""
        check_count(limit, "limit", 1)
        check_cursor(cursor, "scopes", r"\d+:.*")
        return (yield from forgetting.scopes((yield from opened()), limit, cursor))

    @operation
    def erase(self, scope: str | None) -> Plan[int]:
        """Forgets all of one exact scope (None: the unscoped pool) and proves that nothing of it is left.

        Returns how many memories that were. Redis' append-only file still holds them until it is rewritten
        (`BGREWRITEAOF`), and so do backups.

        Raises:
            StoreError: Something is left, since another process writes to the scope.
        """
        check_scope(scope)
        return (yield from forgetting.erase((yield from opened()), self._tiers.everything, scope))

    @operation
    def reembed(self, *, progress: Callable[[int, int], object] | None = None) -> Plan[Reembedded]:
        """Moves the namespace to the embedder of this memory, in the background of everybody else.

        Gives every memory and document of all scopes a vector of this embedder beside the one that it has, while others
        read and write with the old embedder as before; then switches, and removes the old vectors. From the switch on,
        whoever still has the old embedder is refused. After an interruption, call it again: it goes on where it was.
        Where this embedder is in force already, it embeds what has no vector.

        Args:
            progress: Is told, batch by batch, how many were embedded, and how many there are to embed.

        Raises:
            EmbedderMismatch: The old embedder has the same id, and other dimensions.
            EmbeddingError: The embedder failed; the old one is still in force.
            StoreError: Redis can't be reached, or refused; or the namespace was moved elsewhere meanwhile.
        """
        return (yield from reembed(self._runner.config, self._runner.embedder, self._tiers, progress))

    @operation
    def stats(self) -> Plan[Stats]:
        """What the namespace holds: counted, not scanned."""
        return (yield from survey((yield from opened()), self._runner.embedder, self._tiers))


class ScopedMemory(_ScopedOperations, Parts):
    """A view bound to one exact scope."""

    def __init__(self, runner: BlockingRunner, tiers: Tiers, scope: str) -> None:
        self._runner, self._tiers, self._scope = runner, tiers, scope


class AsyncScopedMemory(_ScopedOperations, AsyncParts):
    """A view bound to one exact scope, whose operations are awaited."""

    def __init__(self, runner: NonBlockingRunner, tiers: Tiers, scope: str) -> None:
        self._runner, self._tiers, self._scope = runner, tiers, scope


class Memory(_RootOperations, Parts):
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


class AsyncMemory(_RootOperations, AsyncParts):
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
