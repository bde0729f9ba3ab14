"""The commands for the graph, called as a user calls them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from tiered_memory import memory
from tiered_memory.cli.app import app
from tiered_memory.graph import EntityRef, known_epoch

ANA, ROME, OSLO = EntityRef("person", "Ana"), EntityRef("place", "Rome"), EntityRef("place", "Oslo")


@pytest.fixture
def call(redis_url, namespace, monkeypatch):
    """Calls a command for the graph on the worker's Redis, in the test's namespace and a scope."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        place = ("--url", redis_url, "--namespace", namespace, "--scope", "a")
        return CliRunner().invoke(app, ["graph", *arguments, *place])

    return call


@pytest.fixture(autouse=True)
def graph(redis_url, namespace):
    """A graph in which Ana moved."""
    with memory(redis_url, namespace=namespace) as mem:
        graph = mem.scoped("a").graph
        graph.index("home", [ANA, OSLO], "Ana lives in Oslo.", known_epoch())
        graph.close("home", datetime(2020, 1, 1, tzinfo=timezone.utc))
        graph.index("home", [ANA, ROME], "Ana lives in Rome.", datetime(2020, 1, 1, tzinfo=timezone.utc))
        graph.index("sights", [ROME], "Rome has hills.")
        yield graph


def test_show(call):
    """The facts are shown with their entities, and what is left out is said."""
    shown = call("show").stdout
    assert "2 facts, 2 entities" in shown
    assert "Ana lives in Rome." in shown
    assert "there are more" in call("show", "--limit", "1").stdout
    data = json.loads(call("show", "--json").stdout)
    assert data["texts"] == {"home": "Ana lives in Rome.", "sights": "Rome has hills."}
    assert {"kind": "co-occurrence", "source": "person:ana", "target": "place:rome", "count": 1} in data["edges"]


def test_show_pictures(call):
    """The picture is drawn as Mermaid or SVG, and nothing else."""
    assert call("show", "--picture", "mermaid").stdout.startswith("graph LR\n")
    ElementTree.fromstring(call("show", "--picture", "svg").stdout)
    assert "graph LR" in json.loads(call("show", "--picture", "mermaid", "--json").stdout)["picture"]
    refused = call("show", "--picture", "png")
    assert (refused.exit_code, refused.stdout) == (1, "")


def test_neighbors(call):
    """The memories are listed with their texts, as they were at the time that is asked for."""
    lines = [line.split() for line in call("neighbors", "person:ana").stdout.splitlines()]
    assert lines == [["home", "Ana", "lives", "in", "Rome."], ["sights", "Rome", "has", "hills."]]
    data = json.loads(call("neighbors", "person:ana", "--as-of", "2019-01-01T00:00Z", "--json").stdout)
    assert data == {"neighbors": [{"memory_id": "home", "text": "Ana lives in Oslo."}]}
    assert "nothing found" in call("neighbors", "person:bob").stdout


def test_paths(call):
    """Each path is a line, from the entity that was asked for to the memory."""
    assert call("paths", "person:ana").stdout.splitlines() == [
        "person:ana → home",
        "person:ana → home → place:rome → home",
        "person:ana → home → place:rome → sights",
    ]
    assert len(json.loads(call("paths", "person:ana", "--json").stdout)["paths"]) == 3


def test_not_an_entity(call):
    """What isn't written as an entity is refused, with an example."""
    refused = call("neighbors", "ana")
    assert refused.exit_code == 1
    assert "kind:name" in refused.stderr
