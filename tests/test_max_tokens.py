"""The budget of tokens that a recall keeps to."""

from __future__ import annotations

import pytest
from shorthand import NOON, TIERS, texts

from tiered_memory import InvalidLimit, MemoryItem, format_memories
from tiered_memory.tokens import counter

MODES = ("vector", "text", "hybrid")


def tokens(hits):
    return counter().count(format_memories(hits))


@pytest.fixture
def filled(mem):
    """Twelve memories of four tiers, some long and some short."""
    for words in (20, 2, 1):
        mem.remember([MemoryItem("exact " + "and so on " * words, tier, at=NOON) for tier in TIERS])
    return mem


@pytest.mark.parametrize("how", MODES)
class TestBudget:
    def recalled(self, mem, how, **asked):
        return mem.recall("exact", mode=how, k=20, threshold=None if how == "text" else -1, **asked)

    @pytest.mark.parametrize("most", [60, 100, 200, 400, 10_000])
    def test_fits(self, filled, how, most):
        """The block of the hits has at most as many tokens, in every mode, and they are the best that fit in order."""
        everything = {(hit.tier, hit.text): hit for hit in self.recalled(filled, how)}
        hits = self.recalled(filled, how, max_tokens=most)
        chosen = {(hit.tier, hit.text): hit for hit in hits}
        assert tokens(hits) <= most
        assert list(chosen) == [name for name in everything if name in chosen]
        better = []
        for name, hit in everything.items():
            if name in chosen:
                better.append(hit)
            else:
                assert tokens([*better, hit]) > most

    def test_enough(self, filled, how):
        """A budget that suffices for all leaves nothing out."""
        assert len(self.recalled(filled, how, max_tokens=10_000)) == len(self.recalled(filled, how)) == 12

    def test_nothing_fits(self, filled, how):
        """Where not even the shortest fits there are no hits."""
        assert self.recalled(filled, how, max_tokens=0) == []
        assert self.recalled(filled, how, max_tokens=20) == []


class TestAlone:
    @pytest.mark.parametrize("most", [-1, 1.5, "x", True])
    def test_refused(self, mem, embedder, most):
        """What is no number of tokens is refused, before anything is embedded."""
        with pytest.raises(InvalidLimit, match="max_tokens"):
            mem.recall("q", max_tokens=most)
        assert embedder.calls == []

    def test_only_what_is_shown_counts_as_shown(self, filled):
        """What was left out isn't counted as surfaced."""
        hits = filled.recall("exact", tier="semantic", threshold=-1, max_tokens=100)
        assert 0 < len(hits) < 3
        surfaced = sum(filled.history(each.id, "semantic")[0].surfaced for each in filled.list("semantic").items)
        assert surfaced == len(hits)

    def test_beside_a_reranker(self, open_memory):
        """What a re-ranker puts first is what fits."""

        class Reversing:
            def rerank(self, query, texts):
                return range(len(texts))

        mem = open_memory(reranker=Reversing())
        mem.remember(["exact", "near"])
        assert texts(mem.recall("q", max_tokens=tokens(mem.recall("q", k=1)))) == ["near"]
