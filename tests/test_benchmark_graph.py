"""The graph benchmark's own logic, on little data; nothing here depends on how fast anything is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from redis import Redis

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import graph
import tickets

from tiered_memory.graph import PatternExtractor

TINY = tickets.Size(facts=300, entities=100, calls=10, recalls=8)


class TestWorkload:
    def test_the_same(self):
        """The workload is the same each time, and its first tickets are those that most facts mention."""
        workload = tickets.drawn(TINY)
        assert workload == tickets.drawn(TINY)
        mentions = [entity for fact in workload.facts for entity in {*fact.entities}]
        counts = [mentions.count(entity) for entity in workload.entities]
        assert max(counts) == counts[0] > 5 * counts[50]

    def test_questions(self):
        """Patterns find in a question one to three tickets of its memory, or only such as nothing mentions, or none."""
        workload, find = tickets.drawn(TINY), PatternExtractor().extract
        mentioned = {fact.memory_id: {*fact.entities} for fact in workload.facts}
        places = {kind: set() for kind in workload.questions}
        for kind, questions in workload.questions.items():
            assert len(questions) == TINY.recalls
            for question in questions:
                named = find(question.text)
                assert 1 <= len(named) <= 3
                assert mentioned[question.about].issuperset(named)
                assert len(find(question.unheard)) == len(named)
                assert not {*find(question.unheard)} & {*workload.entities}
                assert find(question.plain) == []
                places[kind].update(map(workload.entities.index, named))
        assert max(places["hubs"]) < min(places["rare ones"])

    def test_memories(self):
        """A memory's metadata names the tickets of its fact, and patterns find nothing else in its text."""
        fact = tickets.drawn(TINY).facts[7]
        memory = tickets.item(fact)
        assert memory.metadata["entities"] == [str(entity) for entity in fact.entities]
        assert PatternExtractor().extract(memory.text) == []


@pytest.fixture(scope="module")
def tables(redis_url):
    """All tables of the benchmark, of which one run is enough."""
    facts, tables = graph.measure(redis_url, TINY)
    assert facts.keys() == {"graph MB"}
    return tables


class TestMeasure:
    def test_rows(self, tables):
        """Each call has a row, and each way of recalling and remembering beside the one without the graph."""
        own, recalls, writes = tables.values()
        assert len(own) == len({row["what"] for row in own}) + 1 == 13
        assert [(row["questions name"], row["graph"]) for row in recalls] == [
            (kind, way) for kind in ("hubs", "rare ones") for way in graph.WAYS
        ]
        assert [(row["what"], row["graph"]) for row in writes] == [
            (f"remember {number} at once", side) for number in (1, graph.BATCH) for side in ("off", "on")
        ]
        for row in (*recalls, *writes):
            assert (row["p50 / off"] == row["p95 / off"] == 1) is (row["graph"] == "off")

    def test_finds(self, tables):
        """Among few memories each way finds the one that a question is about."""
        _, recalls, _ = tables.values()
        assert {row["finds it"] for row in recalls} == {1}

    def test_nothing_left(self, tables, redis_url):
        """No memory of the benchmark is left in Redis, nor any of its graph."""
        with Redis.from_url(redis_url) as client:
            left = [key for key in client.scan_iter("{benchmark-*") if b":record:" in key or b":graph:" in key]
        assert left == []


class TestCompared:
    def test_by_the_first(self, monkeypatch):
        """Times are set beside those of the first way."""
        monkeypatch.setattr(graph, "take_turns", lambda ways, *_: [np.full((1, 4), 0.001 * n) for n in (2, 3)])
        rows = list(graph.compared({"off": print, "boost": print}, 4, 1))
        assert [row["p50 ms"] for row in rows] == pytest.approx([2, 3])
        assert [row["p95 / off"] for row in rows] == pytest.approx([1, 1.5])
