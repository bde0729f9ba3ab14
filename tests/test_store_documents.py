"""Documents in the tree: writing, reading, listing, counting and removing them."""

from __future__ import annotations

from hashlib import sha256

import pytest
from shorthand import NOON, frozen
from stores import commands_of, store_of

from tiered_memory.engine.reply import rows
from tiered_memory.errors import (
    InvalidInput,
    InvalidLimit,
    InvalidPayload,
    InvalidQuery,
    InvalidURI,
    IsRoot,
    KindConflict,
    NotFound,
    TooLarge,
)
from tiered_memory.scope import digest
from tiered_memory.store import Document, Filter, TreeStats
from tiered_memory.store.items import MAX_CONTENT_BYTES, MAX_LAYER_BYTES
from tiered_memory.store.nodes import MAX_BATCH
from tiered_memory.store.tree import MAX_TERMS
from tiered_memory.store.uri import parse, token

U = "viking://resources/c"


@pytest.fixture
def documents(store):
    """Its documents."""
    return store.documents


def uris(page):
    """The URIs of a page."""
    return [row.uri for row in page.items]


class TestPut:
    def test_makes_directories(self, documents):
        """A document makes the directories above it, up to the root."""
        written = documents.put(f"{U}/a.md", "x")
        assert (written.uri, written.outcome, written.jobs) == (f"{U}/a.md", "created", ())
        assert (documents.get(f"{U}/a.md").kind, documents.get(f"{U}/a.md").content) == ("doc", "x")
        for above in (U, "viking://resources", "viking://"):
            assert (documents.get(above).kind, documents.get(above).content) == ("dir", None)

    def test_nothing_there(self, documents):
        """Where nothing stands there is None; before the first write there isn't even a root."""
        assert documents.get(f"{U}/none") is None
        assert documents.get("viking://") is None

    def test_a_node(self, documents):
        """A node says where it stands, when it was first and last written, and what its content is known by."""
        with frozen() as clock:
            documents.put(f"{U}/a.md", "x")
            clock.tick(60)
            assert documents.put(f"{U}/a.md", "ÿ").outcome == "replaced"
        node = documents.get(f"{U}/a.md")
        assert (node.name, node.parent, node.enabled, node.group) == ("a.md", U, True, "")
        assert (node.created_at, (node.updated_at - NOON).total_seconds()) == (NOON, 60)
        assert node.content_hash == sha256("ÿ".encode()).hexdigest()
        assert documents.get(U).created_at == documents.get(U).updated_at == NOON

    def test_layers_stay(self, documents):
        """A layer that isn't given stays as it is, and is stale when the content changed; an empty one drops it."""
        documents.put(f"{U}/a.md", "x", abstract="L0")
        documents.put(f"{U}/a.md", "y")
        node = documents.get(f"{U}/a.md")
        assert (node.content, node.abstract, node.overview, node.stale) == ("y", "L0", None, {"abstract"})
        documents.put(f"{U}/a.md", "x", overview="L1")
        assert documents.get(f"{U}/a.md").stale == frozenset()
        documents.put(f"{U}/a.md", "x", abstract="")
        assert (documents.get(f"{U}/a.md").abstract, documents.get(f"{U}/a.md").overview) == (None, "L1")

    def test_deep(self, documents):
        """A URI may have as many segments as it has room for."""
        deepest = f"viking:/{'/a' * 2043}"
        assert len(deepest) <= 4096
        documents.put(deepest, "x")
        documents.put(f"{deepest[:-2]}/b", "y")
        assert documents.count("viking://a/a/a") == 2
        assert documents.get(deepest).content == "x"
        assert documents.remove("viking://a") == 2

    def test_below_a_document(self, documents):
        """A document may have others below it, and is still no directory."""
        documents.put(f"{U}/s", "s")
        documents.put(f"{U}/s/x/child", "c")
        assert documents.get(f"{U}/s").kind == "doc"
        assert documents.get(f"{U}/s/x").kind == "dir"
        assert documents.count(f"{U}/s") == 2

    def test_at_a_directory(self, documents, store):
        """Where a directory stands no document can be written, and the tree stays as it is."""
        documents.put(f"{U}/t/b.md", "b")
        before = store.stats()
        with pytest.raises(KindConflict, match="resources/c/t"):
            documents.put(f"{U}/t", "x")
        assert store.stats() == before
        assert documents.get(f"{U}/t").kind == "dir"

    def test_at_the_root(self, documents, store):
        """The root can't be written."""
        with pytest.raises(IsRoot):
            documents.put("viking://", "x")
        assert store.stats() == TreeStats(0, 0, {})

    @pytest.mark.parametrize(
        "content", ["", "a\0b\x01\x7f", "\ufeff\u2028", "é" * 1000, "\n\n", "a" * MAX_CONTENT_BYTES]
    )
    def test_any_text(self, documents, content):
        """Any text of up to 10 MiB is kept as it is, control characters and NULs included."""
        documents.put(f"{U}/a", content)
        assert documents.get(f"{U}/a").content == content

    @pytest.mark.parametrize(
        ("content", "error", "word"),
        [
            ("a" * (MAX_CONTENT_BYTES + 1), TooLarge, "10485760"),
            ("é" * (MAX_CONTENT_BYTES // 2) + "a", TooLarge, "10485761"),
            ("\ud800", InvalidInput, "surrogate"),
            (b"x", InvalidInput, "decode"),
            (None, InvalidInput, "NoneType"),
        ],
        ids=["long", "long in bytes", "surrogate", "bytes", "none"],
    )
    def test_refused_texts(self, documents, store, content, error, word):
        """What is longer, has no encoding, or is no text is refused before anything is written."""
        with pytest.raises(error, match=word):
            documents.put(f"{U}/a", content)
        assert store.stats().documents == 0

    def test_refused_layers(self, documents):
        """A layer is a text of up to 1 MiB."""
        documents.put(f"{U}/a", "x", abstract="a" * MAX_LAYER_BYTES)
        with pytest.raises(TooLarge):
            documents.put(f"{U}/a", "x", overview="a" * (MAX_LAYER_BYTES + 1))

    @pytest.mark.parametrize("uri", [f"{U}/", "http://a/b", f"{U}/../x", None])
    def test_refused_uris(self, documents, uri):
        """What isn't a URI is refused by each operation."""
        for call in (
            lambda: documents.put(uri, "x"),
            lambda: documents.get(uri),
            lambda: documents.get_many([uri]),
            lambda: documents.children(uri),
            lambda: documents.list(uri),
            lambda: documents.count(uri),
            lambda: documents.remove(uri),
        ):
            with pytest.raises(InvalidURI):
                call()

    def test_scopes(self, mem, documents):
        """Each scope has a tree of its own."""
        documents.put(f"{U}/a", "pool")
        other = store_of(mem.scoped("user:42")).documents
        other.put(f"{U}/a", "own")
        assert [each.get(f"{U}/a").content for each in (documents, other)] == ["pool", "own"]
        other.remove(U)
        assert (documents.count(), other.count()) == (1, 0)


class TestRecord:
    @pytest.fixture
    def search(self, client, namespace):
        """The URIs that a query of the index finds."""

        def found(query):
            arguments = (f"{{{namespace}:0}}:index", query, "RETURN", 1, "uri", "DIALECT", 2)
            reply = client.execute_command("FT.SEARCH", *arguments, NEVER_DECODE=True)
            return sorted(str(fields[b"uri"], "utf-8").removeprefix(f"{U}/") for _, fields in rows(reply))

        return found

    def test_under(self, documents, search):
        """The index finds a document by each URI that it is or lies below, and by no sibling of these."""
        for name in ("p", "p/a", "p/b/c", "p-old"):
            documents.put(f"{U}/{name}", "x")
        mark = f"@active:{{{digest(None, 'documents')}}} @under:{{{token(parse(f'{U}/p'))}}}"
        assert search(mark) == ["p", "p/a", "p/b/c"]
        assert search(f"@under:{{{token(parse('viking://'))}}}") == ["p", "p-old", "p/a", "p/b/c"]

    def test_terms(self, documents, search):
        """The index finds a document by the words of the first part of its content."""
        documents.put(f"{U}/a", "Brewing " + "x " * MAX_TERMS + " beyond")
        assert search("@terms:brew") == ["a"]
        assert search("@terms:beyond") == []
        documents.put(f"{U}/a", "steeping")
        assert (search("@terms:brew"), search("@terms:steep")) == ([], ["a"])

    def test_vectors_go(self, documents, client, namespace):
        """A write takes away the vectors of the old content, of whatever embedder, and keeps the record."""
        documents.put(f"{U}/a", "x", abstract="y")
        (key,) = client.scan_iter(f"{{{namespace}:0}}:record:*")
        client.hset(key, mapping={"vector_abc": b"1234", "vector_def": b"5678"})
        documents.put(f"{U}/a", "x")
        assert not {name for name in client.hkeys(key) if name.startswith(b"vector_")}
        assert client.hget(key, "abstract") == b"y"


class TestJobs:
    def test_with_the_document(self, documents, store):
        """A write enqueues its jobs, which know the document and its content, in one round trip."""
        written = documents.put(f"{U}/a", "x", jobs=[("embed", {}), ("summarize_abstract", {"tries": 2})])
        assert len(written.jobs) == 2
        job = store.jobs.claim(["summarize_abstract"])
        assert job.id == written.jobs[1]
        assert job.payload == {"uri": f"{U}/a", "content_hash": written.content_hash, "tries": 2}

    def test_one_round_trip(self, documents, client):
        """A write with its jobs is one command."""
        documents.put(f"{U}/b", "x", jobs=[("embed", {})])
        sent = commands_of(client, lambda: documents.put(f"{U}/a", "x", jobs=[("embed", {}), ("embed", {})]))
        assert sent == ["EVALSHA"]

    @pytest.mark.parametrize("payload", [{"x": {1, 2}}, {"x": float("nan")}, {1: 2}, "text", None, {"uri": "http://x"}])
    def test_a_bad_payload(self, documents, store, payload):
        """Where one payload can't be kept, neither the document nor any job is written."""
        documents.put(f"{U}/a", "old")
        with pytest.raises(InvalidPayload):
            documents.put(f"{U}/a", "new", jobs=[("embed", {}), ("embed", payload)])
        assert documents.get(f"{U}/a").content == "old"
        assert store.jobs.count_kind("embed") == 0

    @pytest.mark.parametrize("job", ["embed", ("embed",), ("embed", {}, 1), None])
    def test_not_a_job(self, documents, job):
        """A job is a pair of a kind and a payload."""
        with pytest.raises(InvalidInput, match="pair"):
            documents.put(f"{U}/a", "new", jobs=[job])

    def test_removed(self, documents, store):
        """With a subtree go its jobs in any state; those of a sibling whose name begins alike stay."""
        for uri in (f"{U}/g/a", f"{U}/g/b/c", f"{U}/g-old/a"):
            documents.put(uri, "x", jobs=[("embed", {})])
        store.jobs.claim(["embed"])
        assert documents.remove(f"{U}/g") == 2
        assert store.jobs.count_kind("embed") == 1
        assert store.jobs.claim(["embed"]).payload["uri"] == f"{U}/g-old/a"
        assert documents.get(f"{U}/g-old/a").content == "x"


class TestPutMany:
    def test_all_at_once(self, documents):
        """Several documents and their jobs are one step; each says what became of it."""
        documents.put(f"{U}/b", "old")
        jobs = {"a": 1, "b": 0, "c": 2}
        given = [Document(f"{U}/{name}", name, jobs=[("embed", {})] * count) for name, count in jobs.items()]
        written = documents.put_many(given)
        assert [(each.outcome, len(each.jobs)) for each in written] == [("created", 1), ("replaced", 0), ("created", 2)]
        assert [node.content for node in documents.get_many([each.uri for each in given])] == ["a", "b", "c"]

    def test_none_when_one_cannot_be(self, documents, store):
        """When one of them can't be written, none is."""
        documents.put(f"{U}/t/b", "b")
        before = store.stats()
        with pytest.raises(KindConflict):
            documents.put_many([Document(f"{U}/x/y", "x", jobs=[("embed", {})]), Document(f"{U}/t", "t")])
        assert store.stats() == before
        assert store.jobs.count_kind("embed") == 0

    @pytest.mark.parametrize("order", [1, -1])
    def test_one_below_another(self, documents, order):
        """Documents may stand one below the other, in whatever order they are given."""
        documents.put_many([Document(f"{U}/s", "s"), Document(f"{U}/s/x/y", "y"), Document(f"{U}/s/x", "x")][::order])
        assert [documents.get(f"{U}/{each}").kind for each in ("s", "s/x", "s/x/y")] == ["doc"] * 3

    def test_bounds(self, documents):
        """None is nothing to do; a URI twice, another type, or too many documents are refused."""
        assert documents.put_many([]) == []
        with pytest.raises(InvalidInput, match="document 1 has the URI"):
            documents.put_many([Document(f"{U}/a", "1"), Document(f"{U}/a", "2")])
        with pytest.raises(InvalidInput, match="document 0 must be a Document"):
            documents.put_many([f"{U}/a"])
        with pytest.raises(InvalidLimit, match="1001"):
            documents.put_many([Document(f"{U}/{number}", "") for number in range(MAX_BATCH + 1)])
        with pytest.raises(TooLarge, match="in one call"):
            documents.put_many([Document(f"{U}/{number}", "a" * MAX_CONTENT_BYTES) for number in range(7)])
        assert documents.count() == 0

    def test_as_many_as_allowed(self, documents):
        """A thousand documents are written in one step."""
        documents.put_many([Document(f"{U}/{number:04}", str(number)) for number in range(MAX_BATCH)])
        assert documents.count(U) == MAX_BATCH


class TestGetMany:
    def test_in_order(self, documents):
        """Nodes come in the order of the URIs, None for what is missing, and what is asked twice comes twice."""
        documents.put(f"{U}/a.md", "x")
        first, missing, again, above = documents.get_many([f"{U}/a.md", f"{U}/none", f"{U}/a.md", U])
        assert (first, missing, above.kind) == (again, None, "dir")
        assert documents.get_many([]) == []

    def test_bound(self, documents):
        """Too many URIs are refused."""
        with pytest.raises(InvalidLimit):
            documents.get_many([U] * (MAX_BATCH + 1))


class TestChildren:
    def test_names(self, documents):
        """A directory's children are named once each, in the order of their bytes."""
        for name in ("b.md", "n/c.md", "n/d.md", "n-old", "n.md", "n/deep/er", "é", "Z"):
            documents.put(f"{U}/t/{name}", "x")
        assert documents.children(f"{U}/t") == ["Z", "b.md", "n", "n-old", "n.md", "é"]
        assert documents.children(f"{U}/t/n") == ["c.md", "d.md", "deep"]
        assert documents.children() == documents.children("viking://") == ["resources"]

    def test_a_document_with_children(self, documents):
        """A document that has others below it is one name, and no directory itself."""
        documents.put(f"{U}/s/x", "x")
        documents.put(f"{U}/d", "d")
        documents.put(f"{U}/d/below", "x")
        assert documents.children(U) == ["d", "s"]
        with pytest.raises(NotFound, match="no directory"):
            documents.children(f"{U}/d")

    def test_no_directory(self, documents):
        """What isn't there has no children, nor has the root before the first write."""
        for uri in (U, "viking://"):
            with pytest.raises(NotFound):
                documents.children(uri)

    def test_many(self, documents):
        """All names come, however many there are."""
        for part in range(2):
            documents.put_many([Document(f"{U}/{part}{number:03}/x", "") for number in range(1000)])
        documents.put_many([Document(f"{U}/x{number:03}", "") for number in range(1000)])
        names = documents.children(U)
        assert len(names) == 3000
        assert names == sorted(names)


class TestList:
    @pytest.fixture
    def five(self, documents):
        """Five documents, one of them at the URI that the others are below."""
        for name in ("c", "c/a", "c/b/x", "c/b-old", "c/d"):
            documents.put(f"viking://resources/{name}", name)
        return [f"{U}", f"{U}/a", f"{U}/b-old", f"{U}/b/x", f"{U}/d"]

    def test_pages(self, documents, five):
        """A page has rows in the order of URIs and the number of all; past the end it has none."""
        documents.put("viking://resources/c-old", "x")
        page = documents.list(U, 2, 2)
        assert (uris(page), page.total) == (five[2:4], 5)
        assert (uris(documents.list(U, 2, 4)), documents.list(U, 2, 4).cursor) == (five[4:], None)
        assert (uris(documents.list(U, offset=5)), documents.list(U, offset=5).total) == ([], 5)
        assert uris(documents.list(U)) == five
        assert uris(documents.list()) == sorted([*five, "viking://resources/c-old"])

    @pytest.mark.parametrize("filter", [None, {"substring": "C"}])
    @pytest.mark.parametrize("limit", [1, 2, 5])
    def test_cursor(self, documents, five, limit, filter):
        """Pages by cursor have each document once, also when others are written in between."""
        page = documents.list(U, limit, filter=filter)
        found = uris(page)
        while page.cursor:
            documents.put(f"{U}/a-{len(found)}", "early")
            page = documents.list(U, limit, filter=filter, cursor=page.cursor)
            found += uris(page)
        assert [uri for uri in found if uri in five] == five
        assert len(found) == len(set(found))

    def test_rows(self, documents, five):
        """A row says where a document stands, whether it is enabled, and its group."""
        (row,) = documents.list(f"{U}/d").items
        assert (row.uri, row.enabled, row.group) == (five[4], True, "")

    def test_substring(self, documents, five):
        """A substring is looked for in the whole URI, literally, whatever its case."""
        documents.put(f"{U}/Ä%_x", "x")
        assert uris(documents.list(U, filter={"substring": "ä%_"})) == [f"{U}/Ä%_x"]
        assert documents.list(U, filter={"substring": "VIKING://"}).total == 6
        assert documents.list(U, filter={"substring": "a.b"}).total == 0
        page = documents.list(U, 1, 1, {"substring": "/B"})
        assert (uris(page), page.total) == ([f"{U}/b/x"], 2)

    def test_filter(self, documents):
        """A filter may be a value of its own; what isn't one is refused."""
        assert documents.list(filter=Filter(substring="x")).total == 0
        for filter in ({"other": 1}, {"substring": 7}, {"include_disabled": 1}, "text"):
            with pytest.raises(InvalidQuery):
                documents.list(filter=filter)

    @pytest.mark.parametrize(("limit", "offset"), [(0, 0), (1001, 0), (1, -1), (True, 0), (1, 1.5)])
    def test_bounds(self, documents, limit, offset):
        """A page has 1 to 1000 rows, and passes over none or more."""
        with pytest.raises(InvalidLimit):
            documents.list(limit=limit, offset=offset)

    def test_a_cursor_of_elsewhere(self, documents):
        """A cursor that no page of the same listing gave is refused."""
        with pytest.raises(InvalidURI):
            documents.list(cursor="5")
        for cursor in ("viking://other/x", f"{U}-old", 5):
            with pytest.raises(InvalidQuery):
                documents.list(U, cursor=cursor)

    def test_many(self, documents):
        """A filter sees all documents, however many there are."""
        for part in range(3):
            documents.put_many([Document(f"{U}/{part}/{number:04}", "") for number in range(1000)])
        page = documents.list(U, 2, 100, filter={"substring": "9"})
        everything = [f"{U}/{part}/{number:04}" for part in range(3) for number in range(1000)]
        wanted = [uri for uri in everything if "9" in uri]
        assert (uris(page), page.total) == (wanted[100:102], len(wanted))


class TestCount:
    def test_at_or_below(self, documents):
        """A count has the URI itself and what is below, neither directories nor a sibling that begins alike."""
        for name in ("p/a", "p/b/c", "p-old/a", "p"):
            documents.put(f"{U}/{name}", "x") if name != "p" else None
        assert [documents.count(f"{U}/{name}") for name in ("p", "p/b", "p/b/c", "p-old", "none")] == [2, 1, 1, 1, 0]
        assert documents.count() == documents.count("viking://") == 3

    def test_stats(self, documents, store):
        """Statistics count documents and directories, and documents by the first segment of their URIs."""
        for uri in ("resources/a", "resources/b/c", "user/x/memories/y", "readme", "readme/more", "user-old"):
            documents.put(f"viking://{uri}", "x")
        stats = store.stats()
        assert (stats.documents, stats.directories) == (6, 6)
        assert stats.by_top_subtree == {"resources": 2, "user": 1, "readme": 2, "user-old": 1}
        assert (stats.db_bytes, stats.wal_bytes) == (None, None)


class TestRemove:
    def test_a_subtree(self, documents, store):
        """A subtree goes with all below it, and nothing else: neither a sibling nor what is above."""
        for uri in (f"{U}/g/a", f"{U}/g/b/c", f"{U}/g-old"):
            documents.put(uri, "x", abstract="y")
        assert documents.remove(f"{U}/g") == 2
        assert documents.get_many([f"{U}/g", f"{U}/g/a", f"{U}/g/b", f"{U}/g/b/c"]) == [None] * 4
        assert documents.get(f"{U}/g-old").content == "x"
        assert store.stats() == TreeStats(1, 3, {"resources": 1})

    def test_written_anew(self, documents):
        """What is written where something was removed has nothing of it."""
        documents.put(f"{U}/a", "x", abstract="y")
        documents.remove(f"{U}/a")
        documents.put(f"{U}/a", "z")
        assert (documents.get(f"{U}/a").abstract, documents.get(f"{U}/a").stale) == (None, frozenset())

    def test_a_document_with_children(self, documents):
        """A document goes with what is below it."""
        documents.put_many([Document(f"{U}/s", "s"), Document(f"{U}/s/x", "x")])
        assert documents.remove(f"{U}/s") == 2
        assert documents.count() == 0

    def test_refused(self, documents, store):
        """The root, what is missing, and what isn't a URI can't be removed; nothing changes."""
        documents.put(f"{U}/a", "x")
        before = store.stats()
        for uri, error in (("viking://", IsRoot), (f"{U}/none", NotFound), ("http://e/x", InvalidURI)):
            with pytest.raises(error):
                documents.remove(uri)
        assert store.stats() == before

    def test_leaves_no_key(self, documents, client, namespace, store):
        """When all is removed, only the directories above are left; no record is."""
        documents.put_many([Document(f"{U}/{number}", "x", jobs=[("embed", {})]) for number in range(20)])
        documents.remove(U)
        kinds = {key.decode().split("}")[1].split(":")[1] for key in client.scan_iter(f"{{{namespace}:*")}
        assert kinds <= {"scopes", "holding", "sequence", "directories", "nodes", "meta", "job_sequence", "job_turns"}


class TestClear:
    def test_a_scope(self, mem, client, namespace):
        """Clearing a scope takes its tree and jobs, those of others stay; erasing proves that nothing is left."""
        stores = {scope: store_of(mem.scoped(scope)) for scope in ("a", "b")}
        for store in stores.values():
            store.documents.put_many([Document(f"{U}/{number}", "x", jobs=[("embed", {})]) for number in range(1000)])
            store.documents.put_many([Document(f"{U}/d{number}/x", "x") for number in range(1000)])
            store.tags.set_enabled(f"{U}/d1", False)
        mem.scoped("a").clear()
        assert (stores["a"].documents.count(), stores["b"].documents.count()) == (0, 2000)
        assert mem.scopes().items == ["b"]
        mem.erase("b")
        assert mem.scopes().items == []
        left = {key.decode().split("}:")[1] for key in client.scan_iter(f"{{{namespace}:*")}
        assert {name.partition(":")[0] for name in left} <= {"sequence", "meta", "job_sequence", "job_turns"}

    def test_a_tier(self, mem, documents):
        """Clearing a tier leaves the tree."""
        documents.put(f"{U}/a", "x")
        mem.clear("semantic")
        assert documents.count() == 1

    def test_everything(self, mem, documents):
        """Clearing the root takes the trees of all scopes."""
        other = store_of(mem.scoped("a")).documents
        for each in (documents, other):
            each.put(f"{U}/a", "x")
        mem.clear()
        assert (documents.count(), other.count()) == (0, 0)


class TestHealthy:
    def test_there(self, store):
        """A store that answers is healthy."""
        assert store.healthy() is True

    def test_down(self, open_memory):
        """One that doesn't isn't, and nothing is raised."""
        mem = open_memory(url="redis://127.0.0.1:1/0", connect_timeout=0.5, timeout=0.5, retries=0)
        assert store_of(mem).healthy() is False

    def test_closed(self, open_memory):
        """Nor is one that was closed."""
        mem = open_memory()
        mem.close()
        assert store_of(mem).healthy() is False
