"""URIs of the tree as values: valid, or refused; compared byte for byte, and never rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tiered_memory.errors import InvalidURI
from tiered_memory.scope import digest, utf8

SCHEME = "viking://"
"""What every URI begins with; alone it is the root."""

MAX_URI_BYTES = 4096
"""The longest URI, in bytes of UTF-8."""

MAX_SEGMENT_BYTES = 255
"""The longest segment of a URI, in bytes of UTF-8."""


class Uri(str):
    """A URI that is valid: `viking://` and segments joined by `/`. Made by `parse` or `build`."""

    __slots__ = ()

    @property
    def segments(self) -> tuple[str, ...]:
        """Its segments; the root has none."""
        return tuple(self.path.split("/")) if self.path else ()

    @property
    def path(self) -> str:
        """All behind the scheme."""
        return self[len(SCHEME) :]

    @property
    def name(self) -> str:
        """Its last segment; the root's is empty."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Uri | None:
        """The URI above it; None for the root."""
        return Uri(SCHEME + self.path.rpartition("/")[0]) if self.path else None

    @property
    def lineage(self) -> list[Uri]:
        """The URI itself and all above it, up to the root."""
        found = [self]
        while (above := found[-1].parent) is not None:
            found.append(above)
        return found


ROOT = Uri(SCHEME)
"""The root of the tree."""


def parse(uri: object) -> Uri:
    """`uri` as a value, byte for byte as it is; raises `InvalidURI`.

    A URI is the literal `viking://` and segments joined by `/`, at most `MAX_URI_BYTES` long, each segment at most
    `MAX_SEGMENT_BYTES`. A segment isn't empty, `.` or `..`, and has no backslash and no control character. Nothing
    is decoded or folded: `%41`, blanks and any script are just characters.
    """
    if isinstance(uri, Uri):
        return uri
    if not isinstance(uri, str):
        raise InvalidURI(f"a URI must be a str, not {type(uri).__name__}")
    size = len(utf8(uri, InvalidURI, "a URI"))
    if size > MAX_URI_BYTES:
        raise InvalidURI(f"a URI is {size} bytes long; at most {MAX_URI_BYTES} are allowed")
    reason = _wrong(uri)
    if reason:
        raise InvalidURI(f"uri={uri!r} {reason}; a URI is like 'viking://resources/notes.md'")
    return Uri(uri)


def build(segments: Iterable[str]) -> Uri:
    """The URI that has these segments; none give the root. Raises `InvalidURI`."""
    given = list(segments)
    for segment in given:
        if not isinstance(segment, str) or "/" in segment:
            raise InvalidURI(f"segment={segment!r} must be a str without '/'")
    return parse(SCHEME + "/".join(given)) if given else ROOT


def parent(uri: str) -> Uri | None:
    """The URI above `uri`; None for the root. Raises `InvalidURI`."""
    return parse(uri).parent


def join(uri: str, *names: str) -> Uri:
    """The URI below `uri` that these segments, or paths of segments, lead to. Raises `InvalidURI`."""
    start = parse(uri)
    return parse("/".join([start if start.path else SCHEME[:-1], *names])) if names else start


def in_scope(uri: str, under: str) -> bool:
    """Whether `uri` is `under` or below it, by whole segments. Raises `InvalidURI`."""
    below, above = parse(uri), parse(under)
    return below == above or not above.path or below.startswith(f"{above}/")


@lru_cache(maxsize=4096)
def token(uri: Uri) -> str:
    """What marks the records at or below `uri`."""
    return digest(str(uri))


def _wrong(uri: str) -> str | None:
    if not uri.startswith(SCHEME):
        return f"doesn't begin with {SCHEME!r}"
    if any(character < " " or character in "\x7f\\" for character in uri):
        return "has a control character or a backslash"
    return _wrong_segments(uri[len(SCHEME) :].split("/")) if uri != SCHEME else None


def _wrong_segments(segments: list[str]) -> str | None:
    if "" in segments:
        return "has an empty segment, or a slash at its end"
    if not {".", ".."}.isdisjoint(segments):
        return "has '.' or '..' as a segment"
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in segments):
        return f"has a segment of more than {MAX_SEGMENT_BYTES} bytes"
    return None
