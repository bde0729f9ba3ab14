"""Remembering and updating: validate everything, embed everything, then write each scope in one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from attrs import evolve, frozen

from tiered_memory import clock
from tiered_memory.assertions.deferred import embed_or_defer
from tiered_memory.assertions.read import read
from tiered_memory.assertions.views import Work
from tiered_memory.assertions.write import Entry, write
from tiered_memory.checks import check_metadata
from tiered_memory.errors import EmbeddingError, InvalidItem, NotFound, TieredMemoryError, UpdateConflict
from tiered_memory.items import MemoryItem, MemoryRecord, Remembered
from tiered_memory.plan import Embedding, Plan, join, opened
from tiered_memory.tiers.base import Tier
from tiered_memory.tiers.enabled import Tiers

_ATTEMPTS = 10
"""How often an update is tried again when others were quicker."""


def remember(
    tiers: Tiers, items: Sequence[MemoryItem], scope_of: Callable[[MemoryItem], str | None], jobs: Work = ()
) -> Plan[list[Remembered]]:
    """Writes a batch: one call to the embedder, one round trip; all of a scope's items or none.

    Each item that is a document of the tree and says something new gets these jobs.
    """
    scopes = [_named(place, scope_of, item) for place, item in enumerate(items)]
    homes = [_named(place, _home, tiers, item) for place, item in enumerate(items)]
    if not items:
        return []
    keyspace = yield from opened()
    found_by = [tier.described(item) for item, tier in zip(items, homes, strict=True)]
    embeddings = yield from _embedded(found_by, homes, defers=tiers.defers)
    batches: dict[str | None, dict[int, Entry]] = {}
    for place, (item, scope, tier, words) in enumerate(zip(items, scopes, homes, found_by, strict=True)):
        embedding = embeddings[words] if tier.embeds else None
        entry = Entry(_with_default_ttl(item, tier), tier.keeping, words, embedding, jobs=jobs)
        batches.setdefault(scope, {})[place] = entry
    now = clock.now_micros()
    for scope, batch in batches.items():
        reasons = yield from tiers.gate.reasons(keyspace, scope, batch, now)
        batch.update({place: evolve(batch[place], reason=reason) for place, reason in reasons.items()})
    written = yield from join(write(keyspace, scope, list(batch.values()), now) for scope, batch in batches.items())
    outcomes: dict[int, Remembered] = {}
    for (scope, batch), part in zip(batches.items(), written, strict=True):
        outcomes.update(zip(batch, part, strict=True))
        if tiers.weaver is not None:
            pairs = [(items[place], done) for place, done in zip(batch, part, strict=True)]
            yield from tiers.weaver.remembered(keyspace.of(scope), pairs)
    return [outcomes[place] for place in range(len(items))]


def _embedded(words: Sequence[str], homes: Sequence[Tier], *, defers: bool) -> Plan[dict[str, Embedding]]:
    """The embedding of all different words by which items are found; a bad one names the first item that has it."""
    texts: dict[str, int] = {}
    for place, (text, tier) in enumerate(zip(words, homes, strict=True)):
        if tier.embeds:
            texts.setdefault(text, place)
    try:
        embeddings = yield from embed_or_defer(list(texts), defers=defers)
    except EmbeddingError as error:
        if error.place is None:
            raise
        raise EmbeddingError(f"item {list(texts.values())[error.place]}: {error}") from None
    return dict(zip(texts, embeddings, strict=True))


def _with_default_ttl(item: MemoryItem, tier: Tier) -> MemoryItem:
    return item if item.ttl is not None or tier.ttl is None else evolve(item, ttl=tier.ttl)


def _named(place: int, check: Callable[..., Any], *arguments: Any) -> Any:
    """What `check` answers; what it raises names the item's place in the batch."""
    try:
        return check(*arguments)
    except TieredMemoryError as error:
        raise type(error)(f"item {place}: {error}") from None


def _home(tiers: Tiers, item: MemoryItem) -> Tier:
    tier = tiers.home(item.tier, item.key)
    if item.status == "candidate" and tier.keeping.notes:
        raise InvalidItem(f"status='candidate' has no meaning in tier {tier.name!r}, whose notes aren't reviewed")
    return tier


@frozen(kw_only=True)
class Changes:
    """What an update changes; None leaves a value as it is.

    Attributes:
        text: The new text.
        metadata: Merged into what is there; a None in it removes that name.
        at: When it happened.
        confidence: In [0, 1].
        importance: In [0, 1].
        source: Who says so.
        ttl: How long it is kept from now on; `False` keeps it until it is forgotten.
    """

    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    at: datetime | None = None
    confidence: float | None = None
    importance: float | None = None
    source: str | None = None
    ttl: timedelta | float | bool | None = None

    def applied_to(self, memory: MemoryRecord) -> MemoryItem:
        """The item that makes `memory` what it shall be; raises `InvalidItem` for a bad value."""
        return MemoryItem(
            memory.text if self.text is None else self.text,
            tier=memory.tier,
            id=memory.id,
            scope=memory.scope,
            metadata=_merged(memory.metadata, check_metadata(self.metadata)),
            at=self.at,
            confidence=memory.confidence if self.confidence is None else self.confidence,
            importance=memory.importance if self.importance is None else self.importance,
            source=memory.source if self.source is None else self.source,
            ttl=None if self.ttl is False or self.ttl is None else self.ttl,
        )


def _merged(before: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if changes is None:
        return None
    merged = {**before, **changes}
    return {name: value for name, value in merged.items() if value is not None or name not in changes}


def _full(item: MemoryItem | None, memory: MemoryRecord) -> MemoryItem:
    """What `item` says, with the metadata of what stands there if it has none; without one, what stands there."""
    text, metadata = (memory.text, None) if item is None else (item.text, item.metadata)
    return MemoryItem(text, metadata=memory.metadata if metadata is None else metadata)


def update(tiers: Tiers, tier: Tier, scope: str | None, id: str, changes: Changes) -> Plan[Remembered]:
    """Changes what stands at an id; others' changes in between are seen and kept.

    Raises `NotFound`, or `UpdateConflict` when others were quicker each time.
    """
    keyspace = yield from opened()
    known: dict[str, Embedding] = {}
    for _ in range(_ATTEMPTS):
        standing = yield from read(keyspace, tier.keeping, scope, id)
        if standing is None:
            raise NotFound(f"nothing stands at id {id!r} in tier {tier.name!r}; remember it first")
        item = changes.applied_to(standing.memory)
        words, before = tier.described(_full(item, standing.memory)), tier.described(_full(None, standing.memory))
        says_other = tier.embeds and words != before
        if says_other and words not in known:
            (known[words],) = yield from embed_or_defer([words], defers=tiers.defers)
        embedding = known[words] if says_other else None
        entry = Entry(
            item, tier.keeping, words, embedding, "update", standing.version, lifts_expiry=changes.ttl is False
        )
        try:
            (remembered,) = yield from write(keyspace, scope, [entry], clock.now_micros())
        except UpdateConflict:
            continue
        if tiers.weaver is not None:
            yield from tiers.weaver.remembered(keyspace.of(scope), [(_full(item, standing.memory), remembered)])
        return remembered
    raise UpdateConflict(f"id {id!r} in tier {tier.name!r} was changed by others {_ATTEMPTS} times in a row; try again")
