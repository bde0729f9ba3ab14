"""Layers above a document's content: stored ones, what stands in for them, and results of jobs."""

from __future__ import annotations

import pytest
from stores import store_of

from tiered_memory.errors import InvalidInput, InvalidURI, IsRoot, NotFound, TooLarge
from tiered_memory.store import fallback
from tiered_memory.store.items import MAX_LAYER_BYTES, Delivery, StoredLayers

U = "viking://resources/c"
A = f"{U}/a.md"

HEADER = "---\nname: tea\ndescription: 'How to make it'\n---\n\n# Tea\nGreen."


def claimed(store, kind="summarize_abstract"):
    """The id of the job of a kind that a worker gets now."""
    return store.jobs.claim([kind]).id


class TestFallback:
    @pytest.mark.parametrize(
        ("text", "abstract", "overview"),
        [
            (HEADER, "tea — How to make it", "# Tea\nGreen."),
            ("---\nname: tea\n---\nx", "tea", "x"),
            ("---\ndescription: d\nother: e\n---\n", "d", ""),
            ("---\nother: e\n---\n\n\nbody\n", "body", "body\n"),
            ("---\nno pair\n---\nbody", "---", "---\nno pair\n---\nbody"),
            ("---\nname: x\n" + "a: b\n" * 17 + "---\nbody", "x", "body"),
            ("---\nname: x\n" + "a: b\n" * 18 + "---\nbody", "---", "---\nname: x\n" + "a: b\n" * 18 + "---\nbody"),
            ("\n \n  first \nsecond", "first", "\n \n  first \nsecond"),
            ("", "", ""),
            ("x" * 300, "x" * 280, "x" * 280),
        ],
    )
    def test_text(self, text, abstract, overview):
        """Front matter within 20 lines gives name and description, else the body its first line, cut at 280."""
        assert fallback.abstract(text) == abstract
        assert fallback.overview(text) == overview[:280]

    def test_long_front_matter(self):
        """What front matter says is cut at 280 characters."""
        assert fallback.abstract(f"---\nname: {'n' * 100}\ndescription: {'d' * 300}\n---\n") == (
            "n" * 100 + " — " + "d" * 177
        )


class TestReading:
    def test_stored_first(self, store):
        """A stored layer is read; without one the content stands in for it."""
        store.documents.put(A, HEADER)
        assert (store.layers.abstract(A), store.layers.overview(A)) == ("tea — How to make it", "# Tea\nGreen.")
        store.documents.put(A, HEADER, abstract="L0", overview="L1" * 1000)
        assert (store.layers.abstract(A), store.layers.overview(A)) == ("L0", "L1" * 1000)

    def test_pair(self, store):
        """The stored pair says which of them are stale, and which a caller supplied."""
        store.documents.put(A, "x")
        assert store.layers.stored(A) == StoredLayers(None, None, frozenset(), frozenset())
        store.documents.put(A, "x", overview="L1")
        store.documents.put(A, "y", jobs=[("summarize_abstract", {})])
        store.layers.store(claimed(store), A, "abstract", "made")
        assert store.layers.stored(A) == StoredLayers("made", "L1", frozenset({"overview"}), frozenset({"overview"}))

    def test_of_a_long_text(self, store):
        """What stands in for a layer is read from the beginning, also when that ends inside a character."""
        store.documents.put(A, "é" * 2_000_001)
        assert store.layers.abstract(A) == store.layers.overview(A) == "é" * 280

    @pytest.mark.parametrize(
        ("uri", "error"), [(U, NotFound), (f"{U}/none", NotFound), ("viking://", IsRoot), ("x", InvalidURI)]
    )
    def test_no_document(self, store, uri, error):
        """Only a document has layers."""
        store.documents.put(A, "x")
        for call in (store.layers.abstract, store.layers.overview, store.layers.stored):
            with pytest.raises(error):
                call(uri)


class TestResults:
    def test_stored(self, store):
        """A job's result is stored and the job completed, in one step."""
        store.documents.put(A, "x", jobs=[("summarize_abstract", {})])
        assert store.layers.store(claimed(store), A, "abstract", "one") == Delivery("stored")
        assert store.documents.get(A).abstract == "one"
        assert store.documents.get(A).stale == frozenset()
        assert store.jobs.claim(["summarize_abstract"]) is None
        assert store.jobs.stats()["done"] == 1

    def test_taken_place_of(self, store):
        """A layer that a job has made gives way to that of the next content's job."""
        for content, made in (("v1", "one"), ("v2", "two")):
            store.documents.put(A, content, jobs=[("summarize_abstract", {})])
            store.layers.store(claimed(store), A, "abstract", made)
        assert store.layers.stored(A) == StoredLayers("two", None, frozenset(), frozenset())

    def test_removed_meanwhile(self, store):
        """When the document was removed, the result is discarded: nothing is made of it, and no job is left."""
        store.documents.put(A, "x", jobs=[("summarize_overview", {})])
        job = claimed(store, "summarize_overview")
        store.documents.remove(A)
        assert store.layers.store(job, A, "overview", "late").outcome == "discarded"
        assert store.documents.get(A) is None
        assert sum(store.jobs.stats().values()) == 0

    def test_rewritten_meanwhile(self, store):
        """When the content isn't that of the job any more, the result is discarded, and the new content's job runs."""
        store.documents.put(A, "v1", jobs=[("summarize_abstract", {})])
        old = claimed(store)
        store.documents.put(A, "v2", jobs=[("summarize_abstract", {})])
        assert store.layers.store(old, A, "abstract", "of v1") == Delivery("discarded", "changed")
        assert store.documents.get(A).abstract is None
        assert store.layers.store(claimed(store), A, "abstract", "of v2") == Delivery("stored")

    def test_removed_and_written_anew(self, store):
        """A document that was removed and written anew isn't given what was made for the old one."""
        store.documents.put(A, "v1", jobs=[("summarize_abstract", {})])
        old = claimed(store)
        store.documents.remove(A)
        store.documents.put(A, "v1")
        assert store.layers.store(old, A, "abstract", "of v1") == Delivery("discarded", "cancelled")

    def test_supplied_meanwhile(self, store):
        """A layer that a caller supplied is never overwritten, not even when it is stale."""
        store.documents.put(A, "v1", abstract="mine")
        store.documents.put(A, "v2", jobs=[("summarize_abstract", {})])
        assert store.layers.store(claimed(store), A, "abstract", "made") == Delivery("discarded", "supplied")
        assert store.documents.get(A).abstract == "mine"

    def test_dropped(self, store):
        """A layer that a caller dropped may be made by a job again."""
        store.documents.put(A, "v1", abstract="mine")
        store.documents.put(A, "v1", abstract="", jobs=[("summarize_abstract", {})])
        assert store.layers.store(claimed(store), A, "abstract", "made") == Delivery("stored")

    def test_delivered_twice(self, store):
        """A result that comes again is discarded."""
        store.documents.put(A, "x", jobs=[("summarize_abstract", {})])
        job = claimed(store)
        store.layers.store(job, A, "abstract", "one")
        assert store.layers.store(job, A, "abstract", "two") == Delivery("discarded", "cancelled")
        assert store.documents.get(A).abstract == "one"

    def test_of_another_uri(self, store):
        """A job of another URI is refused, and stays."""
        store.documents.put(A, "x")
        store.documents.put(f"{U}/b", "x", jobs=[("summarize_abstract", {})])
        job = claimed(store)
        with pytest.raises(InvalidInput, match="isn't one for"):
            store.layers.store(job, A, "abstract", "one")
        assert store.jobs.stats()["running"] == 1

    def test_of_another_scope(self, store, mem):
        """A job of another scope isn't known."""
        other = store_of(mem.scoped("user:42"))
        for each in (store, other):
            each.documents.put(A, "x")
        other.documents.put(A, "x", jobs=[("summarize_abstract", {})])
        job = claimed(other)
        assert store.layers.store(job, A, "abstract", "one") == Delivery("discarded", "cancelled")
        assert other.layers.store(job, A, "abstract", "one") == Delivery("stored")

    @pytest.mark.parametrize(
        ("layer", "text", "error"),
        [
            ("content", "x", InvalidInput),
            ("abstract", "", InvalidInput),
            ("abstract", "\ud800", InvalidInput),
            ("abstract", None, InvalidInput),
            ("overview", "x" * (MAX_LAYER_BYTES + 1), TooLarge),
        ],
        ids=["layer", "empty", "surrogate", "none", "long"],
    )
    def test_refused(self, store, layer, text, error):
        """A result that can't be a layer is refused, and the job stays running."""
        store.documents.put(A, "x", jobs=[("summarize_abstract", {})])
        job = claimed(store)
        with pytest.raises(error):
            store.layers.store(job, A, layer, text)
        assert store.jobs.stats()["running"] == 1
