"""Choosing hits that differ, so that many ways to say one thing don't crowd out all else."""

from __future__ import annotations

from collections.abc import Sequence


def diverse(
    scores: Sequence[float], vectors: Sequence[bytes | None], k: int, diversity: float, numbers: str
) -> list[int]:
    """The places of up to k of some hits, in the order in which they are chosen, by maximal marginal relevance.

    Each time the one is chosen for which (1 - diversity) * score - diversity * the highest cosine to one chosen before
    is highest (Carbonell and Goldstein, "The Use of MMR", SIGIR 1998), the first among equals. Nothing is merged:
    two that contradict each other are both there, if k is large enough.

    Args:
        scores: The score of each, the highest first.
        vectors: The vector of each, of numbers of this numpy type; None: like no other.
        k: How many to choose.
        diversity: In [0, 1).
        numbers: The type of the numbers, as numpy names it.
    """
    import numpy as np

    size = max((len(vector) for vector in vectors if vector), default=0)
    if not size:
        return list(range(min(k, len(scores))))
    rows = np.frombuffer(b"".join(vector or bytes(size) for vector in vectors), dtype=numbers).astype("f8")
    rows = rows.reshape(len(scores), -1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    gains, nearest = (1 - diversity) * np.asarray(scores), np.zeros(len(scores))
    chosen: list[int] = []
    while len(chosen) < min(k, len(scores)):
        # without the noise of the last bits, which differs between machines
        place = int(np.argmax(np.round(gains - diversity * nearest, 5)))
        chosen.append(place)
        gains[place] = -np.inf
        nearest = np.maximum(nearest, rows @ rows[place])
    return chosen
