"""Every score formula, the order of hits, and the exact top k of a blend; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from math import log2

TOLERANCE = 1e-6
"""How far a cosine of vectors in float32 may be off, so that rounding never loses an exact match at a threshold."""

HALF_TOLERANCE = 1e-3
"""The same for vectors in float16."""

DEFAULT_THRESHOLD = 0.7
"""The least cosine of a hit, where neither the caller nor the embedder names one."""


def similarity(distance: float) -> float:
    """The cosine in [-1, 1] of a cosine distance in [0, 2], to the six digits that float32 carries."""
    return round(1 - distance, 6)


def cosines(vectors: Sequence[bytes], query: bytes, numbers: str) -> list[float]:
    """The cosine in [-1, 1] of each of some vectors with that of a query, as bytes of numbers of this numpy type."""
    import numpy as np

    asked = np.frombuffer(query, dtype=numbers).astype("f8")
    rows = np.frombuffer(b"".join(vectors), dtype=numbers).astype("f8").reshape(len(vectors), -1)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(asked)
    return [similarity(1 - cosine) for cosine in (rows @ asked / lengths).tolist()]


def least(threshold: float, tolerance: float = TOLERANCE) -> float:
    """The least cosine that reaches a threshold, which is inclusive."""
    return threshold - tolerance


def position(place: int, count: int) -> float:
    """The score of the note at `place` (0 is the newest) among `count` notes: 1 - place / count."""
    return round(1 - place / count, 9)


def recency(age: float, half_life: timedelta) -> float:
    """How fresh something is that is `age` seconds old: 0.5 ** (age / half_life), 1 for what is yet to come."""
    return float(0.5 ** (max(age, 0.0) / half_life.total_seconds()))


def age(recency: float, half_life: timedelta) -> float:
    """How many seconds old something is that is as fresh as that, in (0, 1]: the inverse of `recency`."""
    return -log2(recency) * half_life.total_seconds()


def reinforcement(uses: float) -> float:
    """How well something has proved itself: uses / (uses + 1), so that the first use is worth one half."""
    return uses / (uses + 1)


def retention(importance: float, uses: float, idle: float, half_life: timedelta) -> float:
    """How well a memory is worth keeping, after `idle` seconds without use: what a cap evicts by, lowest first.

    (importance + uses / (uses + 1)) * 0.5 ** (idle / half_life). Its parts decay alike (Ebbinghaus' forgetting curve),
    so that the order of two memories never changes by waiting, and a sorted set of the logarithms
    log2(importance + uses / (uses + 1)) + last use / half-life keeps it.
    """
    return (importance + reinforcement(uses)) * recency(idle, half_life)


def blend(cosine: float, bonus: float, weight: float) -> float:
    """The score (1 - weight) * cosine + weight * bonus, without the noise of its last bits."""
    return round((1 - weight) * cosine + weight * bonus, 9)


def is_final(kth: float | None, bound: float) -> bool:
    """Whether k rows with at least score `kth` are the best k, when no unseen row can score above `bound`.

    Strictly greater, since a row that ties is placed by the order of hits, and must be seen for that.
    """
    return kth is not None and kth > bound


def rank(score: float, cosine: float | None, at: int, place: int = 0) -> tuple[float, int, float, int]:
    """What hits are sorted by: score, the place of their tier, cosine, time; the highest score, cosine, time first.

    What is equal in all of these is sorted by id, then by scope.
    """
    return (-score, place, -(cosine or 0.0), -at)
