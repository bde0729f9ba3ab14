"""Scopes: exact, each one for itself, and none of them within reach of another's handle."""

from __future__ import annotations

from itertools import permutations

import pytest
from shorthand import TIERS, ranked, texts

from tiered_memory import InvalidScope, MemoryItem, NotFound, UnknownTier

STRANGE = [
    "a-b", "6f1c7f0e-8a3b-4c1d-9e2f-1234567890ab", "main", "the", "a.b", "x@y", "50%", '"q"', "{}", "\\", "\n", "🎉",
    "a", "A", "a ", " a", "a\0", "a\0b", "ab", "a,b", "a|b", "a:b", "a*", "a?", "$p", "@active:{a}", "{", "}", "'", "~",
    "john-doe", "john_doe", "user1", "user12", "caf\u00e9", "cafe\u0301", "\u212b", "\u00c5", "-", "+", "None", "null",
    "x" * 4096, "x" * 4095, "é" * 5000, "é" * 5000 + " ",
]  # fmt: skip
"""Texts that meet when they are trimmed, folded, split, cut, escaped or normalised, or when a query holds them."""


class TestExactness:
    @pytest.mark.parametrize("other", ["tenant", "Tenant ", " Tenant", "Ten", "Tenant1", "T*", None])
    def test_equality_only(self, mem, other):
        """A memory is found in the very scope that it was written in, and in no other."""
        mem.remember([MemoryItem("exact", tier, scope="Tenant") for tier in TIERS])
        assert len(mem.recall("q", scope="Tenant")) == 4
        assert mem.recall("q", scope=other, threshold=-1) == []

    def test_strange_scopes(self, mem):
        """Scopes of any characters and of up to 16 KiB hold exactly their own, in every read."""
        mem.remember(
            [MemoryItem("exact", "semantic", id=str(place), scope=scope) for place, scope in enumerate(STRANGE)]
        )
        for place, scope in enumerate(STRANGE):
            scoped = mem.scoped(scope)
            assert [(hit.id, hit.scope) for hit in scoped.recall("q", k=50)] == [(str(place), scope)]
            assert [memory.id for memory in scoped.list("semantic").items] == [str(place)]
            assert scoped.count() == 1
        assert sorted(mem.scopes(limit=1000).items) == sorted(STRANGE)

    def test_strange_ids(self, mem):
        """Ids of any characters are as many memories, in every tier."""
        for tier in TIERS:
            mem.remember([MemoryItem("exact", tier, id=id_, metadata={"place": n}) for n, id_ in enumerate(STRANGE)])
            assert [memory.id for memory in mem.list(tier).items] == STRANGE
            for place, id_ in enumerate(STRANGE):
                assert mem.get(id_, tier).metadata == {"place": place}

    def test_similar_ids(self, mem):
        """Ids that differ only in their punctuation are five memories."""
        ids = ["u:1", "u.1", "u,1", "{u.1}", "u.1."]
        mem.remember([MemoryItem("exact", id=id_) for id_ in ids])
        assert sorted(hit.id for hit in mem.recall("q")) == sorted(ids)

    def test_joined_parts(self, mem):
        """Scope and id are told apart, also where their joined texts are the same."""
        mem.remember([MemoryItem("near", scope="a", id="b:c"), MemoryItem("far", scope="a:b", id="c")])
        assert mem.scoped("a").get("c", "semantic") is None
        assert mem.scoped("a:b").get("c", "semantic").text == "far"
        assert mem.scoped("a").get("b:c", "semantic").text == "near"

    def test_texts_and_scopes_that_share_a_short_hash(self, mem):
        """Texts, and scopes, that collide in 32-bit hashes stay apart."""
        colliding, scopes = ["costarring", "liquid"], ["session:149599", "session:312382"]
        mem.remember([MemoryItem(text, scope=scope) for text in colliding for scope in scopes])
        for scope in scopes:
            assert texts(mem.scoped(scope).list("semantic").items) == colliding


class TestValidity:
    @pytest.mark.parametrize("scope", ["", 5, b"a", ["a"], "\ud800", "x" * 16_385, "é" * 8_193])
    def test_refused(self, mem, scope):
        """An empty scope, one longer than 16 KiB, and what is no text, is refused wherever it is named."""
        with pytest.raises(InvalidScope):
            mem.scoped(scope)
        with pytest.raises(InvalidScope):
            MemoryItem("exact", scope=scope)

    def test_none(self, mem):
        """A handle can't be bound to no scope: a missing session id fails, instead of sharing a pool."""
        with pytest.raises(InvalidScope):
            mem.scoped(None)

    def test_longest(self, mem):
        """A scope may be 16 KiB long."""
        scoped = mem.scoped("é" * 8192)
        scoped.remember("exact")
        assert ranked(scoped.recall("q")) == [("exact", 1)]


class TestIndependence:
    def test_same_text(self, mem):
        """The same text in two scopes is two memories; forgetting one leaves the other."""
        for tier in TIERS:
            first, second = mem.remember([MemoryItem("exact", tier, scope=scope) for scope in "AB"])
            assert first.id == second.id
            assert mem.scoped("A").forget(first.id, tier) == 1
            assert mem.scoped("A").get(first.id, tier) is None
            assert mem.scoped("B").get(first.id, tier).text == "exact"

    def test_no_starvation(self, mem):
        """A thousand nearer memories of others don't push out the only own one."""
        own = [MemoryItem("edge", tier, scope=scope, id="own") for tier in TIERS[1:] for scope in ("own", None)]
        others = [
            MemoryItem("exact", tier, scope=f"other {n % 7}", id=str(n)) for tier in TIERS[1:] for n in range(1000)
        ]
        mem.remember(own + others)
        for tier in TIERS[1:]:
            assert texts(mem.recall("q", k=1, tier=tier)) == ["edge"]
            assert texts(mem.recall("q", k=1, tier=tier, scope="own")) == ["edge"]

    def test_no_other_tier_starves_one(self, mem):
        """A thousand nearer memories of another tier don't push out the only one of the tier that is asked."""
        mem.remember([MemoryItem("exact", "episodic", id=str(number)) for number in range(1000)])
        mem.remember("edge", tier="semantic")
        assert texts(mem.recall("q", k=1, tier="semantic")) == ["edge"]

    @pytest.mark.parametrize("tier", TIERS)
    def test_unscoped_is_a_pool_of_its_own(self, mem, tier):
        """What has no scope is one more pool: it sees no scope's memories, and no scope sees it."""
        mem.remember("exact", tier=tier, id="pool")
        mem.scoped("a").remember("exact", tier=tier, id="own")
        assert [hit.id for hit in mem.recall("q", threshold=-1)] == ["pool"]
        assert [hit.id for hit in mem.scoped("a").recall("q", threshold=-1)] == ["own"]
        assert (mem.count(), mem.scoped("a").count()) == (1, 1)
        assert mem.get("own", tier) is None
        assert mem.scoped("a").get("pool", tier) is None
        assert mem.forget("own", tier) == 0
        assert mem.scoped("a").forget("pool", tier) == 0


class TestBoundHandle:
    def test_items(self, mem):
        """A bound handle writes to its scope, and refuses an item that names another."""
        user = mem.scoped("user:42")
        assert user.scope == "user:42"
        user.remember([MemoryItem("near", scope="user:42"), MemoryItem("exact")])
        assert {hit.scope for hit in user.recall("q")} == {"user:42"}
        with pytest.raises(InvalidScope, match="user:43"):
            user.remember(MemoryItem("near", scope="user:43"))

    def test_no_argument_leads_out(self, mem):
        """No operation of a bound handle takes a scope, and it can't be bound anew."""
        user = mem.scoped("a")
        for operation in ("recall", "clear", "count"):
            with pytest.raises(TypeError):
                getattr(user, operation)("q", scope="b")
        for name in ("scoped", "scopes", "stats"):
            with pytest.raises(AttributeError):
                getattr(user, name)

    @pytest.mark.parametrize("tier", TIERS)
    def test_ids_are_looked_up_inside_the_scope(self, mem, tier):
        """Another scope's id is as unknown as one that exists nowhere, and what stands there stays as it is."""
        mem.scoped("a").remember("exact", tier=tier, id="7", metadata={"a": 1})
        before = mem.scoped("a").get("7", tier)
        for id_ in ("7", "nowhere"):
            assert mem.scoped("b").forget(id_, tier) == 0
            assert mem.scoped("b").get(id_, tier) is None
            with pytest.raises(NotFound):
                mem.scoped("b").update(id_, tier, text="near")
        assert mem.scoped("a").get("7", tier) == before


class TestClearing:
    def fill(self, mem):
        """Five memories in each tier of three scopes and the pool."""
        scopes = ("a", "b", "c", None)
        mem.remember([MemoryItem(f"t{n}", tier, scope=scope) for scope in scopes for tier in TIERS for n in range(5)])

    def everything(self, mem, scope):
        handle = mem if scope is None else mem.scoped(scope)
        return [handle.list(tier).items for tier in TIERS]

    def test_a_scope(self, mem):
        """Clearing a bound handle forgets all of its scope and says how many; the others stay as they are."""
        self.fill(mem)
        before = [self.everything(mem, scope) for scope in ("a", "c", None)]
        assert mem.scoped("b").clear() == 20
        assert self.everything(mem, "b") == [[], [], [], []]
        assert mem.scoped("b").recall("q", threshold=-1) == []
        assert [self.everything(mem, scope) for scope in ("a", "c", None)] == before
        assert mem.scoped("b").clear() == 0

    def test_a_tier_of_a_scope(self, mem):
        """Clearing one tier of a bound handle leaves its other tiers and the other scopes."""
        self.fill(mem)
        assert mem.scoped("a").clear("working") == 5
        assert [len(items) for items in self.everything(mem, "a")] == [0, 5, 5, 5]
        assert [len(items) for items in self.everything(mem, "b")] == [5, 5, 5, 5]

    def test_a_tier_everywhere(self, mem):
        """Clearing a tier on the root handle empties it in every scope, and the pool."""
        self.fill(mem)
        assert mem.clear("procedural") == 20
        for scope in ("a", "b", "c", None):
            assert [len(items) for items in self.everything(mem, scope)] == [5, 5, 5, 0]

    def test_everything(self, mem, open_memory, namespace):
        """Clearing the root handle empties the namespace, and no other one."""
        self.fill(mem)
        other = open_memory(namespace=f"{namespace}-other")
        other.remember("exact")
        assert mem.clear() == 80
        assert mem.scopes().items == []
        assert other.count() == 1

    def test_more_than_one_step(self, mem):
        """Thousands of memories are cleared, with their history and what waits for review."""
        user = mem.scoped("a")
        user.remember([MemoryItem(f"text {n}", id=str(n)) for n in range(2500)])
        user.remember([MemoryItem(f"other {n}", id=str(n)) for n in range(0, 2500, 5)])
        user.remember([MemoryItem("waits", id=str(n), status="candidate") for n in range(2400, 2600)])
        assert user.clear() == 2700
        stats = mem.stats()
        assert (stats.scopes, stats.memories["semantic"]) == (0, 0)
        assert (stats.superseded["semantic"], stats.candidates["semantic"]) == (0, 0)

    def test_unknown_tier(self, mem):
        """An unknown tier is refused by name, and nothing is forgotten."""
        self.fill(mem)
        for handle in (mem, mem.scoped("a")):
            with pytest.raises(UnknownTier, match="nothing"):
                handle.clear("nothing")
        assert mem.scoped("a").count() == 20

    def test_a_tier_that_was_switched_off(self, mem, open_memory):
        """Clearing a scope also forgets what it holds in a tier that is switched off by now."""
        mem.scoped("a").remember([MemoryItem("exact", tier) for tier in TIERS])
        assert open_memory(working=None, episodic=None).scoped("a").clear() == 4
        assert mem.scoped("a").count() == 0


class TestPairsThatNeverMeet:
    @pytest.mark.parametrize(
        ("first", "second"),
        [pair for group in (
            ("user1", "user12"), ("alice", "Alice"), ("a,b", "a"), ("a|b", "a"), ("john-doe", "john_doe", "john doe"),
            ("a", " a", "a ", "a\0"), ("caf\u00e9", "cafe\u0301"), ("a", "+a", "-", "+-"),
        ) for pair in permutations(group, 2)],
    )  # fmt: skip
    @pytest.mark.parametrize("what", ["scope", "id"])
    def test_read_overwrite_delete_and_count(self, mem, first, second, what):
        """Two scopes, and two ids, that differ in anything at all, are told apart in whatever is done."""
        places = [(first, "x"), (second, "x")] if what == "scope" else [("s", first), ("s", second)]
        (own, id_), (other, other_id) = places
        mem.scoped(own).remember("exact", id=id_)
        assert mem.scoped(other).get(other_id, "semantic") is None
        mem.scoped(other).remember("near", id=other_id)
        mem.scoped(other).update(other_id, "semantic", metadata={"a": 1})
        assert mem.scoped(own).get(id_, "semantic").text == "exact"
        assert mem.scoped(own).get(id_, "semantic").metadata == {}
        assert mem.scoped(own).count() + mem.scoped(other).count() == (2 if what == "scope" else 4)
        assert mem.scoped(other).forget(other_id, "semantic") == 1
        assert texts(mem.scoped(own).recall("q")) == ["exact"]
