"""Changes that wait a while for the next one, so that a burst of them is saved once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from tiered_memory.files.items import File
from tiered_memory.plan import Pause, Plan

T = TypeVar("T")


class Timer(Protocol):
    """Something that happens later, unless it is cancelled."""

    def cancel(self) -> object:
        """Keeps it from happening."""
        ...


StartTimer = Callable[[float, Callable[[], "Plan[None]"]], Timer]
"""Runs a plan after a number of seconds: in a thread, or as a task of the event loop."""


class Drafts:
    """Files whose last content isn't saved yet, and who is at work on which path."""

    def __init__(self, start_timer: StartTimer) -> None:
        self._start_timer = start_timer
        self._files: dict[str, File] = {}
        self._timers: dict[str, Timer] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def paths(self) -> list[str]:
        """The paths of the drafts, sorted."""
        return sorted(self._files)

    def get(self, path: str) -> File | None:
        """The draft of that path, or None."""
        return self._files.get(path)

    def put(self, file: File, seconds: float, save: Callable[[], Plan[None]]) -> None:
        """Keeps a draft, which `save` is to save unless another one takes its place within `seconds`."""
        self.drop(file.path)
        self._files[file.path] = file
        self._timers[file.path] = self._start_timer(seconds, save)

    def drop(self, path: str) -> None:
        """Forgets the draft of that path."""
        self._files.pop(path, None)
        timer = self._timers.pop(path, None)
        if timer is not None:
            timer.cancel()

    def alone(self, path: str, work: Plan[T]) -> Plan[T]:
        """Does `work` while nobody else who asks for it is at work on `path`."""
        while not self._claim(path):
            yield Pause(0.002)
        try:
            return (yield from work)
        finally:
            self._busy.discard(path)

    def _claim(self, path: str) -> bool:
        with self._lock:
            if path in self._busy:
                return False
            self._busy.add(path)
            return True
