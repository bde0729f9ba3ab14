"""What goes wrong outside: a server that is down or limits its answers, and keys that aren't as we wrote them."""

from __future__ import annotations

import pickle
import time
from contextlib import contextmanager, suppress

import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from servers import redis_server
from shorthand import TIERS, texts

from tiered_memory import (
    CorruptRecord,
    EmbedderMismatch,
    MemoryItem,
    ResultLimitExceeded,
    StoreUnavailable,
    scope,
)
from tiered_memory.engine.keys import Keyspace, vector_field


class Exploding:
    """Rebuilt from a pickle, it would raise."""

    def __reduce__(self):
        return (pytest.fail, ("a stored pickle was loaded",))


JUNK = [
    pickle.dumps(Exploding()),
    b"\xc7\x01\x05x",
    b"\xc1",
    b"\x93\x01\x02\x03",
    b"",
    b"\xff\xfe",
    b'{"__class__": "os.system"}',
    b"1e999",
    b"nan",
    b"12x",
]
"""A pickle, MessagePack extensions and arrays, bytes that are no text, JSON that names a class, odd numbers."""


@pytest.fixture(scope="module")
def limited():
    """A server that answers a search with a hundred rows at the most."""
    with redis_server() as url, Redis.from_url(url) as client:
        client.execute_command("FT.CONFIG", "SET", "MAXSEARCHRESULTS", "100")
        yield url


class TestServerDown:
    def test_never_there(self, open_memory):
        """Where no server answers, the first call says so within the time-out."""
        mem = open_memory(url="redis://127.0.0.1:1/0", connect_timeout=0.5, timeout=0.5)
        begin = time.monotonic()
        for call in (lambda: mem.remember("exact"), lambda: mem.recall("q"), mem.stats):
            with pytest.raises(StoreUnavailable, match="can't be reached"):
                call()
        assert time.monotonic() - begin < 10

    def test_back_again(self, open_memory, tmp_path):
        """While the server is down each call says so in time; when it is back, the same handle works again."""
        socket = tmp_path / "redis.sock"
        settings = ("--unixsocket", str(socket), "--dir", str(tmp_path), "--save", "3600 1")
        with redis_server(*settings):
            mem = open_memory(url=f"unix://{socket}", timeout=1, connect_timeout=1)
            mem.remember([MemoryItem("exact", tier) for tier in TIERS])
        begin = time.monotonic()
        for call in (lambda: mem.remember("near"), lambda: mem.recall("q"), mem.count):
            with pytest.raises(StoreUnavailable):
                call()
        assert time.monotonic() - begin < 10
        with redis_server(*settings):
            mem.remember("near")
            assert texts(mem.recall("q", tier=["semantic", "procedural"])) == ["exact", "exact", "near"]
            assert mem.count() == 5

    def test_back_with_nothing(self, open_memory, tmp_path):
        """When the server comes back empty, a call says so at the most once, and the next finds what is new."""
        socket = tmp_path / "redis.sock"
        settings = ("--unixsocket", str(socket))
        with redis_server(*settings):
            mem = open_memory(url=f"unix://{socket}")
            mem.remember("exact")
        with redis_server(*settings):
            mem.remember("near")
            with suppress(StoreUnavailable):
                mem.recall("q")
            assert texts(mem.recall("q")) == ["near"]

    def test_a_server_that_hangs(self, open_memory):
        """A server that doesn't answer is given up after the time-out."""
        with redis_server() as url, Redis.from_url(url) as client:
            mem = open_memory(url=url, timeout=0.3, retries=1)
            mem.remember("exact")
            client.execute_command("CLIENT", "PAUSE", 3000, "ALL")
            begin = time.monotonic()
            with pytest.raises(StoreUnavailable, match="time-out"):
                mem.recall("q")
            assert time.monotonic() - begin < 2.5


class TestResultLimit:
    @pytest.fixture
    def mem(self, open_memory, limited):
        """A memory on that server, with three hundred memories in each tier."""
        mem = open_memory(url=limited, working={"max_items": 1000})
        mem.remember([MemoryItem(f"text {number}", tier) for number in range(300) for tier in TIERS])
        return mem

    def test_below(self, mem):
        """Below a server's own limit the hits are complete."""
        assert len(mem.recall("q", k=90, tier="semantic", threshold=-1)) == 90

    @pytest.mark.parametrize("tier", TIERS[1:])
    def test_above(self, mem, tier):
        """Where more is needed than the server would answer, the call says so: nothing is cut silently."""
        with pytest.raises(ResultLimitExceeded, match="MAXSEARCHRESULTS"):
            mem.recall("q", k=200, tier=tier, threshold=-1)

    @pytest.mark.parametrize("tier", TIERS)
    def test_not_searched(self, mem, tier):
        """What isn't searched isn't limited: notes, listings and counts."""
        assert len(mem.recall("q", k=200, tier="working")) == 200
        assert len(mem.list(tier, limit=250).items) == 250
        assert mem.count(tier) == 300


class TestAnotherEmbedder:
    @pytest.mark.parametrize(
        ("id_", "dimensions", "words"), [("table", 4, ["3", "4"]), ("other", 3, ["'table'", "'other'"])]
    )
    def test_refused(self, mem, open_memory, redis_url, namespace, id_, dimensions, words):
        """A namespace that another embedder wrote is refused by name and dimensions, and nothing is changed."""
        mem.remember("exact")
        with Redis.from_url(redis_url) as client:
            before = {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*")}
            other = open_memory(embedder=TableEmbedder({}, id=id_, dimensions=dimensions))
            for call in (lambda: other.remember("near"), lambda: other.recall("q"), other.stats):
                with pytest.raises(EmbedderMismatch) as raised:
                    call()
                assert all(word in str(raised.value) for word in words)
            assert {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*")} == before
        assert texts(mem.recall("q")) == ["exact"]


class TestForeignKeys:
    @pytest.fixture
    def client(self, redis_url):
        """A client to tamper with."""
        with Redis.from_url(redis_url) as client:
            yield client

    @pytest.fixture
    def keys(self, namespace):
        """The names of a namespace's keys."""
        return Keyspace(namespace, 1, vector_field("table"))

    @contextmanager
    def refused(self, client, namespace):
        """What is refused here changes nothing."""
        before = {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*")}
        with pytest.raises(CorruptRecord):
            yield
        assert {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*")} == before

    def slots(self, keys, tier):
        return f"{keys._tag(0)}:slots:{keys.of(None).token(tier)}"

    @pytest.mark.parametrize("tier", TIERS)
    def test_a_key_of_another_type(self, mem, client, keys, namespace, tier):
        """Where a key has another type, reads and writes are refused, and nothing is changed."""
        mem.remember("exact", tier=tier, id="x")
        client.delete(self.slots(keys, tier))
        client.set(self.slots(keys, tier), "foreign")
        items = [MemoryItem("near", other) for other in TIERS]
        for call in (
            lambda: mem.remember(items),
            lambda: mem.get("x", tier),
            lambda: mem.list(tier),
            lambda: mem.count(tier),
            lambda: mem.update("x", tier, text="near"),
            lambda: mem.forget("x", tier),
            lambda: mem.clear(tier),
        ):
            with self.refused(client, namespace):
                call()

    @pytest.mark.parametrize("junk", JUNK, ids=repr)
    @pytest.mark.parametrize("tier", ["working", "semantic"])
    def test_junk_in_a_slot(self, mem, client, keys, namespace, tier, junk):
        """Where something else stands at an id, it is neither loaded nor overwritten: each call on it is refused."""
        mem.remember("exact", tier=tier, id="x")
        mem.remember("exact", tier=tier, id="y")
        (digest, *_) = client.hkeys(self.slots(keys, tier))
        client.hset(self.slots(keys, tier), digest, junk)
        id_ = next(each for each in "xy" if scope.digest(each).encode() == digest)
        for call in (
            lambda: mem.remember([MemoryItem("far", "episodic"), MemoryItem("near", tier, id=id_)]),
            lambda: mem.update(id_, tier, text="near"),
            lambda: mem.get(id_, tier),
            lambda: mem.list(tier),
        ):
            with self.refused(client, namespace):
                call()
        assert client.hget(self.slots(keys, tier), digest) == junk

    @pytest.mark.parametrize(
        "field", ["id", "at", "uses", "metadata", "created_at", "expires_at", "confidence", "scope"]
    )
    @pytest.mark.parametrize("tier", ["semantic", "episodic", "procedural"])
    def test_junk_in_a_field(self, mem, client, keys, tier, field):
        """Where a field isn't as we wrote it, a read is refused or doesn't find it; nothing is loaded from it."""
        mem.remember(MemoryItem("exact", tier, id="x", ttl=600))
        for junk in JUNK:
            (key,) = client.scan_iter(f"{keys.records(0)}*")
            client.hset(key, field, junk)
            for call in (lambda: mem.get("x", tier), lambda: mem.list(tier), lambda: mem.recall("q")):
                only_ours(call)

    @pytest.mark.parametrize("field", ["id", "at", "uses", "text", "created_at", "confidence"])
    @pytest.mark.parametrize("tier", ["semantic", "episodic", "procedural"])
    def test_a_field_is_missing(self, mem, client, keys, tier, field):
        """Where a field is missing, each read is refused."""
        mem.remember("exact", tier=tier, id="x")
        (key,) = client.scan_iter(f"{keys.records(0)}*")
        client.hdel(key, field)
        for call in (lambda: mem.get("x", tier), lambda: mem.list(tier), lambda: mem.recall("q")):
            with pytest.raises(CorruptRecord):
                call()

    @pytest.mark.parametrize("tier", ["semantic", "episodic", "procedural"])
    def test_a_vector_of_another_length(self, mem, client, keys, tier):
        """A row whose vector has another length isn't indexed, and doesn't take the others along."""
        mem.remember(["exact", "near"], tier=tier)
        key = min(client.scan_iter(f"{keys.records(0)}*"))
        client.hset(key, keys.vector, b"\0\0\x80\x3f")
        only_ours(lambda: mem.recall("q"))


def only_ours(call):
    """Runs a call that may be refused, but only by an exception of ours."""
    with suppress(CorruptRecord):
        call()
