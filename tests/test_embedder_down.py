"""The embedder is down: by configuration that is raised, or memories are written, and embedded later by a job."""

from __future__ import annotations

import logging
from datetime import timedelta
from random import Random

import pytest
from embedders_for_tests import MoodyEmbedder
from embedding_server import EmbeddingServer, vector_of
from shorthand import DAY, NOON, frozen, texts
from stores import store_of

from tiered_memory import (
    ConfigError,
    CorruptRecord,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRateLimited,
    EmbeddingsUnavailable,
    Memory,
    MemoryConfig,
    MemoryItem,
    memory,
)
from tiered_memory.config import GateConfig, GraphConfig
from tiered_memory.embedders import OpenAIEmbedder
from tiered_memory.engine.keys import vector_field
from tiered_memory.store.work_events import WorkReport

KIND = "embed_memories"
FOREIGN = (
    "holding",
    "job_kinds",
    "job_sequence",
    "job_times:pending",
    f"job_ready:{KIND}",
    f"job_later:{KIND}",
    "job:1",
)
DOWN = EmbedderUnavailable("the embedder is down")
FIELD = vector_field("table").encode()
U = "viking://user/memories/events/x"


@pytest.fixture
def embedder():
    return MoodyEmbedder()


@pytest.fixture
def mem(open_memory, embedder):
    """A memory that defers, whose embedder is down."""
    embedder.error = DOWN
    return open_memory(embedder_down="defer", mode="hybrid")


def work(mem):
    """Does all jobs that are due."""
    return store_of(mem).jobs.work(until_idle=True)


def recover(mem, embedder):
    """The embedder is back, and the jobs are done."""
    embedder.error = None
    return work(mem)


def vectors(client, namespace):
    """How many records there are with a vector, and without one."""
    has = [client.hexists(key, FIELD) for key in client.scan_iter(f"{{{namespace}:0}}:record:*")]
    return has.count(True), has.count(False)


def keys(client, namespace):
    return {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*") if not key.endswith(b":index")}


class TestRaise:
    @pytest.mark.parametrize("error", [DOWN, EmbeddingRateLimited("429"), ConnectionError("no route")])
    def test_default(self, open_memory, embedder, client, namespace, error):
        """Unless the configuration defers, a write that can't be embedded raises, and nothing is written."""
        mem = open_memory(mode="hybrid")
        embedder.error = error
        before = keys(client, namespace)
        with pytest.raises(EmbedderUnavailable):
            mem.remember("q")
        with pytest.raises(EmbedderUnavailable):
            mem.recall("q")
        assert keys(client, namespace).keys() - before.keys() <= {f"{{{namespace}:0}}:meta".encode()}

    def test_unknown(self):
        """There are two ways to choose from."""
        with pytest.raises(ConfigError, match="raise, defer"):
            MemoryConfig(embedder_down="ignore")


class TestRemember:
    def test_written(self, mem, client, namespace):
        """What can't be embedded is written, and says so; a job in its scope waits."""
        handle = mem.scoped("s")
        (done,) = handle.remember("likes tea", id="x")
        assert (done.outcome, done.deferred, done.cut) == ("recorded", True, False)
        assert handle.get("x", "semantic").text == "likes tea"
        assert vectors(client, namespace) == (0, 1)
        assert store_of(handle).jobs.stats() == {"pending": 1, "running": 0, "done": 0, "failed": 0}

    def test_embedded_at_once(self, open_memory, client, namespace):
        """As long as the embedder works there is no job, and nothing is deferred."""
        mem = open_memory(embedder_down="defer")
        assert not mem.remember("q")[0].deferred
        assert store_of(mem).jobs.count_kind(KIND) == 0
        assert vectors(client, namespace) == (1, 0)

    def test_no_text_in_the_queue(self, mem):
        """A job names a tier and ids, and has no text."""
        mem.remember([MemoryItem("secret", tier, id=tier) for tier in ("semantic", "working", "episodic")])
        jobs = store_of(mem).jobs
        claimed = [jobs.claim(KIND).payload for _ in range(2)]
        assert claimed == [{"tier": tier, "ids": [tier]} for tier in ("semantic", "episodic")]
        assert jobs.claim(KIND) is None

    def test_working_memory(self, mem):
        """Notes need no embedder, so that nothing is deferred."""
        assert not mem.remember("q", tier="working")[0].deferred
        assert store_of(mem).jobs.count_kind(KIND) == 0

    def test_many(self, mem, embedder, client, namespace):
        """A large batch is several jobs, and so is one with long ids."""
        mem.remember([MemoryItem(f"text {number}", id=str(number)) for number in range(250)])
        mem.remember([MemoryItem(f"text {number}", id=f"{number}" * 16_000) for number in range(6)])
        assert store_of(mem).jobs.count_kind(KIND) == 3 + 3
        assert recover(mem, embedder).done == 6
        assert vectors(client, namespace) == (256, 0)

    def test_same_text(self, mem):
        """The same text again is reaffirmed, and asks for no second job."""
        mem.remember("q", id="x")
        again = mem.remember([MemoryItem("q", id="x"), MemoryItem("a note", "working")])
        assert [each.outcome for each in again] == ["reaffirmed", "recorded"]
        assert store_of(mem).jobs.count_kind(KIND) == 1

    def test_invalid(self, mem, client, namespace):
        """What is invalid is refused as ever, and nothing of the batch is written."""
        before = keys(client, namespace)
        with pytest.raises(ValueError, match="item 1"):
            mem.remember([MemoryItem("q"), MemoryItem("q", tier="none")])
        assert keys(client, namespace) == before

    @pytest.mark.parametrize("error", [EmbeddingError("refused"), ValueError("a bug")])
    def test_will_not_pass(self, mem, embedder, error):
        """A failure that won't pass raises as ever: a refused text, a wrong answer, a bug."""
        embedder.error = error
        with pytest.raises(EmbeddingError):
            mem.remember("q", id="x")
        with pytest.raises(EmbeddingError):
            mem.recall("q")
        assert mem.get("x", "semantic") is None

    def test_network_below(self, mem, embedder):
        """A foreign exception counts as out of reach if the network is among its causes."""
        embedder.error = RuntimeError("failed")
        embedder.error.__cause__ = TimeoutError()
        assert mem.remember("q")[0].deferred

    def test_network_elsewhere(self, mem, embedder):
        """It isn't one of its causes if it is what the caller was handling."""
        embedder.error = RuntimeError("a bug")
        try:
            raise ConnectionError("of the application")
        except ConnectionError:
            with pytest.raises(EmbeddingError) as caught:
                mem.remember("q")
        assert not isinstance(caught.value, EmbedderUnavailable)

    def test_logged(self, mem, caplog):
        """It is logged, without any text."""
        with caplog.at_level(logging.WARNING):
            mem.remember("secret")
            mem.recall("secret")
        assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
        assert "embedder_unavailable" in caplog.text
        assert "secret" not in caplog.text

    @pytest.mark.parametrize("kind", FOREIGN)
    @pytest.mark.parametrize("id", ["x", U])
    def test_foreign_key(self, mem, client, namespace, kind, id):
        """Where something foreign lies in the way of the job, nothing is written."""
        mem.count()
        client.rpush(f"{{{namespace}:0}}:{kind}", "junk")
        before = keys(client, namespace)
        with pytest.raises(CorruptRecord):
            mem.remember("q", id=id)
        assert keys(client, namespace) == before

    def test_foreign_job(self, mem, client, namespace):
        """Nor where it lies behind the jobs that a memory of the tree has itself."""
        mem.count()
        client.rpush(f"{{{namespace}:0}}:job:2", "junk")
        before = keys(client, namespace)
        with pytest.raises(CorruptRecord):
            store_of(mem).memories.put(U, "q", jobs=[("look", {})])
        assert keys(client, namespace) == before

    def test_document(self, mem, embedder, client, namespace):
        """A memory that is a document of the tree is one as ever, with its own jobs and the one that embeds it."""
        store = store_of(mem)
        assert store.memories.put(U, "likes tea", jobs=[("look", {})]).deferred
        assert store.documents.get(U).content == "likes tea"
        assert (store.jobs.count_kind("look"), store.jobs.count_kind(KIND)) == (1, 1)
        assert recover(mem, embedder).done == 1
        assert store.vectors.load([U]).keys() == {U}

    def test_graph(self, open_memory, embedder):
        """The graph knows of it at once."""
        embedder.error = DOWN
        mem = open_memory(embedder_down="defer", mode="hybrid", graph=GraphConfig())
        mem.remember("we closed TICKET-7", id="x")
        assert texts(mem.recall("what about TICKET-7?")) == ["we closed TICKET-7"]


class TestUpdate:
    def test_text(self, mem, embedder, client, namespace):
        """A new text supersedes the old one without a vector; the job embeds it."""
        embedder.error = None
        mem.remember("near", id="x")
        embedder.error = DOWN
        done = mem.update("x", "semantic", text="exact")
        assert (done.outcome, done.deferred) == ("superseded", True)
        assert vectors(client, namespace) == (1, 1)
        assert recover(mem, embedder) == WorkReport(done=1)
        (hit,) = mem.recall("q", mode="vector")
        assert (hit.text, hit.similarity) == ("exact", 1.0)

    def test_nothing_to_embed(self, mem, embedder):
        """What changes no word needs no embedder."""
        mem.remember("near", id="x")
        assert not mem.update("x", "semantic", confidence=0.9).deferred
        assert store_of(mem).jobs.count_kind(KIND) == 1

    @pytest.mark.parametrize("way", ["update", "remember"])
    def test_speaker(self, mem, embedder, client, namespace, way):
        """A vector that was made of other words is dropped at once, and made anew by the job."""
        embedder.error = None
        mem.remember("near", id="x", tier="episodic", metadata={"speaker": "Ann"})
        embedder.error = DOWN
        if way == "update":
            done = mem.update("x", "episodic", metadata={"speaker": "Bob"})
        else:
            (done,) = mem.remember("near", id="x", tier="episodic", metadata={"speaker": "Bob"})
        assert (done.outcome, done.deferred) == ("updated" if way == "update" else "reaffirmed", True)
        assert vectors(client, namespace) == (0, 1)
        assert recover(mem, embedder) == WorkReport(done=1)
        assert embedder.calls[-1] == ["Bob: near"]
        assert vectors(client, namespace) == (1, 0)


class TestRecall:
    def test_while_down(self, mem):
        """Recalls go by words alone, and say so; a mode that goes by words anyway lacks nothing."""
        mem.remember(["likes tea", "hates coffee"])
        hits = mem.recall("who likes tea?")
        assert (texts(hits), hits.degraded) == (["likes tea"], ("embedder",))
        hits = mem.recall("who likes tea?", mode="text")
        assert (texts(hits), hits.degraded) == (["likes tea"], ())

    def test_by_similarity(self, mem):
        """What goes by similarity alone raises."""
        with pytest.raises(EmbedderUnavailable):
            mem.recall("q", mode="vector")

    @pytest.mark.parametrize("tier", ["semantic", "episodic", "procedural"])
    @pytest.mark.parametrize("mode_", ["hybrid", "text", "vector"])
    def test_without_a_vector(self, mem, embedder, tier, mode_):
        """What lacks a vector is found by its words beside what has one, and never by similarity."""
        mem.remember("exact tea", tier=tier)
        embedder.error = None
        mem.remember("near", tier=tier)
        embedder.table["exact tea"] = embedder.table["tea"] = embedder.table["q"]
        hits = mem.recall("tea", mode=mode_)
        assert hits.degraded == ()
        assert set(texts(hits)) == {"hybrid": {"exact tea", "near"}, "text": {"exact tea"}, "vector": {"near"}}[mode_]
        assert texts(mem.recall("tea", mode="hybrid", threshold=0.7)) == ["near"]

    def test_as_of(self, mem, embedder, client, namespace):
        """What was superseded before its job came gets its vector, too: recalls of the past find it."""
        with frozen() as time:
            mem.remember("exact", id="x")
            time.tick(DAY)
            mem.remember("orth", id="x")
            recover(mem, embedder)
            assert vectors(client, namespace) == (2, 0)
            assert texts(mem.recall("q", mode="vector", as_of=NOON)) == ["exact"]
            assert texts(mem.recall("q", mode="vector")) == []

    def test_with_the_reranker_and_the_graph(self, open_memory, embedder):
        """`degraded` names all that failed."""

        def fail(query, texts):
            raise RuntimeError

        embedder.error = DOWN
        mem = open_memory(embedder_down="defer", mode="hybrid", reranker=fail)
        mem.remember("likes tea")
        assert mem.recall("tea").degraded == ("embedder", "reranker")


class TestReview:
    def test_candidate(self, mem, embedder, client, namespace):
        """A claim that waits gets its vector, so that its promotion needs none."""
        (done,) = mem.remember(MemoryItem("exact", id="x", status="candidate"))
        assert (done.outcome, done.deferred) == ("queued", True)
        recover(mem, embedder)
        assert vectors(client, namespace) == (1, 0)
        embedder.error = DOWN
        mem.review.promote("x", tier="semantic")
        embedder.error = None
        assert texts(mem.recall("q", mode="vector")) == ["exact"]

    def test_promoted_before(self, mem, embedder):
        """One that is promoted before its job came gets it then."""
        mem.remember(MemoryItem("exact", id="x", status="candidate"))
        mem.review.promote("x", tier="semantic")
        assert recover(mem, embedder) == WorkReport(done=1)
        assert texts(mem.recall("q", mode="vector")) == ["exact"]

    def test_gate(self, open_memory, embedder):
        """The gate can't tell near duplicates without vectors and lets them pass; its other rules apply."""
        mem = open_memory(embedder_down="defer", gate=GateConfig(near_duplicate=0.7, confidence_floor=0.3))
        mem.remember("exact", id="x")
        embedder.error = DOWN
        first, second = mem.remember([MemoryItem("near", id="y"), MemoryItem("edge", id="z", confidence=0.1)])
        assert (first.outcome, second.outcome, second.reason) == ("recorded", "queued", "confidence below 0.3")
        recover(mem, embedder)
        assert [(each.a.id, each.b.id) for each in mem.conflicts(threshold=0.7)] == [("x", "y")]

    def test_conflicts(self, mem, embedder):
        """What lacks a vector is passed over where memories are compared."""
        mem.remember("exact", id="x")
        with pytest.raises(EmbeddingsUnavailable):
            mem.conflicts()


class TestWork:
    def test_put_off(self, mem, embedder):
        """While the embedder stays down a job is put off, by as long as it has waited, a second to a minute."""
        with frozen() as time:
            mem.remember("exact")
            for idle, due in [(0.9, 0.2), (1.0, 0.2), (2.2, 0.2), (4.5, 0.2), (3600, 0)]:
                assert work(mem) == WorkReport(deferred=1)
                time.tick(timedelta(seconds=idle))
                assert due == 0 or work(mem) == WorkReport()
                time.tick(timedelta(seconds=due))
            for _ in range(20):
                assert work(mem) == WorkReport(deferred=1)
                time.tick(timedelta(seconds=59))
                assert work(mem) == WorkReport()
                time.tick(timedelta(seconds=1))
            assert recover(mem, embedder) == WorkReport(done=1)
        assert texts(mem.recall("q", mode="vector")) == ["exact"]

    def test_a_worker_that_raises(self, mem, open_memory):
        """Any worker of the namespace does such jobs, whatever its configuration says."""
        mem.remember("exact")
        embedder = MoodyEmbedder()
        other = open_memory(embedder=embedder)
        assert work(other) == WorkReport(done=1)

    def test_refused(self, mem, embedder, client, namespace):
        """A text that the embedder refuses keeps back no other; its job fails after its attempts."""
        mem.remember(["one", "two", "three"])
        embedder.refused["two"] = EmbeddingError("refused")
        with frozen(NOON + 10_000 * DAY) as time:
            assert recover(mem, embedder) == WorkReport(retrying=1)
            assert vectors(client, namespace) == (2, 1)
            for _ in range(4):
                time.tick(DAY)
                report = work(mem)
            assert report == WorkReport(failed=1)
            (failed,) = store_of(mem).jobs.detail().failed
        assert failed.last_error == "embedding_failed"

    def test_again(self, mem, embedder, client, namespace):
        """A job that is enqueued by hand embeds what lacks a vector, and nothing else."""
        mem.remember("exact", id="x")
        recover(mem, embedder)
        calls = len(embedder.calls)
        store_of(mem).jobs.enqueue(KIND, {"tier": "semantic", "ids": ["x", "none"]})
        assert work(mem) == WorkReport(done=1)
        assert len(embedder.calls) == calls

    @pytest.mark.parametrize(
        "payload", [{}, {"tier": 5, "ids": []}, {"tier": "", "ids": []}, {"tier": "a", "ids": [""]}]
    )
    def test_payload(self, mem, payload):
        """A job whose payload names no memories fails for good."""
        store_of(mem).jobs.enqueue(KIND, payload)
        assert work(mem) == WorkReport(failed=1)
        (failed,) = store_of(mem).jobs.detail().failed
        assert failed.last_error == "invalid_payload"

    def test_cut(self, mem, embedder, monkeypatch):
        """A text that is too long for the embedder is marked as cut by then."""
        mem.remember("exactly", id="x")
        assert not mem.get("x", "semantic").cut
        monkeypatch.setattr(MoodyEmbedder, "fit", lambda self, text: text[:5])
        recover(mem, embedder)
        assert mem.get("x", "semantic").cut

    def test_scopes(self, mem, embedder, client, namespace):
        """A worker of one scope leaves those of others alone."""
        for name in "st":
            mem.scoped(name).remember("exact", id="x")
        embedder.error = None
        assert work(mem.scoped("s")) == WorkReport(done=1)
        assert vectors(client, namespace) == (1, 1)

    def test_half_precision(self, open_memory, embedder, namespace):
        """Vectors are of the type that the namespace has."""
        embedder.error = DOWN
        mem = open_memory(embedder_down="defer", vectors="float16")
        mem.remember("near")
        recover(mem, embedder)
        assert [round(hit.similarity, 2) for hit in mem.recall("q")] == [0.8]


class TestMeanwhile:
    """What happens to a memory while a job embeds it, from another process."""

    @pytest.fixture
    def other(self, redis_url, namespace):
        """Another process' memory, which is a blocking one."""
        with memory(redis_url, namespace=namespace, embedder=MoodyEmbedder(), embedder_down="defer") as other:
            yield other

    def test_forgotten(self, mem, embedder, other, client, namespace):
        """Of what is forgotten meanwhile nothing is left."""
        mem.remember(["exact", "near"])
        id = mem.recall("exact").pop().id
        embedder.meanwhile = lambda: other.forget(id, "semantic")
        assert recover(mem, embedder) == WorkReport(done=1)
        assert texts(mem.list("semantic").items) == ["near"]
        assert vectors(client, namespace) == (1, 0)

    def test_cleared(self, mem, embedder, other, client, namespace):
        """Nor of what is cleared, its job included."""
        handle = mem.scoped("s")
        handle.remember("exact")
        embedder.meanwhile = lambda: other.scoped("s").clear()
        assert recover(mem, embedder) == WorkReport(lost=1)
        assert vectors(client, namespace) == (0, 0)

    def test_text_changed(self, mem, embedder, other, client, namespace):
        """A newer text never gets an older one's vector."""
        mem.remember("exact", id="x")
        embedder.meanwhile = lambda: other.remember("orth", id="x")
        assert recover(mem, embedder) == WorkReport(done=1)
        assert vectors(client, namespace) == (2, 0)
        assert mem.recall("q", mode="vector") == []
        assert texts(mem.recall("orth", mode="vector")) == ["orth"]

    @pytest.mark.parametrize("up", [True, False])
    def test_words_changed(self, mem, embedder, other, client, namespace, up):
        """Nor do other words in the same record; the job looks again."""
        mem.remember("near", id="x", tier="episodic", metadata={"speaker": "Ann"})
        other._runner.embedder.error = None if up else DOWN
        embedder.meanwhile = lambda: other.update("x", "episodic", metadata={"speaker": "Bob"})
        recover(mem, embedder)
        assert vectors(client, namespace) == (1, 0)
        assert embedder.calls[-1:] == ([["Ann: near"]] if up else [["Bob: near"]])
        (hit,) = mem.recall("Bob: near", mode="vector")
        assert hit.similarity == pytest.approx(1, abs=1e-6)

    def test_reaffirmed(self, mem, embedder, other, client, namespace):
        """What is only reaffirmed meanwhile is embedded all the same."""
        mem.remember("exact", id="x")
        other._runner.embedder.error = DOWN
        embedder.meanwhile = lambda: other.remember("exact", id="x")
        assert recover(mem, embedder) == WorkReport(done=1)
        assert vectors(client, namespace) == (1, 0)
        assert store_of(mem).jobs.count_kind(KIND) == 1


class TestProvider:
    """OpenAI's API on the loopback."""

    @pytest.fixture
    def server(self):
        with EmbeddingServer() as server:
            yield server

    @pytest.fixture
    def open_at(self, open_memory):
        """Opens a memory whose embedder asks a server."""
        opened = []

        def open_one(url):
            embedder = OpenAIEmbedder("tiny", base_url=url, api_key="key", dimensions=8, max_retries=0, timeout=0.5)
            opened.append((open_memory(embedder=embedder, embedder_down="defer", mode="hybrid"), embedder))
            return opened[-1][0]

        yield open_one
        for mem, embedder in opened:
            embedder.close() if isinstance(mem, Memory) else mem._loop.run_until_complete(embedder.aclose())

    @pytest.mark.parametrize("failure", [429, 500, 503, 408, "slow"])
    def test_passing(self, open_at, server, failure, client, namespace):
        """A rate limit, a fault of the server or a time-out defers."""
        if failure == "slow":
            server.delay = 2
        else:
            server.fail(failure)
        mem = open_at(server.url)
        assert mem.remember("likes tea")[0].deferred
        server.delay = 0
        assert work(mem) == WorkReport(done=1)
        (key,) = client.scan_iter(f"{{{namespace}:0}}:record:*")
        assert client.hget(key, vector_field("openai:tiny")) == vector_of("likes tea", 8).tobytes()

    @pytest.mark.parametrize("status", [400, 401, 404])
    def test_refused(self, open_at, server, status):
        """A request that is wrong raises."""
        server.fail(status)
        with pytest.raises(EmbeddingError, match=str(status)) as caught:
            open_at(server.url).remember("likes tea")
        assert not isinstance(caught.value, EmbedderUnavailable)

    def test_unreachable(self, open_at):
        """So does a server that isn't there defer; recalls go by words."""
        with EmbeddingServer() as gone:
            url = gone.url
        mem = open_at(url)
        assert mem.remember("likes tea")[0].deferred
        hits = mem.recall("tea")
        assert (texts(hits), hits.degraded) == (["likes tea"], ("embedder",))
        assert work(mem) == WorkReport(deferred=1)


class TestAsIfNothingHadHappened:
    """An outage leaves no trace once the jobs are done."""

    def step(self, random):
        """A random call on one of a few ids."""
        id, text = random.choice("abc"), random.choice(["exact", "near", "far", "orth"])
        speaker, tier = (
            {"speaker": random.choice(["Ann", "Bob"])},
            random.choice(["semantic", "episodic", "procedural"]),
        )
        metadata = random.choice([None, speaker])
        return random.choice(
            [
                lambda mem: mem.remember(MemoryItem(text, tier, id=id, metadata=metadata)),
                lambda mem: mem.remember([MemoryItem(text, tier, id=each, metadata=metadata) for each in "abca"]),
                lambda mem: mem.remember(MemoryItem(text, tier, id=id, metadata=metadata, status="candidate")),
                lambda mem: mem.get(id, tier) and mem.update(id, tier, metadata=speaker),
                lambda mem: mem.get(id, tier) and mem.update(id, tier, text=text, metadata=metadata),
                lambda mem: mem.forget(id, tier),
                lambda mem: mem.review.promote_many(mem.review.pending(limit=1).items),
                work,
            ]
        )

    @pytest.mark.parametrize("seed", range(10))
    def test_random(self, open_memory, embedder, client, namespace, seed):
        """After random calls in and out of outages every record is what it would be without them, its vector too."""
        down = open_memory(embedder_down="defer", mode="hybrid")
        never = open_memory(embedder=MoodyEmbedder(), namespace=f"{namespace}-twin", mode="hybrid")
        random = Random(seed)
        with frozen() as time:
            for _ in range(60):
                embedder.error = random.choice([DOWN, None])
                call = self.step(random)
                call(down)
                call(never)
            time.tick(timedelta(minutes=1))
            recover(down, embedder)
        found = self.records(client, namespace)
        assert found == self.records(client, f"{namespace}-twin")
        assert found
        assert all(FIELD in record for record in found.values())

    def records(self, client, namespace):
        start = f"{{{namespace}:0}}:record:"
        return {key.removeprefix(start.encode()): client.hgetall(key) for key in client.scan_iter(f"{start}*")}
