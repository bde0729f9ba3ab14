"""What stands where: get, list, count, update, forget, scopes and stats."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis
from shorthand import NOON, TIERS, frozen, texts

from tiered_memory import InvalidItem, InvalidQuery, InvalidScope, MemoryItem, NotFound, StoreError, UnknownTier


def pages(call, **given):
    """All items of a listing, page by page, and how many pages that were."""
    items, count, cursor = [], 0, None
    while count == 0 or cursor is not None:
        page = call(cursor=cursor, **given)
        items += page.items
        cursor = page.cursor
        count += 1
    return items, count


class TestGet:
    @pytest.mark.parametrize("tier", TIERS)
    def test_by_id(self, mem, tier):
        """What stands at an id comes back with its defaults; nothing stands elsewhere."""
        with frozen():
            mem.remember("exact", tier=tier, id="x")
            found = mem.get("x", tier)
        assert (found.text, found.metadata, found.scope, found.source) == ("exact", {}, None, None)
        assert (found.confidence, found.importance, found.expires_at) == (0.5, 0.5, None)
        assert found.at == found.created_at == found.updated_at == NOON
        assert mem.get("y", tier) is None
        assert [other for other in TIERS if mem.get("x", other)] == [tier]

    @pytest.mark.parametrize("id_", ["", 5, None, "\ud800"])
    def test_no_id(self, mem, id_):
        """What is no id is refused, by each operation that takes one."""
        for call in (mem.get, mem.forget, mem.update):
            with pytest.raises(InvalidItem, match="id"):
                call(id_, "semantic")


class TestList:
    @pytest.mark.parametrize("tier", TIERS)
    def test_complete(self, open_memory, tier):
        """Page by page, every memory is listed once, in the order in which the ids were first remembered."""
        mem = open_memory(working={"max_items": 2000})
        ids = [f"{number * 7919 % 1234:04}" for number in range(1234)]
        mem.remember([MemoryItem("exact", tier, id=id_) for id_ in ids])
        mem.remember([MemoryItem("near", tier, id=id_) for id_ in ids[:100]])
        listed, count = pages(lambda **given: mem.list(tier, **given))
        assert [memory.id for memory in listed] == ids
        assert count == 13
        assert mem.count(tier) == 1234
        assert pages(lambda **given: mem.list(tier, **given), limit=2000) == (listed, 1)

    @pytest.mark.parametrize("tier", TIERS)
    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
    def test_no_page_too_many(self, mem, tier, limit):
        """The last page says so: no empty page follows it."""
        mem.remember(list("abcd"), tier=tier)
        listed, count = pages(lambda **given: mem.list(tier, **given), limit=limit)
        assert texts(listed) == list("abcd")
        assert count == -(-4 // limit)

    def test_changes_in_between(self, mem):
        """What is forgotten or added between two pages neither repeats nor hides what stays."""
        mem.remember(list("abcdef"))
        first = mem.list("semantic", limit=3)
        mem.forget(first.items[1].id, "semantic")
        mem.remember("g")
        second = mem.list("semantic", limit=10, cursor=first.cursor)
        assert texts(second.items) == list("defg")

    def test_expired(self, mem):
        """Pages are full, also when what expired lies between."""
        with frozen() as time:
            mem.remember([MemoryItem(f"t{n}", ttl=60 if n % 3 else None) for n in range(30)])
            time.tick(60)
            page = mem.list("semantic", limit=5)
            assert texts(page.items) == ["t0", "t3", "t6", "t9", "t12"]
            assert texts(mem.list("semantic", limit=5, cursor=page.cursor).items) == ["t15", "t18", "t21", "t24", "t27"]

    @pytest.mark.parametrize("limit", [0, -1, 1.5, None, "5", True])
    def test_limit_refused(self, mem, limit):
        """A limit below one, or that is no whole number, is refused with its value."""
        for call in (lambda: mem.list("semantic", limit=limit), lambda: mem.scopes(limit=limit)):
            with pytest.raises(InvalidQuery, match=f"limit={limit!r}"):
                call()

    @pytest.mark.parametrize("cursor", ["", "x", "-1", 5, "1.5", "٣", "inf"])
    def test_cursor_refused(self, mem, cursor):
        """A cursor that no page gave is refused."""
        mem.remember("exact")
        for call in (lambda: mem.list("semantic", cursor=cursor), lambda: mem.scopes(cursor=cursor)):
            with pytest.raises(InvalidQuery, match="cursor"):
                call()


class TestCount:
    def test_by_tier_and_in_all(self, mem):
        """The active memories of a tier, or of all tiers, are counted; history and candidates aren't."""
        for number, tier in enumerate(TIERS, 1):
            mem.remember([MemoryItem("exact", tier, id=str(n)) for n in range(number)])
        mem.remember("near", tier="semantic", id="0")
        mem.remember(MemoryItem("near", "semantic", id="7", status="candidate"))
        assert [mem.count(tier) for tier in TIERS] == [1, 2, 3, 4]
        assert mem.count() == 10
        assert mem.scoped("a").count() == 0

    def test_unknown(self, mem):
        """An unknown tier is refused by its name."""
        with pytest.raises(UnknownTier, match="nothing"):
            mem.count("nothing")


class TestUpdate:
    @pytest.mark.parametrize("tier", TIERS)
    def test_the_text_alone(self, mem, tier):
        """A new text leaves metadata, times, uses and weights, and is what is found from then on."""
        with frozen() as time:
            item = MemoryItem(
                "near", tier, id="x", metadata={"a": 1, "b": 2}, confidence=0.9, importance=0.1, source="u"
            )
            mem.remember([item, item])
            before = mem.get("x", tier)
            time.tick(60)
            outcome = mem.update("x", tier, text="exact")
            after = mem.get("x", tier)
            assert texts(mem.recall("q")) == ["exact"]
        kept = ("metadata", "at", "created_at", "uses", "confidence", "importance", "source", "expires_at", "id")
        assert {name: getattr(before, name) for name in kept} == {name: getattr(after, name) for name in kept}
        assert (after.text, after.updated_at) == ("exact", NOON + timedelta(seconds=60))
        assert (outcome.id, outcome.tier, outcome.scope) == ("x", tier, None)

    @pytest.mark.parametrize("tier", TIERS)
    def test_metadata_is_merged(self, mem, tier):
        """Metadata is merged by name, and None removes a name."""
        mem.remember("exact", tier=tier, id="x", metadata={"a": 1, "b": 2})
        mem.update("x", tier, text="near")
        assert mem.get("x", tier).metadata == {"a": 1, "b": 2}
        mem.update("x", tier, metadata={"b": 3})
        assert mem.get("x", tier).metadata == {"a": 1, "b": 3}
        mem.update("x", tier, metadata={"a": None, "c": {"d": None}})
        assert mem.get("x", tier).metadata == {"b": 3, "c": {"d": None}}

    @pytest.mark.parametrize("tier", TIERS)
    def test_values(self, mem, tier):
        """Each value can be changed by itself."""
        mem.remember("exact", tier=tier, id="x", metadata={"a": 1})
        for name, value in {"confidence": 0.9, "importance": 0, "source": "user", "at": NOON}.items():
            before = mem.get("x", tier)
            assert mem.update("x", tier, **{name: value}).outcome == "updated"
            after = mem.get("x", tier)
            assert getattr(after, name) == value
            assert (after.text, after.metadata, after.uses) == (before.text, before.metadata, 1)

    def test_a_new_time_is_ranked_by(self, mem):
        """An event whose time is changed is ranked by its new time."""
        with frozen():
            mem.remember("exact", tier="episodic", id="x")
            mem.update("x", "episodic", at=NOON - timedelta(days=7))
            assert [hit.score for hit in mem.recall("q")] == [0.85]

    def test_embedded_only_when_the_text_is_new(self, mem, embedder):
        """The embedder is called for a new text, and for nothing else."""
        mem.remember("exact", id="x")
        mem.update("x", "semantic", metadata={"a": 1}, text="exact")
        mem.update("x", "semantic", text="near")
        assert embedder.calls == [["exact"], ["near"]]

    @pytest.mark.parametrize("tier", TIERS)
    def test_nothing_there(self, mem, tier):
        """An update of what isn't there is refused, and nothing is written."""
        with pytest.raises(NotFound, match="'x'"):
            mem.update("x", tier, text="near")
        assert mem.count() == 0

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("text", " "),
            ("text", 5),
            ("metadata", [1]),
            ("metadata", {"a": float("nan")}),
            ("metadata", {1: 2}),
            ("confidence", 2),
            ("importance", float("nan")),
            ("source", ""),
            ("at", NOON.replace(tzinfo=None)),
            ("ttl", 0),
            ("ttl", True),
        ],
    )
    @pytest.mark.parametrize("tier", ["working", "semantic"])
    def test_bad_values(self, mem, tier, name, value):
        """A value out of its range is refused as an invalid input that names it, and nothing changes."""
        mem.remember("exact", tier=tier, id="x", metadata={"a": 1})
        before = mem.get("x", tier)
        with pytest.raises(ValueError, match=name):
            mem.update("x", tier, **{name: value})
        assert mem.get("x", tier) == before


class TestForget:
    @pytest.mark.parametrize("tier", TIERS)
    def test_every_copy(self, mem, redis_url, namespace, tier):
        """What is forgotten is found by no read, and its text lies nowhere in the store, its history included."""
        mem.remember("unmistakable one", tier=tier, id="x", metadata={"m": "unmistakable"})
        mem.remember("unmistakable two", tier=tier, id="x")
        mem.remember("exact", tier=tier, id="y")
        assert mem.forget("x", tier) == 1
        assert "x" not in [hit.id for hit in mem.recall("unmistakable two", threshold=-1)]
        assert [memory.id for memory in mem.list(tier).items] == ["y"]
        assert mem.get("x", tier) is None
        assert mem.count() == 1
        with Redis.from_url(redis_url) as client:
            for key in client.scan_iter(f"{{{namespace}:*", count=1000):
                assert b"unmistakable" not in key + client.dump(key)
        assert mem.forget("x", tier) == 0

    def test_candidates_go_too(self, mem):
        """What waits for review at an id is forgotten with it, and counted."""
        mem.remember("exact", id="x")
        mem.remember([MemoryItem(text, id="x", status="candidate") for text in ("near", "far")])
        assert mem.forget("x", "semantic") == 3
        assert mem.stats().candidates["semantic"] == 0

    def test_nothing_is_left(self, mem, redis_url, namespace):
        """When all is forgotten, only what the namespace itself needs is left in Redis."""
        ids = [(each.id, each.tier) for each in mem.remember([MemoryItem(t, tier) for tier in TIERS for t in "ab"])]
        assert [mem.forget(*each) for each in ids] == [1] * 8
        with Redis.from_url(redis_url) as client:
            left = {key.rpartition(b":")[2] for key in client.scan_iter(f"{{{namespace}:*", count=1000)}
        assert left <= {b"meta", b"sequence", b"counts"}


class TestScopes:
    def test_those_that_hold_something(self, mem):
        """Every scope that holds a memory is listed once, and the pool is None; what is emptied isn't listed."""
        scopes = [f"s{number}" for number in range(25)] + [None]
        mem.remember([MemoryItem(text, scope=scope) for scope in scopes for text in "ab"])
        assert set(mem.scopes().items) == set(scopes)
        mem.scoped("s3").clear()
        mem.scoped("s4").clear("working")
        for each in mem.scoped("s5").list("semantic").items:
            mem.scoped("s5").forget(each.id, "semantic")
        assert set(mem.scopes().items) == set(scopes) - {"s3", "s5"}

    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    def test_pages(self, mem, limit):
        """Page by page, every scope is listed once, whatever its characters."""
        scopes = ["a", "a:b", "1:a", "\0", "\n", "(", "[", "-", "+", "é", "A", None]
        mem.remember([MemoryItem("exact", scope=scope) for scope in scopes])
        listed, count = pages(mem.scopes, limit=limit)
        assert len(listed) == len(set(listed))
        assert set(listed) == set(scopes)
        assert count <= -(-len(scopes) // limit) + 1

    def test_expired(self, mem):
        """A scope in which everything has expired holds nothing, and isn't counted once that was noticed."""
        with frozen() as time:
            mem.scoped("brief").remember([MemoryItem("exact", tier, ttl=60) for tier in TIERS])
            mem.scoped("stays").remember("exact")
            time.tick(61)
            assert mem.stats().scopes == 1
            assert mem.scopes().items == ["stays"]


class TestStats:
    def test_numbers(self, mem, namespace):
        """A namespace says what it is and what it holds, by tier and status."""
        mem.remember([MemoryItem(text, tier, scope=scope) for text in "ab" for tier in TIERS for scope in "xyz"])
        mem.remember("exact", id="i")
        mem.remember("near", id="i")
        mem.remember(MemoryItem("far", id="i", status="candidate"))
        stats = mem.stats()
        assert (stats.namespace, stats.embedder, stats.dimensions, stats.partitions) == (namespace, "table", 3, 1)
        assert stats.scopes == 4
        assert stats.memories == {"working": 6, "semantic": 7, "episodic": 6, "procedural": 6}
        assert stats.candidates == {"working": 0, "semantic": 1, "episodic": 0, "procedural": 0}
        assert stats.superseded == {"working": 0, "semantic": 1, "episodic": 0, "procedural": 0}

    def test_expired(self, mem):
        """What has expired isn't counted."""
        with frozen() as time:
            mem.remember([MemoryItem(f"t{n}", tier, ttl=60) for n in range(250) for tier in TIERS])
            mem.remember(["exact", "near"])
            time.tick(61)
            assert mem.stats().memories == {"working": 0, "semantic": 2, "episodic": 0, "procedural": 0}


class TestPartitions:
    @pytest.fixture
    def mem(self, open_memory):
        """A namespace in four partitions of one server."""
        return open_memory(partitions=4)

    def test_as_with_one(self, mem):
        """Scopes in several partitions are written by one call, recalled, listed, counted and cleared as in one."""
        scopes = [f"s{number}" for number in range(20)] + [None]
        outcomes = mem.remember([MemoryItem("exact", tier, scope=s) for s in scopes for tier in TIERS])
        assert [each.scope for each in outcomes[::4]] == scopes
        assert len(mem.recall("q", k=100, scope=scopes)) == 84
        assert len(mem.recall("q", scope="s7")) == 4
        listed, _ = pages(mem.scopes, limit=3)
        assert len(listed) == 21
        assert set(listed) == set(scopes)
        assert mem.stats().partitions == 4
        assert mem.stats().scopes == 21
        assert mem.stats().memories == dict.fromkeys(TIERS, 21)
        assert mem.clear("episodic") == 21
        assert mem.scoped("s3").clear() == 3
        assert mem.clear() == 60
        assert mem.stats().scopes == 0

    def test_fixed(self, mem, open_memory):
        """The number of partitions is fixed when the namespace is made: another one is refused."""
        mem.remember("exact")
        with pytest.raises(StoreError, match="partitions 4"):
            open_memory(partitions=2).recall("q")
        assert texts(mem.recall("q")) == ["exact"]

    def test_scope_is_checked(self, mem):
        """A scope is refused here as anywhere."""
        with pytest.raises(InvalidScope):
            mem.scoped("")
