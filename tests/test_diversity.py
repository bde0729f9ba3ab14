"""Hits that differ: many ways to say one thing don't crowd out all else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shorthand import texts

from tiered_memory import ConfigError, InvalidQuery, MemoryItem, memory
from tiered_memory.config import GraphConfig
from tiered_memory.diversity import diverse
from tiered_memory.embedders import StaticEmbedder

TEA = (
    "The user prefers tea.", "The user prefers tea over coffee.", "User likes tea.", "User prefers drinking tea.",
    "The user's favorite drink is tea.", "The user enjoys drinking tea.", "The user said they prefer tea.",
    "User mentioned a preference for tea.", "The user would rather have tea.", "Tea is the user's preferred beverage.",
    "The user favors tea over other drinks.", "The user usually chooses tea.", "User is a tea person.",
)  # fmt: skip
OTHERS = (
    "The user works at a bank.", "The user lives in Lisbon.", "The user has a dog called Rex.",
    "The user plays the violin.", "The user speaks French.",
)  # fmt: skip
QUESTION = "What do we know about the user?"
EMBEDDER = StaticEmbedder()


@pytest.fixture
def mem(open_memory):
    """A memory with the embedder and the mode that it comes with, and thirteen ways to say one thing beside others."""
    mem = open_memory(embedder=EMBEDDER, mode="hybrid")
    mem.remember([*TEA, *OTHERS])
    return mem


class TestCrowding:
    @pytest.mark.parametrize("how", ["hybrid", "text", "vector"])
    @pytest.mark.parametrize("diversity", [0.5, 0.8])
    def test_not_with_diversity(self, mem, how, diversity):
        """Of thirteen forms of one fact and five other facts, at most two forms and all others are among six hits."""
        found = set(texts(mem.recall(QUESTION, k=6, mode=how, threshold=-1, diversity=diversity)))
        assert (len(found), found >= set(OTHERS)) == (6, True)

    def test_the_best_comes_first(self, mem):
        """The most relevant one comes first, whatever the diversity."""
        (best,) = mem.recall("Does the user like tea?", k=1)
        for diversity in (0, 0.3, 0.9):
            assert mem.recall("Does the user like tea?", k=6, diversity=diversity)[0].id == best.id

    def test_nothing_else(self, mem):
        """Where there is nothing else that fits, they fill the hits."""
        hits = mem.recall("Who likes tea?", k=5, threshold=0.5, diversity=0.8)
        assert (len(hits), set(texts(hits)) <= set(TEA)) == (5, True)

    def test_contradictions(self, mem):
        """What contradicts another is kept beside it."""
        mem.remember("The user does not like tea.")
        found = texts(mem.recall("Does the user like tea?", k=19, threshold=-1, diversity=0.5))
        assert sorted(found) == sorted([*TEA, *OTHERS, "The user does not like tea."])

    def test_same_scores(self, mem):
        """Hits are scored as without it; only which come, and in which order, differs."""
        plain = {hit.id: (hit.score, hit.why) for hit in mem.recall(QUESTION, k=50)}
        assert all(plain[hit.id] == (hit.score, hit.why) for hit in mem.recall(QUESTION, k=6, diversity=0.5))

    def test_zero(self, mem):
        """With 0, which is the default, hits are ordered by their scores alone."""
        found = [texts(mem.recall(QUESTION, k=6, **given)) for given in ({}, {"diversity": 0}, {"diversity": 0.0})]
        assert found[0] == found[1] == found[2]


class TestSettings:
    def test_configured(self, open_memory):
        """The configuration says what recalls do that don't say otherwise."""
        mem = open_memory(embedder=EMBEDDER, mode="hybrid", diversity=0.5)
        mem.remember([*TEA, *OTHERS])
        assert set(texts(mem.recall(QUESTION, k=6))) >= set(OTHERS)
        assert not set(texts(mem.recall("Does the user like tea?", k=6, diversity=0))) & set(OTHERS)

    @pytest.mark.parametrize("diversity", [-0.1, 1, 1.5, float("nan"), True, "0.5"])
    def test_out_of_range(self, mem, diversity):
        """A diversity out of its range is refused."""
        with pytest.raises(InvalidQuery, match="diversity"):
            mem.recall(QUESTION, diversity=diversity)

    @pytest.mark.parametrize("diversity", [-0.1, 1, 1.5, "much"])
    def test_configured_out_of_range(self, diversity):
        """So it is in a configuration."""
        with pytest.raises(ConfigError, match="diversity"):
            memory(diversity=diversity)


class TestBeside:
    def test_notes_and_tiers(self, mem):
        """Notes, which have no vector, are like nothing else; tiers are chosen from together."""
        mem.remember([MemoryItem("a note", "working"), MemoryItem("The user prefers tea!", "episodic")])
        hits = mem.recall(QUESTION, k=7, diversity=0.5)
        assert hits[0].text == "a note"
        assert set(texts(hits)) >= set(OTHERS)

    def test_scopes(self, mem):
        """So are scopes."""
        mem.scoped("a").remember(TEA)
        hits = mem.recall(QUESTION, k=6, scope=[None, "a"], diversity=0.5)
        assert set(texts(hits)) >= set(OTHERS)

    def test_fewer(self, mem):
        """Fewer memories than wanted are all hits; none are none."""
        assert len(mem.recall(QUESTION, k=100, threshold=-1, diversity=0.5)) == 18
        assert mem.scoped("b").recall(QUESTION, diversity=0.5) == []
        assert mem.recall(" ", diversity=0.5) == []

    def test_graph(self, open_memory):
        """What the graph names comes first, each part chosen for its own."""
        mem = open_memory(embedder=EMBEDDER, mode="hybrid", graph=GraphConfig(), diversity=0.5)
        mem.remember([MemoryItem(text, metadata={"entities": ["Ticket:TICKET-7"]}) for text in TEA])
        mem.remember(OTHERS)
        hits = mem.recall("What about the user and TICKET-7?", k=18, graph="filter")
        assert {hit.text for hit in hits[:13]} == set(TEA)


class TestDiverse:
    @given(
        st.lists(st.tuples(st.integers(0, 9), st.none() | st.tuples(*[st.integers(-3, 3)] * 3)), max_size=12), st.data()
    )
    def test_as_defined(self, rows, data):
        """It is what the definition says, step by step."""
        rows.sort(key=lambda row: -row[0])
        k, tenths = data.draw(st.integers(0, 15)), data.draw(st.integers(1, 9))
        scores = [score / 10 for score, _ in rows]
        points = [None if point is None else np.array(point, dtype="<f4") for _, point in rows]
        vectors = [None if point is None else point.tobytes() for point in points]
        expected: list[int] = []
        for _ in range(min(k, len(rows))):
            left = [place for place in range(len(rows)) if place not in expected]
            worth = {
                place: round((1 - tenths / 10) * scores[place] - tenths / 10 * nearest(points, place, expected), 5)
                for place in left
            }
            expected.append(max(left, key=lambda place: (worth[place], -place)))
        assert diverse(scores, vectors, k, tenths / 10, "<f4") == expected


def nearest(points, place, chosen):
    """The highest cosine to one chosen before, at least 0."""
    return max([cosine(points[place], points[other]) for other in chosen], default=0.0)


def cosine(one, other):
    if one is None or other is None or not one.any() or not other.any():
        return 0.0
    return max(float(one @ other / np.linalg.norm(one) / np.linalg.norm(other)), 0.0)
