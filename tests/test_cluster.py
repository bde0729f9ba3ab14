"""A cluster of three nodes: everything as on a single server, in both modes."""

from __future__ import annotations

import pytest
from redis.cluster import RedisCluster
from servers import redis_cluster
from shorthand import TIERS, ranked, texts

from tiered_memory import MemoryItem, SchemaMismatch

SCOPES = [f"s{number}" for number in range(40)]


@pytest.fixture(scope="module")
def cluster_url():
    """One node of a cluster that these tests share."""
    with redis_cluster(3) as url:
        yield url


@pytest.fixture
def mem(open_memory, cluster_url):
    """A memory on the cluster."""
    return open_memory(url=cluster_url)


class TestCluster:
    def test_all_of_it(self, mem):
        """Forty scopes are written by one call, and each is recalled, listed, counted, updated and cleared alone."""
        items = [MemoryItem(t, tier, scope=s, id=t) for s in SCOPES for tier in TIERS for t in ("exact", "near")]
        assert {each.outcome for each in mem.remember(items)} == {"recorded"}
        for scope in SCOPES[::8]:
            user = mem.scoped(scope)
            assert ranked(user.recall("q", tier=["semantic", "procedural"])) == [
                ("exact", 1), ("exact", 0.85), ("near", 0.8), ("near", 0.71),
            ]  # fmt: skip
            assert texts(user.list("working").items) == ["exact", "near"]
            assert user.count() == 8
            assert user.update("near", "semantic", text="orth").outcome == "superseded"
            assert user.get("near", "semantic").text == "orth"
            assert user.forget("near", "semantic") == 1
        assert mem.scoped("s1").clear() == 8
        assert mem.clear("episodic") == 78
        assert mem.stats().memories["semantic"] == 73
        assert mem.clear() == 73 + 78 + 78
        assert mem.stats().scopes == 0

    def test_several_scopes_at_once(self, mem):
        """Scopes that lie on different nodes are recalled by one call."""
        mem.remember([MemoryItem("exact", scope=scope) for scope in SCOPES])
        for how in ("vector", "hybrid"):
            assert sorted(hit.scope for hit in mem.recall("q", k=50, scope=SCOPES, mode=how)) == sorted(SCOPES)

    def test_scopes_are_listed(self, mem):
        """All scopes are listed, page by page, from whichever node they lie on."""
        mem.remember([MemoryItem("exact", scope=scope) for scope in [*SCOPES, None]])
        listed, cursor = [], None
        while not listed or cursor:
            page = mem.scopes(limit=7, cursor=cursor)
            listed += page.items
            cursor = page.cursor
        assert set(listed) == {*SCOPES, None}
        assert len(listed) == 41

    def test_spread(self, mem, cluster_url, namespace):
        """What is written lies on all nodes, and every key of a scope on one."""
        mem.remember([MemoryItem("exact", scope=scope) for scope in SCOPES])
        with RedisCluster.from_url(cluster_url) as client:
            for node in client.get_primaries():
                assert list(client.scan_iter(f"{{{namespace}:*", count=1000, target_nodes=node))

    def test_partitions_are_fixed(self, mem, open_memory, cluster_url):
        """A namespace of the cluster has 64 partitions, unless it was made with another number."""
        mem.remember("exact")
        assert mem.stats().partitions == 64
        with pytest.raises(SchemaMismatch, match="64"):
            open_memory(url=cluster_url, partitions=8).recall("q")
