"""The exact best k by similarity, blended with a tier's bonus; usually in one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import as_written, expired, is_of
from tiered_memory.engine.reply import Fields, rows
from tiered_memory.engine.search import Where, leading, nearest
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.tiers.base import Candidate, Search

if TYPE_CHECKING:
    from tiered_memory.tiers.vector import VectorTier

_SPARE = 1
"""Rows asked for beyond k, so that a tie at the end is seen."""


@frozen
class _Seen:
    """The rows that the searches so far have shown, and what a row that they haven't could have.

    Attributes:
        rows: By their keys, the cosine and the fields.
        cosine: The most that an unseen row can have; 1 before there was a search.
        bonus: Likewise.
        complete: Whether no row is unseen that could matter.
    """

    rows: dict[bytes, tuple[float, Fields]]
    cosine: float
    bonus: float
    complete: bool


_Row: TypeAlias = "tuple[float, float, int, bytes, float, Fields]"
"""A row that may be a hit: score, cosine and time, negated so that rows sort as hits are ordered; id, bonus, fields."""


def by_similarity(tier: VectorTier, search: Search) -> Plan[list[Candidate]]:
    """The best k, exactly.

    Looks at the N nearest rows and the N that lead by the bonus. A row in neither list scores at most
    (1 - w) * cosine_N + w * bonus_N; when the k-th best is above that, or everything was seen, or
    cosine_N is below the threshold, the answer is final. Else only rows can matter whose bonus makes up for
    their cosine: N is quadrupled, and among these alone the nearest are looked at.
    """
    if search.vector is None:
        return []
    threshold = tier.least(search)
    count = search.k + _SPARE if not tier.weight else max(2 * search.k, 16)
    seen = yield from _first_look(tier, search, count)
    while True:
        with as_written():
            best = sorted(_passing(tier, seen, search, threshold))[: search.k]
            kth = -best[-1][0] if len(best) == search.k else None
            if _is_final(kth, seen, search, threshold, tier.weight):
                return [_candidate(tier, row) for row in best]
            leads_from = _leads_from(tier, seen, kth, search)
        count *= 4
        seen = yield from _further_look(tier, search, seen, count, leads_from)


def _is_final(kth: float | None, seen: _Seen, search: Search, threshold: float, weight: float) -> bool:
    if seen.complete or seen.cosine < ranking.least(threshold, search.keyspace.tolerance):
        return True
    return ranking.is_final(kth, ranking.blend(seen.cosine, seen.bonus, weight))


def _leads_from(tier: VectorTier, seen: _Seen, kth: float | None, search: Search) -> float | None:
    """The least number of `leads_by` by which an unseen row could reach the k-th score."""
    if not tier.weight or kth is None:
        return None
    bonus = (kth - search.keyspace.tolerance - (1 - tier.weight) * seen.cosine) / tier.weight
    return tier.leads_from(bonus, search.moment) if 0 < bonus < 1 else None


def _first_look(tier: VectorTier, search: Search, count: int) -> Plan[_Seen]:
    where, fields = tier.where(search), search.fields
    commands = [_nearest(search, where, count)]
    if tier.weight:
        commands.append(leading(search.scope.index, where, tier.leads_by or "", (_name(search), *fields), count))
    close, *others = map(rows, (yield from ask(*commands, hurried=True)))
    with as_written():
        found = _near(close)
        cosine = min((cosine for cosine, _ in found.values()), default=1.0)
        complete, bonus = len(close) < count, 0.0
        for leaders in others:
            complete = complete or len(leaders) < count
            alive = {key: row for key, row in leaders if row}
            bonus = tier.bonus(next(reversed(alive.values())), search.moment) if alive else 1.0
            found |= _with_cosines({key: row for key, row in alive.items() if key not in found}, search)
        return _Seen(found, cosine, bonus, complete)


def _further_look(tier: VectorTier, search: Search, seen: _Seen, count: int, leads_from: float | None) -> Plan[_Seen]:
    """What more is among the nearest, of the rows that lead from a number on where there is one."""
    where = tier.where(search)
    if leads_from is not None:
        where = where.also(f"@{tier.leads_by}:[$leads_from +inf]", {"leads_from": leads_from})
    (reply,) = yield from ask(_nearest(search, where, count), hurried=True)
    with as_written():
        close = rows(reply)
        found = _near(close)
        cosine = min((cosine for cosine, _ in found.values()), default=1.0)
        return _Seen(seen.rows | found, cosine, seen.bonus, seen.complete or len(close) < count)


def _nearest(search: Search, where: Where, count: int) -> Command:
    return nearest(search.scope.index, where, (_name(search), search.vector or b""), search.fields, count)


def _name(search: Search) -> str:
    return search.keyspace.vector


def _near(close: list[tuple[bytes, Fields]]) -> dict[bytes, tuple[float, Fields]]:
    return {key: (ranking.similarity(float(row[b"distance"])), row) for key, row in close if row}


def _passing(tier: VectorTier, seen: _Seen, search: Search, threshold: float) -> list[_Row]:
    least, scope, now = ranking.least(threshold, search.keyspace.tolerance), search.scope, search.now
    alive = (
        (cosine, fields)
        for cosine, fields in seen.rows.values()
        if cosine >= least and is_of(fields, scope) and not expired(fields, now)
    )
    if not tier.weight:
        return [(-cosine, -cosine, -int(fields[b"at"]), fields[b"id"], 0.0, fields) for cosine, fields in alive]
    found = []
    for cosine, fields in alive:
        bonus = tier.bonus(fields, search.moment)
        score = ranking.blend(cosine, bonus, tier.weight)
        found.append((-score, -cosine, -int(fields[b"at"]), fields[b"id"], bonus, fields))
    return found


def _candidate(tier: VectorTier, row: _Row) -> Candidate:
    minus_score, minus_cosine, _, _, bonus, fields = row
    why = {"similarity": -minus_cosine, tier.bonus_name: bonus} if tier.weight else {"similarity": -minus_cosine}
    return Candidate(fields, -minus_score, -minus_cosine, why)


def _with_cosines(found: dict[bytes, Fields], search: Search) -> dict[bytes, tuple[float, Fields]]:
    name = _name(search).encode()
    embedded = {key: row for key, row in found.items() if name in row}
    if not embedded:
        return {}
    vectors = [row[name] for row in embedded.values()]
    cosines = ranking.cosines(vectors, search.vector or b"", search.keyspace.numbers)
    return {key: (cosine, row) for cosine, (key, row) in zip(cosines, embedded.items(), strict=True)}
