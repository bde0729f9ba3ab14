"""A memory as the fields of a record or a note in Redis, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from tiered_memory.clock import from_micros
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import Fields
from tiered_memory.errors import CorruptRecord
from tiered_memory.items import MemoryItem, MemoryRecord, Status

RECALLED = (
    "id", "scope", "text", "metadata", "at", "created_at", "updated_at", "expires_at", "uses", "confidence",
    "importance", "source", "cut",
)  # fmt: skip
"""The fields that a hit is made from."""


def own_fields(item: MemoryItem, scope: str | None, *, cut: bool) -> dict[str, str | float]:
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
    return fields


class _Values(TypedDict):
    id: str
    text: str
    scope: str | None
    metadata: dict[str, Any]
    at: datetime
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    uses: int
    confidence: float
    importance: float
    source: str | None
    cut: bool


def values(fields: Fields) -> _Values:
    """The values of a memory by the names of `MemoryRecord`; raises `CorruptRecord` where they aren't ours."""
    try:
        expires = int(fields.get(b"expires_at") or 0)
        return {
            "id": str(fields[b"id"], "utf-8"),
            "text": str(fields[b"text"], "utf-8"),
            "scope": _optional(fields.get(b"scope")),
            "metadata": _metadata(fields.get(b"metadata", b"{}")),
            "at": from_micros(int(fields[b"at"])),
            "created_at": from_micros(int(fields[b"created_at"])),
            "updated_at": from_micros(int(fields[b"updated_at"])),
            "expires_at": from_micros(expires) if expires else None,
            "uses": int(fields[b"uses"]),
            "confidence": float(fields[b"confidence"]),
            "importance": float(fields[b"importance"]),
            "source": _optional(fields.get(b"source")),
            "cut": bool(fields.get(b"cut")),
        }
    except (KeyError, ValueError, OverflowError, TypeError) as error:
        raise CorruptRecord(f"a memory in the store isn't as we wrote it ({type(error).__name__})") from None


def record(fields: Fields, tier: str, status: Status = "active") -> MemoryRecord:
    """A memory of `tier` from its fields."""
    return MemoryRecord(tier=tier, status=status, **values(fields))


def is_of(fields: Fields, scope: ScopeKeys) -> bool:
    """Whether a memory was written under exactly `scope`."""
    return fields.get(b"scope") == scope.raw


def expired(fields: Fields, now: int) -> bool:
    """Whether a memory's time was up at `now`, in microseconds since 1970."""
    moment = fields.get(b"expires_at")
    return moment is not None and 0 < int(moment) <= now


def _optional(value: bytes | None) -> str | None:
    return None if value is None else str(value, "utf-8")


def _metadata(value: bytes) -> dict[str, Any]:
    if value == b"{}":
        return {}
    metadata = json.loads(value)
    if not isinstance(metadata, Mapping):
        raise CorruptRecord("a memory's metadata in the store isn't a JSON object")
    return dict(metadata)
