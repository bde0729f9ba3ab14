"""A memory as the fields of a record or a note in Redis, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from tiered_memory.clock import from_micros
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import Fields
from tiered_memory.errors import CorruptRecord
from tiered_memory.items import Assertion, MemoryItem, MemoryRecord, Status

M = TypeVar("M")

RECALLED = (
    "id", "scope", "text", "metadata", "at", "created_at", "updated_at", "expires_at", "uses", "confidence",
    "importance", "source", "cut",
)  # fmt: skip
"""The fields that a hit is made from."""


def own_fields(item: MemoryItem, scope: str | None, *, cut: bool, reason: str | None) -> dict[str, str | float]:
    """What an item itself says, without its text, its metadata and what the store keeps count of."""
    fields: dict[str, str | float] = {
        "id": item.key,
        "confidence": item.confidence,
        "importance": item.importance,
    }
    if scope is not None:
        fields["scope"] = scope
    if item.source is not None:
        fields["source"] = item.source
    if cut:
        fields["cut"] = 1
    if reason is not None:
        fields["reason"] = reason
    return fields


def made(kind: Callable[..., M], fields: Fields, **own: Any) -> M:
    """A memory of `kind` from its fields and what else it has; to be called within `as_written`."""
    return kind(
        id=str(fields[b"id"], "utf-8"),
        text=str(fields[b"text"], "utf-8"),
        scope=_optional(fields.get(b"scope")),
        metadata=_metadata(fields.get(b"metadata", b"{}")),
        at=from_micros(int(fields[b"at"])),
        created_at=from_micros(int(fields[b"created_at"])),
        updated_at=from_micros(int(fields[b"updated_at"])),
        expires_at=_moment(fields.get(b"expires_at")),
        uses=int(fields[b"uses"]),
        confidence=float(fields[b"confidence"]),
        importance=float(fields[b"importance"]),
        source=_optional(fields.get(b"source")),
        cut=b"cut" in fields,
        **own,
    )


def note(fields: Fields, tier: str) -> MemoryRecord:
    """A note of `tier` from its fields."""
    with as_written():
        return made(MemoryRecord, fields, tier=tier)


def assertion(fields: Fields, tier: str, number: bytes) -> Assertion:
    """A record of `tier` from its number and fields."""
    with as_written():
        return made(Assertion, fields, tier=tier, status=status_of(fields), number=int(number), **_life(fields))


def status_of(fields: Fields) -> Status:
    """A record's status: the one whose field holds its token."""
    for status in ("active", "candidate", "superseded"):
        if fields.get(status.encode()):
            return status
    raise CorruptRecord("a memory in the store has no status")


def _life(fields: Fields) -> dict[str, Any]:
    return {
        "recorded_at": from_micros(int(fields[b"recorded_at"])),
        "active_from": _moment(fields.get(b"active_from")),
        "superseded_at": _moment(fields.get(b"superseded_at")),
        "supersedes": _number(fields.get(b"supersedes")),
        "superseded_by": _number(fields.get(b"superseded_by")),
        "surfaced": _number(fields.get(b"surfaced")) or 0,
        "surfaced_at": _moment(fields.get(b"surfaced_at")),
        "reason": _optional(fields.get(b"reason")),
    }


def _number(value: bytes | None) -> int | None:
    return int(value) if value else None


def _moment(value: bytes | None) -> datetime | None:
    return from_micros(int(value)) if value else None


def is_of(fields: Fields, scope: ScopeKeys) -> bool:
    """Whether a memory was written under exactly `scope`."""
    return fields.get(b"scope") == scope.raw


def expired(fields: Fields, now: int) -> bool:
    """Whether a memory's time was up at `now`, in microseconds since 1970."""
    moment = fields.get(b"expires_at")
    return moment is not None and int(moment) <= now


@contextmanager
def as_written() -> Iterator[None]:
    """Raises `CorruptRecord` where fields are absent, or aren't numbers that should be."""
    try:
        yield
    except (KeyError, ValueError, OverflowError, TypeError) as error:
        raise CorruptRecord(f"a memory in the store isn't as we wrote it ({type(error).__name__})") from None


def _optional(value: bytes | None) -> str | None:
    return None if value is None else str(value, "utf-8")


def _metadata(value: bytes) -> dict[str, Any]:
    if value == b"{}":
        return {}
    metadata = json.loads(value)
    if not isinstance(metadata, Mapping):
        raise CorruptRecord("a memory's metadata in the store isn't a JSON object")
    return dict(metadata)
