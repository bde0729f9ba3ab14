"""Memories that are indexed in the background: a durable job after the write, done from what stands there then."""

from __future__ import annotations

import pytest
from redis import Redis
from shorthand import DAY, NOON, frozen
from stores import store_of

from tiered_memory import MemoryItem, memory
from tiered_memory.config import GraphConfig
from tiered_memory.engine.keys import Keyspace
from tiered_memory.graph import EntityRef
from tiered_memory.store.work_events import WorkReport

SEVEN, EIGHT = EntityRef("Ticket", "TICKET-7"), EntityRef("Ticket", "TICKET-8")
KIND = "index_memories"


class Counting:
    """Finds nothing but hints, and counts its calls; fails as often as it is told."""

    def __init__(self, failures=0):
        self.calls, self.failures = 0, failures

    def extract(self, text, hints=()):
        self.calls += 1
        if self.calls <= self.failures:
            raise RuntimeError(text)
        return list(hints)


@pytest.fixture
def mem(open_memory):
    return open_memory(graph=GraphConfig(background=True), mode="hybrid")


def work(mem):
    """Does all jobs that are due."""
    return store_of(mem).jobs.work(until_idle=True)


class TestBackground:
    def test_after_the_write(self, mem, handle):
        """A write enqueues a job in the memory's scope; the memory is there at once, its facts once that is done."""
        handle.remember([MemoryItem("we closed TICKET-7", id="x", at=NOON), MemoryItem("it rained", id="y")])
        assert (handle.get("x", "semantic").text, handle.graph.frequencies()) == ("we closed TICKET-7", {})
        assert store_of(handle).jobs.count_kind(KIND) == 1
        assert work(mem) == WorkReport(done=1)
        (fact,) = handle.graph.facts("x")
        assert (fact.entities, fact.text, fact.valid_from) == ((SEVEN,), "we closed TICKET-7", NOON)
        assert handle.graph.counters == {"indexed": 1}
        assert mem.graph.frequencies() == {}

    def test_no_text_in_the_queue(self, handle):
        """A job names a tier and ids, and has no text."""
        handle.remember([MemoryItem("we closed TICKET-7", tier, id=tier) for tier in ("semantic", "episodic")])
        jobs = store_of(handle).jobs
        claimed = [jobs.claim(KIND).payload for _ in range(2)]
        assert claimed == [{"tier": tier, "ids": [tier]} for tier in ("semantic", "episodic")]

    def test_many(self, mem, handle):
        """A large batch is several jobs."""
        handle.remember([MemoryItem(f"TICKET-7 and TICKET-{n}", id=str(n)) for n in range(10, 260)])
        assert store_of(handle).jobs.count_kind(KIND) == 3
        assert work(mem).done == 3
        assert handle.graph.frequencies()[SEVEN] == 250

    def test_long_ids(self, mem, handle):
        """Ids of any length fit into the jobs."""
        handle.remember([MemoryItem("we closed TICKET-7", id=f"{n}" + 16_000 * "\n") for n in range(50)])
        assert work(mem).done > 1
        assert handle.graph.frequencies() == {SEVEN: 50}

    def test_not_asked_at_the_write(self, open_memory):
        """The extractor isn't asked while the write waits, and its hints come from what stands there."""
        extractor = Counting()
        mem = open_memory(graph=GraphConfig(background=True, extractor=extractor), mode="hybrid")
        mem.remember("q", id="x", metadata={"entities": ["Ticket:TICKET-7"]})
        assert extractor.calls == 0
        work(mem)
        assert (extractor.calls, mem.graph.neighbors([SEVEN])) == (1, ["x"])

    def test_tried_again(self, open_memory):
        """When the extractor fails, the job is tried again later."""
        mem = open_memory(graph=GraphConfig(background=True, extractor=Counting(failures=1)), mode="hybrid")
        with frozen() as time:
            mem.remember("q", id="x", metadata={"entities": ["Ticket:TICKET-7"]})
            assert work(mem) == WorkReport(retrying=1)
            time.tick(DAY)
            assert work(mem) == WorkReport(done=1)
        assert mem.graph.neighbors([SEVEN]) == ["x"]

    def test_superseded(self, mem, handle):
        """What was superseded is closed as of the moment at which that happened, not of the job."""
        with frozen() as time:
            handle.remember("we closed TICKET-7", id="x")
            work(mem)
            time.tick(DAY)
            handle.remember("we closed TICKET-8", id="x")
            time.tick(DAY)
            work(mem)
            new, old = handle.graph.facts("x")
        assert (old.entities, old.valid_to) == ((SEVEN,), NOON + DAY)
        assert (new.entities, new.valid_from, new.valid_to) == ((EIGHT,), NOON + DAY, None)

    def test_superseded_before(self, mem, handle):
        """What was superseded before its job came isn't indexed: only what stands there then."""
        handle.remember("we closed TICKET-7", id="x")
        handle.remember("we closed TICKET-8", id="x")
        work(mem)
        assert handle.graph.frequencies() == {EIGHT: 1}

    def test_forgotten_before(self, mem, handle):
        """Nor what was forgotten; its job ends with nothing done."""
        handle.remember("we closed TICKET-7", id="x")
        handle.forget("x", "semantic")
        assert work(mem) == WorkReport(done=1)
        assert handle.graph.frequencies() == {}

    def test_forgotten_meanwhile(self, open_memory, redis_url, namespace, embedder):
        """What is forgotten while its job runs leaves nothing behind."""

        class Forgetting:
            def extract(self, text, hints=()):
                with memory(redis_url, namespace=namespace, embedder=embedder) as other:
                    assert other.forget("x", "semantic") == 1
                return list(hints)

        mem = open_memory(graph=GraphConfig(background=True, extractor=Forgetting()), mode="hybrid")
        mem.remember("q", id="x", metadata={"entities": ["Ticket:TICKET-7"]})
        assert work(mem) == WorkReport(done=1)
        assert mem.graph.frequencies() == {}

    def test_done_twice(self, mem, handle):
        """A job that is done twice changes nothing the second time."""
        handle.remember("we closed TICKET-7", id="x")
        handle.update("x", "semantic", text="we closed TICKET-8")
        work(mem)
        before = handle.graph.facts("x")
        store_of(handle).jobs.enqueue(KIND, {"tier": "semantic", "ids": ["x"]})
        work(mem)
        assert handle.graph.facts("x") == before

    def test_promoted(self, mem, handle):
        """What is promoted gets a job, what waits doesn't."""
        handle.remember(MemoryItem("we closed TICKET-7", id="x", status="candidate"))
        assert store_of(handle).jobs.count_kind(KIND) == 0
        handle.review.promote("x", "semantic")
        work(mem)
        assert handle.graph.neighbors([SEVEN]) == ["x"]

    @pytest.mark.parametrize(
        "payload",
        [
            {},
            {"tier": "odd", "ids": ["x"]},
            {"tier": "semantic"},
            {"tier": "semantic", "ids": [7]},
            {"tier": [], "ids": []},
        ],
    )
    def test_bad_payload(self, mem, handle, payload):
        """A job that names nothing of ours has failed for good."""
        store_of(handle).jobs.enqueue(KIND, payload)
        assert work(mem) == WorkReport(failed=1)
        (failed,) = store_of(mem).jobs.detail().failed
        assert failed.last_error == "invalid_payload"

    def test_workers_without_a_graph(self, mem, handle, open_memory):
        """A worker whose memory has no graph leaves such jobs to others."""
        handle.remember("we closed TICKET-7", id="x")
        assert work(open_memory()) == WorkReport()
        assert work(mem) == WorkReport(done=1)

    def test_a_queue_that_fails(self, handle, redis_url, namespace):
        """When the job can't be enqueued, the memory is there all the same, and that is counted."""
        with Redis.from_url(redis_url) as client:
            client.set(Keyspace(namespace, 1, "vector").of("s").key("job_kinds", "tree"), "x")
        (done,) = handle.remember("we closed TICKET-7", id="x")
        assert (done.outcome, handle.get("x", "semantic").text) == ("recorded", "we closed TICKET-7")
        assert handle.graph.counters == {"index_failed": 1}

    def test_cleared(self, mem, handle):
        """Clearing a scope drops its jobs too."""
        handle.remember("we closed TICKET-7", id="x")
        handle.clear()
        assert work(mem) == WorkReport()
