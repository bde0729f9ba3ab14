"""Jobs as they lie in Redis: each change is one script."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import InvalidPayload
from tiered_memory.plan import Plan, ask, opened
from tiered_memory.store.queue import (
    STATUSES,
    Job,
    QueueDetail,
    address,
    claimed_job,
    failed_jobs,
    job_arguments,
    job_id,
)

JobReference: TypeAlias = "Job | int"
"""A job, which must then still be claimed as it was; or its id, whoever has claimed it."""

_STEP = 1000
"""How many jobs one script cancels at the most, so that it never holds up the server for long."""

_owners: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def owner_of(runner: Any) -> str:
    """The name under which what shares this runner claims jobs."""
    return _owners.setdefault(runner, secrets.token_hex(8))


@frozen
class _Reach:
    """The partitions and scopes whose jobs a worker serves: one scope's, or all of them."""

    keyspace: Keyspace
    scope: str | None

    @property
    def token(self) -> str:
        """The token that jobs must have, or nothing."""
        return "" if self.scope is None else self.keyspace.of(self.scope).token("tree")

    @property
    def partitions(self) -> list[int]:
        """The partitions that such jobs may lie in."""
        every = range(self.keyspace.partitions)
        return [*every] if self.scope is None else [self.keyspace.of(self.scope).partition]

    def everywhere(self, script: str, *arguments: Any) -> Plan[list[Any]]:
        """What a script answers in each partition."""
        return (yield from ask(*(self.calling(script, each, *arguments) for each in self.partitions)))

    def calling(self, script: str, partition: int, *arguments: Any) -> tuple[Any, ...]:
        """The command that runs a script in a partition."""
        return call(f"jobs_{script}", self.keyspace.scopes(partition), arguments)

    def place_of(self, job: JobReference) -> tuple[int, int, int | str]:
        """The partition of a job, its number there, and the claim that is meant."""
        id, claim = (job.id, job.claim) if isinstance(job, Job) else (job, "")
        number, partition = divmod(id, self.keyspace.partitions)
        return partition, number, claim


@frozen
class JobLog:
    """The jobs of one scope; without a scope, those of all, and new ones are the unscoped pool's."""

    scope: str | None
    owner: str

    def enqueue(self, kind: str, payload: Mapping[str, Any]) -> Plan[int]:
        """Enqueues a job; its id."""
        arguments = job_arguments([(kind, payload)])
        keys = (yield from opened()).of(self.scope)
        command = call("jobs_enqueue", keys.scopes, (clock.now_micros(), *address(keys), *arguments))
        ((number,),) = yield from ask(command, repeatable=False)
        return job_id(keys, number)

    def claim(self, kinds: Sequence[str], lease: timedelta) -> Plan[Job | None]:
        """Claims the next job; those whose payloads can't be read fail, and the next one is tried."""
        reach = yield from self._reach()
        for partition in (yield from self._worth_asking(reach, kinds)):
            while True:
                now = clock.now()
                arguments = (clock.to_micros(now), clock.to_micros(now + lease), self.owner, reach.token, *kinds)
                (found,) = yield from ask(reach.calling("claim", partition, *arguments), repeatable=False)
                if not found:
                    break
                try:
                    return claimed_job(reach.keyspace, partition, *found)
                except InvalidPayload as unreadable:
                    id = found[0] * reach.keyspace.partitions + partition
                    yield from self.fail(id, unreadable.code, again=False)
        return None

    def renew(self, jobs: Sequence[JobReference], lease: timedelta) -> Plan[list[bool]]:
        """Extends leases in one round trip; which jobs still run under their claims."""
        reach = yield from self._reach()
        ends = clock.to_micros(clock.now() + lease)
        places = [reach.place_of(job) for job in jobs]
        replies = yield from ask(
            *(reach.calling("renew", partition, ends, reach.token, *which) for partition, *which in places)
        )
        return [bool(renewed) for (renewed,) in replies]

    def complete(self, job: JobReference) -> Plan[bool]:
        """Marks a job done; whether it is."""
        return bool((yield from self._change("complete", job, repeatable=True)))

    def fail(self, job: JobReference, reason: str, *, again: bool) -> Plan[str]:
        """Fails a running job; its status, or nothing when it doesn't run."""
        return text((yield from self._change("fail", job, reason, "again" if again else "")))

    def defer(self, job: JobReference, delay: timedelta) -> Plan[bool]:
        """Puts a running job back; whether it ran."""
        return bool((yield from self._change("defer", job, clock.to_micros(clock.now() + delay))))

    def cancel(self, uri: str) -> Plan[int]:
        """Drops the jobs at or below a URI, step by step; how many."""
        keys = (yield from opened()).of(self.scope)
        total, dropped = 0, _STEP
        while dropped == _STEP:
            arguments = (clock.now_micros(), *address(keys), uri, _STEP)
            (dropped,) = yield from ask(call("jobs_cancel", keys.scopes, arguments))
            total += dropped
        return total

    def count(self, uri: str, statuses: Sequence[str]) -> Plan[int]:
        """How many jobs at or below a URI have one of these statuses."""
        keys = (yield from opened()).of(self.scope)
        (total,) = yield from ask(call("jobs_count", keys.scopes, (keys.token("tree"), uri, *statuses)))
        return int(total)

    def count_kind(self, kind: str) -> Plan[int]:
        """How many jobs of a kind there are."""
        reach = yield from self._reach()
        return sum((yield from reach.everywhere("count_kind", reach.token, kind)))

    def recover(self) -> Plan[int]:
        """Lets jobs wait again whose lease ran out, or that this owner claimed; how many."""
        reach = yield from self._reach()
        return sum((yield from reach.everywhere("recover", clock.now_micros(), reach.token, self.owner)))

    def stats(self) -> Plan[dict[str, int]]:
        """How many jobs there are of each status."""
        reach = yield from self._reach()
        counts = yield from reach.everywhere("stats", reach.token)
        return dict(zip(STATUSES, map(sum, zip(*counts, strict=True)), strict=True))

    def detail(self, limit: int) -> Plan[QueueDetail]:
        """How far behind the queue is, and what failed last."""
        reach, now = (yield from self._reach()), clock.now_micros()
        replies = yield from reach.everywhere("detail", now, reach.token, limit)
        waiting = [now - int(due) for due, _ in replies if due]
        failed = [
            job
            for partition, (_, rows) in zip(reach.partitions, replies, strict=True)
            for job in failed_jobs(reach.keyspace, partition, rows)
        ]
        failed.sort(key=lambda job: (job.failed_at, job.id), reverse=True)
        return QueueDetail(max(waiting) // 1000 if waiting else None, failed[:limit])

    def _reach(self) -> Plan[_Reach]:
        return _Reach((yield from opened()), self.scope)

    def _worth_asking(self, reach: _Reach, kinds: Sequence[str]) -> Plan[list[int]]:
        """The partitions in which a claim may find something, in an order that begins anywhere."""
        if len(reach.partitions) == 1:
            return reach.partitions
        found = yield from reach.everywhere("due", clock.now_micros(), *kinds)
        partitions = [partition for partition, due in zip(reach.partitions, found, strict=True) if due]
        random.shuffle(partitions)
        return partitions

    def _change(self, script: str, job: JobReference, *arguments: str | int, repeatable: bool = False) -> Plan[Any]:
        reach = yield from self._reach()
        partition, number, claim = reach.place_of(job)
        command = reach.calling(script, partition, clock.now_micros(), reach.token, number, claim, *arguments)
        (reply,) = yield from ask(command, repeatable=repeatable)
        return reply
