"""Writes that failed after a turn and wait for another try: bounded in number and in tries."""

from __future__ import annotations

import threading

from attrs import frozen

from tiered_memory.hook_events import Reporter
from tiered_memory.items import MemoryItem

MAX_TRIES = 5
"""How often a write is tried before it is given up."""


@frozen
class _Write:
    item: MemoryItem
    error: Exception
    tries: int


class Retries:
    """The waiting writes; what failed last waits at the end, so that no write holds up the others."""

    def __init__(self, limit: int, reporter: Reporter) -> None:
        self._limit, self._reporter = limit, reporter
        self._writes: dict[tuple[str | None, str], _Write] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._writes)

    def first(self, count: int) -> list[MemoryItem]:
        """Up to `count` items, those first that have waited longest since their last try."""
        with self._lock:
            return [write.item for write in self._writes.values()][:count]

    def failed(self, item: MemoryItem, error: Exception) -> None:
        """Lets an item wait for another try, or gives it up; reports which. The oldest makes room."""
        with self._lock:
            before = self._writes.pop(_key(item), None)
            write = _Write(item, error, 1 + (before.tries if before else 0))
            again = write.tries < MAX_TRIES
            if again:
                self._writes[_key(item)] = write
            over = len(self._writes) > self._limit
            dropped = self._writes.pop(next(iter(self._writes))) if over else None
        self._reporter.report("remember_failed" if again else "remember_dropped", error, item.scope)
        if dropped:
            self._reporter.report("remember_dropped", dropped.error, dropped.item.scope)

    def done(self, item: MemoryItem) -> None:
        """Ends the waiting of an item, if it waits."""
        with self._lock:
            self._writes.pop(_key(item), None)

    def forget(self, scope: str | None) -> None:
        """Ends the waiting of all items of a scope."""
        with self._lock:
            self._writes = {key: write for key, write in self._writes.items() if key[0] != scope}


def _key(item: MemoryItem) -> tuple[str | None, str]:
    return item.scope, item.key
