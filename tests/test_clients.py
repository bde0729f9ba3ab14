"""Connections: any client of the caller's, none of them closed by us, and nothing left behind by our own."""

from __future__ import annotations

import gc
import weakref

import pytest
import redis
import redis.asyncio
from embedders_for_tests import TableEmbedder
from servers import wait_until
from shorthand import TIERS, ranked

from tiered_memory import ConfigError, EmbedderMismatch, MemoryItem, StoreError, StoreUnsupported, async_memory, memory

OPTIONS = [{}] + [{"protocol": p, "decode_responses": d} for p in (2, 3) for d in (False, True)]


@pytest.fixture
def open_with(open_memory, mode, redis_url):
    """Opens memories over clients of the caller's, with a pool of their own or one that the caller made."""
    module = redis if mode == "blocking" else redis.asyncio
    opened = []

    def open_one(options, own_pool):
        pool = module.ConnectionPool.from_url(redis_url, **options)
        client = module.Redis(connection_pool=pool) if own_pool else module.Redis.from_pool(pool)
        opened.append((open_memory(client=client), pool))
        return opened[-1][0]

    yield open_one
    for mem, pool in opened:
        closing = pool.disconnect()
        if mode == "async":
            mem._loop.run_until_complete(closing)


class TestOwnClient:
    @pytest.mark.parametrize("own_pool", [False, True])
    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_any_of_them(self, open_with, options, own_pool):
        """Whatever protocol a client speaks and however it decodes, the answers are the same."""
        mem = open_with(options, own_pool)
        mem.remember(
            [MemoryItem(t, tier, id=t, metadata={"ü": [1]}) for tier in TIERS for t in ("exact", "near", "orth")]
        )
        hits = mem.recall("q", k=6)
        assert ranked(hits) == [
            ("orth", 1), ("exact", 1), ("exact", 1), ("near", 0.86), ("exact", 0.85), ("near", 0.8),
        ]  # fmt: skip
        assert hits[1].metadata == {"ü": [1]}
        by_words = mem.recall("near", mode="text", tier=TIERS[1:], window=1)
        assert [(hit.text, hit.before[0].id, hit.after[0].id) for hit in by_words] == [("near", "exact", "orth")] * 3
        assert {hit.text for hit in mem.recall("q", mode="hybrid", tier=TIERS[1:], k=9)} == {"exact", "near"}
        assert [memory.id for memory in mem.list("episodic").items] == ["exact", "near", "orth"]
        assert mem.update("exact", "semantic", metadata={"a": 1}).outcome == "updated"
        assert mem.get("exact", "semantic").metadata == {"ü": [1], "a": 1}
        assert mem.scopes().items == [None]
        assert mem.stats().memories == dict.fromkeys(TIERS, 3)
        assert mem.clear() == 12

    def test_stays_open(self, redis_url, namespace):
        """A client that the caller made still works after the memory was closed."""
        with redis.Redis.from_url(redis_url) as client:
            with memory(client=client, namespace=namespace, embedder=TableEmbedder()) as mem:
                mem.remember("exact")
            connections = len(client.connection_pool._available_connections)
            assert connections == 1
            assert client.ping()

    async def test_stays_open_awaited(self, redis_url, namespace):
        """So does an async client."""
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            async with async_memory(client=client, namespace=namespace, embedder=TableEmbedder()) as mem:
                await mem.remember("exact")
            assert await client.ping()

    def test_settings_stay(self, redis_url, namespace):
        """A client's own settings and callbacks are as they were."""
        with redis.Redis.from_url(redis_url, decode_responses=True) as client:
            with memory(client=client, namespace=namespace, embedder=TableEmbedder()) as mem:
                mem.remember("exact", id="x")
                mem.recall("q")
            client.set(f"{namespace}-own", "ü")
            assert client.get(f"{namespace}-own") == "ü"
            client.delete(f"{namespace}-own")

    def test_of_the_other_mode(self, redis_url):
        """A client of the other mode is refused, with the name of the one that is needed."""
        mem = memory(client=redis.asyncio.Redis.from_url(redis_url), embedder=TableEmbedder())
        with pytest.raises(ConfigError, match="blocking"):
            mem.remember("exact")

    def test_with_a_url(self, redis_url):
        """A client and a URL together are refused."""
        with redis.Redis() as client, pytest.raises(ConfigError, match="client"):
            memory(redis_url, client=client)


class TestUrl:
    def test_another_database(self, mem, open_memory, redis_url):
        """A database that can't hold an index is refused with a clear word."""
        with pytest.raises(StoreUnsupported, match="database 1"):
            open_memory(url=redis_url.replace("/0", "/1")).remember("exact")

    @pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "", "redis+sentinel://localhost"])
    def test_refused(self, open_memory, url):
        """What is no URL of Redis is refused."""
        with pytest.raises(ConfigError, match="URL"):
            open_memory(url=url or "nothing").remember("exact")


class TestClosing:
    def test_nothing_is_left(self, redis_url, namespace):
        """A hundred memories opened and closed leave no connection and no object behind."""
        with redis.Redis.from_url(redis_url) as client:
            client.ping()
            before = len(client.client_list())
            alive = []
            for _ in range(100):
                with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
                    mem.remember("exact")
                alive.append(weakref.ref(mem))
                del mem
            wait_until(lambda: len(client.client_list()) <= before)
            gc.collect()
            assert [each for each in alive if each() is not None] == []

    async def test_nothing_is_left_awaited(self, redis_url, namespace):
        """Nor do async ones."""
        with redis.Redis.from_url(redis_url) as client:
            client.ping()
            before = len(client.client_list())
            alive = []
            for _ in range(30):
                async with async_memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
                    await mem.remember("exact")
                alive.append(weakref.ref(mem))
                del mem
            wait_until(lambda: len(client.client_list()) <= before)
            gc.collect()
            assert [each for each in alive if each() is not None] == []

    def test_a_failed_opening(self, mem, open_memory, redis_url):
        """A memory that can't be opened, however often that is tried, leaves no connection behind."""
        mem.remember("exact")
        with redis.Redis.from_url(redis_url) as client:
            before = len(client.client_list())
            other = open_memory(embedder=TableEmbedder({}, id="other"))
            for _ in range(10):
                with pytest.raises(EmbedderMismatch):
                    other.remember("near")
            assert len(client.client_list()) <= before + 1
            other.close()
            wait_until(lambda: len(client.client_list()) <= before)

    def test_twice(self, open_memory):
        """Closing twice is closing once, and closing without having opened is nothing."""
        mem = open_memory()
        mem.close()
        mem.close()

    def test_used_afterwards(self, mem):
        """A memory that was closed says so."""
        mem.remember("exact")
        scoped = mem.scoped("a")
        mem.close()
        for handle in (mem, scoped):
            for call in (lambda h=handle: h.remember("exact"), lambda h=handle: h.recall("q"), handle.count):
                with pytest.raises(StoreError, match="closed"):
                    call()
