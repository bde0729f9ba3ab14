"""Marks of whole subtrees: switched on or off, and groups."""

from __future__ import annotations

import pytest
from redis import Redis
from stores import store_of

from tiered_memory.errors import InvalidGroup, InvalidInput, InvalidURI, IsRoot, NotFound
from tiered_memory.store import Document

U = "viking://resources/c"


@pytest.fixture
def store(mem):
    """A store with three documents, one of them deeper."""
    store = store_of(mem)
    store.documents.put_many([Document(f"{U}/{name}", name) for name in ("a", "d/x", "d/y/z")])
    return store


@pytest.fixture
def indexed(redis_url, namespace, mem):
    """How many records an index search sees."""
    with Redis.from_url(redis_url) as client:

        def count():
            token = mem_token(mem)
            reply = client.execute_command(
                "FT.SEARCH", f"{{{namespace}:0}}:index", f"@active:{{{token}}}", "NOCONTENT", "DIALECT", 2
            )
            return reply[b"total_results"] if isinstance(reply, dict) else reply[0]

        yield count


def mem_token(mem):
    """What marks the documents of the unscoped pool in the index."""
    from tiered_memory.scope import digest

    return digest(None, "documents")


def enabled(store):
    """The names of the documents that are listed."""
    return [row.uri.removeprefix(f"{U}/") for row in store.documents.list(U).items]


def groups(store):
    """The group of each document by its name."""
    rows = store.documents.list(U, filter={"include_disabled": True}).items
    return {row.uri.removeprefix(f"{U}/"): row.group for row in rows}


class TestEnabled:
    def test_a_subtree(self, store, indexed):
        """What is switched off is off with all below: read, but neither listed, nor found, nor seen by the index."""
        assert store.tags.set_enabled(f"{U}/d", False) is False
        assert enabled(store) == ["a"]
        assert indexed() == 1
        assert [node.enabled for node in store.documents.get_many([U, f"{U}/a", f"{U}/d", f"{U}/d/y/z"])] == [
            True, True, False, False,
        ]  # fmt: skip
        assert store.documents.get(f"{U}/d/x").content == "d/x"
        assert store.search.keyword("d/") == []
        page = store.documents.list(U, filter={"include_disabled": True})
        assert [row.enabled for row in page.items] == [True, False, False]
        assert (page.total, store.documents.list(U).total, store.documents.count(U)) == (3, 1, 3)

    def test_on_again(self, store, indexed):
        """Switched on again, all is as it was; what was switched off one by one stays off."""
        store.tags.set_enabled(f"{U}/d/x", False)
        store.tags.set_enabled(f"{U}/d", False)
        assert store.tags.set_enabled(f"{U}/d", True) is True
        assert enabled(store) == ["a", "d/y/z"]
        assert indexed() == 2
        assert store.tags.set_enabled(f"{U}/d/x", True) is True
        assert enabled(store) == ["a", "d/x", "d/y/z"]
        assert indexed() == 3

    def test_below_what_is_off(self, store):
        """Below a directory that is off nothing is on, whatever its own mark says."""
        store.tags.set_enabled(f"{U}/d", False)
        store.tags.set_enabled(f"{U}/d/x", False)
        assert store.tags.set_enabled(f"{U}/d/x", True) is False
        assert enabled(store) == ["a"]

    def test_written_later(self, store, indexed):
        """What is written below a directory that is off is off, also below directories that it makes."""
        store.tags.set_enabled(f"{U}/d", False)
        store.documents.put(f"{U}/d/e/f.md", "new")
        node = store.documents.get(f"{U}/d/e/f.md")
        assert (node.enabled, node.content) == (False, "new")
        assert indexed() == 1
        store.tags.set_enabled(f"{U}/d", True)
        assert "d/e/f.md" in enabled(store)
        assert indexed() == 4

    def test_rewritten(self, store, indexed):
        """A document that is off stays so when it is written again, and one that was removed leaves no mark."""
        store.tags.set_enabled(f"{U}/a", False)
        store.documents.put(f"{U}/a", "again")
        assert (enabled(store), indexed()) == (["d/x", "d/y/z"], 2)
        store.documents.remove(f"{U}/a")
        store.documents.put(f"{U}/a", "anew")
        assert (enabled(store), indexed()) == (["a", "d/x", "d/y/z"], 3)

    def test_a_document_with_children(self, store):
        """A document that is off takes along what is below it."""
        store.documents.put(f"{U}/a/below", "x")
        store.tags.set_enabled(f"{U}/a", False)
        assert enabled(store) == ["d/x", "d/y/z"]

    def test_a_sibling(self, store):
        """A sibling whose name begins alike stays on."""
        store.documents.put(f"{U}/d-old/x", "x")
        store.tags.set_enabled(f"{U}/d", False)
        assert enabled(store) == ["a", "d-old/x"]

    def test_twice(self, store):
        """Switching off twice is as once."""
        for _ in range(2):
            assert store.tags.set_enabled(U, False) is False
        assert enabled(store) == []
        assert store.tags.set_enabled(U, True) is True

    def test_not_a_truth_value(self, store):
        """On is True or False."""
        with pytest.raises(InvalidInput):
            store.tags.set_enabled(U, "off")


class TestGroup:
    def test_a_subtree(self, store):
        """A tag is that of all below, what is written there later included; the nearest one counts."""
        store.tags.set_group(U, "team/a_1-b")
        store.tags.set_group(f"{U}/d", "inner")
        store.documents.put(f"{U}/d/new/x", "x")
        assert groups(store) == {"a": "team/a_1-b", "d/new/x": "inner", "d/x": "inner", "d/y/z": "inner"}
        assert store.documents.get(f"{U}/d/y").group == "inner"

    def test_over_others(self, store):
        """A tag takes the place of those that were set below."""
        store.tags.set_group(f"{U}/d/x", "own")
        store.tags.set_group(U, "all")
        assert set(groups(store).values()) == {"all"}

    def test_cleared(self, store):
        """The empty text clears the tag of a subtree, whatever there is above."""
        store.tags.set_group(U, "team")
        store.tags.set_group(f"{U}/d", "")
        assert groups(store) == {"a": "team", "d/x": "", "d/y/z": ""}
        store.tags.set_group(U, "")
        assert set(groups(store).values()) == {""}

    def test_as_a_filter(self, store):
        """A listing by group has those of that tag, and those whose URI has it as its first segment."""
        store.tags.set_group(f"{U}/d", "viking")
        store.documents.put("viking://viking/x", "x")
        found = [row.uri for row in store.documents.list(filter={"group": "viking"}).items]
        assert found == [f"{U}/d/x", f"{U}/d/y/z", "viking://viking/x"]
        assert store.documents.list(filter={"group": "vik"}).total == 0

    @pytest.mark.parametrize("tag", ["a b", "a" * 65, "é", "a\n", "a.b", None, 7])
    def test_refused(self, store, tag):
        """A tag is a name of up to 64 letters, digits, `_`, `/` and `-`."""
        with pytest.raises(InvalidGroup):
            store.tags.set_group(U, tag)
        assert set(groups(store).values()) == {""}

    def test_as_long_as_allowed(self, store):
        """64 characters are allowed."""
        store.tags.set_group(U, "a" * 64)
        assert set(groups(store).values()) == {"a" * 64}


class TestBoth:
    @pytest.mark.parametrize(
        ("uri", "error"), [("viking://", IsRoot), (f"{U}/none", NotFound), ("http://e/x", InvalidURI)]
    )
    def test_refused(self, store, uri, error):
        """The root, what is missing, and what isn't a URI can't be marked."""
        for call in (lambda: store.tags.set_enabled(uri, False), lambda: store.tags.set_group(uri, "x")):
            with pytest.raises(error):
                call()

    def test_independent(self, store):
        """The two marks don't disturb each other."""
        store.tags.set_group(f"{U}/d", "g")
        store.tags.set_enabled(f"{U}/d", False)
        store.tags.set_group(f"{U}/d", "")
        assert enabled(store) == ["a"]
        store.tags.set_group(f"{U}/d", "h")
        store.tags.set_enabled(f"{U}/d", True)
        assert groups(store)["d/x"] == "h"
