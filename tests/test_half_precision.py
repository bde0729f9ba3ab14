"""Vectors of 16-bit numbers: half the bytes, the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from shorthand import TIERS, frozen, texts

from tiered_memory import ConfigError, EmbedderMismatch, MemoryConfig, MemoryItem
from tiered_memory.engine.keys import Keyspace, vector_field

SEARCHED = TIERS[1:]


@pytest.fixture
def table():
    """Two hundred texts with random vectors of 32 dimensions, of very different lengths."""
    rng = np.random.default_rng(5)
    lengths = 10.0 ** rng.integers(-8, 8, size=(200, 1))
    return {f"text {n}": vector for n, vector in enumerate((rng.normal(size=(200, 32)) * lengths).tolist())}


class TestFloat16:
    def test_half_the_bytes(self, open_memory, redis_url, namespace):
        """A vector takes two bytes a dimension."""
        open_memory(vectors="float16").remember("exact", tier="semantic")
        with Redis.from_url(redis_url) as client:
            field = vector_field("table", "float16")
            assert len(client.hget(f"{Keyspace(namespace, 1, field).records(0)}1", field)) == 2 * 3

    @pytest.mark.parametrize("how", ["vector", "hybrid"])
    def test_exact_matches(self, open_memory, table, how):
        """Whatever the length of its vector, a text is found by itself at the highest threshold, in every tier."""
        mem = open_memory(vectors="float16", embedder=TableEmbedder(table, dimensions=32), mode=how)
        mem.remember([MemoryItem(text, tier) for tier in SEARCHED for text in table])
        for tier in SEARCHED:
            for text in list(table)[:20]:
                assert text in texts(mem.recall(text, tier=tier, threshold=1))

    def test_the_same_hits(self, open_memory, table, namespace):
        """The hits are those of 32-bit vectors, and their scores are within a thousandth."""
        found = []
        for kind in ("float32", "float16"):
            embedder = TableEmbedder(table, dimensions=32)
            mem = open_memory(vectors=kind, embedder=embedder, namespace=f"{namespace}-{kind}")
            with frozen():
                mem.remember([MemoryItem(text, tier) for tier in SEARCHED for text in table])
                found.append([mem.recall("text 7", k=5, tier=tier, threshold=-1) for tier in SEARCHED])
        for wide, narrow in zip(*found, strict=True):
            assert texts(wide) == texts(narrow)
            assert [hit.score for hit in narrow] == pytest.approx([hit.score for hit in wide], abs=1e-3)

    def test_conflicts(self, open_memory):
        """Near-duplicates are reported as ever."""
        mem = open_memory(vectors="float16")
        mem.remember([MemoryItem("exact", "semantic", id="a"), MemoryItem("exact", "semantic", id="b")])
        (conflict,) = mem.conflicts()
        assert conflict.similarity == pytest.approx(1, abs=1e-3)

    def test_fixed_when_made(self, open_memory):
        """A namespace of one kind of vectors refuses to be opened with another, and names both."""
        open_memory().remember("exact")
        with pytest.raises(EmbedderMismatch, match=r"float32.*float16"):
            open_memory(vectors="float16").remember("near")

    @pytest.mark.parametrize("value", ["float64", "", None, 16])
    def test_unknown(self, value):
        """Another kind of numbers is refused by its name."""
        with pytest.raises(ConfigError, match="float32, float16"):
            MemoryConfig(vectors=value)
