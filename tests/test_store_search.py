"""Searching a tree for substrings: of paths, of lines, of documents."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis
from stores import commands_of

from tiered_memory.errors import InvalidField, InvalidLimit, InvalidQuery, InvalidURI, NotFound
from tiered_memory.store import Document
from tiered_memory.store.hits import excerpt, place_in

U = "viking://resources/c"


def put(store, texts):
    """Writes documents by their names below U."""
    store.documents.put_many([Document(f"{U}/{name}", text) for name, text in texts.items()])


def names(hits):
    """The names of what was found, below U."""
    return [hit.uri.removeprefix(f"{U}/") for hit in hits]


class TestPaths:
    def test_documents_and_directories(self, store):
        """Both are found, the URI that is searched below included, in the order of URIs and each once."""
        put(store, {"s": "x", "s/child": "x", "t/s/x": "x"})
        found = store.search.paths("s", U)
        assert [(hit.uri.removeprefix(f"{U}/"), hit.kind) for hit in found] == [
            (U, "dir"), ("s", "doc"), ("s/child", "doc"), ("t", "dir"), ("t/s", "dir"), ("t/s/x", "doc"),
        ]  # fmt: skip
        assert [hit.uri for hit in store.search.paths("C", U, 1)] == [U]

    @pytest.mark.parametrize(
        ("query", "found"), [("%", ["100%.md"]), ("_", ["a_b.md"]), ("\\", []), (".*", []), ("*", [])]
    )
    def test_literal(self, store, query, found):
        """No character stands for others."""
        put(store, {"100%.md": "", "a_b.md": "", "normal.md": ""})
        assert names(store.search.paths(query)) == found

    def test_whole_segments(self, store):
        """A sibling whose name begins alike isn't searched."""
        put(store, {"project/auth/x.md": "", "project-old/auth.md": "", "project/b": ""})
        assert names(store.search.paths("auth", f"{U}/project")) == ["project/auth", "project/auth/x.md"]

    def test_scheme(self, store):
        """The scheme is no part of the path."""
        put(store, {"a": ""})
        assert store.search.paths("viking") == store.search.paths("://") == []

    def test_case(self, store):
        """Differences of case don't count, in any script."""
        put(store, {"É/STRASSE": "", "é/straße": ""})
        assert names(store.search.paths("É/STRASSE")) == ["É/STRASSE", "é/straße"]

    def test_switched_off(self, store):
        """What is switched off isn't found, a directory neither."""
        put(store, {"d/x": "", "d/y/x": "", "e/x": ""})
        store.tags.set_enabled(f"{U}/d", False)
        assert names(store.search.paths("/", U)) == [U, "e", "e/x"]

    def test_many(self, store):
        """What lies behind thousands of others is found, and no more than the limit."""
        for part in "ab":
            put(store, {f"{part}/{number:04}/x": "" for number in range(1000)})
        put(store, {f"c{number:04}": "" for number in range(1000)})
        assert names(store.search.paths("C0999")) == ["c0999"]
        for part in "ab":
            assert names(store.search.paths(f"{part}/0999")) == [f"{part}/0999", f"{part}/0999/x"]
        assert names(store.search.paths("0500", limit=3)) == ["a/0500", "a/0500/x", "b/0500"]


class TestGrep:
    @pytest.fixture
    def lines(self, store):
        """Greps and tells the names, numbers and excerpts."""
        return lambda *arguments: [
            (hit.uri.removeprefix(f"{U}/"), hit.line, hit.excerpt) for hit in store.search.grep(*arguments)
        ]

    def test_lines(self, store, lines):
        """A line is found once, by its number from 1; case doesn't count."""
        put(store, {"b": "first\nsecond AUTH\nthird\nAUTH auth", "a": "\n\nauth\r\n"})
        assert lines("auth") == [("a", 3, "auth"), ("b", 2, "second AUTH"), ("b", 4, "AUTH auth")]

    def test_limit(self, store, lines):
        """The limit counts lines, over documents."""
        put(store, dict.fromkeys("ab", "x\nx\nx"))
        assert [(name, line) for name, line, _ in lines("x", None, 4)] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]

    def test_content_only(self, store):
        """Abstracts and overviews aren't searched."""
        store.documents.put(f"{U}/a", "content", abstract="needle", overview="needle")
        assert store.search.grep("needle") == []

    @pytest.mark.parametrize("query", [".*", "a.*b", "%s", "[", "\\", "^", "$"])
    def test_literal(self, store, lines, query):
        """Nothing in a query stands for anything else."""
        put(store, {"a": f"axxb\n-{query}-"})
        assert lines(query) == [("a", 2, f"-{query}-")]

    @pytest.mark.parametrize(
        "text", ["x" * 200 + "needle" + "y" * 300, "é" * 2000 + "NEEDLE" + "É" * 2000, "needle" * 100]
    )
    def test_excerpt(self, store, text):
        """Of a long line there are 280 characters, around the first match."""
        put(store, {"a": f"short\n{text}\nshort"})
        (hit,) = store.search.grep("Needle")
        assert hit.line == 2
        assert len(hit.excerpt) == 280
        assert hit.excerpt in text
        at = text.casefold().index("needle")
        assert hit.excerpt == text[max(0, at - 137) :][:280]

    def test_a_line_feed(self, store):
        """A query over the end of a line finds nothing."""
        put(store, {"a": "x\ny"})
        assert store.search.grep("x\ny") == []

    def test_nul(self, store, lines):
        """NULs are characters as others."""
        put(store, {"a": "a\0b\nab"})
        assert lines("A\0B") == [("a", 1, "a\0b")]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("École", "éCOLE"),
            ("STRASSE", "straße"),
            ("straße", "STRASSE"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("ﬃ", "FFI"),
            ("МИР", "мир"),
        ],
    )
    def test_case(self, store, lines, text, query):
        """Differences of case don't count, in any script."""
        put(store, {"a": f"x\nprefix {text} suffix"})
        assert lines(query) == [("a", 2, f"prefix {text} suffix")]

    def test_large_documents(self, store, redis_url):
        """Large documents are searched in steps of their own, and a sibling isn't, wherever a step ends."""
        put(store, dict.fromkeys(["p", "p/a", "p-old", "p0"], "x" * 5_000_000 + "needle"))
        store.search.grep("needle", f"{U}/p")
        with Redis.from_url(redis_url) as client:
            sent = commands_of(client, lambda: store.search.grep("needle", f"{U}/p"))
        assert sent == ["EVALSHA"] * 2
        assert (
            names(store.search.grep("needle", f"{U}/p"))
            == names(store.search.keyword("needle", f"{U}/p"))
            == ["p", "p/a"]
        )

    def test_a_large_document(self, store):
        """A document of 10 MB is searched to its end, and what follows it too."""
        put(store, {"a": "x" * 5_000_000 + "\n" + "é" * 2_000_000 + "\nÉnd", "b": "énd"})
        assert [(hit.uri.name, hit.line) for hit in store.search.grep("ÉND")] == [("a", 3), ("b", 1)]


class TestKeyword:
    def test_where(self, store):
        """Content, abstract and overview are searched; case doesn't count."""
        store.documents.put(f"{U}/content", "a QuicK one")
        store.documents.put(f"{U}/abstract", "x", abstract="QUICK")
        store.documents.put(f"{U}/overview", "x", overview="quick")
        store.documents.put(f"{U}/quick", "x")
        assert names(store.search.keyword("quick")) == ["abstract", "content", "overview"]
        hit = store.search.keyword("QUICK", f"{U}/abstract")[0]
        assert (hit.content, hit.abstract, hit.overview, hit.enabled, hit.group) == ("x", "QUICK", None, True, "")

    def test_limit(self, store):
        """The first ones by URI are found, the same each time."""
        put(store, dict.fromkeys("edcba", "match"))
        assert (
            names(store.search.keyword("match", limit=3))
            == names(store.search.keyword("match", limit=3))
            == ["a", "b", "c"]
        )

    def test_fields(self, store):
        """Only the fields that are asked for are read; the URI always comes, and so does the group."""
        store.documents.put(f"{U}/a", "needle", abstract="short", overview="longer")
        store.tags.set_group(U, "team")
        (hit,) = store.search.keyword("needle", fields=["abstract"])
        assert (hit.uri, hit.content, hit.abstract, hit.overview, hit.group) == (f"{U}/a", None, "short", None, "team")
        (hit,) = store.search.keyword("needle", fields=[])
        assert (hit.uri, hit.content, hit.abstract, hit.overview) == (f"{U}/a", None, None, None)
        assert store.search.keyword("needle", fields=["uri", "content"])[0].content == "needle"
        with pytest.raises(InvalidField, match="score"):
            store.search.keyword("needle", fields=["score"])

    def test_not_sent(self, store, redis_url):
        """What isn't asked for doesn't leave the store."""
        put(store, {f"{number}": "needle" + "x" * 100_000 for number in range(100)})
        with Redis.from_url(redis_url) as client:
            before = client.info("stats")["total_net_output_bytes"]
            assert len(store.search.keyword("needle", limit=200, fields=["abstract"])) == 100
            assert client.info("stats")["total_net_output_bytes"] - before < 100_000

    def test_switched_off(self, store):
        """However many are switched off, they take no place of others."""
        put(store, {f"a/{number:03}": "match" for number in range(300)} | {"b": "match"})
        store.tags.set_enabled(f"{U}/a", False)
        assert names(store.search.keyword("match", limit=1)) == ["b"]

    @pytest.mark.parametrize("query", ["%", "_", ".*", "100%", "\\d"])
    def test_literal(self, store, query):
        """No character stands for others."""
        put(store, {"a": f"<{query}>", "b": "normal 100"})
        assert names(store.search.keyword(query)) == ["a"]

    @pytest.mark.parametrize(
        ("text", "query"), [("É", "é"), ("é", "É"), ("ẞ", "ss"), ("SS", "ß"), ("ÇA", "ça"), ("\u212a", "k")]
    )
    def test_case(self, store, text, query):
        """Both sides are folded as Unicode says, in each layer."""
        for layer in ("content", "abstract", "overview"):
            layers = {} if layer == "content" else {layer: text}
            store.documents.put(f"{U}/{layer}", text if layer == "content" else "-", **layers)
        assert names(store.search.keyword(query)) == ["abstract", "content", "overview"]

    def test_rewritten(self, store):
        """What a document doesn't say any more isn't found, folded or not."""
        store.documents.put(f"{U}/a", "ÉCOLE", abstract="ÂGE")
        store.documents.put(f"{U}/a", "plain", abstract="plain")
        for query in ("école", "âge"):
            assert store.search.keyword(query) == []
        assert names(store.search.keyword("PLAIN")) == ["a"]

    def test_of_a_job(self, store):
        """What a job has made is found, until the next one makes another."""
        for content, made in (("v1", "ÉTÉ"), ("v2", "hiver")):
            store.documents.put(f"{U}/a", content, jobs=[("summarize_abstract", {})])
            store.layers.store(store.jobs.claim(["summarize_abstract"]).id, f"{U}/a", "abstract", made)
            assert names(store.search.keyword(made.casefold())) == ["a"]
        assert store.search.keyword("été") == []

    def test_many(self, store):
        """What lies behind thousands of others is found."""
        for part in range(3):
            put(store, {f"{part}/{number:04}": f"text {number}" for number in range(1000)})
        assert names(store.search.keyword("text 999")) == ["0/0999", "1/0999", "2/0999"]

    def test_whole_segments(self, store):
        """A URI's own document and what is below are searched, no sibling that begins alike."""
        put(store, {"p": "x", "p/a": "x", "p-old": "x", "p-old/a": "x"})
        assert names(store.search.keyword("x", f"{U}/p")) == ["p", "p/a"]

    @settings(max_examples=30, deadline=None)
    @given(st.text(max_size=12), st.text(min_size=1, max_size=3))
    def test_as_python_has_it(self, text, query):
        """An excerpt has what was looked for, wherever a fold makes a text longer or shorter."""
        line = text + query.swapcase() + text
        start, length = place_in(line, query.casefold())
        assert query.casefold() in line[start : start + length].casefold()
        assert line[start : start + length] in excerpt("ẞ" * 300 + line, 300 + start, length)


class TestBounds:
    @pytest.fixture(params=["paths", "grep", "keyword"])
    def search(self, store, request):
        """Each of the searches, over one document."""
        put(store, {"a": "x"})
        return getattr(store.search, request.param)

    @pytest.mark.parametrize("query", ["", "x" * 257, None, b"x", "\ud800"])
    def test_query(self, search, query):
        """A query has 1 to 256 characters."""
        with pytest.raises(InvalidQuery):
            search(query)
        assert search("y" * 256) == []

    @pytest.mark.parametrize("limit", [0, 201, -1, 1.5, True, None])
    def test_limit(self, search, limit):
        """A limit is a whole number from 1 to 200."""
        with pytest.raises(InvalidLimit):
            search("x", limit=limit)
        assert search("y", limit=200) == []

    def test_where(self, search):
        """Where nothing stands there is nothing to search, which is said; the root can always be searched."""
        with pytest.raises(NotFound, match="nothing stands"):
            search("x", f"{U}/none")
        with pytest.raises(InvalidURI):
            search("x", "resources")
        with pytest.raises(InvalidURI):
            search("x", "")
        assert search("y", "viking://") == []

    def test_an_empty_tree(self, store):
        """Before the first write nothing is found."""
        assert store.search.paths("x") == store.search.grep("x") == store.search.keyword("x") == []
