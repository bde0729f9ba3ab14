"""The product and a model of the lifecycle, through the same random calls: whatever can be read is the same."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import count

import pytest
from embedders_for_tests import VECTORS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from invariants import check_invariants
from lifecycle_model import Claimed, LifecycleModel
from redis import Redis
from shorthand import NOON

from tiered_memory import MemoryItem, NoCandidate, NotFound, clock

TIERS = ("semantic", "episodic", "procedural")
STATUSES = ("active", "candidate", "superseded")
SCOPES = (None, "a")
COMPARED = [each.name for each in Claimed.__attrs_attrs__ if each.name != "number"]

TYPES = {"semantic": "profile", "episodic": "events", "procedural": "experiences"}
PLACES = [
    (scope, tier, id_) for scope in SCOPES for tier in TIERS for id_ in ("x", f"viking://user/memories/{TYPES[tier]}/y")
]
"""An id like any other in each tier, and one that is the URI of a document."""

scopes, tiers = st.sampled_from(SCOPES), st.sampled_from(TIERS)
places = st.sampled_from(PLACES)
texts = st.sampled_from(["exact", "near", "far"])
shares = st.sampled_from([0.2, 0.5, 0.9])
lifetimes = st.sampled_from([None, None, timedelta(hours=1), timedelta(days=2)])
pauses = st.sampled_from([timedelta(microseconds=1), timedelta(hours=1), timedelta(days=1)])
ages = st.sampled_from(
    [timedelta(0), timedelta(microseconds=1), timedelta(hours=1), timedelta(days=1), timedelta(days=3)]
)


def told(each):
    """All that is compared of an assertion."""
    return tuple(getattr(each, name) for name in COMPARED)


class Both(RuleBasedStateMachine):
    """Calls the product and the model, and compares what they answer and all that can be read afterwards."""

    open = None
    """Opens an empty memory; set by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.mem, self.time, self.check_store = type(self).open()
        self.time[0] = NOON
        self.model = LifecycleModel(NOON)
        self.seen: list = []

    def teardown(self) -> None:
        self.mem.stats()
        held = Counter(each.status for scope in SCOPES for _, each in self.model.held(scope))
        assert self.check_store() == held
        self.mem.clear()
        self.mem.close()

    def handle(self, scope):
        return self.mem if scope is None else self.mem.scoped(scope)

    @rule(pause=pauses)
    def wait(self, pause):
        self.time[0] += pause
        self.model.now += pause

    @rule(rows=st.lists(st.tuples(places, st.booleans(), texts, shares, lifetimes), min_size=1, max_size=4))
    def remember(self, rows):
        items = [
            MemoryItem(
                text, tier, id=id_, scope=scope, confidence=share, ttl=ttl, status="active" if active else "candidate"
            )
            for (scope, tier, id_), active, text, share, ttl in rows
        ]
        expected = [
            (self.model.remember if active else self.model.propose)(place, text, share, ttl)
            for place, active, text, share, ttl in rows
        ]
        assert [each.outcome for each in self.mem.remember(items)] == expected

    @rule(place=places, text=st.none() | texts, share=st.none() | shares, lifts=st.booleans())
    def update(self, place, text, share, lifts):
        scope, tier, id_ = place
        expected = self.model.update(place, text, share, lifts)
        changes = {"text": text, "confidence": share, "ttl": False if lifts else None}
        if expected is None:
            with pytest.raises(NotFound):
                self.handle(scope).update(id_, tier, **changes)
        else:
            assert self.handle(scope).update(id_, tier, **changes).outcome == expected

    @rule(place=places, verdict=st.sampled_from(["promote", "reject"]))
    def decide(self, place, verdict):
        scope, tier, id_ = place
        call = getattr(self.handle(scope).review, verdict)
        if getattr(self.model, verdict)(place) == "no_candidate":
            with pytest.raises(NoCandidate):
                call(id_, tier)
        else:
            call(id_, tier)

    @rule(scope=scopes)
    def look(self, scope):
        claims = self.handle(scope).review.pending().items
        numbers = {
            (place[1:], each.text): each.number for place, each in self.model.held(scope) if each.status == "candidate"
        }
        for claim in claims:
            candidate = claim.candidate
            place = (scope, candidate.tier, candidate.id)
            number = numbers[place[1:], candidate.text]
            self.seen.append((scope, claim, place, self.model.version(place, number)))

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), verdict=st.sampled_from(["promote", "reject"]))
    def decide_what_was_seen(self, data, verdict):
        chosen = data.draw(st.lists(st.sampled_from(self.seen), max_size=3, unique_by=id))
        chosen = [each for each in chosen if each[0] == chosen[0][0]]
        scope = chosen[0][0] if chosen else None
        found = getattr(self.handle(scope).review, f"{verdict}_many")([claim for _, claim, _, _ in chosen])
        expected = [getattr(self.model, verdict)(place, version) for _, _, place, version in chosen]
        assert [each.outcome for each in found] == expected

    @rule(place=places)
    def forget(self, place):
        assert self.handle(place[0]).forget(place[2], place[1]) == self.model.forget(place)

    @rule(scope=scopes, tier=tiers)
    def clear(self, scope, tier):
        expected = sum(self.model.clear(each, tier) for each in ((scope,) if scope else SCOPES))
        assert self.handle(scope).clear(tier) == expected

    @rule(scope=scopes, keep=st.integers(0, 2), age=st.none() | ages)
    def prune(self, scope, keep, age):
        before = None if age is None else self.model.now - age
        assert self.handle(scope).prune_history(keep=keep, older_than=before) == self.model.prune(scope, keep, before)

    @rule(scope=scopes, tier=tiers)
    def recall(self, scope, tier):
        hits = self.handle(scope).recall("q", k=10, threshold=-1, tier=tier)
        assert sorted((hit.id, hit.text) for hit in hits) == self.model.believed(scope, tier, self.model.now)
        for hit in hits:
            self.model.mark((scope, tier, hit.id))

    @rule(scope=scopes, tier=tiers, age=ages)
    def recall_as_of(self, scope, tier, age):
        hits = self.handle(scope).recall("q", k=50, threshold=-1, tier=tier, as_of=self.model.now - age)
        assert sorted((hit.id, hit.text) for hit in hits) == self.model.believed(scope, tier, self.model.now - age)

    @rule(scope=scopes, tier=tiers)
    def recall_all(self, scope, tier):
        hits = self.handle(scope).recall("q", k=50, threshold=-1, tier=tier, include_superseded=True)
        held = [each for place, each in self.model.held(scope) if place[1] == tier and each.status != "candidate"]
        assert sorted((hit.text, hit.status) for hit in hits) == sorted((each.text, each.status) for each in held)
        for hit in hits:
            if hit.status == "active":
                self.model.mark((scope, tier, hit.id))

    @rule(place=places)
    def mark(self, place):
        self.handle(place[0]).mark_surfaced([place[2], "nowhere"], place[1])
        self.model.mark(place)

    @rule(place=places)
    def history(self, place):
        scope, tier, id_ = place
        found, slot = self.handle(scope).history(id_, tier), self.model.at(place)
        assert [told(each) for each in found] == [told(each) for each in (*slot.chain, *slot.queue)]
        chain = found[: len(slot.chain)]
        assert [each.supersedes for each in chain[:-1]] == [each.number for each in chain[1:]]
        assert [each.superseded_by for each in chain] == [None, *(each.number for each in chain[:-1])][: len(chain)]

    @rule()
    def stats(self):
        stats = self.mem.stats()
        held = [(place[1], each.status) for scope in SCOPES for place, each in self.model.held(scope)]
        for tier in TIERS:
            counted = [stats.memories[tier], stats.candidates[tier], stats.superseded[tier]]
            assert counted == [held.count((tier, status)) for status in STATUSES]

    @rule(place=places)
    def remove(self, place):
        scope, _, id_ = place
        documents = self.handle(scope).store.documents
        if id_ != "x" and documents.get(id_) is not None:
            documents.remove(id_)
            self.model.forget(place)

    @rule(scope=scopes)
    def tree(self, scope):
        store = self.handle(scope).store
        counts = store.memories.stats()  # which sweeps, so that the tree shows nothing that has expired
        held = [(place[2], each) for place, each in self.model.held(scope) if place[2] != "x"]
        assert counts.by_status == {status: sum(each.status == status for _, each in held) for status in STATUSES}
        assert counts.never_surfaced == sum(each.status == "active" and not each.surfaced for _, each in held)
        found = store.memories.recall(statuses=STATUSES)
        assert sorted((each.id, *map(str, told(each))) for each in found) == sorted(
            (id_, *map(str, told(each))) for id_, each in held
        )
        for place in PLACES:
            slot = self.model.at(place)
            if place[0] == scope and place[2] != "x":
                shown = next(iter((*slot.chain[:1], *slot.queue)), None)
                node = store.documents.get(place[2])
                assert (node.content if node else None) == (shown.text if shown else None)

    @invariant()
    def everything_readable(self):
        for scope in SCOPES:
            handle, held = self.handle(scope), list(self.model.held(scope))
            found = handle.assertions(statuses=STATUSES)
            assert sorted((each.tier, *map(str, told(each))) for each in found) == sorted(
                (place[1], *map(str, told(each))) for place, each in held
            )
            stats = handle.memory_stats()
            assert stats.by_status == {status: sum(each.status == status for _, each in held) for status in STATUSES}
            assert stats.never_surfaced == sum(each.status == "active" and not each.surfaced for _, each in held)


def test_same_life(open_memory, namespace, redis_url, monkeypatch):
    """Through any sequence of calls product and model agree on all that can be read; the store is whole in the end."""
    numbers, time = count(), [NOON]
    monkeypatch.setattr(clock, "now", lambda: time[0])
    assert {"exact", "near", "far"} < VECTORS.keys()

    with Redis.from_url(redis_url) as client:

        def open_empty():
            name = f"{namespace}-{next(numbers)}"
            return open_memory(namespace=name), time, lambda: check_invariants(client, name)

        class Machine(Both):
            open = staticmethod(open_empty)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=40, stateful_step_count=30, deadline=None, derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
