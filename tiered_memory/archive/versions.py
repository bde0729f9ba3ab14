"""A memory's version as an archive has it: what was claimed, by whom, when, and how it fared."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen

from tiered_memory.archive.section import Record, micros, moment, optional_micros
from tiered_memory.assertions.fields import as_written
from tiered_memory.checks import check_count, check_id
from tiered_memory.clock import from_micros
from tiered_memory.engine.reply import Fields, text
from tiered_memory.items import MemoryItem

_TEXTS = ("text", "source", "reason")
_TIMES = (
    "at", "created_at", "recorded_at", "updated_at", "active_from", "expires_at", "surfaced_at",
)  # fmt: skip
_NUMBERS = ("uses", "surfaced")
_SHARES = ("confidence", "importance")


@frozen
class Version:
    """A version of what is remembered at an id.

    Attributes:
        item: What it says.
        times: `created_at`, `updated_at` and, as far as it has them, `recorded_at`, `active_from`, `expires_at` and
            `surfaced_at`, in microseconds.
        uses: How often it was remembered.
        surfaced: How often recalls have shown it.
        reason: Why it was sent to review, or None.
    """

    item: MemoryItem
    times: dict[str, int]
    uses: int
    surfaced: int
    reason: str | None


def encode(fields: Fields) -> Record:
    """A version from the fields of a record or a note."""
    named = {name.decode("utf-8", "replace"): value for name, value in fields.items()}
    record: Record = {}
    with as_written():
        record |= {name: text(named[name]) for name in _TEXTS if name in named}
        record |= {name: moment(named[name]) for name in _TIMES if named.get(name)}
        record |= {name: int(named[name]) for name in _NUMBERS if name in named}
        record |= {name: float(named[name]) for name in _SHARES}
        if "metadata" in named:
            record["metadata"] = json.loads(named["metadata"])
    return record


def decode(record: Any, tier: str, id: str) -> Version:
    """The version that `encode` made `record` from; raises for what none could be made from."""
    item = MemoryItem(
        record["text"],
        tier,
        id=check_id(id),
        metadata=record.get("metadata"),
        at=from_micros(micros(record["at"])),
        confidence=record["confidence"],
        importance=record["importance"],
        source=record.get("source"),
    )
    times = {name: found for name in _TIMES[1:] if (found := optional_micros(record, name)) is not None}
    reason = record.get("reason")
    return Version(
        item,
        {"created_at": micros(record["created_at"]), "updated_at": micros(record["updated_at"])} | times,
        check_count(record["uses"], "uses", 1),
        check_count(record.get("surfaced", 0), "surfaced", 0),
        None if reason is None else check_id(reason, "reason"),
    )
