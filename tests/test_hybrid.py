"""Recall by words, by similarity, and by both."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shorthand import DAY, NOON, TIERS, frozen, texts

from tiered_memory import ConfigError, InvalidQuery, MemoryItem

MODES = ("vector", "text", "hybrid")
SEARCHED = TIERS[1:]
QUESTION = "Where does the ferry leave?"
WORDS = "The ferry leaves from pier nine."
MEANING = "Boats start at the old harbour."
NEITHER = "The soup was cold."
BOTH = "The ferry leaves at noon."
FOUND = {"vector": [MEANING], "text": [WORDS], "hybrid": [MEANING, WORDS]}


@pytest.fixture
def hybrid(open_memory, embedder):
    """A memory of mode `hybrid`, and of texts with known cosines to the question."""
    embedder.table |= {
        QUESTION: np.array([1, 0, 0], "f4"),
        WORDS: np.array([0.2, 0.98, 0], "f4"),
        MEANING: np.array([0.8, 0.6, 0], "f4"),
        NEITHER: np.array([0, 1, 0], "f4"),
        BOTH: np.array([0.9, 0.43588989, 0], "f4"),
    }
    return open_memory(mode="hybrid")


class TestModes:
    @pytest.mark.parametrize("how", MODES)
    def test_of_a_recall(self, hybrid, how):
        """A recall finds by similarity, by words, or what either finds, as it says."""
        hybrid.remember([WORDS, MEANING, NEITHER])
        assert sorted(texts(hybrid.recall(QUESTION, mode=how))) == FOUND[how]

    @pytest.mark.parametrize("how", MODES)
    def test_of_the_configuration(self, hybrid, open_memory, how):
        """A recall that doesn't say finds as the configuration does."""
        hybrid.remember([WORDS, MEANING, NEITHER])
        mem = open_memory(mode=how)
        assert sorted(texts(mem.recall(QUESTION))) == FOUND[how]
        assert sorted(texts(mem.recall(QUESTION, mode="hybrid"))) == FOUND["hybrid"]

    @pytest.mark.parametrize("how", ["words", "Hybrid", "", 7, ["text"]])
    def test_unknown(self, hybrid, embedder, how):
        """A mode that doesn't exist is refused by name, before anything is embedded."""
        with pytest.raises(InvalidQuery, match=f"mode={how!r}".replace("[", r"\[")):
            hybrid.recall(QUESTION, mode=how)
        assert embedder.calls == []

    def test_unknown_in_the_configuration(self, open_memory):
        """A configuration doesn't take it either."""
        with pytest.raises(ConfigError, match="mode='words'"):
            open_memory(mode="words")

    def test_text_embeds_nothing(self, hybrid, embedder):
        """A recall by words alone needs no embedding."""
        hybrid.remember([WORDS, MEANING])
        embedder.calls.clear()
        (hit,) = hybrid.recall(QUESTION, mode="text")
        assert (hit.text, hit.similarity, embedder.calls) == (WORDS, None, [])

    @pytest.mark.parametrize("how", MODES)
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_of_every_tier(self, hybrid, tier, how):
        """Each tier that is searched is found in by words and by similarity."""
        hybrid.remember([WORDS, NEITHER, MEANING], tier=tier)
        assert sorted(texts(hybrid.recall(QUESTION, mode=how))) == FOUND[how]

    @pytest.mark.parametrize("how", MODES)
    def test_notes_stand_beside(self, hybrid, how):
        """Working memory gives its newest notes, by place, whatever the mode; words find nothing there."""
        hybrid.remember(["Look at the logs.", "The ferry leaves."], tier="working")
        hybrid.remember([WORDS, MEANING])
        hits = hybrid.recall(QUESTION, mode=how, k=9)
        assert [(hit.text, hit.score, hit.why) for hit in hits if hit.tier == "working"] == [
            ("The ferry leaves.", 1, {}),
            ("Look at the logs.", 0.5, {}),
        ]
        assert sorted(texts(hit for hit in hits if hit.tier != "working")) == FOUND[how]

    @pytest.mark.parametrize("how", MODES)
    @pytest.mark.parametrize("query", ["", " \n\t"])
    def test_a_blank_query(self, hybrid, embedder, how, query):
        """A blank query finds notes only, and isn't embedded."""
        hybrid.remember([MemoryItem(WORDS), MemoryItem("note", "working")])
        embedder.calls.clear()
        assert texts(hybrid.recall(query, mode=how)) == ["note"]
        assert embedder.calls == []


class TestScores:
    def test_both_lead(self, hybrid):
        """What shares the words and the meaning comes before what shares one of them."""
        hybrid.remember([WORDS, MEANING, NEITHER, BOTH])
        assert texts(hybrid.recall(QUESTION))[0] == BOTH

    def test_relative_to_the_best(self, hybrid):
        """The best by words and by similarity has a score of 1, in whichever tier it is; the others have less."""
        hybrid.remember(
            [MemoryItem(BOTH, "semantic"), MemoryItem(WORDS, "episodic"), MemoryItem(MEANING, "procedural")]
        )
        first, *others = hybrid.recall(QUESTION)
        assert (first.text, first.score) == (BOTH, 1)
        assert all(0 < hit.score < 1 for hit in others)

    def test_similarity_is_the_cosine(self, hybrid):
        """A hit tells its true cosine, however it was found."""
        hybrid.remember([WORDS, MEANING])
        found = {hit.text: hit.similarity for hit in hybrid.recall(QUESTION, mode="hybrid")}
        assert found == pytest.approx({WORDS: 0.2, MEANING: 0.8}, abs=1e-3)

    def test_why(self, hybrid):
        """A hit says what made its score: similarity, words, and the bonus of its tier."""
        hybrid.remember([MemoryItem(BOTH, tier) for tier in SEARCHED])
        expected = {
            "vector": ("similarity",),
            "text": ("text",),
            "hybrid": ("similarity", "text"),
        }
        bonus = {"semantic": (), "episodic": ("recency",), "procedural": ("reinforcement",)}
        for how in MODES:
            for hit in hybrid.recall(QUESTION, mode=how):
                assert tuple(hit.why) == expected[how] + bonus[hit.tier]
                assert hit.why.get("similarity") == hit.similarity

    def test_why_only_what_it_has(self, hybrid):
        """What shares no word has no share of words."""
        hybrid.remember([WORDS, MEANING])
        assert {hit.text: tuple(hit.why) for hit in hybrid.recall(QUESTION)} == {
            WORDS: ("similarity", "text"),
            MEANING: ("similarity",),
        }


class TestThreshold:
    def test_words_need_not_reach_the_tiers_own(self, hybrid):
        """What shares words is a hit although its cosine is below the tier's threshold; what shares none isn't."""
        hybrid.remember([WORDS, NEITHER])
        assert texts(hybrid.recall(QUESTION)) == [WORDS]

    @pytest.mark.parametrize(
        ("threshold", "found"), [(1, ["exact"]), (0.9, ["exact", "edge"]), (-1, ["exact", "edge", "neg"])]
    )
    def test_lower_without_words(self, open_memory, threshold, found):
        """Three quarters of the tier's own suffice for what shares no word; a negative one is as it is."""
        mem = open_memory(mode="hybrid", semantic={"threshold": threshold})
        mem.remember(["exact", "edge", "neg"])
        assert texts(mem.recall("q")) == found

    def test_the_callers_holds_for_all(self, hybrid):
        """A threshold that the caller names holds for the cosine of every hit."""
        hybrid.remember([WORDS, MEANING, NEITHER])
        assert texts(hybrid.recall(QUESTION, threshold=0.21)) == [MEANING]
        assert sorted(texts(hybrid.recall(QUESTION, threshold=0.19))) == [MEANING, WORDS]
        assert sorted(texts(hybrid.recall(QUESTION, threshold=-1))) == sorted([MEANING, WORDS, NEITHER])

    @pytest.mark.parametrize(("threshold", "found"), [(None, True), (0.19, True), (0.21, False)])
    def test_far_behind(self, hybrid, threshold, found):
        """It holds for the true cosine of what only words have found, behind all that is nearer."""
        hybrid.remember([MemoryItem(MEANING, id=str(n)) for n in range(100)] + [MemoryItem(WORDS)])
        hits = {hit.text: hit for hit in hybrid.recall(QUESTION, k=60, threshold=threshold)}
        assert (WORDS in hits) is found
        if found:
            assert hits[WORDS].similarity == (None if threshold is None else pytest.approx(0.2, abs=1e-3))


class TestLifecycle:
    HOW = pytest.mark.parametrize("how", ["text", "hybrid"])

    @HOW
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_superseded(self, hybrid, how, tier):
        """What was believed before isn't found by its words, unless it is asked for, and then is marked."""
        hybrid.remember(WORDS, tier=tier, id="x")
        hybrid.remember(NEITHER, tier=tier, id="x")
        assert hybrid.recall(QUESTION, mode=how) == []
        (hit,) = hybrid.recall(QUESTION, mode=how, include_superseded=True)
        assert (hit.text, hit.status) == (WORDS, "superseded")

    @HOW
    def test_as_of(self, hybrid, how):
        """As of another time the words of that time find."""
        with frozen() as time:
            hybrid.remember(WORDS, id="x")
            time.tick(DAY)
            hybrid.remember(NEITHER, id="x")
            time.tick(DAY)
            assert texts(hybrid.recall(QUESTION, mode=how, as_of=NOON + DAY / 2)) == [WORDS]
            assert hybrid.recall(QUESTION, mode=how, as_of=NOON + DAY * 1.5) == []
            assert hybrid.recall(QUESTION, mode=how, as_of=NOON - DAY) == []

    @HOW
    def test_candidates(self, hybrid, how):
        """What waits for review isn't found by its words; once promoted it is, and once rejected it never is."""
        hybrid.remember([MemoryItem(WORDS, id="x", status="candidate"), MemoryItem(BOTH, id="y", status="candidate")])
        assert hybrid.recall(QUESTION, mode=how) == []
        assert hybrid.recall(QUESTION, mode=how, include_superseded=True) == []
        hybrid.review.promote("x", "semantic")
        hybrid.review.reject("y", "semantic")
        assert texts(hybrid.recall(QUESTION, mode=how)) == [WORDS]

    @HOW
    def test_expired(self, hybrid, how):
        """What has expired isn't found by its words, from that moment on."""
        with frozen() as time:
            hybrid.remember(WORDS, ttl=60)
            assert texts(hybrid.recall(QUESTION, mode=how)) == [WORDS]
            time.tick(60)
            assert hybrid.recall(QUESTION, mode=how) == []

    @HOW
    def test_expired_give_way(self, hybrid, how):
        """Where what fits best has just expired, as many hits are given of what lives."""
        with frozen() as time:
            hybrid.remember([MemoryItem(BOTH, id=str(n), ttl=60) for n in range(20)])
            hybrid.remember([MemoryItem(f"The ferry {n}.", id=f"live {n}") for n in range(12)])
            time.tick(60)
            hits = hybrid.recall(QUESTION, mode=how, k=10)
            assert len(hits) == 10
            assert all(hit.id.startswith("live") for hit in hits)

    @HOW
    def test_updated_and_forgotten(self, hybrid, how):
        """An updated text is found by its new words; what is forgotten by none."""
        hybrid.remember(WORDS, id="x")
        hybrid.update("x", "semantic", text="A bus stops here.")
        assert hybrid.recall("ferry", mode=how) == []
        assert texts(hybrid.recall("bus", mode=how)) == ["A bus stops here."]
        hybrid.forget("x", "semantic")
        assert hybrid.recall("bus", mode=how) == []


class TestOrder:
    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_ties(self, hybrid, how):
        """What ties is in the order of the tiers, then newest first, then by id, then by scope."""
        with frozen() as time:
            for scope, id_ in (("b", "2"), ("a", "2"), ("a", "1")):
                hybrid.remember([MemoryItem(BOTH, tier, id=id_, scope=scope) for tier in ("procedural", "semantic")])
            time.tick()
            hybrid.remember(MemoryItem(BOTH, "semantic", id="3", scope="b"))
            hits = hybrid.recall(QUESTION, mode=how, k=9, scope=["b", "a"])
        assert [(hit.tier[0], hit.id, hit.scope) for hit in hits] == [
            *(("s", "3", "b"), ("s", "1", "a"), ("s", "2", "a"), ("s", "2", "b")),
            *(("p", "1", "a"), ("p", "2", "a"), ("p", "2", "b")),
        ]

    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_many(self, hybrid, how):
        """As many hits are given as are asked for, each once."""
        hybrid.remember([MemoryItem(f"Ferry number {n}.", id=str(n)) for n in range(600)])
        hits = hybrid.recall("ferry", mode=how, k=500)
        assert len({hit.id for hit in hits}) == len(hits) == 500

    @pytest.mark.parametrize("how", MODES)
    def test_none(self, hybrid, embedder, how):
        """No hits are asked for, none are given, and nothing is embedded."""
        hybrid.remember(WORDS)
        embedder.calls.clear()
        assert (hybrid.recall(QUESTION, mode=how, k=0), embedder.calls) == ([], [])


class TestBonus:
    """In mode `hybrid` a tier's bonus orders what is about equally relevant."""

    OLD = NOON - 365 * DAY

    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_recency(self, hybrid, how):
        """Of equally relevant events the fresh one leads."""
        with frozen():
            hybrid.remember([MemoryItem(BOTH, "episodic", id=str(days), at=NOON - days * DAY) for days in (9, 0, 3)])
            assert [hit.id for hit in hybrid.recall(QUESTION, mode=how)] == ["0", "3", "9"]

    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_reinforcement(self, hybrid, how):
        """Of equally relevant procedures the proven one leads."""
        with frozen():
            for uses in (1, 3, 2):
                hybrid.remember([MemoryItem(BOTH, "procedural", id=str(uses))] * uses)
            assert [hit.id for hit in hybrid.recall(QUESTION, mode=how)] == ["3", "2", "1"]

    @pytest.mark.parametrize("other", [WORDS, MEANING])
    def test_never_before_what_is_relevant(self, hybrid, other):
        """What is fresh but less relevant comes after what is old and relevant, whatever the weight of recency."""
        with frozen():
            hybrid.remember(MemoryItem(BOTH, "episodic", at=self.OLD))
            hybrid.remember([MemoryItem(other, "episodic"), MemoryItem(NEITHER, "episodic")])
            assert texts(hybrid.recall(QUESTION, threshold=-1))[0] == BOTH

    def test_proven_but_irrelevant(self, hybrid):
        """What is often used but less relevant comes after what was used once and is relevant."""
        hybrid.remember(BOTH, tier="procedural")
        hybrid.remember([MemoryItem(WORDS, "procedural")] * 50)
        assert texts(hybrid.recall(QUESTION)) == [BOTH, WORDS]

    def test_switched_off(self, hybrid, open_memory):
        """Without a weight time doesn't matter."""
        mem = open_memory(mode="hybrid", episodic={"weight": 0})
        mem.remember([MemoryItem(BOTH, "episodic", at=self.OLD, id="old"), MemoryItem(BOTH, "episodic", id="new")])
        old, new = sorted(mem.recall(QUESTION), key=lambda hit: hit.at)
        assert old.score == new.score == 1
        assert "recency" not in old.why


def seen(hits):
    """All that may not depend on what others hold."""
    return [(hit.id, hit.text, hit.score, hit.similarity, hit.why) for hit in hits]


class TestOthers:
    """What other scopes, tiers and statuses hold never changes a recall, to the last bit."""

    phrases = st.lists(st.sampled_from(["ferry", "pier", "noon", "soup", "exact"]), min_size=1, max_size=5).map(
        " ".join
    )
    elsewhere = st.sampled_from(["scope", "pool", "tier", "candidate", "superseded"])
    numbers = count()

    @settings(
        max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        st.lists(phrases, min_size=1, max_size=8),
        st.lists(st.tuples(elsewhere, phrases), min_size=1, max_size=40),
        st.sampled_from(SEARCHED),
    )
    def test_never(self, hybrid, own, others, tier):
        """Whatever is written elsewhere in the same partition."""
        scope = f"own {next(self.numbers)}"
        mine = hybrid.scoped(scope)
        with frozen():
            mine.remember([MemoryItem(text, tier, id=str(n)) for n, text in enumerate(own)])
            before = self.recalled(mine, tier)
            for place, (where, text) in enumerate(others):
                self.write(hybrid, scope, tier, where, text, f"other {place}")
            assert self.recalled(mine, tier) == before

    def recalled(self, mine, tier):
        queries = ("ferry noon", "exact pier", "q")
        return [seen(mine.recall(query, tier=tier, mode=how, k=4)) for query in queries for how in MODES]

    def write(self, mem, scope, tier, where, text, id_):
        """Writes a text where the recall doesn't look."""
        mine, another = mem.scoped(scope), SEARCHED[SEARCHED.index(tier) - 1]
        if where == "scope":
            mem.scoped(f"{scope} other").remember(text, tier=tier, id=id_)
        elif where == "pool":
            mem.remember(text, tier=tier, id=id_)
        elif where == "tier":
            mine.remember(text, tier=another, id=id_)
        elif where == "candidate":
            mine.remember(MemoryItem(text, tier, id=id_, status="candidate"))
        else:
            standing = mine.get("0", tier).text
            mine.update("0", tier, text=text)
            mine.update("0", tier, text=standing)

    @pytest.mark.parametrize("how", MODES)
    def test_ties_beyond_what_is_looked_at(self, hybrid, how):
        """Also where more of its own tie than a recall looks at."""
        mine = hybrid.scoped("mine")
        mine.remember([MemoryItem(("ferry", "exact", "near ferry")[n % 3], id=str(n)) for n in range(300)])
        before = [seen(mine.recall(query, mode=how, k=3)) for query in ("q", "ferry", "near")]
        hybrid.remember([MemoryItem(("ferry", "exact")[n % 2], scope="other", id=str(n)) for n in range(3000)])
        assert [seen(mine.recall(query, mode=how, k=3)) for query in ("q", "ferry", "near")] == before

    @pytest.mark.parametrize("how", MODES)
    def test_a_thousand_nearer(self, hybrid, how):
        """A scope's only memory is found among a thousand of others that fit better, with the score it has alone."""
        mine = hybrid.scoped("mine")
        mine.remember("near pier")
        before = seen(mine.recall("near pier", mode=how, k=1))
        assert len(before) == 1
        for scope in ("x", None):
            hybrid.remember([MemoryItem("near pier", id=str(n), scope=scope) for n in range(500)])
        assert seen(mine.recall("near pier", mode=how, k=1)) == before
