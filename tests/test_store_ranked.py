"""Ranked search of documents: by words, by similarity, by both; and what is left when one of these fails."""

from __future__ import annotations

import pytest
from embedders_for_tests import TableEmbedder
from stores import commands_of, store_of

from tiered_memory.errors import (
    EmbeddingError,
    IndexUnavailable,
    InvalidField,
    InvalidLimit,
    InvalidQuery,
    InvalidURI,
    NotFound,
)
from tiered_memory.store import Document

U = "viking://resources/c"

TABLE = {
    "how is tea made": [1, 0, 0],
    "Steep green tea at eighty degrees.": [0.8, 0.6, 0],
    "Infuse the leaves in water just off the boil.": [0.9, 0.43588989435, 0],
    "The tea room opens at noon.": [0.1, 0.99498743710662, 0],
    "Invoices are due in thirty days.": [0, 1, 0],
    "Backups run nightly.": [-1, 0, 0],
    "Kettles whistle.": [0, 0, 1],
    "kettle": [0, 0, 1],
}
TEXTS = {
    "green": "Steep green tea at eighty degrees.",
    "leaves": "Infuse the leaves in water just off the boil.",
    "room": "The tea room opens at noon.",
    "invoices": "Invoices are due in thirty days.",
    "backups": "Backups run nightly.",
}
QUERY = "how is tea made"


class Failing(TableEmbedder):
    """An embedder that can be made to fail."""

    failing = False

    def embed(self, texts):
        if self.failing:
            raise RuntimeError("the model is gone")
        return super().embed(texts)


@pytest.fixture
def embedder():
    """Knows the vectors of the texts."""
    return Failing(TABLE)


@pytest.fixture
def store(mem):
    """A store of a few documents, embedded by a worker."""
    store = store_of(mem)
    put(store, TEXTS)
    return store


def put(store, texts):
    """Writes documents by their names below U, and has them embedded."""
    store.documents.put_many([Document(f"{U}/{name}", text, jobs=[("embed", {})]) for name, text in texts.items()])
    store.jobs.work(until_idle=True)


def names(hits):
    """The names of what was found, below U."""
    return [hit.uri.removeprefix(f"{U}/") for hit in hits]


class TestModes:
    def test_keyword(self, store, embedder):
        """By words are found the documents that share some, and nothing is embedded."""
        embedder.calls.clear()
        hits = store.search.search(QUERY, "keyword")
        assert sorted(names(hits)) == ["green", "room"]
        assert embedder.calls == []
        assert hits.degraded == ()

    def test_vector(self, store):
        """By similarity all are found, by their cosine."""
        hits = store.search.search(QUERY, "vector")
        assert [(hit.uri.name, hit.score) for hit in hits] == [
            ("leaves", 0.9), ("green", 0.8), ("room", 0.1), ("invoices", 0.0), ("backups", -1.0),
        ]  # fmt: skip

    def test_hybrid(self, store):
        """By both, what shares words and is near comes before what has only one of these."""
        hits = store.search.search(QUERY)
        assert names(hits)[:3] == ["green", "leaves", "room"]
        assert all(0 <= hit.score <= 1 for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert hits.degraded == ()

    def test_floor(self, store, embedder):
        """Where the embedder says how near is near, what shares no word and isn't nearly so near is no hit."""
        embedder.floor = 0.5
        assert names(store.search.search(QUERY)) == ["green", "leaves", "room"]

    def test_as_recall(self, mem, embedder):
        """The score is that of a recall over memories of the same texts."""
        embedder.floor = 0.0
        scope = mem.scoped("user:42")
        put(store_of_scope := store_of(scope), TEXTS)
        scope.remember(list(TEXTS.values()), tier="semantic")
        recalled = scope.recall(QUERY, tier="semantic", mode="hybrid", k=10)
        found = store_of_scope.search.search(QUERY)
        assert [(hit.content, hit.score) for hit in found] == [(hit.text, hit.score) for hit in recalled]

    def test_words_count_in_their_tree(self, mem):
        """How rare a word is, is told by the documents that are searched; other scopes have no part in it."""
        quiet, loud = (store_of(mem.scoped(name)) for name in ("quiet", "loud"))
        put(quiet, TEXTS)
        before = [(hit.uri, hit.score) for hit in quiet.search.search(QUERY)]
        put(loud, {f"{number}": "tea tea tea" for number in range(50)})
        assert [(hit.uri, hit.score) for hit in quiet.search.search(QUERY)] == before

    def test_ties(self, store):
        """What fits equally well is ordered by URI, the same each time."""
        put(store, {f"same/{number:02}": "Kettles whistle." for number in reversed(range(20))})
        for mode in ("keyword", "hybrid"):
            assert names(store.search.search("kettle", mode, 5)) == [f"same/{number:02}" for number in range(5)]

    def test_stop_words(self, store):
        """A query of words that say nothing finds nothing by words."""
        assert store.search.search("what is the", "keyword") == []
        assert names(store.search.search("what is the")) != []

    def test_not_yet_embedded(self, store):
        """What has no vector yet is found by its words."""
        store.documents.put(f"{U}/new", "Oolong is tea, too.")
        assert "new" in names(store.search.search("oolong"))
        assert names(store.search.search("oolong", "keyword")) == ["new"]


class TestWhere:
    def test_under(self, store):
        """The URI itself and what is below are searched, no sibling that begins alike."""
        put(store, dict.fromkeys(["p", "p/a", "p-old", "p-old/a"], "oolong"))
        for mode in ("keyword", "vector", "hybrid"):
            assert names(store.search.search("oolong", mode, under=f"{U}/p")) == ["p", "p/a"]
            with pytest.raises(NotFound, match="nothing stands"):
                store.search.search("oolong", mode, under=f"{U}/none")
            with pytest.raises(InvalidURI):
                store.search.search("oolong", mode, under="p")

    def test_switched_off(self, store):
        """However many are switched off, they take no place of others."""
        put(store, {f"d/{number:03}": QUERY for number in range(60)})
        store.tags.set_enabled(f"{U}/d", False)
        assert names(store.search.search(QUERY, top_k=1)) == ["green"]
        assert sorted(names(store.search.search(QUERY, "keyword", 200))) == ["green", "room"]

    def test_removed(self, store):
        """What is removed isn't found any more, and what is rewritten not by what it said."""
        store.documents.remove(f"{U}/green")
        store.documents.put(f"{U}/room", "Closed.")
        assert store.search.search("tea", "keyword") == []
        assert {"green", "room"}.isdisjoint(names(store.search.search(QUERY)))

    def test_memories(self, store, mem):
        """Memories of the scope are no documents."""
        mem.remember("tea is fine", tier="semantic")
        assert len(store.search.search("tea", "keyword")) == 2


class TestBounds:
    def test_top_k(self, store):
        """So many hits come at the most."""
        assert names(store.search.search(QUERY, "vector", 2)) == ["leaves", "green"]
        for top_k in (0, 201, -1, 1.5, True, None):
            with pytest.raises(InvalidLimit, match="top_k"):
                store.search.search(QUERY, top_k=top_k)

    @pytest.mark.parametrize("query", ["", " \n", None, b"tea", "\ud800"])
    def test_query(self, store, query):
        """A query must say something."""
        with pytest.raises(InvalidQuery, match="query"):
            store.search.search(query)

    def test_long_query(self, store):
        """A query may be as long as a text."""
        assert "green" in names(store.search.search(f"tea {'kettle ' * 1000}", "keyword"))

    @pytest.mark.parametrize("mode", ["text", "", None, "Hybrid"])
    def test_mode(self, store, mode):
        """There are three modes."""
        with pytest.raises(InvalidQuery, match="keyword, vector, hybrid"):
            store.search.search(QUERY, mode)

    def test_fields(self, store):
        """Only the fields that are asked for are read; the URI always comes."""
        (hit, *_) = store.search.search(QUERY, fields=["score"])
        assert (hit.uri.name, hit.content, hit.score is None) == ("green", None, False)
        (hit, *_) = store.search.search(QUERY, fields=["content"])
        assert (hit.content, hit.score) == (TEXTS["green"], None)
        with pytest.raises(InvalidField):
            store.search.search(QUERY, fields=["vector"])


class TestDegraded:
    def test_embedder(self, store, embedder):
        """When the embedder fails, words alone find documents, which the hits say; asked for vectors, it is raised."""
        embedder.failing = True
        hits = store.search.search(QUERY)
        assert sorted(names(hits)) == ["green", "room"]
        assert hits.degraded == ("embedder",)
        with pytest.raises(EmbeddingError):
            store.search.search(QUERY, "vector")
        embedder.failing = False
        assert store.search.search(QUERY).degraded == ()

    @pytest.mark.parametrize("mode", ["hybrid", "keyword"])
    def test_index(self, store, client, namespace, mode):
        """When the index is gone, what holds the query itself is found, which the hits say; the next call mends it."""
        client.execute_command("FT.DROPINDEX", f"{{{namespace}:0}}:index")
        hits = store.search.search("TEA ROOM", mode)
        assert [(hit.uri.name, hit.score, hit.content) for hit in hits] == [("room", None, TEXTS["room"])]
        assert hits.degraded == ("index",)
        hits = store.search.search("TEA ROOM", mode)
        assert names(hits)[0] == "room"
        assert hits.degraded == ()

    def test_both(self, store, embedder, client, namespace):
        """When both fail, both are named."""
        embedder.failing = True
        client.execute_command("FT.DROPINDEX", f"{{{namespace}:0}}:index")
        hits = store.search.search("tea", fields=["score"], under=f"{U}/room")
        assert (names(hits), hits.degraded) == (["room"], ("embedder", "index"))

    def test_vectors_alone(self, store, client, namespace):
        """Without an index there is no similarity."""
        client.execute_command("FT.DROPINDEX", f"{{{namespace}:0}}:index")
        with pytest.raises(IndexUnavailable):
            store.search.search(QUERY, "vector")


class TestRoundTrips:
    @pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
    def test_two(self, store, client, mode):
        """A search is one command for the index and one for the documents, and one call to the embedder."""
        store.search.search(QUERY, mode)
        assert len(commands_of(client, lambda: store.search.search(QUERY, mode))) == 2
