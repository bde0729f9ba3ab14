"""A re-ranker of the caller's own."""

from __future__ import annotations

import asyncio
import logging

import pytest
from shorthand import texts

from tiered_memory import ConfigError, MemoryItem, Reranker

FACTS = ("exact", "near", "edge")


class Reversing:
    """Thinks most of what is last, and remembers what it was asked."""

    def __init__(self, fails=None):
        self.fails, self.asked = fails, []

    def rerank(self, query, texts):
        self.asked.append((query, list(texts)))
        if isinstance(self.fails, Exception):
            raise self.fails
        return list(range(len(texts))) if self.fails is None else self.fails


@pytest.fixture
def open_reranked(open_memory):
    """Opens a memory of some facts with a re-ranker."""

    def opened(reranker, **settings):
        mem = open_memory(reranker=reranker, **settings)
        mem.remember(FACTS)
        return mem

    return opened


class TestOrder:
    def test_by_its_scores(self, open_reranked):
        """Hits are in the order of its scores, and say them; their own scores stay."""
        reranker = Reversing()
        hits = open_reranked(reranker).recall("q")
        assert [(hit.text, round(hit.score, 6), hit.why["reranker"]) for hit in hits] == [
            ("edge", 0.7, 2),
            ("near", 0.8, 1),
            ("exact", 1, 0),
        ]
        assert reranker.asked == [("q", list(FACTS))]
        assert hits.degraded == ()

    def test_equal(self, open_reranked):
        """What it thinks equal stays as it was."""
        assert texts(open_reranked(Reversing([1, 2, 1])).recall("q")) == ["near", "exact", "edge"]

    def test_more_than_are_wanted(self, open_reranked):
        """It is given more than are asked for, so that what stood further behind may come first."""
        assert texts(open_reranked(Reversing()).recall("q", k=1)) == ["edge"]

    @pytest.mark.parametrize(("reranked", "given"), [(1, 1), (2, 2), (20, 3)])
    def test_as_many_as_configured(self, open_reranked, reranked, given):
        """It is given as many of the best as the configuration says."""
        reranker = Reversing()
        open_reranked(reranker, reranked=reranked).recall("q", k=1)
        assert [len(asked) for _, asked in reranker.asked] == [given]

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_every_mode_and_tier(self, open_reranked, how):
        """It orders the hits of all tiers and in every mode."""
        mem = open_reranked(Reversing())
        mem.remember(MemoryItem("exact note", "working"))
        assert "exact note" in texts(mem.recall("exact", mode=how))

    def test_nothing_to_order(self, open_reranked):
        """It isn't asked where nothing was found, or nothing was said."""
        reranker = Reversing()
        mem = open_reranked(reranker)
        mem.remember("note", tier="working")
        assert texts(mem.recall(" ")) == ["note"]
        assert mem.recall("q", tier="episodic") == []
        assert reranker.asked == []


class TestFailure:
    @pytest.mark.parametrize(
        "fails",
        [RuntimeError("SECRET"), [1.0], [1.0] * 4, [1, 2, float("nan")], [1, 2, float("inf")], ["a", "b", "c"], 7, {}],
    )
    def test_hits_keep_their_order(self, open_reranked, caplog, fails):
        """When it fails, or gives no score for each, hits keep their order, and say what had no part in it."""
        with caplog.at_level(logging.WARNING, "tiered_memory"):
            hits = open_reranked(Reversing(fails)).recall("q", k=2)
        assert (texts(hits), hits.degraded) == (["exact", "near"], ("reranker",))
        assert all("reranker" not in hit.why for hit in hits)
        assert len(caplog.records) == 1
        assert "SECRET" not in caplog.text

    def test_recovers(self, open_reranked):
        """The next recall asks it again."""
        reranker = Reversing(RuntimeError())
        mem = open_reranked(reranker)
        mem.recall("q")
        reranker.fails = None
        assert mem.recall("q").degraded == ()


class TestAsync:
    class Awaited(Reversing):
        async def rerank(self, query, texts):
            await asyncio.sleep(0)
            return super().rerank(query, texts)

    @pytest.mark.parametrize("mode", ["async"], indirect=True)
    def test_awaited(self, open_reranked):
        """Under an async memory it may be async as well."""
        assert texts(open_reranked(self.Awaited()).recall("q")) == ["edge", "near", "exact"]


class TestConfiguration:
    def test_protocol(self):
        """Anything with such a method is one; there is nothing to derive from."""
        assert isinstance(Reversing(), Reranker)

    @pytest.mark.parametrize("reranked", [0, -1, 1.5, "x"])
    def test_refused(self, open_memory, reranked):
        """How many it is given is a number from 1."""
        with pytest.raises(ConfigError, match="reranked"):
            open_memory(reranked=reranked)
