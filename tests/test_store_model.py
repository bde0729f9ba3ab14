"""The tree and a model of it, through the same random calls: whatever is asked, both answer the same."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from redis import Redis
from stores import store_of
from tree_invariants import check_tree
from tree_model import ROOT, TreeModel

from tiered_memory.errors import KindConflict, NotFound
from tiered_memory.store import Document

PATHS = ["a", "a/b", "a/b/c", "a/b/é", "a/É", "a-b", "a-b/c", "a0", "a0/b", "É", "É/a"]
uris = st.sampled_from([ROOT + path for path in PATHS])
anywhere = st.just(ROOT) | uris
texts = st.sampled_from(["", "x", "X\ny", "É\n\nxé", "straße\nSTRASSE"])
queries = st.sampled_from(["x", "é", "SS", "/", "a", "-", "ß", "\n"])


class Both(RuleBasedStateMachine):
    """Calls the tree and the model, and compares what they answer."""

    open = None
    """Opens an empty memory; set by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.mem, self.store, self.check = type(self).open()
        self.model = TreeModel()

    def teardown(self) -> None:
        self.mem.close()

    def refused(self, error, call, *arguments):
        with pytest.raises(error):
            call(*arguments)

    @rule(
        rows=st.lists(st.tuples(uris, texts, st.none() | texts), min_size=1, max_size=4, unique_by=lambda row: row[0])
    )
    def put(self, rows):
        documents = [Document(uri, content, abstract=abstract) for uri, content, abstract in rows]
        expected = self.model.put_many(rows)
        if expected == "kind_conflict":
            self.refused(KindConflict, self.store.documents.put_many, documents)
        else:
            assert [each.outcome for each in self.store.documents.put_many(documents)] == expected

    @rule(uri=uris)
    def remove(self, uri):
        expected = self.model.remove(uri)
        if expected is None:
            self.refused(NotFound, self.store.documents.remove, uri)
        else:
            assert self.store.documents.remove(uri) == expected

    @rule(uri=uris, on=st.booleans())
    def switch(self, uri, on):
        expected = self.model.switch(uri, on)
        if expected is None:
            self.refused(NotFound, self.store.tags.set_enabled, uri, on)
        else:
            assert self.store.tags.set_enabled(uri, on) is expected

    @rule(uri=uris, group=st.sampled_from(["", "g", "h"]))
    def tag(self, uri, group):
        if self.model.tag(uri, group):
            self.store.tags.set_group(uri, group)
        else:
            self.refused(NotFound, self.store.tags.set_group, uri, group)

    @rule(uri=anywhere)
    def children(self, uri):
        expected = self.model.children(uri)
        if expected is None:
            self.refused(NotFound, self.store.documents.children, uri)
        else:
            assert self.store.documents.children(uri) == expected

    @rule(under=anywhere, limit=st.integers(1, 4), offset=st.integers(0, 5), disabled=st.booleans())
    def page(self, under, limit, offset, disabled):
        page = self.store.documents.list(under, limit, offset, {"include_disabled": disabled})
        expected = self.model.documents(under, disabled=disabled)
        assert (page.total, [row.uri for row in page.items]) == (len(expected), expected[offset : offset + limit])
        assert (page.cursor is None) == (offset + limit >= len(expected))
        for row in page.items:
            assert (row.enabled, row.group) == self.model.node(row.uri)[2:4]

    @rule(under=anywhere, query=queries)
    def search(self, under, query):
        search = self.store.search
        if under != ROOT and under not in self.model.nodes:
            self.refused(NotFound, search.paths, query, under)
            return
        assert [(hit.uri, hit.kind) for hit in search.paths(query, under)] == self.model.paths(query, under)
        assert [hit.uri for hit in search.keyword(query, under)] == self.model.keyword(query, under)
        assert [(hit.uri, hit.line) for hit in search.grep(query, under)] == self.model.grep(query, under)

    @rule(asked=st.lists(anywhere, min_size=1, max_size=4))
    def get(self, asked):
        found = [
            node and (node.content, node.abstract, node.enabled, node.group, node.stale)
            for node in self.store.documents.get_many(asked)
        ]
        assert found == [self.model.node(uri) for uri in asked]

    @rule(under=anywhere)
    def count(self, under):
        assert self.store.documents.count(under) == len(self.model.documents(under))

    @invariant()
    def numbers(self):
        stats, documents = self.store.stats(), self.model.documents()
        assert stats.documents == len(documents)
        assert stats.directories == len(self.model.nodes) - len(documents)
        assert stats.by_top_subtree == {
            top: sum(uri[len(ROOT) :].split("/")[0] == top for uri in documents)
            for top in {uri[len(ROOT) :].split("/")[0] for uri in documents}
        }

    @invariant()
    def lies_well(self):
        """What lies in Redis agrees with itself and with the index."""
        assert self.check() == len(self.model.nodes)


def test_same_answers(open_memory, namespace, redis_url):
    """Through any sequence of calls, the tree and the model give the same answers."""
    numbers = count()
    with Redis.from_url(redis_url) as client:

        def open_empty():
            name = f"{namespace}-{next(numbers)}"
            mem = open_memory(namespace=name)

            mem.count()
            return mem, store_of(mem), lambda: check_tree(client, name)

        class Machine(Both):
            open = staticmethod(open_empty)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=30, stateful_step_count=40, deadline=None, derandomize=True,
                suppress_health_check=list(HealthCheck), phases=[Phase.generate],
            ),
        )  # fmt: skip
