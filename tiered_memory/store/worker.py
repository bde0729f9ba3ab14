"""A worker: it claims jobs, has them done several at a time, keeps their leases, and records how they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from attrs import frozen

from tiered_memory.errors import StoreError, TieredMemoryError
from tiered_memory.plan import Pause, Plan, call
from tiered_memory.store.handling import DeferJob, FailJob, Handler, JobPlan
from tiered_memory.store.job_log import JobLog
from tiered_memory.store.queue import Job
from tiered_memory.store.work_events import Reporter

_BLINK = 0.05
"""For how many seconds a worker sleeps before it looks whether it shall stop."""

_LONGEST_PAUSE = 30.0
"""The longest pause, in seconds, while the queue can't be used."""


class Stop(Protocol):
    """Says when to stop, as `threading.Event` and `asyncio.Event` do."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


@frozen(kw_only=True)
class WorkSettings:
    """How a worker works.

    Attributes:
        kinds: The kinds of jobs that it claims.
        concurrency: How many it has at a time.
        lease: For how long a job is claimed; leases are renewed three times as often.
        poll: After how many seconds without a job it looks again.
        grace: For how many seconds what runs may go on when it shall stop.
        until_idle: Whether it stops when there is nothing to do.
    """

    kinds: Sequence[str]
    concurrency: int
    lease: timedelta
    poll: float
    grace: float
    until_idle: bool


class Worker:
    """One worker's state, and the plans of what it does side by side."""

    def __init__(
        self,
        log: JobLog,
        handlers: Mapping[str, Handler],
        plans: Mapping[str, JobPlan],
        settings: WorkSettings,
        reporter: Reporter,
        stop: Stop | None,
    ) -> None:
        self.settings, self.reporter = settings, reporter
        self._log, self._handlers, self._plans, self._stop = log, handlers, plans, stop
        self._running: dict[int, Job] = {}
        self._told = self._over = False

    @property
    def stopping(self) -> bool:
        """Whether it claims no more jobs."""
        return self._told or (self._stop is not None and self._stop.is_set())

    def stop(self) -> None:
        """Claims no more jobs; what runs is finished, or given back."""
        self._told = True

    def end(self) -> None:
        """Stops, and renews no more leases."""
        self._told = self._over = True

    def serve(self) -> Plan[None]:
        """Does one job after the other, until it shall stop; as many of these go on side by side as jobs may."""
        pause = self.settings.poll
        while not self.stopping:
            try:
                job = yield from self._log.claim(self.settings.kinds, self.settings.lease)
            except StoreError as error:
                self.reporter.out_of_reach(error)
                yield from self._rest(pause, lambda: self.stopping)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = self.settings.poll
            if job is not None:
                yield from self._do(job)
            elif self.settings.until_idle:
                return
            else:
                yield from self._rest(pause, lambda: self.stopping)

    def keep(self) -> Plan[None]:
        """Renews the leases of what runs, until the worker has ended."""
        lease = self.settings.lease
        while (yield from self._rest(lease.total_seconds() / 3, lambda: self._over)):
            running = [*self._running.values()]
            if not running:
                continue
            try:
                yield from self._log.renew(running, lease)
            except StoreError as error:
                self.reporter.out_of_reach(error)

    def give_back(self) -> Plan[None]:
        """Lets the jobs wait again that still run."""
        for job in [*self._running.values()]:
            try:
                given_back = yield from self._log.defer(job, timedelta(0))
            except StoreError as error:
                self.reporter.out_of_reach(error)
                return
            if given_back:
                self.reporter.tell("given_back", job)

    def _rest(self, seconds: float, ends: Callable[[], bool]) -> Plan[bool]:
        """Sleeps for a while, unless it `ends` before; whether it goes on then."""
        for _ in range(max(1, round(seconds / _BLINK))):
            if ends():
                return False
            yield Pause(_BLINK)
        return not ends()

    def _do(self, job: Job) -> Plan[None]:
        self._running[job.id] = job
        self.reporter.tell("claimed", job)
        try:
            yield from self._ended(job)
        except StoreError as error:  # its lease will run out, and another worker do it
            self.reporter.tell("lost", job, error.code)
        self._running.pop(job.id, None)

    def _ended(self, job: Job) -> Plan[None]:
        """Has a job done, and records how it ended."""
        try:
            yield from self._handled(job)
        except DeferJob as wait:
            deferred = yield from self._log.defer(job, wait.delay)
            self.reporter.tell("deferred" if deferred else "lost", job)
        except FailJob as failure:
            yield from self._fail(job, failure.reason, again=failure.again)
        except TieredMemoryError as error:
            yield from self._fail(job, error.code)
        except Exception:
            # a foreign error's message may quote a text, and its class says little without it
            yield from self._fail(job, "handler_failed")
        else:
            done = yield from self._log.complete(job)
            self.reporter.tell("done" if done else "lost", job)

    def _handled(self, job: Job) -> Plan[None]:
        if job.kind in self._handlers:
            yield from call(self._handlers[job.kind], job)
        elif job.kind in self._plans:
            yield from self._plans[job.kind](job)
        else:
            raise FailJob("unknown_job_kind", again=False)

    def _fail(self, job: Job, reason: str, *, again: bool = True) -> Plan[None]:
        status = yield from self._log.fail(job, reason, again=again)
        self.reporter.tell({"pending": "retrying", "failed": "failed"}.get(status, "lost"), job, reason)  # type: ignore[arg-type]
