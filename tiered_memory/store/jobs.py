"""The durable queue: jobs that are enqueued with a write or by themselves, and that workers claim for a while.

A job waits (`pending`), is claimed (`running`), and ends as `done` or `failed`. A claim is a lease: when it runs out,
since its worker died, the job waits again, and the attempt counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, cast

from tiered_memory.assertions.deferred import KIND as EMBED_MEMORIES
from tiered_memory.assertions.embedding import embed_memories
from tiered_memory.checks import check_count
from tiered_memory.errors import InvalidInput, JobNotFound
from tiered_memory.graph.indexing import indexing
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Call, Plan, opened
from tiered_memory.store.bound import Bound
from tiered_memory.store.context import Summarise
from tiered_memory.store.crew import working
from tiered_memory.store.handlers import DocumentHandlers
from tiered_memory.store.handling import Handler
from tiered_memory.store.job_log import JobLog, JobReference, owner_of
from tiered_memory.store.queue import (
    STATUSES,
    Job,
    JobStatus,
    QueueDetail,
    check_delay,
    check_kind,
    check_kinds,
    check_reason,
    check_span,
    check_statuses,
)
from tiered_memory.store.uri import parse
from tiered_memory.store.work_events import JobEvent, Reporter, WorkReport
from tiered_memory.store.worker import Stop, Worker, WorkSettings


class JobOperations(Bound):
    """The jobs of one scope; on the root handle those of every scope, wherever no URI is named.

    `enqueue`, `cancel` and `count` concern the handle's own scope, on the root handle the unscoped pool, since a URI
    belongs to one scope. All else concerns the queue: a worker on the root handle serves all scopes.
    """

    @operation
    def enqueue(self, kind: str, payload: Mapping[str, Any] | None = None) -> Plan[int]:
        """Records work to be done, which survives this process; returns the job's id.

        Args:
            kind: What is to be done: 1 to 64 of the characters A-Z a-z 0-9 _ . -
            payload: With what, JSON values by name. Its `uri`, if it has one, is what the job is about: `cancel` and
                `count` go by that, and the job goes when what stands there is removed.

        Raises:
            InvalidInput: The kind can't be used.
            InvalidPayload: The payload can't be kept as JSON, or its `uri` isn't one.
        """
        return (yield from self._log.enqueue(kind, {} if payload is None else payload))

    @operation
    def claim(self, kinds: str | Iterable[str], *, lease: float | timedelta = 60.0) -> Plan[Job | None]:
        """Claims the job of one of these kinds that has been due the longest, then the oldest; None without one.

        On the root handle, scopes that have such jobs take turns: none waits for all of another's.

        Args:
            kinds: What the worker can do; jobs of other kinds are left alone.
            lease: For how long the job is the worker's own, in seconds or as a time span; `renew` extends it. After
                that the job waits again, or has failed if that was its last attempt.

        Raises:
            InvalidInput: One of the kinds can't be one.
            InvalidLimit: The lease is out of its range.
        """
        wanted, span = check_kinds(kinds), check_span(lease, "lease")
        return (yield from self._log.claim(wanted, span)) if wanted else None

    @operation
    def renew(self, job: JobReference, *, lease: float | timedelta = 60.0) -> Plan[bool]:
        """Extends the lease of a running job, to `lease` from now; False when it isn't this worker's any more."""
        span = check_span(lease, "lease")
        (renewed,) = yield from self._log.renew([_checked(job)], span)
        return renewed

    @operation
    def complete(self, job: JobReference) -> Plan[bool]:
        """Marks a job done; False when there is none, or another worker has claimed it since.

        A worker that is late still completes its job, unless another one has begun with it.
        """
        return (yield from self._log.complete(_checked(job)))

    @operation
    def fail(self, job: JobReference, reason: str | None = None, *, again: bool = True) -> Plan[JobStatus]:
        """Records that a running job failed; it is tried again after 1, 2, 4 and 8 s, until 5 attempts are used up.

        Args:
            job: Which one.
            reason: What kind of failure it was, such as `timeout`: 1 to 64 of A-Z a-z 0-9 _ . -, never a text.
            again: Whether another try makes sense; otherwise it has failed for good.

        Returns:
            `pending`, or `failed` for good.

        Raises:
            InvalidInput: The reason isn't one.
            JobNotFound: No such job runs, or another worker has claimed it since.
        """
        status = yield from self._log.fail(_checked(job), check_reason(reason), again=again)
        if not status:
            id = job.id if isinstance(job, Job) else job
            raise JobNotFound(f"job {id} isn't running, or not under this claim: it is gone, or its lease ran out")
        return cast("JobStatus", status)

    @operation
    def defer(self, job: JobReference, delay_ms: int) -> Plan[bool]:
        """Puts a running job back without spending an attempt, for work that merely waits for something.

        It is due after `delay_ms` milliseconds. False when no such job runs, or another worker has claimed it since.
        """
        return (yield from self._log.defer(_checked(job), check_delay(delay_ms)))

    @operation
    def cancel(self, uri: str) -> Plan[int]:
        """Drops the jobs that are about `uri` or what is below it, whatever their status; returns how many.

        A worker that runs one of them isn't interrupted, but its result is discarded. Raises `InvalidURI`.
        """
        return (yield from self._log.cancel(parse(uri)))

    @operation
    def count(self, uri: str, statuses: Iterable[JobStatus] = STATUSES) -> Plan[int]:
        """How many jobs are about `uri` or what is below it and have one of these statuses. Raises `InvalidURI`."""
        parsed, chosen = parse(uri), check_statuses(statuses)
        return (yield from self._log.count(parsed, chosen))

    @operation
    def count_kind(self, kind: str) -> Plan[int]:
        """How many jobs of a kind there are, whatever their status."""
        return (yield from self._log.count_kind(check_kind(kind)))

    @operation
    def recover(self) -> Plan[int]:
        """Lets running jobs wait again whose worker is gone; returns how many. Their attempts count.

        These are jobs whose lease ran out, and those that this very memory claimed and hasn't finished: call it
        before you begin to work, not while you do. What other workers run goes on.
        """
        return (yield from self._log.recover())

    @operation
    def stats(self) -> Plan[dict[str, int]]:
        """How many jobs there are, by each of the four statuses. Done ones are kept for a day, failed ones for 30."""
        return (yield from self._log.stats())

    @operation
    def detail(self, limit: int = 20) -> Plan[QueueDetail]:
        """How far behind the queue is, and up to `limit` jobs that failed last. Raises `InvalidLimit`."""
        return (yield from self._log.detail(check_count(limit, "limit", 1)))

    @operation
    def work(
        self,
        handlers: Mapping[str, Handler] | None = None,
        *,
        kinds: str | Iterable[str] | None = None,
        summarise: Summarise | None = None,
        concurrency: int = 4,
        lease: float | timedelta = 60.0,
        poll: float = 1.0,
        grace: float = 10.0,
        until_idle: bool = False,
        stop: Stop | None = None,
        on_event: Callable[[JobEvent], object] | None = None,
    ) -> Plan[WorkReport]:
        """Claims jobs and has them done until it is told to stop; returns how many, by what became of them.

        Documents are embedded and summarised without a handler of yours; memories are embedded that couldn't be when
        they were written, and indexed where this memory has a graph. A handler that returns has done its job; one that
        raises has failed, for a reason that is the `code` of an exception of this package, or `handler_failed`.
        `FailJob` names another reason, and `DeferJob` puts the job off. A handler may be called again for a job that it
        has done, when the worker died before that was recorded.

        Args:
            handlers: What does jobs of a kind of yours, called with the `Job`. It may block, which is done in a
                thread, or be async where this is awaited. One of a built-in kind takes its place.
            kinds: Which kinds to claim; None: all that there are handlers for. Jobs of a kind that is named here and
                has no handler fail as `unknown_job_kind`.
            summarise: Makes a shorter text of a long one, for the layers of documents. Default: the configuration's;
                without one, such jobs end with nothing stored.
            concurrency: How many jobs are done at a time.
            lease: For how long a job is claimed, in seconds or as a time span. It is renewed meanwhile: so long does
                it take until others may do the jobs of a worker that was killed.
            poll: After how many seconds without a job it looks again.
            grace: For how many seconds what runs may go on when it shall stop; then it is given back, free of charge.
                When an awaiting task is cancelled, that is done at once.
            until_idle: Stop when no job is due.
            stop: Says when to stop; a `threading.Event` does in both modes.
            on_event: Told what happens to each job, maybe from several threads.

        Raises:
            InvalidInput: A kind can't be one, or a handler isn't callable.
            InvalidLimit: A number is out of its range.
            StoreError: Redis can't be reached to begin with; later on it is waited for.
        """
        chosen = _callables({} if handlers is None else handlers)
        plans = DocumentHandlers(summarise or self._runner.config.summarise).plans
        plans |= {EMBED_MEMORIES: embed_memories} | indexing(self._tiers)
        settings = WorkSettings(
            kinds=check_kinds({**plans, **chosen} if kinds is None else kinds),
            concurrency=check_count(concurrency, "concurrency", 1),
            lease=check_span(lease, "lease"),
            poll=check_span(poll, "poll").total_seconds(),
            grace=check_span(grace, "grace").total_seconds() if grace else 0,
            until_idle=until_idle,
        )
        yield from opened()  # what can't be reached from the start is an error; later the worker waits for it
        worker = Worker(self._log, chosen, plans, settings, Reporter(on_event), stop)
        return cast("WorkReport", (yield Call(working(worker, self._runner))))

    @property
    def _log(self) -> JobLog:
        return JobLog(self._scope, owner_of(self._runner))


class Jobs(JobOperations, Blocking):
    """The jobs of one scope."""


class AsyncJobs(JobOperations, NonBlocking):
    """The jobs of one scope, whose operations are awaited."""


def _callables(handlers: object) -> dict[str, Handler]:
    if not isinstance(handlers, Mapping):
        raise InvalidInput(f"handlers must be a mapping of kinds to functions, not {type(handlers).__name__}")
    for kind, handler in handlers.items():
        if not callable(handler):
            raise InvalidInput(f"the handler of kind {check_kind(kind)!r} can't be called")
    return {check_kind(kind): handler for kind, handler in handlers.items()}


def _checked(job: object) -> JobReference:
    if isinstance(job, Job):
        return job
    if isinstance(job, int) and not isinstance(job, bool) and job >= 0:
        return job
    raise InvalidInput(f"job={job!r} must be a Job or the id of one")
