"""What hooks report when a turn goes on without its memories, or isn't remembered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

from attrs import field, frozen

from tiered_memory.scope import digest

HookEventKind: TypeAlias = Literal["recall_failed", "remember_failed", "remember_dropped"]
"""A turn goes on without memories; a write waits for another try; a write is given up, so its turn is lost."""

_log = logging.getLogger(__name__)


@frozen
class HookEvent:
    """Something that went wrong beside a turn.

    Attributes:
        kind: What happened, see `HookEventKind`.
        error: What was raised. Exceptions of this package never quote a text, those of your own counter or tier may.
        scope: A digest of the turn's scope, the same for all events of one scope.
    """

    kind: HookEventKind
    error: Exception = field(repr=False)
    scope: str


class Reporter:
    """Logs events as warnings, and hands them to the orchestrator's own function."""

    def __init__(self, on_event: Callable[[HookEvent], object] | None) -> None:
        self._on_event = on_event

    def report(self, kind: HookEventKind, error: Exception, scope: str | None) -> None:
        """Tells what happened in a scope; a failing `on_event` is logged, never raised."""
        event = HookEvent(kind, error, digest(scope))
        # a foreign error's message may quote a text, its class can't
        _log.warning("%s (%s) in scope %s", kind, type(error).__name__, event.scope)
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as failure:
            _log.warning("on_event failed with %s", type(failure).__name__)
