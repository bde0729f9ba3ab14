"""A server that is out of memory still answers, and forgets: that is how room is made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from embedders_for_tests import TableEmbedder
from invariants import check_invariants
from redis import Redis
from servers import redis_server
from shorthand import DAY, NOON, frozen

from tiered_memory import MemoryItem, StoreUnavailable, memory
from tiered_memory.graph import EntityRef, IndexEntry

ANA = EntityRef("person", "Ana")


def only_session(mem):
    """The id of the session that there is."""
    return mem.store.sessions.ids().items[0]


FORGETTING = {
    "forget": lambda mem: mem.forget("x", "semantic"),
    "forget_where": lambda mem: mem.forget_where(source="mail"),
    "clear a tier": lambda mem: mem.clear("semantic"),
    "clear": lambda mem: mem.clear(),
    "erase": lambda mem: mem.erase(None),
    "prune_history": lambda mem: mem.prune_history(),
    "reject": lambda mem: mem.review.reject("x", "semantic") is None,
    "sweep": lambda mem: mem.stats(),
    "files.delete": lambda mem: mem.files.delete("/a"),
    "sessions.remove": lambda mem: mem.store.sessions.remove(only_session(mem)),
    "documents.remove": lambda mem: mem.store.documents.remove("viking://user/notes"),
    "graph.forget": lambda mem: mem.graph.forget("x"),
    "graph.clear": lambda mem: mem.graph.clear(),
}
READING = {
    "recall": lambda mem: mem.recall("exact"),
    "recall by words": lambda mem: mem.recall("exact", mode="hybrid"),
    "recall with the graph": lambda mem: mem.recall_traced("Has Ana gone?").hits,
    "get": lambda mem: mem.get("x", "semantic"),
    "list": lambda mem: mem.list("semantic").items,
    "history": lambda mem: mem.history("x", "semantic"),
    "files.read": lambda mem: mem.files.read("/a").content,
    "documents.get": lambda mem: mem.store.documents.get("viking://user/notes/a").content,
    "sessions.messages": lambda mem: mem.store.sessions.messages(only_session(mem)).items,
    "graph.neighbors": lambda mem: mem.graph.neighbors([ANA]),
    "graph.view": lambda mem: mem.graph.view().nodes,
    "graph.frequencies": lambda mem: mem.graph.frequencies(),
}


@pytest.fixture(scope="module")
def server():
    """A server of its own, since others would be out of memory too."""
    with redis_server() as url:
        yield url


@pytest.fixture
def full(server, namespace):
    """A memory with something of each kind, on a server that has no memory left; what expires has just done so."""
    with (
        Redis.from_url(server) as client,
        memory(server, namespace=namespace, embedder=TableEmbedder(), graph={}) as mem,
        frozen() as time,
    ):
        for text, status in (("near", "active"), ("exact", "active"), ("far", "candidate")):
            mem.remember(MemoryItem(text, id="x", status=status, source="mail", metadata={"entities": [str(ANA)]}))
        mem.remember(MemoryItem("q", "episodic", id="brief", ttl=timedelta(hours=1), metadata={"entities": [str(ANA)]}))
        mem.remember("a note", tier="working")
        mem.files.write("/a", "text")
        mem.store.documents.put("viking://user/notes/a", "text")
        mem.store.sessions.append(mem.store.sessions.create(), "user", "hello")
        mem.graph.index_many([IndexEntry("x", [ANA], "my own")])
        time.move_to(NOON + DAY)
        client.config_set("maxmemory", 1)
        try:
            yield mem
        finally:
            client.config_set("maxmemory", 0)
            check_invariants(client, namespace)
            mem.clear()


@pytest.mark.parametrize("how", FORGETTING)
def test_forgets(full, how):
    """Whatever makes room is done."""
    assert FORGETTING[how](full)


@pytest.mark.parametrize("how", READING)
def test_answers(full, how):
    """Whatever is there can be read."""
    assert READING[how](full)


def test_refuses(full):
    """What would need more is refused, and says why."""
    with pytest.raises(StoreUnavailable, match="forget something"):
        full.remember("more")
