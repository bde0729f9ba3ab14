"""A model of the life of memories in plain Python: lists of what is claimed, and nothing clever."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import define, evolve, field

Place: TypeAlias = "tuple[str | None, str, str]"
"""A scope, a tier and an id."""

Version: TypeAlias = "tuple[list[int], int | None, int]"
"""What waits at a place, what stands there, and the claim that was looked at, by number."""


@define
class Claimed:
    """One assertion, with the names of the product's."""

    number: int
    id: str
    text: str
    confidence: float
    created_at: datetime
    recorded_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    status: str = "candidate"
    uses: int = 1
    active_from: datetime | None = None
    superseded_at: datetime | None = None
    surfaced: int = 0
    surfaced_at: datetime | None = None


@define
class Slot:
    """What stands and stood at a place, and what waits there, each newest first."""

    chain: list[Claimed] = field(factory=list)
    queue: list[Claimed] = field(factory=list)

    def expire(self, now: datetime) -> None:
        """Drops what has expired: the chain as a whole, claims one by one."""
        if self.chain and _is_over(self.chain[0], now):
            self.chain.clear()
        self.queue = [each for each in self.queue if not _is_over(each, now)]

    def put(self, newer: Claimed, now: datetime) -> None:
        """Makes `newer` what stands here; it keeps the expiry of what stood here, unless it has its own."""
        if self.chain:
            older = self.chain[0]
            older.status, older.superseded_at = "superseded", now
            newer.created_at = older.created_at
            newer.expires_at = newer.expires_at or older.expires_at
        newer.status, newer.active_from, newer.updated_at = "active", now, now
        self.chain.insert(0, newer)
        self.expire_at(newer.expires_at)

    def expire_at(self, moment: datetime | None) -> None:
        """One expiry for all that stands and stood here."""
        for each in self.chain:
            each.expires_at = moment


def _is_over(each: Claimed, now: datetime) -> bool:
    return each.expires_at is not None and each.expires_at <= now


@define
class LifecycleModel:
    """What a memory holds at the time `now`."""

    now: datetime
    slots: dict[Place, Slot] = field(factory=dict)
    count: int = 0

    def at(self, place: Place) -> Slot:
        """What is at a place now."""
        slot = self.slots.setdefault(place, Slot())
        slot.expire(self.now)
        return slot

    def held(self, scope: str | None) -> Iterator[tuple[Place, Claimed]]:
        """All that a scope holds now."""
        for place in [place for place in self.slots if place[0] == scope]:
            slot = self.at(place)
            for each in (*slot.chain, *slot.queue):
                yield place, each

    def _new(self, id: str, text: str, confidence: float, ttl: timedelta | None) -> Claimed:
        self.count += 1
        expires_at = None if ttl is None else self.now + ttl
        return Claimed(self.count, id, text, confidence, self.now, self.now, self.now, expires_at)

    def remember(self, place: Place, text: str, confidence: float, ttl: timedelta | None) -> str:
        """Remembers an active memory; what happened."""
        slot = self.at(place)
        if not slot.chain:
            slot.put(self._new(place[2], text, confidence, ttl), self.now)
            return "recorded"
        old = slot.chain[0]
        if old.text == text:
            old.uses, old.updated_at = old.uses + 1, self.now
            if ttl is not None:
                slot.expire_at(self.now + ttl)
            return "reaffirmed"
        newer = self._new(place[2], text, confidence, ttl)
        newer.uses = old.uses + 1 if place[1] == "procedural" else 1
        slot.put(newer, self.now)
        return "superseded"

    def propose(self, place: Place, text: str, confidence: float, ttl: timedelta | None) -> str:
        """Remembers a candidate; what happened."""
        slot = self.at(place)
        for each in slot.queue:
            if each.text == text:
                each.uses, each.updated_at = each.uses + 1, self.now
                return "already_queued"
        slot.queue.insert(0, self._new(place[2], text, confidence, ttl))
        return "queued"

    def update(self, place: Place, text: str | None, confidence: float | None, lifts: bool) -> str | None:
        """Updates what stands at a place; what happened, or None where nothing does."""
        slot = self.at(place)
        if not slot.chain:
            return None
        old = slot.chain[0]
        confidence = old.confidence if confidence is None else confidence
        if text in (None, old.text):
            old.confidence, old.updated_at = confidence, self.now
        else:
            self.count += 1
            newer = evolve(
                old,
                number=self.count,
                text=text,
                confidence=confidence,
                recorded_at=self.now,
                surfaced=0,
                surfaced_at=None,
            )
            slot.put(newer, self.now)
        if lifts:
            slot.expire_at(None)
        return "updated" if text in (None, old.text) else "superseded"

    def version(self, place: Place, number: int) -> Version:
        """The version of a claim that waits at a place."""
        slot = self.at(place)
        return [each.number for each in slot.queue], slot.chain[0].number if slot.chain else None, number

    def promote(self, place: Place, seen: Version | None = None) -> str:
        """Promotes the newest claim at a place; what happened."""
        slot = self.at(place)
        if not slot.queue:
            return "no_candidate"
        newest = slot.queue[0]
        if seen is not None and seen != self.version(place, newest.number):
            return "conflict"
        if place[1] == "procedural" and slot.chain:
            newest.uses += slot.chain[0].uses
        slot.queue.clear()
        slot.put(newest, self.now)
        return "promoted"

    def reject(self, place: Place, seen: Version | None = None) -> str:
        """Rejects what waits at a place; what happened."""
        slot = self.at(place)
        if not slot.queue:
            return "no_candidate"
        if seen is not None and seen[:2] != self.version(place, 0)[:2]:
            return "conflict"
        slot.queue.clear()
        return "rejected"

    def forget(self, place: Place) -> int:
        """Forgets all at a place; how many active and waiting ones that were."""
        slot = self.at(place)
        del self.slots[place]
        return bool(slot.chain) + len(slot.queue)

    def clear(self, scope: str | None, tier: str) -> int:
        """Forgets a tier of a scope; how many active and waiting memories that were."""
        return sum(self.forget(place) for place in list(self.slots) if place[:2] == (scope, tier))

    def prune(self, scope: str | None, keep: int, before: datetime | None) -> int:
        """Drops history; how much."""
        dropped = 0
        for place in [place for place in self.slots if place[0] == scope]:
            slot = self.at(place)
            kept = [
                each
                for rank, each in enumerate(slot.chain)
                if rank <= keep or (before is not None and not _before(each.superseded_at, before))
            ]
            dropped += len(slot.chain) - len(kept)
            slot.chain = kept
        return dropped

    def believed(self, scope: str | None, tier: str, moment: datetime) -> list[tuple[str, str]]:
        """The ids and texts that were believed at a moment, of what isn't forgotten by now."""
        return sorted(
            (each.id, each.text)
            for place, each in self.held(scope)
            if place[1] == tier and each.active_from is not None and each.active_from <= moment
            and (each.superseded_at is None or each.superseded_at > moment)
        )  # fmt: skip

    def mark(self, place: Place) -> None:
        """Marks what stands at a place as surfaced now."""
        for each in self.at(place).chain[:1]:
            each.surfaced, each.surfaced_at = each.surfaced + 1, self.now


def _before(moment: datetime | None, other: datetime) -> bool:
    return moment is not None and moment < other
