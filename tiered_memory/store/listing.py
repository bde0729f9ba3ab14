"""Listings of a tree: pages and counts from its sorted sets, and the names of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import field, fields_dict, frozen
from attrs.validators import instance_of, optional

from tiered_memory.checks import check_count
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import InvalidLimit, InvalidQuery
from tiered_memory.plan import Plan, ask, join
from tiered_memory.store.items import CountedPage, Kind, Row
from tiered_memory.store.tree import address, missing
from tiered_memory.store.uri import ROOT, Uri, in_scope

MAX_PAGE = 1000
"""The most documents that a page lists."""


C = TypeVar("C", bound="Choice")


@frozen
class Choice:
    """What a list is narrowed by; `Filter` and `SkillFilter` say what it means there."""

    substring: str | None = field(default=None, validator=optional(instance_of(str)))
    group: str | None = field(default=None, validator=optional(instance_of(str)))
    include_disabled: bool = field(default=False, validator=instance_of(bool))

    @classmethod
    def of(cls: type[C], given: Mapping[str, Any] | C | None) -> C:
        """The filter that a mapping of its attributes says; raises `InvalidQuery`."""
        if isinstance(given, cls):
            return given
        names = ", ".join(fields_dict(cls))
        try:
            return cls(**cast("Mapping[str, Any]", given or {}))
        except TypeError:
            raise InvalidQuery(f"filter={given!r} isn't one of {names}: texts, and a truth value") from None


@frozen
class Filter(Choice):
    """Which documents a listing has.

    Attributes:
        substring: Those that have this in their URI, scheme included, whatever its case.
        group: Those that have this as their group's tag, or as the first segment of their URI.
        include_disabled: Whether those too that are switched off, by themselves or a directory above.
    """

    @property
    def set(self) -> str:
        """The kind of key that has the URIs to look at."""
        return "documents" if self.include_disabled else "enabled"

    @property
    def is_counted(self) -> bool:
        """Whether the store has what is wanted counted."""
        return self.substring is None and self.group is None

    def wants(self, row: Row) -> bool:
        """Whether a document is one of them."""
        if self.substring is not None and self.substring.casefold() not in row.uri.casefold():
            return False
        return self.group is None or self.group in (row.group, row.uri.segments[0])


def check_page(limit: int, offset: int, cursor: str | None = None, under: Uri = ROOT) -> None:
    """Refuses bounds of a page that are out of their range, and a cursor that no page of what lies `under` gave."""
    check_count(limit, "limit", 1)
    check_count(offset, "offset", 0)
    if limit > MAX_PAGE:
        raise InvalidLimit(f"limit={limit} is more than the {MAX_PAGE} of one page; pass its cursor for the next one")
    if cursor is not None and not (isinstance(cursor, str) and in_scope(cursor, under)):
        raise InvalidQuery(f"cursor={cursor!r} is not one that a page of `list` below {under!r} gave")


def list_documents(
    keys: ScopeKeys, under: Uri, wanted: Filter, limit: int, offset: int, after: str
) -> Plan[CountedPage[Row]]:
    """A page of the documents at or below a URI."""
    if not wanted.is_counted:
        return (yield from _filtered(keys, under, wanted, limit, offset, after))
    total, rows = yield from _part(keys, under, wanted, after, offset, limit + 1)
    return _page(rows, limit, total)


def _page(rows: list[Row], limit: int, total: int) -> CountedPage[Row]:
    """The first of `rows`, of which one more was read, to know whether there is one."""
    return CountedPage(rows[:limit], str(rows[limit - 1].uri) if len(rows) > limit else None, total)


def _filtered(
    keys: ScopeKeys, under: Uri, wanted: Filter, limit: int, offset: int, after: str
) -> Plan[CountedPage[Row]]:
    """The same where each document must be looked at, part by part."""
    total, last = 0, ""
    kept: list[Row] = []
    while True:
        _, rows = yield from _part(keys, under, wanted, last, 0, MAX_PAGE)
        found = [row for row in rows if wanted.wants(row)]
        total += len(found)
        kept += [row for row in found if row.uri > after][: offset + limit + 1 - len(kept)]
        if len(rows) < MAX_PAGE:
            return _page(kept[offset:], limit, total)
        last = rows[-1].uri


def _part(
    keys: ScopeKeys, under: Uri, wanted: Filter, after: str, offset: int, limit: int
) -> Plan[tuple[int, list[Row]]]:
    arguments = (*address(keys), wanted.set, under, after, offset, limit)
    ((total, rows),) = yield from ask(call("tree_list", keys.scopes, arguments))
    return total, [Row(Uri(text(uri)), bool(enabled), text(group)) for uri, enabled, group in rows]


def count_documents(keys: ScopeKeys, uri: Uri) -> Plan[int]:
    """How many documents stand at or below a URI: two commands, whatever the number."""
    documents = keys.key("documents", "tree")
    base = str(uri) if uri.path else "viking:/"
    own, below = yield from ask(("ZSCORE", documents, uri), ("ZLEXCOUNT", documents, f"[{base}/", f"({base}0"))
    return int(below) + (own is not None)


def child_names(keys: ScopeKeys, uri: Uri) -> Plan[list[str]]:
    """The names directly below a directory; raises `NotFound`."""
    return list((yield from child_kinds(keys, uri)))


def child_kinds(keys: ScopeKeys, uri: Uri) -> Plan[dict[str, Kind]]:
    """The names directly below a directory in their order, with what stands there; raises `NotFound`."""
    directories, documents = yield from join([_child_names(keys, uri, kind) for kind in ("directories", "documents")])
    kinds: dict[str, Kind] = dict.fromkeys(directories, "dir")
    kinds |= dict.fromkeys(documents, "doc")
    return dict(sorted(kinds.items()))


def _child_names(keys: ScopeKeys, uri: Uri, kind: str) -> Plan[list[str]]:
    names: list[str] = []
    while True:
        after = names[-1] if names else ""
        arguments = (*address(keys), uri, kind, after, MAX_PAGE)
        ((what, found),) = yield from ask(call("tree_children", keys.scopes, arguments))
        if what != b"dir":
            raise missing(uri, "no directory stands")
        names += map(text, found)
        if len(found) < MAX_PAGE:
            return names
