"""Of what the index finds, the documents that the tree still holds as they were indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import Fields, rows, text
from tiered_memory.engine.scripts import call
from tiered_memory.engine.search import Where, nearest
from tiered_memory.plan import Plan, ask
from tiered_memory.ranking import similarity
from tiered_memory.store.hits import FIELDS, Found
from tiered_memory.store.tree import Argument, address, missing
from tiered_memory.store.uri import ROOT, Uri, token

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


Ranked: TypeAlias = "tuple[list[Candidate], bool]"
"""Candidates in their order, and whether there are no more."""

Ranking: TypeAlias = "Callable[[int], Plan[Ranked]]"
"""Finds at least so many candidates, if there are."""

_MARKED = "@active:{$token} | @candidate:{$token}"
"""The rows that documents in use show, among them memories: what is believed, or else waits for review."""

_SPARE = 1
"""Rows asked for beyond those that are wanted, so that a tie at the end is seen."""


def rows_of(keys: ScopeKeys, under: Uri) -> Where:
    """The rows of the documents in use that are `under` a URI."""
    where = Where(_MARKED, {"token": keys.token("documents")})
    return where.also("@under:{$under}", {"under": token(under)}) if under.path else where


def candidate(keys: ScopeKeys, fields: Fields, score: float) -> Candidate | None:
    """A row as a candidate; None if it expired meanwhile, or is another scope's."""
    if b"uri" not in fields or fields.get(b"scope") != keys.raw:
        return None
    return Candidate(Uri(text(fields[b"uri"])), score, fields.get(b"content_hash"))


def by_similarity(keys: ScopeKeys, under: Uri, vector: tuple[str, bytes]) -> Ranking:
    """Ranks by the cosine with a vector of a field."""
    where = rows_of(keys, under)
    return lambda count: _nearest(keys, where, vector, count + _SPARE)


def _nearest(keys: ScopeKeys, where: Where, vector: tuple[str, bytes], count: int) -> Plan[Ranked]:
    """The nearest rows. Where there may be more, what ties with the last one is left out: its order isn't known."""
    (reply,) = yield from ask(nearest(keys.index, where, vector, INDEXED, count))
    found = rows(reply)
    scored = [(fields, similarity(float(fields[b"distance"]))) for _, fields in found if fields]
    complete = len(found) < count
    least = -2.0 if complete else min((score for _, score in scored), default=-2.0)
    candidates = [candidate(keys, fields, score) for fields, score in scored if score > least]
    return in_order(candidates), complete


def in_order(candidates: Iterable[Candidate | None]) -> list[Candidate]:
    """Candidates by their score, the highest first, then by URI."""
    return sorted((each for each in candidates if each), key=lambda each: (-each.score, each.uri))


def living(keys: ScopeKeys, under: Uri, wanted: Sequence[str], most: int, rank: Ranking) -> Plan[list[Found]]:
    """The first `most` documents of what `rank` finds, with the fields that are wanted.

    `rank` is given how many candidates to find, and asked for more while what no document stands for takes places.
    Raises `NotFound` when nothing stands at `under`.
    """
    count = most
    while True:
        candidates, complete = yield from rank(count)
        found = yield from _read(keys, candidates, wanted, most)
        if complete or len(found) == most:
            break
        count *= 4
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
        arguments: list[Argument] = [*address(keys), "", 1 + len(names), "content_hash", *names]
        arguments += [each.uri for each in part]
        (nodes,) = yield from ask(call("tree_get", keys.scopes, arguments))
        for each, node in zip(part, nodes, strict=True):
            if each.uri not in found and _stands_for(each, node):
                found[each.uri] = _found(each, wanted, node)
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
