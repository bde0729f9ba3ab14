"""Vectors of documents: results of jobs, searching by similarity, and looking after the index."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from embedders_for_tests import VECTORS, TableEmbedder
from snapshots import snapshot
from stores import store_of

from tiered_memory import MemoryItem, memory
from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.errors import (
    CorruptRecord,
    DimMismatch,
    IndexUnavailable,
    InvalidDim,
    InvalidField,
    InvalidInput,
    InvalidLimit,
    InvalidURI,
    IsRoot,
    NotFound,
    StoreUnavailable,
)
from tiered_memory.store import Document, VectorStats
from tiered_memory.store.items import Delivery, content_hash

U = "viking://resources/c"
A = f"{U}/a"
EMBED = ("embed", {})


def blob(name):
    """A vector by its name in the tests' table, as bytes."""
    return np.asarray(VECTORS[name], "<f4").tobytes()


def put(store, uri, content="x"):
    """Writes a document and claims its job."""
    store.documents.put(uri, content, jobs=[EMBED])
    return store.jobs.claim(["embed"]).id


def fill(store, named):
    """Writes documents with vectors, by their names below U."""
    for name, vector in named.items():
        store.vectors.store(put(store, f"{U}/{name}", f"text {name}"), f"{U}/{name}", blob(vector))


def names(hits):
    """The names of what was found, below U."""
    return [hit.uri.removeprefix(f"{U}/") for hit in hits]


class TestStoring:
    def test_stored(self, store):
        """A job's vector is stored and the job completed, in one step."""
        assert store.vectors.store(put(store, A), A, blob("near")) == Delivery("stored")
        assert store.vectors.load([A]) == {A: blob("near")}
        assert store.jobs.stats() == {"pending": 0, "running": 0, "done": 1, "failed": 0}

    def test_removed_meanwhile(self, store):
        """When the document was removed, the result is discarded: nothing is made of it, and no job is left."""
        job = put(store, A)
        store.documents.remove(A)
        assert store.vectors.store(job, A, blob("q")).outcome == "discarded"
        assert store.documents.get(A) is None
        assert sum(store.jobs.stats().values()) == 0

    def test_rewritten_meanwhile(self, store):
        """A vector of an old content is discarded and its job completed; the new content's own job runs."""
        old = put(store, A, "v1")
        new = put(store, A, "v2")
        assert store.vectors.store(old, A, blob("q")) == Delivery("discarded", "changed")
        assert store.vectors.load([A]) == {}
        assert store.jobs.stats()["running"] == 1
        assert store.vectors.store(new, A, blob("far")) == Delivery("stored")

    def test_switched_off(self, store):
        """What is switched off gets its vector, so that it is found once it is switched on."""
        job = put(store, A)
        store.tags.set_enabled(U, False)
        assert store.vectors.store(job, A, blob("q")) == Delivery("stored")
        assert store.vectors.search(blob("q")) == []
        store.tags.set_enabled(U, True)
        assert names(store.vectors.search(blob("q"))) == ["a"]

    def test_a_directory(self, store):
        """A directory has no vector."""
        store.documents.put(A, "x")
        store.jobs.enqueue("embed", {"uri": U})
        job = store.jobs.claim(["embed"]).id
        assert store.vectors.store(job, U, blob("q")) == Delivery("discarded", "gone")
        assert store.vectors.load([U, A]) == {}

    @pytest.mark.parametrize(
        ("vector", "error"),
        [
            (b"", InvalidDim),
            (b"\0\0\0", InvalidDim),
            (b"\0" * 13, InvalidDim),
            (b"\0\0\x80?" * 8193, InvalidDim),
            ("abcd" * 3, InvalidDim),
            ([1.0, 0.0, 0.0], InvalidDim),
            (np.zeros(3, "<f4").tobytes(), InvalidDim),
            (np.array([1, np.nan, 0], "<f4").tobytes(), InvalidDim),
            (np.array([1, np.inf, 0], "<f4").tobytes(), InvalidDim),
            (np.ones(2, "<f4").tobytes(), DimMismatch),
            (np.ones(3, "<f8").tobytes(), DimMismatch),
        ],
        ids=["empty", "3 bytes", "13 bytes", "long", "text", "list", "zero", "nan", "infinite", "short", "double"],
    )
    def test_no_vector(self, store, vector, error):
        """What is no vector of the embedder's dimensions is refused, and the job isn't completed."""
        job = put(store, A)
        with pytest.raises(error):
            store.vectors.store(job, A, vector)
        with pytest.raises(error):
            store.vectors.search(vector)
        assert store.jobs.stats()["running"] == 1

    def test_of_another(self, store, mem):
        """A job of another URI is refused; one of another scope isn't known."""
        job = put(store, A)
        with pytest.raises(InvalidInput, match="isn't one for"):
            store.vectors.store(job, f"{A}/b", blob("q"))
        other = store_of(mem.scoped("user:42"))
        other.documents.put(A, "x")
        assert other.vectors.store(job, A, blob("q")) == Delivery("discarded", "cancelled")
        assert store.jobs.stats()["running"] == 1
        with pytest.raises(IsRoot):
            store.vectors.store(job, "viking://", blob("q"))

    def test_half_the_bytes(self, open_memory, client, namespace):
        """Where vectors are float16, those that are stored, searched with and loaded are float32 all the same."""
        store = store_of(open_memory(vectors="float16"))
        large = (np.asarray(VECTORS["near"], "<f4") * 1e30).tobytes()
        assert store.vectors.store(put(store, A), A, large) == Delivery("stored")
        fill(store, {"b": "q"})
        assert client.hstrlen(f"{{{namespace}:0}}:record:1", vector_field("table", "float16")) == 6
        loaded = np.frombuffer(store.vectors.load([A])[A], "<f4")
        assert loaded == pytest.approx(VECTORS["near"], abs=1e-3)
        assert [(hit.uri.name, hit.score) for hit in store.vectors.search(blob("q"))] == [
            ("b", 1.0),
            ("a", pytest.approx(0.8, abs=1e-3)),
        ]


class TestSearch:
    def test_order(self, store):
        """The nearest come first, by their cosine; those that are equally near by their URIs."""
        fill(store, {"z": "near", "n": "neg", "f": "far", "y": "near", "x": "exact", "o": "orth"})
        found = store.vectors.search(blob("q"))
        assert [(hit.uri.name, hit.score) for hit in found] == [
            ("x", 1.0), ("y", 0.8), ("z", 0.8), ("f", 0.6), ("o", 0.0), ("n", -1.0),
        ]  # fmt: skip

    def test_ties_at_the_end(self, store):
        """Of many that are equally near the first by URI are found, the same each time."""
        fill(store, {f"{number:02}": "near" for number in reversed(range(60))} | {"zz": "q"})
        for top_k in (1, 2, 3, 5, 60):
            expected = ["zz", *(f"{number:02}" for number in range(60))][:top_k]
            assert names(store.vectors.search(blob("q"), top_k)) == expected

    def test_nothing_indexed(self, store):
        """Before there is a vector nothing is found."""
        assert store.vectors.search(blob("q")) == []
        store.documents.put(A, "x")
        assert store.vectors.search(blob("q")) == []

    def test_rewritten(self, store):
        """A document isn't found by what it doesn't say any more, until it is embedded again."""
        fill(store, {"a": "q", "b": "far"})
        job = put(store, A, "v2")
        assert names(store.vectors.search(blob("q"))) == ["b"]
        store.vectors.store(job, A, blob("near"))
        assert names(store.vectors.search(blob("q"))) == ["a", "b"]

    def test_under(self, store):
        """The URI itself and what is below are searched, no sibling that begins alike."""
        fill(store, dict.fromkeys(["p", "p/a", "p/b/c", "p-old", "p-old/a"], "q"))
        assert names(store.vectors.search(blob("q"), under=f"{U}/p")) == ["p", "p/a", "p/b/c"]
        assert names(store.vectors.search(blob("q"), under=f"{U}/p/b")) == ["p/b/c"]
        assert len(store.vectors.search(blob("q"), under="viking://")) == 5

    def test_nothing_there(self, store):
        """Where nothing stands there is nothing to search, which is said; where no vector is, nothing is found."""
        fill(store, {"a": "q"})
        store.documents.put(f"{U}/d/b", "x")
        assert store.vectors.search(blob("q"), under=f"{U}/d") == []
        with pytest.raises(NotFound, match="nothing stands"):
            store.vectors.search(blob("q"), under=f"{U}/none")
        with pytest.raises(InvalidURI):
            store.vectors.search(blob("q"), under="resources")

    def test_switched_off(self, store):
        """However many are switched off, they take no place of others."""
        fill(store, {f"d/{number:02}": "q" for number in range(30)} | {"e": "neg"})
        store.tags.set_enabled(f"{U}/d", False)
        assert names(store.vectors.search(blob("q"), top_k=1)) == ["e"]

    def test_other_scopes(self, store, mem):
        """What other scopes hold is never found."""
        fill(store, {"a": "far"})
        other = store_of(mem.scoped("user:42"))
        fill(other, {"b": "q"})
        assert names(store.vectors.search(blob("q"))) == ["a"]
        assert names(other.vectors.search(blob("q"))) == ["b"]
        assert mem.recall("q", tier="semantic", threshold=-1) == []

    def test_fields(self, store):
        """Only the fields that are asked for are read; the URI always comes, and so does the group."""
        store.documents.put(A, "content", abstract="short", jobs=[EMBED])
        store.vectors.store(store.jobs.claim(["embed"]).id, A, blob("near"))
        store.tags.set_group(U, "team")
        (hit,) = store.vectors.search(blob("q"))
        assert (hit.content, hit.abstract, hit.overview, hit.score) == ("content", "short", None, 0.8)
        assert (hit.enabled, hit.group) == (True, "team")
        (hit,) = store.vectors.search(blob("q"), fields=["abstract"])
        assert (hit.uri, hit.content, hit.abstract, hit.score, hit.group) == (A, None, "short", None, "team")
        (hit,) = store.vectors.search(blob("q"), fields=["score", "uri"])
        assert (hit.content, hit.abstract, hit.score) == (None, None, 0.8)
        (hit,) = store.vectors.search(blob("q"), fields=[])
        assert (hit.uri, hit.content, hit.score) == (A, None, None)
        with pytest.raises(InvalidField, match="terms"):
            store.vectors.search(blob("q"), fields=["terms"])

    def test_not_sent(self, store, client):
        """What isn't asked for doesn't leave the store."""
        for number in range(20):
            uri = f"{U}/{number}"
            store.vectors.store(put(store, uri, "x" * 100_000), uri, blob("q"))
        before = client.info("stats")["total_net_output_bytes"]
        assert len(store.vectors.search(blob("q"), 200, fields=["score"])) == 20
        assert client.info("stats")["total_net_output_bytes"] - before < 50_000

    @pytest.mark.parametrize("top_k", [0, 201, -1, 1.5, True, None])
    def test_bounds(self, store, top_k):
        """From 1 to 200 hits may be asked for."""
        with pytest.raises(InvalidLimit, match="top_k"):
            store.vectors.search(blob("q"), top_k)
        fill(store, {"a": "q"})
        assert names(store.vectors.search(blob("q"), 200)) == ["a"]


class Orphans:
    """Plants rows that no document stands for."""

    def __init__(self, client, namespace, scope=None):
        self.client = client
        self.keys = Keyspace(namespace, 1, vector_field("table")).of(scope)
        self.prefix = self.keys.scopes.removesuffix("scopes")
        self.number = 10_000

    def plant(self, uri, vector, **more):
        """A row as one of a document that was removed."""
        self.number += 1
        fields = {"uri": uri, "text": "orphan", "terms": "orphan", "active": self.keys.token("documents")}
        fields |= {vector_field("table"): blob(vector)} | more
        if self.keys.scope is not None:
            fields["scope"] = self.keys.scope
        self.client.hset(f"{self.prefix}record:{self.number}", mapping=fields)


@pytest.fixture
def orphans(client, namespace):
    """Plants orphans in the unscoped pool."""
    return Orphans(client, namespace)


class TestOrphans:
    def test_never_found(self, store, orphans):
        """A row that no document stands for is never found, and takes no place of one that is."""
        fill(store, {"a": "far", "b": "neg"})
        for number in range(40):
            orphans.plant(f"{U}/gone/{number}", "q")
        assert names(store.vectors.search(blob("q"), top_k=1)) == ["a"]
        assert names(store.vectors.search(blob("q"))) == ["a", "b"]
        assert names(store.search.search("orphan q", top_k=1)) == ["a"]

    def test_of_a_live_uri(self, store, orphans):
        """A second row of a document's URI is not the document."""
        fill(store, {"a": "far"})
        orphans.plant(A, "q")
        orphans.plant(A, "near", content_hash="0" * 64)
        assert [(hit.uri, hit.score, hit.content) for hit in store.vectors.search(blob("q"))] == [(A, 0.6, "text a")]

    def test_of_another_scope(self, store, orphans, mem):
        """A row that claims to be of a scope that it wasn't written under isn't found."""
        fill(store, {"a": "far"})
        orphans.plant(A, "q", scope="user:42", content_hash=store.documents.get(A).content_hash)
        assert [hit.score for hit in store.vectors.search(blob("q"))] == [0.6]

    def test_reclaimed(self, store, orphans):
        """Such rows are counted without touching anything, and dropped when asked; what is live stays."""
        fill(store, {"a": "q", "b": "far"})
        store.tags.set_enabled(f"{U}/b", False)
        assert (store.vectors.reclaimable(), store.vectors.reclaim()) == (0, 0)
        for number in range(1100):
            orphans.plant(f"{U}/gone/{number}", "q")
        assert store.vectors.reclaimable() == store.vectors.stats().reclaimable == 1100
        assert store.vectors.reclaimable() == 1100
        assert (store.vectors.reclaim(), store.vectors.reclaim()) == (1100, 0)
        assert store.vectors.reclaimable() == store.vectors.stats().reclaimable == 0
        assert names(store.vectors.search(blob("q"))) == ["a"]
        assert store.vectors.load([A, f"{U}/b"]).keys() == {A, f"{U}/b"}

    def test_other_scopes(self, store, client, namespace, mem):
        """A scope looks after its own rows only, and never after memories."""
        other = store_of(mem.scoped("user:42"))
        fill(other, {"a": "q"})
        mem.scoped("user:42").remember("near")
        Orphans(client, namespace, "user:42").plant(f"{U}/gone", "q")
        assert (store.vectors.reclaimable(), store.vectors.reclaim()) == (0, 0)
        assert (other.vectors.reclaimable(), other.vectors.reclaim()) == (1, 1)
        assert [hit.text for hit in mem.scoped("user:42").recall("near", threshold=0.9)] == ["near"]


class TestStats:
    def test_counts(self, store):
        """Documents with and without vectors are told apart."""
        assert store.vectors.stats() == VectorStats(True, 0, 0, 0)
        fill(store, {"a": "q", "b": "neg"})
        store.documents.put(f"{U}/c", "x")
        assert store.vectors.stats() == VectorStats(True, 2, 3, 0)
        store.documents.put(A, "new")
        assert store.vectors.stats() == VectorStats(True, 1, 3, 0)
        store.documents.remove(U)
        assert store.vectors.stats() == VectorStats(True, 0, 0, 0)

    def test_unavailable(self, store, client, namespace):
        """While there is no index, that is not the same as holding nothing; then it is there again."""
        fill(store, {"a": "q"})
        drop = ("FT.DROPINDEX", f"{{{namespace}:0}}:index")
        client.execute_command(*drop)
        assert store.vectors.stats() == VectorStats(False, None, 1, None)
        assert store.vectors.stats() == VectorStats(True, 1, 1, 0)
        client.execute_command(*drop)
        with pytest.raises(IndexUnavailable) as caught:
            store.vectors.search(blob("q"))
        assert isinstance(caught.value, StoreUnavailable)
        assert names(store.vectors.search(blob("q"))) == ["a"]


class TestLoading:
    def test_missing(self, store, embedder):
        """What has no vector is absent, and nothing is embedded for it."""
        fill(store, {"a": "near"})
        store.documents.put(f"{U}/b", "x")
        calls = len(embedder.calls)
        assert store.vectors.load([A, f"{U}/b", f"{U}/none", U, A]) == {A: blob("near")}
        assert store.vectors.load([]) == {}
        assert len(embedder.calls) == calls

    def test_refused(self, store):
        """URIs must be URIs, and not too many."""
        with pytest.raises(InvalidURI):
            store.vectors.load(["a"])
        with pytest.raises(InvalidLimit):
            store.vectors.load([f"{U}/{number}" for number in range(1001)])


class TestWork:
    def test_embedded(self, store, embedder):
        """A worker embeds what was written, and it is found; what is blank needs no vector."""
        store.documents.put_many(
            [Document(f"{U}/{name}", text, jobs=[EMBED]) for name, text in (("a", "near"), ("b", "q"), ("c", " \n"))]
        )
        assert store.jobs.work(until_idle=True).done == 3
        assert names(store.vectors.search(blob("q"))) == ["b", "a"]
        assert store.vectors.stats() == VectorStats(True, 2, 3, 0)
        assert sorted(embedder.calls) == [["near"], ["q"]]

    def test_of_a_scope(self, mem):
        """A worker of the root serves the documents of every scope."""
        other = store_of(mem.scoped("user:42"))
        other.documents.put(A, "q", jobs=[EMBED])
        store_of(mem).jobs.work(until_idle=True)
        assert names(other.vectors.search(blob("q"))) == ["a"]


class TestRaces:
    def test_never_of_another_content(self, redis_url, namespace):
        """Whoever rewrites and embeds at the same time, a document never has the vector of another content."""
        vectors = {content_hash(f"v{number}"): np.array([number + 1, 1, 0], "<f4").tobytes() for number in range(40)}
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
            store = mem.store

            def write(part):
                for number in range(part, 40, 4):
                    store.documents.put(A, f"v{number}", jobs=[EMBED])

            def embed(_):
                for _ in range(40):
                    job = store.jobs.claim(["embed"])
                    if job:
                        store.vectors.store(job.id, A, vectors[job.payload["content_hash"]])
                    (node,), found = store.documents.get_many([A]), store.vectors.load([A])
                    later = store.documents.get(A)
                    if node and found and node == later:
                        assert found[A] == vectors[node.content_hash]

            with ThreadPoolExecutor(8) as pool:
                working = [pool.submit(work, part) for work in (write, embed) for part in range(4)]
                for each in working:
                    each.result()
            while job := store.jobs.claim(["embed"]):
                store.vectors.store(job.id, A, vectors[job.payload["content_hash"]])
            assert store.vectors.load([A]) == {A: vectors[store.documents.get(A).content_hash]}
            assert store.jobs.stats()["pending"] == store.jobs.stats()["running"] == 0


class TestBackfill:
    def test_missing_only(self, store):
        """Jobs are made for the documents that have no vector, have a text, and wait for none."""
        fill(store, {"done": "q"})
        store.documents.put(f"{U}/waits", "x", jobs=[EMBED])
        store.documents.put(f"{U}/waits/below", "x")
        store.documents.put(f"{U}/empty", "")
        store.documents.put(f"{U}/missing", "near")
        store.documents.put(f"{U}/off", "far")
        store.tags.set_enabled(f"{U}/off", False)
        assert store.vectors.backfill() == 3
        assert store.vectors.backfill() == 0
        assert store.jobs.work(until_idle=True).done == 4
        assert store.vectors.stats() == VectorStats(True, 4, 6, 0)
        assert store.vectors.load([f"{U}/off"]) == {f"{U}/off": blob("far")}

    def test_fenced(self, store):
        """Such a job knows the content that it is for."""
        store.documents.put(A, "v1")
        store.vectors.backfill()
        job = store.jobs.claim(["embed"])
        assert job.payload == {"uri": A, "content_hash": store.documents.get(A).content_hash}
        store.documents.put(A, "v2")
        assert store.vectors.store(job.id, A, blob("q")) == Delivery("discarded", "changed")
        assert store.vectors.backfill() == 1

    def test_many(self, store):
        """However many there are, all get one."""
        store.documents.put_many([Document(f"{U}/{number:04}", "x") for number in range(1000)])
        store.documents.put_many([Document(f"{U}/more/{number:04}", "x") for number in range(100)])
        assert store.vectors.backfill() == store.jobs.count(U, ["pending"]) == 1100

    def test_in_a_partition(self, redis_url, namespace):
        """The ids of its jobs are those that workers know."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), partitions=4, mode="vector") as mem:
            for scope in ("a", "b", "c", "d", "e"):
                store = mem.scoped(scope).store
                store.documents.put(A, "near")
                assert store.vectors.backfill() == 1
            assert mem.store.jobs.work(until_idle=True).done == 5
            for scope in ("a", "b", "c", "d", "e"):
                assert names(mem.scoped(scope).store.vectors.search(blob("q"))) == ["a"]


class TestMemories:
    @pytest.fixture
    def shown(self, mem):
        """A store with a memory that is a document, too; answers both and its URI."""
        uri = "viking://user/memories/entities/tea"
        mem.remember(MemoryItem("near", "semantic", id=uri))
        return store_of(mem), uri

    def test_found(self, mem, shown):
        """A memory that is a document is found as one, by what is believed there now."""
        store, uri = shown
        fill(store, {"a": "far"})
        hits = store.vectors.search(blob("q"))
        assert [(hit.uri, hit.score, hit.content) for hit in hits] == [(uri, 0.8, "near"), (A, 0.6, "text a")]
        assert [hit.uri for hit in store.vectors.search(blob("q"), under="viking://user")] == [uri]
        mem.remember(MemoryItem("far", "semantic", id=uri))
        assert [(hit.uri, hit.score) for hit in store.vectors.search(blob("q"))] == [(A, 0.6), (uri, 0.6)]
        assert store.vectors.load([uri]) == {uri: blob("far")}
        assert store.search.search("far", "keyword")[0].uri == uri

    def test_waiting(self, mem, shown):
        """One that only waits for review is a document as well, until it is rejected."""
        store, _ = shown
        uri = "viking://user/memories/entities/rumour"
        mem.remember(MemoryItem("q", "semantic", id=uri, status="candidate"))
        assert store.vectors.search(blob("q"))[0].uri == uri
        mem.review.reject(uri, "semantic")
        assert uri not in [hit.uri for hit in store.vectors.search(blob("q"))]

    def test_switched_off(self, mem, shown):
        """As a document it can be switched off; the memory is recalled all the same."""
        store, uri = shown
        store.tags.set_enabled("viking://user/memories", False)
        assert store.vectors.search(blob("q")) == []
        assert [hit.id for hit in mem.recall("q", tier="semantic")] == [uri]

    def test_looked_after(self, mem, shown):
        """It counts as a document with a vector, and is never reclaimed."""
        store, uri = shown
        assert store.vectors.stats() == VectorStats(True, 1, 1, 0)
        assert (store.vectors.reclaim(), store.vectors.backfill()) == (0, 0)
        mem.forget(uri, "semantic")
        assert store.vectors.stats() == VectorStats(True, 0, 0, 0)


class TestFaults:
    @pytest.fixture
    def mem(self, redis_url, namespace):
        """A memory, for tests that do the same in one mode or the other."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
            yield mem

    @pytest.mark.parametrize("write", ["record", "holding", "job_times:running", "documents"])
    def test_vector(self, mem, client, namespace, write):
        """A vector isn't stored, nor its job completed, where a key has another type than it should."""
        store, prefix = mem.store, f"{{{namespace}:0}}:"
        job = put(store, A)
        documents = Keyspace(namespace, 1, "vector").of(None).key("documents", "tree")
        key = {"record": f"{prefix}record:1", "documents": documents}.get(write, f"{prefix}{write}")
        client.delete(key)
        client.set(key, "junk")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            store.vectors.store(job, A, blob("q"))
        assert snapshot(client, namespace) == before
        assert client.get(key) == b"junk"

    def test_backfill(self, mem, client, namespace):
        """No job is made where a key of the jobs has another type than it should."""
        store = mem.store
        store.documents.put(A, "x")
        client.set(f"{{{namespace}:0}}:job_later:embed", "junk")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            store.vectors.backfill()
        assert snapshot(client, namespace) == before
