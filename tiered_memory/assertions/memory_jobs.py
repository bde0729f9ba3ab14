"""Jobs about memories: what they name are a tier and ids, so that the queue has no text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

_AT_ONCE = 100
"""How many memories one job names at the most."""

_ID_BYTES = 40 * 1024
"""How many bytes of ids one job names at the most; each may take six in the payload."""

MemoryJob: TypeAlias = "tuple[str, dict[str, Any]]"
"""The kind of a job, and its payload."""


def memory_jobs(kind: str, memories: Iterable[tuple[str, str]]) -> list[MemoryJob]:
    """The jobs of a kind about memories, which are given by their tiers and ids; each of these once."""
    by_tier: dict[str, dict[str, None]] = {}
    for tier, id in memories:
        by_tier.setdefault(tier, {})[id] = None
    return [(kind, {"tier": tier, "ids": part}) for tier, ids in by_tier.items() for part in _parts(ids)]


def _parts(ids: Iterable[str]) -> Iterator[list[str]]:
    """The ids, in parts that one job can name."""
    part: list[str] = []
    size = 0
    for id in ids:
        size += len(id.encode())
        if part and (len(part) == _AT_ONCE or size > _ID_BYTES):
            yield part
            part, size = [], len(id.encode())
        part.append(id)
    if part:
        yield part
