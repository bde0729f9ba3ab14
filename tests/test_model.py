"""The product and a model of it, through the same random calls: whatever is asked, both answer the same."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from answers import cosine
from embedders_for_tests import VECTORS
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from reference import TIERS, Reference
from shorthand import NOON

from tiered_memory import MemoryItem, NotFound, clock

MAX_NOTES = 4

scopes = st.sampled_from([None, "a", "A", "a "])
tiers = st.sampled_from(TIERS)
ids = st.sampled_from(["x", "y", "z", "x ", "1", "2"])
texts = st.sampled_from([text for text in VECTORS if text != "q"])
metadata = st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 3), max_size=2)
lifetimes = st.sampled_from([None, timedelta(hours=1), timedelta(hours=2), timedelta(days=5)])
pauses = st.sampled_from([timedelta(0), timedelta(microseconds=1), timedelta(hours=1), timedelta(days=6)])


class Both(RuleBasedStateMachine):
    """Calls the product and the model, and compares what they answer."""

    open = None
    """Opens an empty memory; set by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.mem, self.time = type(self).open()
        self.model = Reference(lambda a, b: cosine(VECTORS[a], VECTORS[b]), NOON, MAX_NOTES)
        self.time[0] = NOON

    def teardown(self) -> None:
        self.mem.clear()
        self.mem.close()

    def handle(self, scope):
        return self.mem if scope is None else self.mem.scoped(scope)

    @rule(pause=pauses)
    def wait(self, pause):
        self.time[0] += pause
        self.model.now += pause

    @rule(rows=st.lists(st.tuples(scopes, tiers, ids, texts, metadata, lifetimes), min_size=1, max_size=4))
    def remember(self, rows):
        items = [MemoryItem(t, tier, id=i, scope=s, metadata=m, ttl=ttl) for s, tier, i, t, m, ttl in rows]
        assert [each.outcome for each in self.mem.remember(items)] == [self.model.remember(*row) for row in rows]

    @rule(scope=scopes, tier=st.sampled_from(TIERS[1:]), id_=ids, text=texts)
    def propose(self, scope, tier, id_, text):
        (outcome,) = self.handle(scope).remember(MemoryItem(text, tier, id=id_, status="candidate"))
        assert outcome.outcome == self.model.propose(scope, tier, id_, text)

    @rule(
        scope=scopes,
        tier=tiers,
        id_=ids,
        text=st.none() | texts,
        changes=st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(4, 6), max_size=2),
    )
    def update(self, scope, tier, id_, text, changes):
        expected = self.model.update(scope, tier, id_, text, changes)
        if expected is None:
            with pytest.raises(NotFound):
                self.handle(scope).update(id_, tier, text=text, metadata=changes)
        else:
            assert self.handle(scope).update(id_, tier, text=text, metadata=changes).outcome == expected

    @rule(scope=scopes, tier=tiers, id_=ids)
    def forget(self, scope, tier, id_):
        assert self.handle(scope).forget(id_, tier) == self.model.forget(scope, tier, id_)

    @rule(scope=scopes, tier=tiers)
    def clear(self, scope, tier):
        if scope is None:
            expected = sum(self.model.clear(each, tier) for each in (None, "a", "A", "a "))
        else:
            expected = self.model.clear(scope, tier)
        assert self.handle(scope).clear(tier) == expected

    @rule(scope=scopes, tier=tiers, id_=ids)
    def get(self, scope, tier, id_):
        found, expected = self.handle(scope).get(id_, tier), self.model.alive(scope, tier).get(id_)
        assert (found is None) is (expected is None)
        if expected is not None:
            self.compare(found, expected)

    @rule(scope=scopes, tier=tiers, limit=st.integers(1, 4))
    def page_through(self, scope, tier, limit):
        page = self.handle(scope).list(tier, limit=limit)
        items = list(page.items)
        while page.cursor is not None:
            page = self.handle(scope).list(tier, limit=limit, cursor=page.cursor)
            items += page.items
        expected = list(self.model.alive(scope, tier).values())
        assert [each.id for each in items] == [each.id for each in expected]
        for found, one in zip(items, expected, strict=True):
            self.compare(found, one)

    @rule(
        wanted=st.lists(scopes, min_size=1, max_size=3, unique=True),
        asked=st.sets(tiers, min_size=1).map(lambda chosen: tuple(tier for tier in TIERS if tier in chosen)),
        query=st.sampled_from(["q", "near", "neg"]),
        k=st.integers(1, 12),
        threshold=st.sampled_from([-1, 0, 0.6, 0.7, 1]),
    )
    def recall(self, wanted, asked, query, k, threshold):
        hits = self.mem.recall(query, k=k, tier=asked, threshold=threshold, scope=wanted)
        expected = self.model.recall(query, k, asked, threshold, wanted)
        assert [(hit.scope, hit.tier, hit.id) for hit in hits] == [each[:3] for each in expected]
        assert [hit.score for hit in hits] == pytest.approx([each[3] for each in expected], abs=1e-6)

    @invariant()
    def numbers(self):
        for scope in (None, "a", "A", "a "):
            counted = {tier: self.handle(scope).count(tier) for tier in TIERS}
            assert counted == {tier: len(self.model.alive(scope, tier)) for tier in TIERS}

    def compare(self, found, expected):
        for name in ("id", "text", "metadata", "at", "created_at", "updated_at", "expires_at", "uses"):
            assert getattr(found, name) == getattr(expected, name), name

    @rule()
    def stats(self):
        stats, model = self.mem.stats(), self.model
        everywhere = [(scope, tier) for scope in (None, "a", "A", "a ") for tier in TIERS]
        for tier in TIERS:
            held = [each for scope, one in everywhere if one == tier for each in model.alive(scope, one).values()]
            waiting = [ids for scope, one in everywhere if one == tier for ids in model.candidates(scope, one).values()]
            assert stats.memories[tier] == len(held)
            assert stats.superseded[tier] == sum(each.superseded for each in held)
            assert stats.candidates[tier] == sum(map(len, waiting))
        assert set(self.mem.scopes().items) == model.scopes()
        assert stats.scopes == len(model.scopes())


@pytest.mark.parametrize("partitions", [1, 3])
def test_same_answers(open_memory, namespace, monkeypatch, partitions):
    """Through any sequence of calls in several scopes, product and model give the same answers."""
    numbers, time = count(), [NOON]
    monkeypatch.setattr(clock, "now", lambda: time[0])

    def open_empty():
        name = f"{namespace}-{next(numbers)}"
        return open_memory(namespace=name, working={"max_items": MAX_NOTES}, partitions=partitions), time

    class Machine(Both):
        open = staticmethod(open_empty)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=30, stateful_step_count=30, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck), phases=[Phase.generate],
        ),
    )  # fmt: skip
