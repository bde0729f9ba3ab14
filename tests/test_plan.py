"""Plans without a server: what they ask for, in how many steps, and the exact best k from canned answers."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from answers import KEYSPACE, Answerer, Row, cosine
from embedders_for_tests import VECTORS, TableEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from shorthand import NOON, TIERS, frozen, texts

from tiered_memory import EpisodicConfig, MemoryConfig, MemoryItem, ProceduralConfig, SemanticConfig, ranking
from tiered_memory.engine.scripts import call
from tiered_memory.plan import Commands, Embed, Embedding, Open, ask, embed, join
from tiered_memory.recall import Request, recall
from tiered_memory.remember import remember
from tiered_memory.tiers import EpisodicTier, ProceduralTier, Search, SemanticTier
from tiered_memory.tiers.enabled import Tiers


def steps(plan, replies=lambda command: b"recorded"):
    """The steps that a plan asks for, in their order; every command is answered by `replies`."""
    asked, answer = [], None
    try:
        while True:
            step = plan.send(answer)
            asked.append(step)
            if isinstance(step, Open):
                answer = KEYSPACE
            elif isinstance(step, Embed):
                answer = [Embedding(np.ones(3, "<f4").tobytes()) for _ in step.texts]
            else:
                answer = [replies(command) for command in step.commands]
    except StopIteration:
        return asked


def kinds(asked):
    return [type(step) for step in asked]


class TestRoundTrips:
    def test_recall(self):
        """A recall over four tiers and two scopes is one call to the embedder and one round trip."""
        tiers = Tiers(MemoryConfig(mode="vector"))
        request = Request("q", 5, None, list(tiers), ["a", None])

        def nothing(command):
            return [0] if command[0] == "FT.SEARCH" else ["", []]

        asked = steps(recall(request, tiers, None), nothing)
        assert kinds(asked) == [Open, Embed, Commands]
        assert asked[1].texts == ("q",)
        assert len(asked[2].commands) == 2 * (1 + 1 + 2 + 2)

    @pytest.mark.parametrize(("how", "embedded"), [("hybrid", [Embed]), ("text", [])])
    def test_recall_by_words(self, how, embedded):
        """By words it is one round trip too, with one command for each tier and scope; words alone embed nothing."""
        tiers = Tiers(MemoryConfig(mode=how))
        request = Request("tea", 5, None, list(tiers), ["a", "b", None])
        by_words = call("hybrid", "", ())[1]
        asked = steps(recall(request, tiers, None), lambda each: [0, [], [], 0, 0] if each[1] == by_words else ["", []])
        assert kinds(asked) == [Open, *embedded, Commands]
        assert len(asked[-1].commands) == 3 * 4

    def test_remember(self):
        """A batch of a hundred items of all tiers and one scope is one call to the embedder and one command."""
        items = [MemoryItem(f"text {number}", TIERS[number % 4]) for number in range(100)]
        asked = steps(remember(Tiers(MemoryConfig()), items, lambda item: "a"), lambda _: [b"recorded"] * 100)
        assert kinds(asked) == [Open, Embed, Commands]
        assert len(asked[1].texts) == 75
        assert len(asked[2].commands) == 1

    def test_remember_in_several_scopes(self):
        """A batch for ten scopes is one round trip as well, of one command for each scope."""
        items = [MemoryItem(f"text {number}", scope=str(number % 10)) for number in range(100)]
        asked = steps(remember(Tiers(MemoryConfig()), items, lambda item: item.scope), lambda _: [b"recorded"] * 10)
        assert kinds(asked) == [Open, Embed, Commands]
        assert len(asked[2].commands) == 10

    def test_notes_alone(self):
        """Working memory alone asks the embedder for nothing."""
        tiers = Tiers(MemoryConfig())
        request = Request("q", 5, None, tiers.chosen("working"), [None])
        assert kinds(steps(recall(request, tiers, None), lambda _: ["", []])) == [Open, Commands]

    @pytest.mark.parametrize("count", [50, 100])
    def test_usually_one(self, count):
        """Among rows of spread times and cosines, the exact best are found in the first look."""
        rng = np.random.default_rng(count)
        search = searching(EpisodicTier(EpisodicConfig()), k=5)
        rows = [
            Row(str(n), rng.normal(size=3), search.scope.token("episodic"), at=int(rng.integers(NOW)))
            for n in range(count)
        ]
        answerer = Answerer(rows)
        answerer.run(EpisodicTier(EpisodicConfig()).recall(search))
        assert answerer.round_trips == 1


class TestJoin:
    def test_asks_at_once(self):
        """Plans that are joined ask for what they need at the same time, and each gets its own answers."""

        def plan(name):
            (first,) = yield from ask((name, 1))
            second = yield from ask((name, 2), (name, 3))
            return [first, *second]

        asked = join([plan("a"), plan("b")])
        assert asked.send(None) == Commands((("a", 1), ("b", 1)))
        assert asked.send(["a1", "b1"]) == Commands((("a", 2), ("a", 3), ("b", 2), ("b", 3)))
        with pytest.raises(StopIteration) as stop:
            asked.send(["a2", "a3", "b2", "b3"])
        assert stop.value.value == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]

    def test_texts_are_embedded_once(self):
        """The same text of two plans is embedded once, and before anything is sent."""

        def plan(*wanted):
            return [each.vector for each in (yield from embed(wanted))]

        asked = join([plan("x", "y"), plan("y")])
        assert asked.send(None) == Embed(("x", "y"))
        with pytest.raises(StopIteration) as stop:
            asked.send([Embedding(b"x"), Embedding(b"y")])
        assert stop.value.value == [[b"x", b"y"], [b"y"]]

    def test_repeatable_only_if_all_are(self):
        """A joined batch is sent again after a fault only if each of its parts may be."""
        assert not join([ask(("a",)), ask(("b",), repeatable=False)]).send(None).repeatable
        assert join([ask(("a",)), ask(("b",))]).send(None).repeatable

    def test_none(self):
        """Joining nothing gives nothing."""
        with pytest.raises(StopIteration) as stop:
            join([]).send(None)
        assert stop.value.value == []

    def test_an_error_ends_all(self):
        """When a step fails, every plan is closed."""
        closed = []

        def plan(name):
            try:
                yield from ask((name,))
            finally:
                closed.append(name)

        asked = join([plan("a"), plan("b")])
        asked.send(None)
        with pytest.raises(RuntimeError, match="failed"):
            asked.throw(RuntimeError("failed"))
        assert closed == ["a", "b"]


class TestLiveRoundTrips:
    @pytest.fixture
    def round_trips(self, mem, monkeypatch):
        """How many commands each round trip of the memory carries, once its store is open and its scripts are known."""
        runner = getattr(mem, "_handle", mem)._runner
        mem.remember([MemoryItem(text, tier, scope=s) for text in VECTORS for tier in TIERS for s in ("a", None)])
        mem.recall("q")
        right, seen = runner._round_trip, []

        def counted(commands):
            seen.append(len(commands))
            return right(commands)

        monkeypatch.setattr(runner, "_round_trip", counted)
        return seen

    def test_remember(self, mem, embedder, round_trips):
        """On a real server a batch of a hundred is one call to the embedder and one round trip."""
        embedder.calls.clear()
        mem.remember([MemoryItem(f"text {number}", TIERS[number % 4]) for number in range(100)])
        assert len(round_trips) == 1
        assert [len(call) for call in embedder.calls] == [75]

    @pytest.mark.parametrize(("how", "embedded"), [("vector", [["q"]]), ("hybrid", [["q"]]), ("text", [])])
    def test_recall(self, mem, embedder, round_trips, how, embedded):
        """On a real server a recall over four tiers and two scopes is one call to the embedder and one round trip."""
        mem.recall("q", mode=how)
        embedder.calls.clear()
        round_trips.clear()
        assert len(mem.recall("q", k=10, scope=["a", None], mode=how)) == 10
        assert len(round_trips) == 1
        assert embedder.calls == embedded

    @pytest.mark.parametrize("how", ["vector", "hybrid", "text"])
    def test_window(self, mem, round_trips, how):
        """The neighbours of all hits cost one round trip more."""
        mem.recall("q", mode=how, window=1)
        round_trips.clear()
        assert any(hit.before for hit in mem.recall("q", k=10, scope=["a", None], mode=how, window=2))
        assert len(round_trips) == 2


NOW = 10**15
HOUR = 3_600_000_000
QUERY = [1.0, 0.0, 0.0]

vectors = st.tuples(*[st.integers(-3, 3)] * 3).filter(any)
weights = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
thresholds = st.sampled_from([-1.0, 0.0, 0.5, 0.7, 1.0])


def searching(tier, k, threshold=None, scope=None):
    """A search of `tier` for what is like QUERY."""
    return Search(KEYSPACE, KEYSPACE.of(scope), np.asarray(QUERY, "<f4").tobytes(), k, threshold, None, NOW)


@st.composite
def row_sets(draw, tier):
    """Rows of a scope and tier: some alike, some expired, some ghosts, some of another scope."""
    token, other = (KEYSPACE.of(scope).token(tier.name) for scope in (None, "other"))
    size = draw(st.integers(0, 60))
    pool = draw(st.lists(vectors, min_size=1, max_size=8))
    expiries = st.sampled_from([0, 0, 0, NOW - 1, NOW, NOW + 1])
    return [
        Row(
            id=f"{place:03}",
            vector=draw(st.sampled_from(pool)),
            token=draw(st.sampled_from([token] * 5 + [other])),
            at=NOW - draw(st.integers(-3, 40)) * HOUR,
            uses=draw(st.integers(1, 6)),
            expires_at=draw(expiries),
            ghost=draw(st.integers(0, 9)) == 0,
        )
        for place in draw(st.permutations(range(size)))
    ]


def brute_force(tier, rows, k, threshold):
    """The ids and scores of the best k of all rows that live."""
    scored = []
    for row in rows:
        similar = round(cosine(row.vector, QUERY), 6)
        alive = not row.ghost and not 0 < row.expires_at <= NOW
        if row.token != KEYSPACE.of(None).token(tier.name) or not alive or similar < threshold - 1e-6:
            continue
        score = ranking.blend(similar, tier.bonus(row.fields(), NOW), tier.weight) if tier.weight else similar
        scored.append((-score, -similar, -row.at, row.id))
    return [(id_, -score) for score, _, _, id_ in sorted(scored)[:k]]


def ids_and_scores(found):
    return [(each.fields[b"id"].decode(), each.score) for each in found.candidates]


class TestExactBest:
    """Whatever the rows, the best k are those of brute force, with RESP2 as with RESP3."""

    def check(self, tier, rows, k, threshold, protocol):
        found = Answerer(rows, protocol).run(tier.recall(searching(tier, k, threshold)))
        assert ids_and_scores(found) == brute_force(tier, rows, k, threshold)

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(st.data(), st.integers(1, 20), thresholds, st.sampled_from([2, 3]))
    def test_semantic(self, data, k, threshold, protocol):
        """By the cosine alone."""
        tier = SemanticTier(SemanticConfig())
        self.check(tier, data.draw(row_sets(tier)), k, threshold, protocol)

    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(st.data(), st.integers(1, 20), thresholds, weights, st.sampled_from([1, 24, 1e4]), st.sampled_from([2, 3]))
    def test_episodic(self, data, k, threshold, weight, hours, protocol):
        """By any blend with recency, of any half-life."""
        tier = EpisodicTier(EpisodicConfig(weight=weight, half_life=hours * 3600))
        self.check(tier, data.draw(row_sets(tier)), k, threshold, protocol)

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(st.data(), st.integers(1, 20), thresholds, weights, st.sampled_from([2, 3]))
    def test_procedural(self, data, k, threshold, weight, protocol):
        """By any blend with reinforcement."""
        tier = ProceduralTier(ProceduralConfig(weight=weight))
        self.check(tier, data.draw(row_sets(tier)), k, threshold, protocol)

    @pytest.mark.parametrize("protocol", [2, 3])
    def test_ghosts_everywhere(self, protocol):
        """Where all that is nearest and newest has just expired, the search goes on to what lives."""
        tier = EpisodicTier(EpisodicConfig())
        token = KEYSPACE.of(None).token("episodic")
        ghosts = [Row(f"ghost {n}", QUERY, token, at=NOW, ghost=True) for n in range(100)]
        alive = [Row(f"alive {n}", [0.8, 0.6, 0], token, at=NOW - HOUR * n) for n in range(5)]
        found = Answerer(ghosts + alive, protocol).run(tier.recall(searching(tier, 3)))
        assert [id_ for id_, _ in ids_and_scores(found)] == ["alive 0", "alive 1", "alive 2"]

    def test_a_row_of_another_scope(self):
        """A row whose stored scope isn't the one that is searched is no hit, even if its token says so."""
        tier = SemanticTier(SemanticConfig())
        token = KEYSPACE.of("a").token("semantic")
        rows = [Row("own", QUERY, token, scope="a"), Row("foreign", QUERY, token, scope="b"), Row("none", QUERY, token)]
        found = Answerer(rows).run(tier.recall(searching(tier, 5, scope="a")))
        assert ids_and_scores(found) == [("own", 1)]


class TestExactBestOnRedis:
    def test_against_brute_force(self, open_memory):
        """A real server gives what brute force does, for any k and threshold, with many ties, in each tier."""
        rng = np.random.default_rng(7)
        table = {f"v{n}": vector for n, vector in enumerate(rng.integers(-2, 3, size=(40, 4)).tolist()) if any(vector)}
        mem = open_memory(embedder=TableEmbedder(table | {"q": [1, 0, 0, 0]}, dimensions=4))
        with frozen() as time:
            for _ in range(12):
                mem.remember([MemoryItem(str(t), tier) for tier in TIERS[1:] for t in rng.choice(list(table), 20)])
                time.tick(36_000)
            for tier in TIERS[1:]:
                everything = mem.recall("q", k=1000, tier=tier, threshold=-1)
                assert len(everything) == mem.count(tier)
                for hit in everything:
                    assert hit.similarity == pytest.approx(cosine(table[hit.text], [1, 0, 0, 0]), abs=2e-6)
                for k, threshold in ((1, -1), (3, 0), (7, 0.3), (20, 0.5), (39, -0.5)):
                    expected = [hit for hit in everything if hit.similarity >= threshold - 1e-6][:k]
                    assert mem.recall("q", k=k, tier=tier, threshold=threshold) == expected
                assert texts(everything) == texts(
                    sorted(everything, key=lambda h: (-h.score, -h.similarity, -h.at.timestamp(), h.id))
                )

    def test_many_rows(self, open_memory):
        """In a scope of many rows too, when the first look can't tell, the exact best are found in a few looks."""
        rng = np.random.default_rng(3)
        table = {f"v{n}": vector.tolist() for n, vector in enumerate(rng.normal(size=(600, 8)))}
        mem = open_memory(embedder=TableEmbedder(table | {"q": [1] * 8}, dimensions=8))
        names = list(table)
        with frozen() as time:
            ats = [NOON - timedelta(hours=int(hours)) for hours in rng.integers(1, 2000, len(names))]
            mem.remember([MemoryItem(name, "episodic", at=at) for name, at in zip(names, ats, strict=True)])
            for _ in range(4):
                mem.remember([MemoryItem(name, "procedural") for name in rng.choice(names, 300)])
            time.tick(60)
            for tier in ("episodic", "procedural"):
                everything = mem.recall("q", k=1000, tier=tier, threshold=-1)
                assert len(everything) == mem.count(tier)
                for k in (1, 5, 20):
                    assert mem.recall("q", k=k, tier=tier, threshold=-1) == everything[:k]
