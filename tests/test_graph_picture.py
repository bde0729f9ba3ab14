"""Pictures of a graph: Mermaid text and SVG."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tiered_memory.graph import EntityRef, GraphEdge, GraphView, mermaid, svg

A, B = EntityRef("person", "Ana"), EntityRef("place", "Rome")
VIEW = GraphView(
    nodes=("f1", A, B, "f2"),
    edges=(
        GraphEdge("mention", A, "f1"),
        GraphEdge("mention", B, "f1"),
        GraphEdge("mention", B, "f2"),
        GraphEdge("co-occurrence", A, B, 7),
    ),
    texts={"f1": 'Ana "moved" to <Rome>.', "f2": ""},
)


def named(text):
    """A view of one fact with this id, text, and entity."""
    entity = EntityRef("x", "y" + "".join(each for each in text if each.isprintable())[:50])
    return GraphView((text, entity), (GraphEdge("mention", entity, text),), texts={text: text})


class TestMermaid:
    def test_drawn(self):
        """Entities, facts, mentions and pairs with their count are there; a fact without a text is shown by its id."""
        assert mermaid(VIEW).splitlines() == [
            "graph LR",
            '  f0["Ana #quot;moved#quot; to #lt;Rome#gt;."]',
            '  e1(["ana"])',
            '  e2(["rome"])',
            '  f3["f2"]',
            "  e1 --- f0",
            "  e2 --- f0",
            "  e2 --- f3",
            "  e1 -. 7 .- e2",
        ]

    @given(st.text(min_size=1))
    def test_any_text(self, text):
        """Whatever a text has in it, it stays in its quotes, on its line."""
        first, fact, entity, edge = mermaid(named(text)).rstrip("\n").split("\n")
        assert (first, edge) == ("graph LR", "  e1 --- f0")
        assert fact.startswith('  f0["')
        assert fact.count('"') == entity.count('"') == 2


class TestSvg:
    def test_drawn(self):
        """Each node is a box, each mention a line, each pair an arc."""
        tree = ElementTree.fromstring(svg(VIEW))
        kinds = [element.tag.rpartition("}")[2] for element in tree.iter()]
        assert [kinds.count(kind) for kind in ("rect", "line", "path")] == [4, 3, 1]
        assert "ana" in "".join(tree.itertext())

    @given(st.text(min_size=1))
    def test_any_text(self, text):
        """Whatever a text has in it, the picture is well-formed XML."""
        ElementTree.fromstring(svg(named(text)))

    def test_empty(self):
        """An empty view is an empty picture."""
        assert "0 entities and 0 facts" in svg(GraphView())
        assert mermaid(GraphView()) == "graph LR\n"


def test_the_picture_of_the_docs():
    """The picture in the documentation is what its script draws with the functions of the package."""
    root = Path(__file__).parent.parent
    script = runpy.run_path(str(root / "scripts" / "draw_graph.py"))
    assert (root / "docs" / "images" / "graph.svg").read_text("utf-8") == script["draw"]()
