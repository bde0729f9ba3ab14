"""Surfacing: recalls mark what they have shown, neither waiting for it nor failing with it."""

from __future__ import annotations

import pytest
from claims import claim, fact
from embedders_for_tests import TableEmbedder
from redis import Redis
from servers import redis_server
from shorthand import DAY, NOON, frozen, texts

from tiered_memory import InvalidItem, UnknownTier, scope

SEARCHED = ("semantic", "episodic", "procedural")


def marks(handle, id="x", tier="semantic"):
    """How often a memory was surfaced, and when last."""
    found = handle.get(id, tier)
    return found.surfaced, found.surfaced_at


class TestRecall:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_marks_what_it_shows(self, mem, tier):
        """A recall counts and dates each of its hits, and nothing else; the same handle sees it at once."""
        mem.remember([fact("exact", tier=tier), fact("orth", id="y", tier=tier)])
        with frozen() as clock:
            mem.recall("q", k=1)
            assert marks(mem, tier=tier) == (1, NOON)
            clock.tick(DAY)
            mem.recall("q", k=1)
        assert marks(mem, tier=tier) == (2, NOON + DAY)
        assert marks(mem, "y", tier) == (0, None)

    def test_on_a_server_that_knows_no_script(self, mem, redis_url):
        """The marks of the very first recall are seen at once too."""
        mem.remember(fact("exact"))
        mem.get("x", "semantic")
        with Redis.from_url(redis_url) as client:
            client.script_flush()
            mem.get("x", "semantic")
        mem.recall("q")
        assert marks(mem)[0] == 1

    def test_after_ranking(self, mem):
        """Marks change nothing about the order or the scores of the next recall."""
        mem.remember([fact(text, id=text, tier=tier) for text in ("exact", "near") for tier in SEARCHED])
        with frozen():
            before = mem.recall("q", k=10)
            for _ in range(3):
                mem.recall("q", k=1)
            assert mem.recall("q", k=10) == before

    def test_another_handle_sees_them(self, mem, open_memory):
        """What one handle was shown is known to the others when it is closed, at the latest."""
        other = open_memory()
        other.remember(fact("exact"))
        mem.recall("q")
        mem.close()
        assert marks(other)[0] == 1

    def test_of_several_scopes(self, mem):
        """A recall over several scopes marks each hit in its own."""
        mem.remember([fact("exact", scope=scope) for scope in ("a", "b", "c")])
        mem.recall("q", scope=("a", "b"))
        assert [marks(mem.scoped(each))[0] for each in "abc"] == [1, 1, 0]

    def test_of_nothing(self, mem):
        """A recall of another time, or without a hit, marks nothing."""
        with frozen():
            mem.remember(fact("exact"))
            assert texts(mem.recall("q", as_of=NOON)) == ["exact"]
            assert mem.recall("q", k=0) == mem.recall("orth") == []
        assert marks(mem) == (0, None)

    def test_of_superseded_ones(self, mem):
        """A superseded hit isn't marked: what it showed was how it used to be."""
        mem.remember([fact("exact"), fact("orth")])
        assert texts(mem.recall("q", include_superseded=True)) == ["exact"]
        assert [each.surfaced for each in mem.history("x", "semantic")] == [0, 0]

    def test_many(self, mem):
        """However many recalls go before the next other call, each is counted."""
        mem.remember(fact("exact"))
        for _ in range(450):
            mem.recall("q")
        assert marks(mem)[0] == 450


class TestLife:
    def test_history_keeps_them(self, mem):
        """What is superseded keeps its marks, and its successor begins anew."""
        with frozen():
            mem.remember(fact("exact"))
            mem.recall("q")
            mem.remember(fact("near"))
            newer, older = mem.history("x", "semantic")
        assert (newer.surfaced, newer.surfaced_at) == (0, None)
        assert (older.surfaced, older.surfaced_at) == (1, NOON)

    def test_reaffirming_keeps_them(self, mem):
        """The same text again, and an update of other values, keep the marks."""
        mem.remember(fact("exact"))
        mem.recall("q")
        mem.remember(fact("exact"))
        mem.update("x", "semantic", importance=1)
        assert marks(mem)[0] == 1

    def test_forgetting_drops_them(self, mem):
        """What is remembered at an id that was forgotten has no marks."""
        mem.remember(fact("exact"))
        mem.recall("q")
        mem.forget("x", "semantic")
        mem.remember(fact("exact"))
        assert marks(mem) == (0, None)
        assert mem.memory_stats().never_surfaced == 1


class TestByHand:
    def test_marks(self, mem):
        """Marking counts and dates what is named; no ids and unknown ids are passed over."""
        mem.remember([fact("exact"), fact("near", id="y")])
        with frozen():
            assert mem.mark_surfaced([], "semantic") is None
            assert mem.mark_surfaced(["nowhere"], "semantic") is None
            assert (marks(mem), marks(mem, "y")) == ((0, None), (0, None))
            mem.mark_surfaced(["nowhere", "x"], "semantic")
            assert (marks(mem), marks(mem, "y")) == ((1, NOON), (0, None))

    def test_leaves_the_rest(self, mem):
        """Marking changes nothing else, its time of change included."""
        mem.remember(fact("exact"))
        before = mem.get("x", "semantic")
        mem.mark_surfaced(["x"], "semantic")
        after = mem.get("x", "semantic")
        before.surfaced, before.surfaced_at = after.surfaced, after.surfaced_at
        assert after == before

    def test_of_what_is_not_active(self, mem):
        """A candidate is not marked."""
        mem.remember(claim("exact"))
        mem.mark_surfaced(["x"], "semantic")
        assert mem.history("x", "semantic")[0].surfaced == 0

    def test_only_its_scope(self, mem):
        """Only the handle's own scope is marked."""
        mem.remember([fact("exact"), fact("exact", scope="a")])
        mem.scoped("a").mark_surfaced(["x"], "semantic")
        assert [marks(handle)[0] for handle in (mem, mem.scoped("a"))] == [0, 1]

    def test_bad_ids(self, mem):
        """An empty id, and a tier whose notes aren't marked, are refused."""
        with pytest.raises(InvalidItem, match="id"):
            mem.mark_surfaced([""], "semantic")
        with pytest.raises(UnknownTier, match="working"):
            mem.mark_surfaced(["x"], "working")


class TestFailing:
    @pytest.mark.parametrize("kind", ["surfaced", "surfaced_at", "retention"])
    def test_a_recall_never_does(self, mem, redis_url, namespace, kind):
        """Where marking isn't possible, a recall answers as ever, and so does what follows it."""
        mem.remember(fact("exact"))
        with Redis.from_url(redis_url) as client:
            key = f"{{{namespace}:0}}:{kind}:{scope.digest(None, 'semantic')}"
            client.delete(key)
            client.set(key, "of another type")
        assert texts(mem.recall("q")) == texts(mem.recall("q")) == ["exact"]
        assert (mem.count(), texts(mem.list("episodic").items)) == (1, [])

    def test_nor_without_writes(self, open_memory, mode):
        """On a server that takes no writes any more, recalls still answer."""
        with redis_server("--maxmemory", "500mb") as url, Redis.from_url(url) as client:
            mem = open_memory(url=url, embedder=TableEmbedder())
            mem.remember(fact("exact"))
            client.config_set("maxmemory", 1)
            for _ in range(3):
                assert texts(mem.recall("q")) == ["exact"]
            assert mem.count() == 1
            mem.close()
