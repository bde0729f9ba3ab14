"""Checking what a model answered, and making it one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiered_memory.errors import EmbeddingError

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Vectors


def as_vectors(rows: Sequence[object] | Vectors, count: int, dimensions: int, source: str) -> Vectors:
    """`rows` as a float32 array of shape [count, dimensions].

    Raises `EmbeddingError`, which names `source`, for another number of rows, another length, or a value that
    is not a finite number.
    """
    if len(rows) != count:
        raise EmbeddingError(f"{source} answered {len(rows)} vectors for {count} texts")
    vectors = _as_array(rows, source) if count else np.empty((0, dimensions), np.float32)
    if vectors.shape[1] != dimensions:
        raise EmbeddingError(
            f"{source} answered vectors of {vectors.shape[1]} dimensions instead of {dimensions}; "
            "set the embedder's dimensions to what its model gives"
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"{source} answered a vector with values that aren't finite numbers")
    return vectors


def _as_array(rows: Sequence[object] | Vectors, source: str) -> Vectors:
    try:
        # A value beyond float32 becomes infinite here, and is then refused as not finite.
        with np.errstate(over="ignore"):
            vectors = np.array(rows, dtype=np.float32)
    except (TypeError, ValueError):
        vectors = np.empty(0, np.float32)
    if vectors.ndim != 2:
        raise EmbeddingError(f"{source} answered rows that aren't vectors of one length")
    return vectors
