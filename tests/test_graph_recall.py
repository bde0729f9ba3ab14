"""Recall with the graph: boosted or filtered by what a question is about, among given ids, and traced."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import partial

import pytest
from redis import Redis
from shorthand import TIERS, texts
from stores import commands_of

from tiered_memory import ConfigError, EmbedderMismatch, InvalidItem, InvalidQuery, MemoryItem
from tiered_memory.config import GraphConfig
from tiered_memory.graph import EntityRef, FixedExtractor
from tiered_memory.items import Hits

SEARCHED = TIERS[1:]
SEVEN, HUB, RARE, SIBLING = (EntityRef("Ticket", f"TICKET-{name}") for name in (7, 1, 2, 3))
QUESTION = "who has TICKET-7?"


def about(*entities):
    """Metadata that names entities."""
    return {"entities": [str(each) for each in entities]}


@pytest.fixture
def far(embedder):
    """Makes texts that share neither words nor similarity with any question of these tests."""
    embedder.table |= {QUESTION: [1, 0, 0], "who has TICKET-1 and TICKET-2?": [1, 0, 0]}

    def make(text):
        embedder.table[text] = [0, 1, 0]
        return text

    return make


@pytest.fixture
def opened(open_memory):
    """Opens a memory in mode `hybrid` with a graph of these settings."""
    return lambda **settings: open_memory(graph=GraphConfig(**settings), mode="hybrid")


@pytest.fixture
def handle(opened):
    return opened().scoped("s")


class TestBoost:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_rescues(self, handle, far, tier):
        """What neither words nor similarity find is a hit if it mentions what is asked for, and says so."""
        handle.remember([MemoryItem(far("Rui"), tier, metadata=about(SEVEN)), MemoryItem(far("Eva"), tier)])
        assert texts(handle.recall(QUESTION, graph="off")) == []
        (hit,) = handle.recall(QUESTION)
        assert (hit.text, hit.tier) == ("Rui", tier)
        assert hit.why["graph"] > 0

    def test_direct_before_sibling(self, handle, far):
        """What mentions the entity itself comes before what mentions a sibling of it."""
        handle.remember(
            [
                MemoryItem(far("sibling"), metadata=about(SIBLING)),
                MemoryItem(far("direct"), metadata=about(SEVEN, SIBLING)),
            ]
        )
        assert texts(handle.recall(QUESTION)) == ["direct", "sibling"]

    def test_rare_before_hub(self, handle, far):
        """What mentions an entity that few others mention comes before what mentions one that many do."""
        hubs = [MemoryItem(far(f"hub {letter}"), metadata=about(HUB)) for letter in "abcdefghijklmnop"]
        handle.remember([*hubs, MemoryItem(far("rare"), metadata=about(RARE))])
        first, *others = handle.recall("who has TICKET-1 and TICKET-2?", k=30)
        assert first.text == "rare"
        assert all(hit.why["graph"] < first.why["graph"] / 10 for hit in others)

    def test_adds_to_relevance(self, handle, far, embedder):
        """Of two that are equally relevant, the one that mentions the entity comes first, by the configured weight."""
        embedder.table |= {"one": [0.8, 0.6, 0], "two": [0.8, 0.6, 0]}
        handle.remember([MemoryItem("one", id="a"), MemoryItem("two", id="b", metadata=about(SEVEN))])
        two, one = handle.recall(QUESTION)
        assert (one.text, two.text) == ("one", "two")
        assert two.score - one.score == pytest.approx(two.why["graph"], abs=1e-6)
        assert two.why["graph"] == pytest.approx(0.1)

    def test_hides_nothing(self, handle, embedder):
        """All that is found without the graph is found with it, with the same other reasons for its score."""
        handle.remember(
            [
                MemoryItem(
                    f"text {n} TICKET-{n % 9}", SEARCHED[n % 3], id=str(n), metadata=about(SEVEN) if n % 5 else None
                )
                for n in range(60)
            ]
        )
        for question in ("who has TICKET-7?", "text 3", "TICKET-1 or TICKET-2", "q"):
            off = {(hit.tier, hit.id) for hit in handle.recall(question, k=200, graph="off")}
            boost = {(hit.tier, hit.id) for hit in handle.recall(question, k=200, graph="boost")}
            assert off <= boost

    def test_keeps_to_the_callers_threshold(self, handle, far):
        """It rescues nothing below a threshold that the caller names."""
        handle.remember(far("Rui"), metadata=about(SEVEN))
        assert texts(handle.recall(QUESTION, threshold=0.5)) == []
        assert texts(handle.recall(QUESTION, threshold=-1)) == ["Rui"]

    def test_not_in_mode_vector(self, handle, far, redis_url):
        """In mode `vector` there is no boost, and the graph isn't asked."""
        handle.remember(far("Rui"), metadata=about(SEVEN))
        assert texts(handle.recall(QUESTION, mode="vector")) == []
        assert handle.graph.counters == {"indexed": 1}

    @pytest.mark.parametrize("query", ["", " \n"])
    def test_a_blank_query(self, handle, query):
        """A blank query is about nothing."""
        handle.remember("note", tier="working")
        assert texts(handle.recall(query)) == ["note"]
        assert handle.graph.counters == {}

    def test_notes_stand_beside(self, handle, far):
        """Working memory gives its notes as without the graph."""
        handle.remember([MemoryItem("note", "working"), MemoryItem(far("Rui"), metadata=about(SEVEN))])
        for how in ("boost", "filter", "off"):
            hits = handle.recall(QUESTION, graph=how)
            assert [(hit.text, hit.score) for hit in hits if hit.tier == "working"] == [("note", 1)]

    def test_without_an_entity(self, handle):
        """A question about nothing that is known gives what it gives without the graph, and counts as a fallback."""
        handle.remember(["exact", "near"])
        seen = [[(hit.text, hit.score, hit.why) for hit in handle.recall("q", graph=how)] for how in ("boost", "off")]
        assert seen[0] == seen[1]
        assert handle.graph.counters == {"indexed": 0, "fallbacks": 1, "candidates": 0}

    def test_expired(self, handle, far):
        """What has expired or waits isn't rescued."""
        handle.remember(
            [
                MemoryItem(far("Rui"), metadata=about(SEVEN), status="candidate"),
                MemoryItem(far("Eva"), metadata=about(SEVEN), ttl=0.05),
            ]
        )
        time.sleep(0.1)
        assert texts(handle.recall(QUESTION)) == []

    def test_in_mode_text(self, handle, far):
        """In mode `text` it adds to what shares words with the question, and rescues nothing else."""
        handle.remember([MemoryItem(far("Rui"), metadata=about(SEVEN)), MemoryItem("a ticket", metadata=about(SEVEN))])
        handle.remember("the ticket")
        hits = handle.recall(QUESTION, mode="text")
        assert [(hit.text, "graph" in hit.why) for hit in hits] == [("a ticket", True), ("the ticket", False)]

    def test_walk(self, opened, far):
        """With a walk it goes by personalised PageRank, which reaches further than a sibling."""
        pytest.importorskip("scipy")
        chain = [about(SEVEN, HUB), about(HUB, RARE), about(RARE, SIBLING)]
        handle = opened(walk=True).scoped("s")
        handle.remember([MemoryItem(far(f"step {n}"), metadata=each) for n, each in enumerate(chain)])
        hits = handle.recall(QUESTION)
        assert texts(hits) == ["step 0", "step 1", "step 2"]
        assert [hit.why["graph"] for hit in hits] == sorted((hit.why["graph"] for hit in hits), reverse=True)


class TestFilter:
    @pytest.fixture
    def handle(self, opened, embedder):
        handle = opened(recall="filter").scoped("s")
        embedder.table |= {QUESTION: [1, 0, 0], "named": [0.8, 0.6, 0], "named too": [0.9, 0.43588989, 0]}
        handle.remember(
            [
                MemoryItem("named", metadata=about(SEVEN)),
                MemoryItem("named too", "episodic", metadata=about(SEVEN)),
                MemoryItem("exact"),
                MemoryItem("q", "procedural"),
            ]
        )
        return handle

    def test_named_first(self, handle):
        """What the graph names comes first, in its own order; what else is found tops it up to k."""
        assert set(texts(handle.recall(QUESTION))[:2]) == {"named", "named too"}
        assert len(handle.recall(QUESTION, k=3)) == 3
        assert set(texts(handle.recall(QUESTION, k=2))) == {"named", "named too"}
        assert len({(hit.tier, hit.id) for hit in handle.recall(QUESTION)}) == 4

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_in_every_mode(self, handle, how):
        """It works in each mode."""
        hits = handle.recall(QUESTION, mode=how)
        assert set(texts(hits)[:2]) == ({"named", "named too"} if how != "text" else set())

    def test_counted(self, handle):
        """A question whose entities are known is a hit, any other one a fallback to all memories."""
        handle.recall(QUESTION)
        assert handle.graph.counters == {"indexed": 2, "graph_hits": 1, "candidates": 2}
        hits = handle.recall("q")
        assert {"exact", "q"} <= set(texts(hits))
        assert hits.degraded == ()
        assert handle.graph.counters == {"indexed": 2, "graph_hits": 1, "candidates": 2, "fallbacks": 1}

    def test_too_few(self, opened, handle):
        """With fewer than the configuration asks for, all are searched alike."""
        other = opened(recall="filter", least_hits=3).scoped("s")
        assert set(texts(other.recall(QUESTION))[:2]) == {"exact", "q"}
        assert other.graph.counters == {"fallbacks": 1, "candidates": 2}


class TestSettings:
    @pytest.mark.parametrize("how", ["on", "", 7, ["boost"]])
    def test_unknown(self, handle, how):
        """What can't be made of the graph is refused by name."""
        with pytest.raises(InvalidQuery, match="graph="):
            handle.recall(QUESTION, graph=how)

    @pytest.mark.parametrize("settings", [{"recall": "on"}, {"weight": 2}, {"least_hits": 0}, {"colour": "red"}])
    def test_bad_settings(self, open_memory, settings):
        """A setting that is unknown or out of its range is refused."""
        with pytest.raises(ConfigError):
            open_memory(graph=settings)

    def test_off(self, opened, far):
        """Switched off it is asked for only by a recall that says so."""
        handle = opened(recall="off").scoped("s")
        handle.remember(far("Rui"), metadata=about(SEVEN))
        assert texts(handle.recall(QUESTION)) == []
        assert texts(handle.recall(QUESTION, graph="boost")) == ["Rui"]

    def test_without_a_graph(self, open_memory, far):
        """A memory without a graph recalls as it does, whatever is asked of it."""
        handle = open_memory(mode="hybrid").scoped("s")
        handle.remember("exact")
        hits = handle.recall("q", graph="boost")
        assert (texts(hits), hits.degraded) == (["exact"], ())

    def test_commands(self, handle, far, redis_url):
        """A recall with the graph sends one command to ask it, and one for what it names."""
        handle.remember([MemoryItem(far("Rui"), metadata=about(SEVEN)), MemoryItem("exact")])
        now = datetime.now(timezone.utc)  # as of a time nothing is marked as shown, which would be a command too
        sent = {}
        for how in ("off", "boost", "filter"):
            with Redis.from_url(redis_url) as client:
                sent[how] = commands_of(client, partial(handle.recall, QUESTION, tier="semantic", graph=how, as_of=now))
        assert sent == {
            "off": ["EVALSHA"],
            "boost": ["EVALSHA", "EVALSHA", "EVALSHA"],
            "filter": ["EVALSHA", "EVALSHA", "EVALSHA"],
        }


class TestScopes:
    def test_several(self, opened, far):
        """Each of several scopes is boosted by its own graph."""
        mem = opened()
        mem.remember(
            [
                MemoryItem(far("of a"), scope="a", id="x", metadata=about(SEVEN)),
                MemoryItem(far("of b"), scope="b", id="x", metadata=about(RARE)),
                MemoryItem(far("of the pool"), id="x", metadata=about(SEVEN)),
            ]
        )
        assert sorted(texts(mem.recall(QUESTION, scope=["a", "b", None]))) == ["of a", "of the pool"]
        assert texts(mem.recall(QUESTION)) == ["of the pool"]
        assert len(mem.recall(QUESTION, scope=["a", "b"]).reaches) == 2

    def test_never_leak(self, opened, far):
        """What another scope's graph holds never changes a recall."""
        mem = opened()
        mine, other = mem.scoped("mine"), mem.scoped("other")
        mine.remember([MemoryItem(far("Rui"), id="x", metadata=about(SEVEN)), MemoryItem(far("Eva"), id="y")])
        before = [(hit.id, hit.score, hit.why) for hit in mine.recall(QUESTION)]
        other.remember([MemoryItem(far(f"o{n}"), id=f"{n}", metadata=about(SEVEN)) for n in range(20)])
        other.graph.index("y", [SEVEN])
        mem.graph.index("y", [SEVEN])
        assert [(hit.id, hit.score, hit.why) for hit in mine.recall(QUESTION)] == before
        assert texts(mem.recall(QUESTION)) == []


class TestTraced:
    def test_paths(self, handle, far):
        """A traced recall tells the entities of the question, and by which path each memory was reached."""
        handle.remember(
            [
                MemoryItem(far("direct"), id="a", metadata=about(SEVEN, SIBLING)),
                MemoryItem(far("sibling"), id="b", metadata=about(SIBLING)),
            ]
        )
        traced = handle.recall_traced(QUESTION)
        assert texts(traced.hits) == ["direct", "sibling"]
        assert traced.entities == (SEVEN,)
        assert list(traced.paths) == list(handle.graph.paths([SEVEN]))
        assert {path.memory_id for path in traced.paths} == {"a", "b"}
        assert all(hit.why["graph"] > 0 for hit in traced.hits)

    def test_takes_what_a_recall_takes(self, handle, far):
        """It takes k, tiers, a threshold, and what is made of the graph."""
        handle.remember([MemoryItem(far(f"{n}"), metadata=about(SEVEN)) for n in range(3)])
        assert len(handle.recall_traced(QUESTION, k=2, tier="semantic", graph="filter").hits) <= 2
        assert handle.recall_traced(QUESTION, k=0).hits == []
        assert handle.recall_traced(QUESTION, graph="off").paths == ()
        assert handle.recall_traced(QUESTION, threshold=0.9).hits == []

    def test_nothing_named(self, handle):
        """A question that names nothing has no path."""
        handle.remember("exact")
        traced = handle.recall_traced("q")
        assert (texts(traced.hits), traced.entities, traced.paths) == (["exact"], (), ())

    def test_without_a_graph(self, open_memory):
        """Nor has a memory without a graph."""
        handle = open_memory(mode="hybrid").scoped("s")
        handle.remember("exact")
        traced = handle.recall_traced("q")
        assert (texts(traced.hits), traced.entities, traced.paths) == (["exact"], (), ())

    def test_own_extractor(self, opened, far):
        """Questions may have an extractor of their own."""
        handle = opened(asks=FixedExtractor([RARE])).scoped("s")
        handle.remember(far("Rui"), metadata=about(RARE))
        assert texts(handle.recall_traced("anything", tier="semantic").hits) == ["Rui"]


class TestAmong:
    @pytest.fixture
    def handle(self, open_memory):
        return open_memory().scoped("s")

    def test_none(self, handle, embedder):
        """Among no ids there is no hit, and nothing is embedded."""
        handle.remember("exact")
        embedder.calls.clear()
        hits = handle.recall("q", among=[])
        assert (hits, type(hits), embedder.calls) == ([], Hits, [])

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_only_these(self, handle, tier, how):
        """Nothing but these is a hit, however much better others fit."""
        handle.remember([MemoryItem("exact pier", tier, id="best"), MemoryItem("exact pier", tier, id="wanted")])
        hits = handle.recall("exact pier", mode=how, among=["wanted"])
        assert [hit.id for hit in hits] == ["wanted"]

    @pytest.mark.parametrize("how", ["vector", "hybrid"])
    def test_the_best_outside(self, handle, how):
        """The best of these is a hit although it is far behind; its threshold still holds."""
        handle.remember([MemoryItem("exact", id="best"), MemoryItem("far", id="far"), MemoryItem("neg", id="neg")])
        assert texts(handle.recall("q", mode=how, among=["far", "neg"], threshold=0.5)) == ["far"]

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_beside_a_thousand(self, open_memory, how):
        """With k=1 the one that is due is found beside a thousand better ones of other scopes and ids."""
        mem = open_memory()
        handle = mem.scoped("s")
        mem.remember([MemoryItem("exact pier", scope="other", id=str(n)) for n in range(500)])
        handle.remember([MemoryItem("exact pier", id=str(n)) for n in range(500)])
        handle.remember("exact pier", id="due")
        assert [hit.id for hit in handle.recall("exact pier", k=1, mode=how, among=["due"])] == ["due"]

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_foreign_and_unknown(self, open_memory, how):
        """An id of another scope, or of nothing, is never returned, and is no error."""
        mem = open_memory()
        mem.scoped("other").remember("exact", id="foreign")
        mem.scoped("s").remember("exact", id="own")
        assert mem.scoped("s").recall("exact", mode=how, among=["foreign", "unknown"]) == []
        assert [hit.id for hit in mem.scoped("s").recall("exact", mode=how, among=["foreign", "own"])] == ["own"]
        assert mem.recall("exact", mode=how, scope=["s", "other"], among=["unknown"]) == []

    @pytest.mark.parametrize("how", ["vector", "text", "hybrid"])
    def test_many(self, handle, how):
        """There may be more than a thousand ids; each counts once, in whichever order they are."""
        handle.remember([MemoryItem("exact pier", id=f"{n}") for n in range(3)])
        ids = [f"none {n}" for n in range(1300)] + ["2", "0"] + [f"more {n}" for n in range(1300)] + ["0"]
        hits = handle.recall("exact pier", k=9, mode=how, among=ids)
        assert sorted(hit.id for hit in hits) == ["0", "2"]

    def test_found_in_different_parts(self, handle):
        """What is found in different parts of many ids is merged in one order."""
        handle.remember([MemoryItem(text, id=text) for text in ("exact", "near", "far")])
        ids = ["far", *(f"{n}" for n in range(1000)), "near", *(f"m{n}" for n in range(1000)), "exact"]
        for how in ("vector", "hybrid"):
            assert texts(handle.recall("q", k=2, mode=how, among=ids, threshold=0)) == ["exact", "near"]

    def test_notes(self, handle):
        """Working memory has no hits then."""
        handle.remember("note", tier="working", id="x")
        assert handle.recall("note", among=["x"]) == []

    @pytest.mark.parametrize("among", ["x", [7], [""], [None]])
    def test_bad(self, handle, embedder, among):
        """What can't be ids is refused before anything is embedded."""
        with pytest.raises((InvalidQuery, InvalidItem)):
            handle.recall("q", among=among)
        assert embedder.calls == []

    def test_another_embedder(self, open_memory, embedder):
        """Another embedder than the one that wrote is refused, before anything is embedded or searched."""
        open_memory().remember("exact", id="x")
        other = type(embedder)(id="other")
        with pytest.raises(EmbedderMismatch):
            open_memory(embedder=other).recall("q", among=["x"])
        assert other.calls == []

    def test_history(self, handle):
        """It may be among ids as of another time, or with what was believed before."""
        handle.remember("exact", id="x")
        handle.remember("near", id="x")
        assert texts(handle.recall("q", among=["x"])) == ["near"]
        assert texts(handle.recall("q", among=["x"], include_superseded=True)) == ["exact", "near"]

    def test_with_a_graph(self, opened, far):
        """The graph isn't asked then: the caller has chosen."""
        handle = opened().scoped("s")
        handle.remember([MemoryItem(far("Rui"), id="x", metadata=about(SEVEN)), MemoryItem("exact", id="y")])
        assert texts(handle.recall(QUESTION, among=["y"])) == ["exact"]
        assert handle.graph.counters == {"indexed": 1}
