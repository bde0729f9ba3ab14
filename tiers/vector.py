"""Tiers that are searched by similarity, blended with a bonus: the exact best k, usually in one round trip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import RECALLED, expired, is_of, values
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.reply import Fields, rows
from tiered_memory.items import RecalledMemory
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.tiers.base import Search, Tier

_SPARE = 1
"""Rows asked for beyond k, so that a tie at the end is seen."""


@frozen
class _Seen:
    """The rows that two lists of one search have shown, and what a row in neither could still reach."""

    rows: list[tuple[float, Fields]]
    cosine: float
    bonus: float | None
    complete: bool


class _Row(NamedTuple):
    """A row that may be a hit; rows sort as hits are ordered, since each number is negated."""

    minus_score: float
    minus_cosine: float
    minus_at: int
    id: bytes
    fields: Fields


class VectorTier(Tier):
    """Scored (1 - weight) * cosine + weight * bonus among the rows whose cosine reaches the threshold.

    A tier of your own derives from this; for a blend it sets `leads_by` and `bonus`.
    """

    leads_by: ClassVar[str | None] = None
    """The sorted number (`at` or `uses`) by which the bonus never falls; None when there is no bonus."""

    def __init__(self, keeping: Keeping, *, threshold: float | None = None, weight: float = 0.0) -> None:
        self.keeping = keeping
        self.threshold = threshold
        self.weight = weight if self.leads_by else 0.0

    def bonus(self, fields: Fields, now: int) -> float:  # noqa: ARG002 - for tiers that have one
        """What is blended with the cosine, in [0, 1]; it must never fall as the number of `leads_by` rises."""
        return 0.0

    def recall(self, search: Search) -> Plan[list[RecalledMemory]]:
        """The best k, exactly.

        Looks at the N nearest rows and the N that lead by the bonus. A row in neither list scores at most
        (1 - w) * cosine_N + w * bonus_N; when the k-th best is above that, or everything was seen, or
        cosine_N is below the threshold, the answer is final. Else N is quadrupled.
        """
        if search.vector is None:
            return []
        threshold = self._threshold(search)
        count = search.k + _SPARE if not self.weight else max(2 * search.k, 16)
        while True:
            seen = yield from self._look(search, count)
            best = sorted(self._passing(seen, search, threshold))[: search.k]
            if self._is_final(best, seen, search.k, threshold):
                return [self._hit(row) for row in best]
            count *= 4

    def _threshold(self, search: Search) -> float:
        for threshold in (search.threshold, self.threshold, search.floor):
            if threshold is not None:
                return threshold
        return ranking.DEFAULT_THRESHOLD

    def _is_final(self, best: list[_Row], seen: _Seen, k: int, threshold: float) -> bool:
        if seen.complete or not ranking.passes(seen.cosine, threshold):
            return True
        bound = ranking.blend(seen.cosine, seen.bonus or 0.0, self.weight)
        return ranking.is_final(-best[k - 1].minus_score if len(best) >= k else None, bound)

    def _look(self, search: Search, count: int) -> Plan[_Seen]:
        commands = [self._nearest(search, count)]
        if self.weight:
            commands.append(self._leading(search, count))
        replies = yield from ask(*commands)
        nearest, *others = (rows(reply) for reply in replies)
        found = [(ranking.similarity(float(row[b"distance"])), row) for row in nearest if row]
        cosine = found[-1][0] if found else 1.0
        complete = len(nearest) < count
        bonus = None
        for leading in others:
            complete = complete or len(leading) < count
            alive = [row for row in leading if row]
            bonus = self.bonus(alive[-1], search.now) if alive else 1.0
            seen = {row[b"id"] for _, row in found}
            found += _with_cosines([row for row in alive if row[b"id"] not in seen], search)
        return _Seen(found, cosine, bonus, complete)

    def _nearest(self, search: Search, count: int) -> Command:
        query = f"(@active:{{$token}})=>[KNN $count @{search.keyspace.vector} $vector AS distance]"
        parameters = ("token", search.scope.token(self.name), "count", count, "vector", search.vector or b"")
        return _search(search, query, parameters, ("distance", *RECALLED), ("SORTBY", "distance"), count)

    def _leading(self, search: Search, count: int) -> Command:
        parameters = ("token", search.scope.token(self.name))
        ordering = ("SORTBY", self.leads_by or "", "DESC")
        return _search(search, "@active:{$token}", parameters, (search.keyspace.vector, *RECALLED), ordering, count)

    def _passing(self, seen: _Seen, search: Search, threshold: float) -> Iterator[_Row]:
        for cosine, fields in seen.rows:
            if ranking.passes(cosine, threshold) and is_of(fields, search.scope) and not expired(fields, search.now):
                score = ranking.blend(cosine, self.bonus(fields, search.now), self.weight) if self.weight else cosine
                yield _Row(-score, -cosine, -int(fields[b"at"]), fields[b"id"], fields)

    def _hit(self, row: _Row) -> RecalledMemory:
        score, cosine = -row.minus_score, -row.minus_cosine
        return RecalledMemory(tier=self.name, score=score, similarity=cosine, **values(row.fields))


def _search(
    search: Search,
    query: str,
    parameters: tuple[str | bytes | int, ...],
    fields: tuple[str, ...],
    ordering: tuple[str, ...],
    count: int,
) -> Command:
    """A search without a time limit of its own: it is whole, or the connection's time-out says that it isn't."""
    return (
        "FT.SEARCH", search.scope.index, query, "PARAMS", len(parameters), *parameters, *ordering, "LIMIT", 0, count,
        "RETURN", len(fields), *fields, "TIMEOUT", 0, "DIALECT", 2,
    )  # fmt: skip


def _with_cosines(found: list[Fields], search: Search) -> list[tuple[float, Fields]]:
    import numpy as np

    name = search.keyspace.vector.encode()
    embedded = [row for row in found if name in row]
    if not embedded:
        return []
    query = np.frombuffer(search.vector or b"", dtype="<f4").astype("f8")
    vectors = np.frombuffer(b"".join(row[name] for row in embedded), dtype="<f4").astype("f8")
    vectors = vectors.reshape(len(embedded), -1)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    distances = 1 - vectors @ query / lengths
    return [(ranking.similarity(float(each)), row) for each, row in zip(distances, embedded, strict=True)]
