"""Reading the memories that a tree shows: the most confident ones, those that fit a term, and those that are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from itertools import groupby
from typing import Any

from attrs import evolve, frozen

from tiered_memory import clock, ranking
from tiered_memory.assertions import conflicts as conflicting
from tiered_memory.assertions.fields import assertion, is_of
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import EmbeddingError, EmbeddingsUnavailable
from tiered_memory.items import Assertion, Assertions, Conflict, Status
from tiered_memory.plan import Plan, ask, embed
from tiered_memory.store.belief_rank import by_confidence, has, ranked, words
from tiered_memory.store.memory_uris import memory_type
from tiered_memory.store.tree import address
from tiered_memory.store.uri import Uri

_STEP = 500
"""How many documents are looked at in a step."""


@frozen
class Wanted:
    """Which memories are meant.

    Attributes:
        keyspace: The namespace's keys.
        scope: Whose they are.
        under: The URI that they are at, or lie below.
        statuses: Their statuses.
        source: Who said so, exactly, or None for anybody.
        vector: The field of the vectors that are read, too, or none.
    """

    keyspace: Keyspace
    scope: str | None
    under: Uri
    statuses: frozenset[Status]
    source: str | None = None
    vector: str = ""


@frozen
class Belief:
    """A memory, and the vector that was read, or None."""

    memory: Assertion
    vector: bytes | None


def most_confident(wanted: Wanted, term: str, top_k: int) -> Plan[Assertions]:
    """The `top_k` most confident memories that have `term` in their text."""
    best: list[Assertion] = []

    def keep_best(part: Sequence[Belief]) -> None:
        found = [belief.memory for belief in part if has(belief.memory, term)]
        best[:] = nsmallest(top_k + 1, [*best, *found], key=by_confidence)

    yield from _scan(wanted, keep_best)
    return Assertions(best[:top_k], truncated=len(best) > top_k)


def fitting(wanted: Wanted, term: str) -> Plan[list[Assertion]]:
    """The memories that have a term in their text, or where none has, those that share a word with it, best first.

    They are in the order of confidence when the embedder fails.
    """
    beliefs = yield from _every(evolve(wanted, vector=wanted.keyspace.vector))
    sought = words(term)
    found = [each for each in beliefs if has(each.memory, term)]
    found = found or [each for each in beliefs if sought & words(each.memory.text)]
    memories = [each.memory for each in found]
    if not found:
        return []
    try:
        (embedding,) = yield from embed([term])
    except EmbeddingError:
        return sorted(memories, key=by_confidence)
    vectors = [each.vector for each in found if each.vector is not None]
    known = iter(ranking.cosines(vectors, embedding.vector, wanted.keyspace.numbers) if vectors else ())
    cosines = [None if each.vector is None else next(known) for each in found]
    return ranked(memories, cosines, term, clock.now())


def alike(wanted: Wanted, keepings: Mapping[str, Keeping], threshold: float) -> Plan[list[Conflict]]:
    """The pairs of memories of one type whose cosine reaches a threshold, the most similar first.

    Raises `EmbeddingsUnavailable` when fewer than two have a vector.
    """
    beliefs = yield from _every(evolve(wanted, vector=wanted.keyspace.vector))
    embedded = [each for each in beliefs if each.vector is not None]
    if len(embedded) < 2:
        raise EmbeddingsUnavailable(f"fewer than two memories at or below {wanted.under!r} have a vector to compare")
    settled: set[str] = set()
    for name in {each.memory.tier for each in embedded}:
        settled |= yield from conflicting.settled_pairs(wanted.keyspace, keepings[name], wanted.scope)
    found = [pair for alike in _by_type(embedded) for pair in _pairs(wanted.keyspace, alike, threshold)]
    found = [pair for pair in found if conflicting.pair_of(str(pair.a.number), str(pair.b.number)) not in settled]
    return sorted(found, key=lambda pair: (-pair.similarity, pair.a.id, pair.b.id))


def _every(wanted: Wanted) -> Plan[list[Belief]]:
    found: list[Belief] = []
    yield from _scan(wanted, found.extend)
    return found


def _scan(wanted: Wanted, visit: Callable[[Sequence[Belief]], object]) -> Plan[None]:
    """Reads all memories that are meant, part by part."""
    after: str | None = ""
    while after is not None and wanted.statuses:
        part, after = yield from _part(wanted, after)
        visit([each for each in part if wanted.source is None or each.memory.source == wanted.source])


def _part(wanted: Wanted, after: str) -> Plan[tuple[list[Belief], str | None]]:
    """The memories of the next documents, and where to go on from, or None."""
    keys = wanted.keyspace.of(wanted.scope)
    statuses = [status if status in wanted.statuses else "" for status in ("active", "superseded", "candidate")]
    arguments: list[str | int] = [clock.now_micros(), *address(keys), wanted.under, after, _STEP]
    arguments += [*statuses, wanted.vector]
    ((following, found),) = yield from ask(call("memories_read", keys.scopes, arguments))
    records = [(text(tier), number, pairs(fields)) for tier, number, fields in found]
    return [
        Belief(assertion(fields, tier, number), fields.get(wanted.vector.encode()))
        for tier, number, fields in records
        if is_of(fields, keys)
    ], text(following) or None


def _by_type(beliefs: Sequence[Belief]) -> list[list[Belief]]:
    def kind(belief: Belief) -> str:
        return memory_type(belief.memory.id) or ""

    return [list(group) for _, group in groupby(sorted(beliefs, key=kind), key=kind)]


def _pairs(keyspace: Keyspace, beliefs: Sequence[Belief], threshold: float) -> list[Conflict]:
    """The pairs of these memories whose cosine reaches a threshold, the lower URI first in each."""
    import numpy as np

    memories = {each.memory.id: each.memory for each in beliefs}
    arrays: list[Any] = [np.frombuffer(each.vector or b"", dtype=keyspace.numbers) for each in beliefs]
    vectors = conflicting.by_id([*memories], [str(memory.number) for memory in memories.values()], arrays)
    return [
        Conflict(memories[vectors.ids[a]], memories[vectors.ids[b]], cosine)
        for cosine, a, b in conflicting.near(vectors, threshold, keyspace.tolerance)
    ]
