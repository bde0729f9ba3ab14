"""Conflicts: active memories that say almost the same, and what can be done about them."""

from __future__ import annotations

import pytest
from claims import claim, fact, life
from embedders_for_tests import TableEmbedder
from shorthand import DAY, frozen

from tiered_memory import EmbeddingsUnavailable, InvalidQuery, NotFound


def pairs(conflicts):
    """The ids and the similarity of each pair."""
    return [(each.a.id, each.b.id, each.similarity) for each in conflicts]


class TestFinding:
    def test_one_tier(self, mem):
        """Two near-identical memories of one tier are one pair, ids in order; a twin in another tier is none."""
        mem.remember(
            [fact("exact", id="b"), fact("q", id="a"), fact("exact", id="c", tier="episodic"), fact("orth", id="d")]
        )
        (found,) = mem.conflicts()
        assert pairs([found]) == [("a", "b", 1.0)]
        assert (found.a, found.b) == (mem.get("a", "semantic"), mem.get("b", "semantic"))

    def test_most_similar_first(self, mem):
        """Pairs come by similarity, those of equal similarity by id, and the threshold is inclusive."""
        mem.remember([fact(text, id=text) for text in ("exact", "near", "far", "q")])
        assert pairs(mem.conflicts(threshold=0.8)) == [
            ("exact", "q", 1.0), ("far", "near", 0.96), ("exact", "near", 0.8), ("near", "q", 0.8),
        ]  # fmt: skip
        assert pairs(mem.conflicts(threshold=0.8, limit=1)) == [("exact", "q", 1.0)]

    def test_of_each_tier(self, mem):
        """Every searched tier is looked at, or the one that is named."""
        mem.remember([fact("exact", id=id, tier=tier) for id in "ab" for tier in ("semantic", "procedural")])
        assert [each.a.tier for each in mem.conflicts()] == ["procedural", "semantic"]
        assert [each.a.tier for each in mem.conflicts(tier="semantic")] == ["semantic"]

    def test_only_active_ones(self, mem):
        """Candidates, superseded and expired memories, and those of other scopes, are in no pair."""
        with frozen() as clock:
            mem.remember([fact("exact", id="a"), claim("exact", id="b"), fact("exact", id="c"), fact("orth", id="c")])
            mem.remember([fact("exact", id="d", scope="a"), fact("exact", id="e", ttl=DAY)])
            clock.tick(DAY)
            assert mem.conflicts() == []

    def test_too_few_vectors(self, mem):
        """With fewer than two vectors nothing can be said, which is an error and no empty answer."""
        for _ in range(2):
            with pytest.raises(EmbeddingsUnavailable, match="fewer than two"):
                mem.conflicts()
            mem.remember([fact("exact"), fact("exact", tier="working")])
        mem.remember(fact("orth", id="y"))
        assert mem.conflicts() == []

    @pytest.mark.parametrize(
        "bad", [{"threshold": 1.1}, {"threshold": "high"}, {"threshold": float("nan")}, {"limit": 0}]
    )
    def test_bad_values(self, mem, bad):
        """A threshold that is no cosine, or a limit below one, is refused."""
        with pytest.raises(InvalidQuery, match=next(iter(bad))):
            mem.conflicts(**bad)

    def test_more_than_one_part(self, open_memory):
        """Among many memories every pair is found, wherever the two lie."""
        mem = open_memory(embedder=TableEmbedder({}, dimensions=64))
        mem.remember([fact(f"text {n % 1100}", id=f"{n:04}") for n in range(1102)])
        assert pairs(mem.conflicts()) == [("0000", "1100", 1.0), ("0001", "1101", 1.0)]


class TestResolving:
    @pytest.fixture
    def conflict(self, mem):
        """A pair: `exact` at a, `q` at b."""
        mem.remember([fact("exact", id="a"), fact("q", id="b"), fact("orth", id="c")])
        (found,) = mem.conflicts()
        return found

    @pytest.mark.parametrize(("keep", "stays", "goes"), [("a", "a", "b"), ("b", "b", "a")])
    def test_keeping_one(self, mem, conflict, keep, stays, goes):
        """One stays as it is and the other is forgotten."""
        mem.resolve(conflict, keep)
        assert mem.recorded(stays, "semantic")
        assert not mem.recorded(goes, "semantic")
        assert mem.conflicts() == []

    def test_merging(self, mem, conflict):
        """Merged, the one that stays says the new text, with what it said before as its history."""
        mem.resolve(conflict, "a", text="near")
        assert life(mem, "a") == [("near", "active"), ("exact", "superseded")]
        assert not mem.recorded("b", "semantic")

    def test_keeping_both(self, mem, conflict):
        """A pair that is kept is never reported again, by no handle and not after others changed."""
        mem.resolve(conflict, "both")
        mem.remember([fact("exact", id="a"), fact("neg", id="d")])
        assert mem.conflicts() == []
        assert mem.count() == 4

    def test_keeping_both_until_one_changes(self, mem, conflict):
        """A pair that was kept is reported when one of them says something else by now."""
        mem.resolve(conflict, "both")
        mem.remember([fact("near", id="b"), fact("exact", id="b")])
        assert pairs(mem.conflicts()) == [("a", "b", 1.0)]

    @pytest.mark.parametrize("bad", [("c",), ("",), (None,)])
    def test_a_bad_choice(self, mem, conflict, bad):
        """What is neither of the two nor both is refused, and nothing is done."""
        with pytest.raises(InvalidQuery, match="keep="):
            mem.resolve(conflict, *bad)
        with pytest.raises(InvalidQuery, match="both"):
            mem.resolve(conflict, "both", text="near")
        assert mem.count() == 3

    def test_what_is_gone(self, mem, conflict):
        """A pair of which one is gone can't be merged into that, and the other stays."""
        mem.forget("a", "semantic")
        with pytest.raises(NotFound):
            mem.resolve(conflict, "a", text="near")
        assert mem.recorded("b", "semantic")

    def test_what_has_changed(self, mem, conflict):
        """What says something else by now than the pair that was shown isn't forgotten."""
        mem.remember(fact("orth", id="b"))
        mem.resolve(conflict, "a")
        assert life(mem, "b") == [("orth", "active"), ("q", "superseded")]

    def test_twice(self, mem, conflict):
        """A pair that was resolved is resolved: asked again, the other way round, nothing more is lost."""
        mem.resolve(conflict, "a")
        with pytest.raises(NotFound):
            mem.resolve(conflict, "b")
        assert mem.recorded("a", "semantic")
