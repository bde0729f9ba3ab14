"""Recalling what was believed at another time."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from claims import claim, fact
from shorthand import DAY, NOON, frozen, ranked, texts

from tiered_memory import EpisodicConfig, InvalidInput

SEARCHED = ("semantic", "episodic", "procedural")
MICROSECOND = timedelta(microseconds=1)


def believed(mem, moment, **which):
    """The texts that a recall as of a moment finds, whatever they say."""
    return texts(mem.recall("q", as_of=moment, threshold=-1, **which))


class TestSupersession:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_before_and_after(self, mem, tier):
        """As of a time before a supersession the former text is found, from that very moment on the new one."""
        with frozen() as clock:
            mem.remember(fact("exact", tier=tier))
            clock.tick(DAY)
            mem.remember(fact("near", tier=tier))
            clock.tick(DAY)
            assert believed(mem, NOON - MICROSECOND) == []
            assert believed(mem, NOON) == believed(mem, NOON + DAY - MICROSECOND) == ["exact"]
            assert believed(mem, NOON + DAY) == believed(mem, NOON + 2 * DAY) == ["near"]
            assert texts(mem.recall("q")) == ["near"]

    def test_a_chain(self, mem):
        """Each moment of a long history has the one text that was believed then."""
        with frozen() as clock:
            for text in ("near", "far", "edge", "exact"):
                mem.remember(fact(text))
                clock.tick(DAY)
            found = [believed(mem, NOON + day * DAY) for day in range(4)]
        assert found == [["near"], ["far"], ["edge"], ["exact"]]

    def test_the_former_is_nearer(self, mem):
        """A superseded text that is nearer to the query than its correction is found as of before, and only then."""
        with frozen() as clock:
            mem.remember(fact("exact"))
            clock.tick(DAY)
            mem.remember(fact("near"))
            assert ranked(mem.recall("q")) == [("near", 0.8)]
            assert ranked(mem.recall("q", include_superseded=True)) == [("exact", 1), ("near", 0.8)]
            assert ranked(mem.recall("q", as_of=NOON)) == [("exact", 1)]

    def test_statuses(self, mem):
        """A hit says whether it is still believed."""
        with frozen() as clock:
            mem.remember([fact("exact"), fact("near", id="y")])
            clock.tick(DAY)
            mem.remember(fact("far"))
            hits = mem.recall("q", as_of=NOON)
        assert [(hit.text, hit.status) for hit in hits] == [("exact", "superseded"), ("near", "active")]


class TestReview:
    def test_of_a_promotion(self, mem):
        """A candidate was believed from its promotion on, not from when it was claimed."""
        with frozen() as clock:
            mem.remember([fact("exact"), claim("near")])
            clock.tick(DAY)
            mem.review.promote("x", "semantic")
            assert believed(mem, NOON + DAY - MICROSECOND) == ["exact"]
            assert believed(mem, NOON + DAY) == ["near"]

    def test_of_a_rejection(self, mem):
        """What was rejected was never believed."""
        with frozen() as clock:
            mem.remember(claim("near"))
            clock.tick(DAY)
            mem.review.reject("x", "semantic")
            assert believed(mem, NOON) == believed(mem, NOON + DAY) == []


class TestScores:
    def test_as_then(self, open_memory):
        """Events are scored by how fresh they were then; one that was yet to be remembered isn't found."""
        mem = open_memory(episodic=EpisodicConfig(half_life=DAY, weight=0.5))
        with frozen() as clock:
            mem.remember(fact("exact", tier="episodic"))
            clock.tick(DAY)
            mem.remember(fact("near", id="y", tier="episodic"))
            assert ranked(mem.recall("q", as_of=NOON)) == [("exact", 1)]
            assert (
                ranked(mem.recall("q", as_of=NOON + DAY)) == ranked(mem.recall("q")) == [("near", 0.9), ("exact", 0.75)]
            )

    def test_of_many(self, mem):
        """The best k of a past moment are found among many that came later."""
        with frozen() as clock:
            mem.remember([fact(f"old {n}", id=f"o{n}") for n in range(20)])
            clock.tick(DAY)
            mem.remember([fact("exact", id=f"n{n}") for n in range(200)])
            found = believed(mem, NOON, k=20)
        assert sorted(found) == sorted(f"old {n}" for n in range(20))


class TestLimits:
    def test_what_was_forgotten(self, mem):
        """What was forgotten, expired since then, or pruned from history, is in no past."""
        with frozen() as clock:
            mem.remember([fact("near"), fact("far", id="y"), fact("exact", id="z", ttl=DAY)])
            clock.tick(DAY)
            mem.remember(fact("edge", id="y"))
            mem.forget("x", "semantic")
            assert believed(mem, NOON) == ["far"]
            mem.prune_history()
            assert believed(mem, NOON) == []

    def test_what_has_expired(self, mem):
        """What has expired by now is in no past, even where Redis still has it."""
        with frozen() as clock:
            mem.remember(fact("exact", ttl=DAY))
            clock.tick(DAY)
            assert believed(mem, NOON) == []

    def test_its_own_scope(self, mem):
        """The past of a scope is its own; several may be asked at once."""
        with frozen() as clock:
            mem.remember([fact("exact", scope="a"), fact("near", scope="b")])
            clock.tick(DAY)
            mem.remember([fact("far", scope="a"), fact("far", scope="b")])
            assert believed(mem.scoped("a"), NOON) == ["exact"]
            assert believed(mem, NOON, scope=("a", "b")) == ["exact", "near"]
            assert believed(mem, NOON) == []

    def test_of_notes(self, mem):
        """Working memory has no past."""
        with frozen():
            mem.remember(fact("near", tier="working"))
            assert believed(mem, NOON) == []
            assert texts(mem.recall("q")) == ["near"]

    @pytest.mark.parametrize("moment", [datetime(2026, 3, 1), "2026-03-01", 0])
    def test_of_no_moment(self, mem, moment):
        """A time without a zone, or what is none, is refused."""
        with pytest.raises(InvalidInput, match="as_of"):
            mem.recall("q", as_of=moment)
