"""Tiers that are searched by similarity, blended with a bonus: the exact best k, usually in one round trip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

from attrs import evolve, frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import RECALLED, as_written, expired, is_of, made
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import DurableConfig
from tiered_memory.engine.reply import Fields, rows
from tiered_memory.engine.search import ACTIVE, AS_OF, BELIEVED_EVER, Parameters, leading, nearest
from tiered_memory.items import RecalledMemory, Status
from tiered_memory.plan import Command, Plan, ask
from tiered_memory.tiers.base import Search, Tier

_SPARE = 1
"""Rows asked for beyond k, so that a tie at the end is seen."""


@frozen
class _Seen:
    """The rows that two lists of one search have shown, and what a row in neither could still reach."""

    rows: list[tuple[bytes, float, Fields]]
    cosine: float
    bonus: float | None
    complete: bool


_Row: TypeAlias = "tuple[float, float, int, bytes, bytes, Fields]"
"""A row that may be a hit: score, cosine and time, negated so that rows sort as hits are ordered; id, key, fields."""


class VectorTier(Tier):
    """Scored (1 - weight) * cosine + weight * bonus among the rows whose cosine reaches the threshold.

    A tier of your own derives from this; for a blend it sets `leads_by` and `bonus`.
    """

    leads_by: ClassVar[str | None] = None
    """The sorted number (`at` or `uses`) by which the bonus never falls; None when there is no bonus."""

    def __init__(self, keeping: Keeping, config: DurableConfig, *, weight: float = 0.0) -> None:
        self.keeping = keeping if config.max_items is None else evolve(keeping, most=config.max_items)
        self.ttl = config.ttl
        self.threshold = config.threshold
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
            replies = yield from ask(*self._commands(search, count), hurried=True)
            with as_written():
                seen = self._seen(replies, search, count)
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
        if seen.complete or seen.cosine < ranking.least(threshold):
            return True
        bound = ranking.blend(seen.cosine, seen.bonus or 0.0, self.weight)
        return ranking.is_final(-best[k - 1][0] if len(best) >= k else None, bound)

    def _commands(self, search: Search, count: int) -> list[Command]:
        nearest_rows = self._nearest(search, count)
        return [nearest_rows, self._leading(search, count)] if self.weight else [nearest_rows]

    def _seen(self, replies: list[Any], search: Search, count: int) -> _Seen:
        close, *others = (rows(reply) for reply in replies)
        found = [(key, ranking.similarity(float(row[b"distance"])), row) for key, row in close if row]
        cosine = found[-1][1] if found else 1.0
        complete = len(close) < count
        bonus = None
        for leaders in others:
            complete = complete or len(leaders) < count
            alive = {key: row for key, row in leaders if row}
            bonus = self.bonus(next(reversed(alive.values())), search.moment) if alive else 1.0
            unseen = alive.keys() - {key for key, _, _ in found}
            found += _with_cosines({key: alive[key] for key in unseen}, search)
        return _Seen(found, cosine, bonus, complete)

    def _nearest(self, search: Search, count: int) -> Command:
        vector = (search.keyspace.vector, search.vector or b"")
        return nearest(search.scope.index, *self._where(search), vector, _fields(search), count)

    def _leading(self, search: Search, count: int) -> Command:
        fields = (search.keyspace.vector, *_fields(search))
        return leading(search.scope.index, *self._where(search), self.leads_by or "", fields, count)

    def _where(self, search: Search) -> tuple[str, Parameters]:
        """Which rows may be hits: what is believed, or was at the time that the recall asks for."""
        parameters: Parameters = {"token": search.scope.token(self.name)}
        if search.as_of is not None:
            return AS_OF, parameters | {"moment": search.as_of}
        return (BELIEVED_EVER if search.include_superseded else ACTIVE), parameters

    def _passing(self, seen: _Seen, search: Search, threshold: float) -> Iterator[_Row]:
        least = ranking.least(threshold)
        for key, cosine, fields in seen.rows:
            if cosine >= least and is_of(fields, search.scope) and not expired(fields, search.now):
                score = ranking.blend(cosine, self.bonus(fields, search.moment), self.weight) if self.weight else cosine
                yield (-score, -cosine, -int(fields[b"at"]), fields[b"id"], key, fields)

    def _hit(self, row: _Row) -> RecalledMemory:
        minus_score, minus_cosine, *_, fields = row
        status: Status = "superseded" if fields.get(b"superseded") else "active"
        return made(
            RecalledMemory, fields, tier=self.keeping.name, status=status, score=-minus_score, similarity=-minus_cosine
        )


def _fields(search: Search) -> tuple[str, ...]:
    """What a hit is made from; the present knows no superseded ones, so that their field needn't travel."""
    return (*RECALLED, "superseded") if search.as_of is not None or search.include_superseded else RECALLED


def _with_cosines(found: dict[bytes, Fields], search: Search) -> list[tuple[bytes, float, Fields]]:
    import numpy as np

    name = search.keyspace.vector.encode()
    embedded = {key: row for key, row in found.items() if name in row}
    if not embedded:
        return []
    query = np.frombuffer(search.vector or b"", dtype="<f4").astype("f8")
    vectors = np.frombuffer(b"".join(row[name] for row in embedded.values()), dtype="<f4").astype("f8")
    vectors = vectors.reshape(len(embedded), -1)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    distances = (1 - vectors @ query / lengths).tolist()
    return [(key, ranking.similarity(each), row) for each, (key, row) in zip(distances, embedded.items(), strict=True)]
