"""Remembering and updating: one script for all items of one scope, wholly or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from attrs import frozen

from tiered_memory.assertions.deferred import KIND as EMBED
from tiered_memory.assertions.fields import own_fields
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.memory_jobs import memory_jobs
from tiered_memory.assertions.views import Work, document_fields, view_arguments, view_uri
from tiered_memory.checks import encode_metadata
from tiered_memory.clock import to_micros
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import KindConflict
from tiered_memory.items import MemoryItem, Outcome, Remembered
from tiered_memory.plan import Embedding, Plan, ask
from tiered_memory.scope import digest
from tiered_memory.store.queue import job_arguments
from tiered_memory.store.uri import Uri
from tiered_memory.terms import terms

Argument = str | bytes | int | float


@frozen
class Entry:
    """An item with how its tier keeps it and, where that is searched, its embedding.

    Attributes:
        item: What is to be written.
        keeping: How its tier keeps it.
        words: The words by which it is found.
        embedding: Their vector, which is empty if it is made later, or None.
        mode: Whether it is remembered, or updates what stands there.
        expected: For an update, what must stand there.
        lifts_expiry: For an update, whether it is to be kept until it is forgotten.
        reason: Why the gate sends it to review, or None.
        jobs: What must be done for it, if it is a document of the tree and says something new.
    """

    item: MemoryItem
    keeping: Keeping
    words: str
    embedding: Embedding | None
    mode: Literal["remember", "update"] = "remember"
    expected: bytes = b""
    lifts_expiry: bool = False
    reason: str | None = None
    jobs: Work = ()

    @property
    def uri(self) -> Uri | None:
        """Where it is a document of the tree, or None."""
        return view_uri(self.keeping, self.item.key)

    @property
    def deferred(self) -> bool:
        """Whether its vector is made later."""
        return self.embedding is not None and not self.embedding.vector


def write(keyspace: Keyspace, scope: str | None, entries: Sequence[Entry], now: int) -> Plan[list[Remembered]]:
    """What became of each of `entries`, all of one scope, written in one step."""
    keys = keyspace.of(scope)
    places = {keeping: place for place, keeping in enumerate(dict.fromkeys(entry.keeping for entry in entries), 1)}
    arguments: list[Argument] = [now, keys.member, len(places)]
    for keeping in places:
        arguments += [*keeping.address(keys), keeping.most, keeping.idle, keeping.half_life, keeping.rules]
    for entry in entries:
        arguments += _item(entry, places[entry.keeping], keys, keyspace.vector, now)
    deferred = memory_jobs(EMBED, ((entry.keeping.name, entry.item.key) for entry in entries if entry.deferred))
    if deferred:
        arguments += [keys.token("tree"), keyspace.vector, *job_arguments(deferred), len(arguments) + 1]
    views = {place: uri for place, entry in enumerate(entries, 1) if (uri := entry.uri)}
    if views:
        jobs = {place: entry.jobs for place, entry in enumerate(entries, 1)}
        arguments += view_arguments(keys, views, jobs, len(arguments))
    script = "remember" + "_in_tree" * bool(views) + "_deferred" * bool(deferred)
    (outcomes,) = yield from ask(call(script, keys.scopes, arguments), repeatable=_repeatable(entries))
    if outcomes[0] == b"kind_conflict":
        raise KindConflict(f"a document that is no memory stands at {text(outcomes[1])!r}; remove it first")
    return [_remembered(entry, scope, text(outcome)) for entry, outcome in zip(entries, outcomes, strict=True)]


def _repeatable(entries: Sequence[Entry]) -> bool:
    """Whether writing twice is the same as writing once: not where uses are ranked by, or jobs enqueued."""
    return not any(entry.keeping.carries or entry.jobs for entry in entries)


def _item(entry: Entry, place: int, keys: ScopeKeys, vector: str, now: int) -> list[Argument]:
    item, embedding = entry.item, entry.embedding
    fields: dict[str, Argument] = dict(
        own_fields(item, keys.scope, cut=bool(embedding and embedding.cut), reason=entry.reason)
    )
    if entry.uri:
        fields |= document_fields(entry.uri, item.text)
    if embedding:
        fields["terms"] = " ".join(terms(entry.words))
        fields |= {"to_embed": entry.words} if entry.deferred else {vector: embedding.vector}
    arguments: list[Argument] = [
        place,
        digest(item.key),
        "update" if entry.mode == "update" else "doubtful" if entry.reason else item.status,
        entry.expected,
        item.text,
        "" if item.metadata is None else encode_metadata(item.metadata),
        "" if item.at is None else to_micros(item.at),
        *_expiry(item.ttl, entry.lifts_expiry, now),
        item.importance,
        len(fields),
    ]
    for pair in fields.items():
        arguments += pair
    return arguments


def _expiry(ttl: timedelta | None, lifts: bool, now: int) -> tuple[Argument, Argument]:
    """When it expires, and in how many milliseconds."""
    if lifts:
        return 0, 0
    if ttl is None:
        return "", 0
    return now + ttl // timedelta(microseconds=1), ttl // timedelta(milliseconds=1)


def _remembered(entry: Entry, scope: str | None, outcome: Outcome | str) -> Remembered:
    cut = bool(entry.embedding and entry.embedding.cut)
    reason = entry.reason if outcome in ("queued", "already_queued") else None
    return Remembered(
        entry.item.key, entry.keeping.name, scope, outcome, cut, reason, entry.deferred  # type: ignore[arg-type]
    )  # fmt: skip
