"""The graph against a model that keeps nothing but facts: whatever is called, all that can be read is the same."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import combinations
from math import floor, log

from attrs import define, field
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis
from shorthand import NOON, frozen

from tiered_memory import memory
from tiered_memory.graph import EntityRef, known_epoch

ENTITIES = [EntityRef("x", name) for name in "abcdef"]
HOUR = timedelta(hours=1)
NEVER = NOON + timedelta(days=9999)


@define
class ModelFact:
    memory_id: str
    recorded: object
    valid_from: object
    ends: tuple = ()  # when it ceases to hold, and when that became known
    mentions: dict = field(factory=dict)

    def entities(self, as_of, known_at, now):
        """What it mentions at these times."""
        known = known_at or NEVER
        ends = self.ends[0] if self.ends and self.ends[1] <= known else NEVER
        if self.recorded > known or (as_of and self.valid_from > as_of) or ends <= (as_of or known_at or now):
            return []
        return [entity for entity, since in self.mentions.items() if since <= known]


@define
class Model:
    """All facts of a scope, and what follows from them, without any index."""

    facts: list[ModelFact] = field(factory=list)

    def index(self, memory_id, entities, valid_from, now):
        open_ = [fact for fact in self.facts if fact.memory_id == memory_id and not fact.ends]
        if entities and not open_:
            self.facts.append(ModelFact(memory_id, now, valid_from or now))
            open_ = self.facts[-1:]
        for fact in open_ if entities else []:
            fact.valid_from = valid_from or fact.valid_from
            fact.mentions = dict.fromkeys(entities, now) | fact.mentions

    def close(self, memory_id, valid_to, now):
        for fact in self.facts:
            if fact.memory_id == memory_id and not fact.ends:
                fact.ends = (valid_to, now)

    def forget(self, memory_id):
        self.facts = [fact for fact in self.facts if fact.memory_id != memory_id]

    def frequencies(self):
        return Counter(entity for fact in self.facts for entity in fact.mentions)

    def pairs(self):
        return Counter(pair for fact in self.facts for pair in combinations(sorted(fact.mentions), 2))

    def neighbors(self, asked, as_of, known_at, now):
        visible = [(fact, fact.entities(as_of, known_at, now)) for fact in self.facts]
        direct = [(fact, held) for fact, held in visible if set(asked) & set(held)]
        met = Counter(entity for _, held in direct for entity in held if entity not in asked)
        others = [(fact, held) for fact, held in visible if set(met) & set(held) and not set(asked) & set(held)]
        rows = [self.row(0, fact, [each for each in held if each in asked], {}) for fact, held in direct]
        rows += [self.row(1, fact, [each for each in held if each in met], met) for fact, held in others]
        return list(dict.fromkeys(row[-1] for row in sorted(rows)))

    def row(self, leg, fact, matched, met):
        counts = self.frequencies()
        weight = sum(
            floor(1e6 * log(1 + len(self.facts) / counts[entity]) / log(1 + len(self.facts)) + 0.5)
            for entity in matched
        )
        return (leg, -weight, -sum(met.get(entity, 0) for entity in matched), NOON - fact.recorded, fact.memory_id)


hours = st.integers(0, 40).map(lambda number: NOON + number * HOUR)
some = st.lists(st.sampled_from(ENTITIES), max_size=4)
ids = st.sampled_from("pqrst")
steps = st.one_of(
    st.tuples(st.just("index"), ids, some, st.none() | st.just(known_epoch()) | hours),
    st.tuples(st.just("close"), ids, hours),
    st.tuples(st.just("forget"), ids),
)
asks = st.tuples(some, st.none() | hours, st.none() | hours)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(steps, max_size=25), asked=st.lists(asks, min_size=3, max_size=3))
def test_any_calls(redis_url, namespace, embedder, steps, asked):
    """After any indexing, closing and forgetting, neighbours, paths, frequencies and pairs follow from the facts."""
    model = Model()
    with frozen() as clock, memory(redis_url, namespace=namespace, embedder=embedder) as mem:
        graph, now = mem.graph, NOON
        graph.clear()
        for kind, memory_id, *values in steps:
            if kind == "index":
                graph.index(memory_id, values[0], memory_id, values[1])
                model.index(memory_id, values[0], values[1], now)
            elif kind == "close":
                graph.close(memory_id, values[0])
                model.close(memory_id, values[0], now)
            else:
                graph.forget(memory_id)
                model.forget(memory_id)
            clock.tick(HOUR)
            now += HOUR
        assert graph.frequencies() == model.frequencies()
        for entities, as_of, known_at in asked:
            times = {"as_of": as_of, "known_at": known_at}
            expected = model.neighbors(entities, as_of, known_at, now)
            assert graph.neighbors(entities, **times) == expected
            assert list(dict.fromkeys(path.memory_id for path in graph.paths(entities, **times))) == expected
            whole = graph.view(5000, **times)
            pairs = {(edge.source, edge.target): edge.count for edge in whole.edges if edge.kind == "co-occurrence"}
            assert pairs == {pair: model.pairs()[pair] for pair in pairs}
            held = [(fact.memory_id, fact.entities(as_of, known_at, now)) for fact in model.facts]
            assert set(whole.nodes) == {node for name, found in held if found for node in (name, *found)}
            assert set(pairs) == {pair for _, found in held for pair in combinations(sorted(found), 2)}
        mem.clear()
        assert mem.scopes().items == []
    with Redis.from_url(redis_url) as client:
        assert not [key for key in client.scan_iter(f"{{{namespace}:*") if b"mentions" in key or b"facts" in key]
