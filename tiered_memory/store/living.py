"""Of what the index finds, the documents that the tree still holds as they were indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import Fields, text
from tiered_memory.engine.scripts import call
from tiered_memory.engine.search import ACTIVE, Where
from tiered_memory.plan import Plan, ask
from tiered_memory.store.hits import FIELDS, Found
from tiered_memory.store.tree import address, missing
from tiered_memory.store.uri import ROOT, Uri, parse, token

SCORE = "score"
"""The field of a hit that says how near it is to what was asked."""

INDEXED = ("uri", "scope", "content_hash")
"""The fields by which a row of the index is known to be a document's."""


@frozen
class Candidate:
    """A row that the index has found.

    Attributes:
        uri: The URI that it names.
        score: How near it is to what was asked.
        content_hash: What tells the content that was indexed from any other.
    """

    uri: Uri
    score: float
    content_hash: bytes | None

    @property
    def place(self) -> tuple[float, Uri]:
        """What candidates are sorted by: the highest score first, then by URI."""
        return -self.score, self.uri


Ranked: TypeAlias = "tuple[list[Candidate], bool]"
"""Candidates in their order, and whether there are no more."""


def rows_of(keys: ScopeKeys, under: Uri) -> Where:
    """The rows of the documents in use that are `under` a URI."""
    where = Where(ACTIVE, {"token": keys.token("documents")})
    return where.also("@under:{$under}", {"under": token(under)}) if under.path else where


def candidate(keys: ScopeKeys, fields: Fields, score: float) -> Candidate | None:
    """A row as a candidate; None if it expired meanwhile, or is another scope's."""
    if b"uri" not in fields or fields.get(b"scope") != keys.raw:
        return None
    return Candidate(parse(text(fields[b"uri"])), score, fields.get(b"content_hash"))


def living(
    keys: ScopeKeys, under: Uri, wanted: Sequence[str], most: int, rank: Callable[[int], Plan[Ranked]]
) -> Plan[list[Found]]:
    """The first `most` documents of what `rank` finds, with the fields that are wanted.

    `rank` is given how many candidates to find, and asked for more while what no document stands for takes places.
    Raises `NotFound` when nothing stands at `under`.
    """
    count = most
    while True:
        count, looked_for = 4 * count, count
        candidates, complete = yield from rank(looked_for)
        found = yield from _read(keys, candidates, wanted, most)
        if complete or len(found) == most:
            break
    if not found and under != ROOT:
        (stands,) = yield from ask(("HEXISTS", keys.key("nodes", "tree"), under))
        if not stands:
            raise missing(under)
    return found


def _read(keys: ScopeKeys, candidates: Sequence[Candidate], wanted: Sequence[str], most: int) -> Plan[list[Found]]:
    """The first `most` candidates that stand for documents."""
    names = [FIELDS[name] for name in wanted if name != SCORE]
    found: dict[Uri, Found] = {}
    for start in range(0, len(candidates), most):
        part = candidates[start : start + most]
        arguments = (*address(keys), "", 1 + len(names), "content_hash", *names, *(each.uri for each in part))
        (rows,) = yield from ask(call("tree_get", keys.scopes, arguments))
        for each, row in zip(part, rows, strict=True):
            if each.uri not in found and _stands_for(each, row):
                found[each.uri] = _found(each, wanted, row)
        if len(found) >= most:
            break
    return list(found.values())[:most]


def _stands_for(candidate: Candidate, row: Sequence[Any]) -> bool:
    """Whether what stands at its URI is in use, and has the content that was indexed."""
    if not row or row[0] != b"doc" or not row[1]:
        return False
    return bool(row[3][0] == candidate.content_hash)


def _found(candidate: Candidate, wanted: Sequence[str], row: Sequence[Any]) -> Found:
    _, _, group, (_, *values) = row
    named = zip((name for name in wanted if name != SCORE), values, strict=True)
    fields: dict[str, Any] = {name: None if value is None else text(value) for name, value in named}
    score = candidate.score if SCORE in wanted else None
    return Found(uri=candidate.uri, group=text(group), score=score, **fields)
