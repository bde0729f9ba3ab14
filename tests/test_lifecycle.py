"""The life of a memory: recorded, superseded, claimed, promoted, rejected; and the history that this leaves."""

from __future__ import annotations

from datetime import timedelta

import pytest
from claims import claim, fact, life, outcomes, waiting
from redis import Redis
from shorthand import DAY, NOON, frozen, texts

from tiered_memory import InvalidItem, InvalidQuery, MemoryItem, NoCandidate, NotFound, UnknownTier

SEARCHED = ("semantic", "episodic", "procedural")


class TestSuperseding:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_another_text(self, mem, tier):
        """Another text at an id takes the place of the one before, which stays as history; each names the other."""
        mem.remember(fact("near", tier=tier, confidence=0.6))
        assert outcomes(mem.remember(fact("exact", tier=tier, confidence=0.9))) == ["superseded"]
        newer, older = mem.history("x", tier)
        assert (newer.text, newer.status, newer.confidence) == ("exact", "active", 0.9)
        assert (older.text, older.status, older.confidence) == ("near", "superseded", 0.6)
        assert (newer.supersedes, newer.superseded_by) == (older.number, None)
        assert (older.supersedes, older.superseded_by) == (None, newer.number)
        assert [hit.text for hit in mem.recall("q", tier=tier)] == ["exact"]
        assert mem.count() == 1

    def test_a_chain(self, mem):
        """A history reads from the newest to the oldest, and no link is missing."""
        for text in ("near", "far", "edge", "exact"):
            mem.remember(fact(text))
        chain = mem.history("x", "semantic")
        assert texts(chain) == ["exact", "edge", "far", "near"]
        assert [each.supersedes for each in chain[:-1]] == [each.number for each in chain[1:]]
        assert [each.superseded_by for each in chain[1:]] == [each.number for each in chain[:-1]]

    def test_times(self, mem):
        """What is superseded keeps its times; its successor keeps the creation time of the id."""
        with frozen() as clock:
            mem.remember(fact("near"))
            clock.tick(DAY)
            mem.remember(fact("exact"))
            newer, older = mem.history("x", "semantic")
        assert (older.created_at, older.recorded_at, older.active_from, older.updated_at) == (NOON,) * 4
        assert older.superseded_at == newer.recorded_at == newer.active_from == newer.updated_at == NOON + DAY
        assert (newer.created_at, newer.superseded_at) == (NOON, None)

    def test_an_update_of_the_text(self, mem):
        """An update that changes the text supersedes; one that doesn't changes the memory itself."""
        mem.remember(fact("near"))
        mem.update("x", "semantic", importance=0.9)
        assert life(mem) == [("near", "active")]
        mem.update("x", "semantic", text="exact")
        assert life(mem) == [("exact", "active"), ("near", "superseded")]

    def test_back_and_forth(self, mem):
        """A text that was superseded may become active again, as an assertion of its own."""
        for text in ("near", "exact", "near"):
            mem.remember(fact(text))
        assert life(mem) == [("near", "active"), ("exact", "superseded"), ("near", "superseded")]

    def test_superseded_stays_out(self, mem):
        """What is superseded is in no recall, page or count, even when it is nearer than its correction."""
        for tier in SEARCHED:
            mem.remember([fact("exact", tier=tier), fact("near", tier=tier)])
            assert texts(mem.recall("q", tier=tier, threshold=-1)) == ["near"]
            assert texts(mem.list(tier).items) == ["near"]
            assert mem.get("x", tier).text == "near"
            assert mem.count(tier) == 1

    def test_superseded_on_request(self, mem):
        """A recall that asks for it finds what is superseded too, each hit with its status."""
        mem.remember([fact("exact"), fact("near")])
        hits = mem.recall("q", include_superseded=True)
        assert [(hit.text, hit.status) for hit in hits] == [("exact", "superseded"), ("near", "active")]


class TestReaffirming:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_the_same_text(self, mem, tier):
        """The same text again is one assertion, which counts its uses and keeps what was said about it."""
        mem.remember(fact("exact", tier=tier, confidence=0.6, source="user"))
        assert outcomes(mem.remember(fact("exact", tier=tier, confidence=0.2, source="bot"))) == ["reaffirmed"]
        (only,) = mem.history("x", tier)
        assert (only.uses, only.confidence, only.source) == (2, 0.6, "user")

    def test_in_one_batch(self, mem):
        """Within one batch each item sees what the ones before it did."""
        batch = [fact("near"), fact("near"), claim("far"), claim("far"), fact("exact")]
        assert outcomes(mem.remember(batch)) == ["recorded", "reaffirmed", "queued", "already_queued", "superseded"]
        assert life(mem) == [("exact", "active"), ("near", "superseded"), ("far", "candidate")]


class TestCandidate:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_at_a_fresh_id(self, mem, tier):
        """A candidate is recorded and waits, and is in no recall, page or count."""
        assert outcomes(mem.remember(claim("exact", tier=tier))) == ["queued"]
        assert mem.recall("q", threshold=-1) == mem.list(tier).items == []
        assert (mem.get("x", tier), mem.count()) == (None, 0)
        assert mem.recorded("x", tier)
        assert mem.memory_stats().pending_review == 1

    def test_in_no_way_recalled(self, mem):
        """Neither asking for what is superseded nor asking for another time recalls a candidate."""
        with frozen() as clock:
            mem.remember(claim("exact"))
            clock.tick(DAY)
            assert mem.recall("q", include_superseded=True, threshold=-1) == []
            assert mem.recall("q", as_of=NOON + DAY, threshold=-1) == []

    def test_beside_an_active_one(self, mem):
        """A candidate leaves the active memory at its id as it is."""
        mem.remember(fact("near", metadata={"a": 1}))
        before = mem.get("x", "semantic")
        mem.remember(claim("exact", metadata={"b": 2}))
        assert mem.get("x", "semantic") == before
        assert texts(mem.recall("q")) == ["near"]
        assert life(mem) == [("near", "active"), ("exact", "candidate")]

    def test_repeated(self, mem):
        """The same claim twenty times is one candidate, which counts its support."""
        answers = [mem.remember(claim("exact"))[0].outcome for _ in range(20)]
        assert answers == ["queued", *["already_queued"] * 19]
        (waits,) = mem.review.pending().items
        assert waits.candidate.uses == 20

    def test_of_a_note(self, mem):
        """A note can't wait for review, and has no history."""
        with pytest.raises(InvalidItem, match=r"item 1: .*working"):
            mem.remember([fact("near"), claim("exact", tier="working")])
        assert mem.count() == 0
        with pytest.raises(UnknownTier, match="working"):
            mem.history("x", "working")

    def test_with_a_lifetime(self, mem):
        """A candidate that has a lifetime stops waiting at its end: it is in no queue, history or count."""
        with frozen() as clock:
            mem.remember([claim("near", ttl=DAY), claim("far", id="y")])
            clock.tick(DAY)
            assert waiting(mem) == ["far"]
            assert (life(mem), mem.recorded("x", "semantic")) == ([], False)
            assert mem.memory_stats().pending_review == mem.stats().candidates["semantic"] == 1
            with pytest.raises(NoCandidate):
                mem.review.promote("x", "semantic")

    def test_claimed_again_after_its_lifetime(self, mem):
        """A claim whose lifetime has ended is queued anew when it is made again."""
        with frozen() as clock:
            mem.remember(claim("near", ttl=DAY))
            clock.tick(DAY)
            assert outcomes(mem.remember(claim("near"))) == ["queued"]
            assert waiting(mem) == ["near"]

    def test_lapsed_beside_another(self, mem):
        """A claim whose lifetime has ended doesn't stand in the way of another at its id."""
        with frozen() as clock:
            mem.remember([claim("near"), claim("far", ttl=DAY)])
            clock.tick(DAY)
            assert outcomes(mem.review.promote_many(mem.review.pending().items)) == ["promoted"]
            assert life(mem) == [("near", "active")]


class TestPromoting:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_over_an_active_one(self, mem, tier):
        """The active memory is recalled until the promotion, then the candidate is, and the former is superseded."""
        mem.remember([fact("near", tier=tier), claim("exact", tier=tier)])
        assert texts(mem.recall("q", tier=tier)) == ["near"]
        promoted = mem.review.promote("x", tier)
        assert (promoted.text, promoted.status) == ("exact", "active")
        assert texts(mem.recall("q", tier=tier)) == ["exact"]
        newer, older = mem.history("x", tier)
        assert (newer.number, newer.supersedes, older.superseded_by) == (promoted.number, older.number, newer.number)
        assert [each.status for each in (newer, older)] == ["active", "superseded"]

    def test_at_a_fresh_id(self, mem):
        """A candidate at an id where nothing stands becomes the first memory there."""
        mem.remember(claim("exact"))
        mem.review.promote("x", "semantic")
        assert life(mem) == [("exact", "active")]
        assert texts(mem.recall("q")) == ["exact"]
        assert (mem.count(), waiting(mem)) == (1, [])

    def test_the_newest(self, mem):
        """Of several candidates the newest becomes active, and the others are gone."""
        mem.remember([claim("near"), claim("exact")])
        mem.review.promote("x", "semantic")
        assert life(mem) == [("exact", "active")]

    def test_twice(self, mem):
        """A second promotion finds no candidate, and changes nothing."""
        mem.remember([fact("near"), claim("exact")])
        mem.review.promote("x", "semantic")
        before = mem.history("x", "semantic")
        with pytest.raises(NoCandidate, match="'x' in tier 'semantic'"):
            mem.review.promote("x", "semantic")
        assert mem.history("x", "semantic") == before

    def test_over_a_later_one(self, mem):
        """A candidate that is promoted after the active text changed supersedes what stands there then."""
        mem.remember([fact("near"), claim("exact"), fact("far")])
        mem.review.promote("x", "semantic")
        assert life(mem) == [("exact", "active"), ("far", "superseded"), ("near", "superseded")]

    def test_times(self, mem):
        """A promoted memory was recorded when it was claimed, and is active from its promotion on."""
        with frozen() as clock:
            mem.remember(fact("near"))
            clock.tick(DAY)
            mem.remember(claim("exact"))
            clock.tick(DAY)
            newer = mem.review.promote("x", "semantic")
            older = mem.history("x", "semantic")[1]
        assert (newer.created_at, newer.recorded_at, newer.active_from) == (NOON, NOON + DAY, NOON + 2 * DAY)
        assert older.superseded_at == NOON + 2 * DAY

    def test_uses(self, mem):
        """A promoted procedure takes over the uses of the one before; another memory has those of its claim."""
        for tier, uses in (("procedural", 5), ("semantic", 2)):
            mem.remember([fact("near", tier=tier)] * 3 + [claim("exact", tier=tier)] * 2)
            assert mem.review.promote("x", tier).uses == uses

    def test_keeps_an_expiry(self, mem):
        """What is promoted without a lifetime of its own keeps that of what stood there."""
        with frozen():
            mem.remember([fact("near", ttl=DAY), claim("exact"), fact("near", id="y"), claim("exact", id="y", ttl=DAY)])
            assert mem.review.promote("x", "semantic").expires_at == NOON + DAY
            assert mem.review.promote("y", "semantic").expires_at == NOON + DAY

    def test_once_expired(self, mem):
        """A candidate that outlives the active memory starts a history of its own."""
        with frozen() as clock:
            mem.remember([fact("near", ttl=DAY), claim("exact")])
            clock.tick(DAY)
            mem.review.promote("x", "semantic")
            assert life(mem) == [("exact", "active")]


class TestRejecting:
    def test_leaves_no_trace(self, mem, redis_url, namespace):
        """A rejected claim is nowhere, and the active memory stands as before."""
        mem.remember(fact("near"))
        before = mem.get("x", "semantic")
        mem.remember([claim("exact"), claim("far")])
        mem.review.reject("x", "semantic")
        assert (mem.get("x", "semantic"), life(mem), waiting(mem)) == (before, [("near", "active")], [])
        assert mem.memory_stats().by_status == {"active": 1, "candidate": 0, "superseded": 0}

    def test_of_the_only_one(self, mem):
        """Where nothing else stood, nothing is recorded afterwards, and the scope holds nothing."""
        mem.scoped("a").remember(claim("exact"))
        mem.scoped("a").review.reject("x", "semantic")
        assert not mem.scoped("a").recorded("x", "semantic")
        assert mem.scopes().items == []

    def test_twice(self, mem):
        """A second rejection finds no candidate, and changes nothing."""
        mem.remember([fact("near"), fact("far"), claim("exact")])
        mem.review.reject("x", "semantic")
        with pytest.raises(NoCandidate, match="'x' in tier 'semantic'"):
            mem.review.reject("x", "semantic")
        assert life(mem) == [("far", "active"), ("near", "superseded")]

    def test_only_there(self, mem):
        """A rejection touches its own id, tier and scope only."""
        items = [claim("exact"), claim("exact", id="y"), claim("exact", tier="episodic"), claim("exact", scope="a")]
        mem.remember(items)
        mem.review.reject("x", "semantic")
        assert [each.candidate.id for each in mem.review.pending().items] == ["y", "x"]
        assert waiting(mem.scoped("a")) == ["exact"]


class TestReading:
    def test_of_nothing(self, mem):
        """Where nothing was ever claimed there is no history, and nothing is recorded."""
        assert mem.history("x", "semantic") == []
        assert not mem.recorded("x", "semantic")

    def test_recorded(self, mem):
        """Whatever its status, a claim is recorded until it is forgotten."""
        mem.remember([fact("near"), fact("exact"), claim("far", id="y")])
        assert [mem.recorded(id, "semantic") for id in ("x", "y", "z")] == [True, True, False]
        for id in ("x", "y"):
            mem.forget(id, "semantic")
            assert not mem.recorded(id, "semantic")

    def test_everything_comes_back(self, mem):
        """All that was said of a claim comes back with its history, its place in the queue and its promotion."""
        given = {"confidence": 0.25, "importance": 1, "source": "user", "metadata": {"n": [1.5, None]}, "at": NOON}
        mem.remember(claim("exact", **given))
        found = [mem.history("x", "semantic")[0], mem.review.pending().items[0].candidate]
        for each in (*found, mem.review.promote("x", "semantic"), mem.get("x", "semantic")):
            assert {name: getattr(each, name) for name in given} == given

    def test_scopes_stay_apart(self, mem):
        """The same id in two scopes has two lives."""
        a, b = mem.scoped("a"), mem.scoped("b")
        a.remember([fact("near"), claim("exact")])
        b.remember(claim("far"))
        a.review.promote("x", "semantic")
        assert (life(a), life(b), life(mem)) == (
            [("exact", "active"), ("near", "superseded")], [("far", "candidate")], [],
        )  # fmt: skip


class TestAssertions:
    def test_most_confident_first(self, mem):
        """Assertions come by confidence, those of equal confidence by id."""
        mem.remember(
            [
                fact("near", id="b"),
                fact("far", id="a"),
                fact("edge", id="c", confidence=0.9),
                fact("orth", id="d", confidence=0.2),
            ]
        )
        assert [each.id for each in mem.assertions()] == ["c", "a", "b", "d"]

    def test_truncated(self, mem):
        """A bound that leaves some out says so; one that doesn't, doesn't."""
        mem.remember([fact("near", id="a"), fact("far", id="b", tier="episodic")])
        found = [mem.assertions(top_k=count) for count in (1, 2, 500)]
        assert [(len(each), each.truncated) for each in found] == [(1, True), (2, False), (2, False)]

    @pytest.mark.parametrize("top_k", [0, -1, 501, 1.5, True])
    def test_bad_bound(self, mem, top_k):
        """A bound that isn't a whole number from 1 to 500 is refused."""
        with pytest.raises(InvalidQuery, match="top_k"):
            mem.assertions(top_k=top_k)

    def test_by_status(self, mem):
        """The statuses that are asked for are found, none for none, and no others are known."""
        mem.remember([fact("near"), fact("exact"), claim("far")])
        found = {status: texts(mem.assertions(statuses=[status])) for status in ("active", "candidate", "superseded")}
        assert found == {"active": ["exact"], "candidate": ["far"], "superseded": ["near"]}
        assert len(mem.assertions(statuses=found)) == 3
        assert mem.assertions(statuses=[]) == []
        with pytest.raises(InvalidQuery, match="'gone'"):
            mem.assertions(statuses=["gone"])

    def test_by_place(self, mem):
        """`under` finds an id and what lies below it, never what only begins alike."""
        ids = ["viking://user/a", "viking://user/a/b", "viking://user/ab", "viking://user"]
        mem.remember([fact("near", id=id) for id in ids])
        assert [each.id for each in mem.assertions(under="viking://user/a")] == ids[:2]
        assert len(mem.assertions(under="viking://")) == 4

    def test_by_part_of_the_text(self, mem):
        """A term is a part of the text, taken literally, upper and lower case alike in any script."""
        mem.remember([fact(text, id=text) for text in ("ÉTÉ 100%", "été", "100 .*", "winter")])
        for term, found in (("été", 2), ("%", 1), (".*", 1), ("WINT", 1), ("", 4), ("spring", 0)):
            assert len(mem.assertions(term=term)) == found

    def test_by_source(self, mem):
        """A source is compared exactly."""
        mem.remember([fact("near", id="a", source="bot"), fact("far", id="b", source="Bot"), fact("edge", id="c")])
        assert [each.id for each in mem.assertions(source="bot")] == ["a"]

    def test_by_tier(self, mem):
        """A tier's own are found, and notes aren't assertions."""
        mem.remember([fact("near"), fact("far", tier="episodic"), fact("exact", tier="working")])
        assert texts(mem.assertions(tier="episodic")) == ["far"]
        assert len(mem.assertions()) == 2

    def test_more_than_one_part(self, mem):
        """A scope of more than a thousand is looked over completely."""
        mem.remember([fact(f"text {n}", id=f"{n:04}", confidence=n / 1200) for n in range(1200)])
        found = mem.assertions(top_k=3)
        assert ([each.id for each in found], found.truncated) == (["1199", "1198", "1197"], True)


class TestStats:
    def test_counts(self, mem):
        """The statistics count a scope's memories by tier and status, what waits, and what was never surfaced."""
        user = mem.scoped("a")
        mem.remember(fact("exact"))
        user.remember([fact("near"), fact("exact"), claim("far"), claim("edge"), fact("near", tier="episodic")])
        user.remember([fact("orth", id="y"), fact("exact", tier="working")])
        user.recall("q", tier="semantic", k=1)
        stats = user.memory_stats()
        assert stats.by_tier == {"semantic": 2, "episodic": 1, "procedural": 0}
        assert stats.by_status == {"active": 3, "candidate": 2, "superseded": 1}
        assert (stats.pending_review, stats.never_surfaced) == (2, 2)

    def test_of_what_expired(self, mem):
        """What has expired isn't counted, nor its history."""
        with frozen() as clock:
            mem.remember([fact("near", ttl=DAY), fact("exact", ttl=DAY), fact("far", id="y")])
            mem.recall("q", k=1)
            clock.tick(DAY)
            stats = mem.memory_stats()
        assert stats.by_status == {"active": 1, "candidate": 0, "superseded": 0}
        assert stats.never_surfaced == 1

    def test_cost_one_round_trip(self, mem, redis_url, namespace):
        """Counting costs the same few commands however much there is."""
        mem.remember([fact(f"text {n}", id=str(n)) for n in range(300)])
        mem.memory_stats()
        with Redis.from_url(redis_url) as client:
            client.config_resetstat()
            mem.memory_stats()
            calls = {name: each["calls"] for name, each in client.info("commandstats").items()}
        assert sum(calls.values()) < 30


class TestBadValues:
    @pytest.mark.parametrize("name", ["confidence", "importance"])
    @pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "0.5", True])
    def test_outside_their_range(self, name, value):
        """A confidence or importance that is no number from 0 to 1 is refused by its name."""
        with pytest.raises(InvalidItem, match=name):
            MemoryItem("exact", **{name: value})

    def test_in_an_update(self, mem):
        """An update with a value outside its range changes nothing."""
        mem.remember(fact("exact"))
        before = mem.get("x", "semantic")
        for change in ({"confidence": 2}, {"importance": float("nan")}, {"text": " "}):
            with pytest.raises(InvalidItem):
                mem.update("x", "semantic", **change)
        assert mem.get("x", "semantic") == before

    def test_an_id_that_is_none(self, mem):
        """An empty id, or a tier that doesn't exist, is refused by every call."""
        for call in (mem.review.promote, mem.review.reject, mem.history, mem.recorded):
            with pytest.raises(InvalidItem, match="id"):
                call("", "semantic")
            with pytest.raises(UnknownTier, match="nowhere"):
                call("x", "nowhere")


class TestUpdating:
    def test_while_it_expires(self, open_memory, embedder):
        """What expires while an update embeds its new text isn't brought back to life by it."""
        mem = open_memory()
        with frozen() as clock:
            mem.remember(fact("near", ttl=timedelta(minutes=1)))

            def slow(text: str):
                clock.tick(DAY)
                return type(embedder).vector(embedder, text)

            embedder.vector = slow
            with pytest.raises(NotFound):
                mem.update("x", "semantic", text="exact")
            assert life(mem) == []
