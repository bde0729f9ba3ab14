"""How well a memory of the tree fits a term: pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from tiered_memory.items import Assertion

STALE_AFTER = timedelta(days=30)
"""How long after a memory was last shown it is wholly stale."""

_WORD = re.compile(r"\w+")


def staleness(surfaced_at: datetime | None, now: datetime) -> float:
    """How long ago a memory was last shown, as a share of thirty days in [0, 1]; 1 if it never was."""
    if surfaced_at is None:
        return 1.0
    return min(max((now - surfaced_at) / STALE_AFTER, 0.0), 1.0)


def score(memory: Assertion, cosine: float | None, term: str, now: datetime) -> float:
    """0.5 confidence + 0.5 (cosine + 1) / 2 + 0.15 if the text has the term - 0.1 staleness; no cosine counts as -1."""
    near = 0.0 if cosine is None else (cosine + 1) / 2
    exact = 0.15 if has(memory, term) else 0.0
    return round(0.5 * memory.confidence + 0.5 * near + exact - 0.1 * staleness(memory.surfaced_at, now), 9)


def ranked(memories: Sequence[Assertion], cosines: Sequence[float | None], term: str, now: datetime) -> list[Assertion]:
    """Memories by score, then confidence, URI and number."""
    rows = [
        (-score(memory, cosine, term, now), by_confidence(memory), place)
        for place, (memory, cosine) in enumerate(zip(memories, cosines, strict=True))
    ]
    return [memories[place] for *_, place in sorted(rows)]


def by_confidence(memory: Assertion) -> tuple[float, str, int]:
    """What memories are sorted by where nothing ranks them: confidence, URI, number."""
    return (-memory.confidence, memory.id, memory.number)


def has(memory: Assertion, term: str) -> bool:
    """Whether a memory's text has the term in it, whatever the case of letters."""
    return term.casefold() in memory.text.casefold()


def words(text: str) -> frozenset[str]:
    """The words of a text, in any script, without differences of case."""
    return frozenset(_WORD.findall(text.casefold()))
