"""The gate: which claims are doubtful enough to wait for review, unless they only repeat what is believed.

No model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiered_memory import ranking
from tiered_memory.assertions.fields import expired, is_of
from tiered_memory.assertions.write import Entry
from tiered_memory.checks import check_id
from tiered_memory.config import GateConfig
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import rows
from tiered_memory.engine.search import ACTIVE, Where, nearest
from tiered_memory.items import MemoryItem
from tiered_memory.plan import Command, Plan, ask

_NEIGHBOURS = 8
"""How many of the nearest memories are looked at; one may be the id's own, and some may have expired."""


class Gate:
    """Sends claims to review by the rules of a configuration."""

    def __init__(self, config: GateConfig) -> None:
        self._config = config

    def reasons(
        self, keyspace: Keyspace, scope: str | None, entries: Mapping[int, Entry], now: int
    ) -> Plan[dict[int, str]]:
        """Why which of the entries of one scope, given by their places, must wait; costs a search only by one rule."""
        claims = {place: entry for place, entry in entries.items() if self._concerns(entry)}
        reasons = {place: reason for place, entry in claims.items() if (reason := self._own_reason(entry.item))}
        bound = self._config.near_duplicate
        if bound is None:
            return reasons
        unsuspected = {place: entry for place, entry in claims.items() if place not in reasons and not entry.deferred}
        keys = keyspace.of(scope)
        replies = yield from ask(*(_neighbours(keyspace, keys, entry) for entry in unsuspected.values()))
        for (place, entry), reply in zip(unsuspected.items(), replies, strict=True):
            twin = _twin(reply, keys, entry.item, bound, keyspace.tolerance, now)
            if twin is not None:
                reasons[place] = f"near_duplicate of {twin}"
        return reasons

    def _concerns(self, entry: Entry) -> bool:
        return not entry.keeping.notes and entry.item.status == "active"

    def _own_reason(self, item: MemoryItem) -> str | None:
        """What the item itself gives reason for, by the first rule that does."""
        floor = self._config.confidence_floor
        if floor is not None and item.confidence < floor:
            return f"confidence below {floor:g}"
        if item.source is not None and item.source in self._config.review_sources:
            return f"source {item.source}"
        reason = self._config.rule(item) if self._config.rule else None
        return None if reason is None else check_id(reason, "a rule's reason")


def _neighbours(keyspace: Keyspace, keys: ScopeKeys, entry: Entry) -> Command:
    vector = (keyspace.vector, entry.embedding.vector if entry.embedding else b"")
    fields = ("id", "scope", "expires_at")
    where = Where(ACTIVE, {"token": keys.token(entry.keeping.name)})
    return nearest(keys.index, where, vector, fields, _NEIGHBOURS)


def _twin(reply: object, keys: ScopeKeys, item: MemoryItem, bound: float, tolerance: float, now: int) -> str | None:
    """The id of an active memory of another id that is as near as the bound, if there is one."""
    for _, fields in rows(reply):
        near = bool(fields) and ranking.similarity(float(fields[b"distance"])) >= ranking.least(bound, tolerance)
        if near and is_of(fields, keys) and not expired(fields, now) and fields[b"id"] != item.key.encode():
            return fields[b"id"].decode()
    return None
