"""What searches of the tree are asked for, and what they find."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from attrs import field, frozen

from tiered_memory.checks import check_count
from tiered_memory.errors import InvalidField, InvalidLimit, InvalidQuery
from tiered_memory.scope import utf8
from tiered_memory.store.items import Kind
from tiered_memory.store.uri import Uri

MAX_QUERY = 256
"""The longest substring that is searched for, in characters."""

MAX_HITS = 200
"""The most hits of one search."""

MAX_EXCERPT = 280
"""The longest excerpt of a line, in characters."""

FIELDS = {"content": "text", "abstract": "abstract", "overview": "overview"}
"""The fields that hits may carry, by the names of what they are in records."""


@frozen
class PathMatch:
    """A document or directory whose path was found.

    Attributes:
        uri: Where it stands.
        kind: `doc` or `dir`.
    """

    uri: Uri
    kind: Kind


@frozen
class LineMatch:
    """A line that was found in a document's content.

    Attributes:
        uri: Where the document stands.
        line: The line's number, from 1.
        excerpt: The line, or up to `MAX_EXCERPT` characters of it around the first match.
    """

    uri: Uri
    line: int
    excerpt: str = field(repr=False)


@frozen(kw_only=True)
class Found:
    """A document that was found; a field that wasn't asked for is None.

    Attributes:
        uri: Where it stands.
        enabled: Whether it is in use; what isn't is never found.
        group: Its group's tag.
        content: Its full text.
        abstract: The stored abstract.
        overview: The stored overview.
        score: How near it is to what was asked; None where a search doesn't rank.
    """

    uri: Uri
    enabled: bool = True
    group: str = ""
    content: str | None = field(default=None, repr=False)
    abstract: str | None = field(default=None, repr=False)
    overview: str | None = field(default=None, repr=False)
    score: float | None = None


def check_query(query: object) -> str:
    """The casefolded `query`, a literal substring of 1 to `MAX_QUERY` characters; raises `InvalidQuery`."""
    if not isinstance(query, str) or not 1 <= len(query) <= MAX_QUERY:
        length = f"{len(query)} characters" if isinstance(query, str) else type(query).__name__
        raise InvalidQuery(f"query must be a str of 1 to {MAX_QUERY} characters, not {length}")
    utf8(query, InvalidQuery, "query")
    return query.casefold()


def check_hits(limit: int, name: str = "limit") -> int:
    """`limit` itself, from 1 to `MAX_HITS`; raises `InvalidLimit`."""
    if check_count(limit, name, 1) > MAX_HITS:
        raise InvalidLimit(f"{name}={limit!r} must be a whole number from 1 to {MAX_HITS}")
    return limit


def check_fields(fields: Iterable[str] | None, *more: str) -> tuple[str, ...]:
    """The fields that are asked for; None: all of `FIELDS` and `more`. `uri` always comes. Raises `InvalidField`."""
    known = (*FIELDS, *more)
    if fields is None:
        return known
    wanted = tuple(dict.fromkeys([fields] if isinstance(fields, str) else fields))
    for name in wanted:
        if name != "uri" and name not in known:
            raise InvalidField(f"field {name!r} is none of uri, {', '.join(known)}")
    return tuple(name for name in wanted if name != "uri")


def excerpt(line: str, start: int, length: int) -> str:
    """`line`, or up to `MAX_EXCERPT` characters of it with those at `start` in their middle."""
    first = min(start - max(0, MAX_EXCERPT - length) // 2, len(line) - MAX_EXCERPT)
    return line[max(0, first) :][:MAX_EXCERPT]


def place_in(line: str, sought: str) -> tuple[int, int]:
    """Where in `line` its first characters begin that fold to `sought`, and how many these are."""
    ends = list(accumulate(len(character.casefold()) for character in line))
    at = line.casefold().find(sought)
    first, last = bisect_right(ends, at), bisect_left(ends, at + len(sought))
    return first, last + 1 - first
