"""The scale benchmark's own logic, on little data; nothing here depends on how fast anything is."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import chart
import numbered
import scale


@pytest.mark.parametrize("place", scale.PLACES)
class TestMeasure:
    def test_stages_and_restart(self, place, monkeypatch):
        """Each stage finds what was asked for, and after a restart all of it is there again."""
        monkeypatch.setattr(scale, "STAGES", (0.25, 1.0))
        monkeypatch.setattr(scale, "WARM", 2)
        rows, again = scale.measure(place, 400, 10)
        assert [(row["where"], row["memories"], row["scopes"]) for row in rows] == [(place, 100, 1), (place, 400, 4)]
        assert all(row["right"] == 1 for row in rows)
        assert all(row["bytes a memory"] > 4 * numbered.DIMENSIONS for row in rows)
        assert rows[0]["p95 / first"] == 1
        assert 0 < again["server answers s"] < again["recalls are whole s"]


class TestEmbedder:
    def test_questions(self):
        """A question lies near the memory that it is about, whatever else it is embedded with, but not on it."""
        embedder = numbered.NumberedEmbedder(50)
        (memory,) = embedder.embed([numbered.text(7)])
        (question,) = embedder.embed([numbered.question(7)])
        assert (embedder.embed([numbered.text(3), numbered.text(7)])[1] == memory).all()
        cosine = memory @ question / np.linalg.norm(memory) / np.linalg.norm(question)
        assert 0.9 < cosine < 0.999


class TestChart:
    def test_svg(self):
        """A chart is well-formed, with a line and a name for each series, and its axis from 0 to above the highest."""
        series = {"a & b": [(100, 3.0), (1000, 42.0)], "c": [(100, 1.0), (1000, 41.0)]}
        drawing = chart.chart("Height <m>", "number", series)
        tree = ElementTree.fromstring(drawing)
        names = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
        assert {"Height <m>", "a & b", "c", "0", "50", "100", "1,000"} <= set(names)
        lines = [element.get("points") for element in tree.iter("{http://www.w3.org/2000/svg}polyline")]
        assert len(lines) == 2
        assert lines[0].startswith("0.0,")

    def test_names_apart(self):
        """Names of lines that end at the same height don't lie over each other."""
        heights = chart._apart({"a": 100.0, "b": 101.0, "c": 20.0})
        assert heights["c"] == 20
        assert heights["b"] - heights["a"] == 14

    @pytest.mark.parametrize(("most", "step"), [(8, 1), (9, 2), (42, 10), (0.7, 0.1), (4000, 1000)])
    def test_grid(self, most, step):
        """The lines of the grid are 1, 2 or 5 times a power of ten apart."""
        assert chart._step(most) == pytest.approx(step)

    def test_plots(self):
        """There is a chart of recall, of ingest and of bytes, each with both places."""
        row = {"p50 µs": 300.0, "p95 µs": 500.0, "ingest/s": 9000.0, "bytes a memory": 3000.0}
        rows = [row | {"where": place, "memories": n} for place in scale.PLACES for n in (100, 1000)]
        drawings = scale.plots(rows)
        assert set(drawings) == {"scale_recall.svg", "scale_ingest.svg", "scale_bytes.svg"}
        assert all("three nodes" in drawing and "one node" in drawing for drawing in drawings.values())
