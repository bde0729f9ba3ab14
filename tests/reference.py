"""A model of the memory in plain Python, as simple as can be: dictionaries, and brute force over all that they hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from attrs import define, field

WEIGHT = 0.3
HALF_LIFE = timedelta(days=7)
TIERS = ("working", "semantic", "episodic", "procedural")


@define
class Memory:
    """What stands at an id."""

    id: str
    text: str
    metadata: dict[str, Any]
    at: datetime
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    uses: int = 1
    superseded: int = 0


@define
class Reference:
    """What a memory holds; `cosine` compares two texts, and `now` is the time."""

    cosine: Callable[[str, str], float]
    now: datetime
    max_notes: int
    standing: dict[tuple[str | None, str], dict[str, Memory]] = field(factory=dict)
    waiting: dict[tuple[str | None, str], dict[str, list[str]]] = field(factory=dict)

    def alive(self, scope: str | None, tier: str) -> dict[str, Memory]:
        """What is active in a tier of a scope, after what has expired was dropped."""
        held = self.standing.setdefault((scope, tier), {})
        for id_ in [id_ for id_, each in held.items() if each.expires_at and each.expires_at <= self.now]:
            del held[id_]
        return held

    def candidates(self, scope: str | None, tier: str) -> dict[str, list[str]]:
        """The texts that wait for review in a tier of a scope, by id."""
        return self.waiting.setdefault((scope, tier), {})

    def remember(
        self, scope: str | None, tier: str, id_: str, text: str, metadata: dict[str, Any] | None, ttl: timedelta | None
    ) -> str:
        """Remembers an active memory; what happened."""
        held = self.alive(scope, tier)
        found = held.get(id_)
        if found is None:
            held[id_] = Memory(id_, text, metadata or {}, self.now, self.now, self.now, self._end(ttl))
            if tier == "working" and len(held) > self.max_notes:
                del held[next(iter(held))]
            return "recorded"
        outcome = "reaffirmed" if text == found.text else "replaced" if tier == "working" else "superseded"
        found.superseded += outcome == "superseded"
        counts_on = outcome == "reaffirmed" or tier in ("working", "procedural")
        found.uses = found.uses + 1 if counts_on else 1
        found.at = self.now if outcome != "reaffirmed" or tier in ("working", "episodic") else found.at
        found.text, found.updated_at = text, self.now
        found.metadata = found.metadata if metadata is None else metadata
        found.expires_at = found.expires_at if ttl is None else self._end(ttl)
        return outcome

    def propose(self, scope: str | None, tier: str, id_: str, text: str) -> str:
        """Remembers a candidate; what happened."""
        texts = self.candidates(scope, tier).setdefault(id_, [])
        if text in texts:
            return "already_queued"
        texts.append(text)
        return "queued"

    def update(self, scope: str | None, tier: str, id_: str, text: str | None, metadata: dict[str, Any]) -> str | None:
        """Updates what stands at an id; what happened, or None when nothing stands there."""
        found = self.alive(scope, tier).get(id_)
        if found is None:
            return None
        outcome = "updated" if text in (None, found.text) else "replaced" if tier == "working" else "superseded"
        found.superseded += outcome == "superseded"
        found.text, found.updated_at = text or found.text, self.now
        found.metadata = {name: value for name, value in (found.metadata | metadata).items() if value is not None}
        return outcome

    def forget(self, scope: str | None, tier: str, id_: str) -> int:
        """Forgets what stands and what waits at an id; how many that were."""
        active = self.alive(scope, tier).pop(id_, None)
        return (active is not None) + len(self.candidates(scope, tier).pop(id_, []))

    def clear(self, scope: str | None, tier: str) -> int:
        """Forgets a tier of a scope; how many memories that were."""
        ids = {**self.alive(scope, tier), **self.candidates(scope, tier)}
        return sum(self.forget(scope, tier, id_) for id_ in ids)

    def scopes(self) -> set[str | None]:
        """The scopes that hold something."""
        active = {scope for scope, tier in list(self.standing) if self.alive(scope, tier)}
        return active | {scope for (scope, _), ids in self.waiting.items() if ids}

    def recall(
        self, query: str, k: int, tiers: tuple[str, ...], threshold: float, scopes: list[str | None]
    ) -> list[tuple[str | None, str, str, float]]:
        """The scope, tier, id and score of the k best."""
        hits = [hit for scope in scopes for tier in tiers for hit in self._hits(query, k, tier, threshold, scope)]
        return [(scope, tier, id_, -score) for score, _, _, _, id_, _, scope, tier in sorted(hits)[:k]]

    def _hits(self, query: str, k: int, tier: str, threshold: float, scope: str | None) -> list[Any]:
        held = list(self.alive(scope, tier).values())
        if tier == "working":
            newest = held[::-1][:k]
            scored = [(round(1 - place / len(newest), 9), 0.0, note) for place, note in enumerate(newest)]
        else:
            scored = []
            for each in held:
                cosine = round(self.cosine(query, each.text), 6)
                if cosine >= threshold - 1e-6:
                    scored.append((self._score(tier, cosine, each), cosine, each))
        place = TIERS.index(tier)
        return [
            (-score, place, -cosine, -each.at.timestamp(), each.id, scope or "", scope, tier)
            for score, cosine, each in scored
        ]

    def _score(self, tier: str, cosine: float, memory: Memory) -> float:
        if tier == "semantic":
            return cosine
        bonus = memory.uses / (memory.uses + 1)
        if tier == "episodic":
            bonus = 0.5 ** ((self.now - memory.at) / HALF_LIFE)
        return round((1 - WEIGHT) * cosine + WEIGHT * bonus, 9)

    def _end(self, ttl: timedelta | None) -> datetime | None:
        return None if ttl is None else self.now + ttl
