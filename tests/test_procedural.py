"""Procedural memory: how-tos by cosine and reinforcement, (1 - w) * cos + w * uses / (uses + 1)."""

from __future__ import annotations

import pytest
from shorthand import frozen, ranked, texts

from tiered_memory import MemoryItem, ProceduralConfig


def times(count, text, **given):
    return [MemoryItem(text, "procedural", **given)] * count


class TestScore:
    @pytest.mark.parametrize(("uses", "score"), [(1, 0.85), (2, 0.9), (3, 0.925), (4, 0.94), (10, 0.9727272727)])
    def test_reinforcement(self, mem, uses, score):
        """The first remembering is the first use, and each further one counts."""
        for _ in range(uses):
            mem.remember("exact", tier="procedural")
        (hit,) = mem.recall("q")
        assert hit.score == pytest.approx(score, abs=1e-6)
        assert hit.uses == uses

    def test_a_tie_goes_to_the_more_similar(self, mem):
        """Where the blends tie, the more similar procedure comes first."""
        mem.remember([*times(1, "exact"), *times(29, "near")])
        assert ranked(mem.recall("q")) == [("exact", 0.85), ("near", 0.85)]

    def test_proven_before_similar(self, mem):
        """One more use passes the tie."""
        mem.remember([*times(1, "exact"), *times(30, "near")])
        assert ranked(mem.recall("q")) == [("near", 0.850323), ("exact", 0.85)]

    def test_no_use_opens_the_gate(self, mem):
        """However often it was used, a procedure below the threshold of similarity is no hit."""
        mem.remember(times(50, "far"))
        assert mem.recall("q") == []

    def test_configured(self, open_memory):
        """The weight is the configuration's."""
        mem = open_memory(procedural=ProceduralConfig(weight=0.5))
        mem.remember(times(3, "near"))
        assert ranked(mem.recall("q")) == [("near", 0.775)]

    def test_among_many(self, mem):
        """The best blend is found behind hundreds of more similar unproven ones."""
        many = [MemoryItem("exact", "procedural", id=str(number)) for number in range(200)]
        mem.remember([*many, *times(60, "near")])
        assert texts(mem.recall("q", k=1)) == ["near"]


class TestRememberingAgain:
    def test_reworded(self, mem):
        """A reworded procedure keeps its count, and its metadata unless given."""
        mem.remember("exact", tier="procedural", id="p", metadata={"a": 1})
        mem.remember("near", tier="procedural", id="p")
        assert ranked(mem.recall("q")) == [("near", 0.76)]
        assert mem.get("p", "procedural").metadata == {"a": 1}
        mem.remember("near", tier="procedural", id="p", metadata={})
        assert ranked(mem.recall("q")) == [("near", 0.785)]
        assert mem.get("p", "procedural").metadata == {}

    def test_in_one_batch(self, mem):
        """The same procedure twice in one call is one procedure, used twice."""
        mem.remember(times(2, "exact", id="p"))
        assert mem.count("procedural") == 1
        assert ranked(mem.recall("q")) == [("exact", 0.9)]

    def test_time_stays(self, mem):
        """Being used again doesn't change when a procedure was learned."""
        with frozen() as time:
            mem.remember("exact", tier="procedural", id="p")
            learned = mem.get("p", "procedural").at
            time.tick(60)
            mem.remember("exact", tier="procedural", id="p")
            assert mem.get("p", "procedural").at == learned

    def test_each_scope_counts(self, mem):
        """What one scope uses proves nothing in another."""
        mem.remember(times(3, "exact", scope="A") + times(1, "exact", scope="B"))
        assert ranked(mem.scoped("A").recall("q")) == [("exact", 0.925)]
        assert ranked(mem.scoped("B").recall("q")) == [("exact", 0.85)]
