"""Moving a namespace to another embedder: everything is found by the new one, whoever writes or dies meanwhile."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from io import BytesIO

import numpy as np
import pytest
from embedders_for_tests import MoodyEmbedder, TableEmbedder
from invariants import check_invariants
from migrants import SlowEmbedder, start
from servers import redis_cluster, redis_server
from shorthand import NOON, TIERS, frozen, texts
from stores import store_of
from test_store_vectors import blob

from tiered_memory import (
    EmbedderMismatch,
    EmbedderUnavailable,
    EmbeddingError,
    IndexUnavailable,
    MemoryItem,
    Reembedded,
    StoreError,
    memory,
    reembed,
)
from tiered_memory.archive import Archive
from tiered_memory.engine.keys import vector_field

SEARCHED = TIERS[1:]
SCOPES = (None, "user:1", "user:2")
U = "viking://resources/c"
EMBED = ("embed", {})


class OtherEmbedder(TableEmbedder):
    """Another embedder than that of the tests; calls `meanwhile` after it has embedded something, and fails as told."""

    def __init__(self, *, id: str = "other", dimensions: int = 5) -> None:
        super().__init__({}, id=id, dimensions=dimensions)
        self.meanwhile: Callable[[], object] | None = None
        self.fails_after: int | None = None
        self.longest = 10_000

    def fit(self, text: str) -> str:
        return text[: self.longest]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.fails_after is not None and len(self.calls) >= self.fails_after:
            raise RuntimeError("out of order")
        vectors = super().embed(texts)
        if self.meanwhile:
            self.meanwhile()
        return vectors


@pytest.fixture
def other():
    return OtherEmbedder()


@pytest.fixture
def moving(open_memory, other):
    """A memory of the same namespace with the other embedder."""
    return open_memory(embedder=other)


@pytest.fixture
def beside(redis_url, namespace, embedder):
    """A memory with the old embedder, as another process has it."""
    with memory(redis_url, namespace=namespace, embedder=embedder, mode="vector") as mem:
        yield mem


@pytest.fixture(scope="module")
def cluster_url():
    """One node of a cluster that these tests share."""
    with redis_cluster(3) as url:
        yield url


def records(client, namespace):
    """All records, as fields by name."""
    return [client.hgetall(key) for key in client.scan_iter(f"{{{namespace}:*}}:record:*", count=1000)]


def check_vectors(client, namespace, embedder):
    """Every record has a vector of the words that it is found by, and none of another embedder."""
    for record in records(client, namespace):
        words = record[b"text"].decode()
        speaker = json.loads(record.get(b"metadata", b"{}")).get("speaker")
        field = vector_field(embedder.id).encode()
        vectors = {name: value for name, value in record.items() if name.startswith(b"vector_")}
        assert vectors.keys() == ({field} if words.strip() else set()), words
        if vectors:
            made = embedder.vector(f"{speaker}: {words}" if speaker else words)
            assert np.allclose(np.frombuffer(vectors[field], "<f4"), made, atol=1e-6), words
        assert b"cut_next" not in record


def is_found(handle, text, **options):
    """Whether exactly this text is the nearest to itself."""
    return texts(handle.recall(text, k=1, mode="vector", threshold=0.999, **options)) == [text]


class TestMoving:
    @pytest.fixture
    def filled(self, mem):
        """Three scopes with memories of every tier and status, and with documents."""
        for scope in SCOPES:
            handle = mem if scope is None else mem.scoped(scope)
            with frozen() as clock:
                for tier in SEARCHED:
                    handle.remember(f"was in {tier}", tier=tier, id="a")
                clock.tick(100)
                for tier in SEARCHED:
                    handle.remember(f"is in {tier}", tier=tier, id="a")
                    handle.remember([MemoryItem(f"may be in {tier}", tier, id="a", status="candidate")])
            handle.remember("a note", tier="working")
            handle.remember("said", tier="episodic", metadata={"speaker": "Ana"})
            store = store_of(handle)
            store.documents.put(f"{U}/tea", "about tea", jobs=[EMBED])
            store.documents.put(f"{U}/blank", " ", jobs=[EMBED])
            store.jobs.work(until_idle=True)
        return mem

    @pytest.mark.usefixtures("filled")
    def test_everything(self, moving, other, client, namespace):
        """Memories of all scopes, tiers and statuses and documents are moved, and found by the new embedder."""
        with pytest.raises(EmbedderMismatch, match=r"reembed\(\)"):
            moving.count()
        assert moving.reembed() == Reembedded("other", memories=3 * 10, documents=3, removed=3 * 11)
        check_vectors(client, namespace, other)
        for scope in SCOPES:
            handle = moving if scope is None else moving.scoped(scope)
            for tier in SEARCHED:
                assert is_found(handle, f"is in {tier}", tier=tier)
                assert is_found(handle, f"was in {tier}", tier=tier, as_of=NOON)
                assert texts(handle.history("a", tier)) == [f"{each} in {tier}" for each in ("is", "was", "may be")]
                handle.review.promote("a", tier)
                assert is_found(handle, f"may be in {tier}", tier=tier)
            assert texts(handle.recall("Ana: said", k=1, tier="episodic", mode="vector", threshold=0.999)) == ["said"]
            assert texts(handle.list("working").items) == ["a note"]
            query = other.vector("about tea").astype("<f4").tobytes()
            (hit,) = store_of(handle).vectors.search(query, top_k=5)
            assert (hit.uri, hit.score) == (f"{U}/tea", pytest.approx(1, abs=1e-5))
        assert check_invariants(client, namespace)["superseded"] == 3 * 6

    @pytest.mark.usefixtures("filled")
    def test_again(self, moving, other):
        """Where the embedder is in force already, and nothing lacks a vector, nothing is done."""
        moving.reembed()
        made = len(other.calls)
        assert moving.reembed() == Reembedded("other", 0, 0, 0)
        assert len(other.calls) == made

    @pytest.mark.usefixtures("filled")
    def test_there_and_back(self, moving, mem, open_memory, embedder, client, namespace):
        """A namespace can be moved back, and on to a third embedder."""
        assert moving.reembed().removed == 33
        assert mem.reembed() == Reembedded("table", 30, 3, 33)
        assert is_found(mem, "is in semantic", tier="semantic")
        check_vectors(client, namespace, embedder)
        third = OtherEmbedder(id="third", dimensions=7)
        assert open_memory(embedder=third).reembed() == Reembedded("third", 30, 3, 33)
        check_vectors(client, namespace, third)

    def test_a_new_namespace(self, moving):
        """One that isn't there yet is made, and there is nothing to do."""
        assert moving.reembed() == Reembedded("other", 0, 0, 0)
        assert moving.count() == 0

    @pytest.mark.parametrize("id", ["other", "table"])
    def test_other_numbers(self, mem, open_memory, client, namespace, id):
        """Vectors of other numbers are another field, too, be they of the same model or not."""
        mem.remember("exact", tier="semantic")
        small = OtherEmbedder(dimensions=6) if id == "other" else TableEmbedder()
        narrow = open_memory(embedder=small, vectors="float16")
        assert narrow.reembed() == Reembedded(id, 1, 0, 1)
        assert is_found(narrow, "exact")
        (record,) = records(client, namespace)
        vectors = {name: len(value) for name, value in record.items() if name.startswith(b"vector_")}
        assert vectors == {vector_field(id, "float16").encode(): 2 * small.dimensions}
        with pytest.raises((EmbedderMismatch, IndexUnavailable)):
            mem.recall("q", tier="semantic")

    def test_an_id_has_one_dimension(self, mem, open_memory):
        """An embedder of the same id with other dimensions is refused: its vectors would go where the old ones are."""
        mem.remember("exact", tier="semantic")
        with pytest.raises(EmbedderMismatch, match=r"3 dimensions.*4"):
            open_memory(embedder=TableEmbedder({}, dimensions=4)).reembed()
        assert is_found(mem, "exact")

    def test_cut(self, mem, moving, other):
        """Whether only a text's beginning was embedded is said of the embedder in force, until the switch the old."""
        mem.remember(["short", *(f"a long text {number}" for number in range(299))], tier="semantic")
        other.longest, other.fails_after = 5, 1
        with pytest.raises(EmbeddingError):
            moving.reembed()
        assert {each.cut for each in mem.list("semantic", limit=300).items} == {False}
        other.fails_after = None
        moving.reembed()
        assert [each.cut for each in moving.list("semantic", limit=300).items] == [False] + 299 * [True]
        other.longest = 10_000
        assert mem.reembed().removed == 300
        assert {each.cut for each in mem.list("semantic", limit=300).items} == {False}

    def test_progress(self, mem, moving):
        """A callback is told after each batch how many were embedded, and how many there are."""
        mem.remember([f"text {number}" for number in range(300)], tier="semantic")
        told = []
        moving.reembed(progress=lambda *told_now: told.append(told_now))
        assert told == [(256, 300), (300, 300)]

    def test_long_texts(self, mem, moving, other):
        """What is embedded together is bounded by the length of the texts, too."""
        for number in range(5):
            store_of(mem).documents.put(f"{U}/{number}", f"{number}" * 600_000)
        assert moving.reembed().documents == 5
        assert [len(call) for call in other.calls] == [2, 2, 1]

    def test_what_has_no_vector(self, open_memory, client, namespace):
        """What was written while the embedder was down is embedded, too, also where the embedder stays the same."""
        moody = MoodyEmbedder()
        mem = open_memory(embedder=moody, embedder_down="defer")
        mem.remember("exact", tier="semantic")
        moody.error = EmbedderUnavailable("down")
        mem.remember(["near", "far"], tier="semantic")
        moody.error = None
        assert mem.reembed() == Reembedded("table", 2, 0, 0)
        assert is_found(mem, "near")
        assert store_of(mem).jobs.work(until_idle=True).done == 1
        check_vectors(client, namespace, moody)


class TestMeanwhile:
    """What others do after texts were embedded, and before their vectors are written."""

    @pytest.fixture
    def once(self, other):
        """Has something done once, at the first moment between embedding and writing."""

        def do(work):
            def first():
                other.meanwhile = None
                work()

            other.meanwhile = first

        return do

    def test_reads_and_writes(self, beside, moving, other, once, client, namespace):
        """Others read as before, and what they write, supersede, describe otherwise or forget is as they left it."""
        beside.remember([MemoryItem(text, tier, id=text) for text in ("a", "b", "c", "d") for tier in SEARCHED])
        beside.remember("said", tier="episodic", id="s", metadata={"speaker": "Ana"})
        beside.store.documents.put(f"{U}/tea", "about tea")

        def work():
            assert is_found(beside, "a", tier="semantic")
            beside.remember("new", tier="semantic")
            beside.remember("b 2", tier="semantic", id="b")
            beside.remember("a", tier="procedural", id="a")
            beside.forget("c", "episodic")
            beside.remember("said", tier="episodic", id="s", metadata={"speaker": "Rui"})
            beside.store.documents.put(f"{U}/tea", "about coffee")
            beside.clear("procedural")
            assert is_found(beside, "b 2", tier="semantic")

        once(work)
        assert moving.reembed().removed == 10
        check_vectors(client, namespace, other)
        assert all(is_found(moving, each, tier="semantic") for each in ("a", "b 2", "new"))
        assert check_invariants(client, namespace) == {"active": 9, "superseded": 1}

    def test_described_otherwise_afterwards(self, beside, moving, other, client, namespace):
        """A vector that was written already goes when an old process changes the words that its memory is found by."""
        beside.remember("said", tier="episodic", id="s", metadata={"speaker": "Ana"})
        beside.remember([f"text {number}" for number in range(400)], tier="semantic")

        def work():
            if len(other.calls) == 2:
                beside.remember("said", tier="episodic", id="s", metadata={"speaker": "Rui"})

        other.meanwhile = work
        moving.reembed()
        check_vectors(client, namespace, other)

    def test_without_end(self, beside, moving, other, client, namespace):
        """When others write all the time, the switch doesn't wait for ever; the newest are embedded right after it."""
        beside.remember("exact", tier="semantic")

        def work():
            try:
                beside.remember(f"text {len(other.calls)}", tier="semantic")
            except EmbedderMismatch:
                other.meanwhile = None

        other.meanwhile = work
        assert moving.reembed().memories > 10
        check_vectors(client, namespace, other)

    def test_moved_elsewhere(self, beside, moving, other, once, redis_url, namespace):
        """Whoever is overtaken by a move to yet another embedder gives up, and that one stays."""
        beside.remember("exact", tier="semantic")
        with memory(redis_url, namespace=namespace, embedder=OtherEmbedder(id="third")) as third:
            once(third.reembed)
            with pytest.raises(StoreError, match="yet another embedder"):
                moving.reembed()
            assert is_found(third, "exact")

    def test_twice_at_once(self, beside, moving, other, once, redis_url, namespace, client):
        """Two moves to the same embedder help each other."""
        beside.remember([f"text {number}" for number in range(300)], tier="semantic")
        with memory(redis_url, namespace=namespace, embedder=OtherEmbedder()) as twin:
            once(twin.reembed)
            moving.reembed()
        check_vectors(client, namespace, other)
        assert is_found(moving, "text 7")


class TestFailures:
    def test_the_embedder(self, beside, moving, other, client, namespace):
        """An embedder that fails halfway leaves the old one in force; the next call goes on where that one was."""
        beside.remember([f"text {number}" for number in range(600)], tier="semantic")
        other.fails_after = 1
        with pytest.raises(EmbeddingError, match="RuntimeError"):
            moving.reembed()
        with pytest.raises(EmbedderMismatch):
            moving.count()
        assert is_found(beside, "text 500")
        beside.remember("more", tier="semantic")
        other.fails_after = None
        assert moving.reembed() == Reembedded("other", 601 - 256, 0, 601)
        check_vectors(client, namespace, other)

    def test_a_bad_vector(self, beside, moving, other):
        """A text that the new embedder can't embed is named by its memory, and the old embedder stays in force."""
        beside.scoped("s").remember(["good", "bad"], tier="semantic")
        other.table["bad"] = np.zeros(5, "f4")
        with pytest.raises(EmbeddingError, match=r"memory '.*' of scope 's'.*zero") as caught:
            moving.reembed()
        assert "bad" not in str(caught.value)
        assert is_found(beside.scoped("s"), "good")

    def test_the_store(self, beside, moving, client, namespace):
        """A record that isn't as we wrote it is refused, and the old embedder stays in force."""
        beside.remember("exact", tier="semantic")
        client.hset(f"{{{namespace}:0}}:record:1", "metadata", "junk")
        with pytest.raises(StoreError):
            moving.reembed()
        client.hset(f"{{{namespace}:0}}:record:1", "metadata", "{}")
        assert is_found(beside, "exact")

    def test_without_an_index(self, beside, moving, other, client, namespace):
        """When the index is gone, it is made anew from what is stored."""
        beside.remember("exact", tier="semantic")
        client.execute_command("FT.DROPINDEX", f"{{{namespace}:0}}:index")
        assert moving.reembed().memories == 1
        assert is_found(moving, "exact")


class TestAfterwards:
    """Processes that are still open with the old embedder."""

    @pytest.fixture
    def old(self, mem, moving):
        """Such a memory, of a namespace that was moved while it was open."""
        mem.remember(["exact", "near"], tier="semantic")
        mem.remember([MemoryItem(text, id=f"viking://user/memories/events/{text}") for text in ("a", "b")])
        store_of(mem).documents.put(f"{U}/tea", "about tea", jobs=[EMBED])
        moving.reembed()
        return mem

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_recall(self, old, how):
        """A recall is refused in every mode: there is no index any more by the name that it knows."""
        with pytest.raises(IndexUnavailable, match="moved to another embedder"):
            old.recall("exact", tier="semantic", mode=how)
        with pytest.raises(EmbedderMismatch):
            old.recall("exact", tier="semantic", mode=how)

    def test_remember(self, old, moving):
        """What has a vector of the old embedder is refused, and nothing of it is written."""
        for write in (
            lambda: old.remember(["new", "newer"], tier="semantic"),
            lambda: old.remember([MemoryItem("new", id="x", status="candidate")]),
            lambda: old.update(old.list("semantic").items[0].id, "semantic", text="changed"),
        ):
            with pytest.raises(EmbedderMismatch, match="reembed"):
                write()
        assert texts(moving.list("semantic").items) == ["exact", "near"]

    @pytest.mark.usefixtures("old")
    def test_opened_at_the_wrong_moment(self, open_memory, client, namespace):
        """Whoever looked at the namespace right before the switch, and opens its index right after, is refused."""
        before = {"embedder": "table", "dimensions": "3"}
        client.hset(f"{{{namespace}:0}}:meta", mapping=before)
        with pytest.raises(EmbedderMismatch, match="moved to another embedder"):
            open_memory().count()

    def test_without_vectors(self, old, moving):
        """What needs no vector still works."""
        old.remember("a note", tier="working")
        assert old.update(old.list("semantic").items[0].id, "semantic", importance=0.9).outcome == "updated"
        assert texts(moving.list("working").items) == ["a note"]

    def test_reading_vectors(self, old):
        """What compares stored vectors is refused, rather than to find nothing."""
        for read in (old.conflicts, store_of(old).memories.conflicts):
            with pytest.raises(EmbedderMismatch):
                read()

    def test_jobs(self, old, moving):
        """A job's vector of the old embedder is refused; a worker with the new one does the job."""
        job = store_of(old).jobs.claim(["embed"])
        with pytest.raises(EmbedderMismatch):
            store_of(old).vectors.store(job.id, f"{U}/tea", blob("near"))
        assert store_of(moving).jobs.defer(job, 0)
        assert store_of(moving).jobs.work(until_idle=True).done == 1

    def test_an_archive(self, redis_url, namespace, embedder):
        """So is the import of an archive."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            mem.scoped("a").remember("exact", tier="semantic")
            archive = BytesIO()
            Archive(mem.scoped("a")).export(archive)
            with memory(redis_url, namespace=namespace, embedder=OtherEmbedder()) as moving:
                moving.reembed()
            with pytest.raises(EmbedderMismatch):
                Archive(mem.scoped("b")).load(BytesIO(archive.getvalue()))

    def test_deferred(self, open_memory, redis_url, namespace):
        """A memory that was written without a vector is embedded by a worker with the new embedder."""
        moody = MoodyEmbedder()
        old = open_memory(embedder=moody, embedder_down="defer")
        old.remember("exact", tier="semantic")
        moving = open_memory(embedder=OtherEmbedder())
        moving.reembed()
        moody.error = EmbedderUnavailable("down")
        assert old.remember("late", tier="semantic")[0].deferred
        moody.error = None
        assert store_of(old).jobs.work(until_idle=True).done == 0
        assert moving.reembed() == Reembedded("other", 1, 0, 0)
        assert is_found(moving, "late")


class TestProcesses:
    def test_writers(self, redis_url, namespace, client):
        """Two processes that write and recall while a third moves the namespace lose nothing, and then are refused."""
        embedder = SlowEmbedder()
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
            mem.remember([f"text {number}" for number in range(600)], tier="semantic")
        writers = [start("write", redis_url, namespace, number) for number in (1, 2)]
        written = [{writer.stdout.readline().strip() for _ in range(5)} for writer in writers]
        mover = start("move", redis_url, namespace)
        assert mover.communicate(timeout=60)[0].splitlines()[-1] == "moved"
        for ids, writer in zip(written, writers, strict=True):
            *more, last = writer.communicate(timeout=30)[0].splitlines()
            assert last.startswith("refused")
            ids.update(more)
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            assert mem.reembed() == Reembedded("other", 0, 0, 0)
            for id in set().union(*written):
                assert is_found(mem, mem.get(id, "semantic").text, tier="semantic")
        check_vectors(client, namespace, embedder)
        check_invariants(client, namespace)

    def test_killed(self, redis_url, namespace, client):
        """After the process that moves it was killed, a namespace is as it was, and the next call does the rest."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as old:
            old.remember([f"text {number}" for number in range(1000)], tier="semantic")
            mover = start("move", redis_url, namespace)
            assert mover.stdout.readline() == "256 1000\n"
            mover.send_signal(signal.SIGKILL)
            mover.communicate()
            assert is_found(old, "text 900")
            old.remember("more", tier="semantic")
            embedder = SlowEmbedder()
            with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
                done = mem.reembed()
                assert (done.memories <= 1001 - 256, done.removed) == (True, 1001)
                assert is_found(mem, "more")
        check_vectors(client, namespace, embedder)
        check_invariants(client, namespace)

    def test_the_server_restarts(self, tmp_path):
        """A server that is started anew halfway, or afterwards, knows what it knew."""
        settings = ("--appendonly", "yes")
        with redis_server(*settings, folder=tmp_path) as url:
            with memory(url, embedder=TableEmbedder()) as old:
                old.remember([f"text {number}" for number in range(600)], tier="semantic")
            broken = OtherEmbedder()
            broken.fails_after = 1
            with memory(url, embedder=broken) as mem, pytest.raises(EmbeddingError):
                mem.reembed()
        with redis_server(*settings, folder=tmp_path) as url:
            with memory(url, embedder=TableEmbedder()) as old:
                assert is_found(old, "text 7")
            with memory(url, embedder=OtherEmbedder()) as mem:
                assert mem.reembed().memories == 600 - 256
        with redis_server(*settings, folder=tmp_path) as url, memory(url, embedder=OtherEmbedder()) as mem:
            assert is_found(mem, "text 7")


class TestCluster:
    def test_all_partitions(self, open_memory, cluster_url, other):
        """On a cluster the partitions are moved one by one, and all of them are."""
        scopes = [f"s{number}" for number in range(40)]
        old, moving = open_memory(url=cluster_url), open_memory(url=cluster_url, embedder=other)
        old.remember([MemoryItem(f"{scope} {tier}", tier, scope=scope) for scope in scopes for tier in SEARCHED])
        assert moving.reembed() == Reembedded("other", 120, 0, 120)
        assert all(is_found(moving.scoped(scope), f"{scope} semantic", tier="semantic") for scope in scopes)
        for scope in scopes:
            with pytest.raises(EmbedderMismatch):
                old.scoped(scope).remember("new", tier="semantic")

    def test_interrupted_after_the_switch(self, open_memory, cluster_url, other, monkeypatch):
        """Interrupted when the switch was made, but not in every partition, the next call ends it."""
        scopes = [f"s{number}" for number in range(40)]
        old, moving = open_memory(url=cluster_url), open_memory(url=cluster_url, embedder=other)
        old.remember([MemoryItem(f"{scope} x", "semantic", scope=scope) for scope in scopes])

        def until_20(keyspace, partition, *rest):
            if partition == 20:
                raise KeyboardInterrupt
            return (yield from enter(keyspace, partition, *rest))

        enter = reembed._enter
        monkeypatch.setattr(reembed, "_enter", until_20)
        with pytest.raises(KeyboardInterrupt):
            moving.reembed()
        monkeypatch.undo()
        assert all(is_found(moving.scoped(scope), f"{scope} x") for scope in scopes)
        assert open_memory(url=cluster_url, embedder=other).reembed() == Reembedded("other", 0, 0, 40)
        for scope in scopes:
            with pytest.raises(EmbedderMismatch):
                old.scoped(scope).remember("new", tier="semantic")
