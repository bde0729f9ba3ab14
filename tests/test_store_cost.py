"""What reading a tree costs: no more with a hundred thousand documents than with a thousand."""

from __future__ import annotations

import pytest
from stores import commands_of, store_of

from tiered_memory.engine.keys import Keyspace
from tiered_memory.store import Document

NAMES = [f"viking://bulk/{number // 1000:03}/{number % 1000:03}" for number in range(100_000)]


@pytest.fixture
def store(mem):
    """A store with a few documents, and one of them at the end of the order."""
    store = store_of(mem)
    store.documents.put_many([Document(f"viking://{name}", "x") for name in ("bulk/000/000", "few/a", "few/b", "z")])
    return store


def fill(client, namespace, names):
    """Writes URIs where a tree has those of its documents."""
    keys = Keyspace(namespace, 1, "vector").of(None)
    for kind in ("documents", "enabled"):
        client.zadd(keys.key(kind, "tree"), dict.fromkeys(names, 0))


def calls(client, read):
    """How often each command was run for a call, those that scripts run included."""

    def count():
        stats = client.info("commandstats")
        return {
            name: each["calls"] for name, each in stats.items() if name not in ("cmdstat_info", "cmdstat_config|get")
        }

    before = count()
    answer = read()
    return answer, {
        name: number - before.get(name, 0) for name, number in count().items() if number != before.get(name)
    }


class TestSize:
    def test_as_with_few(self, store, client, namespace):
        """Counts, pages wherever they begin, names of children and statistics take as many commands as with few."""
        documents = store.documents
        middle = {"few": NAMES[500], "many": NAMES[50_500]}
        reads = {
            "count": lambda _: documents.count(),
            "count below": lambda _: documents.count("viking://bulk"),
            "first page": lambda _: [row.uri for row in documents.list(limit=10).items],
            "deep page": lambda size: [
                row.uri for row in documents.list(limit=10, offset=NAMES.index(middle[size])).items
            ],
            "next page": lambda size: [row.uri for row in documents.list(limit=10, cursor=middle[size]).items],
            "children": lambda _: documents.children("viking://few"),
            "top": lambda _: documents.children(),
            "stats": lambda _: store.stats().documents,
        }
        found = {}
        for size, number in (("few", 1000), ("many", 100_000)):
            fill(client, namespace, NAMES[:number])
            for name, read in reads.items():
                read(size)  # a script that the server hasn't seen is sent twice
                found[size, name] = calls(client, lambda read=read, size=size: read(size))
        for name in reads:
            assert found["few", name][1] == found["many", name][1], name
            assert sum(found["many", name][1].values()) < 30, name
        assert (found["few", "count"][0], found["many", "count"][0]) == (1003, 100_003)
        assert found["many", "count below"][0] == 100_000
        assert found["many", "deep page"][0] == NAMES[50_500:50_510]
        assert found["many", "next page"][0] == NAMES[50_501:50_511]

    def test_no_scan_of_keys(self, store, client, namespace):
        """Nothing walks over the keys of the database."""
        _, found = calls(
            client,
            lambda: (
                store.documents.count(), store.documents.list(), store.documents.children(), store.stats(),
                store.search.paths("x"), store.search.keyword("x"), store.search.grep("x"), store.documents.remove("viking://z"),
            ),
        )  # fmt: skip
        assert not {"cmdstat_scan", "cmdstat_keys"} & found.keys()


class TestRoundTrips:
    @pytest.mark.parametrize(
        "call",
        [
            lambda store: store.documents.put("viking://few/c", "x", abstract="y", jobs=[("embed", {})] * 3),
            lambda store: store.documents.put_many([Document(f"viking://n/{each}", "x") for each in range(100)]),
            lambda store: store.documents.get_many(["viking://few/a", "viking://none"] * 50),
            lambda store: store.documents.list(limit=1000),
            lambda store: store.documents.remove("viking://few"),
            lambda store: store.tags.set_enabled("viking://few", False),
            lambda store: store.tags.set_group("viking://few", "g"),
            lambda store: store.layers.abstract("viking://with/layers"),
            lambda store: store.search.keyword("x"),
            lambda store: store.search.grep("x"),
            lambda store: store.search.paths("x"),
            lambda store: store.stats(),
        ],
    )
    def test_one(self, store, client, call):
        """An operation on a few documents is one command."""
        store.documents.put("viking://with/layers", "x", abstract="y")
        call(store)
        store.documents.put_many([Document(f"viking://few/{name}", "x") for name in "ab"])
        assert commands_of(client, lambda: call(store)) == ["EVALSHA"]
