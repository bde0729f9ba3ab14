"""Hooks for an orchestrator's turns: recall before one, remember after it, clear up when a session ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from attrs import define, evolve

from tiered_memory import clock
from tiered_memory.assertions import forget as forgetting
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.checks import check_count
from tiered_memory.errors import ConfigError, InvalidScope, StoreError
from tiered_memory.hook_events import HookEvent, Reporter
from tiered_memory.items import Hits, MemoryItem
from tiered_memory.memory import AsyncMemory, Memory
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, opened
from tiered_memory.recall import Request, recall
from tiered_memory.remember import remember
from tiered_memory.retries import Retries
from tiered_memory.scope import check_scope
from tiered_memory.tiers.enabled import Tiers
from tiered_memory.tokens import TokenCounter
from tiered_memory.tokens import counter as best_counter

M = TypeVar("M", Memory, AsyncMemory)

ScopeRule: TypeAlias = "Literal['session', 'shared'] | Callable[[str], str]"
"""Where turns are remembered: each session apart, all in the unscoped pool, or a function of the session's id."""

_RETRIES_A_TURN = 4
"""How many waiting writes a turn takes along at the most, so that a recovery doesn't hold up replies."""


@define
class Turn:
    """One turn of a session, inside `turn`.

    Attributes:
        context: A copy of the caller's context, with what was recalled.
        reply: What came out of the turn; set it before the turn ends.
        ok: Set it to False when the turn failed without an exception: it isn't remembered then.
    """

    context: dict[str, Any]
    reply: str | None = None
    ok: bool = True


class _HookOperations(Generic[M]):
    """What the hooks of both modes do."""

    _handle: ClassVar[type]
    _runner: Any

    def __init__(
        self,
        memory: M,
        *,
        scope: ScopeRule = "session",
        k: int = 5,
        threshold: float | None = None,
        tiers: str | Sequence[str] | None = None,
        remember_tier: str | None = None,
        inject_key: str = "memories",
        max_tokens: int | None = None,
        counter: TokenCounter | None = None,
        on_recall_error: Literal["ignore", "raise"] = "ignore",
        on_end: str | Sequence[str] = ("working",),
        on_event: Callable[[HookEvent], object] | None = None,
        max_waiting: int = 100,
    ) -> None:
        """Makes the hooks of one memory; nothing is sent yet.

        Args:
            memory: The root handle, of this class's mode. It stays the caller's to close.
            scope: `session`: turns lie in the scope `session:<id>`; `shared`: in the unscoped pool; a function of
                the session's id: in the scope that it names, e.g. its user's.
            k: How many memories are recalled for a turn at the most.
            threshold: The least cosine in [-1, 1], inclusive; None: each tier's own.
            tiers: Which tiers are asked; None: all of them.
            remember_tier: Where turns are remembered; None: the memory's `default_tier`.
            inject_key: The key of the context at which the hits are put.
            max_tokens: The most tokens of the block that `format_memories` makes of the hits; those that don't
                fit are left out. None: no limit.
            counter: Who counts the tokens; default: the best counter that this machine has.
            on_recall_error: `ignore`: a turn goes on without memories; `raise`: it fails.
            on_end: The tiers that `end_session` clears.
            on_event: Called with each `HookEvent`, besides a warning in the log; it must not block.
            max_waiting: How many failed writes wait for another try; beyond, the oldest is given up.

        Raises:
            ConfigError: A setting is none of those above.
            InvalidQuery: `k`, `threshold`, `max_tokens` or `max_waiting` is out of its range.
            UnknownTier: A tier doesn't exist or is switched off.
        """
        _check_settings(memory, self._handle, scope, on_recall_error)
        self._runner = memory._runner
        self._tiers = memory._tiers
        self._rule = scope
        counting = counter if counter or max_tokens is None else best_counter()
        self._request = Request(
            "", k, threshold, self._tiers.chosen(tiers), [], max_tokens=max_tokens, counter=counting
        )
        self._remember_tier = self._tiers[self._tiers.default if remember_tier is None else remember_tier].name
        self._inject_key = inject_key
        self._raises = on_recall_error == "raise"
        self._cleared = _cleared(self._tiers, on_end)
        self._reporter = Reporter(on_event)
        self._retries = Retries(check_count(max_waiting, "max_waiting", 0), self._reporter)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self._runner!r}, {self.waiting} writes waiting>"

    @property
    def waiting(self) -> int:
        """How many writes failed and wait for another try."""
        return len(self._retries)

    @operation
    def before_turn(self, session_id: str, text: str, context: Mapping[str, Any] | None = None) -> Plan[dict[str, Any]]:
        """A copy of `context` with the memories that are relevant to `text`; without any, just a copy.

        Args:
            session_id: Whose turn it is.
            text: The turn's input.
            context: What the orchestrator hands to the turn; it isn't changed.

        Raises:
            InvalidScope: The session's id is empty, or the scope function gave no scope.
            InvalidQuery: `text` is no text.
            TieredMemoryError: The recall failed, and `on_recall_error` is `raise`.
        """
        scope = self._scope_of(session_id)
        hits = yield from self._recall(evolve(self._request, query=text, scopes=[scope]), scope)
        recalled = {self._inject_key: hits} if hits else {}
        return {**(context or {}), **recalled}

    @operation
    def after_turn(self, session_id: str, text: str, reply: str | None, *, ok: bool = True) -> Plan[None]:
        """Remembers a turn as its input and its reply, a line break between; a blank one of the two is left out.

        What fails is reported, never raised: the write waits, and later turns or `flush` try it again. It is
        given up after several tries, or when too many wait. A reply that can't be remembered is given up at once.

        Args:
            session_id: Whose turn it was.
            text: The turn's input.
            reply: What came out of it; None is as good as blank.
            ok: False for a turn that failed or was cancelled: nothing is remembered.

        Raises:
            InvalidScope: The session's id is empty, or the scope function gave no scope.
        """
        scope = self._scope_of(session_id)
        item = self._item(scope, text, reply) if ok else None
        if item and (yield from self._write(item)) is None:
            yield from self._retry(_RETRIES_A_TURN)

    @operation
    def end_session(self, session_id: str) -> Plan[int]:
        """Clears the tiers `on_end` of the session's scope; returns how many memories that were.

        With `scope="shared"` nothing is cleared, since the pool is no session's own.

        Raises:
            InvalidScope: The session's id is empty, or the scope function gave no scope.
            StoreError: Redis can't be reached, or refused.
        """
        scope = self._scope_of(session_id)
        if scope is None or not self._cleared:
            return 0
        if self._remember_tier in {keeping.name for keeping in self._cleared}:
            self._retries.forget(scope)
        return (yield from forgetting.clear((yield from opened()), self._cleared, scope))

    @operation
    def flush(self) -> Plan[int]:
        """Tries each waiting write once more, unless Redis fails again; returns how many still wait.

        Call it before the memory is closed.
        """
        yield from self._retry(self.waiting)
        return self.waiting

    def _scope_of(self, session_id: str) -> str | None:
        if not isinstance(session_id, str) or not session_id:
            raise InvalidScope("session_id must be a text that isn't empty; pass the id of the turn's session")
        if self._rule == "shared":
            return None
        if self._rule == "session":
            return check_scope(f"session:{session_id}")
        scope = check_scope(self._rule(session_id))
        if scope is None:
            raise InvalidScope("the scope function gave None; it must name a scope for every session")
        return scope

    def _recall(self, request: Request, scope: str | None) -> Plan[Hits]:
        try:
            return (yield from recall(request, self._tiers, self._runner.embedder.floor))
        except Exception as error:
            if self._raises:
                raise
            self._reporter.report("recall_failed", error, scope)
            return Hits()

    def _item(self, scope: str | None, text: str, reply: str | None) -> MemoryItem | None:
        """The turn as something to remember; None if it is blank, or reported as impossible to remember."""
        try:
            said = [part for part in (text, reply) if part and part.strip()]
            item = partial(MemoryItem, tier=self._remember_tier, scope=scope, at=clock.now())
            return item("\n".join(said)) if said else None
        except Exception as error:
            self._reporter.report("remember_dropped", error, scope)
            return None

    def _write(self, item: MemoryItem) -> Plan[Exception | None]:
        """Remembers an item, or lets it wait; what was raised, if anything."""
        try:
            yield from remember(self._tiers, [item], attrgetter("scope"))
        except Exception as error:
            self._retries.failed(item, error)
            return error
        self._retries.done(item)
        return None

    def _retry(self, most: int) -> Plan[None]:
        for item in self._retries.first(most):
            error = yield from self._write(item)
            if isinstance(error, StoreError):
                return


class TurnHooks(_HookOperations[Memory], Blocking):
    """The hooks of an orchestrator that blocks, on a `Memory`."""

    _handle = Memory

    @contextmanager
    def turn(self, session_id: str, text: str, context: Mapping[str, Any] | None = None) -> Iterator[Turn]:
        """A turn in a `with` statement: recalled at its begin, remembered at its end unless it raises.

        Raises what `before_turn` raises, and whatever its body does.
        """
        turn = Turn(self.before_turn(session_id, text, context))
        yield turn
        self.after_turn(session_id, text, turn.reply, ok=turn.ok)


class AsyncTurnHooks(_HookOperations[AsyncMemory], NonBlocking):
    """The hooks of an orchestrator that awaits, on an `AsyncMemory`."""

    _handle = AsyncMemory

    @asynccontextmanager
    async def turn(self, session_id: str, text: str, context: Mapping[str, Any] | None = None) -> AsyncIterator[Turn]:
        """A turn in an `async with` statement, as in `TurnHooks.turn`; a cancelled one isn't remembered."""
        turn = Turn(await self.before_turn(session_id, text, context))
        yield turn
        await self.after_turn(session_id, text, turn.reply, ok=turn.ok)


def _check_settings(memory: object, handle: type, scope: object, on_recall_error: object) -> None:
    if not isinstance(memory, handle):
        raise ConfigError(f"memory={memory!r} is not the root handle that these hooks need, a {handle.__name__}")
    if scope not in ("session", "shared") and not callable(scope):
        raise ConfigError(f"scope={scope!r} must be 'session', 'shared' or a function of the session's id")
    if on_recall_error not in ("ignore", "raise"):
        raise ConfigError(f"on_recall_error={on_recall_error!r} must be 'ignore' or 'raise'")


def _cleared(tiers: Tiers, names: str | Sequence[str]) -> list[Keeping]:
    """What the tiers of these names keep; those that are switched off may still hold something."""
    known = {keeping.name: keeping for keeping in tiers.everything}
    wanted = [names] if isinstance(names, str) else names
    return [known[name] if name in known else tiers[name].keeping for name in wanted]
