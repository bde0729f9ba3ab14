"""The graph of a scope: facts indexed by their entities, and found by these."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import run_together
from redis import Redis
from shorthand import DAY, NOON, frozen

from tiered_memory import memory
from tiered_memory.engine.keys import Keyspace
from tiered_memory.errors import CorruptRecord, InvalidInput, InvalidItem, InvalidLimit, StoreError
from tiered_memory.graph import KINDS, EntityRef, GraphEdge, IndexEntry, Other, PathHop, known_epoch, stored
from tiered_memory.graph.times import Times

A, B, C, D, E = (EntityRef("Ticket", name) for name in "abcde")


@pytest.fixture
def graph(mem):
    return mem.scoped("s").graph


def pair(graph, first, second):
    """How many facts mention both, as a view says."""
    return {(edge.source, edge.target): edge.count for edge in graph.view(5000).edges}.get((first, second), 0)


def edges(graph, *entities, **times):
    """The last hop of each path: which entity led to which fact."""
    return [(path.entity, path.memory_id) for path in graph.paths(entities, **times)]


def left(redis_url, namespace):
    """The keys of the namespace that are about scopes."""
    with Redis.from_url(redis_url) as client:
        return [key for key in client.scan_iter(f"{{{namespace}:*") if b":meta" not in key and b":sequence" not in key]


class TestEntities:
    def test_same_name_in_any_case(self):
        """An entity's name is compared in lower case, composed form, with single spaces."""
        assert EntityRef("Ticket", "TICKET-1") == EntityRef("Ticket", "ticket-1")
        assert EntityRef("person", " Zoe\u0308 \n Lee ") == EntityRef("person", "zo\u00eb lee")

    def test_kind_is_part_of_it(self):
        """The same name of another kind is another entity."""
        assert EntityRef("Ticket", "x") != EntityRef("Policy", "x")

    @pytest.mark.parametrize("kind", KINDS)
    def test_known_kinds(self, kind):
        """A known kind is found in whatever case, and can't be an Other."""
        assert EntityRef(kind.upper(), "x").kind == kind
        with pytest.raises(InvalidItem, match="without Other"):
            Other(kind)

    def test_other_kinds(self):
        """Any other word is a kind too, with or without saying so."""
        assert EntityRef(Other("Person"), "x") == EntityRef("person", "x")

    @pytest.mark.parametrize("kind", ["", " ", "a:b", "k" * 257, "a\0b", 3, None])
    def test_bad_kinds(self, kind):
        """A kind that is blank, too long, not text, or has a colon or a control character is refused."""
        with pytest.raises(InvalidItem):
            EntityRef(kind, "x")

    @pytest.mark.parametrize("name", ["", "\n", "n" * 1025, "a\0b", 3, None, "\ud800"])
    def test_bad_names(self, name):
        """A name that is blank, too long, not text or not Unicode is refused."""
        with pytest.raises(InvalidItem):
            EntityRef("Ticket", name)

    @given(st.text(), st.text())
    def test_written_and_read(self, kind, name):
        """Whatever is an entity is the same one when it is written as text, and read again."""
        try:
            entity = EntityRef(kind, name)
        except InvalidItem:
            return
        assert EntityRef.parse(str(entity)) == entity == EntityRef(entity.kind, entity.name)
        assert not {"\n", "\t"} & set(str(entity))

    def test_parse_needs_a_kind(self):
        """A text without a kind is no entity."""
        with pytest.raises(InvalidItem, match="kind:name"):
            EntityRef.parse("ticket-1")

    def test_epoch(self):
        """What has always been so holds from 1970 on."""
        assert known_epoch() == datetime(1970, 1, 1, tzinfo=timezone.utc)


class TestNeighbors:
    def test_direct(self, graph):
        """A fact is found by an entity that it mentions."""
        graph.index("f1", [A, B], "one")
        assert graph.neighbors([A]) == ["f1"]

    def test_siblings(self, graph):
        """A fact is found by an entity that is mentioned together with one that was asked for, one hop away."""
        graph.index("f1", [A, B])
        graph.index("f2", [B, C])
        graph.index("f3", [C, D])
        assert graph.neighbors([A]) == ["f1", "f2"]
        assert graph.neighbors([D]) == ["f3", "f2"]

    def test_nothing(self, graph):
        """No entity and an unknown entity find nothing."""
        graph.index("f1", [A])
        assert graph.neighbors([]) == graph.neighbors([B]) == graph.paths([]) == graph.paths([B]) == []

    def test_each_once(self, graph):
        """A fact that several entities lead to is there once."""
        graph.index("f1", [A, B])
        graph.index("f2", [B, C])
        assert graph.neighbors([A, B, A]) == ["f1", "f2"]

    def test_other_scopes(self, mem, graph):
        """The graph of another scope is another graph."""
        graph.index("f1", [A])
        assert mem.graph.neighbors([A]) == mem.scoped("t").graph.neighbors([A]) == []
        assert mem.scoped("t").graph.forget("f1") == 0
        assert graph.neighbors([A]) == ["f1"]

    def test_direct_before_siblings(self, graph):
        """A direct mention by a common entity comes before any sibling's."""
        with frozen() as clock:
            for number in range(5):
                graph.index(f"common{number}", [A])
                clock.tick()
            graph.index("link", [A, B])
            graph.index("sibling", [B])
        assert graph.neighbors([A])[-1] == "sibling"

    def test_rare_entities_count_more(self, graph):
        """A fact that mentions a rare entity comes before a newer one that mentions a common one."""
        with frozen() as clock:
            graph.index("rare", [B])
            for number in range(5):
                clock.tick()
                graph.index(f"common{number}", [A])
            graph.index("both", [A, B])
        assert graph.neighbors([A, B])[:3] == ["both", "rare", "common4"]

    def test_often_met_siblings_come_first(self, graph):
        """Among siblings that are as rare, the one that was met more often comes first."""
        with frozen():
            graph.index_many([IndexEntry(f"ab{n}", [A, B]) for n in range(3)])
            graph.index_many([IndexEntry("ac", [A, C]), IndexEntry("c1", [C]), IndexEntry("c2", [C])])
            graph.index_many([IndexEntry("z", [B]), IndexEntry("c3", [C])])
        assert graph.neighbors([A])[4:] == ["z", "c1", "c2", "c3"]

    def test_newest_then_id(self, graph):
        """What is equal otherwise is ordered by time, the newest first, then by id."""
        with frozen() as clock:
            graph.index_many([IndexEntry("b", [A]), IndexEntry("a", [A])])
            clock.tick()
            graph.index("c", [A])
        assert graph.neighbors([A]) == ["c", "a", "b"]

    def test_limit(self, graph):
        """No more than `limit` are found: the first ones; it has a range."""
        with frozen() as clock:
            for number in range(5):
                graph.index(f"f{number}", [A, B])
                clock.tick()
        assert graph.neighbors([A], limit=2) == ["f4", "f3"]
        for limit in (0, 1001, True, 1.5):
            with pytest.raises(InvalidLimit):
                graph.neighbors([A], limit=limit)

    def test_hubs(self, graph):
        """Of an entity that thousands of facts mention the newest are found, and the rare one's first."""
        hub = [IndexEntry(f"h{number:04d}", [A]) for number in range(3000)]
        with frozen() as clock:
            graph.index_many([IndexEntry("old", [A, B])])
            clock.tick()
            graph.index_many(hub)
        assert graph.neighbors([A]) == [entry.memory_id for entry in hub[:1000]]
        assert graph.neighbors([A, B])[:2] == ["old", "h0000"]

    @pytest.mark.parametrize("entities", ["Ticket:a", ["Ticket:a"], None, 3, [None]])
    def test_only_entities(self, graph, entities):
        """What isn't a collection of entities is refused."""
        for call in (graph.neighbors, graph.paths, lambda given: graph.index("f", given)):
            with pytest.raises(InvalidItem, match="EntityRef"):
                call(entities)


class TestPaths:
    def test_one_for_each_mention(self, graph):
        """There is a path for each mention by which a fact is reached, and none for a mention two hops away."""
        graph.index("f1", [A, B])
        graph.index("f2", [B, C])
        assert edges(graph, A) == [(A, "f1"), (B, "f1"), (B, "f2")]

    def test_hops(self, graph):
        """A path goes from what was asked for, by the fact that mentions a sibling too, to what was reached."""
        graph.index("f1", [A, B])
        graph.index("f2", [B])
        assert graph.paths([A])[-1].hops == (PathHop(A, "f1"), PathHop(B, "f2"))

    def test_same_order(self, graph):
        """Paths come in the order of the neighbours."""
        graph.index_many([IndexEntry("f1", [A, B]), IndexEntry("f2", [B, C]), IndexEntry("f3", [A])])
        reached = dict.fromkeys(path.memory_id for path in graph.paths([A]))
        assert list(reached) == graph.neighbors([A])


class TestIndex:
    def test_adds(self, graph):
        """Indexing a memory again adds what it mentions, and pairs with what it mentioned before."""
        graph.index("f1", [A])
        graph.index("f1", [B])
        assert graph.neighbors([A]) == graph.neighbors([B]) == ["f1"]
        assert pair(graph, A, B) == 1
        graph.index("f1", [B, C])
        assert pair(graph, A, C) == pair(graph, B, C) == 1

    def test_again(self, graph):
        """Indexing the same again changes no count."""
        for _ in range(2):
            graph.index("f1", [A, B])
        assert graph.frequencies() == {A: 1, B: 1}
        assert pair(graph, A, B) == 1

    def test_same_entity_twice(self, graph):
        """An entity that is named twice is mentioned once, and is no pair."""
        graph.index("f1", [A, A])
        assert graph.frequencies() == {A: 1}
        assert pair(graph, A, A) == 0

    def test_names_within_names(self, graph):
        """An entity whose name ends as another's does is another entity."""
        inner = EntityRef("x", "y ticket:a")
        graph.index("f1", [inner])
        graph.index("f1", [A])
        assert graph.frequencies() == {A: 1, inner: 1}
        assert graph.facts("f1")[0].entities == (inner, A)

    def test_no_entities(self, mem, graph, redis_url, namespace):
        """A fact without entities leaves nothing."""
        graph.index("f1", [])
        assert graph.index_many([IndexEntry("f1", []), IndexEntry("f2", [A])]) == 1
        assert graph.view().nodes == ("f2", A)
        assert graph.facts("f1") == []
        assert mem.scopes().items == ["s"]

    def test_a_bad_entry(self, graph):
        """A batch with something that is no entry names its place, and indexes nothing."""
        with pytest.raises(InvalidItem, match=r"entries\[1\]"):
            graph.index_many([IndexEntry("f1", [A]), "bad", IndexEntry("f3", [A])])
        assert graph.frequencies() == {}

    def test_bad_arguments(self, graph):
        """Ids, texts and times that can't be used are refused before anything is written."""
        naive = datetime(2026, 1, 1)
        for arguments in (("", [A]), (3, [A]), ("f", [A], None), ("f", [A], "\ud800"), ("f", [A], "", naive)):
            with pytest.raises(InvalidInput):
                graph.index(*arguments)
        with pytest.raises(InvalidItem, match="at most 256"):
            graph.index("f", [EntityRef("x", str(number)) for number in range(257)])
        assert graph.frequencies() == {}

    def test_large_batch(self, graph):
        """A batch of any size is indexed."""
        assert graph.index_many([IndexEntry(f"f{n}", [A, EntityRef("x", str(n))], "text") for n in range(1234)]) == 1234
        assert graph.frequencies()[A] == 1234

    def test_any_id_and_text(self, graph):
        """An id and a text come back as they were given, whatever is in them."""
        odd = "a#1\n\t \0 é%"
        graph.index(odd, [A], odd)
        graph.index("a", [A])
        assert set(graph.neighbors([A])) == {odd, "a"}
        assert graph.facts(odd)[0].text == odd


class TestForget:
    def test_forget(self, graph):
        """A forgotten fact is gone, with entities and pairs that nothing else mentions."""
        graph.index("f1", [A, B])
        graph.index("f2", [B, C])
        assert graph.forget("f1") == 1
        assert graph.neighbors([A]) == []
        assert graph.frequencies() == {B: 1, C: 1}
        assert pair(graph, A, B) == 0

    def test_unknown(self, graph):
        """Forgetting what isn't there, or twice, is no error."""
        graph.index("f1", [A])
        assert [graph.forget("f0"), graph.forget("f1"), graph.forget("f1")] == [0, 1, 0]

    def test_replace(self, graph):
        """Forgetting and indexing replaces what a memory mentions."""
        graph.index("f1", [A, B])
        graph.forget("f1")
        graph.index("f1", [C])
        assert graph.frequencies() == {C: 1}

    def test_nothing_is_left(self, mem, graph, redis_url, namespace):
        """When the last fact is gone, no key is left, and the scope is listed no more."""
        graph.index("f1", [A, B])
        assert mem.scopes().items == ["s"]
        graph.close("f1")
        graph.index("f1", [A])
        assert graph.forget("f1") == 2
        assert left(redis_url, namespace) == []

    @pytest.mark.parametrize("way", ["graph", "scope", "erase", "everything"])
    def test_clear(self, mem, graph, redis_url, namespace, way):
        """Clearing the graph, the scope or everything, and erasing the scope, forget the graph."""
        graph.index_many([IndexEntry(f"f{n}", [A, EntityRef("x", str(n % 7))]) for n in range(2100)])
        graph.close("f1")
        graph.index("f1", [B])
        if way == "graph":
            assert graph.clear() == 2101
        else:
            {"scope": mem.scoped("s").clear, "erase": lambda: mem.erase("s"), "everything": mem.clear}[way]()
        assert left(redis_url, namespace) == []

    def test_clear_leaves_memories(self, mem, graph):
        """Clearing the graph leaves the memories and their scope."""
        mem.scoped("s").remember("exact", id="f1")
        graph.index("f1", [A])
        graph.clear()
        assert mem.scoped("s").count("semantic") == 1
        assert mem.scopes().items == ["s"]


class TestTimes:
    def test_defaults(self, graph):
        """Without a time, a fact holds from when it was recorded."""
        with frozen():
            graph.index("f1", [A], "text")
        (fact,) = graph.facts("f1")
        assert (fact.valid_from, fact.recorded_at, fact.valid_to, fact.expired_at) == (NOON, NOON, None, None)

    def test_always(self, graph):
        """What holds from the epoch on holds at any time after it."""
        graph.index("f1", [A], valid_from=known_epoch())
        assert graph.facts("f1")[0].valid_from == known_epoch()
        assert graph.neighbors([A], as_of=known_epoch()) == graph.neighbors([A], as_of=NOON) == ["f1"]

    def test_valid_from_is_replaced_or_kept(self, graph):
        """Indexing again with a time replaces the old one, without one keeps it."""
        graph.index("f1", [A], valid_from=NOON)
        graph.index("f1", [B])
        assert graph.facts("f1")[0].valid_from == NOON
        graph.index("f1", [B], valid_from=NOON + DAY)
        assert graph.facts("f1")[0].valid_from == NOON + DAY

    def test_pairs_of_several_facts(self, graph):
        """What two facts of one id mention, of which one ends later, is no pair."""
        graph.index("f1", [A])
        graph.close("f1", NOON + 36_500 * DAY)
        graph.index("f1", [B, C])
        assert [(edge.source, edge.target) for edge in graph.view().edges if edge.kind != "mention"] == [(B, C)]

    def test_as_of(self, graph):
        """A fact is found from when it begins to hold until before it ends."""
        graph.index("f1", [A, B], valid_from=NOON)
        graph.index("f2", [B], valid_from=known_epoch())
        graph.close("f1", NOON + DAY)
        moments = [NOON - DAY, NOON, NOON + DAY - timedelta(microseconds=1), NOON + DAY]
        assert [graph.neighbors([A], as_of=moment) for moment in moments] == [[], ["f1", "f2"], ["f1", "f2"], []]
        assert [len(graph.view(as_of=moment).nodes) for moment in moments] == [2, 4, 4, 2]
        assert edges(graph, A, as_of=NOON) == [(A, "f1"), (B, "f1"), (B, "f2")]

    def test_without_a_time(self, graph):
        """Without a time, what ended isn't found; what will begin or end is."""
        graph.index("past", [A], valid_from=NOON)
        graph.index("future", [A], valid_from=NOON + 36_500 * DAY)
        graph.index("ending", [A], valid_from=NOON)
        graph.close("past")
        graph.close("ending", NOON + 36_500 * DAY)
        assert set(graph.neighbors([A])) == {"future", "ending"}

    def test_known_at(self, graph):
        """As known at a time, facts, entities and ends that were recorded later are not there."""
        with frozen() as clock:
            graph.index("f1", [A], valid_from=known_epoch())
            clock.tick(DAY)
            graph.index("f1", [B])
            clock.tick(DAY)
            graph.close("f1", NOON + DAY)
            graph.index("f2", [A], valid_from=known_epoch())
        at = [NOON + days * DAY for days in (-1, 0, 1, 2)]
        assert [graph.neighbors([A], known_at=when) for when in at] == [[], ["f1"], ["f1"], ["f2"]]
        assert [graph.neighbors([B], known_at=when) for when in at] == [[], [], ["f1"], []]
        assert [graph.neighbors([B], known_at=when, as_of=NOON) for when in at] == [[], [], ["f1"], ["f1", "f2"]]
        assert [graph.view(known_at=when).nodes for when in at] == [(), ("f1", A), ("f1", A, B), ("f2", A)]

    def test_close_then_index(self, graph):
        """A memory whose fact is closed has a new one when it is indexed again; the closed one stays as it was."""
        with frozen() as clock:
            graph.index("home", [A], "Lives in Lyon.", known_epoch())
            clock.tick(DAY)
            assert graph.close("home", NOON + DAY) is True
            graph.index("home", [B], "Lives in Paris.", NOON + DAY)
        assert [fact.text for fact in graph.facts("home")] == ["Lives in Paris.", "Lives in Lyon."]
        assert (graph.neighbors([A]), graph.neighbors([B])) == ([], ["home"])
        assert graph.neighbors([A], as_of=NOON) == ["home"]
        assert graph.frequencies() == {A: 1, B: 1}

    def test_closed_once(self, graph):
        """What is closed or unknown can't be closed."""
        graph.index("f1", [A], valid_from=NOON)
        assert [graph.close("f1", NOON + DAY), graph.close("f1", NOON), graph.close("f0")] == [True, False, False]
        assert graph.facts("f1")[0].valid_to == NOON + DAY

    def test_both_facts_of_a_memory(self, graph):
        """A memory that two facts lead to is found once, where the better one stands."""
        graph.index_many([IndexEntry("f1", [A, B]), IndexEntry("f2", [A])])
        graph.close("f1", NOON + 36_500 * DAY)
        graph.index("f1", [A])
        assert graph.neighbors([A, B]) == ["f1", "f2"]
        assert edges(graph, A, B).count((A, "f1")) == 1

    @pytest.mark.parametrize("name", ["as_of", "known_at"])
    def test_naive_times(self, graph, name):
        """A time without its zone is refused."""
        for call in (graph.neighbors, graph.paths):
            with pytest.raises(InvalidInput, match=name):
                call([A], **{name: datetime(2026, 1, 1)})


class TestView:
    def test_limits(self, graph):
        """A view is truncated exactly when there are more nodes than its limit."""
        assert graph.view(0).truncated is False
        graph.index("f1", [A, B], "one")
        graph.index("f2", [B, C], "two")
        whole, part, nothing = (graph.view(limit) for limit in (5, 4, 0))
        assert (len(whole.nodes), whole.truncated) == (5, False)
        assert (len(part.nodes), part.truncated) == (4, True)
        assert (nothing.nodes, nothing.edges, nothing.texts, nothing.truncated) == ((), (), {}, True)

    def test_stable(self, graph):
        """A view of the same state is the same: the newest facts, each with its entities."""
        with frozen() as clock:
            graph.index("f1", [A, B], "one")
            clock.tick()
            graph.index("f2", [C, B], "two")
        assert graph.view(5) == graph.view(5)
        assert graph.view(5).nodes == ("f2", C, B, "f1", A)
        assert graph.view(5).texts == {"f2": "two", "f1": "one"}

    def test_edges(self, graph):
        """Edges are the mentions and the pairs between the nodes that are there, pairs with their exact count."""
        with frozen() as clock:
            graph.index("f1", [A, B])
            clock.tick()
            graph.index("f2", [B, A])
        assert graph.view(3).edges == (
            GraphEdge("mention", B, "f2"),
            GraphEdge("mention", A, "f2"),
            GraphEdge("co-occurrence", A, B, 2),
        )

    def test_many(self, graph):
        """A view reaches beyond what is read at once."""
        graph.index_many([IndexEntry(f"f{n}", [A]) for n in range(1200)])
        view = graph.view(1201)
        assert (len(view.nodes), view.truncated) == (1201, False)

    def test_frequencies(self, graph):
        """Frequencies count the facts that mention each entity, the most frequent first, ended facts too."""
        graph.index("f1", [A, B])
        graph.index("f2", [B, C])
        graph.close("f2")
        assert list(graph.frequencies().items()) == [(B, 2), (A, 1), (C, 1)]

    @pytest.mark.parametrize("limit", [-1, 5001, None])
    def test_bad_limit(self, graph, limit):
        """A limit out of its range is refused."""
        with pytest.raises(InvalidLimit):
            graph.view(limit)


class TestFaults:
    def test_foreign_key(self, graph, redis_url, namespace):
        """A change that would touch a key of another type is refused, and changes nothing."""
        graph.index("f1", [A], "text")
        keys = Keyspace(namespace, 1, "").of("s")
        with Redis.from_url(redis_url) as client:
            client.set(keys.mentions(str(B)), "foreign")
            for call in (lambda: graph.index_many([IndexEntry("f2", [A]), IndexEntry("f3", [A, B])]),):
                with pytest.raises(CorruptRecord):
                    call()
            assert graph.frequencies() == {A: 1}
            client.delete(keys.mentions(str(A)))
            client.set(keys.mentions(str(A)), "foreign")
            with pytest.raises(CorruptRecord):
                graph.forget("f1")
            assert graph.facts("f1")[0].text == "text"

    @pytest.mark.parametrize("junk", [b"junk", b"1 2 - - -\n", b"1 x - - -\n1\tTicket:a\n"])
    def test_junk(self, graph, redis_url, namespace, junk):
        """A fact that isn't as we wrote it is named by every call that meets it, and can be cleared."""
        graph.index("f1", [A, B])
        keys = Keyspace(namespace, 1, "").of("s")
        with Redis.from_url(redis_url) as client:
            (name,) = client.hkeys(keys.key("facts", "graph"))
            client.hset(keys.key("facts", "graph"), name, junk)
            meetings = (
                lambda: graph.index("f1", [C]),
                lambda: graph.close("f1"),
                lambda: graph.forget("f1"),
                lambda: graph.facts("f1"),
                graph.view,
                lambda: graph.neighbors([A]),
            )
            for call in meetings:
                with pytest.raises(CorruptRecord):
                    call()
        graph.clear()
        assert left(redis_url, namespace) == []

    def test_out_of_memory(self, graph, redis_url, namespace):
        """A server that is out of memory refuses, indexes nothing, and still forgets."""
        graph.index("f1", [A])
        with Redis.from_url(redis_url) as client:
            client.config_set("maxmemory", "1mb")
            try:
                with pytest.raises(StoreError, match="memory"):
                    graph.index("f2", [A])
            finally:
                client.config_set("maxmemory", "0")
        assert graph.frequencies() == {A: 1}


class TestRoundTrips:
    def test_a_batch_is_one(self):
        """However large a batch is, it is sent in one round trip; so is a question, in however many scopes."""
        keys = Keyspace("ns", 1, "").of("s")
        index = stored.index(keys, [IndexEntry(str(number), [A]) for number in range(250)])
        assert len(next(index).commands) == 3
        with pytest.raises(StopIteration):
            index.send([100, 100, 50])
        reach = stored.reach([keys, keys], [A, B], 10, Times.at(None, None))
        assert len(next(reach).commands) == 2
        with pytest.raises(StopIteration):
            reach.send([[[], []], [[], []]])

    def test_partitions(self, open_memory):
        """Scopes in different partitions have a graph each, and all are cleared at once."""
        mem = open_memory(partitions=4)
        handles = [mem.scoped(f"user {number}").graph for number in range(8)]
        for number, graph in enumerate(handles):
            graph.index_many([IndexEntry(f"f{number}", [A, B]), IndexEntry("g", [B])])
        for number, graph in enumerate(handles):
            assert graph.neighbors([A]) == [f"f{number}", "g"]
            assert pair(graph, A, B) == 1
        mem.clear()
        assert [graph.frequencies() for graph in handles] == [{}] * 8


class TestRaces:
    def test_indexing_and_forgetting(self, redis_url, namespace, embedder):
        """Processes that index and forget the same facts leave counts that follow from the facts."""
        run_together("index_and_forget", 4, redis_url, namespace)
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            found = mem.graph.view(5000)
            assert found.nodes
            counted = {}
            for edge in found.edges:
                if edge.kind == "mention":
                    counted[edge.source] = counted.get(edge.source, 0) + 1
            assert mem.graph.frequencies() == counted
            for name in range(10):
                mem.graph.forget(f"f{name}")
        assert left(redis_url, namespace) == []
