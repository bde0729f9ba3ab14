"""The graph in archives: facts go out with their times and come back, beside what is there."""

from __future__ import annotations

import io

import pytest
from invariants import check_invariants
from redis import Redis
from shorthand import DAY, NOON, frozen

from tiered_memory import DamagedArchive, MemoryItem
from tiered_memory.archive.lines import Heading, Writer
from tiered_memory.graph import EntityRef

ANA, OSLO, ROME = EntityRef("person", "Ana"), EntityRef("place", "Oslo"), EntityRef("place", "Rome")
TIME = NOON.isoformat()
FACT = {"recorded_at": TIME, "valid_from": TIME, "entities": [["person:ana", TIME]], "text": "a"}
CLOSED = FACT | {"valid_to": TIME, "expired_at": TIME}


def exported(handle):
    target = io.BytesIO()
    handle.archive.export(target)
    return target.getvalue()


def loaded(handle, data):
    return handle.archive.load(io.BytesIO(data))


def archive(*records):
    """An archive of these records of the graph."""
    writer = Writer(Heading(None, "table"))
    return writer.heading() + writer.records("graph", records) + writer.end()


@pytest.fixture
def source(mem):
    """A scope with a memory that moved, and more facts than one page has."""
    graph = mem.scoped("source").graph
    with frozen() as time:
        graph.index("home", [ANA, OSLO], "in Oslo")
        time.tick(DAY)
        graph.close("home", NOON + DAY)
        graph.index("home", [ANA, ROME], "in Rome")
        for number in range(250):
            graph.index(f"m{number}", [ROME])
    return mem.scoped("source")


class TestFacts:
    def test_times(self, mem, source):
        """What held at a time, and what was known at one, is the same in the copy."""
        copy = mem.scoped("copy")
        assert loaded(copy, exported(source)).outcomes == {"graph": {"imported": 251}}
        for times in ({}, {"as_of": NOON}, {"known_at": NOON}, {"as_of": NOON + 2 * DAY}):
            assert copy.graph.neighbors([OSLO], **times) == source.graph.neighbors([OSLO], **times)
        assert copy.graph.facts("home") == source.graph.facts("home")
        assert exported(copy).splitlines()[1:-1] == exported(source).splitlines()[1:-1]

    def test_again(self, mem, source):
        """Loaded again, all is there already."""
        data, copy = exported(source), mem.scoped("copy")
        loaded(copy, data)
        assert loaded(copy, data).outcomes == {"graph": {"skipped": 251}}
        assert copy.graph.frequencies() == source.graph.frequencies()

    def test_conflict(self, mem, source):
        """What a memory has already in the graph stays, whatever the archive says of it."""
        copy = mem.scoped("copy")
        copy.graph.index("home", [OSLO], "a house")
        done = loaded(copy, exported(source))
        assert (done.outcomes["graph"], done.conflicts) == ({"imported": 250, "conflict": 1}, [("graph", "home")])
        assert [fact.text for fact in copy.graph.facts("home")] == ["a house"]

    def test_goes_on(self, mem, source):
        """A memory that is indexed after loading goes on with what was loaded, and forgetting removes it all."""
        copy = mem.scoped("copy")
        loaded(copy, exported(source))
        copy.graph.index("home", [OSLO])
        assert [len(fact.entities) for fact in copy.graph.facts("home")] == [3, 2]
        copy.graph.clear()
        assert copy.graph.frequencies() == {}
        assert mem.scopes().items == ["source"]

    def test_of_memories(self, open_memory, redis_url, namespace):
        """The facts of memories come back as theirs: with their times, closed and gone with them."""
        mem = open_memory(graph={}, mode="hybrid")
        first, copy = mem.scoped("first"), mem.scoped("copy")
        with frozen() as time:
            for text in ("TICKET-1 is ours", "TICKET-2 is ours"):
                first.remember([MemoryItem(text, tier, id="x") for tier in ("semantic", "episodic")])
                time.tick(DAY)
            first.forget("x", "episodic")
            first.remember("TICKET-1 broke", tier="episodic", id="x")
            data = exported(first)
            assert loaded(copy, data).outcomes["graph"] == {"imported": 2}
            assert copy.graph.facts("x") != []
            key = lambda fact: (fact.tier, fact.recorded_at)  # noqa: E731
            assert sorted(copy.graph.facts("x"), key=key) == sorted(first.graph.facts("x"), key=key)
            assert loaded(copy, data).outcomes["graph"] == {"skipped": 2}
            first.remember("TICKET-3 is ours", id="x")
            assert loaded(copy, exported(first)).outcomes["graph"] == {"imported": 1, "skipped": 1}
            assert copy.graph.neighbors([EntityRef("Ticket", "TICKET-2")]) == []
        with Redis.from_url(redis_url) as client:
            check_invariants(client, namespace)
        copy.clear("semantic")
        copy.clear("episodic")
        assert copy.graph.frequencies() == {}

    def test_of_other_memories(self, open_memory):
        """Facts of a memory that says something else here, or isn't here, aren't written."""
        mem = open_memory(graph={}, mode="hybrid")
        copy = mem.scoped("copy")
        stated = [{"id": id, "tier": "semantic", "facts": [FACT]} for id in ("x", "y")]
        copy.remember("b", id="x")
        assert loaded(copy, archive(*stated)).outcomes["graph"] == {"conflict": 1, "expired": 1}
        assert copy.graph.frequencies() == {}

    def test_a_fact_that_differs(self, open_memory):
        """Where a memory's fact is here already and differs, it stays."""
        mem = open_memory(graph={}, mode="hybrid")
        copy = mem.scoped("copy")
        copy.remember("a", id="x", metadata={"entities": ["place:rome"]})
        assert loaded(copy, archive({"id": "x", "tier": "semantic", "facts": [FACT]})).outcomes["graph"] == {
            "conflict": 1
        }
        assert copy.graph.frequencies() == {ROME: 1}

    @pytest.mark.parametrize(
        "record",
        [
            {},
            {"id": "x", "tier": "odd", "facts": [FACT]},
            {"id": "x", "tier": "working", "facts": [FACT]},
            {"id": "x", "tier": [], "facts": [FACT]},
            {"id": "", "facts": [FACT]},
            {"id": "x", "facts": []},
            {"id": "x", "facts": [FACT, FACT]},
            {"id": "x", "facts": [CLOSED, FACT | {"recorded_at": (NOON - DAY).isoformat()}]},
            {"id": "x", "facts": [FACT | {"entities": []}]},
            {"id": "x", "facts": [FACT | {"entities": [["nothing", TIME]]}]},
            {"id": "x", "facts": [FACT | {"entities": [["person:ana", "noon"]]}]},
            {"id": "x", "facts": [FACT | {"text": None}]},
            {"id": "x", "facts": [FACT | {"valid_to": TIME}]},
            {"id": "x", "facts": [FACT | {"expired_at": TIME}]},
            {"id": "x", "facts": [FACT | {"recorded_at": None}]},
            {"id": "x", "facts": "x"},
        ],
    )
    def test_damaged(self, mem, record):
        """What can't be a fact is refused, and nothing is written."""
        with pytest.raises(DamagedArchive):
            loaded(mem, archive({"id": "good", "facts": [FACT]}, record))
        assert mem.graph.frequencies() == {}

    def test_whole(self, mem):
        """Such an archive without them is loaded."""
        loaded(mem, archive({"id": "good", "facts": [CLOSED, FACT]}))
        assert [fact.valid_to for fact in mem.graph.facts("good")] == [None, NOON]
