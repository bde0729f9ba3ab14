"""Semantic memory: facts by cosine, over an inclusive threshold."""

from __future__ import annotations

import numpy as np
import pytest
from embedders_for_tests import TableEmbedder
from shorthand import NOON, frozen, ranked, texts

from tiered_memory import MemoryItem, SemanticConfig

WORDS = ["near", "far", "exact", "edge", "orth", "neg"]


class TestScore:
    def test_cosine(self, mem):
        """The score is the cosine, and so is the similarity."""
        mem.remember(WORDS, tier="semantic")
        hits = mem.recall("q")
        assert ranked(hits) == [("exact", 1), ("near", 0.8), ("edge", 0.7)]
        assert [hit.similarity for hit in hits] == [hit.score for hit in hits]

    def test_length_is_irrelevant(self, open_memory):
        """Vectors of any length are compared by their direction."""
        mem = open_memory(embedder=TableEmbedder({"q": [1e3, 0, 0], "long": [8e5, 6e5, 0], "short": [8e-5, 6e-5, 0]}))
        mem.remember(["long", "short"], tier="semantic")
        assert [hit.score for hit in mem.recall("q")] == pytest.approx([0.8, 0.8], abs=1e-6)


class TestThreshold:
    def test_of_the_call(self, mem):
        """A threshold given with the recall is the least cosine, inclusive."""
        mem.remember(WORDS, tier="semantic")
        assert ranked(mem.recall("q", threshold=0, k=10))[3:] == [("far", 0.6), ("orth", 0)]
        assert ranked(mem.recall("q", threshold=-1, k=10))[3:] == [("far", 0.6), ("orth", 0), ("neg", -1)]

    def test_inclusive(self, mem):
        """A cosine equal to the threshold is a hit; one that is clearly below it isn't."""
        mem.remember("far", tier="semantic")
        assert ranked(mem.recall("q", threshold=0.6)) == [("far", 0.6)]
        assert mem.recall("q", threshold=0.60001) == []

    def test_rounding_never_loses_an_exact_match(self, open_memory):
        """With threshold 1, each of a thousand random vectors is found by its own text, and nothing else is."""
        mem = open_memory(embedder=TableEmbedder({}, dimensions=256))
        mem.remember([f"text {number}" for number in range(1000)], tier="semantic")
        for number in range(0, 1000, 8):
            assert texts(mem.recall(f"text {number}", threshold=1)) == [f"text {number}"]

    def test_of_the_configuration(self, open_memory):
        """The tier's own threshold holds where the call names none."""
        mem = open_memory(semantic=SemanticConfig(threshold=0.75))
        mem.remember(WORDS, tier="semantic")
        assert texts(mem.recall("q")) == ["exact", "near"]
        assert texts(mem.recall("q", threshold=0.9)) == ["exact"]
        assert texts(mem.recall("q", threshold=0.5)) == ["exact", "near", "edge", "far"]

    def test_of_the_embedder(self, open_memory):
        """A calibrated embedder's floor holds where neither the call nor the configuration names a threshold."""
        embedder = TableEmbedder()
        embedder.floor = 0.55
        mem = open_memory(embedder=embedder)
        mem.remember(WORDS, tier="semantic")
        assert texts(mem.recall("q")) == ["exact", "near", "edge", "far"]
        assert texts(open_memory(embedder=embedder, semantic={"threshold": 0.9}).recall("q")) == ["exact"]


class TestRememberingAgain:
    def test_same_text(self, mem):
        """The same text at its id is one fact, reaffirmed."""
        first, second = mem.remember(["near", "near"], tier="semantic")
        assert (first.outcome, second.outcome) == ("recorded", "reaffirmed")
        assert first.id == second.id
        assert mem.count("semantic") == 1
        assert mem.get(first.id, "semantic").uses == 2

    def test_superseded_is_never_recalled(self, mem):
        """A new text takes the place of the old one, which isn't recalled even where it is nearer to the query."""
        mem.remember("exact", tier="semantic", id="x")
        (outcome,) = mem.remember("near", tier="semantic", id="x")
        assert outcome.outcome == "superseded"
        assert ranked(mem.recall("q", threshold=-1)) == [("near", 0.8)]
        assert texts(mem.list("semantic").items) == ["near"]
        assert mem.get("x", "semantic").text == "near"
        assert mem.count("semantic") == 1
        assert mem.stats().superseded["semantic"] == 1

    def test_and_back_again(self, mem):
        """What was superseded can be believed again."""
        for text in ["exact", "near", "exact"]:
            mem.remember(text, tier="semantic", id="x")
        assert ranked(mem.recall("q")) == [("exact", 1)]

    def test_metadata(self, mem):
        """Metadata that is given replaces, and stays when none is given, with the same text and with a new one."""
        mem.remember("exact", tier="semantic", id="x", metadata={"a": 1})
        mem.remember("exact", tier="semantic", id="x")
        mem.remember("near", tier="semantic", id="x")
        assert mem.get("x", "semantic").metadata == {"a": 1}
        mem.remember("near", tier="semantic", id="x", metadata={"b": 2})
        assert mem.get("x", "semantic").metadata == {"b": 2}
        mem.remember("near", tier="semantic", id="x", metadata={})
        assert mem.get("x", "semantic").metadata == {}


class TestCandidates:
    def test_never_recalled(self, mem):
        """A candidate isn't recalled, listed, got or counted, whether or not something stands at its id."""
        mem.remember("near", tier="semantic", id="x")
        for id_ in "xy":
            (outcome,) = mem.remember(MemoryItem("exact", "semantic", id=id_, status="candidate"))
            assert outcome.outcome == "queued"
        assert texts(mem.recall("q", threshold=-1)) == ["near"]
        assert texts(mem.list("semantic").items) == ["near"]
        assert mem.get("x", "semantic").text == "near"
        assert mem.get("y", "semantic") is None
        assert mem.count() == 1

    def test_queued_once(self, mem):
        """The same candidate waits only once, however often it is proposed."""
        proposals = [MemoryItem("exact", "semantic", status="candidate")] * 20
        outcomes = {each.outcome for each in mem.remember(proposals)[1:]}
        assert outcomes == {"already_queued"}
        assert mem.stats().candidates["semantic"] == 1


class TestTies:
    def test_newest_first(self, mem):
        """Of equal scores the newest comes first, whatever the order of writing."""
        with frozen() as time:
            ages = {"a": 2, "b": 0, "c": 1}
            mem.remember(
                [MemoryItem("exact", "semantic", id=id_, at=NOON.replace(day=1 + age)) for id_, age in ages.items()]
            )
            time.tick(1)
            assert [hit.id for hit in mem.recall("q")] == ["a", "c", "b"]

    def test_then_by_id(self, mem):
        """Of equal scores and times, the order is that of the ids."""
        with frozen():
            mem.remember([MemoryItem("exact", "semantic", id=id_) for id_ in "cadb"])
            assert [hit.id for hit in mem.recall("q")] == ["a", "b", "c", "d"]

    def test_across_the_edge_of_k(self, mem):
        """Among many that tie, the k first of the order are returned, and not just any k."""
        with frozen():
            mem.remember([MemoryItem("exact", "semantic", id=f"{number:02}") for number in reversed(range(40))])
            assert [hit.id for hit in mem.recall("q", k=3)] == ["00", "01", "02"]


class TestVectors:
    def test_dimensions(self, open_memory):
        """Vectors of 1536 dimensions are kept and compared like short ones."""
        query, other = np.random.default_rng(1).normal(size=(2, 1536))
        mem = open_memory(embedder=TableEmbedder({"q": query, "a": query, "b": other}, dimensions=1536))
        mem.remember(["a", "b"], tier="semantic")
        cosine = query @ other / np.linalg.norm(query) / np.linalg.norm(other)
        assert [h.score for h in mem.recall("q", threshold=-1)] == pytest.approx([1, cosine], abs=2e-6)
