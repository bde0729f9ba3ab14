"""The exact best k by similarity, blended with a tier's bonus; usually in one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import as_written, expired, is_of
from tiered_memory.engine.reply import Fields, rows
from tiered_memory.engine.search import leading, nearest
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.tiers.base import Candidate, Search

if TYPE_CHECKING:
    from tiered_memory.tiers.vector import VectorTier

_SPARE = 1
"""Rows asked for beyond k, so that a tie at the end is seen."""


@frozen
class _Seen:
    """The rows that two lists of one search have shown, and what a row in neither could still reach."""

    rows: list[tuple[bytes, float, Fields]]
    cosine: float
    bonus: float | None
    complete: bool


_Row: TypeAlias = "tuple[float, float, int, bytes, float, Fields]"
"""A row that may be a hit: score, cosine and time, negated so that rows sort as hits are ordered; id, bonus, fields."""


def by_similarity(tier: VectorTier, search: Search) -> Plan[list[Candidate]]:
    """The best k, exactly.

    Looks at the N nearest rows and the N that lead by the bonus. A row in neither list scores at most
    (1 - w) * cosine_N + w * bonus_N; when the k-th best is above that, or everything was seen, or
    cosine_N is below the threshold, the answer is final. Else N is quadrupled.
    """
    if search.vector is None:
        return []
    threshold = tier.least(search)
    count = search.k + _SPARE if not tier.weight else max(2 * search.k, 16)
    while True:
        replies = yield from ask(*_commands(tier, search, count), hurried=True)
        with as_written():
            seen = _seen(tier, replies, search, count)
            best = sorted(_passing(tier, seen, search, threshold))[: search.k]
            if _is_final(best, seen, search.k, threshold, tier.weight):
                return [_candidate(tier, row) for row in best]
        count *= 4


def _is_final(best: list[_Row], seen: _Seen, k: int, threshold: float, weight: float) -> bool:
    if seen.complete or seen.cosine < ranking.least(threshold):
        return True
    bound = ranking.blend(seen.cosine, seen.bonus or 0.0, weight)
    return ranking.is_final(-best[k - 1][0] if len(best) >= k else None, bound)


def _commands(tier: VectorTier, search: Search, count: int) -> list[Command]:
    where, fields = tier.where(search), search.fields
    close = nearest(search.scope.index, *where, (search.keyspace.vector, search.vector or b""), fields, count)
    if not tier.weight:
        return [close]
    with_vector = (search.keyspace.vector, *fields)
    return [close, leading(search.scope.index, *where, tier.leads_by or "", with_vector, count)]


def _seen(tier: VectorTier, replies: list[Any], search: Search, count: int) -> _Seen:
    close, *others = (rows(reply) for reply in replies)
    found = [(key, ranking.similarity(float(row[b"distance"])), row) for key, row in close if row]
    cosine = found[-1][1] if found else 1.0
    complete = len(close) < count
    bonus = None
    for leaders in others:
        complete = complete or len(leaders) < count
        alive = {key: row for key, row in leaders if row}
        bonus = tier.bonus(next(reversed(alive.values())), search.moment) if alive else 1.0
        unseen = alive.keys() - {key for key, _, _ in found}
        found += _with_cosines({key: alive[key] for key in unseen}, search)
    return _Seen(found, cosine, bonus, complete)


def _passing(tier: VectorTier, seen: _Seen, search: Search, threshold: float) -> list[_Row]:
    least, scope, now = ranking.least(threshold), search.scope, search.now
    alive = (row for row in seen.rows if row[1] >= least and is_of(row[2], scope) and not expired(row[2], now))
    if not tier.weight:
        return [(-cosine, -cosine, -int(fields[b"at"]), fields[b"id"], 0.0, fields) for _, cosine, fields in alive]
    found = []
    for _, cosine, fields in alive:
        bonus = tier.bonus(fields, search.moment)
        score = ranking.blend(cosine, bonus, tier.weight)
        found.append((-score, -cosine, -int(fields[b"at"]), fields[b"id"], bonus, fields))
    return found


def _candidate(tier: VectorTier, row: _Row) -> Candidate:
    minus_score, minus_cosine, _, _, bonus, fields = row
    why = {"similarity": -minus_cosine, tier.bonus_name: bonus} if tier.weight else {"similarity": -minus_cosine}
    return Candidate(fields, -minus_score, -minus_cosine, why)


def _with_cosines(found: dict[bytes, Fields], search: Search) -> list[tuple[bytes, float, Fields]]:
    name = search.keyspace.vector.encode()
    embedded = {key: row for key, row in found.items() if name in row}
    if not embedded:
        return []
    cosines = ranking.cosines([row[name] for row in embedded.values()], search.vector or b"", search.keyspace.numbers)
    return [(key, cosine, row) for cosine, (key, row) in zip(cosines, embedded.items(), strict=True)]
