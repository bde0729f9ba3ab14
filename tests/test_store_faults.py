"""What goes wrong below a tree: keys that aren't as we wrote them, and no memory left. Nothing is left half done."""

from __future__ import annotations

from itertools import count

import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from servers import redis_server

from tiered_memory import memory
from tiered_memory.engine.keys import TREE_KINDS, Keyspace
from tiered_memory.errors import CorruptRecord, StoreUnavailable
from tiered_memory.store import Document, Store

U = "viking://resources/c"
JOB = ("summarize_abstract", {})


def tree(store):
    """A tree in which every kind of key has something; answers the id of a job that runs."""
    documents = [Document(f"{U}/{name}", "É", abstract="x", jobs=[JOB, ("embed", {})]) for name in ("a", "b/c", "b/d")]
    store.documents.put_many(documents)
    store.tags.set_enabled(f"{U}/b/d", False)
    store.tags.set_group(f"{U}/b", "g")
    store.documents.put(f"{U}/e", "x", jobs=[JOB])
    return store.jobs.claim(["summarize_abstract"])


WRITES = {
    "put": lambda store, job: store.documents.put(f"{U}/new/x", "new", jobs=[JOB]),
    "rewrite": lambda store, job: store.documents.put(f"{U}/a", "new", abstract="y", jobs=[JOB]),
    "put_many": lambda store, job: store.documents.put_many(
        [Document(f"{U}/{each}", "x", jobs=[JOB]) for each in "az"]
    ),
    "remove": lambda store, job: store.documents.remove(f"{U}/b"),
    "switch off": lambda store, job: store.tags.set_enabled(f"{U}/b", False),
    "switch on": lambda store, job: store.tags.set_enabled(f"{U}/b/d", True),
    "group": lambda store, job: store.tags.set_group(U, "h"),
    "layer": lambda store, job: store.layers.store(job.id, job.payload["uri"], "abstract", "made"),
}


@pytest.fixture(scope="module")
def client(redis_url):
    """A client to tamper with."""
    with Redis.from_url(redis_url) as client:
        yield client


def everything(client, namespace):
    """All that lies in a namespace; a hash without the order of its fields, which may change by itself."""
    keys = sorted(client.scan_iter(f"{{{namespace}:*", count=1000))
    return {key: client.hgetall(key) if client.type(key) == b"hash" else client.dump(key) for key in keys}


class TestWrongTypes:
    @pytest.fixture
    def mem(self, redis_url, namespace):
        """A memory, for tests that do the same in one mode or the other."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
            yield mem

    def planted(self, client, namespace, mem, write):
        """Plants a value of the wrong type at each key in turn, and writes; the keys at which that was refused."""
        refused, scopes = set(), count()
        names = None
        while names is None or names:
            scope = f"scope-{next(scopes)}"
            store = Store(mem.scoped(scope))
            job = tree(store)
            keys = self.keys(client, namespace, scope)
            names = sorted(keys) if names is None else names
            name = names.pop()
            if name not in keys:
                continue
            kind, value = client.type(keys[name]), client.dump(keys[name])
            client.delete(keys[name])
            if kind == b"string":
                client.rpush(keys[name], "junk")
            else:
                client.set(keys[name], "junk")
            before = everything(client, namespace)
            try:
                WRITES[write](store, job)
            except CorruptRecord:
                assert everything(client, namespace) == before, f"{name} left {write} half done"
                refused.add(name)
            client.delete(keys[name])
            client.restore(keys[name], 0, value)
        return refused

    def keys(self, client, namespace, scope):
        """The keys that a scope's writes may touch, by what stays the same from scope to scope."""
        own = Keyspace(namespace, 1, "vector").of(scope)
        prefix = own.scopes.removesuffix("scopes")
        tokens = {own.token("tree"), scope}
        found = {}
        for key in client.scan_iter(f"{prefix}*", count=1000):
            name = key.decode().removeprefix(prefix)
            kind, _, rest = name.partition(":")
            if kind in ("scopes", "holding", "sequence", "counts", "due", "job_sequence", "job_turns", "job_kinds"):
                found[name] = key
            elif any(token in rest for token in tokens):
                found[name.replace(own.token("tree"), "TOKEN")] = key
            elif kind in ("job_times", "job_ready", "job_later"):
                found[name] = key
        for uri in (f"{U}/a", f"{U}/b/d"):
            records = [key for key in client.scan_iter(f"{prefix}record:*") if self.holds(client, key, uri, scope)]
            found |= {f"record of {uri}": key for key in records}
        return found

    def holds(self, client, key, uri, scope):
        return client.type(key) == b"hash" and client.hmget(key, "uri", "scope") == [uri.encode(), scope.encode()]

    @pytest.mark.parametrize("write", WRITES)
    def test_planted(self, mem, client, namespace, write):
        """Where a key has another type than it should, a write is refused as a whole, or doesn't need that key."""
        refused = self.planted(client, namespace, mem, write)
        assert {f"{kind}:TOKEN" for kind in TREE_KINDS} <= refused
        assert {"scopes", "holding", "sequence"} <= refused

    def test_the_next_record(self, mem, client, namespace):
        """Where a foreign value has the name of the next record, nothing is written."""
        store = Store(mem)
        tree(store)
        prefix = f"{{{namespace}:0}}:"
        client.set(f"{prefix}record:{int(client.get(f'{prefix}sequence')) + 2}", "junk")
        before = everything(client, namespace)
        with pytest.raises(CorruptRecord):
            store.documents.put_many([Document(f"{U}/{name}", "x", jobs=[JOB]) for name in "xyz"])
        assert everything(client, namespace) == before

    @pytest.mark.parametrize("junk", [b"\xc1", b"\x93\x01\x02\x03"])
    @pytest.mark.parametrize("write", WRITES)
    def test_junk_for_a_node(self, mem, client, namespace, write, junk):
        """Where a node isn't as we wrote it, whatever needs it is refused, and changes nothing."""
        for uri in (f"{U}/a", f"{U}/b", U):
            store = Store(mem.scoped(uri))
            job = tree(store)
            client.hset(Keyspace(namespace, 1, "vector").of(uri).key("nodes", "tree"), uri, junk)
            before = everything(client, namespace)
            with pytest.raises(CorruptRecord):
                store.documents.get(uri)
            try:
                WRITES[write](store, job)
            except CorruptRecord:
                assert everything(client, namespace) == before

    @pytest.mark.parametrize("uri", ["viking://", "viking://resources"])
    def test_junk_above(self, mem, client, namespace, uri):
        """Where a node above isn't as we wrote it, nothing is written below, no directory neither."""
        store = Store(mem)
        store.documents.put("viking://resources/a", "x")
        keys = Keyspace(namespace, 1, "vector").of(None)
        client.hset(keys.key("nodes", "tree"), uri, "junk")
        if uri == "viking://":
            client.hdel(keys.key("nodes", "tree"), "viking://resources")
        before = everything(client, namespace)
        with pytest.raises(CorruptRecord):
            store.documents.put(f"{U}/d/e/x", "x", jobs=[JOB])
        assert everything(client, namespace) == before

    @pytest.mark.parametrize("junk", ["x", "1.5", "1e3"])
    def test_junk_for_a_number(self, mem, client, namespace, junk):
        """Where a count isn't a whole number, nothing is written."""
        store = Store(mem)
        tree(store)
        prefix = f"{{{namespace}:0}}:"
        for plant in (
            lambda: client.hset(f"{prefix}holding", "-", junk),
            lambda: client.set(f"{prefix}sequence", junk),
        ):
            plant()
            before = everything(client, namespace)
            with pytest.raises(CorruptRecord):
                store.documents.put(f"{U}/new", "x")
            assert everything(client, namespace) == before

    def test_a_lost_record(self, mem, client, namespace):
        """A document whose record is gone can't be read, which is said; writing it again heals it."""
        store = Store(mem)
        tree(store)
        for key in client.scan_iter(f"{{{namespace}:0}}:record:*"):
            client.delete(key)
        for read in (store.documents.get, store.layers.abstract, store.layers.overview):
            with pytest.raises(CorruptRecord):
                read(f"{U}/a")
        assert store.search.keyword("é") == store.search.grep("é") == []
        store.documents.put(f"{U}/a", "again")
        assert store.documents.get(f"{U}/a").content == "again"


class TestOutOfMemory:
    @pytest.fixture
    def full(self, namespace):
        """A store with a tree on a server that has no memory left, and a client of that server."""
        with (
            redis_server() as url,
            Redis.from_url(url) as client,
            memory(url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem,
        ):
            store = Store(mem)
            job = tree(store)
            client.config_set("maxmemory", 1)
            yield store, job, client

    @pytest.mark.parametrize("write", sorted(WRITES.keys() - {"remove"}))
    def test_writes(self, full, namespace, write):
        """No write leaves anything behind."""
        store, job, client = full
        before = everything(client, namespace)
        with pytest.raises(StoreUnavailable, match="out of memory"):
            WRITES[write](store, job)
        assert everything(client, namespace) == before

    def test_reads_and_removals(self, full):
        """What is there can be read, found, and removed to make room."""
        store, _, _ = full
        assert store.documents.get(f"{U}/a").content == "É"
        assert [hit.uri for hit in store.search.keyword("é")] == [f"{U}/a", f"{U}/b/c"]
        assert store.documents.remove(U) == 4
        assert store.documents.count() == 0
