"""Memories in the graph: what is remembered is indexed, what is superseded closed, what is forgotten removed."""

from __future__ import annotations

import pytest
from completion_server import CompletionServer
from redis import Redis
from shorthand import DAY, NOON, TIERS, frozen, texts
from stores import store_of

from tiered_memory import AsyncTurnHooks, MemoryItem, TurnHooks, async_memory
from tiered_memory.config import GraphConfig
from tiered_memory.engine.keys import Keyspace
from tiered_memory.graph import ChainExtractor, EntityRef, FixedExtractor, LLMExtractor

ANA = EntityRef("person", "Ana")
SEVEN, EIGHT = EntityRef("Ticket", "TICKET-7"), EntityRef("Ticket", "TICKET-8")
SEARCHED = TIERS[1:]


class Raising:
    """An extractor that always fails."""

    def extract(self, text, hints=()):
        raise RuntimeError(text)


class Async:
    """An extractor that must be awaited."""

    async def extract(self, text, hints=()):
        return [*hints, ANA]


@pytest.fixture
def mem(open_memory):
    """A memory whose graph finds entities by patterns."""
    return open_memory(graph=GraphConfig(), mode="hybrid")


def plant(redis_url, namespace, kind="facts", scope="s"):
    """Puts a value of a wrong type where a scope's graph keeps something."""
    with Redis.from_url(redis_url) as client:
        client.set(Keyspace(namespace, 1, "vector").of(scope).key(kind, "graph"), "x")


class TestIndexed:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_remembered(self, handle, tier):
        """What is remembered in a tier that is searched is indexed by its id, with its text and the time it is of."""
        handle.remember([MemoryItem("we closed TICKET-7", tier, id="x", at=NOON), "nothing"])
        assert handle.graph.neighbors([SEVEN]) == ["x"]
        (fact,) = handle.graph.facts("x")
        assert (fact.text, fact.valid_from, fact.entities) == ("we closed TICKET-7", NOON, (SEVEN,))
        assert handle.graph.counters == {"indexed": 1}

    def test_hints(self, open_memory):
        """Entities that metadata names come first; what is no entity there is passed over."""
        handle = open_memory(graph={}, mode="hybrid").scoped("s")
        named = {"entities": ["person:Ana", "Ticket:TICKET-8", "nothing", 7, None, "", ":x"]}
        handle.remember("we closed TICKET-7", id="x", metadata=named)
        assert handle.graph.facts("x")[0].entities == (ANA, EIGHT, SEVEN)

    @pytest.mark.parametrize("named", ["person:Ana", {"person": "Ana"}, 7, None])
    def test_hints_that_are_no_list(self, handle, named):
        """Metadata of that name which isn't a list is the user's own."""
        handle.remember("we closed TICKET-7", id="x", metadata={"entities": named})
        assert handle.graph.facts("x")[0].entities == (SEVEN,)

    def test_each_in_its_scope(self, mem):
        """Items of a batch are indexed in their own scopes, and nowhere else."""
        mem.remember(
            [MemoryItem(f"TICKET-7 is open in {scope}", scope=scope, id=str(scope)) for scope in (None, "a", "b")]
        )
        for scope in ("a", "b"):
            assert mem.scoped(scope).graph.neighbors([SEVEN]) == [scope]
        assert mem.graph.neighbors([SEVEN]) == ["None"]

    def test_by_an_update(self, handle):
        """An update of the text indexes the new one and closes the old; one of anything else closes nothing."""
        handle.remember("we closed TICKET-7", id="x")
        handle.update("x", "semantic", importance=0.9)
        handle.update("x", "semantic", metadata={"entities": ["person:Ana"]})
        (fact,) = handle.graph.facts("x")
        assert set(fact.entities) == {SEVEN, ANA}
        handle.update("x", "semantic", text="we closed TICKET-8")
        new, old = handle.graph.facts("x")
        assert (set(new.entities), set(old.entities)) == ({EIGHT, ANA}, {SEVEN, ANA})
        assert (new.valid_to, old.valid_to is None) == (None, False)

    def test_again(self, handle):
        """The same text again is one fact."""
        handle.remember(["we closed TICKET-7"] * 2)
        handle.remember("we closed TICKET-7")
        assert handle.graph.frequencies() == {SEVEN: 1}

    def test_not_what_waits(self, handle):
        """What waits for review isn't indexed; once promoted it is, and what it takes the place of is closed."""
        handle.remember(MemoryItem("we closed TICKET-7", id="x"))
        handle.remember(MemoryItem("we closed TICKET-8", id="x", status="candidate"))
        handle.remember(MemoryItem("we opened TICKET-8", id="y", status="candidate"))
        assert handle.graph.frequencies() == {SEVEN: 1}
        handle.review.promote("x", "semantic")
        handle.review.promote_many([("y", "semantic")])
        assert set(handle.graph.neighbors([EIGHT])) == {"x", "y"}
        assert handle.graph.neighbors([SEVEN]) == []

    def test_not_what_was_rejected(self, handle):
        """What is rejected never is."""
        handle.remember(MemoryItem("we closed TICKET-7", id="x", status="candidate"))
        handle.review.reject("x", "semantic")
        assert handle.graph.frequencies() == {}

    def test_not_notes(self, handle):
        """Notes of working memory aren't indexed."""
        handle.remember("we closed TICKET-7", tier="working", id="x")
        handle.update("x", "working", text="we closed TICKET-8")
        assert handle.graph.frequencies() == {}

    def test_memories_of_the_tree(self, handle):
        """Memories of the tree are indexed, promoted and forgotten like others."""
        memories, uri = store_of(handle).memories, "viking://user/memories/events/trip"
        memories.put(uri, "we closed TICKET-7")
        assert handle.graph.neighbors([SEVEN]) == [uri]
        memories.put(uri, "we closed TICKET-8", status="candidate")
        memories.promote(uri)
        assert (handle.graph.neighbors([SEVEN]), handle.graph.neighbors([EIGHT])) == ([], [uri])
        memories.forget(uri)
        assert handle.graph.frequencies() == {}

    def test_without_a_graph(self, open_memory):
        """Without a graph in the configuration nothing is indexed, and nothing is counted."""
        handle = open_memory(mode="hybrid").scoped("s")
        handle.remember("we closed TICKET-7")
        assert (handle.graph.frequencies(), handle.graph.counters) == ({}, {})


class TestSuperseded:
    def test_closed(self, handle):
        """What takes another's place closes it from that moment on; before, the old one holds."""
        with frozen() as time:
            handle.remember("we closed TICKET-7", id="x")
            time.tick(DAY)
            handle.remember("we closed TICKET-8", id="x")
            new, old = handle.graph.facts("x")
            assert (old.valid_from, old.valid_to, new.valid_from) == (NOON, NOON + DAY, NOON + DAY)
            assert handle.graph.neighbors([SEVEN]) == []
            assert handle.graph.neighbors([SEVEN], as_of=NOON + DAY / 2) == ["x"]
            assert handle.graph.neighbors([EIGHT], as_of=NOON + DAY / 2) == []

    def test_by_what_is_about_nothing(self, handle):
        """Also by a text in which there is no entity."""
        handle.remember("we closed TICKET-7", id="x")
        handle.remember("it rained", id="x")
        assert handle.graph.neighbors([SEVEN]) == []

    def test_recalled_as_of(self, open_memory, embedder):
        """A recall as of a time before is boosted by what held then."""
        embedder.table |= {"who has TICKET-7?": [1, 0, 0], "Rui has it": [0, 1, 0], "Eva has it": [0, 1, 0]}
        handle = open_memory(graph=GraphConfig(), mode="hybrid").scoped("s")
        with frozen() as time:
            handle.remember("Rui has it", id="x", metadata={"entities": ["Ticket:TICKET-7"]})
            time.tick(DAY)
            handle.remember("Eva has it", id="x", metadata={"entities": ["Ticket:TICKET-8"]})
            time.tick(DAY)
            assert texts(handle.recall("who has TICKET-7?")) == []
            (hit,) = handle.recall("who has TICKET-7?", as_of=NOON + DAY / 2)
            assert (hit.text, hit.why["graph"] > 0) == ("Rui has it", True)


class TestForgotten:
    @pytest.fixture(autouse=True)
    def remembered(self, handle):
        handle.remember(
            [
                MemoryItem("we closed TICKET-7", id="x", source="mail"),
                MemoryItem("we closed TICKET-8", "episodic", id="y"),
            ]
        )

    def test_one(self, handle):
        """What is forgotten leaves nothing in the graph, its closed facts included."""
        handle.remember("we opened TICKET-7", id="x")
        assert handle.forget("x", "semantic") == 1
        assert handle.graph.frequencies() == {EIGHT: 1}

    def test_nothing(self, handle):
        """Forgetting in another tier what isn't there removes nothing."""
        handle.forget("x", "working")
        handle.forget("x", "procedural")
        assert handle.graph.neighbors([SEVEN]) == ["x"]

    def test_one_of_two_tiers(self, handle):
        """A fact stays as long as a memory of its id stands in some tier."""
        handle.remember("we closed TICKET-7", id="x", tier="episodic")
        handle.forget("x", "semantic")
        assert handle.graph.neighbors([SEVEN]) == ["x"]
        handle.forget("x", "episodic")
        assert handle.graph.neighbors([SEVEN]) == []

    def test_by_rule(self, handle):
        """Forgetting by rule removes the facts of what it forgets; counting them doesn't."""
        handle.forget_where(source="mail", dry_run=True)
        assert handle.graph.frequencies() == {SEVEN: 1, EIGHT: 1}
        handle.forget_where(source="mail")
        assert handle.graph.frequencies() == {EIGHT: 1}

    def test_only_what_waits(self, handle):
        """When only what waits at an id is forgotten by rule, the facts of what stands there stay."""
        handle.remember(MemoryItem("we lost TICKET-7", id="x", source="chat", status="candidate"))
        assert handle.forget_where(source="chat") == 1
        assert handle.graph.neighbors([SEVEN]) == ["x"]

    def test_by_resolving(self, handle):
        """The one of a conflict that goes leaves nothing; the other stays."""
        handle.remember([MemoryItem("exact", id="a", metadata={"entities": ["person:Ana"]})])
        handle.remember([MemoryItem("q", id="b", metadata={"entities": ["person:Ana"]})])
        (conflict,) = [each for each in handle.conflicts(tier="semantic", threshold=0.99) if each.a.id == "a"]
        handle.resolve(conflict, "a")
        assert handle.graph.neighbors([ANA]) == ["a"]

    @pytest.mark.parametrize("root", [False, True])
    def test_a_tier(self, mem, handle, root):
        """Clearing a tier removes the facts of its memories only, in one scope or in all."""
        (mem if root else handle).clear("semantic")
        assert handle.graph.frequencies() == {EIGHT: 1}

    def test_at_the_end_of_a_session(self, mem, mode):
        """So does the end of a session that clears such a tier."""
        scope = mem.scoped("session:1")
        scope.remember([MemoryItem("we closed TICKET-7", id="x"), MemoryItem("TICKET-8 too", "episodic", id="y")])
        hooks = TurnHooks(mem, on_end=["semantic", "working"]) if mode == "blocking" else None
        if hooks is None:
            hooks = type(mem)(AsyncTurnHooks(mem._handle, on_end=["semantic", "working"]), mem._loop)
        hooks.end_session("1")
        assert scope.graph.frequencies() == {EIGHT: 1}

    def test_notes(self, handle):
        """Clearing working memory removes none."""
        handle.remember("note", tier="working", id="x")
        handle.clear("working")
        assert handle.graph.frequencies() == {SEVEN: 1, EIGHT: 1}

    def test_everything(self, handle, redis_url, namespace):
        """Clearing a scope leaves no key of its graph."""
        handle.clear()
        assert handle.graph.frequencies() == {}
        assert left(redis_url, namespace) == []

    def test_erased(self, mem, redis_url, namespace):
        """So does erasing it, which looks at every key."""
        mem.erase("s")
        assert left(redis_url, namespace) == []

    def test_others(self, mem, handle):
        """What another scope has at the same id stays."""
        other = mem.scoped("other")
        other.remember("we closed TICKET-7", id="x")
        handle.forget("x", "semantic")
        handle.clear()
        assert other.graph.neighbors([SEVEN]) == ["x"]


def left(redis_url, namespace):
    """The keys of the namespace that are about single scopes."""
    with Redis.from_url(redis_url) as client:
        keys = [*client.scan_iter(f"{{{namespace}:*")]
    return [key for key in keys if not key.endswith((b":meta", b":sequence", b":counts"))]


class TestFaults:
    @pytest.mark.parametrize("kind", ["facts", "recorded", "entities"])
    def test_a_write(self, handle, redis_url, namespace, kind):
        """A graph that can't be written to loses no memory, and is counted."""
        plant(redis_url, namespace, kind)
        (done,) = handle.remember("we closed TICKET-7", id="x")
        assert (done.outcome, handle.get("x", "semantic").text) == ("recorded", "we closed TICKET-7")
        assert handle.graph.counters == {"index_failed": 1}
        handle.update("x", "semantic", text="we closed TICKET-8")
        assert handle.forget("x", "semantic") == 1
        assert handle.get("x", "semantic") is None
        assert handle.graph.counters == {"index_failed": 2}

    def test_a_recall(self, handle, redis_url, namespace):
        """One that can't be read fails no recall: it goes on without, says so, and is counted."""
        handle.remember("we closed TICKET-7")
        plant_over(redis_url, namespace)
        for how in ("boost", "filter"):
            hits = handle.recall("TICKET-7", graph=how)
            assert (texts(hits), hits.degraded) == (["we closed TICKET-7"], ("graph",))
        traced = handle.recall_traced("TICKET-7")
        assert (texts(traced.hits), traced.entities, traced.paths) == (["we closed TICKET-7"], (), ())
        assert handle.graph.counters == {"indexed": 1, "recall_failed": 3, "fallbacks": 3}
        hits = handle.recall("TICKET-7", graph="off")
        assert (texts(hits), hits.degraded) == (["we closed TICKET-7"], ())

    def test_an_extractor(self, open_memory, caplog):
        """An extractor that raises loses no memory, and what it raised isn't logged."""
        handle = open_memory(graph=GraphConfig(extractor=Raising(), asks=Raising()), mode="hybrid").scoped("s")
        handle.remember("we closed TICKET-7")
        hits = handle.recall("we closed TICKET-7")
        assert (texts(hits), hits.degraded) == (["we closed TICKET-7"], ("graph",))
        assert handle.graph.counters == {"index_failed": 1, "recall_failed": 1, "fallbacks": 1}
        assert "RuntimeError" in caplog.text
        assert "TICKET-7" not in caplog.text

    @pytest.mark.parametrize("found", [None, ["Ticket:TICKET-7"], 7])
    def test_an_extractor_that_answers_nonsense(self, open_memory, found):
        """Nor does one whose answer isn't a list of entities."""

        class Odd:
            def extract(self, text, hints=()):
                return found

        handle = open_memory(graph=GraphConfig(extractor=Odd()), mode="hybrid").scoped("s")
        handle.remember("we closed TICKET-7", id="x")
        assert handle.get("x", "semantic") is not None
        assert handle.graph.counters == {"index_failed": 1}

    def test_one_scope_of_several(self, mem, redis_url, namespace):
        """A fault in one scope is none in another."""
        plant(redis_url, namespace, scope="a")
        mem.remember([MemoryItem("we closed TICKET-7", scope=scope, id=scope) for scope in ("a", "b")])
        assert mem.scoped("b").graph.neighbors([SEVEN]) == ["b"]
        hits = mem.recall("TICKET-7", scope=["a", "b"])
        assert ({hit.id: "graph" in hit.why for hit in hits}, hits.degraded) == ({"a": False, "b": True}, ("graph",))


def plant_over(redis_url, namespace):
    """The same where something lies already."""
    with Redis.from_url(redis_url) as client:
        client.delete(Keyspace(namespace, 1, "vector").of("s").key("entities", "graph"))
    plant(redis_url, namespace, "entities")


class TestExtractors:
    def test_awaited(self, open_memory, mode):
        """An extractor may be async in an async memory; in a blocking one it fails as others do."""
        handle = open_memory(graph=GraphConfig(extractor=Async()), mode="hybrid").scoped("s")
        handle.remember("q", id="x")
        assert handle.graph.neighbors([ANA]) == (["x"] if mode == "async" else [])
        assert handle.graph.counters == ({"indexed": 1} if mode == "async" else {"index_failed": 1})

    async def test_a_member_of_a_chain(self, redis_url, namespace, embedder):
        """So may the member of a chain."""
        chain = ChainExtractor(FixedExtractor(), Async())
        assert await found(redis_url, namespace, embedder, chain) == [ANA]

    async def test_a_model(self, redis_url, namespace, embedder):
        """A language model is asked by the async client."""
        openai = pytest.importorskip("openai")
        with CompletionServer() as server:
            server.says(("person", "Ana"))
            async with openai.AsyncOpenAI(base_url=server.url, api_key="k") as client:
                model = LLMExtractor("m", async_client=client)
                assert await found(redis_url, namespace, embedder, model) == [ANA]


async def found(redis_url, namespace, embedder, extractor):
    """The entities of a memory, in an async memory with this extractor."""
    config = GraphConfig(extractor=extractor)
    async with async_memory(redis_url, namespace=namespace, embedder=embedder, graph=config) as mem:
        handle = mem.scoped("s")
        await handle.remember("q")
        return list(await handle.graph.frequencies())


class TestTree:
    def test_removed(self, open_memory):
        """Removing a part of the tree removes what the graph knows of the memories in it, and no others."""
        mem = open_memory(graph=GraphConfig())
        below = "viking://user/memories/events/pier"
        mem.remember([MemoryItem("TICKET-7 was closed.", id=f"{below}/one"), MemoryItem("POL-3 holds.", id="other")])
        mem.store.documents.remove(below)
        assert mem.graph.facts(f"{below}/one") == []
        assert mem.graph.facts("other") != []
