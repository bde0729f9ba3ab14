"""What workers report: what became of each job, and how many that were."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Literal, TypeAlias

from attrs import frozen

from tiered_memory.scope import digest
from tiered_memory.store.queue import Job

JobOutcome: TypeAlias = Literal["claimed", "done", "retrying", "failed", "deferred", "lost", "given_back"]
"""A job is begun; it is done, will be tried again, has failed for good, was put off, is another worker's now or gone,
or was given back unfinished since the worker stopped."""

_log = logging.getLogger(__name__)


@frozen
class JobEvent:
    """Something that happened to a job while a worker had it. It never has a text.

    Attributes:
        outcome: What happened, see `JobOutcome`.
        id: The job's id.
        kind: The job's kind.
        scope: A digest of its scope, the same for all events of one scope.
        attempts: How often it was tried, this time included.
        reason: What kind of failure it was, or None.
    """

    outcome: JobOutcome
    id: int
    kind: str
    scope: str
    attempts: int
    reason: str | None = None


@frozen
class WorkReport:
    """How many jobs a worker had, by what became of them.

    Attributes:
        done: They are done.
        retrying: They failed, and will be tried again.
        failed: They failed for good.
        deferred: They were put off.
        lost: They were another worker's when they ended, or gone.
        given_back: They were given back unfinished.
    """

    done: int = 0
    retrying: int = 0
    failed: int = 0
    deferred: int = 0
    lost: int = 0
    given_back: int = 0


class Reporter:
    """Counts what becomes of jobs, logs what goes wrong, and tells the caller's own function."""

    def __init__(self, on_event: Callable[[JobEvent], object] | None) -> None:
        self._on_event, self._counts, self._lock = on_event, Counter[str](), Lock()

    @property
    def report(self) -> WorkReport:
        """The counts so far."""
        with self._lock:
            return WorkReport(**{name: number for name, number in self._counts.items() if name != "claimed"})

    def tell(self, outcome: JobOutcome, job: Job, reason: str | None = None) -> None:
        """Reports what happened to a job; a failing `on_event` is logged, never raised."""
        with self._lock:
            self._counts[outcome] += 1
        if outcome in ("retrying", "failed", "lost"):
            _log.warning("job %s of kind %s: %s (%s)", job.id, job.kind, outcome, reason)
        if self._on_event is None:
            return
        try:
            self._on_event(JobEvent(outcome, job.id, job.kind, digest(job.scope), job.attempts, reason))
        except Exception as failure:
            _log.warning("on_event failed with %s", type(failure).__name__)

    def out_of_reach(self, error: Exception) -> None:
        """Logs that the queue can't be used for now."""
        _log.warning("the queue can't be used (%s); trying again", type(error).__name__)
