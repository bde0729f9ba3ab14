"""URIs of the tree: what is one, what is refused, and how they lead up and down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_memory.errors import InvalidURI
from tiered_memory.store import uri as uris

segments = st.text(
    st.characters(min_codepoint=0x20, exclude_characters="/\\\x7f", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda text: text not in (".", ".."))


class TestParse:
    def test_root(self):
        """The scheme alone is the root, which has no segments, no name and nothing above."""
        root = uris.parse("viking://")
        assert (root, root.segments, root.name, root.parent) == (uris.ROOT, (), "", None)

    @pytest.mark.parametrize(
        "text",
        [
            "viking://a/", "viking://a//b", "viking:///a", "viking://a/../b", "viking://.", "viking://a\\b", "Viking://a",
            "VIKING://a", "http://a/b", "viking:/a", "viking:", "", "a/b", "viking://a\0b", "viking://a\n", "viking://\x7f",
            "viking://a\x1f", "viking://\ud800", " viking://a",
        ],
    )  # fmt: skip
    def test_refused(self, text):
        """Another scheme or case, an empty, `.` or `..` segment, a backslash or a control character is refused."""
        with pytest.raises(InvalidURI):
            uris.parse(text)

    @pytest.mark.parametrize("value", [None, b"viking://a", 7, ["viking://a"]])
    def test_not_a_text(self, value):
        """What isn't a text is refused."""
        with pytest.raises(InvalidURI, match="must be a str"):
            uris.parse(value)

    @pytest.mark.parametrize(
        "text", ["viking://a/%2e%2e/b c/é", "viking://...", "viking:// ", "viking://e\u0301", "viking://viking:"]
    )
    def test_as_it_is(self, text):
        """Nothing is decoded, folded or normalised: what is valid keeps its bytes."""
        assert uris.parse(text).encode() == text.encode()

    def test_lengths(self):
        """A segment has up to 255 bytes, a URI up to 4096."""
        assert uris.parse("viking://" + "é" * 127).name == "é" * 127
        with pytest.raises(InvalidURI, match="255"):
            uris.parse("viking://" + "é" * 128)
        exact = "viking://" + "/".join(["a" * 226] * 18)
        assert len(exact) == 4094
        assert uris.parse(f"{exact}aa").name == "a" * 228
        with pytest.raises(InvalidURI, match="4096"):
            uris.parse(f"{exact}aaa")

    @given(st.lists(segments, min_size=1, max_size=6))
    def test_round_trip(self, names):
        """What is built from segments has these segments, and each parent one less."""
        uri = uris.build(names)
        assert uri.segments == tuple(names)
        assert [len(each.segments) for each in uri.lineage] == list(range(len(names), -1, -1))
        assert uris.parse(str(uri)) == uri
        assert uris.join(uri.parent, names[-1]) == uri


class TestBuild:
    def test_root(self):
        """No segments make the root."""
        assert uris.build([]) == uris.ROOT

    @pytest.mark.parametrize("segment", ["a/b", "", "..", 7, "\\"])
    def test_refused(self, segment):
        """What isn't one segment is refused."""
        with pytest.raises(InvalidURI):
            uris.build(["a", segment])


class TestJoin:
    def test_below(self):
        """Segments and paths of segments lead down, from the root too."""
        assert uris.join("viking://a", "b", "c/d") == "viking://a/b/c/d"
        assert uris.join("viking://", "a") == "viking://a"
        assert uris.join("viking://a") == "viking://a"

    @pytest.mark.parametrize("name", ["..", "", "/b", "b/", "b//c", "\0"])
    def test_refused(self, name):
        """Nothing leads up or elsewhere."""
        with pytest.raises(InvalidURI):
            uris.join("viking://a", name)

    def test_parent(self):
        """The parent is the URI above."""
        assert uris.parent("viking://a/b") == "viking://a"
        assert uris.parent("viking://a") == uris.ROOT
        assert uris.parent("viking://") is None


class TestInScope:
    @pytest.mark.parametrize(
        ("uri", "under", "inside"),
        [
            ("viking://p", "viking://p", True),
            ("viking://p/a/b", "viking://p", True),
            ("viking://p-old", "viking://p", False),
            ("viking://p-old/a", "viking://p", False),
            ("viking://p", "viking://p/a", False),
            ("viking://p", "viking://", True),
            ("viking://", "viking://", True),
            ("viking://", "viking://p", False),
        ],
    )
    def test_whole_segments(self, uri, under, inside):
        """A URI is in the scope of itself and of what is above, never of one that its name merely begins with."""
        assert uris.in_scope(uri, under) is inside
