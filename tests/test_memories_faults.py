"""What goes wrong below memories in the tree: keys that aren't as we wrote them, and no memory left."""

from __future__ import annotations

from itertools import count

import pytest
from embedders_for_tests import TableEmbedder
from invariants import check_invariants
from redis import Redis
from servers import redis_server

from tiered_memory import CorruptRecord, StoreUnavailable, memory
from tiered_memory.engine.keys import TREE_KINDS, Keyspace

M = "viking://user/memories"
A, B, C = (f"{M}/events/{name}" for name in "abc")
JOB = ("work", {})


def fill(store):
    """Memories such that every kind of key has something."""
    memories = store.memories
    for value, status in (("1", "active"), ("2", "active"), ("3", "candidate")):
        memories.put(A, value, status=status, jobs=[JOB])
    memories.put(f"{A}/below", "4")
    memories.put(B, "5", status="candidate")
    memories.mark_surfaced([each.number for each in memories.recall()])
    store.tags.set_group(A, "g")


WRITES = {
    "put": lambda store: store.memories.put(C, "new", jobs=[JOB]),
    "put another value": lambda store: store.memories.put(A, "new", jobs=[JOB]),
    "put the same value": lambda store: store.memories.put(A, "2", jobs=[JOB]),
    "put a candidate": lambda store: store.memories.put(C, "new", status="candidate", jobs=[JOB]),
    "promote": lambda store: store.memories.promote(A),
    "reject": lambda store: store.memories.reject(B),
    "forget": lambda store: store.memories.forget(A),
    "remove": lambda store: store.documents.remove(A),
    "switch off": lambda store: store.tags.set_enabled(A, False),
    "mark": lambda store: store.memories.mark_surfaced([each.number for each in store.memories.recall()]),
}


@pytest.fixture(scope="module")
def client(redis_url):
    """A client to tamper with."""
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def mem(redis_url, namespace):
    """A memory, for tests that do the same in one mode or the other."""
    with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
        yield mem


def everything(client, namespace):
    """All that lies in a namespace; a hash without the order of its fields, which may change by itself."""
    keys = sorted(client.scan_iter(f"{{{namespace}:*", count=1000))
    return {key: client.hgetall(key) if client.type(key) == b"hash" else client.dump(key) for key in keys}


class TestWrongTypes:
    def keys(self, client, namespace, scope):
        """The keys that a scope's writes may touch, by what stays the same from scope to scope."""
        own = Keyspace(namespace, 1, "vector").of(scope)
        prefix = own.scopes.removesuffix("scopes")
        names = {own.token("tree"): "TREE", own.token("episodic"): "TIER"}
        found = {}
        for key in client.scan_iter(f"{prefix}*", count=1000):
            name = key.decode().removeprefix(prefix)
            token = next((token for token in names if token in name), None)
            if token:
                found[name.replace(token, names[token])] = key
            elif name in ("scopes", "holding", "sequence", "job_sequence", "job_turns", "job_kinds"):
                found[name] = key
        return found

    @pytest.mark.parametrize("write", WRITES)
    def test_planted(self, mem, client, namespace, write):
        """Where a key has another type than it should, a write is refused as a whole, or doesn't need that key."""
        refused, scopes, names = set(), count(), None
        while names is None or names:
            scope = f"scope-{next(scopes)}"
            store = mem.scoped(scope).store
            fill(store)
            keys = self.keys(client, namespace, scope)
            names = sorted(keys) if names is None else names
            key = keys[names.pop()]
            name = next(each for each in keys if keys[each] == key)
            kind, value = client.type(key), client.dump(key)
            client.delete(key)
            client.rpush(key, "junk") if kind == b"string" else client.set(key, "junk")
            before = everything(client, namespace)
            try:
                WRITES[write](store)
            except CorruptRecord:
                assert everything(client, namespace) == before, f"{name} left {write} half done"
                refused.add(name)
            client.delete(key)
            client.restore(key, 0, value)
        needed = {f"{kind}:TREE" for kind in ("documents", "enabled", "nodes")} | {"slots:TIER", "claims:TIER"}
        assert needed <= refused
        if write != "switch off":
            assert {f"{kind}:TREE" for kind in (*TREE_KINDS, "memories")} | {"views:TIER"} <= refused

    @pytest.mark.parametrize("junk", [b"\xc1", b"\x93\x01\x02\x03"])
    @pytest.mark.parametrize("write", ["put", "put a candidate", "remove"])
    def test_junk_for_a_node(self, mem, client, namespace, write, junk):
        """Where a node isn't as we wrote it, what needs it is refused, and changes nothing."""
        for uri in (C if write != "remove" else A, f"{M}/events", "viking://"):
            store = mem.scoped(uri).store
            fill(store)
            client.hset(Keyspace(namespace, 1, "vector").of(uri).key("nodes", "tree"), uri, junk)
            before = everything(client, namespace)
            try:
                WRITES[write](store)
            except CorruptRecord:
                assert everything(client, namespace) == before
            else:
                assert (write, uri) in [("remove", f"{M}/events"), ("remove", "viking://")]

    @pytest.mark.parametrize("write", sorted(WRITES))
    def test_junk_for_a_view(self, mem, client, namespace, write):
        """Where what a tier knows of its views isn't as we wrote it, nothing is half done."""
        for slot in ("", None):
            scope = f"scope {slot}"
            store = mem.scoped(scope).store
            fill(store)
            key = Keyspace(namespace, 1, "vector").of(scope).key("views", "episodic")
            for each in client.hkeys(key) if slot is None else [slot]:
                client.hset(key, each, b"\xc1")
            before = everything(client, namespace)
            try:
                WRITES[write](store)
            except CorruptRecord:
                assert everything(client, namespace) == before


class TestOutOfMemory:
    @pytest.fixture
    def full(self, namespace):
        """A store with memories on a server that has no memory left, and a client of that server."""
        with (
            redis_server() as url,
            Redis.from_url(url) as client,
            memory(url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem,
        ):
            fill(mem.store)
            client.config_set("maxmemory", 1)
            yield mem.store, client

    @pytest.mark.parametrize("write", sorted(WRITES.keys() - {"remove", "forget", "reject"}))
    def test_writes(self, full, namespace, write):
        """No write leaves anything behind."""
        store, client = full
        before = everything(client, namespace)
        with pytest.raises(StoreUnavailable, match="out of memory"):
            WRITES[write](store)
        assert everything(client, namespace) == before

    def test_removal(self, full, namespace):
        """What is there can be read, and removed to make room."""
        store, client = full
        assert store.documents.get(A).content == "2"
        assert store.documents.remove(A) == 2
        client.config_set("maxmemory", 0)
        store.jobs.cancel("viking://")
        check_invariants(client, namespace)
