"""Choosing the hits among all that tiers found: in a total order, or so that they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from tiered_memory import ranking
from tiered_memory.assertions.fields import made
from tiered_memory.diversity import diverse
from tiered_memory.items import Hits, RecalledMemory, Status
from tiered_memory.tiers.base import Candidate, Found
from tiered_memory.tiers.hybrid import rate

_Ranked: TypeAlias = "tuple[object, Found, Candidate]"
"""A candidate with what it is sorted by, and what found it."""


def best(found: Sequence[Found], k: int, places: Mapping[str, int]) -> Hits:
    """The best k of all that was found, in a total order: score, tier, cosine, newest, id, scope; or as they differ."""
    diversity = found[0].search.diversity if found else 0.0
    if len(found) == 1 and found[0].corpus is None and not diversity:
        return Hits([_hit(found[0], each) for each in found[0].candidates[:k]])
    rate([each for each in found if each.corpus is not None])
    keyed = [(_rank(one, places[each.tier.name]), each, one) for each in found for one in each.candidates]
    keyed.sort(key=itemgetter(0))
    return Hits(_hit(each, one) for _, each, one in (_diverse(keyed, k) if diversity else keyed[:k]))


def _diverse(ranked: Sequence[_Ranked], k: int) -> list[_Ranked]:
    """The k that are chosen where they are to differ."""
    if not ranked:
        return []
    search = ranked[0][1].search
    name = search.keyspace.vector.encode()
    scores, vectors = [one.score for *_, one in ranked], [one.fields.get(name) for *_, one in ranked]
    return [ranked[place] for place in diverse(scores, vectors, k, search.diversity, search.keyspace.numbers)]


def _rank(candidate: Candidate, place: int) -> tuple[object, ...]:
    fields = candidate.fields
    order = ranking.rank(candidate.score, candidate.similarity, int(fields[b"at"]), place)
    return (*order, fields[b"id"], fields.get(b"scope", b""))


def _hit(found: Found, candidate: Candidate) -> RecalledMemory:
    status: Status = "superseded" if candidate.fields.get(b"superseded") else "active"
    return made(
        RecalledMemory, candidate.fields, tier=found.tier.name, status=status,
        score=candidate.score, similarity=candidate.similarity, why=candidate.why,
    )  # fmt: skip
