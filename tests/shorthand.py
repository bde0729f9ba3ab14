"""What the tests of the specification say often: hits as texts and scores, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

from freezegun import freeze_time

from tiered_memory import RecalledMemory

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
TIERS = ("working", "semantic", "episodic", "procedural")


def ranked(hits: Iterable[RecalledMemory]) -> list[tuple[str, float]]:
    """The texts and scores of hits, in their order."""
    return [(hit.text, round(hit.score, 6)) for hit in hits]


def texts(memories: Iterable[Any]) -> list[str]:
    """The texts of hits or memories, in their order."""
    return [memory.text for memory in memories]


def frozen(moment: datetime = NOON) -> Any:
    """Stops the clock at `moment`; what it gives can `tick`."""
    return freeze_time(moment, real_asyncio=True)
