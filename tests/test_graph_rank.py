"""Personalised PageRank over a view of a graph."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiered_memory.errors import InvalidLimit, InvalidQuery, MissingExtra
from tiered_memory.graph import EntityRef, GraphEdge, GraphView, pagerank
from tiered_memory.graph.rank import MAX_NODES

pytest.importorskip("scipy")

A, B, C, D = (EntityRef("x", name) for name in "abcd")


def view_of(mentions):
    """A view of facts that mention entities."""
    nodes = dict.fromkeys(node for fact, entities in mentions.items() for node in (fact, *entities))
    edges = [GraphEdge("mention", entity, fact) for fact, entities in mentions.items() for entity in entities]
    return GraphView(tuple(nodes), tuple(edges))


CHAIN = view_of({"f1": [A, B], "f2": [B, C], "f3": [C, D], "far": [EntityRef("x", "z")]})


class TestPagerank:
    def test_nearer_is_higher(self):
        """The nearer a fact is to the seed, the higher it stands; what can't be reached isn't there."""
        ranked = pagerank(CHAIN, [A])
        assert [fact for fact, _ in ranked] == ["f1", "f2", "f3"]
        assert all(0 < score < 1 for _, score in ranked)

    def test_between_two(self):
        """What lies between two seeds stands above what only one leads to."""
        assert pagerank(view_of({"one": [A], "both": [A, B], "two": [B]}), [A, B])[0][0] == "both"

    def test_hubs_count_less(self):
        """Without weights, a rare entity counts more than a hub; with weights, as they say."""
        view = view_of({"rare": [A]} | {f"hub{number}": [B] for number in range(5)})
        assert pagerank(view, [A, B])[0][0] == "rare"
        assert pagerank(view, {A: 0.0, B: 1.0})[0][0] == "hub0"

    def test_ties(self):
        """Equal scores are ordered by id."""
        assert [fact for fact, _ in pagerank(view_of({"b": [A], "a": [A]}), [A])] == ["a", "b"]

    def test_nothing(self):
        """Without a seed in the view, nothing is found."""
        assert pagerank(GraphView(), [A]) == pagerank(CHAIN, []) == pagerank(CHAIN, [EntityRef("x", "?")]) == []
        assert pagerank(CHAIN, {A: 0.0}) == []

    def test_too_many(self):
        """A view with too many nodes is refused."""
        with pytest.raises(InvalidLimit):
            pagerank(GraphView(tuple(map(str, range(MAX_NODES + 1)))), [A])

    @pytest.mark.parametrize(
        "arguments", [{"damping": 1}, {"damping": -0.1}, {"seeds": {A: -1}}, {"seeds": {A: float("nan")}}]
    )
    def test_out_of_range(self, arguments):
        """A damping or a weight out of its range is refused."""
        with pytest.raises(InvalidQuery):
            pagerank(CHAIN, **{"seeds": [A]} | arguments)

    def test_without_scipy(self, monkeypatch):
        """Without scipy, the error names the extra."""
        monkeypatch.setitem(sys.modules, "scipy.sparse", None)
        with pytest.raises(MissingExtra, match=r"tiered-memory\[graph\]"):
            pagerank(CHAIN, [A])

    @settings(max_examples=50, deadline=None)
    @given(
        mentions=st.dictionaries(st.sampled_from("pqrstu"), st.sets(st.sampled_from([A, B, C, D])), min_size=1),
        damping=st.sampled_from([0.0, 0.3, 0.5, 0.85]),
    )
    def test_the_definition(self, mentions, damping):
        """The scores solve the equation of PageRank, as a dense solver finds them."""
        view = view_of(mentions)
        places = {node: place for place, node in enumerate(view.nodes)}
        if A not in places:
            return
        links = np.zeros((len(places), len(places)))
        for edge in view.edges:
            links[places[edge.source], places[edge.target]] = links[places[edge.target], places[edge.source]] = 1
        start = np.zeros(len(places))
        start[places[A]] = 1
        degrees = links.sum(axis=0)
        steps = np.where(degrees > 0, links / np.maximum(degrees, 1), start[:, None])
        exact = np.linalg.solve(np.eye(len(places)) - damping * steps, (1 - damping) * start)
        for fact, score in pagerank(view, [A], damping=damping):
            assert score == pytest.approx(exact[places[fact]], abs=1e-7)
