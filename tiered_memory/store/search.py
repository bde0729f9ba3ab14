"""Searching a tree for substrings: of paths, of lines, of documents; part by part, in the order of URIs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.operation import operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.hits import (
    FIELDS,
    MAX_EXCERPT,
    Found,
    LineMatch,
    PathMatch,
    check_fields,
    check_hits,
    check_query,
    excerpt,
    place_in,
)
from tiered_memory.store.tree import address, missing
from tiered_memory.store.uri import ROOT, Uri, parse

Founds: TypeAlias = "list[Found]"
LineMatches: TypeAlias = "list[LineMatch]"
PathMatches: TypeAlias = "list[PathMatch]"

_NODES = 1000
"""How many nodes of each kind one step looks at."""

_AROUND = 4 * MAX_EXCERPT + 4
"""How many bytes on either side of a match are enough for an excerpt."""


class SearchOperations(Bound):
    """Searching the tree of one scope.

    Whatever is searched for is a literal text, compared without differences of case in any script. What is switched
    off is not found, and all that is found is in the order of URIs.
    """

    @operation
    def paths(self, query: str, under: str | None = None, limit: int = 50) -> Plan[PathMatches]:
        """The documents and directories that have `query` in their path, the scheme left out.

        Args:
            query: A substring of 1 to 256 characters.
            under: The URI that they are or lie below; None: the whole tree.
            limit: How many at the most, up to 200.

        Raises:
            InvalidQuery: `query` is empty or too long.
            InvalidLimit: `limit` is out of its range.
            InvalidURI: `under` isn't a URI.
            NotFound: Nothing stands at `under`.
        """
        sought, within, _ = check_query(query), ROOT if under is None else parse(under), check_hits(limit)
        found: PathMatches = []
        after: str | None = ""
        while after is not None and len(found) < limit:
            nodes, after = yield from self._nodes(within, after)
            found += [node for node in nodes if sought in node.uri.path.casefold()]
        return found[:limit]

    @operation
    def grep(self, query: str, under: str | None = None, limit: int = 50) -> Plan[LineMatches]:
        """The lines of contents that have `query` in them, by URI and number; abstracts and overviews are left out.

        A line ends at a line feed, so that a query with one in it finds nothing. Takes and raises what `paths` does.
        """
        sought, within, _ = check_query(query), ROOT if under is None else parse(under), check_hits(limit)
        if "\n" in sought:
            return []
        keys = yield from self._keys()
        rows = yield from _scan(keys, "tree_grep", within, limit, (sought,), (_AROUND,))
        return [_line(sought, *row) for row in rows]

    @operation
    def keyword(
        self, query: str, under: str | None = None, limit: int = 50, fields: Iterable[str] | None = None
    ) -> Plan[Founds]:
        """The documents that have `query` in their content, abstract or overview.

        Args:
            query: A substring of 1 to 256 characters.
            under: The URI that they are or lie below; None: the whole tree.
            limit: How many at the most, up to 200.
            fields: Which of `content`, `abstract` and `overview` are read; None: all of them.

        Raises:
            InvalidField: A field is none of these, or `uri`, which always comes.

        And what `paths` raises.
        """
        sought, within, _ = check_query(query), ROOT if under is None else parse(under), check_hits(limit)
        wanted = check_fields(fields)
        return (yield from containing((yield from self._keys()), sought, within, limit, wanted))

    def _nodes(self, under: Uri, after: str) -> Plan[tuple[PathMatches, str | None]]:
        """The nodes of one step in the order of their URIs, and where to go on from, or None."""
        keys = yield from self._keys()
        (reply,) = yield from ask(call("tree_paths", keys.scopes, (*address(keys), under, after, _NODES)))
        if not reply:
            raise missing(under)
        documents, last_document, directories, last_directory = reply
        ends = [text(last) for last in (last_document, last_directory) if last]
        nodes = [PathMatch(Uri(text(uri)), "doc") for uri in documents]
        nodes += [PathMatch(Uri(text(uri)), "dir") for uri in directories]
        nodes.sort(key=lambda node: node.uri)
        if not ends:
            return nodes, None
        end = min(ends)
        return [node for node in nodes if node.uri <= end], end


def containing(keys: ScopeKeys, sought: str, under: Uri, limit: int, wanted: Sequence[str]) -> Plan[Founds]:
    """The documents that have a casefolded text in them; raises `NotFound`."""
    rows = yield from _scan(keys, "tree_keyword", under, limit, (sought,), [FIELDS[name] for name in wanted])
    return [_found(wanted, *row) for row in rows]


def _scan(
    keys: ScopeKeys, script: str, under: Uri, limit: int, sought: tuple[str], more: Sequence[str | int]
) -> Plan[list[Any]]:
    """Up to `limit` rows that a script finds, step by step; raises `NotFound`."""
    rows: list[Any] = []
    after: str | None = ""
    while after is not None:
        arguments = (*address(keys), under, after, *sought, limit - len(rows), *more)
        (reply,) = yield from ask(call(script, keys.scopes, arguments))
        if not reply:
            raise missing(under)
        rows += reply[1]
        after = text(reply[0]) or None
    return rows


def _found(wanted: Sequence[str], uri: bytes, group: bytes, values: Sequence[bytes | None]) -> Found:
    fields: dict[str, Any] = {
        name: None if value is None else text(value) for name, value in zip(wanted, values, strict=True)
    }
    return Found(uri=Uri(text(uri)), group=text(group), **fields)


def _line(sought: str, uri: bytes, number: int, part: bytes, at: int) -> LineMatch:
    """A line from the part of it that a script gave, in which what is sought begins after `at` bytes, or anywhere."""
    line = part.decode(errors="ignore").rstrip("\r")
    if at < 0:
        start, length = place_in(line, sought)
    else:
        start, length = len(part[:at].decode(errors="ignore")), len(sought)
    return LineMatch(Uri(text(uri)), number, excerpt(line, start, length))
