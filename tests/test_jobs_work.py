"""Workers: handlers by kind, several jobs at a time, leases, failures, stopping, and what they report."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter

import pytest
from redis import Redis
from servers import redis_server
from stores import store_of

from tiered_memory import InvalidInput, InvalidLimit, StoreUnavailable, async_memory, memory
from tiered_memory.store import AsyncStore
from tiered_memory.store.handling import DeferJob, FailJob
from tiered_memory.store.work_events import JobEvent, WorkReport

U = "viking://resources"


@pytest.fixture
def jobs(store):
    """The jobs of the unscoped pool, and of all scopes for a worker."""
    return store.jobs


@pytest.fixture
def beside(redis_url, namespace, embedder):
    """The jobs of the unscoped pool as another process sees them."""
    with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
        yield store_of(mem).jobs


def raising(error):
    """A handler that raises."""

    def handler(job):
        raise error

    return handler


class TestHandlers:
    def test_by_kind(self, jobs):
        """Each job is given to the handler of its kind; what has no handler is left alone."""
        seen = []
        for kind in ("a", "b", "c"):
            jobs.enqueue(kind, {"n": kind})
        handlers = {kind: lambda job: seen.append((job.kind, job.payload)) for kind in ("a", "b")}
        assert jobs.work(handlers, until_idle=True) == WorkReport(done=2)
        assert sorted(seen, key=str) == [("a", {"n": "a"}), ("b", {"n": "b"})]
        assert jobs.stats() == {"pending": 1, "running": 0, "done": 2, "failed": 0}

    def test_of_every_scope(self, mem, jobs):
        """A worker on the root handle does the jobs of every scope; one on a scope's handle only its own."""
        for scope in ("a", "b"):
            store_of(mem.scoped(scope)).jobs.enqueue("work")
        scopes = []
        handlers = {"work": lambda job: scopes.append(job.scope)}
        assert store_of(mem.scoped("b")).jobs.work(handlers, until_idle=True).done == 1
        assert jobs.work(handlers, until_idle=True).done == 1
        assert scopes == ["b", "a"]

    def test_unknown_kind(self, jobs):
        """A job of a kind that is claimed by name, and that has no handler, has failed for good."""
        jobs.enqueue("odd")
        assert jobs.work({}, kinds=["odd"], until_idle=True) == WorkReport(failed=1)
        assert jobs.detail().failed[0].last_error == "unknown_job_kind"

    def test_unreadable_payload(self, jobs, redis_url, namespace):
        """A payload that isn't JSON fails its job; the handler never sees it."""
        id = jobs.enqueue("work")
        with Redis.from_url(redis_url) as client:
            client.hset(f"{{{namespace}:0}}:job:{id}", "payload", "{")
        assert jobs.work({"work": raising(AssertionError)}, until_idle=True) == WorkReport()
        assert jobs.detail().failed[0].last_error == "invalid_payload"

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (ValueError("the password is hunter2"), "handler_failed"),
            (StoreUnavailable("hunter2"), "store_unavailable"),
            (FailJob("rate_limited"), "rate_limited"),
        ],
    )
    def test_failure(self, jobs, caplog, error, reason):
        """A handler that raises fails its job for a kind of failure; no text gets into the store or the log."""
        jobs.enqueue("work")
        with caplog.at_level(logging.DEBUG, "tiered_memory"):
            assert jobs.work({"work": raising(error)}, until_idle=True) == WorkReport(retrying=1)
        assert reason in caplog.text
        assert "hunter2" not in caplog.text
        assert jobs.stats() == {"pending": 1, "running": 0, "done": 0, "failed": 0}

    def test_failure_for_good(self, jobs):
        """A handler may say that another try makes no sense."""
        jobs.enqueue("work")
        assert jobs.work({"work": raising(FailJob("no_sense", again=False))}, until_idle=True) == WorkReport(failed=1)
        assert jobs.detail().failed[0].last_error == "no_sense"

    def test_reason_is_no_text(self):
        """The reason of a failure names its kind."""
        with pytest.raises(InvalidInput):
            FailJob("it was hunter2")

    def test_deferred(self, jobs):
        """A handler may put its job off, free of charge."""
        jobs.enqueue("work")
        assert jobs.work({"work": raising(DeferJob(60_000))}, until_idle=True) == WorkReport(deferred=1)
        assert jobs.stats()["pending"] == 1
        assert jobs.detail().oldest_pending_ms is None

    def test_cancelled_meanwhile(self, jobs, beside):
        """What becomes of a job that was cancelled while it ran is of no concern."""
        jobs.enqueue("work", {"uri": f"{U}/x"})
        assert jobs.work({"work": lambda job: beside.cancel(U)}, until_idle=True) == WorkReport(lost=1)
        assert sum(jobs.stats().values()) == 0

    @pytest.mark.parametrize("handlers", [[], {"work": None}, {"a b": print}, {7: print}])
    def test_bad_handlers(self, jobs, handlers):
        """Handlers are functions by kind."""
        with pytest.raises(InvalidInput):
            jobs.work(handlers, until_idle=True)

    @pytest.mark.parametrize("setting", [{"concurrency": 0}, {"lease": 0}, {"poll": -1}, {"grace": -1}])
    def test_bad_settings(self, jobs, setting):
        """Settings have a range."""
        with pytest.raises(InvalidLimit):
            jobs.work({}, until_idle=True, **setting)


class TestSideBySide:
    def test_bounded(self, jobs):
        """As many jobs are done at a time as it is told, and no more."""
        for _ in range(9):
            jobs.enqueue("work")
        lock, now, most = threading.Lock(), [0], [0]

        def handler(job):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.05)
            with lock:
                now[0] -= 1

        assert jobs.work({"work": handler}, concurrency=3, until_idle=True).done == 9
        assert most == [3]

    def test_renews(self, jobs, beside):
        """A job that takes longer than its lease stays with its worker."""
        jobs.enqueue("work")
        others = []

        def handler(job):
            for _ in range(6):
                time.sleep(0.2)
                others.append(beside.claim("work"))

        assert jobs.work({"work": handler}, lease=0.4, concurrency=1, until_idle=True) == WorkReport(done=1)
        assert others == [None] * 6


class TestStopping:
    def test_finishes(self, jobs):
        """When it is told to stop, what runs is finished, and what waits is left."""
        stop = threading.Event()
        for _ in range(5):
            jobs.enqueue("work")

        def handler(job):
            stop.set()
            time.sleep(0.2)

        assert jobs.work({"work": handler}, concurrency=2, stop=stop).done in (1, 2)
        assert jobs.stats()["running"] == 0
        assert jobs.stats()["pending"] >= 3

    def test_gives_back(self, jobs):
        """What isn't finished within the grace is given back, free of charge."""
        stop, end = threading.Event(), threading.Event()
        id = jobs.enqueue("work")

        def handler(job):
            stop.set()
            end.wait(20)

        assert jobs.work({"work": handler}, concurrency=1, stop=stop, grace=0.1) == WorkReport(given_back=1)
        job = jobs.claim("work")
        end.set()
        assert (job.id, job.attempts) == (id, 1)

    def test_waits_for_jobs(self, jobs):
        """Without a job it looks again and again, until it is told to stop."""
        stop = threading.Event()
        jobs.enqueue("later")
        jobs.defer(jobs.claim("later"), 400)
        assert jobs.work({"later": lambda job: stop.set()}, poll=0.1, stop=stop) == WorkReport(done=1)

    def test_interrupted(self, redis_url, namespace, embedder):
        """When the awaiting task is cancelled, what runs is given back at once."""

        async def main():
            async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
                jobs = AsyncStore(mem).jobs
                await jobs.enqueue("work")
                task = asyncio.ensure_future(jobs.work({"work": lambda job: asyncio.sleep(60)}))
                while (await jobs.stats())["running"] == 0:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return await jobs.claim("work")

        assert asyncio.run(main()).attempts == 1

    def test_awaited_side_by_side(self, redis_url, namespace, embedder):
        """Async handlers are awaited, as many at a time as it is told."""

        async def main():
            async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
                jobs = AsyncStore(mem).jobs
                for _ in range(10):
                    await jobs.enqueue("work")
                begin = time.monotonic()
                report = await jobs.work({"work": lambda job: asyncio.sleep(0.2)}, concurrency=10, until_idle=True)
                return report.done, time.monotonic() - begin

        done, seconds = asyncio.run(main())
        assert done == 10
        assert seconds < 1.5


class TestOutage:
    def test_from_the_start(self, open_memory):
        """A worker that can't reach Redis to begin with says so."""
        mem = open_memory(url="redis://127.0.0.1:1/0", connect_timeout=0.3, retries=0)
        with pytest.raises(StoreUnavailable):
            store_of(mem).jobs.work({})

    def test_goes_on(self, open_memory, caplog):
        """While Redis doesn't answer the worker waits; then it goes on, with the job that it couldn't end, too."""
        with redis_server() as url, Redis.from_url(url) as client:
            jobs = store_of(open_memory(url=url, timeout=0.2, retries=0)).jobs
            seen, stop = [], threading.Event()
            first, second = jobs.enqueue("work"), jobs.enqueue("work")

            def handler(job):
                if not seen:
                    client.execute_command("CLIENT", "PAUSE", 1500, "ALL")
                seen.append(job.id)
                if len(seen) == 3:
                    stop.set()

            report = jobs.work({"work": handler}, concurrency=1, lease=1, poll=0.1, stop=stop)
            assert report == WorkReport(done=2, lost=1)
            assert sorted(seen) == [first, first, second]
            assert "the queue can't be used (StoreUnavailable)" in caplog.text


class TestEvents:
    def test_progress(self, jobs):
        """What happens to each job is told, without its payload."""
        events = []
        first, second = jobs.enqueue("work", {"secret": "hunter2"}), jobs.enqueue("bad")
        handlers = {"work": lambda job: None, "bad": raising(FailJob("odd", again=False))}
        jobs.work(handlers, concurrency=1, until_idle=True, on_event=events.append)
        assert [(each.outcome, each.id, each.reason) for each in events] == [
            ("claimed", first, None), ("done", first, None), ("claimed", second, None), ("failed", second, "odd"),
        ]  # fmt: skip
        assert {type(each) for each in events} == {JobEvent}
        assert "hunter2" not in str(events)

    def test_failing_listener(self, jobs, caplog):
        """A function that fails on an event is logged, and the work goes on."""
        jobs.enqueue("work")
        assert jobs.work({"work": print}, until_idle=True, on_event=raising(ValueError("hunter2"))).done == 1
        assert "on_event failed with ValueError" in caplog.text
        assert "hunter2" not in caplog.text


class TestDocuments:
    def put(self, store, content="one\n\nmore of it"):
        """Writes a document that is to be summarised."""
        kinds = ("summarize_abstract", "summarize_overview")
        return store.documents.put(f"{U}/x", content, jobs=[(kind, {}) for kind in kinds])

    def test_summarised(self, store, jobs):
        """With a summariser both layers are stored: its first line as the abstract, all of it as the overview."""
        self.put(store)
        report = jobs.work(summarise=lambda text: f"about {text[:3]}\nand so on", until_idle=True)
        assert report == WorkReport(done=2)
        assert store.layers.stored(f"{U}/x").abstract == "about one"
        assert store.layers.overview(f"{U}/x") == "about one\nand so on"

    def test_without_summariser(self, store, jobs):
        """Without one such jobs end, nothing is stored, and reads go on with what stands in."""
        self.put(store)
        assert jobs.work(until_idle=True) == WorkReport(done=2)
        assert store.layers.stored(f"{U}/x").abstract is None
        assert store.layers.abstract(f"{U}/x") == "one"

    def test_rewritten_meanwhile(self, store, jobs):
        """What was summarised of content that has changed since is discarded."""
        self.put(store)
        first = Counter()

        def summarise(text):
            first[text[:3]] += 1
            return f"about {text[:3]}"

        self.put(store, "two")
        assert jobs.work(summarise=summarise, until_idle=True).done == 4
        assert first == {"two": 2}
        assert store.layers.abstract(f"{U}/x") == "about two"

    def test_callers_own(self, store, jobs):
        """A layer that a caller has supplied isn't overwritten."""
        self.put(store)
        store.documents.put(f"{U}/x", "one\n\nmore of it", abstract="mine")
        jobs.work(summarise=lambda text: "made", until_idle=True)
        assert (store.layers.abstract(f"{U}/x"), store.layers.overview(f"{U}/x")) == ("mine", "made")

    def test_failing_summariser(self, store, jobs):
        """A summariser that fails fails the job, which is tried again."""
        self.put(store)
        assert jobs.work(summarise=raising(ValueError("hunter2")), until_idle=True) == WorkReport(retrying=2)

    def test_removed(self, store, jobs):
        """The jobs of a document that is gone are gone, and one that comes late has nothing to do."""
        self.put(store)
        store.documents.remove(f"{U}/x")
        jobs.enqueue("summarize_abstract", {"uri": f"{U}/x"})
        assert jobs.work(summarise=raising(AssertionError), until_idle=True) == WorkReport(done=1)

    def test_about_nothing(self, jobs):
        """A job for a document that names none has failed."""
        jobs.enqueue("summarize_abstract")
        assert jobs.work(until_idle=True) == WorkReport(failed=1)
        assert jobs.detail().failed[0].last_error == "invalid_payload"
