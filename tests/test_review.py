"""The review queue: what waits, page by page, and deciding on much of it at once."""

from __future__ import annotations

import pytest
from claims import claim, fact, life, outcomes, waiting
from shorthand import NOON, frozen

from tiered_memory import InvalidQuery, NoCandidate, ReviewConflict, UnknownTier


def all_pages(handle, **which):
    """The texts on every page of the queue, and how many pages there were."""
    cursor, found, pages = None, [], 0
    while cursor is not None or not pages:
        page = handle.review.pending(**which, cursor=cursor)
        found += [each.candidate.text for each in page.items]
        cursor = page.cursor
        pages += 1
    return found, pages


class TestPending:
    def test_beside_what_stands(self, mem):
        """A claim comes beside what it would take the place of, or beside nothing."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="y")])
        first, second = mem.review.pending().items
        assert (first.candidate.text, first.candidate.status, first.active) == (
            "exact",
            "candidate",
            mem.get("x", "semantic"),
        )
        assert (second.candidate.text, second.active) == ("far", None)

    def test_order(self, mem):
        """Claims come tier by tier, the oldest first."""
        mem.remember([claim("far", tier="procedural"), claim("near"), claim("exact", id="y"), claim("edge")])
        assert waiting(mem) == ["near", "exact", "edge", "far"]
        assert waiting(mem, tier="procedural") == ["far"]

    def test_by_source(self, mem):
        """A source's own claims are found, on full pages."""
        mem.remember([claim(f"text {n}", id=str(n), source="bot" if n % 3 == 0 else "user") for n in range(30)])
        wanted = [f"text {n}" for n in range(0, 30, 3)]
        assert waiting(mem, source="bot") == wanted
        page = mem.review.pending(source="bot", limit=4)
        assert [each.candidate.text for each in page.items] == wanted[:4]
        assert all_pages(mem, source="bot", limit=4)[0] == wanted

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
    def test_pages(self, mem, limit):
        """Following the cursor shows each claim once, whatever the size of a page."""
        given = [claim(f"{tier} {n}", id=str(n), tier=tier) for tier in ("semantic", "episodic") for n in range(7)]
        mem.remember(given)
        found, pages = all_pages(mem, limit=limit)
        assert found == [each.text for each in given]
        assert pages <= 14 // limit + 2

    def test_pages_of_a_changing_queue(self, mem):
        """What is decided between two pages is not shown again, and nothing that still waits is skipped."""
        mem.remember([claim(f"text {n}", id=str(n)) for n in range(6)])
        page = mem.review.pending(limit=2)
        mem.review.promote("0", "semantic")
        mem.review.reject("3", "semantic")
        mem.remember(claim("text 6", id="6"))
        rest = mem.review.pending(cursor=page.cursor)
        assert [each.candidate.text for each in rest.items] == ["text 2", "text 4", "text 5", "text 6"]

    def test_nothing(self, mem):
        """Where nothing waits there is one empty page."""
        assert all_pages(mem) == ([], 1)

    @pytest.mark.parametrize("bad", [{"limit": 0}, {"limit": -1}, {"cursor": "x"}, {"cursor": 3}, {"cursor": "0:x"}])
    def test_bad_pages(self, mem, bad):
        """A limit below one, or a cursor that no page gave, is refused."""
        with pytest.raises(InvalidQuery, match=next(iter(bad))):
            mem.review.pending(**bad)

    def test_of_notes(self, mem):
        """Notes don't wait for review."""
        with pytest.raises(UnknownTier, match="working"):
            mem.review.pending(tier="working")

    def test_only_its_scope(self, mem):
        """A queue holds the claims of its handle's scope only."""
        mem.remember([claim("near"), claim("exact", scope="a"), claim("far", scope="a ")])
        assert [waiting(handle) for handle in (mem, mem.scoped("a"), mem.scoped("a "))] == [
            ["near"],
            ["exact"],
            ["far"],
        ]


class TestVersions:
    def test_of_what_is_still_there(self, mem):
        """A decision that insists on the version it looked at is carried out while nothing has changed."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="y")])
        first, second = mem.review.pending().items
        assert mem.review.promote("x", "semantic", version=first.version).text == "exact"
        assert mem.review.reject("y", "semantic", version=second.version) is None
        assert (life(mem), life(mem, "y")) == ([("exact", "active"), ("near", "superseded")], [])

    @pytest.mark.parametrize(
        "change", [fact("far"), claim("far")], ids=["another text stands there", "another claim waits there"]
    )
    @pytest.mark.parametrize("verdict", ["promote", "reject"])
    def test_of_what_has_changed(self, mem, verdict, change):
        """Where something else stands or waits by now, it is a conflict, and nothing is done."""
        mem.remember([fact("near"), claim("exact")])
        (seen,) = mem.review.pending().items
        mem.remember(change)
        before = mem.history("x", "semantic")
        with pytest.raises(ReviewConflict, match="'x' in tier 'semantic'"):
            getattr(mem.review, verdict)("x", "semantic", version=seen.version)
        assert mem.history("x", "semantic") == before

    def test_of_what_was_forgotten(self, mem):
        """Where what stood there is gone by now, it is a conflict; where nothing waits, there is no candidate."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="y")])
        first, second = mem.review.pending().items
        mem.forget("x", "semantic")
        mem.remember(claim("exact"))
        mem.forget("y", "semantic")
        with pytest.raises(ReviewConflict):
            mem.review.promote("x", "semantic", version=first.version)
        with pytest.raises(NoCandidate):
            mem.review.promote("y", "semantic", version=second.version)

    def test_of_what_was_only_repeated(self, mem):
        """A claim or a memory that was only said again is what was looked at."""
        mem.remember([fact("near"), claim("exact")])
        (seen,) = mem.review.pending().items
        mem.remember([fact("near"), claim("exact")])
        assert mem.review.promote("x", "semantic", version=seen.version).text == "exact"

    def test_of_a_claim_that_is_not_the_newest(self, mem):
        """Approving a claim never makes another one believed: an older one than the newest is a conflict."""
        mem.remember([claim("near"), claim("exact")])
        older, newer = mem.review.pending().items
        (reviewed,) = mem.review.promote_many([older])
        assert (reviewed.outcome, reviewed.candidate.text) == ("conflict", "exact")
        assert outcomes(mem.review.promote_many([newer])) == ["promoted"]
        assert life(mem) == [("exact", "active")]


class TestMany:
    def test_none_holds_up_the_others(self, mem):
        """A claim whose base has changed is a conflict with both versions shown; the others are promoted."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="b"), claim("edge", id="c", tier="episodic")])
        claims = mem.review.pending().items
        mem.remember(fact("orth"))
        first, *others = mem.review.promote_many(claims)
        assert (first.outcome, first.id, first.tier) == ("conflict", "x", "semantic")
        assert (first.candidate.text, first.active.text) == ("exact", "orth")
        assert [(each.outcome, each.candidate.text, each.active) for each in others] == [
            ("promoted", "far", None), ("promoted", "edge", None),
        ]  # fmt: skip
        assert life(mem) == [("orth", "active"), ("near", "superseded"), ("exact", "candidate")]

    def test_again(self, mem):
        """A second call with the same claims changes nothing."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="b")])
        claims = mem.review.pending().items
        mem.remember(fact("orth"))
        mem.review.promote_many(claims)
        before = [mem.history(id, "semantic") for id in ("x", "b")]
        assert outcomes(mem.review.promote_many(claims)) == ["conflict", "no_candidate"]
        assert [mem.history(id, "semantic") for id in ("x", "b")] == before

    def test_rejecting(self, mem):
        """Claims are rejected together, with what waited and what stands shown for each."""
        mem.remember([fact("near"), claim("exact"), claim("far", id="b"), claim("edge", id="c")])
        claims = mem.review.pending().items[:2]
        found = mem.review.reject_many([*claims, ("nowhere", "semantic")])
        assert outcomes(found) == ["rejected", "rejected", "no_candidate"]
        assert (found[0].candidate.text, found[0].active.text, found[2].candidate) == ("exact", "near", None)
        assert waiting(mem) == ["edge"]

    def test_by_id_and_tier(self, mem):
        """Claims may be named by id and tier, which promotes whatever waits there."""
        mem.remember([claim("near"), claim("far", tier="episodic")])
        assert outcomes(mem.review.promote_many([("x", "semantic"), ("x", "episodic")])) == ["promoted"] * 2

    def test_named_twice(self, mem):
        """Of a claim that is named twice the second mention finds no candidate."""
        mem.remember(claim("near"))
        assert outcomes(mem.review.promote_many([("x", "semantic")] * 2)) == ["promoted", "no_candidate"]

    def test_none(self, mem):
        """No claims have no outcomes."""
        assert mem.review.promote_many([]) == mem.review.reject_many([]) == []

    def test_a_tier_that_is_none(self, mem):
        """One that names no tier is refused before anything is decided."""
        mem.remember(claim("near"))
        with pytest.raises(UnknownTier):
            mem.review.promote_many([("x", "semantic"), ("x", "nowhere")])
        assert waiting(mem) == ["near"]

    def test_a_hundred(self, mem):
        """A hundred claims are decided in one call, and all of them are found afterwards."""
        mem.remember([claim(f"text {n}", id=str(n)) for n in range(100)])
        assert set(outcomes(mem.review.promote_many(mem.review.pending().items))) == {"promoted"}
        assert (mem.count(), len(mem.recall("q", k=200, threshold=-1)), waiting(mem)) == (100, 100, [])


class TestBound:
    def test_promotion_keeps_to_it(self, open_memory):
        """A promotion over a tier's bound evicts the least retained, never what was just promoted."""
        mem = open_memory(semantic={"max_items": 2})
        with frozen() as clock:
            for n in range(4):
                mem.remember(claim(f"text {n}", id=str(n), importance=0.5))
            for n in range(4):
                mem.review.promote(str(n), "semantic")
                clock.tick(1)
            assert [each.id for each in mem.list("semantic").items] == ["2", "3"]
            assert mem.get("3", "semantic").active_from == NOON.replace(second=3)
