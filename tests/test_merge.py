"""One recall over several tiers and scopes: what comes first, how many, and what is refused."""

from __future__ import annotations

import pytest
from shorthand import TIERS, frozen, ranked, texts

from tiered_memory import InvalidQuery, InvalidScope, MemoryItem, UnknownTier


class TestOrder:
    def test_ties_in_tier_order(self, mem):
        """Hits of equal score come in the order working, semantic, episodic, procedural."""
        with frozen():
            mem.remember([MemoryItem("exact", tier) for tier in reversed(TIERS)])
            hits = mem.recall("q")
        assert [(hit.tier, hit.score) for hit in hits] == [
            ("working", 1), ("semantic", 1), ("episodic", 1), ("procedural", 0.85),
        ]  # fmt: skip

    def test_by_score(self, mem):
        """Hits of all tiers are ordered by their scores, and k cuts the merged list."""
        mem.remember([f"w{number}" for number in range(1, 6)], tier="working")
        mem.remember(["near", "edge"], tier="semantic")
        assert ranked(mem.recall("q")) == [("w5", 1), ("w4", 0.8), ("near", 0.8), ("edge", 0.7), ("w3", 0.6)]

    def test_the_same_on_every_run(self, mem):
        """Asking again gives the same hits in the same order."""
        with frozen():
            mem.remember([MemoryItem("exact", tier, id=str(n)) for tier in TIERS for n in range(9)])
            first = mem.recall("q", k=20)
            assert all(mem.recall("q", k=20) == first for _ in range(5))


class TestTiers:
    def test_one(self, mem):
        """One tier can be asked by its name."""
        mem.remember([MemoryItem("exact", tier) for tier in TIERS])
        for tier in TIERS:
            assert [hit.tier for hit in mem.recall("q", tier=tier)] == [tier]

    def test_several(self, mem):
        """Several tiers can be asked, and the order of their names is irrelevant."""
        mem.remember([MemoryItem("exact", tier) for tier in TIERS])
        hits = mem.recall("q", tier=["procedural", "semantic", "semantic"])
        assert [hit.tier for hit in hits] == ["semantic", "procedural"]

    @pytest.mark.parametrize("tier", ["", "Semantic", "nothing", ["semantic", "nothing"]])
    def test_unknown(self, mem, embedder, tier):
        """A tier that doesn't exist is refused by its name, before the embedder is called."""
        with pytest.raises(UnknownTier, match=repr(tier if isinstance(tier, str) else "nothing")):
            mem.recall("q", tier=tier)
        assert embedder.calls == []

    @pytest.mark.parametrize("tier", TIERS)
    def test_switched_off(self, open_memory, embedder, tier):
        """A tier that is switched off is refused by its name in every call, and silent in a recall over all."""
        mem = open_memory(**{tier: None}, default_tier="semantic" if tier != "semantic" else "episodic")
        calls = [
            lambda: mem.remember("exact", tier=tier),
            lambda: mem.recall("q", tier=tier),
            lambda: mem.clear(tier),
            lambda: mem.list(tier),
            lambda: mem.get("x", tier),
            lambda: mem.forget("x", tier),
            lambda: mem.update("x", tier, text="near"),
            lambda: mem.count(tier),
        ]
        for call in calls:
            with pytest.raises(UnknownTier, match=tier):
                call()
        assert embedder.calls == []
        assert mem.recall("q") == []


class TestK:
    def test_default(self, mem):
        """Without k, the best five are returned."""
        mem.remember([MemoryItem("exact", "semantic", id=str(number)) for number in range(8)])
        assert len(mem.recall("q")) == 5

    def test_none_wanted(self, mem, embedder):
        """k=0 gives nothing, and the embedder isn't called."""
        assert mem.recall("q", k=0) == []
        assert embedder.calls == []

    def test_many(self, mem):
        """Hundreds of hits come back complete: there is no silent cap."""
        mem.remember([MemoryItem("exact", "semantic", id=str(number)) for number in range(700)])
        assert len({hit.id for hit in mem.recall("q", k=500)}) == 500
        assert len(mem.recall("q", k=5000)) == 700

    @pytest.mark.parametrize("k", [-1, 1.5, float("nan"), float("inf"), "3", None, True])
    def test_refused(self, mem, embedder, k):
        """A k that is no whole number from 0 is refused, with its value in the message."""
        with pytest.raises(InvalidQuery, match=f"k={k!r}"):
            mem.recall("q", k=k)
        assert embedder.calls == []

    @pytest.mark.parametrize("threshold", [float("nan"), -1.01, 1.01, float("inf"), "0.5", [0.5], True])
    def test_threshold_refused(self, mem, embedder, threshold):
        """A threshold that is no cosine is refused, with its value in the message."""
        with pytest.raises(InvalidQuery, match="threshold="):
            mem.recall("q", threshold=threshold)
        assert embedder.calls == []


class TestQuery:
    @pytest.mark.parametrize("query", ["", " ", "\n\t"])
    def test_blank(self, mem, embedder, query):
        """A blank query finds the notes of working memory, and nothing else; the embedder isn't called."""
        mem.remember([MemoryItem("exact", tier) for tier in TIERS])
        embedder.calls.clear()
        assert [hit.tier for hit in mem.recall(query, threshold=-1)] == ["working"]
        assert embedder.calls == []

    @pytest.mark.parametrize("query", [None, 5, b"q", ["q"]])
    def test_not_a_text(self, mem, query):
        """A query that is no text is refused."""
        with pytest.raises(InvalidQuery, match="query"):
            mem.recall(query)

    def test_nothing_remembered(self, mem):
        """A recall from an empty store is an empty list."""
        assert mem.recall("q") == []
        assert mem.scoped("a").recall("q") == []


class TestSeveralScopes:
    def test_the_best_of_exactly_these(self, mem):
        """A recall from two scopes gives the best of exactly these, and each hit says its scope."""
        for scope in ("a", "b", "c", None):
            mem.remember([MemoryItem(text, "semantic", scope=scope) for text in ("exact", "near", "edge")])
        hits = mem.recall("q", scope=("a", "b"))
        assert texts(hits) == ["exact", "exact", "near", "near", "edge"]
        assert [hit.scope for hit in hits[:4]].count("a") == 2
        assert {hit.scope for hit in hits} == {"a", "b"}

    def test_ties_by_scope(self, mem):
        """What ties in everything else is ordered by scope, whatever the order of asking."""
        with frozen():
            mem.remember([MemoryItem("exact", "semantic", scope=scope) for scope in "cab"])
            assert [hit.scope for hit in mem.recall("q", scope=["c", "a", "b"])] == ["a", "b", "c"]
            assert [hit.scope for hit in mem.recall("q", scope=["b", "c", "a"])] == ["a", "b", "c"]

    def test_the_unscoped_pool_among_them(self, mem):
        """The unscoped pool can be one of the scopes, named by None."""
        mem.remember([MemoryItem("exact", "semantic", scope=scope) for scope in ("a", "b", None)])
        assert {hit.scope for hit in mem.recall("q", scope=["a", None])} == {"a", None}

    def test_named_twice(self, mem):
        """A scope that is named twice is asked once."""
        mem.remember(MemoryItem("exact", "semantic", scope="a"))
        assert len(mem.recall("q", scope=["a", "a"])) == 1

    def test_none_named(self, mem):
        """No scope gives no hit: it never means all of them."""
        mem.remember([MemoryItem("exact", "semantic", scope=scope) for scope in ("a", None)])
        assert mem.recall("q", scope=[]) == []

    @pytest.mark.parametrize("scope", ["", ["a", ""], 5, [5], [["a"]], b"a", "\ud800"])
    def test_refused(self, mem, embedder, scope):
        """A scope that can't be one is refused, alone and among others, before anything is asked."""
        with pytest.raises(InvalidScope):
            mem.recall("q", scope=scope)
        assert embedder.calls == []
