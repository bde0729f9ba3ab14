"""The queue and a model of it, through the same random calls: whatever can be read is the same."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from jobs_model import QueueModel
from redis import Redis
from shorthand import NOON
from stores import store_of

from tiered_memory import JobNotFound, clock

U = "viking://r"
SCOPES, KINDS, STATUSES = (None, "a", "b"), ("k", "l"), ("pending", "running", "done", "failed")

scopes, owners = st.sampled_from(SCOPES), st.sampled_from((0, 1))
uris = st.sampled_from([None, f"{U}/x", f"{U}/x/y", f"{U}/x-old"])
leases = st.sampled_from([1.0, 5.0, 60.0])
waits = st.sampled_from([0.001, 0.5, 1.0, 3.0, 61.0, 90_000.0])


class Both(RuleBasedStateMachine):
    """Calls queue and model, and compares what they answer and all that can be read afterwards."""

    open = None
    """Opens two workers on an empty queue; set by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.workers, self.time, self.left = type(self).open()
        self.time[0] = NOON
        self.model, self.claims, self.ids = QueueModel(), [], {}

    def teardown(self) -> None:
        self.read_all()
        for scope in SCOPES:
            self.jobs(scope).cancel(U)
        assert self.left() >= sum(job.uri is None for job in self.model.jobs)
        for mem in self.workers:
            mem.close()

    def jobs(self, scope, owner=0):
        mem = self.workers[owner]
        return store_of(mem if scope is None else mem.scoped(scope)).jobs

    @rule(seconds=waits)
    def wait(self, seconds):
        self.time[0] += timedelta(seconds=seconds)
        self.model.now = (self.time[0] - NOON).total_seconds()

    @rule(scope=scopes, kind=st.sampled_from(KINDS), uri=uris)
    def enqueue(self, scope, kind, uri):
        number = self.model.enqueue(scope, kind, uri)
        self.ids[number] = self.jobs(scope).enqueue(kind, {"uri": uri} if uri else {})

    @rule(scope=scopes, owner=owners, kinds=st.sampled_from([("k",), ("k", "l")]), lease=leases)
    def claim(self, scope, owner, kinds, lease):
        job = self.jobs(scope, owner).claim(kinds, lease=lease)
        possible = self.model.claimable(scope, kinds)
        if not possible:
            assert job is None
            return
        (number,) = (each for each in possible if self.ids[each] == job.id)
        expected = self.model.claim(number, owner, lease)
        assert (job.attempts, job.claim, job.scope, job.uri) == (
            expected.attempts, expected.claims, expected.scope, expected.uri,
        )  # fmt: skip
        self.claims.append((number, job))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), what=st.sampled_from(["complete", "fail", "give up", "defer", "renew"]), scope=scopes)
    def end(self, data, what, scope):
        number, job = data.draw(st.sampled_from(self.claims))
        if not data.draw(st.booleans()):
            job, expected = job.id, self.model.job(number, scope)
        else:
            expected = self.model.job(number, scope, job.claim)
        jobs = self.jobs(scope)
        if what == "complete":
            assert jobs.complete(job) == self.model.complete(expected)
        elif what == "renew":
            assert jobs.renew(job, lease=7) == self.model.renew(expected, 7)
        elif what == "defer":
            assert jobs.defer(job, 2500) == self.model.defer(expected, 2.5)
        else:
            status = self.model.fail(expected, what.replace(" ", "_"), what == "fail")
            if status is None:
                with pytest.raises(JobNotFound):
                    jobs.fail(job, "x", again=what == "fail")
            else:
                assert jobs.fail(job, what.replace(" ", "_"), again=what == "fail") == status

    @rule(scope=scopes, owner=owners)
    def recover(self, scope, owner):
        assert self.jobs(scope, owner).recover() == self.model.recover(scope, owner)

    @rule(scope=scopes, uri=st.sampled_from([f"{U}/x", f"{U}/x/y"]))
    def cancel(self, scope, uri):
        assert self.jobs(scope).cancel(uri) == self.model.cancel(scope, uri)

    @invariant()
    def counted(self):
        assert self.jobs(None).stats() == self.model.stats(None)

    @rule()
    def read_all(self):
        for scope in SCOPES:
            jobs = self.jobs(scope)
            assert jobs.stats() == self.model.stats(scope)
            detail = jobs.detail(100)
            assert detail.oldest_pending_ms == self.model.oldest(scope)
            failed = [job for job in self.model.jobs if job.status == "failed" and scope in (None, job.scope)]
            failed.sort(key=lambda job: (-job.moment, -job.id))
            assert [(each.id, each.attempts, each.last_error) for each in detail.failed] == [
                (self.ids[job.id], job.attempts, job.last_error) for job in failed
            ]
            for status in STATUSES:
                found = [job for job in self.model.at(scope, f"{U}/x") if job.status == status]
                assert jobs.count(f"{U}/x", [status]) == len(found)
            held = [job.kind for job in self.model.jobs if scope in (None, job.scope)]
            assert [jobs.count_kind(kind) for kind in KINDS] == [held.count(kind) for kind in KINDS]


def test_same_life(open_memory, namespace, redis_url, monkeypatch):
    """Through any sequence of calls queue and model agree on all that can be read."""
    numbers, time = count(), [NOON]
    monkeypatch.setattr(clock, "now", lambda: time[0])

    with Redis.from_url(redis_url) as client:

        def open_empty():
            name = f"{namespace}-{next(numbers)}"
            workers = [open_memory(namespace=name) for _ in range(2)]
            return workers, time, lambda: sum(1 for _ in client.scan_iter(f"{{{name}:*:job:*", count=1000))

        class Machine(Both):
            open = staticmethod(open_empty)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=25, stateful_step_count=40, deadline=None, derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
