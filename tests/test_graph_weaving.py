"""The graph follows its memories: whatever becomes of them, facts are closed and gone when they are."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariants import check_invariants
from processes import run_together
from redis import Redis
from shorthand import DAY, NOON, frozen, texts

from tiered_memory import MemoryItem, UnknownTier, memory
from tiered_memory.config import EpisodicConfig, GraphConfig, SemanticConfig
from tiered_memory.engine.keys import Keyspace
from tiered_memory.graph import EntityRef, IndexEntry, stored

SEVEN, EIGHT = EntityRef("Ticket", "TICKET-7"), EntityRef("Ticket", "TICKET-8")
ANA = EntityRef("person", "Ana")
SECOND = timedelta(seconds=1)


class Letters:
    """Finds the words of one letter in a text."""

    def extract(self, text, hints=()):
        return list(dict.fromkeys([*hints, *(EntityRef("x", word) for word in text.split() if len(word) == 1)]))


@pytest.fixture
def mem(open_memory):
    return open_memory(graph=GraphConfig(), mode="hybrid")


class TestTiers:
    def test_one_id_in_two(self, handle):
        """Memories of one id in two tiers have facts of their own: superseding one leaves the other's."""
        handle.remember([MemoryItem("TICKET-7 is ours", id="x"), MemoryItem("TICKET-7 broke", "episodic", id="x")])
        assert handle.graph.frequencies() == {SEVEN: 2}
        handle.remember("TICKET-8 is ours", id="x")
        assert [(fact.tier, fact.valid_to is None) for fact in handle.graph.facts("x")] == [
            ("semantic", True), ("episodic", True), ("semantic", False),
        ]  # fmt: skip
        assert handle.graph.neighbors([SEVEN]) == handle.graph.neighbors([EIGHT]) == ["x"]
        handle.clear("episodic")
        assert handle.graph.neighbors([SEVEN]) == []

    def test_each_once(self, handle):
        """An id is found once, with one path a mention, however many memories of it state the same."""
        tiers = ("semantic", "episodic", "procedural")
        handle.remember([MemoryItem("TICKET-7 is ours", tier, id="x") for tier in tiers])
        handle.remember([MemoryItem(f"TICKET-7 is in case {n}", id=f"y{n}") for n in range(4)])
        assert handle.graph.neighbors([SEVEN], limit=3) == handle.graph.neighbors([SEVEN])[:3]
        assert len(handle.graph.neighbors([SEVEN])) == 5
        assert len(handle.graph.paths([SEVEN])) == 5

    def test_recalled(self, handle):
        """A recall goes by what each of them mentions, not by what the other does."""
        for text, tier, entity in (("owned by them", "semantic", SEVEN), ("broken by them", "episodic", EIGHT)):
            handle.remember(MemoryItem(text, tier, id="x", metadata={"entities": [str(entity)]}))
        assert texts(handle.recall("What about TICKET-7?")) == ["owned by them"]
        for entity, first in ((SEVEN, "owned by them"), (EIGHT, "broken by them")):
            question = f"owned or broken by them: {entity.name.upper()}"
            hits = handle.recall(question, graph="boost")
            assert ([hit.text for hit in hits if "graph" in hit.why], len(hits)) == ([first], 2)
            assert texts(handle.recall(question, graph="filter"))[0] == first


class TestGone:
    def test_at_a_bound(self, open_memory, redis_url, namespace):
        """What gives way at a tier's bound leaves the graph."""
        handle = open_memory(graph={}, semantic=SemanticConfig(max_items=2)).scoped("s")
        for n in (7, 8, 9):
            handle.remember(f"TICKET-{n} is ours", id=str(n))
        assert handle.graph.neighbors([SEVEN]) == []
        assert len(handle.graph.frequencies()) == 2
        with Redis.from_url(redis_url) as client:
            check_invariants(client, namespace)

    @pytest.mark.parametrize("refreshed", [False, True])
    def test_expired(self, handle, refreshed, redis_url, namespace):
        """A memory and all that the graph has of it expire together, also when it was updated meanwhile."""
        with frozen() as time:
            handle.remember(MemoryItem("Ana has TICKET-7", id="x", ttl=2, metadata={"entities": [str(ANA)]}))
            handle.remember("TICKET-8 is ours", id="y")
            time.tick(SECOND)
            if refreshed:
                handle.update("x", "semantic", importance=0.9)
                handle.update("x", "semantic", text="Ana had TICKET-7")
            assert handle.graph.neighbors([ANA]) == ["x"]
            assert handle.recall_traced("Who has TICKET-7?").paths != ()
            time.tick(1.5 * SECOND)
            assert handle.recall_traced("Who has TICKET-7?").paths == ()
            for read in (handle.graph.neighbors, handle.graph.paths):
                assert read([ANA]) == read([SEVEN], as_of=NOON) == []
            assert handle.graph.facts("x") == []
            assert (handle.graph.frequencies(), handle.graph.view().nodes) == ({EIGHT: 1}, ("y", EIGHT))
        with Redis.from_url(redis_url) as client:
            assert not [key for key in client.scan_iter() if b"ana" in key]
            check_invariants(client, namespace)

    def test_many_expired(self, handle):
        """However many have expired, none is seen."""
        with frozen() as time:
            handle.remember([MemoryItem(f"case {n} of TICKET-7", id=str(n), ttl=2) for n in range(350)])
            time.tick(DAY)
            assert handle.graph.frequencies() == {}

    def test_history(self, handle):
        """Dropping history drops its facts."""
        for n in (7, 8, 9):
            handle.remember(f"TICKET-{n} is ours", id="x")
        assert len(handle.graph.facts("x")) == 3
        assert handle.prune_history(keep=1) == 1
        assert [fact.text for fact in handle.graph.facts("x")] == ["TICKET-9 is ours", "TICKET-8 is ours"]
        assert SEVEN not in handle.graph.frequencies()

    @pytest.mark.parametrize("kind", ["facts", "recorded", "entities", "chains"])
    @pytest.mark.parametrize("how", ["id", "tier", "all tiers", "history"])
    def test_beside_a_broken_graph(self, mem, handle, redis_url, namespace, kind, how):
        """A graph that can't be changed keeps nothing from being forgotten, in one scope or all."""
        handle.remember("TICKET-7 is ours", id="x")
        handle.remember("TICKET-8 is ours", id="x")
        with Redis.from_url(redis_url) as client:
            key = Keyspace(namespace, 1, "vector").of("s").key(kind, "graph")
            client.delete(key)
            client.set(key, "x")
        forget = {
            "id": lambda: handle.forget("x", "semantic"),
            "tier": lambda: handle.clear("semantic"),
            "all tiers": lambda: mem.clear("semantic"),
            "history": handle.prune_history,
        }
        assert forget[how]() == 1
        assert len(handle.history("x", "semantic")) == (1 if how == "history" else 0)


class TestByHand:
    def test_with_a_tier(self, handle):
        """A fact that is indexed for a memory of a tier is the memory's: closed and gone with it."""
        handle.remember("Rui is ill", id="x")
        assert handle.graph.index("x", [ANA], tier="semantic") is True
        (fact,) = handle.graph.facts("x")
        assert (fact.tier, fact.text, fact.entities) == ("semantic", "Rui is ill", (ANA,))
        handle.remember("Rui is well", id="x")
        assert handle.graph.neighbors([ANA]) == []
        handle.forget("x", "semantic")
        assert handle.graph.facts("x") == []

    def test_without_one(self, handle):
        """A fact of one's own stays whatever becomes of memories of that id."""
        handle.remember("Rui is ill", id="x")
        handle.graph.index("x", [ANA], "my own")
        handle.forget("x", "semantic")
        assert [(fact.tier, fact.text) for fact in handle.graph.facts("x")] == [(None, "my own")]
        assert handle.graph.forget("x") == 1

    def test_without_a_memory(self, handle):
        """Where the tier has no such memory, or it says something else, nothing is indexed."""
        handle.remember("Rui is ill", id="x")
        assert handle.graph.index("y", [ANA], tier="semantic") is False
        assert handle.graph.index("x", [ANA], tier="episodic") is False
        assert handle.graph.index("x", [ANA], "Rui is well", tier="semantic") is False
        entries = [IndexEntry("x", [ANA], tier="semantic"), IndexEntry("y", [ANA], tier="semantic")]
        assert handle.graph.index_many(entries) == 1
        assert handle.graph.frequencies() == {ANA: 1}

    @pytest.mark.parametrize("tier", ["working", "odd", "", 3])
    def test_a_tier_that_is_none(self, handle, tier):
        """A tier that doesn't exist, or keeps notes, is refused before anything is written."""
        with pytest.raises(UnknownTier):
            handle.graph.index_many([IndexEntry("a", [ANA]), IndexEntry("x", [ANA], tier=tier)])
        assert handle.graph.frequencies() == {}

    def test_closed(self, handle):
        """The fact of a memory that was closed by hand stays closed until the memory says something else."""
        handle.remember("TICKET-7 is ours", id="x")
        assert handle.graph.close("x") is True
        handle.remember("TICKET-7 is ours", id="x")
        assert (handle.graph.neighbors([SEVEN]), len(handle.graph.facts("x"))) == ([], 1)
        handle.remember("TICKET-7 is theirs", id="x")
        assert handle.graph.neighbors([SEVEN]) == ["x"]

    def test_forgotten(self, handle):
        """Forgetting an id in the graph leaves its memory, which is indexed again when it is affirmed."""
        handle.remember("TICKET-7 is ours", id="x")
        assert handle.graph.forget("x") == 1
        assert handle.get("x", "semantic") is not None
        handle.remember("TICKET-7 is ours", id="x")
        assert handle.graph.neighbors([SEVEN]) == ["x"]

    def test_cleared(self, handle, redis_url, namespace):
        """So does clearing the graph; forgetting the memory afterwards leaves no key."""
        handle.remember("TICKET-7 is ours", id="x")
        assert handle.graph.clear() == 1
        handle.remember("TICKET-8 is ours", id="x")
        assert handle.graph.frequencies() == {EIGHT: 1}
        handle.forget("x", "semantic")
        with Redis.from_url(redis_url) as client:
            assert not [key for key in client.scan_iter() if b"woven" in key or b"facts" in key]


class TestLate:
    """Two may say something else at one id, and index it in any order."""

    def test_superseded_meanwhile(self, redis_url, namespace, embedder):
        """What was superseded before it was indexed is closed as of then, and hides nothing of what stands there."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem, frozen() as time:
            mem.remember("old", id="x")
            time.tick(DAY)
            mem.remember("new", id="x")
            mem.graph.index("x", [EIGHT], "new", tier="semantic")
            time.tick(DAY)
            assert mem.graph.index("x", [SEVEN], "old", NOON, tier="semantic") is True
            new, old = mem.graph.facts("x")
            assert (new.text, new.valid_to, old.text, old.valid_to) == ("new", None, "old", NOON + DAY)
            assert (mem.graph.neighbors([SEVEN]), mem.graph.neighbors([EIGHT])) == ([], ["x"])
            assert mem.graph.neighbors([SEVEN], as_of=NOON) == ["x"]
        with Redis.from_url(redis_url) as client:
            check_invariants(client, namespace)

    def test_no_gap(self, handle):
        """What supersedes another holds from the moment on at which that ceases to, however long indexing takes."""
        for n in (7, 8, 9):
            handle.remember(f"TICKET-{n} is ours", id="x")
        facts = handle.graph.facts("x")
        assert [fact.valid_to for fact in facts[1:]] == [fact.valid_from for fact in facts[:-1]]

    def test_processes(self, redis_url, namespace, embedder):
        """Whoever indexes last, what stands at an id is what the graph has open."""
        run_together("supersede_and_index", 4, redis_url, namespace)
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            for id in "pq":
                facts = mem.graph.facts(id)
                standing = mem.get(id, "semantic")
                assert [fact.text for fact in facts if fact.valid_to is None] == [standing.text]
                assert [fact.valid_to for fact in facts] == [each.superseded_at for each in mem.history(id, "semantic")]
        with Redis.from_url(redis_url) as client:
            check_invariants(client, namespace)


WORDS = ("a", "b", "a b", "b c", "nothing")
TIERS = ("semantic", "episodic")
ids, said, tiers = st.sampled_from("pqr"), st.sampled_from(WORDS), st.sampled_from(TIERS)
steps = st.one_of(
    st.tuples(st.just("remember"), ids, tiers, said, st.sampled_from(["active", "active", "candidate"])),
    st.tuples(st.just("expiring"), ids, tiers, said),
    st.tuples(st.just("update"), ids, tiers, said),
    st.tuples(st.just("promote"), ids, tiers),
    st.tuples(st.just("reject"), ids, tiers),
    st.tuples(st.just("forget"), ids, tiers),
    st.tuples(st.just("prune"), tiers, st.integers(0, 1)),
    st.tuples(st.just("clear"), tiers),
    st.tuples(st.just("wait"), st.sampled_from([1, 5])),
)


def do(mem, clock, kind, *given):
    """One step; ids at which nothing stands are passed over."""
    if kind in ("remember", "expiring"):
        id, tier, text, *status = given
        how = {"status": status[0]} if status else {"ttl": 3}
        mem.remember(MemoryItem(text, tier, id=id, **how))
    elif kind == "update":
        if mem.get(given[0], given[1]) is not None:
            mem.update(given[0], given[1], text=given[2])
    elif kind in ("promote", "reject"):
        if any(each.status == "candidate" for each in mem.history(*given)):
            getattr(mem.review, kind)(*given)
    elif kind == "prune":
        mem.prune_history(tier=given[0], keep=given[1])
    elif kind == "wait":
        clock.tick(given[0] * SECOND)
    else:
        getattr(mem, kind)(*given)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(steps, max_size=30))
def test_any_life(redis_url, namespace, embedder, steps):
    """After any life of memories, the graph has a fact for each that stands or stood and mentions something."""
    config = {"semantic": SemanticConfig(max_items=2), "episodic": EpisodicConfig(max_items=2)}
    graph = GraphConfig(extractor=Letters())
    with frozen() as clock, memory(redis_url, namespace=namespace, embedder=embedder, graph=graph, **config) as mem:
        mem.clear()
        for kind, *given in steps:
            do(mem, clock, kind, *given)
            clock.tick(SECOND / 10)
        expected = [
            (id, tier, each.text, tuple(Letters().extract(each.text)), each.superseded_at)
            for tier in TIERS
            for id in "pqr"
            for each in mem.history(id, tier)
            if each.status != "candidate" and each.text != "nothing"
        ]
        found = [(f.memory_id, f.tier, f.text, f.entities, f.valid_to) for id in "pqr" for f in mem.graph.facts(id)]
        assert Counter(found) == Counter(expected)
        assert mem.graph.frequencies() == Counter(entity for *_, entities, _ in expected for entity in entities)
        pairs = Counter(pair for *_, entities, _ in expected for pair in combinations(sorted(entities), 2))
        view = mem.graph.view(as_of=None)
        counts = {(edge.source, edge.target): edge.count for edge in view.edges if edge.kind == "co-occurrence"}
        assert counts == {pair: pairs[pair] for pair in counts}
        open_ = {(id, entity) for id, _, _, entities, ended in expected if ended is None for entity in entities}
        assert {(edge.target, edge.source) for edge in view.edges if edge.kind == "mention"} == open_
        with Redis.from_url(redis_url) as client:
            check_invariants(client, namespace)


def test_stored_is_bounded(mem):
    """A batch of any size is indexed for memories in steps, each of them bounded."""
    mem.remember([MemoryItem(f"TICKET-7 and case {n}", id=str(n)) for n in range(1234)])
    assert mem.graph.frequencies()[SEVEN] == 1234
    assert stored.READ == 1000
