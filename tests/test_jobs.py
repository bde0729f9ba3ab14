"""The durable queue: enqueueing, claiming in turns, leases, failures, deferring, cancelling and counting."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from shorthand import NOON, frozen
from stores import store_of

from tiered_memory import InvalidInput, InvalidLimit, InvalidPayload, JobNotFound
from tiered_memory.engine.scripts import call
from tiered_memory.plan import ask, opened
from tiered_memory.store.queue import MAX_ATTEMPTS, QueueDetail, address

U = "viking://resources"
MINUTE = 60


@pytest.fixture
def jobs(mem):
    """The jobs of the unscoped pool, and of all scopes for a worker."""
    return store_of(mem).jobs


@pytest.fixture
def clock():
    """A clock that stands still until it is told to go on."""
    with frozen() as time:
        yield time


def of_scope(mem, scope):
    """The jobs of a scope."""
    return store_of(mem.scoped(scope)).jobs


def drained(jobs, kinds=("work",)):
    """The ids of all jobs that can be claimed, in the order in which they are."""
    found = []
    while job := jobs.claim(kinds):
        found.append(job.id)
    return found


class TestEnqueue:
    def test_ids(self, jobs):
        """Each job has an id of its own, and later ones have greater ids."""
        ids = [jobs.enqueue("work") for _ in range(3)]
        assert ids == sorted(set(ids))

    def test_payload(self, jobs, clock):
        """A job comes back with its payload, its times and its lease."""
        payload = {"uri": f"{U}/x", "nested": {"a": [1, None, "é"]}}
        id = jobs.enqueue("work", payload)
        clock.tick(5)
        job = jobs.claim(["work"])
        assert (job.id, job.kind, job.payload, job.scope) == (id, "work", payload, None)
        assert (job.queued_at, job.claimed_at) == (NOON, NOON + timedelta(seconds=5))
        assert job.lease_until == job.claimed_at + timedelta(seconds=MINUTE)
        assert (job.attempts, job.claim, job.uri) == (1, 1, f"{U}/x")

    def test_shows_no_payload(self, jobs):
        """A job's repr shows neither its payload nor a line break."""
        jobs.enqueue("work", {"secret": "hunter2"})
        assert "hunter2" not in repr(jobs.claim("work"))

    @pytest.mark.parametrize(
        "payload",
        [
            {"x": object()},
            {"x": float("nan")},
            {1: "x"},
            [],
            "text",
            {"x": "\ud800"},
            {"x": b"bytes"},
            {"uri": "no uri"},
            {"uri": 7},
            {"x": "y" * 300_000},
            {"content_hash": "not a hash"},
        ],
    )
    def test_unencodable(self, jobs, payload):
        """A payload that can't be kept is refused, and nothing is enqueued."""
        with pytest.raises(InvalidPayload):
            jobs.enqueue("work", payload)
        assert jobs.stats() == {"pending": 0, "running": 0, "done": 0, "failed": 0}

    @pytest.mark.parametrize("kind", ["", "with space", "a:b", "ü", "x" * 65, None, 7, "new\nline"])
    def test_bad_kind(self, jobs, kind):
        """A kind is a word."""
        with pytest.raises(InvalidInput):
            jobs.enqueue(kind, {})


class TestClaim:
    def test_by_kind(self, jobs):
        """Only jobs of the kinds that are named are claimed; a claim counts as an attempt."""
        id = jobs.enqueue("work")
        assert jobs.claim(["other"]) is None
        job = jobs.claim(["other", "work"])
        assert (job.id, job.attempts) == (id, 1)
        assert jobs.claim(["work"]) is None

    def test_no_kind(self, jobs):
        """Without a kind nothing is claimed."""
        jobs.enqueue("work")
        assert jobs.claim([]) is None

    @pytest.mark.parametrize("kinds", [None, 7, b"work", ["a b"], [None]])
    def test_bad_kinds(self, jobs, kinds):
        """Kinds are words."""
        with pytest.raises(InvalidInput):
            jobs.claim(kinds)

    @pytest.mark.parametrize("lease", [0, -1, float("nan"), float("inf"), "60", None, True])
    def test_bad_lease(self, jobs, lease):
        """A lease is a time."""
        with pytest.raises(InvalidLimit):
            jobs.claim("work", lease=lease)

    def test_order(self, jobs, clock):
        """What has been due the longest comes first, whatever its kind, and then what was enqueued first."""
        first = [jobs.enqueue(kind) for kind in ("work", "other", "work")]
        clock.tick(-10)
        earlier = jobs.enqueue("other")
        clock.tick(10)
        later = [jobs.enqueue("work") for _ in range(12)]
        assert drained(jobs, ["work", "other"]) == [earlier, *first, *later]

    def test_unreadable_payload(self, jobs, client, namespace):
        """A job whose payload isn't JSON has failed for good, and the next one is claimed."""
        broken, sound = jobs.enqueue("work"), jobs.enqueue("work")
        client.hset(f"{{{namespace}:0}}:job:{broken}", "payload", b"\xff{")
        assert jobs.claim("work").id == sound
        (failed,) = jobs.detail().failed
        assert (failed.id, failed.last_error) == (broken, "invalid_payload")


class TestLease:
    def test_runs_out(self, jobs, clock):
        """A job whose lease ran out can be claimed again, and its attempt counts."""
        job = jobs.claim("work", lease=30) if jobs.enqueue("work") else None
        clock.tick(29.9)
        assert jobs.claim("work") is None
        clock.tick(0.2)
        again = jobs.claim("work")
        assert (again.id, again.attempts, again.claim) == (job.id, 2, 2)

    def test_renewed(self, jobs, clock):
        """A lease that is renewed goes on from then."""
        jobs.enqueue("work")
        job = jobs.claim("work", lease=30)
        clock.tick(20)
        assert jobs.renew(job, lease=30)
        clock.tick(20)
        assert jobs.claim("work") is None
        clock.tick(11)
        assert jobs.claim("work").id == job.id

    def test_lost(self, jobs, clock):
        """Who lost a claim to another can neither renew, complete, fail nor defer the job."""
        jobs.enqueue("work")
        job = jobs.claim("work")
        clock.tick(2 * MINUTE)
        jobs.claim("work")
        assert (jobs.renew(job), jobs.complete(job), jobs.defer(job, 0)) == (False, False, False)
        with pytest.raises(JobNotFound):
            jobs.fail(job)
        assert jobs.stats()["running"] == 1

    def test_late(self, jobs, clock):
        """A worker that is late still completes its job, if no other has begun with it."""
        jobs.enqueue("work")
        job = jobs.claim("work")
        clock.tick(2 * MINUTE)
        assert jobs.recover() == 1
        assert jobs.complete(job)
        assert jobs.claim("work") is None

    def test_kills_its_workers(self, jobs, clock):
        """A job that outlives its lease at each attempt has failed in the end."""
        jobs.enqueue("work")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            assert jobs.claim("work").attempts == attempt
            clock.tick(2 * MINUTE)
        assert jobs.claim("work") is None
        (failed,) = jobs.detail().failed
        assert (failed.last_error, failed.attempts) == ("lease_expired", MAX_ATTEMPTS)

    def test_unknown(self, jobs):
        """There is no lease to renew of a job that isn't there."""
        assert not jobs.renew(99)


class TestComplete:
    def test_done(self, jobs):
        """A job that is done is never claimed again; saying so twice changes nothing."""
        jobs.enqueue("work")
        job = jobs.claim("work")
        assert jobs.complete(job)
        assert jobs.complete(job.id)
        assert jobs.claim("work") is None
        assert jobs.stats() == {"pending": 0, "running": 0, "done": 1, "failed": 0}

    def test_unknown(self, jobs):
        """An unknown job is no error."""
        assert not jobs.complete(99)

    @pytest.mark.parametrize("job", [None, "1", -1, 1.0, True])
    def test_no_job(self, jobs, job):
        """What is neither a job nor an id is refused."""
        with pytest.raises(InvalidInput):
            jobs.complete(job)

    def test_kept_for_a_day(self, jobs, clock):
        """What is done is kept for a day, and forgotten by a later claim."""
        jobs.enqueue("work")
        jobs.complete(jobs.claim("work"))
        clock.tick(86_399)
        jobs.claim("work")
        assert jobs.stats()["done"] == 1
        clock.tick(2)
        jobs.claim("work")
        assert jobs.stats()["done"] == jobs.count_kind("work") == 0


class TestFail:
    def test_backoff(self, jobs, clock):
        """After its failures a job is due in 1, 2, 4 and 8 seconds; after the fifth it has failed, and says why."""
        id = jobs.enqueue("work", {"uri": f"{U}/x"})
        for pause in (1, 2, 4, 8):
            assert jobs.fail(jobs.claim("work"), "timeout") == "pending"
            clock.tick(pause - 0.001)
            assert jobs.claim("work") is None
            clock.tick(0.001)
        assert jobs.fail(jobs.claim("work"), "gave_up") == "failed"
        assert jobs.stats() == {"pending": 0, "running": 0, "done": 0, "failed": 1}
        (failed,) = jobs.detail().failed
        assert (failed.id, failed.kind, failed.uri, failed.scope) == (id, "work", f"{U}/x", None)
        assert (failed.attempts, failed.max_attempts, failed.last_error) == (5, 5, "gave_up")
        assert failed.failed_at == NOON + timedelta(seconds=15)

    def test_for_good(self, jobs):
        """A job that makes no sense to try again has failed at once."""
        jobs.enqueue("work")
        assert jobs.fail(jobs.claim("work"), "no_sense", again=False) == "failed"

    def test_without_reason(self, jobs):
        """A failure without a reason is an error."""
        jobs.enqueue("work")
        jobs.fail(jobs.claim("work"), again=False)
        assert jobs.detail().failed[0].last_error == "error"

    def test_a_text_is_no_reason(self, jobs):
        """A reason names a kind of failure; a text is refused, and the refusal doesn't quote it."""
        jobs.enqueue("work")
        job = jobs.claim("work")
        with pytest.raises(InvalidInput) as refused:
            jobs.fail(job, "the password was hunter2")
        assert "hunter2" not in str(refused.value)
        assert jobs.stats()["running"] == 1

    def test_unknown(self, jobs):
        """A job that isn't there, or doesn't run, can't fail."""
        id = jobs.enqueue("work")
        for each in (id, 99):
            with pytest.raises(JobNotFound):
                jobs.fail(each, "timeout")
        assert jobs.stats()["pending"] == 1


class TestDefer:
    def test_free_of_charge(self, jobs):
        """Putting a job off costs no attempt, however often."""
        jobs.enqueue("work")
        for _ in range(7):
            assert jobs.defer(jobs.claim("work"), 0)
        assert jobs.claim("work").attempts == 1
        assert jobs.stats()["failed"] == 0

    def test_later(self, jobs, clock):
        """A job that was put off is due after the delay."""
        jobs.enqueue("work")
        jobs.defer(jobs.claim("work"), 1500)
        clock.tick(1.499)
        assert jobs.claim("work") is None
        clock.tick(0.001)
        assert jobs.claim("work") is not None

    def test_running_only(self, jobs):
        """What is done isn't revived, what waits isn't moved, and an unknown job is no error."""
        first, second = jobs.enqueue("work"), jobs.enqueue("other")
        jobs.complete(jobs.claim("work"))
        assert not any(jobs.defer(each, 60_000) for each in (first, second, 99))
        assert jobs.stats() == {"pending": 1, "running": 0, "done": 1, "failed": 0}
        assert jobs.claim("other").id == second

    @pytest.mark.parametrize("delay", [-1, 0.5, None, "1"])
    def test_bad_delay(self, jobs, delay):
        """A delay is a whole number of milliseconds."""
        with pytest.raises(InvalidLimit):
            jobs.defer(1, delay)


class TestRecover:
    def test_own(self, jobs):
        """What this memory left running waits again, and the attempt counts."""
        id = jobs.enqueue("work")
        jobs.claim("work")
        assert jobs.recover() == 1
        again = jobs.claim("work")
        assert (again.id, again.attempts) == (id, 2)

    def test_others(self, jobs, open_memory, clock):
        """What another worker runs goes on, until its lease runs out."""
        other = store_of(open_memory()).jobs
        jobs.enqueue("work")
        job = other.claim("work", lease=30)
        assert jobs.recover() == 0
        assert other.renew(job, lease=30)
        clock.tick(31)
        assert jobs.recover() == 1
        assert jobs.claim("work").attempts == 2

    def test_deferred(self, jobs):
        """What was put off stays put off."""
        jobs.enqueue("work")
        jobs.defer(jobs.claim("work"), 60_000)
        assert jobs.recover() == 0
        assert jobs.claim("work") is None
        assert jobs.stats()["pending"] == 1


class TestCancel:
    def test_by_uri(self, jobs):
        """The jobs about a URI and what is below it go, whatever else mentions it stays."""
        for uri in ("x", "x/y", "x-old", "z"):
            jobs.enqueue("work", {"uri": f"{U}/{uri}", "content": f"about {U}/x"})
        jobs.enqueue("work", {"about": f"{U}/x"})
        assert jobs.cancel(f"{U}/x") == 2
        assert [jobs.claim("work").uri for _ in range(3)] == [f"{U}/x-old", f"{U}/z", None]

    def test_in_any_state(self, jobs):
        """Pending, running, done and failed jobs go alike."""
        for _ in range(4):
            jobs.enqueue("work", {"uri": f"{U}/x"})
        jobs.complete(jobs.claim("work"))
        jobs.fail(jobs.claim("work"), again=False)
        running = jobs.claim("work")
        assert jobs.cancel(f"{U}/x") == 4
        assert sum(jobs.stats().values()) == jobs.count_kind("work") == 0
        assert not jobs.complete(running)
        assert jobs.detail() == QueueDetail(None, [])

    def test_nothing(self, jobs):
        """Nothing to cancel is no error."""
        assert jobs.cancel(f"{U}/x") == 0

    def test_root(self, jobs):
        """All jobs about a URI are below the root, standing jobs aren't."""
        jobs.enqueue("work", {"uri": "viking://"})
        jobs.enqueue("work", {"uri": f"{U}/x"})
        jobs.enqueue("work")
        assert jobs.count("viking://") == 2
        assert jobs.cancel("viking://") == 2
        assert jobs.stats()["pending"] == 1

    def test_many(self, jobs):
        """However many jobs a URI has, they go."""
        for number in range(2500):
            jobs.enqueue("work", {"uri": f"{U}/{number}"})
        assert jobs.cancel(U) == 2500


class TestCounts:
    def test_by_uri(self, jobs):
        """The jobs of a URI and of what is below it are counted by status."""
        for uri in ("x", "x/y", "x-old"):
            jobs.enqueue("work", {"uri": f"{U}/{uri}"})
        jobs.claim("work")
        assert jobs.count(f"{U}/x", ["pending"]) == jobs.count(f"{U}/x", ["running"]) == 1
        assert jobs.count(f"{U}/x", ["pending", "running", "running"]) == jobs.count(f"{U}/x") == 2
        assert (jobs.count(U), jobs.count(f"{U}/x", []), jobs.count(f"{U}/nothing")) == (3, 0, 0)

    @pytest.mark.parametrize("statuses", [["waiting"], "pending", None, [None]])
    def test_bad_status(self, jobs, statuses):
        """A status is one of four."""
        with pytest.raises(InvalidInput):
            jobs.count(U, statuses)

    def test_by_kind(self, jobs):
        """Jobs of a kind are counted whatever their status, those without a URI, too."""
        for kind in ("work", "work", "other"):
            jobs.enqueue(kind)
        jobs.complete(jobs.claim("work"))
        assert [jobs.count_kind(kind) for kind in ("work", "other", "none")] == [2, 1, 0]

    def test_always_four(self, jobs):
        """An empty queue has no job of each of the four statuses."""
        assert jobs.stats() == {"pending": 0, "running": 0, "done": 0, "failed": 0}


class TestDetail:
    def test_idle(self, jobs):
        """Without work nothing waits and nothing failed."""
        assert jobs.detail() == QueueDetail(oldest_pending_ms=None, failed=[])

    def test_oldest(self, jobs, clock):
        """What waits the longest of that which could be run says how far behind the queue is."""
        jobs.enqueue("work")
        clock.tick(3)
        jobs.enqueue("other")
        clock.tick(1.5)
        assert jobs.detail().oldest_pending_ms == 4500
        jobs.defer(jobs.claim("work"), 60_000)
        assert jobs.detail().oldest_pending_ms == 1500
        jobs.claim("other")
        assert jobs.detail().oldest_pending_ms is None

    def test_failed(self, jobs, clock):
        """The jobs that failed last come first, as many as are asked for."""
        ids = [jobs.enqueue("work") for _ in range(12)]
        for _ in ids:
            clock.tick(1)
            jobs.fail(jobs.claim("work"), again=False)
        assert [job.id for job in jobs.detail(3).failed] == ids[:-4:-1]
        assert len(jobs.detail().failed) == 12

    @pytest.mark.parametrize("limit", [0, -1, None, 1.5])
    def test_bad_limit(self, jobs, limit):
        """The limit is at least 1."""
        with pytest.raises(InvalidLimit):
            jobs.detail(limit)


class TestScopes:
    def test_its_own(self, mem, jobs):
        """A scope's jobs are its own: no other scope claims, ends, counts or cancels them."""
        a, b = of_scope(mem, "a"), of_scope(mem, "b")
        id = a.enqueue("work", {"uri": f"{U}/x"})
        assert b.claim("work") is None
        assert (b.cancel(f"{U}/x"), b.count(U), b.count_kind("work"), b.complete(id)) == (0, 0, 0, False)
        assert sum(b.stats().values()) == 0
        assert a.claim("work").scope == "a"
        assert (b.renew(id), b.defer(id, 0), b.recover()) == (False, False, 0)
        with pytest.raises(JobNotFound):
            b.fail(id)
        assert jobs.count(U) == 0

    @pytest.mark.parametrize("partitions", [1, 3])
    def test_worker_of_all(self, open_memory, partitions, clock):
        """On the root handle the jobs of all scopes, in all partitions, are served, counted and recovered."""
        mem = open_memory(partitions=partitions)
        jobs, scopes = store_of(mem).jobs, [f"user:{number}" for number in range(9)]
        ids = {of_scope(mem, scope).enqueue("work"): scope for scope in scopes}
        assert len(ids) == jobs.stats()["pending"] == jobs.count_kind("work") == 9
        clock.tick(2)
        assert jobs.detail().oldest_pending_ms == 2000
        claimed = [jobs.claim("work") for _ in range(9)]
        assert {job.id: job.scope for job in claimed} == ids
        assert jobs.claim("work") is None
        assert jobs.recover() == 9
        for _ in range(3):
            jobs.complete(jobs.claim("work"))
            clock.tick(1)
            jobs.fail(jobs.claim("work"), again=False)
        assert jobs.stats() == {"pending": 3, "running": 0, "done": 3, "failed": 3}
        assert len({job.scope for job in jobs.detail().failed}) == 3
        assert jobs.detail(1).failed == jobs.detail().failed[:1]
        assert jobs.detail(9).failed == sorted(jobs.detail().failed, key=lambda job: job.failed_at, reverse=True)

    def test_held(self, mem):
        """A scope is one that holds something as long as it has a job, in whatever state."""
        a = of_scope(mem, "a")
        for _ in range(2):
            a.enqueue("work", {"uri": f"{U}/x"})
        a.complete(a.claim("work"))
        assert mem.scopes().items == ["a"]
        a.cancel(U)
        assert mem.scopes().items == []

    @pytest.mark.parametrize("mode", ["blocking"])
    def test_cleared(self, mem, jobs, client, namespace):
        """All jobs of a scope can be dropped, step by step; nothing of it is left, and others stay."""
        a, b = of_scope(mem, "a"), of_scope(mem, "b")
        for _ in range(7):
            a.enqueue("work", {"uri": f"{U}/x"})
        b.enqueue("work")
        a.complete(a.claim("work"))
        a.fail(a.claim("work"), again=False)
        a.claim("work")
        keys = mem._runner.run(opened()).of("a")
        command = call("jobs_clear", keys.scopes, (*address(keys), 3))
        assert [mem._runner.run(ask(command))[0] for _ in range(3)] == [1, 1, 0]
        left = [key for key in client.scan_iter(f"{{{namespace}:*") if keys.token("tree").encode() in key]
        assert (left, client.exists(*keys.jobs), mem.scopes().items) == ([], 0, ["b"])
        assert jobs.stats() == {"pending": 1, "running": 0, "done": 0, "failed": 0}

    def test_in_turns(self, mem, jobs):
        """Scopes take turns, whatever one of them has enqueued before, and whatever kinds its jobs have."""
        a, b, c = (of_scope(mem, name) for name in "abc")
        for _ in range(20):
            a.enqueue("work")
            a.enqueue("other")
        for _ in range(4):
            b.enqueue("work")
        c.enqueue("other")
        scopes = "".join(str(jobs.claim(["work", "other"]).scope) for _ in range(12))
        assert scopes == "abcabababaaa"

    def test_new_scopes_wait_for_their_turn(self, mem, jobs):
        """A scope that comes back again and again doesn't keep the others from their turns."""
        a = of_scope(mem, "a")
        for name in "bcd":
            for _ in range(3):
                of_scope(mem, name).enqueue("work")
        served = []
        for _ in range(8):
            a.enqueue("work")
            served.append(jobs.claim("work").scope)
        assert sorted(served[:4]) == sorted(served[4:]) == ["a", "b", "c", "d"]

    def test_one_with_many(self, mem, jobs, client, namespace):
        """A tenant with 100,000 jobs doesn't starve another, and claims cost no more commands than with ten."""
        few, many = of_scope(mem, "few"), of_scope(mem, "many")
        many.enqueue("work")
        few_commands = commands_of(client, lambda: jobs.claim("work"))
        _fill(mem, "many", 100_000)
        few.enqueue("work")
        found = []
        many_commands = [commands_of(client, lambda: found.append(jobs.claim("work").scope)) for _ in range(3)]
        assert "few" in found[:2]
        assert max(many_commands) <= few_commands + 4


def commands_of(client, call):
    """How many commands the server runs for a call, those of scripts included."""
    client.config_resetstat()
    call()
    stats = client.info("commandstats")
    return sum(
        each["calls"] for name, each in stats.items() if name not in ("cmdstat_config|resetstat", "cmdstat_info")
    )


def _fill(mem, scope, number):
    """Enqueues many jobs of one scope, a thousand with each write of a document."""
    documents = store_of(mem.scoped(scope)).documents
    names = count()
    while number:
        size = min(number, 1000)
        documents.put(f"{U}/{next(names)}", "text", jobs=[("work", {})] * size)
        number -= size


class TestWithDocuments:
    def test_all_or_nothing(self, mem, jobs):
        """When one job of a write can't be kept, neither the document nor the other jobs are."""
        documents = store_of(mem).documents
        with pytest.raises(InvalidPayload):
            documents.put(f"{U}/x", "text", jobs=[("embed", {}), ("embed", {"x": object()})])
        assert documents.get(f"{U}/x") is None
        assert jobs.stats()["pending"] == 0

    def test_together(self, mem, jobs):
        """A write's jobs are there once it is, about its URI, and for its content."""
        written = store_of(mem).documents.put(f"{U}/x", "text", jobs=[("embed", {"y": 1}), ("other", {})])
        job = jobs.claim("embed")
        assert job.id == written.jobs[0]
        assert job.payload == {"y": 1, "uri": f"{U}/x", "content_hash": written.content_hash}
        assert jobs.count(f"{U}/x") == 2

    def test_removed_with_them(self, mem, jobs):
        """With a subtree go its jobs, running ones too; a late result is discarded."""
        store = store_of(mem)
        store.documents.put(f"{U}/a/x", "text", jobs=[("embed", {}), ("summarize_abstract", {})])
        store.documents.put(f"{U}/ab", "text", jobs=[("embed", {})])
        job = jobs.claim("summarize_abstract")
        store.documents.remove(f"{U}/a")
        assert (jobs.count(f"{U}/a"), jobs.stats()["pending"]) == (0, 1)
        assert store.layers.store(job.id, f"{U}/a/x", "abstract", "one").outcome == "discarded"
        assert store.documents.get(f"{U}/a/x") is None

    def test_layer(self, mem, jobs):
        """A layer that a job made is stored, and the job is done."""
        store = store_of(mem)
        store.documents.put(f"{U}/x", "text", jobs=[("summarize_abstract", {})])
        job = jobs.claim("summarize_abstract")
        assert store.layers.store(job.id, f"{U}/x", "abstract", "one").outcome == "stored"
        assert store.layers.abstract(f"{U}/x") == "one"
        assert jobs.claim("summarize_abstract") is None

    def test_old_content(self, mem, jobs):
        """What was made from content that was rewritten is discarded; the rewrite's own job still runs."""
        store = store_of(mem)
        for content in ("one", "two"):
            store.documents.put(f"{U}/x", content, jobs=[("summarize_abstract", {})])
        old, new = jobs.claim("summarize_abstract"), jobs.claim("summarize_abstract")
        assert store.layers.store(old.id, f"{U}/x", "abstract", "of one").outcome == "discarded"
        assert store.layers.store(new.id, f"{U}/x", "abstract", "of two").outcome == "stored"
        assert store.layers.abstract(f"{U}/x") == "of two"


class TestForgetting:
    def test_with_the_scope(self, mem, jobs):
        """What clears or erases a scope takes its jobs, whatever their status; others stay."""
        for name in "abc":
            for _ in range(3):
                of_scope(mem, name).enqueue("work", {"uri": f"{U}/x"})
        of_scope(mem, "a").claim("work")
        mem.scoped("a").clear()
        mem.erase("b")
        assert mem.scopes().items == ["c"]
        assert jobs.stats() == {"pending": 3, "running": 0, "done": 0, "failed": 0}
        mem.clear()
        assert sum(jobs.stats().values()) == jobs.count_kind("work") == 0
